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
from nbgrader import nbgraderformat, utils
from nbgrader.preprocessors import ClearHiddenTests, NbGraderPreprocessor
from traitlets import Bool, Dict, Unicode
from traitlets.utils.importstring import import_item

from . import sandbox
from .cells import markdown_cell
from .cleaning import harmless_file_name, harmless_markdown
from .grader import grade
from .model import Limits, Policy, Problem
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
        f"{__name__}.HideTests",
        "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
    ]
    # In formgrader and in feedback Markdown of a student's is shown without what would act.
    filters = dict(config.HTMLExporter.get("filters", {}))
    markdown = {"markdown2html": "autograder.engine.pages.HarmlessMarkdown"}
    config.HTMLExporter.filters = filters | markdown
    if policy_for:
        config.RepairCells.policy_for = config.GradeCells.policy_for = policy_for


class HideTests(ClearHiddenTests):
    """Leaves hidden tests out of feedback.

    Only cells with points hold any: the marks in a student's own cell mean nothing.
    """

    def preprocess_cell(self, cell, resources, cell_index):
        """Cut the hidden part out of a test cell."""
        if not utils.is_grade(cell) or utils.is_solution(cell):
            return cell, resources
        return super().preprocess_cell(cell, resources, cell_index)


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

    def _folder(self, step, names):
        """Return the folder of a student's assignment in a step, such as "submitted"."""
        course = self._course()
        directory = getattr(course, f"{step}_directory")
        return course.format_path(directory, names["student"], names["assignment"])

    def _given_files(self, names):
        """Return {name: path} of the files that go to students with the lesson."""
        return {n: p for p, n in given_files(self._course(), names["assignment"])}

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
        repaired.problems += self._remove_copies_of_links(resources["nbgrader"])
        for problem in repaired.problems:
            self.log.warning("%s: %s", resources["nbgrader"]["student"], problem.message)
        nb.cells = [place.cell for place in repaired.places]
        kept = ("kernelspec", "language_info")
        own = {k: v for k, v in _notebook(path).metadata.items() if k in kept}
        nb.metadata = nbformat.from_dict(own)
        nb.metadata[_NAME] = {"problems": [vars(problem) for problem in repaired.problems]}
        nb.nbformat, nb.nbformat_minor = 4, 5
        give_ids(nb.cells)
        return nb, resources

    def _remove_copies_of_links(self, names):
        """Remove what nbgrader copied from behind links: it may be a file of the instructor's."""
        problems = []
        submitted = self._folder("submitted", names)
        for name in _files_below(submitted):
            copied = os.path.join(self._folder("autograded", names), name)
            is_link = os.path.islink(os.path.join(submitted, name))
            if is_link and os.path.isfile(copied) and name not in self._given_files(names):
                os.remove(copied)
                problems.append(Problem("files", f"The file {name} is a link; it was left out."))
        return problems


class GradeCells(_EnginePreprocessor):
    """Runs the notebook in the engine and writes the outputs that decide the points."""

    def preprocess(self, nb, resources):
        """Return the graded notebook; problems stand in a note at its top."""
        path, released, folder = self._paths(resources)
        names = resources["nbgrader"]
        result = grade(
            _notebook(path),
            nb,
            released_nb=released and _notebook(released),
            files=self._folder("submitted", names),
            given_files=[(path, name) for name, path in self._given_files(names).items()],
            source_files=os.path.abspath(folder),
            limits=Limits(**self.limits),
            policy=self._policy(names["assignment"]),
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
        self._disarm_files(names)
        return graded, resources

    def _disarm_files(self, names):
        """Rename files of the student's that a browser would run: formgrader serves them."""
        folder = self._folder("autograded", names)
        for name in _files_below(folder):
            if name not in self._given_files(names) and not name.endswith(".ipynb"):
                path = os.path.join(folder, name)
                os.replace(path, harmless_file_name(path))


def notes_cell(messages):
    """Return the Markdown cell that tells a student and the instructor what was mended."""
    lines = [f"- {harmless_markdown(html.escape(message))}" for message in messages]
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


def given_files(course, assignment):
    """Return [(path, relative name)] of the instructor's files that students have.

    course  nbgrader's CourseDirectory, which says what is ignored
    """
    folder = course.format_path(course.source_directory, ".", assignment)
    found = utils.find_all_files(folder, [*course.ignore, "*.ipynb"])
    return [(os.path.abspath(path), os.path.relpath(path, folder)) for path in sorted(found)]


def _files_below(folder):
    for parent, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(parent, name), folder)


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
