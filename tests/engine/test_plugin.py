"""The engine as nbgrader's plug-in, by configuration alone, and nbgrader's own example course."""

import os
import shutil
import sys
from pathlib import Path

import nbformat
import nbgrader
import pytest
from nbformat.v4 import new_markdown_cell, new_raw_cell
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder.engine import plugin

from . import lesson

PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
EXAMPLE = Path(nbgrader.__file__).parent / "docs" / "source" / "user_guide"

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.usefixtures("needs_sandbox"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(autouse=True)
def programs_on_the_path(monkeypatch):
    """nbgrader starts alembic by name."""
    monkeypatch.setenv("PATH", PATH)


def course(folder, *, engine):
    """Return nbgrader's API for a course in `folder`, with or without the engine."""
    config = Config()
    config.CourseDirectory.root = str(folder)
    config.CourseDirectory.course_id = "example"
    if engine:
        plugin.configure(config)
    return NbGraderAPI(CourseDirectory(config=config), config=config)


def grades(folder, assignment):
    """Return {(student, notebook, cell): (points, waits for a person)} from the gradebook."""
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        return {
            (submission.student.id, notebook.name, grade.name): (
                grade.auto_score,
                grade.needs_manual_grade,
            )
            for submission in gradebook.assignment_submissions(assignment)
            for notebook in submission.notebooks
            for grade in notebook.grades
        }


def graded_example(folder, *, engine):
    shutil.copytree(EXAMPLE / "source" / "ps1", folder / "source" / "ps1")
    shutil.copytree(EXAMPLE / "submitted", folder / "submitted")
    api = course(folder, engine=engine)
    assert api.generate_assignment("ps1")["success"]
    for student in ("bitdiddle", "hacker"):
        outcome = api.autograde("ps1", student)
        assert outcome["success"], outcome
    return grades(folder, "ps1")


def test_nbgraders_own_example_gets_the_same_points_cell_by_cell(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "engine").mkdir()
    own = graded_example(tmp_path / "own", engine=False)
    ours = graded_example(tmp_path / "engine", engine=True)
    assert len(own) == 18
    assert ours == own


@pytest.fixture(scope="module")
def released_course(tmp_path_factory):
    """Return the folder of a course whose small lesson has been released."""
    folder = tmp_path_factory.mktemp("released")
    path = folder / "source" / "one" / "one.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(lesson.source(), path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", PATH)
        assert course(folder, engine=True).generate_assignment("one")["success"]
    return folder


@pytest.fixture
def small(tmp_path, released_course):
    """Return (folder, API) of a course with the small lesson and a function that hands in."""
    shutil.copytree(released_course, tmp_path, dirs_exist_ok=True)
    api = course(tmp_path, engine=True)

    def hand_in(student, notebook):
        target = tmp_path / "submitted" / student / "one"
        target.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, target / "one.ipynb")
        return api.autograde("one", student)

    return tmp_path, api, hand_in


def points(folder):
    found = {}
    for (student, _, cell), (score, _) in grades(folder, "one").items():
        found.setdefault(student, set()).update({cell.removeprefix("test_")} if score else ())
    return found


def test_hostile_and_mangled_notebooks_through_nbgrader(small):
    folder, _, hand_in = small
    from .corpus import CORPUS

    names = ("skip-execution tag on the tests", "tests duplicated", "tests deleted",
             "right answers, tests deleted", "forged reply", "os._exit in a cell")  # fmt: skip
    chosen = [entry for entry in CORPUS if entry.name in names]
    assert len(chosen) == len(names)
    for number, entry in enumerate(chosen):
        notebook = lesson.submission(entry.answers, first=entry.first)
        if entry.tamper:
            entry.tamper(notebook)
        assert hand_in(f"s{number}", notebook)["success"], entry.name
    assert points(folder) == {f"s{n}": entry.deserves for n, entry in enumerate(chosen)}


def test_problems_stand_in_a_note_and_hidden_tests_not_in_the_feedback(small):
    folder, api, hand_in = small
    notebook = lesson.submission({"double": "def double(n): return 4"}, last="print('<b>x</b>')")
    number = lesson.find(notebook, "count_up")
    notebook.cells.insert(number, notebook.cells[number].copy())
    assert hand_in("alice", notebook)["success"]

    stored = nbformat.read(folder / "autograded" / "alice" / "one" / "one.ipynb", 4)
    assert stored.cells[0].id == plugin.NOTES_ID
    assert "count_up is there 2 times" in stored.cells[0].source
    assert "secret_cases" in stored.cells[lesson.find(stored, "test_double")].source

    assert api.generate_feedback("one", "alice")["success"]
    page = (folder / "feedback" / "alice" / "one" / "one.html").read_text()
    assert "A hidden check failed." in page
    assert "secret_cases" not in page
    assert "<b>x</b>" not in page


def test_the_marks_of_hidden_tests_in_a_students_cells_break_nothing(small):
    """In an answer, a cell of one's own, Markdown, the copy of a test; nested and not ended."""
    folder, api, hand_in = small
    mine = "### BEGIN HIDDEN TESTS\n### BEGIN HIDDEN TESTS\nprint('mine')"
    notebook = lesson.submission({"double": f"{lesson.ANSWERS['double']}\n{mine}"}, last=mine)
    notebook.cells += [new_markdown_cell(mine), new_raw_cell(mine)]
    notebook.cells[lesson.find(notebook, "test_count_up")].source = mine
    notebook.cells[lesson.find(notebook, "title")].source = mine
    outcome = hand_in("alice", notebook)
    assert outcome["success"], outcome
    assert points(folder) == {"alice": lesson.ALL}
    outcome = api.generate_feedback("one", "alice")
    assert outcome["success"], outcome
    page = (folder / "feedback" / "alice" / "one" / "one.html").read_text()
    assert page.count("BEGIN HIDDEN TESTS") == 8
    assert "secret_cases" not in page


def test_an_assignment_of_several_notebooks(small):
    """Each notebook is graded by its own tests; one that was not handed in gets nothing."""
    folder, api, hand_in = small
    other = lesson.source()
    other.cells[lesson.find(other, "double")].source = "### BEGIN SOLUTION\nx = 1\n### END SOLUTION"
    other.cells[lesson.find(other, "test_double")].source = "assert x == 1"
    nbformat.write(other, folder / "source" / "one" / "two.ipynb")
    assert api.generate_assignment("one", force=True)["success"]
    both = folder / "submitted" / "alice" / "one"
    both.mkdir(parents=True)
    second = lesson.submission({"double": "x = 1", "quiz": "quiz = 'C'"})
    nbformat.write(second, both / "two.ipynb")
    assert hand_in("alice", lesson.submission({"average": "def average(values): return 0"}))[
        "success"
    ]
    assert hand_in("ben", lesson.submission())["success"]
    found = {}
    for (student, notebook, cell), (score, _) in grades(folder, "one").items():
        found.setdefault((student, notebook), set()).update(
            {cell.removeprefix("test_")} if score else ()
        )
    assert found == {
        ("alice", "one"): lesson.ALL - {"average"},
        ("alice", "two"): lesson.ALL - {"quiz"},
        ("ben", "one"): lesson.ALL,
        ("ben", "two"): set(),
    }


def test_links_in_the_submitted_folder_are_not_followed(small):
    folder, _, hand_in = small
    target = folder / "submitted" / "alice" / "one"
    (target / "data").mkdir(parents=True)
    (folder / "private.txt").write_text("the instructor's")
    (target / "mine.txt").write_text("7")
    (target / "leak.txt").symlink_to(folder / "private.txt")
    (target / "data" / "leak.txt").symlink_to(folder / "private.txt")
    (target / "page.html").write_text("<script>")
    answer = "quiz = {'7': 'B'}[open('mine.txt').read()]\nassert open('page.html').read()"
    outcome = hand_in("alice", lesson.submission({"quiz": answer}))
    assert outcome["success"]
    assert "quiz" in points(folder)["alice"]
    graded = folder / "autograded" / "alice" / "one"
    names = sorted(p.relative_to(graded).as_posix() for p in graded.rglob("*") if p.is_file())
    assert names == ["mine.txt", "one.ipynb", "page.html.txt"]
    note = nbformat.read(graded / "one.ipynb", 4).cells[0].source
    assert "The file leak.txt is a link; it was left out." in note


def test_files_of_the_lesson_are_there_whatever_was_handed_in(small):
    folder, _, hand_in = small
    (folder / "source" / "one" / "numbers.txt").write_text("7")
    theirs = folder / "submitted" / "alice" / "one"
    theirs.mkdir(parents=True)
    (theirs / "numbers.txt").write_text("8")
    answer = "quiz = {'7': 'B'}[open('numbers.txt').read()]"
    assert hand_in("alice", lesson.submission({"quiz": answer}))["success"]
    assert "quiz" in points(folder)["alice"]


def test_grading_again_keeps_manual_points(small):
    folder, api, hand_in = small
    assert hand_in("alice", lesson.submission())["success"]
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        gradebook.find_grade("test_quiz", "one", "one", "alice").manual_score = 0.5
        gradebook.db.commit()
    assert api.autograde("one", "alice", force=True)["success"]
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        grade = gradebook.find_grade("test_quiz", "one", "one", "alice")
        assert (grade.auto_score, grade.manual_score, grade.score) == (1, 0.5, 0.5)


def test_a_missing_source_is_named(small):
    folder, _, hand_in = small
    shutil.rmtree(folder / "source")
    outcome = hand_in("alice", lesson.submission())
    assert not outcome["success"]
    assert "source notebook" in outcome["log"]
    assert not (folder / "autograded" / "alice" / "one").exists()


def test_without_a_sandbox_nothing_is_graded(small, monkeypatch):
    folder, _, hand_in = small
    from autograder.engine import sandbox

    plugin._check_sandbox.cache_clear()
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: None)
    outcome = hand_in("alice", lesson.submission())
    assert not outcome["success"]
    assert "bubblewrap is not installed" in outcome["log"]
    assert not (folder / "autograded" / "alice" / "one").exists()
