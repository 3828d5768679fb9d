"""How often at least one of several drafted tokens can be accepted without changing the law.

m tokens are drawn from q, each for itself, for one place of the text; p is the target's law there.
"""

from itertools import combinations

import numpy as np

from specdec.reference.lesson_03 import residual


def recursive_acceptance(p, q, m: int) -> float:
    """Chance that one of m tokens is accepted when they are tried one after the other.

    Each is accepted by the rule of one draft; after a rejection the residual takes p's place.
    SpecInfer calls it multi-step speculative sampling (Miao et al. 2023, arXiv 2305.09781).
    """
    p, rejected = np.asarray(p, dtype=float), 1.0
    for _ in range(m):
        rejected *= 1 - np.minimum(p, q).sum()
        p = np.asarray(residual(p, q))
    return float(1 - rejected)


def best_acceptance(p, q, m: int) -> float:
    """The largest chance that any exact rule can reach with m tokens.

    An exact rule is a transport from the sets of drafted tokens to p. What it can carry is the
    smallest cut: over all sets of tokens, p of the set + 1 - (q of the set) ** m.
    Sun et al. 2023, SpecTr, arXiv 2310.15141. For m = 1 this is 1 - TV.
    """
    p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    tokens = range(len(p))
    sets = [list(s) for size in range(len(p) + 1) for s in combinations(tokens, size)]
    return float(min(p[s].sum() + 1 - q[s].sum() ** m for s in sets))
