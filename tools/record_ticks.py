"""Record where the drafts guess right, and what passes cost: specdec/data/ticks.json.

    PYTHONPATH=. python -m tools.record_ticks

The target continues held-out prompts greedily. Its text does not depend on a draft, so one tick a
token tells all: 1 where the draft, having read the true text before it, would guess that token.
A draft of k tokens that starts at any place is right up to the first 0. Lesson 5 replays the ticks.
"""

import json
import platform
import time
from datetime import date
from pathlib import Path

import specdec  # noqa: F401  # isort: skip  (first: it sets one BLAS thread)

import numpy as np

from specdec.costs import TICKS
from specdec.model import MODELS, load_model
from specdec.trained.batches import time_rows

DRAFTS = ("draft", "draft_distilled")
PROMPTS, PROMPT_TOKENS, NEW_TOKENS = 20, 32, 160
ROWS = tuple(range(1, 18))


def prompts(tokenizer) -> list[list[int]]:
    """The first tokens of paragraphs spread over the held-out text."""
    lines = (MODELS / "heldout.txt").read_text(encoding="utf-8").splitlines()
    step = len(lines) // PROMPTS
    return [tokenizer.encode(line)[:PROMPT_TOKENS] for line in lines[::step][:PROMPTS]]


def greedy(model, prompt: list[int]) -> list[int]:
    """NEW_TOKENS tokens after the prompt, each the model's favorite."""
    cache, fed, text = model.new_cache(), list(prompt), []
    for _ in range(NEW_TOKENS):
        text.append(int(model(np.array([fed]), cache)[0, -1].argmax()))
        fed = text[-1:]
    return text


def ticks(draft, prompt: list[int], text: list[int]) -> str:
    """One digit for each token of the text: would the draft have guessed it?"""
    logits = draft(np.array([prompt + text[:-1]]))[0, len(prompt) - 1 :]
    return "".join("1" if guess == token else "0" for guess, token in
                   zip(logits.argmax(-1).tolist(), text, strict=True))  # fmt: skip


def main() -> None:
    models = {name: load_model(name) for name in ("target", *DRAFTS)}
    target = models["target"]
    pairs = [(prompt, greedy(target, prompt)) for prompt in prompts(target.tokenizer)]
    plain = time_rows(target, [1])[0]
    curve = time_rows(target, ROWS)
    recorded = {
        "made by": "python -m tools.record_ticks",
        "date": date.today().isoformat(),
        "machine": f"{platform.machine()}, numpy {np.__version__}, one thread",
        "prompt tokens": PROMPT_TOKENS,
        "traces": {name: [ticks(models[name], *pair) for pair in pairs] for name in DRAFTS},
        "draft cost": {name: round(time_rows(models[name], [1])[0] / plain, 3) for name in DRAFTS},
        "verify cost": [round(seconds / curve[0], 3) for seconds in curve],
    }
    path = Path(TICKS)
    path.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
    print(f"{path}: {len(pairs)} texts of {NEW_TOKENS} tokens, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    start = time.perf_counter()
    main()
    print(f"{time.perf_counter() - start:.0f} s")
