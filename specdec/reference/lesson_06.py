"""Lesson 6, better drafts: the worked functions.

The build copies them into the worked solution, and their signatures and docstrings into the
lesson, so what a learner reads and what the tests know are one text.
"""

from collections import Counter, defaultdict

import numpy as np


def fidelity(draft_logits, target_logits):
    """Return the share of rows in which draft and target have the same favourite token.

    draft_logits, target_logits  arrays (T, V): a row of logits for each place of a text

    The favourite of a row is the token with its largest logit; of equals, the smallest id. The two
    models' logits need not be on one scale. Returns a number from 0 to 1: at the places where it
    is measured, the chance that a greedy draft's guess is accepted.
    Raises ValueError when the shapes differ, are not (T, V), or T is 0.
    """
    draft_logits, target_logits = np.asarray(draft_logits), np.asarray(target_logits)
    if draft_logits.shape != target_logits.shape or draft_logits.ndim != 2:
        raise ValueError(f"two arrays (T, V), got {draft_logits.shape}, {target_logits.shape}")
    if len(draft_logits) == 0:
        raise ValueError("there is no row to compare")
    agree = draft_logits.argmax(axis=1) == target_logits.argmax(axis=1)
    return float(agree.mean())


class NGramDraft:
    """A draft that counts what followed in a text.

    NGramDraft(token_ids, n)  counts a text, a list of token ids that is not changed. Looks back at
                              n - 1 tokens at most. Raises ValueError for n below 1 or an empty text
    next_token(context)       the guess after a list of tokens. Take its last n - 1 tokens, or all
                              when there are fewer, and return what followed them most often in the
                              counted text. If they never occurred before another token there, back
                              off: drop the oldest of them and look again, down to none at all,
                              where every token of the text counts. Of equally frequent tokens, the
                              smallest id
    propose(token_ids, k)     k guesses, one after the other, each with the earlier ones before it
    """

    def __init__(self, token_ids, n):
        ### BEGIN SOLUTION
        if n < 1 or len(token_ids) == 0:
            raise ValueError(f"n must be 1 or more and the text not empty, got n = {n}")
        self.n = n
        self.followers = defaultdict(Counter)  # {context as a tuple: how often each token followed}
        for place, token in enumerate(token_ids):
            for length in range(min(n - 1, place) + 1):
                context = tuple(token_ids[place - length : place])
                self.followers[context][token] += 1
        ### END SOLUTION

    def next_token(self, context):
        ### BEGIN SOLUTION
        for length in range(min(self.n - 1, len(context)), -1, -1):
            seen = tuple(context[len(context) - length :])
            if seen in self.followers:
                counts = self.followers[seen]
                return max(counts, key=lambda token: (counts[token], -token))
        ### END SOLUTION

    def propose(self, token_ids, k):
        guesses = []
        for _ in range(k):
            guesses.append(self.next_token([*token_ids, *guesses]))
        return guesses


def prompt_lookup(token_ids, n, k):
    """Guess that the text goes on as it did the last time its newest n tokens occurred.

    token_ids  list of all tokens of the text so far; it is not changed
    n          how many of the newest tokens must match, >= 1
    k          how many tokens to guess at most, >= 0

    Looks for an earlier place with the same n tokens. The newest n tokens do not match themselves,
    but an earlier place may overlap them. Of several places the latest counts. Returns a list of
    the tokens that follow there: k of them, fewer where the text ends, none without a match.
    Raises ValueError for n below 1 or a negative k.
    """
    if n < 1 or k < 0:
        raise ValueError(f"n must be 1 or more and k 0 or more, got {n} and {k}")
    token_ids = list(token_ids)
    newest = token_ids[-n:]
    for start in range(len(token_ids) - n - 1, -1, -1):
        if token_ids[start : start + n] == newest:
            return token_ids[start + n : start + n + k]
    return []


def distillation_loss(draft_logits, target_probs):
    """Return how far a draft is from its target, and in which direction its logits should move.

    draft_logits  array (T, V): a row of the draft's logits for each place
    target_probs  array (T, V): a row of probabilities for each place, each row with sum 1

    With q = softmax of a row of draft_logits, and p the row of target_probs:
    loss      the mean over the T rows of KL(p || q) = sum of p * (log p - log q), in nats. A token
              with p = 0 adds 0
    gradient  array (T, V), the derivative of loss by draft_logits: (q - p) / T

    Returns (loss, gradient). Logits may be as large as 1000 either way without overflow.
    Raises ValueError when the shapes differ.
    """
    draft_logits, p = np.asarray(draft_logits), np.asarray(target_probs)
    if draft_logits.shape != p.shape:
        raise ValueError(f"the shapes {draft_logits.shape} and {p.shape} differ")
    shifted = draft_logits - draft_logits.max(axis=1, keepdims=True)
    log_q = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    log_p = np.log(np.where(p > 0, p, 1))
    loss = (p * (log_p - log_q)).sum() / len(p)
    return float(loss), (np.exp(log_q) - p) / len(p)


def propose_with_heads(hidden, num_accepted_tokens, heads):
    """Guess the next tokens from the pass that has just verified a draft.

    hidden               array (k + 1, d): the target's rows, before its head, for the newest token
                         of the text and the k guesses after it. Row 0 judged the first guess
    num_accepted_tokens  how many of the k guesses were accepted, 0 to k. The target's own token of
                         this round was read off the row after the last accepted guess
    heads                list of arrays (d, V). From that row, head 0 guesses the token after the
                         target's own one, head 1 the token after that, and so on

    Returns a list with one guess for each head: the token with the largest of row @ head.
    Raises ValueError when num_accepted_tokens is not a row of hidden.
    """
    if not 0 <= num_accepted_tokens < len(hidden):
        raise ValueError(f"{len(hidden)} rows, so no {num_accepted_tokens} guesses were accepted")
    row = hidden[num_accepted_tokens]
    return [int((row @ head).argmax()) for head in heads]


def tree_mask(parents):
    """Return which nodes of a tree each node may see: itself, its parent, and so on up to node 0.

    parents  list: for each node the number of its parent, which is an earlier node; -1 for node 0

    Returns a boolean array (n, n), True in row i and column j where node i may see node j.
    Raises ValueError when a parent is not an earlier node, or another node than 0 has none.
    """
    mask = np.eye(len(parents), dtype=bool)
    for node, parent in enumerate(parents):
        if node == 0 and parent == -1:
            continue
        if not 0 <= parent < node:
            raise ValueError(f"the parent of node {node} must be an earlier node, got {parent}")
        ### BEGIN SOLUTION
        mask[node] |= mask[parent]
        ### END SOLUTION
    return mask


def verify_tree(token_ids, parents, choices):
    """Follow the target's choices down a tree of guesses.

    token_ids  list: the token of each node. Node 0 is the newest token of the text, no guess
    parents    as in tree_mask
    choices    list: for each node the target's choice of the next token, when it has read the text
               up to this node

    Starts at node 0. While the node has a child whose token is the target's choice after the node,
    that child is accepted, and it goes on from there; of several such children the first.
    Returns (emitted, path):
    emitted  list: the accepted tokens, then the target's choice after the last of them
    path     list of the nodes it came through, node 0 first: what the cache has to keep
    Raises ValueError when the lists differ in length or are empty. They are not changed.
    """
    if not 0 < len(token_ids) == len(parents) == len(choices):
        raise ValueError("token_ids, parents and choices need one entry for each node")
    path = [0]
    for node in range(1, len(token_ids)):
        if parents[node] == path[-1] and token_ids[node] == choices[path[-1]]:
            path.append(node)
    emitted = [token_ids[node] for node in path[1:]]
    return [*emitted, choices[path[-1]]], path
