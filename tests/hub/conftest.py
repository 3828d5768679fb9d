"""The class of tests/hub: one machine and one browser for its steps, which build on each other."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

FAILED = pytest.StashKey()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Note the first step that failed."""
    report = yield
    if report.failed:
        item.parent.stash.setdefault(FAILED, item.name)
    return report


@pytest.fixture(autouse=True)
def earlier_steps(request):
    """Fail at once where a step before this one has failed."""
    failed = request.node.parent.stash.get(FAILED, None)
    if failed:
        pytest.fail(f"an earlier step failed: {failed}", pytrace=False)
