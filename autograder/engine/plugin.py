"""nbgrader's Autograde with this engine, by configuration alone.

In nbgrader_config.py:

    from autograder.engine.plugin import configure
    configure(c, policy_for="mycourse.grading.policy_for")

`RepairCells` stands first in Autograde's sanitize_preprocessors, `GradeCells` takes the place of
Execute in its autograde_preprocessors. Everything else is nbgrader's own.
"""

import functools
import html
import os

import nbformat
from nbgrader import nbgraderformat
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool, Dict, Unicode
from traitlets.utils.importstring import import_item

from . import sandbox
from .cells import markdown_cell
from .grader import grade
from .model import Limits, Policy
from .repairs import give_ids, repair
from .source import read_source

NOTES_ID = "grader-notes"
_NAME = "autograder"


def configure(config, policy_for=""):
    """Put the engine into nbgrader's configuration object.

    config      the `c` of nbgrader_config.py
    policy_for  import string of a function: assignment name -> Policy; "" for none
    """
    own = "nbgrader.preprocessors"
    config.Autograde.sanitize_preprocessors = [
        f"{__name__}.RepairCells",
        f"{own}.ClearOutput",
        f"{own}.DeduplicateIds",
        f"{own}.OverwriteKernelspec",
        f"{own}.OverwriteCells",
        f"{own}.CheckCellMetadata",
    ]
    config.Autograde.autograde_preprocessors = [
        f"{__name__}.GradeCells",
        f"{own}.IgnorePattern",
        "nbconvert.preprocessors.ClearMetadataPreprocessor",
        f"{own}.LimitOutput",
        f"{own}.SaveAutoGrades",
        f"{own}.AssignLatePenalties",
        f"{own}.CheckCellMetadata",
    ]
    # Hidden tests are in the graded notebook, where the instructor needs them; not in feedback.
    config.GenerateFeedback.preprocessors = [
        f"{own}.GetGrades",
        f"{own}.ClearHiddenTests",
        "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
    ]
    if policy_for:
        config.RepairCells.policy_for = config.GradeCells.policy_for = policy_for


class _EnginePreprocessor(NbGraderPreprocessor):
    policy_for = Unicode("", help="Import string of a function: assignment -> Policy.").tag(
        config=True
    )
    limits = Dict(help="Fields of autograder.engine.Limits that differ from the default.").tag(
        config=True
    )
    unsafe_no_sandbox = Bool(
        False, help="Run student code without protection. Never for the work of others."
    ).tag(config=True)

    def _policy(self, assignment):
        return import_item(self.policy_for)(assignment) if self.policy_for else Policy()

    def _paths(self, resources):
        """Return (source notebook, released notebook or None, source folder) of a notebook."""
        names = resources["nbgrader"]
        course = self._course()
        notebook = f"{names['notebook']}.ipynb"
        source = course.format_path(course.source_directory, ".", names["assignment"])
        release = course.format_path(course.release_directory, ".", names["assignment"])
        released = os.path.join(release, notebook)
        path = os.path.join(source, notebook)
        if not os.path.isfile(path):
            raise FileNotFoundError(f"The lesson's source notebook {path} is missing.")
        return path, released if os.path.isfile(released) else None, source

    def _course(self):
        owner = self
        while owner is not None:
            if getattr(owner, "coursedir", None) is not None:
                return owner.coursedir
            owner = owner.parent
        raise RuntimeError("This preprocessor works only within nbgrader's autograde.")


class RepairCells(_EnginePreprocessor):
    """Mends a submitted notebook's cells before nbgrader looks at them."""

    def preprocess(self, nb, resources):
        """Return the notebook with each of the lesson's cells once, where it belongs."""
        if not self.unsafe_no_sandbox:
            _check_sandbox()
        path, released, _ = self._paths(resources)
        repaired = repair(_source(path, released), nb)
        for problem in repaired.problems:
            self.log.warning("%s: %s", resources["nbgrader"]["student"], problem.message)
        nb.cells = [place.cell for place in repaired.places]
        nb.metadata = nbformat.from_dict(
            {k: v for k, v in nb.metadata.items() if k in ("kernelspec", "language_info")}
        )
        nb.metadata[_NAME] = {"problems": [vars(problem) for problem in repaired.problems]}
        nb.nbformat, nb.nbformat_minor = 4, 5
        give_ids(nb.cells)
        return nb, resources


class GradeCells(_EnginePreprocessor):
    """Runs the notebook in the engine and writes the outputs that decide the points."""

    def preprocess(self, nb, resources):
        """Return the graded notebook; problems stand in a note at its top."""
        path, released, folder = self._paths(resources)
        result = grade(
            _notebook(path),
            nb,
            released_nb=released and _notebook(released),
            files=resources.get("metadata", {}).get("path") or None,
            source_files=os.path.abspath(folder),
            limits=Limits(**self.limits),
            policy=self._policy(resources["nbgrader"]["assignment"]),
            sandbox="off" if self.unsafe_no_sandbox else "required",
        )
        earlier = nb.metadata.get(_NAME, {}).get("problems", [])
        messages = [problem["message"] for problem in earlier]
        messages += [p.message for p in result.problems if p.message not in messages]
        graded = nbformat.from_dict(result.notebook)
        graded.metadata = nb.metadata
        graded.metadata.pop(_NAME, None)
        _keep_checksums(nb, graded)
        if messages:
            graded.cells.insert(0, notes_cell(messages))
        return graded, resources


def notes_cell(messages):
    """Return the Markdown cell that tells a student and the instructor what was mended."""
    lines = [f"- {html.escape(message)}" for message in messages]
    cell = markdown_cell("**Notes of the grader**\n\n" + "\n".join(lines))
    cell["id"] = NOTES_ID
    return cell


def _keep_checksums(nb, graded):
    """Keep what OverwriteCells noted of each cell: nbgrader compares it to find empty answers."""
    notes = {
        c.metadata["nbgrader"].get("grade_id"): c.metadata["nbgrader"]
        for c in nb.cells
        if "nbgrader" in c.metadata
    }
    for cell in graded.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id in notes:
            cell.metadata["nbgrader"] = notes[grade_id]


@functools.cache
def _check_sandbox():
    sandbox.check()


def _notebook(path):
    return _read_notebook(path, os.stat(path).st_mtime_ns)


@functools.lru_cache(maxsize=16)
def _read_notebook(path, _changed):
    return nbgraderformat.read(path, as_version=4)


def _source(path, released):
    return read_source(_notebook(path), released and _notebook(released))
