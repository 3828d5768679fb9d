"""Classes of hand-ins to measure on, and the programs that grade them."""

import json
import subprocess
from pathlib import Path

import nbformat

from autograder import grading
from autograder.answers import with_answers, worked_answers
from autograder.course import Course
from autograder.submissions import grade_id, is_test, read_source

ROOT = Path(__file__).resolve().parents[2]
LESSON = "01_draft_and_verify"
OWN = "nbgrader.preprocessors"
# nbgrader's own preprocessors in the place of the engine's, and its own feedback.
UNMODIFIED = f"""
c.Autograde.sanitize_preprocessors = ["{OWN}.ClearOutput", "{OWN}.DeduplicateIds",
    "{OWN}.OverwriteKernelspec", "{OWN}.OverwriteCells", "{OWN}.CheckCellMetadata"]
c.Autograde.autograde_preprocessors = ["{OWN}.Execute", "{OWN}.IgnorePattern",
    "nbconvert.preprocessors.ClearMetadataPreprocessor", "{OWN}.LimitOutput",
    "{OWN}.SaveAutoGrades", "{OWN}.AssignLatePenalties", "{OWN}.CheckCellMetadata"]
c.Execute.timeout = 30
c.Execute.record_timing = False
"""
OTTER_TEST = """OK_FORMAT = False
from otter.test_files import test_case

name, points = {name!r}, {points!r}

@test_case(points={points!r})
def check(env):
    exec({source!r}, env)
"""


def make_class(folder, students):
    """Release lesson 1 in a scratch course in folder and hand in for a class.

    Three in four have all answers right, the fourth has the first half of them.
    """
    course = Course.load(ROOT).scratch(folder, LESSON)
    with grading.log_to(folder / "release.log"):
        grading.release(course, LESSON)
    released = nbformat.read(course.folder("release", LESSON) / f"{LESSON}.ipynb", as_version=4)
    answers = worked_answers(read_source(course.source_notebook(LESSON)))
    some = dict(list(answers.items())[: len(answers) // 2])
    whole, half = (nbformat.writes(with_answers(released, given)) for given in (answers, some))
    for number in range(students):
        target = course.folder("submitted", LESSON, f"s{number:04}")
        target.mkdir(parents=True)
        text = half if number % 4 == 3 else whole
        (target / f"{LESSON}.ipynb").write_text(text, encoding="utf-8")
    return course


def source_notebook():
    """Return the instructor's notebook of lesson 1."""
    return read_source(Course.load(ROOT).source_notebook(LESSON))


def use_unmodified_nbgrader(folder):
    """Let a scratch course be graded by nbgrader alone."""
    with open(folder / "nbgrader_config.py", "a", encoding="utf-8") as config:
        config.write(UNMODIFIED)


def otter_package(otter, folder, source):
    """Write a source notebook's tests as otter wants them; return its autograder.zip's path."""
    tests = folder / "tests"
    tests.mkdir(parents=True)
    for cell in source.cells:
        if is_test(cell):
            name, points = grade_id(cell), cell.metadata.nbgrader.points
            test = OTTER_TEST.format(name=name, points=points, source=cell.source)
            (tests / f"{name}.py").write_text(test, encoding="utf-8")
    (folder / "otter_config.json").write_text(json.dumps({"lang": "python"}), encoding="utf-8")
    command = [otter, "generate", "-t", "tests", "-c", "otter_config.json", "--no-environment",
               "-o", "autograder.zip"]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "autograder.zip"
