"""The checks of lesson 5. Each takes the learner's function, and cases of its own by default."""

from collections.abc import Callable, Sequence
from itertools import takewhile

from specdec.metrics import acceptance_rate_by_output
from specdec.reference.lesson_01 import expected_tokens
from specdec.values import plain, show

from .core import Case, CheckFailed, Mistake, NotWrittenYet, blame_helper, call_text, run_cases
from .lesson_01 import A_WHY

C_WHY = "c is a cost, 0 or more"
K_WHY = "k is negative"
V_WHY = "a pass costs something: verify_cost is above 0"
SLACK = 1e-12  # speedups that differ by less are equal
BROKEN_SPEEDUP = "First repair speedup: it fails its own check, and this function calls it."


def _tokens(a, k) -> float:
    return float(sum(a**i for i in range(k + 1)))


def _speed(a, k, c, verify_cost=1.0) -> float:
    return _tokens(a, k) / (k * c + verify_cost)


# --- speedup -----------------------------------------------------------------------------------

SPEEDUP_MISTAKES = [
    Mistake(
        "the cost of drafting is left out. A round has k draft steps, each of cost c.",
        lambda a, k, c, v=1.0: _tokens(a, k) / v,
    ),
    Mistake(
        "only one draft step is counted. The draft runs k times, one after the other.",
        lambda a, k, c, v=1.0: _tokens(a, k) / (c + v),
    ),
    Mistake(
        "k + 1 draft steps are counted. The draft runs k times.",
        lambda a, k, c, v=1.0: _tokens(a, k) / ((k + 1) * c + v),
    ),
    Mistake(
        "verification is counted k + 1 times. It is one pass, and verify_cost is its whole cost.",
        lambda a, k, c, v=1.0: _tokens(a, k) / (k * c + (k + 1) * v),
    ),
    Mistake(
        "only accepted guesses are counted. Each pass adds one token of the target's own.",
        lambda a, k, c, v=1.0: (_tokens(a, k) - 1) / (k * c + v),
    ),
    Mistake(
        "verify_cost is not used. The pass costs that much, not always 1.",
        lambda a, k, c, v=1.0: _tokens(a, k) / (k * c + 1),
    ),
    Mistake(
        "the fraction is upside down: this is the cost of a token.",
        lambda a, k, c, v=1.0: (k * c + v) / _tokens(a, k),
    ),
    Mistake(
        "k + 1 tokens a round would need every guess to be right. Use the mean, expected_tokens.",
        lambda a, k, c, v=1.0: (k + 1) / (k * c + v),
    ),
    Mistake(
        "verify_cost multiplies the whole round. Drafting costs k * c, whatever the pass costs.",
        lambda a, k, c, v=1.0: _tokens(a, k) / ((k * c + 1) * v),
    ),
    Mistake(
        "brackets are missing around the cost of a round.",
        lambda a, k, c, v=1.0: _tokens(a, k) / k * c + v,
    ),
]

SPEEDUP_CASES = [
    Case((0.5, 2, 0.125, 1.0), 1.4),
    Case((0.8, 4, 0.1, 1.2), 3.3616 / 1.6),
    Case((0.8, 4, 0.05), 3.3616 / 1.2),
    Case((1, 4, 0.25, 1.5), 2.0),
    Case((0, 4, 0.25, 1.0), 0.5),
    Case((0.7, 0, 0.5, 1.25), 0.8),
    Case((0.75, 3, 0, 2.0), 2.734375 / 2),
    Case((0.5, 2, -0.1, 1.0), ValueError, C_WHY),
    Case((0.5, 2, 0.1, 0.0), ValueError, V_WHY),
    Case((1.5, 2, 0.1, 1.0), ValueError, A_WHY),
    Case((0.5, -1, 0.1, 1.0), ValueError, K_WHY),
]


def check_speedup(speedup, cases=SPEEDUP_CASES) -> None:
    """Check tokens of a round over its cost, and the errors."""
    run_cases(
        "speedup",
        speedup,
        cases,
        SPEEDUP_MISTAKES,
        "Above 1 the draft pays, below 1 it costs.",
    )


# --- optimal_k ---------------------------------------------------------------------------------


def _best(ks: Sequence[int], worth: Callable, slack=SLACK):
    """Return the first k with the largest worth(k), with the slack that rounding needs."""
    best = None
    for k in ks:
        if best is None or worth(k) > worth(best) + slack:
            best = k
    return best


def _while_above_c(a, c, k_max):
    k = 0
    while k < k_max and a ** (k + 1) > c:
        k += 1
    return k


OPTIMAL_MISTAKES = [
    Mistake(
        "the cost of drafting plays no part, so the longest draft wins. Compare speedups.",
        lambda a, c, k_max: k_max,
    ),
    Mistake(
        "tokens a pass are compared, not speedups: they never fall when k grows.",
        lambda a, c, k_max: _best(range(k_max + 1), lambda k: _tokens(a, k)),
    ),
    Mistake(
        "k = 0 is never tried. Where the draft does not pay, no draft is best.",
        lambda a, c, k_max: _best(range(1, k_max + 1), lambda k: _speed(a, k, c)),
    ),
    Mistake(
        "k_max itself is never tried. range(k_max + 1) ends with it.",
        lambda a, c, k_max: _best(range(k_max), lambda k: _speed(a, k, c)),
    ),
    Mistake(
        "it returns the slowest k. The largest speedup is wanted.",
        lambda a, c, k_max: _best(range(k_max + 1), lambda k: -_speed(a, k, c)),
    ),
    Mistake(
        "of equally fast k it returns the largest. The smallest is wanted.",
        lambda a, c, k_max: _best(range(k_max, -1, -1), lambda k: _speed(a, k, c)),
    ),
    Mistake(
        "a tie is lost to rounding. Two speedups that differ by less than 1e-12 count as equal.",
        lambda a, c, k_max: _best(
            range(k_max + 1), lambda k: expected_tokens(a, k) / (k * c + 1), slack=0
        ),
    ),
    Mistake(
        "it returns the speedup. The k that gives it is wanted.",
        lambda a, c, k_max: max(_speed(a, k, c) for k in range(k_max + 1)),
    ),
    Mistake(
        "a next guess is compared with c alone. It must pay for time at the present speed: "
        "c times the present speedup.",
        _while_above_c,
    ),
    Mistake(
        "the cost of drafting is counted once, not k times.",
        lambda a, c, k_max: _best(
            range(k_max + 1), lambda k: _tokens(a, k) / (1 + c) if k else 1.0
        ),
    ),
]

OPTIMAL_CASES = [
    Case((0.5, 0.125, 8), 2),
    Case((0.8, 0.05, 20), 8),
    Case((0.6, 0.1, 20), 3),
    Case((0.3, 0.5, 20), 0),
    Case((0.8, 0.05, 4), 4),
    Case((0.8, 0.05, 8), 8),
    Case((1, 0.1, 10), 10),
    Case((0, 0.1, 10), 0),
]

OPTIMAL_EDGES = [
    Case((0.5, 0.5, 6), 0),
    Case((0.25, 0.25, 3), 0),
    Case((0.15, 0.15, 4), 0),
    Case((1, 1, 5), 0),
    Case((0.9, 0.02, 0), 0),
    Case((0.9, 0.02, 1), 1),
    Case((0.5, 0.1, -1), ValueError, "k_max is negative"),
    Case((0.5, -0.1, 4), ValueError, C_WHY),
    Case((1.2, 0.1, 4), ValueError, A_WHY),
]


def check_optimal_k(optimal_k, speedup=None, cases=OPTIMAL_CASES) -> None:
    """Check the best k. `speedup` is the learner's own, to name it when it is the cause."""
    run_cases(
        "optimal_k",
        optimal_k,
        cases,
        OPTIMAL_MISTAKES,
        "A dear draft wants a short k, or none.",
        first=lambda: _speedup_first(optimal_k, speedup),
    )


def check_optimal_k_edges(optimal_k, speedup=None, cases=OPTIMAL_EDGES) -> None:
    """Check ties, k_max = 0 and the errors."""
    run_cases(
        "optimal_k",
        optimal_k,
        cases,
        OPTIMAL_MISTAKES,
        "Of equals the smallest: a guess that gains nothing is left out.",
        first=lambda: _speedup_first(optimal_k, speedup),
        part="edges",
    )


def _speedup_first(function, speedup) -> str:
    legal = [case for case in SPEEDUP_CASES if not case.wants_error]
    return blame_helper(function, speedup, "speedup", legal, BROKEN_SPEEDUP)


# --- estimate_acceptance -----------------------------------------------------------------------


def _rejections(accepted, drafted) -> int:
    return sum(a < d for a, d in zip(accepted, drafted, strict=True))


def _three(accepted, drafted, **changed) -> list[float]:
    """Return the right three numbers, with those in `changed` replaced."""
    numbers = {
        "rate": sum(accepted) / sum(drafted),
        "length": sum(accepted) / len(accepted) + 1,
        "alpha": sum(accepted) / (sum(accepted) + _rejections(accepted, drafted)),
    }
    return list((numbers | changed).values())


ESTIMATE_MISTAKES = [
    Mistake(
        "alpha counts a rejection in every round. A round whose guesses were all right has none.",
        lambda a, d: _three(a, d, alpha=sum(a) / (sum(a) + len(a))),
    ),
    Mistake(
        "alpha is the acceptance rate once more. Tokens after a rejection were never tested: "
        "leave them out below the line.",
        lambda a, d: _three(a, d, alpha=sum(a) / sum(d)),
    ),
    Mistake(
        "the mean acceptance length leaves out the target's own token of each round.",
        lambda a, d: _three(a, d, length=sum(a) / len(a)),
    ),
    Mistake(
        "the acceptance rate counts the target's own tokens. They were never drafted.",
        lambda a, d: _three(a, d, rate=(sum(a) + len(a)) / sum(d)),
    ),
    Mistake(
        "the acceptance rate is a mean of the rounds' rates. Divide the sums: a round of one "
        "guess counts less than a round of five.",
        lambda a, d: _three(a, d, rate=sum(x / y for x, y in zip(a, d, strict=True)) / len(a)),
    ),
    Mistake(
        "a rejection is counted where a round accepted nothing. It is one that accepted fewer "
        "than it drafted.",
        lambda a, d: _three(a, d, alpha=sum(a) / (sum(a) + sum(x == 0 for x in a))),
    ),
    Mistake(
        "rounds that drafted fewer than the longest round count as rejecting. Compare each round "
        "with its own draft.",
        lambda a, d: _three(a, d, alpha=sum(a) / (sum(a) + sum(x < max(d) for x in a))),
    ),
    Mistake(
        "alpha is the share of rounds without a rejection. Count tokens, not rounds.",
        lambda a, d: _three(a, d, alpha=1 - _rejections(a, d) / len(a)),
    ),
    Mistake(
        "the three are in another order: acceptance rate, mean acceptance length, alpha.",
        lambda a, d: _three(a, d)[::-1],
    ),
    Mistake(
        "the mean acceptance length divides by the drafted tokens. It is per round.",
        lambda a, d: _three(a, d, length=(sum(a) + len(a)) / sum(d)),
    ),
]

ESTIMATE_CASES = [
    Case(([3, 0, 2, 3], [3, 3, 3, 3]), [8 / 12, 3.0, 0.8]),
    Case(([4, 4, 0], [4, 4, 4]), [8 / 12, 11 / 3, 8 / 9]),
    Case(([2, 5, 1], [2, 5, 3]), [0.8, 11 / 3, 8 / 9]),
    Case(([4, 0, 4, 0], [4, 4, 4, 4]), [0.5, 3.0, 0.8]),
]

ESTIMATE_EDGES = [
    Case(([3, 3], [3, 3]), [1.0, 4.0, 1.0]),
    Case(([0, 0, 0], [2, 2, 1]), [0.0, 1.0, 0.0]),
    Case(([0, 3, 1], [0, 3, 2]), [0.8, 7 / 3, 0.8]),
    Case(([1, 2], [3]), ValueError, "the lists differ in length"),
    Case(([4, 1], [3, 3]), ValueError, "the first round accepted 4 of 3"),
    Case(([-1, 1], [3, 3]), ValueError, "a round can't accept fewer than 0"),
    Case(([0, 0], [0, 0]), ValueError, "nothing was drafted"),
    Case(([], []), ValueError, "there is no round, so nothing was drafted"),
]


def check_estimate_acceptance(estimate_acceptance, cases=ESTIMATE_CASES) -> None:
    """Check the three numbers of a log."""
    run_cases(
        "estimate_acceptance",
        estimate_acceptance,
        cases,
        ESTIMATE_MISTAKES,
        "One log, three numbers, and none of them is another.",
    )


def check_estimate_acceptance_edges(estimate_acceptance, cases=ESTIMATE_EDGES) -> None:
    """Check logs without a rejection or an acceptance, rounds without a draft, and errors."""
    run_cases(
        "estimate_acceptance",
        estimate_acceptance,
        cases,
        ESTIMATE_MISTAKES,
        "A round without a draft emits a token and tests nothing.",
        part="edges",
    )


# --- simulate ----------------------------------------------------------------------------------


def _walk(right, k, matches=None, step=None, drafts=None):
    """Play the rounds with parts of the rule replaced; at most a round for each token.

    matches  function of the guesses: how many are accepted
    step     function (accepted, drafted) -> how far the next round starts
    drafts   function (guesses, k) -> what is noted as drafted
    """
    accepted, drafted, place = [], [], 0
    while place < len(right) and len(accepted) <= 2 * len(right):
        guesses = list(right[place : place + k])
        kept = (matches or _leading)(guesses)
        accepted.append(kept)
        drafted.append(drafts(guesses, k) if drafts else len(guesses))
        place += step(kept, len(guesses)) if step else kept + 1
    return [accepted, drafted]


def _leading(guesses) -> int:
    return sum(1 for _ in takewhile(bool, guesses))


SIMULATE_MISTAKES = [
    Mistake(
        "right guesses after a wrong one are counted. The round ends at the first wrong one.",
        lambda r, k: _walk(r, k, matches=lambda g: sum(map(bool, g))),
    ),
    Mistake(
        "after a draft that was right to the end the target's own token is forgotten: the next "
        "round starts one place too early.",
        lambda r, k: _walk(r, k, step=lambda a, d: a + (a < d or d == 0)),
    ),
    Mistake(
        "the target's own token is forgotten: the next round starts after the accepted tokens "
        "and that one.",
        lambda r, k: _walk(r, k, step=lambda a, d: max(a, 1)),
    ),
    Mistake(
        "the next round starts after all k guesses, also when some were thrown away. It starts "
        "after the accepted ones and the target's own token.",
        lambda r, k: _walk(r, k, step=lambda a, d: k + 1),
    ),
    Mistake(
        "the last round notes k drafted tokens, though fewer were left. The end of the text is no "
        "rejection.",
        lambda r, k: _walk(r, k, drafts=lambda g, k: k),
    ),
    Mistake(
        "each round advances by one token only. It starts after the accepted ones and the "
        "target's own token.",
        lambda r, k: _walk(r, k, step=lambda a, d: 1),
    ),
    Mistake(
        "the target's own token is counted as accepted. It is emitted, not accepted.",
        lambda r, k: [[a + 1 for a in _walk(r, k)[0]], _walk(r, k)[1]],
    ),
    Mistake(
        "it is all or nothing. Guesses before the first wrong one are accepted.",
        lambda r, k: _walk(r, k, matches=lambda g: len(g) if all(g) else 0, step=None),
    ),
    Mistake(
        "the rest of the text, shorter than k, is left out. Its rounds draft what is left.",
        lambda r, k: _without_short(r, k),
    ),
    Mistake(
        "it returns the accepted counts alone. Return both lists, accepted and drafted.",
        lambda r, k: _walk(r, k)[0],
    ),
    Mistake(
        "it returns a pair for each round. Return two lists: all accepted counts, all drafted.",
        lambda r, k: [list(pair) for pair in zip(*_walk(r, k), strict=True)],
    ),
    Mistake(
        "it notes the tested tokens as drafted. A round drafts k tokens, tested or not.",
        lambda r, k: [
            _walk(r, k)[0],
            [min(a + 1, d) for a, d in zip(*_walk(r, k), strict=True)],
        ],
    ),
    Mistake(
        "k is taken for the number of answers: a round drafts one token too few.",
        lambda r, k: _walk(r, max(k - 1, 0)),
    ),
]


def _without_short(right, k):
    accepted, drafted = _walk(right, k)
    whole = [i for i, d in enumerate(drafted) if d == k]
    return [[accepted[i] for i in whole], [drafted[i] for i in whole]]


CAT_TICKS = [1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0]

SIMULATE_CASES = [
    Case((CAT_TICKS, 3), [[3, 0, 2, 3], [3, 3, 3, 3]]),
    Case((CAT_TICKS, 2), [[2, 1, 2, 2, 0], [2, 2, 2, 2, 1]]),
    Case((CAT_TICKS, 1), [[1, 1, 0, 1, 0, 1, 1], [1, 1, 1, 1, 1, 1, 1]]),
    Case(([False, True, False, True, True, True, True], 4), [[0, 1, 4], [4, 4, 4]]),
    Case(([1, 1, 1, 1, 1, 0, 1, 1], 4), [[4, 0, 2], [4, 3, 2]]),
]

SIMULATE_EDGES = [
    Case(([1, 0, 1], 0), [[0, 0, 0], [0, 0, 0]]),
    Case(([], 3), [[], []]),
    Case(([1, 1], 5), [[2], [2]]),
    Case(([0], 2), [[0], [1]]),
    Case(([1, 1, 1], 1), [[1, 1], [1, 1]]),
    Case(([1, 0], -1), ValueError, K_WHY),
]


def check_simulate(simulate, cases=SIMULATE_CASES) -> None:
    """Check the rounds along a text."""
    run_cases(
        "simulate",
        simulate,
        cases,
        SIMULATE_MISTAKES,
        "One row of ticks, and you can ask what any k would have done.",
    )


def check_simulate_edges(simulate, cases=SIMULATE_EDGES) -> None:
    """Check k = 0, the end of the text, an empty one, and the error."""
    run_cases(
        "simulate",
        simulate,
        cases,
        SIMULATE_MISTAKES,
        "With k = 0 each round emits one token: plain decoding.",
        part="edges",
    )


# --- break_even --------------------------------------------------------------------------------

PLACES = 6  # decimal places that are compared


def _solve(needed: float, tokens: Callable, most: float) -> float | None:
    """Return the a in 0..1 from which tokens(a) >= needed; None when tokens(1) is below."""
    if needed > most + SLACK:
        return None
    low, high = 0.0, 1.0
    if tokens(low) >= needed - SLACK:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if tokens(middle) >= needed - SLACK else (middle, high)
    return high


def _even(k, needed):
    return _solve(needed, lambda a: _tokens(a, k), k + 1)


BREAK_EVEN_MISTAKES = [
    Mistake(
        "the exact answer is 1, and rounding hides it. Count a speedup from 1 - 1e-12 on as 1.",
        lambda k, c, v=1.0: _even(k, k * c + v) if _speed(1, k, c, v) >= 1 else None,
    ),
    Mistake(
        "where even a = 1 is too little it returns 1. Return None.",
        lambda k, c, v=1.0: 1.0 if _even(k, k * c + v) is None else _even(k, k * c + v),
    ),
    Mistake(
        "the cost of drafting is left out. A round has k draft steps.",
        lambda k, c, v=1.0: _even(k, v),
    ),
    Mistake(
        "verify_cost is left out. The pass costs that much, not always 1.",
        lambda k, c, v=1.0: _even(k, k * c + 1),
    ),
    Mistake(
        "only one draft step is counted. The draft runs k times.",
        lambda k, c, v=1.0: _even(k, c + v),
    ),
    Mistake(
        "k + 1 draft steps are counted. The draft runs k times.",
        lambda k, c, v=1.0: _even(k, (k + 1) * c + v),
    ),
    Mistake(
        "the target's own token is left out of what a round gives.",
        lambda k, c, v=1.0: _solve(k * c + v, lambda a: _tokens(a, k) - 1, k),
    ),
    Mistake(
        "guesses are counted as if each had chance a, whatever came before. Use expected_tokens.",
        lambda k, c, v=1.0: _solve(k * c + v, lambda a: 1 + a * k, k + 1),
    ),
    Mistake(
        "at a = 0 a round still gives one token. Where that is enough, the answer is 0.",
        lambda k, c, v=1.0: None if k * c + v <= 1 else _even(k, k * c + v),
    ),
    Mistake(
        "it returns the cost of a round. The acceptance that pays for it is wanted.",
        lambda k, c, v=1.0: float(k * c + v),
    ),
]

BREAK_EVEN_CASES = [
    Case((4, 0.1, 1.2), 0.379949),
    Case((1, 0.25), 0.25),
    Case((2, 0.5, 1.0), 0.618034),
    Case((3, 0.125, 1.5), 0.5),
    Case((6, 0.04, 1.1), 0.253782),
    Case((4, 1.0, 1.5), None),
    Case((5, 0.81, 1.95), 1.0),
    Case((3, 0.0, 1.0), 0.0),
    Case((0, 0.3, 1.0), 0.0),
    Case((0, 0.3, 1.25), None),
    Case((2, 0.1, 0.5), 0.0),
    Case((-1, 0.1, 1.0), ValueError, K_WHY),
    Case((2, -0.1, 1.0), ValueError, C_WHY),
    Case((2, 0.1, 0.0), ValueError, V_WHY),
]


def check_break_even(break_even, speedup=None, cases=BREAK_EVEN_CASES) -> None:
    """Check the acceptance at which a draft pays, to PLACES places after the point."""
    run_cases(
        "break_even",
        _rounded(break_even),
        cases,
        [Mistake(m.cause, _rounded(m.does)) for m in BREAK_EVEN_MISTAKES],
        "Below this acceptance, leave the draft at home.",
        first=lambda: _speedup_first(break_even, speedup),
    )


def _rounded(function: Callable) -> Callable:
    """Return the function with its numbers rounded, since it finds them by trial."""

    def called(*args):
        value = plain(function(*args))
        return round(value, PLACES) if isinstance(value, float) else value

    return called


# --- find the bug ------------------------------------------------------------------------------

LOG_SHAPE = "Give a pair of lists, such as ([2, 0], [3, 3])."


def check_bug_log(answer) -> None:
    """Check a log on which the metric tells an impossible rate, by running it."""
    if answer is None or answer is Ellipsis:
        raise NotWrittenYet(
            "✎ todo_bug_log is not written yet. Put your pair in place of None, then run both."
        )
    answer = plain(answer)
    shaped = isinstance(answer, list) and len(answer) == 2
    if not shaped or not all(isinstance(part, list) for part in answer):
        raise CheckFailed(f"✗ todo_bug_log = {show(answer)}. {LOG_SHAPE}")
    accepted, drafted = answer
    if not _is_log(accepted, drafted):
        raise CheckFailed(
            f"✗ todo_bug_log = {show(answer)} is no log. Both lists need one whole number a round, "
            "and a round accepts between 0 and as many tokens as it drafts."
        )
    text = call_text("acceptance_rate_by_output", (accepted, drafted))
    rate = acceptance_rate_by_output(accepted, drafted)
    if rate <= 1:
        raise CheckFailed(
            f"✗ {text}\n  returns   {rate:.4g}, which is a rate that can be. What does it count "
            "that was never drafted? Make that part large."
        )
    print(f"✓ {text}\n  returns {rate:.4g}, more than all. You exposed it.")


def _is_log(accepted, drafted) -> bool:
    entries = [*accepted, *drafted]
    if len(accepted) != len(drafted) or not sum(map(bool, drafted)):
        return False
    if not all(isinstance(entry, int) and not isinstance(entry, bool) for entry in entries):
        return False
    return all(0 <= a <= d for a, d in zip(accepted, drafted, strict=True))
