"""Fixtures of the browser tests: the lesson that a test file names in SLUG."""

import pytest
from lab import CourseLab
from lesson_in_lab import Lesson


@pytest.fixture(scope="module")
def lesson(request, tmp_path_factory, browser):
    """The lesson of the test file's SLUG, in a JupyterLab of its own."""
    with CourseLab(tmp_path_factory.mktemp("student")) as lab:
        yield Lesson(lab, request.module.SLUG)


@pytest.fixture(scope="module")
def untouched(lesson, browser):
    """The released lesson, open and run from top to bottom."""
    notebook = lesson.lab.open(browser, lesson.copy("untouched"))
    notebook.run_all()
    yield notebook
    notebook.close()


@pytest.fixture(scope="module")
def solved(lesson):
    """The path of the lesson with all answers filled in, not run."""
    return lesson.solved()
