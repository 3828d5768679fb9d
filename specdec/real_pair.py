"""The shipped models in the form that lesson 3's samplers take: token ids in, logits out."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from specdec.model import Model

DATA = Path(__file__).parent / "data"


def next_logits(model: Model) -> Callable:
    """Return a function: a list of token ids -> V logits for the token that comes next.

    What the model computed for the last text is kept, and only what is new in the next one is
    computed, so that a text may grow by a token and be cut back at little cost. The function raises
    ValueError for an empty list, and whatever `model` raises.
    """
    cache = model.new_cache()
    seen: list[int] = []

    def logits(token_ids):
        new = [int(token) for token in token_ids]
        if not new:
            raise ValueError("token_ids must have at least one token to go on from")
        # The last token is always computed anew: its row is the answer.
        same = common_length(seen, new[:-1])
        cache.crop(same)
        rows = model(np.array([new[same:]]), cache)
        seen[:] = new
        return rows[0, -1].tolist()

    return logits


def common_length(one: list, other: list) -> int:
    """Return how many entries two lists have in common from the start."""
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return i
    return min(len(one), len(other))


def logits_along(model: Model, prompt: list[int], token_ids: list[int]) -> np.ndarray:
    """Return (n, V) logits: row i is the model's answer before token_ids[i]. Takes one pass."""
    text = np.array([[*prompt, *token_ids]])
    return model(text)[0, len(prompt) - 1 : -1]


@dataclass(frozen=True)
class Acceptance:
    """What was measured on one draft at one temperature, over all texts.

    alpha, alpha_error     mean of alpha along the texts, and two standard errors
    formula                1 + alpha + ... + alpha**k: tokens a pass if guesses were independent
    length, length_error   tokens a pass as counted, and two standard errors
    by_place               share of accepted guesses at place 1 to k of a round, of those tested
    """

    draft: str
    temperature: float
    alpha: float
    alpha_error: float
    formula: float
    length: float
    length_error: float
    by_place: tuple[float, ...]


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
    return Acceptance(
        draft=row["draft"],
        temperature=row["temperature"],
        alpha=alpha,
        alpha_error=float(2 * alphas.std(ddof=1) / np.sqrt(n)),
        formula=sum(alpha**i for i in range(k + 1)),
        length=length,
        length_error=float(2 * np.sqrt(n) * off.std(ddof=1) / rounds.sum()),
        by_place=tuple(a / t for a, t in zip(row["accepted"], row["tested"], strict=True)),
    )
