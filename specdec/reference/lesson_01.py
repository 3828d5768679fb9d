"""Lesson 1, draft and verify: the worked functions.

The build copies them into the worked solution, and their signatures and docstrings into the
lesson, so what a learner reads and what the tests know are one text.
"""


def verify_greedy(draft, target_next):
    """Return the tokens that one verification emits.

    draft        list of k drafted tokens, k >= 0
    target_next  list of k + 1 tokens: target_next[i] is the target's own choice after the text
                 and draft[:i]; the last entry is its choice after the whole draft

    Returns a list of 1 to k + 1 tokens. Neither input is changed.
    Raises ValueError when target_next does not have len(draft) + 1 entries.
    """
    if len(target_next) != len(draft) + 1:
        raise ValueError(
            f"target_next needs {len(draft) + 1} entries, one more than the draft; "
            f"it has {len(target_next)}"
        )
    emitted = []
    for drafted, wanted in zip(draft, target_next, strict=False):
        emitted.append(wanted)
        if drafted != wanted:
            return emitted  # the correction is the last token of this round
    emitted.append(target_next[len(draft)])  # every guess was right: the bonus token
    return emitted


def accepted_count(draft, target_next):
    """Return how many draft tokens one verification accepts, 0 to len(draft).

    Arguments and ValueError as in verify_greedy.
    """
    return len(verify_greedy(draft, target_next)) - 1


def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    """Generate n_tokens tokens with the target's greedy choices, k drafted tokens a round.

    draft_model, target_model  functions: a list of tokens -> the next token
    prompt                     list of tokens; it is not changed
    n_tokens                   how many new tokens to return, >= 0
    k                          how many tokens to draft in each round, >= 0

    Returns a list of exactly n_tokens new tokens, without the prompt: the same tokens as plain
    greedy generation with target_model. Raises ValueError when n_tokens or k is negative.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Algorithm 1 at temperature 0.
    """
    if n_tokens < 0 or k < 0:
        raise ValueError(f"n_tokens and k must be 0 or more, got {n_tokens} and {k}")
    sequence = list(prompt)
    while len(sequence) < len(prompt) + n_tokens:
        draft = []
        for _ in range(k):
            draft.append(draft_model(sequence + draft))
        target_next = [target_model(sequence + draft[:i]) for i in range(k + 1)]
        sequence += verify_greedy(draft, target_next)
    return sequence[len(prompt) : len(prompt) + n_tokens]


def expected_tokens(a, k):
    """Return the mean number of tokens that one pass emits.

    a  chance that a draft token is right, given that all before it were, 0 <= a <= 1
    k  number of drafted tokens, >= 0

    Returns the sum 1 + a + a**2 + ... + a**k; both ends, a = 0 and a = 1, are allowed.
    Raises ValueError when a is outside 0..1 or k is negative.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), equation 1.
    """
    if not 0 <= a <= 1:
        raise ValueError(f"a is a chance between 0 and 1, got {a}")
    if k < 0:
        raise ValueError(f"k must be 0 or more, got {k}")
    if a == 1:
        return k + 1
    return (1 - a ** (k + 1)) / (1 - a)


def speed_estimate(a, k, t_draft, t_verify):
    """Return the estimated speed of speculative decoding, in tokens per unit of time.

    a, k      as in expected_tokens
    t_draft   time of one draft step; a round has k of them, one after the other
    t_verify  time of one pass of the target; a round has one

    With times in seconds the result is in tokens per second, with ms in tokens per ms.
    """
    return expected_tokens(a, k) / (k * t_draft + t_verify)
