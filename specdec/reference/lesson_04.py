"""Lesson 4, caches and rollback: the worked functions.

The build copies them into the worked solution, and their signatures and docstrings into the
lesson, so what a learner reads and what the tests know are one text.
"""

import numpy as np

from specdec.reference.lesson_01 import verify_greedy


class KVCache:
    """Keys and values of one text, kept for every layer of a model.

    KVCache(num_layers)          an empty cache; layers are numbered from 0
    append(layer, keys, values)  adds T positions to one layer. Both arrays have the shape
                                 (kv_heads, T, head_dim). Returns (keys, values) of all positions
                                 that the layer now holds, oldest first. It need not copy the
                                 arrays it gets, and must not write into them
    crop(length)                 keeps the first `length` positions of every layer. Raises
                                 ValueError for a length below 0 or above len(cache)
    len(cache)                   positions that the last layer holds; 0 when it is new

    In a pass the model calls append once for each layer, in order. Two caches share no lists.
    """

    def __init__(self, num_layers):
        self.keys = [None] * num_layers  # an array for each layer, None while it is empty
        self.values = [None] * num_layers

    def __len__(self):
        ### BEGIN SOLUTION
        return 0 if self.keys[-1] is None else self.keys[-1].shape[1]
        ### END SOLUTION

    def append(self, layer, keys, values):
        ### BEGIN SOLUTION
        if self.keys[layer] is not None:
            keys = np.concatenate([self.keys[layer], keys], axis=1)
            values = np.concatenate([self.values[layer], values], axis=1)
        self.keys[layer], self.values[layer] = keys, values
        return keys, values
        ### END SOLUTION

    def crop(self, length):
        ### BEGIN SOLUTION
        if not 0 <= length <= len(self):
            raise ValueError(f"the cache holds {len(self)} positions; it can't keep {length}")
        for layer in range(len(self.keys)):
            if self.keys[layer] is not None:
                self.keys[layer] = self.keys[layer][:, :length]
                self.values[layer] = self.values[layer][:, :length]
        ### END SOLUTION

    def __repr__(self):
        return f"<KVCache: {len(self.keys)} layers, {len(self)} positions>"


def catch_up(model, cache, token_ids):
    """Let the model read the tokens that its cache lacks, in one pass; return their logits.

    model      call it as model(ids, cache): ids is an array of shape (1, T), the T tokens that
               follow those in the cache. It returns logits (1, T, V), and the cache grows by T
    cache      holds the first len(cache) tokens of the text; any object with KVCache's methods
    token_ids  list of all tokens of the text, drafted ones included; it is not changed

    Returns an array (T, V), T = len(token_ids) - len(cache): row i is the model's answer after
    missing token i, so the last row is about the token that comes next.
    Raises ValueError when nothing is missing: the cache holds as many tokens as the text, or more.
    """
    missing = token_ids[len(cache) :]
    if len(missing) == 0:
        raise ValueError(f"the cache holds {len(cache)} tokens, the text has {len(token_ids)}")
    return model(np.array([missing]), cache)[0]


def cut_at_eos(token_ids, eos, room):
    """Return the tokens of a round that still belong to the text.

    token_ids  list of the tokens that the round emitted; it is not changed
    eos        token that ends a text, or None when no token does; 0 is a token like any other
    room       how many more tokens are wanted, >= 0

    Returns a list: at most `room` tokens, and nothing after the first eos. The eos itself stays.
    """
    kept = list(token_ids[:room])
    if eos in kept:
        kept = kept[: kept.index(eos) + 1]
    return kept


def speculative_generate_cached(
    draft, target, draft_cache, target_cache, prompt, n_tokens, k, eos=None
):
    """Generate the target's greedy text, with a draft, and with a cache for each model.

    draft, target              models, called as in catch_up
    draft_cache, target_cache  their caches, both empty
    prompt                     list of token ids, at least one; it is not changed
    n_tokens                   how many new tokens to return at most, >= 0
    k                          tokens to draft in each round, in the last one too, >= 0
    eos                        token that ends the text, or None

    In each round the target makes one pass; with 1 + k rows, but for the first round, where it
    reads the prompt too. After each round, the last included, each cache is cropped to the cut text
    without its newest token; a cache that is already shorter stays as it is. No model reads a token
    of the text twice.

    Returns (token_ids, accepted): the list of new tokens, n_tokens of them or fewer when eos ends
    the text, and a list with the number of accepted guesses of each round, counted before any cut.
    Raises ValueError when n_tokens or k is negative.
    """
    if n_tokens < 0 or k < 0:
        raise ValueError(f"n_tokens and k must be 0 or more, got {n_tokens} and {k}")
    tokens, accepted = list(prompt), []
    end = len(prompt) + n_tokens
    while len(tokens) < end:
        proposed = []
        for _ in range(k):
            logits = catch_up(draft, draft_cache, tokens + proposed)
            proposed.append(int(logits[-1].argmax()))
        logits = catch_up(target, target_cache, tokens + proposed)
        choices = logits[-(k + 1) :].argmax(axis=-1).tolist()
        emitted = verify_greedy(proposed, choices)
        accepted.append(len(emitted) - 1)
        emitted = cut_at_eos(emitted, eos, end - len(tokens))
        tokens += emitted
        for cache in (draft_cache, target_cache):
            cache.crop(min(len(cache), len(tokens) - 1))
        if emitted[-1] == eos:
            break
    return tokens[len(prompt) :], accepted


def acceptance_by_position(accepted, k):
    """Return, for each of the k places of a draft, the share of its guesses that were accepted.

    accepted  list with the number of accepted guesses of each round, each from 0 to k
    k         number of drafted tokens a round, >= 0

    Place i is tested only in rounds that accepted all i guesses before it; the share is counted
    among those. Returns a list of k numbers, with None for a place that no round tested.
    """
    shares = []
    for place in range(k):
        tested = sum(count >= place for count in accepted)
        passed = sum(count > place for count in accepted)
        shares.append(passed / tested if tested else None)
    return shares
