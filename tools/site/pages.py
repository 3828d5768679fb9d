"""One worked notebook as the blocks of a page: what to read, in which order, what is folded."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape

from bs4 import BeautifulSoup

from autograder.mutants import load
from tools.site import text
from tools.site.widgets import Shown, recorded

PLACE_ID = re.compile(r"\d\d-\d{3}")  # the id of a cell that is no answer and no check
QUESTION = re.compile(r"\*\*(To do|Graded question)\*\*")
CARD = re.compile(r"### Exercise (\d+): `(\w+)`")
WRONG_TURNS = "| wrong turn | gives |"
WHY = "**Why this way.**"
RUN_THE_NEXT_CELL = re.compile(r"^\*No \w+ below\? Run the next cell\.\*$", re.M)
# What only the notebook needs: its first cell, and the place to see how far one is.
NOT_READ = re.compile(r"Run each cell with|## Where you are|[\s\S]*(show_progress|start)\(\"")


@dataclass
class Page:
    """A page before it is put into its template: HTML, contents, what the search may find."""

    slug: str
    title: str = ""
    question: str = ""
    about: str = ""
    ten_minutes: str = ""
    body: str = ""
    contents: list[dict] = field(default_factory=list)
    sections: list[dict] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)
    images: dict[str, bytes] = field(default_factory=dict)

    @property
    def number(self) -> int:
        return int(self.slug[:2])


def read_page(slug: str, notebook, resolve: Callable[[str], str], binder: str) -> Page:
    """Return the page of a worked notebook.

    resolve  turns a link of the notebook's into one of the site's; ValueError when it can't
    binder   the address that opens the lesson on Binder
    """
    page = Page(slug)
    head, about, *cells = notebook.cells
    title, question, *rest = head.source.split("\n\n")
    page.title, page.question = title.removeprefix("# "), question.strip("*")
    page.about = text.markdown("\n\n".join(rest))
    for paragraph in about.source.split("\n\n"):
        if paragraph.startswith("**Ten minutes only?**"):
            page.ten_minutes = text.markdown(paragraph.removeprefix("**Ten minutes only?**"))
    ran = notebook.metadata.get("specdec", {}).get("ran", "")
    writer = Writer(page, recorded(notebook.cells), binder, ran)
    soup = BeautifulSoup("\n".join(writer.blocks(cells)), "html.parser")
    name_headings(soup)
    let_wide_things_scroll(soup)
    for link in soup.find_all("a", href=True):
        link["href"] = resolve(link["href"])
    page.contents, page.sections = list(contents_of(soup)), list(sections_of(page, soup))
    page.body = str(soup)
    return page


class Writer:
    """Writes the blocks of one page."""

    def __init__(self, page: Page, widgets: dict[str, Shown], binder: str, ran: str):
        self.page, self.widgets, self.binder = page, widgets, binder
        where = f"on {ran}" if ran else "when this solution was built"
        self.measured = (
            f"Measured {where}. On your machine it comes out otherwise: processor, memory and what "
            "else runs decide the times."
        )
        self.wrong = load(page.slug)[0]
        self.exercise = ""

    def blocks(self, cells) -> Iterator[str]:
        """Yield the HTML of all cells that a reader wants, each answer after what to notice."""
        cells = in_reading_order([c for c in cells if not NOT_READ.match(c.source)])
        while cells:
            cell = cells.pop(0)
            if QUESTION.match(cell.source):
                answer, _check, explained, *cells = cells
                yield self.question(cell, answer, explained)
            elif cell.cell_type == "markdown":
                yield self.words(cell)
            elif cell.id in self.widgets:
                yield self.widget(cell)
            else:
                yield self.code(cell)

    def question(self, cell, answer, explained) -> str:
        shown = text.markdown(explained.source)
        if "\n" in answer.source:
            shown += text.code(answer.source)
        return boxed("question", text.markdown(cell.source) + fold("Answer", shown))

    def words(self, cell) -> str:
        source = RUN_THE_NEXT_CELL.sub("", cell.source)
        if source.startswith("## Hand in"):
            source = source[source.index("\n## ") :]
        if card := CARD.match(source):
            self.exercise = card[2]
            return f'<section class="card">{text.markdown(source)}{self.to_lesson(card)}</section>'
        if source.startswith(WHY):
            return f'<section class="why">{text.markdown(source)}</section>'
        if WRONG_TURNS in source:
            return (
                f'<section class="wrong">{text.markdown(source)}{self.wrong_code(source)}</section>'
            )
        return text.markdown(source)

    def to_lesson(self, card: re.Match) -> str:
        address = f"{self.binder}%23Exercise-{card[1]}%253A-{card[2]}"
        return (
            f'<p class="to-lesson">Not tried yet? <a href="{address}">Exercise {card[1]} in the '
            f"lesson, on Binder</a>. In your own copy: <code>lessons/{self.page.slug}</code>.</p>"
        )

    def wrong_code(self, source: str) -> str:
        """The code of the wrong turns that a table names."""
        own = [item for item in self.wrong if item.answer == self.exercise]
        named = [item for item in own if f"\n| {item.name} | " in source]
        shown = "".join(text.markdown(f"#### {i.name}") + text.plain_code(i.code) for i in named)
        return fold(f"The code of these {len(named)} wrong turns", shown)

    def code(self, cell) -> str:
        outputs = self.outputs(cell)
        if cell.id.startswith("test_"):
            return f'<div class="check">{outputs}</div>'
        if not PLACE_ID.fullmatch(cell.id):
            return self.folded_code(cell, f"Worked answer: {cell.id}") + outputs
        if len(cell.source.splitlines()) > 4:
            return self.folded_code(cell, "Code") + outputs
        return text.code(cell.source) + outputs

    def folded_code(self, cell, title: str) -> str:
        return fold(title, text.code(cell.source))

    def outputs(self, cell) -> str:
        html = "".join(self.output(cell, place, out) for place, out in enumerate(cell.outputs))
        if "measured" in cell.metadata.get("tags", []):
            html += f'<p class="measured">{escape(self.measured)}</p>'
        return html

    def output(self, cell, place: int, output) -> str:
        if output.output_type == "stream":
            return text.printed(output.text)
        data = output.get("data", {})
        if "image/png" in data:
            alt = output.metadata.get("image/png", {}).get("alt", "")
            return self.picture(f"{cell.id}-{place}", base64.b64decode(data["image/png"]), alt)
        if "text/markdown" in data:
            return text.markdown(data["text/markdown"])
        if "<progress" in data.get("text/html", ""):
            return ""  # a bar that was full
        return text.printed(data.get("text/plain", ""))

    def picture(self, name: str, png: bytes, alt: str) -> str:
        path = f"images/{name}.png"
        self.page.images[path] = png
        width, height = (int.from_bytes(png[i : i + 4]) // 2 for i in (16, 20))  # drawn at 144 dpi
        return (
            f'<figure class="picture"><img src="{path}" alt="{escape(alt)}" width="{width}" '
            f'height="{height}" loading="lazy"></figure>'
        )

    def widget(self, cell) -> str:
        """A live widget, and below it, folded, its still picture and its question in words."""
        shown = self.widgets[cell.id]
        self.page.kinds.add(shown.kind)
        state = json.dumps(shown.state, ensure_ascii=False).replace("</", "<\\/")
        still = text.markdown(shown.question) + self.outputs(cell)
        title = "Answers and reasons" if shown.kind == "Quiz" else "The same as a still picture"
        title = "The answer, and a still picture" if shown.question else title
        return (
            f'<div class="live" data-widget="{shown.kind}">'
            f'<script type="application/json">{state}</script></div>'
            f"{fold(title, still, 'still')}"
        )


def in_reading_order(cells: list) -> list:
    """Put what to notice of an exercise right after its card, before the answer."""
    ordered: list = []
    card = 0
    for cell in cells:
        if CARD.match(cell.source):
            card = len(ordered) + 1
        if cell.source.startswith(WHY) and card:
            ordered.insert(card, cell)
        else:
            ordered.append(cell)
    return ordered


def boxed(kind: str, html: str) -> str:
    return f'<section class="{kind}">{html}</section>'


def fold(title: str, html: str, kind: str = "code-fold") -> str:
    return f'<details class="{kind}"><summary>{escape(title)}</summary>{html}</details>'


def name_headings(soup: BeautifulSoup) -> None:
    """Give each heading the id that Jupyter gives it, so that links to exercises lead there."""
    seen: set[str] = set()
    for heading in soup.find_all(re.compile("^h[2-4]$")):
        name = base = re.sub(r"\s+", "-", heading.get_text().strip())
        number = 2
        while name in seen:
            name, number = f"{base}-{number}", number + 1
        seen.add(name)
        heading["id"] = name


def let_wide_things_scroll(soup: BeautifulSoup) -> None:
    """Wide code and tables scroll by themselves, by keys too; a table says what it is."""
    for block in soup.find_all("pre"):
        block["tabindex"] = "0"
    for empty in [cell for cell in soup.find_all("th") if not cell.get_text(strip=True)]:
        empty.name = "td"  # a corner heads nothing
    for number, table in enumerate(soup.find_all("table"), 1):
        above = table.find_previous(re.compile("^h[1-4]$"))
        label = f"Table {number}" + (f", {above.get_text().strip()}" if above else "")
        box = soup.new_tag("div", attrs={"class": "wide", "role": "region", "tabindex": "0"})
        box["aria-label"] = label
        table.wrap(box)


def contents_of(soup: BeautifulSoup) -> Iterator[dict]:
    for heading in soup.find_all(["h2", "h3"]):
        yield {
            "level": int(heading.name[1]),
            "id": heading["id"],
            "title": heading.get_text().strip(),
        }


def sections_of(page: Page, soup: BeautifulSoup) -> Iterator[dict]:
    """Yield {url, lesson, title, text} for each stretch of the page below one heading."""
    where, title, words = "", page.title, [page.question, plain_text(page.about)]
    for node in soup.find_all(["h2", "h3", "p", "li", "td", "pre"]):
        if node.name in ("h2", "h3"):
            yield section(page, where, title, words)
            where, title, words = f"#{node['id']}", node.get_text().strip(), []
        elif node.find_parent(["pre", "li"]) is None:
            words.append(node.get_text(" ", strip=True))
    yield section(page, where, title, words)


def section(page: Page, where: str, title: str, words: list[str]) -> dict:
    return {
        "url": f"{page.slug}.html{where}",
        "lesson": page.title,
        "title": title,
        "text": re.sub(r"\s+", " ", " ".join(words)),
    }


def plain_text(html: str) -> str:
    return BeautifulSoup(html, "html.parser").get_text(" ", strip=True)
