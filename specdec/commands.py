"""Open the lessons, start one afresh, fetch a newer version. No command overwrites your work."""

import argparse
import os
import shutil
import socket
import subprocess
import sys
from datetime import datetime
from pathlib import Path

LESSONS = Path("lessons")
FIRST = LESSONS / "01_draft_and_verify" / "01_draft_and_verify.ipynb"
LAB_SETTINGS = Path("binder") / "lab-settings"


class CommandError(Exception):
    """Something that the learner can mend. The message says how."""


def main(argv: list[str] | None = None) -> int:
    """Run one command; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m specdec", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    lab = commands.add_parser("lab", help="open JupyterLab at lesson 1", add_help=False)
    lab.set_defaults(run=open_lab)
    reset = commands.add_parser("reset", help="start a lesson afresh; your copy is kept")
    reset.add_argument("lesson", help="its number, such as 01")
    reset.set_defaults(run=lambda args, _: reset_lesson(args.lesson))
    update = commands.add_parser("update", help="fetch a newer version; your copies are kept")
    update.set_defaults(run=lambda *_: update_course())
    progress = commands.add_parser("progress", help="show how far you are in all lessons")
    progress.set_defaults(run=lambda *_: show_progress())
    args, rest = parser.parse_known_args(argv)
    if rest and args.command != "lab":
        parser.error(f"unknown arguments: {' '.join(rest)}")
    try:
        return args.run(args, rest)
    except CommandError as error:
        print(error, file=sys.stderr)
        return 1


def open_lab(_, lab_args: list[str]) -> int:
    """Start JupyterLab in the course's folder, at lesson 1, with the course's settings."""
    if not FIRST.exists():
        raise CommandError(f"{FIRST} is not here. Run this in the course's folder.")
    port = _port(lab_args)
    if port is not None:
        _check_port(port)
        lab_args = with_option(lab_args, "ServerApp.port_retries", "0")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # a container, most likely
        lab_args = with_option(lab_args, "ServerApp.allow_root", "True")
    lab_args = with_option(lab_args, "ServerApp.root_dir", str(Path.cwd()))
    lab_args = with_option(lab_args, "LabApp.default_url", f"/lab/tree/{FIRST.as_posix()}")
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        *with_option(lab_args, "LabApp.app_settings_dir", str(LAB_SETTINGS.resolve())),
    ]
    # nbgrader's Validate looks for its programs on PATH
    path = str(Path(sys.executable).parent) + os.pathsep + os.environ.get("PATH", "")
    environment = {**os.environ, "PATH": path}
    if os.name == "nt":
        return subprocess.run(command, env=environment).returncode
    os.execve(sys.executable, command, environment)
    return 0  # not reached


def with_option(lab_args: list[str], name: str, value: str) -> list[str]:
    """Add an option of JupyterLab's, unless the caller has set it."""
    if any(arg.lstrip("-").startswith(name) for arg in lab_args):
        return lab_args
    return [*lab_args, f"--{name}={value}"]


def _port(lab_args: list[str]) -> int | None:
    """Return the port that the arguments ask for, if they do."""
    for i, arg in enumerate(lab_args):
        name, _, value = arg.partition("=")
        if name in ("--port", "--ServerApp.port"):
            value = value or (lab_args[i + 1] if i + 1 < len(lab_args) else "")
            if not value.isdigit() or not 0 < int(value) < 65536:
                raise CommandError(f"--port needs a number from 1 to 65535, not {value!r}.")
            return int(value)
    return None


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        if os.name != "nt":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise CommandError(
                f"Port {port} is in use. Choose another, or leave --port out and one is found."
            ) from None


def lesson_file(name: str) -> Path:
    """Return the notebook of a lesson given as 1, 01 or its folder's name."""
    known = sorted(p.name for p in LESSONS.glob("[0-9][0-9]_*") if p.is_dir())
    for slug in known:
        if name in (slug, slug[:2], slug[:2].lstrip("0")):
            return LESSONS / slug / f"{slug}.ipynb"
    raise CommandError(f"There is no lesson {name!r}. The lessons are: {', '.join(known)}.")


def dated_copy(path: Path) -> Path:
    """Copy a learner's notebook to a dated name beside it, and return that name."""
    stamp = datetime.now().strftime("%Y-%m-%d-%H%M%S")
    copy = path.with_name(f"{path.stem}.{stamp}{path.suffix}")
    shutil.copy2(path, copy)
    return copy


def _git(*args: str) -> subprocess.CompletedProcess:
    if shutil.which("git") is None:
        raise CommandError("This needs git, and git is not installed.")
    return subprocess.run(["git", *args], capture_output=True)


def reset_lesson(name: str) -> int:
    """Put the released lesson back; what was there is kept under a dated name."""
    path = lesson_file(name)
    released = _git("show", f"HEAD:{path.as_posix()}")
    if released.returncode:
        raise CommandError("This folder is no git clone: take the lesson from a fresh download.")
    if path.exists():
        if path.read_bytes() == released.stdout:
            print(f"{path} is as released. Nothing to do.")
            return 0
        print(f"Your work is kept as {dated_copy(path).name}.")
    path.write_bytes(released.stdout)
    print(f"{path} is fresh again. In JupyterLab: File > Reload Notebook from Disk.")
    return 0


def show_progress() -> int:
    """Print how far each lesson is, by the last checks in the saved notebooks."""
    from specdec.progress.overview import Overview

    overview = Overview(LESSONS, Path())
    if not overview.found:
        raise CommandError(f"There are no lessons in {LESSONS.resolve()}.")
    print(overview)
    return 0


def update_course() -> int:
    """Fetch the newest version; a lesson that you changed is kept under a dated name first."""
    status = _git("status", "--porcelain", "--", str(LESSONS))
    if status.returncode:
        raise CommandError("This folder is no git clone, so it can't be updated by this command.")
    fetched = _git("fetch")
    if fetched.returncode:
        reason = fetched.stderr.decode().strip().splitlines() or ["no answer"]
        raise CommandError(f"The newest version can't be fetched: {reason[-1]}")
    for line in status.stdout.decode().splitlines():
        path = Path(line[3:])
        if line[:2].strip() == "M" and path.suffix == ".ipynb":
            print(f"{path}: your work is kept as {dated_copy(path).name}")
            _git("checkout", "--", str(path))
    merged = _git("merge", "--ff-only", "@{upstream}")
    if merged.returncode:
        reason = merged.stderr.decode().strip().splitlines() or ["git refused"]
        raise CommandError(f"The newest version can't be merged: {reason[-1]}")
    print("The course is up to date.")
    return 0
