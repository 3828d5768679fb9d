"""Fixtures of the widget tests: a page of a real Chromium."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def page(browser):
    """A blank page that fails the test when a script of the page raises an error."""
    page = browser.new_page(viewport={"width": 900, "height": 800})
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.close()
    assert errors == []
