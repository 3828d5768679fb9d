"""Reading Python cells without running them."""

import ast
import functools
import re

_MAGIC = re.compile(r"^[ \t]*[%!].*$|^.*\?[ \t]*$", re.MULTILINE)


def without_magics(source):
    """Return the cell with `pass` in the place of magics, where it is not Python as it is."""
    if _tree(source) is None and any(mark in source for mark in "%!?"):
        return _MAGIC.sub("pass", source)
    return source


def parse(source):
    """Return the syntax tree of a cell, magics left out; None when it is not Python."""
    return _tree(source) or _tree(without_magics(source))


def _tree(source):
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@functools.lru_cache(maxsize=4096)
def bound_names(source):
    """Return the names that a cell binds at its top level."""
    tree = parse(source)
    if tree is None:
        return frozenset()
    return frozenset(name for statement in tree.body for name in bound_by(statement))


def bound_by(statement):
    """Return the names that one statement binds."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name.split(".")[0] for alias in statement.names]
    names = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
    return names


@functools.lru_cache(maxsize=4096)
def imported_modules(source):
    """Return the dotted names that a cell imports, members of modules among them."""
    tree = parse(source)
    found = []
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(found)
