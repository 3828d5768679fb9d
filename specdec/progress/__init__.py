"""Where a learner stands: a lesson's visible checks, run on what is defined right now, then all
lessons by the last checks in their saved notebooks.
"""

import contextlib
import io
import json
import os
from importlib.resources import files
from pathlib import Path

from IPython import get_ipython
from IPython.display import display

from specdec.checks import NotWrittenYet
from specdec.progress.overview import Overview


def lesson_checks(lesson: str) -> list[dict]:
    """Return the visible checks of a lesson in order: [{"id", "points", "source"}, …]."""
    path = files("specdec.progress") / "data" / f"lesson_{lesson[:2]}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def run_check(source: str, names: dict) -> str:
    """Run one check on a copy of the learner's names; return its mark: ✓, ✗ or ✎ (not written)."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(source, dict(names))
    except (NotWrittenYet, NameError):
        return "✎"
    except Exception:
        return "✗"
    return "✓"


def marked_later(check: dict) -> bool:
    """Whether a check only notes the answer: a graded question is marked when it is graded."""
    return check["id"].startswith("quiz_")


def show_progress(lesson: str) -> None:
    """Print a line for each check and the points that pass, then show all lessons in a table.

    Nothing is written or handed in.
    """
    names = get_ipython().user_ns
    marks = {}
    passed = noted = total = 0
    for check in lesson_checks(lesson):
        mark = run_check(check["source"], names)
        if mark == "✓" and marked_later(check):
            mark = "•"
        marks[check["id"]] = mark
        passed += check["points"] * (mark == "✓")
        noted += check["points"] * (mark == "•")
        total += check["points"]
        print(f"{mark}  {check['id']:<30} {check['points']}")
    print(f"\n{passed} of {total} points pass their visible checks.")
    if noted:
        print(f"{noted} more noted, marked when graded.")
    print("✓ passes  • noted  ✎ not written  ✗ look again")
    show_course({lesson: marks})


def show_course(now: dict | None = None) -> None:
    """Show how far all lessons are, when their folders stand beside the notebook's own.

    now  {lesson: {check id: mark}} of checks that have just run
    """
    if os.environ.get("SPECDEC_STILL") == "1":
        return  # a worked solution is built: no learner's work
    here = Path.cwd()
    overview = Overview(here.parent, here, now)
    if overview.found:
        display(overview)
