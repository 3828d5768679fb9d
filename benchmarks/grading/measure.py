"""How long grading takes: this engine, unmodified nbgrader and otter, on one class in one run.

    python benchmarks/grading/measure.py engine whole growth [--students 60] [--otter PATH]

engine  the engine alone beside its floors: forks of warm interpreters that run the same cells
whole   `autograder grade` with one job and with two, `nbgrader autograde`, `otter run`, from the
        same start; imports are counted in all of them, and none writes feedback pages
growth  `autograder grade` for classes of 50, 100, 300 and 1,000: time, and memory of the
        coordinating process

Results go to results.json beside this file, with machine, date and load. Every line also gives
processor seconds of all processes together, which a busy machine changes less than the clock.
"""

import argparse
import contextlib
import csv
import ctypes
import datetime
import io
import json
import multiprocessing
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE)]

import classes  # noqa: E402
from classes import LESSON, ROOT  # noqa: E402

RESULTS = HERE / "results.json"
PR_SET_CHILD_SUBREAPER = 36
ROUNDS = 21
WITH_PAGES = 300  # the size of the class that is graded with feedback pages too


@dataclass
class Run:
    """One program's run: seconds by the clock, processor seconds, MB of its first process."""

    seconds: float
    cpu: float
    peak_mb: float
    load: float


def run(command, folder):
    """Run a command in a course folder, wait for all that it started, and return its Run."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "SPECDEC_STILL": "1"}
    load, cpu, started = os.getloadavg()[0], cpu_of_children(), time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=said, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        wait_for_orphans()
        if process.returncode:
            said.seek(0)
            sys.exit(f"{' '.join(map(str, command))} failed:\n{said.read()[-4000:].decode()}")
    return Run(seconds, cpu_of_children() - cpu, usage.ru_maxrss / 1024, load)


def cpu_of_children():
    times = os.times()
    return times.children_user + times.children_system


def wait_for_orphans():
    """Wait for processes that outlived the one that started them: they are ours now."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def grade_command(jobs, pages=False):
    command = [sys.executable, "-m", "autograder", "grade", LESSON, "--jobs", str(jobs)]
    return command if pages else [*command, "--no-feedback"]


def say(name, done, students):
    each = done.seconds / students
    print(f"{name:20} {done.seconds:7.1f} s  {each:6.3f} s each  {done.cpu:7.1f} CPU s  "
          f"{done.peak_mb:5.0f} MB  (load {done.load:.1f})", flush=True)  # fmt: skip


# -- the parts --------------------------------------------------------------------------------


def measure_engine(_arguments, _scratch):
    """Return {lesson: median seconds of the floors and of the engine, and their ratios}."""
    from autograder.course import Course

    found = {}
    for lesson in Course.load(ROOT).lessons():
        # A process for each: what one lesson imports must not be there for the next.
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
            found[lesson] = done = pool.submit(measure_lesson, lesson).result()
        print(f"{lesson:24} plain floor {done['plain_floor']:.3f} s  floor {done['floor']:.3f} s  "
              f"engine {done['engine']:.3f} s  {done['to_plain_floor']:.1f} and "
              f"{done['to_floor']:.1f} times  (load {done['load']:.1f})", flush=True)  # fmt: skip
    return found


def measure_lesson(lesson):
    """Return the medians for a lesson's worked notebook.

    plain_floor  a fork of an interpreter that has numpy and matplotlib imported
    floor        a fork of one that has all that the engine's warm processes have; in turns with
    engine       the engine
    """
    from autograder import engine
    from autograder.check import Bench
    from autograder.course import Course
    from autograder.engine.inside import modules

    bench = Bench(Course.load(ROOT), lesson)
    policy = bench.options["policy"]
    cells = [cell.source for cell in bench.source.cells if cell.cell_type == "code"]
    stand_ins = {"stand_ins": policy["stand_ins"], "hidden": {}}
    modules.prepare({**stand_ins, "warm": ["numpy", "matplotlib.pyplot"]})
    plain = statistics.median(timed(lambda: run_cells_in_fork(cells)) for _ in range(ROUNDS))
    modules.prepare({**stand_ins, "warm": [*policy["warm"], *policy["test_warm"]]})
    task = worked_task(bench)
    engine.grade_task(task)
    floors, engines = [], []
    for _ in range(ROUNDS):
        floors.append(timed(lambda: run_cells_in_fork(cells)))
        engines.append(timed(lambda: engine.grade_task(task)))
    engine.close_all()
    floor, ours = statistics.median(floors), statistics.median(engines)
    return {"plain_floor": plain, "floor": floor, "engine": ours, "to_plain_floor": ours / plain,
            "to_floor": ours / floor, "load": os.getloadavg()[0]}  # fmt: skip


def worked_task(bench):
    from autograder.answers import with_answers, worked_answers

    return {
        **bench.options,
        "source": json.dumps(bench.source),
        "released": json.dumps(bench.released),
        "submitted": with_answers(bench.released, worked_answers(bench.source)),
    }


def timed(call):
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def run_cells_in_fork(cells):
    child = os.fork()
    if child == 0:
        names = {"__name__": "__main__", "display": lambda *objects: None}
        with contextlib.redirect_stdout(io.StringIO()):
            for cell in cells:
                exec(compile(cell, "a cell", "exec"), names)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        sys.exit("the floor's cells failed")


def measure_whole(arguments, scratch):
    """Return {way: Run} and how much faster this engine is than nbgrader."""
    students = arguments.students
    start = scratch / "start"
    classes.make_class(start, students)
    ways, scores = {}, {}
    for name, command in (
        ("grade --jobs 1", grade_command(1)),
        ("grade --jobs 2", grade_command(2)),
        ("nbgrader autograde", [sys.executable, "-m", "nbgrader", "autograde", LESSON]),
    ):
        folder = scratch / name.replace(" ", "_")
        shutil.copytree(start, folder)
        if name.startswith("nbgrader"):
            classes.use_unmodified_nbgrader(folder)
        ways[name] = run(command, folder)
        scores[name] = points_of(folder)
        say(name, ways[name], students)
    if len({tuple(sorted(found.items())) for found in scores.values()}) != 1:
        sys.exit("the ways do not agree on the points")
    plain = ways["nbgrader autograde"].seconds
    faster = {name: plain / way.seconds for name, way in ways.items() if name.startswith("grade")}
    for name, times in faster.items():
        print(f"{name}: {times:.1f} times as fast as nbgrader")
    result = {"students": students, "faster": faster}
    if arguments.otter:
        few = min(students, 10)
        ways["otter run"] = otter_run(arguments.otter, start, scratch / "otter", few)
        say("otter run", ways["otter run"], few)
        result["otter_students"] = few
    return result | {"ways": {name: asdict(way) for name, way in ways.items()}}


def points_of(folder):
    """Return {student: points} of a graded class, from the gradebook."""
    from nbgrader.api import Gradebook

    from autograder.course import Course

    course = Course.load(folder)
    with Gradebook(course.gradebook_url, course.directory("").course_id) as gradebook:
        return {s.student_id: s.score for s in gradebook.assignment_submissions(LESSON)}


def otter_run(otter, start, folder, students):
    """Run otter once for each student and return all runs as one."""
    package = classes.otter_package(otter, folder, classes.source_notebook())
    notebooks = sorted(start.rglob(f"submitted/*/{LESSON}/*.ipynb"))[:students]
    os.environ["PATH"] = os.pathsep.join([str(Path(otter).parent), os.environ["PATH"]])
    runs = []
    for number, notebook in enumerate(notebooks):
        here = folder / str(number)
        here.mkdir()
        shutil.copy(notebook, here)
        command = [otter, "run", notebook.name, "-a", str(package), "-o", ".", "--no-logo"]
        runs.append(run(command, here))
        if not (here / "results.json").is_file():
            sys.exit("otter wrote no results")
    return Run(
        sum(r.seconds for r in runs), sum(r.cpu for r in runs), max(r.peak_mb for r in runs),
        runs[0].load,
    )  # fmt: skip


def measure_growth(arguments, scratch):
    """Return {size: Run} of growing classes, one of them with feedback pages too."""
    found = {}
    for students in arguments.classes:
        for pages in (False, True) if students == WITH_PAGES else (False,):
            folder = scratch / "class"
            classes.make_class(folder, students)
            done = run(grade_command(2, pages), folder)
            with open(next(folder.rglob("grades.csv")), newline="", encoding="utf-8") as table:
                graded = sum(row["assignment"] == LESSON for row in csv.DictReader(table))
            if graded != students:
                sys.exit(f"{graded} of {students} students are in grades.csv")
            name = f"{students} with pages" if pages else str(students)
            found[name] = asdict(done)
            say(f"class of {name}", done, students)
            shutil.rmtree(folder)
    return found


PARTS = {"engine": measure_engine, "whole": measure_whole, "growth": measure_growth}


def machine():
    return {
        "date": datetime.date.today().isoformat(),
        "processors": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="default: all")
    parser.add_argument("--students", type=int, default=60, help="size of the class for `whole`")
    parser.add_argument("--classes", type=int, nargs="+", default=[50, 100, 300, 1000])
    parser.add_argument("--otter", default=shutil.which("otter"), help="otter's command, if any")
    arguments = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    known = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    for part in arguments.parts or PARTS:
        with tempfile.TemporaryDirectory(prefix="grading-bench-") as scratch:
            found = PARTS[part](arguments, Path(scratch))
        name = f"whole of {arguments.students}" if part == "whole" else part
        known[name] = machine() | {"results": found}
        RESULTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
