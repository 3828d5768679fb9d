"""Grade single notebooks and leave no trace."""

import json
import re
import tempfile
from pathlib import Path

from autograder import engine, grading
from autograder.errors import GradingError
from autograder.results import Problem, Result
from autograder.submissions import lesson_of, read_notebook, read_source
from autograder.versions import fingerprint, stamp_of

UNPROTECTED = (
    "It was run without a sandbox, as your own notebook. Do not check the work of others this way."
)
_DATED = re.compile(r"\.20\d\d-\d\d-\d\d-")  # a copy that `reset` or `update` has kept
OLD_COPY = "it is a copy of another version of the lesson; today's tests were run"


def notebook_at(path):
    """Return the notebook that a path means: the file itself, or the one of a lesson's folder.

    In a folder it is the notebook of the folder's name, else the only one there. Raises
    GradingError when neither is there; dated copies of earlier work do not count.
    """
    path = Path(path)
    if not path.is_dir():
        return path
    own = path / f"{path.resolve().name}.ipynb"
    if own.is_file():
        return own
    found = sorted(p for p in path.glob("*.ipynb") if not _DATED.search(p.name))
    if len(found) == 1:
        return found[0]
    if not found:
        raise GradingError(f"{path} is a folder without a notebook.", "no_notebook")
    names = ", ".join(p.name for p in found)
    raise GradingError(f"{path} is a folder with several notebooks; name one: {names}.", "several")


def check(course, path):
    """Return the Result of the notebook at path, a file or a lesson's folder.

    Ungraded, with the reason, if it has none. Without a sandbox the notebook is run unprotected,
    and a problem of the result says so.
    """
    lesson = None
    try:
        path = notebook_at(path)
        notebook = read_notebook(path)
        lesson = lesson_of(notebook, path, course)
        bench = Bench(course, lesson)
        stamp = stamp_of(notebook.node, course.metadata_key)
        if stamp not in ("", fingerprint(bench.released)):
            notebook.problems.append(Problem("version", OLD_COPY))
        try:
            return bench.grade(notebook)
        except engine.SandboxUnavailable as error:
            result = bench.grade(notebook, sandbox="off")
            result.problems.append(Problem("no_sandbox", f"{error.cause} {UNPROTECTED}"))
            return result
    except GradingError as error:
        return refused(lesson, error)


def refused(lesson, error):
    """Return the Result of a notebook that can't be graded, with the reason as its problem."""
    return Result(lesson, problems=[Problem(error.kind, str(error))], ungraded=True)


class Bench:
    """A lesson of a course to grade any number of notebooks of, without a gradebook.

    source and released are the lesson's two notebooks.
    """

    def __init__(self, course, lesson):
        self.lesson = lesson
        self.source = read_source(course.ensure_source(lesson))
        with (
            tempfile.TemporaryDirectory(prefix="autograder-check-") as folder,
            grading.log_to(Path(folder) / "nbgrader.log"),
        ):
            self.released = grading.released(course, lesson)
        self.options = course.engine_options(lesson)

    def grade(self, notebook, sandbox="required"):
        """Return the Result of one Notebook. Raises SandboxUnavailable; see engine.grade."""
        task = {
            **self.options,
            "source": json.dumps(self.source),
            "submitted": notebook.node,
            "released": json.dumps(self.released),
            "files": notebook.files,
            "sandbox": sandbox,
        }
        graded = engine.Result.from_dict(plain(engine.grade_task(task)))
        return Result.from_engine(self.lesson, graded, notebook.problems)


def plain(result):
    """Return what Result.to_dict gave without the sums, which from_dict counts itself."""
    return {name: result[name] for name in ("cells", "problems", "notebook", "seconds")}
