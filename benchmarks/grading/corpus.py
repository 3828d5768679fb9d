"""Who is paid too much, too little, harmed or left out: hostile hand-ins through several graders.

    python benchmarks/grading/corpus.py [ours nbgrader otter prairielearn]
        [--otter PATH] [--prairielearn PATH] [--go-on] [--only TEXT]

The hand-ins are those of tests/engine/corpus.py and tests/grading/hostile_files.py, on a small
lesson of five exercises with a point each. Behind them an honest one is graded that deserves all
points. This engine gets them as one class. The peers, which protect nobody from a hand-in, run
inside a sandbox of this script's own, a few hand-ins at a time; where such a group stops, hangs or
harms the honest hand-in, each of it is run again with an honest one alone.

Results go to corpus.json beside this file.
"""

import argparse
import functools
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE)]

import classes  # noqa: E402
import nbformat  # noqa: E402
from measure import machine  # noqa: E402

from tests.engine import lesson  # noqa: E402
from tests.engine.corpus import CORPUS  # noqa: E402
from tests.grading.hostile_files import FILES  # noqa: E402

RESULTS = HERE / "corpus.json"
LESSON = "one"
VICTIM = "victim-0"  # the last of all by its name; some hand-ins link to it
OTHER_VICTIM = "a victim"  # and one that is the first
LIMITS = {"cell": 2, "test": 2, "submission": 30, "memory_mb": 384, "disk_mb": 16}
GROUP = 10
CELL_SECONDS = 5  # for nbgrader's cells and otter's
HAND_IN_SECONDS = 60  # after which a peer counts as hung
TOO_LARGE = 200 << 20  # bytes of a notebook that this script itself does not read
FIRST_USER = 61234  # a user for each peer, since the bound on processes is one for a user


@dataclass
class HandIn:
    """One hand-in.

    deserves  its exercises that earn their point; None where this engine reads no notebook in it:
              a grader that does may pay what it finds
    """

    name: str
    deserves: frozenset | None
    write: object  # function of a folder, which it fills
    notebook_only: bool = True


def all_hand_ins():
    """Return every hand-in of the two collections."""
    found = [HandIn(e.name, e.deserves, lambda folder, e=e: write_entry(e, folder)) for e in CORPUS]
    for name, (befall, deserves, problem) in FILES.items():
        if problem == "not_a_file":  # it leads to somebody else's work, or to nothing
            deserves = ()
        deserves = None if deserves is None else frozenset(deserves)
        found.append(HandIn(name, deserves, lambda folder, b=befall: write_odd(b, folder), False))
    return found


def write_entry(entry, folder):
    notebook = lesson.submission(
        entry.answers, first=entry.first, last=entry.last, between=entry.between
    )
    if entry.tamper:
        entry.tamper(notebook)
    write_notebook(notebook, folder)
    for path, content in entry.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)


def write_odd(befall, folder):
    write_notebook(lesson.submission(), folder)
    befall(folder, folder / f"{LESSON}.ipynb")


def write_notebook(notebook, folder):
    folder.mkdir(parents=True)
    (folder / f"{LESSON}.ipynb").write_text(json.dumps(notebook))


# -- verdicts -------------------------------------------------------------------------------------


@dataclass
class Group:
    """What a grader made of some hand-ins and of an honest one behind them.

    passed  {name: exercises that got their point}, without those that have no result
    hung    names of those that did not end; all of them where the whole did not
    """

    passed: dict
    hung: set = field(default_factory=set)

    @property
    def is_sound(self):
        """Whether the honest hand-in has all its points and all came to an end."""
        return self.passed.get(VICTIM) == lesson.ALL and not self.hung


@dataclass
class Verdict:
    """The names of those to whom something went wrong."""

    graded: list = field(default_factory=list)
    over_paid: list = field(default_factory=list)
    under_paid: list = field(default_factory=list)
    harmed_others: list = field(default_factory=list)
    stopped_the_batch: list = field(default_factory=list)
    hung: list = field(default_factory=list)
    not_expressible: list = field(default_factory=list)

    def add_points(self, hand_in, passed):
        self.graded.append(hand_in.name)
        if hand_in.deserves is None:
            return
        if (passed or set()) - hand_in.deserves:
            self.over_paid.append(hand_in.name)
        if hand_in.deserves - (passed or set()):
            self.under_paid.append(hand_in.name)

    def add_effects(self, hand_in, group):
        if hand_in.name in group.hung:
            self.hung.append(hand_in.name)
        elif VICTIM not in group.passed:
            self.stopped_the_batch.append(hand_in.name)
        elif group.passed[VICTIM] != lesson.ALL:
            self.harmed_others.append(hand_in.name)


def judge_peer(peer, hand_ins, verdict, keep):
    """Complete the Verdict on a peer, group by group and one by one where a group went wrong.

    keep  is called after each group
    """
    waiting = []
    for hand_in in hand_ins:
        if hand_in.name in (*verdict.graded, *verdict.not_expressible):
            continue
        if peer.can_express(hand_in):
            waiting.append(hand_in)
        else:
            verdict.not_expressible.append(hand_in.name)
    while waiting:
        some, waiting = waiting[:GROUP], waiting[GROUP:]
        group = peer.grade(some)
        outcomes = [group if group.is_sound else peer.grade([h]) for h in some]
        for hand_in, outcome in zip(some, outcomes, strict=True):
            verdict.add_points(hand_in, outcome.passed.get(hand_in.name))
            verdict.add_effects(hand_in, outcome)
        alone = "" if group.is_sound else ", one by one"
        print(f"{peer.name}: {len(verdict.graded)} graded{alone}, {len(waiting)} left", flush=True)
        keep()


# -- this engine ----------------------------------------------------------------------------------


def judge_ours(hand_ins, scratch, verdict):
    """Fill the Verdict on `autograder grade`, with all hand-ins as one class."""
    folder = scratch / "ours"
    classroom = make_course(folder)
    for name in (VICTIM, OTHER_VICTIM):
        write_notebook(lesson.submission(), classroom / "submitted" / name / LESSON)
    names = {f"{number:03}": hand_in for number, hand_in in enumerate(hand_ins)}
    for name, hand_in in names.items():
        hand_in.write(classroom / "submitted" / name / LESSON)
    command = [sys.executable, "-m", "autograder", "grade", LESSON]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    try:
        subprocess.run(command, cwd=folder, env=environment, timeout=1200, capture_output=True)
    except subprocess.TimeoutExpired:
        verdict.hung.append("the whole class")
    passed = passed_in(classroom / "gradebook.db")
    for name, hand_in in names.items():
        verdict.add_points(hand_in, passed.get(name))
    victims = [passed.get(VICTIM), passed.get(OTHER_VICTIM)]
    if None in victims:
        verdict.stopped_the_batch.append("the whole class")
    elif victims != [lesson.ALL, lesson.ALL]:
        verdict.harmed_others.append("the whole class")


def make_course(folder):
    """Write a course with the small lesson for `autograder`; return its classroom folder."""
    folder.mkdir()
    config = (ROOT / "nbgrader_config.py").read_text("utf-8")
    (folder / "nbgrader_config.py").write_text(
        f"{config}\nc.CourseDirectory.course_id = 'corpus'\nc.GradeCells.limits = {LIMITS}\n"
        "c.GradeCells.policy_for = c.RepairCells.policy_for = ''\n"
        "c.GenerateAssignment.preprocessors[3] = 'nbgrader.preprocessors.ClearSolutions'\n"
    )
    classroom = folder / "autograder" / "classroom"
    write_source(classroom / "source")
    return classroom


def write_source(folder):
    (folder / LESSON).mkdir(parents=True)
    nbformat.write(lesson.source(), folder / LESSON / f"{LESSON}.ipynb")


def passed_in(gradebook):
    """Return {student: exercises with their point} of an nbgrader gradebook."""
    query = (
        "select student_id, base_cell.name, grade.auto_score, grade.needs_manual_grade "
        "from grade join base_cell on base_cell.id = grade.cell_id "
        "join submitted_notebook on submitted_notebook.id = grade.notebook_id "
        "join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id"
    )
    found = {}
    try:
        with sqlite3.connect(gradebook) as database:
            for student, cell, points, unfinished in database.execute(query):
                if points is not None or not unfinished:
                    found.setdefault(student, set())
                if points:
                    found[student].add(cell.removeprefix("test_"))
    except sqlite3.Error as error:
        print(f"the gradebook can't be read: {error}")
    return found


# -- peers, each in a sandbox ---------------------------------------------------------------------

DRIVER = """
import json, os, signal, subprocess, sys
for name, command, folder, seconds in json.load(open("commands.json")):
    program = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=open(f"{folder}/said.txt", "a"), stderr=subprocess.STDOUT,
                               start_new_session=True)
    try:
        status = program.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        status = "hung"
    with open("ended.jsonl", "a") as target:
        print(json.dumps([name, status]), file=target)
"""


def run_inside(folder, python, commands, user):
    """Run commands, [(name, arguments, folder, seconds)], one after the other, in a sandbox.

    It shows the system, the environment of `python` and the folder, has no network, and bounds
    processes, memory and files. Returns {name: exit status or "hung"} of those that ended.
    """
    (folder / "driver.py").write_text(DRIVER)
    (folder / "commands.json").write_text(json.dumps(commands))
    subprocess.run(["chown", "-hR", f"{user}:{user}", folder], check=True)
    environment = Path(python).parent.parent
    base = Path(os.path.realpath(python)).parent.parent
    shown = [place for place in (environment, base) if not place.is_relative_to("/usr")]
    arguments = ["bwrap", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts",
                 "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--cap-add",
                 "CAP_SETUID", "--cap-add", "CAP_SETGID", "--ro-bind", "/usr", "/usr",
                 "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
                 "--symlink", "usr/lib64", "/lib64", "--ro-bind", "/etc", "/etc",
                 "--dev", "/dev", "--proc", "/proc", "--perms", "1777",
                 "--tmpfs", "/tmp"]  # fmt: skip
    for place in shown:
        arguments += [*parents(place), "--ro-bind", place, place]
    arguments += [*parents(folder), "--bind", folder, folder, "--chdir", folder, "--clearenv"]
    for name, value in {
        "PATH": f"{environment / 'bin'}:/usr/bin:/bin", "HOME": folder / "home",
        "LANG": "C.UTF-8", "JUPYTER_PREFER_ENV_PATH": "1", "MPLBACKEND": "agg",
        "OPENBLAS_NUM_THREADS": "1", "JUPYTER_PLATFORM_DIRS": "1",
    }.items():  # fmt: skip
        arguments += ["--setenv", name, value]
    arguments += ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups",
                  "--no-new-privs", "prlimit", "--nproc=120", f"--as={6 << 30}",
                  f"--fsize={100 << 20}", "--core=0", python, "driver.py"]  # fmt: skip
    seconds = sum(command[3] for command in commands) + 30
    try:
        subprocess.run(list(map(str, arguments)), timeout=seconds, capture_output=True)
    except subprocess.TimeoutExpired:
        print("the whole group was ended from outside")
    try:
        lines = (folder / "ended.jsonl").read_text().splitlines()
        return dict(map(json.loads, lines))
    except (OSError, ValueError):
        return {}


def parents(path):
    """Return bubblewrap's arguments that make the folders above a path, readable for all."""
    above = [place for place in reversed(path.parents) if str(place) not in ("/", "/tmp", "/usr")]
    return [part for place in above for part in ("--perms", "0755", "--dir", str(place))]


class Peer:
    """A grader that is run for several hand-ins and an honest one, in a folder of their own."""

    name = ""
    user = FIRST_USER

    def __init__(self, python, scratch):
        self.python, self.scratch, self.count = Path(python), scratch / self.name, 0
        self.scratch.mkdir()
        self.prepare()

    def prepare(self):
        """Make what all groups use."""

    def can_express(self, hand_in):
        return True

    def grade(self, hand_ins):
        """Return the Group of some hand-ins, an honest one last."""
        self.count += 1
        folder = self.scratch / str(self.count)
        folder.mkdir()
        (folder / "home").mkdir()
        honest = HandIn(VICTIM, lesson.ALL, lambda f: write_notebook(lesson.submission(), f))
        try:
            return self.grade_in(folder, [*hand_ins, honest])
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def is_file(self, hand_in):
        """Whether the hand-in's notebook is a plain file with the lesson's name."""
        place = self.scratch / "trial" / LESSON
        (self.scratch / VICTIM / LESSON).mkdir(parents=True, exist_ok=True)
        hand_in.write(place)
        path = place / f"{LESSON}.ipynb"
        plain = path.is_file() and not path.is_symlink() and not place.is_symlink()
        subprocess.run(["rm", "-rf", self.scratch / "trial"], check=True)
        return plain


class Nbgrader(Peer):
    """`nbgrader autograde` as it comes, for the class of the group."""

    name = "nbgrader"
    CONFIG = (
        f"c = get_config()\nc.CourseDirectory.course_id = 'corpus'\n"
        f"c.Execute.timeout = {CELL_SECONDS}\n"
    )

    def prepare(self):
        self.course = self.scratch / "course"
        write_source(self.course / "source")
        (self.course / "nbgrader_config.py").write_text(self.CONFIG)
        path = os.pathsep.join([str(self.python.parent), os.environ["PATH"]])
        command = [self.python, "-m", "nbgrader", "generate_assignment", LESSON]
        environment = {**os.environ, "PATH": path}
        subprocess.run(command, cwd=self.course, env=environment, check=True, capture_output=True)

    def grade_in(self, folder, hand_ins):
        course = folder / "course"
        shutil.copytree(self.course, course)
        names = {}
        for number, hand_in in enumerate(hand_ins):
            name = VICTIM if hand_in.name == VICTIM else f"s{number}"
            names[name] = hand_in.name
            hand_in.write(course / "submitted" / name / LESSON)
        command = [str(self.python), "-m", "nbgrader", "autograde", LESSON]
        seconds = HAND_IN_SECONDS * len(hand_ins)
        ended = run_inside(folder, self.python, [("all", command, str(course), seconds)], self.user)
        passed = {}
        for name, found in passed_in(course / "gradebook.db").items():
            if name in names and list((course / "autograded" / name).rglob("*.ipynb")):
                passed[names[name]] = found
        hung = set(names.values()) if ended.get("all") == "hung" else set()
        return Group(passed, hung)


class OneByOne(Peer):
    """A grader with a program for each hand-in."""

    def grade_in(self, folder, hand_ins):
        commands, places = [], {}
        for number, hand_in in enumerate(hand_ins):
            student = VICTIM if hand_in.name == VICTIM else str(number)
            place = folder / student / LESSON
            hand_in.write(place)
            places[hand_in.name] = place
            commands.append((hand_in.name, self.command(place, folder), str(place),
                             HAND_IN_SECONDS))  # fmt: skip
        ended = run_inside(folder, self.python, commands, self.user)
        passed = {}
        for name, place in places.items():
            if name in ended:
                passed[name] = self.passed(place)
        return Group(passed, {name for name, status in ended.items() if status == "hung"})

    def can_express(self, hand_in):
        return hand_in.notebook_only or self.is_file(hand_in)


class Otter(OneByOne):
    """`otter run` with the lesson's tests, hidden ones included."""

    name = "otter"
    user = FIRST_USER + 1

    def prepare(self):
        otter = self.python.parent / "otter"
        self.package = classes.otter_package(otter, self.scratch / "package", lesson.source())

    def command(self, place, folder):
        package = folder / "autograder.zip"
        if not package.exists():
            shutil.copy(self.package, package)
        return [str(self.python.parent / "otter"), "run", f"{LESSON}.ipynb", "-a", str(package),
                "-o", ".", "--no-logo"]  # fmt: skip

    def passed(self, place):
        try:
            results = json.loads((place / "results.json").read_text())
            tests = results["tests"]
        except (OSError, ValueError, KeyError, TypeError):
            return set()
        return {
            name
            for name in lesson.NAMES
            for test in tests
            if name in test["name"].split() or f"test_{name}" in test["name"]
            if test.get("score") and test["score"] == test["max_score"]
        }


class PrairieLearn(OneByOne):
    """`pytest-prairielearn-grader` with its settings as they come and the tests in its own words.

    Its tests are not in the notebook, so what is done to test cells can't be expressed; nor can
    calls of a model be counted, for callables are copied into the student's process.
    """

    name = "prairielearn"
    user = FIRST_USER + 2
    TESTS = HERE / "prairielearn_tests.py"

    def can_express(self, hand_in):
        entry = next((e for e in CORPUS if e.name == hand_in.name), None)
        changed = entry is not None and entry.tamper is not None
        of_tests = ("test", "answer_claims", "points", "graded", "outputs", "tag", "swap_ids")
        if changed and any(word in entry.tamper.__name__ for word in of_tests):
            return False
        return super().can_express(hand_in)

    def command(self, place, folder):
        path = place / f"{LESSON}.ipynb"
        student = place / "test_lesson"
        student.mkdir()
        try:
            if path.stat().st_size > TOO_LARGE:
                raise ValueError("too large to read")
            notebook = json.loads(path.read_text())
            notebook["cells"] = [c for c in notebook["cells"] if not is_test_cell(c)]
            (student / "student_code.ipynb").write_text(json.dumps(notebook))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            os.replace(path, student / "student_code.ipynb")
        for other in place.iterdir():
            if other not in (path, student) and len(list(place.iterdir())) < 50:
                os.replace(other, student / other.name)
        shutil.copy(self.TESTS, place / "test_lesson.py")
        return [str(self.python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_lesson.py"]

    def passed(self, place):
        try:
            tests = json.loads((place / "autograder_results.json").read_text())["tests"]
            return {test["name"] for test in tests if test["points"] == test["max_points"]}
        except (OSError, ValueError, KeyError, TypeError):
            return set()


def is_test_cell(cell):
    info = cell["metadata"].get("nbgrader", {})
    return isinstance(info, dict) and str(info.get("grade_id", "")).startswith("test_")


# -- the run --------------------------------------------------------------------------------------

PACKAGES = {
    "nbgrader": "nbgrader",
    "otter": "otter-grader",
    "prairielearn": "pytest-prairielearn-grader",
}


def version_of(python, package):
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def say(name, verdict):
    kinds = ("over_paid", "under_paid", "harmed_others", "stopped_the_batch", "hung",
             "not_expressible")  # fmt: skip
    counts = ", ".join(f"{kind} {len(getattr(verdict, kind))}" for kind in kinds)
    print(f"{name:14} graded {len(verdict.graded)}, {counts}", flush=True)


def read_results():
    return json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    graders = ("ours", "nbgrader", "otter", "prairielearn")
    parser.add_argument("graders", nargs="*", choices=[[], *graders], help="default: all")
    parser.add_argument("--otter", help="python of an environment with otter-grader")
    parser.add_argument("--prairielearn", help="python of one with pytest-prairielearn-grader")
    parser.add_argument("--go-on", action="store_true", help="complete what is in corpus.json")
    parser.add_argument("--only", help="hand-ins whose name contains this text")
    arguments = parser.parse_args()
    hand_ins = [h for h in all_hand_ins() if not arguments.only or arguments.only in h.name]
    peers = {
        "nbgrader": (Nbgrader, sys.executable),
        "otter": (Otter, arguments.otter),
        "prairielearn": (PrairieLearn, arguments.prairielearn),
    }
    known = read_results()

    def keep(name, version, verdict, started):
        seconds = round(time.monotonic() - started)
        found = {**machine(), "version": version, "hand_ins": len(hand_ins),
                 "seconds": seconds, **vars(verdict)}  # fmt: skip
        if not arguments.only:
            results = read_results() | {name: found}
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")

    for name in arguments.graders or graders:
        verdict, started = Verdict(), time.monotonic()
        if arguments.go_on and name in known:
            verdict = Verdict(**{kind: known[name][kind] for kind in vars(Verdict())})
            started -= known[name]["seconds"]
        with tempfile.TemporaryDirectory(prefix="corpus-", ignore_cleanup_errors=True) as scratch:
            os.chmod(scratch, 0o755)
            if name == "ours":
                judge_ours(hand_ins, Path(scratch), verdict)
                keep(name, "this checkout", verdict, started)
            else:
                kind, python = peers[name]
                if python is None:
                    print(f"{name}: left out, its environment was not named")
                    continue
                version = version_of(python, PACKAGES[name])
                known_so_far = functools.partial(keep, name, version, verdict, started)
                judge_peer(kind(python, Path(scratch)), hand_ins, verdict, known_so_far)
        say(name, verdict)


if __name__ == "__main__":
    main()
