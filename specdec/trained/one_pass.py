"""The trained pair as lesson 2 uses it: loaded once, compared row by row, run, and timed.

While hand-ins are graded this module is left out: the grades do not need the trained models.
"""

import json
import time
from functools import cache
from pathlib import Path

import numpy as np

from specdec.model import full_lm_forward, load_model
from specdec.trace import OutOfBudget

RECORDED_TIMES = Path(__file__).parents[1] / "data" / "pass_times.json"
ROWS = (1, 2, 4, 8, 16)


class CountedModel:
    """A model for full_lm_forward that counts its passes; it gives up after `budget` of them."""

    def __init__(self, model, budget: int):
        self.model, self.budget, self.passes = model, budget, 0

    def __call__(self, token_ids, mask):
        self.passes += 1
        if self.passes > self.budget:
            raise OutOfBudget(f"more than {self.budget} passes, far more than the text needs")
        return full_lm_forward(token_ids, self.model, mask)


class Pair:
    """Target, draft and their tokenizer."""

    def __init__(self, draft: str, dtype):
        self.target, self.draft = load_model("target", dtype), load_model(draft, dtype)
        self.tokenizer = self.target.tokenizer

    def encode(self, text: str) -> np.ndarray:
        """Token ids (1, T) of a text."""
        return np.array([self.tokenizer.encode(text)])

    def decode(self, token_ids) -> str:
        """The text of token ids (1, T) or (T,)."""
        return self.tokenizer.decode(np.ravel(token_ids))

    def show_logits(self, text: str, build_causal_mask) -> None:
        """Run one pass over a text; print its shapes, and each row's favourite next token."""
        token_ids = self.encode(text)
        mask = build_causal_mask(token_ids.shape[1])
        logits = full_lm_forward(token_ids, self.target, mask)
        print(f"token ids in: {token_ids.shape}   logits out: {logits.shape}\n")
        print("row  reads        its favourite next token")
        for row, token in enumerate(token_ids[0]):
            favourite = int(np.argmax(logits[0, row]))
            print(f"{row:>3}  {self._piece(token):<11}  {self._piece(favourite)}")

    def show_moved(self, text: str, build_causal_mask) -> None:
        """Change the last token of a text; print how far each row of logits moves, both ways.

        Four passes of the target: before and after, with the mask and without one.
        """
        before = self.encode(text)
        after = before.copy()
        after[0, -1] = (after[0, -1] + 1) % self.target.config.vocab_size
        moved = []
        for mask in (build_causal_mask(before.shape[1]), None):
            passes = [full_lm_forward(ids, self.target, mask) for ids in (before, after)]
            moved.append(np.abs(passes[0] - passes[1])[0].max(axis=-1))
        print("row  reads        with the mask   without")
        for row, token in enumerate(before[0]):
            reads = self._piece(token) if row < before.shape[1] - 1 else "(changed)"
            with_mask, without = (f"{one[row]:.4g}" if one[row] else "0.0" for one in moved)
            print(f"{row:>3}  {reads:<11}  {with_mask:<14}  {without}")

    def show_run(self, speculative_decode, greedy_decode, text: str, num_tokens: int, k: int):
        """Continue a text in both ways; print the texts, the passes, and the ledger line."""
        token_ids = self.encode(text)
        budget = 4 * (num_tokens + 2) * (k + 2)
        plain, target = (CountedModel(self.target, budget) for _ in range(2))
        draft = CountedModel(self.draft, budget)
        wanted = greedy_decode(token_ids, plain, num_tokens)
        got, accepted = speculative_decode(token_ids, draft, target, num_tokens, k)
        print(self.decode(got), "\n")
        print("the same tokens as plain decoding:", bool(np.array_equal(got, wanted)))
        print(f"passes of the target: {plain.passes} plain, {target.passes} speculative")
        print(
            f"rounds {len(accepted)} · drafted {draft.passes} · accepted {sum(accepted)} · "
            f"emitted {np.shape(got)[1] - token_ids.shape[1]}"
        )

    def _piece(self, token) -> str:
        return repr(self.tokenizer.decode([token]))


@cache
def load_pair(draft: str = "draft_distilled", dtype=np.float64) -> Pair:
    """The pair in 64-bit numbers, so that two ways to the same number agree to the last digits."""
    return Pair(draft, dtype)


def time_passes(rows=ROWS, repeats: int = 9, at_most: float = 3.0) -> dict[int, float]:
    """Median milliseconds of one pass of the target over so many tokens, with no text before.

    All sizes are measured in turn, so that a busy moment hits each alike: `repeats` times, or less
    often when `at_most` seconds are over.
    """
    target = load_model("target")
    texts = {count: np.zeros((1, count), dtype=int) for count in rows}
    took = {count: [] for count in rows}
    for token_ids in texts.values():
        target(token_ids)  # the first pass warms up
    start = time.perf_counter()
    for round_number in range(repeats):
        if round_number and time.perf_counter() - start > at_most:
            break
        for count, token_ids in texts.items():
            begin = time.perf_counter()
            target(token_ids)
            took[count].append(1000 * (time.perf_counter() - begin))
    return {count: float(np.median(times)) for count, times in took.items()}


def recorded_times() -> tuple[dict[int, float], str]:
    """The reference machine's times, and its name with the date."""
    found = json.loads(RECORDED_TIMES.read_text(encoding="utf-8"))
    times = {int(rows): ms for rows, ms in found["milliseconds"].items()}
    return times, f"{found['machine']}, {found['date']}"


def show_times(times: dict[int, float]) -> None:
    """Print and plot pass times beside the recorded ones, as multiples of a pass over one token."""
    from specdec.figures import show

    reference, name = recorded_times()
    print("tokens in the pass        " + "".join(f"{rows:>9}" for rows in times))
    for label, found in (("here, ms", times), ("reference machine, ms", reference)):
        print(f"{label:<26}" + "".join(f"{found[rows]:>9.1f}" for rows in times))
    ratios = " ".join(f"{found / times[1]:.1f}" for found in times.values())
    print(f"\nhere, as multiples of one token: {ratios}")
    print(f"reference machine: {name}")
    show(
        times_figure(times, reference),
        alt="Time of a pass over 1, 2, 4, 8 and 16 tokens as a multiple of a pass over one, on "
        "this machine and on the reference machine, between two lines: always 1, and in "
        "proportion to the tokens. The printed lines give the numbers.",
    )


def times_figure(times: dict[int, float], reference: dict[int, float]):
    """The plot of show_times."""
    from specdec.figures import BLUE, GREY, ORANGE, axes

    figure, ax = axes(6.6, 3.4)
    rows = list(times)
    ax.plot(rows, rows, color=GREY, linestyle=":", label="in proportion: nothing gained")
    ax.plot(rows, [1] * len(rows), color=GREY, linestyle="--", label="never more: the promise")
    for found, label, colour, mark in (
        (times, "this machine", BLUE, "o"),
        (reference, "reference machine", ORANGE, "s"),
    ):
        ax.plot(rows, [found[r] / found[1] for r in rows], mark, color=colour, label=label)
        ax.plot(rows, [found[r] / found[1] for r in rows], color=colour, linewidth=1.5)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.set_xticks(rows, map(str, rows))
    ax.set_yticks(rows, map(str, rows))
    ax.set_xlabel("tokens in the pass")
    ax.set_ylabel("time ÷ time of one token")
    ax.legend(frameon=False, labelcolor=GREY, fontsize=9)
    return figure
