"""Markdown, code and formulas as HTML that needs no script."""

from __future__ import annotations

import re
from html import escape

from latex2mathml.converter import convert
from nbconvert.filters import ansi2html
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

FORMULA = re.compile(r"\$\$(.+?)\$\$", re.S)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)
LIGHT, DARK = "a11y-high-contrast-light", "a11y-high-contrast-dark"


def markdown(text: str) -> str:
    """Return Markdown as HTML, formulas as MathML."""
    formulas: list[str] = []

    def keep(match: re.Match) -> str:
        formulas.append(convert(match[1].strip(), display="block"))
        return f"\n\n<div>formula {len(formulas) - 1}</div>\n\n"

    renderer = IPythonRenderer(escape=False, exclude_anchor_links=True)
    html = MarkdownWithMath(renderer=renderer).render(FORMULA.sub(keep, text))
    for number, formula in enumerate(formulas):
        box = f'<div class="formula" role="group" aria-label="Formula" tabindex="0">{formula}</div>'
        html = html.replace(f"<div>formula {number}</div>", box)
    return html


def code(source: str, language: str = "python") -> str:
    """Return source text in colours."""
    formatter = HtmlFormatter(nowrap=True)
    inner = highlight(source, get_lexer_by_name(language), formatter)
    return f'<pre class="code"><code>{inner}</code></pre>'


def plain_code(source: str) -> str:
    """Return source text without colours: there is much of it, and little to see."""
    return f'<pre class="code"><code>{escape(source.strip())}</code></pre>'


def printed(text: str) -> str:
    """Return what a cell printed."""
    return f'<pre class="printed">{ansi2html(text.rstrip())}</pre>'


def colours() -> str:
    """Return the style sheet of `code`, for light and dark pages."""
    light = HtmlFormatter(style=LIGHT).get_style_defs(".code")
    dark = HtmlFormatter(style=DARK).get_style_defs('[data-theme="dark"] .code')
    rules = [line for line in f"{light}\n{dark}".splitlines() if ".code ." in line]
    return "\n".join(rules)
