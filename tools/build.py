"""Build the lessons and the worked solutions from the course text.

    python -m tools.build                 everything
    python -m tools.build source [NN]     nbgrader's source notebooks, for grading

Nothing that a learner has changed is overwritten: an edited lesson is first kept beside the new one
under a dated name.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config, PyFileConfigLoader

from autograder import environment
from autograder.versions import fingerprint
from tools.course import (
    ANSWERS,
    PROGRESS,
    ROOT,
    WIDGETS,
    CourseError,
    Lesson,
    answers_file,
    checks_file,
    find_slug,
    lesson_slugs,
    read_lesson,
    source_notebook,
    to_text,
    widgets_file,
    worked_notebook,
    write_notebook,
)
from tools.record_traces import processor

LESSONS = ROOT / "lessons"
SOLUTIONS = ROOT / "solutions"
SOURCE = ROOT / "autograder" / "classroom" / "source"


def lesson_path(slug: str, folder: Path = LESSONS) -> Path:
    return folder / slug / f"{slug}.ipynb"


def build_source(lesson: Lesson, folder: Path = SOURCE) -> Path:
    """Write nbgrader's source notebook of a lesson below `folder`, and return its path."""
    path = lesson_path(lesson.slug, folder)
    write_notebook(source_notebook(lesson), path)
    return path


def release(lesson: Lesson):
    """Return the notebook that students get, made by nbgrader's own generate_assignment."""
    with tempfile.TemporaryDirectory() as scratch:
        build_source(lesson, Path(scratch) / "source")
        config = Config()
        config.CourseDirectory.root = scratch
        config.CourseDirectory.assignment_id = lesson.slug
        config.SaveCells.enabled = False
        config.GenerateAssignment.no_database = True
        config.merge(release_settings())
        GenerateAssignment(coursedir=CourseDirectory(config=config), config=config).start()
        path = lesson_path(lesson.slug, Path(scratch) / "release")
        notebook = nbformat.read(path, as_version=4)
    notebook.metadata["specdec"]["built"] = fingerprint(notebook)
    notebook.metadata["specdec"]["environment"] = environment.digest(ROOT)
    return notebook


def release_settings() -> Config:
    """Return what nbgrader_config.py says of releasing: the list of preprocessors."""
    settings = PyFileConfigLoader("nbgrader_config.py", path=str(ROOT)).load_config()
    return Config(GenerateAssignment=settings.GenerateAssignment)


def run(notebook, *, allow_errors: bool = False, timeout: int = 120, cwd: Path = ROOT):
    """Run a notebook in place, with still figures for widgets, and return it."""
    before = dict(os.environ)
    os.environ.update(SPECDEC_STILL="1", PYTHONPATH=str(ROOT), PYDEVD_DISABLE_FILE_VALIDATION="1")
    try:
        NotebookClient(
            notebook,
            timeout=timeout,
            kernel_name="python3",
            allow_errors=allow_errors,
            record_timing=False,
            coalesce_streams=True,  # printed text in one piece, however the kernel sent it
            store_widget_state=False,
            extra_arguments=["--log-level=ERROR"],  # no notice about plain TCP on loopback
            resources={"metadata": {"path": str(cwd)}},
        ).execute()
    finally:
        os.environ.clear()
        os.environ.update(before)
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def solution(lesson: Lesson):
    """Return the worked solution, run, with its outputs and with where and when it ran."""
    notebook = run(worked_notebook(lesson))
    notebook.metadata["specdec"]["ran"] = f"{processor()}, {datetime.now(UTC).date()}"
    return notebook


def edited(path: Path) -> bool:
    """Say whether a built lesson has been changed since: run, answered, or unreadable."""
    try:
        notebook = nbformat.read(path, as_version=4)
    except Exception:
        return True
    return fingerprint(notebook) != notebook.metadata.get("specdec", {}).get("built")


def keep_copy(path: Path) -> Path:
    """Move a learner's file to a dated name beside it."""
    stamp = datetime.now().strftime("%Y-%m-%d-%H%M%S")
    copy = path.with_name(f"{path.stem}.{stamp}{path.suffix}")
    path.rename(copy)
    return copy


def same_but_images(old: Path, new) -> bool:
    """Say whether a solution differs only in image bytes and in cells marked as measured."""
    try:
        before = nbformat.read(old, as_version=4)
    except Exception:
        return False
    return comparable(before) == comparable(new)


def comparable(notebook) -> str:
    """Return a solution as text without images, measured outputs, and the machine it ran on."""
    notebook = nbformat.from_dict(json.loads(to_text(notebook)))
    notebook.metadata.get("specdec", {}).pop("ran", None)
    for cell in notebook.cells:
        if "measured" in cell.metadata.get("tags", []):
            cell.outputs = []
        for output in cell.get("outputs", []):
            for kind in ("image/png", "image/svg+xml"):
                if kind in output.get("data", {}):
                    output["data"][kind] = "(image)"
    return to_text(notebook)


def build_lesson(lesson: Lesson) -> None:
    path = lesson_path(lesson.slug)
    notebook = release(lesson)
    if path.exists() and path.read_text(encoding="utf-8") == to_text(notebook):
        print(f"{path.relative_to(ROOT)}: unchanged")
        return
    if path.exists() and edited(path):
        print(f"{path.relative_to(ROOT)} has your work in it: kept as {keep_copy(path).name}")
    write_notebook(notebook, path)
    print(f"{path.relative_to(ROOT)}: written")


def build_solution(lesson: Lesson) -> None:
    path = lesson_path(lesson.slug, SOLUTIONS)
    notebook = solution(lesson)
    if same_but_images(path, notebook):
        print(f"{path.relative_to(ROOT)}: unchanged")
        return
    write_notebook(notebook, path)
    print(f"{path.relative_to(ROOT)}: written")


def data_files(lesson: Lesson) -> dict[Path, str]:
    """Return the package data made from a lesson's text: {path: content}."""
    name = f"lesson_{lesson.number}.json"
    contents = {
        ANSWERS / name: answers_file(lesson),
        WIDGETS / name: widgets_file(lesson),
        PROGRESS / name: checks_file(lesson),
    }
    return {
        path: json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        for path, content in contents.items()
    }


def build_all(slugs: list[str]) -> None:
    for slug in slugs:
        lesson = read_lesson(slug)
        for path, content in data_files(lesson).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", newline="\n")
        build_lesson(lesson)
        build_solution(lesson)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.build", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["all", "source"], default="all")
    parser.add_argument("lesson", nargs="*", help="01 or 01_draft_and_verify; default: all")
    args = parser.parse_args(argv)
    try:
        slugs = [find_slug(name) for name in args.lesson] or lesson_slugs()
        if args.what == "source":
            for slug in slugs:
                print(build_source(read_lesson(slug)).relative_to(ROOT))
        else:
            build_all(slugs)
    except CourseError as error:
        print(f"build: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
