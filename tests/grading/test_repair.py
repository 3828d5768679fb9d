"""`autograder repair` undoes what editors, browsers and platforms do to files; nothing is lost."""

import json
import os
import shutil

import nbformat
import pytest
from make_course import LESSON, make_course, source_notebook
from test_command_line import refused, snapshot

from autograder.__main__ import main
from autograder.answers import with_answers, worked_answers
from autograder.course import Course
from autograder.staging import ORIGINAL, read_hand_in

NAME = f"{LESSON}.ipynb"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """Return a small course with one hand-in, ada's, in order; make it the current folder."""
    folder = make_course(tmp_path / "course")
    monkeypatch.chdir(folder)
    target = folder / "autograder" / "classroom" / "submitted" / "ada" / LESSON
    target.mkdir(parents=True)
    node = with_answers(source_notebook(), worked_answers(source_notebook()))
    nbformat.write(node, target / NAME)
    return Course.load(folder)


@pytest.fixture
def folder(course):
    return course.folder("submitted", LESSON, "ada")


def in_order(folder):
    pass


def renamed(folder):
    (folder / NAME).rename(folder / "01_double (1).ipynb")


def marked(folder):
    (folder / NAME).write_bytes(b"\xef\xbb\xbf" + (folder / NAME).read_bytes())


def old(folder):
    node = nbformat.convert(nbformat.read(folder / NAME, as_version=4), 3)
    nbformat.write(node, folder / NAME, version=3)


def windows(folder):
    node = nbformat.read(folder / NAME, as_version=4)
    for cell in node.cells:
        cell.source = cell.source.replace("\n", "\r\n")
    (folder / NAME).write_text(json.dumps(node))


def too_high(folder):
    shutil.move(folder / NAME, folder.parent / NAME)
    (folder.parent / "timestamp.txt").write_text("2026-11-29 12:00:00 UTC")
    folder.rmdir()


def too_deep(folder):
    (folder / "Downloads" / "lesson").mkdir(parents=True)
    shutil.move(folder / NAME, folder / "Downloads" / "lesson" / "mine.ipynb")
    (folder / "Downloads" / "lesson" / "data.txt").write_text("7")
    (folder / "__MACOSX").mkdir()
    (folder / "__MACOSX" / NAME).write_text("no notebook")


def other_folder(folder):
    folder.rename(folder.with_name("Lesson 1"))


def all_at_once(folder):
    old(folder)
    marked(folder)
    renamed(folder)
    too_deep_from = folder / "x"
    too_deep_from.mkdir()
    shutil.move(folder / "01_double (1).ipynb", too_deep_from)


ACCIDENTS = [
    (renamed, ["wrong_name"]),
    (marked, ["byte_order_mark"]),
    (old, ["old_format"]),
    (windows, ["windows_line_ends"]),
    (too_high, ["wrong_folder"]),
    (too_deep, ["wrong_folder"]),
    (other_folder, ["wrong_folder"]),
    (all_at_once, ["wrong_folder", "byte_order_mark", "old_format"]),
]


def kinds(course):
    return [problem.kind for problem in read_hand_in(course, LESSON, "ada").notebook.problems]


def contents(folder):
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize(("accident", "found"), ACCIDENTS, ids=lambda value: getattr(
    value, "__name__", ""))  # fmt: skip
def test_accidents_are_mended_and_nothing_is_lost(accident, found, course, folder, capsys):
    accident(folder)
    before = contents(folder.parent)
    assert kinds(course) == found  # what `grade` finds is what `repair` mends

    assert main(["repair", LESSON]) == 0
    out = capsys.readouterr().out
    assert "ada: " in out
    assert "1 students: 1 mended" in out

    assert kinds(course) == []
    raw = (folder / NAME).read_bytes()
    node = nbformat.read(folder / NAME, as_version=4)
    nbformat.validate(node)
    assert json.loads(raw)["nbformat"] == 4
    texts = {cell.source.strip() for cell in node.cells}
    assert {cell.source.strip() for cell in with_answers(
        source_notebook(), worked_answers(source_notebook())).cells} <= texts  # fmt: skip
    after = contents(folder.parent)
    assert all(content in after for content in before)


@pytest.mark.parametrize("accident", [in_order, *(a for a, _ in ACCIDENTS)])
def test_a_second_time_nothing_is_done(accident, course, folder, capsys):
    accident(folder)
    main(["repair", LESSON])
    before = snapshot(folder.parent)
    capsys.readouterr()
    assert main(["repair", LESSON]) == 0
    assert capsys.readouterr().out == "1 students: 0 mended, 1 in order.\n"
    assert snapshot(folder.parent) == before


def test_files_that_go_with_the_notebook_move_with_it(course, folder):
    too_deep(folder)
    main(["repair", LESSON])
    assert (folder / "data.txt").read_text() == "7"


def test_a_renamed_file_keeps_its_bytes_and_its_time(course, folder):
    os.utime(folder / NAME, (1_000_000, 1_000_000))
    before = (folder / NAME).read_bytes()
    renamed(folder)
    main(["repair", LESSON])
    assert (folder / NAME).read_bytes() == before
    assert (folder / NAME).stat().st_mtime == 1_000_000


def test_an_earlier_original_is_never_overwritten(course, folder):
    (folder / f"{LESSON}{ORIGINAL}").write_text("from last week")
    marked(folder)
    handed_in = (folder / NAME).read_bytes()
    main(["repair", LESSON])
    assert (folder / f"{LESSON}{ORIGINAL}").read_text() == "from last week"
    assert (folder / f"{LESSON}-2{ORIGINAL}").read_bytes() == handed_in


def test_a_later_hand_in_beside_a_mended_one_is_told(course, folder):
    renamed(folder)
    main(["repair", LESSON])
    newer = folder / "01_double (2).ipynb"
    shutil.copy(folder / NAME, newer)
    os.utime(newer, (2_000_000_000, 2_000_000_000))
    assert kinds(course) == ["newer_notebook"]


def test_what_can_not_be_read_is_told_and_left(course, folder, capsys):
    other = folder.parents[1] / "ben" / LESSON
    other.mkdir(parents=True)
    (other / NAME).write_text('{"cells": [')
    marked(folder)
    before = snapshot(other)
    assert main(["repair", "01"]) == 0
    out = capsys.readouterr().out
    assert "ben: " in out
    assert "no valid JSON" in out
    assert "2 students: 1 mended, 0 in order, 1 can't be read." in out
    assert snapshot(other) == before


def test_several_notebooks_are_not_guessed_among(course, folder, capsys):
    renamed(folder)
    shutil.copy(folder / "01_double (1).ipynb", folder / "01_double (2).ipynb")
    before = snapshot(folder)
    main(["repair", LESSON])
    assert "several other notebooks" in capsys.readouterr().out
    assert snapshot(folder) == before


@pytest.mark.parametrize("level", ["student", "lesson", "notebook"])
def test_links_are_not_followed(level, course, folder, capsys):
    """Who links to another's hand-in gets no points for it."""
    other = folder.parents[1] / "eve" / LESSON
    if level == "student":
        other.parent.symlink_to(folder.parent)
    elif level == "lesson":
        other.parent.mkdir()
        other.symlink_to(folder)
    else:
        other.mkdir(parents=True)
        (other / NAME).symlink_to(folder / NAME)
    main(["repair", LESSON, "--student", "eve"])
    out = " ".join(capsys.readouterr().out.split())
    assert "is a link" in out
    assert "1 can't be read" in out


def test_repair_says_what_it_misses(course, folder, capsys):
    assert "no lesson 'cooking'" in refused(["repair", "cooking"], capsys)
    assert "no student 'zoe'" in refused(["repair", LESSON, "--student", "zoe"], capsys)
    shutil.rmtree(folder.parents[1])
    assert "collect the hand-ins" in refused(["repair", LESSON], capsys)
