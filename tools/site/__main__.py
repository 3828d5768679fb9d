"""Build the reading site: the worked solutions as static pages.

    python -m tools.site [--out site]

The pages are made of the notebooks in solutions/, which `make build` runs. They need no server, ask
no other host for anything, and open as files too.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

import nbformat
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tools.build import LESSONS, SOLUTIONS, lesson_path
from tools.course import ROOT, lesson_slugs
from tools.site import text, widgets
from tools.site.pages import Page, read_page

HERE = Path(__file__).parent
README = ROOT / "README.md"
MINISEARCH = "node_modules/minisearch/dist/umd/index.js"


class SiteError(Exception):
    """A site that can't be built. The message says what to do."""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.site",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=ROOT / "site", metavar="DIR")
    args = parser.parse_args(argv)
    try:
        build(args.out)
    except SiteError as error:
        print(f"site: {error}", file=sys.stderr)
        return 1
    files = [path for path in args.out.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    print(f"{args.out / 'index.html'}: {len(files)} files, {size / 1e6:.1f} MB")
    return 0


def build(out: Path) -> None:
    """Write the site into `out`; an earlier site there is replaced. Raises SiteError."""
    if out.exists() and any(out.iterdir()) and not (out / "assets" / "site.js").is_file():
        raise SiteError(f"{out} holds other files. Choose another folder, or empty it.")
    search = fetch_search()
    pages = [page_of(slug) for slug in lesson_slugs()]
    shutil.rmtree(out, ignore_errors=True)
    for name, content in {**assets(pages, search), **html(pages)}.items():
        write(out / name, content)
    for page in pages:
        for name, png in page.images.items():
            write(out / name, png)
        write(out / "lessons" / f"{page.slug}.ipynb", lesson_path(page.slug, LESSONS).read_bytes())


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def page_of(slug: str) -> Page:
    notebook = nbformat.read(lesson_path(slug, SOLUTIONS), as_version=4)
    try:
        return read_page(slug, notebook, on_the_site, binder_link(slug))
    except ValueError as error:
        raise SiteError(f"solutions/{slug}: {error}") from error


def on_the_site(link: str) -> str:
    """Return where a link of a notebook leads to on the site; ValueError when nowhere."""
    if link.startswith(("http://", "https://", "#", "mailto:")):
        return link
    found = re.fullmatch(r"\.\./\.\./(solutions|lessons)/(\w+)/\2\.ipynb(#.*)?", link)
    if not found:
        raise ValueError(f"the link {link} leads out of the site")
    folder, slug, where = found.groups(default="")
    return f"{slug}.html{where}" if folder == "solutions" else f"lessons/{slug}.ipynb"


def binder_link(slug: str) -> str:
    """Return the address that opens a lesson on Binder, after the pattern of the README's badge."""
    badge = re.search(r"https://mybinder\.org/v2/gh/[^?\s)]+", README.read_text(encoding="utf-8"))
    return f"{badge[0]}?urlpath={quote(f'lab/tree/lessons/{slug}/{slug}.ipynb', safe='')}"


def fetch_search() -> str:
    """Return the search library's code, at the version and digest that package-lock.json pins."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, folder)
        npm = shutil.which("npm")
        if npm is None:
            raise SiteError("npm is missing, which fetches the search. Install Node.js with npm.")
        done = subprocess.run(
            [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            raise SiteError(f"npm could not fetch the search: {said[-1]}")
        return (Path(folder) / MINISEARCH).read_text(encoding="utf-8").partition("//# source")[0]


def assets(pages: list[Page], search: str) -> dict[str, str]:
    """Return {path: content} of scripts and style sheets."""
    kinds = sorted(set().union(*(page.kinds for page in pages)))
    sections = [section for page in pages for section in page.sections]
    found = {f"assets/{path.name}": path.read_text("utf-8") for path in HERE.glob("static/*")}
    found["assets/code.css"] = text.colours()
    found["assets/widgets.css"] = widgets.style_of(kinds)
    found["assets/minisearch.js"] = search
    found["assets/search-index.js"] = (
        f"window.searchSections = {json.dumps(sections, ensure_ascii=False)};\n"
    )
    for kind in kinds:
        found[f"assets/widget-{kind}.js"] = widgets.script_of(kind)
    return found


def html(pages: list[Page]) -> dict[str, str]:
    """Return {path: content} of the index and of each lesson's page."""
    templates = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    lesson = templates.get_template("lesson.html")
    found = {"index.html": templates.get_template("index.html").render(pages=pages, page=None)}
    for place, page in enumerate(pages):
        found[f"{page.slug}.html"] = lesson.render(
            pages=pages,
            page=page,
            binder=binder_link(page.slug),
            before=pages[place - 1] if place else None,
            after=pages[place + 1] if place + 1 < len(pages) else None,
        )
    return found


if __name__ == "__main__":
    sys.exit(main())
