"""The widgets of a page: their state as recorded here, and their JavaScript without a kernel."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

import specdec.widgets
from specdec.widgets.base import CourseWidget, front_end
from specdec.widgets.question import letter, plain

NOT_STATE = ("layout", "tabbable", "tooltip")
NAMESPACE = "window.specdecWidgets"


@dataclass
class Shown:
    """A widget where a page shows it: its kind, its synced state, and its question in words."""

    kind: str
    state: dict
    question: str = ""


def recorded(cells) -> dict[str, Shown]:
    """Return {cell id: Shown} for each code cell of a worked notebook that ends in a widget.

    Runs those cells alone. A prediction that the worked notebook makes is left to the reader.
    """
    names: dict = {}
    found = {}
    for cell in cells:
        if cell.cell_type != "code":
            continue
        body = ast.parse(cell.source).body
        loads = "load_widget(" in cell.source
        last = body[-1].value if body and isinstance(body[-1], ast.Expr) else None
        name = last.id if isinstance(last, ast.Name) else ""
        if not loads and not isinstance(names.get(name), CourseWidget):
            continue
        predicts = [node for node in body if ".prediction = " in ast.unparse(node)]
        run([node for node in body[:-1] if node not in predicts], names)
        found[cell.id] = Shown(type(names[name]).__name__, state_of(names[name]))
        run(predicts, names)
        found[cell.id].question = question_of(names[name]) if loads else ""
    return found


def run(nodes: list[ast.stmt], names: dict) -> None:
    exec(compile(ast.Module(nodes, type_ignores=[]), "a widget's cell", "exec"), names)


def state_of(widget: CourseWidget) -> dict:
    """Return the state that the widget's front end reads."""
    kept = [key for key in widget.keys if not key.startswith("_") and key not in NOT_STATE]
    return {key: getattr(widget, key) for key in kept}


def question_of(widget: CourseWidget) -> str:
    """Return the question that a widget asks first, each choice with its reason, as Markdown."""
    if not getattr(widget, "question", None):
        return ""
    lines = [f"**{plain(widget.question['prompt'])}**", ""]
    for index, choice in enumerate(widget.question["choices"]):
        mark = "✓" if choice.get("right") else "✗"
        lines.append(f"- {mark} **{letter(index)}. {choice['text']}** {choice['reason']}")
    return "\n".join(lines)


def script_of(kind: str) -> str:
    """Return a widget's module as a plain script, which a page opened as a file can load."""
    module = getattr(specdec.widgets, kind)._esm
    text, exports = re.subn(
        r"^export default (.*);$", rf"{NAMESPACE}.{kind} = \1;", str(module), flags=re.M
    )
    if exports != 1:
        raise ValueError(f"{kind}: its JavaScript needs one line `export default …;`")
    text = re.sub(r"^export (?=(function|const|class) )", "", text, flags=re.M)
    return f"{NAMESPACE} ??= {{}};\n(() => {{\n{text}\n}})();\n"


def style_of(kinds) -> str:
    """Return the style sheet of some widgets, with the part that they share once."""
    shared = front_end()[1]
    own = [str(getattr(specdec.widgets, kind)._css).removeprefix(shared) for kind in kinds]
    return "\n".join([shared, *own])
