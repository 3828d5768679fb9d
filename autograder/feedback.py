"""Makes a student's feedback page from plain data; needs no gradebook."""

import functools
import json

import nbformat
from nbconvert.exporters import HTMLExporter
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
    page, _ = _exporter(task["settings"]).from_notebook_node(node, resources)
    return {"page": page}


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
    return exporter
