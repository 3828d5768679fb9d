"""Run nbgrader's own steps for one lesson: release, gradebook, feedback, export."""

import contextlib
import copy
import logging
import tempfile
import warnings
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
from nbgrader.plugins import CsvExportPlugin

from autograder.engine.plugin import GradeCells, RepairCells
from autograder.errors import GradingError
from autograder.preprocessors import FinishedOutputs
from autograder.results import whole
from autograder.staging import stage

LOGGER = logging.getLogger("autograder.nbgrader")

OTHER_CELLS = (
    "its source has graded cells added or removed since the class was graded; move the gradebook "
    "away and grade again, or take the change back"
)


@contextlib.contextmanager
def log_to(path):
    """Send what nbgrader and its libraries say to the file at path, and nowhere else."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path, mode="a", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    LOGGER.setLevel(logging.INFO)
    root = logging.getLogger()
    others, root.handlers = root.handlers, [handler]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.handlers = others
        handler.close()


def _convert(kind, course, directory, folder=None, **settings):
    """Run one of nbgrader's converters; whatever goes wrong there becomes a GradingError.

    With a folder, only the lesson's notebook in it is converted: nbgrader's own search takes
    brackets in a student's name for a pattern. settings are traits of the converter.
    """
    settings = {"config": course.config, **settings}
    converter = kind(coursedir=directory, log=LOGGER, force=True, **settings)
    causes = []  # nbgrader logs the cause and raises a general error in its place
    convert = converter.convert_single_notebook

    def remember_cause(path):
        try:
            convert(path)
        except Exception as error:
            causes.append(error)
            raise

    converter.convert_single_notebook = remember_cause
    if folder is not None:
        notebook = str(folder / f"{directory.assignment_id}.ipynb")
        converter.init_notebooks = lambda: converter.assignments.update({str(folder): [notebook]})
    try:
        converter.start()
    except Exception as error:
        raise GradingError(_reason(causes[-1] if causes else error), "nbgrader") from error


def _reason(error):
    lines = str(error).strip().splitlines()
    return f"nbgrader could not process it: {type(error).__name__}{': ' + lines[0] if lines else ''}"


def release(course, lesson):
    """Make the lesson's release notebook from its source, and enter the lesson in the gradebook."""
    _convert(GenerateAssignment, course, course.directory(lesson))


def register(course, lesson):
    """Enter the lesson in the gradebook and return its release notebook.

    The release folder is left alone: this step's release notebook goes to a scratch folder.
    """
    with tempfile.TemporaryDirectory() as scratch:
        directory = course.directory(lesson)
        directory.release_directory = scratch
        try:
            _convert(GenerateAssignment, course, directory)
        except GradingError as error:
            reason = OTHER_CELLS if "submissions associated" in str(error) else error
            raise GradingError(
                f"{lesson} can't be entered in the gradebook {course.gradebook_url}: {reason}"
            ) from error
        return nbformat.read(Path(scratch) / lesson / f"{lesson}.ipynb", as_version=4)


def released(course, lesson):
    """Return the lesson's release notebook; nothing is entered in a gradebook."""
    settings = copy.deepcopy(course.config)
    settings.SaveCells.enabled = False
    settings.GenerateAssignment.no_database = True
    with tempfile.TemporaryDirectory() as scratch:
        directory = course.directory(lesson)
        directory.release_directory = scratch
        _convert(GenerateAssignment, course, directory, config=settings)
        return nbformat.read(Path(scratch) / lesson / f"{lesson}.ipynb", as_version=4)


def store(course, lesson, student, result, extras, folder):
    """Put a finished engine Result into the gradebook, through nbgrader's own Autograde.

    So late penalties, time stamps, marks by hand and comments are as nbgrader makes them.
    extras are files that were handed in beside the notebook. The graded notebook is written
    below folder, a scratch folder, as folder/autograded/STUDENT/LESSON; returns that path.
    """
    directory = course.directory(lesson)
    directory.submitted_directory = str(folder / "submitted")
    directory.autograded_directory = str(folder / "autograded")
    notebook = nbformat.from_dict(result.notebook)
    stage(notebook, folder / "submitted", lesson, student, extras)
    plan = Autograde(config=course.config)
    notes = [problem.message for problem in result.problems]
    _convert(
        Autograde,
        course,
        directory,
        folder / "submitted" / student / lesson,
        sanitize_preprocessors=_without(plan.sanitize_preprocessors, RepairCells),
        autograde_preprocessors=_without(
            plan.autograde_preprocessors, GradeCells, FinishedOutputs(notebook, notes)
        ),
    )
    return folder / "autograded" / student / lesson


def _without(parts, kind, substitute=None):
    """Return a list of preprocessors with those of a kind replaced, or left out."""
    name = f"{kind.__module__}.{kind.__name__}"
    kept = [substitute if part in (kind, name) else part for part in parts]
    return [part for part in kept if part is not None]


def feedback(course, lesson, student, folder):
    """Write the HTML feedback of one graded student below folder; return the student's folder."""
    graded = course.folder("autograded", lesson, student)
    directory = course.directory(lesson)
    directory.feedback_directory = str(folder / "feedback")
    _convert(GenerateFeedback, course, directory, graded)
    return folder / "feedback" / student / lesson


def add_students(course, students):
    """Enter students in the gradebook, so that the exported grades name everyone."""
    with Gradebook(course.gradebook_url, course.directory("").course_id) as gradebook:
        known = {student.id for student in gradebook.students}
        for student in students:
            if student not in known:
                gradebook.add_student(student)


def gradebook_points(course, lesson):
    """Return {student: (points, max_points)}, marks by hand included."""
    with Gradebook(course.gradebook_url, course.directory("").course_id) as gradebook:
        try:
            submissions = gradebook.assignment_submissions(lesson)
        except MissingEntry:
            return {}
        return {item.student_id: (whole(item.score), whole(item.max_score)) for item in submissions}


def export(course):
    """Write everybody's grades as CSV and return the file's path."""
    target = course.root / course.grades_file
    plugin = CsvExportPlugin(config=course.config, log=LOGGER)
    plugin.to = str(target)
    with Gradebook(course.gradebook_url, course.directory("").course_id) as gradebook:
        plugin.export(gradebook)
    return target
