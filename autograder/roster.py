"""The class list: which student id belongs to a name, e-mail or number of the platform's.

It is read from the exports of Canvas (grades) and Moodle (participants, grading worksheet) or any
other CSV with a column of ids, and kept as `roster.csv` in the term's folder.
"""

import csv
import io
import os
import re
import unicodedata
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from nbgrader.api import Gradebook, Student

from autograder.errors import GradingError
from autograder.results import printable

IDS = ("student_id", "student id", "id number", "sis user id", "sis login id", "username",
       "login id", "email address", "email", "e-mail", "id")  # fmt: skip
COLUMNS = {
    "first_name": ("first_name", "first name", "given name"),
    "last_name": ("last_name", "last name", "surname", "family name"),
    "name": ("full name", "student", "name"),
    "email": ("email", "email address", "e-mail"),
    "canvas_id": ("canvas_id", "id"),
    "sis_user_id": ("sis_user_id", "sis user id"),
    "sis_login_id": ("sis_login_id", "sis login id"),
    "id_number": ("id_number", "id number"),
    "username": ("username",),
    "moodle_id": ("identifier",),
    "handed_in": ("last modified (submission)", "handed_in", "submitted at"),
}
NOT_STUDENTS = ("points possible", "student, test", "test student")
_MOODLE_NUMBER = re.compile(r"\D*(\d+)")
_SAFE = re.compile(r"[^\s./\\,;\"'*?<>|:][^/\\,;\"'*?<>|:]{0,99}")


@dataclass
class Person:
    """One student. handed_in is the platform's text of when, where the file tells it.

    canvas_id and the two of its student information system are Canvas's, id_number and username
    Moodle's. moodle_id is Moodle's number of a participant in one assignment, so it is not kept.
    """

    student_id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    canvas_id: str = ""
    sis_user_id: str = ""
    sis_login_id: str = ""
    id_number: str = ""
    username: str = ""
    moodle_id: str = ""
    handed_in: str = ""

    @property
    def name(self):
        return f"{self.first_name} {self.last_name}".strip()


KEPT = [f.name for f in fields(Person) if f.name not in ("moodle_id", "handed_in")]


@dataclass
class Roster:
    """Students by id, and what was odd about the file that they were read from, in sentences."""

    people: dict[str, Person] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def find(self, *, name="", canvas_id="", moodle_id="", login=""):
        """Return the student meant; GradingError says why there is none, or more than one.

        A number that the roster knows decides; a name alone never stands against one.
        """
        others = list(self.people.values())
        for kind, value in (("canvas_id", canvas_id), ("moodle_id", moodle_id)):
            found = [p for p in others if value and getattr(p, kind) == value]
            if len(found) == 1:
                return found[0]
            others = [p for p in others if not value or getattr(p, kind) in ("", value)]
        if login in self.people:
            return self.people[login]
        wanted = {_plain(login), _plain(name)} - {""}
        found = [p for p in others if wanted & _names(p)]
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(p.student_id for p in found)
            raise GradingError(f"several students have this name: {ids}", "ambiguous")
        raise GradingError("nobody in the roster has this name or number", "unmatched")


def _names(person):
    """Return how a platform may write a person, without spaces, accents and capitals."""
    first, last = person.first_name, person.last_name
    local = person.email.partition("@")[0]
    written = (person.student_id, first + last, last + first, person.email, local)
    return {_plain(text) for text in written} - {""}


def _plain(text):
    text = unicodedata.normalize("NFKD", text.casefold().replace("ß", "ss"))
    return "".join(char for char in text if char.isalnum())


def read_roster(path, id_column=None):
    """Return the Roster of a CSV file; GradingError says what it lacks."""
    rows = _rows(path)
    if not rows:
        raise GradingError(f"{path} is empty.")
    heads = {name.strip().casefold(): name for name in rows[0] if name}
    column = _id_column(path, heads, rows, id_column)
    roster, rejected = Roster(), set()
    for number, row in enumerate(rows, 2):
        values = {k: _first(row, heads, names) for k, names in COLUMNS.items()}
        student = _text(row, column)
        shown = values["name"] or f"{values['first_name']} {values['last_name']}".strip()
        if shown.strip().casefold() in NOT_STUDENTS or not any(_text(row, h) for h in row):
            continue
        problem = bad_id(student)
        if problem:
            roster.notes.append(printable(f"line {number} ({shown or 'no name'}): {problem}"))
            continue
        person = _person(student, values)
        known = roster.people.get(student)
        if known and asdict(known) != asdict(person):
            rejected.add(student)
            text = f"id {student} stands for {known.name or '?'} and for {person.name or '?'}"
            roster.notes.append(printable(f"line {number}: {text}; neither is used"))
            continue
        roster.people[student] = person
    for student in rejected:
        roster.people.pop(student, None)
    return roster


def _rows(path):
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise GradingError(f"the roster {path} can't be read: {error.strerror}.") from None
    for encoding in ("utf-8-sig", "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "cp1252"):
        try:
            text = raw.decode(encoding)
            break
        except UnicodeError:
            continue
    else:
        raise GradingError(f"the roster {path} is no text; export it as CSV in UTF-8.")
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))


def _id_column(path, heads, rows, wanted):
    """Return the name of the column of ids: the one asked for, or the first that is filled."""
    if wanted is not None:
        if wanted.casefold() in heads:
            return heads[wanted.casefold()]
        raise GradingError(f"{path} has no column '{wanted}'; it has: {', '.join(heads)}.")
    for name in IDS:
        if name in heads and any(_text(row, heads[name]) for row in rows):
            return heads[name]
    raise GradingError(
        f"{path} has no column of student ids that is filled (wanted one of: {', '.join(IDS)}); "
        f"name it with --id-column. It has: {', '.join(heads)}."
    )


def _first(row, heads, names):
    return next((_text(row, heads[n]) for n in names if n in heads and _text(row, heads[n])), "")


def _text(row, name):
    value = row.get(name)
    return value.strip() if isinstance(value, str) else ""


def bad_id(student):
    if not student:
        return "it has no id"
    if not _SAFE.fullmatch(student) or not student.isprintable():
        return f"its id '{student}' can't be a folder's name"
    return ""


def _person(student, values):
    name = values.pop("name")
    if not (values["first_name"] or values["last_name"]) and name:
        last, comma, first = name.partition(",")  # Canvas writes "Last, First"
        if not comma:
            first, _, last = name.rpartition(" ")
        values["first_name"], values["last_name"] = first.strip(), last.strip()
    number = _MOODLE_NUMBER.match(values["moodle_id"])
    values["moodle_id"] = number[1] if number else ""
    if not values["canvas_id"].isdecimal():
        values["canvas_id"] = ""
    return Person(student, **values)


# -- the term's own ---------------------------------------------------------------------------


def roster_file(course):
    return course.term / "roster.csv"


def load(course):
    """Return the roster that was imported before, or None."""
    path = roster_file(course)
    return read_roster(path, "student_id") if path.is_file() else None


def import_roster(course, path, id_column=None):
    """Read a roster, add it to the term's, enter all in the gradebook, and return it.

    Who is known and not in the file stays, with a note. The people returned carry what only the
    file tells: Moodle's numbers, and when they handed in.
    """
    new, known = read_roster(path, id_column), load(course) or Roster()
    gone = [student for student in known.people if student not in new.people]
    joined = [student for student in new.people if student not in known.people]
    if known.people and joined:
        new.notes.append(f"new: {', '.join(joined)}")
    if gone:
        new.notes.append(f"not in the file, kept from before: {', '.join(gone)}")
    for student, person in known.people.items():
        for name in KEPT:
            merged = new.people.setdefault(student, person)
            setattr(merged, name, getattr(merged, name) or getattr(person, name))
    save(course, new)
    enter(course, new)
    return new


def save(course, roster):
    """Write the term's roster.csv in one step."""
    target = roster_file(course)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    with open(part, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, KEPT, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(asdict(person) for person in roster.people.values())
    os.replace(part, target)


def enter(course, roster):
    """Enter everyone in the gradebook, so that the grades name who handed in nothing too.

    Where there is none yet, grading makes it and calls this.
    """
    if roster is None or (course.gradebook_file and not course.gradebook_file.is_file()):
        return
    with Gradebook(course.gradebook_url, course.directory("").course_id) as book:
        known = {student.id: student for student in book.students}
        for person in roster.people.values():
            row = known.get(person.student_id)
            if row is None:
                row = Student(id=person.student_id)
                book.db.add(row)
            for name in ("first_name", "last_name", "email"):
                # nbgrader's export writes no quotes, so a comma would make another column.
                setattr(row, name, getattr(person, name).replace(",", " ") or getattr(row, name))
            row.lms_user_id = person.canvas_id or row.lms_user_id
        book.db.commit()
