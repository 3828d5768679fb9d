"""Measure how often the shipped drafts are accepted, for lesson 3: `specdec/data/acceptance.json`.

    python -m tools.record_acceptance [--prompts 24]

Run it after the models have changed; it takes a few minutes. From each held-out prompt a text is
sampled, a round at a time, with the target's chances; then alpha is taken at every place of it.
"""

import argparse
import json

import specdec  # noqa: F401  one BLAS thread, if imported before numpy

# isort: split
import numpy as np

from specdec.model import MODELS, Model, load_model
from specdec.recorded import DATA
from specdec.reference.lesson_03 import expected_acceptance, process_logits, speculative_step
from specdec.sampling import draw
from specdec.trained.sampled import logits_along

DRAFTS = ("draft", "draft_distilled")
TEMPERATURES = (0, 0.4, 0.7, 1, 1.3)
PROMPT_TOKENS, N_TOKENS, K = 24, 80, 4
SEED = 20261129


class Reader:
    """A model with the text that it has read so far."""

    def __init__(self, model: Model):
        self.model, self.cache = model, model.new_cache()

    def rows(self, token_ids: list[int], count: int) -> np.ndarray:
        """Return the logits (count, V) after the last `count` tokens of a text, in one pass.

        The text must agree with the one read before, but for that one's last K + 1 tokens.
        """
        self.cache.crop(min(len(self.cache), len(token_ids) - count))
        return self.model(np.array([token_ids[len(self.cache) :]]), self.cache)[0, -count:]


def sample(draft: Model, target: Model, prompt: list[int], temperature: float, rng):
    """Return N_TOKENS sampled token ids, and how many guesses each round accepted."""
    reads_draft, reads_target = Reader(draft), Reader(target)
    text, accepted = list(prompt), []
    while len(text) < len(prompt) + N_TOKENS:
        guesses, draft_probs = [], []
        for _ in range(K):
            logits = reads_draft.rows(text + guesses, 1)[0]
            draft_probs.append(process_logits(logits, temperature, 1))
            guesses.append(draw(draft_probs[-1], rng))
        logits = reads_target.rows(text + guesses, K + 1)
        target_probs = [process_logits(row, temperature, 1) for row in logits]
        emitted = speculative_step(guesses, draft_probs, target_probs, rng)
        text += emitted
        accepted.append(len(emitted) - 1)
    return text[len(prompt) : len(prompt) + N_TOKENS], accepted


def mean_alpha(draft: Model, target: Model, prompt, token_ids, temperature: float) -> float:
    """Return the mean of alpha over all places of a text."""
    both = zip(
        logits_along(target, prompt, token_ids), logits_along(draft, prompt, token_ids), strict=True
    )
    return float(
        np.mean(
            [
                expected_acceptance(
                    process_logits(p, temperature, 1), process_logits(q, temperature, 1)
                )
                for p, q in both
            ]
        )
    )


def measure(draft: Model, target: Model, prompts: list, temperature: float) -> dict:
    """Return one row of the record."""
    alpha, emitted, rounds = [], [], []
    tested, accepted = np.zeros(K, int), np.zeros(K, int)
    for number, prompt in enumerate(prompts):
        rng = np.random.default_rng([SEED, number])
        token_ids, kept = sample(draft, target, prompt, temperature, rng)
        alpha.append(round(mean_alpha(draft, target, prompt, token_ids, temperature), 4))
        emitted.append(sum(kept) + len(kept))
        rounds.append(len(kept))
        for places in kept:
            accepted[:places] += 1
            tested[: places + 1] += 1
    return {
        "draft": draft.name,
        "temperature": temperature,
        "alpha": alpha,
        "emitted": emitted,
        "rounds": rounds,
        "tested": tested.tolist(),
        "accepted": accepted.tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=24, help="how many, at most 60")
    wanted = parser.parse_args().prompts
    target = load_model("target")
    lines = (MODELS / "heldout.txt").read_text(encoding="utf-8").splitlines()
    texts = [target.tokenizer.encode(line) for line in lines]
    prompts = [text[:PROMPT_TOKENS] for text in texts if len(text) > PROMPT_TOKENS][:wanted]
    rows = []
    for name in DRAFTS:
        draft = load_model(name)
        for temperature in TEMPERATURES:
            rows.append(measure(draft, target, prompts, temperature))
            row = rows[-1]
            print(
                f"{name} T={temperature}: alpha {np.mean(row['alpha']):.3f}, "
                f"{sum(row['emitted']) / sum(row['rounds']):.2f} tokens a pass, "
                f"by place {np.round(np.divide(row['accepted'], row['tested']), 3)}",
                flush=True,
            )
    record = {"k": K, "n_tokens": N_TOKENS, "prompts": len(prompts), "rows": rows}
    text = json.dumps(record, indent=1).replace("\n    ", " ").replace("\n   ]", " ]")
    (DATA / "acceptance.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
