"""Plain and speculative greedy decoding with caches, and what the comparisons need besides.

One round of speculation: the draft proposes at most k tokens, the target reads them in one pass,
the longest agreeing prefix stays, and the target's own token follows. Near the end fewer tokens are
drafted, so that nothing has to be cut: the same rule as in transformers.
"""

from dataclasses import dataclass

import specdec  # noqa: F401  # isort: skip  (first: it sets one BLAS thread)

import numpy as np

NEAR_TIE = 1e-3


@dataclass
class Ledger:
    """Counts of one or more runs; emitted = accepted + rounds."""

    rounds: int = 0
    drafted: int = 0
    accepted: int = 0

    @property
    def emitted(self) -> int:
        return self.accepted + self.rounds

    def __str__(self) -> str:
        return (
            f"rounds {self.rounds}, drafted {self.drafted}, accepted {self.accepted}, "
            f"emitted {self.emitted}"
        )


def row(token_ids) -> np.ndarray:
    """A list of ids as the array (1, T) that models take."""
    return np.array([token_ids])


def greedy(model, prompt: list[int], count: int) -> list[int]:
    """The `count` tokens that follow `prompt`, each the model's most likely one."""
    cache, tokens = model.new_cache(), list(prompt)
    unread = tokens
    for _ in range(count):
        unread = [int(model(row(unread), cache)[0, -1].argmax())]
        tokens = tokens + unread
    return tokens[len(prompt) :]


def propose(draft, cache, tokens: list[int], count: int) -> list[int]:
    """`count` greedy tokens of the draft, whose cache lags behind `tokens`."""
    unread, proposed = tokens[len(cache) :], []
    for _ in range(count):
        unread = [int(draft(row(unread), cache)[0, -1].argmax())]
        proposed += unread
    return proposed


def speculative(target, draft, prompt: list[int], count: int, k: int) -> tuple[list[int], Ledger]:
    """(the same tokens as greedy(target, prompt, count), the ledger)."""
    target_cache, draft_cache = target.new_cache(), draft.new_cache()
    tokens, ledger = list(prompt), Ledger()
    while (room := len(prompt) + count - len(tokens)) > 0:
        proposed = propose(draft, draft_cache, tokens, min(k, room - 1))
        logits = target(row(tokens[len(target_cache) :] + proposed), target_cache)[0]
        choices = logits[-len(proposed) - 1 :].argmax(axis=-1).tolist()
        agreed = next((i for i, t in enumerate(proposed) if t != choices[i]), len(proposed))
        tokens += [*proposed[:agreed], choices[agreed]]
        # Each cache keeps at most all tokens but the newest, which no pass has read yet.
        target_cache.crop(len(tokens) - 1)
        draft_cache.crop(min(len(draft_cache), len(tokens) - 1))
        ledger.rounds += 1
        ledger.drafted += len(proposed)
        ledger.accepted += agreed
    return tokens[len(prompt) :], ledger


def is_greedy(model, prompt: list[int], generated: list[int]) -> bool:
    """Whether each generated token is the model's choice, by one uncached pass over the text."""
    logits = model(row(prompt + generated[:-1]))[0]
    return logits[len(prompt) - 1 :].argmax(axis=-1).tolist() == generated


def differs_beyond_a_tie(model, prompt: list[int], one: list[int], other: list[int]) -> bool:
    """Whether the first difference is more than rounding: a top-2 gap of NEAR_TIE or more.

    Compare texts of equal length only.
    """
    for position, (a, b) in enumerate(zip(one, other, strict=True)):
        if a != b:
            second, first = np.sort(model(row(prompt + one[:position]))[0, -1])[-2:]
            return bool(first - second >= NEAR_TIE)
    return False


def heldout_prompts(tokenizer, text: str, count: int, length: int) -> list[list[int]]:
    """`count` prompts of `length` tokens, each the start of a paragraph, spread over `text`."""
    paragraphs = [p for p in text.replace("<|endoftext|>", "\n").split("\n") if len(p) > 6 * length]
    step = len(paragraphs) // count
    return [tokenizer.encode(p)[:length] for p in paragraphs[:: max(1, step)][:count]]
