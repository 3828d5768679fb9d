"""What all widgets of the course share: their files, their text, and their still twin."""

import base64
import io
import os
from pathlib import Path
from typing import ClassVar

import anywidget
import traitlets

FOLDER = Path(__file__).parent
STILL_VARIABLE = "SPECDEC_STILL"
IF_NOT_SHOWN = (
    "There is an interactive widget here. If you do not see it, run this cell: "
    "click on it and press Shift+Enter."
)


def front_end(name):
    """Return the JavaScript and the CSS of a widget, each after the part that all widgets share."""
    return tuple(
        "\n".join((FOLDER / f"{part}{suffix}").read_text("utf-8") for part in ("shared", name))
        for suffix in (".js", ".css")
    )


class CourseWidget(anywidget.AnyWidget):
    """A widget with a still twin, which is shown instead when SPECDEC_STILL=1 is set.

    `text` holds every string that the widget shows. To translate a widget, pass `text` with the
    entries to replace.
    """

    TEXT: ClassVar[dict] = {}
    text = traitlets.Dict().tag(sync=True)

    def __init__(self, text=None, **traits):
        unknown = set(text or {}) - set(self.TEXT)
        if unknown:
            raise ValueError(f"text has entries that this widget does not know: {sorted(unknown)}")
        super().__init__(text={**self.TEXT, **(text or {})}, **traits)

    def still_bundle(self):
        """Return (data, metadata) that stand for the widget where nothing can be clicked."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs):
        if os.environ.get(STILL_VARIABLE) == "1":
            return self.still_bundle()
        data, metadata = super()._repr_mimebundle_(**kwargs)
        return {**data, "text/plain": IF_NOT_SHOWN}, metadata


def picture_bundle(figure, alt):
    """Return a matplotlib Figure as (data, metadata) with a PNG and its alternative text."""
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=144)
    data = {"image/png": base64.b64encode(png.getvalue()).decode("ascii"), "text/plain": alt}
    return data, {"image/png": {"alt": alt}}
