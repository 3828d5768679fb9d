"""A class of lesson 1 as instructors meet it: right, partly right, broken, odd and hostile."""

import copy
import json
import shutil

import classes
import nbformat
from classes import LESSON
from nbformat.v4 import new_code_cell

from autograder.answers import with_answers, worked_answers
from autograder.check import Bench
from autograder.submissions import Notebook
from tests.engine.corpus import CORPUS

# Of each hundred: how many are of which kind.
MIX = {"right": 56, "half": 21, "untouched": 4, "tampered": 8, "hostile": 2, "endless": 1,
       "crash": 2, "truncated": 2, "no json": 1, "mark": 1, "other name": 2}  # fmt: skip
STEP = 37  # through the kinds; it has no factor of 100, so they are well mixed
LOOP = "while True:\n    pass"
CRASH = "import os\nos._exit(3)"


def make_mixed_class(folder, students):
    """Hand in for a class in a scratch course; return {student: (kind, points)}.

    Points are None where the file can't be graded. Those of odd notebooks are what grading them
    here gives. Tampering and attacks are those of the engine's own tests.
    """
    course = classes.make_class(folder, 1)
    shutil.rmtree(course.folder("submitted", LESSON).parent)
    makers = _makers(Bench(course, LESSON))
    kinds = [kind for kind, number in MIX.items() for _ in range(number)]
    expected = {}
    for number in range(students):
        kind, student = kinds[number * STEP % 100], f"s{number:05}"
        variants = makers[kind]
        text, points = variants[number % len(variants)]
        target = course.folder("submitted", LESSON, student)
        target.mkdir(parents=True)
        name = "mine" if kind == "other name" else LESSON
        (target / f"{name}.ipynb").write_text(text, encoding="utf-8")
        expected[student] = kind, points
    return expected


def _makers(bench):
    """Return {kind: [(text of a notebook's file, points)]}."""
    answers = worked_answers(bench.source)
    some = dict(list(answers.items())[: len(answers) // 2])
    whole, half = with_answers(bench.released, answers), with_answers(bench.released, some)
    full = sum(cell.metadata.nbgrader.points for cell in bench.source.cells
               if cell.metadata.get("nbgrader", {}).get("grade"))  # fmt: skip
    text = nbformat.writes(whole)
    return {
        "right": [(text, full)],
        "half": [(nbformat.writes(half), bench.grade(Notebook(half)).points)],
        "untouched": [(nbformat.writes(bench.released), 0)],
        "tampered": list(_tampered(bench, whole)),
        "hostile": [
            (json.dumps(_with_cell(bench.released, 0, entry.first)), 0)
            for entry in CORPUS
            if entry.first and entry.answers and not entry.deserves
        ],
        "endless": [(json.dumps(_with_cell(whole, len(whole.cells), LOOP)), full)],
        "crash": [(json.dumps(_with_cell(whole, len(whole.cells), CRASH)), full)],
        "truncated": [(text[: len(text) // 2], None)],
        "no json": [("hello", None)],
        "mark": [("\ufeff" + text, full)],
        "other name": [(text, full)],
    }


def _with_cell(node, place, source):
    changed = copy.deepcopy(node)
    changed.cells.insert(place, new_code_cell(source))
    return changed


def _tampered(bench, whole):
    for entry in CORPUS:
        if not entry.tamper or entry.name == "an answer that claims to be its test":
            continue
        node = copy.deepcopy(whole)
        entry.tamper(node)
        yield json.dumps(node), bench.grade(Notebook(copy.deepcopy(node))).points
