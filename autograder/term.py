"""The end of a term, and one student's wish to be forgotten."""

import contextlib
import csv
import glob
import os
import shutil
import sqlite3
from datetime import date
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry

from autograder import backup, grading, lateness, postgres, roster
from autograder.errors import GradingError
from autograder.lock import grading_lock

CLASS_DATA = ("submitted", "autograded", "feedback")


def archive_folder(course):
    """Return the folder that holds earlier terms."""
    return course.term.parent / "archive"


def class_data(course):
    """Return the paths of all that belongs to this term's class and is there."""
    found = [course.folder(step, "*").parent for step in CLASS_DATA]
    found = [path.parent if path.name == "." else path for path in found]
    found += [course.root / course.results, course.root / course.grades_file, course.term]
    if course.gradebook_file:
        found.append(course.gradebook_file)
    return [path for path in found if path.exists()]


def new_term(course, name=None):
    """Move the class's data into the archive, and keep the course; return the archive's folder.

    The versions of lessons stay: they are the course's. Nothing is copied: each part is moved in
    one step, and a run that was stopped goes on when it is run again.
    """
    target = archive_folder(course) / (name or f"until-{date.today()}")
    if target.parent != archive_folder(course) or target.name.startswith("."):
        raise GradingError(f"'{name}' can't be a folder's name.")
    parts = class_data(course)
    if not parts:
        raise GradingError("there is no class data: the term is new already.")
    if course.gradebook_file and course.gradebook_file.exists():
        problem = backup.check_gradebook(course.gradebook_file)
        if problem:
            raise GradingError(f"the gradebook is not whole ({problem}); see `autograder restore`.")
    if postgres.is_used(course):
        _want_new_database(course)
    places = {path: target / path.relative_to(course.root) for path in parts}
    for place in places.values():
        if place.exists():
            raise GradingError(f"{place} is there already; give the archive another --name.")
    with grading_lock(course):
        for path, place in places.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            os.rename(path, place)
    versions = target / course.term.relative_to(course.root) / "versions"
    if versions.is_dir():
        course.term.mkdir(parents=True, exist_ok=True)
        os.rename(versions, course.term / "versions")
    return target


def _want_new_database(course):
    """Refuse a new term in the database of an old one: nothing of it is deleted here."""
    students = postgres.students_with_work(course)
    if students:
        raise GradingError(
            f"{course.gradebook_name} holds the work of {students} students. Keep it as it is, or "
            "write it into the archive with `pg_dump --format=custom`. Then make a new database "
            "(`createdb NAME`), name it as c.CourseDirectory.db_url, and run this again."
        )


def forget(course, student):
    """Delete one student everywhere in the course, earlier terms included; return what went.

    What other places hold (the learning platform, an exchange, other copies of this folder) is not
    reached.
    """
    if student in ("", ".", "..") or os.path.basename(student) != student:
        raise GradingError(f"'{student}' is no student's id.")
    dumps = _dumps_with(course.term, student, course)  # before anything goes: it needs tools
    gone = _forget_files(course.root, course, student)
    for old in sorted(archive_folder(course).glob("*")):
        gone += _forget_files(old, course, student)
    if _has_gradebook(course):
        gone += _forget_in_gradebook(course, student)
        grading.export(course)
        gone += _forget_dumps(course, dumps)
    if not gone:
        raise GradingError(f"nothing is known of a student '{student}'.")
    return gone


def _has_gradebook(course):
    if course.gradebook_file:
        return course.gradebook_file.is_file()
    return postgres.is_used(course) and not postgres.check(course)


def _forget_dumps(course, dumps):
    """Take a new backup in the place of those whose dump can't be edited; return what went."""
    if dumps:
        backup.backup(course)
    for path in dumps:
        shutil.rmtree(path.parent)
    return [str(path.parent) for path in dumps]


def _dumps_with(folder, student, course):
    dumps = sorted(folder.rglob(postgres.DUMP))
    return [path for path in dumps if postgres.names_student(course, path, student)]


def dumps_of_earlier_terms(course, student):
    """Return the dumps in the archive that hold a student; no command here can change them."""
    return _dumps_with(archive_folder(course), student, course)


def _forget_files(root, course, student):
    """Delete a student's files below a course's root, or an archive that looks like one."""
    at = {
        "term": root / course.term.relative_to(course.root),
        "results": root / course.results,
        "grades": root / course.grades_file,
    }
    doomed = [
        root / course.folder(step, "*", student).parent.relative_to(course.root)
        for step in CLASS_DATA
    ]
    doomed += at["results"].glob(f"*/{glob.escape(student)}.json")
    doomed += at["term"].glob(f"earlier/*/{glob.escape(student)}")
    gone = []
    for path in doomed:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.exists() or path.is_symlink():
            path.unlink()
        else:
            continue
        gone.append(str(path))
    tables = [at["term"] / roster.roster_file(course).name]
    tables += [at["term"] / lateness.deadlines_file(course).name, at["grades"]]
    gone += [str(path) for path in tables if _forget_in_table(path, student)]
    if gone:  # reports show answers without a name
        gone += [str(p) for p in _unlinked(at["results"].glob("*.html"))]
        gone += [str(p) for p in _unlinked(at["results"].glob("*.txt"))]
    exports = sorted(at["term"].glob("export/*.csv"))
    if any(student in path.read_text(encoding="utf-8") for path in exports):
        gone += [str(p) for p in _unlinked(exports)]  # Canvas's name the student by a number
    for log in [*at["results"].glob("*/nbgrader.log"), *root.glob(".nbgrader.log")]:
        if student in log.read_text(encoding="utf-8", errors="replace"):
            log.unlink()  # it may name the student in any way
            gone.append(str(log))
    for log in at["term"].glob("collected/*.json"):
        gone += [str(log)] if _forget_in_json(log, student) else []
    for book in [*at["term"].glob("backups/*/gradebook.db"), *_archived_gradebook(root, course)]:
        gone += [str(book)] if forget_in_database(book, student) else []
    for files in at["term"].glob(f"backups/*/{backup.RECORDS}"):
        gone += [str(files)] if _forget_in_backup(files, student) else []
    return gone


def _unlinked(paths):
    for path in paths:
        path.unlink()
        yield path


def _archived_gradebook(root, course):
    if root == course.root or course.gradebook_file is None:
        return []
    path = root / course.gradebook_file.relative_to(course.root)
    return [path] if path.is_file() else []


def _forget_in_table(path, student):
    """Take a student's rows out of a CSV; say whether there were any."""
    if not path.is_file():
        return False
    with open(path, newline="", encoding="utf-8-sig") as file:
        text = file.read()
    kept = _without_rows(text, student)
    if kept == text:
        return False
    part = path.with_suffix(".part")
    part.write_text(kept, encoding="utf-8", newline="")
    os.replace(part, path)
    return True


def _without_rows(text, student):
    """Return a CSV's text without the rows whose student_id is the student's."""
    lines = text.splitlines(keepends=True)
    rows = list(csv.reader(lines))
    if len(rows) != len(lines) or not rows or "student_id" not in rows[0]:
        return text
    column = rows[0].index("student_id")
    kept = [
        line
        for line, row in zip(lines, rows, strict=True)
        if len(row) <= column or row[column].strip() != student
    ]
    return "".join(kept)


def _forget_in_json(path, student):
    known = backup.read_files(path)
    if student not in known:
        return False
    del known[student]
    backup.write_files(path, known)
    return True


def _forget_in_backup(path, student):
    """Take a student's result and rows out of a backup's small files."""
    files = backup.read_files(path)
    kept = {
        name: _without_rows(text, student) if name.endswith(".csv") else text
        for name, text in files.items()
        if Path(name).name != f"{student}.json"
    }
    if kept == files:
        return False
    backup.write_files(path, kept)
    return True


def _forget_in_gradebook(course, student):
    with Gradebook(course.gradebook_url, course.directory("").course_id) as book:
        try:
            book.remove_student(student)
        except MissingEntry:
            return []
    if course.gradebook_file is None:
        postgres.wipe(course)
    else:
        _wipe(course.gradebook_file)
    return [course.gradebook_name]


def forget_in_database(path, student):
    """Delete a student in a copy of a gradebook; say whether there was one."""
    with contextlib.closing(sqlite3.connect(path)) as book:
        if not book.execute("select 1 from student where id = ?", (student,)).fetchone():
            return False
        mine = "select id from submitted_assignment where student_id = ?"
        notebooks = f"select id from submitted_notebook where assignment_id in ({mine})"
        for table in ("grade", "comment"):
            book.execute(f"delete from {table} where notebook_id in ({notebooks})", (student,))
        book.execute(f"delete from submitted_notebook where assignment_id in ({mine})", (student,))
        book.execute("delete from submitted_assignment where student_id = ?", (student,))
        book.execute("delete from student where id = ?", (student,))
        book.commit()
    _wipe(path)
    return True


def _wipe(path):
    """Write a database anew, so that no deleted row is left in its pages."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as book:
        book.execute("vacuum")
