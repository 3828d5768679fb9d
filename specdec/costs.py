"""What speculative decoding costs: the papers' tables, a toy machine, recorded ticks, controllers.

All costs are in plain passes: one pass of the target over one place, for one text, costs 1.
"""

import json
from functools import cache
from importlib.resources import files

from specdec.reference.lesson_01 import expected_tokens

TICKS = files("specdec") / "data" / "ticks.json"

# Leviathan et al. 2023 (arXiv 2211.17192), table 1: a, k, arithmetic, speed; c = 0.
LEVIATHAN_1 = [
    (0.6, 2, 1.53, 1.96),
    (0.7, 3, 1.58, 2.53),
    (0.8, 2, 1.23, 2.44),
    (0.8, 5, 1.63, 3.69),
    (0.9, 2, 1.11, 2.71),
    (0.9, 10, 1.60, 6.86),
]

# The same paper, tables 2 and 4, T5-XXL with 11 B weights, one text at a time:
# task, draft, temperature, k, a, c, speed expected by the paper, speed it measured.
LEVIATHAN_2_4 = [
    ("translation", "T5-small", 0, 7, 0.75, 0.02, 3.2, 3.4),
    ("translation", "T5-base", 0, 7, 0.80, 0.04, 3.3, 2.8),
    ("translation", "T5-large", 0, 7, 0.82, 0.11, 2.5, 1.7),
    ("translation", "T5-small", 1, 7, 0.62, 0.02, 2.3, 2.6),
    ("translation", "T5-base", 1, 5, 0.68, 0.04, 2.4, 2.4),
    ("translation", "T5-large", 1, 3, 0.71, 0.11, 2.0, 1.4),
    ("summary", "T5-small", 0, 5, 0.65, 0.02, 2.4, 3.1),
    ("summary", "T5-base", 0, 5, 0.73, 0.04, 2.6, 3.0),
    ("summary", "T5-large", 0, 3, 0.74, 0.11, 2.0, 2.2),
    ("summary", "T5-small", 1, 5, 0.53, 0.02, 1.9, 2.3),
    ("summary", "T5-base", 1, 3, 0.55, 0.04, 1.8, 2.2),
    ("summary", "T5-large", 1, 3, 0.56, 0.11, 1.6, 1.7),
]

# Chen et al. 2023 (arXiv 2302.01318), table 1, Chinchilla 70 B: task, ms a token alone, ms a token
# with the draft, and the speedup it prints. Its sampling is nucleus sampling.
CHEN_1 = [
    ("XSum, sampled", 14.1, 7.52, 1.92),
    ("XSum, greedy", 14.1, 7.00, 2.01),
    ("HumanEval, sampled", 14.1, 5.73, 2.46),
]


def arithmetic_per_token(a, k, c_arithmetic=0.0):
    """Return the arithmetic for one emitted token, where plain decoding needs 1.

    A round computes k + 1 places of the target and k steps of the draft, whose arithmetic is
    c_arithmetic times the target's. Source: Leviathan et al. 2023, theorem 3.11.
    """
    return (k * c_arithmetic + k + 1) / expected_tokens(a, k)


def batch_verify_cost(batch, k, critical):
    """Return the cost of verifying k + 1 places of each text, where a plain pass costs 1.

    batch     number of texts that are decoded together
    critical  places whose arithmetic takes as long as reading all weights once

    A pass costs what takes longer, reading the weights or computing; both passes are of the same
    batch. A model of a machine without any other cost.
    """
    load = batch / critical
    return max(1.0, load * (k + 1)) / max(1.0, load)


@cache
def recorded():
    """Return what was recorded of the course's pair: ticks, costs, machine and date (a dict)."""
    return json.loads(TICKS.read_text(encoding="utf-8"))


def traces(draft: str) -> list[list[int]]:
    """Return the ticks of a draft, one list of 0 and 1 for each text.

    draft  "draft" or "draft_distilled"
    Raises KeyError for another name.
    """
    return [[int(tick) for tick in text] for text in recorded()["traces"][draft]]


def one_log(logs) -> tuple[list, list]:
    """Return the logs of several texts as one: (accepted, drafted), each round after round.

    logs  list of pairs (accepted, drafted), as simulate returns them
    """
    accepted = [count for log in logs for count in log[0]]
    drafted = [count for log in logs for count in log[1]]
    return accepted, drafted


def replay(right, controller, k):
    """Play draft and verify along a text with a k that changes from round to round.

    right       list of 0 and 1, as for simulate
    controller  function (k, accepted, drafted) -> k of the next round; k is that of this round
    k           the first round's

    Returns (accepted, drafted), two lists with one entry a round.
    Raises ValueError when the controller returns a k below 0.
    """
    accepted, drafted, place = [], [], 0
    while place < len(right):
        if k < 0:
            raise ValueError(f"a controller must return 0 or more, it returned {k}")
        guesses = list(right[place : place + k])
        matches = guesses.index(0) if 0 in guesses else len(guesses)
        accepted.append(matches)
        drafted.append(len(guesses))
        place += matches + 1
        k = controller(k, matches, len(guesses))
    return accepted, drafted


def fixed(k, accepted, drafted):
    """Return the same k for the next round."""
    return k


def plus_two_minus_one(k, accepted, drafted):
    """Return k + 2 when all guesses were right, else k - 1, at least 1: the rule of transformers.

    There it steers num_assistant_tokens with the schedule "heuristic".
    """
    return k + 2 if accepted == drafted else max(1, k - 1)


def cost_on(texts, controller, k, c, verify_cost=lambda k: 1.0) -> float:
    """Return what a controller pays for all texts together, in plain passes.

    texts        list of ticks, as for replay; every text starts with a draft of k
    verify_cost  function of k: the cost of a pass over k + 1 places
    """
    rounds = [length for right in texts for length in replay(right, controller, k)[1]]
    return sum(length * c + verify_cost(length) for length in rounds)


def paper_table(speedup) -> list[tuple]:
    """Return the cells of the papers' tables beside what the formulas give.

    speedup  function of (a, k, c), for tables 1, 2 and 4 of Leviathan et al.
    Returns rows (where, printed, computed, digits): digits after the point that the paper prints.
    """
    rows = []
    for a, k, arithmetic, speed in LEVIATHAN_1:
        where = f"Leviathan, table 1, a = {a}, k = {k}"
        rows.append((f"{where}: arithmetic", arithmetic, arithmetic_per_token(a, k), 2))
        rows.append((f"{where}: speed", speed, speedup(a, k, 0.0), 2))
    for task, draft, temperature, k, a, c, speed, _measured in LEVIATHAN_2_4:
        where = f"Leviathan, table 2, {task}, {draft}, temperature {temperature}"
        rows.append((f"{where}: speed", speed, speedup(a, k, c), 1))
    for task, alone, together, speed in CHEN_1:
        rows.append((f"Chen, table 1, {task}: speed", speed, alone / together, 2))
    return rows


def verdict(printed: float, computed: float, digits: int) -> str:
    """Say how a computed value stands to a printed one.

    "equal"   the same after rounding to the printed digits
    "inputs"  within 0.07: the printed a and c, which are rounded too, allow it
    "no"      neither
    """
    if abs(round(computed, digits) - printed) < 1e-9:
        return "equal"
    return "inputs" if abs(computed - printed) <= 0.07 and digits == 1 else "no"
