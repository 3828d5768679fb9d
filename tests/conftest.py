"""Shared by all tests: a Chromium; a missing tool is a skip that says its name, or fails in CI."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "browser"))

from lab import chromium


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


def pytest_sessionfinish(session, exitstatus):
    """With REQUIRE_ALL=1 a skipped test fails the run: there, every tool must be present."""
    if os.environ.get("REQUIRE_ALL") != "1":
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and reporter.stats.get("skipped") and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter.write_line("REQUIRE_ALL=1: the skipped tests above count as failed", red=True)
