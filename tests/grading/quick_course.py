"""A course whose one lesson is the engine's small one: a hand-in of it takes some 50 ms."""

import json

import nbformat
from make_course import REPOSITORY

from tests.engine import lesson

LESSON = "one"


def quick_course(root, limits, more=""):
    """Write the course to a new folder and return its classroom; more is added to its settings."""
    config = (REPOSITORY / "nbgrader_config.py").read_text("utf-8")
    root.mkdir()
    (root / "nbgrader_config.py").write_text(
        f"{config}\nc.CourseDirectory.course_id = 'quick'\nc.GradeCells.limits = {limits}\n"
        "c.GradeCells.policy_for = c.RepairCells.policy_for = ''\n"
        "c.GenerateAssignment.preprocessors[3] = 'nbgrader.preprocessors.ClearSolutions'\n" + more
    )
    classroom = root / "autograder" / "classroom"
    source = classroom / "source" / LESSON
    source.mkdir(parents=True)
    nbformat.write(lesson.source(), source / f"{LESSON}.ipynb")
    return classroom


def hand_in(classroom, student, notebook):
    """Write a student's notebook and return its folder."""
    folder = classroom / "submitted" / student / LESSON
    folder.mkdir(parents=True)
    (folder / f"{LESSON}.ipynb").write_text(json.dumps(notebook))
    return folder
