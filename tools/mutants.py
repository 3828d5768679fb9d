"""Try a lesson's known wrong answers and odd-but-right ones in this process, in seconds.

    python -m tools.mutants [NN [ANSWER ...]]

Each is put in the place of the worked answer, and the answer's own tests are run, hidden parts
included, with all else as worked. The same banks go through the sandbox and the whole grading path
in tests/grading. Exit status 1 when a wrong answer gets full points or hears the wrong message, or
an odd one loses any.
"""

import ast
import contextlib
import io
import os
import re
import signal
import sys

from IPython.core.interactiveshell import InteractiveShell

from autograder.answers import own_tests, worked_answers
from autograder.engine.inside import modules
from autograder.mutants import load
from autograder.policy import STAND_INS
from autograder.submissions import grade_id, is_test
from specdec.checks.core import CheckFailed, NotWrittenYet
from tools.course import lesson_slugs, read_lesson, source_notebook, strip_markers

SECONDS = 30  # for one answer's tests


class Trial:
    """A lesson with worked answers, run once, in which single answers can be replaced."""

    def __init__(self, lesson: str):
        os.environ.setdefault("MPLBACKEND", "agg")
        os.environ["SPECDEC_STILL"] = "1"
        self.source = source_notebook(read_lesson(lesson))
        self.tests = own_tests(self.source)
        self.worked = worked_answers(self.source)
        self.cells = {grade_id(c): c.source for c in self.source.cells if is_test(c)}
        self.names = InteractiveShell.instance().user_ns
        with contextlib.redirect_stdout(io.StringIO()):
            for cell in self.source.cells:
                if cell.cell_type == "code" and not is_test(cell):
                    self.run_given(cell)

    def run_given(self, cell) -> None:
        """Run a cell of the lesson; a free try may fail: stand-ins replace the trained pair."""
        may_fail = "raises-exception" in cell.metadata.get("tags", [])
        with contextlib.suppress(Exception) if may_fail else contextlib.nullcontext():
            exec(compile(cell.source, "a given cell", "exec"), self.names)

    def messages(self, answer: str, code: str) -> dict[str, str]:
        """{test id: what it said} of the answer's tests that fail with this code."""
        names = dict(self.names)
        for name in defined(strip_markers(self.worked[answer])):
            names.pop(name, None)
        said = {}
        signal.signal(signal.SIGALRM, too_long)
        signal.alarm(SECONDS)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                with contextlib.suppress(Exception):
                    exec(compile(code, answer, "exec"), names)
                for test in self.tests[answer]:
                    try:
                        exec(compile(self.cells[test], test, "exec"), names)
                    except (CheckFailed, NotWrittenYet) as error:
                        said[test] = str(error)
                    except Exception as error:
                        said[test] = f"{type(error).__name__}: {error}"
        finally:
            signal.alarm(0)
        return said


def too_long(*_):
    raise TimeoutError(f"longer than {SECONDS} seconds")


def defined(code: str) -> set[str]:
    """Names that the top level of `code` binds."""
    found = set()
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    return found


def complaints(lesson: str, only=()) -> list[str]:
    """One text for each answer of the lesson's banks that is not judged as it should be."""
    trial = Trial(lesson)
    mutants, odd_ones = load(lesson)
    found = []
    for item in mutants:
        if only and item.answer not in only:
            continue
        said = "\n".join(trial.messages(item.answer, item.code).values())
        if not said:
            found.append(f"{item.answer}, {item.name}: got full points")
        elif not re.search(item.message, said):
            found.append(f"{item.answer}, {item.name}: wanted /{item.message}/ in\n{said}")
    for item in odd_ones:
        if only and item.answer not in only:
            continue
        for test, said in trial.messages(item.answer, item.code).items():
            found.append(f"{item.answer}, {item.name} is right but fails {test}:\n{said}")
    return found


def main(arguments: list[str]) -> int:
    modules.prepare({"stand_ins": STAND_INS, "hidden": {}, "warm": []})  # as when grading
    names = [n for n in lesson_slugs() if not arguments or n.startswith(arguments[0])]
    failed = 0
    for lesson in names:
        found = complaints(lesson, arguments[1:])
        mutants, odd_ones = load(lesson)
        print("\n\n".join(found), end="\n\n" if found else "")
        print(f"{lesson}: {len(mutants)} wrong, {len(odd_ones)} odd, {len(found)} misjudged")
        failed += len(found)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
