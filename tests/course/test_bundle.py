"""The students' bundle: no answer can be read in it, and it works alone."""

import ast
import difflib
import json
import os
import re
import subprocess
import sys
import zipfile

import nbformat
import pytest
from nbclient import NotebookClient

from autograder.answers import with_answers, worked_answers
from autograder.mutants import load
from tools import bundle
from tools.course import lesson_slugs, read_lesson, source_notebook, strip_markers

TOGETHER, LINE, WHOLE = 60, 45, 24  # characters, without spaces, that make an answer's trace
ALIKE = 0.75  # of two functions whose names were replaced
HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS\n(.*?)### END HIDDEN TESTS", re.S)
FIVE = "05_when_it_pays"  # it uses worked functions of lesson 1, and sealed modules


@pytest.fixture(scope="module")
def sources():
    return {slug: source_notebook(read_lesson(slug)) for slug in lesson_slugs()}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(folder of the bundle, zip of the bundle, zip of the solutions)."""
    out = tmp_path_factory.mktemp("dist")
    return out / bundle.NAME, *bundle.make_bundle(out)


def flat(text: str) -> str:
    return re.sub(r"\s+", "", text)


def code_lines(code: str) -> list[str]:
    """Return the lines of some Python in one way of writing, without comments and docstrings."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree).splitlines()


def traces(code: str) -> set[str]:
    """Return what of an answer would give it away: three lines running, a long line, or all."""
    lines = [flat(line) for line in code_lines(code)]
    lines = [line for line in lines if line and not re.match(r"def|class|from|import", line)]
    runs = {"".join(lines[i : i + 3]) for i in range(len(lines) - 2)}
    found = {run for run in runs if len(run) >= TOGETHER}
    found |= {line for line in lines if len(line) >= LINE}
    whole = "".join(lines)
    return found | ({whole} if WHOLE <= len(whole) <= 400 else set())


def as_text(name: str, content: bytes) -> str:
    """Return what can be read in a file: the cells of a notebook, code in one way of writing."""
    text = content.decode("utf-8", errors="replace")
    if name.endswith(".ipynb"):
        cells = json.loads(text)["cells"]
        return "\n".join(readable("".join(cell["source"])) for cell in cells) + text
    return readable(text) + text if name.endswith(".py") else text


def readable(code: str) -> str:
    try:
        return "\n".join(code_lines(code))
    except SyntaxError:
        return code


def answers(sources) -> dict[str, set[str]]:
    """Return {what it is: its traces} of every answer and every hidden test of the course."""
    corpus = {}
    for slug, source in sources.items():
        for name, code in worked_answers(source).items():
            corpus[f"{slug}, answer {name}"] = traces(strip_markers(code))
        for name, code in read_lesson(slug).reference.items():
            corpus[f"{slug}, reference {name}"] = traces(code)
        for item in load(slug)[1]:
            corpus[f"{slug}, {item.answer}: {item.name}"] = traces(item.code)
        for cell in source.cells:
            hidden = [traces(block) for block in HIDDEN.findall(cell.source)]
            corpus[f"{slug}, hidden tests of {cell.id}"] = set().union(*hidden)
    return corpus


def given(sources) -> str:
    """Return what every student may read: the lessons without their answers, hints included."""
    released = [nbformat.read(bundle.lesson_path(slug), as_version=4) for slug in sources]
    return flat(
        "\n".join(readable(cell.source) for notebook in released for cell in notebook.cells)
    )


def test_no_answer_can_be_read_in_it(made, sources):
    open_to_all = given(sources)
    with zipfile.ZipFile(made[1]) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    weights = {name for name, content in contents.items() if b"\0" in content}
    assert all(name.endswith((".safetensors", ".npz")) for name in weights)
    texts = {n: flat(as_text(n, content)) for n, content in contents.items() if n not in weights}
    everything = "\n".join(texts.values())
    corpus = answers(sources)
    assert sum(map(len, corpus.values())) > 1000
    leaks = [
        f"{name} shows {what}: {trace[:80]}"
        for what, found in corpus.items()
        for trace in found
        if trace in everything and trace not in open_to_all
        for name, text in texts.items()
        if trace in text
    ]
    assert leaks == [], "add the module to SEALED in tools/bundle.py"


def functions(code: str) -> list[str]:
    """Return the bodies of all functions, their names replaced by numbers in order."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef):
            names: dict[str, str] = {}
            for part in ast.walk(node):
                for field in ("id", "arg"):
                    if isinstance(getattr(part, field, None), str):
                        name = getattr(part, field)
                        setattr(part, field, names.setdefault(name, f"v{len(names)}"))
            body = node.body[1:] if ast.get_docstring(node) else node.body
            found.append("\n".join(map(ast.unparse, body)))
    return [body for body in found if len(body) >= LINE]


def alike(one: str, other: str) -> bool:
    match = difflib.SequenceMatcher(None, one, other, autojunk=False)
    bounds = (match.real_quick_ratio, match.quick_ratio, match.ratio)
    return all(bound() > ALIKE for bound in bounds)


def test_no_function_is_an_answer_with_other_names(made, sources):
    worked = [
        (name, body)
        for slug in sources
        for name, code in read_lesson(slug).reference.items()
        for body in functions(code)
    ]
    near = [
        f"{path.name} has {name}: {body[:80]}"
        for path in (made[0] / "specdec").rglob("*.py")
        for body in functions(path.read_text(encoding="utf-8"))
        for name, answer in worked
        if alike(body, answer)
    ]
    assert near == [], "add the module to SEALED in tools/bundle.py"


def test_the_search_for_leaks_finds_them(sources):
    """The same search in the repository itself finds the worked functions."""
    corpus = answers(sources)
    for slug in sources:
        path = bundle.REFERENCE / f"lesson_{slug[:2]}.py"
        text = flat(as_text(path.name, path.read_bytes()))
        shown = {w for w, found in corpus.items() if any(t in text for t in found)}
        assert {f"{slug}, reference {name}" for name in read_lesson(slug).reference} <= shown


def test_the_instructors_side_stays_out(made):
    with zipfile.ZipFile(made[1]) as archive:
        names = [name.removeprefix(f"{bundle.NAME}/") for name in archive.namelist()]
    tops = {name.partition("/")[0] for name in names}
    assert tops == {
        *("LICENSE", "Makefile", "README.md", "binder", "constraints.txt", "lessons"),
        *("pyproject.toml", "requirements.txt", "specdec"),
    }
    assert not any("mutants" in name or "test" in name for name in names)
    files = {p.relative_to(made[0]).as_posix() for p in made[0].rglob("*") if p.is_file()}
    assert files == set(names)


def test_graded_choices_are_not_in_it(made):
    from specdec.sealed import unseal

    for path in (made[0] / "specdec" / "checks" / "data").iterdir():
        text = path.read_text()
        assert text.startswith("sealed:")
        assert not [name for name in json.loads(unseal(text)) if name.startswith("quiz_")]


def test_the_solutions_fit_over_it(made):
    with zipfile.ZipFile(made[2]) as archive:
        names = archive.namelist()
    assert f"{bundle.NAME}/solutions/{FIVE}/{FIVE}.ipynb" in names


IMPORT_ALL = """
import importlib, pkgutil, specdec
for module in pkgutil.walk_packages(specdec.__path__, "specdec."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(specdec.__file__)
"""


@pytest.fixture(scope="module")
def student(made, tmp_path_factory):
    """The zip as a student unpacks it, in a folder of its own."""
    folder = tmp_path_factory.mktemp("student")
    with zipfile.ZipFile(made[1]) as archive:
        archive.extractall(folder)
    return folder / bundle.NAME


def test_all_of_the_library_can_be_imported(student):
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL],
        cwd=student,
        env={**os.environ, "PYTHONPATH": str(student)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == str(student / "specdec" / "__init__.py"), done.stderr


def test_a_lesson_runs_in_it_and_its_checks_work(student, sources, monkeypatch):
    """All right but one answer: its own checks name the mistake, later ones name it."""
    released = nbformat.read(student / "lessons" / FIVE / f"{FIVE}.ipynb", as_version=4)
    right = {n: strip_markers(code) for n, code in worked_answers(sources[FIVE]).items()}
    wrong = next(m for m in load(FIVE)[0] if m.answer == "speedup")
    notebook = with_answers(released, {**right, "speedup": wrong.code})
    for cell in notebook.cells:
        cell.metadata.tags = []  # so that each error is kept
    monkeypatch.setenv("PYTHONPATH", str(student))
    monkeypatch.setenv("SPECDEC_STILL", "1")
    NotebookClient(
        notebook, allow_errors=True, resources={"metadata": {"path": str(student / "lessons")}}
    ).execute()
    said = {
        cell.id: output.evalue
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "error"
    }
    assert any(re.search(wrong.message, text) for text in said.values()), said
    others = [text for name, text in said.items() if not name.startswith("test_speedup")]
    assert all("First repair speedup" in text for text in others), said


@pytest.mark.parametrize("links", ["none", "https://example.org/course/"])
def test_links_to_worked_answers_are_the_instructors_choice(links):
    text = "".join(
        "".join(cell["source"])
        for slug in lesson_slugs()
        for _, content in bundle.lesson_files(slug, links)
        for cell in json.loads(content)["cells"]
    )
    assert "../../solutions" not in text
    assert ("https://example.org/course/01_draft_and_verify.html#Exercise-1:" in text) == (
        links != "none"
    )
    assert ("worked answer" in text) == (links != "none")


def test_an_unknown_kind_of_links_is_refused(tmp_path, capsys):
    assert bundle.main(["--links", "some", "--out", str(tmp_path)]) == 1
    assert "--links takes keep, none or an address" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
