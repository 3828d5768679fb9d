"""Shared by all tests: a missing tool is a skip that says its name, or a failure in CI."""

import os

import pytest


def pytest_sessionfinish(session, exitstatus):
    """With REQUIRE_ALL=1 a skipped test fails the run: there, every tool must be present."""
    if os.environ.get("REQUIRE_ALL") != "1":
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and reporter.stats.get("skipped") and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter.write_line("REQUIRE_ALL=1: the skipped tests above count as failed", red=True)
