"""Seconds per submission: `autograder grade` beside unmodified `nbgrader autograde`, in one run.

    python benchmarks/grading/measure.py [--students 20]

A class of right and half right hand-ins of lesson 1 is graded three times from the same start:
by `autograder grade --jobs 1`, by `--jobs 2`, and by `nbgrader autograde` with nbgrader's own
preprocessors. Start-up and imports are counted in all of them; none writes feedback, because
`nbgrader autograde` doesn't. The machine's load is printed: compare ratios, not seconds.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LESSON = "01_draft_and_verify"
UNMODIFIED = """
import os
os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
own = "nbgrader.preprocessors"
c.Autograde.sanitize_preprocessors = [f"{own}.{name}" for name in (
    "ClearOutput", "DeduplicateIds", "OverwriteKernelspec", "OverwriteCells", "CheckCellMetadata")]
c.Autograde.autograde_preprocessors = [f"{own}.Execute", f"{own}.IgnorePattern",
    "nbconvert.preprocessors.ClearMetadataPreprocessor", f"{own}.LimitOutput",
    f"{own}.SaveAutoGrades", f"{own}.AssignLatePenalties", f"{own}.CheckCellMetadata"]
c.Execute.timeout = 30
c.Execute.record_timing = False
"""


def make_class(folder, students):
    """Release lesson 1 in a scratch course in folder and hand in for a class."""
    import nbformat

    from autograder import grading
    from autograder.answers import with_answers, worked_answers
    from autograder.course import Course
    from autograder.submissions import read_source

    course = Course.load(ROOT).scratch(folder, LESSON)
    with grading.log_to(folder / "release.log"):
        grading.release(course, LESSON)
    released = nbformat.read(course.folder("release", LESSON) / f"{LESSON}.ipynb", as_version=4)
    answers = worked_answers(read_source(course.source_notebook(LESSON)))
    some = dict(list(answers.items())[: len(answers) // 2])
    for number in range(students):
        node = with_answers(released, some if number % 4 == 3 else answers)
        target = course.folder("submitted", LESSON, f"s{number:03}")
        target.mkdir(parents=True)
        nbformat.write(node, target / f"{LESSON}.ipynb")


def seconds(command, folder):
    """Run a command in a course folder and return how long it took."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SPECDEC_STILL": "1"}
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    took = time.perf_counter() - started
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--students", type=int, default=20)
    students = parser.parse_args().students
    sys.path.insert(0, str(ROOT))
    grade = [sys.executable, "-m", "autograder", "grade", LESSON, "--no-feedback", "--jobs"]
    plain = [sys.executable, "-m", "nbgrader", "autograde", LESSON]
    ways = {"grade --jobs 1": [*grade, "1"], "grade --jobs 2": [*grade, "2"]}
    ways["nbgrader autograde"] = plain
    took = {}
    with tempfile.TemporaryDirectory() as scratch:
        start = Path(scratch) / "start"
        make_class(start, students)
        for name, command in ways.items():
            folder = Path(scratch) / name.replace(" ", "_")
            shutil.copytree(start, folder)
            if command is plain:
                with open(folder / "nbgrader_config.py", "a", encoding="utf-8") as config:
                    config.write(UNMODIFIED)
            load = os.getloadavg()[0]
            took[name] = seconds(command, folder)
            each = took[name] / students
            print(
                f"{name:20} {took[name]:6.1f} s  {each:6.3f} s each  (load {load:.1f})", flush=True
            )
    for name in list(ways)[:2]:
        print(f"{name}: {took['nbgrader autograde'] / took[name]:.1f} times faster than nbgrader")


if __name__ == "__main__":
    main()
