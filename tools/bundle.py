"""Make the students' bundle: lessons and library, without answers, tests and the instructor's side.

    python -m tools.bundle [--links keep | none | URL] [--out DIR]

Writes a folder and a zip of it, and a second zip with the worked solutions for later. Lessons need
a few worked functions of earlier ones, and the checks know right and wrong answers: these come
sealed (specdec/sealed.py), all other worked functions are left out.
"""

from __future__ import annotations

import argparse
import ast
import json
import shutil
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import nbformat

from specdec.sealed import seal
from tools.build import LESSONS, SOLUTIONS, edited, lesson_path
from tools.course import REFERENCE, ROOT, lesson_slugs, without_worked_link, worked_link

NAME = "speculative-decoding"
TEMPLATES = Path(__file__).parent / "bundle_files"
AS_THEY_ARE = ["LICENSE", "requirements.txt", "constraints.txt", "binder"]
LIBRARY = ROOT / "specdec"
ANSWERS = "specdec/checks/data/lesson_*.json"
# Beside the checks, modules of the library that hold an answer in other words.
SEALED = [
    "specdec/checks/lesson_*.py",
    "specdec/costs.py",
    "specdec/widgets/cost_explorer.py",
    "specdec/widgets/sampling_lane.py",
]
NOT_SHIPPED = ("__pycache__", ".ipynb_checkpoints")
STUB = '''"""Sealed: it holds answers. Its source is part of the instructor's course."""

from specdec.sealed import run_sealed

run_sealed(
    {packed!r},
    globals(),
)
'''


class BundleError(Exception):
    """A bundle that can't be made. The message says what to do."""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.bundle",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--links",
        default="keep",
        metavar="keep|none|URL",
        help="what becomes of the links to worked answers: keep them, so that they work once the "
        "solutions' zip is unpacked over the bundle (default); none; or the address of a folder "
        "with the built site, such as https://example.org/course",
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR")
    args = parser.parse_args(argv)
    try:
        for path in make_bundle(args.out, args.links):
            print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    except BundleError as error:
        print(f"bundle: {error}", file=sys.stderr)
        return 1
    return 0


def make_bundle(out: Path, links: str = "keep") -> list[Path]:
    """Write the bundle below `out`, as a folder and as a zip; return the two zips.

    An earlier bundle there is replaced. Raises BundleError for an unknown kind of links, and when
    a lesson is not as it was built.
    """
    if links not in ("keep", "none") and not links.startswith(("https://", "http://")):
        raise BundleError(f"--links takes keep, none or an address with https://, not {links!r}")
    folder = out / NAME
    files = dict(bundle_files(links))
    if folder.exists():
        shutil.rmtree(folder)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (folder / "binder" / "postBuild").chmod(0o755)
    solutions = {p.relative_to(ROOT).as_posix(): p.read_bytes() for p in shipped(SOLUTIONS)}
    return [
        write_zip(out / f"{NAME}.zip", files),
        write_zip(out / f"{NAME}-solutions.zip", solutions),
    ]


def bundle_files(links: str) -> Iterator[tuple[str, bytes]]:
    """Yield (path in the bundle, content) of every file."""
    for name in AS_THEY_ARE:
        for path in shipped(ROOT / name):
            yield path.relative_to(ROOT).as_posix(), path.read_bytes()
    for path in shipped(TEMPLATES):
        yield path.relative_to(TEMPLATES).as_posix(), path.read_bytes()
    yield "pyproject.toml", learners_project().encode()
    for slug in lesson_slugs():
        yield from lesson_files(slug, links)
    library = {path.relative_to(ROOT): path for path in shipped(LIBRARY)}
    for name, path in library.items():
        if REFERENCE in path.parents and name.name != "__init__.py":
            continue
        yield name.as_posix(), library_file(name, path)
    for number, source in needed_references(library.values()).items():
        yield f"specdec/reference/lesson_{number}.py", stub(source)


def shipped(path: Path) -> Iterator[Path]:
    """Yield a file, or the files below a folder, in order, without caches."""
    for found in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if found.is_file() and not any(part in NOT_SHIPPED for part in found.parts):
            yield found


def lesson_files(slug: str, links: str) -> Iterator[tuple[str, bytes]]:
    path = lesson_path(slug)
    if edited(path):
        raise BundleError(
            f"{path.relative_to(ROOT)} is not as it was built; run `make build LESSON={slug[:2]}`, "
            "which keeps your copy beside a fresh one"
        )
    text = path.read_text(encoding="utf-8")
    if links != "keep":
        notebook = nbformat.reads(text, as_version=4)
        for cell in notebook.cells:
            cell.source = with_links(cell.source, slug, links)
        text = nbformat.writes(notebook) + "\n"
    yield path.relative_to(LESSONS.parent).as_posix(), text.encode()


def with_links(source: str, slug: str, links: str) -> str:
    """Return a cell's text with its link to the worked answer left out or sent elsewhere."""
    if links == "none":
        return without_worked_link(source)
    return source.replace(worked_link(slug), f"{links.rstrip('/')}/{slug}.html")


def library_file(name: Path, path: Path) -> bytes:
    """Return a file of the library as students get it."""
    if name.match(ANSWERS):
        questions = json.loads(path.read_text(encoding="utf-8"))
        # Graded choices are marked by the instructor's copy alone.
        kept = {key: value for key, value in questions.items() if not key.startswith("quiz_")}
        return seal(json.dumps(kept, sort_keys=True)).encode()
    if any(name.match(pattern) for pattern in SEALED):
        return stub(path.read_text(encoding="utf-8"))
    return path.read_bytes()


def stub(source: str) -> bytes:
    return STUB.format(packed=seal(source)).encode()


def learners_project() -> str:
    """Return a pyproject.toml that installs the library alone."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [
        "[build-system]",
        'requires = ["hatchling>=1.24"]',
        'build-backend = "hatchling.build"',
        "",
        "[project]",
        *(f"{key} = {json.dumps(project[key])}" for key in ("name", "version", "requires-python")),
        f"dependencies = {json.dumps(project['dependencies'], indent=4)}",
        "",
        "[tool.hatch.build.targets.wheel]",
        'packages = ["specdec"]',
    ]
    return "\n".join(lines) + "\n"


# --- the worked functions that students' code needs -------------------------------------------


def needed_references(library) -> dict[str, str]:
    """Return {lesson number: source} with the worked functions that the bundle's code uses."""
    sources = [
        path.read_text(encoding="utf-8")
        for path in library
        if path.suffix == ".py" and REFERENCE not in path.parents
    ]
    sources += [code for slug in lesson_slugs() for code in code_cells(lesson_path(slug))]
    wanted: dict[str, set[str]] = {}
    for source in sources:
        for number, name in worked_names(ast.parse(source)):
            wanted.setdefault(number, set()).add(name)
    kept: dict[str, str] = {}
    while wanted:
        number, names = wanted.popitem()
        kept[number] = reduced((REFERENCE / f"lesson_{number}.py").read_text("utf-8"), names)
        for other, name in worked_names(ast.parse(kept[number])):
            # A function of an earlier lesson that is needed by a needed one.
            if name not in defined_names(kept.get(other, "")):
                wanted.setdefault(other, defined_names(kept.get(other, ""))).add(name)
    return kept


def code_cells(path: Path) -> list[str]:
    notebook = nbformat.read(path, as_version=4)
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def worked_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield (lesson number, name) of each worked function that a module imports or reads."""
    modules = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(
            "specdec.reference"
        ):
            continue
        for alias in node.names:
            if node.module == "specdec.reference":
                modules[alias.asname or alias.name] = alias.name[-2:]
            else:
                yield node.module[-2:], alias.name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            number = modules.get(node.value.id)
            if number:
                yield number, node.attr


def defined_names(source: str) -> set[str]:
    return {name for node in ast.parse(source).body for name in names_of(node)}


def names_of(node: ast.stmt) -> set[str]:
    """Return the names that a statement at the top of a module binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def reduced(source: str, names: set[str]) -> str:
    """Return a module with only the named definitions and what they need."""
    body = ast.parse(source).body
    needed, before = set(names), set()
    while needed != before:
        before = set(needed)
        for node in body:
            if names_of(node) & needed:
                needed |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    kept = [node for node in body if names_of(node) & needed]
    return "\n\n".join(ast.unparse(node) for node in kept)


def write_zip(path: Path, files: dict[str, bytes]) -> Path:
    """Write a zip whose bytes depend on its files alone."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(f"{NAME}/{name}", (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if name.endswith("postBuild") else 0o644) << 16
            archive.writestr(entry, content)
    return path


if __name__ == "__main__":
    sys.exit(main())
