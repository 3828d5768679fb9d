"""Record what the draft race of lesson 6 plays: three texts with five drafts' guesses, and prices.

    python -m tools.record_drafts            both
    python -m tools.record_drafts texts      after new weights
    python -m tools.record_drafts prices     on a quiet machine

Writes specdec/data/draft_race.json. The texts are chosen among fixed beginnings by what the target
does with them: the prose that repeats itself least, the text that prompt lookup guesses best, and
the list with the most entries.
"""

import json
import sys
from datetime import UTC, datetime
from functools import cache

import specdec  # noqa: F401  # isort: skip  (first: it sets one BLAS thread)
import numpy as np

from specdec.model import MODELS, load_model
from specdec.trained.drafts import (
    Lookup,
    Run,
    five_drafts,
    generate,
    guess_cost,
    guesses_along,
    hidden_along,
    pass_costs,
)
from specdec.trained.traces import MAX_DRAFT, NEW_TOKENS, prompt_ids
from specdec.widgets.draft_race import ASKED_K, RECORDED
from tools.record_traces import processor

PROSE_WORDS, PROSE_PROMPTS = 9, 16
LISTS = (
    "She saw the house, and the garden, and the park, and",
    "They spoke of the whale, and the boat, and the captain, and",
    "There were the father, the mother, the brother, the sister, the",
    "one, two, three, four,",
    "He had been to Bath, to London, to Portsmouth, to",
    "It was neither kind, nor just, nor civil, nor",
    "the cabin, the deck, the mast, the sails, the",
)
REPEATING = (
    "They went up the hill, and down the hill, and up the hill, and down the hill, and",
    "She was very happy, and he was very happy, and she was very happy, and he was",
    "Miss Bates, Miss Bates, Miss Bates, Miss",
    "I am sure I am not in the world. I am sure I am not in the world. I am sure",
    "The whale rose, and the whale sank, and the whale rose, and the whale",
)


def candidates() -> list[str]:
    """First words of held-out paragraphs."""
    paragraphs = (MODELS / "heldout.txt").read_text(encoding="utf-8").splitlines()
    spread = paragraphs[:: len(paragraphs) // PROSE_PROMPTS][:PROSE_PROMPTS]
    return [" ".join(text.split()[:PROSE_WORDS]).lstrip('"') for text in spread]


def distinct(text: list[int]) -> float:
    """Share of a text's 4-grams that are different from each other."""
    grams = list(zip(*(text[i:] for i in range(4)), strict=False))
    return len(set(grams)) / len(grams)


def record_texts() -> list[dict]:
    target = load_model("target")

    @cache
    def looked_up(prompt: str) -> Run:
        ids = prompt_ids(prompt, target, NEW_TOKENS)
        return generate(target, Lookup(), ids, NEW_TOKENS, ASKED_K)

    def accepted(prompt: str) -> int:
        return sum(looked_up(prompt).accepted)

    def entries(prompt: str) -> tuple:
        text = looked_up(prompt).texts[0]
        return target.tokenizer.decode(text).count(","), distinct(text)

    begun = candidates()
    chosen = {
        "prose": max(begun, key=lambda prompt: (distinct(looked_up(prompt).texts[0]), prompt)),
        "copying": max([*REPEATING, *begun], key=accepted),
        "list": max(LISTS, key=entries),
    }
    drafts = five_drafts()
    return [
        record(name, prompt, looked_up(prompt).texts[0], target, drafts)
        for name, prompt in chosen.items()
    ]


def record(name: str, prompt: str, text: list[int], target, drafts) -> dict:
    """One text with all guesses; tokens are places in `pieces`, as in the pass player's traces."""
    ids = prompt_ids(prompt, target, NEW_TOKENS)
    hidden = hidden_along(target, np.array([*ids, *text]))
    guesses = {d.name: guesses_along(d, ids, text, hidden, MAX_DRAFT) for d in drafts}
    used = sorted({*text, *(t for rows in guesses.values() for row in rows for t in row)})
    place = {token: index for index, token in enumerate(used)}
    return {
        "name": name,
        "prompt": prompt,
        "pieces": [target.tokenizer.decode([token]) for token in used],
        "tokens": [place[token] for token in text],
        "drafts": {
            draft: [[place[token] for token in row] for row in rows]
            for draft, rows in guesses.items()
        },
    }


def record_prices() -> dict:
    target = load_model("target")
    *costs, one = pass_costs(target, repeats=15)
    prompts = [target.tokenizer.encode(prompt) for prompt in candidates()[:2]]
    guess = {}
    for draft in five_drafts():
        runs = [generate(target, draft, ids, NEW_TOKENS, ASKED_K) for ids in prompts]
        guess[draft.name] = round(float(np.mean([guess_cost(run, one) for run in runs])), 4)
    return {
        "pass": [round(cost, 3) for cost in costs],
        "guess": guess,
        "pass_milliseconds": round(1000 * one, 2),
        "machine": f"{processor()}, one BLAS thread, CPU time",
        "date": datetime.now(UTC).date().isoformat(),
    }


def main(arguments: list[str]) -> int:
    jobs = {"texts": record_texts, "prices": record_prices}
    if not set(arguments) <= set(jobs):
        print(f"record_drafts: choose from {', '.join(jobs)}", file=sys.stderr)
        return 2
    found = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.is_file() else {}
    for name, job in jobs.items():
        if not arguments or name in arguments:
            found[name] = job()
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    RECORDED.write_text(text + "\n", encoding="utf-8", newline="\n")
    print(f"{RECORDED.name}: written, {len(text):,} characters")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
