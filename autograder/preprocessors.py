"""Parts that nbgrader loads, see nbgrader_config.py and grading.py."""

from nbconvert.preprocessors import Preprocessor
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.engine.plugin import notes_cell

WRAP = "div.output_area pre { white-space: pre-wrap; overflow-wrap: anywhere; }"


class FinishedOutputs(NbGraderPreprocessor):
    """Takes the engine's place where a notebook has been graded already: puts its outputs in."""

    def __init__(self, graded, notes, **kwargs):
        super().__init__(**kwargs)
        self.graded, self.notes = graded, notes

    def preprocess(self, nb, resources):
        """Return nb, which has the graded notebook's cells, with its outputs and notes."""
        for cell, done in zip(nb.cells, self.graded.cells, strict=True):
            if cell.cell_type == "code":
                cell.outputs = done.outputs
        if self.notes:
            nb.cells.insert(0, notes_cell(self.notes))
        return nb, resources


class WrapLines(Preprocessor):
    """Break long lines of feedback, such as a check's message, instead of cutting them off."""

    def preprocess(self, nb, resources):
        """Add a rule to the style of the page."""
        resources.setdefault("inlining", {}).setdefault("css", []).append(WRAP)
        return nb, resources
