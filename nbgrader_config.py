"""Settings of this course for nbgrader and for `autograder`. Run both in this folder."""

import os
import sys
import sysconfig
from pathlib import Path

c = get_config()  # noqa: F821  (nbgrader provides it)

HERE = Path(__file__).resolve().parent


def put_first(variable, folder):
    """Put a folder in front of a list of paths in the environment, once."""
    paths = [path for path in os.environ.get(variable, "").split(os.pathsep) if path]
    if str(folder) not in paths:
        os.environ[variable] = os.pathsep.join([str(folder), *paths])


# nbgrader calls its helper program `alembic` by name; find it without an activated environment.
put_first("PATH", sysconfig.get_path("scripts"))
# The course's own packages are found here even where they are not installed.
if (HERE / "specdec").is_dir():
    put_first("PYTHONPATH", HERE)
    if str(HERE) not in sys.path:
        sys.path.append(str(HERE))

from autograder.engine.plugin import configure  # noqa: E402

classroom = "autograder/classroom"
c.CourseDirectory.course_id = "speculative-decoding"
c.CourseDirectory.source_directory = f"{classroom}/source"
c.CourseDirectory.release_directory = "lessons"
c.CourseDirectory.submitted_directory = f"{classroom}/submitted"
c.CourseDirectory.autograded_directory = f"{classroom}/autograded"
c.CourseDirectory.feedback_directory = f"{classroom}/feedback"
c.CourseDirectory.solution_directory = f"{classroom}/solution"
c.CourseDirectory.db_url = f"sqlite:///{HERE / classroom}/gradebook.db"
# nbgrader copies what stands beside a notebook to the students; these never.
c.CourseDirectory.ignore = [
    ".ipynb_checkpoints",
    "*.pyc",
    "__pycache__",
    "feedback",
    "*.py",
    "*.db",
    "*.csv",
    ".DS_Store",
]

# nbgrader's own list with one part replaced: stubs that say what to delete.
c.GenerateAssignment.preprocessors = [
    "nbgrader.preprocessors.IncludeHeaderFooter",
    "nbgrader.preprocessors.InstantiateTests",
    "nbgrader.preprocessors.LockCells",
    "autograder.release.FriendlyStubs",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# Hand-ins are graded by the engine, also by plain `nbgrader autograde` and in the formgrader.
configure(c, policy_for="autograder.policy.policy_for")
c.GradeCells.limits = {"cell": 10, "test": 10, "submission": 90}  # seconds
c.GenerateFeedback.preprocessors = [
    "nbgrader.preprocessors.GetGrades",
    "autograder.engine.plugin.HideTests",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
    "autograder.preprocessors.WrapLines",
]

c.Course.text = "course/{lesson}.py"
c.Course.build_source = ["{python}", "-m", "tools.build", "source", "{lesson}"]
c.Course.metadata_key = "specdec"
c.Course.results = f"{classroom}/results"
c.Course.term_folder = f"{classroom}/term"
c.Course.grades_file = f"{classroom}/grades.csv"
c.Course.sample_class = f"{classroom}/sample_class"
c.Course.demo_lesson = "01_draft_and_verify"
