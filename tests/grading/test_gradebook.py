"""`autograder grade` stores what nbgrader's SaveAutoGrades and AssignLatePenalties would store."""

import shutil
import sys

import pytest
from make_course import LESSON
from nbgrader.api import Gradebook

from autograder.__main__ import main

KEPT = ("all_right", "half", "untouched")
DUE = "2026-11-27 12:00:00"
HANDED_IN = {"all_right": "2026-11-26 09:00:00 UTC", "half": "2026-11-29 12:00:00 Europe/Berlin"}
SETTINGS = '\nc.LateSubmissionPlugin.penalty_method = "zero"\n'


@pytest.fixture
def late_class(classroom):
    """Return the graded small class with a due date: one in time, one late, one of no known time.

    Two have a mark and a comment by hand.
    """
    folder = classroom / "autograder" / "classroom"
    with open(classroom / "nbgrader_config.py", "a", encoding="utf-8") as config:
        config.write(SETTINGS)
    for student in (folder / "submitted").iterdir():
        if student.name not in KEPT:
            shutil.rmtree(student)
    for student, moment in HANDED_IN.items():
        file = folder / "submitted" / student / LESSON / "timestamp.txt"
        file.write_text(moment, encoding="utf-8")
    with gradebook_of(classroom) as gradebook:
        gradebook.update_or_create_assignment(LESSON, duedate=f"{DUE} UTC")
        for student in {item.id for item in gradebook.students} - set(KEPT):
            gradebook.remove_student(student)
        gradebook.find_grade("test_double", LESSON, LESSON, "half").manual_score = 1.5
        gradebook.find_grade("test_todo_sum", LESSON, LESSON, "all_right").extra_credit = 1
        gradebook.find_comment("double", LESSON, LESSON, "untouched").manual_comment = "Ask me."
        gradebook.db.commit()
    return classroom


def gradebook_of(course):
    return Gradebook(f"sqlite:///{course / 'autograder' / 'classroom' / 'gradebook.db'}")


def stored(course):
    """Return all that the gradebook holds of the lesson's submissions, as plain data."""
    with gradebook_of(course) as gradebook:
        return {
            submission.student_id: {
                "timestamp": submission.timestamp,
                "score": submission.score,
                "late": [notebook.late_submission_penalty for notebook in submission.notebooks],
                "grades": {
                    grade.name: (
                        grade.auto_score, grade.manual_score, grade.extra_credit, grade.score,
                        grade.max_score, grade.needs_manual_grade,
                    )
                    for notebook in submission.notebooks for grade in notebook.grades
                },
                "comments": {
                    comment.name: (comment.auto_comment, comment.manual_comment)
                    for notebook in submission.notebooks for comment in notebook.comments
                },
            }
            for submission in gradebook.assignment_submissions(LESSON)
        }  # fmt: skip


@pytest.mark.parametrize("known", [True, False], ids=["graded before", "new"])
def test_the_gradebook_is_as_nbgrader_itself_would_leave_it(
    late_class, command, capsys, tmp_path, known
):
    if not known:
        with gradebook_of(late_class) as gradebook:
            for student in KEPT:
                gradebook.remove_student(student)
    by_nbgrader = tmp_path / "by_nbgrader"
    shutil.copytree(late_class, by_nbgrader)
    if not known:
        shutil.rmtree(by_nbgrader / "autograder" / "classroom" / "autograded")
    done = command(
        sys.executable, "-m", "nbgrader", "autograde", LESSON, "--force", "--create",
        cwd=by_nbgrader,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert main(["grade", LESSON, "--force", "--jobs", "1"]) == 0
    ours, wanted = stored(late_class), stored(by_nbgrader)
    assert ours == wanted
    assert set(ours) == set(KEPT)
    assert ours["half"]["late"] == [ours["half"]["score"]] != [0]
    assert ours["all_right"]["late"] == [None]
    assert (ours["half"]["grades"]["test_double"][1] == 1.5) is known
    assert ours["untouched"]["comments"]["double"][0] == "No response."
