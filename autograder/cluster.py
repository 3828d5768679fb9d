"""Grading on a Dask cluster: its workers do the tasks, this process alone writes.

A task goes out as bytes and comes back as text, see packed and remote. Dask gives the tasks of a
worker that died to another one; a task's outcome is taken once, so none is lost and none doubled.
"""

import collections
import ipaddress
import json
import logging
import time
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from dataclasses import dataclass
from urllib.parse import urlsplit

from autograder import environment, packed
from autograder.errors import GradingError
from autograder.work import AHEAD, LOST

CONNECT_SECONDS = 20
CHECK_SECONDS = 180  # for a worker to start its sandbox; one that is busy answers later
PATIENCE = 60  # seconds without any worker
LOOK = 2  # seconds between two looks at the workers
NOT_INSTALLED = ModuleNotFoundError, AttributeError  # what a worker says without this package
NO_COURSE = "the course is not installed there, or another version of it ({}). " + environment.MEND
AGAIN = "What is graded so far is kept: run the same command again to go on."


def check_address(address):
    """Return a scheduler's address in full; GradingError unless the way there is safe.

    It is safe when it is encrypted, or stays on this machine.
    """
    text = address if "://" in address else f"tcp://{address}"
    scheme, host = _parts(text)
    if scheme not in ("tcp", "tls") or not host:
        raise GradingError(
            f"'{address}' is no address of a Dask scheduler, such as tls://HOST:8786."
        )
    if not _is_safe(text):
        raise GradingError(
            f"{address} is not on this machine and not encrypted: hand-ins and grades could be "
            "read and changed on the way. Start scheduler and workers with certificates and give "
            f"tls://{host}:PORT (see docs/scale.md)."
        )
    return text


def _is_safe(address):
    scheme, host = _parts(address)
    return scheme in ("tls", "inproc") or _is_loopback(host)


def _parts(address):
    try:
        found = urlsplit(address)
        return found.scheme, found.hostname or ""
    except ValueError:
        return "", ""


def _is_loopback(host):
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass
class _Job:
    """A task under way: its student's name, its parts as bytes, and whether the pack goes along."""

    name: str
    kind: str
    digest: str
    own: bytes
    with_pack: bool = False


class Cluster:
    """The workers of a Dask cluster, in the place of work.Workers. Use it with `with`.

    course_root  where constraints.txt and requirements.txt stand, which workers must fit
    """

    def __init__(self, address, course_root):
        self.address = check_address(address)
        self.root = course_root
        self.made, self.packs = {}, {}  # texts -> digest -> bytes; one a version of the lesson
        self.checked = set()  # addresses of the workers that were asked before the first task
        self.count, self.looked, self.seen = 0, 0.0, 0.0

    def __enter__(self):
        self.client = _connect(self.address)
        self.pool = self.client.get_executor(pure=False)
        return self

    def __exit__(self, *error):
        self.pool.shutdown(wait=False)
        try:
            self.client.close(timeout=5)
        except Exception:  # its scheduler went away while it connected anew; the reason is told
            self.client.status = "closed"  # or it would try again when it is deleted

    # -- the workers ----------------------------------------------------------------------------

    def warm_up(self, task):
        """Let all workers get ready for such tasks; return a function that waits for them.

        It raises GradingError with the names of those that can't be used, and why.
        """
        workers = self._addresses()
        if not workers:
            raise GradingError(
                f"the cluster at {self.address} has no worker; start some with: "
                f"dask worker {self.address} --nthreads 1"
            )
        self.checked = set(workers)
        digest, pack = self._pack(task)
        own = packed.own({})
        started = {
            worker: self.client.submit(
                _serve, "warm_up", digest, pack, own,
                workers=[worker], allow_other_workers=False, pure=False, retries=1,
            )
            for worker in workers
        }  # fmt: skip

        def wait_for_all():
            until = time.monotonic() + CHECK_SECONDS
            found = {worker: self._readiness(f, until) for worker, f in started.items()}
            refused = {worker: reason for worker, reason in found.items() if reason}
            if refused:
                raise GradingError(_refusal(refused), "cluster")
            return {}

        return wait_for_all

    def _readiness(self, future, until):
        """Return why a worker can't be used, or ""."""
        try:
            answer = json.loads(future.result(timeout=max(1, until - time.monotonic())))
        except TimeoutError:
            return f"it did not answer within {CHECK_SECONDS} seconds."
        except NOT_INSTALLED as error:
            return NO_COURSE.format(error)
        except Exception as error:
            return f"it failed: {type(error).__name__}: {error}."
        return answer.get("refused") or answer.get("error") or ""

    def _addresses(self):
        """Return the workers' addresses; GradingError where one would be spoken to in the clear."""
        try:
            workers = sorted(self.client.nthreads())
        except (OSError, TimeoutError, CancelledError):
            raise self._gone() from None
        for worker in workers:
            if not _is_safe(worker):
                raise GradingError(
                    f"worker {worker} can't be used: it is not encrypted. Start it with "
                    "certificates, as tls:// (see docs/scale.md).",
                    "cluster",
                )
        return workers

    def _gone(self):
        return GradingError(f"the scheduler {self.address} is gone. {AGAIN}", "cluster")

    def _look_after(self):
        """Count the workers now and then; GradingError when there is none for long."""
        now = time.monotonic()
        if self.looked and now - self.looked < LOOK:
            return
        self.looked = now
        if self.client.status != "running":
            raise self._gone()
        self.count = len(self._addresses())
        if self.count or not self.seen:
            self.seen = now
        if now - self.seen > PATIENCE:
            raise GradingError(
                f"the cluster has had no worker for {PATIENCE} seconds. {AGAIN}", "cluster"
            )

    # -- the tasks ------------------------------------------------------------------------------

    def do(self, kind, tasks):
        """Yield (name, outcome of work.work) for an iterable of (name, task), as they finish.

        Tasks are taken from the iterable only when a worker needs them. One whose workers died is
        tried again alone, at the end.
        """
        waiting = (self._job(kind, name, task) for name, task in tasks)
        suspects = []
        yield from self._run(waiting, suspects)
        for job in suspects:
            again = []
            yield from self._run(iter([job]), again)
            for lost in again:
                yield lost.name, {"error": LOST, "kind": "engine"}

    def _run(self, waiting, suspects):
        running, again = {}, collections.deque()
        while True:
            self._look_after()
            while len(running) < max(1, self.count) * AHEAD:
                job = again.popleft() if again else next(waiting, None)
                if job is None:
                    break
                running[self._submit(job)] = job
            if not running:
                return
            done, _ = wait(running, timeout=LOOK, return_when=FIRST_COMPLETED)
            for future in done:
                job = running.pop(future)
                outcome = self._outcome(future, job, suspects, again)
                if outcome is not None:
                    yield job.name, outcome

    def _submit(self, job):
        pack = self.packs[job.digest] if job.with_pack else None
        return self.pool.submit(_serve, job.kind, job.digest, pack, job.own)

    def _outcome(self, future, job, suspects, again):
        """Return what came of a job, or None where it has to run again."""
        from distributed import KilledWorker

        try:
            answer = json.loads(future.result())
        except KilledWorker:
            suspects.append(job)
            return None
        except CancelledError:
            raise self._gone() from None
        except NOT_INSTALLED as error:
            late = set(self._addresses()) - self.checked
            text = _refusal(dict.fromkeys(sorted(late), NO_COURSE.format(error)))
            raise GradingError(f"{text} {AGAIN}", "cluster") from None
        except Exception as error:
            text = f"the cluster could not {job.kind} it: {type(error).__name__}: {error}"
            return {"error": text, "kind": "engine"}
        if "missing" in answer:
            job.with_pack = True
            again.append(job)
            return None
        if "refused" in answer:
            text = _refusal({answer["worker"]: answer["refused"]})
            raise GradingError(f"{text} {AGAIN}", "cluster")
        return answer

    def _job(self, kind, name, task):
        digest, _ = self._pack(task)
        return _Job(name, kind, digest, packed.own(task))

    def _pack(self, task):
        """Return (digest, bytes) of a task's pack, made once for a class."""
        texts = tuple(task.get(name) for name in ("source", "released", "settings"))
        if texts not in self.made:
            packages = (task.get("policy") or {}).get("expose", ())
            digest, pack = packed.pack(task, environment.stamp(self.root, packages))
            self.made[texts], self.packs[digest] = digest, pack
        return self.made[texts], self.packs[self.made[texts]]


def _serve(*arguments):
    """What workers run; they import the rest."""
    from autograder import remote

    return remote.serve(*arguments)


def _connect(address):
    """Return a Dask client; its certificates are those of Dask's own settings."""
    try:
        from distributed import Client, Security
    except ImportError:
        raise GradingError(
            "the package 'distributed' is missing; install it with: "
            'pip install -c constraints.txt -e ".[cluster]"'
        ) from None
    encrypted = address.startswith("tls://")
    security = Security(require_encryption=True) if encrypted else Security()
    if encrypted and not (security.tls_ca_file and security.tls_client_cert):
        raise GradingError(
            f"{address} needs certificates, and Dask's settings name none: set "
            "distributed.comm.tls with ca-file, client.cert and client.key (see docs/scale.md)."
        )
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said here
    try:
        return Client(address, security=security, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise GradingError(f"no scheduler can be reached at {address}: {reason}") from None


def _refusal(refused):
    """Return one message that names each worker and says what to do."""
    lines = [f"worker {worker} can't be used: {reason}" for worker, reason in refused.items()]
    return "\n".join(lines)
