"""The first cell of a lesson: say that all is ready, or what to do."""

import platform
from importlib.metadata import version

from specdec import __version__


def start(lesson: str) -> None:
    """Print one line with the lesson and the versions that matter."""
    print(
        f"Ready. Lesson {int(lesson[:2])} of 6 · course {__version__} · "
        f"Python {platform.python_version()} · numpy {version('numpy')}"
    )
