"""The same folders in transformers: same logits, same tokens, same accepted counts."""

import numpy as np
import pytest
from decoding import differs_beyond_a_tie, greedy, row, speculative

from specdec.model import load_model

pytestmark = pytest.mark.engines
for _name in ("torch", "transformers"):
    pytest.importorskip(_name, reason=f"{_name} is not installed (group: engines)")

import hf  # noqa: E402  (needs both)

COUNT = 120


@pytest.fixture(scope="module")
def models():
    names = ("target", "draft", "draft_distilled")
    return {name: (load_model(name), hf.load(name)) for name in names}


@pytest.fixture(scope="module")
def plain(models, prompts):
    """Greedy continuations by transformers."""
    return hf.greedy(models["target"][1], prompts, COUNT)


def test_tiny_model_in_float64(tiny_folder, tiny):
    """Same architecture; transformers computes norms and angles in float32 even here."""
    peer = hf.load(tiny_folder).double()
    text = np.random.default_rng(3).integers(0, 704, 60).tolist()
    np.testing.assert_allclose(tiny(row(text))[0], hf.logits(peer, text), rtol=0, atol=5e-5)


@pytest.mark.parametrize("name", ["target", "draft", "draft_distilled"])
def test_logits(models, prompts, name):
    ours, peer = models[name]
    differences = [np.abs(ours(row(p))[0] - hf.logits(peer, p)).max() for p in prompts]
    print(f"{name}: largest difference of a logit {max(differences):.1e}")
    assert max(differences) < 1e-3


def test_greedy_tokens(models, prompts, plain):
    target = models["target"][0]
    for prompt, theirs in zip(prompts, plain, strict=True):
        assert len(theirs) == COUNT
        assert not differs_beyond_a_tie(target, prompt, greedy(target, prompt, COUNT), theirs)


@pytest.mark.parametrize(("name", "k"), [("draft", 4), ("draft_distilled", 3)])
def test_assisted_generation(models, prompts, plain, name, k):
    (target, peer), (draft, peer_draft) = models["target"], models[name]
    for prompt, wanted in zip(prompts[:4], plain, strict=False):
        theirs, their_ledger = hf.assisted(peer, peer_draft, prompt, COUNT, k)
        ours, ledger = speculative(target, draft, prompt, COUNT, k)
        assert ours == theirs == wanted
        assert (ledger.rounds, ledger.accepted) == (their_ledger.rounds, their_ledger.accepted)


def test_prompt_lookup(models, prompts, plain):
    """transformers takes the earliest match, so our loop does here too."""
    from better_drafts import LONGEST, EarliestMatch, K

    from specdec.trained.drafts import generate

    target, peer = models["target"]
    for prompt, wanted in zip(prompts[:4], plain, strict=False):
        theirs, their_ledger = hf.looked_up(peer, prompt, COUNT, K, LONGEST)
        run = generate(target, EarliestMatch(), prompt, COUNT, K)
        assert run.texts[0] == theirs == wanted
        counts = run.rounds, sum(run.accepted)
        assert counts == (their_ledger.rounds, their_ledger.accepted)


def test_tokenizer_loads_in_transformers(tokenizer):
    from transformers import AutoTokenizer

    from specdec.model import MODELS

    peer = AutoTokenizer.from_pretrained(MODELS / "target")
    text = "Call me Ishmael. Some years ago--never mind how long precisely--"
    assert peer(text)["input_ids"] == tokenizer.encode(text)
    assert peer.decode(tokenizer.encode(text)) == text
