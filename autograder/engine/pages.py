"""Markdown on the pages that nbconvert makes: formgrader's view of a submission, and feedback.

nbgrader's templates show Markdown as it comes. This filter takes the place of nbconvert's own in
them: whatever stands in a notebook or a comment, no script and no form of it reaches the page.
"""

import functools
import html
import re
import time

import bleach
from jinja2 import pass_context
from nbconvert.utils.base import NbConvertBase

_TAGS = frozenset(
    "a b big blockquote br center code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img "  # noqa: SIM905
    "input ins kbd li mark ol p pre q s small span strong sub summary sup table tbody td tfoot th "
    "thead tr u ul var".split()
)
_PYGMENTS_CLASS = re.compile(r"highlight( hl-\w+)?|[a-z]{1,3}\d?|anchor-link|mermaid|jp-Mermaid")
_IMAGE = re.compile(r"data:image/(png|jpeg|gif);base64,|(?!data:)", re.I)
_TEXT_ATTRIBUTES = ("title", "alt", "width", "height", "colspan", "rowspan", "align")
_PROTOCOLS = ("http", "https", "mailto", "data")
MAX_RENDERED = 20_000  # characters; mistune and bleach need quadratic time for some texts
MAX_KNOWN = 1000  # texts
PAGE_SECONDS = 5  # of computing for the Markdown of one page; what is left is shown as it is


def _is_allowed(tag, name, value):
    if name == "class":
        return tag in ("a", "div", "pre", "span") and _PYGMENTS_CLASS.fullmatch(value) is not None
    if tag == "a" and name == "href":
        return not value.strip().lower().startswith("data:")
    if tag == "img" and name == "src":
        return _IMAGE.match(value.strip()) is not None
    if tag == "input":
        return (name, value) in (("type", "checkbox"), ("disabled", ""), ("checked", ""))
    return name in _TEXT_ATTRIBUTES


@functools.lru_cache(maxsize=4096)
def clean_html(text):
    """Return HTML without anything that acts: scripts, handlers, forms, styles, ids."""
    return bleach.clean(text, tags=_TAGS, attributes=_is_allowed, protocols=_PROTOCOLS)


@pass_context
class HarmlessMarkdown(NbConvertBase):
    """nbconvert's markdown2html, then cleaned; the instructor's read-only cells as they are.

    What came out of a text is kept: most cells are the same in a whole class.
    """

    def __init__(self, **options):
        super().__init__(**options)
        self._known = {}

    def __call__(self, context, source):
        """Return a Markdown text as HTML for a template."""
        resources = context.get("resources", {})
        spent = resources.get("markdown_seconds", 0)
        if len(source) > MAX_RENDERED or spent > PAGE_SECONDS:
            return _as_it_is(source)
        cell = context.get("cell", {})
        info = cell.get("metadata", {}).get("nbgrader", {})
        is_ours = bool(info.get("locked") and not info.get("solution"))
        key = None if cell.get("attachments") else (source, is_ours)
        if key in self._known:
            return self._known[key]
        started = time.process_time()
        try:
            page = self.parent.markdown2html(context, source)
            page = page if is_ours else clean_html(page)
            if key is not None and len(self._known) < MAX_KNOWN:
                self._known[key] = page
            return page
        except Exception:  # a link to an attachment that is not there; endless nesting
            return _as_it_is(source)
        finally:
            resources["markdown_seconds"] = spent + time.process_time() - started


def _as_it_is(source):
    more = len(source) - MAX_RENDERED
    note = f"\n… ({more:,} more characters)" if more > 0 else ""
    return f"<pre>{html.escape(source[:MAX_RENDERED])}{note}</pre>"
