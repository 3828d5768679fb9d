"""Lesson 6 on the trained pair: drafts of every kind behind one interface, and one exact loop.

A draft has a `name` and `propose(token_ids, hidden, k)`, which returns at most k guesses for the
tokens that follow. token_ids is the text so far; hidden (n, d) are the target's rows after its last
norm for the n tokens that it has read, all but the newest one once it has read any. A draft may keep
what it computed before, and must give the same guesses as if it had kept nothing.

Whatever a draft proposes, `generate` returns the target's own greedy text.
"""

import json
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from specdec.model import MODELS, Model, load_model
from specdec.trained.decoding import Result, greedy_cached, heldout_prompts
from specdec.trained.sampled import common_length

SAMPLES = MODELS / "samples.npz"
RECORDED = Path(__file__).parents[1] / "data" / "drafts.json"
WINDOW = 256  # tokens that the target reads at once along a sample
N_GRAM = 3  # tokens of an n-gram, the guess included
LOOKUP = 3  # longest n-gram that prompt lookup looks for
HEADS = 4
FIT_TOKENS = 12_288


def training_sample() -> np.ndarray:
    """Token ids of about 100,000 tokens of text that the models were trained on."""
    with np.load(SAMPLES) as samples:
        return samples["training"].astype(int)


def written_sample() -> np.ndarray:
    """Token ids of about 60,000 tokens that the target wrote itself, greedily and by sampling."""
    with np.load(SAMPLES) as samples:
        return samples["written"].astype(int)


def hidden_along(target: Model, token_ids) -> np.ndarray:
    """Return the target's rows (n, d) along token_ids (n,), read in windows of 256 tokens."""
    parts = [token_ids[at : at + WINDOW] for at in range(0, len(token_ids), WINDOW)]
    return np.concatenate([target.hidden(part[None]) for part in parts])


@cache
def sample_features(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (token_ids (count,), hidden (count, d)): the target along the training sample."""
    token_ids = training_sample()[:count]
    return token_ids, hidden_along(load_model("target"), token_ids)


class ModelDraft:
    """A small model of its own, with a cache; it never sees the target's rows."""

    def __init__(self, name: str, model: Model):
        self.name, self.model = name, model
        self.cache, self.seen = model.new_cache(), []

    def propose(self, token_ids, hidden, k: int) -> list[int]:
        """Return k guesses."""
        guesses = []
        self.cache.crop(min(len(self.cache), common_length(self.seen, token_ids[:-1])))
        while len(guesses) < k:
            unread = [*token_ids, *guesses][len(self.cache) :]
            logits = self.model(np.array([unread]), self.cache)[0, -1]
            guesses.append(int(logits.argmax()))
        self.seen = [*token_ids, *guesses][: len(self.cache)]
        return guesses


@dataclass
class Run(Result):
    """One draft's run over all prompts; `drafted` are the guesses of each round."""

    drafted: list[int] = field(default_factory=list)

    @property
    def acceptance(self) -> float:
        """Accepted over tested guesses, the a of the formula; NaN without any guess."""
        pairs = zip(self.accepted, self.drafted, strict=True)
        tested = sum(min(count + 1, drafted) for count, drafted in pairs)
        return sum(self.accepted) / tested if tested else float("nan")

    @property
    def ledger(self) -> str:
        """The one line that all lessons use."""
        return (
            f"rounds {self.rounds} · drafted {sum(self.drafted)} · "
            f"accepted {sum(self.accepted)} · emitted {self.tokens}"
        )


def generate(target: Model, draft, prompt, n_tokens: int, k: int) -> Run:
    """Write n_tokens after the prompt: the target's greedy text, whatever the draft proposes.

    The last round drafts no more than there is room for, so that nothing has to be cut.
    Returns a Run of one text.
    """
    run = Run(draft.name, k)
    start = time.perf_counter()
    cache, tokens, end = target.new_cache(), list(prompt), len(prompt) + n_tokens
    hidden = np.empty((target.config.context, target.config.width), target.params.embedding.dtype)
    while len(tokens) < end:
        read = len(cache)
        begin = time.perf_counter()
        guesses = list(draft.propose(tokens, hidden[:read], min(k, end - len(tokens) - 1)))
        between = time.perf_counter()
        rows = target.hidden(np.array([tokens[read:] + guesses]), cache)
        choices = target.logits(rows[-len(guesses) - 1 :]).argmax(axis=-1).tolist()
        run.target_seconds += time.perf_counter() - between
        run.draft_seconds += between - begin
        accepted = common_length(guesses, choices)
        hidden[read : len(cache)] = rows
        tokens += choices[: accepted + 1]
        cache.crop(len(tokens) - 1)
        run.accepted.append(accepted)
        run.drafted.append(len(guesses))
    run.seconds = time.perf_counter() - start
    run.texts, run.tokens = [tokens[len(prompt) :]], n_tokens
    return run
