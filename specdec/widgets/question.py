"""Questions with choices, each choice with its reason; used by the quiz and by predictions."""

import re
from typing import NamedTuple

# Strings that the lane's prediction and the quiz share.
TEXT = {
    "choose_first": "Choose an answer first.",
    "right": "Right.",
    "wrong": "Not this time.",
    "mark_right": "right",
    "mark_wrong": "wrong",
    "your_choice": "your choice",
}


class Choice(NamedTuple):
    """One choice of a question: its text, why it is right or wrong, and whether it is right."""

    text: str
    reason: str
    right: bool = False


class Question(NamedTuple):
    """A prompt and its choices, of which exactly one is right."""

    prompt: str
    choices: list


def letter(index):
    """Return the letter of a choice: 0 is "A", 25 is "Z"."""
    return chr(ord("A") + index)


def plain(text):
    """Return the text without its light markup: `code` marks and <sub> tags."""
    return re.sub(r"`|</?sub>", "", text)


def as_question(prompt, choices):
    """Return a checked Question, its choices as Choice.

    prompt   the text of the question; `code` and <sub>n</sub> are the only markup
    choices  2 to 26 choices, each a Choice or a tuple (text, reason, right)

    Raises ValueError when a text is empty, two choices read the same, or not exactly one is right.
    """
    if not str(prompt).strip():
        raise ValueError("a question needs a prompt, this one is empty")
    where = f"question {plain(str(prompt))!r}"
    checked = [as_choice(choice, where) for choice in choices or ()]
    if not 2 <= len(checked) <= 26:
        raise ValueError(f"{where} needs 2 to 26 choices, it has {len(checked)}")
    if len({choice.text for choice in checked}) < len(checked):
        raise ValueError(f"{where} has two choices with the same text")
    right = sum(choice.right for choice in checked)
    if right != 1:
        raise ValueError(f"{where} needs exactly one right choice, it has {right}")
    return Question(str(prompt), checked)


def as_choice(value, where):
    """Return value as a Choice; ValueError names the question when it has no text or no reason."""
    if isinstance(value, str) or not 2 <= len(value) <= 3:
        raise ValueError(f"{where}: a choice is (text, reason, right), got {value!r}")
    choice = Choice(*value)
    if not str(choice.text).strip() or not str(choice.reason).strip():
        raise ValueError(f"{where}: every choice needs a text and a reason, got {value!r}")
    return Choice(str(choice.text), str(choice.reason), bool(choice.right))


def as_json(question):
    """Return the question as the plain dicts and lists that the JavaScript side reads."""
    return {
        "prompt": question.prompt,
        "choices": [choice._asdict() for choice in question.choices],
    }
