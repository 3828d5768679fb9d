"""Grades for Canvas and Moodle: who is in the file, under which number, and what is named."""

import csv
from datetime import datetime

import pytest
from make_course import LESSON, make_course
from nbgrader.api import Gradebook

from autograder import grading, lateness, roster
from autograder.__main__ import main
from autograder.course import Course
from autograder.errors import GradingError
from autograder.export import export, export_folder, harmless

CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Lesson 1 (55)
    Points Possible,,,,,5
"Lovelace, Ada",1001,007,ada,S1,
"=HYPERLINK(""http://x""), Ben",1002,s2,ben,S1,
"Curie, Cyd",1003,s3,cyd,S1,
"Late, Dan",1004,s4,dan,S1,
"Wait, Eve",1005,s5,eve,S1,
"None, Fay",,s6,fay,S1,
"Gone, Gil",1007,s7,gil,S1,
"""
pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # nbgrader's own
HANDED_IN = datetime(2026, 11, 28, 12, 30)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A class in the gradebook, as grading and markers leave it, and its list from Canvas."""
    course = Course.load(make_course(tmp_path_factory.mktemp("export") / "course"))
    (course.root / "canvas.csv").write_text(CANVAS, encoding="utf-8")
    roster.import_roster(course, course.root / "canvas.csv", "SIS Login ID")
    lateness.deadlines_file(course).write_text(
        "lesson,student_id,due\n"
        f"{LESSON},,2026-11-27 12:00 UTC\n{LESSON},cyd,2026-11-30 12:00 UTC\n"
    )
    with grading.log_to(course.results_folder(LESSON) / "nbgrader.log"):
        grading.register(course, LESSON)
    roster.enter(course, roster.load(course))
    with Gradebook(course.gradebook_url, "small") as book:
        for student in ("ada", "ben", "cyd", "eve", "fay", "stranger"):
            book.update_or_create_student(student)
            done = book.update_or_create_submission(LESSON, student, timestamp=HANDED_IN)
            grades = {grade.cell.name: grade for grade in done.notebooks[0].grades}
            for name, grade in grades.items():
                grade.auto_score = {"test_double": 3, "test_todo_sum": 2}[name]
                grade.needs_manual_grade = False
            if student == "ben":
                done.notebooks[0].late_submission_penalty = 0.5
                grades["test_double"].manual_score = 1 / 3
                grades["test_double"].needs_manual_grade = True
            if student == "eve":
                grades["test_todo_sum"].auto_score = None
                grades["test_todo_sum"].needs_manual_grade = True
        book.db.commit()
    course.folder("submitted", LESSON, "gil").mkdir(parents=True)
    return course


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def by_id(path, column):
    head, *rows = table(path)
    return {row[head.index(column)]: dict(zip(head, row, strict=True)) for row in rows}


def test_canvas_gets_its_own_columns_and_numbers(made):
    found = export(made, LESSON, "canvas", "Lesson 1 (55)")
    head, possible, *rows = table(found.upload)
    assert head == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Lesson 1 (55)"]
    assert possible == ["    Points Possible", "", "", "", "", "5"]
    assert rows[0] == ["Lovelace, Ada", "1001", "007", "ada", "", "5"]
    assert {row[3]: row[5] for row in rows} == {
        "ada": "5", "ben": "1.83", "cyd": "5", "dan": "", "eve": "", "gil": "",
    }  # fmt: skip
    assert rows[1][0] == '\'=HYPERLINK("http://x"), Ben'
    assert found.left_out == {
        "fay": "has no ID of Canvas's in the class list",
        "stranger": "is not in the class list",
    }


def test_everybody_without_a_grade_is_named(made):
    assert export(made, LESSON, "canvas").notes == [
        "nothing handed in by dan",
        "handed in, but not graded (see the table of `grade`): gil",
        "left empty until somebody marks by hand: eve (test_todo_sum)",
        "marked by hand before the last grading, look again: ben (test_double)",
        "late: ben (-0.5)",
        "extended: cyd until 2026-11-30 12:00 UTC",
    ]


def test_moodle_gets_one_row_a_student_and_a_sentence(made):
    found = export(made, LESSON, "moodle")
    rows = by_id(found.upload, "Student id")
    assert set(rows) == {"ada", "ben", "cyd", "dan", "eve", "fay", "gil"}
    assert (rows["ada"][LESSON], rows["dan"][LESSON], rows["eve"][LESSON]) == ("5", "-", "-")
    assert rows["ben"][f"{LESSON} (feedback)"] == "1.83 of 5 points, 0.5 off for being late"
    assert list(found.left_out) == ["stranger"]


def test_the_details_show_penalty_and_extension(made):
    rows = by_id(export(made, LESSON, "moodle").details, "student_id")
    assert rows["cyd"]["extended_to"] == "2026-11-30 12:00 UTC"
    assert rows["ada"]["due"] == "2026-11-27 12:00 UTC"
    assert rows["ada"]["handed_in"] == "2026-11-28 12:30 UTC"
    shown = [rows["ben"][name] for name in ("points", "late_penalty", "score", "max_score")]
    assert shown == ["2.33", "0.5", "1.83", "5"]
    states = {"ada": "graded", "dan": "nothing handed in", "gil": "not graded"}
    assert {name: rows[name]["state"] for name in states} == states
    assert rows["stranger"]["state"] == "graded"


def test_the_gradebook_keeps_the_platforms_number(made):
    with Gradebook(made.gradebook_url, "small") as book:
        assert book.find_student("ada").lms_user_id == "1001"


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1"])
def test_no_cell_acts_in_a_spreadsheet(start):
    assert harmless(start) == f"'{start}"
    assert harmless("-") == "-"
    assert harmless("x=1") == "x=1"


def test_ids_that_would_act_are_left_out_and_named(made, tmp_path):
    path = roster.roster_file(made)
    before = path.read_text("utf-8")
    try:
        path.write_text(before.replace("007", "=cmd|x"), "utf-8")
        why = export(made, LESSON, "canvas").left_out["ada"]
        assert why == "has an id that a spreadsheet would run as a formula: =cmd|x"
    finally:
        path.write_text(before, "utf-8")


def test_what_is_missing_is_said(tmp_path, capsys):
    course = Course.load(make_course(tmp_path / "course"))
    with pytest.raises(GradingError, match=r"autograder roster grades\.csv"):
        export(course, LESSON, "canvas")
    with pytest.raises(GradingError, match="nothing of 01_double is graded"):
        export(course, LESSON, "moodle")


def test_the_command_tells_by_its_status(made, monkeypatch, capsys):
    monkeypatch.chdir(made.root)
    assert main(["export", "01", "--format", "moodle"]) == 1
    text = capsys.readouterr().out
    assert "left out: stranger is not in the class list" in text
    assert "7 students in" in text
    assert main(["forget", "stranger", "--yes"]) == 0
    assert not list(export_folder(made).glob("*.csv"))  # they named the student
