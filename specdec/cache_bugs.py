"""Lesson 4's programs that roll caches back by counting, one of them right, the others not.

Each wrong one is a bug that real programs had; the lesson names the reports.
"""

import numpy as np

from specdec.reference.lesson_01 import verify_greedy


def generate_by_counting(draft, target, prompt, n_tokens, k, roll_back):
    """Return (token_ids, accepted) of speculative decoding whose caches are rolled back by count.

    roll_back  called after each round as roll_back(draft, draft_cache, target_cache, proposed, a)
    The other arguments and the result are those of lesson 4's speculative_generate_cached.
    """
    draft_cache, target_cache = draft.new_cache(), target.new_cache()
    tokens, accepted = list(prompt), []
    if len(prompt) > 1:
        draft(np.array([prompt[:-1]]), draft_cache)
        target(np.array([prompt[:-1]]), target_cache)
    while len(tokens) < len(prompt) + n_tokens:
        proposed, unread = [], tokens[-1:]
        for _ in range(k):
            unread = [int(draft(np.array([unread]), draft_cache)[0, -1].argmax())]
            proposed += unread
        logits = target(np.array([tokens[-1:] + proposed]), target_cache)
        emitted = verify_greedy(proposed, logits[0].argmax(axis=-1).tolist())
        tokens += emitted
        accepted.append(len(emitted) - 1)
        roll_back(draft, draft_cache, target_cache, proposed, accepted[-1])
    return tokens[len(prompt) : len(prompt) + n_tokens], accepted


def roll_back(draft, draft_cache, target_cache, proposed, num_accepted):
    rejected = len(proposed) - num_accepted
    target_cache.crop(len(target_cache) - rejected)
    if rejected > 0:
        # The draft never read its own last guess, so it has one less to forget.
        draft_cache.crop(len(draft_cache) - (rejected - 1))
    else:
        # All were right: now the last guess belongs to the text, and it has to be read.
        draft(np.array([proposed[-1:]]), draft_cache)


def keep_draft_as_it_is(draft, draft_cache, target_cache, proposed, num_accepted):
    target_cache.crop(len(target_cache) - (len(proposed) - num_accepted))
    if num_accepted == len(proposed):
        draft(np.array([proposed[-1:]]), draft_cache)


def program_1(draft, draft_cache, target_cache, proposed, num_accepted):
    rejected = len(proposed) - num_accepted
    target_cache.crop(len(target_cache) - rejected)
    if rejected > 0:
        draft_cache.crop(len(draft_cache) - (rejected - 1))


def program_2(draft, draft_cache, target_cache, proposed, num_accepted):
    rejected = len(proposed) - num_accepted
    if rejected > 0:
        draft_cache.crop(len(draft_cache) - (rejected - 1))
    else:
        draft(np.array([proposed[-1:]]), draft_cache)


def program_3(draft, draft_cache, target_cache, proposed, num_accepted):
    rejected = len(proposed) - num_accepted
    target_cache.crop(len(target_cache) - rejected)
    draft_cache.crop(0)


def program_4(draft, draft_cache, target_cache, proposed, num_accepted):
    rejected = len(proposed) - num_accepted
    target_cache.crop(len(target_cache) - rejected)
    draft_cache.crop(len(draft_cache) - rejected)
    if rejected == 0:
        draft(np.array([proposed[-1:]]), draft_cache)


keep_target_as_it_is = program_2
