"""A term on the small course: report, regrade, void tests, old copies, lateness, data care."""

import copy
import csv
import json
import re
import shutil
import sqlite3
from datetime import datetime

import nbformat
import pytest
from make_course import LESSON, REPOSITORY, make_course, source_notebook

from autograder import backup, items, lateness, mutants, preflight, term, voids
from autograder.__main__ import main
from autograder.batch import Options, grade
from autograder.check import Bench
from autograder.course import Course
from autograder.demo import DemoResult, read_recipes
from autograder.engine import SandboxUnavailable, sandbox
from autograder.errors import GradingError
from autograder.mutants import Mutant
from autograder.regrade import compare, table
from autograder.versions import fingerprint

RIGHT = "def double(x):\n    return 2 * x"
ADDS = "def double(x):\n    return x + 2  # </code><script>alert('{}')</script>"
ANSWERS = {
    **{f"right{n}": (RIGHT, "todo_sum = 7") for n in range(4)},
    **{f"adds{n}": (ADDS.format(n), "todo_sum = 12") for n in range(4)},
    "square": ("def double(x):\n    return x ** 2", "todo_sum = 7"),
    "nothing": (None, None),
    "half1": (RIGHT, "todo_sum = 12"),
    "unstamped": (RIGHT, "todo_sum = 7"),
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Return the folder of a course with a class of twelve, graded."""
    try:
        sandbox.check()
    except SandboxUnavailable as error:
        pytest.skip(f"sandbox: {error}")
    root = make_course(tmp_path_factory.mktemp("term") / "course")
    course = Course.load(root)
    released = Bench(course, LESSON).released
    for student, (double, todo) in ANSWERS.items():
        node = copy.deepcopy(released)
        if student != "unstamped":
            node.metadata["small"]["built"] = fingerprint(released)
        if double:
            node.cells[1].source, node.cells[3].source = double, todo
        folder = course.folder("submitted", LESSON, student)
        folder.mkdir(parents=True)
        nbformat.write(node, folder / f"{LESSON}.ipynb")
    grade(course, LESSON, Options(jobs=1, feedback=False))
    return root


@pytest.fixture
def course(graded, tmp_path, monkeypatch):
    """Return a copy of the graded course, its folder the current one."""
    shutil.copytree(graded, tmp_path / "course")
    monkeypatch.chdir(tmp_path / "course")
    return Course.load(tmp_path / "course")


def change_test(course, test, old, new):
    path = course.source_notebook(LESSON)
    node = nbformat.read(path, as_version=4)
    cell = next(c for c in node.cells if c.metadata.get("nbgrader", {}).get("grade_id") == test)
    assert old in cell.source
    cell.source = cell.source.replace(old, new)
    nbformat.write(node, path)


def grades(course):
    with open(course.root / course.grades_file, newline="") as file:
        return {row["student_id"]: row for row in csv.DictReader(file)}


def files_of(course):
    """Return {path: content} of all class data but the log."""
    return {
        path: path.read_bytes()
        for path in course.root.rglob("*")
        if path.is_file() and path.name not in ("nbgrader.log", "grading.lock")
    }


# report


def test_report_counts_by_mistake_and_shows_harmless_answers(course, monkeypatch, capsys):
    known = [Mutant("double", "adds two", "", r"returned -1")]
    monkeypatch.setattr(mutants, "load", lambda lesson: (known, []))
    double, todo = items.item_report(course, LESSON)
    assert [(g.name, g.named, len(g.students)) for g in double.groups] == [
        ("adds two", True, 4),
        ("not written", True, 1),
        ("returned 9", False, 1),
    ]
    assert (double.failed, double.of, double.share) == (6, 12, 0.5)
    assert (todo.failed, len(todo.groups)) == (6, 2)
    assert double.separates > 0.3
    assert [kind for kind, _ in double.samples] == ["adds two", "returned 9", "adds two"]
    assert main(["report", "01"]) == 0
    text = capsys.readouterr().out
    assert "test_double (3 points): 6 of 12 failed, 50%." in text
    assert "unnamed: returned 9" in text
    page = (course.root / course.results / f"{LESSON}.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(" in page
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page
    assert not any(student in page for student in ("adds0", "square", "half1"))


def test_report_says_which_tests_separate_nobody(course):
    remarks = {
        (0, 12, None): "Nobody fails it: it separates nobody.",
        (12, 12, None): "Everybody fails it: it separates nobody.",
        (5, 12, -0.2): "Does not separate strong from weak: correlation with the other tests "
        "-0.20. Look at the test.",
        (5, 12, 0.5): "Correlation with the other tests +0.50.",
        (2, 5, None): "",
    }
    for (failed, of, separates), said in remarks.items():
        assert items.Item("test_x", 1, failed, of, [], separates).remark() == said
    shutil.rmtree(course.results_folder(LESSON))
    with pytest.raises(GradingError, match="nothing of 01_double is graded"):
        items.item_report(course, LESSON)


@pytest.mark.parametrize(
    ("message", "name", "named"),
    [
        ("✗ f(1)\n  returned  [1, 2]\n  wanted    [3]\nRight so far: 0 of 1 case.",
         "f(1) returned [1, 2]", False),
        ("✗ f(1)\n  returned  []\n  wanted    [3]\nLikely cause: the bonus is missing.",
         "the bonus is missing.", True),
        ("✗ f(1)\n  raised    KeyError: 3\n  wanted    [3]", "f(1) raised KeyError: 3", False),
        ("✗ f(1)\n  returned  None  (a `return` is missing, or never reached)\n  wanted    3",
         "f(1) returned None", False),
        ("It is wrong.", "It is wrong.", False),
        ("✗ todo_x = 4 is not it. You left out the last.", "answered 4: You left out the last.",
         True),
        ("The bonus is forgotten here.", "no bonus", True),
        ("✗ bonus is forgotten([1])\n  returned  3", "bonus is forgotten([1]) returned 3", False),
    ],
)  # fmt: skip
def test_failures_are_named_by_the_message_and_never_by_its_facts(message, name, named):
    from re import compile

    from autograder.results import FAILED, Cell

    known = [(compile("bonus is forgotten"), "no bonus")]
    assert items._mistake(Cell("test_f", 0, 1, FAILED, message), known) == (name, named)


# regrade


def test_dry_run_writes_nothing_and_grading_gives_what_it_said(course, capsys):
    change_test(course, "test_double", "== -6", "in (-6, -1)")
    before = files_of(course)
    assert main(["grade", "01", "--dry-run", "--jobs", "1"]) == 0
    assert files_of(course) == before
    text = capsys.readouterr().out
    assert "adds0: 0 → 3 (+3): test_double 0 → 3" in text
    assert "12 students: 4 would gain, 0 would lose. Nothing was written." in text

    voids.void(course, LESSON, "test_todo_sum", "everyone", "two readings")
    lateness.deadlines_file(course).write_text(
        "lesson,student_id,due\n"
        f"{LESSON},,2026-11-27 13:00 Europe/Berlin\n"
        f"{LESSON},half1,2026-11-29 12:00 +00:00\n"
        "02_other,,whenever\n"
    )
    with open("nbgrader_config.py", "a") as config:
        config.write(
            '\nc.AssignLatePenalties.plugin_class = "autograder.lateness.PenaltyPerDay"\n'
            "c.PenaltyPerDay.share = 0.2\n"
        )
    for student in ("half1", "square", "adds0"):
        stamp = course.folder("submitted", LESSON, student) / "timestamp.txt"
        stamp.write_text("2026-11-28 12:30:00 UTC")  # a day and a half hour late
    assert main(["grade", "01", "--jobs", "1", "--no-feedback"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "late" in said
    rows = grades(course)
    for student, raw, penalty in (("half1", 5, 0), ("adds0", 5, 2), ("square", 2, 0.8)):
        row = rows[student]
        assert float(row["raw_score"]) == raw, student
        assert float(row["late_submission_penalty"]) == pytest.approx(penalty), student
        assert float(row["score"]) == pytest.approx(raw - penalty), student
    assert float(rows["nothing"]["score"]) == 2  # the void test only
    copied = course.folder("autograded", LESSON, "nothing") / f"{LESSON}.ipynb"
    notes = nbformat.read(copied, as_version=4).cells[0].source
    assert "The test test_todo_sum is void: everyone has its 2 points." in notes
    record = json.loads((course.results_folder(LESSON) / "half1.json").read_text())
    assert record["made_with"]["graded_by"] == record["made_with"]["copy_of"]
    assert record["made_with"]["python"].count(".") == 2

    backup.restore(course)  # of before this grading
    with sqlite3.connect(course.gradebook_file) as book:
        score = "select sum(auto_score) from grade"
        assert book.execute(score).fetchone() == (4 * 5 + 5 + 3 + 2,)
    assert json.loads(voids.void_file(course).read_text())[LESSON]["test_todo_sum"]


def test_old_copies_are_graded_by_their_own_tests_and_said_so(course):
    change_test(course, "test_double", "double(2) == 4", "double(2) == 5")
    changes = {change.student: change for change in compare(course, LESSON, Options(jobs=1))}
    assert {s for s, change in changes.items() if change.difference} == {"unstamped"}
    assert changes["unstamped"].tests == {"test_double": (3, 0)}
    lines = table(changes.values())
    assert "unstamped: 5 → 2 (-3): test_double 3 → 0" in lines
    assert "12 students: 0 would gain, 1 would lose. Nothing was written." in lines


def test_old_copies_without_their_tests_get_todays(course):
    from autograder.versions import Versions

    released = Bench(course, LESSON).released
    today = json.dumps(source_notebook()), json.dumps(released)
    node = copy.deepcopy(released)
    versions = Versions(course, LESSON, *today, "today")
    assert versions.find(node)[0] == "today"
    assert versions.find(node)[3] == []
    node.metadata["small"]["built"] = "0123abcd"
    version, source, _, (problem,) = versions.find(node)
    assert (version, source) == ("today", today[0])
    assert "another version of the lesson (0123abcd, today's is today)" in problem.message
    assert "the tests of that version are not kept here" in problem.message
    node.metadata["small"]["built"] = "../../etc/passwd"
    assert versions.find(node)[3] == []
    node.metadata["small"]["built"] = fingerprint(released)
    assert "graded by the tests it was written for" in versions.find(node)[3][0].message
    course.old_copies = "today"
    assert "as the settings want" in versions.find(node)[3][0].message


def test_void_says_what_it_misses_and_can_be_taken_back(course, capsys):
    assert main(["void", "01", "test_nothing"]) == 2
    assert "has no test 'test_nothing'; it has: test_double" in capsys.readouterr().err
    assert main(["void", "01", "test_double", "--undo"]) == 2
    assert "is not void" in capsys.readouterr().err
    assert main(["void", "01", "test_double", "--counts", "nobody"]) == 0
    assert voids.voided(course, LESSON) == {"test_double": "nobody"}
    result = items._results(course, LESSON)["right0"]
    notes = voids.apply(result, voids.voided(course, LESSON))
    assert (result.points, result.max_points) == (2, 2)
    assert notes[0].message == "The test test_double is void: it counts for nobody."
    assert main(["void", "01", "test_double", "--undo"]) == 0
    assert voids.voided(course, LESSON) == {}
    voids.void_file(course).write_text("[")
    with pytest.raises(GradingError, match="is broken"):
        voids.voided(course, LESSON)


# lateness


def test_penalty_grows_by_the_day():
    plugin = lateness.PenaltyPerDay(share=0.1, most=0.5, grace_minutes=10)
    hour = 3600
    for hours, lost in ((0.1, 0), (1, 2), (24, 2), (25, 4), (1000, 10)):
        assert plugin.late_submission_penalty("ada", 20, hours * hour) == pytest.approx(lost)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (f"{LESSON},,2026-11-27 12:00", "is no time with a zone"),
        (f"{LESSON},,2026-11-27 12:00 Mars/Base", "is no time with a zone"),
        (f"{LESSON},ada,2026-11-27 12:00 UTC", "no row without a student"),
        (f"{LESSON},,2026-11-27 12:00 UTC\n{LESSON},ada,2026-11-26 12:00 UTC", "ada would be due"),
    ],
)
def test_deadlines_that_cannot_be_meant_are_refused(course, rows, said):
    path = lateness.deadlines_file(course)
    path.write_text(f"lesson,student_id,due\n{rows}\n")
    with pytest.raises(GradingError, match=said):
        lateness.deadlines(course, LESSON)
    path.write_text("who,when\n")
    with pytest.raises(GradingError, match="needs the columns"):
        lateness.deadlines(course, LESSON)
    path.write_text(f"lesson,student_id,due\n{LESSON},*,2026-11-27 12:00 -05:30\n")
    assert lateness.deadlines(course, LESSON) == (datetime(2026, 11, 27, 17, 30), {})


# data care


def test_backups_are_whole_and_a_broken_gradebook_comes_back(course, capsys):
    before = course.gradebook_file.read_bytes()
    first = backup.backup(course)
    assert backup.check_gradebook(first / "gradebook.db") == ""
    course.gradebook_file.write_bytes(b"this is no database" * 100)
    assert main(["restore"]) == 0
    assert "run `autograder grade`" in capsys.readouterr().out
    with sqlite3.connect(course.gradebook_file) as book:
        assert book.execute("select count(*) from student").fetchone() == (len(ANSWERS),)
    assert len(before) > 10_000
    (first / "gradebook.db").write_bytes(b"")
    assert main(["restore", first.name]) == 2
    assert "is not whole" in capsys.readouterr().err
    assert main(["restore", "1999"]) == 2
    assert first.name in capsys.readouterr().err


def test_only_so_many_backups_are_kept(course, monkeypatch):
    monkeypatch.setattr(backup, "KEPT", 2)
    made = [backup.backup(course) for _ in range(3)]
    assert backup.backups(course) == made[1:]


def test_new_term_archives_the_class_and_keeps_the_course(course, capsys):
    assert main(["new-term"]) == 2
    assert "--yes does it" in capsys.readouterr().out
    before = {path.name: content for path, content in files_of(course).items()}
    kept = [course.source_notebook(LESSON), course.root / "nbgrader_config.py"]
    assert main(["new-term", "--name", "autumn", "--yes"]) == 0
    archive = term.archive_folder(course) / "autumn"
    after = {path.name for path in archive.rglob("*") if path.is_file()}
    assert {"gradebook.db", "grades.csv", "right0.json", f"{LESSON}.ipynb"} <= after
    assert [path.name for path in kept if not path.is_file()] == []
    assert (course.term / "versions" / LESSON).is_dir()
    assert not course.gradebook_file.exists()
    assert not course.folder("submitted", LESSON, "right0").exists()
    with sqlite3.connect(next(archive.rglob("gradebook.db"))) as book:
        assert book.execute("select count(*) from student").fetchone() == (len(ANSWERS),)
    assert len(before["grades.csv"]) > 100
    assert main(["new-term", "--name", "../out", "--yes"]) == 2
    assert main(["forget", "right0", "--yes"]) == 0  # also in the archive
    assert not any(b"right0" in path.read_bytes() for path in archive.rglob("*") if path.is_file())


def test_forget_leaves_no_trace_of_one_and_all_of_the_others(course, capsys):
    (course.term / "roster.csv").write_text("student_id,first_name\nadds1,A\nadds2,B\n")
    lateness.deadlines_file(course).write_text("lesson,student_id,due\nx,adds1,y\nx,adds2,y\n")
    backup.backup(course)
    assert main(["report", "01"]) == 0
    assert main(["forget", "adds1"]) == 2
    assert "Nothing was deleted" in capsys.readouterr().out
    assert main(["forget", "adds1", "--yes"]) == 0
    assert "Not reached: the learning platform" in capsys.readouterr().out
    left = [
        path
        for path in course.root.rglob("*")
        if "adds1" in str(path.relative_to(course.root))
        or (path.is_file() and b"adds1" in path.read_bytes())
    ]
    assert left == []
    assert not list((course.root / course.results).glob("*.html"))  # it had the answer in it
    assert set(grades(course)) == set(ANSWERS) - {"adds1"}
    for book in (course.gradebook_file, backup.backups(course)[-1] / "gradebook.db"):
        with sqlite3.connect(book) as open_book:
            assert open_book.execute("select count(*) from grade").fetchone() == (2 * 11,)
    assert main(["forget", "adds1", "--yes"]) == 2
    assert "nothing is known" in capsys.readouterr().err
    assert main(["forget", "../course", "--yes"]) == 2


# preflight


@pytest.fixture
def ready(course):
    """Return the course with its release in place and without a sample class."""
    released = Bench(course, LESSON).released
    folder = course.folder("release", LESSON)
    folder.mkdir(parents=True)
    nbformat.write(released, folder / f"{LESSON}.ipynb")
    course.demo_lesson = ""
    return course


def test_preflight_is_green_and_names_what_is_not(ready, monkeypatch, tmp_path, capsys):
    checks = {check.name: check for check in preflight.preflight(ready, LESSON)}
    assert [check.name for check in checks.values() if not check.ok] == []
    assert checks["worked solution"].said == "5 of 5 points"
    assert checks["untouched lesson"].said == "0 of 5 points"
    assert "12 hand-ins" in checks["time and disk"].said

    (ready.root / "constraints.txt").write_text("numpy==0.1  # x\nabsent==1\n")
    (check,) = preflight._environment(ready)
    assert not check.ok
    assert "numpy" in check.said
    assert "instead of 0.1" in check.said
    assert "absent" not in check.said
    (ready.root / "requirements.txt").write_text("-e .\nno-such-package>=1\n")
    (check,) = preflight._environment(ready)
    assert check.said == "not installed: no-such-package"
    ready.config.Exchange.root = str(tmp_path)
    assert preflight._exchange(ready).ok
    monkeypatch.setattr(preflight.os, "access", lambda *_: False)
    assert "chmod" in preflight._exchange(ready).mend
    ready.gradebook_file.write_bytes(b"broken" * 1000)
    assert preflight._gradebook(ready).mend == "autograder restore"


def test_preflight_looks_at_the_sample_class(ready, monkeypatch):
    lines = grade_lines(ready)
    monkeypatch.setattr(preflight, "demo", lambda *_: DemoResult(ready, LESSON, lines, None))
    assert preflight._demo_class(ready).said == "10 students got what they deserve"
    lines[0].result.cells[0].points = 1
    check = preflight._demo_class(ready)
    assert (check.ok, check.said) == (False, "all_right got 1, wanted 5")


def grade_lines(course):
    """Return the lines that grading the sample class gives, without grading it."""
    from autograder.batch import Graded
    from autograder.results import Cell, Result

    lines = []
    for recipe in read_recipes(course):
        points = recipe.points or 0
        cells = [Cell("test_double", points, 3, ""), Cell("test_todo_sum", 0, 2, "")]
        result = Result(LESSON, cells, ungraded=recipe.points is None)
        lines.append(Graded(recipe.name, result, fresh=True))
    return lines


def test_preflight_stops_where_nothing_can_be_read(ready, monkeypatch, capsys):
    def broken():
        raise SandboxUnavailable("bubblewrap is not installed.", "Install it.")

    monkeypatch.setattr(preflight.sandbox, "check", broken)
    ready.source_notebook(LESSON).write_text("{")
    assert main(["preflight", LESSON]) == 1
    text = capsys.readouterr().out
    assert "✗ sandbox: bubblewrap is not installed." in text
    assert "    to mend it: Install it." in text
    assert "✗ source: " in text
    assert "2 not in order" in text


# teaching pages


@pytest.mark.parametrize("lesson", sorted(p.stem for p in REPOSITORY.glob("course/[0-9]*.py")))
def test_each_lesson_has_a_teaching_page_with_its_minutes(lesson):
    page = (REPOSITORY / "docs" / "teaching" / f"{lesson}.md").read_text("utf-8")
    heads = re.findall(r"^## (.+)$", page, re.M)
    assert heads == [
        "On the board",
        "One question to vote on",
        "Times",
        "The five commonest errors, and what to say",
    ]
    assert "**Where to stop.**" in page
    rows = page[page.index(heads[-1]) :].count("\n| ")
    assert rows == 6  # five and the head
    path = REPOSITORY / "lessons" / lesson / f"{lesson}.ipynb"
    intro = nbformat.read(path, as_version=4).cells[0].source
    minutes = re.findall(r"\b([A-C]), [^;.]*?(\d+)", intro)
    assert len(minutes) >= 2
    for part, number in minutes:
        assert re.search(rf"^\| part {part}[^|]*\| {number} \|", page, re.M), (part, number)
