"""A project that a person grades: its points are kept apart from those of the checks."""

import os
import sysconfig

from nbformat.v4 import new_markdown_cell
from nbgrader.api import Gradebook

from autograder.grading import hand_graded, points_of
from autograder.results import Result

from . import lesson

POINTS = 8
INFO = {
    "grade_id": "project", "grade": True, "solution": True, "locked": False,
    "task": False, "schema_version": 3, "points": POINTS,
}  # fmt: skip


def with_project(notebook, text="### BEGIN SOLUTION\nA claim.\n### END SOLUTION"):
    """Return a notebook with a project cell at its end."""
    notebook.cells.append(new_markdown_cell(text, id="project", metadata={"nbgrader": dict(INFO)}))
    return notebook


def results(graded, text):
    """Grade the small lesson, all right, with this text in the project cell."""
    submitted = with_project(lesson.submission(), text)
    found = graded(submitted, source=with_project(lesson.source()))
    return found, Result.from_engine("small", found)


def test_a_written_project_waits_for_a_person_and_adds_nothing_to_the_checks(graded):
    found, result = results(graded, "On 24 texts the tree is 1.2 times as fast.")
    (cell,) = result.by_hand
    assert (cell.grade_id, cell.status, cell.max_points) == ("project", "manual", POINTS)
    assert found.cells[-1].points is None
    assert (result.points, result.max_points) == (len(lesson.NAMES), len(lesson.NAMES))
    told = result.as_dict()
    assert (told["points"], told["max_points"]) == (len(lesson.NAMES), len(lesson.NAMES))
    assert [c["grade_id"] for c in told["cells"] if c.get("by_hand")] == ["project"]
    assert Result.from_dict(told) == result


def test_an_untouched_project_gets_nothing_and_costs_the_checks_nothing(graded):
    found, result = results(graded, "YOUR ANSWER HERE")
    (cell,) = result.by_hand
    assert (cell.status, cell.points) == ("unwritten", 0)
    assert found.cells[-1].points == 0
    assert (result.points, result.max_points) == (len(lesson.NAMES), len(lesson.NAMES))


def test_the_class_table_keeps_a_persons_points_apart(tmp_path, monkeypatch):
    # nbgrader calls its helper program `alembic` by name.
    monkeypatch.setenv("PATH", sysconfig.get_path("scripts"), prepend=os.pathsep)
    with Gradebook(f"sqlite:///{tmp_path / 'book.db'}") as book:
        book.add_assignment("six")
        book.add_notebook("six", "six")
        book.add_grade_cell("test_f", "six", "six", max_score=20, cell_type="code")
        book.add_grade_cell("project", "six", "six", max_score=POINTS, cell_type="markdown")
        book.add_solution_cell("project", "six", "six")
        book.add_solution_cell("f", "six", "six")
        book.add_student("ada")
        book.add_submission("six", "ada")
        book.find_grade("test_f", "six", "six", "ada").auto_score = 15
        project = book.find_grade("project", "six", "six", "ada")
        project.needs_manual_grade = True
        book.db.commit()
        cells = {cell.id for cell in hand_graded(book.find_notebook("six", "six"))}
        assert cells == {project.cell_id}
        submission = book.find_submission("six", "ada")
        assert points_of(submission, cells) == (15, 20, f"– of {POINTS}")
        project.manual_score, project.needs_manual_grade = 6, False
        book.db.commit()
        assert points_of(submission, cells) == (15, 20, f"6 of {POINTS}")
        assert points_of(submission, set()) == (21, 28, "")
