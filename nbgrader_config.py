"""Settings of this course for nbgrader and for `autograder`. Run both in this folder."""

import os
import sysconfig
from pathlib import Path

c = get_config()  # noqa: F821  (nbgrader provides it)

# nbgrader calls its helper program `alembic` by name; find it without an activated environment.
scripts = sysconfig.get_path("scripts")
if scripts not in os.environ.get("PATH", "").split(os.pathsep):
    os.environ["PATH"] = os.pathsep.join([scripts, os.environ.get("PATH", "")])

classroom = "autograder/classroom"
c.CourseDirectory.course_id = "speculative-decoding"
c.CourseDirectory.source_directory = f"{classroom}/source"
c.CourseDirectory.release_directory = "lessons"
c.CourseDirectory.submitted_directory = f"{classroom}/submitted"
c.CourseDirectory.autograded_directory = f"{classroom}/autograded"
c.CourseDirectory.feedback_directory = f"{classroom}/feedback"
c.CourseDirectory.solution_directory = f"{classroom}/solution"
c.CourseDirectory.db_url = f"sqlite:///{Path(__file__).resolve().parent / classroom}/gradebook.db"
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

# nbgrader's own lists with some parts replaced: stubs that say what to delete, mended cells,
# feedback without hidden tests.
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
c.Autograde.sanitize_preprocessors = [
    "nbgrader.preprocessors.ClearOutput",
    "autograder.preprocessors.MendCells",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.GenerateFeedback.preprocessors = [
    "autograder.preprocessors.HideTests",
    "nbgrader.preprocessors.GetGrades",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]

c.Execute.timeout = 10  # seconds for a cell
c.Execute.record_timing = False
c.Execute.extra_arguments = ["--IPKernelApp.log_level=ERROR"]  # else a warning a submission
c.Execute.skip_cells_with_tag = "nbgrader-never-skip"  # else a student's tag skips the tests

c.Course.text = "course/{lesson}.py"
c.Course.build_source = ["{python}", "-m", "tools.build", "source", "{lesson}"]
c.Course.metadata_key = "specdec"
c.Course.results = f"{classroom}/results"
c.Course.grades_file = f"{classroom}/grades.csv"
c.Course.sample_class = f"{classroom}/sample_class"
c.Course.demo_lesson = "01_draft_and_verify"
