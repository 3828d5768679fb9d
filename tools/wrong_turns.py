"""Tables of wrong turns for the worked solutions, made by running the known wrong answers."""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import warnings
from collections.abc import Callable

import numpy as np

from autograder.mutants import load
from specdec.checks import lesson_02, lesson_03, lesson_04, lesson_06
from specdec.checks.laws import exact_law
from specdec.sampling import CountedPair
from specdec.toys import CAT_PROMPT, look_back_target, one_word_draft
from specdec.trace import OutOfBudget, Trace
from specdec.values import plain, show


def wrong_turns(lesson: str, answer: str, shown: str, given: str = "") -> str:
    """Return a Markdown table: each known wrong answer, and what it gives.

    given  source of the functions that the lesson gives its learners
    shown  what to show of it: "cat" for a generator on the cat pair, "step" and "sample" for the
           chances that a verification or a sampler gives to its first token, "greedy", "cat_step"
           and "cat_decode" for lesson 2's decoders, "cache", "catch_up" and "cached" for those of
           lesson 4, "fidelity", "ngram", "distillation", "heads" and "tree" for those of lesson 6,
           or a Python list of calls, each a tuple of arguments
    Wrong answers that give the right results on these calls are left out.
    """
    look = LOOKS.get(shown) or on_calls(ast.literal_eval(shown))
    reference = importlib.import_module(f"specdec.reference.lesson_{lesson[:2]}")
    right = look(getattr(reference, answer))
    rows = ["| wrong turn | gives |", "|---|---|"]
    for mutant in load(lesson)[0]:
        if mutant.answer != answer:
            continue
        names = {k: v for k, v in vars(reference).items() if not k.startswith("_")}
        exec(given, names)
        exec(mutant.code, names)
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
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
    return f"`{show(shortened(plain(value)))}`"


def shortened(value):
    """Return a number, or a list of them, with four digits."""
    if isinstance(value, list):
        return [shortened(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


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


def on_first_tokens(step: Callable) -> list[str]:
    """Describe one verification with k = 1: the chances of its first token, its mean length."""
    p, q = lesson_03.P_A, lesson_03.Q_A
    chances, length = np.zeros(len(p)), 0.0
    try:
        for token, drafted in enumerate(q):
            law = exact_law(
                lambda rng, t=token: tuple(plain(step([t], [q], [p, p], rng))), lesson_03.GRID
            )
            for tokens, chance in law.items():
                length += drafted * chance * len(tokens)
                if tokens:
                    chances[tokens[0]] += drafted * chance
    except Exception as error:
        return [type(error).__name__]
    return [f"`{rounded(chances)}`", f"mean {length:.3g}"]


def on_a_sampler(generate: Callable) -> list[str]:
    """Describe a sampler: one token's chances with top-p, its passes with a perfect draft."""
    case = lesson_03.Sample(*lesson_03.TAIL_PAIR, [2], 1, 1, top_p=0.5)
    chances = np.zeros(4)
    model = lesson_03.table_model("target", lesson_03.QUARTERS_P)
    pair = CountedPair(model, model, budget=400)
    try:
        law = exact_law(
            lambda rng: tuple(plain(generate(*case.args[:2], [2], *case.args[3:], rng))),
            case.grid,
        )
        for tokens, chance in law.items():
            chances[tokens[0]] += chance
            generate(pair.draft, pair.target, [0], 6, 2, 1, 1, np.random.default_rng(1))
    except Exception as error:
        return [type(error).__name__]
    return [
        f"`{rounded(chances)}`",
        f"{pair.passes} {'pass' if pair.passes == 1 else 'passes'}",
    ]


def on_greedy(decode: Callable) -> list[str]:
    """Describe plain decoding of twelve tokens with the cat's target: the text, and the passes."""
    run = lesson_02.Run("", decode, lesson_02.CAT, [0], (12,), both=False)
    return [ids_as_words(run), passes_of(run)]


def on_cat_steps(step: Callable) -> list[str]:
    """Describe rounds 1, 2 and 3 of the cat: what comes after the text, accepted, passes."""
    results, passes = [], []
    for text in ([0], [0, 1, 2, 3, 0], [0, 1, 2, 3, 0, 4]):
        run = lesson_02.Run("", step, lesson_02.CAT, text, (3,))
        passes.append(passes_of(run))
        results.append(ids_as_words(run, skip=len(text)))
    return [*results, f"{'/'.join(p.split()[0] for p in passes)} passes"]


def on_cat_decode(decode: Callable) -> list[str]:
    """Describe ten tokens of the cat pair with k = 3: the text, accepted, and the passes."""
    run = lesson_02.Run("", decode, lesson_02.CAT, [0], (10, 3))
    return [ids_as_words(run), passes_of(run)]


def passes_of(run: lesson_02.Run) -> str:
    count = len(run.target.passes)
    return f"{count} {'pass' if count == 1 else 'passes'}"


def ids_as_words(run: lesson_02.Run, skip: int = 0) -> str:
    """Write what a decoder of lesson 2 returned: its text without `skip` words, and the rest."""
    if run.outcome.error is not None:
        endless = isinstance(run.outcome.error, OutOfBudget)
        return "it never ends" if endless else type(run.outcome.error).__name__
    value = plain(run.outcome.value)
    ids, rest = value if isinstance(value, list) and len(value) == 2 else (value, None)
    try:
        words = " ".join(lesson_02.CAT_WORDS[token] for token in ids[0][skip:])
    except (TypeError, IndexError):
        return f"`{show(value)}`"
    return f"*{words or '(nothing)'}*" + ("" if rest is None else f" ({show(rest)})")


def on_a_cache(cache_class: Callable) -> list[str]:
    """Describe a cache of two layers: three positions, crop(2), one more, and crop(4)."""
    steps = [
        *lesson_04.filled(1, 1, 2, 3),
        lesson_04.Crop(2),
        *lesson_04.filled(1, 9),
        lesson_04.Length(),
        lesson_04.Crop(4),
    ]
    results = lesson_04.drive(cache_class, 2, steps)
    if len(results) < len(steps):
        return results
    held = [in_short(result) for result in results[3:5]]
    refused = "no error" if results[6] == "done" else in_short(results[6])
    return [*held, f"length {results[5]}", refused]


def in_short(result) -> str:
    """Write what an append returned: ids, or the name of an error, or what is wrong."""
    if isinstance(result, list):
        return f"`{' '.join(map(str, result))}`"
    return result.partition(":")[0]


def on_catching_up(catch_up: Callable) -> list[str]:
    """Describe what is fed when 3 of 5 tokens are cached, and what comes back."""
    did = lesson_04._caught_up(catch_up, lesson_04.CATCH_UP_CASES[0])
    if did["error"] is not None:
        return [type(did["error"]).__name__]
    fed = ", then ".join(f"`{tokens}`" for tokens in did["fed"]) or "nothing"
    return [f"fed {fed}", f"shape {did['shape']}" if did["shape"] else "nothing returned"]


def with_caches(generate: Callable) -> list[str]:
    """Describe twelve numbers with k = 3: the text, accepted counts, passes and rows, caches."""
    run = lesson_04.run_generation(generate, lesson_04.Generation("number", [4, 9], 12, 3))
    if run.outcome.error is not None:
        return [type(run.outcome.error).__name__]
    passes = f"{len(run.target.passes)} passes, {rows_of(run.target)} and {rows_of(run.draft)} rows"
    held = f"{len(run.target.cache)} and {len(run.draft.cache)} in the caches"
    if run.pair is None:
        return ["no pair", passes, held]
    tokens, accepted = run.pair
    text = "the right text" if tokens == run.want.tokens else f"`{tokens}`"
    return [text, f"`{accepted}`", passes, held]


def rows_of(model) -> int:
    return sum(len(this.fed) for this in model.passes)


def on_ngram_table(draft_class: Callable) -> list[str]:
    """Describe the guesses after the contexts of lesson 6's card."""
    found = []
    for context in ([1, 1], [9, 1, 1], [4, 2], [9, 9], []):
        try:
            found.append(f"`{plain(draft_class(lesson_06.COUNTED, 3).next_token(context))}`")
        except Exception as error:
            found.append(type(error).__name__)
    return found


def on_rows(function: Callable) -> list[str]:
    """Describe the fidelity of the card's four rows, and of two that differ."""
    return on_calls([lesson_06.FIDELITY_CASES[i].args for i in (0, 4)])(function)


def on_a_loss(function: Callable) -> list[str]:
    """Describe loss and gradient of the first two rows of the card."""
    calls = [(np.log([[3.0, 1.0]]), np.array([[0.5, 0.5]])), (np.zeros((1, 2)), np.eye(2)[:1])]
    return on_calls(calls)(function)


def on_heads(propose: Callable) -> list[str]:
    """Describe the guesses of two heads, for 1, 2 and 3 accepted."""
    hidden = np.array([[1.0, 0], [0, 1], [1, 1]])
    heads = [np.array([[5.0, 0, 1], [0, 2, 1]]), np.array([[0.0, 3, 0], [1, 0, 3.5]])]
    return on_calls([(hidden, accepted, heads) for accepted in (1, 2, 3)])(propose)


def on_a_tree(verify_tree: Callable) -> list[str]:
    """Describe two walks down the family, and the mask of four nodes."""
    tokens = [9, 1, 2, 3, 4, 3]
    walks = [(tokens, lesson_06.FAMILY, c) for c in ([1, 4, 3, 8, 7, 6], [1, 5, 3, 8, 7, 6])]
    # A wrong answer brings its own mask; the worked one stands in its module.
    tree_mask = verify_tree.__globals__["tree_mask"]
    try:
        rows = np.asarray(tree_mask([-1, 0, 0, 1])).astype(int)
        mask = " ".join("".join(map(str, row)) for row in rows.tolist())
    except Exception as error:
        mask = type(error).__name__
    return [*on_calls(walks)(verify_tree), f"`{mask}`"]


def rounded(chances) -> list[float]:
    return [round(float(chance), 3) for chance in chances]


LOOKS = {
    "cat": on_the_cat,
    "cache": on_a_cache,
    "cached": with_caches,
    "cat_decode": on_cat_decode,
    "cat_step": on_cat_steps,
    "catch_up": on_catching_up,
    "distillation": on_a_loss,
    "fidelity": on_rows,
    "greedy": on_greedy,
    "heads": on_heads,
    "ngram": on_ngram_table,
    "sample": on_a_sampler,
    "step": on_first_tokens,
    "tree": on_a_tree,
}
