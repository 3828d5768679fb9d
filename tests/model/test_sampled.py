"""The shipped models as functions of a list of token ids, and what was measured on them."""

import numpy as np
import pytest

from specdec.model import load_model
from specdec.recorded import recorded_acceptance, summary
from specdec.reference.lesson_03 import speculative_sample
from specdec.trained.sampled import common_length, logits_along, next_logits, on_real_pair


def test_a_text_that_grows_and_is_cut_back_gives_the_models_own_logits():
    model = load_model("draft", dtype=np.float64)
    logits = next_logits(model)
    rng = np.random.default_rng(1)
    text = rng.integers(0, 700, 12).tolist()
    for step in ([5], [6, 7], [], [-3], [-1, 9], [8], [-6], [1, 2, 3]):
        for token in step:
            text = text[:token] if token < 0 else [*text, token]
        wanted = model(np.array([text]))[0, -1]
        assert np.allclose(logits(text), wanted, rtol=0, atol=1e-10)
    assert np.allclose(logits([3]), model(np.array([[3]]))[0, -1], rtol=0, atol=1e-10)


def test_an_empty_text_is_refused():
    with pytest.raises(ValueError, match="at least one token"):
        next_logits(load_model("draft"))([])


def test_the_rows_along_a_text_are_those_before_each_token():
    model = load_model("draft", dtype=np.float64)
    prompt, token_ids = [4, 9, 2], [7, 7, 1, 3]
    rows = logits_along(model, prompt, token_ids)
    logits = next_logits(model)
    assert rows.shape == (4, model.config.vocab_size)
    for i, row in enumerate(rows):
        assert np.allclose(row, logits(prompt + token_ids[:i]), rtol=0, atol=1e-10)


def test_a_sampler_writes_with_the_shipped_pair():
    run = on_real_pair(speculative_sample, "It was a dark morning", 6, 2, temperature=0)
    assert run.text.startswith("It was a dark morning")
    assert len(run.pieces) == len(run.logits) == 6
    assert 2 <= run.passes <= 6
    assert f"6 tokens in {run.passes} passes" in str(run)
    favourites = [int(np.argmax(target)) for target, _ in run.logits]
    tokenizer = load_model("target").tokenizer
    assert run.pieces == [tokenizer.decode([t]).replace(" ", "_") for t in favourites]
    assert run.describe([0.5] * 6).startswith("mean α 0.50, ")


@pytest.mark.parametrize(
    ("one", "other", "same"), [([], [1], 0), ([1, 2], [1, 2, 3], 2), ([1, 5, 3], [1, 2, 3], 1)]
)
def test_how_far_two_texts_agree(one, other, same):
    assert common_length(one, other) == same


def test_a_summary_of_two_texts():
    row = {
        "draft": "draft", "temperature": 1, "alpha": [0.4, 0.6], "emitted": [30, 20],
        "rounds": [10, 10], "tested": [20, 12], "accepted": [12, 3],
    }  # fmt: skip
    got = summary(row, k=2)
    assert (got.alpha, got.formula, got.length) == (0.5, 1.75, 2.5)
    assert got.by_place == (0.6, 0.25)
    assert got.alpha_error == pytest.approx(0.2)  # 2 * 0.1414 / sqrt(2)
    assert got.length_error == pytest.approx(1.0)  # one text 5 above, one 5 below, of 20 rounds


def test_the_record_is_whole():
    how, results = recorded_acceptance()
    assert {r.draft for r in results} == {"draft", "draft_distilled"}
    assert any((r.draft, r.temperature) == ("draft_distilled", 1) for r in results)
    for result in results:
        assert 0 < result.alpha < 1
        assert 1 < result.length < how["k"] + 1
        assert len(result.by_place) == how["k"]
