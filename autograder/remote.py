"""What a worker of a cluster does: one task at a time, from bytes to text, writing nothing.

It sees what a task brings along and its own sandbox: no gradebook, no class, no course.
"""

import collections
import functools
import json
import shutil
import tempfile
import threading
from pathlib import Path

from distributed import get_worker

from autograder import environment, packed
from autograder.work import work

KEPT = 4  # packs; each may hold a lesson's data files


def serve(kind, digest, pack, own):
    """Do one task and return JSON text.

    kind    see work.work
    digest  names the pack; pack is its bytes, or None where this worker may have it already
    own     the task's own part, see packed

    The text is work's outcome, or {"missing": digest} where the pack is needed, or {"refused":
    sentence, "worker": address} where this one is not fit for it.
    """
    common = _packs.find(digest, pack)
    if common is None:
        return json.dumps({"missing": digest})
    if common["refused"]:
        return _refuse(common["refused"])
    folder = Path(tempfile.mkdtemp(prefix="task-", dir=_scratch()))
    try:
        outcome = work(kind, {**common["data"], **packed.unpack(own, folder)})
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if outcome.get("kind") == "no_sandbox":
        return _refuse(f"it has no sandbox. {outcome['error']}")
    return json.dumps(outcome)


def _scratch():
    """Return the worker's own folder, which Dask removes also after a worker that was killed."""
    return get_worker().local_directory


def _refuse(reason):
    return json.dumps({"refused": reason, "worker": get_worker().address})


class _Packs:
    """The packs that were used last, unpacked in folders that end with this process."""

    def __init__(self):
        self.known = collections.OrderedDict()
        self.lock = threading.Lock()  # a worker may have several threads

    @functools.cached_property
    def home(self):
        return tempfile.TemporaryDirectory(
            prefix="packs-", dir=_scratch(), ignore_cleanup_errors=True
        )

    def find(self, digest, pack):
        """Return {"data", "refused"} of a pack, or None where it is not here."""
        with self.lock:
            if digest not in self.known:
                if pack is None:
                    return None
                self.known[digest] = self._open(digest, pack)
                while len(self.known) > KEPT:
                    old, _ = self.known.popitem(last=False)
                    shutil.rmtree(Path(self.home.name) / old, ignore_errors=True)
            self.known.move_to_end(digest)
            return self.known[digest]

    def _open(self, digest, pack):
        folder = Path(self.home.name) / digest
        data = packed.unpack(pack, folder)
        return {"data": data, "refused": _refusal(data.pop("stamp"))}


def _refusal(wanted):
    """Return why this process can't grade as the one that sent the stamp, or ""."""
    here = environment.installed(wanted["packages"], wanted["code"])
    if environment.lock_hash(here) == environment.lock_hash(wanted):
        return ""
    found = environment.differences(wanted, here)
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return f"it has {', '.join(found[:5])}{more}. {environment.MEND}"


_packs = _Packs()
