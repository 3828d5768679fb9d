"""One grader at a time on one gradebook."""

import contextlib
import sqlite3

from autograder import postgres
from autograder.errors import GradingError


@contextlib.contextmanager
def grading_lock(course):
    """Hold a course's gradebook alone, or raise GradingError when another process has it.

    A database server has graders on other machines too: it keeps a lock of its own.
    """
    with only_one(course.root / course.results / "grading.lock"):
        if not postgres.is_used(course):
            yield
            return
        with postgres.only_one(course):
            yield


@contextlib.contextmanager
def only_one(path):
    """Hold the lock file at path, or raise GradingError when another process has it.

    SQLite takes the lock, as it does on every system; it ends with the process, however that ends.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if "locked" not in str(error):
            raise GradingError(f"can't use {path}: {error}.") from error
        raise GradingError(
            f"another `autograder grade` is at work on this course ({path} is locked); "
            "wait until it has ended.",
            "locked",
        ) from None
    try:
        yield
    finally:
        lock.close()
