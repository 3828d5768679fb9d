"""Distributions: checked, drawn from, cut to top-p; and the cat pair of lesson 3 as tables."""

import numpy as np


def as_distribution(p):
    """Return p as an array of floats.

    Raises ValueError unless p is a flat list or array of numbers >= 0 that sum to 1 (to 1e-6).
    """
    p = np.array(p, dtype=float)
    if p.ndim != 1 or not np.all(p >= 0) or not abs(p.sum() - 1) < 1e-6:
        raise ValueError(f"not a distribution: {p}")
    return p


def draw(probs, rng):
    """Return a token id drawn from probs. Takes one random number from rng.

    Walks up the running sums of probs to the first that is above u, 0 <= u < 1. (u is taken times
    the last sum, which rounding can leave just below 1.)
    """
    sums = np.cumsum(probs)
    token = np.searchsorted(sums, rng.random() * sums[-1], side="right")
    return int(token)


def keep_top_p(probs, top_p):
    """Return probs cut to the likeliest tokens, as few as have at least top_p together.

    The kept ones are scaled to sum 1. Of equally likely tokens the first is kept first.
    """
    probs = np.asarray(probs, dtype=float)
    if top_p == 1:
        return probs
    order = np.argsort(-probs, kind="stable")
    before = np.cumsum(probs[order]) - probs[order]  # what the likelier tokens have together
    kept = np.zeros(len(probs))
    kept[order[before < top_p - 1e-12]] = 1
    return probs * kept / (probs * kept).sum()


class CountedPair:
    """Two models whose calls are counted: give `draft` and `target` to a generator.

    A pass is a run of target calls about one text and the tokens drafted after it. `repeats`
    counts draft calls about the same text as the draft call before; `starts` lists the lengths of
    the texts that rounds with a draft began with.
    Raises RuntimeError when the models are asked far more often than a text needs.
    """

    def __init__(self, draft_model, target_model, budget: int = 50_000):
        self.draft_calls = self.target_calls = self.passes = self.repeats = 0
        self.starts: list[int] = []
        self._models, self._budget = (draft_model, target_model), budget
        self._start, self._drafted, self._last_text = -1, 0, None
        self._in_pass = True

    def draft(self, token_ids):
        """Ask the draft model."""
        text = tuple(token_ids)
        if self._in_pass:
            self._start, self._drafted, self._last_text = len(text), 0, None
            self.starts.append(len(text))
        self._in_pass = False
        self.repeats += text == self._last_text
        self._last_text = text
        self._drafted += 1
        self.draft_calls += 1
        return self._ask(0, token_ids)

    def target(self, token_ids):
        """Ask the target model."""
        beyond = len(token_ids) > self._start + self._drafted
        if beyond:
            self._start, self._drafted = len(token_ids), 0
        self.passes += beyond or not self._in_pass
        self._in_pass = True
        self.target_calls += 1
        return self._ask(1, token_ids)

    def _ask(self, which: int, token_ids):
        if self.draft_calls + self.target_calls > self._budget:
            raise RuntimeError("the models were asked far more often than the text needs")
        return self._models[which](token_ids)


WORDS = ["the", "cat", "dog", "sat", "on", "mat", "rug", "and"]
NEVER = -1000.0  # the logit of a word that never comes: exp(-1000) is 0

AFTER_ONE_WORD = {  # the draft: one word back
    "the": {"mat": 0.2, "rug": 0.3, "cat": 0.5},
    "cat": {"sat": 0.8, "and": 0.2},
    "dog": {"sat": 0.8, "and": 0.2},
    "sat": {"on": 0.9, "and": 0.1},
    "on": {"the": 1.0},
    "mat": {"and": 1.0},
    "rug": {"and": 1.0},
    "and": {"the": 0.9, "sat": 0.1},
}
AFTER_MORE_WORDS = {  # the target: two words back after "the"
    "on the": {"mat": 0.5, "rug": 0.3, "cat": 0.2},
    "and the": {"dog": 0.7, "cat": 0.3},
    "the": {"cat": 0.6, "dog": 0.4},
    "cat": {"sat": 0.9, "and": 0.1},
    "dog": {"sat": 0.7, "and": 0.3},
}


def cat_draft(token_ids):
    """Return the draft's 8 logits for the word after token_ids; it looks one word back."""
    return _logits(AFTER_ONE_WORD[WORDS[token_ids[-1]]])


def cat_target(token_ids):
    """Return the target's 8 logits for the word after token_ids; after `the` it looks further."""
    last = WORDS[token_ids[-1]]
    two = f"{WORDS[token_ids[-2]]} {last}" if len(token_ids) > 1 else last
    table = AFTER_MORE_WORDS
    return _logits(table.get(two) or table.get(last) or AFTER_ONE_WORD[last])


def _logits(table) -> list[float]:
    return [float(np.log(table[word])) if word in table else NEVER for word in WORDS]
