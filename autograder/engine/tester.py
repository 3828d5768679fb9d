"""The trusted process: runs the instructor's cells against proxies of the student's names.

`python -m autograder.engine.tester server FD` stays warm and forks one tester a submission;
`python -m autograder.engine.tester single` is one tester on its standard streams, for systems
without fork. Commands and answers are JSON frames.
"""

import ast
import builtins
import contextlib
import ctypes
import functools
import gc
import importlib
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
import types
import warnings

from . import proxies
from .code import without_magics
from .inside.peer import Peer
from .inside.wire import Channel, LostError, WireError

MAX_OUTPUT = 32 << 10
STEPS = ("student", "trusted", "test")
TEST_FILE = "<test>"
TRUSTED_FILE = "<instructor>"
_PR_SET_PDEATHSIG = 1


class Names(dict):
    """The namespace of the instructor's cells, one with the student's.

    Names that the instructor's solutions or open cells define ("shared") live in the student's
    process: reading fetches, assigning stores, deleting deletes there. All other names that tests
    assign stay here, so that nothing a hidden test computes can be read by student code. A module
    that a test imports under a shared name stays here too, for this test: the student's process
    may not have it.
    """

    def __init__(self, tester):
        super().__init__(__name__="__main__", __builtins__=builtins)
        self.tester = tester

    def __missing__(self, name):
        return self.tester.lookup(name)

    def __setitem__(self, name, value):
        shared = name in self.tester.shared and not self.tester.in_trusted_cell
        if shared and isinstance(value, types.ModuleType):
            self.tester.borrowed.add(name)
            super().__setitem__(name, value)
            return
        if shared:
            self.tester.give_back(name)
            self.tester.store(name, value)
        if not shared or name in self.tester.trusted:
            super().__setitem__(name, value)

    def __delitem__(self, name):
        if name in self.tester.borrowed:
            self.tester.give_back(name)
        elif name in self.tester.shared:
            self.tester.delete(name)
            self.pop(name, None)
        else:
            super().__delitem__(name)


class Main(types.ModuleType):
    """What `import __main__` gives to tests: the names of the notebook, to read.

    But for special names: a student's `__path__` would say where modules are looked for.
    """

    def __init__(self, names):
        super().__init__("__main__")
        object.__setattr__(self, "_names", names)

    def __getattr__(self, name):
        if not name.startswith("__"):
            with contextlib.suppress(KeyError):
                return self._names[name]
        raise AttributeError(f"module '__main__' has no attribute {name!r}")


class Tester:
    """Runs one submission's plan, command by command."""

    def __init__(self, commands, connections=None, processor=None):
        self.commands, self.connections = commands, connections
        self.processor = processor  # where the student's process runs
        self.peer = None
        self.held = {}  # the student's functions and classes, until they are told to have changed
        self.child = None
        self.shared = self.trusted = frozenset()
        self.watched = frozenset()  # shared names that should not be bound over here
        self.in_trusted_cell = False
        self.borrowed = set()  # shared names that stand for a module of the running test
        self.names = Names(self)

    def run(self):
        """Serve commands until the grader ends the conversation."""
        sys.modules["__main__"] = Main(self.names)
        while True:
            try:
                message, _ = self.commands.receive()
            except LostError:
                return
            try:
                if self.peer is not None and self.peer.lost and message["do"] in STEPS:
                    raise LostError  # it was sent before that was known
                answer = getattr(self, f"do_{message['do']}")(message)
            except (LostError, WireError) as error:
                answer = self._lost(error)
            self.commands.send(answer)

    def _lost(self, error):
        if self.peer is not None and not self.peer.lost:
            self.peer.end()
        forged = isinstance(error, WireError)
        return {"status": "forged" if forged else "lost"}

    # -- commands ---------------------------------------------------------------------------

    def do_setup(self, message):
        """Take over what the instructor's notebook says of names, operators and imports."""
        self.fallbacks = message["fallbacks"]
        self.shared = frozenset(message["shared"])
        self.operators = {k: frozenset(v) for k, v in message["operators"].items()}
        self.definitions = message["definitions"]
        self.trusted = frozenset(message["trusted"])
        self.watched = self.shared - self.trusted
        self.pure = tuple(message["pure"])
        sys.path[:0] = [p for p in message["path"] if p not in sys.path]
        return {"status": "ok"}

    def do_settle(self, _message):
        """Answer that all earlier commands have been answered."""
        return {"status": "settled"}

    def do_connect(self, message):
        """Talk to a fresh session of the student's from now on."""
        if self.peer is not None:
            self.peer.end()
        self._end_child()
        channel = self._spawn(message["spawn"]) if message.get("spawn") else self._receive()
        if self.processor is not None:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, [self.processor])
        self.peer = Peer(
            channel,
            functools.partial(proxies.describe, pure=self.pure),
            proxies.make_proxy(self.operators),
            self._perform,
            proxies.remote_of,
            keep_errors=True,
        )
        self.peer.before_request = self._publish
        self.peer.on_news = self._forget
        self.held = {}
        return {"status": "ok", "child": self.child.pid if self.child else None}

    def _receive(self):
        _, descriptors, _, _ = socket.recv_fds(self.connections, 16, 1)
        return Channel(descriptors[0], descriptors[0])

    def _spawn(self, spawn):
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(
            spawn["command"], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL,
            env=spawn["env"], cwd=spawn["cwd"],
        )  # fmt: skip
        write, read = os.dup(self.child.stdin.fileno()), os.dup(self.child.stdout.fileno())
        self.child.stdin.close()
        self.child.stdout.close()
        return Channel(read, write)

    def _end_child(self):
        if self.child is not None:
            self.child.kill()
            self.child.wait()
            self.child = None

    @staticmethod
    def _perform(obj, operation, args, kwargs):
        if obj is None:
            raise WireError("student code can't ask for the tests' session")
        return proxies.perform(obj, operation, args, kwargs)

    def do_student(self, message):
        """Run one of the student's cells; answer what it printed, showed and raised."""
        report = self.peer.request(None, "cell", message["source"], message["number"])
        return {"status": "ok", "report": clean_report(report)}

    def do_trusted(self, message):
        """Run one of the instructor's read-only cells here."""
        self.in_trusted_cell = True
        try:
            outcome = self._execute(message["source"], TRUSTED_FILE)
        finally:
            self.in_trusted_cell = False
        return {"status": self._status(outcome), "outcome": outcome}

    def do_test(self, message):
        """Run one test cell; answer its outcome as plain data."""
        outcome = self._execute(message["source"], TEST_FILE)
        for name in list(self.borrowed):
            self.give_back(name)
        if message.get("restore") and not self.peer.lost:
            self.peer.request(None, "restore")
        return {"status": self._status(outcome), "outcome": outcome}

    def _status(self, _outcome):
        return "lost" if self.peer.lost else "ok"

    # -- the shared namespace -----------------------------------------------------------------

    def lookup(self, name):
        """Return the value of a name that no test cell has assigned; KeyError when none has one."""
        if name in self.definitions:
            self._define(name)
            return dict.__getitem__(self.names, name)
        if name in vars(builtins) and name not in self.shared:
            raise KeyError(name)
        if self.peer is None:
            raise KeyError(name)
        if name in self.held:
            return self.held[name]
        answer = self.peer.request(None, "fetch", name)
        if type(answer) is not tuple or len(answer) != 2 or type(answer[0]) is not bool:
            raise WireError("a malformed answer")
        if not answer[0]:
            raise KeyError(name)
        if name in self.fallbacks:
            self._run_statement(self.fallbacks[name])
            return dict.__getitem__(self.names, name)
        if type(answer[1]) is proxies.StudentObject:
            self.held[name] = answer[1]
        return answer[1]

    def _forget(self, names):
        for name in names:
            self.held.pop(name, None)

    def _define(self, name):
        """Run the instructor's own statement that binds `name`, on first use."""
        source = self.definitions[name]
        for other in [n for n, text in self.definitions.items() if text == source]:
            del self.definitions[other]
        self._run_statement(source)

    def _run_statement(self, source):
        local = {}
        exec(compiled(source, TRUSTED_FILE)[0], self.names, local)
        for bound, value in local.items():
            dict.__setitem__(self.names, bound, value)

    def give_back(self, name):
        """Let a shared name be the student's again, where it stood for a test's module."""
        if name in self.borrowed:
            self.borrowed.remove(name)
            dict.pop(self.names, name)

    def store(self, name, value):
        """Give a shared name a value in the student's process."""
        self.peer.request(None, "store", name, value)

    def delete(self, name):
        """Delete a shared name in the student's process."""
        if self.peer.request(None, "delete", name) is not True:
            raise KeyError(name)

    # -- running the instructor's code ----------------------------------------------------------

    def _execute(self, source, name):
        printed = _Printed()
        outcome = {"value": None, "error": None}
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            warnings.catch_warnings(),
        ):
            try:
                outcome["value"] = self._run(source, name)
            except (LostError, WireError):
                self.peer.end()
            except BaseException as error:
                outcome["error"] = error_report(error, name)
                error.__traceback__ = None
        outcome["text"] = printed.getvalue()
        return outcome

    def _run(self, source, name):
        statements, last = compiled(source, name)
        exec(statements, self.names)
        return None if last is None else result_text(eval(last, self.names))

    def _publish(self):
        """Send shared names that a `global` statement bound over here to where they live."""
        bound = dict.keys(self.names)
        if self.in_trusted_cell or bound.isdisjoint(self.watched):
            return
        for name in self.watched.intersection(bound) - self.borrowed:
            self.store(name, dict.pop(self.names, name))


@functools.lru_cache(maxsize=1024)
def compiled(source, name):
    """Return (code of a cell's statements, code of the expression at its end or None)."""
    tree = ast.parse(without_magics(source), name)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        expression = ast.Expression(tree.body.pop().value)
        last = compile(expression, name, "eval", dont_inherit=True)
    return compile(tree, name, "exec", dont_inherit=True), last


class _Printed(io.StringIO):
    def write(self, text):
        if self.tell() < MAX_OUTPUT:
            super().write(text[:MAX_OUTPUT])
        return len(text)


def result_text(value):
    """Return what a notebook would show for the cell's last value; None for nothing.

    A number is shown plainly, whatever its type, because it stands for partial credit.
    """
    import numbers

    if value is None:
        return None
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
        return repr(int(number)) if number.is_integer() else repr(number)
    try:
        return repr(value)[:2000]
    except Exception:
        return f"<{type(value).__name__}>"


def error_report(error, name):
    """Return {name, message, line, place} of an error in the instructor's cell."""
    line = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == name:
            line = number
    if isinstance(error, SyntaxError) and error.filename == name:
        line = error.lineno
    kind = type(error)
    try:
        message = str(error)[:4000]
    except Exception:
        message = ""
    place = getattr(error, "place", "")
    return {
        "name": kind.__name__,
        "message": message,
        "line": line,
        "place": place if isinstance(place, str) else "",
        "is_assertion": isinstance(error, AssertionError),
        "not_written": isinstance(error, NotImplementedError) or "not written" in message,
    }


def clean_report(report):
    """Return a student cell's report as exact plain data; raise WireError when it is malformed."""
    if type(report) is not dict or set(report) != {"text", "error", "figures"}:
        raise WireError("a malformed report")
    error = report["error"]
    if type(report["text"]) is not str or not (error is None or type(error) is dict):
        raise WireError("a malformed report")
    clean = {"text": report["text"][: 70 << 10], "error": None, "figures": []}
    if error is not None:
        lines = error.get("lines")
        lines = lines if type(lines) is list else []
        clean["error"] = {
            "name": _short(error.get("name"), 100),
            "message": _short(error.get("message"), 2000),
            "lines": [_short(line, 300) for line in lines[:10]],
        }
    figures = report["figures"]
    if type(figures) is list:
        clean["figures"] = [f for f in figures[:8] if _is_png(f)]
    return clean


def _short(text, length):
    return text[:length] if type(text) is str else ""


def _is_png(text):
    return (
        type(text) is str
        and len(text) < 2 << 20
        and text.startswith("iVBORw0KGgo")
        and re.fullmatch(r"[A-Za-z0-9+/=]*", text) is not None
    )


# -- processes --------------------------------------------------------------------------------


def _limit_memory(megabytes):
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_DATA, (megabytes << 20, megabytes << 20))


def _end_with_parent():
    """Let the kernel end this process when the warm one ends, so that no test runs on alone."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def serve(descriptor):
    """Warm up, then fork one tester for each pair of sockets that comes in."""
    control = socket.socket(fileno=descriptor)
    settings = json.loads(control.recv(1 << 20))
    sys.path[:0] = [p for p in settings["path"] if p not in sys.path]
    for name in settings["warm"]:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    control.send(b"warm")
    while True:
        text, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 2)
        _reap()
        if not text:
            os._exit(0)
        request = json.loads(text)
        if "cells" in request:
            _compile_cells(*descriptors)
            continue
        child = os.fork()
        if child == 0:
            control.close()
            _one_submission(request, *descriptors)
        for fd in descriptors:
            os.close(fd)
        control.send(json.dumps({"tester": child}).encode())


def _compile_cells(descriptor):
    """Compile a lesson's cells, which all its testers will run; none is run here."""
    with open(descriptor, "rb") as packed:
        cells = json.load(packed)
    for source, kind in cells:
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            compiled(source, TEST_FILE if kind == "test" else TRUSTED_FILE)
    gc.freeze()


def _reap():
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _one_submission(request, commands, connections):
    try:
        _end_with_parent()
        _limit_memory(request["memory_mb"])
        with tempfile.TemporaryDirectory() as folder:
            _link_files(request.get("files"), folder)
            os.chdir(folder)
            channel, sessions = Channel(commands, commands), socket.socket(fileno=connections)
            Tester(channel, sessions, request.get("processor")).run()
            os.chdir("/")
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def _link_files(source, folder):
    if source:
        for name in os.listdir(source):
            if not name.endswith(".ipynb"):
                os.symlink(os.path.join(source, name), os.path.join(folder, name))


def single():
    """Be one tester on standard input and output."""
    read, write = os.dup(0), os.dup(1)
    quiet = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(quiet, standard)
    tester = Tester(Channel(read, write))
    try:
        tester.run()
    finally:
        tester._end_child()


def main():
    """Start as a server or as a single tester."""
    sys.modules["__main__"] = types.ModuleType("__main__")
    if sys.argv[1] == "server":
        serve(int(sys.argv[2]))
    else:
        single()


if __name__ == "__main__":
    main()
