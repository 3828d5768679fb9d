"""Read a lesson's text and make notebooks of it, in memory.

A lesson is one py:percent file in `course/`. Its cell markers carry what nbgrader needs, in short:

    # %% [raw] todo="todo_x"            YAML: question, right, wrong -> question, answer and check
    # %% [raw] quiz="quiz_x"            YAML: question, choices, right -> the same, graded A to D
    # %% [markdown] card="f"            an exercise's card (difficulty=2 minutes=8)
    # %% [raw] widget="lane"            YAML: kind and arguments of a widget -> a cell that shows it
    # %% answer="f"                     the answer cell; empty: the body comes from the reference
                                        (also="g" puts a second function of it into the same cell)
    # %% free_try="f"                   the learner's own try, may fail with "not written yet"
    # %% test="f" points=2              the graded check `test_f`
    # %% [markdown] hints="f"           three hints, divided by lines of ===
    # %% [markdown] project="p"         an answer that a person grades (points=8)
    # %% [markdown] only="solution"     in the worked solution only ("lesson": in the lesson only)
    # %% include="specdec/bugs.py:f"    a code cell with that function's source
    # %% [markdown] wrong_turns="f"     adds what the known wrong answers do on the calls `shown`
    # %% [markdown] part="B"             a part begins; {{minutes_B}} is the sum of its minutes
    # %% folded=true                    the cell's code opens folded
    # %% measured=true                  its output depends on the machine, and is not compared

`docs/authoring.md` explains them with examples.
"""

from __future__ import annotations

import ast
import copy
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import jupytext
import nbformat
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from specdec import __version__
from specdec.checks.answers import canonical, digest
from tools.wrong_turns import wrong_turns

ROOT = Path(__file__).resolve().parent.parent
COURSE = ROOT / "course"
REFERENCE = ROOT / "specdec" / "reference"
ANSWERS = ROOT / "specdec" / "checks" / "data"
PROGRESS = ROOT / "specdec" / "progress" / "data"
WIDGETS = ROOT / "specdec" / "widgets" / "data"

BEGIN_SOLUTION, END_SOLUTION = "### BEGIN SOLUTION", "### END SOLUTION"
BEGIN_HIDDEN, END_HIDDEN = "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


class CourseError(Exception):
    """A fault in a lesson's text. The message says where it is and what to do."""


@dataclass
class Lesson:
    """One lesson's text, read: cells in order, each with the marker's keys as metadata."""

    slug: str
    meta: dict
    cells: list
    reference: dict[str, str] = field(default_factory=dict)

    @property
    def number(self) -> str:
        return self.slug[:2]

    def where(self, index: int) -> str:
        """Name a cell in an error message."""
        first = self.cells[index].source.strip().splitlines() or ["(empty)"]
        return f"course/{self.slug}.py, cell {index + 1} ({first[0][:50]!r})"

    def points(self, answer_id: str) -> int:
        """Sum the points of all graded cells of one exercise."""
        tests = [c.metadata for c in self.cells if "test" in c.metadata]
        return sum(t["points"] for t in tests if self.answer_of(t["test"]) == answer_id)

    def answer_of(self, test: str) -> str:
        """Return the answer that a test belongs to: the longest whose name begins the test's."""
        answers = [c.metadata["answer"] for c in self.cells if "answer" in c.metadata]
        fitting = [name for name in answers if test == name or test.startswith(name + "_")]
        return max(fitting, key=len, default="")

    @property
    def total_points(self) -> int:
        graded = sum(c.metadata["points"] for c in self.cells if "test" in c.metadata)
        return graded + sum(
            c.metadata.get("points", 1)
            for c in self.cells
            if "todo" in c.metadata or "quiz" in c.metadata
        )

    @property
    def project_points(self) -> int:
        """Points that a person gives; they are counted apart from the checks' own."""
        return sum(c.metadata["points"] for c in self.cells if "project" in c.metadata)

    @property
    def minutes(self) -> int:
        return sum(c.metadata.get("minutes", 0) for c in self.cells)

    @property
    def part_minutes(self) -> dict[str, int]:
        """Return {"minutes_A": …, "minutes_B": …}; a cell with part="A" begins a part."""
        minutes, part = {}, None
        for cell in self.cells:
            part = cell.metadata.get("part", part)
            if part:
                name = f"minutes_{part}"
                minutes[name] = minutes.get(name, 0) + cell.metadata.get("minutes", 0)
        return minutes


def lesson_slugs() -> list[str]:
    """Return the slugs of all lessons that have a text, in order."""
    return sorted(p.stem for p in COURSE.glob("[0-9][0-9]_*.py"))


def find_slug(name: str) -> str:
    """Turn `1`, `01` or `01_draft_and_verify` into a slug; CourseError for anything else."""
    slugs = lesson_slugs()
    for slug in slugs:
        if name in (slug, slug[:2], slug[:2].lstrip("0")):
            return slug
    raise CourseError(f"there is no lesson {name!r}; the lessons are: {', '.join(slugs)}")


def read_lesson(slug: str) -> Lesson:
    """Read `course/<slug>.py`. Raises CourseError when the text can't be read."""
    path = COURSE / f"{slug}.py"
    try:
        notebook = jupytext.read(path, fmt="py:percent")
    except Exception as error:
        raise CourseError(f"course/{slug}.py can't be read as py:percent: {error}") from error
    meta = notebook.metadata.get("specdec")
    if not meta:
        raise CourseError(f"course/{slug}.py: the header lacks `specdec:` below `jupyter:`")
    return Lesson(slug, dict(meta), notebook.cells, read_reference(slug))


def read_reference(slug: str) -> dict[str, str]:
    """Return {name: source} for the functions and classes of the lesson's reference module."""
    path = REFERENCE / f"lesson_{slug[:2]}.py"
    return definitions(path) if path.exists() else {}


def definitions(path: Path) -> dict[str, str]:
    """Return {name: source} for the functions and classes of a module."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    return {
        node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno])
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def with_solution_markers(source: str) -> str:
    """Put solution markers around what follows a function's docstring.

    A reference that shows its markers already (a half-given exercise) is returned as it is.
    """
    if BEGIN_SOLUTION in source:
        return source
    node = ast.parse(source).body[0]
    docstring_end = node.body[0].end_lineno
    lines = source.splitlines()
    body = lines[docstring_end:]
    return "\n".join(
        [*lines[:docstring_end], f"    {BEGIN_SOLUTION}", *body, f"    {END_SOLUTION}"]
    )


# --- from marker to cells ----------------------------------------------------------------------


def nbgrader(grade_id: str, *, grade=False, solution=False, locked=False, points=None) -> dict:
    """Return nbgrader's cell metadata, schema 3."""
    meta = {
        "grade": grade,
        "grade_id": grade_id,
        "locked": locked,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    if points is not None:
        meta["points"] = points
    return {"nbgrader": meta}


def expand(lesson: Lesson, *, worked: bool) -> list:
    """Return the notebook cells of a lesson: nbgrader's source, or the worked solution's."""
    cells = []
    exercise = 0
    for index, cell in enumerate(lesson.cells):
        keys = cell.metadata
        skip = "lesson" if worked else "solution"
        if keys.get("only") == skip:
            continue
        if "card" in keys:
            exercise += 1
            cells.append(card_cell(lesson, cell, exercise))
        elif "todo" in keys or "quiz" in keys:
            cells += question_cells(lesson, index, worked)
        elif "answer" in keys:
            cells.append(answer_cell(lesson, index))
        elif "project" in keys:
            cells.append(project_cell(cell))
        elif "test" in keys:
            cells.append(test_cell(cell))
        elif "widget" in keys:
            cells.append(widget_cell(lesson, index, worked))
        elif "include" in keys:
            included_cell = new_code_cell(included(lesson, index))
            if keys.get("folded"):
                included_cell.metadata["jupyter"] = {"source_hidden": True}
            cells.append(included_cell)
        elif "hints" in keys:
            if not worked:
                cells.append(hints_cell(lesson, cell, exercise))
        elif "wrong_turns" in keys:
            given = given_functions(lesson)
            table = wrong_turns(lesson.slug, keys["wrong_turns"], keys["shown"], given)
            cells.append(new_markdown_cell(f"{cell.source}\n\n{table}"))
        elif cell.cell_type == "markdown":
            cells.append(new_markdown_cell(fill(lesson, cell.source)))
        else:
            cells.append(plain_code_cell(cell))
    name_cells(lesson, cells)
    return cells


def given_functions(lesson: Lesson) -> str:
    """Return the source of the functions that the lesson's plain code cells define."""
    return "\n\n".join(
        ast.unparse(node)
        for cell in lesson.cells
        if cell.cell_type == "code" and not {"answer", "test"} & set(cell.metadata)
        for node in ast.parse(cell.source).body
        if isinstance(node, ast.FunctionDef)
    )


def fill(lesson: Lesson, text: str) -> str:
    """Replace the few facts that a text may ask for, such as {{minutes}} and {{points}}."""
    facts = {
        "minutes": lesson.minutes,
        "points": lesson.total_points,
        "project_points": lesson.project_points,
        **lesson.part_minutes,
    }
    for name, value in facts.items():
        text = text.replace("{{" + name + "}}", str(value))
    return text


def plain_code_cell(cell):
    new = new_code_cell(cell.source)
    if cell.metadata.get("folded"):
        new.metadata["jupyter"] = {"source_hidden": True}
    tags = [t for t in ("measured",) if cell.metadata.get(t)]
    if "free_try" in cell.metadata:
        tags.append("raises-exception")
    if tags:
        new.metadata["tags"] = tags
    return new


def widget_cell(lesson: Lesson, index: int, worked: bool):
    """A cell that shows a widget; its texts lie in the package, not beside the question.

    In the worked solution the prediction is made: the text of the right choice.
    """
    name = lesson.cells[index].metadata["widget"]
    lines = [
        "from specdec.widgets import load_widget",
        "",
        f'{name} = load_widget("lesson_{lesson.number}", "{name}")',
    ]
    right = [c["text"] for c in read_yaml(lesson, index).get("choices", []) if c.get("right")]
    if worked and right:
        lines.append(f'{name}.prediction = "{right[0]}"  # chosen, as a learner would by a click')
    return new_code_cell("\n".join([*lines, name]))


def included(lesson: Lesson, index: int) -> str:
    path, _, name = lesson.cells[index].metadata["include"].partition(":")
    found = definitions(ROOT / path)
    if name not in found:
        raise CourseError(f"{lesson.where(index)}: no `{name}` in {path}")
    return found[name]


def stars(difficulty: int) -> str:
    return "●" * difficulty + "○" * (5 - difficulty)


def plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def card_cell(lesson: Lesson, cell, number: int):
    """An exercise's card: heading, difficulty, minutes, points, then the author's text."""
    keys = cell.metadata
    name = keys["card"]
    line = (
        f"{stars(keys['difficulty'])} difficulty {keys['difficulty']} of 5 · "
        f"about {plural(keys['minutes'], 'minute')} · {plural(lesson.points(name), 'point')}"
    )
    return new_markdown_cell(f"### Exercise {number}: `{name}`\n\n{line}\n\n{cell.source}")


def answer_cell(lesson: Lesson, index: int):
    cell = lesson.cells[index]
    name = cell.metadata["answer"]
    source = cell.source
    if not source.strip():
        if name not in lesson.reference:
            raise CourseError(
                f"{lesson.where(index)}: no `{name}` in specdec/reference/"
                f"lesson_{lesson.number}.py; write it there"
            )
        names = [name, *filter(None, [cell.metadata.get("also")])]
        source = "\n\n\n".join(with_solution_markers(lesson.reference[n]) for n in names)
    new = new_code_cell(source)
    new.metadata.update(nbgrader(name, solution=True))
    return new


def project_cell(cell):
    """An answer in words that a person grades: the author's text is a worked example of one."""
    name, points = cell.metadata["project"], cell.metadata["points"]
    new = new_markdown_cell(f"{BEGIN_SOLUTION}\n{cell.source}\n{END_SOLUTION}")
    new.metadata.update(nbgrader(name, grade=True, solution=True, points=points))
    return new


def is_check(cell) -> bool:
    """Whether a cell is graded by running it; a project is graded by a person."""
    keys = cell.metadata.get("nbgrader", {})
    return bool(keys.get("grade")) and not keys.get("solution")


def test_cell(cell):
    """A graded check, folded: its first line says what it is and what it is worth."""
    points = plural(cell.metadata["points"], "point")
    title = f"# Check · {points} · run me when you have answered"
    new = new_code_cell(f"{title}\n{cell.source}")
    new.metadata["jupyter"] = {"source_hidden": True}
    new.metadata.update(
        nbgrader(
            f"test_{cell.metadata['test']}",
            grade=True,
            locked=True,
            points=cell.metadata["points"],
        )
    )
    new.metadata["tags"] = ["raises-exception"]
    return new


def hints_cell(lesson: Lesson, cell, exercise: int):
    """Three folded hints and the link to the worked answer."""
    name = cell.metadata["hints"]
    hints = re.split(r"^===+$", cell.source, flags=re.M)
    parts = [
        f"<details><summary>Hint {i}</summary>\n\n{hint.strip()}\n\n</details>"
        for i, hint in enumerate(hints, 1)
    ]
    target = f"{worked_link(lesson.slug)}#Exercise-{exercise}:-{name}"
    parts.append(f"Done, or done trying? [Read the worked answer]({target}).")
    return new_markdown_cell("\n\n".join(parts))


def worked_link(slug: str) -> str:
    """Return where a lesson's notebook finds its worked solution."""
    return f"../../solutions/{slug}/{slug}.ipynb"


def without_worked_link(source: str) -> str:
    """Return a cell's text without the sentence that links to a worked answer."""
    return re.sub(r"\n*^Done, or done trying\? \[Read .*\)\.$", "", source, flags=re.M)


def question_cells(lesson: Lesson, index: int, worked: bool) -> list:
    """Question, answer cell and check of a graded to-do or quiz question."""
    cell = lesson.cells[index]
    kind = "todo" if "todo" in cell.metadata else "quiz"
    name = cell.metadata[kind]
    data = read_question(lesson, index)
    points = cell.metadata.get("points", 1)
    label = "To do" if kind == "todo" else "Graded question"
    lines = [f"**{label}** · {plural(points, 'point')}", data["question"].strip()]
    if kind == "quiz":
        lines.append("\n".join(f"- **{k}** {v['text']}" for k, v in data["choices"].items()))
    question = new_markdown_cell("\n\n".join(lines))
    answer = new_code_cell(
        f"{BEGIN_SOLUTION}\n{name} = {literal(data['right'], kind)}\n{END_SOLUTION}"
    )
    answer.metadata.update(nbgrader(name, solution=True))
    check = data.get("check") or default_check(kind, name, data)
    test = test_cell_of(name, check, points)
    cells = [question, answer, test]
    if worked:
        cells.append(new_markdown_cell(explained(kind, data)))
    return cells


def literal(value, kind: str) -> str:
    if kind == "quiz" or not isinstance(value, str):
        return json.dumps(value)
    return value  # a Python expression, for answers that JSON can't hold


def default_check(kind: str, name: str, data: dict) -> str:
    if kind == "todo":
        return f'from specdec.checks import check_answer\n\ncheck_answer("{name}", {name})'
    letters = "".join(data["choices"])
    return (
        "from specdec.checks import check_choice\n\n"
        f'check_choice("{name}", {name}, "{letters}")  # marked when graded\n'
        f"{BEGIN_HIDDEN}\n"
        "from specdec.checks import check_answer\n\n"
        f'check_answer("{name}", {name})\n'
        f"{END_HIDDEN}"
    )


def test_cell_of(name: str, source: str, points: int):
    cell = new_code_cell(source)
    cell.metadata.update({"test": name, "points": points})
    return test_cell(cell)


def read_yaml(lesson: Lesson, index: int) -> dict:
    try:
        return yaml.safe_load(lesson.cells[index].source)
    except yaml.YAMLError as error:
        raise CourseError(f"{lesson.where(index)}: not YAML: {error}") from error


def read_question(lesson: Lesson, index: int) -> dict:
    data = read_yaml(lesson, index)
    if "choices" in data:
        data["wrong"] = {
            key: choice["reason"] for key, choice in data["choices"].items() if key != data["right"]
        }
    missing = {"question", "right"} - set(data)
    if missing:
        raise CourseError(f"{lesson.where(index)}: add {' and '.join(sorted(missing))}")
    return data


def explained(kind: str, data: dict) -> str:
    """The right answer with its reason, then each wrong one with its own."""
    if kind == "quiz":
        right = f"**{data['right']}.** {data['choices'][data['right']]['reason']}"
    else:
        right = f"**{show_value(data['right'])}.** {data['why'].strip()}"
    wrong = data.get("wrong", {})
    if not wrong:
        return right
    rows = "\n".join(f"| {show_value(k)} | {v} |" for k, v in wrong.items())
    return f"{right}\n\n| Another answer | What it overlooks |\n|---|---|\n{rows}"


def show_value(value) -> str:
    return f"`{value}`" if not isinstance(value, str) or len(value) > 1 else f"**{value}**"


def name_cells(lesson: Lesson, cells: list) -> None:
    """Give each cell an id that a rebuild gives again: its grade_id, or its place."""
    seen: set[str] = set()
    for place, cell in enumerate(cells, 1):
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id in seen:
            raise CourseError(f"course/{lesson.slug}.py: the id {grade_id} is used twice")
        if grade_id:
            seen.add(grade_id)
        cell.id = grade_id or f"{lesson.number}-{place:03d}"


def notebook_of(lesson: Lesson, cells: list):
    notebook = new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = dict(KERNEL)
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.metadata["specdec"] = {"lesson": lesson.slug, "version": __version__}
    return notebook


def source_notebook(lesson: Lesson):
    """Return nbgrader's source notebook: solutions marked, hidden tests in place."""
    return notebook_of(lesson, expand(lesson, worked=False))


def worked_notebook(lesson: Lesson):
    """Return the worked solution before it is run: no markers, no hidden tests, nothing locked."""
    notebook = notebook_of(lesson, expand(lesson, worked=True))
    for cell in notebook.cells:
        cell.source = strip_markers(cell.source)
        cell.metadata.pop("nbgrader", None)
        tags = [t for t in cell.metadata.get("tags", []) if t != "raises-exception"]
        cell.metadata.pop("tags", None)
        if tags:
            cell.metadata["tags"] = tags
    return notebook


def strip_markers(source: str) -> str:
    """Remove hidden tests whole, and the lines that mark a solution."""
    kept, hidden = [], False
    for line in source.splitlines():
        if BEGIN_HIDDEN in line:
            hidden = True
        elif END_HIDDEN in line:
            hidden = False
        elif not hidden and BEGIN_SOLUTION not in line and END_SOLUTION not in line:
            kept.append(line)
    return "\n".join(kept).rstrip()


def answers_file(lesson: Lesson) -> dict:
    """Return what the checks know of the lesson's questions, with every answer digested.

    {id: {"right": digest, "why": text, "kind": …, "wrong": {digest: reason}}}: the file lies in
    the learner's package, so it holds no answer in plain view.
    """
    questions = {}
    for index, cell in enumerate(lesson.cells):
        kind = "todo" if "todo" in cell.metadata else "quiz" if "quiz" in cell.metadata else None
        data = read_question(lesson, index) if kind else {}
        if not kind or "check" in data:
            continue
        name = cell.metadata[kind]
        why = data["why"] if kind == "todo" else data["choices"][data["right"]]["reason"]
        questions[name] = {
            "right": digest(name, canonical(data["right"])),
            "why": why.strip(),
            "kind": kind_of(data["right"]),
            "wrong": {
                digest(name, canonical(yaml.safe_load(k) if isinstance(k, str) else k)): v
                for k, v in data.get("wrong", {}).items()
            },
        }
    return questions


def kind_of(answer) -> str:
    if isinstance(answer, str):
        return "letter"
    return "list" if isinstance(answer, list) else "number"


def widgets_file(lesson: Lesson) -> dict:
    """Return the arguments of the lesson's widgets, {name: {"kind": …, …}}."""
    return {
        cell.metadata["widget"]: read_yaml(lesson, index)
        for index, cell in enumerate(lesson.cells)
        if "widget" in cell.metadata
    }


def checks_file(lesson: Lesson) -> list[dict]:
    """Return the lesson's visible checks in order: [{"id", "points", "source"}, …]."""
    return [
        {
            "id": cell.metadata["nbgrader"]["grade_id"].removeprefix("test_"),
            "points": cell.metadata["nbgrader"]["points"],
            "source": strip_markers(cell.source),
        }
        for cell in expand(lesson, worked=False)
        if is_check(cell)
    ]


def write_notebook(notebook, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_text(notebook), encoding="utf-8", newline="\n")


def to_text(notebook) -> str:
    return nbformat.writes(copy.deepcopy(notebook), version=4) + "\n"
