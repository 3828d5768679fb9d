"""What the instructor's notebook says: its cells, their release text, and their names."""

import ast
import copy
from dataclasses import dataclass, field

from nbgrader import utils
from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions

from .code import bound_by, bound_names, parse

_REFLECTED = "add sub mul truediv floordiv mod pow matmul and or xor".split()  # noqa: SIM905


@dataclass
class SourceCell:
    """One cell of the instructor's notebook.

    role     test, manual (an answer with points), answer, locked, task or open
    release  its text as students get it
    """

    index: int
    role: str
    grade_id: str | None
    cell_type: str
    source: str
    release: str
    cell: dict
    points: float = 0.0
    cell_id: str | None = None
    binds: frozenset = frozenset()

    @property
    def is_ours(self):
        """Whether the text is the instructor's whatever a student makes of it."""
        return self.role in ("test", "locked", "task")


@dataclass
class Source:
    """The instructor's notebook, read once and used for every submission.

    shared       names that live in the student's process, for tests too
    trusted      names whose value in tests is the instructor's, whatever the student made of them
    definitions  {name: statement} of imports, functions and classes in cells that students get
    fallbacks    {name: statement} of imports in solutions, used where the student has the name
    operators    {class: special methods} that the solutions define
    open_code    texts of the code cells that students got, without tests
    """

    cells: list
    by_id: dict
    shared: frozenset
    trusted: frozenset
    definitions: dict
    fallbacks: dict
    operators: dict
    open_code: tuple
    metadata: dict = field(default_factory=dict)

    def trusted_code(self):
        """Return [(text, "test" or "trusted")] of all that the trusted process may run."""
        code = [cell for cell in self.cells if cell.cell_type == "code"]
        found = [(cell.source, "test") for cell in code if cell.role == "test"]
        texts = [cell.source for cell in code if cell.role == "locked"]
        texts += [*self.definitions.values(), *self.fallbacks.values()]
        return found + [(text, "trusted") for text in dict.fromkeys(texts)]

    def tester_setup(self, policy):
        """Return what the trusted process needs to know, as plain data."""
        return {
            "do": "setup",
            "shared": sorted(self.shared),
            "trusted": sorted(self.trusted),
            "definitions": dict(self.definitions),
            "fallbacks": dict(self.fallbacks),
            "operators": {name: sorted(found) for name, found in self.operators.items()},
            "path": list(policy.test_path),
            "pure": list(policy.pure),
        }


def read_source(notebook, released=None):
    """Return the Source of an nbgrader source notebook (with solutions and hidden tests).

    released  the notebook as students got it; by default what nbgrader would have made
    """
    release = release_version(notebook)
    if released is not None:
        _use_released(release, released)
    cells = [
        _read_cell(index, cell, released)
        for index, (cell, released) in enumerate(zip(notebook.cells, release.cells, strict=True))
    ]
    code = [cell for cell in cells if cell.cell_type == "code"]
    answers = [cell for cell in code if cell.role in ("answer", "manual")]
    given = [cell for cell in code if cell.role == "open"]
    locked = [cell for cell in code if cell.role == "locked"]
    answered = frozenset().union(*(cell.binds for cell in answers))
    definitions = {}
    for cell in given:
        definitions |= _definitions(cell.source)
    definitions = {name: text for name, text in definitions.items() if name not in answered}
    fallbacks = {}
    for cell in answers:
        fallbacks |= _definitions(cell.source, imports_only=True)
    fallbacks = {name: text for name, text in fallbacks.items() if name not in definitions}
    held = frozenset().union(*(cell.binds for cell in locked))
    # A test may import the reference under a student's name: the name stays shared.
    imported = _imported(cell for cell in code if cell.role != "test")
    return Source(
        cells=cells,
        by_id={cell.grade_id: cell for cell in cells if cell.grade_id},
        shared=answered.union(held, *(cell.binds for cell in given)) - imported,
        trusted=frozenset(definitions) | (held - answered),
        definitions=definitions,
        fallbacks=fallbacks,
        operators=_operators(answers),
        open_code=_open_code(release if released is None else released),
        metadata=dict(notebook.metadata),
    )


def release_version(notebook):
    """Return the notebook without solutions and hidden tests, as nbgrader releases it."""
    copied = copy.deepcopy(notebook)
    for preprocessor in (ClearSolutions(), ClearHiddenTests()):
        preprocessor.enforce_metadata = False
        copied, _ = preprocessor.preprocess(copied, {})
    return copied


def _open_code(released):
    code = [cell for cell in released.cells if cell.cell_type == "code"]
    return tuple(dict.fromkeys(cell.source for cell in code if _role(cell) != "test"))


def _use_released(release, released):
    """Take over the texts that students really got, found by grade_id."""
    texts = {
        cell.metadata["nbgrader"].get("grade_id"): cell.source
        for cell in released.cells
        if "nbgrader" in cell.metadata
    }
    for cell in release.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = texts.get(grade_id, cell.source)


def hidden_lines(source, release):
    """Return the line numbers of a test that students do not see, counted from 1."""
    left = release.splitlines()
    hidden, position = set(), 0
    for number, line in enumerate(source.splitlines(), 1):
        if position < len(left) and left[position] == line:
            position += 1
        else:
            hidden.add(number)
    return hidden


def _read_cell(index, cell, released):
    info = cell.metadata.get("nbgrader", {})
    return SourceCell(
        index=index,
        role=_role(cell),
        grade_id=info.get("grade_id"),
        cell_type=cell.cell_type,
        source=cell.source,
        release=released.source,
        cell=dict(cell),
        points=float(info.get("points", 0) or 0),
        cell_id=cell.get("id"),
        binds=bound_names(cell.source) if cell.cell_type == "code" else frozenset(),
    )


def _role(cell):
    if utils.is_task(cell):
        return "task"
    if utils.is_grade(cell):
        return "manual" if utils.is_solution(cell) else "test"
    if utils.is_solution(cell):
        return "answer"
    return "locked" if utils.is_locked(cell) else "open"


# -- names --------------------------------------------------------------------------------------


def _definitions(source, imports_only=False):
    """Return {name: statement} of the imports, functions and classes at a cell's top level."""
    kinds = (ast.Import, ast.ImportFrom)
    if not imports_only:
        kinds += (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    tree = parse(source)
    found = {}
    for statement in tree.body if tree else ():
        if isinstance(statement, kinds):
            text = ast.unparse(statement)
            found |= {name: text for name in bound_by(statement) if name != "*"}
    return found


def _imported(cells):
    return frozenset().union(*(_definitions(cell.source, imports_only=True) for cell in cells))


def _operators(answers):
    """Return {class name: special methods} of the classes that the solutions define."""
    found = {}
    for cell in answers:
        tree = parse(cell.source)
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.ClassDef):
                names = {n for part in node.body for n in bound_by(part) if n.startswith("__")}
                decorated = any("dataclass" in ast.unparse(d) for d in node.decorator_list)
                if decorated:
                    names.add("__eq__")
                names |= {f"__r{n[2:]}" for n in names} & {f"__r{n}__" for n in _REFLECTED}
                found[node.name] = names
    return found
