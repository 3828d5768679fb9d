"""How grading grows: on a Dask cluster of this machine, by workers and by size of the class.

    python benchmarks/grading/scale.py workers [--workers 1 2 4] [--classes 50 200]
    python benchmarks/grading/scale.py soak [--students 2000]

workers  `autograder grade --cluster` with 1, 2 and 4 workers, feedback included, beside `--jobs`
         with one for each core
soak     a class of right, partly right, broken, odd and hostile hand-ins of lesson 1; one of its
         two workers is killed a quarter of the way. Fails when a hand-in is lost or doubled, or an
         honest one loses points, or a hostile one gets any

Results go to scale.json beside this file, with machine, date and load.
"""

import argparse
import contextlib
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE)]

import classes  # noqa: E402
import psutil  # noqa: E402
from classes import LESSON, ROOT  # noqa: E402
from measure import machine  # noqa: E402
from mixed import make_mixed_class  # noqa: E402

RESULTS = HERE / "scale.json"
EVERY = 100  # hand-ins between two looks at the coordinating process
QUICKER = 'c.GradeCells.limits = {"cell": 3, "test": 3, "submission": 30}\n'


class Cluster:
    """A scheduler and workers on this machine, one hand-in at a time each."""

    def __init__(self, folder, workers):
        self.folder, self.processes, self.workers = folder, [], []
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self.start("scheduler", "--port", str(port), "--no-show")
        for _ in range(workers):
            self.add_worker()
        self.wait_for(workers)

    def add_worker(self):
        arguments = ["--nthreads", "1", "--no-nanny", "--local-directory", str(self.folder)]
        self.workers.append(self.start("worker", self.address, *arguments))

    def start(self, kind, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments]
        command += ["--no-dashboard", "--host", "127.0.0.1"]
        with open(self.folder / f"{kind}.log", "a") as log:
            self.processes.append(
                subprocess.Popen(command, cwd=self.folder, env=surroundings(), stderr=log)
            )
        return self.processes[-1]

    def wait_for(self, workers):
        from distributed import Client

        with Client(self.address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process in self.processes:
            process.kill()
            process.wait()


def surroundings():
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "SPECDEC_STILL": "1"}


def cpu_seconds(processes):
    """Return the processor seconds of processes and all that they started."""
    total = 0
    for root in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in [root, *root.children(recursive=True)]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    times = process.cpu_times()
                    total += times.user + times.system
                    total += times.children_user + times.children_system
    return total


# -- one run, in a process of its own ---------------------------------------------------------


def grade_here(folder, *arguments):
    """Grade a course's class and print what it took as JSON; a line a look to standard error."""
    from autograder.batch import Options, grade
    from autograder.course import Course

    way = dict(zip(arguments[::2], arguments[1::2], strict=True))
    options = Options(cluster=way.get("--cluster"), jobs=int(way.get("--jobs", 0)) or None)
    looks, started, told = [], time.perf_counter(), []
    me = psutil.Process()

    def look(done):
        seconds = time.perf_counter() - started
        looks.append([done, round(seconds, 1), round(me.memory_info().rss / 2**20)])
        print(json.dumps(looks[-1]), file=sys.stderr, flush=True)

    def progress(done, total, student):
        told.append(student)
        if len(told) % EVERY == 0:
            look(len(told))

    lines, _ = grade(Course.load(folder), LESSON, options, progress)
    look(len(told))
    doubled = len(told) - len(set(told))
    points = {line.student: None if line.result.ungraded else line.result.points for line in lines}
    print(json.dumps({"looks": looks, "doubled": doubled, "points": points}))


def run(folder, arguments, watch=lambda look: None):
    """Run grade_here in a process; return what it printed, with its processor seconds."""
    command = [sys.executable, str(Path(__file__).resolve()), "grade_here", str(folder), *arguments]
    started = time.perf_counter()
    with subprocess.Popen(
        command, env=surroundings(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        seen, said = psutil.Process(process.pid), []
        for line in process.stderr:
            said.append(line)
            cpu = cpu_seconds([seen])
            with contextlib.suppress(ValueError):
                watch(json.loads(line))
        answer = process.stdout.read()
    if process.returncode:
        sys.exit(f"grading failed:\n{''.join(said[-20:])}")
    return {"seconds": time.perf_counter() - started, "cpu": cpu, **json.loads(answer)}


# -- the parts --------------------------------------------------------------------------------


def measure_workers(arguments, scratch):
    """Return the runs of each class size with each number of workers."""
    found = []
    for students in arguments.classes:
        start = scratch / f"class_{students}"
        classes.make_class(start, students)
        for workers in arguments.workers:
            for way in ("cluster", "jobs") if workers == os.cpu_count() else ("cluster",):
                found.append(_one_way(start, scratch, students, workers, way))
                shutil.rmtree(scratch / "run")
    return found


def _one_way(start, scratch, students, workers, way):
    folder, load = scratch / "run", os.getloadavg()[0]
    shutil.copytree(start, folder)
    if way == "jobs":
        done, others = run(folder, ["--jobs", str(workers)]), 0
    else:
        with Cluster(folder, workers) as cluster:
            processes = [psutil.Process(process.pid) for process in cluster.processes]
            before = cpu_seconds(processes)
            done = run(folder, ["--cluster", cluster.address])
            others = cpu_seconds(processes) - before
    result = {
        "students": students,
        "way": way,
        "workers": workers,
        "seconds": round(done["seconds"], 1),
        "each": round(done["seconds"] / students, 4),
        "cpu_each": round((done["cpu"] + others) / students, 4),
        "cpu_coordinator": round(done["cpu"], 1) if way == "cluster" else None,
        "coordinator_mb": max(mb for _, _, mb in done["looks"]),
        "load": round(load, 1),
    }
    if len(done["points"]) != students or None in done["points"].values():
        sys.exit("a hand-in was lost")
    print(json.dumps(result), flush=True)
    return result


def measure_soak(arguments, scratch):
    """Return how a mixed class was graded while a worker was killed."""
    folder = scratch / "soak"
    expected = make_mixed_class(folder, arguments.students)
    with open(folder / "nbgrader_config.py", "a", encoding="utf-8") as config:
        config.write(QUICKER)
    killed, load = [], os.getloadavg()[0]
    with Cluster(folder, 2) as cluster:

        def kill(look):
            print(f"{look[0]:6} hand-ins  {look[1]:7.1f} s  {look[2]:5} MB", flush=True)
            if look[0] >= arguments.students / 4 and not killed:
                cluster.workers[0].kill()
                killed.append(look[0])
                cluster.add_worker()

        done = run(folder, ["--cluster", cluster.address], kill)
    wrong = {
        student: (points, done["points"].get(student, "lost"))
        for student, (_, points) in expected.items()
        if done["points"].get(student, "lost") != points
    }
    if wrong:
        sys.exit(f"wrong points: {dict(list(wrong.items())[:10])}")
    kinds = [kind for kind, _ in expected.values()]
    return {
        "students": arguments.students,
        "kinds": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
        "worker_killed_at": killed[0],
        "lost": arguments.students - len(done["points"]),
        "doubled": done["doubled"] + rows_too_many(folder, done["points"]),
        "seconds": round(done["seconds"], 1),
        "each": round(done["seconds"] / arguments.students, 4),
        "looks": done["looks"],
        "load": round(load, 1),
    }


def rows_too_many(folder, points):
    """Return how many submissions the gradebook has beside those that have points."""
    with sqlite3.connect(next(folder.rglob("gradebook.db"))) as book:
        stored = book.execute("select count(*) from submitted_assignment").fetchone()[0]
    return stored - sum(value is not None for value in points.values())


PARTS = {"workers": measure_workers, "soak": measure_soak}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--classes", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--students", type=int, default=2000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scale-") as scratch:
        found = PARTS[arguments.part](arguments, Path(scratch))
    known = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    known[arguments.part] = machine() | {"results": found}
    RESULTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({k: v for k, v in found.items() if k != "looks"} if isinstance(found, dict)
                     else found))  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == ["grade_here"]:
        grade_here(*sys.argv[2:])
    else:
        main()
