"""A lesson's grades as a learning platform takes them, and a table of how they came about.

Canvas: the header of its own export, so `Student`, `ID`, the SIS columns, `Section`, then the
assignment; below it the row `Points Possible`. A row is matched by `ID`; a column that Canvas does
not know becomes a new assignment, so there are no others; an empty cell changes nothing there.
(lib/gradebook_importer.rb)

Moodle: any columns; one of them is mapped to the user, and one to the grade or its feedback. An
unknown user stops the whole import, `-` is no grade. (grade/import/csv/classes/load_data.php)
"""

import csv
import os
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry

from autograder import lateness, roster
from autograder.errors import GradingError
from autograder.results import printable
from autograder.roster import Person

ACTS = ("=", "+", "-", "@", "\t", "\r", "\n")  # how a formula starts in a spreadsheet
GRADED, WAITS, UNGRADED, MISSING = "graded", "waits for a marker", "not graded", "nothing handed in"
DETAILS = (
    "student_id", "last_name", "first_name", "state", "handed_in", "due", "extended_to", "points",
    "late_penalty", "score", "max_score",
)  # fmt: skip


@dataclass
class Row:
    """What one student has in a lesson; score and points are None where nothing counts yet.

    points      before the late penalty
    waiting     names of the cells that only a person grades, and nobody has
    again       names of the cells that were marked by hand before the last grading
    """

    person: Person
    state: str = MISSING
    handed_in: datetime | None = None
    due: datetime | None = None
    extended_to: datetime | None = None
    points: float | None = None
    late_penalty: float = 0
    waiting: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)

    @property
    def score(self):
        return None if self.points is None else max(0, self.points - self.late_penalty)

    @property
    def upload(self):
        """Return the score as text, or "" where none may be published yet."""
        return number(self.score) if self.state == GRADED else ""


@dataclass
class Export:
    """The files that were written, and what to know about them, in sentences.

    left_out    students with a grade who are not in the platform's file, and why
    """

    upload: Path
    details: Path
    rows: int
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def export_folder(course):
    return course.term / "export"


def export(course, lesson, platform, column=None):
    """Write a lesson's grades for "canvas" or "moodle"; return the Export.

    column   the assignment's name there, as the platform's own export has it (default: the lesson)
    """
    people = roster.load(course)
    if people is None and platform == "canvas":
        raise GradingError(
            "Canvas knows students by its own numbers: import the class list from an export of its "
            "grades first, with `autograder roster grades.csv`.",
            "no_roster",
        )
    most, rows = read_rows(course, lesson, people.people if people else None)
    kept, left_out = _sort_out(rows, platform, people)
    table = {"canvas": _canvas, "moodle": _moodle}[platform](kept, column or lesson, most)
    folder = export_folder(course)
    upload, details = folder / f"{lesson}-{platform}.csv", folder / f"{lesson}-details.csv"
    _write(upload, table)
    _write(details, [list(DETAILS), *(_details(row, most) for row in rows)])
    return Export(upload, details, len(kept), left_out, _notes(rows))


def read_rows(course, lesson, people=None):
    """Return (most points, Rows) of a lesson: everybody of the class list and of the gradebook.

    people   {student id: Person}, or None to take the names that the gradebook has
    """
    due, extended = lateness.deadlines(course, lesson)
    if course.gradebook_file and not course.gradebook_file.is_file():
        raise _nothing_graded(lesson)
    with Gradebook(course.gradebook_url, course.directory("").course_id) as book:
        try:
            assignment = book.find_assignment(lesson)
        except MissingEntry:
            raise _nothing_graded(lesson) from None
        due = due or assignment.duedate
        known = {s.id: _person(s) for s in book.students} | dict(people or {})
        found = {item.student_id: item for item in book.assignment_submissions(lesson)}
        rows = []
        for student in sorted(known):
            row = Row(known[student], due=due, extended_to=extended.get(student))
            if student in found:
                _fill(row, found[student])
            elif course.folder("submitted", lesson, student).is_dir():
                row.state = UNGRADED
            rows.append(row)
        return assignment.max_score, rows


def _nothing_graded(lesson):
    return GradingError(f"nothing of {lesson} is graded; run `autograder grade {lesson}` first.")


def _person(student):
    return Person(
        student.id, student.first_name or "", student.last_name or "", student.email or ""
    )


def _fill(row, submission):
    by_hand = [g for n in submission.notebooks for g in n.grades if g.needs_manual_grade]
    row.waiting = [grade.cell.name for grade in by_hand if grade.manual_score is None]
    row.again = [grade.cell.name for grade in by_hand if grade.manual_score is not None]
    row.state = WAITS if row.waiting else GRADED
    row.handed_in = submission.timestamp
    row.points, row.late_penalty = submission.score, submission.late_submission_penalty or 0
    if submission.extension and row.due and not row.extended_to:
        row.extended_to = row.due + submission.extension


def _sort_out(rows, platform, people):
    """Return (rows for the platform's file, {student with a grade: why it is not in it})."""
    kept, left_out = [], {}
    for row in rows:
        why = _why_not(row.person, platform, people)
        if not why:
            kept.append(row)
        elif row.state != MISSING:
            left_out[row.person.student_id] = why
    return kept, left_out


def _why_not(person, platform, people):
    if people is not None and person.student_id not in people.people:
        return "is not in the class list"
    if platform == "canvas" and not person.canvas_id:
        return "has no ID of Canvas's in the class list"
    names = {"canvas": ("canvas_id", "sis_user_id", "sis_login_id")}.get(
        platform, ("student_id", "id_number", "username", "email")
    )
    for name in names:
        if harmless(getattr(person, name)) != getattr(person, name):
            return f"has an id that a spreadsheet would run as a formula: {getattr(person, name)}"
    return ""


def _canvas(rows, column, most):
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", column]
    table = [head, ["    Points Possible", "", "", "", "", number(most)]]
    for row in rows:
        who = row.person
        name = ", ".join(filter(None, (who.last_name, who.first_name))) or who.student_id
        ids = [who.canvas_id, who.sis_user_id, who.sis_login_id]
        table.append([name, *ids, "", row.upload])
    return table


def _moodle(rows, column, most):
    head = ["Student id", "ID number", "Username", "Email address", "First name", "Last name"]
    table = [[*head, column, f"{column} (feedback)"]]
    for row in rows:
        who = row.person
        ids = [who.student_id, who.id_number, who.username, who.email]
        grade = [row.upload or "-", _feedback(row, most)]
        table.append([*ids, who.first_name, who.last_name, *grade])
    return table


def _feedback(row, most):
    """Return a sentence for the student about the points and what being late cost."""
    if row.state != GRADED:
        return ""
    text = f"{number(row.score)} of {number(most)} points"
    return f"{text}, {number(row.late_penalty)} off for being late" if row.late_penalty else text


def _details(row, most):
    who = row.person
    times = [_time(moment) for moment in (row.handed_in, row.due, row.extended_to)]
    points = [number(row.points), number(row.late_penalty), number(row.score), number(most)]
    return [who.student_id, who.last_name, who.first_name, row.state, *times, *points]


def _notes(rows):
    """Return sentences that name who has no grade, or not the whole."""
    notes = []
    for state, said in (
        (MISSING, "nothing handed in by"),
        (UNGRADED, "handed in, but not graded (see the table of `grade`):"),
        (WAITS, "left empty until somebody marks by hand:"),
    ):
        names = [_named(row, row.waiting) for row in rows if row.state == state]
        if names:
            notes.append(f"{said} {', '.join(names)}")
    again = [_named(row, row.again) for row in rows if row.again]
    if again:
        notes.append(f"marked by hand before the last grading, look again: {', '.join(again)}")
    late = [f"{row.person.student_id} (-{number(row.late_penalty)})" for row in rows
            if row.late_penalty]  # fmt: skip
    if late:
        notes.append(f"late: {', '.join(late)}")
    extended = [
        f"{r.person.student_id} until {_time(r.extended_to)}" for r in rows if r.extended_to
    ]
    if extended:
        notes.append(f"extended: {', '.join(extended)}")
    return [printable(note) for note in notes]


def _named(row, cells):
    return f"{row.person.student_id} ({', '.join(cells)})" if cells else row.person.student_id


def number(value):
    """Return points as text with at most two decimals, as both platforms show them."""
    return "" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


def _time(moment):
    return f"{moment:%Y-%m-%d %H:%M} UTC" if moment else ""


def harmless(text):
    """Return a cell's text; what a spreadsheet would take for a formula gets an apostrophe."""
    return f"'{text}" if text.lstrip(" ").startswith(ACTS) and text != "-" else text


def _write(path, table):
    """Write a CSV in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with open(part, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([harmless(cell) for cell in row] for row in table)
    os.replace(part, path)
