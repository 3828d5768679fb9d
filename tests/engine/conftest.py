"""Fixtures of the engine's tests; what needs the sandbox is skipped by name where there is none."""

import functools

import pytest

from autograder.engine import Limits, SandboxUnavailable, grade, sandbox

from . import lesson

QUICK = Limits(cell=4, test=4, submission=40, memory_mb=512, disk_mb=16)


@functools.cache
def _unavailable():
    try:
        sandbox.check()
    except SandboxUnavailable as error:
        return str(error)
    return None


@pytest.fixture(scope="session")
def needs_sandbox():
    """Skip where student code can't be run safely."""
    if _unavailable():
        pytest.skip(f"sandbox: {_unavailable()}")


@pytest.fixture
def graded(needs_sandbox):
    """Return a function that grades a submission of the small lesson in the sandbox."""

    def run(submitted, **options):
        options = {"limits": QUICK} | options
        return grade(options.pop("source", None) or lesson.source(), submitted, **options)

    return run
