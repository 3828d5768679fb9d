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


def work(task):
    """Grade one task; return the engine's result as a dict, or {"error": sentence}."""
    try:
        return engine.grade_task(task)
    except engine.SandboxUnavailable as error:
        return {"error": str(error), "kind": "no_sandbox"}
    except Exception as error:
        if os.environ.get("AUTOGRADER_DEBUG"):
            raise
        text = f"the engine could not grade it: {type(error).__name__}: {error}"
        return {"error": text, "kind": "engine"}


def grade_all(tasks, jobs):
    """Yield (name, outcome of work) for an iterable of (name, task), in the order of finishing.

    Tasks are taken from the iterable only when a worker needs them. When a worker dies, those
    that were being graded get another try, one at a time; one that kills its worker again is
    given up.
    """
    tasks = iter(tasks)
    while suspects := (yield from _with_pool(tasks, jobs)):
        for name, task in suspects:
            again = yield from _with_pool(iter([(name, task)]), 1)
            if again:
                yield name, {"error": LOST, "kind": "engine"}


def _with_pool(tasks, jobs):
    """Yield outcomes until the tasks end; return those that were under way when a worker died."""
    running = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker) as pool:
        try:
            _feed(pool, tasks, running, jobs * AHEAD)
            while running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    outcome = future.result()
                    name, _ = running.pop(future)
                    yield name, outcome
                _feed(pool, tasks, running, jobs * AHEAD)
        except BrokenProcessPool:
            return list(running.values())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return []


def _feed(pool, tasks, running, most):
    while len(running) < most:
        item = next(tasks, None)
        if item is None:
            return
        try:
            running[pool.submit(work, item[1])] = item
        except BrokenProcessPool:
            running[object()] = item
            raise


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
