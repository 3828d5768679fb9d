"""A class on one machine: system users, an exchange, a JupyterHub on loopback.

    with ClassMachine() as machine:
        page = machine.log_in(browser, "sd-ada")

Everything lies in one folder; users, processes and folder are gone at the end. It needs root.
"""

import contextlib
import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import psutil
import pytest
from lab import PAGE_LIMIT_MS, REPOSITORY, START_LIMIT_S, free_port

TEACHER = "sd-teacher"
STUDENTS = ("sd-ada", "sd-ben", "sd-cyd")
MARK = "speculative decoding class test"  # in /etc/passwd: users that a test made
PROXY = Path(sys.prefix) / "proxy" / "node_modules" / ".bin" / "configurable-http-proxy"
COPIED = ("nbgrader_config.py", "autograder", "course", "specdec", "tools")
CLASS_DATA = (
    "__pycache__", "source", "submitted", "autograded", "feedback", "results", "term", "archive",
    "*.db", "grades*.csv",
)  # fmt: skip

CONFIG = """
load_subconfig({course_hub!r})
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub_port}
c.JupyterHub.db_url = "sqlite:///:memory:"
c.ConfigurableHTTPProxy.command = [{proxy!r}]
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api_port}"
c.JupyterHub.authenticator_class = "shared-password"
c.SharedPasswordAuthenticator.user_password = {password!r}
c.Authenticator.allowed_users = {users!r}
c.JupyterHub.spawner_class = "jupyterhub.spawner.LocalProcessSpawner"
c.Spawner.cmd = [{python!r}, "-m", "jupyterhub.singleuser"]
c.Spawner.args = ["--LabApp.expose_app_in_browser=True"]
c.Spawner.environment.update({environment!r})
c.Spawner.start_timeout = c.Spawner.http_timeout = {limit}
"""


def missing():
    """Return what this machine lacks for a class, or ""."""
    if os.environ.get("REQUIRE_ALL") != "1" and os.environ.get("CLASS_TEST") != "1":
        return "makes system users; set CLASS_TEST=1, as root, to run it"
    if sys.platform != "linux" or os.geteuid():
        return "needs root on Linux, to make system users"
    programs = ("useradd", "userdel", "setpriv", "bwrap")
    lacking = [name for name in programs if not shutil.which(name)]
    if lacking:
        return f"needs the programs {', '.join(lacking)}"
    if not PROXY.exists():
        return f"needs {PROXY.name} in {PROXY.parent}; `make hub` puts it there"
    return ""


class ClassMachine:
    """The users, their folders and the hub. Use it with `with`.

    folder     holds the homes, the exchange and what follows
    course     the instructor's copy of the course, in their home
    exchange   nbgrader's exchange
    """

    def __init__(self):
        self.password = secrets.token_hex(16)
        self.process = None

    def __enter__(self):
        remove_users()
        self.folder = Path(tempfile.mkdtemp(prefix="class-", dir="/var/tmp"))
        try:
            self._fill()
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error):
        if self.process is not None:
            self.process.terminate()  # bubblewrap ends, and with it all of its process namespace
            self.process.wait()
        psutil.wait_procs(_processes_of_users(), timeout=60)
        remove_users()
        shutil.rmtree(self.folder)

    def home(self, user):
        return self.folder / "home" / user

    def run(self, user, *command, cwd=None, check=True):
        """Run a command as a system user, in their home or cwd, as their server's terminal would.

        Returns the finished process; its output is text.
        """
        done = subprocess.run(
            self._command(user, command, cwd), capture_output=True, text=True, timeout=START_LIMIT_S
        )
        assert not check or done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done

    def start(self, user, *command, cwd=None):
        """Start such a command and return it as a Popen; its output is one text."""
        return subprocess.Popen(
            self._command(user, command, cwd),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _command(self, user, command, cwd):
        role = "instructor" if user == TEACHER else "student"
        settings = f"{self.folder}/hub/{role}:{self.folder}/hub/both"
        environment = self._environment() | {
            "JUPYTER_CONFIG_PATH": settings,
            "COURSE_EXCHANGE": str(self.exchange),
        }
        return [
            *reachable(),
            *("setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--reset-env"),
            *("env", "-C", str(cwd or self.home(user))),
            *(f"{name}={value}" for name, value in environment.items()),
            *command,
        ]

    def python(self, user, *arguments, **options):
        return self.run(user, sys.executable, *arguments, **options)

    def log_in(self, browser, user):
        """Log a user in and return the page, which then waits for their server."""
        context = browser.new_context(viewport={"width": 1400, "height": 900})
        page = context.new_page()
        page.set_default_timeout(PAGE_LIMIT_MS)
        page.goto(f"{self.url}/hub/login")
        page.locator("#username_input").fill(user)
        page.locator("#password_input").fill(self.password)
        page.locator("#login_submit").click(no_wait_after=True)
        return page

    def own(self, path, user):
        """Give a folder or file to a user."""
        subprocess.run(["chown", "-R", f"{user}:{user}", path], check=True)

    def _fill(self):
        self.folder.chmod(0o755)
        (self.folder / "home").mkdir(mode=0o755)
        for user in (TEACHER, *STUDENTS):
            subprocess.run(
                [
                    *("useradd", "--create-home", "--user-group", "--comment", MARK),
                    *("--home-dir", self.home(user), "--key", "HOME_MODE=0700"),
                    *("--shell", "/bin/bash", user),
                ],
                check=True,
            )
        self.exchange = self.folder / "exchange"
        self.exchange.mkdir()
        self.exchange.chmod(0o777)
        shutil.copytree(REPOSITORY / "hub", self.folder / "hub")
        (self.folder / "hub" / "instructors").write_text(f"{TEACHER}\n")
        self.packages = self.folder / "packages"  # as if the course were installed for everybody
        shutil.copytree(REPOSITORY / "specdec", self.packages / "specdec", ignore=_ignored())
        self.course = self.home(TEACHER) / "speculative-decoding"
        self.course.mkdir()
        for name in COPIED:
            _copy(REPOSITORY / name, self.course / name)
        _copy(REPOSITORY / "lessons", self.course / "lessons")
        self.own(self.course, TEACHER)

    def _environment(self):
        return {
            "PATH": f"{Path(sys.executable).parent}:{os.defpath}",
            "PYTHONPATH": str(self.packages),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def _start(self):
        self.port, hub_port, api_port = free_port(), free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        config = self.folder / "jupyterhub_config.py"
        config.write_text(
            CONFIG.format(
                course_hub=str(self.folder / "hub" / "course_hub.py"),
                port=self.port,
                hub_port=hub_port,
                api_port=api_port,
                proxy=str(PROXY),
                password=self.password,
                users={TEACHER, *STUDENTS},
                python=sys.executable,
                environment=self._environment(),
                limit=START_LIMIT_S,
            )
        )
        config.chmod(0o600)
        (self.folder / "state").mkdir(mode=0o700)
        self.log = self.folder / "state" / "hub.log"
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [
                    *reachable(own_processes=True),
                    *(sys.executable, "-m", "jupyterhub", "--config", str(config)),
                ],
                cwd=self.folder / "state",
                env={**os.environ, "COURSE_EXCHANGE": str(self.exchange)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._wait_until_up()

    def _wait_until_up(self):
        limit = time.monotonic() + START_LIMIT_S
        while time.monotonic() < limit and self.process.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/hub/login"):
                return
            time.sleep(0.1)
        raise RuntimeError(f"JupyterHub did not start:\n{self.log.read_text()[-3000:]}")


def remove_users():
    """Remove the users that a test made; somebody else's user of that name is an error."""
    for user in (TEACHER, *STUDENTS):
        with contextlib.suppress(KeyError):
            if pwd.getpwnam(user).pw_gecos != MARK:
                pytest.fail(f"there is a user {user} on this machine that no test made")
            subprocess.run(["userdel", "--force", user], check=True)


def _processes_of_users():
    """Return what still runs as one of the users."""
    users = {TEACHER, *STUDENTS}
    return [p for p in psutil.process_iter(["username"]) if p.info["username"] in users]


def reachable(own_processes=False):
    """Return the start of a command in which every user reaches this Python.

    It may lie below a private folder such as /root; then only what it needs of that is shown.
    own_processes: what the command starts ends with it.
    """
    view = ["bwrap", "--die-with-parent", "--cap-add", "ALL", "--dev-bind", "/", "/"]
    needed = dict.fromkeys(map(os.path.realpath, (sys.prefix, sys.base_prefix)))
    for folder in dict.fromkeys(filter(None, map(_private_parent, needed))):
        view += ["--perms", "0755", "--tmpfs", folder]
    for path in filter(_private_parent, needed):
        for folder in reversed(Path(path).parents):
            if folder.is_relative_to(_private_parent(path)):
                view += ["--perms", "0755", "--dir", str(folder)]
        view += ["--ro-bind", path, path]
    return [*view, *(["--unshare-pid", "--proc", "/proc"] if own_processes else [])]


def _private_parent(path):
    """Return the uppermost folder above path that not everybody may pass, or None."""
    parents = reversed(Path(path).parents)
    return next((str(folder) for folder in parents if not folder.stat().st_mode & 0o001), None)


def _copy(source, target):
    if source.is_dir():
        shutil.copytree(source, target, ignore=_ignored())
    else:
        shutil.copy(source, target)


def _ignored():
    return shutil.ignore_patterns(*CLASS_DATA)
