"""Checking one's own notebook without a sandbox, on any system."""

from autograder.engine import Limits, Policy, grade

from . import lesson

LIMITS = Limits(cell=20, test=20, submission=120)


def test_points_are_the_same_without_a_sandbox():
    result = grade(lesson.source(), lesson.submission(), limits=LIMITS, sandbox="off")
    assert lesson.passed(result) == lesson.ALL
    assert result.problems == []


def test_wrong_and_unfinished_answers_without_a_sandbox():
    answers = {"double": "def double(n): return 0", "average": "raise NotImplementedError()"}
    result = grade(lesson.source(), lesson.submission(answers), limits=LIMITS, sandbox="off")
    assert lesson.passed(result) == lesson.ALL - {"double", "average"}


def test_what_hangs_or_ends_is_restarted_without_a_sandbox():
    limits = Limits(cell=20, test=3, submission=120)
    answers = {"double": "import os\ndef double(n): os._exit(3)",
               "average": "def average(v):\n    while True: pass"}  # fmt: skip
    result = grade(lesson.source(), lesson.submission(answers), limits=limits, sandbox="off")
    states = [cell.status for cell in result.cells]
    assert states == ["crashed", "passed", "timeout", "passed", "passed"]


def test_files_stand_beside_the_notebook_and_answers_stay_hidden(tmp_path):
    (tmp_path / "numbers.txt").write_text("7")
    policy = Policy(hidden={"colorsys": "Not here."}, stand_ins=("mywidgets",))
    first = (
        "from mywidgets import lane\nlane.show()\nassert open('numbers.txt').read() == '7'\n"
        "try:\n    import colorsys\nexcept ImportError as error:\n    text = str(error)"
    )
    answers = {"quiz": "quiz = {'Not here.': 'B'}[text]"}
    result = grade(
        lesson.source(), lesson.submission(answers, first=first), files=tmp_path, policy=policy,
        limits=LIMITS, sandbox="off",
    )  # fmt: skip
    assert lesson.passed(result) == lesson.ALL
    assert [problem.kind for problem in result.problems] == ["hidden_module"]
