"""A class on a hub, from release to grades, as docs/teaching.md tells it: one step after the other.

Real users, JupyterHub, exchange and Chromium. ada has all right, ben types one answer, cyd attacks.
"""

import csv
import json
import sqlite3
import sys

import nbformat
import pytest

pytest.importorskip("jupyterhub", reason="JupyterHub is not installed (make hub)")

from lab import REPOSITORY, chromium
from machine import STUDENTS, TEACHER, ClassMachine, missing
from nbgrader.utils import notebook_hash
from people import Instructor, OpenNotebook, Student

from autograder.answers import own_tests, with_answers, worked_answers
from tools.course import read_lesson, source_notebook, strip_markers

LESSON = "01_draft_and_verify"
NOTEBOOK = f"{LESSON}/{LESSON}.ipynb"
ADA, BEN, CYD = STUDENTS
COMMENT = "Well argued; half a point for the idea."
CLASS_LIST = f"""Student,ID,SIS User ID,SIS Login ID,Section
"Lovelace, Ada",4711,s1,{ADA},A
"Bitdiddle, Ben",4712,s2,{BEN},A
"Malory, Cyd",4713,s3,{CYD},A
"Late, Dan",4714,s4,sd-dan,A
"""
ATTACK = """
import os, pathlib
found = []
for place in {places}:
    for path in [pathlib.Path(place), *pathlib.Path(place).rglob("*")]:
        try:
            found.append(path.read_text()[:200])
            path.write_text("spoilt")
        except OSError:
            pass
print("STOLEN", found)
def verify_greedy(draft, target_next):
    os._exit(0)
"""


@pytest.fixture(scope="module")
def machine():
    if missing():
        pytest.skip(f"class on a hub: {missing()}")
    with ClassMachine() as running:
        running.python(TEACHER, "-m", "tools.build", "source", LESSON, cwd=running.course)
        yield running


@pytest.fixture(scope="module")
def people(machine):
    """Everybody, logged in; their servers start side by side."""
    with chromium() as browser:
        everyone = {TEACHER: Instructor(machine, browser, TEACHER)}
        everyone |= {name: Student(machine, browser, name) for name in STUDENTS}
        for person in everyone.values():
            person.wait_for_lab()
        yield everyone


@pytest.fixture(scope="module")
def teacher(people):
    return people[TEACHER]


@pytest.fixture(scope="module")
def source():
    return source_notebook(read_lesson(LESSON))


@pytest.fixture(scope="module")
def answers(source):
    """{answer: worked code, as a student would write it}."""
    return {name: strip_markers(code) for name, code in worked_answers(source).items()}


def put(machine, user, path, text):
    """Write a file in a user's home."""
    target = machine.home(user) / path
    target.write_text(text, "utf-8")
    machine.own(target, user)


def autograder(machine, *arguments):
    """Run the command in the course folder, as in a terminal of the instructor's; return stdout."""
    return machine.python(TEACHER, "-m", "autograder", *arguments, cwd=machine.course).stdout


def scores(machine):
    """Return {student: points} of the gradebook's export."""
    with open(machine.course / "autograder" / "classroom" / "grades.csv", newline="") as file:
        return {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}


def test_the_class_list_is_imported(machine):
    put(machine, TEACHER, "class.csv", CLASS_LIST)
    path = str(machine.home(TEACHER) / "class.csv")
    said = autograder(machine, "roster", path, "--id-column", "SIS Login ID")
    assert "4 students" in said


def test_the_instructor_releases_in_the_formgrader(machine, teacher):
    teacher.open_formgrader()
    teacher.press(LESSON, "release", f"Successfully released '{LESSON}'")
    released = machine.exchange / "speculative-decoding" / "outbound" / NOTEBOOK
    assert released.read_bytes() == (REPOSITORY / "lessons" / NOTEBOOK).read_bytes()


def test_students_have_no_tools_of_an_instructor(people, teacher):
    assert {"Assignment List", "Formgrader"} <= set(teacher.menu_entries())
    for name in STUDENTS:
        assert people[name].menu_entries() == ["Assignment List"]
        assert people[name].server("formgrader/manage_assignments") == 404
        assert people[name].other_server(TEACHER, "lab") in (403, 404)
        assert people[name].other_server(TEACHER, "api/contents") in (403, 404)


def test_students_fetch_in_the_list_of_assignments(machine, people):
    for name in STUDENTS:
        people[name].open_list()
        people[name].press("Fetch", then="Submit")
        assert (machine.home(name) / NOTEBOOK).is_file()


def test_students_solve(machine, people, answers):
    released = nbformat.read(REPOSITORY / "lessons" / NOTEBOOK, as_version=4)
    put(machine, ADA, NOTEBOOK, nbformat.writes(with_answers(released, answers)))
    places = [str(machine.course), str(machine.home(ADA)), str(machine.exchange)]
    attack = {"verify_greedy": ATTACK.format(places=places)}
    put(machine, CYD, NOTEBOOK, nbformat.writes(with_answers(released, attack)))

    notebook = OpenNotebook(people[BEN].page, NOTEBOOK)
    cells = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in released.cells]
    notebook.type_cell(cells.index("verify_greedy"), answers["verify_greedy"])
    notebook.save()
    written = nbformat.read(machine.home(BEN) / NOTEBOOK, as_version=4)
    assert written.cells[cells.index("verify_greedy")].source == answers["verify_greedy"].strip()


def test_students_submit_in_the_list_of_assignments(machine, people):
    for name in STUDENTS:
        people[name].menu("Assignment List")
        people[name].press("Submit", then="Fetch Feedback")
    inbound = machine.exchange / "speculative-decoding" / "inbound"
    assert sorted(path.name.split("+")[0] for path in inbound.iterdir()) == list(STUDENTS)


def test_the_instructor_collects_in_the_formgrader(machine, teacher):
    teacher.press(LESSON, "collect", "Successfully collected")
    submitted = machine.course / "autograder" / "classroom" / "submitted"
    assert sorted(path.name for path in submitted.iterdir()) == list(STUDENTS)


def test_grading_gives_each_what_they_deserve(machine, source, answers):
    before = (machine.course / "course" / f"{LESSON}.py").read_bytes()
    said = autograder(machine, "grade", "01")
    assert ADA in said
    points = {c.metadata.nbgrader.grade_id: c.metadata.nbgrader.points
              for c in source.cells if c.metadata.get("nbgrader", {}).get("grade")}  # fmt: skip
    ben = sum(points[test] for test in own_tests(source)["verify_greedy"])
    assert 0 < ben < 20
    assert scores(machine) == {ADA: 20, BEN: ben, CYD: 0, "sd-dan": 0}
    assert (machine.course / "course" / f"{LESSON}.py").read_bytes() == before
    for copy in (machine.course / "autograder" / "classroom").rglob("*.ipynb"):
        assert "spoilt" not in copy.read_text("utf-8").replace(r"write_text(\"spoilt\")", "")
    graded = nbformat.read(
        machine.course / "autograder" / "classroom" / "autograded" / CYD / NOTEBOOK, as_version=4
    )
    assert "STOLEN []" in json.dumps([cell.get("outputs") for cell in graded.cells])


def test_the_formgrader_shows_points_and_takes_marks_and_comments(machine, teacher):
    shown = teacher.scores(LESSON)
    assert shown[ADA] == "20 / 20"
    assert shown[CYD] == "0 / 20"
    teacher.open_submission(LESSON, BEN)
    teacher.give("test_accepted_count", 0.5)
    teacher.comment("accepted_count", COMMENT)


def test_two_markers_at_once_lose_nothing(machine, teacher):
    """One grades the class by command, with a test void now, while the other marks."""
    teacher.open_submission(LESSON, CYD)
    autograder(machine, "void", "01", "test_expected_tokens")
    command = (sys.executable, "-m", "autograder", "grade", "01", "--force")
    marked = 0
    with machine.start(TEACHER, *command, cwd=machine.course) as grading:
        while grading.poll() is None and marked < 15:
            marked += 1
            teacher.give("test_accepted_count", marked / 100)
        said, _ = grading.communicate()
    assert grading.returncode == 0, said
    assert marked
    with sqlite3.connect(machine.course / "autograder" / "classroom" / "gradebook.db") as book:
        marks = book.execute("select manual_score from grade where manual_score is not null")
        assert sorted(score for (score,) in marks) == sorted([0.5, marked / 100])
        void = "select sum(auto_score) from grade join base_cell on cell_id = base_cell.id"
        (points,) = book.execute(f"{void} where name = 'test_expected_tokens'").fetchone()
    shown = {student: float(text.split()[0]) for student, text in teacher.scores(LESSON).items()}
    assert shown[ADA] == 20
    assert shown[CYD] == pytest.approx(points / len(STUDENTS) + marked / 100)


def test_the_student_reads_the_feedback(machine, teacher, people):
    teacher.press(LESSON, "generate-feedback", "Successfully generated feedback")
    teacher.press(LESSON, "release-feedback", "Successfully released feedback")
    people[BEN].menu("Assignment List")
    people[BEN].press("Fetch Feedback", then="(view feedback)")
    people[BEN].open_feedback(LESSON).get_by_text(COMMENT).first.wait_for()
    (page,) = machine.home(BEN).glob(f"{LESSON}/feedback/*/{LESSON}.html")
    for others in ("HIDDEN TESTS", ADA, CYD):
        assert others not in page.read_text("utf-8")


def test_no_student_reaches_anothers_work_or_the_tests(machine):
    exchange = machine.exchange / "speculative-decoding"
    released, inbound, feedback = (exchange / name for name in ("outbound", "inbound", "feedback"))
    private = [
        machine.home(ADA), machine.home(ADA) / NOTEBOOK, inbound, feedback, machine.home(TEACHER),
        machine.course / "course" / f"{LESSON}.py", machine.folder / "state",
        machine.course / "autograder" / "classroom" / "gradebook.db",
        machine.folder / "jupyterhub_config.py",
    ]  # fmt: skip
    for path in private:
        assert path.exists(), path
        read = ["ls", str(path)] if path.is_dir() else ["cat", str(path)]
        assert machine.run(CYD, *read, check=False).returncode, path
    # Inside those two folders a name alone protects: it must not be one that can be guessed.
    assert all(len(path.name.split("+")[3]) == 12 for path in inbound.iterdir())
    secrets = machine.course.glob(
        f"autograder/classroom/submitted/*/{LESSON}/submission_secret.txt"
    )
    names = {notebook_hash(secret=path.read_text(), notebook_id=LESSON) for path in secrets}
    assert {path.stem for path in feedback.iterdir()} == names
    assert len(names) == len(STUDENTS)
    assert machine.run(CYD, "ls", str(released)).stdout.split() == [LESSON]
    for folder in (released, released / LESSON, feedback):
        assert machine.run(CYD, "touch", f"{folder}/x", check=False).returncode
    assert machine.run(CYD, "grep", "-rl", "verify_greedy", str(released)).stdout
    hidden = "BEGIN HIDDEN TESTS"
    assert machine.run(CYD, "grep", "-rls", hidden, str(machine.folder), check=False).stdout == ""


def test_the_grades_go_to_the_learning_platform(machine):
    said = autograder(machine, "export", "01", "--format", "canvas")
    folder = machine.course / "autograder" / "classroom" / "term" / "export"
    path = folder / f"{LESSON}-canvas.csv"
    with open(path, newline="", encoding="utf-8") as file:
        rows = {row["SIS Login ID"]: row for row in csv.DictReader(file)}
    assert "nothing handed in by sd-dan" in said
    assert f"look again: {BEN} (test_accepted_count), {CYD} (test_accepted_count)" in said
    assert rows[ADA]["ID"] == "4711"
    (column,) = [name for name in rows[ADA] if name.startswith(LESSON)]
    assert rows[ADA][column] == "20"
    assert rows["sd-dan"][column] == ""
