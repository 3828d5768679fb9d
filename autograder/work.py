"""Grading as tasks: plain data in, plain data out, for any executor of concurrent.futures.

A task is what `engine.grade_task` takes. Workers see no gradebook and write no file.
"""

import multiprocessing
import os
import signal
import sys
import threading
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for

from autograder import engine

AHEAD = 2  # tasks that wait for each worker, so that none is idle and memory stays small
LOST = "grading it ended the grader's own process; look at the file before you grade it again"


def work(kind, task):
    """Do one task of a kind: "warm_up", "grade" or "render".

    Returns {}, or the engine's result as a dict, or {"page": HTML}; or {"error": sentence, "kind"}.
    """
    try:
        if kind == "warm_up":
            return engine.warm_up(task) or {}
        if kind == "grade":
            return engine.grade_task(task)
        from autograder.feedback import render

        return render(task)
    except engine.SandboxUnavailable as error:
        return {"error": str(error), "kind": "no_sandbox"}
    except Exception as error:
        if os.environ.get("AUTOGRADER_DEBUG"):
            raise
        text = f"the grader could not {kind} it: {type(error).__name__}: {error}"
        return {"error": text, "kind": "engine"}


def _context():
    # Never a fork of this process, which has the gradebook open: a clean one imports once.
    served = "forkserver" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if served else "spawn")
    if served:
        context.set_forkserver_preload(
            ["autograder.work", "autograder.engine.grader", "autograder.feedback"]
        )
    return context


def start_imports():
    """Let the process that workers are forked from import, at the same time as this one."""
    if _context().get_start_method() == "forkserver":
        from multiprocessing import forkserver

        forkserver.ensure_running()


class Workers:
    """Processes that do tasks. Use it with `with`.

    A cluster's executor can take the place of the pool: it needs `submit` and futures.
    """

    def __init__(self, jobs):
        self.jobs = jobs

    def __enter__(self):
        self.pool = self._new_pool(self.jobs)
        return self

    def __exit__(self, kind, *error):
        self.pool.shutdown(wait=kind is None, cancel_futures=True)

    @staticmethod
    def _new_pool(jobs):
        return ProcessPoolExecutor(jobs, mp_context=_context(), initializer=_start_worker)

    def warm_up(self, task):
        """Let all workers get ready for such tasks; return a function that waits for one of them.

        What it returns is the outcome of work.
        """
        started = [self.pool.submit(work, "warm_up", task) for _ in range(self.jobs)]

        def wait_for_first():
            try:
                return started[0].result()
            except BrokenProcessPool:
                return {}  # `do` starts another pool

        return wait_for_first

    def do(self, kind, tasks):
        """Yield (name, outcome of work) for an iterable of (name, task), as they finish.

        Tasks are taken from the iterable only when a worker needs them. When a worker dies, those
        that were under way get another try, one at a time; one that kills its worker again is
        given up.
        """
        tasks, running = iter(tasks), {}
        while True:
            try:
                self._feed(kind, tasks, running)
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    outcome = future.result()
                    name, _ = running.pop(future)
                    yield name, outcome
            except BrokenProcessPool:
                suspects, running = list(running.values()), {}
                self.pool.shutdown(wait=False)
                self.pool = self._new_pool(self.jobs)
                for name, task in suspects:
                    yield name, self._try_alone(kind, task)

    def _feed(self, kind, tasks, running):
        while len(running) < self.jobs * AHEAD and (item := next(tasks, None)) is not None:
            running[object()] = item  # not lost when the pool breaks just now
            future = self.pool.submit(work, kind, item[1])
            running.popitem()
            running[future] = item

    def _try_alone(self, kind, task):
        with self._new_pool(1) as pool:
            try:
                return pool.submit(work, kind, task).result()
            except BrokenProcessPool:
                return {"error": LOST, "kind": "engine"}


def _start_worker():
    """Leave Ctrl+C to the coordinating process, and end when it has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel):
    wait_for([sentinel])
    engine.close_all()
    sys.stdout.flush()
    os._exit(1)
