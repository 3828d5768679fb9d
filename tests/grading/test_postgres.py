"""A gradebook in a real PostgreSQL: what holds for SQLite's file holds for it, or is refused."""

import csv
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from quick_course import LESSON, hand_in, quick_course
from sqlalchemy import text
from sqlalchemy.engine import make_url

from autograder import backup, postgres, preflight
from autograder.__main__ import main
from autograder.batch import Options, grade
from autograder.course import Course
from autograder.engine import SandboxUnavailable, sandbox
from autograder.errors import GradingError
from tests.engine import lesson

pytest.importorskip("psycopg")
pytestmark = pytest.mark.sandbox

LIMITS = {"cell": 2, "test": 2, "submission": 30}
STUDENTS = {"ada": 5, "ben": 4, "cyd": 5}
SECRET = "not-for-eyes"


class Server:
    """A PostgreSQL of its own, below a temporary folder, that only this user can reach."""

    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder
        self.user = "postgres" if os.geteuid() == 0 else None  # it refuses to be root's
        if self.user:
            shutil.chown(folder, self.user, self.user)
        self.data = folder / "data"
        self.run("initdb", "-D", self.data, "-U", "grader", "-A", "trust", "-N", "-E", "UTF8")
        self.start()

    def run(self, program, *arguments):
        command = [self.programs / program, *arguments]
        done = subprocess.run(
            command, user=self.user, cwd=self.folder, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    def start(self):
        options = f"-c listen_addresses='' -c fsync=off -k {self.folder}"
        log = self.folder / "log"
        self.run("pg_ctl", "start", "-w", "-D", self.data, "-l", log, "-o", options)

    def stop(self):
        self.run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", self.data)

    def new_database(self, name):
        self.run("createdb", "-h", self.folder, "-U", "grader", name)
        return f"postgresql+psycopg://grader:{SECRET}@/{name}?host={self.folder}"


@pytest.fixture(scope="module")
def server():
    """Return a running server."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found or not postgres.has_tools():
        pytest.skip("PostgreSQL is not installed")
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path must be short
    running = Server(found[-1].parent, folder)
    yield running
    running.stop()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def course(server, tmp_path_factory):
    """Return a course with a graded class, whose gradebook is in the server."""
    try:
        sandbox.check()
    except SandboxUnavailable as error:
        pytest.skip(f"sandbox: {error}")
    url = server.new_database("class")
    root = tmp_path_factory.mktemp("postgres") / "course"
    classroom = quick_course(root, LIMITS, f"c.CourseDirectory.db_url = {url!r}\n")
    for student, points in STUDENTS.items():
        wrong = {} if points == 5 else {"double": "def double(n):\n    return 0"}
        hand_in(classroom, student, lesson.submission(wrong))
    return Course.load(root)


@pytest.fixture(scope="module")
def graded(course, command_line):
    """Grade the class: the grader is killed once, and goes on."""
    killed = command_line("grade", LESSON, "--jobs", "1", AUTOGRADER_STOP_AT="stored:2")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    lines, grades = grade(course, LESSON, Options(jobs=1))
    return lines, grades


@pytest.fixture(scope="module")
def command_line(course, command):
    def run(*arguments, **environment):
        program = [sys.executable, "-m", "autograder", "--course", str(course.root)]
        return command(*program, *arguments, cwd=course.root, **environment)

    return run


def ask(course, query, **values):
    with Gradebook(course.gradebook_url, "quick") as book, book.engine.begin() as connection:
        done = connection.execute(text(query), values)
        return [tuple(row) for row in done] if done.returns_rows else None


def rows(course):
    tables = ("student", "submitted_assignment", "submitted_notebook", "grade")
    return [ask(course, f"select count(*) from {table}")[0][0] for table in tables]


def test_a_killed_grader_goes_on_and_nothing_is_lost_or_doubled(course, graded):
    lines, grades = graded
    assert {line.student: line.points for line in lines} == STUDENTS
    with open(grades, newline="") as table:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(table)}
    assert scores == STUDENTS
    assert rows(course) == [3, 3, 3, 15]
    assert not list(course.root.rglob("gradebook.db"))


def test_marks_by_hand_stay_and_a_lost_server_stops_the_batch(course, graded, server):
    ask(course, "update grade set manual_score = 0.5, needs_manual_grade = false where id = "
        "(select min(id) from grade where auto_score = 0)")  # fmt: skip

    def progress(done, total, student):
        if done == 1:
            server.stop()

    forced = Options(jobs=1, force=True, feedback=False)
    with pytest.raises(GradingError, match=r"grader:\*\*\*@.* does not answer any more.*go on"):
        grade(course, LESSON, forced, progress)
    with pytest.raises(GradingError, match="can't be reached"):
        grade(course, LESSON, forced)
    server.start()
    lines, _ = grade(course, LESSON, forced)
    assert {line.student: line.points for line in lines} == STUDENTS | {"ben": 4.5}
    assert rows(course) == [3, 3, 3, 15]


def test_a_grader_on_another_machine_is_seen(course, graded, monkeypatch, tmp_path, capsys):
    with postgres.only_one(course):
        monkeypatch.setattr(Course, "results", str(tmp_path))  # so that no file is locked
        assert main(["--course", str(course.root), "grade", LESSON]) == 2
    said = capsys.readouterr().err
    assert "perhaps on another machine" in said
    assert SECRET not in said


def test_backups_are_made_and_put_back(course, graded, command_line, monkeypatch, capsys):
    made = backup.backup(course)
    assert (made / postgres.DUMP).stat().st_size > 1000
    before = ask(course, "select id, auto_score, manual_score from grade order by id")
    ask(course, "update grade set auto_score = 0")
    ask(course, "delete from comment")
    assert main(["--course", str(course.root), "restore", made.name]) == 0
    assert ask(course, "select id, auto_score, manual_score from grade order by id") == before
    assert ask(course, "select count(*) from comment")[0][0] == 15
    assert len(backup.backups(course)) >= 2
    (made / postgres.DUMP).write_bytes(b"no dump")
    assert main(["--course", str(course.root), "restore", made.name]) == 2
    assert "pg_restore failed on" in capsys.readouterr().err
    assert ask(course, "select id, auto_score, manual_score from grade order by id") == before
    check = preflight._gradebook(course)
    assert check.ok
    assert SECRET not in check.said
    shutil.rmtree(made)
    monkeypatch.setenv("PATH", str(course.root))
    assert backup.backup(course) is None
    assert "install postgresql-client" in preflight._gradebook(course).said


def test_a_new_term_wants_a_new_database(course, graded, server, capsys):
    start = ["--course", str(course.root)]
    assert main([*start, "new-term", "--yes"]) == 2
    said = capsys.readouterr().err
    assert "holds the work of 3 students" in said
    assert "createdb" in said
    assert course.folder("submitted", LESSON, "ada").is_dir()


def test_a_forgotten_student_is_nowhere(course, graded, capsys):
    start = ["--course", str(course.root)]
    old = backup.backup(course)
    assert postgres.names_student(course, old / postgres.DUMP, "ben")
    assert main([*start, "forget", "ben", "--yes"]) == 0
    assert SECRET not in capsys.readouterr().out
    assert rows(course) == [2, 2, 2, 10]
    assert not old.exists()
    dumps = [folder / postgres.DUMP for folder in backup.backups(course)]
    assert dumps
    assert not any(postgres.names_student(course, dump, "ben") for dump in dumps)
    assert not list(course.root.rglob("ben*"))


def test_a_term_ends_when_a_new_database_is_named(course, graded, server, capsys):
    settings = course.root / "nbgrader_config.py"
    old = make_url(course.gradebook_url).database
    settings.write_text(settings.read_text().replace(f"/{old}?", "/next?"))
    server.new_database("next")
    start = ["--course", str(course.root)]
    assert main([*start, "new-term", "--yes", "--name", "first"]) == 0
    archive = course.root / "autograder" / "classroom" / "archive" / "first"
    assert (archive / "autograder" / "classroom" / "submitted" / "ada").is_dir()
    assert main([*start, "forget", "cyd", "--yes"]) == 0
    assert "STILL IN" in capsys.readouterr().out
    assert rows(course)[0] == 2  # the old term's database is as it was
