"""Tables of wrong turns for the worked solutions, made by running the known wrong answers."""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
from collections.abc import Callable

from autograder.mutants import load
from specdec.toys import CAT_PROMPT, look_back_target, one_word_draft
from specdec.trace import OutOfBudget, Trace
from specdec.values import show


def wrong_turns(lesson: str, answer: str, shown: str, given: str = "") -> str:
    """Return a Markdown table: each known wrong answer, and what it gives.

    given  source of the functions that the lesson gives its learners
    shown  what to show of it: "cat" for a generator on the cat pair, or a Python list of calls,
           each a tuple of arguments
    Wrong answers that give the right results on these calls are left out.
    """
    look = on_the_cat if shown == "cat" else on_calls(ast.literal_eval(shown))
    reference = importlib.import_module(f"specdec.reference.lesson_{lesson[:2]}")
    right = look(getattr(reference, answer))
    rows = ["| wrong turn | gives |", "|---|---|"]
    for mutant in load(lesson)[0]:
        if mutant.answer != answer:
            continue
        names = {k: v for k, v in vars(reference).items() if not k.startswith("_")}
        exec(given, names)
        exec(mutant.code, names)
        with contextlib.redirect_stdout(io.StringIO()):
            results = look(names[answer])
        if results != right:
            rows.append(f"| {mutant.name} | {', '.join(results)} |")
    return "\n".join(rows)


def on_calls(calls: list[tuple]) -> Callable:
    return lambda function: [result_of(function, args) for args in calls]


def result_of(function: Callable, args: tuple) -> str:
    try:
        value = function(*args)
    except Exception as error:
        return type(error).__name__
    if isinstance(value, float):
        value = float(f"{value:.4g}")
    return f"`{show(value)}`"


def on_the_cat(generate: Callable) -> list[str]:
    """Describe twelve words of the cat pair with k = 3: the text, and the passes it took."""
    trace = Trace(one_word_draft, look_back_target, budget=200)
    try:
        text = generate(trace.draft, trace.target, list(CAT_PROMPT), 12, 3)
    except OutOfBudget:
        return ["it never ends"]
    except Exception as error:
        return [type(error).__name__]
    passes = f"{trace.passes} {'pass' if trace.passes == 1 else 'passes'}"
    return [f"*{' '.join(map(str, text))}*", passes]
