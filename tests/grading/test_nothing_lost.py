"""The grader is killed at named steps, locked out, or loses a worker: no grade is lost or wrong."""

import csv
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from make_course import LESSON, REPOSITORY

from autograder.__main__ import main
from autograder.engine import close_all
from autograder.errors import GradingError
from autograder.lock import only_one

STEPS = ("unrecorded", "stored", "removed", "swapped", "recording", "recorded", "page")
STUDENTS = 3
PLACES = [f"{step}:{number}" for step in STEPS for number in range(1, STUDENTS + 1)]
KILLED = random.Random(3).sample(PLACES, 5)
MOMENTS = 50 if os.environ.get("SOAK") == "1" else 1  # of all moments of a run, by the clock


@pytest.fixture
def small_class(classroom):
    """Return the graded classroom with three students, one of them marked by hand."""
    folder = classroom / "autograder" / "classroom"
    for student in (folder / "submitted").iterdir():
        if student.name not in ("all_right", "half", "untouched"):
            for file in sorted(student.rglob("*"), reverse=True):
                file.rmdir() if file.is_dir() else file.unlink()
            student.rmdir()
    with sqlite3.connect(folder / "gradebook.db") as database:
        database.execute("delete from grade")
        for table in ("comment", "submitted_notebook", "submitted_assignment", "student"):
            database.execute(f"delete from {table}")
    return classroom


@pytest.fixture(scope="module")
def usual(demo, command, tmp_path_factory):
    """Return the seconds that grading takes here when it is left alone."""
    copy = tmp_path_factory.mktemp("usual") / "course"
    shutil.copytree(demo.folder, copy)
    started = time.monotonic()
    assert grade(command, copy).returncode == 0
    return time.monotonic() - started


def grade(command, course, **environment):
    arguments = [sys.executable, "-m", "autograder", "grade", LESSON, "--jobs", "1", "--force"]
    return command(*arguments, cwd=course, **environment)


def scores(course):
    """Return {student: points} of the exported grades, and the number of rows of each table."""
    folder = course / "autograder" / "classroom"
    with open(folder / "grades.csv", newline="") as file:
        points = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    with sqlite3.connect(folder / "gradebook.db") as database:
        rows = [
            database.execute(f"select count(*) from {table}").fetchone()[0]
            for table in ("student", "submitted_assignment", "submitted_notebook", "grade")
        ]
    return points, rows


@pytest.mark.parametrize("step", KILLED)
def test_a_killed_grader_goes_on_where_it_was(small_class, command, capsys, step):
    killed = grade(command, small_class, AUTOGRADER_STOP_AT=step)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    resume(small_class)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
@pytest.mark.parametrize("moment", random.Random(5).choices(range(1, 1000), k=MOMENTS))
def test_a_grader_killed_at_any_moment_goes_on_where_it_was(small_class, usual, capsys, moment):
    arguments = [sys.executable, "-m", "autograder", "grade", LESSON, "--jobs", "2", "--force"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(arguments, cwd=small_class, env=surroundings(), **quiet) as grader:
        try:
            grader.wait(timeout=usual * moment / 1000)
        except subprocess.TimeoutExpired:
            grader.kill()
    resume(small_class)


def surroundings():
    path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


def resume(small_class):
    """Grade again and see that everything is there and right."""
    assert main(["grade", LESSON, "--jobs", "1"]) == 0
    assert scores(small_class) == (
        {"all_right": 5, "half": 2, "untouched": 0},
        [STUDENTS, STUDENTS, STUDENTS, 2 * STUDENTS],
    )
    folder = small_class / "autograder" / "classroom"
    for student in ("all_right", "half", "untouched"):
        assert (folder / "autograded" / student / LESSON / f"{LESSON}.ipynb").is_file()
        assert (folder / "feedback" / student / LESSON / f"{LESSON}.html").is_file()
    assert not list(folder.rglob("*.part"))
    assert not (folder / "results" / LESSON / "parts").exists()


def test_two_graders_at_once_are_refused(classroom, capsys):
    lock = classroom / "autograder" / "classroom" / "results" / "grading.lock"
    with only_one(lock):
        assert main(["grade", LESSON]) == 2
        err = capsys.readouterr().err
    assert "another `autograder grade` is at work" in err
    assert "Traceback" not in err
    assert main(["grade", LESSON]) == 0


def test_the_lock_of_a_dead_process_does_not_count(tmp_path, command):
    lock = tmp_path / "grading.lock"
    program = (
        "import os, pathlib, sys\nfrom autograder.lock import only_one\n"
        "with only_one(pathlib.Path(sys.argv[1])):\n    os.kill(os.getpid(), 9)\n"
    )
    done = command(sys.executable, "-c", program, str(lock), cwd=REPOSITORY)
    assert done.returncode == -signal.SIGKILL
    assert lock.exists()
    with only_one(lock), pytest.raises(GradingError, match="another"), only_one(lock):
        pass


def test_without_a_sandbox_grade_refuses_and_says_what_to_do(classroom, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(classroom))
    assert main(["grade", LESSON, "--force"]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "bubblewrap is not installed. Install it" in err
    assert "--unsafe-no-sandbox" in err


def test_without_a_sandbox_check_runs_and_says_so(classroom, submitted, monkeypatch, capsys):
    close_all()  # else a sandbox that is warm already would do
    monkeypatch.setenv("PATH", str(classroom))
    assert main(["check", str(submitted("half"))]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "2 of 5 points" in text
    assert "run without a sandbox" in text


def test_unsafe_is_loud_and_grades(classroom, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(classroom))
    arguments = ["grade", LESSON, "--force", "--student", "half", "--unsafe-no-sandbox"]
    assert main(arguments) == 0
    assert "WARNING: --unsafe-no-sandbox" in capsys.readouterr().err
