"""Grade single notebooks in a scratch folder and leave no trace."""

import shutil
import tempfile
from pathlib import Path

from autograder import grading
from autograder.errors import GradingError
from autograder.results import Problem, Result
from autograder.staging import stage
from autograder.submissions import cell_problems, lesson_of, read_notebook, read_source


def check(course, path):
    """Return the Result of the notebook at path; ungraded, with the reason, if it has none."""
    lesson = None
    try:
        notebook = read_notebook(path)
        lesson = lesson_of(notebook, path, course)
        with Bench(course, lesson) as bench:
            return bench.grade(notebook)
    except GradingError as error:
        return refused(lesson, error)


def refused(lesson, error):
    """Return the Result of a notebook that can't be graded, with the reason as its problem."""
    return Result(lesson, problems=[Problem(error.kind, str(error))], ungraded=True)


class Bench:
    """A scratch course with one lesson registered, to grade any number of notebooks in.

    Use it in a `with` statement; source and released are the lesson's two notebooks.
    """

    STUDENT = "student"

    def __init__(self, course, lesson):
        self.course, self.lesson = course, lesson

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="autograder-check-"))
        try:
            self.scratch = self.course.scratch(self.folder / "course", self.lesson)
            with self._log():
                self.released = grading.register(self.scratch, self.lesson)
            self.source = read_source(self.scratch.source_notebook(self.lesson))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        shutil.rmtree(self.folder, ignore_errors=True)

    def grade(self, notebook):
        """Return the Result of one Notebook."""
        problems = notebook.problems + cell_problems(notebook.node, self.source, self.released)
        submitted = self.folder / "submitted"
        shutil.rmtree(submitted, ignore_errors=True)
        stage(notebook, submitted, self.lesson, self.STUDENT)
        with self._log():
            cells = grading.autograde(self.scratch, self.lesson, self.STUDENT, submitted)
        return Result(self.lesson, cells, problems)

    def _log(self):
        return grading.log_to(self.folder / "nbgrader.log")
