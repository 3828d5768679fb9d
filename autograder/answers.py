"""Fill a released notebook with answers: worked ones, wrong ones, odd ones."""

import copy

from autograder.errors import GradingError
from autograder.submissions import grade_id, is_answer, is_test, read_by_a_person


def worked_answers(source):
    """Return {grade_id: code} of a source notebook's answers that tests grade."""
    answers = (cell for cell in source.cells if is_answer(cell) and not read_by_a_person(cell))
    return {grade_id(cell): cell.source for cell in answers}


def with_answers(released, answers):
    """Return a copy of a released notebook with {grade_id: code} written into its answer cells."""
    node = copy.deepcopy(released)
    cells = {grade_id(cell): cell for cell in node.cells if is_answer(cell)}
    unknown = sorted(set(answers) - set(cells))
    if unknown:
        raise GradingError(f"the lesson has no answer cell {', '.join(unknown)}.")
    for name, code in answers.items():
        cells[name].source = code
    return node


def own_tests(source):
    """Return {answer id: [ids of its test cells]}.

    The tests of `f` are `test_f` and `test_f_<aspect>`; a longer answer id wins, so that
    `test_f_g` belongs to an answer `f_g` where there is one.
    """
    answers = sorted(worked_answers(source), key=len, reverse=True)
    owned = {name: [] for name in answers}
    for cell in source.cells:
        if is_test(cell):
            tested = grade_id(cell).removeprefix("test_")
            owner = next((a for a in answers if tested == a or tested.startswith(f"{a}_")), None)
            if owner:
                owned[owner].append(grade_id(cell))
    return owned
