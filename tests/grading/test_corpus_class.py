"""The whole corpus as one class: everyone gets what they deserve, and the batch ends."""

import shutil
import sqlite3

import pytest
from quick_course import LESSON, hand_in, quick_course

from autograder import batch
from autograder.batch import Options
from autograder.course import Course
from autograder.engine import SandboxUnavailable, sandbox
from tests.engine import lesson
from tests.engine.corpus import CORPUS
from tests.grading.hostile_files import FILES

LIMITS = {"cell": 2, "test": 2, "submission": 30, "memory_mb": 384, "disk_mb": 16}
VICTIMS = [f"victim-{number}" for number in range(4)]


def make_class(root):
    """Write a course and the hand-ins of its class; return {student: (deserves, problem)}."""
    classroom = quick_course(root, LIMITS)
    expected = dict.fromkeys(VICTIMS, (lesson.ALL, ""))
    for name in VICTIMS:
        hand_in(classroom, name, lesson.submission())
    for number, entry in enumerate(CORPUS):
        name = f"entry-{number:03} {entry.name.replace('/', ' ')}"
        notebook = lesson.submission(
            entry.answers, first=entry.first, last=entry.last, between=entry.between
        )
        if entry.tamper:
            entry.tamper(notebook)
        folder = hand_in(classroom, name, notebook)
        for path, content in entry.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content)
        expected[name] = (entry.deserves, entry.problem)
    for name, (befall, deserves, problem) in FILES.items():
        folder = hand_in(classroom, name, lesson.submission())
        befall(folder, folder / f"{LESSON}.ipynb")
        expected[name] = (deserves, problem)
    return expected


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Grade the class; return ({student: expectation}, {student: Graded}, course)."""
    try:
        sandbox.check()
    except SandboxUnavailable as error:
        pytest.skip(f"sandbox: {error}")
    root = tmp_path_factory.mktemp("corpus") / "course"
    expected = make_class(root)
    course = Course.load(root)
    lines, grades = batch.grade(course, LESSON, Options())
    yield expected, {line.student: line for line in lines}, course, grades
    shutil.rmtree(root, ignore_errors=True)


def passed(result):
    return {
        cell.grade_id.removeprefix("test_")
        for cell in result.cells
        if cell.points == cell.max_points
    }


@pytest.mark.sandbox
@pytest.mark.timeout(900)
def test_nobody_is_over_paid_under_paid_harmed_or_left_out(graded):
    expected, lines, _, _ = graded
    assert len(expected) >= 120
    assert set(lines) == set(expected)
    wrong = {}
    for student, (deserves, _) in expected.items():
        result = lines[student].result
        found = None if result.ungraded else passed(result)
        if found != (None if deserves is None else set(deserves)):
            told = [cell.message for cell in result.cells if cell.message]
            wrong[student] = (found, told, [problem.message for problem in result.problems])
    assert wrong == {}
    for victim in VICTIMS:
        assert lines[victim].result.problems == []


@pytest.mark.sandbox
def test_the_problems_are_told(graded):
    expected, lines, _, _ = graded
    for student, (_, problem) in expected.items():
        kinds = {found.kind for found in lines[student].result.problems}
        assert not problem or problem in kinds, (student, kinds)


@pytest.mark.sandbox
def test_gradebook_and_feedback_hold_the_same(graded):
    expected, _, course, grades = graded
    with sqlite3.connect(course.gradebook_file) as database:
        scores = dict(
            database.execute(
                "select student_id, sum(auto_score) from submitted_assignment "
                "join submitted_notebook on submitted_notebook.assignment_id = "
                "submitted_assignment.id join grade on grade.notebook_id = submitted_notebook.id "
                "group by student_id"
            )
        )
    assert scores == {
        student: len(deserves)
        for student, (deserves, _) in expected.items()
        if deserves is not None
    }
    for student in scores:
        page = course.folder("feedback", LESSON, student) / f"{LESSON}.html"
        assert page.is_file(), student
        assert "secret_cases = [" not in page.read_text("utf-8")
    assert grades.read_text("utf-8").count("\n") == len(expected) + 1


@pytest.mark.sandbox
def test_nothing_from_behind_a_link_is_copied(graded):
    _, _, course, _ = graded
    graded_folder = course.folder("autograded", LESSON, "links beside the notebook")
    assert [path.name for path in graded_folder.iterdir()] == [f"{LESSON}.ipynb"]
