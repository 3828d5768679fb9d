"""Grades one submission: runs its plan, keeps the limits, restarts what had to be killed."""

import atexit
import copy
import functools
import json
import os
import stat
import threading
import time

import nbformat
from nbgrader import utils

from . import cells, processors
from .cleaning import clean_cells
from .code import imported_modules
from .model import CellResult, Limits, Policy, Problem, Result
from .processes import OutOfTime, Runtime, TesterDied
from .repairs import Step, give_ids, plan, repair, second_chances
from .source import hidden_lines, read_source

_GRACE = 3  # seconds that the trusted process gets to notice that the student's one is gone
_AHEAD = 8  # steps that the trusted process may know before their turn
MAX_FILES = 1000
_MAX_DEPTH = 20  # folders
_MAX_RUNTIMES = 3  # each holds some 100 MB


def grade(
    source_nb,
    submitted_nb,
    *,
    released_nb=None,
    files=None,
    given_files=(),
    source_files=None,
    limits=None,
    policy=None,
    sandbox="required",
):
    """Grade one submission and return its Result.

    source_nb     the instructor's nbgrader notebook, with solutions and hidden tests
    submitted_nb  the student's notebook, nbformat 4; it is not changed
    released_nb   the notebook as students got it, where it is not what nbgrader's own
                  ClearSolutions makes of source_nb
    files         folder of the submission's other files, shown to its code
    given_files   [(path, relative name)] of the instructor's files that students have; they are
                  shown too, whatever the submission has in their place
    source_files  folder of the lesson's other files, shown to the tests
    sandbox       "required", or "off" for checking one's own notebook without protection

    Raises SandboxUnavailable when student code can't be run safely.
    """
    limits, policy = limits or Limits(), policy or Policy()
    source = _read_source(json.dumps(source_nb), released_nb and json.dumps(released_nb))
    return _grade(source, submitted_nb, files, given_files, source_files, limits, policy, sandbox)


def _grade(source, submitted, files, given_files, source_files, limits, policy, sandbox):
    runtime = _runtime(policy, limits, sandbox)
    with runtime.lock:
        return _Grading(source, submitted, runtime, files, given_files, source_files).run()


def grade_task(task):
    """Grade from plain data to plain data, for any executor.

    task  {"source": text, "submitted": notebook, "released": text, "files", "given_files",
          "source_files", "limits": dict, "policy": dict, "sandbox"}: grade's arguments, the
          lesson's two notebooks as JSON text, which is the same for a whole class. Only the first
          two are needed.
          Returns Result.to_dict().
    """
    return _grade(
        _read_source(task["source"], task.get("released")),
        nbformat.from_dict(task["submitted"]),
        task.get("files"),
        task.get("given_files", ()),
        task.get("source_files"),
        Limits(**task.get("limits") or {}),
        Policy(**task.get("policy") or {}),
        task.get("sandbox", "required"),
    ).to_dict()


def warm_up(task):
    """Start what tasks with these "limits", "policy" and "sandbox" will use; see grade_task.

    An empty submission is run. Raises SandboxUnavailable when student code can't be run safely.
    """
    limits, policy = Limits(**task.get("limits") or {}), Policy(**task.get("policy") or {})
    runtime = _runtime(policy, limits, task.get("sandbox", "required"))
    with runtime.lock:
        if runtime.sandboxed:
            runtime.open()
            runtime.sandbox.try_out()


@functools.lru_cache(maxsize=32)
def _read_source(text, released):
    released = released and nbformat.from_dict(json.loads(released))
    return read_source(nbformat.from_dict(json.loads(text)), released)


_runtimes = {}
_runtimes_lock = threading.Lock()


def _runtime(policy, limits, sandbox):
    """Return this process's warm processes for a course."""
    key = (repr(policy), repr(limits), sandbox)
    with _runtimes_lock:
        runtime = _runtimes.pop(key, None) or Runtime(policy, limits, sandbox)
        _runtimes[key] = runtime
        while len(_runtimes) > _MAX_RUNTIMES:
            oldest = _runtimes.pop(next(iter(_runtimes)))
            with oldest.lock:
                oldest.close()
        return runtime


def _forget():
    """In a forked worker: the warm processes belong to the parent."""
    global _runtimes_lock
    _runtimes.clear()
    _runtimes_lock = threading.Lock()
    processors.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@atexit.register
def close_all():
    """End the warm processes of this process."""
    for key in list(_runtimes):
        _runtimes.pop(key).close()


class _Grading:
    """One submission on its way through the engine."""

    def __init__(self, source, notebook, runtime, files, given_files, source_files):
        self.source, self.notebook, self.runtime = source, notebook, runtime
        self.limits, self.policy = runtime.limits, runtime.policy
        self.problems = []
        self.files = self._read_files(files, given_files)
        self.source_files = source_files
        self.cwd = files
        self.done = []  # steps to replay after a restart
        self.outcomes = {}
        self.restarts = 0
        self.tested = False  # whether a test ran in the process that is there now
        self.processes = None

    def run(self):
        """Run the whole plan; always returns a Result."""
        started = time.monotonic()
        self.deadline = started + self.limits.submission
        self.processes = self.runtime.new_submission(
            self.source, self.files, self.source_files, self.cwd
        )
        try:
            self.repaired = repair(self.source, self.notebook)
            self.problems[:0] = self.repaired.problems
            self._check_imports()
            self.processes.setup(self.source)
            steps = list(enumerate(plan(self.repaired)))
            for position, (number, step) in enumerate(steps):
                self._send_ahead(steps[position : position + _AHEAD])
                self._step(step, number)
            for place in second_chances(self.source, self.repaired):
                self._test_again(place)
            self.processes.begin_end()  # the system takes its time, and so does this:
            graded = [self._cell_result(cell) for cell in self.source.cells if _is_graded(cell)]
            stored = self._stored()
        finally:
            self.processes.end()
        return Result(graded, self.problems, stored, time.monotonic() - started)

    def _send_ahead(self, steps):
        if time.monotonic() < self.deadline and self.restarts <= self.limits.restarts:
            commands = [self._command(step, number) for number, step in steps]
            self.processes.send_ahead(commands)

    def _say(self, kind, message):
        problem = Problem(kind, message)
        if problem not in self.problems and len(self.problems) < 100:
            self.problems.append(problem)

    # -- running --------------------------------------------------------------------------------

    def _step(self, step, number):
        tested = self.tested
        status, answer = self._attempt(step, number)
        if tested and status in ("crashed", "forged"):
            # A thread that an earlier test started may have done it: once more without that test.
            status, answer = self._attempt(step, number)
        if step.kind == "test":
            self.outcomes[id(step.place)] = self._judge(step.place, status, answer)
        elif step.kind == "student":
            self._note_student_cell(step.place, status, answer)
        if status == "ok" and step.kind != "test":
            self.done.append((step, number))

    def _test_again(self, place):
        """Run a failed test after all cells, in a process that no test has touched before."""
        first = self.outcomes[id(place)]
        if first["points"] > 0 or first["status"] in ("timeout", "crashed"):
            return
        self._restart()
        self._step(Step("test", place), 0)
        if self.outcomes[id(place)]["points"] > 0:
            self._say(
                "order",
                f"The answer to {place.known.grade_id} comes later in the notebook than its test; "
                "the test was run after it.",
            )

    def _attempt(self, step, number):
        """Run one step; return ("ok", answer), or (why not, None).

        Why not: "out_of_time", "given_up", "timeout", "crashed" or "forged".
        """
        left = self.deadline - time.monotonic()
        if left <= 0:
            return "out_of_time", None
        if self.restarts > self.limits.restarts:
            return "given_up", None
        seconds = self.limits.test if step.kind == "test" else self.limits.cell
        self.tested = self.tested or step.kind == "test"
        try:
            answer = self.processes.command(self._command(step, number), min(seconds, left))
        except OutOfTime:
            status = "timeout"
        except TesterDied:
            status = "crashed"
        else:
            if answer["status"] == "ok":
                return "ok", answer
            status = "forged" if answer["status"] == "forged" else "crashed"
        self._restart()
        return status, None

    def _command(self, step, number):
        return {
            "do": step.kind,
            "source": step.place.cell.source,
            "number": number,
            "restore": self.policy.restore,
        }

    def _restart(self):
        """Begin again with a fresh process and the cells that ran well before."""
        self.restarts += 1
        self.tested = False
        if self.restarts > self.limits.restarts:
            return
        fresh_tester = self.processes.restart(_GRACE)
        if fresh_tester:
            self.processes.setup(self.source)
        for step, number in list(self.done):
            if step.kind == "trusted" and not fresh_tester:
                continue
            left = self.deadline - time.monotonic()
            if left <= 0:
                return
            try:
                command = self._command(step, number)
                answer = self.processes.command(command, min(self.limits.cell, left))
                went_well = answer["status"] == "ok"
            except (OutOfTime, TesterDied):
                went_well = False
            if not went_well:
                self.done.remove((step, number))
                self._restart()
                return

    # -- what came out --------------------------------------------------------------------------

    def _judge(self, place, status, answer):
        """Return {points, status, message, outputs} of a test, by nbgrader's own rules."""
        known = place.known
        if status != "ok":
            return _zero(status, self._kill_message(status))
        outcome = answer["outcome"]
        error = outcome["error"]
        outputs = []
        if outcome["text"]:
            outputs.append(cells.stream(outcome["text"]))
        if error is not None:
            message = _test_message(error, known)
            outputs.append(cells.error(error["name"], message))
            status = "failed" if error["is_assertion"] else "error"
            if error["not_written"]:
                status = "not_written"
            return {"points": 0.0, "status": status, "message": message, "outputs": outputs}
        if outcome["value"] is not None:
            outputs.append(cells.result(outcome["value"]))
        return self._points(known, outputs)

    def _points(self, known, outputs):
        cell = nbformat.from_dict({**known.cell, "outputs": outputs})
        try:
            points, most = utils.determine_grade(cell)
        except ValueError:
            message = "The test gave more points than it has. The instructor needs to mend it."
            self._say("broken_test", f"{known.grade_id}: {message}")
            return _zero("error", message)
        status = "passed" if points == most else "partial" if points > 0 else "failed"
        message = "" if points == most else f"{points:g} of {most:g} points."
        return {"points": float(points), "status": status, "message": message, "outputs": outputs}

    def _kill_message(self, status):
        return {
            "timeout": f"No answer within {self.limits.test:g} seconds. Is there an endless loop?",
            "crashed": "Your code ended the Python process, or used too much memory.",
            "forged": "Your code disturbed the connection to the tests.",
            "out_of_time": f"The notebook used up its {self.limits.submission:g} seconds before "
            "this test.",
            "given_up": "Your code ended the Python process too often.",
        }[status]

    def _note_student_cell(self, place, status, answer):
        name = f"cell {place.known.grade_id}" if place.known else "a cell of the notebook"
        if status != "ok":
            message = self._kill_message(status).replace("this test", "this cell")
            message = message.replace(f"{self.limits.test:g} s", f"{self.limits.cell:g} s", 1)
            place.cell.outputs = [cells.error("Stopped", message)]
            self._say(status, f"In {name}: {message} It was left out.")
            return
        report = answer["report"]
        outputs = []
        if report["text"]:
            outputs.append(cells.stream(report["text"]))
        outputs += [cells.picture(figure) for figure in report["figures"]]
        error = report["error"]
        if error is not None:
            text = "\n".join([*error["lines"], f"{error['name']}: {error['message']}"])
            outputs.append(cells.error(error["name"], error["message"], text))
            self._note_hidden(error["message"])
        place.cell.outputs = outputs

    def _note_hidden(self, message):
        for module, sentence in self.policy.hidden.items():
            if sentence in message:
                self._say("hidden_module", f"The notebook uses {module}: {sentence}")

    def _check_imports(self):
        """Report imports of modules that hold answers, whether or not they were run."""
        for place in self.repaired.places:
            own = place.is_code and place.is_student and place.run
            for name in imported_modules(place.cell.source) if own else ():
                for module, sentence in self.policy.hidden.items():
                    if name == module or name.startswith(module + "."):
                        self._say("hidden_module", f"The notebook uses {module}: {sentence}")

    def _cell_result(self, known):
        place = next((p for p in self.repaired.places if p.known is known), None)
        outcome = self.outcomes.get(id(place))
        if outcome is not None:
            found = {**outcome, "outputs": [dict(output) for output in outcome["outputs"]]}
            return CellResult(known.grade_id, max_points=known.points, **found)
        written = place is not None and place.cell.source.strip() != known.release.strip()
        if known.role == "manual" and not written:
            status, points, message = "not_written", 0.0, "Nothing written."
        else:
            status, points, message = "manual", None, "A person grades this."
        by_hand = known.role == "manual"
        return CellResult(known.grade_id, points, known.points, status, message, by_hand=by_hand)

    def _stored(self):
        """Return the repaired notebook, with the outputs of the trusted side, as a dict."""
        stored = []
        for place in self.repaired.places:
            cell = copy.copy(place.cell)
            if id(place) in self.outcomes:
                cell.outputs = self.outcomes[id(place)]["outputs"]
            stored.append(cell)
        own_texts = (text for known in self.source.cells for text in (known.source, known.release))
        clean_cells(stored, own_texts)
        metadata = {k: v for k, v in self.source.metadata.items() if k != "widgets"}
        give_ids(stored)
        notebook = {"cells": stored, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
        return json.loads(json.dumps(notebook))

    # -- files ----------------------------------------------------------------------------------

    def _read_files(self, folder, given_files):
        """Return [(path, bytes)] of the files that the submission's code gets to see.

        The student's own are regular files up to the policy's size.
        """
        if not self.runtime.sandboxed:
            return []
        given = {name: read_file(path, os.stat(path).st_size) for path, name in given_files}
        found, size = {}, 0
        for path, name in regular_files(folder) if folder is not None else ():
            length = os.lstat(path).st_size
            if name in given:
                continue
            if size + length > self.policy.files_mb << 20 or len(found) >= MAX_FILES:
                self._say("files", f"The files are too large or too many; {name} was left out.")
                continue
            data = read_file(path, length)
            if data is not None:
                size += length
                found[name] = data
        return list((found | given).items())


def regular_files(folder):
    """Yield (path, relative name) of the plain files below a folder that a submission may see."""
    for parent, folders, names in os.walk(folder):
        deep = os.path.relpath(parent, folder).count(os.sep) >= _MAX_DEPTH
        folders[:] = sorted(f for f in folders if not deep and not f.startswith("."))
        for name in sorted(names):
            path = os.path.join(parent, name)
            if stat.S_ISREG(os.lstat(path).st_mode) and not name.endswith(".ipynb"):
                relative = os.path.relpath(path, folder)
                if relative.isprintable():
                    yield path, relative


def read_file(path, length):
    """Return a plain file's first bytes, or None where it can't be read or is a link."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with open(fd, "rb") as source:
            return source.read(length)
    except OSError:
        return None


def _is_graded(cell):
    return cell.role in ("test", "manual")


def _zero(status, message):
    names = {"out_of_time": "timeout", "given_up": "crashed", "forged": "crashed"}
    output = cells.error("TestStopped", message)
    status = names.get(status, status)
    return {"points": 0.0, "status": status, "message": message, "outputs": [output]}


def _test_message(error, known):
    """Return what a student reads of a failed test; never a line of a hidden one."""
    name, message, line = error["name"], error["message"].strip(), error["line"]
    if error["not_written"]:
        return message or "Not written yet."
    if error["is_assertion"]:
        if message:
            return message
        hidden = hidden_lines(known.source, known.release)
        if line is None or line in hidden:
            return "A hidden check failed."
        return f"This check failed: {known.source.splitlines()[line - 1].strip()}"
    text = f"{name}: {message}" if message else name
    if error["place"]:
        return f"{text} (in your code, {error['place']})"
    return text
