"""Widgets that several tests use."""

from specdec.widgets import Choice, DraftLane, Question, Quiz

CHOICES = [
    ("7", "The target's own token comes out too.", False),
    ("7 6", "7 agrees, and 6 replaces the guess.", True),
    ("7 6 5 9", "Later answers were asked after `7 3`.", False),
]


def locked_lane(**changes):
    """A lane that waits for a prediction; round 7 3 5 9 against 7 6 5 9 2."""
    settings = {"question": "What comes out?", "choices": CHOICES} | changes
    return DraftLane([7, 3, 5, 9], [7, 6, 5, 9, 2], **settings)


def free_lane(**changes):
    """A lane without a question, of the same round."""
    return DraftLane([7, 3, 5, 9], [7, 6, 5, 9, 2], **changes)


def small_quiz(**changes):
    """Two questions; A is right, then B."""
    return Quiz(
        [
            Question(
                "With `k = 0`, what comes out?",
                [
                    Choice("`[5]`", "This is plain decoding.", True),
                    Choice("`[]`", "A pass gives at least one token."),
                    Choice("an error", "One answer is what an empty draft needs."),
                ],
            ),
            Question(
                "Largest mean at a<sub>1</sub> = 0.5?",
                [Choice("3", "The sum stays below 2."), Choice("2", "1 + 1/2 + 1/4 + …", True)],
            ),
        ],
        **changes,
    )
