"""The reading site as a reader meets it: opened as files, in a real Chromium."""

import functools
import http.server
import re
import threading
from urllib.parse import unquote

import pytest
from bs4 import BeautifulSoup
from lab import axe_violations

from tools.course import lesson_slugs, read_lesson, source_notebook
from tools.site.__main__ import SiteError, build, main, on_the_site

pytestmark = pytest.mark.browser

ONE = "01_draft_and_verify"
PAGES = ["index", *lesson_slugs()]
THEMES = ("light", "dark")


def open_page(tab, site, name, theme="light"):
    """Open a page as a file, in a theme."""
    tab.goto((site / f"{name}.html").as_uri())
    switch_to(tab, theme)


def switch_to(tab, theme):
    """Press the button for the theme unless it is in force."""
    button = tab.get_by_role("button", name="Dark")
    if (button.get_attribute("aria-pressed") == "true") != (theme == "dark"):
        button.click()
    assert tab.evaluate("document.documentElement.dataset.theme") == theme


@pytest.fixture(scope="module")
def soups(site):
    return {n: BeautifulSoup((site / f"{n}.html").read_text("utf-8"), "html.parser") for n in PAGES}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_asks_for_nothing_but_files_and_axe_finds_nothing(tab, site, name):
    open_page(tab, site, name)
    widgets = tab.locator("[data-widget]").count()
    assert tab.locator("[data-widget] > .sd-widget").count() == widgets
    assert (widgets > 0) == (name != "index")
    tab.evaluate("document.querySelectorAll('main details').forEach((d) => (d.open = true))")
    tab.set_viewport_size({"width": 400, "height": 900})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    tab.set_viewport_size({"width": 1280, "height": 900})
    assert tab.wrong == []
    assert all(url.startswith(("file:", "data:")) for url in tab.asked)
    found = {}
    for theme in THEMES:  # axe-core itself asks for the style sheets once more
        switch_to(tab, theme)
        found[theme] = axe_violations(tab)
    assert found == {"light": [], "dark": []}


def test_a_server_sends_every_file_itself(tab, site):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(site))
    handler.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        tab.goto(f"{address}{ONE}.html")
        look_for(tab, "bonus")
        server.shutdown()
    assert all(url.startswith((address, "data:")) for url in tab.asked)
    assert tab.wrong == []


def test_the_lane_by_mouse_and_by_keyboard(tab, site):
    open_page(tab, site, ONE)
    lane = tab.locator("[data-widget=DraftLane]").first
    assert "Locked" in lane.locator(".sd-status").inner_text()
    lane.get_by_label("7 6 5 9").first.check()
    lane.get_by_role("button", name="Show what happens").click()
    assert lane.locator(".sd-status").inner_text().startswith("1 accepted, 2 emitted: 7 6.")
    assert "Not this time" in lane.inner_text()
    lane.get_by_label("Target's answer at place 2").select_option("3")
    assert lane.locator(".sd-status").inner_text().startswith("4 accepted, 5 emitted")
    lane.get_by_label("Target's answer at place 1").focus()
    tab.keyboard.press("ArrowUp")
    assert lane.locator(".sd-status").inner_text().startswith("0 accepted, 1 emitted: 6.")


def look_for(tab, words):
    """Type into the search by keyboard and return what it found, once it has answered."""
    tab.locator("#query").focus()
    tab.keyboard.type(words)
    tab.locator("#found", has_text="place").wait_for()
    return tab.locator("#results a").all_inner_texts()


def test_the_search_finds_by_keyboard(tab, site):
    open_page(tab, site, "index")
    found = look_for(tab, "verify_greedy")
    assert found[0].startswith("Exercise 1: verify_greedy")
    assert "Lesson 1" in found[0]
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/01_draft_and_verify.html#Exercise-1**")
    found = look_for(tab, "residual")
    assert any("Lesson 3" in text for text in found)
    assert axe_violations(tab, ".bar") == []
    tab.keyboard.press("Escape")
    assert not tab.locator(".found").is_visible()
    tab.locator("#query").fill("zebra crossing")
    tab.locator("#found", has_text="0 places").wait_for()


def test_print_has_pictures_instead_of_widgets_and_no_folds(tab, site):
    open_page(tab, site, ONE, "dark")
    tab.emulate_media(media="print")
    assert not tab.locator("[data-widget]").first.is_visible()
    assert tab.locator(".still img").first.is_visible()
    assert not tab.locator(".bar").is_visible()
    code = tab.locator("details.code-fold pre").first
    assert code.evaluate("(node) => node.checkVisibility({ contentVisibilityAuto: true })")
    assert code.bounding_box()["height"] > 20
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    tab.emulate_media(media="screen")


def test_folds_open_together_and_by_a_link_into_them(tab, site):
    open_page(tab, site, ONE)
    answer = tab.locator("details", has_text="Worked answer: verify_greedy").first
    assert not answer.locator("pre").first.is_visible()
    tab.get_by_role("button", name="Open all folds").click()
    assert answer.locator("pre").first.is_visible()
    tab.get_by_role("button", name="Close all folds").click()
    assert not answer.locator("pre").first.is_visible()


def test_every_link_leads_somewhere(site, soups):
    for name, soup in soups.items():
        for link in soup.find_all("a", href=True):
            page, _, anchor = link["href"].partition("#")
            if page.startswith("https:"):
                continue
            target = site / unquote(page) if page else site / f"{name}.html"
            assert target.is_file(), (name, link["href"])
            if anchor:
                there = soups[target.stem].find(id=unquote(anchor))
                assert there, (name, link["href"])


@pytest.mark.parametrize("slug", lesson_slugs())
def test_a_lesson_has_what_a_reader_wants(soups, slug):
    soup = soups[slug]
    text = soup.get_text()
    lesson = read_lesson(slug)
    answers = [c.metadata["answer"] for c in lesson.cells if "answer" in c.metadata]
    order = [
        node.get_text() for node in soup.select(".card h3, .why, .code-fold > summary, .wrong")
    ]
    for number, name in enumerate(answers, 1):
        card = order.index(f"Exercise {number}: {name}")
        answer = order.index(f"Worked answer: {name}")
        turns = next(i for i in range(answer, len(order)) if order[i].startswith("Wrong turns"))
        assert order[card + 1].startswith("Why this way."), "what to notice comes before the code"
        assert card < answer < turns
        assert soup.find(id=f"Exercise-{number}:-{name}"), "bundles link to it"
    for turns in soup.select(".wrong"):
        rows = [row.td.get_text() for row in turns.select("tbody tr")]
        assert [heading.get_text() for heading in turns.select("h4")] == rows
    asked = sum("todo" in c.metadata or "quiz" in c.metadata for c in lesson.cells)
    assert len(soup.select(".question > details")) == asked
    for count in range(1, 4):
        assert f"Answer {count}" in text
    assert "The rule:" in soup.select_one(".ten").get_text()
    assert all(image["alt"] for image in soup.find_all("img"))
    assert soup.select_one(f'a[href*="mybinder.org"][href*="{slug}"]')
    assert soup.select_one(f'a[href="lessons/{slug}.ipynb"]')


def test_formulas_are_mathml_and_hidden_tests_stay_out(soups):
    assert soups[ONE].select_one(".formula math mfrac")
    hidden = re.compile(r"### BEGIN HIDDEN TESTS\n(.*?)### END", re.S)
    for slug in lesson_slugs():
        page = soups[slug].get_text()
        assert "$$" not in page
        for cell in source_notebook(read_lesson(slug)).cells:
            for block in hidden.findall(cell.source):
                assert block.strip() not in page


def test_other_files_are_never_replaced(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["--out", str(tmp_path)]) == 1
    assert "holds other files" in capsys.readouterr().err
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_missing_npm_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SiteError, match="npm is missing"):
        build(tmp_path / "site")


def test_a_link_out_of_the_site_is_refused():
    with pytest.raises(ValueError, match="leads out of the site"):
        on_the_site("../../docs/teaching.md")
