"""Checks of to-dos and quiz answers, without an answer in plain view.

The build writes `data/lesson_NN.json` from the lesson's text: digests of the right and the known
wrong answers, with the reason for each. A learner who reads the file learns nothing.
"""

import hashlib
import json
from functools import cache
from pathlib import Path

from specdec.sealed import unseal
from specdec.values import plain, show

from .core import CheckFailed, NotWrittenYet

TRY_AGAIN = "Go through the pass once more, one token after the other."


def canonical(answer) -> str:
    """Write an answer in one way: 3, 3.0 and np.int64(3) are the same, so are (4, 8) and [4, 8].

    Numbers are rounded to 9 places, so that 0.8 * 0.8 is 0.64.
    """
    answer = plain(answer)
    if isinstance(answer, list):
        return "[" + ", ".join(canonical(item) for item in answer) + "]"
    if isinstance(answer, float):
        answer = round(answer, 9)
    if isinstance(answer, float) and answer.is_integer():
        answer = int(answer)
    if isinstance(answer, str):
        answer = answer.strip().upper()
    return json.dumps(answer, default=repr)


def digest(question: str, answer: str) -> str:
    """Return a digest of a canonical answer, different for each question."""
    return hashlib.sha256(f"{question}={answer}".encode()).hexdigest()[:20]


@cache
def questions() -> dict:
    """Return the questions of all lessons: {id: {"right", "why", "wrong", "kind"}}."""
    found = {}
    for file in sorted((Path(__file__).parent / "data").glob("*.json")):
        found.update(json.loads(unseal(file.read_text(encoding="utf-8"))))
    return found


def check_answer(question: str, answer) -> None:
    """Check a to-do's answer, or a quiz answer when it is marked.

    Prints a line when it is right. Raises NotWrittenYet for None, CheckFailed otherwise, with the
    reason when the answer is a known wrong one.
    """
    must_be_given(question, answer)
    known = questions()[question]
    mark = digest(question, canonical(answer))
    if mark == known["right"]:
        print(f"✓ {question}: right. {known['why']}")
        return
    reason = known["wrong"].get(mark) or another_kind(answer, known["kind"]) or TRY_AGAIN
    raise CheckFailed(f"✗ {question} = {show(answer)} is not it. {reason}")


def another_kind(answer, kind: str) -> str:
    """Say so when an answer is no number, or no list, where one is asked for."""
    answer = plain(answer)
    if kind == "number" and (isinstance(answer, bool) or not isinstance(answer, int | float)):
        return "Give a number, without quotes or brackets."
    if kind == "list" and not isinstance(answer, list):
        return "Give a list, such as [1, 2]."
    return ""


def check_choice(question: str, answer, letters: str) -> None:
    """Check only that a quiz answer is one of the letters; the mark comes with the feedback."""
    must_be_given(question, answer)
    if not isinstance(answer, str) or answer.strip().upper() not in tuple(letters):
        wanted = ", ".join(f'"{letter}"' for letter in letters)
        raise CheckFailed(f"✗ {question} = {show(answer)}: give one of {wanted}, with the quotes.")
    print(
        f"✓ {question}: your answer {answer.strip().upper()} is noted. It is marked with the rest."
    )


def must_be_given(question: str, answer) -> None:
    if answer is None or answer is Ellipsis:
        raise NotWrittenYet(
            f"✎ {question} is not written yet. Put your answer in place of None, then run both."
        )
