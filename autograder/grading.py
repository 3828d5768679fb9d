"""Run nbgrader for one lesson. This is the only module that knows how cells are executed."""

import contextlib
import logging
import tempfile
import warnings
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
from nbgrader.plugins import CsvExportPlugin
from nbgrader.utils import determine_grade

from autograder import results
from autograder.errors import GradingError
from autograder.preprocessors import ENDLESS, failure_text
from autograder.results import Cell, whole
from autograder.submissions import grade_id, is_test

LOGGER = logging.getLogger("autograder.nbgrader")

OTHER_CELLS = (
    "its source has graded cells added or removed since the class was graded; move the gradebook "
    "away and grade again, or take the change back"
)
UNWRITTEN_ERRORS = ("NotImplementedError", "NotWrittenYet")
REASONS = {
    "DeadKernelError": "its code ended the Python process it ran in; nothing could be graded",
    "UnresponsiveKernelError": "its code could not be stopped; nothing could be graded",
}


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


def _convert(kind, course, directory, folder=None):
    """Run one of nbgrader's converters; whatever goes wrong there becomes a GradingError.

    With a folder, only the lesson's notebook in it is converted: nbgrader's own search takes
    brackets in a student's name for a pattern.
    """
    converter = kind(coursedir=directory, config=course.config, log=LOGGER, force=True)
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
    name = type(error).__name__
    if name in REASONS:
        return REASONS[name]
    lines = str(error).strip().splitlines()
    return f"nbgrader could not process it: {name}{': ' + lines[0] if lines else ''}"


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


def autograde(course, lesson, student, submitted):
    """Grade one student's notebook, taken from the folder `submitted`; return its cells.

    Points go to the gradebook, the graded notebook to the autograded folder.
    """
    directory = course.directory(lesson)
    directory.submitted_directory = str(submitted)
    _convert(Autograde, course, directory, submitted / student / lesson)
    graded = course.folder("autograded", lesson, student) / f"{lesson}.ipynb"
    return read_cells(nbformat.read(graded, as_version=4))


def feedback(course, lesson, student):
    """Write the HTML feedback of one graded student."""
    graded = course.folder("autograded", lesson, student)
    _convert(GenerateFeedback, course, course.directory(lesson), graded)


def read_cells(node):
    """Return the outcome of each graded cell of an autograded notebook."""
    return [_outcome(cell) for cell in node.cells if cell.metadata.get("nbgrader", {}).get("grade")]


def _outcome(cell):
    points, most = determine_grade(cell, LOGGER)
    name = grade_id(cell)
    if points is None or not is_test(cell):
        return Cell(name, whole(points or 0), whole(most), results.MANUAL, "marked by hand")
    status, message = results.PASSED, ""
    if points < most:
        status, message = _failure(cell, points)
    return Cell(name, whole(points), whole(most), status, message)


def _failure(cell, points):
    for output in cell.outputs:
        if output.output_type == "error":
            text = failure_text(output)
            if text == ENDLESS:
                return results.TIMEOUT, text
            if output.ename in UNWRITTEN_ERRORS:
                return results.UNWRITTEN, text
            status = results.ERROR if text.startswith(f"{output.ename}:") else results.FAILED
            return status, text
        if output.output_type == "stream" and output.name == "stderr":
            return results.FAILED, f"the cell printed a warning: {output.text.strip()}"
    return (results.PARTIAL if points else results.FAILED), "some of its cases failed"


def add_student(course, student):
    """Enter a student in the gradebook, so that the exported grades name everyone."""
    with Gradebook(course.gradebook_url, course.directory("").course_id) as gradebook:
        gradebook.update_or_create_student(student)


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
