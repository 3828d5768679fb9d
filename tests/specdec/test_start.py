"""The first cell and the last one of a lesson: what is missing, and where a learner stands."""

from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from specdec import progress, start


def test_the_first_cell_says_that_all_is_ready(capsys):
    start.start("02_one_forward_pass")
    assert capsys.readouterr().out.startswith("Ready. Lesson 2 of 6 · course ")


def test_the_first_cell_names_what_the_kernel_lacks(capsys, monkeypatch):
    lacking = ("matplotlib", "safetensors")
    monkeypatch.setattr(
        start, "find_spec", lambda name: None if name in lacking else find_spec(name)
    )
    start.start("02_one_forward_pass")
    assert capsys.readouterr().out == (
        "Not ready: this kernel lacks matplotlib and safetensors. Run "
        "%pip install matplotlib safetensors in a cell, then restart the kernel.\n"
    )


CHECKS = [
    {"id": "double", "points": 3, "source": "assert double(2) == 4"},
    {"id": "halve", "points": 2, "source": "assert halve(4) == 2"},
    {"id": "unwritten", "points": 1, "source": "unwritten(1)"},
    {"id": "quiz_which", "points": 2, "source": "assert quiz_which in 'ABCD'"},
]


@pytest.mark.parametrize(
    ("answered", "marks", "last"),
    [
        ({"quiz_which": "A"}, "✓✗✎•", ["3 of 8 points pass their visible checks.",
                                       "2 more noted, marked when graded."]),
        ({"quiz_which": "E"}, "✓✗✎✗", ["3 of 8 points pass their visible checks."]),
        ({}, "✓✗✎✎", ["3 of 8 points pass their visible checks."]),
    ],
)  # fmt: skip
def test_a_noted_answer_is_not_called_passed(answered, marks, last, capsys, monkeypatch):
    names = {"double": lambda n: 2 * n, "halve": lambda n: n, **answered}
    monkeypatch.setattr(progress, "lesson_checks", lambda lesson: CHECKS)
    monkeypatch.setattr(progress, "get_ipython", lambda: SimpleNamespace(user_ns=names))
    progress.show_progress("02_one_forward_pass")
    lines = capsys.readouterr().out.splitlines()
    assert "".join(line[0] for line in lines[: len(CHECKS)]) == marks
    assert lines[len(CHECKS) + 1 : -1] == last


@pytest.mark.parametrize("number", range(1, 7))
def test_exactly_the_checks_of_a_choice_are_marked_later(number):
    for check in progress.lesson_checks(f"{number:02}"):
        noted = "check_choice(" in check["source"]
        assert progress.marked_later(check) == noted, check["id"]
