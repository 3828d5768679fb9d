"""The learner's commands: clear sentences, and nothing of the learner's lost."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from specdec import commands

NAME = "01_draft_and_verify"


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A course folder that is a git clone, with one lesson."""
    if shutil.which("git") is None:
        pytest.skip("git: not found on this machine")
    remote, here = tmp_path / "remote", tmp_path / "here"
    lesson = remote / "lessons" / NAME / f"{NAME}.ipynb"
    lesson.parent.mkdir(parents=True)
    lesson.write_text("released\n")
    (remote / ".gitignore").write_text("/lessons/*/*.20[0-9][0-9]-*.ipynb\n")
    git(remote, "init", "--quiet", "--initial-branch=main")
    commit(remote)
    git(tmp_path, "clone", "--quiet", str(remote), str(here))
    monkeypatch.chdir(here)
    return remote, here / "lessons" / NAME


def git(folder, *args):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *identity, *args], cwd=folder, check=True, capture_output=True)


def commit(folder):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "x")


def test_reset_keeps_the_work(clone, capsys):
    _, folder = clone
    (folder / f"{NAME}.ipynb").write_text("my work\n")
    assert commands.main(["reset", "1"]) == 0
    assert (folder / f"{NAME}.ipynb").read_text() == "released\n"
    (copy,) = folder.glob(f"{NAME}.2*.ipynb")
    assert copy.read_text() == "my work\n"
    assert copy.name in capsys.readouterr().out


def test_reset_of_an_untouched_lesson_does_nothing(clone, capsys):
    _, folder = clone
    assert commands.main(["reset", NAME]) == 0
    assert "Nothing to do" in capsys.readouterr().out
    assert len(list(folder.iterdir())) == 1


def test_update_brings_the_new_version_and_keeps_the_work(clone, capsys):
    remote, folder = clone
    (folder / f"{NAME}.ipynb").write_text("my work\n")
    (remote / "lessons" / NAME / f"{NAME}.ipynb").write_text("newer\n")
    commit(remote)
    assert commands.main(["update"]) == 0
    assert (folder / f"{NAME}.ipynb").read_text() == "newer\n"
    (copy,) = folder.glob(f"{NAME}.2*.ipynb")
    assert copy.read_text() == "my work\n"
    assert "up to date" in capsys.readouterr().out


def fails(capsys, *argv) -> str:
    assert commands.main(list(argv)) == 1
    return capsys.readouterr().err


def test_unknown_lesson_names_the_known_ones(clone, capsys):
    assert f"The lessons are: {NAME}" in fails(capsys, "reset", "9")


def test_outside_a_clone(tmp_path, monkeypatch, capsys):
    lesson = tmp_path / "lessons" / NAME / f"{NAME}.ipynb"
    lesson.parent.mkdir(parents=True)
    lesson.write_text("released\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert "no git clone" in fails(capsys, "reset", "1")
    assert "no git clone" in fails(capsys, "update")


@pytest.mark.skipif(os.name == "nt", reason="execve: Windows starts a child instead")
def test_lab_shows_the_whole_course_at_lesson_1(clone, monkeypatch):
    started = []
    monkeypatch.setattr(os, "execve", lambda path, argv, env: started.append((argv, env)))
    commands.main(["lab", "--no-browser"])
    ((argv, env),) = started
    assert f"--LabApp.default_url=/lab/tree/lessons/{NAME}/{NAME}.ipynb" in argv
    assert f"--ServerApp.root_dir={os.getcwd()}" in argv
    assert "--no-browser" in argv
    assert any(arg.endswith("lab-settings") for arg in argv)
    assert env["PATH"].startswith(str(Path(sys.executable).parent))


def test_lab_outside_the_course(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert "Run this in the course's folder" in fails(capsys, "lab")


def test_lab_with_a_port_in_use(clone, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"Port {port} is in use" in fails(capsys, "lab", f"--port={port}")
        assert f"Port {port} is in use" in fails(capsys, "lab", "--port", str(port))


@pytest.mark.parametrize("port", ["x", "0", "70000", ""])
def test_lab_with_a_port_that_is_none(clone, capsys, port):
    assert "--port needs a number" in fails(capsys, "lab", f"--port={port}")
