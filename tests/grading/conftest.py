"""A small course that grades in seconds, and its demo, graded once for all tests."""

import os
import shutil
import subprocess
import sys

import pytest
from make_course import LESSON, REPOSITORY, make_course


@pytest.fixture(scope="session")
def command():
    """Return a function that runs a program as a user would and returns what came of it."""

    def run(*args, cwd, **environment):
        path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
        return subprocess.run(
            args,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": path, **environment},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


@pytest.fixture(scope="session")
def small_course(tmp_path_factory):
    """Return the small course's folder; tests leave it as it is."""
    return make_course(tmp_path_factory.mktemp("small") / "course")


@pytest.fixture(scope="session")
def demo(small_course, command, tmp_path_factory):
    """Return the finished demo command of the small course; its folder is .folder."""
    folder = tmp_path_factory.mktemp("demo") / "class"
    done = command(
        sys.executable, "-m", "autograder", "demo", "--dir", str(folder), cwd=small_course
    )
    assert done.returncode == 0, done.stderr
    done.folder = folder
    return done


@pytest.fixture
def classroom(demo, tmp_path, monkeypatch):
    """Return a copy of the graded demo course, and make it the current folder."""
    copy = tmp_path / "course"
    shutil.copytree(demo.folder, copy)
    monkeypatch.chdir(copy)
    return copy


@pytest.fixture
def submitted(classroom):
    """Return a function: a student's name -> the path of their notebook in `classroom`."""
    folder = classroom / "autograder" / "classroom" / "submitted"
    return lambda student: folder / student / LESSON / f"{LESSON}.ipynb"
