"""Read what was handed in, as data: nothing here runs a student's code or changes a file."""

import copy
import json
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from autograder.errors import GradingError
from autograder.results import Problem

MAX_BYTES = 50_000_000
MAX_DEPTH = 100
BOM = b"\xef\xbb\xbf"
_CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass
class Notebook:
    """A readable notebook, in today's format, and what was odd about its file.

    files is the folder of the files that go with it, or None.
    """

    node: nbformat.NotebookNode
    problems: list[Problem] = field(default_factory=list)
    files: str | None = None


def grade_id(cell):
    """Return a cell's grade_id, or None; odd metadata counts as none."""
    nbgrader = cell.get("metadata", {}).get("nbgrader", {})
    name = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    return name if isinstance(name, str) else None


def is_test(cell):
    """Say whether a source notebook's cell is graded by running it."""
    nbgrader = cell.metadata.get("nbgrader", {})
    return bool(nbgrader.get("grade")) and not nbgrader.get("solution")


def is_answer(cell):
    """Say whether a source notebook's cell is one that the student writes."""
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def read_by_a_person(cell):
    """Say whether a source notebook's cell is an answer that a person grades, such as a project."""
    return is_answer(cell) and bool(cell.metadata.nbgrader.get("grade"))


def read_source(path):
    """Return the instructor's notebook at path."""
    return nbformat.read(path, as_version=4)


def read_notebook(path, keep_outputs=False):
    """Return the Notebook at path; GradingError says in a sentence why it can't be read.

    Outputs are left out, for nothing in grading looks at them.
    """
    path = Path(path)
    raw = _read_bytes(path)
    problems = []
    if raw.startswith(BOM):
        problems.append(Problem("byte_order_mark", "the file starts with a byte order mark"))
    data = _parse(path, raw.removeprefix(BOM))
    node = _upgrade(path, data, problems, keep_outputs)
    if any("\r" in cell.source for cell in node.cells):
        problems.append(Problem("windows_line_ends", "its cells have the line ends of Windows"))
    return Notebook(node, problems, str(path.resolve().parent))


def with_plain_lines(node):
    """Return a copy of a notebook whose cells have plain line ends."""
    copied = copy.deepcopy(node)
    for cell in copied.cells:
        cell.source = cell.source.replace("\r\n", "\n").replace("\r", "\n")
    return copied


def _read_bytes(path):
    try:
        info = os.lstat(path)
    except OSError:
        raise GradingError(f"{path} does not exist.", "missing_file") from None
    if stat.S_ISDIR(info.st_mode):
        raise GradingError(f"{path} is a folder; name the notebook in it.", "not_a_file")
    if not stat.S_ISREG(info.st_mode):
        raise GradingError(f"{path} is a link or a special file, not a notebook.", "not_a_file")
    if info.st_size > MAX_BYTES:
        limit = MAX_BYTES // 1_000_000
        raise GradingError(
            f"{path} has {info.st_size / 1e6:.0f} MB, more than {limit}; "
            "clear its outputs and save it again.",
            "too_large",
        )
    try:
        return path.read_bytes()
    except OSError as error:
        raise GradingError(f"{path} can't be read: {error.strerror}.", "unreadable") from error


def _parse(path, raw):
    try:
        data = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise GradingError(
            f"{path} is not text in UTF-8, so not a notebook.", "unreadable"
        ) from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        message = f"{path} is broken: no valid JSON at {where} ({error.msg})."
        if not raw.strip():
            message = f"{path} is empty."
        raise GradingError(message, "unreadable") from None
    except (RecursionError, ValueError):
        raise GradingError(f"{path} holds JSON that can't be read.", "unreadable") from None
    if not isinstance(data, dict) or not isinstance(data.get("nbformat"), int):
        raise GradingError(f"{path} is not a notebook: it lacks 'nbformat'.", "not_a_notebook")
    return data


def _upgrade(path, data, problems, keep_outputs):
    """Return the notebook in format 4 with the parts that nbformat insists on."""
    try:
        if data["nbformat"] < 4:
            problems.append(
                Problem("old_format", f"the file has the old notebook format {data['nbformat']}")
            )
        _check_depth(data)
        if data["nbformat"] == 4:
            node = nbformat.v4.to_notebook_json(data)
        else:
            node = nbformat.convert(nbformat.reader.reads(json.dumps(data)), 4)
        for cell in node.cells:
            _complete(cell, keep_outputs)
        node.metadata.pop("widgets", None)
        _, node = nbformat.validator.normalize(node)
        nbformat.validate(node, relax_add_props=True)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise GradingError(f"{path} is not a valid notebook: {reason}", "not_a_notebook") from None
    return node


def _check_depth(data):
    """Raise ValueError where data is nested deeper than any editor's: that breaks programs."""
    level = [data]
    for _ in range(MAX_DEPTH):
        level = [
            part
            for whole in level
            if isinstance(whole, dict | list)
            for part in (whole.values() if isinstance(whole, dict) else whole)
        ]
        if not level:
            return
    raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")


def _complete(cell, keep_outputs):
    """Give a cell what other programs than Jupyter leave out, and no id that nbformat refuses."""
    cell.setdefault("metadata", nbformat.NotebookNode())
    cell.setdefault("source", "")
    if not _CELL_ID.fullmatch(str(cell.get("id", ""))):
        cell.pop("id", None)
    if cell.get("cell_type") == "code":
        cell.setdefault("execution_count", None)
        if not keep_outputs:
            cell["outputs"] = []
        cell.setdefault("outputs", [])


def lesson_of(notebook, path, course):
    """Return the lesson that a notebook belongs to; GradingError if it is none of the course's.

    What the notebook says of itself counts, then its cells, then its file name.
    """
    known = course.lessons()
    named = notebook.node.metadata.get(course.metadata_key) if course.metadata_key else None
    lesson = named.get("lesson") if isinstance(named, dict) else None
    if isinstance(lesson, str):
        if lesson in known:
            return lesson
        raise GradingError(
            f"{path} is for lesson '{lesson[:80]}', which this course does not have; "
            f"known: {', '.join(known)}.",
            "other_course",
        )
    by_cells = _lesson_by_cells(notebook, course, known)
    if by_cells:
        return by_cells
    stem = Path(path).stem
    if stem in known:
        return stem
    raise GradingError(
        f"{path} is no notebook of this course: it names no lesson, and has none of its cells.",
        "other_course",
    )


def _lesson_by_cells(notebook, course, known):
    """Return the lesson whose graded cells most cells of the notebook carry, or None."""
    ids = {grade_id(cell) for cell in notebook.node.cells} - {None}
    shared = {}
    for lesson in known if ids else ():
        if course.source_notebook(lesson).is_file():
            source = read_source(course.source_notebook(lesson))
            shared[lesson] = len(ids & {grade_id(cell) for cell in source.cells})
    best = max(shared, key=shared.get, default=None)
    return best if best and shared[best] else None
