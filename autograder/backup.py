"""Copies of what a class can't do without: the gradebook, the grades and what was found out.

Hand-ins are not in them: no command changes those. Graded copies and feedback are made again.
"""

import contextlib
import json
import os
import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from autograder import postgres
from autograder.errors import GradingError

KEPT = 20  # backups
RECORDS = "files.json"  # all small files in one
FILES = ("roster.csv", "deadlines.csv", "void.json")  # of the term's folder


def backups(course):
    """Return the folders of the course's backups, oldest first."""
    folder = course.term / "backups"
    return sorted(p for p in folder.glob("*") if p.is_dir()) if folder.is_dir() else []


def backup(course):
    """Copy gradebook, grades and results; return the backup's folder, None without a gradebook.

    The copy is opened and compared before it counts. Old backups beyond KEPT go. A gradebook in
    PostgreSQL needs its programs (why_not says whether they are there): None without them.
    """
    if why_not(course):
        return None
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S-%fZ")
    target = course.term / "backups" / now
    part = course.term / "backups.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    if course.gradebook_file is None:
        postgres.dump(course, part / postgres.DUMP)
    else:
        _copy_gradebook(course.gradebook_file, part / "gradebook.db")
    files = {path: (course.root / path).read_text(encoding="utf-8") for path in _others(course)}
    write_files(part / RECORDS, files)
    target.parent.mkdir(exist_ok=True)
    os.replace(part, target)
    for old in backups(course)[:-KEPT]:
        shutil.rmtree(old)
    return target


def why_not(course):
    """Return why no backup can be made of a course, or ""."""
    if course.gradebook_file is not None:
        return "" if course.gradebook_file.is_file() else "there is no gradebook yet"
    if not postgres.is_used(course):
        return f"{course.gradebook_name} is of no known kind: back it up yourself"
    if not postgres.has_tools():
        return postgres.NO_TOOLS
    return postgres.check(course)


def restore(course, name=None):
    """Put a backup in place, the newest or the named one; return its folder.

    What it replaces is backed up first. Feedback pages go: `autograder grade` makes them again.
    """
    known = backups(course)
    chosen = [path for path in known if name is None or path.name == name][-1:]
    if not chosen:
        listed = ", ".join(path.name for path in known) or "none"
        raise GradingError(f"there is no backup '{name or ''}'; known: {listed}.")
    source = chosen[0]
    put_in_place = (_ready_file if course.gradebook_file else _ready_database)(course, source)
    for path in _others(course):
        (course.root / path).unlink()
    put_in_place()
    for path, text in read_files(source / RECORDS).items():
        target = course.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    shutil.rmtree(course.folder("feedback", "*").parent, ignore_errors=True)
    return source


def _ready_file(course, source):
    """Look at a backup, make one of what is there, and return what puts the first in place."""
    problem = check_gradebook(source / "gradebook.db")
    if problem:
        raise GradingError(f"the backup {source} is not whole: {problem}.")
    if not check_gradebook(course.gradebook_file):
        backup(course)
    part = course.gradebook_file.with_suffix(".restoring")
    _copy_gradebook(source / "gradebook.db", part)

    def put_in_place():
        for ending in ("-wal", "-shm", "-journal"):
            Path(f"{course.gradebook_file}{ending}").unlink(missing_ok=True)
        os.replace(part, course.gradebook_file)

    return put_in_place


def _ready_database(course, source):
    if not (source / postgres.DUMP).is_file():
        raise GradingError(
            f"the backup {source} holds no {postgres.DUMP}, so nothing for {course.gradebook_name}."
        )
    problem = why_not(course)
    if problem and problem != postgres.NO_GRADEBOOK:
        raise GradingError(f"{course.gradebook_name} can't be restored: {problem}.")
    backup(course)
    return lambda: postgres.restore(course, source / postgres.DUMP)


def check_gradebook(path):
    """Return what is wrong with an SQLite gradebook, or ""."""
    if path is None or not Path(path).is_file():
        return "the file is missing"
    try:
        with contextlib.closing(_open(path)) as book:
            found = book.execute("pragma integrity_check").fetchone()[0]
            book.execute("select count(*) from student").fetchone()
    except sqlite3.Error as error:
        return str(error)
    return "" if found == "ok" else found


def _open(path):
    return sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)


def _copy_gradebook(source, target):
    """Copy a gradebook with SQLite's own backup, and compare the two."""
    Path(target).unlink(missing_ok=True)
    with (
        contextlib.closing(_open(source)) as book,
        contextlib.closing(sqlite3.connect(target)) as copy,
    ):
        try:
            book.backup(copy)
        except sqlite3.Error as error:
            raise GradingError(f"{source} can't be copied: {error}.") from None
        tables = [
            row[0] for row in book.execute("select name from sqlite_master where type='table'")
        ]
        for table in tables:
            query = f'select count(*) from "{table}"'
            if book.execute(query).fetchone() != copy.execute(query).fetchone():
                raise GradingError(f"the copy {target} of {source} is not the same.")


def _others(course):
    """Return the paths, below the root, of the text files that a backup holds."""
    found = [course.root / course.grades_file, *(course.term / name for name in FILES)]
    found += sorted((course.root / course.results).glob("*/*.json"))
    return [path.relative_to(course.root).as_posix() for path in found if path.is_file()]


def read_files(path):
    """Return {path below the root: text} of a backup's small files, which lie in one."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def write_files(path, files):
    """Write what read_files returns, in one step."""
    part = Path(path).with_suffix(".part")
    part.write_text(json.dumps(files, indent=0), encoding="utf-8")
    os.replace(part, path)
