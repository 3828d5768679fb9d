"""A processor of its own for each worker, and none taken from anybody."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile

import pytest

from autograder.engine import grader, processors

from . import lesson

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processors: needs Linux")
WORKER = (
    "from autograder.engine import processors\nprint(processors.claim(), flush=True)\ninput()\n"
)
TWO = {0, 1}


@pytest.fixture(autouse=True)
def own_locks(tmp_path, monkeypatch):
    """Locks of this test alone, and no claim before it."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(processors, "_claim", None)


@contextlib.contextmanager
def worker(usable=None):
    """Run a process that claims a processor; yield it and what it got."""
    code = f"import os\nos.sched_getaffinity = lambda _: {usable}\n{WORKER}" if usable else WORKER
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process, process.stdout.readline().strip()
        process.stdin.close()


def test_each_worker_gets_another_one_and_the_rest_get_none():
    with worker(TWO) as (_, first), worker(TWO) as (_, second), worker(TWO) as (_, third):
        assert {first, second} == {"0", "1"}
        assert third == "None"


def test_a_processor_is_free_again_when_its_worker_was_killed():
    with worker(TWO) as (process, first), worker(TWO):
        process.kill()
        process.wait()
        with worker(TWO) as (_, found):
            assert found == first


def test_the_only_processor_is_nobodys():
    with worker({0}) as (_, found):
        assert found == "None"


def test_a_claim_stays_and_a_forked_worker_makes_its_own(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: TWO)
    ours = processors.claim()
    assert processors.claim() == ours
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        grader._forget()
        os.write(write, str(processors.claim()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert {ours, int(os.read(read, 10))} == TWO


@pytest.mark.parametrize("kind", ["link", "file", "closed"])
def test_a_folder_that_is_not_ours_means_no_claim(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: TWO)
    folder = tmp_path / f"grading-processors-{os.getuid()}"
    if kind == "link":
        (tmp_path / "elsewhere").mkdir()
        folder.symlink_to(tmp_path / "elsewhere")
    elif kind == "file":
        folder.touch()
    else:
        monkeypatch.setattr(os, "getuid", lambda: 4711)
    assert processors.claim() is None


ASK = lesson.submission(first="import os\nprint(sorted(os.sched_getaffinity(0)))")


@pytest.mark.sandbox
@pytest.mark.parametrize("claimed", [True, False])
def test_a_submission_runs_on_its_workers_processor(graded, monkeypatch, claimed):
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        pytest.skip("processors: there is one only")
    if not claimed:
        monkeypatch.setattr(processors, "_claim", (None, None))
    grader.close_all()
    try:
        result = graded(ASK)
        expected = [processors.claim()] if claimed else usable
        (said,) = result.notebook["cells"][0]["outputs"]
        assert json.loads(said["text"]) == expected
        assert result.points == result.max_points
    finally:
        grader.close_all()
