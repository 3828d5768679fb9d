"""Write a text with the target, and note what each draft would have guessed at every place.

From one such trace follow the passes of every k: at a place, take the first k guesses, keep those
that are the text's own next tokens, and add one token of the target's.
"""

import numpy as np

MAX_DRAFT = 8
NEW_TOKENS = 48


class PromptError(ValueError):
    """A prompt that can't be continued; the message says why and what to do."""


def record_trace(prompt: str, target, drafts: dict, num_tokens: int = NEW_TOKENS) -> dict:
    """Continue a prompt greedily, and record 8 guesses of each draft at every place.

    prompt      any text of at least one token
    target      a Model
    drafts      {name: Model} with the target's tokenizer
    num_tokens  how many tokens to write

    Returns {"prompt": text, "pieces": [text of a token, …], "tokens": [num_tokens places in
    pieces], "drafts": {name: [8 places in pieces, for every place of the text]}}.
    Raises PromptError for a prompt without words, or one that does not fit the model's context.
    """
    token_ids = prompt_ids(prompt, target, num_tokens)
    text = greedy_with_cache(target, token_ids, num_tokens)
    guesses = {name: guesses_along(model, token_ids, text) for name, model in drafts.items()}
    used = sorted({*text, *(t for rows in guesses.values() for row in rows for t in row)})
    place = {token: index for index, token in enumerate(used)}
    return {
        "prompt": prompt,
        "pieces": [target.tokenizer.decode([token]) for token in used],
        "tokens": [place[token] for token in text],
        "drafts": {
            name: [[place[token] for token in row] for row in rows]
            for name, rows in guesses.items()
        },
    }


def prompt_ids(prompt: str, target, num_tokens: int) -> list[int]:
    """Token ids of a prompt that leaves room for the text and the guesses. Raises PromptError."""
    if not prompt.strip():
        raise PromptError("Type a few words first.")
    token_ids = target.tokenizer.encode(prompt)
    room = target.config.context - num_tokens - MAX_DRAFT
    if len(token_ids) > room:
        raise PromptError(
            f"This prompt has {len(token_ids)} tokens. The model reads {target.config.context} at "
            f"most, new ones included: use a prompt of {room} tokens or fewer."
        )
    return token_ids


def greedy_with_cache(model, token_ids: list[int], num_tokens: int) -> list[int]:
    """The model's favourite num_tokens tokens after token_ids."""
    cache, new = model.new_cache(), []
    logits = model(np.array([token_ids]), cache)
    while len(new) < num_tokens:
        new.append(int(np.argmax(logits[0, -1])))
        if len(new) < num_tokens:
            logits = model(np.array([new[-1:]]), cache)
    return new


def guesses_along(model, token_ids: list[int], text: list[int]) -> list[list[int]]:
    """For every place of the text: the 8 tokens that the model would write from there on."""
    cache, rows = model.new_cache(), []
    logits = model(np.array([token_ids]), cache)
    for token in text:
        length = len(cache)
        row = [int(np.argmax(logits[0, -1]))]
        while len(row) < MAX_DRAFT:
            ahead = model(np.array([row[-1:]]), cache)
            row.append(int(np.argmax(ahead[0, -1])))
        rows.append(row)
        cache.crop(length)
        logits = model(np.array([[token]]), cache)
    return rows


def passes_of(tokens: list, guesses: list, k: int) -> list[dict]:
    """The rounds of speculative decoding with k drafted tokens, from a trace.

    tokens   the text
    guesses  for every place of the text, the draft's tokens from there on
    The last round drafts no more than the text has room for.

    Returns one dict a pass: {"drafted": tokens, "accepted": number, "emitted": tokens}.
    """
    passes, place = [], 0
    while place < len(tokens):
        drafted = list(guesses[place][: min(k, len(tokens) - place - 1)])
        accepted = 0
        while accepted < len(drafted) and drafted[accepted] == tokens[place + accepted]:
            accepted += 1
        emitted = tokens[place : place + accepted + 1]
        passes.append({"drafted": drafted, "accepted": accepted, "emitted": emitted})
        place += accepted + 1
    return passes


def ledger_line(passes: list[dict]) -> str:
    """The one line that all lessons use."""
    drafted = sum(len(one["drafted"]) for one in passes)
    accepted = sum(one["accepted"] for one in passes)
    emitted = sum(len(one["emitted"]) for one in passes)
    return f"rounds {len(passes)} · drafted {drafted} · accepted {accepted} · emitted {emitted}"
