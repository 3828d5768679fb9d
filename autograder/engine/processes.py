"""The processes of a grading: the warm ones of a worker, and the two of each submission."""

import collections
import contextlib
import json
import os
import queue
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from . import processors
from .inside.wire import Channel, LostError, WireError
from .sandbox import Sandbox, SandboxUnavailable, in_a_file, inside_settings

TESTER_MEMORY_MB = 2048
START_SECONDS = 60
SETUP_SECONDS = 30
MAX_AHEAD = 5000  # characters of commands that wait: JSON takes up to 12 for one, a pipe 64 kB


class EngineError(RuntimeError):
    """Grading itself failed, through no fault of the submission; it has no result."""


class OutOfTime(EngineError):
    """A command was not answered in time."""


class TesterDied(EngineError):
    """The trusted process is gone."""


class Runtime:
    """The warm processes that one worker uses for all submissions of a course."""

    def __init__(self, policy, limits, sandbox):
        if sandbox not in ("required", "off"):
            raise ValueError(f'sandbox must be "required" or "off", not {sandbox!r}')
        self.policy, self.limits = policy, limits
        self.sandboxed = sandbox == "required"
        self.processor = None
        self.lock = threading.Lock()
        self.sandbox = self.control = self.server = None
        self.compiled = set()  # cells that the trusted process has compiled
        self.folder = tempfile.mkdtemp(prefix="grading-")

    def new_submission(self, source, files, source_files, cwd):
        """Return the processes of one submission; they start while the caller goes on."""
        if not self.sandboxed:
            return PlainSubmission(self, cwd)
        self.open()
        self.compile_cells(source.trusted_code())
        self.sandbox.compile_cells(source.open_code)
        return SandboxedSubmission(self, files, source_files)

    def open(self):
        """Start what is not running; both warm processes import at the same time."""
        fresh_server = self.server is None
        if fresh_server:
            self._launch_server()
        if self.sandbox is None:
            sandbox = Sandbox(self.policy, self.limits, self.processor)
            try:
                sandbox.open()
            except BaseException:
                self._close_server()
                raise
            self.sandbox = sandbox
        if fresh_server and self.control.recv(16) != b"warm":
            self._close_server()
            raise EngineError("the trusted process did not start")

    def _launch_server(self):
        self.processor = processors.claim()
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fd = theirs.fileno()
        self.server = subprocess.Popen(
            tester_program("server", str(fd)), pass_fds=[fd], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, env=tester_environment(self.folder), cwd=self.folder,
            start_new_session=True,
        )  # fmt: skip
        theirs.close()
        self.control.settimeout(START_SECONDS)
        warm = list(self.policy.test_warm)
        self.control.send(json.dumps({"warm": warm, "path": list(self.policy.test_path)}).encode())

    def compile_cells(self, cells):
        """Let the trusted process compile a lesson's cells once, for all submissions.

        cells  [(text, kind)], see Source.trusted_code
        """
        new = [cell for cell in cells if cell not in self.compiled]
        if new:
            with in_a_file(json.dumps(new).encode()) as packed, contextlib.suppress(OSError):
                # a dead process shows when a tester is wanted
                socket.send_fds(self.control, [b'{"cells": true}'], [packed.fileno()])
            self.compiled.update(new)

    def fork_tester(self, source_files):
        """Return (commands socket, connections socket, process number) of a fresh tester."""
        commands, their_commands = socket.socketpair()
        connections, their_connections = socket.socketpair()
        request = {
            "memory_mb": TESTER_MEMORY_MB,
            "files": source_files and str(source_files),
            "processor": self.processor,
        }
        with their_commands, their_connections:
            descriptors = [their_commands.fileno(), their_connections.fileno()]
            try:
                socket.send_fds(self.control, [json.dumps(request).encode()], descriptors)
                answer = self.control.recv(1 << 16)
            except OSError:
                answer = b""
        if not answer:
            self._close_server()
            raise EngineError("the trusted process ended; grade this submission again")
        return commands, connections, json.loads(answer)["tester"]

    def reopen_sandbox(self):
        """Start the warm student process again, should it ever have died."""
        if self.sandbox is not None:
            self.sandbox.close()
            self.sandbox = None
        self.open()

    def _close_server(self):
        if self.server is not None:
            self.control.close()
            self.server.kill()
            self.server.wait()
        self.control = self.server = None
        self.compiled = set()

    def close(self):
        """End all warm processes."""
        if self.sandbox is not None:
            self.sandbox.close()
            self.sandbox = None
        self._close_server()
        shutil.rmtree(self.folder, ignore_errors=True)


def tester_program(*arguments):
    """Return the command that starts the trusted process."""
    return [sys.executable, "-m", "autograder.engine.tester", *arguments]


def tester_environment(folder):
    """Return the environment of the trusted process: the grader's, and where to import from."""
    here = str(Path(__file__).parents[2])
    path = [here, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {
        **os.environ,
        **threads,
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(path)),
        "PYTHONHASHSEED": "0",
        "MPLBACKEND": "agg",
        "TMPDIR": folder,
    }


class _Submission:
    """A trusted process and a student's process that talk to each other."""

    def __init__(self, runtime):
        self.runtime = runtime
        self.ahead = collections.deque()  # commands that were sent before their turn
        self.commands = None

    def setup(self, source):
        """Tell a fresh trusted process about the lesson, and connect it to the student's."""
        self.command(source.tester_setup(self.runtime.policy), SETUP_SECONDS)
        self.connect()

    def command(self, message, seconds):
        """Send one command; return its answer. Raises OutOfTime or TesterDied."""
        try:
            if not self.ahead:
                self.commands.send(message)
            elif self.ahead.popleft() != message:
                raise EngineError("the commands came in another order than foreseen")
            return self._answer(seconds)
        except LostError:
            raise TesterDied from None

    def send_ahead(self, messages):
        """Send the commands that come next, as far as they fit, so that none is waited for.

        The trusted process runs them in turn, and none of them once the student's is lost.
        """
        size = sum(len(message["source"]) for message in self.ahead)
        for message in messages[len(self.ahead) :]:
            size += len(message["source"])
            if size > MAX_AHEAD:
                return
            try:
                self.commands.send(message)
            except LostError:
                return  # told when the answer is missing
            self.ahead.append(message)

    def restart(self, grace):
        """Replace the student's process, and the trusted one where it does not come back.

        Returns whether the trusted process is a fresh one.
        """
        self.ahead.clear()
        self.stop_student()
        if self._settled(grace):
            self.connect()
            return False
        self._end_tester()
        self.start_tester()
        return True

    def _settled(self, grace):
        """Wait until the trusted process has answered all commands; False when it does not."""
        try:
            self.commands.send({"do": "settle"})
            while self._answer(grace).get("status") != "settled":
                pass
            return True
        except (OutOfTime, LostError):
            return False


class SandboxedSubmission(_Submission):
    """The processes of a submission in the sandbox."""

    def __init__(self, runtime, files, source_files):
        super().__init__(runtime)
        self.files, self.source_files = files, source_files
        self.session = self.tester = self.connections = None
        self.begun = runtime.sandbox.begin_start(files)
        try:
            self.start_tester()
        except BaseException:
            self.stop_student()
            raise

    def start_tester(self):
        commands, self.connections, self.tester = self.runtime.fork_tester(self.source_files)
        fd = commands.detach()
        self.commands = Channel(fd, fd)
        self.poller = select.poll()
        self.poller.register(fd, select.POLLIN)

    def _answer(self, seconds):
        """Return the next answer. Raises OutOfTime or LostError."""
        if not self.commands.has_more and not self.poller.poll(seconds * 1000):
            raise OutOfTime
        try:
            return self.commands.receive()[0]
        except WireError as error:
            raise LostError from error

    def connect(self):
        """Give the trusted process a fresh student process."""
        try:
            self._finish_start()
        except SandboxUnavailable:
            self.runtime.reopen_sandbox()
            self._finish_start()
        socket.send_fds(self.connections, [b"session"], [self.session.fd])
        os.close(self.session.fd)
        self.command({"do": "connect"}, SETUP_SECONDS)

    def _finish_start(self):
        """Wait for the student's process that is under way, or start one."""
        sandbox = self.runtime.sandbox
        begun, self.begun = self.begun or sandbox.begin_start(self.files), None
        self.session = sandbox.finish_start(begun)

    def stop_student(self):
        """End every process of the student's."""
        if self.begun is not None:
            with contextlib.suppress(SandboxUnavailable):
                self._finish_start()
                os.close(self.session.fd)
        if self.session is not None:
            self.session.stop()
            self.session = None

    def begin_end(self):
        """Begin to end both sides; `end` waits for it."""
        if self.session is not None:
            self.session.begin_stop()
        self._end_tester()

    def end(self):
        """End both sides."""
        self.stop_student()
        self._end_tester()

    def _end_tester(self):
        if self.commands is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.tester, signal.SIGKILL)
        self.connections.close()
        self.commands.close()
        self.commands = None


class PlainSubmission(_Submission):
    """The processes of a submission without a sandbox, on any system."""

    def __init__(self, runtime, cwd):
        super().__init__(runtime)
        self.cwd = str(cwd) if cwd is not None else runtime.folder
        self.process = self.child = None
        self.start_tester()

    def start_tester(self):
        self.process = subprocess.Popen(
            tester_program("single"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=tester_environment(self.runtime.folder), cwd=self.runtime.folder,
        )  # fmt: skip
        read, write = os.dup(self.process.stdout.fileno()), os.dup(self.process.stdin.fileno())
        self.process.stdout.close()
        self.process.stdin.close()
        self.commands = Channel(read, write)
        self._listen(self.commands)

    def _listen(self, channel):
        """Receive in a thread of its own: not every system can wait for a pipe with a limit."""
        answers = self.answers = queue.SimpleQueue()

        def listen():
            try:
                while True:
                    answers.put(channel.receive()[0])
            except (LostError, WireError):
                answers.put(None)
            finally:
                channel.close()

        threading.Thread(target=listen, daemon=True).start()

    def _answer(self, seconds):
        """Return the next answer. Raises OutOfTime or LostError."""
        try:
            answer = self.answers.get(timeout=seconds)
        except queue.Empty:
            raise OutOfTime from None
        if answer is None:
            raise LostError
        return answer

    def connect(self):
        """Let the trusted process start a fresh student process."""
        settings = inside_settings(self.runtime.policy, self.runtime.limits)
        settings["warm"] = []  # a process of its own: it loads what the notebook asks for
        spawn = {
            "command": [sys.executable, "-m", "inside.plain", json.dumps(settings)],
            "env": _plain_environment(),
            "cwd": self.cwd,
        }
        answer = self.command({"do": "connect", "spawn": spawn}, SETUP_SECONDS)
        self.child = answer["child"]

    def stop_student(self):
        """End the student's process."""
        if self.child is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.child, getattr(signal, "SIGKILL", signal.SIGTERM))
            self.child = None

    def end(self):
        """End both sides."""
        self.stop_student()
        self._end_tester()

    begin_end = end

    def _end_tester(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def _plain_environment():
    inside = str(Path(__file__).parent)
    path = [p for p in sys.path if p]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([inside, *path]),
        "MPLBACKEND": "agg",
        "PYTHONHASHSEED": "0",
    }
