"""Made-up worlds of right and wrong guesses, and how well the formula fits what was played."""

import numpy as np


def worlds_of_ticks(seed: int, tokens: int = 20_000) -> dict[str, list[bool]]:
    """Return {name: ticks} of three worlds, ticks as simulate takes them, for drafts of 4.

    In the last one a round is all right or wrong from its first guess on, with equal chance.
    """
    rng = np.random.default_rng(seed)
    easy_or_hard = np.where(np.arange(tokens) // 30 % 2 == 0, 0.95, 0.5)
    five_right = [True] * 5  # four guesses, and the place of the target's own token
    rounds = [five_right if right else [False] for right in rng.random(tokens // 5) < 0.5]
    return {
        "coins, a = 0.8": (rng.random(tokens) < 0.8).tolist(),
        "easy 0.95, hard 0.5": (rng.random(tokens) < easy_or_hard).tolist(),
        "whole rounds": [tick for ticks in rounds for tick in ticks],
    }


def worse_by_place(chances, seed: int, rounds: int = 6_000) -> tuple[list[int], list[int]]:
    """Return a log (accepted, drafted) of drafts whose guess at place i is right with chances[i].

    chances  the chance of each guess, when all before it were right
    """
    right = np.random.default_rng(seed).random((rounds, len(chances))) < np.array(chances)
    accepted = np.cumprod(right, axis=1).sum(axis=1)
    return accepted.tolist(), [len(chances)] * rounds


def fit_sentence(formula, means, errors) -> str:
    """Say how many means lie more than two standard errors off the formula, and what follows.

    formula, means, errors  one value for each k
    """
    points = list(zip(formula, means, errors, strict=True))
    above = sum(mean > value + 2 * error for value, mean, error in points)
    below = sum(mean < value - 2 * error for value, mean, error in points)
    conclusions = {
        (False, False): "These texts can't tell them apart from the formula.",
        (True, False): "So the formula promises too little here.",
        (False, True): "So the formula promises too much here.",
        (True, True): "So the formula errs on both sides.",
    }
    return (
        f"of {len(points)} marks {above} lie above the line by more than 2 standard errors, "
        f"{below} below. {conclusions[above > 0, below > 0]}"
    )
