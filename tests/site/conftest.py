"""The reading site, built once, and a page of a real Chromium to look at it."""

import shutil

import pytest

from tools.site.__main__ import build


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built site. Its notebooks are not run again."""
    if shutil.which("npm") is None:
        pytest.skip("npm: not found on this machine")
    folder = tmp_path_factory.mktemp("site")
    build(folder)
    return folder


@pytest.fixture
def tab(browser):
    """A page that notes each request and each error of a script."""
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.asked, tab.wrong = [], []
    tab.on("request", lambda request: tab.asked.append(request.url))
    tab.on("requestfailed", lambda request: tab.wrong.append(request.url))
    tab.on("pageerror", lambda error: tab.wrong.append(str(error)))
    yield tab
    tab.close()
