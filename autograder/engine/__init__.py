"""The grading engine: student code in a sandbox, the instructor's tests in a trusted process.

It knows nothing of any course; what is particular to one comes in as a Policy.
"""

import importlib

_HOMES = {
    "CellResult": "model",
    "EngineError": "processes",
    "Limits": "model",
    "Policy": "model",
    "Problem": "model",
    "Result": "model",
    "SandboxUnavailable": "sandbox",
    "close_all": "grader",
    "grade": "grader",
    "grade_task": "grader",
    "warm_up": "grader",
}
__all__ = list(_HOMES)


def __getattr__(name):
    """Import on first use: the trusted process starts often and needs little of this package."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
