"""The quiz's Python side: checks, answers and still twin."""

import pytest
from samples import small_quiz
from traitlets import TraitError

from specdec.widgets import Choice, Question, Quiz

GOOD = [Choice("a", "because", True), Choice("b", "because not")]


@pytest.mark.parametrize(
    ("questions", "sentence"),
    [
        ([], "at least one question"),
        ([Question("", GOOD)], "needs a prompt"),
        ([Question("Why?", GOOD[:1])], "'Why[?]' needs 2 to 26 choices, it has 1"),
        ([Question("Why?", [*GOOD, Choice("c", "", False)])], "a text and a reason"),
        ([Question("Why?", [GOOD[1], Choice("c", "no")])], "exactly one right choice, it has 0"),
        (["Why?"], r"a question is Question\(prompt, choices\)"),
    ],
)
def test_questions_that_do_not_work_are_refused(questions, sentence):
    with pytest.raises(ValueError, match=sentence):
        Quiz(questions)


def test_answers_are_letters_that_a_cell_can_read():
    quiz = small_quiz()
    assert (quiz.answers, quiz.right) == (["", ""], 0)
    quiz.set_state({"answers": ["A", "A"]})
    assert (quiz.answers, quiz.right) == (["A", "A"], 1)


@pytest.mark.parametrize("answers", [["A"], ["A", "C"], ["a", ""], ["A", "B", "A"]])
def test_answers_that_do_not_exist_are_refused(answers):
    quiz = small_quiz()
    with pytest.raises(TraitError):
        quiz.answers = answers
    assert quiz.answers == ["", ""]


def test_the_still_twin_is_markdown_with_every_reason(monkeypatch):
    monkeypatch.setenv("SPECDEC_STILL", "1")
    data, metadata = small_quiz()._repr_mimebundle_()
    assert sorted(data) == ["text/markdown", "text/plain"]
    assert metadata == {}
    lines = data["text/markdown"].splitlines()
    assert lines[0] == "**1.** With `k = 0`, what comes out?"
    assert "- A. `[5]`" in lines
    assert "- **✓ A, right.** This is plain decoding." in lines
    assert "- **✗ B, wrong.** A pass gives at least one token." in lines
    assert lines.count("<details><summary>Answers and reasons</summary>") == 2
    assert lines.count("</details>") == 2


def test_answers_stay_below_all_choices_in_the_still_twin():
    text = small_quiz().still()
    for part in text.split("**1.**")[1].split("**2.**"):
        question, reasons = part.split("<details>")
        assert "✓" not in question
        assert "✓" in reasons
