"""Writes finished results into nbgrader's gradebook: one open session, one transaction each.

What is stored is what nbgrader's SaveAutoGrades and AssignLatePenalties store; marks and comments
by hand are left alone.
"""

from nbgrader import utils
from nbgrader.api import (
    Comment,
    Grade,
    Gradebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    new_uuid,
)
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy.exc import DBAPIError

from autograder.submissions import grade_id


def is_lost(error):
    """Say whether an exception means that the database's server is gone."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


class GradeWriter:
    """The gradebook of a course, open to take the grades of one lesson. Use it with `with`.

    A lesson has one notebook, of the lesson's name.
    """

    def __init__(self, course, lesson, log):
        self.course, self.lesson, self.log = course, lesson, log

    def __enter__(self):
        self.book = Gradebook(self.course.gradebook_url, self.course.directory("").course_id)
        self.book.db().expire_on_commit = False
        self.notebook = self.book.find_notebook(self.lesson, self.lesson)
        self.assignment = self.book.find_assignment(self.lesson)
        self.known, self.voided = self.graded(), {}
        kinds = (self.notebook.grade_cells, self.notebook.solution_cells, self.notebook.task_cells)
        self.names = {cell.id: cell.name for cells in kinds for cell in cells}
        self.checksums = {cell.name: cell.checksum for cell in self.notebook.source_cells}
        self.penalties = AssignLatePenalties(config=self.course.config, log=self.log)
        self.penalties.init_plugin()
        return self

    def __exit__(self, *error):
        self.book.close()

    def add_students(self, students):
        """Enter students, so that the exported grades name everyone."""
        session, known = self.book.db(), {student.id for student in self.book.students}
        session.add_all(Student(id=student) for student in students if student not in known)
        session.commit()

    def void(self, marks):
        """Let tests count no more; marks is what voids.voided returns."""
        self.voided = marks
        for cell in self.notebook.grade_cells:
            if marks.get(cell.name) == "nobody":
                cell.max_score = 0
        self.book.db().commit()

    def graded(self):
        """Return the names of the students whose submission is in the gradebook."""
        return {item.student_id for item in self.book.assignment_submissions(self.lesson)}

    def add_checksums(self, node):
        """Note the lesson's checksums in a notebook: nbgrader finds empty answers by them."""
        for cell in node.cells:
            if grade_id(cell) in self.checksums:
                cell.metadata["nbgrader"]["checksum"] = self.checksums[grade_id(cell)]

    def write(self, student, node, timestamp=None):
        """Store the points and comments of a graded notebook, all or nothing.

        timestamp is when it was handed in, as text, or None to keep what is known.
        """
        session = self.book.db()
        moment = utils.parse_utc(timestamp) if timestamp is not None else None
        try:
            if student not in self.known:
                self._insert(session, student, node, moment)
            if student in self.known or (moment and self.assignment.duedate):
                self._update(session, student, node, moment)
            session.commit()
            self.known.add(student)
        except BaseException:
            session.rollback()
            raise

    def apply_deadlines(self, due, extended):
        """Set when the lesson is due, and for whom later; return whose penalty changed by it.

        due       a time in UTC without a zone, or None to leave due date and extensions alone
        extended  {student: such a time}
        """
        session, changed = self.book.db(), []
        if due is not None:
            self.assignment.duedate = due
        if self.assignment.duedate is None:
            return changed
        for submission in self.book.assignment_submissions(self.lesson):
            if due is not None:
                until = extended.get(submission.student_id)
                submission.extension = until - due if until else None
            for notebook in submission.notebooks:
                before = notebook.late_submission_penalty
                self._store_penalty(session, notebook, submission.student_id)
                if notebook.late_submission_penalty != before:
                    changed.append(submission.student_id)
        session.commit()
        return changed

    def feedback_data(self, student):
        """Return what nbgrader's GetGrades would put into a notebook, as plain data."""
        session = self.book.db()
        notebook = self.book.find_submission_notebook(self.lesson, self.lesson, student)
        session.refresh(notebook)
        penalty = notebook.late_submission_penalty or 0
        own = session.query(Grade.cell_id, Grade.score, Grade.max_score)
        said = session.query(Comment.cell_id, Comment.comment)
        return {
            "total": {
                "score": notebook.score - penalty,
                "max_score": notebook.max_score,
                "late_penalty": penalty,
            },
            "grades": {
                self.names[cell]: [score, most]
                for cell, score, most in own.filter(Grade.notebook_id == notebook.id)
            },
            "comments": {
                self.names[cell]: comment
                for cell, comment in said.filter(Comment.notebook_id == notebook.id)
            },
        }

    def _insert(self, session, student, node, moment):
        """Write the rows of a new submission at once; an object for each would take longer."""
        submission, notebook = new_uuid(), new_uuid()
        row = {"id": submission, "assignment_id": self.assignment.id, "student_id": student}
        session.execute(SubmittedAssignment.__table__.insert(), row | {"timestamp": moment})
        row = {"id": notebook, "assignment_id": submission, "notebook_id": self.notebook.id}
        session.execute(SubmittedNotebook.__table__.insert(), row)
        cells = {grade_id(cell): cell for cell in node.cells}
        tasks = self.notebook.task_cells
        grades = [
            {"cell_id": cell.id, "notebook_id": notebook, "auto_score": score,
             "needs_manual_grade": score is None}
            for cell in [*self.notebook.grade_cells, *tasks]
            for score in [self._auto_score(cells.get(cell.name), cell.name)]
        ]  # fmt: skip
        comments = [
            {"cell_id": cell.id, "notebook_id": notebook,
             "auto_comment": _auto_comment(cells.get(cell.name))}
            for cell in [*self.notebook.solution_cells, *tasks]
        ]  # fmt: skip
        for table, rows in ((Grade.__table__, grades), (Comment.__table__, comments)):
            if rows:
                session.execute(table.insert(), rows)

    def _update(self, session, student, node, moment):
        """Write the points and comments of a known submission, and its penalty."""
        submission = self.book.find_submission(self.lesson, student)
        if moment is not None:
            submission.timestamp = moment
        notebook = next(n for n in submission.notebooks if n.notebook_id == self.notebook.id)
        cells = {grade_id(cell): cell for cell in node.cells}
        for grade in notebook.grades:
            name = self.names[grade.cell_id]
            cell = cells.get(name)
            if cell is not None and utils.is_grade(cell):
                grade.auto_score = self._auto_score(cell, name)
                by_hand = grade.manual_score is not None
                grade.needs_manual_grade = by_hand or grade.auto_score is None
        for comment in notebook.comments:
            cell = cells.get(self.names[comment.cell_id])
            if cell is not None:
                comment.auto_comment = _auto_comment(cell)
        session.flush()
        self._store_penalty(session, notebook, student)

    def _auto_score(self, cell, name):
        """Return the points of a graded notebook's cell; None for what a person grades."""
        if cell is None or not utils.is_grade(cell):
            return None
        score, most = utils.determine_grade(cell, self.log)
        counts = self.voided.get(name)
        if counts:
            return most if counts == "everyone" else 0
        return score

    def _store_penalty(self, session, notebook, student):
        notebook.late_submission_penalty = None
        late = notebook.assignment.total_seconds_late
        if late > 0:
            session.refresh(notebook, ["score"])
            plugin = self.penalties.plugin_inst
            penalty = plugin.late_submission_penalty(student, notebook.score, late)
            if penalty is not None:
                notebook.late_submission_penalty = min(max(penalty, 0), notebook.score)


def _auto_comment(cell):
    """Return what nbgrader notes of an answer that was left as it was."""
    if cell is None or utils.is_task(cell):
        return None
    same = cell.metadata.nbgrader.get("checksum") == utils.compute_checksum(cell)
    return "No response." if same else None
