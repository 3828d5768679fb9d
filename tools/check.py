"""Prove that the course is in step: text, lessons, solutions and checks.

    python -m tools.check [NN …]

Prints one line for each fault, with where it is and what to do, and exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

import nbformat

from tools.build import (
    LESSONS,
    SOLUTIONS,
    comparable,
    data_files,
    lesson_path,
    release,
    run,
    solution,
)
from tools.course import (
    BEGIN_HIDDEN,
    BEGIN_SOLUTION,
    END_HIDDEN,
    END_SOLUTION,
    ROOT,
    CourseError,
    Lesson,
    find_slug,
    is_check,
    lesson_slugs,
    read_lesson,
    source_notebook,
    to_text,
)

SPELLED = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "course",
    "docs",
    "specdec",
    "autograder",
]


def check_text(lesson: Lesson) -> Iterator[str]:
    """Cards, hints, links, ids, points and minutes."""
    names = [c.metadata["answer"] for c in lesson.cells if "answer" in c.metadata]
    cards = {c.metadata["card"] for c in lesson.cells if "card" in c.metadata}
    hints = {c.metadata["hints"]: i for i, c in enumerate(lesson.cells) if "hints" in c.metadata}
    for name in names:
        where = f"course/{lesson.slug}.py, exercise {name}"
        if name not in cards:
            yield f'{where}: no card; add a [markdown] cell with card="{name}"'
        if name not in hints:
            yield f'{where}: no hints; add a [markdown] cell with hints="{name}"'
        elif len(re.split(r"^===+$", lesson.cells[hints[name]].source, flags=re.M)) != 3:
            yield f"{where}: give three hints, divided by lines of ==="
        if not lesson.points(name):
            yield f'{where}: nothing is graded; add a cell with test="{name}" and points'
    for index, cell in enumerate(lesson.cells):
        keys = cell.metadata
        if "card" in keys and not {"difficulty", "minutes"} <= set(keys):
            yield f"{lesson.where(index)}: the card needs difficulty= and minutes="
        if "test" in keys and not isinstance(keys.get("points"), int):
            yield f"{lesson.where(index)}: the check needs points="
        if cell.cell_type == "markdown" and re.search(r"!\[\]\(", cell.source):
            yield f"{lesson.where(index)}: the image has no alt text; write ![what it shows](…)"
        if re.search(r"\bshow\(", cell.source) and "alt=" not in cell.source:
            yield f"{lesson.where(index)}: the figure has no alt text; give show(…, alt=…)"
    wanted = lesson.meta.get("points")
    if wanted != lesson.total_points:
        yield (
            f"course/{lesson.slug}.py: the header says {wanted} points, the cells add up to "
            f"{lesson.total_points}; change one"
        )
    if not 45 <= lesson.minutes <= 90:
        yield f"course/{lesson.slug}.py: {lesson.minutes} minutes in all; keep it from 45 to 90"


def check_data(lesson: Lesson) -> Iterator[str]:
    """The package data that the build makes."""
    for path, content in data_files(lesson).items():
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            yield f"{path.relative_to(ROOT)} is not in step with the text; run `make build`"


def check_lesson(lesson: Lesson) -> Iterator[str]:
    """The built lesson: byte-equal to a rebuild, and without answers."""
    path = lesson_path(lesson.slug, LESSONS)
    name = path.relative_to(ROOT)
    if not path.exists():
        yield f"{name} is missing; run `make build`"
        return
    built = path.read_text(encoding="utf-8")
    if built != to_text(release(lesson)):
        yield f"{name} differs from a rebuild; run `make build`, and edit only course/"
    for secret in secrets(lesson):
        if secret in built.replace('\\"', '"'):
            yield f"{name} shows part of an answer or a hidden test: {secret!r}"


def secrets(lesson: Lesson) -> set[str]:
    """Return the lines of solutions and hidden tests that stand nowhere else in the lesson."""
    hidden, open_lines = set(), set()
    for cell in source_notebook(lesson).cells:
        inside = False
        for line in cell.source.splitlines():
            if any(marker in line for marker in (BEGIN_SOLUTION, BEGIN_HIDDEN)):
                inside = True
            elif any(marker in line for marker in (END_SOLUTION, END_HIDDEN)):
                inside = False
            else:
                (hidden if inside else open_lines).add(line.strip())
    hints = "\n".join(open_lines)
    return {line for line in hidden if len(line) > 12 and line not in hints}


def check_solution(lesson: Lesson) -> Iterator[str]:
    """The worked solution: equal to a rebuild in source, metadata and text outputs."""
    path = lesson_path(lesson.slug, SOLUTIONS)
    name = path.relative_to(ROOT)
    if not path.exists():
        yield f"{name} is missing; run `make build`"
        return
    kept = nbformat.read(path, as_version=4)
    if comparable(kept) != comparable(solution(lesson)):
        yield f"{name} differs from a rebuild; run `make build`, and edit only course/"
    text = to_text(kept)
    for marker in (BEGIN_SOLUTION, BEGIN_HIDDEN):
        if marker in text:
            yield f"{name} contains {marker!r}"
    for number, cell in enumerate(kept.cells, 1):
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}) and not output.metadata.get(
                "image/png", {}
            ).get("alt"):
                yield f"{name}, cell {number}: a figure without alt text; use show(…, alt=…)"


def check_worked(lesson: Lesson) -> Iterator[str]:
    """The worked functions pass all checks, hidden ones included."""
    notebook = run(source_notebook(lesson), allow_errors=True)
    for cell in notebook.cells:
        for error in errors(cell):
            yield (
                f"course/{lesson.slug}.py, cell {cell.id}: the worked lesson fails with "
                f"{error.ename}: {first_line(error)}"
            )


def check_untouched(lesson: Lesson) -> Iterator[str]:
    """Run All reaches the end; each graded cell says "not written yet", and nothing else fails."""
    notebook = run(untagged(release(lesson)), allow_errors=True)
    for cell in notebook.cells:
        where = f"lessons/{lesson.slug}, cell {cell.id}"
        found = errors(cell)
        tagged = "raises-exception" in cell.metadata.get("was", [])
        if is_check(cell) and not found:
            yield f"{where}: an untouched lesson passes this graded cell; make the check stricter"
        for error in found:
            if "not written yet" not in error.evalue:
                yield f"{where}: fails untouched with {error.ename}: {first_line(error)}"
            elif not tagged:
                yield f"{where}: may fail untouched, so mark it as free_try"


def untagged(notebook):
    """Take the raises-exception tags away, so that a run records each error; keep them as `was`."""
    for cell in notebook.cells:
        cell.metadata["was"] = cell.metadata.pop("tags", [])
    return notebook


def errors(cell) -> list:
    return [o for o in cell.get("outputs", []) if o.output_type == "error"]


def first_line(error) -> str:
    return (error.evalue.splitlines() or [""])[0]


def check_spelling() -> Iterator[str]:
    existing = [name for name in SPELLED if (ROOT / name).exists()]
    found = subprocess.run(
        [sys.executable, "-m", "codespell_lib", *existing],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    for line in found.stdout.splitlines():
        if "==>" in line:
            yield f"{line.strip()}: spelling"


CHECKS: list[Callable[[Lesson], Iterator[str]]] = [
    check_text,
    check_data,
    check_lesson,
    check_solution,
    check_worked,
    check_untouched,
]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.check", description=__doc__)
    parser.add_argument("lesson", nargs="*", help="01 or 01_draft_and_verify; default: all")
    args = parser.parse_args(argv)
    faults = 0
    try:
        slugs = [find_slug(name) for name in args.lesson] or lesson_slugs()
        for slug in slugs:
            lesson = read_lesson(slug)
            for check in CHECKS:
                for fault in check(lesson):
                    faults += 1
                    print(f"✗ {fault}")
        for fault in check_spelling():
            faults += 1
            print(f"✗ {fault}")
    except CourseError as error:
        print(f"✗ {error}")
        return 1
    print(f"✗ {faults} faults" if faults else f"✓ {len(slugs)} lessons are in step")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
