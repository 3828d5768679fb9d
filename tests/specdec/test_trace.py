"""Counting rounds from outside: what continues a pass, what begins one, and the budget."""

import pytest

from specdec.ledger import play
from specdec.reference.lesson_01 import speculative_generate
from specdec.toys import (
    CAT_PROMPT,
    CAT_TEXT,
    hopeless_draft,
    look_back_target,
    one_word_draft,
)
from specdec.trace import OutOfBudget, Trace


def trace() -> Trace:
    return Trace(one_word_draft, look_back_target, budget=100)


def test_answers_to_drafted_prefixes_are_one_pass_in_any_order():
    seen = trace()
    words = ["the"]
    draft = []
    for _ in range(3):
        draft.append(seen.draft(words + draft))
    for i in (3, 0, 2, 1):
        seen.target(words + draft[:i])
    assert seen.passes == 1
    assert seen.rounds[0].drafted == ["cat", "sat", "on"]


def test_asking_about_a_text_that_was_not_drafted_is_a_new_pass():
    seen = trace()
    seen.draft(["the"])
    seen.target(["the"])
    seen.target(["the", "dog"])
    assert seen.passes == 2


def test_a_draft_call_ends_the_pass():
    seen = trace()
    seen.draft(["the"])
    seen.target(["the"])
    seen.draft(["the", "cat"])
    seen.target(["the", "cat"])
    assert seen.passes == 2


def test_plain_decoding_is_one_pass_a_token():
    seen = trace()
    words = ["the"]
    for _ in range(5):
        words.append(seen.target(words))
    assert (seen.passes, seen.draft_calls) == (5, 0)


def test_a_model_refuses_endless_questions_with_a_sentence():
    seen = Trace(one_word_draft, look_back_target, budget=3)
    for _ in range(3):
        seen.target(["the"])
    with pytest.raises(OutOfBudget, match="adds no token"):
        seen.target(["the"])


def test_a_model_takes_only_a_list_of_tokens():
    with pytest.raises(TypeError, match="a list of tokens"):
        trace().draft("the")
    with pytest.raises(ValueError, match="an empty text"):
        trace().target([])


# The tables of lesson 1: rounds, draft calls, accepted, and milliseconds at 12 ms and 1 ms.
@pytest.mark.parametrize(
    ("draft_model", "k", "rounds", "accepted", "milliseconds"),
    [
        (one_word_draft, 3, 4, [3, 0, 2, 3], 60),
        (look_back_target, 3, 3, [3, 3, 3], 45),
        (hopeless_draft, 3, 12, [0] * 12, 180),
        (one_word_draft, 0, 12, [0] * 12, 144),
        (one_word_draft, 1, 7, None, 91),
        (one_word_draft, 2, 5, None, 70),
        (one_word_draft, 4, 3, None, 48),
        (one_word_draft, 5, 3, None, 51),
        (one_word_draft, 6, 3, None, 54),
    ],
)
def test_the_cat_pair(draft_model, k, rounds, accepted, milliseconds):
    ledger = play(speculative_generate, draft_model, look_back_target, CAT_PROMPT, 12, k)
    assert ledger.tokens == CAT_TEXT
    assert len(ledger.rounds) == rounds
    assert ledger.milliseconds(t_draft=1, t_verify=12) == milliseconds
    if accepted is not None:
        assert [r.num_accepted_tokens for r in ledger.rounds] == accepted


def test_the_ledger_line_of_the_card():
    ledger = play(speculative_generate, one_word_draft, look_back_target, CAT_PROMPT, 12, 3)
    assert ledger.line() == "rounds 4 · drafted 12 · accepted 8 · emitted 12"
