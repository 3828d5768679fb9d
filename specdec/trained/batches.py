"""A stopwatch for passes of the course's models, on the machine that runs it."""

import time

import numpy as np

from specdec.model import full_lm_forward, load_model


def time_pass(model, texts: int, places: int, repeats: int = 5) -> float:
    """Return the seconds of one pass over `places` tokens of each of `texts` texts, nothing cached.

    The texts stand one after the other in one row, and the mask keeps them apart. The fastest of
    `repeats` passes is returned: what else the machine does only makes a pass slower.
    Raises ValueError when texts * places is more than the model's context.
    """
    total = texts * places
    token_ids = np.arange(total)[None] % model.config.vocab_size
    text_of = np.arange(total) // places
    mask = np.tri(total, dtype=bool) & (text_of[:, None] == text_of)
    seconds = []
    for _ in range(repeats + 1):  # the first one warms up
        start = time.perf_counter()
        full_lm_forward(token_ids, model.params, mask)
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


def time_rows(model, rows) -> list[float]:
    """Return the seconds of one pass over one text of each length in rows."""
    return [time_pass(model, 1, count, repeats=20) for count in rows]


def measure_batches(k: int, batches, draft: str = "draft_distilled") -> list[tuple]:
    """Return for each batch (batch, plain, verify, step): seconds on this machine.

    plain   a pass of the target over one place of each text
    verify  a pass of the target over k + 1 places of each text
    step    a pass of the draft over one place of each text
    """
    target, small = load_model("target"), load_model(draft)
    return [
        (
            batch,
            time_pass(target, batch, 1, repeats(batch)),
            time_pass(target, batch, k + 1, repeats(batch)),
            time_pass(small, batch, 1, repeats(batch)),
        )
        for batch in batches
    ]


def repeats(batch: int) -> int:
    """Return how often to time a pass: small ones are disturbed most, and cost least."""
    return max(3, 12 // batch)
