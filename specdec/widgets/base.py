"""What all widgets of the course share: their files, their text, and their still twin."""

import base64
import io
import os
from pathlib import Path
from typing import ClassVar

import anywidget
import traitlets

from specdec.widgets.question import as_json, as_question

FOLDER = Path(__file__).parent
SUFFIXES = (".js", ".css")
STILL_VARIABLE = "SPECDEC_STILL"
IF_NOT_SHOWN = (
    "There is an interactive widget here. If you do not see it, run this cell: "
    "click on it and press Shift+Enter."
)


def front_end(*names):
    """Return the JavaScript and the CSS of a widget, each after the part that all widgets share.

    names  the widget's own files, without their suffix, in order; a file may be missing
    """
    paths = [[FOLDER / f"{part}{suffix}" for part in ("shared", *names)] for suffix in SUFFIXES]
    return tuple(
        "\n".join(path.read_text("utf-8") for path in parts if path.is_file()) for parts in paths
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


class Lane(CourseWidget):
    """A widget that may ask for a prediction, and shows no result until one is made.

    question  a text with choices, or None; choices is a list of Choice or (text, reason, right)

    A lane has `prediction`, the choice that the learner committed to, and `TEXT["status_locked"]`.
    It defines `sentence()`, which says what the state shown gives and why, and `still()`, which
    returns (matplotlib Figure, alternative text) of that state with its result.
    """

    question = traitlets.Dict().tag(sync=True)
    prediction = traitlets.Unicode("").tag(sync=True)

    def __init__(self, question=None, choices=None, **traits):
        if (question is None) != (choices is None):
            raise ValueError("question and choices belong together: give both or neither")
        asked = {} if question is None else as_json(as_question(question, choices))
        super().__init__(question=asked, **traits)

    @property
    def locked(self):
        """True until the learner has committed to a choice; False without a question."""
        return bool(self.question) and not self.prediction

    def describe(self, reveal=False):
        """Return the sentence that the lane shows: what comes out and why.

        A locked lane tells only that it is locked, unless reveal is True.
        """
        return self.text["status_locked"] if self.locked and not reveal else self.sentence()

    def sentence(self):
        """Return what the state shown gives and why."""
        raise NotImplementedError

    def still(self):
        """Return (matplotlib Figure, alternative text) of the state shown, with its result."""
        raise NotImplementedError

    def still_bundle(self):
        """Return the still twin as a PNG with its alternative text."""
        return picture_bundle(*self.still())


def picture_bundle(figure, alt):
    """Return a matplotlib Figure as (data, metadata) with a PNG and its alternative text."""
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=144)
    data = {"image/png": base64.b64encode(png.getvalue()).decode("ascii"), "text/plain": alt}
    return data, {"image/png": {"alt": alt}}
