"""What this course's hand-ins may use while they are graded; nbgrader_config.py names it."""

import importlib.util
import re
from pathlib import Path

from autograder.engine import Policy

LESSONS = range(1, 7)
ANSWERS = "the worked answers of this lesson and of later ones can't be used in a hand-in."
# No grade depends on what these show, and the trained pair takes time to load and run.
STAND_INS = (
    "specdec.figures",
    "specdec.progress",
    "specdec.start",
    "specdec.trained",
    "specdec.widgets",
)


def policy_for(lesson):
    """Return the Policy of a lesson, for example '02_sampling'.

    Student code may import the course's library, with the worked answers of earlier lessons only.
    """
    number = re.match(r"\d+", lesson)
    first = int(number[0]) if number else 1
    hidden = {f"specdec.reference.lesson_{n:02}": ANSWERS for n in LESSONS if n >= first}
    library = importlib.util.find_spec("specdec")
    if library is None:
        return Policy(hidden=hidden)
    root = Path(library.origin).parents[1]
    own = [f"specdec.{part}.lesson_{first:02}" for part in ("checks", "reference")]
    return Policy(
        expose=("specdec",),
        hidden=hidden,
        stand_ins=STAND_INS,
        warm=(*Policy().warm, "specdec.tryout", "specdec.ledger", "specdec.toys"),
        test_path=(str(root),),
        # Lesson 3 asks its tables for every branch of a law, far from any count.
        pure=("specdec.reference.", "specdec.checks.lesson_03.table_model."),
        test_warm=("numpy", "specdec.checks", *own),
    )
