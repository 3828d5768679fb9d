"""The checks of lesson 3. Each takes the learner's function, and cases of its own by default."""

import contextlib
import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from specdec.bugs import residual_unguarded
from specdec.sampling import CountedPair, draw, keep_top_p
from specdec.values import plain, show

from .core import (
    Case,
    CheckFailed,
    Mistake,
    NotWrittenYet,
    blame_helper,
    call,
    error_text,
    not_written,
    run_cases,
)
from .laws import (
    JUST,
    TOO_MANY,
    allowed_chi_square,
    beside_edges,
    chi_square,
    distance,
    exact_law,
    outcome_of,
    sampled_law,
)

EXACT = 1e-12
EXACT = 1e-12
RUNS = 700  # seeded runs of a function whose random numbers lie on no grid

# --- acceptance_probability, residual, expected_acceptance --------------------------------------


def _ratio(p, q, token) -> float:
    return p[token] / q[token] if q[token] else 0.0


ACCEPTANCE_MISTAKES = [
    Mistake(
        "the ratio is not cut at 1. A chance is at most 1: min(1, p / q).",
        lambda p, q, t: _ratio(p, q, t),
    ),
    Mistake(
        "the ratio is upside down. It is the target's p over the draft's q.",
        lambda p, q, t: min(1.0, q[t] / p[t]) if p[t] else 0.0,
    ),
    Mistake(
        "this keeps a token if p >= q and never otherwise. Below 1 the ratio itself is the chance.",
        lambda p, q, t: 1.0 if q[t] and p[t] >= q[t] else 0.0,
    ),
    Mistake(
        "this is the target's p alone. The draft has proposed the token with chance q: divide.",
        lambda p, q, t: float(p[t]),
    ),
    Mistake(
        "this is min(p, q), the chance to be proposed and kept. Here the token is proposed "
        "already: divide by q.",
        lambda p, q, t: float(min(p[t], q[t])),
    ),
    Mistake(
        "q = 0 gives 1. A token that the draft can't draw is never kept: 0.",
        lambda p, q, t: min(1.0, _ratio(p, q, t)) if q[t] else 1.0,
    ),
    Mistake(
        "q = 0 needs a branch of its own, since p / q divides by zero there. The chance is 0.",
        lambda p, q, t: min(1.0, p[t] / q[t]),
    ),
    Mistake(
        "every token is kept. Then the text is the draft's.",
        lambda p, q, t: 1.0,
    ),
    Mistake(
        "this is the chance of a rejection. Return the chance to keep the token.",
        lambda p, q, t: 1 - min(1.0, _ratio(p, q, t)),
    ),
]

P3, Q3 = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
P4, Q4 = [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]

ACCEPTANCE_CASES = [
    Case((P3, Q3, 2), 0.4),
    Case((P3, Q3, 0), 1.0),
    Case((P3, Q3, 1), 1.0),
    Case((P4, Q4, 3), 0.25),
    Case((np.array(P4), np.array(Q4), 2), 2 / 3),
    Case(([0.0, 1.0], [0.5, 0.5], 0), 0.0),
    Case(([0.5, 0.5], [0.0, 1.0], 0), 0.0),
    Case(([0.0, 1.0], [0.0, 1.0], 0), 0.0),
]


def check_acceptance_probability(acceptance_probability, cases=ACCEPTANCE_CASES) -> None:
    """Check min(1, p / q) and its ends, p = 0 and q = 0."""
    run_cases(
        "acceptance_probability",
        _tidy(acceptance_probability),
        cases,
        _tidied(ACCEPTANCE_MISTAKES),
        "A token is kept for certain when the target wants it at least as often as the draft.",
    )


def _tidy(function: Callable) -> Callable:
    """Return the function without its warnings; NaN, which equals nothing, becomes "nan"."""

    def tidy(*args):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _name_nan(plain(function(*args)))

    return tidy


def _name_nan(value):
    if isinstance(value, list):
        return [_name_nan(item) for item in value]
    return "nan" if isinstance(value, float) and np.isnan(value) else value


def _tidied(mistakes) -> list[Mistake]:
    return [Mistake(m.cause, _tidy(m.does)) for m in mistakes]


def _scaled(weights) -> list:
    weights = np.asarray(weights, dtype=float)
    return (weights / weights.sum()).tolist() if weights.sum() else weights.tolist()


def _missing(p, q):
    return np.maximum(np.subtract(p, q), 0)


def _residual(p, q) -> list:
    missing = _missing(p, q)
    return _scaled(missing) if missing.sum() else list(p)


def _by_gap(rule: Callable) -> Callable:
    """Make a wrong residual from a rule for unequal p and q; equal ones give p."""
    return lambda p, q: list(p) if list(p) == list(q) else rule(p, q)


def _softmax(x):
    x = np.asarray(x, dtype=float)
    e = np.exp(x - x.max())
    return e / e.sum()


RESIDUAL_MISTAKES = [
    Mistake(
        "it does not sum to 1. Divide by the sum of what is missing.",
        _by_gap(lambda p, q: _missing(p, q).tolist()),
    ),
    Mistake(
        "surplus counts as missing. Cut p - q at 0, do not take its absolute value.",
        _by_gap(lambda p, q: _scaled(np.abs(np.subtract(p, q)))),
    ),
    Mistake(
        "p and q are swapped. What is missing is p - q, where the draft proposed too little.",
        _by_gap(lambda p, q: _residual(q, p)),
    ),
    Mistake(
        "this is p itself. The kept tokens have covered min(p, q) already; the rest is missing.",
        lambda p, q: list(p),
    ),
    Mistake(
        "this is the softmax of the difference. Cut at 0 and divide by the sum.",
        _by_gap(lambda p, q: _softmax(np.subtract(p, q)).tolist()),
    ),
    Mistake(
        "p - q is scaled before it is cut at 0. Cut first.",
        _by_gap(lambda p, q: np.maximum(_softmax(np.subtract(p, q)) - 1 / len(p), 0).tolist()),
    ),
    Mistake(
        "all of it goes to the one token that lacks most. Share it among all that lack some.",
        _by_gap(lambda p, q: np.eye(len(p))[np.argmax(np.subtract(p, q))].tolist()),
    ),
    Mistake(
        "it is shared evenly. Tokens that lack more get more.",
        _by_gap(lambda p, q: _scaled(np.greater(p, q))),
    ),
    Mistake(
        "this is min(p, q), scaled: the part that was kept. The residual is the part that was not.",
        _by_gap(lambda p, q: _scaled(np.minimum(p, q))),
    ),
]

RESIDUAL_CASES = [
    Case((P3, Q3), [1.0, 0.0, 0.0]),
    Case((P4, Q4), [0.75, 0.25, 0.0, 0.0]),
    Case(([0.5, 0.5, 0.0], [0.0, 0.25, 0.75]), [2 / 3, 1 / 3, 0.0]),
    Case(([0.1, 0.6, 0.3], [0.2, 0.2, 0.6]), [0.0, 1.0, 0.0]),
    Case((np.array([0.5, 0.3, 0.1, 0.1]), np.array([0.2, 0.2, 0.1, 0.5])), [0.75, 0.25, 0.0, 0.0]),
]

NOT_P = "p does not sum to 1"
RESIDUAL_EDGES = [
    Case(([0.1, 0.2, 0.7], [0.1, 0.2, 0.7]), [0.1, 0.2, 0.7]),
    Case(([0.0, 1.0], [0.0, 1.0]), [0.0, 1.0]),
    Case(([0.0, 0.25, 0.75], [1.0, 0.0, 0.0]), [0.0, 0.25, 0.75]),
    Case(([0.5, 0.5], [0.5, 0.3, 0.2]), ValueError, "p has 2 entries and q has 3"),
    Case(([0.5, 0.6], [0.5, 0.5]), ValueError, NOT_P),
    Case(([0.5, 0.5], [1.5, -0.5]), ValueError, "q has a negative entry"),
    Case(((0.5, float("nan")), (0.5, 0.5)), ValueError, "p has an entry that is not a number"),
]

EQUAL_MISTAKES = [
    Mistake(
        "p and q are equal here, so 0 is divided by 0. Return p in that case.",
        lambda p, q: (_missing(p, q) / _missing(p, q).sum()).tolist(),
    ),
    Mistake(
        "when p and q are equal it returns zeros, which is no distribution. Return p.",
        lambda p, q: _scaled(_missing(p, q)),
    ),
    Mistake(
        "when p and q are equal it returns the uniform distribution. Return p.",
        lambda p, q: _residual(p, q) if _missing(p, q).sum() else [1 / len(p)] * len(p),
    ),
]


def check_residual(residual, cases=RESIDUAL_CASES) -> None:
    """Check the missing part, scaled to sum 1."""
    run_cases(
        "residual",
        _tidy(residual),
        cases,
        _tidied(RESIDUAL_MISTAKES),
        "Rejected draws go to the tokens of which the draft proposed too few.",
    )


def check_residual_edges(residual, cases=RESIDUAL_EDGES) -> None:
    """Check equal and disjoint distributions, and inputs that are none."""
    run_cases("residual", _tidy(residual), cases, _tidied(EQUAL_MISTAKES), "", part="edges")


def random_pairs(number: int, seed: int) -> list:
    """Return pairs of random distributions over 2 to 8 tokens, some with zeros."""
    rng = np.random.default_rng(seed)
    pairs = []
    for i in range(number):
        size = int(rng.integers(2, 9))
        p, q = rng.dirichlet(np.full(size, 0.7), size=2)
        if i % 3 == 0:
            p[rng.integers(size)] = 0
            q[rng.integers(size)] = 0
        pairs.append(((p / p.sum()).tolist(), (q / q.sum()).tolist()))
    return pairs


def law_deviation(residual: Callable, p, q) -> float:
    """Return how far q * accept + (1 - alpha) * residual lies from p, at the worst token."""
    kept = np.minimum(p, q)
    law = kept + (1 - kept.sum()) * np.asarray(plain(residual(list(p), list(q))), dtype=float)
    return float(np.max(np.abs(law - p)))


def check_residual_law(residual, pairs=None, seed: int = 3) -> None:
    """Check q * accept + (1 - alpha) * residual == p on 200 random pairs, to 1e-12."""
    worst = 0.0
    for p, q in pairs or [(P4, Q4), (P3, Q3), *random_pairs(200, seed)]:
        outcome = call(_tidy(residual), (p, q))
        got = outcome.value
        shaped = isinstance(got, list) and len(got) == len(p)
        if not shaped or not all(isinstance(x, int | float) for x in got):
            came = error_text(outcome.error) if outcome.error else show(got)
            raise CheckFailed(
                f"✗ residual({show(p)}, {show(q)})\n  gave      {came}\n"
                f"  wanted    {len(p)} numbers"
            )
        deviation = law_deviation(lambda p, q, got=got: got, p, q)
        if not deviation <= EXACT:
            kept = np.minimum(p, q)
            law = kept + (1 - kept.sum()) * np.asarray(got)
            raise CheckFailed(
                f"✗ p = {_row(p)}, q = {_row(q)}\n"
                f"  the text then has  {_row(law)}\n  the target wants   {_row(p)}"
            )
        worst = max(worst, deviation)
    print(f"✓ residual, the law: the output is the target's for every pair, to {worst:.0e}.")


def _row(values) -> str:
    return "[" + ", ".join(f"{float(v):.4g}" for v in values) + "]"


EXPECTED_MISTAKES = [
    Mistake(
        "this is the sum of p times q, the chance that two separate draws agree. Take the smaller "
        "of the two at each token.",
        lambda p, q: float(np.dot(p, q)),
    ),
    Mistake(
        "half of that difference is missing: alpha = 1 - sum |p - q| / 2.",
        lambda p, q: float(1 - np.abs(np.subtract(p, q)).sum()),
    ),
    Mistake(
        "this is the chance of a rejection. Return 1 minus it, or the sum of min(p, q).",
        lambda p, q: float(1 - np.minimum(p, q).sum()),
    ),
    Mistake(
        "this takes the larger of the two. Take the smaller.",
        lambda p, q: float(np.maximum(p, q).sum()),
    ),
    Mistake(
        "this is the mean over the tokens. Add them up.",
        lambda p, q: float(np.minimum(p, q).mean()),
    ),
    Mistake(
        "the ratios are not weighted. A token is drawn with chance q: add q * min(1, p / q).",
        lambda p, q: float(
            np.mean([min(1.0, a / b) if b else 0.0 for a, b in zip(p, q, strict=True)])
        ),
    ),
    Mistake(
        "this weighs with p. The draft draws the token, with chance q.",
        lambda p, q: float(
            sum(a * min(1.0, a / b) if b else 0.0 for a, b in zip(p, q, strict=True))
        ),
    ),
    Mistake(
        "this is the largest overlap at one token. Add the overlaps of all tokens.",
        lambda p, q: float(np.minimum(p, q).max()),
    ),
]

EXPECTED_CASES = [
    Case((P3, Q3), 0.7),
    Case((P4, Q4), 0.6),
    Case((np.array([0.1, 0.2, 0.7]), np.array([0.1, 0.2, 0.7])), 1.0),
    Case(([1.0, 0.0], [0.0, 1.0]), 0.0),
    Case(([0.5, 0.3, 0.2], [0.0, 0.0, 1.0]), 0.2),
    Case(([0.6, 0.4], [0.8, 0.2]), 0.8),
]


def check_expected_acceptance(expected_acceptance, cases=EXPECTED_CASES) -> None:
    """Check the sum of min(p, q)."""
    run_cases(
        "expected_acceptance",
        _tidy(expected_acceptance),
        cases,
        _tidied(EXPECTED_MISTAKES),
        "Two separate draws of p and q agree less often: 0.29 against 0.7 on the first case.",
    )


BUG_SHAPE = "Give a pair of lists, such as ([0.5, 0.5], [0.25, 0.75])."


def check_bug_pair(answer) -> None:
    """Check a pair (p, q) on which residual_unguarded gives no distribution, by running it."""
    if answer is None or answer is Ellipsis:
        raise NotWrittenYet(
            "✎ todo_bug_pair is not written yet. Put your pair in place of None, then run both."
        )
    pair = plain(answer)
    lists = isinstance(pair, list) and len(pair) == 2 and all(isinstance(x, list) for x in pair)
    if not lists or len(pair[0]) != len(pair[1]):
        raise CheckFailed(f"✗ todo_bug_pair = {show(answer)}. {BUG_SHAPE}")
    for name, row in zip("pq", pair, strict=True):
        numbers = all(isinstance(x, int | float) and x >= 0 for x in row)
        if not row or not numbers or abs(sum(row) - 1) > 1e-6:
            raise CheckFailed(f"✗ {name} = {show(row)} is no distribution: it must sum to 1.")
    got = _tidy(residual_unguarded)(*pair)
    if "nan" not in got:
        raise CheckFailed(
            f"✗ residual_unguarded({show(pair[0])}, {show(pair[1])})\n"
            f"  returns   {_row(got)}, which is right. When is the sum below the line 0?"
        )
    print(f"✓ residual_unguarded returns {show(got)}: nothing can be drawn from that.")


# --- speculative_step --------------------------------------------------------------------------

# All chances of these rows, their ratios and residuals are multiples of 1/8, or of 1/4.
P_A, Q_A = [0.5, 0.25, 0.125, 0.125], [0.125, 0.125, 0.25, 0.5]
GRID = 8
P_B, Q_B = [0.25, 0.25, 0.5, 0.0], [0.5, 0.25, 0.25, 0.0]
P_C, Q_C = [0.25, 0.5, 0.0, 0.25], [0.5, 0.25, 0.25, 0.0]
P_D = [0.0, 0.25, 0.25, 0.5]


@dataclass(frozen=True)
class Step:
    """One call of speculative_step: the draft's tokens, the rows of both models, and the grid."""

    draft: Sequence[int]
    q: Sequence
    p: Sequence
    grid: int = 4
    on_grid = True  # all chances of a right function are multiples of the grid's step

    @property
    def text(self) -> str:
        return f"speculative_step: draft {show(self.draft)}, q {show(self.q)}, p {show(self.p)}"

    @property
    def args(self) -> tuple:
        return (self.draft, self.q, self.p)

    @property
    def scripts(self) -> list[list[float]]:
        """Return numbers for every way that a round can end, each close to an edge.

        A token that is kept has its number just below its chance, a rejected one exactly on it; the
        last number lies just beside an edge between two tokens.
        """
        scripts, kept = [], []
        for token, q, p in zip(self.draft, self.q, self.p, strict=False):
            chance = min(1.0, _ratio(p, q, token))
            if chance < 1:
                scripts += [[*kept, chance, last] for last in beside_edges(_residual(p, q))]
            if chance == 0:
                return scripts
            kept.append(chance - JUST)
        return scripts + [[*kept, last] for last in beside_edges(self.p[-1])]

    def wanted(self) -> dict:
        """Return the right law of this call."""
        return exact_law(_runner(rounds(), self), self.grid)


STEP_CASES = [  # so far from each mistake's law that 300 runs tell them apart
    Step([3], [[0.5, 0.0, 0.0, 0.5]], [[0.5, 0.25, 0.25, 0.0], P_D]),
    Step([1], [[0.0, 1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0, 0.0], [0.5, 0.0, 0.5, 0.0]]),
    Step([1, 0], [Q_B, Q_C], [P_B, P_C, P_D]),
    Step([1, 2], [Q_B, Q_C], [P_B, P_C, P_D]),
    Step([0, 0, 0], [Q_B, Q_C, Q_B], [P_B, P_C, P_B, P_D]),
]
STEP_EDGES = [
    Step([], [], [P_D]),
    Step([0], [[0.5, 0.25, 0.25]], [[0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]),
    Step([1], [[0.25, 0.75, 0.0]], [[0.25, 0.0, 0.75], [0.0, 1.0, 0.0]]),
]
ROWS = [
    (Step([1, 1], [Q_A], [P_A, P_B, P_C]), "2 draft tokens need 2 rows of draft_probs, not 1"),
    (Step([1], [Q_A], [P_A]), "1 draft token needs 2 rows of target_probs, not 1"),
    (Step([1], [Q_A], [P_A, P_B, P_C]), "1 draft token needs 2 rows of target_probs, not 3"),
]


def rounds(
    keep: Callable | None = None,
    after: Callable | None = None,
    bonus: Callable | None = None,
) -> Callable:
    """Make a step from its three decisions; the defaults are the right ones.

    keep   (p, q, token, u) -> whether a token is kept
    after  (p, q, token, rng) -> the tokens emitted at a rejection
    bonus  (step's target rows, rng, draft, q) -> the tokens emitted when all were kept
    """
    keep = keep or (lambda p, q, t, u: u < min(1.0, _ratio(p, q, t)))
    after = after or (lambda p, q, t, rng: [draw(_residual(p, q), rng)])
    bonus = bonus or (lambda rows, rng, draft, q: [draw(rows[-1], rng)])

    def step(draft, q, p, rng):
        emitted = []
        for i, token in enumerate(draft):
            if not keep(p[i], q[i], token, rng.random()):
                return emitted + after(p[i], q[i], token, rng)
            emitted.append(token)
        return emitted + bonus(p, rng, draft, q)

    return step


def _later_too(draft, q, p, rng):
    emitted = []
    for i, token in enumerate(draft):
        if rng.random() < min(1.0, _ratio(p[i], q[i], token)):
            emitted.append(token)
        else:
            emitted.append(draw(_residual(p[i], q[i]), rng))
    return [*emitted, draw(p[-1], rng)]


def _one_number(draft, q, p, rng):
    u = rng.random()
    emitted = []
    for i, token in enumerate(draft):
        if u >= min(1.0, _ratio(p[i], q[i], token)):
            return [*emitted, draw(_residual(p[i], q[i]), rng)]
        emitted.append(token)
    return [*emitted, draw(p[-1], rng)]


def _match(draft, q, p, rng):
    emitted = []
    for i, token in enumerate(draft):
        emitted.append(draw(p[i], rng))
        if emitted[-1] != token:
            return emitted
    return [*emitted, draw(p[-1], rng)]


def _shifted(draft, q, p, rng):
    emitted = []
    for i, token in enumerate(draft):
        if rng.random() >= min(1.0, _ratio(p[i], q[i], token)):
            return [*emitted, draw(_residual(p[i + 1], q[i]), rng)]
        emitted.append(token)
    return [*emitted, draw(p[-1], rng)]


def _first_row(draft, q, p, rng):
    return rounds()(draft, [q[0]] * len(draft), [p[0]] * len(draft) + [p[-1]], rng)


STEP_MISTAKES = [
    Mistake(
        "the bonus is missing. When all are kept, one more token is drawn from the last row.",
        rounds(bonus=lambda rows, rng, draft, q: []),
    ),
    Mistake(
        "after a rejection it draws from p. The residual belongs there: what was kept has covered "
        "min(p, q) already.",
        rounds(after=lambda p, q, t, rng: [draw(p, rng)]),
    ),
    Mistake(
        "it keeps a token if p >= q and rejects it otherwise. Below 1 the ratio is a chance: "
        "compare u with it.",
        rounds(keep=lambda p, q, t, u: p[t] >= q[t]),
    ),
    Mistake(
        "it keeps every token. Test each one: u < acceptance_probability.",
        rounds(keep=lambda p, q, t, u: True),
    ),
    Mistake(
        "the ratio is upside down. It is the target's p over the draft's q.",
        rounds(keep=lambda p, q, t, u: u < (min(1.0, q[t] / p[t]) if p[t] else 0.0)),
    ),
    Mistake(
        "it compares u with p. Compare it with p / q: the draft has proposed the token already.",
        rounds(keep=lambda p, q, t, u: u < p[t]),
    ),
    Mistake(
        "the test is the wrong way round: a small u keeps the token.",
        rounds(keep=lambda p, q, t, u: u >= min(1.0, _ratio(p, q, t))),
    ),
    Mistake(
        "p and q are swapped in the residual.",
        rounds(after=lambda p, q, t, rng: [draw(_residual(q, p), rng)]),
    ),
    Mistake(
        "nothing comes out at the rejection. One token of the residual does.",
        rounds(after=lambda p, q, t, rng: []),
    ),
    Mistake(
        "the rejected token comes out too. Only the one drawn in its place does.",
        rounds(after=lambda p, q, t, rng: [t, draw(_residual(p, q), rng)]),
    ),
    Mistake(
        "at the rejection the draft's token comes out. Draw one from the residual.",
        rounds(after=lambda p, q, t, rng: [t]),
    ),
    Mistake(
        "it goes on after a rejection. The later tokens were guessed after a text that will not "
        "exist; stop there.",
        _later_too,
    ),
    Mistake(
        "one u is used for all tokens. Each test takes its own.",
        _one_number,
    ),
    Mistake(
        "it draws from p and compares. That is exact too, but keeps fewer tokens; use the ratio.",
        _match,
    ),
    Mistake(
        "the residual is made with the target's row of the next place. Use row i for token i.",
        _shifted,
    ),
    Mistake(
        "the bonus is drawn from the row before the last. The last row is the target's after all "
        "k tokens.",
        rounds(bonus=lambda rows, rng, draft, q: [draw(rows[-2], rng)]),
    ),
    Mistake(
        "the bonus is drawn from the draft's last row. Draw it from the target's.",
        rounds(bonus=lambda rows, rng, draft, q: [draw(q[-1], rng)]),
    ),
    Mistake(
        "the residual is the larger probability's token, not a draw. Draw from it.",
        rounds(after=lambda p, q, t, rng: [int(np.argmax(_residual(p, q)))]),
    ),
    Mistake(
        "every token is tested with the rows of the first place. Use row i for token i.",
        _first_row,
    ),
]


class _Stopped(Exception):
    """A run that can't be counted: it raised, or gave no list of tokens."""

    def __init__(self, text: str, came_back: str):
        super().__init__(f"✗ {text}\n  {came_back}")


def _runner(function: Callable, case) -> Callable:
    """Return run(rng), which calls the function with case.args and gives its tokens as a tuple.

    It raises _Stopped when the function raises, gives no list of tokens, or changes an argument.
    """
    given = [list(a) if isinstance(a, list) else a for a in case.args]
    before = [list(a) if isinstance(a, list) else a for a in case.args]

    def run(rng) -> tuple:
        try:
            value = plain(function(*given, rng))
        except NotImplementedError as error:
            raise NotWrittenYet(not_written(str(error))) from None
        except Exception as error:
            raise _Stopped(case.text, f"raised    {error_text(error)}") from None
        for old, new in zip(before, given, strict=True):
            if isinstance(old, list) and new != old:
                raise _Stopped(
                    case.text,
                    f"changed its input: {show(old)} became {show(new)}. Work on a copy: list(…).",
                )
        if not isinstance(value, list) or any(isinstance(token, list) for token in value):
            forgot = "  (is a `return` missing?)" if value is None else ""
            raise _Stopped(case.text, f"returned  {show(value)}{forgot}")
        return tuple(value)

    return run


@dataclass(frozen=True)
class Law:
    """The chance of each outcome, counted exactly; or its share in so many seeded runs."""

    chances: dict
    runs: int = 0

    def fits(self, wanted: dict) -> bool:
        if self.runs:
            return chi_square(self.chances, wanted, self.runs) <= allowed_chi_square(
                wanted, self.runs
            )
        return distance(self.chances, wanted) <= EXACT


def _laws(function: Callable, mistakes, cases, given, scripted) -> list[Law]:
    """Return the function's law in each case.

    given  what the function gave for the random numbers scripted for the cases `scripted`

    One that gives what a single known mistake gives, and whose law is found wrong, has the
    mistake's laws: the rest need not be counted.
    """
    alike = [m.does for m in mistakes if _acts_alike(m.does, scripted, given)]
    twin = alike[0] if len(alike) == 1 else None
    laws = []
    for case in cases:
        laws.append(_counted(_runner(function, case), case))
        if twin and not laws[-1].fits(case.wanted()):
            return [Law(exact_law(_runner(twin, case), case.grid)) for case in cases]
    return laws


def _scripted(function: Callable, cases) -> list:
    """Return what comes out for each list of random numbers of each case."""
    with _no_warnings():
        return [
            outcome_of(_runner(function, case), numbers)
            for case in cases
            for numbers in case.scripts
        ]


def _acts_alike(other: Callable, cases, given) -> bool:
    try:
        return _scripted(other, cases) == given
    except _Stopped:
        return False


def _counted(run: Callable, case) -> Law:
    """Return the law over all numbers of the case's grid, or the shares of seeded runs.

    The runs are for random numbers of another kind, and for chances that do not lie on the grid.
    """
    with _no_warnings():
        law = exact_law(run, case.grid)
        if law is not None and (case.on_grid or Law(law).fits(case.wanted())):
            return Law(law)
        return Law(sampled_law(run, RUNS, seed=5), RUNS)


@contextlib.contextmanager
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _law_lines(law: dict) -> str:
    if law is TOO_MANY:
        return next(iter(law))
    ordered = sorted(law.items(), key=lambda item: (-item[1], str(item[0])))
    shown = ", ".join(f"{list(tokens)} {chance:.4g}" for tokens, chance in ordered[:6])
    return shown + (", …" if len(ordered) > 6 else "")


BROKEN_HELPERS = "First repair {}: it fails its own check, and this function calls it."


def check_speculative_step(
    step, acceptance_probability=None, residual=None, cases=STEP_CASES
) -> None:
    """Check what comes out beside every edge; or else the chance of every outcome, exactly."""
    try:
        given = _scripted(step, cases)
        laws = _laws(step, STEP_MISTAKES, cases, given, scripted=cases)
    except _Stopped as stopped:
        cause = _helpers_first(step, acceptance_probability, residual)
        raise CheckFailed(f"{stopped}\n{cause}".rstrip()) from None
    found = list(zip(cases, laws, strict=True))
    wrong = [(case, law) for case, law in found if not law.fits(case.wanted())]
    if not wrong:
        print(f"✓ speculative_step: {len(cases)} cases, every outcome with its exact chance.")
        return
    case, law = wrong[0]
    raise CheckFailed(
        f"✗ {case.text}\n"
        f"  emits     {_law_lines(law.chances)}\n  wanted    {_law_lines(case.wanted())}\n"
        f"{_helpers_first(step, acceptance_probability, residual) or _step_cause(found)}".rstrip()
    )


def _helpers_first(step, acceptance_probability, residual) -> str:
    return blame_helper(
        step,
        acceptance_probability,
        "acceptance_probability",
        ACCEPTANCE_CASES,
        BROKEN_HELPERS.format("acceptance_probability"),
    ) or blame_helper(step, residual, "residual", RESIDUAL_CASES, BROKEN_HELPERS.format("residual"))


def _step_cause(found) -> str:
    if all(list(law.chances.values()) == [1.0] for _, law in found):
        return "It takes no random number from rng. Use rng.random() for each test."
    fitting = [m for m in STEP_MISTAKES if all(_same_law(m, case, law) for case, law in found)]
    return f"Likely cause: {fitting[0].cause}" if len(fitting) == 1 else ""


def _same_law(mistake: Mistake, case, law: Law) -> bool:
    try:
        return law.fits(exact_law(_runner(mistake.does, case), case.grid))
    except _Stopped:
        return False


def check_speculative_step_edges(step, cases=STEP_EDGES, rows=ROWS) -> None:
    """Check an empty draft, tokens that can't come out, even at u = 0, and rows that do not fit."""
    for case in cases:
        run = _runner(step, case)
        try:
            with _no_warnings():
                law = exact_law(run, 2, offset=0.0) or sampled_law(run, 60, seed=6)
        except _Stopped as stopped:
            raise CheckFailed(str(stopped)) from None
        for tokens in law if law is not TOO_MANY else ():
            _check_possible(case, tokens)
    for case, why in rows:
        outcome = call(_tidy(step), (*case.args, np.random.default_rng(1)))
        if not isinstance(outcome.error, ValueError):
            came = f"returned  {show(outcome.value)}"
            if outcome.error is not None:
                came = f"raised    {error_text(outcome.error)}"
            raise CheckFailed(f"✗ {case.text}\n  {came}\n  wanted    ValueError, since {why}")
    print("✓ speculative_step, edges: impossible tokens never come out; wrong rows are refused.")


def _check_possible(case: Step, tokens: tuple) -> None:
    """Raise CheckFailed when a token came out that its row of the target gives no chance."""
    if not 1 <= len(tokens) <= len(case.p):
        raise CheckFailed(
            f"✗ {case.text}\n  returned  {list(tokens)}\n  wanted    1 to {len(case.p)} tokens"
        )
    for place, token in enumerate(tokens):
        if not case.p[place][token]:
            cause = ""
            if place < len(case.draft) and token == case.draft[place]:
                cause = (
                    "\nLikely cause: u <= ratio keeps a token of ratio 0 when u is 0. "
                    "Write u < ratio."
                )
            raise CheckFailed(
                f"✗ {case.text}\n  returned  {list(tokens)} for some u\n"
                f"  wanted    never token {token}: the target gives it chance 0{cause}"
            )


# --- process_logits ----------------------------------------------------------------------------


def _process(logits, temperature, top_p) -> list:
    if temperature == 0:
        return np.eye(len(logits))[int(np.argmax(logits))].tolist()
    return keep_top_p(_softmax(np.asarray(logits, dtype=float) / temperature), top_p).tolist()


def _at_zero(rule: Callable) -> Callable:
    """Make a wrong process_logits from a rule for T > 0; T = 0 is right."""
    return lambda x, t, top_p: _process(x, 0, top_p) if t == 0 else rule(x, t, top_p)


def _naive(x, temperature, top_p):
    e = np.exp(np.asarray(x, dtype=float) / temperature)
    return keep_top_p(e / e.sum(), top_p).tolist()


def _cut(probs, top_p) -> list:
    return keep_top_p(np.asarray(probs), top_p).tolist()


PROCESS_MISTAKES = [
    Mistake(
        "the logits are multiplied by the temperature. Divide.",
        _at_zero(lambda x, t, top_p: _cut(_softmax(np.multiply(x, t)), top_p)),
    ),
    Mistake(
        "the temperature is not used. Divide the logits by it.",
        _at_zero(lambda x, t, top_p: _cut(_softmax(x), top_p)),
    ),
    Mistake(
        "top_p is not used. Give the probabilities to keep_top_p.",
        _at_zero(lambda x, t, top_p: _process(x, t, 1)),
    ),
    Mistake(
        "top_p comes before the temperature. Divide by the temperature first, cut afterwards.",
        _at_zero(lambda x, t, top_p: _scaled(np.power(keep_top_p(_softmax(x), top_p), 1 / t))),
    ),
    Mistake(
        "the temperature divides the probabilities. Divide the logits, before exp.",
        _at_zero(lambda x, t, top_p: _cut(_softmax(x) / t, top_p)),
    ),
    Mistake(
        "exp of large logits is infinite. Subtract the largest logit first: same result.",
        _at_zero(_naive),
    ),
    Mistake(
        "the result does not sum to 1. Divide by the sum after exp.",
        _at_zero(lambda x, t, top_p: np.exp((np.asarray(x, dtype=float) - np.max(x)) / t).tolist()),
    ),
    Mistake(
        "temperature 0 divides by zero. Put all on the largest logit there.",
        lambda x, t, top_p: _cut(_softmax(np.divide(x, t)), top_p),
    ),
    Mistake(
        "several equally large logits share at temperature 0. The first one gets all.",
        lambda x, t, top_p: _scaled(np.equal(x, np.max(x))) if t == 0 else _process(x, t, top_p),
    ),
    Mistake(
        "at temperature 0 it takes the last of several equally large logits. Take the first.",
        lambda x, t, top_p: (
            np.eye(len(x))[len(x) - 1 - int(np.argmax(np.asarray(x)[::-1]))].tolist()
            if t == 0
            else _process(x, t, top_p)
        ),
    ),
    Mistake(
        "temperature 0 is treated as 1. It puts all on the largest logit.",
        lambda x, t, top_p: _process(x, t or 1, top_p),
    ),
]


def _process_case(logits, temperature, top_p) -> Case:
    return Case((logits, temperature, top_p), _process(logits, temperature, top_p))


T_WHY = "the temperature is negative"
PROCESS_CASES = [
    _process_case([1.0, 0.0, -1.0], 1, 1),
    _process_case([1.0, 0.0, -1.0], 0.5, 1),
    _process_case([0.2, 1.1, -0.4, 2.0], 2.0, 1),
    _process_case([2.0, 1.5, 0.0, -1.0], 1, 0.8),
    _process_case([2.0, 1.5, 0.0, -1.0], 3.0, 0.8),
    _process_case(np.array([0.0, 1.0, 3.0]), 0, 1),
    _process_case([2.0, 5.0, 5.0], 0, 0.9),
    _process_case([1000.0, 999.0, 0.0], 1, 1),
    Case(([1.0, 0.0], -0.5, 1), ValueError, T_WHY),
    Case(([1.0, 0.0], 1, 0), ValueError, "top_p is 0, and nothing would be left"),
    Case(([1.0, 0.0], 1, 1.5), ValueError, "top_p is above 1"),
]


def check_process_logits(process_logits, cases=PROCESS_CASES) -> None:
    """Check temperature, top-p in this order, temperature 0, large logits, and bad values."""
    run_cases(
        "process_logits",
        _tidy(process_logits),
        cases,
        _tidied(PROCESS_MISTAKES),
        "Temperature 0 is greedy decoding.",
    )


# --- speculative_sample ------------------------------------------------------------------------


def table_model(name: str, rows: Sequence, temperature: float = 1.0) -> Callable:
    """Make a model from rows of chances, chosen by the last token; at `temperature` it has them."""
    logits = [
        [temperature * float(np.log(x)) if x else -1000.0 * temperature for x in row]
        for row in rows
    ]

    def model(token_ids):
        return list(logits[token_ids[-1] % len(rows)])

    model.__name__ = name
    return model


QUARTERS_P = [[0.5, 0.25, 0.25], [0.25, 0.25, 0.5], [0.25, 0.75, 0.0]]
QUARTERS_Q = [[0.25, 0.25, 0.5], [0.5, 0.5, 0.0], [0.5, 0.25, 0.25]]
HALVES_P = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]
HALVES_Q = [[0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]
TAIL_P = [[0.24, 0.26, 0.26, 0.24], [0.26, 0.24, 0.24, 0.26]]  # cut to two tokens, halves
TAIL_Q = [[0.1, 0.5, 0.3, 0.1], [0.3, 0.1, 0.1, 0.5]]  # cut to one token
PAIR = (table_model("draft", QUARTERS_Q), table_model("target", QUARTERS_P))
WARM_PAIR = (table_model("draft", QUARTERS_Q, 4), table_model("target", QUARTERS_P, 4))
HALVES_PAIR = (table_model("draft", HALVES_Q), table_model("target", HALVES_P))
TAIL_PAIR = (table_model("draft", TAIL_Q), table_model("target", TAIL_P))


@dataclass(frozen=True)
class Sample:
    """One call of speculative_sample: its arguments, and the grid or the seed of its numbers."""

    draft_model: Callable
    target_model: Callable
    prompt: list
    n_tokens: int
    k: int
    temperature: float = 1
    top_p: float = 1
    grid: int = 2
    on_grid = False  # another honest q is right too, with other chances on the way

    @property
    def scripts(self) -> list[list[float]]:
        """Return one list of random numbers, enough for the text."""
        return [np.random.default_rng(4).random(60).tolist()]

    @property
    def args(self):
        return (
            self.draft_model,
            self.target_model,
            self.prompt,
            self.n_tokens,
            self.k,
            self.temperature,
            self.top_p,
        )

    @property
    def text(self) -> str:
        return (
            f"speculative_sample(draft, target, {show(self.prompt)}, n_tokens={self.n_tokens}, "
            f"k={self.k}, temperature={self.temperature}, top_p={self.top_p})"
        )

    def wanted(self) -> dict:
        """Return the target's own law of n_tokens tokens."""
        law = {(): 1.0}
        for _ in range(self.n_tokens):
            longer = {}
            for tokens, chance in law.items():
                logits = self.target_model([*self.prompt, *tokens])
                for token, p in enumerate(_process(logits, self.temperature, self.top_p)):
                    if p:
                        longer[(*tokens, token)] = chance * p
            law = longer
        return law


SAMPLE_TEXTS = [
    Sample(*PAIR, [1], 6, 2),
    Sample(*WARM_PAIR, [1, 0], 6, 2, temperature=4),
    Sample(*TAIL_PAIR, [2], 4, 2, top_p=0.5),
    Sample(*HALVES_PAIR, [1], 2, 0),
    Sample(*PAIR, [0], 3, 1, temperature=0),
    Sample(*PAIR, [0, 2], 0, 3),
]
SAMPLE_CASES = [
    Sample(*PAIR, [1], 1, 1, grid=4),
    Sample(*WARM_PAIR, [1, 0], 1, 1, temperature=4, grid=4),
    Sample(*TAIL_PAIR, [2], 1, 1, top_p=0.5),
    Sample(*PAIR, [0], 1, 1, temperature=0),
    Sample(*HALVES_PAIR, [0], 2, 1),
]


def _generator(
    q_of: Callable | None = None,
    reported: Callable | None = None,
    p_of: Callable | None = None,
    pick: Callable | None = None,
    asked: Callable | None = None,
    step: Callable | None = None,
) -> Callable:
    """Make a sampler from its decisions; the defaults are the right ones.

    q_of, p_of  (logits, temperature, top_p) -> the distribution of the draft, of the target
    reported    the same for the draft distribution that is passed on to the step
    pick        (q, rng) -> the drafted token
    asked       (sequence, draft, i) -> the text after which the target is asked for row i
    """
    q_of = q_of or _process
    reported = reported or q_of
    p_of = p_of or _process
    pick = pick or draw
    asked = asked or (lambda sequence, draft, i: sequence + draft[:i])
    step = step or rounds()

    def generate(draft_model, target_model, prompt, n_tokens, k, temperature, top_p, rng):
        sequence = list(prompt)
        while len(sequence) < len(prompt) + n_tokens:
            draft, rows = [], []
            for _ in range(k):
                logits = draft_model(sequence + draft)
                draft.append(pick(q_of(logits, temperature, top_p), rng))
                rows.append(reported(logits, temperature, top_p))
            p = [
                p_of(target_model(asked(sequence, draft, i)), temperature, top_p)
                for i in range(k + 1)
            ]
            sequence += step(draft, rows, p, rng)
        return sequence[len(prompt) :][:n_tokens]

    return generate


def _raw(logits, temperature, top_p) -> list:
    return _softmax(logits).tolist()


SAMPLE_MISTAKES = [
    Mistake(
        "the q that reaches speculative_step is not the one that the token was drawn from. Draw "
        "from process_logits of the draft's logits, and pass on that same q.",
        _generator(reported=_raw),
    ),
    Mistake(
        "the target's logits are not processed. Use process_logits for both models.",
        _generator(p_of=_raw),
    ),
    Mistake(
        "temperature and top_p are not used. Pass them on to process_logits.",
        _generator(q_of=_raw, p_of=_raw),
    ),
    Mistake(
        "top_p is not used. Pass it on to process_logits.",
        _generator(
            q_of=lambda x, t, top_p: _process(x, t, 1), p_of=lambda x, t, top_p: _process(x, t, 1)
        ),
    ),
    Mistake(
        "the draft takes its likeliest token, but q is passed on as if it were drawn. Draw it.",
        _generator(pick=lambda q, rng: int(np.argmax(q))),
    ),
    Mistake(
        "the target is asked k + 1 times about the same text. Ask after 0, 1, … k guesses.",
        _generator(asked=lambda sequence, draft, i: sequence),
    ),
    Mistake(
        "the target is always asked after all guesses. Ask after 0, 1, … k of them.",
        _generator(asked=lambda sequence, draft, i: sequence + draft),
    ),
    Mistake(
        "drafted tokens come out untested. Give them to speculative_step.",
        _generator(step=lambda draft, q, p, rng: [*draft, draw(p[-1], rng)]),
    ),
]


def check_speculative_sample(
    generate, speculative_step=None, process_logits=None, cases=SAMPLE_CASES, texts=SAMPLE_TEXTS
) -> None:
    """Check texts for scripted random numbers; or else the chance of every text; and errors."""
    try:
        given = _scripted(generate, texts)
        _check_lengths(texts, given)
        laws = _laws(generate, SAMPLE_MISTAKES, cases, given, scripted=texts)
    except _Stopped as stopped:
        cause = _sample_helpers(generate, speculative_step, process_logits)
        raise CheckFailed(f"{stopped}\n{cause}".rstrip()) from None
    found = list(zip(cases, laws, strict=True))
    for case, law in found:
        if law.fits(case.wanted()):
            continue
        helpers = _sample_helpers(generate, speculative_step, process_logits)
        raise CheckFailed(
            f"✗ {case.text}\n  emits     {_law_lines(law.chances)}\n"
            f"  wanted    {_law_lines(case.wanted())}\n{helpers or _sample_cause(found)}".rstrip()
        )
    for n_tokens, k in [(-1, 2), (2, -1)]:
        case = Sample(*PAIR, [0], n_tokens, k)
        outcome = call(generate, (*case.args, np.random.default_rng(1)))
        if not isinstance(outcome.error, ValueError):
            negative = "n_tokens" if n_tokens < 0 else "k"
            came = error_text(outcome.error) if outcome.error else show(outcome.value)
            raise CheckFailed(
                f"✗ {case.text}\n  gave      {came}\n"
                f"  wanted    ValueError, since {negative} is negative"
            )
    print(f"✓ speculative_sample: {len(texts)} texts, each with the target's chances.")


def _check_lengths(cases, outcomes) -> None:
    """Raise CheckFailed when an outcome is no text of its case's n_tokens tokens."""
    for case, tokens in zip(cases, outcomes, strict=True):
        whole = len(case.prompt) + case.n_tokens
        if tokens is None or len(tokens) == case.n_tokens:
            continue
        cause = ""
        if len(tokens) == whole and list(tokens[: len(case.prompt)]) == case.prompt:
            cause = "\nLikely cause: the prompt is returned too. Return the new tokens only."
        elif len(tokens) > case.n_tokens:
            cause = "\nLikely cause: the last round's extra tokens are returned. Cut them off."
        raise CheckFailed(
            f"✗ {case.text}\n  returned  {list(tokens)}\n"
            f"  wanted    exactly {case.n_tokens} tokens{cause}"
        )


def _sample_helpers(generate, speculative_step, process_logits) -> str:
    if speculative_step is not None:
        try:
            with _quiet():
                check_speculative_step(speculative_step)
        except (CheckFailed, NotWrittenYet):
            return BROKEN_HELPERS.format("speculative_step")
    return blame_helper(
        generate,
        process_logits,
        "process_logits",
        [c for c in PROCESS_CASES if not c.wants_error],
        BROKEN_HELPERS.format("process_logits"),
    )


def _quiet():
    return contextlib.redirect_stdout(io.StringIO())


def _sample_cause(found) -> str:
    fitting = [m for m in SAMPLE_MISTAKES if all(_same_law(m, case, law) for case, law in found)]
    return f"Likely cause: {fitting[0].cause}" if len(fitting) == 1 else ""


@dataclass(frozen=True)
class Perfect:
    """A call with a draft that equals the target: every guess is kept, so passes are known."""

    n_tokens: int
    k: int
    passes: int


PERFECT_CASES = [Perfect(6, 2, 2), Perfect(7, 2, 3), Perfect(5, 4, 1), Perfect(4, 1, 2)]


def check_speculative_sample_rounds(
    generate, speculative_step=None, process_logits=None, cases=PERFECT_CASES
) -> None:
    """Check the number of passes with a perfect draft: every guess is kept, with a bonus."""
    model = table_model("target", QUARTERS_P)
    for case in cases:
        calls = CountedPair(model, model, budget=400)
        sample = Sample(calls.draft, calls.target, [0], case.n_tokens, case.k)
        text = f"{sample.text}, with draft = target"
        try:
            with _no_warnings():
                tokens = _runner(generate, sample)(np.random.default_rng(11))
        except _Stopped as stopped:
            cause = _sample_helpers(generate, speculative_step, process_logits)
            raise CheckFailed(f"{stopped}\n{cause}".rstrip()) from None
        if len(tokens) < case.n_tokens:
            raise CheckFailed(f"✗ {text}\n  returned  {list(tokens)}\nFirst repair the text.")
        if calls.passes != case.passes or not calls.draft_calls:
            cause = _sample_helpers(generate, speculative_step, process_logits)
            raise CheckFailed(
                f"✗ {text}\n  took      {calls.passes} passes, {calls.draft_calls} draft calls\n"
                f"  wanted    {case.passes} passes\n{cause or _pass_cause(case, calls)}".rstrip()
            )
        if calls.draft_calls > case.k * case.passes:
            raise CheckFailed(
                f"✗ {text}\n  took      {calls.draft_calls} draft calls\n"
                f"  wanted    at most {case.k} a pass, {case.k * case.passes} in all"
            )
    print(f"✓ speculative_sample, rounds: {len(cases)} texts in as few passes as can be.")


def _pass_cause(case: Perfect, calls: CountedPair) -> str:
    if not calls.draft_calls:
        return "The draft was never asked. Draft k tokens, then test them in one pass."
    if calls.repeats:
        return "The draft was asked twice about the same text. Feed each guess back."
    if calls.passes == case.n_tokens:
        return "Each round adds one token only. Add all that speculative_step returns."
    steps = {b - a for a, b in zip(calls.starts, calls.starts[1:], strict=False)}
    if steps == {case.k}:
        return "The bonus is lost: with all guesses kept, a round adds k + 1 tokens."
    return "A draft that equals the target has every guess kept, and a bonus after them."
