"""Three ways to check a function that draws random numbers, from the cheapest to the widest.

Scripted numbers: a function that takes its numbers in the usual order is known by what it gives for
a few of them, chosen close to every edge.

The exact law: a generator that hands out the midpoints of an even grid, one combination after the
other, shows every way that a function can go. When all chances are multiples of the grid's step,
the counts are the exact law, in whatever order the function takes its numbers.

Seeded runs and a chi-square, for numbers of another kind, with a bound on false alarms.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np

FALSE_ALARM = 1e-6
MAX_RUNS = 3_000
JUST = 1e-6  # how far beside an edge a scripted number lies
TOO_MANY = {"more random numbers than can be counted": 1.0}


class GridRandom(np.random.Generator):
    """Random numbers from the grid (i + offset) / n, chosen by digits, and then by i = 0.

    `used` lists the i of all numbers taken; `off_grid` tells that another kind was asked for.
    """

    def __init__(self, n: int, offset: float = 0.5):
        super().__init__(np.random.PCG64(0))
        self.n, self.offset = n, offset
        self.off_grid = False
        self.restart([])

    def restart(self, digits: list[int]) -> None:
        """Begin a new run, whose numbers start with these digits."""
        self._digits = digits
        self.used: list[int] = []

    def _next(self) -> float:
        place = len(self.used)
        digit = self._digits[place] if place < len(self._digits) else 0
        self.used.append(digit)
        return (digit + self.offset) / self.n

    def random(self, size=None, dtype=np.float64, out=None):
        """Return one number, or an array of them."""
        if size is None:
            return self._next()
        return np.array([self._next() for _ in range(int(np.prod(size)))]).reshape(size)

    def uniform(self, low=0.0, high=1.0, size=None):
        """Return numbers between low and high."""
        return low + (high - low) * self.random(size)

    def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True):
        """Return one item by the inverse of the running sums of p."""
        items = np.arange(a) if np.ndim(a) == 0 else np.asarray(a)
        p = np.full(len(items), 1 / len(items)) if p is None else np.asarray(p, dtype=float)
        if size is None:
            return items[self._index(p)]
        picked = [items[self._index(p)] for _ in range(int(np.prod(size)))]
        return np.array(picked).reshape(size)

    def multinomial(self, n, pvals, size=None):
        """Return the counts of n draws."""
        counts = np.zeros(len(pvals), dtype=int)
        for _ in range(n):
            counts[self._index(np.asarray(pvals, dtype=float))] += 1
        return counts

    def _index(self, p) -> int:
        sums = np.cumsum(p)
        return int(np.searchsorted(sums, self._next() * sums[-1], side="right"))


class ScriptedRandom(GridRandom):
    """Random numbers from a list, then 0.5 for ever."""

    def __init__(self, numbers):
        super().__init__(2)
        self._numbers = iter(numbers)

    def _next(self) -> float:
        return next(self._numbers, 0.5)


def _off_grid(name: str):
    def method(self, *args, **kwargs):
        self.off_grid = True
        return getattr(super(GridRandom, self), name)(*args, **kwargs)

    method.__name__ = name
    return method


for _name in ("integers", "exponential", "standard_exponential", "gumbel", "normal",
              "standard_normal", "geometric", "binomial", "permutation", "dirichlet"):  # fmt: skip
    setattr(GridRandom, _name, _off_grid(_name))


def outcome_of(run: Callable, numbers: Sequence[float]):
    """Return run(rng) for a list of random numbers; None when it asked for another kind."""
    rng = ScriptedRandom(numbers)
    outcome = run(rng)
    return None if rng.off_grid else outcome


def beside_edges(probs) -> list[float]:
    """Return numbers just below and just above every edge between two tokens that can be drawn."""
    edges = np.cumsum(probs)[:-1]
    inside = sorted({float(edge) for edge in edges if 0 < edge < 1})
    return [edge + side for edge in inside for side in (-JUST, JUST)] or [0.5]


def exact_law(run: Callable, n: int, offset: float = 0.5) -> dict | None:
    """Return {outcome: chance} of run(rng) over all numbers of a grid of n.

    run  a function of a random generator; its outcome must be hashable
    Returns None when it asked for random numbers that lie on no grid, such as exponential ones,
    and TOO_MANY when it takes so many that not all combinations can be run.
    """
    law: dict = defaultdict(float)
    digits: list[int] = []
    rng = GridRandom(n, offset)
    for _ in range(MAX_RUNS):
        rng.restart(digits)
        outcome = run(rng)
        if rng.off_grid:
            return None
        law[outcome] += float(n) ** -len(rng.used)
        digits = rng.used
        while digits and digits[-1] == n - 1:
            digits.pop()
        if not digits:
            return dict(law)
        digits[-1] += 1
    return TOO_MANY


def sampled_law(run: Callable, runs: int, seed: int) -> dict:
    """Return {outcome: share} of run(rng) over seeded runs."""
    rng = np.random.default_rng(seed)
    counts = Counter(run(rng) for _ in range(runs))
    return {outcome: number / runs for outcome, number in counts.items()}


def chi_square(law: dict, wanted: dict, runs: int) -> float:
    """Return Pearson's statistic of shares over so many runs; infinite where nothing can be."""
    if any(share > 0 and not wanted.get(outcome) for outcome, share in law.items()):
        return math.inf
    gaps = (
        (law.get(outcome, 0) - chance) ** 2 / chance for outcome, chance in wanted.items() if chance
    )
    return runs * sum(gaps)


def allowed_chi_square(wanted: dict, runs: int) -> float:
    """Return what a right function's statistic exceeds with a chance of at most FALSE_ALARM.

    By Bernstein's inequality for the count of each outcome, and the sum of their chances: it holds
    for every number of runs, where the usual table holds only for many.
    """
    chances = [chance for chance in wanted.values() if chance]
    log_odds = math.log(2 * len(chances) / FALSE_ALARM)
    return sum(deviation(p, runs, log_odds) ** 2 / (runs * p) for p in chances)


def deviation(chance: float, runs: int, log_odds: float) -> float:
    """Return how far a count lies from runs * chance, at most, but for 2 * exp(-log_odds)."""
    third = log_odds / 3
    return third + math.sqrt(third**2 + 2 * runs * chance * (1 - chance) * log_odds)


def distance(law: dict, other: dict) -> float:
    """Return the sum of |law - other| over all outcomes."""
    return sum(abs(law.get(o, 0) - other.get(o, 0)) for o in {*law, *other})
