"""What a released notebook shows in place of a solution: a stub that says what to do."""

import re
from textwrap import indent

from nbgrader.preprocessors import ClearSolutions

CLASS = re.compile(r"^class\s+(\w+)", re.M)
FUNCTION = re.compile(r"^\s*def\s+(\w+)", re.M)
PLACE = "# a stub belongs here"
LINE = re.compile(f"^( *){PLACE}$", re.M)
ASSIGNMENT = re.compile(r"^(\w+)\s*=", re.M)


def stub_for(source: str, begin: str = "### BEGIN SOLUTION") -> str:
    """Return the stub for the first region of source, or for source as a whole.

    A region inside a function becomes a raise that names the function, or its class, and the line
    to delete; a region that assigns one name becomes `name = None` with a comment.
    """
    before, _, region = source.partition(begin)
    names = CLASS.findall(before) or FUNCTION.findall(before)
    if names:
        name = names[-1]
        return (
            "# your code here\n"
            f'raise NotImplementedError("{name} is not written yet")  # delete this line'
        )
    assigned = ASSIGNMENT.findall(region or source)
    if assigned:
        return f"{assigned[-1]} = None  # put your answer in place of None"
    return "# your code here"


class FriendlyStubs(ClearSolutions):
    """nbgrader's ClearSolutions with a stub made for each region."""

    def preprocess_cell(self, cell, resources, cell_index):
        stubs = self.stubs(cell.source)
        self.code_stub = {**self.code_stub, resources["language"]: PLACE}
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        places = iter(stubs)
        cell.source = LINE.sub(lambda found: indent(next(places), found[1]), cell.source)
        return cell, resources

    def stubs(self, source: str) -> list[str]:
        """Return one stub for each region; for a cell without regions one for the whole."""
        begin = self.begin_solution_delimeter
        parts = source.split(begin)
        if len(parts) == 1:
            return [stub_for(source)]
        return [
            stub_for("".join(parts[:i]) + begin + parts[i], begin) for i in range(1, len(parts))
        ]
