"""check, grade and demo on the small course: results, files, and every way to be refused."""

import contextlib
import copy
import csv
import json
import logging
import os
import shutil
import sqlite3
import sys
import tomllib
import warnings

import nbformat
import pytest
from make_course import LESSON, source_notebook
from nbformat.v4 import new_markdown_cell, new_notebook

from autograder.__main__ import main
from autograder.check import notebook_at
from autograder.course import Course
from autograder.errors import GradingError
from autograder.grading import log_to

TOO_SLOW = "No answer within 3 seconds. Is there an endless loop?"


def recipes(course):
    path = course / "autograder" / "classroom" / "sample_class" / "class.toml"
    return tomllib.loads(path.read_text())["student"]


def grades(course):
    with open(course / "autograder" / "classroom" / "grades.csv", newline="") as file:
        return {row["student_id"]: row for row in csv.DictReader(file)}


def snapshot(folder):
    """Return {path: (content, time of change)} of all files below folder."""
    return {
        path.relative_to(folder): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def checked(path, capsys):
    """Run `check --json` and return (exit status, JSON, stderr)."""
    status = main(["check", str(path), "--json"])
    out, err = capsys.readouterr()
    return status, json.loads(out), err


def refused(arguments, capsys):
    """Run a command that must fail; return its one line on stderr."""
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert status != 0
    assert "Traceback" not in out + err
    lines = err.strip().splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("autograder: ")
    return lines[0]


@contextlib.contextmanager
def as_ordinary_user(*folders):
    """Give up root's right to write everywhere, but keep the way to the folders open."""
    if os.geteuid() != 0:
        yield
        return
    for folder in folders:
        for place in (folder, *folder.parents):
            if "pytest-" in str(place):
                place.chmod(0o755)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


# demo


def test_demo_gives_every_student_the_stated_points(demo, small_course):
    exported = grades(demo.folder)
    for recipe in recipes(small_course):
        row = exported[recipe["name"]]
        assert float(row["score"]) == recipe.get("points", 0), recipe["about"]
        assert float(row["max_score"]) == 5
    assert len(exported) == len(recipes(small_course))


def test_demo_prints_table_problems_and_places(demo):
    text = " ".join(demo.stdout.split())
    assert "10 students: 8 graded now, 0 unchanged, 2 could not be graded" in text
    assert "broken: autograder/classroom/submitted/broken" in text
    assert "no valid JSON at line" in text
    assert "copied: The cell test_double is there 2 times." in text
    assert "deleted: The test cell test_double was deleted; it is back." in text
    assert "renamed: the file is named '01_double (1).ipynb'" in text
    assert "tampered: The read-only cell test_double was changed; the original is used." in text
    for place in ("gradebook.db", "grades.csv", "feedback", "submitted", f"lessons/{LESSON}"):
        assert str(demo.folder) in text
        assert place in text
    assert demo.stderr == ""


def test_demo_leaves_the_course_alone(demo, small_course):
    files = {str(path.relative_to(small_course)) for path in small_course.rglob("*")}
    allowed = ("nbgrader_config.py", "autograder/classroom/source", "autograder/classroom/sample")
    strangers = [
        name for name in files if not name.startswith(allowed) and "." in os.path.basename(name)
    ]
    assert strangers == []
    assert not (small_course / "lessons").exists()


def test_demo_fills_gradebook_and_feedback(demo):
    classroom = demo.folder / "autograder" / "classroom"
    with sqlite3.connect(classroom / "gradebook.db") as database:
        assert database.execute("select count(*) from student").fetchone() == (10,)
        assert database.execute("select count(*) from alembic_version").fetchone() == (1,)
    page = (classroom / "feedback" / "half" / LESSON / f"{LESSON}.html").read_text()
    assert "double(-3) returned -1, wanted -6" in page
    assert "HIDDEN TESTS" not in page
    assert "most recent call last" not in page


def test_demo_refuses_a_folder_with_other_things(small_course, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(small_course)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    assert "is not empty" in refused(["demo", "--dir", mine], capsys)
    assert (mine / "thesis.txt").read_text() == "years of work"
    assert "is a file" in refused(["demo", "--dir", mine / "thesis.txt"], capsys)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs POSIX users")
def test_read_only_folders_are_refused(small_course, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(small_course)
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    refused(["demo", "--dir", tmp_path], capsys)  # imports all, while it may read all
    with as_ordinary_user(small_course, tmp_path):
        line = refused(["demo", "--dir", locked / "class"], capsys)
    assert "Permission denied" in line
    assert str(locked) in line


def test_a_course_without_sample_class_says_so(classroom, capsys):
    with open("nbgrader_config.py", "a") as config:
        config.write('\nc.Course.sample_class = ""\n')
    assert "has no sample class" in refused(["demo"], capsys)
    with open("nbgrader_config.py", "a") as config:
        config.write('\nc.Course.sample_class = "elsewhere"\n')
    assert "elsewhere" in refused(["demo"], capsys)


# check


def test_check_reports_each_graded_cell(submitted, capsys):
    status, data, err = checked(submitted("half"), capsys)
    assert (status, err) == (0, "")
    assert data == {
        "lesson": LESSON,
        "points": 2,
        "max_points": 5,
        "cells": [
            {
                "grade_id": "test_double",
                "points": 0,
                "max_points": 3,
                "status": "failed",
                "message": "double(-3) returned -1, wanted -6",
            },
            {
                "grade_id": "test_todo_sum",
                "points": 2,
                "max_points": 2,
                "status": "passed",
                "message": "",
            },
        ],
        "problems": [],
    }


def test_check_prints_a_table_with_messages(submitted, capsys):
    assert main(["check", str(submitted("half").parent)]) == 0  # the lesson's folder will do
    text = " ".join(capsys.readouterr().out.split())
    assert "✗ failed" in text
    assert "double(-3) returned -1, wanted -6" in text
    assert "✓ passed" in text
    assert "2 of 5 points" in text


def test_check_tells_unwritten_slow_and_crashing_answers_apart(submitted, capsys):
    path = submitted("untouched")
    node = nbformat.read(path, as_version=4)
    node.cells[3].source = "1 / 0"
    nbformat.write(node, path)
    _, data, _ = checked(path, capsys)
    double, todo = data["cells"]
    assert (double["status"], double["message"]) == ("unwritten", "double is not written yet")
    assert todo["status"] == "error"
    assert todo["message"].startswith("NameError: ")

    _, data, _ = checked(submitted("looping"), capsys)
    assert data["cells"][0]["status"] == "timeout"
    assert data["cells"][0]["message"] == TOO_SLOW
    assert data["points"] == 2


def test_check_changes_nothing(classroom, submitted, capsys):
    before = snapshot(classroom)
    checked(submitted("copied"), capsys)
    assert snapshot(classroom) == before


def test_check_reads_renamed_old_and_marked_files(classroom, submitted, tmp_path, capsys):
    node = nbformat.read(submitted("all_right"), as_version=4)
    del node.metadata["small"]
    old = tmp_path / "from the browser (2).ipynb"
    nbformat.write(nbformat.convert(node, 3), old, version=3)
    old.write_bytes(b"\xef\xbb\xbf" + old.read_bytes())
    status, data, _ = checked(old, capsys)
    assert (status, data["points"]) == (0, 5)
    assert [problem["kind"] for problem in data["problems"]] == ["byte_order_mark", "old_format"]


@pytest.mark.parametrize(
    ("content", "kind", "sentence"),
    [
        (b"", "unreadable", "is empty"),
        (b'{"cells": [', "unreadable", "no valid JSON at line 1, column 12"),
        (b"\xff\xfe{\x00", "unreadable", "not text in UTF-8"),
        (b"[" * 100_000, "unreadable", "can't be read"),
        (b"[1, 2]", "not_a_notebook", "lacks 'nbformat'"),
        (b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}', "not_a_notebook", "cells"),
        (b'{"nbformat": 99, "cells": []}', "not_a_notebook", "not a valid notebook"),
        (
            b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}',
            "other_course",
            "no notebook of this course",
        ),
        (
            b'{"nbformat": 4, "nbformat_minor": 5, "cells": [], '
            b'"metadata": {"small": {"lesson": "07_cooking"}}}',
            "other_course",
            "lesson '07_cooking', which this course does not have; known: 01_double",
        ),
    ],
)
def test_check_refuses_what_is_no_notebook_of_the_course(
    content, kind, sentence, classroom, tmp_path, capsys
):
    path = tmp_path / "handed_in.ipynb"
    path.write_bytes(content)
    status, data, err = checked(path, capsys)
    assert status == 2
    assert sentence in err
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1
    assert data["cells"] == []
    assert [problem["kind"] for problem in data["problems"]] == [kind]
    assert sentence in data["problems"][0]["message"]


def test_check_refuses_wrong_paths(classroom, tmp_path, capsys):
    assert "does not exist" in refused(["check", tmp_path / "no.ipynb"], capsys)
    assert "is a folder without a notebook" in refused(["check", tmp_path], capsys)
    (tmp_path / "link.ipynb").symlink_to("/etc/passwd")
    assert "is a link" in refused(["check", tmp_path / "link.ipynb"], capsys)


def test_check_finds_the_notebook_of_a_folder(tmp_path):
    (tmp_path / "one.2026-11-30-101500.ipynb").touch()  # a copy that reset has kept
    (tmp_path / "one.ipynb").touch()
    assert notebook_at(tmp_path) == tmp_path / "one.ipynb"
    (tmp_path / "two.ipynb").touch()
    with pytest.raises(GradingError, match="several notebooks; name one: one"):
        notebook_at(tmp_path)
    own = tmp_path / f"{tmp_path.name}.ipynb"
    own.touch()
    assert notebook_at(tmp_path) == own


def test_check_refuses_a_huge_file(classroom, tmp_path, capsys):
    path = tmp_path / "huge.ipynb"
    with open(path, "wb") as file:
        file.truncate(60_000_000)
    assert "60 MB, more than 50" in refused(["check", path], capsys)


# grade


def test_grade_again_changes_nothing_and_force_does(classroom, submitted, capsys):
    graded = classroom / "autograder" / "classroom" / "autograded"
    before = snapshot(graded)
    assert main(["grade", LESSON]) == 0
    assert "0 graded now, 8 unchanged, 2 could not be graded" in capsys.readouterr().out
    assert snapshot(graded) == before
    assert main(["grade", "01", "--student", "half", "--force"]) == 0
    assert "1 graded now" in capsys.readouterr().out
    half = graded / "half"
    assert (half / LESSON / f"{LESSON}.ipynb").is_file()
    assert snapshot(half) != {
        path.relative_to("half"): content
        for path, content in before.items()
        if path.parts[0] == "half"
    }


def test_a_new_hand_in_alone_is_graded(classroom, submitted, capsys):
    shutil.copy(submitted("all_right"), submitted("half"))
    assert main(["grade", LESSON]) == 0
    assert "1 graded now, 7 unchanged" in capsys.readouterr().out
    assert float(grades(classroom)["half"]["score"]) == 5
    assert float(grades(classroom)["all_right"]["score"]) == 5


def test_a_changed_test_grades_everybody_again(classroom, capsys):
    source = classroom / "autograder" / "classroom" / "source" / LESSON / f"{LESSON}.ipynb"
    node = source_notebook()
    node.cells[4].source = "assert todo_sum == 8, 'now 8 is right'"
    nbformat.write(node, source)
    for student in ("broken", "copied", "deleted", "looping", "nothing", "renamed", "tampered"):
        shutil.rmtree(classroom / "autograder" / "classroom" / "submitted" / student)
    assert main(["grade", LESSON]) == 0
    assert "3 students: 3 graded now" in capsys.readouterr().out
    assert float(grades(classroom)["all_right"]["score"]) == 3


def test_grade_writes_nothing_into_lessons_and_submitted(classroom, capsys):
    released = classroom / "lessons"
    (released / LESSON / "README.md").write_text("mine")
    submitted = classroom / "autograder" / "classroom" / "submitted"
    before = snapshot(released), snapshot(submitted)
    assert main(["grade", LESSON, "--student", "renamed", "--force"]) == 0
    assert (snapshot(released), snapshot(submitted)) == before


def test_code_that_ends_the_process_costs_its_own_points_only(classroom, submitted, capsys):
    node = nbformat.read(submitted("all_right"), as_version=4)
    node.cells[1].source = "def double(x):\n    import os\n    os._exit(1)"
    nbformat.write(node, submitted("all_right"))
    assert main(["grade", LESSON, "--student", "all_right"]) == 0
    assert float(grades(classroom)["all_right"]["score"]) == 2
    assert "all_right │ 2" in " ".join(capsys.readouterr().out.split())


def test_a_hand_in_that_broke_after_it_was_graded_keeps_its_points(classroom, submitted, capsys):
    submitted("all_right").write_text("{")
    assert main(["grade", LESSON, "--student", "all_right"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "all_right: the gradebook keeps 5 points from an earlier hand-in" in text


def test_hand_ins_of_other_lessons_and_several_files_are_told(classroom, submitted, capsys):
    node = nbformat.read(submitted("half"), as_version=4)
    node.metadata["small"]["lesson"] = "02_triple"
    nbformat.write(node, submitted("half"))
    two = submitted("renamed").parent
    shutil.copy(submitted("copied"), two / "second.ipynb")
    assert main(["grade", LESSON]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "half: " in text
    assert "is for lesson '02_triple'" in text
    assert "renamed: " in text
    assert "several other notebooks" in text


def test_odd_names_of_students_and_extra_files(classroom, submitted, capsys):
    odd = "o'neil [2] ü"
    folder = submitted("half").parents[1].with_name(odd)
    submitted("half").parents[1].rename(folder)
    (folder / LESSON / "timestamp.txt").write_text("2026-11-29 12:00:00 UTC")
    (folder / LESSON / "leak.txt").symlink_to("/etc/passwd")
    assert main(["grade", LESSON, "--student", odd]) == 0
    assert f"{odd} │ 2" in " ".join(capsys.readouterr().out.split())
    row = grades(classroom)[odd]
    assert float(row["score"]) == 2
    assert row["timestamp"].startswith("2026-11-29 12:00:00")
    graded = classroom / "autograder" / "classroom" / "autograded" / odd / LESSON
    assert sorted(path.name for path in graded.iterdir()) == [f"{LESSON}.ipynb", "timestamp.txt"]


def test_marks_by_hand_stay_and_count(classroom, capsys):
    from nbgrader.api import Gradebook

    from autograder.course import Course

    course = Course.load(classroom)
    with Gradebook(course.gradebook_url, "small") as gradebook:
        grade = gradebook.find_grade("test_double", LESSON, LESSON, "half")
        grade.manual_score = 1.5
        gradebook.db.commit()
    assert main(["grade", LESSON, "--student", "half", "--force"]) == 0
    assert "3.5" in capsys.readouterr().out
    assert float(grades(classroom)["half"]["score"]) == 3.5


def test_grade_makes_a_missing_gradebook(classroom, capsys):
    gradebook = classroom / "autograder" / "classroom" / "gradebook.db"
    gradebook.unlink()
    assert main(["grade", LESSON, "--student", "half", "--force"]) == 0
    assert gradebook.is_file()
    assert float(grades(classroom)["half"]["score"]) == 2


def test_grade_says_what_it_misses(classroom, capsys):
    assert "no lesson 'cooking' in this course; known: 01_double" in refused(
        ["grade", "cooking"], capsys
    )
    assert "no student 'zoe'" in refused(["grade", LESSON, "--student", "zoe"], capsys)
    folder = classroom / "autograder" / "classroom"
    shutil.rmtree(folder / "submitted")
    assert "collect the hand-ins" in refused(["grade", LESSON], capsys)
    (folder / "submitted").mkdir()
    assert "is empty" in refused(["grade", LESSON], capsys)
    shutil.rmtree(folder / "source")
    assert "known: none yet" in refused(["grade", LESSON], capsys)


def test_an_assignment_of_several_notebooks_is_told_what_grades_it(classroom, capsys):
    folder = classroom / "autograder" / "classroom" / "source" / "ps1"
    folder.mkdir()
    for name in ("problem1", "problem2"):
        nbformat.write(source_notebook(), folder / f"{name}.ipynb")
    line = refused(["grade", "ps1"], capsys)
    assert "problem1.ipynb, problem2.ipynb; grade it with `nbgrader autograde ps1`" in line
    nbformat.write(source_notebook(), folder / "ps1.ipynb")
    assert "but of problem1.ipynb, problem2.ipynb, ps1.ipynb; " in refused(["grade", "ps"], capsys)
    for name in ("problem1", "problem2"):  # a notebook without points may stand beside it
        nbformat.write(new_notebook(cells=[new_markdown_cell("# Notes")]), folder / f"{name}.ipynb")
    assert Course.load(classroom).find_lesson("ps") == "ps1"


def test_added_tests_after_grading_say_what_to_do(classroom, capsys):
    source = classroom / "autograder" / "classroom" / "source" / LESSON / f"{LESSON}.ipynb"
    node = source_notebook()
    node.cells.append(copy.deepcopy(node.cells[2]))
    node.cells[-1].metadata.nbgrader.grade_id = node.cells[-1].id = "test_double_again"
    nbformat.write(node, source)
    assert "move the gradebook away" in refused(["grade", LESSON], capsys)


def test_a_broken_gradebook_is_named(classroom, capsys):
    gradebook = classroom / "autograder" / "classroom" / "gradebook.db"
    gradebook.write_bytes(b"this is no database" * 100)
    assert "gradebook.db" in refused(["grade", LESSON], capsys)


# the course's settings


def test_a_folder_without_settings_is_refused(tmp_path, capsys):
    line = refused(["--course", tmp_path, "grade", LESSON], capsys)
    assert "no nbgrader_config.py" in line
    assert main(["--course", str(tmp_path), "check", "--json", "x.ipynb"]) == 2
    assert json.loads(capsys.readouterr().out)["problems"]


def test_broken_settings_are_named(tmp_path, capsys):
    (tmp_path / "nbgrader_config.py").write_text("c = (")
    assert "nbgrader_config.py can't be read" in refused(
        ["--course", tmp_path, "grade", LESSON], capsys
    )


def test_source_is_built_from_course_text_when_missing_or_older(classroom, capsys):
    source = classroom / "autograder" / "classroom" / "source" / LESSON / f"{LESSON}.ipynb"
    text = classroom / "course" / f"{LESSON}.py"
    text.parent.mkdir()
    text.write_text("# the text")
    builder = "import sys; sys.exit('line 3: card without minutes')"
    with open("nbgrader_config.py", "a") as config:
        config.write(f'\nc.Course.build_source = ["{{python}}", "-c", "{builder}"]\n')
    os.utime(text, (source.stat().st_mtime - 100,) * 2)
    assert main(["grade", LESSON, "--student", "half"]) == 0  # the source is newer: no build
    capsys.readouterr()
    os.utime(text, (source.stat().st_mtime + 100,) * 2)
    line = refused(["grade", LESSON, "--student", "half"], capsys)
    assert line.endswith("failed: line 3: card without minutes")


def test_nbgrader_itself_is_quiet_in_the_course_folder(classroom, command):
    """Run from the course's folder, without the environment's scripts on PATH."""
    (classroom / "autograder" / "classroom" / "gradebook.db").unlink()
    done = command(
        sys.executable, "-m", "nbgrader", "generate_assignment", LESSON, "--force",
        cwd=classroom, PATH="/usr/bin:/bin",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines() if "WARNING" in line]
    assert warnings == [
        f"[GenerateAssignmentApp | WARNING] Removing existing assignment: "
        f"{classroom / 'lessons' / LESSON}"
    ]


def test_plain_nbgrader_autograde_gives_the_same_points(classroom, small_course, command):
    for student in ("broken", "looping", "nothing", "renamed"):
        shutil.rmtree(classroom / "autograder" / "classroom" / "submitted" / student)
    done = command(sys.executable, "-m", "nbgrader", "autograde", LESSON, "--force", cwd=classroom)
    assert done.returncode == 0, done.stderr
    assert "IPKernelApp" not in done.stderr
    with sqlite3.connect(classroom / "autograder" / "classroom" / "gradebook.db") as database:
        scores = dict(
            database.execute(
                "select student_id, sum(auto_score) from submitted_assignment "
                "join submitted_notebook on submitted_notebook.assignment_id = "
                "submitted_assignment.id join grade on grade.notebook_id = submitted_notebook.id "
                "group by student_id"
            )
        )
    for recipe in recipes(small_course):
        if recipe["name"] in ("all_right", "half", "untouched", "copied", "deleted", "tampered"):
            assert scores[recipe["name"]] == recipe["points"], recipe["name"]


# the command line itself


def test_help_names_the_commands(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    for word in ("check", "grade", "demo", "examples:"):
        assert word in text
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2


def test_interrupt_says_how_to_go_on(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("autograder.course.Course.find", interrupted)
    assert main(["grade", LESSON]) == 130
    assert "run the same command again" in capsys.readouterr().err


def test_unexpected_errors_are_one_sentence(monkeypatch, capsys):
    def broken(*_):
        raise KeyError("inside")

    monkeypatch.setattr("autograder.course.Course.find", broken)
    assert "unexpected KeyError" in refused(["grade", LESSON], capsys)


def test_debug_shows_where_an_unexpected_error_comes_from(classroom, command):
    """As a user sees it: a traceback with AUTOGRADER_DEBUG=1, one line without."""
    with open("nbgrader_config.py", "a") as config:
        config.write("\nc.Course.text = 'course/{nothing}.py'\n")
    arguments = [sys.executable, "-m", "autograder", "grade", LESSON]
    quiet = command(*arguments, cwd=classroom)
    assert quiet.returncode == 2
    assert len(quiet.stderr.strip().splitlines()) == 1
    assert "Set AUTOGRADER_DEBUG=1 to see where." in quiet.stderr
    loud = command(*arguments, cwd=classroom, AUTOGRADER_DEBUG="1")
    assert loud.returncode == 1
    assert "Traceback (most recent call last)" in loud.stderr
    assert "KeyError: 'nothing'" in loud.stderr
    known = command(*arguments[:-1], "cooking", cwd=classroom.parent, AUTOGRADER_DEBUG="1")
    assert known.returncode == 2  # what is expected stays one sentence
    assert "Traceback" not in known.stderr


def test_an_error_at_one_students_grades_stops_nobody(classroom, monkeypatch, capsys):
    from autograder import batch

    write = batch.Batch._write

    def fails(self, hand_in, graded):
        if hand_in.student == "half":
            raise KeyError("inside")
        write(self, hand_in, graded)

    monkeypatch.setattr(batch.Batch, "_write", fails)
    assert main(["grade", LESSON, "--force"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "half: its grades could not be written: KeyError" in text
    assert "7 graded now" in text
    monkeypatch.setenv("AUTOGRADER_DEBUG", "1")
    with pytest.raises(KeyError, match="inside"):
        main(["grade", LESSON, "--force"])


def test_what_students_write_steers_no_terminal(classroom, submitted, capsys):
    node = nbformat.read(submitted("half"), as_version=4)
    node.cells[1].source = "def double(x):\n    raise ValueError('\\x1b[2J\\ud800 gone')"
    nbformat.write(node, submitted("half"))
    odd = submitted("half").with_name("\x1b[31mred.ipynb")
    submitted("half").rename(odd)
    assert main(["grade", LESSON, "--student", "half"]) == 0
    assert main(["check", str(odd)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b[31mred.ipynb" in out
    assert "\\x1b[2J" in out


def test_libraries_complain_into_the_log_only(tmp_path, capfd):
    log = tmp_path / "nbgrader.log"
    with log_to(log):
        logging.getLogger("asyncio").error("a socket closed early")
        warnings.warn("an old name", DeprecationWarning, stacklevel=1)
    assert "a socket closed early" in log.read_text()
    assert capfd.readouterr() == ("", "")
