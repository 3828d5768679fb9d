"""Grade everybody's hand-in of one lesson; one that fails never stops the others."""

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from autograder import grading
from autograder.errors import GradingError
from autograder.results import Problem, Result
from autograder.staging import extra_files, read_hand_in, stage
from autograder.submissions import cell_problems, read_source


@dataclass
class Graded:
    """One line of the class table. fresh is False when the result of an earlier run still holds."""

    student: str
    result: Result
    fresh: bool
    points: float | None = None  # from the gradebook, marks by hand included
    max_points: float | None = None


def grade(course, lesson, student=None, force=False, progress=lambda student: None):
    """Grade a lesson's hand-ins, write feedback and grades; return (list of Graded, CSV path).

    student   grade this one only
    force     grade again what has not changed since it was last graded
    progress  is called with each student's name before their turn
    """
    course.ensure_source(lesson)
    students = _students(course, lesson, student)
    with grading.log_to(course.results_folder(lesson) / "nbgrader.log"):
        released = grading.register(course, lesson)
        batch = _Batch(course, lesson, released, force)
        lines = []
        for name in students:
            progress(name)
            lines.append(batch.grade(name))
        _add_gradebook_points(course, lesson, lines)
        return lines, grading.export(course)


def _students(course, lesson, student):
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


class _Batch:
    """What is the same for all hand-ins of one run."""

    def __init__(self, course, lesson, released, force):
        self.course, self.lesson, self.force = course, lesson, force
        self.released = released
        source = course.source_notebook(lesson)
        self.source = read_source(source)
        self.source_digest = hashlib.sha256(source.read_bytes()).hexdigest()

    def grade(self, student):
        """Return the Graded line of one student; a problem becomes part of it."""
        grading.add_student(self.course, student)
        try:
            hand_in = read_hand_in(self.course, self.lesson, student)
        except GradingError as error:
            return self._without_points(student, error)
        digest = self._digest(hand_in)
        known = None if self.force else self._recorded(student, digest)
        if known is not None:
            return Graded(student, known, fresh=False)
        try:
            result = self._grade(hand_in)
        except GradingError as error:
            return self._without_points(student, error)
        self._record(student, digest, result)
        return Graded(student, result, fresh=True)

    def _without_points(self, student, error):
        message = str(error).replace(f"{self.course.root}{os.sep}", "")
        problems = [Problem(error.kind, message)]
        return Graded(student, Result(self.lesson, problems=problems, ungraded=True), fresh=True)

    def _grade(self, hand_in):
        student, notebook = hand_in.student, hand_in.notebook
        problems = notebook.problems + cell_problems(notebook.node, self.source, self.released)
        with tempfile.TemporaryDirectory(prefix="autograder-") as folder:
            submitted = Path(folder) / "submitted"
            stage(notebook, submitted, self.lesson, student, extra_files(hand_in))
            cells = grading.autograde(self.course, self.lesson, student, submitted)
        grading.feedback(self.course, self.lesson, student)
        return Result(self.lesson, cells, problems)

    def _digest(self, hand_in):
        """Return what identifies this hand-in, graded against this source."""
        content = json.dumps(hand_in.notebook.node, sort_keys=True)
        return hashlib.sha256(f"{self.source_digest} {content}".encode()).hexdigest()

    def _record_file(self, student):
        return self.course.results_folder(self.lesson) / f"{student}.json"

    def _recorded(self, student, digest):
        """Return the Result of an earlier run on the same hand-in and source, or None."""
        graded = self.course.folder("autograded", self.lesson, student)
        try:
            record = json.loads(self._record_file(student).read_text(encoding="utf-8"))
            if record["digest"] == digest and graded.is_dir():
                return Result.from_dict(record["result"])
        except (OSError, ValueError, KeyError, TypeError):
            pass  # no record, or one of another version: grade again
        return None

    def _record(self, student, digest, result):
        target = self._record_file(student)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(".part")
        record = {"digest": digest, "result": result.as_dict()}
        part.write_text(json.dumps(record, indent=1), encoding="utf-8")
        os.replace(part, target)


def _add_gradebook_points(course, lesson, lines):
    known = grading.gradebook_points(course, lesson)
    for line in lines:
        if line.student not in known:
            continue
        line.points, line.max_points = known[line.student]
        if line.result.ungraded and line.points:
            message = f"the gradebook keeps {line.points} points from an earlier hand-in"
            line.result.problems.append(Problem("earlier_grade", message))
