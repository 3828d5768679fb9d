"""The first cell of a lesson: say that all is ready, or what to do."""

import os
import platform
import sys
from importlib.metadata import version
from importlib.util import find_spec

from IPython import get_ipython

from specdec import __version__
from specdec.checks.core import not_written

# What the lessons import beside the course itself.
LIBRARIES = ("anywidget", "ipywidgets", "matplotlib", "numpy", "safetensors")
ON_BINDER = (
    "You are on Binder: this place vanishes when you are idle for some minutes. To take your work "
    "away: File > Download. To go on later: drag that file into the list on the left."
)


def start(lesson: str) -> None:
    """Print one line with the lesson and the versions that matter, or what this kernel lacks."""
    shell = get_ipython()
    if shell is not None:
        shorten_stub_errors(shell)
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        print(
            f"Not ready: this kernel lacks {' and '.join(missing)}. Run "
            f"%pip install {' '.join(missing)} in a cell, then restart the kernel."
        )
        return
    print(
        f"Ready. Lesson {int(lesson[:2])} of 6 · course {__version__} · "
        f"Python {platform.python_version()} · numpy {version('numpy')}"
    )
    if "BINDER_SERVICE_HOST" in os.environ:
        print(ON_BINDER)


def shorten_stub_errors(shell) -> None:
    """Show an unwritten function's error as one line. It stays an error: the cell has failed."""
    show_any = type(shell).showtraceback.__get__(shell)

    def showtraceback(*args, **kwargs):
        kind, error, _ = sys.exc_info()
        if not isinstance(error, NotImplementedError):
            return show_any(*args, **kwargs)
        text = str(error)
        shell._showtraceback(kind, error, [text if text.startswith("✎") else not_written(text)])

    shell.showtraceback = showtraceback
