"""Grade a class without writing anything, and say who would gain or lose."""

from dataclasses import dataclass, field

from nbgrader.api import Gradebook, MissingEntry

from autograder import grading
from autograder.batch import Batch, Options, look_for_sandbox, students_of
from autograder.errors import GradingError
from autograder.results import MANUAL, whole
from autograder.work import workers_for


@dataclass
class Change:
    """One student's points before and after; tests is {test: (before, after)} where they differ.

    after is None, with the reason, when the hand-in can't be graded now; before when it was not.
    """

    student: str
    before: float | None
    after: float | None
    tests: dict = field(default_factory=dict)
    reason: str = ""
    by_hand: list[str] = field(default_factory=list)

    @property
    def difference(self):
        return 0 if None in (self.before, self.after) else self.after - self.before


class _Trial(Batch):
    """A batch that grades everybody and writes nowhere."""

    def run(self, students, workers, progress):
        self.in_gradebook = set()
        for student, outcome in workers.do("grade", self._tasks(students)):
            hand_in, digest = self.waiting.pop(student)
            self.lines[student] = self._finish(hand_in, digest, outcome)
            progress(len(self.lines), len(students), student)
        return [self.lines[student] for student in students]

    def _write(self, hand_in, graded):
        pass

    def _record(self, *args):
        pass


def compare(course, lesson, options=None, progress=lambda done, total, student: None):
    """Return the Changes that grading a lesson now would make, one for each student."""
    options = options or Options()
    students = students_of(course, lesson, options.student)
    known = _stored(course, lesson)
    if not (options.unsafe or options.cluster):
        look_for_sandbox()
    with workers_for(course, options, len(students)) as workers:
        common = {
            **course.engine_options(lesson),
            "sandbox": "off" if options.unsafe else "required",
        }
        course.ensure_source(lesson)
        with grading.log_to(course.results_folder(lesson) / "nbgrader.log"):
            released = grading.released(course, lesson)
            trial = _Trial(course, lesson, released, options, None, common)
            lines = trial.run(students, workers, progress)
    return [_change(line, known.get(line.student)) for line in lines]


def _stored(course, lesson):
    """Return {student: {test: (points, whether by hand)}} of the gradebook."""
    if course.gradebook_file and not course.gradebook_file.is_file():
        raise GradingError(f"there is no gradebook yet; grade {lesson} first.")
    with Gradebook(course.gradebook_url, course.directory("").course_id) as book:
        try:
            submissions = book.assignment_submissions(lesson)
        except MissingEntry:
            raise GradingError(f"{lesson} is not graded yet.") from None
        return {
            submission.student_id: {
                grade.name: (whole(grade.score or 0), grade.manual_score is not None)
                for notebook in submission.notebooks
                for grade in notebook.grades
            }
            for submission in submissions
        }


def _change(line, known):
    """Return the Change of one student from a Graded line and what the gradebook holds."""
    before = None if known is None else whole(sum(points for points, _ in known.values()))
    if line.result.ungraded:
        problem = line.result.problems[-1].message if line.result.problems else "not graded"
        return Change(line.student, before, None, reason=problem)
    change = Change(line.student, before, 0)
    for cell in line.result.cells:
        old, by_hand = (known or {}).get(cell.grade_id, (0, False))
        new = old if by_hand or cell.status == MANUAL else cell.points
        change.after = whole(change.after + new)
        if by_hand:
            change.by_hand.append(cell.grade_id)
        if new != old:
            change.tests[cell.grade_id] = (old, new)
    return change


def table(changes):
    """Return the lines to print: who gains or loses and where, and a summary."""
    lines = []
    for change in changes:
        if change.after is None:
            lines.append(f"{change.student}: can't be graded now: {change.reason}")
        elif change.before is None:
            lines.append(f"{change.student}: new, {change.after} points")
        elif change.difference or change.tests:
            where = ", ".join(f"{t} {old} → {new}" for t, (old, new) in change.tests.items())
            lines.append(
                f"{change.student}: {change.before} → {change.after} "
                f"({change.difference:+g}): {where}"
            )
    gain = sum(change.difference > 0 for change in changes)
    lose = sum(change.difference < 0 for change in changes)
    lines.append(
        f"{len(changes)} students: {gain} would gain, {lose} would lose. Nothing was written."
    )
    kept = sorted({test for change in changes for test in change.by_hand})
    if kept:
        lines.append(f"Marks by hand stay: {', '.join(kept)}")
    return lines
