"""Where a learner stands in a lesson: all visible checks, run on what is defined right now."""

import contextlib
import io
import json
from importlib.resources import files

from IPython import get_ipython

from specdec.checks import NotWrittenYet


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
    """Print a line for each check and the points that pass; nothing is written or handed in."""
    names = get_ipython().user_ns
    passed = noted = total = 0
    for check in lesson_checks(lesson):
        mark = run_check(check["source"], names)
        if mark == "✓" and marked_later(check):
            mark = "•"
        passed += check["points"] * (mark == "✓")
        noted += check["points"] * (mark == "•")
        total += check["points"]
        print(f"{mark}  {check['id']:<30} {check['points']}")
    print(f"\n{passed} of {total} points pass their visible checks.")
    if noted:
        print(f"{noted} more noted, marked when graded.")
    print("✓ passes  • noted  ✎ not written  ✗ look again")
