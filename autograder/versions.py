"""Which version of a lesson a hand-in is a copy of, and what it was graded with.

A version is the digest of what students get: the released notebook carries it, and a copy keeps it.
Hidden tests are no part of it, so mending one grades everybody anew. The sources that a class was
graded with are kept, so that a copy from before a change is graded by the tests it was written for.
"""

import hashlib
import importlib.metadata
import json
import os
import platform

import nbformat

from autograder import environment
from autograder.results import Problem
from autograder.submissions import grade_id, is_test

STAMP = "built"  # in the notebook's metadata, under the course's key
MAX_STAMP = 64


def fingerprint(notebook):
    """Return a digest of what a learner can change: each cell's kind, source and outputs."""
    cells = [(c.cell_type, c.source, c.get("outputs", [])) for c in notebook.cells]
    return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()[:16]


def stamp_of(node, key):
    """Return the version that a notebook says it is a copy of, or "" when it says none.

    key  of the notebook's metadata, where the course writes
    """
    stamp = _dict(node.metadata.get(key)).get(STAMP) if key else None
    known = isinstance(stamp, str) and stamp.isalnum() and len(stamp) <= MAX_STAMP
    return stamp if known else ""


class Versions:
    """The versions of a lesson that were graded with so far, today's included.

    source and released are today's two notebooks as JSON text.
    """

    def __init__(self, course, lesson, source, released, today):
        self.course, self.today = course, today
        self.folder = course.term / "versions" / lesson
        self.texts = {today: (source, released)}
        self.here = {
            "packages": environment.digest(course.root),
            "python": platform.python_version(),
            "numpy": importlib.metadata.version("numpy"),
        }
        self.graded = _graded_cells(read_text(source))

    def keep(self):
        """Keep today's notebooks for copies that come after the next change."""
        source, released = self.texts[self.today]
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.folder / "writing.part"
        part.write_text(json.dumps({"source": source, "released": released}), encoding="utf-8")
        os.replace(part, self.folder / f"{self.today}.json")

    def find(self, node):
        """Return (version to grade a hand-in by, its source, its release, [Problem])."""
        stamp = stamp_of(node, self.course.metadata_key)
        if stamp in ("", self.today):
            return self.today, *self.texts[self.today], []
        start = f"it is a copy of another version of the lesson ({stamp}, today's is {self.today})"
        if self.course.old_copies == "today":
            why = "as the settings want"
        elif self._load(stamp) is None:
            why = "for the tests of that version are not kept here"
        elif _graded_cells(read_text(self.texts[stamp][0])) != self.graded:
            why = "for that version had other graded cells"
        else:
            text = f"{start}; it is graded by the tests it was written for"
            return stamp, *self.texts[stamp], [Problem("version", text)]
        text = f"{start}; it is graded by today's tests, {why}"
        return self.today, *self.texts[self.today], [Problem("version", text)]

    def made_with(self, node, graded_by, source):
        """Return what a hand-in's result is stamped with, as plain data.

        graded_by, source  version and source notebook of the tests that were run, see find
        """
        key = self.course.metadata_key
        said = _dict(node.metadata.get(key)) if key else {}
        language = _dict(node.metadata.get("language_info"))
        return {
            "copy_of": stamp_of(node, key),
            "graded_by": graded_by,
            "source": hashlib.sha256(source.encode()).hexdigest()[:16],
            **self.here,
            "students_packages": str(said.get("environment", ""))[:MAX_STAMP],
            "students_python": str(language.get("version", ""))[:MAX_STAMP],
        }

    def _load(self, stamp):
        if stamp not in self.texts:
            try:
                data = json.loads((self.folder / f"{stamp}.json").read_text(encoding="utf-8"))
                self.texts[stamp] = data["source"], data["released"]
            except (OSError, ValueError, KeyError, TypeError):
                return None
        return self.texts[stamp]


def read_text(text):
    """Return the notebook that a JSON text holds."""
    return nbformat.from_dict(json.loads(text))


def _dict(value):
    """Return what a student's metadata hold, if it is a dict."""
    return value if isinstance(value, dict) else {}


def _graded_cells(source):
    return {grade_id(c): c.metadata.nbgrader.points for c in source.cells if is_test(c)}
