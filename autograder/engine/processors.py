"""A processor of its own for each worker.

Tests and student code take turns, hundreds of times a submission. A message to a process on another
processor takes several times as long as one that stays: the other one has to be woken first.
"""

import contextlib
import os
import random
import stat
import tempfile

_claim = None  # (processor, open lock file) of this process


def claim():
    """Return the number of a processor that no other worker of this user has claimed, or None.

    It stays claimed until this process ends. None where there is only one, or none is left: then
    the system shares out the work as it likes.
    """
    global _claim
    if _claim is None:
        _claim = _take_free_one()
    return _claim[0]


def forget():
    """In a forked worker: the claim is the parent's."""
    global _claim
    _claim = None


def _take_free_one():
    import fcntl  # only systems with a sandbox come here, and they have it

    usable = list(os.sched_getaffinity(0))
    if len(usable) > 1:
        with contextlib.suppress(OSError):
            folder = _locks()
            for number in random.Random().sample(usable, len(usable)):  # other users have locks too
                lock = open(os.path.join(folder, str(number)), "w")  # noqa: SIM115  # stays open
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    lock.close()
                else:
                    return number, lock
    return None, None


def _locks():
    """Return this user's folder of locks. Raises OSError when it is somebody else's."""
    folder = os.path.join(tempfile.gettempdir(), f"grading-processors-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(f"{folder} is not this user's")
    return folder
