"""Workers grade from plain data: they reach no gradebook, and need none."""

import contextlib
import json
from pathlib import Path

import psutil
import pytest
from make_course import LESSON

from autograder import work
from autograder.__main__ import main


@pytest.mark.sandbox
def test_workers_have_no_access_to_the_gradebook(classroom, monkeypatch, capsys):
    seen = {"tasks": [], "open": set(), "parents": set()}

    class Watched(work.Workers):
        def do(self, kind, tasks):
            for number, (name, outcome) in enumerate(super().do(kind, self.noted(kind, tasks))):
                if number == 0:
                    self.look()
                yield name, outcome

        def noted(self, kind, tasks):
            for name, task in tasks:
                if kind == "grade":
                    seen["tasks"].append(task)
                yield name, task

        def look(self):
            """Note which files are open in this process, and in all below it."""
            seen["parents"] |= {file.path for file in psutil.Process().open_files()}
            below = psutil.Process().children(recursive=True)
            assert len(below) >= 4  # the fork server, a worker, its two warm processes
            for process in below:
                with contextlib.suppress(OSError):  # it has ended since
                    for link in Path(f"/proc/{process.pid}/fd").iterdir():
                        seen["open"].add(str(link.readlink()))

    monkeypatch.setattr(work, "Workers", Watched)
    assert main(["grade", LESSON, "--force", "--jobs", "1"]) == 0
    folder = classroom / "autograder" / "classroom"
    gradebook = folder / "gradebook.db"
    assert str(gradebook) in seen["parents"]
    assert not [path for path in seen["open"] if "gradebook" in path or path.endswith(".csv")]
    tasks = seen["tasks"]
    assert len(tasks) >= 5
    assert "gradebook" not in json.dumps(tasks)

    gradebook.rename(folder / "away.db")  # nor do they need one
    task = next(t for t in tasks if "/all_right/" in t["files"])
    assert work.work("grade", task)["points"] == 5
    assert not gradebook.exists()
