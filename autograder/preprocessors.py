"""Parts that nbgrader loads by name, see nbgrader_config.py."""

import builtins
import copy
from pathlib import Path

from nbgrader import utils
from nbgrader.preprocessors import ClearHiddenTests, NbGraderPreprocessor
from traitlets import List

from autograder.submissions import grade_id, is_test, read_source

ENDLESS = "It was stopped because it took too long. Is there a loop that never ends?"


class MendCells(NbGraderPreprocessor):
    """Make the cells of a submission match the source notebook's.

    Of a copied cell the last keeps its role. Test cells get their own metadata back, and a
    deleted one returns after the cell that precedes it in the source. Takes the place of
    nbgrader's DeduplicateIds, whose leftovers nbgrader's own later check rejects.
    """

    def preprocess(self, nb, resources):
        names = resources["nbgrader"]
        courses = self.parent.parent.coursedir  # exporter, then converter
        folder = courses.format_path(courses.source_directory, ".", names["assignment"])
        source = read_source(Path(folder) / f"{names['notebook']}.ipynb")
        order = [name for cell in source.cells if (name := grade_id(cell))]
        _drop_copies(nb, set(order))
        for cell in source.cells:
            if is_test(cell):
                _restore(nb, copy.deepcopy(cell), order)
        return nb, resources


def _drop_copies(nb, known):
    seen = set()
    for cell in reversed(nb.cells):
        name = grade_id(cell)
        if name not in known or name in seen:
            cell.metadata.pop("nbgrader", None)
        seen.add(name)


def _restore(nb, test, order):
    name = grade_id(test)
    places = {grade_id(cell): index for index, cell in enumerate(nb.cells)}
    if name in places:
        nb.cells[places[name]].metadata = test.metadata
    else:
        before = [places[other] for other in order[: order.index(name)] if other in places]
        nb.cells.insert(max(before, default=-1) + 1, test)


class HideTests(ClearHiddenTests):
    """Leave hidden tests out of feedback, and of a failed test show the message alone."""

    display_data_priority = List(config=True)  # nbconvert sets it for all parts of an HTML export

    def preprocess_cell(self, cell, resources, cell_index):
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        if utils.is_grade(cell) and cell.cell_type == "code":
            for output in cell.outputs:
                if output.output_type == "error":
                    output.traceback = [failure_text(output)]
        return cell, resources


def failure_text(output):
    """Return what an error output of a test cell says, without the traceback."""
    name, text = output.get("ename", ""), output.get("evalue", "").strip()
    if name in ("CellTimeoutError", "KeyboardInterrupt"):
        return ENDLESS
    if not text:
        return f"{name}, without a message"
    a_check = name in ("AssertionError", "NotImplementedError") or not hasattr(builtins, name)
    return text if a_check else f"{name}: {text}"
