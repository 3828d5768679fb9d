"""Try all that grading a lesson needs, the day before: each line is in order or has its mend.

Nothing of the class is written; what has to be graded is graded in memory or in a scratch course.
"""

import importlib.metadata
import os
import platform
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbgrader.exchange.default import Exchange

from autograder import mutants, postgres
from autograder.answers import own_tests, with_answers, worked_answers
from autograder.backup import check_gradebook, why_not
from autograder.check import Bench
from autograder.demo import demo, read_recipes
from autograder.engine import SandboxUnavailable, sandbox
from autograder.environment import locked, needed, plain_name
from autograder.errors import GradingError
from autograder.results import MANUAL, whole
from autograder.roster import load
from autograder.submissions import Notebook

SMALL_CLASS = 30  # students, where there is no roster
SPARE = 500 << 20  # bytes that should be free besides
COPIES = 4  # a hand-in's size in all: graded, feedback, backup


@dataclass
class Check:
    """One line: what was looked at, whether it is in order, what was found, and the mend."""

    name: str
    ok: bool
    said: str
    mend: str = ""


def preflight(course, lesson):
    """Yield the Checks of a lesson, one after the other."""
    yield _sandbox()
    bench, check = _bench(course, lesson)
    yield check
    if bench is None:
        return
    yield _release(course, bench)
    started = time.perf_counter()
    worked = with_answers(bench.released, worked_answers(bench.source))
    yield _graded(bench, worked, "worked solution", full=True)
    seconds = time.perf_counter() - started
    yield _graded(bench, bench.released, "untouched lesson", full=False)
    yield _sample_class(course, bench)
    yield from _environment(course)
    yield _exchange(course)
    yield _gradebook(course)
    yield _room(course, lesson, seconds, len(nbformat.writes(worked)))


def _sandbox():
    try:
        sandbox.check()
    except SandboxUnavailable as error:
        return Check("sandbox", False, error.cause, error.mend)
    return Check("sandbox", True, "an empty submission ran in it")


def _bench(course, lesson):
    try:
        bench = Bench(course, lesson)
    except Exception as error:  # whatever is wrong with the instructor's own file
        reason = f"{type(error).__name__}: {str(error)[:200]}"
        return None, Check("source", False, reason, "Build the lesson's source again.")
    return bench, Check("source", True, f"{lesson} is read, and its release can be made")


def _release(course, bench):
    path = course.folder("release", bench.lesson) / f"{bench.lesson}.ipynb"
    if not path.is_file():
        text = f"{path} is missing"
        return Check("released lesson", False, text, "Build the lesson, or release it.")
    given = [(c.cell_type, c.source) for c in nbformat.read(path, as_version=4).cells]
    if given != [(c.cell_type, c.source) for c in bench.released.cells]:
        text = f"{path} is not what the source gives now"
        return Check("released lesson", False, text, "Build the lesson again, or reset it.")
    return Check("released lesson", True, "what students get is what the source gives")


def _graded(bench, node, name, full):
    """Return the Check of a notebook that must get all its points, or none."""
    try:
        result = bench.grade(Notebook(node))
    except SandboxUnavailable:
        return Check(name, False, "not graded, for want of a sandbox", "Mend the sandbox first.")
    auto = [cell for cell in result.cells if cell.status != MANUAL]
    most, got = (whole(sum(getattr(c, n) for c in auto)) for n in ("max_points", "points"))
    wanted = most if full else 0
    text = f"{got} of {most} points"
    if got == wanted:
        return Check(name, True, text)
    cells = [cell for cell in auto if (cell.points < cell.max_points) == full]
    first = f"{cells[0].grade_id}: {cells[0].message or cells[0].status}" if cells else ""
    return Check(name, False, f"{text}, wanted {wanted}. {first}", "Mend the test or the answer.")


def _sample_class(course, bench):
    """Grade the sample class, or known wrong answers where the lesson has none."""
    if bench.lesson == course.demo_lesson and course.sample_class:
        return _demo_class(course)
    try:
        wrong, odd = mutants.load(bench.lesson)
    except GradingError as error:
        return Check("sample class", True, f"none for this lesson, and {error}")
    name = "known wrong answers"
    missed = _misjudged(bench, wrong, lose=True) + _misjudged(bench, odd, lose=False)
    if missed:
        return Check(
            name, False, f"misjudged: {', '.join(missed)}", "Run make soak; mend the test."
        )
    return Check(name, True, "the commonest of each answer lose points, odd right ones do not")


def _misjudged(bench, items, lose):
    """Return the first item of each answer that does not lose points, or does, as text."""
    tests = own_tests(bench.source)
    layer = next(iter(mutants.layers(i for i in items if i.answer in tests)), {})
    answers = {name: item.code for name, item in layer.items()}
    node = with_answers(bench.released, worked_answers(bench.source) | answers)
    try:
        cells = {cell.grade_id: cell for cell in bench.grade(Notebook(node)).cells}
    except SandboxUnavailable:
        return ["all, for want of a sandbox"]
    lost = {a for a in layer for t in tests[a] if cells[t].points < cells[t].max_points}
    return [f"{a} ({layer[a].name})" for a in layer if (a in lost) != lose]


def _demo_class(course):
    folder = tempfile.mkdtemp(prefix="autograder-preflight-")
    try:
        lines = {line.student: line.result for line in demo(course, folder).lines}
    except GradingError as error:
        return Check("sample class", False, str(error), "Try autograder demo.")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    wrong = []
    for recipe in read_recipes(course):
        result = lines[recipe.name]
        points = None if result.ungraded else result.points
        if points != recipe.points:
            wrong.append(f"{recipe.name} got {points}, wanted {recipe.points}")
    if wrong:
        return Check("sample class", False, "; ".join(wrong), "Try autograder demo.")
    return Check("sample class", True, f"{len(lines)} students got what they deserve")


def _environment(course):
    """Compare what is installed with the versions that students install."""
    path = course.root / "constraints.txt"
    name = "environment"
    if not path.is_file():
        yield Check(
            name, True, f"no {path.name} to compare with: Python {platform.python_version()}"
        )
        return
    wanted = locked(course.root)
    installed = {plain_name(d.name): d.version for d in importlib.metadata.distributions()}
    other = [
        f"{package} {installed[package]} instead of {version}"
        for package, version in sorted(wanted.items())
        if package in installed and installed[package] != version
    ]
    missing = [package for package in needed(course.root) if package not in installed]
    mend = "Make the environment anew: pip install -c constraints.txt -r requirements.txt"
    if missing:
        yield Check(name, False, f"not installed: {', '.join(missing)}", mend)
    elif other:
        yield Check(name, False, f"other versions than students': {'; '.join(other)}", mend)
    else:
        same = len(set(wanted) & set(installed))
        text = f"{same} packages as in {path.name}, Python {platform.python_version()}"
        yield Check(name, True, text)


def _exchange(course):
    root = Path(Exchange(config=course.config, coursedir=course.directory("")).root)
    name = "exchange"
    if not root.exists():
        return Check(name, True, f"none at {root}: collect from your learning platform")
    if os.access(root, os.W_OK | os.X_OK):
        return Check(name, True, f"{root} can be written")
    return Check(name, False, f"{root} can't be written", f"chmod ugo+rwx {root}")


def _gradebook(course):
    path = course.gradebook_file
    if path is None:
        return _database(course)
    if not path.is_file():
        if os.access(_existing(path.parent), os.W_OK):
            return Check("gradebook", True, f"{path} will be made")
        return Check("gradebook", False, f"{path.parent} can't be written", "Change its owner.")
    problem = check_gradebook(path)
    if problem:
        return Check("gradebook", False, f"{path}: {problem}", "autograder restore")
    return Check("gradebook", True, f"{path} is whole")


def _database(course):
    problem = why_not(course)
    if problem == postgres.NO_GRADEBOOK:
        return Check("gradebook", True, f"{course.gradebook_name} will be filled")
    if problem:
        text = f"{course.gradebook_name}: {problem}"
        return Check("gradebook", False, text, "Without this no batch makes a backup.")
    return Check("gradebook", True, f"{course.gradebook_name} answers, and can be backed up")


def _existing(folder):
    while not folder.exists():
        folder = folder.parent
    return folder


def _room(course, lesson, seconds, size):
    """Return the Check of time and disk for the class."""
    folder = course.folder("submitted", lesson).parent
    there = (
        [path for path in folder.glob(f"*/{lesson}") if path.is_dir()] if folder.is_dir() else []
    )
    roster = load(course)
    students = len(there) or (len(roster.people) if roster else SMALL_CLASS)
    jobs = os.cpu_count() or 1
    need = students * COPIES * size + SPARE
    free = shutil.disk_usage(_existing(folder)).free
    minutes = max(1, students * seconds / jobs / 60)
    text = (
        f"{students} hand-ins at {seconds:.1f} s: about {minutes:.0f} min with {jobs} workers; "
        f"{need >> 20:,} MB needed, {free >> 20:,} free"
    )
    return Check("time and disk", free > need, text, "" if free > need else "Make room.")
