"""Known wrong answers, and odd ones that are right: data that keeps the tests of a lesson honest.

Each wrong answer must lose points in its own tests, with a message that names the mistake; each
odd one must get all its points. The worked solutions show the wrong ones as "wrong turns".
"""

import importlib
from dataclasses import dataclass

from autograder.errors import GradingError


@dataclass(frozen=True)
class Mutant:
    """A wrong answer.

    answer   grade_id of the answer cell
    name     the mistake, in a few words
    code     the answer cell's whole text
    message  regular expression that a message of the answer's own tests must contain
    """

    answer: str
    name: str
    code: str
    message: str


@dataclass(frozen=True)
class OddButRight:
    """An unusual answer that deserves all points; fields as in Mutant."""

    answer: str
    name: str
    code: str


def load(lesson):
    """Return (mutants, odd ones) of a lesson, e.g. of '01_draft_and_verify'."""
    name = f"{__name__}.lesson_{lesson[:2]}"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise GradingError(f"there are no known wrong answers for {lesson}.") from error
    return module.MUTANTS, module.ODD_BUT_RIGHT


def layers(answers):
    """Return dicts {answer id: item} that together hold all items, one an answer in each.

    One notebook can carry a whole layer, since a wrong answer must not cost another its points.
    """
    by_answer = {}
    for item in answers:
        by_answer.setdefault(item.answer, []).append(item)
    depth = max(map(len, by_answer.values()), default=0)
    return [
        {answer: items[i] for answer, items in by_answer.items() if i < len(items)}
        for i in range(depth)
    ]
