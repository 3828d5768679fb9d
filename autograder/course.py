"""Where a course keeps its lessons, sources and submissions: read from nbgrader_config.py."""

import json
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from sqlalchemy.engine import make_url
from traitlets import Enum, List, Unicode
from traitlets.config import Configurable, PyFileConfigLoader
from traitlets.utils.importstring import import_item

from autograder.engine import Policy
from autograder.engine.plugin import GradeCells, given_files
from autograder.errors import GradingError

CONFIG_NAME = "nbgrader_config.py"
STEPS = ("source", "release", "submitted", "autograded", "feedback")


class Course(Configurable):
    """One course: nbgrader's folders, and how source notebooks are made.

    The traits are set in nbgrader_config.py as `c.Course.text = …`; all have a default, so that
    a plain nbgrader course needs none of them.
    """

    text = Unicode(
        "", help="Course text of a lesson, e.g. 'course/{lesson}.py'; its source is built from it."
    ).tag(config=True)
    build_source = List(
        Unicode(),
        help="Command that builds a lesson's source notebook from its text, run in the root. "
        "'{python}' stands for the running interpreter, '{lesson}' for the lesson's name.",
    ).tag(config=True)
    metadata_key = Unicode(
        "", help="Key of the notebook metadata that holds {'lesson': name}."
    ).tag(config=True)
    results = Unicode("results", help="Folder for the outcome of each submission.").tag(config=True)
    grades_file = Unicode("grades.csv", help="The exported grades.").tag(config=True)
    term_folder = Unicode(
        "term", help="Folder for the roster, deadlines, backups and earlier hand-ins."
    ).tag(config=True)
    old_copies = Enum(
        ["own", "today"],
        default_value="own",
        help="Whether a copy of an earlier version of a lesson is graded by the tests it was "
        "written for, where they are kept, or by today's.",
    ).tag(config=True)
    sample_class = Unicode("", help="Recipes of the class that `demo` grades.").tag(config=True)
    demo_lesson = Unicode("", help="The lesson that `demo` grades.").tag(config=True)

    def __init__(self, root, config):
        super().__init__(config=config)
        self.root = Path(root).resolve()
        self.config.CourseDirectory.root = str(self.root)

    @classmethod
    def load(cls, folder):
        """Return the course whose nbgrader_config.py stands in folder."""
        folder = Path(folder).resolve()
        if not (folder / CONFIG_NAME).is_file():
            raise GradingError(
                f"no {CONFIG_NAME} in {folder}; run this in the course's main folder, "
                "or name it with --course."
            )
        try:
            config = PyFileConfigLoader(CONFIG_NAME, path=str(folder)).load_config()
        except Exception as error:
            raise GradingError(f"{folder / CONFIG_NAME} can't be read: {error}.") from error
        return cls(folder, config)

    @classmethod
    def find(cls, folder=None):
        """Return the course in folder; without one, look here, above, and beside this package."""
        if folder is not None:
            return cls.load(folder)
        here = Path.cwd()
        for place in (here, *here.parents, Path(__file__).resolve().parent.parent):
            if (place / CONFIG_NAME).is_file():
                return cls.load(place)
        return cls.load(here)

    def directory(self, lesson):
        """Return nbgrader's CourseDirectory for a lesson."""
        return CourseDirectory(config=self.config, assignment_id=lesson)

    def folder(self, step, lesson, student="."):
        """Return the folder of a step, for example folder('submitted', lesson, 'ada')."""
        directory = self.directory(lesson)
        name = getattr(directory, f"{step}_directory")
        return Path(directory.format_path(name, student, lesson))

    def source_notebook(self, lesson):
        return self.folder("source", lesson) / f"{lesson}.ipynb"

    def text_file(self, lesson):
        """Return the course text of a lesson, or None when the course has none."""
        return self.root / self.text.format(lesson=lesson) if self.text else None

    def lessons(self):
        """Return the names of all lessons, sorted."""
        found = {
            path.stem
            for path in self.folder("source", "*").parent.glob("*/*.ipynb")
            if path.stem == path.parent.name
        }
        if self.text:
            found |= {path.stem for path in self.root.glob(self.text.format(lesson="[0-9a-z]*"))}
        return sorted(found)

    def find_lesson(self, name):
        """Return the full name of a lesson; '01' or another unique start is enough."""
        known = self.lessons()
        starts = [lesson for lesson in known if name and lesson.startswith(name)]
        found = [name] if name in known else starts
        several = self._graded_notebooks(found[0] if len(found) == 1 else name)
        if len(found) == 1 and len(several) <= 1:
            return found[0]
        if several:
            folder, names = several[0].parent.name, ", ".join(path.name for path in several)
            raise GradingError(
                f"{folder} does not consist of one notebook {folder}.ipynb but of {names}; grade "
                f"it with `nbgrader autograde {folder}`, which uses the same engine here.",
                "several_notebooks",
            )
        listed = ", ".join(known) if known else "none yet, the source folder is empty"
        raise GradingError(f"no lesson '{name}' in this course; known: {listed}.", "unknown_lesson")

    def _graded_notebooks(self, lesson):
        """Return a lesson's source notebooks; of those with another name, the ones with points."""
        paths = sorted(self.folder("source", lesson).glob("*.ipynb")) if lesson else []
        return [path for path in paths if path.stem == lesson or _has_points(path)]

    def ensure_source(self, lesson):
        """Build the lesson's source notebook if it is missing or older than its text."""
        source, text = self.source_notebook(lesson), self.text_file(lesson)
        has_text = text is not None and text.is_file()
        stale = has_text and source.is_file() and source.stat().st_mtime < text.stat().st_mtime
        if source.is_file() and not stale:
            return source
        if not (has_text and self.build_source):
            raise GradingError(f"the source notebook of {lesson} is missing: {source}.")
        self._build(lesson)
        if not source.is_file():
            raise GradingError(f"building the source of {lesson} left no {source}.")
        return source

    def _build(self, lesson):
        command = [part.format(python=sys.executable, lesson=lesson) for part in self.build_source]
        try:
            done = subprocess.run(command, cwd=self.root, capture_output=True, text=True)
        except OSError as error:
            raise GradingError(f"the build command of {lesson} can't be run: {error}.") from error
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            raise GradingError(f"building the source of {lesson} failed: {lines[-1]}")

    def scratch(self, folder, lesson):
        """Make a course in folder with this one's settings and one lesson's source.

        All its folders and its gradebook are inside folder, whatever the settings say.
        """
        folder = Path(folder).resolve()
        self.ensure_source(lesson)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.root / CONFIG_NAME, folder)
        copy = Course.load(folder)
        copy._keep_inside()
        source = copy.folder("source", lesson)
        shutil.copytree(self.folder("source", lesson), source, dirs_exist_ok=True)
        return copy

    def _keep_inside(self):
        for step in STEPS:
            if self.root not in self.folder(step, "lesson").resolve().parents:
                self.config.CourseDirectory[f"{step}_directory"] = step
        if self.gradebook_file is None or self.root not in self.gradebook_file.resolve().parents:
            self.config.CourseDirectory.db_url = f"sqlite:///{self.root / 'gradebook.db'}"
        for step in STEPS:
            self.folder(step, "lesson").parent.mkdir(parents=True, exist_ok=True)
        self.gradebook_file.parent.mkdir(parents=True, exist_ok=True)

    def engine_options(self, lesson):
        """Return limits, policy and files of a lesson as the engine's tasks want them.

        They are those of the nbgrader plug-in, so both ways of grading are the same.
        """
        settings = GradeCells(config=self.config)
        find = import_item(settings.policy_for) if settings.policy_for else lambda lesson: Policy()
        return {
            "limits": dict(settings.limits),
            "policy": asdict(find(lesson)),
            "source_files": str(self.folder("source", lesson)),
            "given_files": given_files(self.directory(lesson), lesson),
        }

    @property
    def gradebook_url(self):
        return self.directory("").db_url

    @property
    def gradebook_file(self):
        """Return the path of an SQLite gradebook, or None for another database."""
        start = "sqlite:///"
        url = self.gradebook_url
        return Path(url.removeprefix(start)) if url.startswith(start) else None

    @property
    def gradebook_name(self):
        """Return where the gradebook is, for people to read; never with its password."""
        url = make_url(self.gradebook_url)
        return str(self.gradebook_file or url.render_as_string(hide_password=True))

    @property
    def term(self):
        """Return the folder of what belongs to this term's class."""
        return self.root / self.term_folder

    def results_folder(self, lesson):
        return self.root / self.results / lesson


def _has_points(path):
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return any(cell["metadata"].get("nbgrader", {}).get("points") for cell in cells)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return True  # what can't be read is told when it is graded
