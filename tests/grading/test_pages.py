"""Feedback pages are what nbconvert makes of a notebook, though it parses only some of them."""

import json

import pytest
from make_course import make_course
from nbconvert.exporters import html
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from autograder import feedback
from autograder.course import Course

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
PICTURE = new_output("display_data", {"image/png": PNG})


@pytest.fixture(scope="module")
def render(tmp_path_factory):
    """Return a function of cells that gives the page of a notebook with them."""
    settings = feedback.settings_of(
        Course.load(make_course(tmp_path_factory.mktemp("pages"))).config
    )

    def page(*cells):
        names = {"notebook": "one", "assignment": "one", "student": "ada"}
        return feedback.render(
            {"notebook": json.dumps(new_notebook(cells=list(cells))), "names": names,
             "settings": settings, "grades": {}, "comments": {},
             "total": {"score": 1, "max_score": 2, "late_penalty": 0}}
        )["page"]  # fmt: skip

    return page


def test_a_page_is_parsed_only_where_something_is_looked_for(render, monkeypatch):
    plain = [new_markdown_cell("# One\n\n*two* <b>three</b>"), new_code_cell("x = 1  # <script>")]
    drawn = [*plain, new_code_cell("plot()", outputs=[PICTURE])]
    parsed = []
    parse = html.BeautifulSoup

    def count(text, features):
        parsed.append(text)
        return parse(text, features=features)

    monkeypatch.setattr(feedback._Page, "parse", staticmethod(count))
    page, picture = render(*plain), render(*drawn)
    assert len(parsed) == 1
    assert 'alt="No description has been provided for this image"' in picture
    monkeypatch.setattr(feedback, "_Page", parse)
    assert render(*drawn) == picture
    assert render(*plain) == str(parse(page, features="html.parser"))


def test_what_is_kept_of_a_text_is_the_text_alone(render):
    """An attached image of the same name is each cell's own."""
    text = "![x](attachment:x.png)"
    cells = [new_markdown_cell(text, attachments={"x.png": {"image/png": data}})
             for data in (PNG, PNG[:-4] + "AAAA")]  # fmt: skip
    page = render(*cells, new_markdown_cell("same"), new_markdown_cell("same"))
    assert page.count(PNG) == 1
    assert page.count(PNG[:-4]) == 2
    assert page.count("<p>same</p>") == 2
