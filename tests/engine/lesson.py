"""A small lesson and ways to write submissions for it."""

import copy
import functools

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ANSWERS = {
    "double": "def double(n):\n    return 2 * n",
    "count_up": "def count_up(n):\n    return list(range(n))",
    "average": "import numpy as np\n\ndef average(values):\n    return np.mean(values)",
    "ask_model": "def ask_model(model, prompt):\n    return [model(prompt), model(prompt + [1])]",
    "quiz": 'quiz = "B"',
}
TESTS = {
    "double": (
        "assert double(2) == 4, f'double(2) gave {double(2)!r}'\n"
        "### BEGIN HIDDEN TESTS\n"
        "secret_cases = [(7, 14), (-3, -6)]\n"
        "for given, wanted in secret_cases:\n"
        "    assert double(given) == wanted\n"
        "### END HIDDEN TESTS"
    ),
    "count_up": (
        "result = count_up(4)\nassert len(result) == 4\nassert result == [0, 1, 2, 3]\n"
        "assert count_up(0) == []"
    ),
    "average": (
        "import numpy as np\n"
        "np.testing.assert_allclose(average(np.array([1.0, 2.0, 6.0])), 3.0)\n"
        "assert abs(average([2.0, 4.0]) - 3.0) < 1e-9"
    ),
    "ask_model": (
        "calls = []\n"
        "def model(prompt):\n"
        "    calls.append(list(prompt))\n"
        "    return len(prompt) * 10\n"
        "prompt = [5, 6]\n"
        "answer = ask_model(model, prompt)\n"
        "assert answer == [20, 30]\n"
        "assert calls == [[5, 6], [5, 6, 1]], f'the model was asked {calls}'\n"
        "assert prompt == [5, 6], 'the prompt was changed'"
    ),
    "quiz": 'assert quiz in ("A", "B", "C"), "choose A, B or C"\n'
    '### BEGIN HIDDEN TESTS\nassert quiz == "B"\n### END HIDDEN TESTS',
}
NAMES = tuple(ANSWERS)
ALL = frozenset(NAMES)


def _info(grade_id, *, grade=False, solution=False, locked=False, points=None):
    info = {
        "grade_id": grade_id, "grade": grade, "solution": solution, "locked": locked,
        "task": False, "schema_version": 3,
    }  # fmt: skip
    return {"nbgrader": info | ({"points": points} if grade else {})}


def answer_cell(name, source):
    """Return the answer cell of one exercise."""
    return new_code_cell(source, id=f"answer-{name}", metadata=_info(name, solution=True))


def check_cell(name, source):
    """Return the test cell of one exercise, worth one point."""
    metadata = _info(f"test_{name}", grade=True, locked=True, points=1)
    return new_code_cell(source, id=f"test-{name}".replace("_", "-"), metadata=metadata)


@functools.cache
def _source():
    cells = [
        new_markdown_cell("# A lesson", id="title", metadata=_info("title", locked=True)),
        new_code_cell("import math\nhelper = 3", id="setup"),
    ]
    for name in NAMES:
        solution = f"### BEGIN SOLUTION\n{ANSWERS[name]}\n### END SOLUTION"
        cells += [answer_cell(name, solution), check_cell(name, TESTS[name])]
    return new_notebook(cells=cells, metadata={"kernelspec": {
        "name": "python3", "display_name": "Python 3", "language": "python"}})  # fmt: skip


def source():
    """Return the instructor's notebook."""
    return copy.deepcopy(_source())


@functools.cache
def _released():
    from autograder.engine.source import release_version

    return release_version(_source())


def released():
    """Return the notebook as students get it."""
    return copy.deepcopy(_released())


def submission(answers=None, *, first="", last="", between=None):
    """Return a student's notebook.

    answers   {exercise: source} in place of the right ones
    first     source of a cell in front, last of one at the end
    between   {exercise: source} of cells right before a test
    """
    notebook = released()
    texts = ANSWERS | (answers or {})
    cells = []
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if grade_id in texts:
            cell.source = texts[grade_id]
        extra = (between or {}).get(grade_id.removeprefix("test_"))
        if extra and grade_id.startswith("test_"):
            cells.append(new_code_cell(extra))
        cells.append(cell)
    if first:
        cells.insert(0, new_code_cell(first))
    if last:
        cells.append(new_code_cell(last))
    notebook.cells = cells
    return notebook


def find(notebook, grade_id):
    """Return the position of the first cell with this grade_id."""
    return next(
        number
        for number, cell in enumerate(notebook.cells)
        if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    )


def passed(result):
    """Return the names of the exercises whose test gave all its points."""
    return {c.grade_id.removeprefix("test_") for c in result.cells if c.points == c.max_points}
