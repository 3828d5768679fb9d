"""Speculation changes no token: exactly in float64, up to near ties in float32."""

import numpy as np
import pytest
from decoding import (
    Ledger,
    differs_beyond_a_tie,
    greedy,
    is_greedy,
    row,
    speculative,
)
from tiny_model import TINY, write_model

from specdec.model import load_model

PROMPT = [5, 300, 17]


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Another tiny model, a draft that hardly ever agrees."""
    return load_model(write_model(tmp_path_factory.mktemp("models") / "other", TINY, 2), np.float64)


def uncached_greedy(model, prompt, count):
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(model(row(tokens))[0, -1].argmax()))
    return tokens[len(prompt) :]


def test_greedy_equals_the_uncached_loop(tiny):
    assert greedy(tiny, PROMPT, 50) == uncached_greedy(tiny, PROMPT, 50)


@pytest.mark.parametrize("k", range(9))
@pytest.mark.parametrize("count", [0, 1, 2, 30])
def test_speculative_equals_greedy(tiny, other, k, count):
    tokens, ledger = speculative(tiny, other, PROMPT, count, k)
    assert tokens == greedy(tiny, PROMPT, count)
    assert ledger.emitted == count


@pytest.mark.parametrize("k", [1, 3, 4, 9])
def test_a_perfect_draft_needs_the_fewest_passes(tiny, k):
    tokens, ledger = speculative(tiny, tiny, PROMPT, 40, k)
    assert tokens == greedy(tiny, PROMPT, 40)
    assert ledger.accepted == ledger.drafted == 40 - ledger.rounds
    assert ledger.rounds == -(-40 // (k + 1))


def test_a_one_token_prompt(tiny, other):
    assert speculative(tiny, other, [7], 20, 3)[0] == greedy(tiny, [7], 20)


def test_is_greedy_tells_a_changed_token(tiny):
    tokens = greedy(tiny, PROMPT, 20)
    assert is_greedy(tiny, PROMPT, tokens)
    for position in (0, 10, 19):
        changed = list(tokens)
        changed[position] = (changed[position] + 1) % 704
        assert not is_greedy(tiny, PROMPT, changed)
        assert differs_beyond_a_tie(tiny, PROMPT, tokens, changed)
    assert not differs_beyond_a_tie(tiny, PROMPT, tokens, tokens)


def test_the_shipped_pair_in_float64_over_3000_tokens(prompts):
    """By one uncached pass over each text; a text is greedy if and only if each row agrees."""
    target, draft = (load_model(name, np.float64) for name in ("target", "draft_distilled"))
    total = Ledger()
    for prompt, k in zip(prompts[:7], [1, 2, 3, 4, 5, 7, 8], strict=True):
        tokens, ledger = speculative(target, draft, prompt, 430, k)
        assert is_greedy(target, prompt, tokens)
        total.rounds += ledger.rounds
        total.accepted += ledger.accepted
    assert total.emitted >= 3000
    assert total.accepted > total.rounds / 2  # the draft is of use


def test_the_shipped_pair_in_float32(prompts):
    target, draft = load_model("target"), load_model("draft_distilled")
    for prompt in prompts[:3]:
        tokens, _ = speculative(target, draft, prompt, 100, 4)
        assert not differs_beyond_a_tie(target, prompt, greedy(target, prompt, 100), tokens)


def test_training_did_something(prompts):
    """The trained target finds the held-out text likelier than chance, by far."""
    target = load_model("target")
    losses = []
    for prompt in prompts:
        logits = target(row(prompt))[0, :-1].astype(np.float64)
        logits -= logits.max(axis=1, keepdims=True)
        shares = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        losses.append(-shares[np.arange(len(prompt) - 1), prompt[1:]].mean())
    assert np.mean(losses) < 4.0  # chance: ln 704 = 6.56
