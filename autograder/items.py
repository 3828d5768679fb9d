"""What a class got wrong, test by test: the plan for the next lecture, as text and as HTML.

Failures are counted by the mistake that the test named, else by what was returned. Nobody's name is
in it. The page holds no script, and a browser that opens it runs none.
"""

import html
import json
import math
import re
from collections import Counter
from dataclasses import dataclass, field

import nbformat

from autograder import mutants
from autograder.answers import own_tests
from autograder.errors import GradingError
from autograder.results import FAILED, MANUAL, PARTIAL, TIMEOUT, UNWRITTEN, Result, printable
from autograder.submissions import grade_id, read_source

SAMPLES = 3
SAMPLE_LINES = 40
MIN_CLASS = 10  # students for a discrimination that says anything
WEAK = 0.1  # correlation with the other items below which one does not separate
CAUSE = "Likely cause: "
FACT = re.compile(r"^(✗|✎|✓|\s+(?:returned|wanted|raised|called)\b|Right so far)")
GOT = re.compile(r"\b(returned|raised)\s+(.+?)(?:, wanted .*|\s{2,}\(.*)?$", re.M)
ANSWERED = re.compile(r"^✗ \w+ = (.+?) is not it\. (.+)$", re.M)
STATUS = {UNWRITTEN: "not written", TIMEOUT: "no answer in time", "crashed": "ended the process"}


@dataclass
class Group:
    """Failures of one kind. named: the mistake is known."""

    name: str
    named: bool
    students: list[str] = field(default_factory=list)


@dataclass
class Item:
    """One test: who failed it and how, and three answers that failed."""

    test: str
    max_points: float
    failed: int
    of: int
    groups: list[Group]
    separates: float | None
    samples: list[tuple[str, str]] = field(default_factory=list)

    @property
    def share(self):
        return self.failed / self.of if self.of else 0

    def remark(self):
        """Return a sentence on how well the test separates strong from weak, or ""."""
        if self.failed in (0, self.of):
            return f"{'Everybody' if self.failed else 'Nobody'} fails it: it separates nobody."
        if self.separates is None:
            return ""
        text = f"correlation with the other tests {self.separates:+.2f}"
        if self.separates < WEAK:
            return f"Does not separate strong from weak: {text}. Look at the test."
        return f"{text[0].upper()}{text[1:]}."


def item_report(course, lesson):
    """Return the Items of a graded lesson, in the order of its tests."""
    results = _results(course, lesson)
    source = read_source(course.ensure_source(lesson))
    owner = {test: answer for answer, tests in own_tests(source).items() for test in tests}
    known = _known_mistakes(lesson)
    cells = next(iter(results.values())).cells
    tests = {cell.grade_id: cell.max_points for cell in cells if cell.status != MANUAL}
    items = []
    for test, points in tests.items():
        cells = {s: c for s, r in results.items() for c in r.cells if c.grade_id == test}
        failed = {s: c for s, c in cells.items() if c.points < c.max_points}
        groups = _groups(failed, known.get(owner.get(test), ()))
        separates = _separates(test, results)
        item = Item(test, points, len(failed), len(cells), groups, separates)
        item.samples = _samples(course, lesson, owner.get(test), groups)
        items.append(item)
    return items


def _results(course, lesson):
    """Return {student: Result} of those who were graded."""
    found = {}
    for path in sorted(course.results_folder(lesson).glob("*.json")):
        try:
            data = json.loads(path.read_text(encoding="utf-8"))["result"]
            result = Result.from_dict(data)
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if result.cells:
            found[path.stem] = result
    if not found:
        raise GradingError(f"nothing of {lesson} is graded; run `autograder grade {lesson}` first.")
    return found


def _known_mistakes(lesson):
    """Return {answer: [(pattern, name)]} of the lesson's known wrong answers."""
    try:
        wrong, _ = mutants.load(lesson)
    except GradingError:
        return {}
    known = {}
    for item in wrong:
        known.setdefault(item.answer, []).append((re.compile(item.message), item.name))
    return known


def _groups(failed, known):
    """Return the Groups of {student: failed Cell}, named ones first, larger ones first."""
    groups = {}
    for student, cell in failed.items():
        name, named = _mistake(cell, known)
        groups.setdefault((name, named), Group(name, named)).students.append(student)
    return sorted(groups.values(), key=lambda g: (not g.named, -len(g.students), g.name))


def _mistake(cell, known):
    """Return (what went wrong, whether that is a named mistake)."""
    if cell.status not in (FAILED, PARTIAL):
        return STATUS.get(cell.status, cell.status), True
    lines = cell.message.splitlines()
    for line in lines:
        if line.startswith(CAUSE):
            return line.removeprefix(CAUSE), True
    answered = ANSWERED.search(cell.message)
    if answered:
        return f"answered {answered[1]}: {answered[2]}", True
    said = "\n".join(line for line in lines if not FACT.match(line))
    for pattern, name in known:
        if said and pattern.search(said):
            return name, True
    got = GOT.search(cell.message)
    if got:
        call = lines[0].removeprefix("✗ ") + " " if lines[0].startswith("✗ ") else ""
        return f"{call}{got[1]} {got[2].strip()}", False
    return (lines[0] if lines else "no message"), False


def _separates(test, results):
    """Return the correlation of a test's points with those of all other tests, or None."""
    pairs = []
    for result in results.values():
        own = sum(cell.points for cell in result.cells if cell.grade_id == test)
        pairs.append((own, result.points - own))
    if len(pairs) < MIN_CLASS:
        return None
    n = len(pairs)
    mean_x, mean_y = (sum(column) / n for column in zip(*pairs, strict=True))
    xx = sum((x - mean_x) ** 2 for x, _ in pairs)
    yy = sum((y - mean_y) ** 2 for _, y in pairs)
    if not xx or not yy:
        return None
    return sum((x - mean_x) * (y - mean_y) for x, y in pairs) / math.sqrt(xx * yy)


def _samples(course, lesson, answer, groups):
    """Return up to three (kind of failure, code), from the largest groups, no code twice."""
    waiting = [[(group.name, s) for s in group.students] for group in groups]
    waiting = [group for group in waiting if group and group[0][0] not in STATUS.values()]
    waiting.sort(key=len, reverse=True)
    found, seen, rank = [], set(), 0
    while answer and len(found) < SAMPLES and any(len(group) > rank for group in waiting):
        for group in waiting:
            if len(group) > rank and len(found) < SAMPLES:
                kind, student = group[rank]
                code = _answer(course, lesson, student, answer)
                if code and code not in seen:
                    seen.add(code)
                    found.append((kind, code))
        rank += 1
    return found


def _answer(course, lesson, student, answer):
    """Return a student's answer from the graded copy, as text that steers no terminal."""
    path = course.folder("autograded", lesson, student) / f"{lesson}.ipynb"
    try:
        node = nbformat.read(path, as_version=4)
    except (OSError, ValueError):
        return ""
    code = "\n".join(cell.source for cell in node.cells if grade_id(cell) == answer)
    lines = [line.rstrip() for line in printable(code).strip().splitlines()]
    if len(lines) > SAMPLE_LINES:
        left = len(lines) - SAMPLE_LINES
        lines = [*lines[:SAMPLE_LINES], f"… {left} more lines"]
    return "\n".join(line[:200] for line in lines)


def most_lost(items):
    """Return the items in the order in which a lecture would take them: most points lost first."""
    return sorted(items, key=lambda item: -item.failed * item.max_points)


def _counts(item):
    counts = Counter({(g.name, g.named): len(g.students) for g in item.groups})
    for (name, named), count in counts.items():
        yield count, name if named else f"unnamed: {name}"


def as_text(lesson, items):
    """Return the report as plain text."""
    of = max(item.of for item in items)
    lines = [f"{lesson}: {of} graded. What lost most points comes first.", ""]
    for item in most_lost(items):
        lines.append(
            f"{item.test} ({item.max_points} points): {item.failed} of {item.of} failed, "
            f"{item.share:.0%}. {item.remark()}".rstrip()
        )
        lines += [f"  {count:4}  {name}" for count, name in _counts(item)]
        for kind, code in item.samples:
            lines += [f"    an answer ({kind}):"]
            lines += [f"      | {line}" for line in code.splitlines()]
        lines.append("")
    return printable("\n".join(lines))


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; }}
main {{ padding: 0 1rem; }}
meter {{ width: 12rem; }}
pre {{ overflow-x: auto; border: 1px solid; padding: .5rem; }}
td:first-child {{ text-align: right; padding-right: 1rem; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>{of} graded. What lost most points comes first.</p>
{body}
</main>
</body>
</html>
"""


def as_html(lesson, items):
    """Return the report as one page; all that students wrote is escaped."""
    title = html.escape(f"Lesson {lesson}: what was failed")
    body = "\n".join(_section(item) for item in most_lost(items))
    return _PAGE.format(title=title, of=max(item.of for item in items), body=body)


def _section(item):
    shown = html.escape
    rows = "".join(f"<tr><td>{n}</td><td>{shown(name)}</td></tr>" for n, name in _counts(item))
    samples = "".join(
        f"<p>An answer: {shown(kind)}</p>\n<pre><code>{shown(code)}</code></pre>\n"
        for kind, code in item.samples
    )
    label = f"{item.failed} of {item.of} failed, {item.share:.0%}"
    table = f"<table><tbody>{rows}</tbody></table>" if rows else ""
    folded = f"<details><summary>Answers</summary>\n{samples}</details>" if samples else ""
    return (
        f"<section>\n<h2><code>{shown(item.test)}</code> ({item.max_points} points)</h2>\n"
        f'<p><meter min="0" max="1" value="{item.share:.3f}" aria-label="{label}"></meter> '
        f"{label}. {shown(item.remark())}</p>\n{table}\n{folded}\n</section>"
    )


def write_report(course, lesson):
    """Write the report beside the lesson's results; return (text, path of the page)."""
    items = item_report(course, lesson)
    folder = course.root / course.results
    text, page = as_text(lesson, items), folder / f"{lesson}.html"
    page.with_suffix(".txt").write_text(text, encoding="utf-8")
    page.write_text(as_html(lesson, items), encoding="utf-8")
    return text, page
