"""Grade everybody's hand-in of one lesson; one that fails never stops the others.

Workers grade, this process alone writes. A student's record and feedback are removed before
anything else of theirs is written, and the record comes back last: whenever the process is
killed, the next run grades again what has no record, and writing the same grades twice does no
harm. Feedback is made where there is none.
"""

import hashlib
import json
import os
import shutil
import signal
from dataclasses import dataclass

from nbgrader import utils

from autograder import engine, grading, roster, versions, voids
from autograder.backup import backup
from autograder.check import plain
from autograder.engine import sandbox
from autograder.errors import GradingError
from autograder.feedback import settings_of
from autograder.gradebook import GradeWriter, is_lost
from autograder.lateness import deadlines
from autograder.lock import grading_lock
from autograder.results import Problem, Result
from autograder.staging import read_hand_in, stage
from autograder.submissions import read_source
from autograder.work import workers_for

STOP_AT = "AUTOGRADER_STOP_AT"  # for tests: "STEP:N" kills this process at the Nth time of a step


@dataclass
class Graded:
    """One line of the class table. fresh is False when the result of an earlier run still holds."""

    student: str
    result: Result
    fresh: bool
    points: float | None = None  # from the gradebook, marks by hand included
    max_points: float | None = None
    by_hand: str = ""  # what only a person gives, kept apart: "6 of 8"; "" where there is none
    penalty: float = 0  # taken off for being late


@dataclass
class Options:
    """How to grade a class.

    student   this one only
    force     also what has not changed since it was last graded
    jobs      how many workers; None for one a core
    unsafe    run the students' code without a sandbox
    cluster   address of a Dask scheduler whose workers grade, or None to grade here
    feedback  also write the pages that students get
    """

    student: str | None = None
    force: bool = False
    jobs: int | None = None
    unsafe: bool = False
    feedback: bool = True
    cluster: str | None = None


def grade(course, lesson, options=None, progress=lambda done, total, student: None):
    """Grade a lesson's hand-ins, write feedback and grades; return (list of Graded, CSV path).

    progress is called after each student, with the number of those done and of all.
    """
    options = options or Options()
    students = students_of(course, lesson, options.student)
    if not (options.unsafe or options.cluster):
        look_for_sandbox()
    workers = workers_for(course, options, len(students))
    with grading_lock(course), workers:
        backup(course)
        common = {
            **course.engine_options(lesson),
            "sandbox": "off" if options.unsafe else "required",
        }
        ready = workers.warm_up(common)  # while this process is busy with the gradebook
        course.ensure_source(lesson)
        with grading.log_to(course.results_folder(lesson) / "nbgrader.log"):
            released = grading.register(course, lesson)
            _refuse_without_sandbox(ready())
            roster.enter(course, roster.load(course))
            with GradeWriter(course, lesson, grading.LOGGER) as writer:
                batch = Batch(course, lesson, released, options, writer, common)
                lines = batch.run(students, workers, progress)
            _add_gradebook_points(course, lesson, lines)
            return lines, grading.export(course)


def look_for_sandbox():
    """Refuse at once where it can be seen that there is no sandbox."""
    try:
        sandbox.refuse_early()
    except engine.SandboxUnavailable as error:
        _refuse_without_sandbox({"kind": "no_sandbox", "error": str(error)})


def _refuse_without_sandbox(outcome):
    if outcome.get("kind") == "no_sandbox":
        raise GradingError(
            f"students' code can't be run safely here. {outcome['error']} "
            "--unsafe-no-sandbox grades without protection.",
            "no_sandbox",
        )


def students_of(course, lesson, student=None):
    """Return the names of those with a folder of hand-ins, or the one that is asked for."""
    submitted = course.folder("submitted", lesson).parent
    if not submitted.is_dir():
        raise GradingError(
            f"there is no folder {submitted}; collect the hand-ins as "
            f"{submitted}/STUDENT/{lesson}/{lesson}.ipynb first."
        )
    names = sorted(
        path.name for path in submitted.iterdir() if path.is_dir() and path.name[0] != "."
    )
    if student is not None:
        if student not in names:
            raise GradingError(f"no student '{student}' in {submitted}.")
        return [student]
    if not names:
        raise GradingError(f"{submitted} is empty; collect the hand-ins first.")
    return names


class Batch:
    """What is the same for all hand-ins of one run."""

    def __init__(self, course, lesson, released, options, writer, common):
        self.writer = writer
        self.course, self.lesson, self.options = course, lesson, options
        self.results = course.results_folder(lesson)
        self.parts = self.results / "parts"
        self.lesson_files = grading.lesson_files(course, lesson)
        self.common = {
            **common,
            "source": json.dumps(read_source(course.source_notebook(lesson))),
            "released": json.dumps(released),
        }
        texts = self.common["source"], self.common["released"]
        self.versions = versions.Versions(course, lesson, *texts, versions.fingerprint(released))
        self.void = voids.voided(course, lesson)
        self.deadlines = deadlines(course, lesson)
        settled = [self.common[name] for name in ("source", "released", "limits", "sandbox")]
        settled += [self.void] if self.void else []
        self.lesson_digest = hashlib.sha256(json.dumps(settled).encode())
        self.finishing = grading.finishing_parts(course)
        self.page_settings = settings_of(course.config)
        self.lines = {}
        self.waiting = {}  # student -> (HandIn, digest) of what workers have

    def run(self, students, workers, progress):
        """Return the students' Graded lines, in their order."""
        self.writer.add_students(students)
        self.in_gradebook = self.writer.graded()
        self.writer.void(self.void)
        self.versions.keep()
        shutil.rmtree(self.parts, ignore_errors=True)
        for student, outcome in workers.do("grade", self._tasks(students)):
            hand_in, digest = self.waiting.pop(student)
            self.lines[student] = self._finish(hand_in, digest, outcome)
            progress(len(self.lines), len(students), student)
        for student in self.writer.apply_deadlines(*self.deadlines):
            self._page(student).unlink(missing_ok=True)
        if self.options.feedback:
            self._write_feedback(students, workers)
        shutil.rmtree(self.parts, ignore_errors=True)
        return [self.lines[student] for student in students]

    def _tasks(self, students):
        """Yield (student, task) of those who need grading; the others get their line at once."""
        for student in students:
            try:
                hand_in = read_hand_in(self.course, self.lesson, student)
                version, source, released, problems = self.versions.find(hand_in.notebook.node)
                hand_in.notebook.problems += problems
                digest = self._digest(hand_in, source)
            except GradingError as error:
                self.lines[student] = self._without_points(student, error)
                continue
            except Exception as error:  # one student's must not stop the others
                self.lines[student] = self._unexpected(student, "its files can't be read", error)
                continue
            known = None if self.options.force else self._recorded(student, digest)
            if known is not None:
                self.lines[student] = Graded(student, known, fresh=False)
                continue
            self.waiting[student] = hand_in, digest
            node = hand_in.notebook.node
            hand_in.made_with = self.versions.made_with(node, version, source)
            hand_in.notebook.node = None  # the worker has it; hundreds need not stay here
            own = {"source": source, "released": released, "submitted": node}
            yield student, {**self.common, **own, "files": str(hand_in.folder)}

    def _without_points(self, student, error):
        message = str(error).replace(f"{self.course.root}{os.sep}", "")
        problems = [Problem(error.kind, message)]
        return Graded(student, Result(self.lesson, problems=problems, ungraded=True), fresh=True)

    def _unexpected(self, student, what, error):
        if os.environ.get("AUTOGRADER_DEBUG"):
            raise error
        text = f"{what}: {type(error).__name__}: {error}"
        return self._without_points(student, GradingError(text, "engine"))

    def _finish(self, hand_in, digest, outcome):
        """Write what a worker found out, and return the student's line."""
        student = hand_in.student
        if "error" in outcome:
            return self._without_points(student, GradingError(outcome["error"], outcome["kind"]))
        graded = engine.Result.from_dict(plain(outcome))
        result = Result.from_engine(self.lesson, graded, hand_in.notebook.problems)
        graded.problems = [*result.problems, *voids.apply(result, self.void)]
        try:
            self._write(hand_in, graded)
        except Exception as error:  # one student's must not stop the others
            if is_lost(error):
                raise GradingError(
                    f"the gradebook {self.course.gradebook_name} does not answer any more. What is "
                    "graded so far is kept: run the same command again to go on."
                ) from error
            return self._unexpected(student, "its grades could not be written", error)
        self._record(student, digest, result, hand_in.made_with)
        return Graded(student, result, fresh=True)

    # -- writing --------------------------------------------------------------------------------

    def _write(self, hand_in, graded):
        student, page = hand_in.student, self._page(hand_in.student)
        node = grading.graded_notebook(self.course, self.lesson, student, graded, self.finishing)
        self.writer.add_checksums(node)
        parts = self.parts / student
        folder = stage(node, parts, self.lesson, hand_in.extras, self.lesson_files)
        self._record_file(student).unlink(missing_ok=True)
        page.unlink(missing_ok=True)
        _reached("unrecorded")
        self.writer.write(student, node, _timestamp(hand_in))
        _reached("stored")
        self._swap(folder, self.course.folder("autograded", self.lesson, student))

    def _page(self, student):
        return self.course.folder("feedback", self.lesson, student) / f"{self.lesson}.html"

    def _write_feedback(self, students, workers):
        """Make the pages of all graded students that have none."""
        missing = [
            student
            for student in students
            if not self.lines[student].result.ungraded and not self._page(student).is_file()
        ]
        for student, outcome in workers.do("render", map(self._feedback_task, missing)):
            if "error" in outcome:
                problem = Problem("feedback", f"its feedback is missing: {outcome['error']}")
                self.lines[student].result.problems.append(problem)
                continue
            page = self._page(student)
            page.parent.mkdir(parents=True, exist_ok=True)
            part = page.with_suffix(".part")
            part.write_text(outcome["page"], encoding="utf-8")
            _reached("page")
            os.replace(part, page)

    def _feedback_task(self, student):
        graded = self.course.folder("autograded", self.lesson, student) / f"{self.lesson}.ipynb"
        return student, {
            "notebook": graded.read_text(encoding="utf-8"),
            "names": {"notebook": self.lesson, "assignment": self.lesson, "student": student},
            "settings": self.page_settings,
            **self.writer.feedback_data(student),
        }

    def _swap(self, folder, target):
        """Put a finished folder in its place; what was there goes."""
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            old = self.parts / "old"
            shutil.rmtree(old, ignore_errors=True)
            os.replace(target, old)
            _reached("removed")
        os.replace(folder, target)
        _reached("swapped")

    # -- records --------------------------------------------------------------------------------

    def _digest(self, hand_in, source):
        """Return what identifies this hand-in, graded against this source with these settings."""
        total = self.lesson_digest.copy()
        if source is not self.common["source"]:
            total.update(source.encode())
        for part in (hand_in.notebook.node, hand_in.path.name):
            total.update(json.dumps(part, sort_keys=True).encode())
        for file in hand_in.extras:
            with open(file, "rb") as content:
                found = hashlib.file_digest(content, "sha256").hexdigest()
            total.update(os.fsencode(file.name) + found.encode())
        return total.hexdigest()

    def _record_file(self, student):
        return self.results / f"{student}.json"

    def _recorded(self, student, digest):
        """Return the Result of an earlier run on the same hand-in and source, or None."""
        graded = self.course.folder("autograded", self.lesson, student)
        if student not in self.in_gradebook:
            return None
        try:
            record = json.loads(self._record_file(student).read_text(encoding="utf-8"))
            if record["digest"] == digest and graded.is_dir():
                return Result.from_dict(record["result"])
        except (OSError, ValueError, KeyError, TypeError):
            pass  # no record, or one of another version: grade again
        return None

    def _record(self, student, digest, result, made_with):
        target = self._record_file(student)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(".part")
        record = {"digest": digest, "made_with": made_with, "result": result.as_dict()}
        part.write_text(json.dumps(record, indent=1), encoding="utf-8")
        _reached("recording")
        os.replace(part, target)
        _reached("recorded")


def _timestamp(hand_in):
    """Return the text of timestamp.txt, where nbgrader keeps when something was handed in."""
    for file in hand_in.extras:
        if file.name == "timestamp.txt":
            text = file.read_text(encoding="utf-8", errors="replace").strip()
            try:
                utils.parse_utc(text)
            except (ValueError, OverflowError, TypeError):
                return None
            return text or None
    return None


def _add_gradebook_points(course, lesson, lines):
    known = grading.gradebook_points(course, lesson)
    for line in lines:
        if line.student not in known:
            continue
        line.points, line.max_points, line.by_hand, line.penalty = known[line.student]
        if line.result.ungraded and line.points:
            message = f"the gradebook keeps {line.points} points from an earlier hand-in"
            line.result.problems.append(Problem("earlier_grade", message))


_passed = {}


def _reached(step):
    """Kill this process here if STOP_AT says so: the tests' power cut."""
    wanted, _, number = os.environ.get(STOP_AT, "").partition(":")
    if step == wanted:
        _passed[step] = _passed.get(step, 0) + 1
        if _passed[step] == int(number or 1):
            os.kill(os.getpid(), signal.SIGKILL)
