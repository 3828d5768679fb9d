"""What a released notebook shows in place of a solution: a stub that says what to do."""

import re

from nbgrader.preprocessors import ClearSolutions

CLASS = re.compile(r"^class\s+(\w+)", re.M)
FUNCTION = re.compile(r"^\s*def\s+(\w+)", re.M)
ASSIGNMENT = re.compile(r"^(\w+)\s*=", re.M)


def stub_for(source: str, begin: str = "### BEGIN SOLUTION") -> str:
    """Return the stub for one solution cell.

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
    """nbgrader's ClearSolutions with a stub made for each cell."""

    def preprocess_cell(self, cell, resources, cell_index):
        language = resources["language"]
        self.code_stub = {**self.code_stub, language: stub_for(cell.source)}
        return super().preprocess_cell(cell, resources, cell_index)
