"""Lesson 3, exact sampling: the worked functions.

The build copies them into the worked solution, and their signatures and docstrings into the
lesson, so what a learner reads and what the tests know are one text.
"""

import numpy as np

from specdec.sampling import as_distribution, draw, keep_top_p


def acceptance_probability(p, q, token):
    """Return the chance that a drafted token is kept: min(1, p[token] / q[token]).

    p, q   probabilities of all V tokens, of the target and of the draft; lists or arrays
    token  index of the drafted token, 0 <= token < V

    Returns a number between 0 and 1. It is 0 when q[token] is 0: the draft can't have drawn it.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Algorithm 1.
    """
    if q[token] == 0:
        return 0.0
    return min(1.0, p[token] / q[token])


def residual(p, q):
    """Return the distribution to draw from after a rejection: max(0, p - q), scaled to sum 1.

    p, q  probabilities of all V tokens, of the target and of the draft; lists or arrays

    Returns V probabilities, a list or an array. When p and q are equal, returns p.
    Raises ValueError when the lengths differ, or when p or q is not a distribution
    (as_distribution raises for you).
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Algorithm 1.
    """
    p, q = as_distribution(p), as_distribution(q)
    if len(p) != len(q):
        raise ValueError(f"p has {len(p)} entries and q has {len(q)}; they need equally many")
    missing = np.maximum(p - q, 0)
    if missing.sum() == 0:
        return p
    return missing / missing.sum()


def expected_acceptance(p, q):
    """Return the chance that a token drawn from q is kept: the sum of min(p, q) over all tokens.

    p, q  probabilities of all V tokens, of the target and of the draft; lists or arrays

    Returns a number between 0 and 1, called alpha.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Corollary 3.6.
    """
    return float(np.minimum(p, q).sum())


def speculative_step(draft_token_ids, draft_probs, target_probs, rng):
    """Return the tokens that one verification emits under sampling.

    draft_token_ids  list of k token ids, k >= 0; token i was drawn from draft_probs[i]
    draft_probs      k distributions over V tokens
    target_probs     k + 1 distributions over V tokens: row i is the target's own after i guesses
    rng              random numbers: rng.random() gives the next u, 0 <= u < 1

    Takes one u for each token that it tests, in order; the token is kept when
    u < acceptance_probability. After the first rejection it draws one token from the residual of
    that place and stops. When all k are kept it draws one from the last row of target_probs.

    Returns a list of 1 to k + 1 token ids. No input is changed.
    Raises ValueError when there are not k rows in draft_probs and k + 1 in target_probs.
    """
    k = len(draft_token_ids)
    if len(draft_probs) != k or len(target_probs) != k + 1:
        raise ValueError(
            f"{k} draft tokens need {k} rows of draft_probs and {k + 1} of target_probs; "
            f"there are {len(draft_probs)} and {len(target_probs)}"
        )
    emitted = []
    for i in range(k):
        p, q, token = target_probs[i], draft_probs[i], draft_token_ids[i]
        if rng.random() >= acceptance_probability(p, q, token):
            emitted.append(draw(residual(p, q), rng))
            return emitted
        emitted.append(token)
    emitted.append(draw(target_probs[k], rng))
    return emitted


def process_logits(logits, temperature, top_p):
    """Return the distribution that a model draws from.

    logits       V numbers, one a token; a list or an array
    temperature  T >= 0; logits are divided by it. T = 0 puts all on the largest logit, the first
                 one when several are equally large
    top_p        0 < top_p <= 1, used after the temperature, as keep_top_p does; 1 keeps all

    Returns V probabilities: exp(logits / T), scaled to sum 1, then keep_top_p. Logits as large as
    1000 give no infinity and no NaN.
    Raises ValueError when temperature is negative, or when top_p is not in 0 < top_p <= 1.
    """
    if temperature < 0 or not 0 < top_p <= 1:
        raise ValueError(f"temperature {temperature} or top_p {top_p} is out of range")
    logits = np.asarray(logits, dtype=float)
    if temperature == 0:
        probs = np.zeros(len(logits))
        probs[logits.argmax()] = 1
        return probs
    weights = np.exp((logits - logits.max()) / temperature)
    return keep_top_p(weights / weights.sum(), top_p)


def speculative_sample(draft_model, target_model, prompt, n_tokens, k, temperature, top_p, rng):
    """Generate n_tokens tokens with the target's distribution, k drafted tokens a round.

    draft_model, target_model  functions: a list of token ids -> V logits for the next token
    prompt                     list of token ids; it is not changed
    n_tokens, k                how many new tokens to return, and to draft a round; both >= 0
    temperature, top_p         as in process_logits; used for both models
    rng                        random numbers, as in speculative_step

    Returns a list of exactly n_tokens new token ids, without the prompt. Their distribution is
    the target's: the same as when each is drawn from process_logits of the target's logits.
    Raises ValueError when n_tokens or k is negative.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Algorithm 1.
    """
    if n_tokens < 0 or k < 0:
        raise ValueError(f"n_tokens and k must be 0 or more, got {n_tokens} and {k}")
    sequence = list(prompt)
    while len(sequence) < len(prompt) + n_tokens:
        draft, draft_probs = [], []
        for _ in range(k):
            q = process_logits(draft_model(sequence + draft), temperature, top_p)
            draft.append(draw(q, rng))
            draft_probs.append(q)
        target_probs = [
            process_logits(target_model(sequence + draft[:i]), temperature, top_p)
            for i in range(k + 1)
        ]
        sequence += speculative_step(draft, draft_probs, target_probs, rng)
    return sequence[len(prompt) : len(prompt) + n_tokens]
