"""Grade a sample class in a scratch course, from release to grades.

The class is a list of recipes (class.toml): what each student wrote, and what befell the file.
Hand-ins are made from the lesson as it is released now, so they never go stale.
"""

import copy
import shutil
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from autograder import grading
from autograder.answers import with_answers, worked_answers
from autograder.batch import grade
from autograder.course import Course
from autograder.errors import GradingError
from autograder.submissions import BOM, grade_id, is_test, read_source

MARK = ".autograder-demo"  # stands in a folder that a demo made, and may make again


@dataclass
class Recipe:
    """One student of the sample class.

    start     "worked": all answers right before `answers` are written; "released": untouched
    answers   {grade_id: code}
    mishaps   names from MISHAPS, each "name" or "name cell_id"
    points    what grading must give, or None if the file can't be graded
    """

    name: str
    about: str
    start: str
    points: float | None = None
    mishaps: list[str] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)


@dataclass
class DemoResult:
    """Where the demo left everything, and the class table."""

    course: Course
    lesson: str
    lines: list
    grades: Path

    def where(self):
        folders = [
            ("gradebook", self.course.gradebook_file),
            ("released lesson", self.course.folder("release", self.lesson)),
            ("hand-ins", self.course.folder("submitted", self.lesson).parent),
            ("graded", self.course.folder("autograded", self.lesson).parent),
            ("feedback", self.course.folder("feedback", self.lesson).parent),
            ("grades", self.grades),
        ]
        lines = [f"{name + ':':17}{path}" for name, path in folders]
        return "\n".join([*lines, f"Look around with: cd {self.course.root} && jupyter lab"])


def demo(course, folder=None, progress=lambda done, total, student: None):
    """Release the demo lesson in a scratch course, hand in for the sample class, grade it."""
    lesson = course.find_lesson(course.demo_lesson)
    recipes = read_recipes(course)
    scratch = course.scratch(_empty_folder(folder), lesson)
    with grading.log_to(scratch.results_folder(lesson) / "nbgrader.log"):
        grading.release(scratch, lesson)
    released_file = scratch.folder("release", lesson) / f"{lesson}.ipynb"
    released = nbformat.read(released_file, as_version=4)
    source = read_source(scratch.source_notebook(lesson))
    for recipe in recipes:
        hand_in(recipe, released, source, scratch.folder("submitted", lesson, recipe.name), lesson)
    lines, grades = grade(scratch, lesson, progress=progress)
    return DemoResult(scratch, lesson, lines, grades)


def _empty_folder(folder):
    """Return an empty folder to work in; an earlier demo's is emptied, any other is refused."""
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="autograder-demo-"))
    folder = Path(folder).resolve()
    if folder.exists() and not folder.is_dir():
        raise GradingError(f"{folder} is a file; name a folder.")
    if (folder / MARK).exists():
        shutil.rmtree(folder)
    elif folder.exists() and any(folder.iterdir()):
        raise GradingError(f"{folder} is not empty; name a new or an empty folder.")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text("Made by `autograder demo`, which may empty this folder.\n")
    return folder


def read_recipes(course):
    """Return the Recipes of the course's sample class."""
    if not course.sample_class:
        raise GradingError("this course has no sample class; set c.Course.sample_class.")
    path = course.root / course.sample_class / "class.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return [Recipe(**student) for student in data["student"]]
    except OSError as error:
        raise GradingError(f"the sample class {path} can't be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise GradingError(f"the sample class {path} is broken: {error}.") from error


def hand_in(recipe, released, source, folder, lesson):
    """Write what a student of the sample class handed in to folder."""
    answers = worked_answers(source) if recipe.start == "worked" else {}
    node = with_answers(released, answers | recipe.answers)
    file = folder / f"{lesson}.ipynb"
    folder.mkdir(parents=True)
    steps = [step.split() for step in recipe.mishaps]
    for name, *cells in steps:
        if name in NOTEBOOK_MISHAPS:
            NOTEBOOK_MISHAPS[name](node, *cells)
    nbformat.write(node, file)
    for name, *_ in steps:
        if name in FILE_MISHAPS:
            file = FILE_MISHAPS[name](file)
        elif name not in NOTEBOOK_MISHAPS:
            raise GradingError(f"the sample class has an unknown mishap '{name}'.")


def _duplicate(node, name):
    """Copy a cell and paste it below itself, metadata included."""
    index = next(i for i, cell in enumerate(node.cells) if grade_id(cell) == name)
    double = copy.deepcopy(node.cells[index])
    double.id = f"{double.id}-copy"[:64]
    node.cells.insert(index + 1, double)


def _delete(node, name):
    node.cells = [cell for cell in node.cells if grade_id(cell) != name]


def _tamper(node):
    """Change every test to pass, give it 100 points, and tag it to be skipped."""
    for cell in node.cells:
        if is_test(cell):
            cell.source = "pass"
            cell.metadata.nbgrader.points = 100
            cell.metadata.tags = ["skip-execution"]


def _truncate(file):
    raw = file.read_bytes()
    file.write_bytes(raw[: len(raw) // 2])
    return file


def _rename(file):
    return file.rename(file.with_name(f"{file.stem} (1).ipynb"))


def _add_bom(file):
    file.write_bytes(BOM + file.read_bytes())
    return file


def _lose(file):
    file.unlink()
    return file


NOTEBOOK_MISHAPS = {"duplicate": _duplicate, "delete": _delete, "tamper": _tamper}
FILE_MISHAPS = {
    "truncate": _truncate,
    "rename": _rename,
    "byte_order_mark": _add_bom,
    "lose": _lose,
}
