"""Known wrong answers lose points and hear why; odd ones that are right get everything.

They go through the released notebook and the grading path, many answers to a notebook: a wrong
answer must not cost another its points, which is itself part of what is tested. Here one notebook
of each kind and lesson does, with SOAK=1 (`make soak`) all; tests/course/test_known_answers.py runs
every answer without the engine.
"""

import ast
import os
import re
from functools import cache

import pytest
from make_course import REPOSITORY

from autograder.answers import own_tests, with_answers, worked_answers
from autograder.check import Bench
from autograder.course import Course
from autograder.mutants import layers, load
from autograder.submissions import Notebook
from tools.course import lesson_slugs, read_lesson, source_notebook, strip_markers

ALL = os.environ.get("SOAK") == "1"
LESSONS = lesson_slugs()
WRONG, ODD = 0, 1  # the two banks of a lesson


def spread(items, number):
    """Return the places of so many items, evenly spread; all with SOAK=1."""
    if ALL or len(items) <= number:
        return list(range(len(items)))
    return [round((i + 0.5) * len(items) / number - 0.5) for i in range(number)]


def of_each_lesson(which, number):
    """Return pytest parameters (lesson, layer): some layers of each lesson's bank `which`."""
    return [
        pytest.param(lesson, bank[index], id=f"{lesson[:2]}-{index}")
        for lesson in LESSONS
        for bank in [layers(load(lesson)[which])]
        for index in spread(bank, number)
    ]


def earlier_mistakes():
    """Return pytest parameters (lesson, answer, code): one wrong function, all else as worked.

    Each function but the last has its first known mistake, two of them without SOAK=1; the first
    also has one of syntax.
    """
    found = []
    for lesson in LESSONS:
        worked = worked_answers(source_notebook(read_lesson(lesson)))
        functions = [name for name, code in worked.items() if defines(strip_markers(code), name)]
        first = {item.answer: item.code for item in reversed(load(lesson)[WRONG])}
        codes = [(name, first[name]) for name in functions[: len(functions) - 1 if ALL else 2]]
        codes.append((functions[0], f"def {functions[0]}(*args)\n    return"))
        found += [
            pytest.param(lesson, name, code, id=f"{lesson[:2]}-{name}-{number}")
            for number, (name, code) in enumerate(codes)
        ]
    return found


def defines(code, name):
    """Say whether a cell defines a function of this name."""
    kinds = ast.FunctionDef | ast.ClassDef
    return any(isinstance(node, kinds) and node.name == name for node in ast.parse(code).body)


@pytest.fixture(scope="module")
def benches():
    """Return a function: a lesson -> its Bench, opened once."""
    course = Course.load(REPOSITORY)
    return cache(lambda lesson: Bench(course, lesson))


@pytest.fixture
def bench(benches, lesson):
    return benches(lesson)


def graded(bench, items):
    """Grade a notebook with right answers but for items; return {test id: Cell} of the checks."""
    answers = worked_answers(bench.source)
    answers |= {name: item.code.strip() for name, item in items.items()}
    result = bench.grade(Notebook(with_answers(bench.released, answers)))
    return {cell.grade_id: cell for cell in result.cells if not cell.by_hand}


@pytest.mark.parametrize(("lesson", "layer"), of_each_lesson(WRONG, 1))
def test_wrong_answers_lose_points_and_hear_why(bench, layer):
    cells = graded(bench, layer)
    complaints = []
    for answer, tests in own_tests(bench.source).items():
        failed = [cells[test] for test in tests if cells[test].points < cells[test].max_points]
        if answer not in layer:
            complaints += [f"{cell.grade_id} is right but lost points" for cell in failed]
            continue
        mutant = layer[answer]
        said = "\n".join(cell.message for cell in failed)
        if not failed:
            complaints.append(f"{answer}, {mutant.name}: got full points")
        elif not re.search(mutant.message, said):
            complaints.append(f"{answer}, {mutant.name}: wanted /{mutant.message}/ in\n{said}")
    assert not complaints, "\n\n".join(complaints)


@pytest.mark.parametrize(("lesson", "layer"), of_each_lesson(ODD, 1))
def test_odd_but_right_answers_get_full_points(bench, layer):
    cells = graded(bench, layer)
    lost = [
        f"{cell.grade_id}: {cell.message}"
        for cell in cells.values()
        if cell.points < cell.max_points or cell.message
    ]
    assert not lost, f"{ {name: item.name for name, item in layer.items()} }\n" + "\n".join(lost)


@pytest.mark.parametrize(("lesson", "broken", "code"), earlier_mistakes())
def test_an_earlier_mistake_costs_only_its_own_points(bench, broken, code):
    answers = worked_answers(bench.source) | {broken: code}
    cells = bench.grade(Notebook(with_answers(bench.released, answers))).cells
    lost = {cell.grade_id for cell in cells if cell.points < cell.max_points and not cell.by_hand}
    assert lost
    assert lost <= set(own_tests(bench.source)[broken])


@pytest.mark.parametrize("lesson", LESSONS)
def test_worked_answers_get_full_and_untouched_ones_no_points(bench):
    worked = graded(bench, {})
    assert sum(cell.points for cell in worked.values()) == 20
    untouched = bench.grade(Notebook(bench.released)).cells
    assert sum(cell.points for cell in untouched) == 0
    assert {cell.status for cell in untouched} == {"unwritten"}
