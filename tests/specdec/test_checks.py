"""The machinery behind the checks: comparing, describing, diagnosing, and hidden answers."""

import json
from fractions import Fraction

import numpy as np
import pytest

from specdec.checks import (
    Case,
    CheckFailed,
    NotWrittenYet,
    answers,
    check_answer,
    check_choice,
    run_cases,
)
from specdec.checks.core import Mistake
from specdec.checks.lesson_01 import check_bug_input
from specdec.values import plain, same, show


@pytest.mark.parametrize(
    ("got", "want"),
    [
        ((1, 2), [1, 2]),
        (np.array([1, 2]), [1, 2]),
        ([np.int64(1), 2], [1, 2]),
        (np.float64(0.1 + 0.2), 0.3),
        (5, 5.0),
        ([], ()),
        (["cat"], np.array(["cat"])),
    ],
)
def test_unusual_types_are_the_same(got, want):
    assert same(got, want)


class Agrees:
    """Claims to equal everything."""

    def __eq__(self, other):
        return True

    __hash__ = None


@pytest.mark.parametrize(
    ("got", "want"),
    [
        ([1, 2, 3], [1, 2]),
        (True, 1),
        (None, []),
        ("12", [1, 2]),
        (0.3001, 0.3),
        (Agrees(), 3),
        ([Agrees()], [3]),
        (float("nan"), 1.0),
    ],
)
def test_other_values_are_not(got, want):
    assert not same(got, want)


def test_show_cuts_long_values():
    assert len(show(list(range(1000)))) == 120
    assert show(np.array([1, 2])) == "[1, 2]"
    assert plain((1, (2, np.int8(3)))) == [1, [2, 3]]


def double(n):
    return 2 * n


CASES = [Case((1,), 2), Case((3,), 6), Case((-1,), ValueError, "n is negative")]
MISTAKES = [Mistake("it squares.", lambda n: n * n), Mistake("it adds one.", lambda n: n + 1)]


def verdict(function, mistakes=MISTAKES, cases=CASES) -> str:
    with pytest.raises(CheckFailed) as failed:
        run_cases("double", function, cases, mistakes)
    return str(failed.value)


def test_a_message_says_what_was_called_returned_and_wanted():
    text = verdict(lambda n: n * n)
    assert "✗ double(1)" in text
    assert "returned  1" in text
    assert "wanted    2" in text
    assert "Right so far: 0 of 3 cases." in text
    assert "Likely cause: it squares." in text


def test_an_unknown_mistake_gets_facts_only():
    assert "Likely cause" not in verdict(lambda n: n * n * n)


def test_two_mistakes_that_look_alike_are_not_named():
    twins = [*MISTAKES, Mistake("it multiplies by itself.", lambda n: n**2)]
    assert "Likely cause" not in verdict(lambda n: n * n, twins)


def test_a_missing_error_is_a_fact():
    assert "wanted    ValueError, since n is negative" in verdict(double)


def test_a_changed_input_is_named():
    def clears(items):
        items.clear()
        return 0

    text = verdict(clears, [], [Case(([1, 2],), 0)])
    assert "changed its input: [1, 2] became []" in text


def test_a_generator_and_a_missing_return_are_explained():
    assert "put list(…) around it" in verdict(lambda n: (i for i in range(n)))
    assert "a `return` is missing" in verdict(lambda n: None)


def test_a_stub_is_not_a_mistake():
    def stub(n):
        raise NotImplementedError("double is not written yet")

    with pytest.raises(NotWrittenYet, match="double is not written yet"):
        run_cases("double", stub, CASES)


def test_an_answer_is_right_in_any_usual_form(capsys):
    for answer in (3, 3.0, np.int64(3)):
        check_answer("todo_tokens_emitted", answer)
    for answer in ([4, 8], (4, 8), np.array([4, 8])):
        check_answer("todo_later_match", answer)
    check_answer("quiz_one_pass", " c ")
    assert capsys.readouterr().out.count("✓") == 7


def test_a_known_wrong_answer_gets_its_reason():
    with pytest.raises(CheckFailed, match="left out the target's own token"):
        check_answer("todo_tokens_emitted", 2)
    with pytest.raises(CheckFailed, match="10 × 4"):
        check_answer("todo_hopeless_passes", 40)


def test_other_answers_get_no_reason():
    with pytest.raises(CheckFailed, match="Go through the pass once more"):
        check_answer("todo_tokens_emitted", 17)
    with pytest.raises(CheckFailed, match="Go through the pass once more"):
        check_answer("todo_later_match", [1])


def test_an_answer_of_another_kind_is_told_so():
    for answer in ("3", "three", Fraction(3), object(), [7, 3, 8], True):
        with pytest.raises(CheckFailed, match="Give a number"):
            check_answer("todo_tokens_emitted", answer)
    with pytest.raises(CheckFailed, match="Give a list"):
        check_answer("todo_later_match", 2)


def test_no_answer_is_not_a_wrong_answer():
    for answer in (None, ...):
        with pytest.raises(NotWrittenYet):
            check_answer("todo_tokens_emitted", answer)


def test_a_choice_is_not_judged_before_it_is_marked(capsys):
    for letter in "ABCD":
        check_choice("quiz_one_pass", letter, "ABCD")
    assert "right" not in capsys.readouterr().out
    for answer in ("E", "AB", "", 2):
        with pytest.raises(CheckFailed, match="give one of"):
            check_choice("quiz_one_pass", answer, "ABCD")


def test_the_data_file_shows_no_answer():
    for known in answers.questions().values():
        assert len(known["right"]) == 20
        int(known["right"], 16)
        assert all(len(key) == 20 for key in known["wrong"])
        assert "right answer" not in json.dumps(known)


@pytest.mark.parametrize("answer", [([1], [2, 3]), [[9, 1, 2], [3, 1, 2, 7]], ([5, 5], [6, 5, 5])])
def test_inputs_that_expose_the_bug(answer):
    check_bug_input(answer)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (([1, 2], [1, 2, 3]), "which is right"),
        (([1, 2], [1, 9, 3]), "which is right"),
        (([], [5]), "which is right"),
        (([1], [2]), "needs 2 target choices"),
        ([1, 2], "a pair of lists"),
        ("no idea", "a pair of lists"),
    ],
)
def test_inputs_that_do_not(answer, message):
    with pytest.raises(CheckFailed, match=message):
        check_bug_input(answer)
