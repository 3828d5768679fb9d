"""Plain data that goes into a grading and comes out of it."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Limits:
    """Bounds on one submission. Times in seconds, sizes in MB.

    The most memory that a submission can hold is `memory_mb` for all its processes together
    (checked 20 times a second; each single process is held to it by the kernel) plus `disk_mb`
    twice, for its files and its shared memory.
    """

    cell: float = 10
    test: float = 10
    submission: float = 90
    memory_mb: int = 1024
    disk_mb: int = 64
    files: int = 2000
    processes: int = 32
    open_files: int = 256
    figures: int = 8
    restarts: int = 24

    def inside(self):
        """Return what the sandbox needs to know."""
        names = ("memory_mb", "disk_mb", "files", "processes", "open_files", "figures")
        return {name: getattr(self, name) for name in names} | {
            "cpu_seconds": int(self.submission) + 10
        }


@dataclass(frozen=True)
class Policy:
    """What is particular to a course.

    expose     names of packages that student code may import, besides installed ones
    hidden     {module name: sentence}: importing it fails with the sentence
    stand_ins  modules whose every name is an object that does nothing (widgets, figures)
    warm       modules that are imported once, before any submission
    test_path  folders from which the tests may import, besides the usual ones
    test_warm  modules that tests usually import
    pure       how the dotted names of functions of the tests' side begin that give the same for
               the same plain arguments, such as "course.reference."; student code keeps their
               answers, so a test must not count calls of them
    restore    whether names that a test replaced are the student's again after it; plain nbgrader
               leaves them replaced
    files_mb   most of a submission's own data files that it gets to see, in MB
    """

    expose: tuple = ()
    hidden: dict = field(default_factory=dict)
    stand_ins: tuple = ()
    warm: tuple = ("numpy", "numpy.random", "matplotlib.pyplot")
    test_path: tuple = ()
    test_warm: tuple = ("numpy", "numpy.testing")
    pure: tuple = ()
    restore: bool = False
    files_mb: int = 32


@dataclass
class CellResult:
    """One graded cell: `status` is passed, partial, failed, error, not_written, timeout, crashed,
    missing or manual; points are None where a person decides them. by_hand: a person grades this
    cell, whether something is written in it or not."""

    grade_id: str
    points: float | None
    max_points: float
    status: str
    message: str = ""
    outputs: list = field(default_factory=list)
    by_hand: bool = False


@dataclass
class Problem:
    """Something about a submission that its author or the instructor should know."""

    kind: str
    message: str


@dataclass
class Result:
    """A graded submission. `notebook` is the repaired notebook with trusted outputs (a dict)."""

    cells: list
    problems: list
    notebook: dict
    seconds: float = 0.0

    @property
    def points(self):
        """Sum of the points that are decided."""
        return sum(cell.points or 0 for cell in self.cells)

    @property
    def max_points(self):
        """Sum of the points that can be had."""
        return sum(cell.max_points for cell in self.cells)

    def to_dict(self):
        """Return the result as plain data that JSON can hold."""
        return {
            "cells": [dict(vars(cell)) for cell in self.cells],
            "problems": [dict(vars(problem)) for problem in self.problems],
            "notebook": self.notebook,
            "seconds": self.seconds,
            "points": self.points,
            "max_points": self.max_points,
        }

    @classmethod
    def from_dict(cls, data):
        """Return the result that `to_dict` was made of."""
        return cls(
            [CellResult(**cell) for cell in data["cells"]],
            [Problem(**problem) for problem in data["problems"]],
            data["notebook"],
            data["seconds"],
        )
