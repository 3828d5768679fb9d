"""Known wrong answers lose points and hear why; odd ones that are right get everything.

All go through the released notebook and the grading path, many answers to a notebook: a wrong
answer must not cost another its points, which is itself part of what is tested.
"""

import re
from collections import Counter
from functools import cache

import pytest
from make_course import REPOSITORY

from autograder.answers import own_tests, with_answers, worked_answers
from autograder.check import Bench
from autograder.course import Course
from autograder.mutants import layers, load
from autograder.submissions import Notebook

FUNCTIONS = {
    "01_draft_and_verify": {
        "verify_greedy",
        "accepted_count",
        "speculative_generate",
        "expected_tokens",
        "speed_estimate",
    },
    "03_exact_sampling": {
        "acceptance_probability",
        "residual",
        "expected_acceptance",
        "speculative_step",
        "process_logits",
        "speculative_sample",
    },
    "04_cache_and_rollback": {
        "KVCache",
        "catch_up",
        "cut_at_eos",
        "speculative_generate_cached",
        "acceptance_by_position",
    },
}
LESSONS = sorted(FUNCTIONS)
BANKS = {lesson: load(lesson) for lesson in LESSONS}  # {lesson: (wrong answers, odd ones)}
EARLIER_MISTAKES = [
    ("01", "verify_greedy", "def verify_greedy(draft, target_next):\n    return list(draft)"),
    ("01", "verify_greedy", "def verify_greedy(draft, target_next)\n    return"),
    ("01", "expected_tokens", "def expected_tokens(a, k):\n    return 17"),
    ("03", "acceptance_probability", "acceptance_probability = lambda p, q, token: 1"),
    ("03", "residual", "def residual(p, q)\n    return"),
    ("03", "speculative_step", "def speculative_step(*rows):\n    return rows"),
    ("03", "process_logits", "def process_logits(*args):\n    return [1.0, 0.0, 0.0]"),
    ("04", "KVCache", "class KVCache:\n    pass"),
    ("04", "catch_up", "def catch_up(model, cache, token_ids):\n    return None"),
    ("04", "cut_at_eos", "def cut_at_eos(token_ids, eos, room)\n    return"),
]


def of_each_lesson(which):
    """Return pytest parameters (lesson, layer) for the bank's part `which`."""
    return [
        pytest.param(lesson, layer, id=f"{lesson[:2]}-{number}")
        for lesson in LESSONS
        for number, layer in enumerate(layers(BANKS[lesson][which]))
    ]


@pytest.fixture(scope="module")
def benches():
    """Return a function: a lesson -> its Bench, opened once."""
    course = Course.load(REPOSITORY)
    return cache(lambda lesson: Bench(course, lesson))


@pytest.fixture
def bench(benches, lesson):
    return benches(lesson)


def graded(bench, items):
    """Grade a notebook with right answers but for items; return {test id: Cell}."""
    answers = worked_answers(bench.source)
    answers |= {name: item.code.strip() for name, item in items.items()}
    result = bench.grade(Notebook(with_answers(bench.released, answers)))
    return {cell.grade_id: cell for cell in result.cells}


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_banks_are_large_enough(bench, lesson):
    answers = set(worked_answers(bench.source))
    mutants, odd_ones = BANKS[lesson]
    wrong, odd = Counter(m.answer for m in mutants), Counter(o.answer for o in odd_ones)
    assert set(wrong) == set(odd) == answers
    assert answers >= FUNCTIONS[lesson]
    assert min(wrong.values()) >= 6
    assert all(odd[name] >= 4 for name in answers)
    for bank in BANKS[lesson]:
        assert max(Counter((item.answer, item.name) for item in bank).values()) == 1


@pytest.mark.parametrize(("lesson", "layer"), of_each_lesson(0))
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


@pytest.mark.parametrize(("lesson", "layer"), of_each_lesson(1))
def test_odd_but_right_answers_get_full_points(bench, layer):
    cells = graded(bench, layer)
    lost = [
        f"{cell.grade_id}: {cell.message}"
        for cell in cells.values()
        if cell.points < cell.max_points or cell.message
    ]
    assert not lost, f"{ {name: item.name for name, item in layer.items()} }\n" + "\n".join(lost)


@pytest.mark.parametrize(
    ("lesson", "broken", "code"),
    [
        (next(name for name in LESSONS if name.startswith(number)), broken, code)
        for number, broken, code in EARLIER_MISTAKES
    ],
)
def test_an_earlier_mistake_costs_only_its_own_points(bench, broken, code):
    answers = worked_answers(bench.source) | {broken: code}
    cells = bench.grade(Notebook(with_answers(bench.released, answers))).cells
    own = set(own_tests(bench.source)[broken])
    assert {cell.grade_id for cell in cells if cell.points < cell.max_points} == own


@pytest.mark.parametrize("lesson", LESSONS)
def test_worked_answers_get_full_and_untouched_ones_no_points(bench):
    worked = graded(bench, {})
    assert sum(cell.points for cell in worked.values()) == 20
    untouched = bench.grade(Notebook(bench.released)).cells
    assert sum(cell.points for cell in untouched) == 0
    assert {cell.status for cell in untouched} == {"unwritten"}
