"""Worked functions of lesson 2: a causal mask, plain decoding, and one pass that checks k guesses.

Models are called by `full_lm_forward(token_ids, model, mask)`, which gives logits (1, T, V).
"""

import numpy as np

from specdec.model import full_lm_forward


def build_causal_mask(n):
    """Return the causal mask of a pass over n tokens.

    n  number of tokens, 1 or more

    Returns an array of booleans, shape (n, n): True at [row, column] where the row's token may see
    the column's token, which is at every position up to and including its own.
    """
    return np.tril(np.ones((n, n), dtype=bool))


def greedy_decode(token_ids, model, num_tokens):
    """Continue a text with the model's favourite tokens, one pass for each.

    token_ids   array of whole numbers, shape (1, T), T >= 1; it is not changed
    model       what full_lm_forward takes, which is called with a causal mask
    num_tokens  how many tokens to add, >= 0; num_tokens passes are made

    Returns an array of whole numbers, shape (1, T + num_tokens): the text and the new tokens.
    Raises ValueError when num_tokens is negative.
    """
    if num_tokens < 0:
        raise ValueError(f"num_tokens must be 0 or more, got {num_tokens}")
    for _ in range(num_tokens):
        mask = build_causal_mask(token_ids.shape[1])
        logits = full_lm_forward(token_ids, model, mask)
        next_token = np.argmax(logits[0, -1])
        token_ids = np.concatenate([token_ids, [[next_token]]], axis=1)
    return token_ids


def speculative_decode_step(token_ids, draft, target, num_draft_tokens):
    """Draft k tokens, check them in one pass of the target, and add what survives.

    token_ids         array of whole numbers, shape (1, T), T >= 1; it is not changed
    draft, target     models, as in greedy_decode
    num_draft_tokens  k >= 0; the draft adds k greedy tokens, in at most k passes

    The target makes exactly one pass, over the text and all k drafted tokens, with a causal mask.
    A drafted token is accepted when all before it were and it is the target's favourite at its
    place. After the accepted ones comes one token of the target's own: the correction at the first
    difference, or the bonus when all k were accepted.

    Returns (token_ids, num_accepted_tokens): an array of whole numbers, shape (1, T + m), the text
    and m = num_accepted_tokens + 1 new tokens; and a number from 0 to k.
    Raises ValueError when num_draft_tokens is negative.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Algorithm 1, greedy.
    """
    if num_draft_tokens < 0:
        raise ValueError(f"num_draft_tokens must be 0 or more, got {num_draft_tokens}")
    length = token_ids.shape[1]
    drafted = greedy_decode(token_ids, draft, num_draft_tokens)
    mask = build_causal_mask(drafted.shape[1])
    logits = full_lm_forward(drafted, target, mask)
    answers = np.argmax(logits[0, length - 1 :], axis=-1)  # k + 1 rows judge
    accepted = 0
    while accepted < num_draft_tokens and drafted[0, length + accepted] == answers[accepted]:
        accepted += 1
    new_tokens = answers[: accepted + 1]
    return np.concatenate([token_ids, [new_tokens]], axis=1), accepted


def speculative_decode(token_ids, draft, target, num_tokens, num_draft_tokens):
    """Continue a text by num_tokens tokens, in rounds of speculative_decode_step.

    token_ids         array of whole numbers, shape (1, T), T >= 1; it is not changed
    draft, target     models, as in greedy_decode
    num_tokens        how many tokens to add, >= 0
    num_draft_tokens  how many tokens to draft in each round, k >= 0

    Returns (token_ids, accepted): an array of whole numbers, shape (1, T + num_tokens), the same
    tokens as greedy_decode with the target; and a list with num_accepted_tokens of each round, in
    order. Every round drafts num_draft_tokens tokens, the last one too. It may give more tokens
    than are wanted: the text is cut, and that round's number stays as the step gave it.
    Raises ValueError when num_tokens or num_draft_tokens is negative.
    """
    if num_tokens < 0 or num_draft_tokens < 0:
        raise ValueError(
            f"num_tokens and num_draft_tokens must be 0 or more, got {num_tokens} and "
            f"{num_draft_tokens}"
        )
    wanted = token_ids.shape[1] + num_tokens
    accepted = []
    while token_ids.shape[1] < wanted:
        token_ids, count = speculative_decode_step(token_ids, draft, target, num_draft_tokens)
        accepted.append(count)
    return token_ids[:, :wanted], accepted


def passes_saved(num_tokens, accepted):
    """Return how many passes of the target were saved against plain decoding.

    num_tokens  how many tokens were added to the text
    accepted    list with the number of accepted tokens of each round, as speculative_decode
                returns it; a round is one pass of the target

    Plain decoding takes one pass for each token.
    """
    return num_tokens - len(accepted)
