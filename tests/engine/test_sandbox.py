"""The sandbox: what student code can see, reach and leave behind."""

import json
import linecache
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict

import psutil
import pytest

from autograder.engine import EngineError, Limits, Policy, SandboxUnavailable, grader, sandbox
from autograder.engine.inside import session
from autograder.engine.source import read_source as source_of

from . import lesson
from .conftest import QUICK

pytestmark = pytest.mark.sandbox
REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.fixture
def inside(graded):
    """Run code as the last cell of a submission; return the JSON value that it prints."""

    def run(code, **options):
        notebook = lesson.submission(last=f"import json\n{code}")
        result = graded(notebook, **options)
        outputs = result.notebook["cells"][-1]["outputs"]
        assert [output["output_type"] for output in outputs] == ["stream"], outputs
        return json.loads(outputs[0]["text"])

    return run


def test_signs_of_magics_in_plain_python_mean_what_they_say(inside):
    assert inside("print(json.dumps(['50 %', 7 % 4, 7 != 7, 'a?']))") == ["50 %", 3, False, "a?"]


def test_a_timed_line_runs_and_a_shell_command_does_not(inside):
    assert inside("n = 1\n%time n += 1\n!touch mark\nimport os\n"
                  "print(json.dumps([n, os.path.exists('mark')]))") == [2, False]  # fmt: skip


def test_nothing_on_the_network_can_be_reached(inside):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        server.settimeout(0.1)
        found = inside(
            "import socket\n"
            "def attempt(family, address):\n"
            "    try:\n"
            "        with socket.socket(family) as s:\n"
            "            s.settimeout(2)\n            s.connect(address)\n        return 'open'\n"
            "    except OSError as error: return type(error).__name__\n"
            f"print(json.dumps([attempt(socket.AF_INET, ('127.0.0.1', {port})),\n"
            "    attempt(socket.AF_INET, ('192.0.2.1', 80)),\n"
            "    socket.if_nameindex()]))"
        )
    assert found[:2] != ["open", "open"]
    assert "open" not in found
    assert [name for _, name in found[2]] == ["lo"]


def test_sockets_without_a_file_can_not_be_reached(inside):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0grading-test-secret")
        server.listen()
        found = inside(
            "import socket\ntry:\n    s = socket.socket(socket.AF_UNIX)\n"
            "    s.connect('\\0grading-test-secret')\n    print(json.dumps('open'))\n"
            "except OSError as error: print(json.dumps(type(error).__name__))"
        )
    assert found == "ConnectionRefusedError"


def test_files_of_others_are_not_there(inside, tmp_path):
    secret = tmp_path / "gradebook.db"
    secret.write_text("all grades")
    paths = [
        str(secret),
        *(os.path.join(REPOSITORY, name) for name in ("tests", "course", "solutions", ".git")),
        os.path.join(REPOSITORY, "autograder", "engine", "grader.py"),
        os.path.expanduser("~/.bashrc"),
        "/etc/shadow",
        "/sys",
        "/var/lib",
        "/run",
    ]
    found = inside(f"import os\nprint(json.dumps([p for p in {paths!r} if os.path.exists(p)]))")
    assert found == []


def test_only_its_own_folders_can_be_written(inside):
    found = inside(
        "import os\nfound = []\n"
        "for line in open('/proc/self/mountinfo'):\n"
        "    place = line.split()[4]\n"
        "    if os.path.isdir(place) and not os.statvfs(place).f_flag & os.ST_RDONLY:\n"
        "        found.append(place)\n"
        "print(json.dumps(sorted({p for p in found if not p.startswith('/proc')})))"
    )
    assert found == ["/dev/pts", "/dev/shm", "/home/student"]


def test_device_folder_takes_no_files(inside):
    found = inside(
        "import os\nmade = []\nfor folder in ('/', '/dev', '/proc', '/etc', '/home', '/packages',\n"
        "        os.path.dirname(os.__file__), os.path.dirname(json.__file__)):\n"
        "    try:\n        open(os.path.join(folder, 'x'), 'w').close()\n"
        "        made.append(folder)\n    except OSError: pass\n"
        "print(json.dumps(made))"
    )
    assert found == []


def test_student_code_has_no_rights(inside):
    found = inside(
        "import os, ctypes\n"
        "status = dict(line.split(':\\t', 1) for line in open('/proc/self/status'))\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "print(json.dumps({'uid': os.getuid(), 'euid': os.geteuid(),\n"
        "    'caps': [status[k].strip() for k in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd',"
        " 'CapAmb')],\n"
        "    'no_new_privileges': status['NoNewPrivs'].strip(),\n"
        "    'new_user_namespace': libc.unshare(0x10000000),\n"
        "    'mount': libc.mount(b'tmpfs', b'/home/student', b'tmpfs', 0, None),\n"
        "    'trace_keeper': libc.ptrace(16, 1, 0, 0)}))"
    )
    assert found["uid"] == found["euid"] == 1000
    assert set(found["caps"]) == {"0000000000000000"}
    assert found["no_new_privileges"] == "1"
    assert found["new_user_namespace"] == found["mount"] == found["trace_keeper"] == -1


def test_it_sees_no_process_but_its_own(inside):
    found = inside(
        "import os\npids = [p for p in os.listdir('/proc') if p.isdigit()]\n"
        "def readable(path):\n    try: return bool(open(path, 'rb').read())\n"
        "    except OSError: return False\n"
        "print(json.dumps([len(pids), readable('/proc/1/environ'), readable('/proc/1/mem')]))"
    )
    assert found == [2, False, False]


def test_environment_of_the_grader_is_not_passed_on(inside, monkeypatch):
    grader.close_all()
    monkeypatch.setenv("GRADER_TOKEN", "secret")
    assert inside("import os\nprint(json.dumps('GRADER_TOKEN' in os.environ))") is False


def test_its_only_open_socket_is_the_one_to_the_tests(inside):
    found = inside(
        "import os\nfound = []\nfor fd in os.listdir('/proc/self/fd'):\n"
        "    try: found.append(os.readlink(f'/proc/self/fd/{fd}').split(':')[0])\n"
        "    except OSError: pass\n"
        "print(json.dumps(sorted(set(found))), end='')\n"
        "assert found.count('socket') == 1"
    )
    assert found == ["/dev/null", "socket"]


def test_limits_are_set(inside):
    found = inside(
        "import resource\nprint(json.dumps({n: resource.getrlimit(getattr(resource, n))[1]\n"
        "    for n in dir(resource) if n.startswith('RLIMIT_')}))"
    )
    assert found["RLIMIT_NPROC"] == QUICK.processes
    assert found["RLIMIT_DATA"] == QUICK.memory_mb << 20
    assert found["RLIMIT_FSIZE"] == QUICK.disk_mb << 20
    assert found["RLIMIT_NOFILE"] == QUICK.open_files
    assert found["RLIMIT_CORE"] == 0


def test_a_fork_bomb_is_bounded(inside):
    found = inside(
        "import os, time\nmade = 0\nfor _ in range(200):\n    try:\n"
        "        if os.fork() == 0:\n            time.sleep(60); os._exit(0)\n        made += 1\n"
        "    except OSError: break\nprint(json.dumps(made))"
    )
    assert 0 < found < QUICK.processes


def test_the_disk_is_bounded(inside):
    found = inside(
        "written = 0\nfor folder in ('/home/student', '/dev/shm', '/tmp'):\n    try:\n"
        "        for i in range(50):\n            with open(f'{folder}/f{i}', 'wb') as f:\n"
        "                written += f.write(b'x' * 1_000_000)\n    except OSError: pass\n"
        "print(json.dumps(written))"
    )
    assert found < 3 * QUICK.disk_mb << 20


MARKS = (
    "import os, sys, builtins, numpy, ctypes\n"
    "places = ['/home/student/mark', '/dev/shm/mark', '/tmp/mark', '/var/tmp/mark']\n"
)


def test_nothing_survives_a_submission(graded, inside):
    graded(
        lesson.submission(
            first=MARKS + "for path in places: open(path, 'w').close()\n"
            "numpy.mark = builtins.mark = 1\nsys.modules['mark'] = numpy\n"
            "os.environ['MARK'] = '1'\n"
            "libc = ctypes.CDLL(None)\nlibc.shmget(4711, 4096, 0o1666)\n"
            "libc.syscall(248, b'user', b'mark', b'x', 1, -3)\n"
            "numpy.random.seed(5)\nsys.path.append('/mark')\n"
            "if os.fork() == 0:\n    os.setsid()\n    import time; time.sleep(1000)\n"
        )
    )
    found = inside(
        MARKS + "libc = ctypes.CDLL(None)\n"
        "print(json.dumps([[p for p in places if os.path.exists(p)], hasattr(numpy, 'mark'),\n"
        "    hasattr(builtins, 'mark'), 'mark' in sys.modules, 'MARK' in os.environ,\n"
        "    '/mark' in sys.path, libc.shmget(4711, 4096, 0),\n"
        "    libc.syscall(249, b'user', b'mark', None, 0)]))"
    )
    assert found == [[], False, False, False, False, False, -1, -1]


def test_no_process_survives_a_submission(graded):
    grader.close_all()
    graded(
        lesson.submission(
            first="import os, time\nfor _ in range(5):\n    if os.fork() == 0:\n"
            "        os.setsid()\n        time.sleep(1000)"
        )
    )
    (runtime,) = grader._runtimes.values()
    below = psutil.Process(runtime.sandbox.process.pid).children(recursive=True)
    assert len(below) == 1, below  # bubblewrap's child: the warm process itself


def test_files_of_the_submission_are_there_and_links_are_not(inside, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "odd näme.txt").write_text("7")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "folder").symlink_to("/")
    os.mkfifo(tmp_path / "pipe")
    found = inside(
        "import os\nprint(json.dumps([sorted(os.listdir('.')), open('data/odd näme.txt').read()]))",
        files=tmp_path,
    )
    assert found == [["data"], "7"]


def test_files_that_are_too_large_are_left_out_with_a_word(graded, tmp_path):
    with open(tmp_path / "huge.bin", "wb") as target:
        target.truncate(1 << 40)
    result = graded(lesson.submission(), files=tmp_path)
    assert lesson.passed(result) == lesson.ALL
    assert [problem.kind for problem in result.problems] == ["files"]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A course's package with answers and figures in it."""
    folder = tmp_path / "lib" / "mycourse"
    (folder / "answers").mkdir(parents=True)
    (folder / "__init__.py").write_text("given = 5")
    (folder / "figures.py").write_text("raise RuntimeError('slow')")
    (folder / "answers" / "__init__.py").write_text("")
    (folder / "answers" / "first.py").write_text("secret = 42")
    (folder / "answers" / "zeroth.py").write_text("old = 41")
    compiled = folder / "answers" / "__pycache__"
    compiled.mkdir()
    (compiled / "first.cpython-311.pyc").write_bytes(b"secret")
    monkeypatch.syspath_prepend(folder.parent)
    return Policy(
        expose=("mycourse",),
        hidden={"mycourse.answers.first": "The answers are hidden while grading."},
        stand_ins=("mycourse.figures",),
        test_path=(str(folder.parent),),
        warm=("numpy",),
    )


def test_hidden_modules_and_stand_ins(inside, package):
    found = inside(
        "import mycourse, os\nfrom mycourse.answers import zeroth\n"
        "from mycourse.figures import show\nshow(show.anything[3], size=2)\n"
        "try:\n    from mycourse.answers.first import secret\nexcept ImportError as error:\n"
        "    secret = str(error)\n"
        "texts = []\nfor root, _, names in os.walk(os.path.dirname(mycourse.__file__)):\n"
        "    for name in names:\n"
        "        texts.append(open(os.path.join(root, name), 'rb').read())\n"
        "print(json.dumps([mycourse.given, zeroth.old, secret, b'42' in b''.join(texts),\n"
        "    b'secret' in b''.join(texts)]))",
        policy=package,
    )
    assert found == [5, 41, "The answers are hidden while grading.", False, False]


def test_using_hidden_modules_is_reported_and_earns_nothing(graded, package):
    answer = "from mycourse.answers.first import secret\ndef double(n): return 2 * n"
    result = graded(lesson.submission({"double": answer}), policy=package)
    assert lesson.passed(result) == lesson.ALL - {"double"}
    assert "hidden_module" in {problem.kind for problem in result.problems}


def test_tests_may_use_what_is_hidden_from_students(graded, package):
    source = lesson.source()
    cell = source.cells[lesson.find(source, "test_double")]
    cell.source = "from mycourse.answers.first import secret\nassert double(21) == secret"
    result = graded(lesson.submission(), source=source, policy=package)
    assert "double" in lesson.passed(result)


@pytest.fixture
def refusal(monkeypatch, tmp_path):
    """Return what check() says where bwrap fails with a message, on a system with settings."""

    def run(message, settings=None, marks=(), environment=None):
        program = tmp_path / "bwrap"
        program.write_text(f"#!/bin/sh\necho 'bwrap: {message}' >&2\nexit 1\n")
        program.chmod(0o755)
        monkeypatch.setattr(sandbox.shutil, "which", lambda name: str(program))
        monkeypatch.setattr(sandbox, "_setting", lambda name: (settings or {}).get(name))
        monkeypatch.setattr(sandbox, "_CONTAINER_MARKS", marks)
        for name in ("container", "KUBERNETES_SERVICE_HOST"):
            monkeypatch.delenv(name, raising=False)
        for name, value in (environment or {}).items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SandboxUnavailable) as caught:
            sandbox.check()
        assert str(caught.value) == f"{caught.value.cause} {caught.value.mend}"
        assert "\n" not in str(caught.value)
        return caught.value

    return run


NO_PERMISSION = "No permissions to create new namespace"
UID_MAP = "setting up uid map: Permission denied"
NOT_PERMITTED = "Creating new namespace failed: Operation not permitted"


def test_check_names_a_missing_bubblewrap(monkeypatch):
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: None)
    with pytest.raises(SandboxUnavailable) as caught:
        sandbox.check()
    assert "bubblewrap is not installed" in caught.value.cause
    assert "apt install bubblewrap" in caught.value.mend


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_check_names_another_system(monkeypatch, system):
    monkeypatch.setattr(sandbox.sys, "platform", system)
    with pytest.raises(SandboxUnavailable, match="needs Linux") as caught:
        sandbox.check()
    assert "WSL 2" in caught.value.mend


@pytest.mark.parametrize(
    ("setting", "value", "message", "cause", "mend"),
    [
        ("kernel/unprivileged_userns_clone", "0", NO_PERMISSION, "This system forbids",
         "sysctl -w kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", NO_PERMISSION, "This system forbids",
         "sysctl -w user.max_user_namespaces="),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", UID_MAP, "AppArmor forbids",
         "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
    ],
)  # fmt: skip
def test_check_names_forbidden_user_namespaces(refusal, setting, value, message, cause, mend):
    error = refusal(message, {setting: value})
    assert error.cause.startswith(cause)
    assert setting.replace("/", ".") in error.cause
    assert mend in error.mend


def test_settings_that_allow_namespaces_are_not_blamed(refusal):
    allowed = {
        "kernel/unprivileged_userns_clone": "1",
        "user/max_user_namespaces": "15000",
        "kernel/apparmor_restrict_unprivileged_userns": "0",
    }
    assert "does not start" in refusal("a strange reason", allowed).cause


@pytest.mark.parametrize("how", ["mark", "environment"])
def test_check_names_a_container_even_where_its_host_is_strict(refusal, tmp_path, how):
    """Within a container the host's settings can't be changed."""
    strict = {"kernel/apparmor_restrict_unprivileged_userns": "1"}
    (tmp_path / "mark").touch()
    if how == "mark":
        error = refusal(NOT_PERMITTED, strict, marks=(str(tmp_path / "mark"),))
    else:
        error = refusal(NOT_PERMITTED, strict, environment={"container": "podman"})
    assert "This container does not let programs make namespaces" in error.cause
    assert NOT_PERMITTED in error.cause
    assert "--security-opt seccomp=unconfined" in error.mend


def test_check_passes_on_the_reason_of_bubblewrap(refusal):
    error = refusal("a strange reason")
    assert "a strange reason" in error.cause
    assert "bwrap --unshare-all" in error.mend


def test_check_names_an_interpreter_that_can_not_be_read(refusal, monkeypatch):
    """The sandbox starts, and then nothing answers in it."""
    monkeypatch.setattr(sandbox.Sandbox, "open", lambda self: None)
    ours, theirs = socket.socketpair()
    theirs.close()
    session = sandbox.Session(None, ours.detach(), None)
    monkeypatch.setattr(sandbox.Sandbox, "start", lambda self: session)
    assert "Python does not run in it" in refusal("").cause


@pytest.mark.parametrize("place", ["/tmp", "/var/tmp"])
def test_an_environment_may_lie_below_a_temporary_folder(needs_sandbox, monkeypatch, place):
    with tempfile.TemporaryDirectory(dir=place) as folder:
        os.chmod(folder, 0o755)
        folders = [*sandbox._site_folders(), folder]
        monkeypatch.setattr(sandbox, "_site_folders", lambda: folders)
        sandbox.check()


def test_two_threads_can_grade_at_once(graded):
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(graded(lesson.submission())))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [lesson.passed(result) for result in results] == [lesson.ALL] * 2


def test_nothing_is_left_of_a_grader_that_was_killed():
    code = (
        "from autograder.engine import grade\nfrom tests.engine import lesson\n"
        "answers = {'double': 'def double(n):\\n    while True: pass'}\n"
        "grade(lesson.source(), lesson.submission())\nprint('warm', flush=True)\n"
        "grade(lesson.source(), lesson.submission(answers))"
    )
    grader_process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=REPOSITORY, text=True
    )
    with grader_process:
        assert grader_process.stdout.readline() == "warm\n"
        below = psutil.Process(grader_process.pid).children(recursive=True)
        assert len(below) >= 3
        grader_process.kill()
    _, alive = psutil.wait_procs(below, timeout=30)
    assert alive == []


def test_workers_of_an_executor_have_their_own_processes(needs_sandbox):
    from autograder.engine import grade_task

    task = {"source": json.dumps(lesson.source()), "submitted": lesson.submission(),
            "limits": asdict(QUICK)}  # fmt: skip
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as executor:
        results = list(executor.map(grade_task, [task] * 4))
    assert [result["points"] for result in results] == [5] * 4


def test_a_warm_process_that_died_is_started_again(graded):
    grader.close_all()
    graded(lesson.submission())
    (runtime,) = grader._runtimes.values()
    runtime.sandbox.process.kill()
    runtime.sandbox.process.wait()
    assert lesson.passed(graded(lesson.submission())) == lesson.ALL
    runtime.server.kill()
    runtime.server.wait()
    with pytest.raises(EngineError, match="grade this submission again"):
        graded(lesson.submission())
    assert lesson.passed(graded(lesson.submission())) == lesson.ALL


def test_limits_say_what_the_sandbox_needs():
    assert Limits(submission=30).inside()["cpu_seconds"] == 40


def test_what_is_compiled_ahead_is_what_students_were_given():
    given = source_of(lesson.source()).open_code
    assert given[0] == "import math\nhelper = 3"
    assert not any("assert" in text or "return" in text for text in given), given


def test_each_given_cell_keeps_its_own_lines(monkeypatch):
    monkeypatch.setattr(session, "_prepared", {})
    lessons = [["%matplotlib inline", "a = 1", "?a", "b = 2"], ["c = 3", "d = 4"]]
    for cells in lessons:
        session.prepare_cells(cells)
    assert set(session._prepared) == {"a = 1", "b = 2", "c = 3", "d = 4"}
    for text, (code,) in session._prepared.items():
        assert linecache.getline(code.co_filename, 1) == text


def test_a_given_cell_fails_and_shows_as_one_of_the_students(graded):
    grader.close_all()
    text = "print(6 * 7)\nawait asyncio.sleep(0)\nthree = [1, 2, 3]\nthree[5]"
    source, submitted = lesson.source(), lesson.submission()
    for notebook in (source, submitted):
        notebook.cells[1].source = f"import asyncio\n{text}"
    with_it = graded(submitted, source=source)
    submitted.cells[1].source += "  # changed"
    changed = graded(submitted, source=source)
    (runtime,) = grader._runtimes.values()
    assert f"import asyncio\n{text}" in runtime.sandbox.compiled
    said, error = with_it.notebook["cells"][1]["outputs"]
    assert said["text"] == "42\n"
    assert (error["ename"], error["evalue"]) == ("IndexError", "list index out of range")
    assert "line 5, in <module>: three[5]" in str(error["traceback"])
    assert len(changed.notebook["cells"][1]["outputs"]) == 2
