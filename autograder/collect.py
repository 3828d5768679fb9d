"""Take a learning platform's download of hand-ins into nbgrader's submitted folder.

Names of files and folders as the platforms write them:

- Moodle: `Ada Lovelace_12345_assignsubmission_file/x.ipynb`, in older versions with an underscore
  at the end, or without folders `Ada Lovelace_12345_assignsubmission_file_x.ipynb`; the number is
  the participant's in the grading worksheet, with blind marking the name is `Participant`.
  (mod/assign/classes/downloader.php)
- Canvas: `lovelaceada_LATE_1001_2002_x.ipynb`: sortable name, a mark if late, numbers of the user
  and of the file, the later the larger; `-1`, `-2` after the name count uploads.
  (lib/content_zipper.rb)
- anything else: `STUDENT/…/x.ipynb` or `STUDENT.ipynb`.

What is written is built beside it first, and put in its place by renaming.
"""

import hashlib
import json
import os
import re
import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import dateutil.parser
import dateutil.tz

from autograder import roster as rosters
from autograder.archives import Budget, Entry, Refused, read_nested, read_place
from autograder.errors import GradingError
from autograder.lock import grading_lock
from autograder.staging import MAX_EXTRA_BYTES, MAX_EXTRA_FILES

MOODLE = re.compile(r"(?P<name>.*?)_(?P<id>\d+)_assignsubmission_(?P<kind>[a-z]+)(?P<rest>_.*)?")
CANVAS = re.compile(
    r"(?P<name>\w*?)(?P<late>(?:^|_)LATE)?_(?P<id>\d+)_(?P<file_id>\d+)_(?P<rest>.+)"
)
CANVAS_ANONYMOUS = re.compile(r"(LATE_)?anon_\w+?_\d+_.+")
COUNTED = re.compile(r"[\s_-]*(\(\d+\)|\d{1,2}|copy\d*)$", re.I)
ONE_DOWNLOAD = timedelta(minutes=10)
TIMESTAMP = "timestamp.txt"


@dataclass
class File:
    """A file of one student.

    rank   Canvas's number of the file, which grows with time; 0 elsewhere
    late   whether Canvas marks it as late
    """

    entry: Entry
    name: PurePosixPath
    rank: int = 0
    late: bool = False


@dataclass
class Sender:
    """Who an archive's files come from, in the platform's words."""

    shown: str
    ask: dict = field(default_factory=dict)  # arguments of Roster.find
    files: list[File] = field(default_factory=list)
    platform: str = ""


@dataclass
class Collected:
    """What came of a collection. Names are student ids."""

    taken: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    times: str = ""


def collect(course, lesson, place, *, roster=None, id_column=None, zone=None, replace=False):
    """Take the hand-ins of a lesson from a zip or a folder; return what was Collected.

    roster   CSV to import first; without one the term's is used
    zone     name of the time zone of the archive's and the roster's times; None for this machine's
    replace  also where it can't be told that the new hand-in is the later one
    """
    with grading_lock(course):
        people = rosters.load(course)
        if roster:
            people = rosters.import_roster(course, roster, id_column)
        found = Collected(notes=list(people.notes) if roster else [])
        budget = Budget()
        entries, found.refused = read_place(place, budget)
        times = _Times(entries, people, zone)
        take = _Taking(course, lesson, times, replace, found, budget)
        for student, files in _by_student(_senders(entries, people), people, found).items():
            take.one(student, files)
        take.finish()
    found.times = times.source()
    if people:
        folder = course.folder("submitted", lesson).parent
        found.missing = [p for p in people.people if not (folder / p / lesson).is_dir()]
    return found


def _senders(entries, people):
    """Return the Senders of an archive's files."""
    senders = {}
    wrappers = _wrappers(entries, people)
    for entry in entries:
        sender, file = _sender(entry, wrappers)
        senders.setdefault(sender.shown, sender).files.append(file)
    return list(senders.values())


def _sender(entry, wrappers):
    """Return (Sender, File) by the first part of a path: the rest is the student's to choose."""
    first, *rest = entry.path.parts[wrappers:]
    if found := MOODLE.fullmatch(first):
        rest = rest or [(found["rest"] or "_")[1:] or first]
        ask = {"name": found["name"], "moodle_id": found["id"]}
        sender = Sender(f"{found['name']}_{found['id']}", ask, platform="Moodle")
        folder = [] if found["kind"] == "file" else [found["kind"]]  # typed text, not a file
        return sender, File(entry, PurePosixPath(*folder, *rest))
    if not rest and CANVAS_ANONYMOUS.fullmatch(first):
        return Sender(first, platform="anonymous"), File(entry, PurePosixPath(first))
    if not rest and (found := CANVAS.fullmatch(first)):
        ask = {"name": found["name"], "canvas_id": found["id"]}
        sender = Sender(f"{found['name']}_{found['id']}", ask, platform="Canvas")
        name = PurePosixPath(found["rest"])
        return sender, File(entry, name, int(found["file_id"]), bool(found["late"]))
    own = first if rest else PurePosixPath(first).stem
    return Sender(own, {"login": own}), File(entry, PurePosixPath(*(rest or [first])))


def _wrappers(entries, people):
    """Return 1 where all lies in one folder that is not a student's, else 0."""
    tops = {entry.path.parts[0] for entry in entries}
    if len(tops) != 1 or min(len(entry.path.parts) for entry in entries) < 2:
        return 0
    top = tops.pop()
    if MOODLE.fullmatch(top):
        return 0
    if people is None:
        return int(sum(entry.path.suffix == ".ipynb" for entry in entries) > 1)
    try:
        return int(not people.find(login=top))
    except GradingError:
        return 1


def _by_student(senders, people, found):
    """Return {student id: [File]}; who can't be told is refused by name."""
    owners = {}
    for sender in senders:
        try:
            owners.setdefault(_student(sender, people), []).append(sender)
        except _Unmatched as error:
            found.refused.append(Refused(sender.shown, str(error)))
    for student, several in owners.items():
        for sender in several if len(several) > 1 else ():
            reason = f"{len(several)} different senders are taken for {student}"
            found.refused.append(Refused(sender.shown, reason))
    return {student: one[0].files for student, one in owners.items() if len(one) == 1}


class _Unmatched(Exception):
    """A sender is no student that is known."""


def _student(sender, people):
    """Return a sender's student id."""
    if sender.platform == "anonymous":
        raise _Unmatched("anonymous; switch anonymous marking off and download again")
    if people is None and sender.platform:
        raise GradingError(
            f"{sender.platform} names students by name and number; give the class list, which "
            "has their ids: --roster FILE (an export of grades or participants, as CSV)."
        )
    if people is None:
        problem = rosters.bad_id(sender.shown)
        if problem:
            raise _Unmatched(problem)
        return sender.shown
    try:
        return people.find(**sender.ask).student_id
    except GradingError as error:
        raise _Unmatched(error) from None


class _Times:
    """When hand-ins came, in UTC.

    What the roster says counts. The times in an archive count where they differ: Canvas and newer
    versions of Moodle write the time of the download.
    """

    def __init__(self, entries, people, zone):
        self.zone, self.zone_name = _zone(zone)
        self.people = people.people if people else {}
        times = [entry.time for entry in entries if entry.time]
        self.archive = len(times) > 1 and max(times) - min(times) > ONE_DOWNLOAD
        self.from_roster = self.from_archive = 0
        self.unclear = []

    def of(self, student, file):
        """Return the moment of a student's file, or None when nobody knows."""
        person = self.people.get(student)
        if person and person.handed_in.strip("- "):
            try:
                told = dateutil.parser.parse(person.handed_in, fuzzy=True)
                self.from_roster += 1
                return self._utc(told)
            except (ValueError, OverflowError):
                self.unclear.append(student)
        if self.archive and not file.rank and file.entry.time:
            self.from_archive += 1
            return self._utc(file.entry.time)
        return None

    def _utc(self, moment):
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=self.zone)
        return moment.astimezone(UTC).replace(microsecond=0)

    def source(self):
        """Return a sentence on where times come from."""
        parts = []
        if self.from_roster:
            parts.append(f"{self.from_roster} from the roster")
        if self.from_archive:
            parts.append(f"{self.from_archive} from the archive")
        if not parts:
            return (
                "no times: the archive holds none but that of the download, so nobody counts as "
                "late. Moodle's grading worksheet as --roster has them."
            )
        return f"times: {', '.join(parts)}, taken as {self.zone_name} and kept in UTC."


def _zone(name):
    if name is None:
        here = dateutil.tz.tzlocal()
        return here, f"this machine's zone, {datetime.now(here).tzname()}"
    try:
        return ZoneInfo(name), name
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise GradingError(
            f"there is no time zone '{name}'; it is written like Europe/Berlin."
        ) from None


class _Taking:
    """Writes hand-ins, one student at a time."""

    def __init__(self, course, lesson, times, replace, found, budget):
        self.course, self.lesson, self.times = course, lesson, times
        self.replace, self.found, self.budget = replace, found, budget
        self.staging = course.term / "collecting"
        self.log_file = course.term / "collected" / f"{lesson}.json"
        self.log = _read_json(self.log_file)
        shutil.rmtree(self.staging, ignore_errors=True)

    def one(self, student, files):
        """Take one student's hand-in, or say why not."""
        try:
            files = self._opened(files)
            chosen = self._choose(student, files)
            content = chosen.entry.read()
            moment = self.times.of(student, chosen)
            if not self._wanted(student, chosen, content, moment):
                return
            staged = self._stage(student, chosen, content, moment, files)
            self._put(student, staged)
            digest = hashlib.sha256(content).hexdigest()
            seen = chosen.entry.time and chosen.entry.time.isoformat()
            self.log[student] = {"rank": chosen.rank, "time": seen, "sha256": digest}
        except GradingError as error:
            self.found.refused.append(Refused(student, str(error)))
            return
        if chosen.late:
            self.found.notes.append(f"{student}: Canvas marks it as late")

    def finish(self):
        shutil.rmtree(self.staging, ignore_errors=True)
        if self.log:
            self.log_file.parent.mkdir(parents=True, exist_ok=True)
            part = self.log_file.with_suffix(".part")
            part.write_text(json.dumps(self.log, indent=1), encoding="utf-8")
            os.replace(part, self.log_file)
        for student in self.times.unclear:
            self.found.notes.append(f"{student}: the roster's time can't be understood")

    def _opened(self, files):
        """Return the files with those of a student's zip in its place."""
        opened = []
        for file in files:
            if file.name.suffix.lower() != ".zip":
                opened.append(file)
                continue
            entries, refused = read_nested(file.entry, self.budget)
            self.found.refused += refused
            opened += [File(e, e.path, file.rank, file.late) for e in entries]
        return opened

    def _choose(self, student, files):
        """Return the file of the notebook that counts: the lesson's by name, then the newest."""
        notebooks = [file for file in files if file.name.suffix.lower() == ".ipynb"]
        if not notebooks:
            names = ", ".join(file.name.name for file in files[:3])
            raise GradingError(f"no notebook among what was handed in ({names or 'nothing'})")
        named = [f for f in notebooks if COUNTED.sub("", f.name.stem) == self.lesson]
        best = named or notebooks
        top = max(self._order(student, file) for file in best)
        newest = [file for file in best if self._order(student, file) == top]
        if len(newest) > 1:
            plain = [file for file in newest if file.name.stem == self.lesson]
            newest = plain if len(plain) == 1 else newest
        if len({file.entry.read() for file in newest}) > 1:
            names = ", ".join(sorted(str(file.name) for file in newest))
            raise GradingError(f"several notebooks, and no telling which counts ({names})")
        if len(best) > 1:
            text = f"{student}: {len(best)} notebooks, the newest counts: {newest[0].name}"
            self.found.notes.append(text)
        return newest[0]

    def _order(self, student, file):
        time = file.entry.time if self.times.archive else None
        return file.rank, time or datetime.min

    def _wanted(self, student, chosen, content, moment):
        """Say whether to write it; GradingError when what lies there may be the later one."""
        target = self._target(student)
        if not target.exists():
            return True
        old = target / f"{self.lesson}.ipynb"
        if old.is_file() and old.read_bytes() == content:
            stamp = target / TIMESTAMP
            if moment and not stamp.exists():
                stamp.write_text(_stamp(moment), encoding="utf-8")
            self.found.unchanged.append(student)
            return False
        known = _read_stamp(target / TIMESTAMP)
        newer = moment > known if moment and known else self._later_download(student, chosen)
        if newer or self.replace:
            return True
        why = "older than" if moment and known else "not known to be newer than"
        raise GradingError(f"{why} the one collected before, which stays; --replace takes this one")

    def _later_download(self, student, chosen):
        """Say whether a file is from a later download, or has Canvas's larger number.

        A download holds the newest attempts, and newer Moodles note its time on each file.
        """
        before = self.log.get(student, {})
        if chosen.rank and before.get("rank"):
            return chosen.rank > before["rank"]
        time = chosen.entry.time
        return bool(time and before.get("time") and time.isoformat() > before["time"])

    def _stage(self, student, chosen, content, moment, files):
        folder = self.staging / student
        folder.mkdir(parents=True)
        (folder / f"{self.lesson}.ipynb").write_bytes(content)
        beside = [
            file
            for file in files
            if file.name.parent == chosen.name.parent and file.name.suffix.lower() != ".ipynb"
        ]
        size = 0
        for number, file in enumerate(beside):
            name = file.name.name
            size += file.entry.size
            if name == TIMESTAMP:  # would be taken for ours
                self.found.refused.append(Refused(f"{student}/{name}", "a student's time stamp"))
            elif size > MAX_EXTRA_BYTES or number >= MAX_EXTRA_FILES:
                text = "too many or too large files beside the notebook"
                self.found.refused.append(Refused(f"{student}/{name}", text))
            else:
                (folder / name).write_bytes(file.entry.read())
        if moment:
            (folder / TIMESTAMP).write_text(_stamp(moment), encoding="utf-8")
            os.utime(folder / f"{self.lesson}.ipynb", (moment.timestamp(),) * 2)
        return folder

    def _put(self, student, staged):
        """Put a finished folder in its place; what was there is kept as an earlier hand-in."""
        target = self._target(student)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
            kept = _free(self.course.term / "earlier" / self.lesson / student / now)
            kept.parent.mkdir(parents=True, exist_ok=True)
            os.replace(target, kept)
            self.found.replaced.append(student)
        else:
            self.found.taken.append(student)
        os.replace(staged, target)

    def _target(self, student):
        target = self.course.folder("submitted", self.lesson, student)
        if target.is_symlink() or target.parent.is_symlink():
            raise GradingError(f"{target} is a link")
        return target


def _stamp(moment):
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _read_stamp(path):
    from nbgrader.utils import parse_utc

    try:
        return parse_utc(path.read_text(encoding="utf-8").strip()).replace(tzinfo=UTC)
    except (OSError, ValueError, OverflowError, TypeError, AttributeError):
        return None


def _read_json(path):
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def _free(path):
    """Return path, or path with a number where that exists."""
    number = 1
    free = path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free
