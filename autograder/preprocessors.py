"""Parts that nbgrader loads by name, see nbgrader_config.py."""

from nbgrader.preprocessors import NbGraderPreprocessor

WRAP = "div.output_area pre { white-space: pre-wrap; overflow-wrap: anywhere; }"


class WrapLines(NbGraderPreprocessor):
    """Break long lines of feedback, such as a check's message, instead of cutting them off.

    Stands behind CSSHTMLHeaderPreprocessor, which starts the list of styles.
    """

    def preprocess(self, nb, resources):
        """Add a rule to the style of the page."""
        resources.setdefault("inlining", {}).setdefault("css", []).append(WRAP)
        return nb, resources
