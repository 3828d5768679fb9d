"""Importing this imports nbgrader without its server extensions: grading needs none of them.

They take most of nbgrader's time to start. It must come before anything else of nbgrader's.
"""

import importlib
import importlib.util
import sys
import types

_EXTENSIONS = ("_jupyter", "_load_jupyter")  # how the names begin that Jupyter's server asks for


class _Lean(types.ModuleType):
    """nbgrader's package with its submodules; the rest is imported when it is asked for."""

    def __getattr__(self, name):
        if name.startswith(_EXTENSIONS):
            self.__class__ = types.ModuleType
            self.__spec__.loader.exec_module(self)
            return getattr(self, name)
        if name == "__version__":
            return importlib.import_module("nbgrader._version").__version__
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def _import_nbgrader():
    spec = importlib.util.find_spec("nbgrader")
    if spec is not None:
        package = importlib.util.module_from_spec(spec)
        package.__class__ = _Lean
        sys.modules["nbgrader"] = package


if "nbgrader" not in sys.modules:
    _import_nbgrader()
