"""Programs with a real bug in them, shown in the lessons for the learner to expose."""

import numpy as np

from specdec.model import full_lm_forward
from specdec.sampling import draw, keep_top_p


def verify_shifted(draft, target_next):
    emitted = []
    for i in range(len(draft)):
        if i > 0 and draft[i] != target_next[i]:
            emitted.append(target_next[i])
            return emitted
        emitted.append(draft[i])
    emitted.append(target_next[len(draft)])
    return emitted


def residual_unguarded(p, q):
    missing = np.maximum(np.subtract(p, q), 0)
    return missing / missing.sum()


def draft_top_two(q, rng):
    top_two = keep_top_p(q, 0.6)
    token = draw(top_two, rng)
    return token, q


def draft_likeliest(q, rng):
    token = int(np.argmax(q))
    return token, q


def answer_late(draft_token_ids, answers):
    for i in range(len(draft_token_ids)):
        if draft_token_ids[i] != answers[i]:
            return [*draft_token_ids[:i], answers[i + 1]]
    return [*draft_token_ids, answers[-1]]


def judge_unmasked(token_ids, target, num_draft_tokens):
    logits = full_lm_forward(token_ids, target, None)
    return np.argmax(logits[0, -num_draft_tokens - 1 :], axis=-1)


def lookup_latest(token_ids, n, k):
    newest = token_ids[-n:]
    for start in range(len(token_ids) - n, -1, -1):
        if token_ids[start : start + n] == newest:
            return token_ids[start + n : start + n + k]
    return []


def mask_by_level(parents):
    levels = []
    for parent in parents:
        levels.append(0 if parent == -1 else levels[parent] + 1)
    mask = np.eye(len(parents), dtype=bool)
    for i in range(len(parents)):
        for j in range(len(parents)):
            if levels[j] < levels[i]:
                mask[i, j] = True
    return mask
