"""Run a learner's function on cases, and say in one short text how it went."""

import copy
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from specdec.values import MAX_TEXT, plain, same, show


class CheckFailed(AssertionError):
    """A check's verdict. Jupyter shows the text alone, without a traceback."""

    def _render_traceback_(self):
        return str(self).splitlines()


class NotWrittenYet(NotImplementedError):
    """The learner has not started: no mistake, only a place to go on."""

    def _render_traceback_(self):
        return str(self).splitlines()


@dataclass(frozen=True)
class Case:
    """One call and what it should give.

    args   the arguments
    want   the value to return, or an exception class to raise
    why    for an exception: the reason, as the end of a sentence "since …"
    """

    args: Sequence[Any]
    want: Any
    why: str = ""

    @property
    def wants_error(self) -> bool:
        return isinstance(self.want, type) and issubclass(self.want, BaseException)


@dataclass(frozen=True)
class Mistake:
    """A known wrong way, told apart by what it does on the cases.

    cause   the sentence for the learner
    does    a function with the same arguments that makes this mistake; it may raise
    """

    cause: str
    does: Callable


@dataclass
class Outcome:
    """What one call did: `value` or `error`, and which argument it changed, if any."""

    value: Any = None
    error: BaseException | None = None
    changed: str = ""
    args: list = field(default_factory=list)


def call_text(name: str, args) -> str:
    return f"{name}({', '.join(show(a) for a in args)})"


def call(function, args) -> Outcome:
    """Call with copies of the arguments; note the error, or a changed list.

    NotImplementedError becomes NotWrittenYet: the stub raises it.
    """
    given = [copy.deepcopy(a) if isinstance(a, list | np.ndarray) else a for a in args]
    outcome = Outcome(args=list(args))
    try:
        outcome.value = function(*given)
    except NotImplementedError as error:
        raise NotWrittenYet(not_written(str(error))) from None
    except Exception as error:
        outcome.error = error
    for before, after in zip(args, given, strict=True):
        if isinstance(before, list | np.ndarray) and not same(after, before):
            outcome.changed = f"{show(before)} became {show(after)}"
    return outcome


def not_written(text: str) -> str:
    """Say what to do about a stub's error."""
    return (
        f"✎ {text or 'Not written yet'}. Write it in the answer cell, without the line that raises "
        "NotImplementedError, then run both cells."
    )


def is_right(outcome: Outcome, case: Case) -> bool:
    if outcome.changed:
        return False
    if case.wants_error:
        return isinstance(outcome.error, case.want)
    return outcome.error is None and same(outcome.value, case.want)


def run_cases(
    name: str,
    function: Callable,
    cases: Sequence[Case],
    mistakes: Sequence[Mistake] = (),
    success: str = "",
    first: Callable[[], str] | None = None,
    part: str = "",
) -> None:
    """Run all cases; print a line when all are right, raise CheckFailed otherwise.

    part   what of the function is checked, for the line of success
    first  called when a case fails: returns "" or a sentence such as "Write f first: …", for a
           function that builds on an earlier one
    """
    outcomes = [call(function, case.args) for case in cases]
    wrong = [
        (case, outcome)
        for case, outcome in zip(cases, outcomes, strict=True)
        if not is_right(outcome, case)
    ]
    if not wrong:
        print(
            f"✓ {name}{part and f', {part}'}: {count(len(cases), 'case')} right. {success}".rstrip()
        )
        return
    lines = describe(name, *wrong[0])
    lines.append(f"Right so far: {len(cases) - len(wrong)} of {count(len(cases), 'case')}.")
    cause = (first() if first else "") or diagnose(cases, outcomes, mistakes)
    if cause:
        lines.append(cause)
    raise CheckFailed("\n".join(lines))


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def calls_by_name(function, name: str) -> bool:
    """Say whether a function's code uses a name; True when its code can't be seen."""
    code = getattr(function, "__code__", None)
    return code is None or name in code.co_names


def blame_helper(function, helper, name: str, cases, text: str) -> str:
    """Return `text` when `function` builds on the learner's helper and that one is wrong."""
    if helper is None or not calls_by_name(function, name):
        return ""
    try:
        broken = any(not is_right(call(helper, c.args), c) for c in cases)
    except NotWrittenYet:
        broken = True
    return text if broken else ""


def describe(name: str, case: Case, outcome: Outcome) -> list[str]:
    """Say what was called, what came back and what was wanted. Facts only."""
    lines = [f"✗ {call_text(name, case.args)}"]
    if outcome.error is not None:
        lines.append(f"  raised    {error_text(outcome.error)}")
    elif isinstance(outcome.value, types.GeneratorType):
        lines.append("  returned  a generator; put list(…) around it")
    else:
        lines.append(f"  returned  {returned(outcome.value, case.want)}")
    if case.wants_error:
        lines.append(f"  wanted    {case.want.__name__}, since {case.why}")
    else:
        lines.append(f"  wanted    {show(case.want)}")
    if outcome.changed:
        lines.append(f"  changed its input: {outcome.changed}. Work on a copy: list(…).")
    return lines


def returned(value, want) -> str:
    """Return a wrong value as text, with a word on what kind of thing it should be."""
    text, value, want = show(value), plain(value), plain(want)
    if value is None:
        return f"{text}  (a `return` is missing, or never reached)"
    if isinstance(value, BaseException) or (
        isinstance(value, type) and issubclass(value, BaseException)
    ):
        return f"{text}  (write `raise`, not `return`, for an error)"
    if isinstance(want, int | float) and isinstance(value, list):
        return f"{text}  (a number is wanted, not a list)"
    if isinstance(want, list) and not isinstance(value, list):
        return f"{text}  (a list is wanted)"
    return text


def error_text(error: BaseException) -> str:
    """Return an error's name and message on one line."""
    return f"{type(error).__name__}: {error}"[:MAX_TEXT].strip(" :")


def diagnose(cases, outcomes, mistakes) -> str:
    """Name the one known mistake that does the same on every case, right ones included.

    Cases that want an error are left out: whether it is raised says nothing about the rest.
    """
    if any(outcome.changed for outcome in outcomes):
        return ""  # the changed input is the mistake, and it is named already
    legal = [(c, o) for c, o in zip(cases, outcomes, strict=True) if not c.wants_error]
    if all(is_right(outcome, case) for case, outcome in legal):
        return ""
    fitting = [m for m in mistakes if all(acts_alike(m, c, o) for c, o in legal)]
    if len(fitting) != 1:
        return ""
    return f"Likely cause: {fitting[0].cause}"


def acts_alike(mistake: Mistake, case: Case, outcome: Outcome) -> bool:
    try:
        value = mistake.does(*copy.deepcopy(list(case.args)))
    except Exception as error:
        return type(outcome.error) is type(error)
    return outcome.error is None and same(outcome.value, value)
