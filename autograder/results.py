"""What grading one notebook yields, as plain data."""

import json
import sys
from dataclasses import asdict, dataclass, field

PASSED = "passed"
FAILED = "failed"
PARTIAL = "partial"
UNWRITTEN = "unwritten"
TIMEOUT = "timeout"
CRASHED = "crashed"
ERROR = "error"
MANUAL = "manual"

_NAMES = {"not_written": UNWRITTEN}  # of the engine, where they differ from ours


@dataclass(slots=True)  # a class of 100,000 has more than a million of them
class Cell:
    """The outcome of one graded cell; message is empty when the cell passed.

    by_hand is True where a person gives the points: they are no part of the checks' total.
    """

    grade_id: str
    points: float
    max_points: float
    status: str
    message: str = ""
    by_hand: bool = False

    def __post_init__(self):
        self.grade_id, self.status = sys.intern(self.grade_id), sys.intern(self.status)
        self.message = printable(self.message)

    def as_dict(self):
        """Return the cell as plain data; by_hand is told only where it is so."""
        data = asdict(self)
        if not self.by_hand:
            del data["by_hand"]
        return data


@dataclass(slots=True)
class Problem:
    """Something about a submission that a person should know; grading may have gone on."""

    kind: str
    message: str

    def __post_init__(self):
        self.message = printable(self.message)


@dataclass
class Result:
    """The outcome of one notebook. ungraded is True when no points could be found out."""

    lesson: str | None
    cells: list[Cell] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    ungraded: bool = False

    @property
    def points(self):
        """Points of the checks; what a person gives is counted apart."""
        return whole(sum(cell.points for cell in self.cells if not cell.by_hand))

    @property
    def max_points(self):
        return whole(sum(cell.max_points for cell in self.cells if not cell.by_hand))

    @property
    def by_hand(self):
        """The cells that a person grades."""
        return [cell for cell in self.cells if cell.by_hand]

    def as_dict(self):
        """Return the data that `autograder check --json` prints."""
        return {
            "lesson": self.lesson,
            "points": self.points,
            "max_points": self.max_points,
            "cells": [cell.as_dict() for cell in self.cells],
            "problems": [asdict(problem) for problem in self.problems],
        }

    def as_json(self):
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False)

    @classmethod
    def from_engine(cls, lesson, graded, earlier=()):
        """Return the outcome of the engine's Result; earlier problems come first."""
        cells = [
            Cell(
                cell.grade_id,
                whole(cell.points or 0),
                whole(cell.max_points),
                _NAMES.get(cell.status, cell.status),
                cell.message,
                cell.by_hand,
            )
            for cell in graded.cells
        ]
        problems = [Problem(problem.kind, problem.message) for problem in graded.problems]
        problems = [problem for problem in problems if problem not in earlier]
        return cls(lesson, cells, [*earlier, *problems])

    @classmethod
    def from_dict(cls, data, ungraded=False):
        return cls(
            lesson=data["lesson"],
            cells=[Cell(**cell) for cell in data["cells"]],
            problems=[Problem(**problem) for problem in data["problems"]],
            ungraded=ungraded,
        )


def printable(text):
    """Return text with an escape in the place of what would steer a terminal, or can't be written.

    It may hold a file's name or an error's message, which students choose.
    """
    return "".join(
        char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode()
        for char in text
    )


def whole(number):
    """Return 2 for 2.0 and 2.5 for 2.5, so that tables and JSON read well."""
    return int(number) if float(number).is_integer() else float(number)
