"""A class graded by a real Dask cluster on this machine: nothing lost, nothing doubled, and what
must not take part is refused."""

import io
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import zipfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from make_course import REPOSITORY
from quick_course import LESSON, hand_in, quick_course

from autograder import cluster, environment, packed
from autograder.__main__ import main
from autograder.batch import Options, grade
from autograder.course import Course
from autograder.engine import SandboxUnavailable, sandbox
from autograder.errors import GradingError
from autograder.regrade import compare
from autograder.work import AHEAD, LOST
from tests.engine import lesson

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.sandbox

STUDENTS = 200
SLOW = "s060-slow"  # a worker is killed while it grades this one, which takes two seconds
FILE = "numbers = open('numbers.txt').read().split()\nquiz = {'3': 'B'}[numbers[-1]]"
LIMITS = {"cell": 2, "test": 2, "submission": 30, "memory_mb": 384, "disk_mb": 16}
# What a student of each kind hands in, and the exercises that earn their points.
KINDS = {
    "right": ({}, lesson.ALL),
    "partly": ({"double": "def double(n):\n    return 0"}, lesson.ALL - {"double"}),
    "own-file": ({"quiz": FILE}, lesson.ALL),
    "crash": ({"double": "import os\ndef double(n):\n    os._exit(1)"}, lesson.ALL - {"double"}),
    "slow": ({"double": "def double(n):\n    while True: pass"}, lesson.ALL - {"double"}),
    "broken": (None, None),
}


class Processes:
    """A scheduler and workers on this machine."""

    def __init__(self, folder, protocol="tcp", **environment):
        self.folder, self.started, self.workers = folder, [], {}
        self.environment = environment
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"{protocol}://127.0.0.1:{port}"
        self.start("scheduler", "--port", str(port), "--protocol", protocol, "--no-show")

    def start(self, kind, *arguments, **environment):
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments]
        surroundings = {
            **os.environ,
            "PYTHONPATH": str(REPOSITORY),
            "DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "False",
            **self.environment,
            **environment,
        }
        with open(self.folder / f"{kind}-{len(self.started)}.log", "w") as log:
            command += ["--no-dashboard", "--host", "127.0.0.1"]
            process = subprocess.Popen(command, cwd=self.folder, env=surroundings, stderr=log)
        self.started.append(process)
        return self.started[-1]

    def worker(self, name, **environment):
        arguments = [self.address, "--nthreads", "1", "--no-nanny"]
        place = ["--name", name, "--local-directory", str(self.folder / name)]
        self.workers[name] = self.start("worker", *arguments, *place, **environment)

    def wait_for(self, number):
        with distributed.Client(self.address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(number, timeout=60)
            info = client.scheduler_info()["workers"]
        return {worker["name"]: address for address, worker in info.items()}

    def end(self, processes=None):
        for process in processes or self.started:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Return the course with its class of 200, and {student: what they deserve}."""
    try:
        sandbox.check()
    except SandboxUnavailable as error:
        pytest.skip(f"sandbox: {error}")
    root = tmp_path_factory.mktemp("cluster") / "course"
    classroom = quick_course(root, LIMITS)
    (classroom / "source" / LESSON / "given.txt").write_text("given")
    expected = {}
    for number in range(STUDENTS):
        kind = ("right", "partly", "right", "own-file", "right", "crash", "broken")[number % 7]
        kind = "slow" if f"s{number:03}-slow" == SLOW else kind
        answers, deserves = KINDS[kind]
        folder = hand_in(classroom, f"s{number:03}-{kind}", lesson.submission(answers))
        (folder / "numbers.txt").write_text("1 2 3")
        if kind == "broken":
            (folder / f"{LESSON}.ipynb").write_text("{")
        expected[f"s{number:03}-{kind}"] = deserves
    return Course.load(root), expected


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """Return a scheduler with two workers, in a folder that is not the course's."""
    found = Processes(tmp_path_factory.mktemp("dask"))
    found.worker("one")
    found.worker("two")
    yield found
    found.end()


def passed(result):
    cells = result.cells
    return {c.grade_id.removeprefix("test_") for c in cells if c.points == c.max_points}


def rows(course):
    with sqlite3.connect(course.gradebook_file) as book:
        return [
            book.execute(f"select count(*), count(distinct {column}) from {table}").fetchone()
            for table, column in (("submitted_assignment", "student_id"), ("grade", "id"))
        ]


@pytest.fixture(scope="module")
def killed(course, processes):
    """Grade the class; the worker that has a known hand-in is killed.

    Return (lines, students in the order of progress, tasks the worker had, tasks under way).
    """
    place, _ = course
    names = {address: name for name, address in processes.wait_for(2).items()}
    told, lost, ahead, taken = [], [], [], []

    def progress(done, total, student):
        told.append(student)
        ahead.append(len(set(taken) - set(told)))
        if SLOW in taken and SLOW not in told and not lost:
            tasks, address = max((len(keys), at) for at, keys in client.processing().items())
            if tasks:
                lost.append(tasks)
                processes.workers.pop(names[address]).kill()

    job = cluster.Cluster._job
    with (
        distributed.Client(processes.address, set_as_default=False) as client,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(
            cluster.Cluster,
            "_job",
            lambda self, kind, name, task: taken.append(name) or job(self, kind, name, task),
        )
        lines, _ = grade(
            place, LESSON, Options(cluster=processes.address, feedback=False), progress
        )
    return lines, told, lost, ahead


def test_a_killed_worker_loses_nothing_and_doubles_nothing(course, killed):
    place, expected = course
    lines, told, lost, _ = killed
    assert lost, "no worker was killed"
    assert len(told) == len(set(told))
    found = {ln.student: None if ln.result.ungraded else passed(ln.result) for ln in lines}
    assert found == {s: None if d is None else set(d) for s, d in expected.items()}
    graded = sum(deserves is not None for deserves in expected.values())
    assert rows(place) == [(graded, graded), (graded * 5, graded * 5)]


def test_few_tasks_are_under_way_at_any_time(killed):
    ahead = killed[3]
    assert max(ahead) <= 2 * AHEAD


def test_grading_here_and_there_is_the_same(course, killed, processes):
    place, expected = course
    lines, _ = grade(place, LESSON, Options(jobs=1, feedback=False))
    assert not any(line.fresh for line in lines if not line.result.ungraded)

    def stop(done, total, student):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grade(place, LESSON, Options(cluster=processes.address, force=True, feedback=False), stop)
    one = next(student for student in expected if student.endswith("own-file"))
    again = [
        grade(place, LESSON, Options(student=one, force=True, **way))[0][0].result.as_dict()
        for way in ({"jobs": 1}, {"cluster": processes.address})
    ]
    assert again[0] == again[1]
    changes = compare(place, LESSON, Options(student=one, cluster=processes.address))
    assert [(change.before, change.after) for change in changes] == [(5, 5)]
    page = place.folder("feedback", LESSON, one) / f"{LESSON}.html"
    assert "secret_cases = [" not in page.read_text("utf-8")


def test_unfit_workers_are_refused_by_name(course, processes, tmp_path, capsys):
    place, _ = course
    other = tmp_path / "other"
    shutil.copytree(REPOSITORY / "autograder", other / "autograder")
    with open(other / "autograder" / "engine" / "cells.py", "a") as changed:
        changed.write("\n# another version\n")
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    processes.worker("other-version", PYTHONPATH=str(other))
    processes.worker("no-sandbox", PATH=str(nothing))
    try:
        names = processes.wait_for(3)
        arguments = ["grade", LESSON, "--force", "--cluster", processes.address]
        assert main(["--course", str(place.root), *arguments]) == 2
    finally:
        unfit = [processes.workers.pop(name) for name in ("other-version", "no-sandbox")]
        processes.end(unfit)
    said = capsys.readouterr().err
    assert f"worker {names['other-version']} can't be used: it has other files of " in said
    assert "Install the same versions" in said
    assert f"worker {names['no-sandbox']} can't be used: it has no sandbox. bubblewrap is " in said
    assert said.count("can't be used") == 2


def test_a_cluster_without_workers_keeps_what_is_graded(course, processes, monkeypatch):
    place, _ = course
    processes.end(list(processes.workers.values()))
    gone = Options(cluster=processes.address, force=True)
    with pytest.raises(GradingError, match=r"has no worker; start some with: dask worker tcp://"):
        grade(place, LESSON, gone)
    before = rows(place)
    monkeypatch.setattr(cluster, "PATIENCE", 0.5)
    monkeypatch.setattr(cluster, "LOOK", 0.1)
    monkeypatch.setattr(cluster.Cluster, "warm_up", lambda self, task: lambda: {})
    with pytest.raises(GradingError, match=r"had no worker for .* run the same command again"):
        grade(place, LESSON, gone)
    assert rows(place) == before
    processes.end()
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with pytest.raises(GradingError, match="no scheduler can be reached at tcp://"):
        grade(place, LESSON, gone)


def test_certificates_encrypt_the_way_and_a_lost_scheduler_ends_it(course, tmp_path, monkeypatch):
    place, expected = course
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
         "/CN=grading", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    start = "DASK_DISTRIBUTED__COMM__"
    settings = {f"{start}REQUIRE_ENCRYPTION": "True", f"{start}TLS__CA_FILE": str(certificate)}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        settings[f"{start}TLS__{role}__CERT"] = str(certificate)
        settings[f"{start}TLS__{role}__KEY"] = str(key)
    encrypted = Processes(tmp_path, "tls", **settings)
    encrypted.worker("safe")
    try:
        address = encrypted.address
        student = next(iter(expected))
        options = Options(student=student, force=True, cluster=address)
        with pytest.raises(GradingError, match="needs certificates"):
            grade(place, LESSON, options)
        tls = "distributed.comm.tls"
        own = {"ca-file": certificate, "client.cert": certificate, "client.key": key}
        with dask.config.set({f"{tls}.{name}": str(path) for name, path in own.items()}):
            encrypted.wait_for(1)
            lines, _ = grade(place, LESSON, options)
            assert lines[0].fresh
            assert passed(lines[0].result) == expected[student]

            def stop(done, total, student):
                encrypted.started[0].kill()

            before = rows(place)
            with pytest.raises(
                GradingError, match=r"the scheduler tls://.* is gone. What is graded"
            ):
                grade(place, LESSON, Options(force=True, cluster=address), stop)
            assert rows(place) == before
    finally:
        encrypted.end()


def test_a_client_that_cannot_be_closed_hides_no_error(tmp_path):
    class Client:
        status = "closing"

        def close(self, timeout):
            raise ValueError("IOStream is not idle")

    lost = cluster.Cluster("tcp://127.0.0.1:1", tmp_path)
    lost.client, lost.pool = Client(), ThreadPoolExecutor(1)
    lost.__exit__(None, None, None)
    assert lost.client.status == "closed"


# -- without a cluster ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp://192.0.2.7:8786", "not encrypted"),
        ("192.0.2.7:8786", "not encrypted"),
        ("tcp://grading.example:8786", r"give tls://grading.example:PORT"),
        ("ws://127.0.0.1:8786", "no address of a Dask scheduler"),
        ("tls://", "no address of a Dask scheduler"),
        ("tcp://[::1", "no address of a Dask scheduler"),
    ],
)
def test_an_open_way_is_refused_before_anything_is_sent(course, address, said):
    contacts, watching = [], [True]

    def audit(event, _):  # it can't be taken away again
        if watching and event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
            contacts.append(event)

    sys.addaudithook(audit)
    place, _ = course
    with pytest.raises(GradingError, match=said):
        grade(place, LESSON, Options(cluster=address))
    watching.clear()
    assert contacts == []


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "[::1]:8786", "localhost:1", "tls://h:1"]
)
def test_a_safe_way_is_taken(address):
    assert cluster.check_address(address).endswith(address)


def test_a_worker_spoken_to_in_the_clear_is_refused(tmp_path):
    class Client:
        def nthreads(self):
            return {"tcp://192.0.2.9:4001": 1}

    found = cluster.Cluster("tcp://127.0.0.1:8786", tmp_path)
    found.client = Client()
    with pytest.raises(GradingError, match=r"worker tcp://192.0.2.9:4001 can't be used"):
        found._addresses()


def test_unsafe_and_jobs_do_not_go_with_a_cluster(course, capsys):
    start = ["--course", str(course[0].root), "grade", LESSON, "--cluster", "tls://h:1"]
    for more in (["--unsafe-no-sandbox"], ["--jobs", "2"]):
        assert main([*start, *more]) == 2
        assert "only in their sandbox" in capsys.readouterr().err


def test_a_hand_in_that_kills_its_workers_is_given_up_alone(tmp_path, monkeypatch):
    """Dask gives up a task whose workers died; it may have been its neighbour's fault."""
    tried = []

    class Pool:
        def submit(self, function, kind, digest, pack, own):
            tried.append(own)
            future = Future()
            if own == b"bad" or (own == b"near" and tried.count(own) == 1):
                future.set_exception(distributed.KilledWorker("task", None, 3))
            else:
                future.set_result('{"page": ""}')
            return future

    found = cluster.Cluster("tcp://127.0.0.1:8786", tmp_path)
    found.pool = Pool()
    monkeypatch.setattr(found, "_look_after", lambda: None)
    monkeypatch.setattr(found, "_job", lambda kind, name, own: cluster._Job(name, kind, "d", own))
    tasks = [("ada", b"bad"), ("ben", b"near"), ("cyd", b"good")]
    done = list(found.do("grade", tasks))
    assert done[0] == ("cyd", {"page": ""})
    assert len(done) == 3
    assert dict(done)["ada"] == {"error": LOST, "kind": "engine"}
    assert dict(done)["ben"] == {"page": ""}


def test_files_travel_as_data_and_nothing_of_the_gradebook(course, tmp_path):
    place, _ = course
    folder = tmp_path / "hand-in"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "kept.bin").write_bytes(bytes(range(256)))
    (folder / "given.txt").write_text("the student's")
    (folder / "link").symlink_to(place.gradebook_file)
    with open(folder / "huge.bin", "wb") as huge:
        huge.truncate(1 << 40)
    task = {
        **place.engine_options(LESSON),
        "source": "{}",
        "submitted": {"cells": ["half \ud800"]},
        "files": str(folder),
    }
    stamp = environment.stamp(place.root, ())
    digest, pack = packed.pack(task, stamp)
    assert packed.pack(dict(task), stamp) == (digest, pack)
    own = packed.own(task)
    assert len(own) < 10_000
    for data in (pack, own):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            texts = [archive.read(name).decode("latin-1") for name in archive.namelist()]
        assert not any(str(place.root) in text or "gradebook" in text for text in texts)
    there = packed.unpack(pack, tmp_path / "pack") | packed.unpack(own, tmp_path / "own")
    assert Path(there["files"], "data/kept.bin").read_bytes() == bytes(range(256))
    assert sorted(os.listdir(there["files"])) == ["data", "huge.bin"]
    assert os.path.getsize(Path(there["files"], "huge.bin")) > 32 << 20
    assert [(Path(p).read_text(), n) for p, n in there["given_files"]] == [("given", "given.txt")]
    assert there["submitted"] == task["submitted"]
    assert there["stamp"] == stamp


def test_a_policy_takes_the_packages_of_the_machine_it_is_on():
    policy = {"expose": ("specdec",), "test_path": (str(REPOSITORY), "/shared/helpers")}
    carried = packed.portable(policy)
    assert carried["test_path"] == ["/shared/helpers"]
    assert packed.local(carried)["test_path"] == [str(REPOSITORY), "/shared/helpers"]


def test_a_stamp_tells_what_differs():
    wanted = environment.stamp(REPOSITORY, ("specdec",))
    assert {"numpy", "nbgrader", "jinja2"} <= set(wanted["packages"])
    assert set(wanted["code"]) == {"autograder.engine", "specdec"}
    other = json.loads(json.dumps(wanted))
    assert environment.lock_hash(other) == environment.lock_hash(wanted)
    other["python"] = "3.8"
    other["packages"]["numpy"] = "1.0"
    other["code"]["specdec"] = ""
    assert environment.lock_hash(other) != environment.lock_hash(wanted)
    numpy, python = wanted["packages"]["numpy"], wanted["python"]
    assert environment.differences(wanted, other) == [
        f"Python 3.8 instead of {python}", f"numpy 1.0 instead of {numpy}", "no specdec"
    ]  # fmt: skip
