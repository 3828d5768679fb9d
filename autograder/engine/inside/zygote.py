"""The warm process of a sandbox: imports once, then forks one namespaced process a submission.

Runs inside bubblewrap as process 1 and never runs student code itself. Each submission gets new
user, PID, mount and IPC namespaces, its own small tmpfs, no capabilities, and resource limits;
when its first process is killed, the kernel ends everything in it.

    zygote -> keeper, process 1 of the submission -> the student's session
"""

import contextlib
import ctypes
import errno
import gc
import json
import os
import resource
import select
import signal
import socket
import sys

from . import modules, session
from .wire import Channel

HOME = "/home/student"
NOBODY = 65534
STUDENT = 1000

# Mounts, IPC, users and processes. The network and the host name are the warm process's own
# already: there is no network, and student code lacks the right to change either.
_NEW_NAMESPACES = 0x00020000 | 0x08000000 | 0x10000000 | 0x20000000
_MS_NOSUID_NODEV, _MS_NOSUID_NODEV_NOEXEC = 2 | 4, 2 | 4 | 8
_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 4, 24, 38
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63
_JOIN_SESSION_KEYRING = 1
_SYS_KEYCTL = {"x86_64": 250, "aarch64": 219}
_SYS_CLONE = {"x86_64": 56, "aarch64": 220}

_libc = ctypes.CDLL(None, use_errno=True)
_libc_with_lock = ctypes.PyDLL(None, use_errno=True)  # keeps Python's own lock in a call


# -- small system calls ---------------------------------------------------------------------


def _check(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _mount(source, target, kind, flags, options=""):
    _check(
        _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags),
                    options.encode()),
        f"mounting {kind} on {target}",
    )  # fmt: skip


def _prctl(option, value):
    return _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def _drop_capabilities():
    for number in range(_LAST_CAPABILITY + 1):
        if _prctl(_PR_CAPBSET_DROP, number) != 0:
            break
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    data = (ctypes.c_uint32 * 6)()
    _check(_libc.capset(header, data), "dropping capabilities")
    _check(_prctl(_PR_SET_NO_NEW_PRIVS, 1), "no new privileges")


def _new_keyring():
    number = _SYS_KEYCTL.get(os.uname().machine)
    if number:
        _libc.syscall(ctypes.c_long(number), _JOIN_SESSION_KEYRING, None)


def stay_on(processor):
    """Run this process and those that it starts on one processor, if it may; None for any."""
    if processor is not None:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, [processor])


def _write(path, text):
    with open(path, "w") as target:
        target.write(text)


# -- warm-up --------------------------------------------------------------------------------


def leave_root():
    """Become an unprivileged user when bubblewrap was started by root."""
    if os.getuid() == 0 and _maps_all_users():
        _mount("proc", "/proc", "proc", _MS_NOSUID_NODEV_NOEXEC)
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    _drop_capabilities()
    _prctl(_PR_SET_DUMPABLE, 1)  # a change of user clears it, and /proc/self would be root's


def _maps_all_users():
    with open("/proc/self/uid_map") as source:
        return any(int(line.split()[2]) > 1 for line in source)


def warm_up(settings):
    """Import what submissions usually need."""
    os.environ["HOME"] = os.environ["TMPDIR"] = HOME
    modules.prepare(settings)
    gc.collect()
    gc.freeze()  # forks then share what was loaded: their collector leaves it alone


# -- one submission -------------------------------------------------------------------------


def _fork_into_namespaces():
    """Fork as os.fork does, the child being process 1 of new namespaces; return 0 in the child.

    Without this, a process between would have to make the namespaces, and forks are what costs.
    """
    number = _SYS_CLONE.get(os.uname().machine)
    if number is None:
        raise OSError(errno.ENOSYS, f"no sandbox for processors of the kind {os.uname().machine}")
    ctypes.pythonapi.PyOS_BeforeFork()
    flags = ctypes.c_ulong(_NEW_NAMESPACES | signal.SIGCHLD)
    child = _libc_with_lock.syscall(ctypes.c_long(number), flags, None, None, None, None)
    if child == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        return 0
    failed = ctypes.get_errno()
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    if child < 0:
        raise OSError(failed, f"making namespaces: {os.strerror(failed)}")
    return child


def _map_user(user, group):
    """In the keeper: be the student's user in here, who is nobody outside."""
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{STUDENT} {user} 1")
    _write("/proc/self/gid_map", f"{STUDENT} {group} 1")


def _keep(connection, report, settings, files):
    """In the keeper: make the submission's own places, start its session, watch its memory."""
    limits = settings["limits"]
    size = limits["disk_mb"]
    options = f"size={size}m,nr_inodes={limits['files']},mode=0700"
    _prctl(_PR_SET_DUMPABLE, 0)
    _new_keyring()
    _mount("proc", "/proc", "proc", _MS_NOSUID_NODEV_NOEXEC)
    _mount("tmpfs", HOME, "tmpfs", _MS_NOSUID_NODEV, options)
    _mount("tmpfs", "/dev/shm", "tmpfs", _MS_NOSUID_NODEV, f"size={size}m,mode=0700")
    with contextlib.suppress(OSError):
        _write("/proc/sys/user/max_user_namespaces", "0")
    os.chdir(HOME)
    _unpack(files)
    student = os.fork()
    if student == 0:
        os.close(report)
        stay_on(settings["processor"])
        _become_student(limits)
        session.run(Channel(connection, connection), limits)
    os.close(connection)
    os.write(report, b'{"ready": true}')
    os.close(report)
    _watch(student, limits["memory_mb"] << 20)


def _unpack(files):
    """Write the submission's other files: [[relative path, bytes], …], already checked.

    What does not fit into the submission's own bounds is left out.
    """
    for path, data in files:
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(os.path.join(HOME, path)), exist_ok=True)
            with open(os.path.join(HOME, path), "wb") as target:
                target.write(data)


def _become_student(limits):
    os.setsid()
    memory = limits["memory_mb"] << 20
    for name, value in (
        ("NPROC", limits["processes"]),
        ("DATA", memory),
        ("AS", 4 * memory + (2 << 30)),
        ("FSIZE", limits["disk_mb"] << 20),
        ("NOFILE", limits["open_files"]),
        ("CPU", limits["cpu_seconds"]),
        ("CORE", 0),
        ("MEMLOCK", 0),
        ("MSGQUEUE", 0),
    ):
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
    _drop_capabilities()
    _prctl(_PR_SET_DUMPABLE, 1)


def _watch(student, most):
    """Wait for the session to end; end everything when all its processes need too much memory."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    handle = os.pidfd_open(student)
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    while not poller.poll(50):
        if _total(_resident) > most and _total(_proportional) > most:
            break
    os._exit(0)  # process 1 of the namespace: its end is the end of everything in it


def _total(measure):
    """Return the bytes that all processes of the submission hold."""
    total = 0
    for name in os.listdir("/proc"):
        if name.isdecimal() and name != "1":
            with contextlib.suppress(OSError, IndexError, ValueError):
                total += measure(name)
    return total


def _resident(name):
    """Return a process's own memory; pages that forks still share count for each of them."""
    with open(f"/proc/{name}/statm") as source:
        fields = source.read().split()
    return (int(fields[1]) - int(fields[2])) * resource.getpagesize()


def _proportional(name):
    """Return a process's memory with shared pages divided among their users; takes longer."""
    with open(f"/proc/{name}/smaps_rollup") as source:
        return sum(int(line.split()[1]) << 10 for line in source if line.startswith("Pss_Anon:"))


# -- requests of the grader -------------------------------------------------------------------


def _start(control, request, settings, descriptors):
    """Fork one submission; tell the grader its keeper's number, or what went wrong."""
    connection, packed = descriptors
    with open(packed, "rb") as source:
        files = _read_files(source.read())
    read_end, write_end = os.pipe()
    user, group = os.getuid(), os.getgid()
    keeper = _fork_into_namespaces()
    if keeper == 0:
        control.close()
        os.close(read_end)
        try:
            _map_user(user, group)
            _keep(connection, write_end, settings, files)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.write(write_end, json.dumps({"error": str(error)[:300]}).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    os.close(connection)
    with open(read_end) as source:
        answer = json.loads(source.read() or "{}")
    if "ready" not in answer:
        os.waitpid(keeper, 0)
    return {"keeper": keeper, **answer}


def _read_files(data):
    """Return [[path, bytes], …] from the packed form: a JSON line of [path, length], then bytes."""
    if not data:
        return []
    heads, _, rest = data.partition(b"\n")
    files, start = [], 0
    for path, length in json.loads(heads):
        files.append((path, rest[start : start + length]))
        start += length
    return files


def _compile(descriptor):
    """Compile a lesson's cells, which most of its submissions have; none is run here."""
    with open(descriptor, "rb") as packed:
        session.prepare_cells(json.load(packed))
    gc.freeze()
    return {"compiled": True}


def _stop(request):
    """Kill a submission and wait until nothing of it is left."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(request["keeper"], signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(request["keeper"], 0)
    return {"stopped": True}


def main():
    """Serve the grader on descriptor 3 until it goes away; settings come first, as JSON."""
    control = socket.socket(fileno=int(sys.argv[1]))
    settings = json.loads(control.recv(1 << 20))
    leave_root()
    sys.path[:] = [p for p in sys.path if p not in ("", os.getcwd())]
    warm_up(settings)
    control.send(json.dumps({"warm": True, "numpy": "numpy" in sys.modules}).encode())
    while True:
        text, descriptors, _flags, _address = socket.recv_fds(control, 1 << 20, 4)
        if not text:
            os._exit(0)
        request = json.loads(text)
        try:
            if request["do"] == "start":
                answer = _start(control, request, settings, descriptors)
            elif request["do"] == "compile":
                answer = _compile(*descriptors)
            else:
                answer = _stop(request)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        control.send(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
