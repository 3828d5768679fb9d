"""Free tries: what is wanted beside what the learner's function gives, written or not."""

from collections.abc import Callable, Sequence

from specdec.checks.core import NotWrittenYet, call
from specdec.values import same, show


def side_by_side(function: Callable, calls: Sequence[tuple]) -> None:
    """Print a table: each call's arguments, the wanted value, the learner's, and a mark.

    calls  pairs (arguments, wanted); `wanted` may be an exception class
    """
    rows = [("call", "wanted", "yours", "")]
    for args, wanted in calls:
        rows.append((show_args(args), show(wanted), *tried(function, args, wanted)))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    for row in rows:
        print(
            "   ".join(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[3]
        )


def show_args(args) -> str:
    return ", ".join(show(arg) for arg in args)


def tried(function: Callable, args, wanted) -> tuple[str, str]:
    try:
        outcome = call(function, args)
    except NotWrittenYet:
        return "not written yet", "✎"
    if outcome.error is not None:
        raised = type(outcome.error)
        right = isinstance(wanted, type) and issubclass(raised, wanted)
        return raised.__name__, "✓" if right else "✗"
    return show(outcome.value), "✓" if same(outcome.value, wanted) else "✗"
