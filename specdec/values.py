"""Values as learners return them: made plain, compared, and written as text."""

import math

import numpy as np

MAX_TEXT = 120


def plain(value):
    """Turn arrays, tuples and NumPy numbers into lists and plain numbers; leave the rest."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def same(got, want) -> bool:
    """Compare after `plain`; floats to 1e-9, far below any mistake's effect."""
    got, want = plain(got), plain(want)
    if isinstance(want, list):
        return (
            isinstance(got, list)
            and len(got) == len(want)
            and all(same(g, w) for g, w in zip(got, want, strict=True))
        )
    if isinstance(want, float) or isinstance(got, float):
        numbers = (int, float)
        return (
            isinstance(got, numbers)
            and isinstance(want, numbers)
            and math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-12)
        )
    return type(got) is type(want) and got == want


def show(value) -> str:
    """Write a value as a learner would type it, cut when long."""
    value = plain(value)
    text = getattr(value, "__name__", None) or repr(value)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
