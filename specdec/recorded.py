"""What was measured beforehand on the shipped models, since it takes too long for a lesson."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Acceptance:
    """What was measured on one draft at one temperature, over all texts.

    alpha, alpha_error     mean of alpha along the texts, and two standard errors
    formula                1 + alpha + ... + alpha**k: tokens a pass if guesses were independent
    length, length_error   tokens a pass as counted, and two standard errors
    by_place               share of accepted guesses at place 1 to k of a round, of those tested
    by_place_error         two standard errors of each
    """

    draft: str
    temperature: float
    alpha: float
    alpha_error: float
    formula: float
    length: float
    length_error: float
    by_place: tuple[float, ...]
    by_place_error: tuple[float, ...]


def recorded_acceptance() -> tuple[dict, list[Acceptance]]:
    """Return how the shipped pair was measured, {"k", "n_tokens", "prompts"}, and the results.

    `python -m tools.record_acceptance` has measured them.
    """
    record = json.loads((DATA / "acceptance.json").read_text(encoding="utf-8"))
    rows = record.pop("rows")
    return record, [summary(row, record["k"]) for row in rows]


def summary(row: dict, k: int) -> Acceptance:
    """Return means and standard errors over the texts; each text is one independent sample."""
    alphas, emitted, rounds = (np.array(row[name]) for name in ("alpha", "emitted", "rounds"))
    n = len(alphas)
    alpha, length = float(alphas.mean()), float(emitted.sum() / rounds.sum())
    # The spread of a ratio of two sums (Cochran, Sampling Techniques, 1977, section 6.3).
    off = emitted - length * rounds
    tested, accepted = np.array(row["tested"]), np.array(row["accepted"])
    shares = accepted / tested
    return Acceptance(
        draft=row["draft"],
        temperature=row["temperature"],
        alpha=alpha,
        alpha_error=float(2 * alphas.std(ddof=1) / np.sqrt(n)),
        formula=sum(alpha**i for i in range(k + 1)),
        length=length,
        length_error=float(2 * np.sqrt(n) * off.std(ddof=1) / rounds.sum()),
        by_place=tuple(shares.tolist()),
        by_place_error=tuple((2 * np.sqrt(shares * (1 - shares) / tested)).tolist()),
    )
