"""Find what was handed in, and write what was graded.

The submitted folder itself is read only: nothing in it is renamed, mended or removed.
"""

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

import nbformat

from autograder.engine.cleaning import harmless_file_name
from autograder.errors import GradingError
from autograder.results import Problem
from autograder.submissions import Notebook, lesson_of, read_notebook


@dataclass
class HandIn:
    """One student's readable hand-in for a lesson."""

    student: str
    path: Path
    notebook: Notebook

    @property
    def folder(self):
        return self.path.parent


def stage(node, folder, lesson, extras, lesson_files):
    """Write a graded notebook and the files beside it into a new folder, read only; return it.

    extras        the student's files
    lesson_files  [(path, relative path)] of the instructor's, which win
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in extras:
        shutil.copy(file, harmless_file_name(folder / file.name))
    for file, name in lesson_files:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy(file, target)
    nbformat.write(node, folder / f"{lesson}.ipynb")
    for file in folder.rglob("*"):
        if file.is_file():
            file.chmod(0o444)
    return folder


def read_hand_in(course, lesson, student):
    """Return the HandIn of a student; GradingError says why there is none."""
    folder = course.folder("submitted", lesson, student)
    if not folder.is_dir():
        raise GradingError(f"nothing was handed in for {lesson}", "missing_file")
    path = folder / f"{lesson}.ipynb"
    problems = []
    if not os.path.lexists(path):
        path = _other_name(folder, lesson)
        problems.append(Problem("wrong_name", f"the file is named '{path.name}'"))
    notebook = read_notebook(path)
    found = lesson_of(notebook, path, course)
    if found != lesson:
        raise GradingError(f"{path} is the notebook of {found}, not of {lesson}.", "other_lesson")
    notebook.problems = problems + notebook.problems
    return HandIn(student, path, notebook)


def _other_name(folder, lesson):
    others = sorted(folder.glob("*.ipynb"))
    if len(others) == 1:
        return others[0]
    if not others:
        raise GradingError(f"{folder} holds no notebook.", "missing_file")
    names = ", ".join(other.name for other in others)
    raise GradingError(
        f"{folder} holds no {lesson}.ipynb but several other notebooks ({names}); keep one.",
        "wrong_name",
    )


def extra_files(hand_in):
    """Return the plain files beside the notebook that go along, such as the time stamp."""
    return [
        path
        for path in sorted(hand_in.folder.iterdir())
        if stat.S_ISREG(os.lstat(path).st_mode) and path.suffix != ".ipynb"
    ]
