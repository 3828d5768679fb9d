"""Parts that nbgrader loads by name, see nbgrader_config.py."""

from nbgrader import utils
from nbgrader.preprocessors import ClearHiddenTests, NbGraderPreprocessor

WRAP = "div.output_area pre { white-space: pre-wrap; overflow-wrap: anywhere; }"


class WrapLines(NbGraderPreprocessor):
    """Break long lines of feedback, such as a check's message, instead of cutting them off.

    Stands behind CSSHTMLHeaderPreprocessor, which starts the list of styles.
    """

    def preprocess(self, nb, resources):
        """Add a rule to the style of the page."""
        resources.setdefault("inlining", {}).setdefault("css", []).append(WRAP)
        return nb, resources


class HideTests(ClearHiddenTests):
    """Leaves hidden tests out of feedback.

    Only cells with points hold any: the marks in a student's own cell mean nothing.
    """

    def preprocess_cell(self, cell, resources, cell_index):
        """Cut the hidden part out of a test cell."""
        if not utils.is_grade(cell):
            return cell, resources
        return super().preprocess_cell(cell, resources, cell_index)
