"""Due dates, extensions for single students, and what being late costs.

`deadlines.csv` in the term's folder has the columns lesson, student_id and due; a row without a
student is everybody's due date. Each time names its zone: `2026-11-27 23:59 Europe/Berlin`.
nbgrader keeps both, and its export has the penalty as a column of its own.
"""

import csv
import math
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Float, Int

from autograder.errors import GradingError

COLUMNS = ("lesson", "student_id", "due")
DAY = 24 * 60 * 60


class PenaltyPerDay(LateSubmissionPlugin):
    """Takes a share of the points for each day begun after the due date.

    In nbgrader_config.py: c.AssignLatePenalties.plugin_class = "autograder.lateness.PenaltyPerDay"
    """

    share = Float(0.1, help="Share of the points that a day costs.").tag(config=True)
    most = Float(1.0, help="The largest share that can be lost.").tag(config=True)
    grace_minutes = Int(0, help="Minutes that do not count.").tag(config=True)

    def late_submission_penalty(self, student_id, score, total_seconds_late):
        """Return the points to take off."""
        days = math.ceil((total_seconds_late - 60 * self.grace_minutes) / DAY)
        return score * min(self.most, self.share * max(0, days))


def deadlines_file(course):
    return course.term / "deadlines.csv"


def deadlines(course, lesson):
    """Return (due, {student: due}) of a lesson in UTC without a zone; (None, {}) without a file.

    Raises GradingError for a row that can't be meant so.
    """
    path = deadlines_file(course)
    if not path.is_file():
        return None, {}
    due, extended = None, {}
    for number, row in enumerate(_rows(path), 2):
        if row["lesson"] != lesson:
            continue
        moment = _moment(row["due"], f"{path}, line {number}")
        if row["student_id"] in ("", "*"):
            due = moment
        else:
            extended[row["student_id"]] = moment
    if extended and due is None:
        raise GradingError(f"{path}: {lesson} has extensions, but no row without a student.")
    early = [student for student, until in extended.items() if until < due]
    if early:
        raise GradingError(f"{path}: {', '.join(early)} would be due before everybody else.")
    return due, extended


def _rows(path):
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        if not set(COLUMNS) <= set(reader.fieldnames or ()):
            raise GradingError(f"{path} needs the columns {', '.join(COLUMNS)}.")
        return [{name: (row[name] or "").strip() for name in COLUMNS} for row in reader]


def _moment(text, where):
    try:
        day, clock, zone = text.split()
        moment = datetime.fromisoformat(f"{day} {clock}")
        return moment.replace(tzinfo=_zone(zone)).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, ZoneInfoNotFoundError, OSError):
        raise GradingError(
            f"{where}: '{text}' is no time with a zone; write it like "
            "2026-11-27 23:59 Europe/Berlin."
        ) from None


def _zone(text):
    if text[0] in "+-":
        hours, minutes = text[1:].split(":")
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        return timezone(-offset if text[0] == "-" else offset)
    return ZoneInfo(text)
