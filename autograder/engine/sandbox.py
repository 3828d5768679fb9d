"""Starts the warm sandboxed process and the submissions in it."""

import contextlib
import functools
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from .inside.wire import Channel, LostError
from .inside.zygote import HOME
from .model import Limits, Policy

START_SECONDS = 60  # imports on a busy machine
REPLY_SECONDS = 20

_SYSTEM_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/fonts")
_PREFIX_PARTS = ("bin", "lib", "lib64", "lib32", "libx32", "libexec", "share", "pyvenv.cfg")
_INSIDE = Path(__file__).parent / "inside"
_PACKAGES = "/packages"
_WARM = ("IPython.core.inputtransformer2", "IPython.display")


class SandboxUnavailable(RuntimeError):
    """Student code can't be run safely here. `cause` says why, `mend` what to do about it."""

    def __init__(self, cause, mend):
        super().__init__(f"{cause} {mend}")
        self.cause, self.mend = cause, mend


def check():
    """Run an empty submission in the sandbox.

    Raises SandboxUnavailable with the cause and the mend when that does not work.
    """
    policy = Policy(warm=())
    with Sandbox(policy, Limits()) as sandbox:
        sandbox.try_out()


class Session:
    """One submission's processes; `fd` is the socket to them, to be handed on or closed."""

    def __init__(self, sandbox, fd, keeper):
        self.sandbox, self.fd, self.keeper = sandbox, fd, keeper
        self.stopping = False

    def begin_stop(self):
        """Begin to end every process of the submission; `stop` waits until none is left."""
        if not self.stopping:
            self.sandbox.begin_stop(self.keeper)
            self.stopping = True

    def stop(self):
        """End every process of the submission; returns when none is left."""
        if self.keeper is not None:
            self.begin_stop()
            self.sandbox.finish_stop()
            self.keeper = None


class Sandbox:
    """A warm process in bubblewrap that starts submissions. Use as a context manager.

    processor  the number of the only one that submissions run on; None for any
    """

    def __init__(self, policy, limits, processor=None):
        self.policy, self.limits, self.processor = policy, limits, processor
        self.process = self.control = None
        self.errors = None
        self.compiled = set()  # cells that the warm process has compiled

    def __enter__(self):
        self.open()
        return self

    def __exit__(self, *error):
        self.close()

    def open(self):
        """Start the warm process and wait until it is ready. Raises SandboxUnavailable."""
        try:
            self.launch()
            self.wait_until_warm()
        except BaseException:
            self.close()
            raise

    def launch(self):
        """Start the warm process; `wait_until_warm` comes next."""
        refuse_early()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed in close()
        with _Command(self.policy) as command:
            program = [
                _python(), "-s", "-P", "-m", "inside.zygote", str(theirs.fileno())
            ]  # fmt: skip
            self.process = subprocess.Popen(
                command.arguments(theirs.fileno()) + program,
                pass_fds=[theirs.fileno(), *command.descriptors],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self.errors,
                start_new_session=True,
            )
        theirs.close()
        self.control = ours

    def wait_until_warm(self):
        """Let the warm process import. Raises SandboxUnavailable when it does not start."""
        settings = inside_settings(self.policy, self.limits, self.processor)
        answer = self._ask(settings, START_SECONDS)
        if "warm" not in answer:
            raise _diagnosis(answer.get("error", self._last_error()))

    def compile_cells(self, cells):
        """Let the warm process compile what students were given, once for all submissions."""
        new = [cell for cell in cells if cell not in self.compiled]
        if new:
            with in_a_file(json.dumps(new).encode()) as packed:
                self._send({"do": "compile"}, [packed.fileno()])
            self._answer(REPLY_SECONDS)  # where it is gone, the next submission shows it
            self.compiled.update(new)

    def start(self, files=()):
        """Start a submission with its other files, [(relative path, bytes), …]."""
        return self.finish_start(self.begin_start(files))

    def begin_start(self, files=()):
        """Begin to start a submission; `finish_start` comes next, with what this returns."""
        ours, theirs = socket.socketpair()
        with theirs, _packed(files) as packed:
            self._send({"do": "start"}, [theirs.fileno(), packed.fileno()])
        return ours

    def finish_start(self, ours):
        """Return the Session that was begun. Raises SandboxUnavailable."""
        answer = self._answer(REPLY_SECONDS)
        if "keeper" not in answer or "ready" not in answer:
            ours.close()
            raise _diagnosis(answer.get("error", self._last_error()))
        return Session(self, ours.detach(), answer["keeper"])

    def try_out(self):
        """Run an empty submission. Raises SandboxUnavailable when that does not work."""
        session = self.start()
        try:
            channel = Channel(session.fd, session.fd)
            channel.send(["do", None, "cell", ["6 * 7", 0], {}])
            message, _ = channel.receive()
            channel.close()
        except LostError:
            message = ["lost"]
        finally:
            session.stop()
        if message[0] != "ok" or "42" not in json.dumps(message):
            raise SandboxUnavailable(
                "The sandbox starts, but Python does not run in it.",
                f"Check that everyone may read {sys.prefix} and {sys.base_prefix}.",
            )

    def begin_stop(self, keeper):
        """Begin to kill the submission that starts at `keeper`; `finish_stop` comes next."""
        self._send({"do": "stop", "keeper": keeper})

    def finish_stop(self):
        """Wait until nothing is left of the submission whose end was begun."""
        self._answer(REPLY_SECONDS)

    def close(self):
        """End the warm process and everything in it."""
        if self.control is not None:
            self.control.close()
            self.control = None
        if self.process is not None:
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None
        if self.errors is not None:
            self.errors.close()
            self.errors = None

    def _ask(self, request, seconds):
        self._send(request)
        return self._answer(seconds)

    def _send(self, request, descriptors=()):
        with contextlib.suppress(OSError):  # the answer will be that there is none
            socket.send_fds(self.control, [json.dumps(request).encode()], descriptors)

    def _answer(self, seconds):
        self.control.settimeout(seconds)
        try:
            answer = self.control.recv(1 << 16)
        except OSError:
            answer = b""
        if not answer:
            return {"error": self._last_error()}
        return json.loads(answer)

    def _last_error(self):
        if self.errors is None:
            return ""
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


def inside_settings(policy, limits, processor=None):
    """Return what the student's process is told at its start, as plain data."""
    return {
        "processor": processor,
        "warm": [*_WARM, *policy.warm],
        "stand_ins": list(policy.stand_ins),
        "hidden": dict(policy.hidden),
        "limits": limits.inside(),
    }


def in_a_file(data):
    """Return a temporary file with these bytes, at its beginning; its descriptor can be sent."""
    target = tempfile.TemporaryFile()  # noqa: SIM115  # the caller closes it
    target.write(data)
    target.seek(0)
    return target


def _packed(files):
    if not files:
        return in_a_file(b"")
    heads = json.dumps([[path, len(data)] for path, data in files])
    return in_a_file(heads.encode() + b"\n" + b"".join(data for _, data in files))


# -- the command line of bubblewrap ---------------------------------------------------------------


class _Command:
    """The arguments for bubblewrap, and the descriptors that hold files' contents for it."""

    def __init__(self, policy):
        self.policy = policy
        self.descriptors = []
        self.parents = set()
        self.bound = []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for fd in self.descriptors:
            os.close(fd)

    def arguments(self, control):
        """Return the whole command up to the program. Descriptor `control` stays open in it."""
        parts = [shutil.which("bwrap"), *self._namespaces(), "--as-pid-1"]
        parts += self._system() + self._environment()
        parts += self._places() + self._packages() + self._own_package() + self._variables()
        parts += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", HOME]
        return [*parts, "--"]

    def _namespaces(self):
        names = ("pid", "ipc", "net", "uts")
        common = [f"--unshare-{name}" for name in names] + ["--unshare-cgroup-try"]
        common += ["--hostname", "sandbox", "--cap-drop", "ALL"]
        if os.geteuid() == 0:
            # No user namespace yet: the first step inside is to become nobody, for good.
            capabilities = ("CAP_SETUID", "CAP_SETGID", "CAP_SYS_ADMIN", "CAP_SETPCAP")
            return common + [part for name in capabilities for part in ("--cap-add", name)]
        return [*common, "--unshare-user", "--uid", "1000", "--gid", "1000"]

    def _system(self):
        parts = []
        for link in _SYSTEM_LINKS:
            if os.path.islink(link):
                parts += ["--symlink", os.readlink(link), link]
            elif os.path.isdir(link):
                parts += self._bind(link)
        for path in _SYSTEM_FILES:
            if os.path.exists(path):
                parts += self._bind(os.path.realpath(path), path)
        passwd = f"root:x:0:0::/:\nstudent:x:1000:1000::{HOME}:\n"
        return parts + self._file("/etc/passwd", passwd)

    def _environment(self):
        """Show the interpreter and what is installed for it, not the folders they stand in."""
        parts = []
        prefixes = ["/usr", "/usr/local", sys.base_prefix, sys.prefix, sys.base_exec_prefix]
        for prefix in dict.fromkeys(os.path.realpath(p) for p in prefixes):
            for name in _PREFIX_PARTS:
                path = os.path.join(prefix, name)
                if os.path.exists(path) and not os.path.islink(path):
                    parts += self._bind(path)
                elif os.path.islink(path):
                    parts += [*self._parents(path), "--symlink", os.readlink(path), path]
        for path in _site_folders():
            if not self._is_bound(path):
                parts += self._bind(path)
        return parts

    def _places(self):
        parts = ["--dev", "/dev", "--proc", "/proc"]
        size = str(64 << 20)
        parts += [*self._parents(HOME), "--perms", "1777", "--size", size, "--tmpfs", HOME]
        for folder in ("/tmp", "/var/tmp"):  # an environment may lie below one of them
            if folder not in self.parents:
                parts += [*self._parents(folder), "--symlink", HOME, folder]
        return parts + self._font_list()

    def _font_list(self):
        """Give matplotlib the list of fonts that the grader's own one has already made."""
        path = _font_list_file() if "matplotlib.pyplot" in self.policy.warm else None
        if path is None:
            return []
        folder = f"{HOME}/.matplotlib"
        made = ["--perms", "1777", "--dir", folder]
        return made + self._file(f"{folder}/{path.name}", path.read_text(), "--file")

    def _packages(self):
        parts = self._bind(str(_INSIDE), f"{_PACKAGES}/inside")
        masked = _hidden_paths(self.policy)
        for name in self.policy.expose:
            folder = _package_folder(name)
            if folder is None:
                continue
            target = folder if self._is_bound(folder) else f"{_PACKAGES}/{name}"
            if target != folder:
                parts += self._bind(folder, target)
            parts += self._masks(folder, target, masked)
        return parts

    def _masks(self, folder, target, masked):
        """Put sentences in the place of hidden modules, and leave out their compiled copies."""
        parts = []
        inside = {p: text for p, text in masked.items() if Path(p).is_relative_to(folder)}
        for parent in sorted({os.path.dirname(path) for path in inside}):
            there = os.path.join(target, os.path.relpath(parent, folder))
            parts += ["--perms", "0755", "--tmpfs", os.path.normpath(there)]
            for entry in sorted(os.listdir(parent)):
                path = os.path.join(parent, entry)
                if entry != "__pycache__" and path not in inside:
                    parts += ["--ro-bind", path, os.path.normpath(os.path.join(there, entry))]
        for path, sentence in inside.items():
            there = os.path.normpath(os.path.join(target, os.path.relpath(path, folder)))
            there = there if there.endswith(".py") else f"{there}/__init__.py"
            parts += self._file(there, f"raise ImportError({sentence!r})\n")
        return parts

    def _own_package(self):
        """Hide the grader's own package, which may hold solutions, where it is installed."""
        folder = str(Path(__file__).resolve().parents[1])
        return ["--tmpfs", folder] if self._is_bound(folder) else []

    def _variables(self):
        values = {
            "PATH": f"{sys.prefix}/bin:/usr/bin:/bin",
            "HOME": HOME,
            "LANG": "C.UTF-8",
            "MPLBACKEND": "agg",
            "MPLCONFIGDIR": f"{HOME}/.matplotlib",
            "PYTHONPATH": _PACKAGES,
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONWARNINGS": "ignore::ResourceWarning",
        }
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        values |= dict.fromkeys(names, "1")
        return ["--clearenv", *(p for k, v in values.items() for p in ("--setenv", k, v))]

    def _bind(self, path, target=None):
        target = target or path
        self.bound.append(target)
        return [*self._parents(target), "--ro-bind", path, target]

    def _is_bound(self, path):
        return any(Path(path).is_relative_to(bound) for bound in self.bound)

    def _parents(self, path):
        """Make the folders above `path` readable for everyone; bubblewrap would make them 0700."""
        parts = []
        for parent in reversed(Path(path).parents):
            name = str(parent)
            if name not in self.parents and name != "/" and not self._is_bound(name):
                self.parents.add(name)
                parts += ["--perms", "0755", "--dir", name]
        return parts

    def _file(self, path, text, option="--ro-bind-data"):
        fd = os.memfd_create("content")
        os.write(fd, text.encode())
        os.lseek(fd, 0, os.SEEK_SET)
        self.descriptors.append(fd)
        return [*self._parents(path), "--perms", "0644", option, str(fd), path]


def _python():
    """Return the interpreter by the name that finds its environment."""
    return os.path.join(os.path.realpath(sys.prefix), "bin", os.path.basename(sys.executable))


def _site_folders():
    found = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    found += [p for p in sys.path if p.endswith(("site-packages", "dist-packages"))]
    return [os.path.realpath(p) for p in dict.fromkeys(found) if os.path.isdir(p)]


@functools.cache
def _font_list_file():
    try:
        import matplotlib
        import matplotlib.font_manager as fonts
    except ImportError:
        return None
    path = Path(matplotlib.get_cachedir()) / f"fontlist-v{fonts.FontManager.__version__}.json"
    return path if path.is_file() else None


def _package_folder(name):
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        return None
    return os.path.realpath(next(iter(spec.submodule_search_locations)))


def _hidden_paths(policy):
    """Return {file or folder of a hidden module: sentence}, as far as they exist."""
    found = {}
    for name, sentence in policy.hidden.items():
        top, *rest = name.split(".")
        folder = _package_folder(top)
        if folder is None or not rest:
            continue
        path = os.path.join(folder, *rest)
        for candidate in (f"{path}.py", path):
            if os.path.exists(candidate):
                found[candidate] = sentence
    return found


# -- what is wrong --------------------------------------------------------------------------------


def refuse_early():
    """Raise SandboxUnavailable for what can be seen without starting a process."""
    if not sys.platform.startswith("linux"):
        raise SandboxUnavailable(
            "Grading needs Linux: the sandbox is made of Linux namespaces.",
            "Grade on a Linux machine, in WSL 2 or in a Linux virtual machine.",
        )
    if shutil.which("bwrap") is None:
        raise SandboxUnavailable(
            "bubblewrap is not installed.",
            "Install it, for example with: apt install bubblewrap (or dnf, zypper, pacman).",
        )


def _setting(name):
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return None


def _diagnosis(detail):
    """Return the SandboxUnavailable that fits this system best."""
    if _in_container():
        return SandboxUnavailable(
            f"This container does not let programs make namespaces of their own ({detail}).",
            "Start it with --security-opt seccomp=unconfined --security-opt systempaths=unconfined"
            " (docker: also --security-opt apparmor=unconfined), or grade outside of it.",
        )
    for name, bad, cause, mend in _FORBIDDING:
        if _setting(name) == bad:
            return SandboxUnavailable(
                f"{cause} ({name.replace('/', '.')} is {bad}).", f"Allow them, as root: {mend}"
            )
    return SandboxUnavailable(
        f"The sandbox does not start: {detail or 'no reason was given'}.",
        "Try: bwrap --unshare-all --ro-bind / / --proc /proc true, and mend what it says.",
    )


_FORBIDDING = (
    (
        "kernel/unprivileged_userns_clone",
        "0",
        "This system forbids user namespaces",
        "sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    (
        "user/max_user_namespaces",
        "0",
        "This system forbids user namespaces",
        "sysctl -w user.max_user_namespaces=15000",
    ),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor forbids user namespaces to programs without a profile, as Ubuntu has it",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or give /usr/bin/bwrap a "
        "profile with the rule 'userns,' in /etc/apparmor.d.",
    ),
)
_CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv", "/run/systemd/container")


def _in_container():
    names = ("container", "KUBERNETES_SERVICE_HOST")
    return any(map(os.path.exists, _CONTAINER_MARKS)) or any(name in os.environ for name in names)
