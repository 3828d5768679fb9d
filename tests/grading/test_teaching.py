"""The instructor's guide is a program: its commands run in order, in a copy of the course."""

import csv
import os
import re
import shutil
import subprocess
import sys

import nbformat
from make_course import REPOSITORY

from autograder.answers import with_answers, worked_answers
from autograder.submissions import read_source

LESSON = "01_draft_and_verify"
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "__pycache__", "node_modules", "demo", "source", "submitted", "autograded",
    "feedback", "results", "*.db", "*.csv", "build", ".*_cache",
)  # fmt: skip


def commands():
    text = (REPOSITORY / "docs" / "teaching.md").read_text("utf-8")
    return re.findall(r"^```bash\n(.*?)^```$", text, re.S | re.M)


def shorten_sample_class(course):
    """Keep two of the sample class: the whole of it has its own test."""
    path = course / "autograder" / "classroom" / "sample_class" / "class.toml"
    students = path.read_text("utf-8").split("[[student]]")[1:]
    kept = [text for text in students if "ada-full" in text or "fay-broken" in text]
    assert len(kept) == 2
    path.write_text("".join(f"[[student]]{text}" for text in kept), "utf-8")


def fill_inbox(course, source):
    """Put the hand-ins of ada, all right, and ben, untouched, into the folder inbox."""
    released = nbformat.read(course / "lessons" / LESSON / f"{LESSON}.ipynb", as_version=4)
    (course / "inbox").mkdir()
    nbformat.write(released, course / "inbox" / "ben.ipynb")
    node = with_answers(released, worked_answers(read_source(source)))
    nbformat.write(node, course / "inbox" / "ada.ipynb")


def programs(folder):
    """Return a PATH on which `python` and `autograder` are this environment's."""
    folder.mkdir()
    for name, call in {"python": "", "autograder": "-m autograder "}.items():
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {call}"$@"\n')
        script.chmod(0o755)
    return os.pathsep.join([str(folder), os.path.dirname(sys.executable), os.environ["PATH"]])


def test_the_guides_commands_work_in_order(tmp_path):
    course = tmp_path / "course"
    shutil.copytree(REPOSITORY, course, ignore=NOT_COPIED)
    shorten_sample_class(course)
    lesson = course / "lessons" / LESSON / f"{LESSON}.ipynb"
    before = lesson.read_bytes()
    path = programs(tmp_path / "bin")
    blocks = commands()
    assert len(blocks) >= 7
    for block in blocks:
        if "inbox" in block and not (course / "inbox").exists():
            fill_inbox(course, next((course / "autograder").rglob(f"source/*/{LESSON}.ipynb")))
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=course,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(course)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, block
    with open(course / "autograder" / "classroom" / "grades.csv", newline="") as file:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert scores == {"ada": 20, "ben": 0}
    for student in scores:
        page = course / "autograder" / "classroom" / "feedback" / student / LESSON
        assert "HIDDEN TESTS" not in (page / f"{LESSON}.html").read_text("utf-8")
    assert lesson.read_bytes() == before
    assert (course / "demo" / "autograder" / "classroom" / "grades.csv").is_file()
