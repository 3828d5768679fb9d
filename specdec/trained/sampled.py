"""The shipped models in the form that lesson 3's samplers take: token ids in, logits out."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from specdec.model import Model, load_model
from specdec.sampling import CountedPair


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
class RealText:
    """A text that a sampler has written with the shipped pair.

    text    prompt and new tokens, as text
    pieces  each new token as text, a space shown as _
    passes  passes of the target that it took
    logits  for each new token (target's V logits, draft's V logits) at its place
    """

    text: str
    pieces: list[str]
    passes: int
    logits: list[tuple[np.ndarray, np.ndarray]]

    def __str__(self) -> str:
        mean = len(self.pieces) / self.passes
        count = f"{len(self.pieces)} tokens in {self.passes} passes: {mean:.2f} tokens a pass"
        return f"{self.text} …\n{count}"

    def describe(self, alphas) -> str:
        """Say how large alpha is on average, where a word begins and elsewhere."""
        begins = np.array([piece.startswith("_") for piece in self.pieces])
        alphas = np.array(alphas)
        parts = [f"mean α {alphas.mean():.2f}"]
        for where, chosen in (("where a word begins", begins), ("elsewhere", ~begins)):
            if chosen.any():
                parts.append(f"{where} {alphas[chosen].mean():.2f}")
        return ", ".join(parts)


def on_real_pair(
    sampler: Callable, prompt: str, n_tokens: int, k: int, temperature: float, seed: int = 1
) -> RealText:
    """Let a sampler, called like speculative_sample, write n_tokens with the shipped pair.

    The draft is `draft_distilled`. Raises whatever the sampler raises.
    """
    target, draft = load_model("target"), load_model("draft_distilled")
    pair = CountedPair(next_logits(draft), next_logits(target))
    start = target.tokenizer.encode(prompt)
    rng = np.random.default_rng(seed)
    token_ids = list(sampler(pair.draft, pair.target, start, n_tokens, k, temperature, 1, rng))
    pieces = [target.tokenizer.decode([token]) for token in token_ids]
    both = (logits_along(model, start, token_ids) for model in (target, draft))
    return RealText(
        text=target.tokenizer.decode([*start, *token_ids]),
        pieces=[piece.replace(" ", "_").replace("\n", "¶") for piece in pieces],
        passes=pair.passes,
        logits=list(zip(*both, strict=True)),
    )
