"""Run nbgrader's own steps for one lesson: release, graded notebooks, export."""

import contextlib
import copy
import logging
import tempfile
import warnings
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.plugins import CsvExportPlugin
from nbgrader.preprocessors import AssignLatePenalties, CheckCellMetadata, SaveAutoGrades
from traitlets.utils.importstring import import_item

from autograder.engine.plugin import GradeCells, given_files, notes_cell
from autograder.errors import GradingError
from autograder.results import whole

LOGGER = logging.getLogger("autograder.nbgrader")
DONE_ELSEWHERE = (GradeCells, SaveAutoGrades, AssignLatePenalties, CheckCellMetadata)

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


def _convert(course, directory, config=None):
    """Run nbgrader's GenerateAssignment; whatever goes wrong there becomes a GradingError."""
    converter = GenerateAssignment(
        coursedir=directory, config=config or course.config, log=LOGGER, force=True
    )
    causes = []  # nbgrader logs the cause and raises a general error in its place
    convert = converter.convert_single_notebook

    def remember_cause(path):
        try:
            convert(path)
        except Exception as error:
            causes.append(error)
            raise

    converter.convert_single_notebook = remember_cause
    try:
        converter.start()
    except Exception as error:
        raise GradingError(_reason(causes[-1] if causes else error), "nbgrader") from error


def _reason(error):
    lines = str(error).strip().splitlines()
    return (
        f"nbgrader could not process it: {type(error).__name__}{': ' + lines[0] if lines else ''}"
    )


def release(course, lesson):
    """Make the lesson's release notebook from its source, and enter the lesson in the gradebook."""
    _convert(course, course.directory(lesson))


def register(course, lesson):
    """Enter the lesson in the gradebook and return its release notebook.

    The release folder is left alone: this step's release notebook goes to a scratch folder.
    """
    with tempfile.TemporaryDirectory() as scratch:
        directory = course.directory(lesson)
        directory.release_directory = scratch
        try:
            _convert(course, directory)
        except GradingError as error:
            reason = OTHER_CELLS if "submissions associated" in str(error) else error
            raise GradingError(
                f"{lesson} can't be entered in the gradebook {course.gradebook_name}: {reason}"
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
        _convert(course, directory, config=settings)
        return nbformat.read(Path(scratch) / lesson / f"{lesson}.ipynb", as_version=4)


def finishing_parts(course):
    """Return Autograde's preprocessors but for those that grade or write into the gradebook."""
    parts = []
    for part in Autograde(config=course.config).autograde_preprocessors:
        kind = import_item(part) if isinstance(part, str) else part
        if kind not in DONE_ELSEWHERE:
            parts.append(kind(config=course.config, log=LOGGER))
    return [part for part in parts if part.enabled]


def graded_notebook(course, lesson, student, result, parts):
    """Return the notebook of an engine Result as nbgrader's Autograde would leave it.

    parts  finishing_parts of the course
    """
    node = nbformat.from_dict(result.notebook)
    kept = ("kernelspec", "language_info")
    node.metadata = nbformat.from_dict({k: v for k, v in node.metadata.items() if k in kept})
    names = {"notebook": lesson, "assignment": lesson, "student": student}
    resources = {"nbgrader": {**names, "db_url": course.gradebook_url}}
    for part in parts:
        node, resources = part.preprocess(node, resources)
    if result.problems:
        node.cells.insert(0, notes_cell([problem.message for problem in result.problems]))
    return node


def lesson_files(course, lesson):
    """Return [(path, relative path)] of the instructor's files that go with a lesson."""
    return given_files(course.directory(lesson), lesson)


def gradebook_points(course, lesson):
    """Return {student: (points, max_points, by hand, late penalty)}.

    The points are those of the checks, with what a person has changed there. What only a person
    gives (a project) is kept apart: by hand is a text such as "6 of 8", or "" where there is none.
    """
    with Gradebook(course.gradebook_url, course.directory("").course_id) as gradebook:
        try:
            submissions = gradebook.assignment_submissions(lesson)
            notebooks = gradebook.find_assignment(lesson).notebooks
        except MissingEntry:
            return {}
        cells = {cell.id for notebook in notebooks for cell in hand_graded(notebook)}
        return {
            item.student_id: (*points_of(item, cells), whole(item.late_submission_penalty))
            for item in submissions
        }


def hand_graded(notebook):
    """Return the gradebook's cells that hold an answer and its points, with no test between."""
    answers = {cell.name for cell in notebook.solution_cells}
    return [cell for cell in notebook.grade_cells if cell.name in answers]


def points_of(submission, hand_graded_cells):
    """Return (points, max_points, by hand) of a submission in the gradebook."""
    apart = [
        grade
        for notebook in (submission.notebooks if hand_graded_cells else ())
        for grade in notebook.grades
        if grade.cell_id in hand_graded_cells
    ]
    given, most = sum(grade.score for grade in apart), sum(grade.max_score for grade in apart)
    waiting = any(grade.needs_manual_grade for grade in apart)
    text = f"{'–' if waiting else whole(given)} of {whole(most)}" if apart else ""
    return whole(submission.score - given), whole(submission.max_score - most), text


def export(course):
    """Write everybody's grades as CSV and return the file's path."""
    target = course.root / course.grades_file
    plugin = CsvExportPlugin(config=course.config, log=LOGGER)
    plugin.to = str(target)
    with Gradebook(course.gradebook_url, course.directory("").course_id) as gradebook:
        plugin.export(gradebook)
    return target
