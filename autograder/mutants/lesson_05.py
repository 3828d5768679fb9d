"""Lesson 5, when it pays: wrong answers, commonest first, and odd ones that are right."""

from autograder.mutants import Mutant, OddButRight

CHECKED = """
    if c < 0 or verify_cost <= 0:
        raise ValueError("a cost")"""


def _speedup(name, formula, message):
    """Return a mutant of speedup that differs in its formula."""
    code = f"""
def speedup(a, k, c, verify_cost=1.0):{CHECKED}
    return {formula}
"""
    return Mutant("speedup", name, code, message)


SPEEDUP = [
    _speedup(
        "leaves drafting out",
        "expected_tokens(a, k) / verify_cost",
        r"cost of drafting is left out",
    ),
    _speedup(
        "counts one draft step",
        "expected_tokens(a, k) / (c + verify_cost)",
        r"only one draft step is counted",
    ),
    _speedup(
        "counts k + 1 draft steps",
        "expected_tokens(a, k) / ((k + 1) * c + verify_cost)",
        r"k \+ 1 draft steps are counted",
    ),
    _speedup(
        "pays the pass for each place",
        "expected_tokens(a, k) / (k * c + (k + 1) * verify_cost)",
        r"verification is counted k \+ 1 times",
    ),
    _speedup(
        "counts accepted tokens only",
        "(expected_tokens(a, k) - 1) / (k * c + verify_cost)",
        r"only accepted guesses are counted",
    ),
    _speedup(
        "never uses verify_cost",
        "expected_tokens(a, k) / (k * c + 1)",
        r"verify_cost is not used",
    ),
    _speedup(
        "turns the fraction over",
        "(k * c + verify_cost) / expected_tokens(a, k)",
        r"upside down",
    ),
    _speedup(
        "takes every guess for right",
        "(k + 1) / (k * c + verify_cost)",
        r"need every guess to be right",
    ),
    _speedup(
        "multiplies the whole round by verify_cost",
        "expected_tokens(a, k) / ((k * c + 1) * verify_cost)",
        r"verify_cost multiplies the whole round",
    ),
    _speedup(
        "forgets the brackets",
        "expected_tokens(a, k) / k * c + verify_cost if k else 1 / verify_cost",
        r"returned ",
    ),
    Mutant(
        "speedup",
        "takes any cost",
        """
def speedup(a, k, c, verify_cost=1.0):
    return expected_tokens(a, k) / (k * c + verify_cost)
""",
        r"wanted +ValueError, since c is a cost",
    ),
    Mutant(
        "speedup",
        "allows a pass that costs nothing",
        """
def speedup(a, k, c, verify_cost=1.0):
    if c < 0 or verify_cost < 0:
        raise ValueError("a cost")
    return expected_tokens(a, k) / (k * c + verify_cost)
""",
        r"wanted +ValueError, since a pass costs something",
    ),
    Mutant(
        "speedup",
        "asks for verify_cost always",
        """
def speedup(a, k, c, verify_cost):
    if c < 0 or verify_cost <= 0:
        raise ValueError("a cost")
    return expected_tokens(a, k) / (k * c + verify_cost)
""",
        r"raised +TypeError",
    ),
    Mutant(
        "speedup",
        "refuses a draft that costs nothing",
        """
def speedup(a, k, c, verify_cost=1.0):
    if c <= 0 or verify_cost <= 0:
        raise ValueError("a cost")
    return expected_tokens(a, k) / (k * c + verify_cost)
""",
        r"speedup\(0\.75, 3, 0, 2\.0\)\n +raised +ValueError",
    ),
]

OPTIMAL_K = [
    Mutant(
        "optimal_k",
        "never tries k = 0",
        """
def optimal_k(a, c, k_max):
    if k_max < 0:
        raise ValueError("k_max")
    return max(range(1, k_max + 1), key=lambda k: speedup(a, k, c), default=0)
""",
        r"k = 0 is never tried",
    ),
    Mutant(
        "optimal_k",
        "never tries k_max",
        """
def optimal_k(a, c, k_max):
    if k_max < 0:
        raise ValueError("k_max")
    best = 0
    for k in range(k_max):
        if speedup(a, k, c) > speedup(a, best, c) + 1e-12:
            best = k
    return best
""",
        r"k_max itself is never tried",
    ),
    Mutant(
        "optimal_k",
        "the largest of equals",
        """
def optimal_k(a, c, k_max):
    if k_max < 0:
        raise ValueError("k_max")
    best = 0
    for k in range(k_max + 1):
        if speedup(a, k, c) >= speedup(a, best, c):
            best = k
    return best
""",
        r"of equally fast k it returns the largest",
    ),
    Mutant(
        "optimal_k",
        "loses a tie to rounding",
        """
def optimal_k(a, c, k_max):
    if k_max < 0:
        raise ValueError("k_max")
    return max(range(k_max + 1), key=lambda k: speedup(a, k, c))
""",
        r"a tie is lost to rounding",
    ),
    Mutant(
        "optimal_k",
        "takes the most tokens a pass",
        """
def optimal_k(a, c, k_max):
    if k_max < 0 or c < 0:
        raise ValueError("range")
    best = 0
    for k in range(k_max + 1):
        if expected_tokens(a, k) > expected_tokens(a, best) + 1e-12:
            best = k
    return best
""",
        r"tokens a pass are compared, not speedups",
    ),
    Mutant(
        "optimal_k",
        "the slowest",
        """
def optimal_k(a, c, k_max):
    if k_max < 0:
        raise ValueError("k_max")
    speeds = [round(speedup(a, k, c), 12) for k in range(k_max + 1)]
    return speeds.index(min(speeds))
""",
        r"returns the slowest k",
    ),
    Mutant(
        "optimal_k",
        "returns the speedup",
        """
def optimal_k(a, c, k_max):
    if k_max < 0:
        raise ValueError("k_max")
    return max(speedup(a, k, c) for k in range(k_max + 1))
""",
        r"returns the speedup",
    ),
    Mutant(
        "optimal_k",
        "compares the next guess with c alone",
        """
def optimal_k(a, c, k_max):
    speedup(a, 0, c)
    if k_max < 0:
        raise ValueError("k_max")
    k = 0
    while k < k_max and a ** (k + 1) > c:
        k += 1
    return k
""",
        r"compared with c alone",
    ),
    Mutant(
        "optimal_k",
        "pays for drafting once",
        """
def optimal_k(a, c, k_max):
    speedup(a, 0, c)
    if k_max < 0:
        raise ValueError("k_max")
    speeds = [1.0] + [expected_tokens(a, k) / (1 + c) for k in range(1, k_max + 1)]
    return speeds.index(max(speeds))
""",
        r"drafting is counted once",
    ),
    Mutant(
        "optimal_k",
        "always the longest",
        """
def optimal_k(a, c, k_max):
    speedup(a, 0, c)
    if k_max < 0:
        raise ValueError("k_max")
    return k_max
""",
        r"the longest draft wins",
    ),
    Mutant(
        "optimal_k",
        "takes a negative k_max",
        """
def optimal_k(a, c, k_max):
    best = 0
    for k in range(1, k_max + 1):
        if speedup(a, k, c) > speedup(a, best, c) + 1e-12:
            best = k
    return best
""",
        r"wanted +ValueError, since k_max is negative",
    ),
    Mutant(
        "optimal_k",
        "stops at the first k that loses against none",
        """
def optimal_k(a, c, k_max):
    if k_max < 0:
        raise ValueError("k_max")
    k = 0
    while k < k_max and speedup(a, k + 1, c) > 1:
        k += 1
    return k
""",
        r"returned ",
    ),
]

_VALID = """
    if len(accepted) != len(drafted) or sum(drafted) == 0:
        raise ValueError("log")
    if any(a < 0 or a > d for a, d in zip(accepted, drafted)):
        raise ValueError("log")"""


def _estimate(name, numbers, message, before=""):
    """Return a mutant of estimate_acceptance that differs in the three numbers."""
    code = f"""
def estimate_acceptance(accepted, drafted):{_VALID}
    total, rounds = sum(accepted), len(accepted)
    rejections = sum(a < d for a, d in zip(accepted, drafted)){before}
    return {numbers}
"""
    return Mutant("estimate_acceptance", name, code, message)


_RATE, _LENGTH, _ALPHA = (
    "total / sum(drafted)",
    "(total + rounds) / rounds",
    "total / (total + rejections)",
)
ESTIMATE = [
    _estimate(
        "a rejection in every round",
        f"{_RATE}, {_LENGTH}, total / (total + rounds)",
        r"alpha counts a rejection in every round",
    ),
    _estimate(
        "takes the rate for alpha",
        f"{_RATE}, {_LENGTH}, {_RATE}",
        r"alpha is the acceptance rate once more",
    ),
    _estimate(
        "leaves out the target's own token",
        f"{_RATE}, total / rounds, {_ALPHA}",
        r"mean acceptance length leaves out",
    ),
    _estimate(
        "counts the target's own tokens in the rate",
        f"(total + rounds) / sum(drafted), {_LENGTH}, {_ALPHA}",
        r"acceptance rate counts the target's own tokens",
    ),
    _estimate(
        "the mean of the rounds' rates",
        f"sum(a / d for a, d in zip(accepted, drafted) if d) / rounds, {_LENGTH}, {_ALPHA}",
        r"mean of the rounds' rates",
    ),
    _estimate(
        "a rejection is a round of none",
        f"{_RATE}, {_LENGTH}, total / (total + sum(a == 0 for a in accepted))",
        r"a rejection is counted where a round accepted nothing",
    ),
    _estimate(
        "compares with the longest draft",
        f"{_RATE}, {_LENGTH}, total / (total + sum(a < max(drafted) for a in accepted))",
        r"fewer than the longest round",
    ),
    _estimate(
        "the share of rounds without a rejection",
        f"{_RATE}, {_LENGTH}, 1 - rejections / rounds",
        r"share of rounds without a rejection",
    ),
    _estimate(
        "another order",
        f"{_ALPHA}, {_LENGTH}, {_RATE}",
        r"the three are in another order",
    ),
    _estimate(
        "a length per drafted token",
        f"{_RATE}, (total + rounds) / sum(drafted), {_ALPHA}",
        r"divides by the drafted tokens",
    ),
    _estimate(
        "returns alpha alone",
        _ALPHA,
        r"a list is wanted",
    ),
    Mutant(
        "estimate_acceptance",
        "takes any log",
        """
def estimate_acceptance(accepted, drafted):
    total, rounds = sum(accepted), len(accepted)
    rejections = sum(a < d for a, d in zip(accepted, drafted))
    if sum(drafted) == 0:
        raise ValueError("nothing drafted")
    return total / sum(drafted), 1 + total / rounds, total / (total + rejections)
""",
        r"wanted +ValueError, since the lists differ in length",
    ),
    Mutant(
        "estimate_acceptance",
        "divides by zero where nothing was drafted",
        """
def estimate_acceptance(accepted, drafted):
    if len(accepted) != len(drafted):
        raise ValueError("lengths")
    if any(not 0 <= a <= d for a, d in zip(accepted, drafted)):
        raise ValueError("counts")
    total, rounds = sum(accepted), len(accepted)
    rejections = sum(a < d for a, d in zip(accepted, drafted))
    return total / sum(drafted), 1 + total / rounds, total / (total + rejections)
""",
        r"raised +ZeroDivisionError",
    ),
    Mutant(
        "estimate_acceptance",
        "a round without a draft is an error",
        """
def estimate_acceptance(accepted, drafted):
    if len(accepted) != len(drafted) or not all(drafted) or not drafted:
        raise ValueError("lengths")
    if any(not 0 <= a <= d for a, d in zip(accepted, drafted)):
        raise ValueError("counts")
    total, rounds = sum(accepted), len(accepted)
    rejections = sum(a < d for a, d in zip(accepted, drafted))
    return total / sum(drafted), 1 + total / rounds, total / (total + rejections)
""",
        r"\[0, 3, 1\], \[0, 3, 2\]\)\n +raised +ValueError",
    ),
    Mutant(
        "estimate_acceptance",
        "changes its input",
        """
def estimate_acceptance(accepted, drafted):
    if len(accepted) != len(drafted) or sum(drafted) == 0:
        raise ValueError("log")
    if any(a < 0 or a > d for a, d in zip(accepted, drafted)):
        raise ValueError("log")
    total = rounds = rejections = guesses = 0
    while accepted:
        a, d = accepted.pop(), drafted.pop()
        total, rounds, guesses = total + a, rounds + 1, guesses + d
        rejections += a < d
    return total / guesses, 1 + total / rounds, total / (total + rejections)
""",
        r"changed its input",
    ),
]


def _simulate(name, message, count="matches", note="len(guesses)", step="matches + 1", end=""):
    """Return a mutant of simulate that differs in one of its lines."""
    code = f"""
def simulate(right, k):
    if k < 0:
        raise ValueError("k")
    accepted, drafted, place = [], [], 0
    while place < len(right){end}:
        guesses = right[place : place + k]
        matches = 0
        while matches < len(guesses) and guesses[matches]:
            matches += 1
        accepted.append({count})
        drafted.append({note})
        place += {step}
    return accepted, drafted
"""
    return Mutant("simulate", name, code, message)


SIMULATE = [
    _simulate(
        "forgets the bonus",
        r"target's own token is forgotten",
        step="max(1, matches + (matches < len(guesses)))",
    ),
    _simulate(
        "forgets the target's own token",
        r"token is forgotten: the next round starts after the accepted tokens and that one",
        step="max(1, matches)",
    ),
    _simulate(
        "goes on after all k guesses",
        r"starts after all k guesses",
        step="k + 1",
    ),
    _simulate(
        "counts right guesses after a wrong one",
        r"right guesses after a wrong one are counted",
        count="(matches := sum(map(bool, guesses)))",
    ),
    _simulate(
        "notes k at the end of the text",
        r"last round notes k drafted tokens",
        note="k",
    ),
    _simulate(
        "advances by one",
        r"each round advances by one token only",
        step="1",
    ),
    _simulate(
        "counts the target's own token",
        r"counted as accepted",
        count="matches + 1",
    ),
    _simulate(
        "all or nothing",
        r"all or nothing",
        count="(matches := len(guesses) if all(guesses) else 0)",
    ),
    _simulate(
        "leaves the last short round out",
        r"shorter than k, is left out",
        end=" - k + 1",
    ),
    _simulate(
        "notes tested tokens",
        r"notes the tested tokens as drafted",
        note="min(matches + 1, len(guesses))",
    ),
    Mutant(
        "simulate",
        "returns the accepted counts alone",
        """
def simulate(right, k):
    if k < 0:
        raise ValueError("k")
    accepted, place = [], 0
    while place < len(right):
        guesses = list(right[place : place + k]) + [0]
        accepted.append(guesses.index(0))
        place += accepted[-1] + 1
    return accepted
""",
        r"returns the accepted counts alone",
    ),
    Mutant(
        "simulate",
        "a pair for each round",
        """
def simulate(right, k):
    if k < 0:
        raise ValueError("k")
    rounds, place = [], 0
    while place < len(right):
        guesses = list(right[place : place + k])
        matches = (guesses + [0]).index(0)
        rounds.append((matches, len(guesses)))
        place += matches + 1
    return rounds
""",
        r"returns a pair for each round",
    ),
    Mutant(
        "simulate",
        "takes a negative k",
        """
def simulate(right, k):
    accepted, drafted, place = [], [], 0
    while place < len(right):
        guesses = list(right[place : place + max(k, 0)])
        matches = (guesses + [0]).index(0)
        accepted.append(matches)
        drafted.append(len(guesses))
        place += matches + 1
    return accepted, drafted
""",
        r"wanted +ValueError, since k is negative",
    ),
    Mutant(
        "simulate",
        "eats the ticks",
        """
def simulate(right, k):
    if k < 0:
        raise ValueError("k")
    accepted, drafted = [], []
    while right:
        guesses = right[:k]
        matches = (list(guesses) + [0]).index(0)
        accepted.append(matches)
        drafted.append(len(guesses))
        del right[: matches + 1]
    return accepted, drafted
""",
        r"changed its input",
    ),
]


def _break_even(name, message, cost="k * c + verify_cost", tokens="expected_tokens(middle, k)"):
    """Return a mutant of break_even that solves another equation."""
    code = f"""
def break_even(k, c, verify_cost=1.0):
    if k < 0 or c < 0 or verify_cost <= 0:
        raise ValueError("range")
    cost = {cost} - 1e-12
    middle = 1.0
    if {tokens} < cost:
        return None
    middle = 0.0
    if {tokens} >= cost:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if {tokens} >= cost:
            high = middle
        else:
            low = middle
    return high
"""
    return Mutant("break_even", name, code, message)


BREAK_EVEN = [
    _break_even("leaves drafting out", r"cost of drafting is left out", cost="verify_cost"),
    _break_even("leaves the pass out", r"verify_cost is left out", cost="k * c + 1"),
    _break_even("counts one draft step", r"only one draft step", cost="c + verify_cost"),
    _break_even(
        "counts k + 1 draft steps",
        r"k \+ 1 draft steps are counted",
        cost="(k + 1) * c + verify_cost",
    ),
    _break_even(
        "leaves out the target's own token",
        r"target's own token is left out",
        tokens="expected_tokens(middle, k) - 1",
    ),
    _break_even(
        "as if each guess counted by itself",
        r"as if each had chance a",
        tokens="1 + middle * k",
    ),
    Mutant(
        "break_even",
        "1 where nothing is enough",
        """
def break_even(k, c, verify_cost=1.0):
    if speedup(0, k, c, verify_cost) >= 1:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if speedup(middle, k, c, verify_cost) >= 1:
            high = middle
        else:
            low = middle
    return high
""",
        r"where even a = 1 is too little it returns 1",
    ),
    Mutant(
        "break_even",
        "loses the last row to rounding",
        """
def break_even(k, c, verify_cost=1.0):
    if speedup(1, k, c, verify_cost) < 1:
        return None
    if speedup(0, k, c, verify_cost) >= 1:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if speedup(middle, k, c, verify_cost) >= 1 else (middle, high)
    return high
""",
        r"the exact answer is 1, and rounding hides it",
    ),
    Mutant(
        "break_even",
        "two places after the point",
        """
def break_even(k, c, verify_cost=1.0):
    for hundredth in range(101):
        if speedup(hundredth / 100, k, c, verify_cost) >= 1 - 1e-12:
            return hundredth / 100
    return None
""",
        r"returned +0\.38\n +wanted +0\.379949",
    ),
    Mutant(
        "break_even",
        "the wrong half is kept",
        """
def break_even(k, c, verify_cost=1.0):
    if speedup(1, k, c, verify_cost) < 1:
        return None
    if speedup(0, k, c, verify_cost) >= 1:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if speedup(middle, k, c, verify_cost) >= 1:
            low = middle
        else:
            high = middle
    return high
""",
        r"returned ",
    ),
    Mutant(
        "break_even",
        "returns the cost of a round",
        """
def break_even(k, c, verify_cost=1.0):
    speedup(0, k, c, verify_cost)
    return float(k * c + verify_cost)
""",
        r"returns the cost of a round",
    ),
    Mutant(
        "break_even",
        "None where every acceptance pays",
        """
def break_even(k, c, verify_cost=1.0):
    enough = 1 - 1e-12
    if speedup(1, k, c, verify_cost) < enough or k * c + verify_cost <= 1:
        return None
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        good = speedup(middle, k, c, verify_cost) >= enough
        low, high = (low, middle) if good else (middle, high)
    return high
""",
        r"at a = 0 a round still gives one token",
    ),
    Mutant(
        "break_even",
        "takes any cost",
        """
def break_even(k, c, verify_cost=1.0):
    cost = k * c + verify_cost - 1e-12
    if cost > k + 1:
        return None
    if cost <= 1:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if expected_tokens(middle, k) >= cost else (middle, high)
    return high
""",
        r"wanted +ValueError",
    ),
]


def _wrong(answer, *pairs):
    """Return mutants of a one-line answer from pairs (value as code, message)."""
    return [Mutant(answer, value, f"{answer} = {value}", message) for value, message in pairs]


AGAIN = r"Go through the pass once more"
A_NUMBER = r"Give a number, without quotes or brackets"
ANSWERS = [
    *_wrong(
        "todo_next_guess",
        ("2", r"What does the second guess bring"),
        ("0", r"What does the first guess bring"),
        ("3", r"The third guess"),
        ("4", r"once in 16 rounds"),
        ("1.2", r"That is the speedup"),
        ("5", AGAIN),
        ("[1]", A_NUMBER),
    ),
    *_wrong(
        "todo_alpha",
        ("0.75", r"Were all twelve tested"),
        ("3.25", r"mean acceptance length"),
        ("2.25", r"how many a round accepts"),
        ("9 / 13", r"How many rounds have one"),
        ("1", r"One round rejected"),
        ("'0.9'", A_NUMBER),
    ),
    *_wrong(
        "todo_hardly_drafts",
        ("101", r"Plain decoding would need that many"),
        ("82", r"Does a rejected guess save a pass"),
        ("18", r"That many tokens were accepted"),
        ("19", r"That many tokens were drafted"),
        ("6", r"18 tokens a pass"),
        ("5", r"about 20 tokens a pass"),
        ("84", AGAIN),
    ),
    *_wrong(
        "todo_bug_log",
        ("([1, 0, 2, 1], [4, 4, 4, 4])", r"a rate that can be"),
        ("([0], [1])", r"a rate that can be"),
        ("([4, 1], [3, 3])", r"is no log"),
        ("([1, 1], [1])", r"is no log"),
        ("([0], [0])", r"is no log"),
        ("3", r"Give a pair of lists"),
        ("[[3, 3]]", r"Give a pair of lists"),
        ("([0.5], [1])", r"is no log"),
    ),
    *_wrong(
        "todo_batch",
        ("90", r"left for the verification"),
        ("160", r"How many does each text have"),
        ("100", r"It has lost already"),
        ("50", r"stop being free"),
        ("180", r"drafting is forgotten"),
        ("81", AGAIN),
    ),
    *_wrong(
        "todo_rows",
        ("1", r"also for guesses that are thrown away"),
        ("0.8", r"Turned over"),
        ("0.25", r"passes a token"),
        ("20 / 15", r"drafted over accepted"),
        ("25 / 15", r"places over accepted"),
        ("5", r"each emitted token"),
    ),
    *_wrong(
        "quiz_rate_falls",
        ('"A"', r"needs no such cause"),
        ('"C"', r"does not know k"),
        ('"D"', r"keeps the target's text"),
        ('"E"', r'give one of "A", "B", "C", "D"'),
        ("2", r"with the quotes"),
        ("True", r"with the quotes"),
    ),
    *_wrong(
        "quiz_hundred",
        ('"A"', r"against the same target"),
        ('"B"', r"far from always"),
        ('"C"', r"saves hardly a pass"),
        ('"BD"', r'give one of "A", "B", "C", "D"'),
        ("['D']", r"with the quotes"),
        ("4", r"with the quotes"),
    ),
]

MUTANTS = [*SPEEDUP, *OPTIMAL_K, *ESTIMATE, *SIMULATE, *BREAK_EVEN, *ANSWERS]

ODD_SPEEDUP = [
    OddButRight(
        "speedup",
        "own sum, other names",
        """
def speedup(chance, guesses, step, whole_pass=1):
    if not 0 <= chance <= 1 or guesses < 0 or step < 0 or not whole_pass > 0:
        raise ValueError("range")
    tokens = sum(chance ** i for i in range(guesses + 1))
    return tokens / (sum([step] * guesses) + whole_pass)
""",
    ),
    OddButRight(
        "speedup",
        "speed_estimate of lesson 1",
        """
from specdec.reference.lesson_01 import speed_estimate

def speedup(a, k, c, verify_cost=1.0):
    if min(c, verify_cost) < 0 or verify_cost == 0:
        raise ValueError("range")
    return speed_estimate(a, k, c, verify_cost)
""",
    ),
    OddButRight(
        "speedup",
        "NumPy float, turned over twice",
        """
import numpy as np

def speedup(a, k, c, verify_cost=1.0):
    if c < 0:
        raise ValueError("c")
    if verify_cost <= 0:
        raise ValueError("verify_cost")
    return np.float64(1) / ((k * c + verify_cost) / np.float64(expected_tokens(a, k)))
""",
    ),
    OddButRight(
        "speedup",
        "None stands for one pass",
        """
def speedup(a, k, c, verify_cost=None):
    cost = 1.0 if verify_cost is None else verify_cost
    if c < 0 or cost <= 0:
        raise ValueError("range")
    for _ in range(k):
        cost = cost + c
    return expected_tokens(a, k) / cost
""",
    ),
]

ODD_OPTIMAL_K = [
    OddButRight(
        "optimal_k",
        "walks up while the next guess pays",
        """
def optimal_k(a, c, k_max):
    speedup(a, 0, c)
    if k_max < 0:
        raise ValueError("k_max")
    k = 0
    while k < k_max and a ** (k + 1) > c * speedup(a, k, c) + 1e-12:
        k += 1
    return k
""",
    ),
    OddButRight(
        "optimal_k",
        "NumPy argmax of rounded speedups",
        """
import numpy as np

def optimal_k(a, c, k_max):
    if k_max < 0:
        raise ValueError("k_max")
    return np.argmax(np.round([speedup(a, k, c) for k in range(k_max + 1)], 12))
""",
    ),
    OddButRight(
        "optimal_k",
        "max with a key of two",
        """
def optimal_k(a, c, k_max):
    if k_max < 0:
        raise ValueError("k_max")
    return max(range(k_max + 1), key=lambda k: (round(speedup(a, k, c), 11), -k))
""",
    ),
    OddButRight(
        "optimal_k",
        "recursion from above",
        """
def optimal_k(a, c, k_max):
    if k_max < 0:
        raise ValueError("k_max")
    if k_max == 0:
        speedup(a, 0, c)
        return 0
    rest = optimal_k(a, c, k_max - 1)
    return k_max if speedup(a, k_max, c) - speedup(a, rest, c) > 1e-12 else rest
""",
    ),
    OddButRight(
        "optimal_k",
        "its own formula",
        """
def optimal_k(a, c, k_max):
    if not 0 <= a <= 1 or c < 0 or k_max < 0:
        raise ValueError("range")
    best, best_speed, tokens, term = 0, 1.0, 1.0, 1.0
    for k in range(1, k_max + 1):
        term *= a
        tokens += term
        if tokens / (1 + k * c) > best_speed + 1e-12:
            best, best_speed = k, tokens / (1 + k * c)
    return best
""",
    ),
]

ODD_ESTIMATE = [
    OddButRight(
        "estimate_acceptance",
        "counts tested tokens round by round",
        """
def estimate_acceptance(accepted, drafted):
    if len(accepted) != len(drafted):
        raise ValueError("lengths")
    tested = 0
    for a, d in zip(accepted, drafted):
        if a < 0 or a > d:
            raise ValueError("counts")
        tested += min(a + 1, d)
    if not tested:
        raise ValueError("nothing drafted")
    return [sum(accepted) / sum(drafted), 1 + sum(accepted) / len(accepted), sum(accepted) / tested]
""",
    ),
    OddButRight(
        "estimate_acceptance",
        "NumPy arrays",
        """
import numpy as np

def estimate_acceptance(accepted, drafted):
    if len(accepted) != len(drafted):
        raise ValueError("lengths")
    a, d = np.array(accepted), np.array(drafted)
    if d.sum() == 0 or (a < 0).any() or (a > d).any():
        raise ValueError("counts")
    return np.array([a.sum() / d.sum(), (a + 1).mean(), a.sum() / (a.sum() + (a < d).sum())])
""",
    ),
    OddButRight(
        "estimate_acceptance",
        "Fractions until the end",
        """
from fractions import Fraction

def estimate_acceptance(accepted, drafted):
    if len(accepted) != len(drafted) or not any(drafted):
        raise ValueError("log")
    pairs = list(zip(accepted, drafted))
    if any(not 0 <= a <= d for a, d in pairs):
        raise ValueError("counts")
    total = sum(accepted)
    thrown = len([1 for a, d in pairs if a != d])
    numbers = (
        Fraction(total, sum(drafted)),
        1 + Fraction(total, len(pairs)),
        Fraction(total, total + thrown),
    )
    return tuple(float(number) for number in numbers)
""",
    ),
    OddButRight(
        "estimate_acceptance",
        "a named tuple",
        """
from collections import namedtuple

Numbers = namedtuple("Numbers", "rate length alpha")

def estimate_acceptance(accepted, drafted):
    if len(accepted) != len(drafted) or sum(drafted) <= 0:
        raise ValueError("log")
    for i in range(len(accepted)):
        if accepted[i] < 0 or accepted[i] > drafted[i]:
            raise ValueError("counts")
    full = sum(a == d for a, d in zip(accepted, drafted))
    tested = sum(accepted) + len(accepted) - full
    return Numbers(
        sum(accepted) / sum(drafted), (sum(accepted) + len(accepted)) / len(accepted),
        sum(accepted) / tested,
    )
""",
    ),
]

ODD_SIMULATE = [
    OddButRight(
        "simulate",
        "index of the first wrong tick",
        """
def simulate(right, k):
    if k < 0:
        raise ValueError("k")
    accepted, drafted, place = [], [], 0
    while place < len(right):
        guesses = [bool(tick) for tick in right[place : place + k]]
        accepted.append(guesses.index(False) if False in guesses else len(guesses))
        drafted.append(min(k, len(right) - place))
        place += accepted[-1] + 1
    return accepted, drafted
""",
    ),
    OddButRight(
        "simulate",
        "how many follow, from the right end",
        """
def simulate(right, k):
    if k < 0:
        raise ValueError("k")
    ahead = [0] * (len(right) + 1)
    for i in reversed(range(len(right))):
        ahead[i] = ahead[i + 1] + 1 if right[i] else 0
    log, place = [], 0
    while place < len(right):
        log.append((min(ahead[place], k), min(k, len(right) - place)))
        place += log[-1][0] + 1
    return [a for a, _ in log], [d for _, d in log]
""",
    ),
    OddButRight(
        "simulate",
        "recursion",
        """
def simulate(right, k):
    if k < 0:
        raise ValueError("k")
    if not len(right):
        return (), ()
    matches = 0
    for tick in right[:k]:
        if not tick:
            break
        matches += 1
    accepted, drafted = simulate(right[matches + 1 :], k)
    return (matches, *accepted), (min(k, len(right)), *drafted)
""",
    ),
    OddButRight(
        "simulate",
        "NumPy",
        """
import numpy as np

def simulate(right, k):
    if k < 0:
        raise ValueError("k")
    ticks, place, rounds = np.array(right, dtype=bool), 0, []
    while place < ticks.size:
        guesses = ticks[place : place + k]
        matches = int(np.cumprod(guesses).sum())
        rounds.append([matches, guesses.size])
        place += matches + 1
    table = np.array(rounds, dtype=int).reshape(-1, 2)
    return table[:, 0], table[:, 1]
""",
    ),
    OddButRight(
        "simulate",
        "takewhile and an iterator",
        """
from itertools import takewhile

def simulate(right, k):
    if k < 0:
        raise ValueError("k")
    text, log = list(right), [[], []]
    while text:
        guesses = text[:k]
        kept = len(list(takewhile(lambda tick: tick, guesses)))
        log[0].append(kept)
        log[1].append(len(guesses))
        text = text[kept + 1 :]
    return log
""",
    ),
]

ODD_BREAK_EVEN = [
    OddButRight(
        "break_even",
        "roots of a polynomial",
        """
import numpy as np

def break_even(k, c, verify_cost=1.0):
    if k < 0 or c < 0 or verify_cost <= 0:
        raise ValueError("range")
    needed = k * c + verify_cost
    if needed <= 1:
        return 0
    if needed > k + 1 + 1e-12:
        return None
    roots = np.roots([1.0] * k + [1 - needed])
    return min(float(r.real) for r in roots if abs(r.imag) < 1e-9 and -1e-9 < r.real < 1 + 1e-9)
""",
    ),
    OddButRight(
        "break_even",
        "secant steps kept in range",
        """
def break_even(k, c, verify_cost=1.0):
    needed = k * c + verify_cost
    if speedup(1, k, c, verify_cost) < 1 - 1e-12:
        return None
    if needed <= 1:
        return 0.0
    a = 1.0
    for _ in range(200):
        slope = sum(i * a ** (i - 1) for i in range(1, k + 1))
        a -= (expected_tokens(a if a < 1 else 1, k) - needed) / slope
        a = min(max(a, 1e-9), 1.0)
    return a
""",
    ),
    OddButRight(
        "break_even",
        "recursion on the range",
        """
def break_even(k, c, verify_cost=1.0, low=0.0, high=1.0):
    enough = 1 - 1e-12
    if speedup(high, k, c, verify_cost) < enough:
        return None
    if speedup(low, k, c, verify_cost) >= enough:
        return low
    middle = (low + high) / 2
    if high - low < 1e-9:
        return middle
    if speedup(middle, k, c, verify_cost) >= enough:
        return break_even(k, c, verify_cost, low, middle)
    return break_even(k, c, verify_cost, middle, high)
""",
    ),
    OddButRight(
        "break_even",
        "NumPy float by finer and finer grids",
        """
import numpy as np

def break_even(k, c, verify_cost=1.0):
    speedup(0, k, c, verify_cost)
    low, high = 0.0, 1.0
    if expected_tokens(1, k) < k * c + verify_cost - 1e-12:
        return None
    for _ in range(5):
        grid = np.linspace(low, high, 101)
        good = [a for a in grid if speedup(min(a, 1), k, c, verify_cost) >= 1 - 1e-12]
        high = good[0]
        low = max(high - grid[1] + grid[0], 0.0)
    return np.float64(high)
""",
    ),
]


def _right(answer, *values):
    """Return odd but right one-line answers from values as code."""
    return [OddButRight(answer, value, f"{answer} = {value}") for value in values]


ODD_ANSWERS = [
    *_right("todo_next_guess", "1.0", "2 - 1", "len('a')", "__import__('numpy').int64(1)"),
    *_right("todo_alpha", "9 / 10", "1 - 0.1", ".9", "__import__('numpy').float64(0.9)"),
    *_right(
        "todo_hardly_drafts", "101 - 18", "83.0", "sum([80, 3])", "__import__('numpy').int8(83)"
    ),
    *_right(
        "todo_bug_log",
        "[[1], [1]]",
        "((2, 0, 2), (2, 0, 2))",
        "(__import__('numpy').array([3]), __import__('numpy').array([3]))",
        "([0, 0], [1, 0])",
    ),
    *_right("todo_batch", "80.0", "160 // 2", "1.6 * 100 / 2", "__import__('numpy').int64(80)"),
    *_right("todo_rows", "25 / 20", "5 / 4", "1 + 0.25", "__import__('numpy').float64(1.25)"),
    *_right("quiz_rate_falls", "'b'", "' B '", "'ABCD'[1]", 'str("B")'),
    *_right("quiz_hundred", "'d'", "' D '", "'ABCD'[3]", 'str("D")'),
]

ODD_BUT_RIGHT = [
    *ODD_SPEEDUP,
    *ODD_OPTIMAL_K,
    *ODD_ESTIMATE,
    *ODD_SIMULATE,
    *ODD_BREAK_EVEN,
    *ODD_ANSWERS,
]
