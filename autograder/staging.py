"""Find what was handed in, and write what was graded.

The submitted folder itself is read only: nothing in it is renamed, mended or removed here.
`autograder repair` mends it, by what is found here.
"""

import json
import os
import shutil
import stat
from dataclasses import dataclass, field
from pathlib import Path

from nbformat.v4.rwbase import strip_transient

from autograder.engine.cleaning import harmless_file_name
from autograder.errors import GradingError
from autograder.results import Problem
from autograder.submissions import Notebook, lesson_of, read_notebook

MAX_EXTRA_BYTES = 32 << 20
MAX_EXTRA_FILES = 200
MAX_DEPTH = 3  # folders below the student's in which a notebook is looked for
ORIGINAL = ".original.ipynb"  # ends the name of what `autograder repair` keeps
IGNORED_FOLDERS = ("__MACOSX", "__pycache__")


@dataclass
class HandIn:
    """One student's readable hand-in for a lesson.

    extras     the plain files beside the notebook that go along, such as the time stamp
    made_with  what its result is stamped with, see Versions.made_with
    """

    student: str
    path: Path
    notebook: Notebook
    extras: list[Path] = field(default_factory=list)
    made_with: dict = field(default_factory=dict)

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
    text = json.dumps(strip_transient(node), ensure_ascii=False)  # nbformat's own takes 20 times
    (folder / f"{lesson}.ipynb").write_text(text, encoding="utf-8")
    for file in folder.rglob("*"):
        if file.is_file():
            file.chmod(0o444)
    return folder


def read_hand_in(course, lesson, student):
    """Return the HandIn of a student; GradingError says why there is none.

    A notebook with another name, or in a folder too high or too deep, is found where it is the
    only one that can be meant; a problem of the notebook says so.
    """
    path, problems = _find(course, lesson, student)
    notebook = read_notebook(path)
    found = lesson_of(notebook, path, course)
    if found != lesson:
        raise GradingError(f"{path} is the notebook of {found}, not of {lesson}.", "other_lesson")
    extras, left_out = _extra_files(path.parent)
    problems += [
        Problem("files", f"The files are too large or too many; {name} was left out.")
        for name in left_out
    ]
    notebook.problems = problems + notebook.problems
    return HandIn(student, path, notebook, extras)


def _find(course, lesson, student):
    """Return (path of a student's notebook, list of what was odd about its place)."""
    folder = course.folder("submitted", lesson, student)
    own = folder.parent
    for place in (own, folder):
        if place.is_symlink():
            raise GradingError(f"{place} is a link, not a folder of the student's.", "not_a_file")
    name = f"{lesson}.ipynb"
    if os.path.lexists(folder / name):
        return folder / name, _newer_notebooks(folder, name)
    here = _notebooks(folder)
    if here:
        path = _only(here, lesson, folder)
        return path, [Problem("wrong_name", f"the file is named '{path.name}'")]
    others = [other for other in course.lessons() if other != lesson]
    elsewhere = _notebooks_below(folder) or _notebooks_below(own, others)
    if not elsewhere:
        if folder.is_dir():
            raise GradingError(f"{folder} holds no notebook.", "missing_file")
        raise GradingError(f"nothing was handed in for {lesson}", "missing_file")
    path = _only(elsewhere, lesson, own)
    return path, [Problem("wrong_folder", f"the file was found at '{path.relative_to(own)}'")]


def _only(found, lesson, folder):
    """Return the one of several notebooks that is meant."""
    named = [path for path in found if path.name == f"{lesson}.ipynb"]
    if len(found) == 1 or len(named) == 1:
        return (named or found)[0]
    names = ", ".join(str(path.relative_to(folder)) for path in found[:10])
    raise GradingError(
        f"{folder} holds no {lesson}.ipynb but several other notebooks ({names}); keep one.",
        "wrong_name",
    )


def _newer_notebooks(folder, name):
    """Return a problem where another notebook was saved after the one that counts."""
    saved = os.lstat(folder / name).st_mtime
    newer = [p.name for p in _notebooks(folder) if p.name != name and p.lstat().st_mtime > saved]
    if not newer:
        return []
    text = f"'{newer[0]}' is newer than '{name}', which was graded"
    return [Problem("newer_notebook", text)]


def _notebooks(folder):
    """Return the notebooks in a folder, without what `autograder repair` put by."""
    if not folder.is_dir():
        return []
    return [
        path
        for path in sorted(folder.glob("*.ipynb"))
        if not path.name.endswith(ORIGINAL) and not path.name.startswith(".") and path.is_file()
    ]


def _notebooks_below(folder, left_out=()):
    """Return the notebooks in a folder and those below it, not following links."""
    found = []
    for parent, folders, _ in os.walk(folder):
        deep = len(Path(parent).relative_to(folder).parts) >= MAX_DEPTH
        folders[:] = sorted(
            name
            for name in folders
            if not deep and name not in (*IGNORED_FOLDERS, *left_out) and not name.startswith(".")
        )
        found += _notebooks(Path(parent))
    return found


def _extra_files(folder):
    """Return (plain files beside a notebook, names of those that are too much)."""
    kept, left_out, size = [], [], 0
    for path in sorted(folder.iterdir()):
        info = os.lstat(path)
        if not stat.S_ISREG(info.st_mode) or path.suffix == ".ipynb":
            continue
        if size + info.st_size > MAX_EXTRA_BYTES or len(kept) >= MAX_EXTRA_FILES:
            left_out.append(path.name)
        else:
            size += info.st_size
            kept.append(path)
    return kept, left_out[:10]
