"""Makes a student's feedback page from plain data; needs no gradebook."""

import functools
import json
import types
from unittest import mock

import nbformat
from nbconvert.exporters import HTMLExporter, html
from nbconvert.filters import Highlight2HTML
from nbgrader.converters import GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import GetGrades
from traitlets.config import Config
from traitlets.utils.importstring import import_item

SECTIONS = ("GenerateFeedback", "HTMLExporter", "CSSHTMLHeaderPreprocessor", "ClearHiddenTests")


def settings_of(config):
    """Return the part of a course's configuration that pages depend on, as JSON."""
    return json.dumps({name: config[name] for name in SECTIONS if name in config}, default=str)


def render(task):
    """Return {"page": HTML} of a graded notebook.

    task  {"notebook": JSON, "names": {"notebook", "assignment", "student"}, "settings": from
          settings_of, and GradeWriter.feedback_data's "total", "grades" and "comments"}
    """
    node = nbformat.reads(task["notebook"], as_version=4)
    for cell in node.cells:
        info = cell.metadata.get("nbgrader", {})
        name = info.get("grade_id")
        if name in task["comments"]:
            info["comment"] = task["comments"][name]
        if name in task["grades"]:
            info["score"], info["points"] = task["grades"][name]
    names = task["names"]
    resources = {
        "nbgrader": {**names, **task["total"]},
        "unique_key": names["notebook"],
        "output_files_dir": f"{names['notebook']}_files",
        "metadata": {"name": names["notebook"]},
    }
    with mock.patch.object(html, "BeautifulSoup", _Page):
        page, _ = _exporter(task["settings"]).from_notebook_node(node, resources)
    return {"page": page}


class _Page:
    """Stands for a page that nbconvert wants parsed; it is, where there is something to look for.

    nbconvert adds attributes to images and to cells of JupyterLab's template. Parsing takes four
    fifths of a page's time, and most pages of nbgrader's template have neither.
    """

    MARKS = types.MappingProxyType(
        {
            "img:not([alt])": "<img",
            ".jp-Notebook div.jp-Cell-inputWrapper": "jp-Notebook",
            ".jp-Notebook div.jp-OutputArea-output": "jp-Notebook",
        }
    )

    parse = staticmethod(html.BeautifulSoup)

    def __init__(self, text, features):
        self.text, self.features, self.parsed = text, features, None

    def select(self, selector):
        """Return the elements of a selector; without parsing where there are none."""
        if self.MARKS.get(selector, "") not in self.text:
            return []
        if self.parsed is None:
            self.parsed = self.parse(self.text, features=self.features)
        return self.parsed.select(selector)

    def __str__(self):
        return self.text if self.parsed is None else str(self.parsed)


@functools.lru_cache(maxsize=2)
def _exporter(settings):
    """Return the exporter that nbgrader's generate_feedback uses, without access to grades."""
    config = Config(json.loads(settings))
    converter = GenerateFeedback(coursedir=CourseDirectory(config=config), config=config)
    exporter = HTMLExporter(config=converter.config)
    for part in converter.preprocessors:
        kind = import_item(part) if isinstance(part, str) else part
        if kind is not GetGrades:
            exporter.register_preprocessor(kind)
    if "highlight_code" not in exporter.filters:
        exporter.filters = exporter.filters | {"highlight_code": _highlighter(exporter)}
    return exporter


def _highlighter(exporter):
    """Return nbconvert's own filter for code, which keeps what came out: classes repeat cells."""
    highlight = functools.lru_cache(maxsize=1000)(Highlight2HTML(parent=exporter))
    return lambda source, language=None, metadata=None: highlight(
        source, language or (metadata or {}).get("magics_language")
    )
