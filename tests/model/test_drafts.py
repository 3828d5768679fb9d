"""Drafts of every kind: the target's own text comes out, counts add up, caches change nothing."""

import sys
from pathlib import Path

import numpy as np
import pytest
from decoding import greedy

from specdec.model import Config, Layer, load_model
from specdec.reference.lesson_03 import acceptance_probability, residual
from specdec.trained.drafts import (
    Heads,
    Lookup,
    ModelDraft,
    NGram,
    Run,
    all_drafts,
    fit_heads,
    generate,
    guesses_along,
    hidden_along,
    race_drafts,
)
from specdec.trained.eagle import EagleDraft, EagleParams
from specdec.trained.traces import passes_of

PROMPT = [11, 5, 300, 42, 11, 5]


class Erratic:
    """A draft that sometimes looks ahead in the right text, and guesses any number of tokens."""

    name = "erratic"

    def __init__(self, right, seed):
        self.right, self.rng = right, np.random.default_rng(seed)

    def propose(self, token_ids, hidden, k):
        """Mostly right guesses, often fewer than k."""
        ahead = self.right[len(token_ids) :][: self.rng.integers(k + 1)]
        return [t if self.rng.random() < 0.8 else int(self.rng.integers(704)) for t in ahead]


def random_eagle(width=32, heads=4, kv_heads=2, head_dim=8, seed=5) -> EagleParams:
    rng = np.random.default_rng(seed)

    def matrix(*shape):
        return rng.normal(0, shape[0] ** -0.5, shape)

    def norm():
        return rng.uniform(0.5, 1.5, width)

    layer = Layer(
        norm(), matrix(width, heads * head_dim), matrix(width, kv_heads * head_dim),
        matrix(width, kv_heads * head_dim), matrix(heads * head_dim, width), norm(),
        matrix(width, 48), matrix(width, 48), matrix(48, width),
    )  # fmt: skip
    config = Config(width, 1, heads, kv_heads, head_dim, 0, 64, 10000.0, 1e-5)
    return EagleParams(config, norm(), norm(), matrix(2 * width, width), layer, norm())


@pytest.fixture(scope="module")
def tiny_drafts(tiny):
    """Drafts for the tiny target in float64, none of which was trained."""
    rng = np.random.default_rng(1)
    return [
        NGram("n-gram", rng.integers(0, 704, 300)),
        Lookup(),
        ModelDraft("itself", tiny),
        Heads([rng.normal(size=(32, 704)) for _ in range(3)]),
        EagleDraft(tiny, random_eagle()),
    ]


@pytest.mark.parametrize("k", [0, 1, 3, 8])
def test_whatever_is_proposed_the_targets_text_comes_out(tiny, tiny_drafts, k):
    wanted = greedy(tiny, PROMPT, 24)
    erratic = [Erratic([*PROMPT, *wanted], seed) for seed in range(6)]
    for draft in [*tiny_drafts, *erratic]:
        run = generate(tiny, draft, PROMPT, 24, k)
        assert run.texts == [wanted], draft.name
        assert sum(run.accepted) + run.rounds == run.tokens == 24
        assert all(0 <= a <= d <= k for a, d in zip(run.accepted, run.drafted, strict=True))
    assert generate(tiny, ModelDraft("itself", tiny), PROMPT, 24, 3).rounds == 6


def test_the_shipped_drafts_give_the_targets_text(prompts):
    target = load_model("target")
    drafts = all_drafts(target)
    assert len({draft.name for draft in drafts}) == len(drafts) == 7
    plain, *runs = race_drafts(target, drafts, prompts[:2], 24, [4])
    for run in runs:
        assert run.texts == plain.texts, run.draft
    guessing = {run.draft: run.acceptance for run in runs}
    assert guessing["distilled model"] > guessing["n-gram"] > 0.1


def test_what_a_draft_keeps_changes_no_guess(tiny, tiny_drafts):
    text = np.random.default_rng(8).integers(0, 704, 30).tolist()
    hidden = hidden_along(tiny, np.array(text))
    fresh = {
        "itself": lambda: ModelDraft("itself", tiny),
        "EAGLE-style": lambda: EagleDraft(tiny, random_eagle()),
    }
    for draft in tiny_drafts:
        if draft.name not in fresh:
            continue
        for length in (6, 7, 9, 4, 20, 20, 12):
            got = draft.propose(text[:length], hidden[: length - 1], 5)
            wanted = fresh[draft.name]().propose(text[:length], hidden[: length - 1], 5)
            assert got == wanted, (draft.name, length)


def test_guesses_at_every_place_play_as_the_loop_does(tiny, tiny_drafts):
    text = greedy(tiny, PROMPT, 20)
    hidden = hidden_along(tiny, np.array([*PROMPT, *text]))
    for draft in tiny_drafts:
        passes = passes_of(text, guesses_along(draft, PROMPT, text, hidden, 8), 3)
        run = generate(tiny, draft, PROMPT, 20, 3)
        assert [one["accepted"] for one in passes] == run.accepted, draft.name
        assert [len(one["drafted"]) for one in passes] == run.drafted, draft.name


def test_acceptance_counts_the_tested_guesses():
    run = Run("any", 4, accepted=[2, 0, 4, 0], drafted=[4, 1, 4, 0])
    assert run.acceptance == 6 / (3 + 1 + 4)
    assert run.mean_acceptance_length == 1 + 6 / 4


def test_heads_learn_what_the_target_says_further_on():
    """In a text that counts 0 1 2 3 4 0 …, the row that says c is followed by c + 1, c + 2."""
    said = np.arange(40) % 5
    embedding = 9.0 * np.eye(5)
    heads = fit_heads(np.eye(5)[said], embedding, count=3, window=20)
    for ahead, head in enumerate(heads, 1):
        assert head.argmax(axis=1).tolist() == [(c + ahead) % 5 for c in range(5)]


def test_sampling_stays_exact_with_guesses_that_are_not_drawn():
    """A head or a table names one token: q is 1 there. Two of them are a level of a tree."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        p = rng.dirichlet(np.ones(6))
        law, left, current = np.zeros(6), 1.0, p
        for guess in rng.permutation(6)[:2]:
            q = np.eye(6)[guess]
            chance = acceptance_probability(current, q, guess)
            law[guess] += left * chance
            left *= 1 - chance
            current = np.asarray(residual(current, q))
        np.testing.assert_allclose(law + left * current, p, atol=1e-12)


@pytest.mark.engines
def test_the_trained_chain_is_the_one_that_drafts():
    """training/eagle.py reads its own rows in one sweep over a text; drafting goes step by step."""
    torch = pytest.importorskip("torch", reason="torch is not installed (group: engines)")
    sys.path.insert(0, str(Path(__file__).parents[2] / "training"))
    import eagle as training

    from specdec.model import MODELS
    from specdec.trained.eagle import load_eagle

    target = load_model("target")
    line = (MODELS / "heldout.txt").read_text(encoding="utf-8").splitlines()[0]
    text = target.tokenizer.encode(line)[:40]
    hidden = hidden_along(target, np.array(text))
    model = training.Eagle().eval()
    weights = training.load_file(MODELS / "eagle.safetensors")
    named = {
        name if name in model.state_dict() else f"{name}.weight": value.float()
        for name, value in weights.items()
    }
    model.load_state_dict(named)
    head = torch.tensor(target.params.embedding)
    given, earlier = torch.tensor(hidden[None, :-1]), []
    embeddings = torch.nn.functional.embedding(torch.tensor([text[1:]]), head)
    draft = EagleDraft(target, load_eagle())
    with torch.no_grad():
        first = model(given, embeddings, earlier)
        second = model(training.back(first, 1), embeddings, earlier)
    says = [(rows[0] @ head.T).argmax(-1).tolist() for rows in (first, second)]
    agreed = 0
    for place in range(10, 38):
        guesses = draft.propose(text[: place + 2], hidden[: place + 1], 2)
        assert guesses[0] == says[0][place]
        if guesses[0] == text[place + 2]:  # training gave the text's token, drafting its own
            assert guesses[1] == says[1][place + 1]
            agreed += 1
    assert agreed > 2
