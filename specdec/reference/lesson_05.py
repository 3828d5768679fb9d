"""Lesson 5, when it pays: the worked functions.

The build copies them into the worked solution, and their signatures and docstrings into the
lesson, so what a learner reads and what the tests know are one text.
"""

from specdec.reference.lesson_01 import expected_tokens


def speedup(a, k, c, verify_cost=1.0):
    """Return how many times as fast as plain decoding a round of k drafted tokens is.

    a            acceptance, 0 <= a <= 1
    k            number of drafted tokens, >= 0
    c            cost of one draft step, where one plain pass of the target costs 1; >= 0
    verify_cost  cost of the pass that reads k + 1 places, in the same unit; > 0

    A round gives expected_tokens(a, k) tokens. Plain decoding gives one token for a cost of 1.
    Raises ValueError when a is outside 0..1, k or c is negative, or verify_cost is 0 or less.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), theorem 3.8, where verify_cost is 1.
    """
    if c < 0:
        raise ValueError(f"c is a cost, 0 or more, got {c}")
    if verify_cost <= 0:
        raise ValueError(f"verify_cost must be above 0, got {verify_cost}")
    return expected_tokens(a, k) / (k * c + verify_cost)


def optimal_k(a, c, k_max):
    """Return the number of drafted tokens, 0 to k_max, with the largest speedup.

    a      acceptance, 0 <= a <= 1
    c      cost of one draft step in plain passes, >= 0
    k_max  the longest draft to try, >= 0; k_max itself is allowed

    A pass costs 1, however many places it reads. Of equally fast k the smallest is returned;
    speedups that differ by less than 1e-12 count as equal, since a computer rounds.
    Raises ValueError when k_max is negative, and for a and c as in speedup.
    """
    if k_max < 0:
        raise ValueError(f"k_max must be 0 or more, got {k_max}")
    best = 0
    for k in range(k_max + 1):
        if speedup(a, k, c) > speedup(a, best, c) + 1e-12:
            best = k
    return best


def estimate_acceptance(accepted, drafted):
    """Return the three numbers that a log of rounds gives, as a tuple.

    accepted  list: how many drafted tokens each round accepted
    drafted   list: how many each round drafted, 0 or more

    Returns (acceptance_rate, mean_acceptance_length, alpha):
    acceptance_rate         accepted tokens / drafted tokens, over all rounds
    mean_acceptance_length  emitted tokens per round: accepted ones, and one of the target's own
    alpha                   accepted tokens / tested tokens. A round tests the tokens it accepts
                            and the one it rejects, if it rejects one; those after it are untested

    Raises ValueError when the lists differ in length, an entry of accepted is not between 0 and
    its entry of drafted, or nothing was drafted at all.
    """
    if len(accepted) != len(drafted):
        raise ValueError(f"{len(accepted)} rounds accepted, {len(drafted)} drafted: lists differ")
    if not all(0 <= a <= d for a, d in zip(accepted, drafted, strict=True)):
        raise ValueError("a round accepts between 0 and as many tokens as it drafts")
    if sum(drafted) == 0:
        raise ValueError("nothing was drafted, so there is nothing to estimate")
    rejections = sum(a < d for a, d in zip(accepted, drafted, strict=True))
    acceptance_rate = sum(accepted) / sum(drafted)
    mean_acceptance_length = (sum(accepted) + len(accepted)) / len(accepted)
    alpha = sum(accepted) / (sum(accepted) + rejections)
    return acceptance_rate, mean_acceptance_length, alpha


def simulate(right, k):
    """Play draft and verify along a text, and return what each round accepted and drafted.

    right  list of True or False (1 or 0), one entry for each token of the text: would the draft
           guess this token, when it has read the true text before it?
    k      number of tokens to draft in a round, >= 0

    A round that starts at place t drafts the tokens t, t + 1, …: k of them, or all that are left
    when fewer than k are. It accepts those before the first wrong one, and the target adds one
    token of its own. The next round starts after that. Rounds go on until the text is full.
    Returns (accepted, drafted): two lists with one entry a round. An empty text has no round.
    Raises ValueError when k is negative. `right` is not changed.
    """
    if k < 0:
        raise ValueError(f"k must be 0 or more, got {k}")
    accepted, drafted = [], []
    place = 0
    while place < len(right):
        guesses = list(right[place : place + k])
        matches = 0
        while matches < len(guesses) and guesses[matches]:
            matches += 1
        accepted.append(matches)
        drafted.append(len(guesses))
        place += matches + 1
    return accepted, drafted


def break_even(k, c, verify_cost=1.0):
    """Return the acceptance from which a draft is no slower than plain decoding.

    k, c, verify_cost  as in speedup

    Returns the smallest a, 0 <= a <= 1, with speedup(a, k, c, verify_cost) >= 1, right to 6
    places after the decimal point; None when even a = 1 is too little. A speedup from 1 - 1e-12
    on counts as 1, since a computer rounds.
    Raises ValueError for k, c and verify_cost as speedup does.
    """
    enough = 1 - 1e-12
    if speedup(1, k, c, verify_cost) < enough:
        return None
    if speedup(0, k, c, verify_cost) >= enough:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if speedup(middle, k, c, verify_cost) >= enough:
            high = middle
        else:
            low = middle
    return high


def adaptive_k(c, k_max, memory=0.9):
    """Return a controller that drafts the best k for the acceptance that it has seen lately.

    c       cost of one draft step in plain passes
    k_max   the longest draft to use, >= 1
    memory  how much of what was counted is kept from round to round, 0 to 1

    The controller is a function (k, accepted, drafted) -> k of the next round. It never returns 0,
    since a round without a draft teaches nothing.
    """
    counted = {"accepted": 0.0, "rejected": 0.0}

    def controller(k, accepted, drafted):
        counted["accepted"] = memory * counted["accepted"] + accepted
        counted["rejected"] = memory * counted["rejected"] + (accepted < drafted)
        tested = counted["accepted"] + counted["rejected"]
        alpha = counted["accepted"] / tested if tested else 0.5
        return max(1, optimal_k(alpha, c, k_max))

    return controller
