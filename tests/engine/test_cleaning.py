"""Nothing of a student's acts on a page; what honest students write stays as it is."""

import copy
import html.parser
import re

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.markdown_mistune import markdown2html_mistune
from nbformat.v4 import new_markdown_cell, new_notebook, new_raw_cell

from autograder.engine import pages
from autograder.engine.cleaning import BREAK, MAX_TEXT, clean_cells, harmless_file_name
from autograder.engine.cleaning import harmless_markdown as harmless
from autograder.engine.pages import HarmlessMarkdown, clean_html

from .vectors import MARKDOWN, PIXEL, fire

HARMLESS_TAGS = frozenset(
    "a b blockquote br code del details div em h1 h2 h3 h4 h5 h6 hr i img input kbd li ol p "  # noqa: SIM905
    "pre q s small span strong sub summary sup table tbody td th thead tr u ul var".split()
)
HARMLESS_ATTRIBUTES = frozenset(
    "href src alt title width height class id style type disabled checked align start".split()  # noqa: SIM905
)


class Page(html.parser.HTMLParser):
    """Collects what on a page could act."""

    def __init__(self, text):
        super().__init__()
        self.findings = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag not in HARMLESS_TAGS:
            self.findings.append(f"<{tag}>")
        for name, value in attributes:
            value = (value or "").strip().lower()
            if name not in HARMLESS_ATTRIBUTES:
                self.findings.append(f"<{tag} {name}>")
            known = value.startswith(("http://", "https://", "mailto:"))
            if name == "href" and ":" in re.split("[/#]", value)[0] and not known:
                self.findings.append(value)
            if name == "src" and value.startswith(("http", "//", "data:text", "data:image/svg")):
                self.findings.append(value)
            if name == "style" and not value.startswith("text-align:"):
                self.findings.append(value)

    handle_startendtag = handle_starttag

    def handle_comment(self, data):
        self.findings.append("a comment")

    def handle_decl(self, declaration):
        self.findings.append("a declaration")

    def handle_pi(self, data):
        self.findings.append("an instruction")


def findings(markdown):
    return Page(markdown2html_mistune(markdown)).findings


@pytest.mark.parametrize("name", MARKDOWN)
def test_no_vector_survives_in_markdown(name):
    assert findings(harmless(MARKDOWN[name])) == []


def test_the_vectors_are_seen_without_cleaning():
    seen = {name for name, text in MARKDOWN.items() if findings(text)}
    # mistune takes these for text; other renderers need not
    text = {"image-in-math", "image-in-display", "image-in-equation", "image-in-fence",
            "image-in-title", "image-in-alt", "image-entity", "image-lines", "image-slash",
            "image-after-cdata", "link-entity", "link-escape", "link-tab"}  # fmt: skip
    latex = {name for name in MARKDOWN if name.startswith("latex")}
    assert set(MARKDOWN) - seen <= text | latex


@pytest.mark.parametrize("name", [name for name in MARKDOWN if name.startswith("latex")])
def test_latex_keeps_no_command_that_makes_a_link_or_an_attribute(name):
    cleaned = harmless(MARKDOWN[name])
    for command in ("\\href", "\\mmlToken", "\\data"):
        assert command not in cleaned


PIECES = [
    "<", ">", "</", "<!--", "-->", "<!", "<?", "img", "script", "b", "br/", "a", " ", "\n", "\n\n",
    "src=x", "onerror=1", 'src="', '"', "'", "`", "```\n", "$", "$$", "\\", "\\begin{x}",
    "\\end{x}", "[", "]", "(", ")", "](", "]:", "[x]", "![", "!", "javascript:", "&#106;",
    "&lt;", "http://e.invalid", "//e.invalid", "data:text/html,", "attachment:", "> ", "- ", "# ",
    "|", "\n|-|\n", "    ", "*", "_", "~~", ":", "\t", "&", ";", BREAK,
]  # fmt: skip


@settings(max_examples=1500, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_no_composition_of_markup_acts(text):
    cleaned = harmless(text)
    assert findings(cleaned) == []
    assert harmless(cleaned) == cleaned
    assert cleaned.replace(BREAK, "") == text.replace(BREAK, "")


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_the_pages_filter_holds_by_itself(text):
    found = Page(clean_html(markdown2html_mistune(text))).findings
    assert [f for f in found if "e.invalid" not in f] == []  # images from elsewhere are shown


HONEST = [
    "I think that $a < b$ and `p < q`, so $\\sum_i \\min(p_i, q_i) \\leq 1$.",
    "\\begin{align}\na &= b \\\\\nc &< d\n\\end{align}",
    "See [the paper](https://arxiv.org/abs/2211.17192) & [below](#below), ![plot](plot.png).",
    "![x](attachment:image.png) <img src=\"plot.png\" width=\"400\" alt=\"a plot\"/>",
    "<b>bold</b> H<sub>2</sub>O<br/>\n<details><summary>more</summary>text</details>",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n- [ ] open\n- [x] done",
    "```python\nif a < b: x[1](2)\n```",
    "a list [1, 2]: then f[0](x), <3, 1 << 2, a <- b, C:\\Users, [1]: https://x.y",
]  # fmt: skip


@pytest.mark.parametrize("text", HONEST)
def test_honest_texts_stay_byte_for_byte(text):
    assert harmless(text, {"image.png"}) == text


def test_what_is_changed_still_reads_the_same():
    text = "the token `<eos>` of vector<int>, and <name@example.org>"
    assert harmless(text) != text
    assert harmless(text).replace(BREAK, "") == text


def cleaned_cell(cell, trusted=()):
    clean_cells([cell], trusted)
    return cell


def test_the_instructors_text_stays():
    text = "<details open ontoggle=x()>a hint</details>"
    assert cleaned_cell(new_markdown_cell(text), [f"{text}\n"]).source == text
    assert cleaned_cell(new_markdown_cell(text + "!"), [text]).source != text + "!"


def test_attachments_are_images_or_gone():
    cell = new_markdown_cell("![a](attachment:a.png) ![b](attachment:b.svg) ![c](attachment:c)")
    cell["attachments"] = {
        "a.png": {"image/png": PIXEL, "image/svg+xml": "PHN2Zz4="},
        "b.svg": {"image/svg+xml": "PHN2Zz4="},
        'c"onerror=x': {"image/png": PIXEL},
        "d.png": {"image/png": "PHN2Zz4="},
        "e.png": {"image/png": '" onerror="x'},
        "f.png": "surprise",
    }
    kept = cleaned_cell(cell)
    assert kept.attachments == {"a.png": {"image/png": PIXEL}}
    page, _ = HTMLExporter().from_notebook_node(new_notebook(cells=[kept]))
    assert f"data:image/png;base64,{PIXEL}" in page


def test_raw_cells_are_plain_text():
    cell = cleaned_cell(
        new_raw_cell("a < b <script>1</script>", metadata={"raw_mimetype": "text/html"})
    )
    assert cell.source == f"a < b <{BREAK}script>1<{BREAK}/script>"
    assert cell.metadata == {}


def test_metadata_and_ids_are_of_known_kinds():
    cell = new_markdown_cell("x")
    cell.metadata = nbformat.from_dict({
        "tags": ["mine", '"><script>', 3], "jupyter": {"source_hidden": True},
        "magics_language": "x", "editable": "no", "nbgrader": {"grade_id": "a"}})  # fmt: skip
    cell["id"] = '"><script>'
    cleaned_cell(cell)
    assert cell.metadata == {"tags": ["mine"], "nbgrader": {"grade_id": "a"}}
    assert "id" not in cell


def test_a_very_long_text_is_cut():
    cell = cleaned_cell(new_markdown_cell("x" * (MAX_TEXT + 5)))
    assert len(cell.source) < MAX_TEXT + 100
    assert "5 more characters were left out" in cell.source


def test_files_that_browsers_run_get_another_name():
    for name in ("page.html", "plot.SVG", "a.xhtml", "x.js", "y.pdf", "z.xml", "w.mhtml"):
        assert harmless_file_name(name) == f"{name}.txt"
    for name in ("numbers.csv", "plot.png", "timestamp.txt", "helper.py", "noext", "a.npz"):
        assert harmless_file_name(name) == name


def page_of(*cells):
    exporter = HTMLExporter(filters={"markdown2html": HarmlessMarkdown})
    return exporter.from_notebook_node(new_notebook(cells=list(cells)))[0]


def test_pages_are_made_whatever_the_text():
    assert "none.png" in page_of(new_markdown_cell("![x](attachment:none.png)"))
    deep = page_of(new_markdown_cell("> " * 5000 + "deep"))
    assert "deep" in deep


def test_texts_that_take_long_are_shown_as_they_are(monkeypatch):
    """mistune and bleach need minutes for some of these; a page must come all the same."""
    for piece in ("[", "![", "<b>", "|a|\n|-|\n", "<div>\n", "$", "&lt;"):
        page = page_of(new_markdown_cell(piece * 100_000))
        assert "<pre>" in page
    monkeypatch.setattr(pages, "PAGE_SECONDS", -1)
    assert "<pre>*short*</pre>" in page_of(new_markdown_cell("*short*"))


def test_pages_show_read_only_cells_as_the_instructor_wrote_them():
    text = "<p style='color:red' id='own'>look</p>"
    info = {"grade_id": "a", "locked": True, "solution": False, "grade": False}
    assert 'id="own"' in page_of(new_markdown_cell(text, metadata={"nbgrader": info}))
    for changes in ({"locked": False}, {"solution": True}):
        other = new_markdown_cell(text, metadata={"nbgrader": info | changes})
        assert 'id="own"' not in page_of(other)


@pytest.mark.sandbox
def test_the_graded_notebook_is_clean_and_the_hand_in_untouched(graded):
    from . import lesson
    from .vectors import poison

    notebook = poison(lesson.submission())
    before = copy.deepcopy(notebook)
    stored = nbformat.from_dict(graded(notebook).notebook)
    assert notebook == before
    nbformat.validate(stored)
    assert "widgets" not in stored.metadata
    assert fire("lexer") not in str(stored.metadata)
    kinds = {kind for cell in stored.cells for output in cell.get("outputs", ())
             for kind in output.get("data", ())}  # fmt: skip
    assert kinds <= {"text/plain", "image/png"}
    for cell in stored.cells:
        if cell.cell_type == "markdown":
            assert findings(cell.source) == []
