"""Where a learner stands in all lessons, read from the saved notebooks: the last run of each check.

Nothing is kept beside the notebooks. So the view stays right when a notebook is taken away from
Binder and brought back, copied, or put back in its released state.
"""

import contextlib
import json
import os
import re
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

PASSED, NOTED, UNWRITTEN, FAILED, NOT_RUN = "✓", "•", "✎", "✗", "–"
WORDS = {
    PASSED: "passes",
    NOTED: "noted, marked when graded",
    UNWRITTEN: "not written",
    FAILED: "look again",
    NOT_RUN: "not run yet",
}
STEPS = 10
STYLE = """<style>
.sd-course table { border-collapse: collapse; }
.sd-course :is(th, td) { padding: 0.3em 1em 0.3em 0; text-align: left; vertical-align: top;
  background: none; }
.sd-course caption { padding: 0.5em 0; text-align: left; font-weight: 600;
  color: var(--jp-content-font-color1, inherit); }
.sd-course .sd-bar { font-family: monospace; letter-spacing: 0.1em; white-space: nowrap; }
.sd-course ul { margin: 0.3em 0; padding: 0; list-style: none; }
.sd-course th[scope="row"] { white-space: nowrap; }
.sd-course summary { cursor: pointer; }
.sd-course a { text-decoration: underline; }
.sd-course :is(a, summary):focus-visible { outline: 3px solid var(--jp-brand-color1, #1976d2); }
</style>"""
# JupyterLab takes the keys of a focused element that does not carry this itself.
KEYS = 'data-lm-suppress-shortcuts="true"'


@dataclass
class Standing:
    """How far one lesson is.

    marks  {check id: mark}; None when the notebook is missing or can't be read
    """

    number: int
    title: str
    checks: list
    path: Path
    marks: dict | None

    def points(self, *marks: str) -> int:
        """Sum the points of the checks that have one of these marks."""
        return sum(c["points"] for c in self.checks if self.mark(c["id"]) in marks)

    def mark(self, check: str) -> str:
        return (self.marks or {}).get(check, NOT_RUN)

    @property
    def total(self) -> int:
        return sum(check["points"] for check in self.checks)

    @property
    def done(self) -> int:
        return sum(self.mark(check["id"]) in (PASSED, NOTED) for check in self.checks)

    @property
    def bar(self) -> str:
        full = STEPS * self.done // len(self.checks)
        return "■" * full + "□" * (STEPS - full)

    @property
    def summary(self) -> str:
        """Say in words what the bar shows."""
        if self.marks is None:
            return "no notebook here"
        noted = self.points(NOTED)
        more = f", {noted} more noted" if noted else ""
        return (
            f"{self.done} of {len(self.checks)} parts, "
            f"{self.points(PASSED)} of {self.total} points{more}"
        )


class Overview:
    """All lessons in a table, as HTML in JupyterLab and as text elsewhere.

    lessons  the folder that holds the lessons' folders
    here     the folder that links are written for
    now      {lesson's slug: {check id: mark}} of checks that have just run, newer than the file
    """

    def __init__(self, lessons: Path, here: Path, now: dict | None = None):
        self.here = here
        self.standings = [standing(lessons, number, now or {}) for number in all_lessons()]

    @property
    def found(self) -> bool:
        """Say whether any lesson's notebook is there."""
        return any(standing.marks is not None for standing in self.standings)

    def __repr__(self) -> str:
        rows = [f"{s.number}  {s.title:<22} {s.bar}  {s.summary}" for s in self.standings]
        return "\n".join(["All lessons, by the last checks in the saved notebooks", *rows])

    def _repr_html_(self) -> str:
        rows = "".join(self._row(standing) for standing in self.standings)
        return (
            f'<div class="sd-course" role="region" aria-label="Where you are in the course">{STYLE}'
            "<table><caption>All lessons, by the last checks in the saved notebooks</caption>"
            '<thead><tr><th scope="col">Lesson</th><th scope="col">Done</th>'
            f'<th scope="col">Parts</th></tr></thead><tbody>{rows}</tbody></table></div>'
        )

    def _row(self, standing: Standing) -> str:
        name = f"{standing.number} · {escape(standing.title)}"
        if standing.marks is None:
            return f'<tr><th scope="row">{name}</th><td>{standing.summary}</td><td></td></tr>'
        address = escape(Path(os.path.relpath(standing.path, self.here)).as_posix())
        parts = "".join(
            f"<li>{standing.mark(c['id'])} {escape(c['id'])}: {WORDS[standing.mark(c['id'])]}</li>"
            for c in standing.checks
        )
        return (
            f'<tr><th scope="row"><a href="{address}" {KEYS}>{name}</a></th>'
            f'<td><span class="sd-bar" aria-hidden="true">{standing.bar}</span><br>'
            f"{standing.summary}</td>"
            f"<td><details><summary {KEYS}>{len(standing.checks)} parts of lesson "
            f"{standing.number}</summary><ul>{parts}</ul></details></td></tr>"
        )


def all_lessons() -> list[int]:
    """Return the numbers of the course's lessons."""
    names = (file.name for file in (files("specdec.progress") / "data").iterdir())
    found = (re.fullmatch(r"lesson_(\d\d)\.json", name) for name in names)
    return sorted(int(match[1]) for match in found if match)


def standing(lessons: Path, number: int, now: dict) -> Standing:
    """Return how far a lesson is, from its saved notebook and from checks that have just run."""
    path = next(iter(sorted(lessons.glob(f"{number:02}_*/"))), lessons / f"{number:02}")
    path = path / f"{path.name}.ipynb"
    title, marks = f"Lesson {number}", None
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        # A missing, broken or odd notebook is shown as none.
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        heading = re.search(r"# Lesson \d+ · (.+)", "".join(cells[0]["source"]))
        title = heading[1].strip() if heading else title
        marks = {**marks_of(cells), **now.get(path.stem, {})}
    data = files("specdec.progress") / "data" / f"lesson_{number:02}.json"
    return Standing(number, title, json.loads(data.read_text("utf-8")), path, marks)


def marks_of(cells: list) -> dict:
    """Return {check id: mark} of the check cells that were run."""
    marks = {}
    for cell in cells:
        settings = cell.get("metadata", {}).get("nbgrader", {})
        name = str(settings.get("grade_id", ""))
        if name.startswith("test_") and (mark := mark_of(cell.get("outputs", []))):
            check = name.removeprefix("test_")
            is_choice = check.startswith("quiz_")  # marked when graded
            marks[check] = NOTED if mark == PASSED and is_choice else mark
    return marks


def mark_of(outputs: list) -> str | None:
    """Return what a check's saved outputs say; None when it was not run."""
    for output in outputs:
        if output.get("output_type") == "error":
            unwritten = output.get("ename") in ("NotWrittenYet", "NotImplementedError", "NameError")
            return UNWRITTEN if unwritten else FAILED
    text = "".join("".join(output.get("text", "")) for output in outputs)
    return PASSED if PASSED in text else None
