"""Tests that count no more, since they were found to be wrong after the class was graded.

`void.json` in the term's folder says which, and for whom: with "everyone" each student has the
test's points, with "nobody" it is worth none. Marks by hand stay.
"""

import json
import os
from datetime import UTC, datetime

from autograder.errors import GradingError
from autograder.results import Problem, whole
from autograder.submissions import grade_id, is_test, read_source

COUNTS = ("everyone", "nobody")


def void_file(course):
    return course.term / "void.json"


def voided(course, lesson):
    """Return {test: "everyone" or "nobody"} of a lesson."""
    return {test: entry["counts"] for test, entry in _read(course).get(lesson, {}).items()}


def void(course, lesson, test, counts, why=""):
    """Note that a test counts no more; counts None takes that back. Grading applies it."""
    source = read_source(course.ensure_source(lesson))
    tests = [grade_id(cell) for cell in source.cells if is_test(cell)]
    if test not in tests:
        raise GradingError(f"{lesson} has no test '{test}'; it has: {', '.join(tests)}.")
    known = _read(course)
    entries = known.setdefault(lesson, {})
    if counts is None:
        if entries.pop(test, None) is None:
            raise GradingError(f"{test} of {lesson} is not void.")
    else:
        now = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
        entries[test] = {"counts": counts, "why": why, "since": now}
    target = void_file(course)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    part.write_text(json.dumps(known, indent=1), encoding="utf-8")
    os.replace(part, target)


def _read(course):
    path = void_file(course)
    if not path.is_file():
        return {}
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        for entries in known.values():
            if any(entry["counts"] not in COUNTS for entry in entries.values()):
                raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError):
        raise GradingError(f"{path} is broken; mend it or remove it.") from None
    return known


def apply(result, marks):
    """Change the points of void tests in a Result; return the notes for the student.

    marks  what voided returns
    """
    notes = []
    for cell in result.cells:
        counts = marks.get(cell.grade_id)
        if counts is None:
            continue
        if counts == "everyone":
            cell.points = cell.max_points
            text = f"everyone has its {whole(cell.max_points)} points"
        else:
            cell.points = cell.max_points = 0
            text = "it counts for nobody"
        cell.status, cell.message = "void", ""
        notes.append(Problem("void", f"The test {cell.grade_id} is void: {text}."))
    return notes
