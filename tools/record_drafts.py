"""Record what the draft race of lesson 6 plays: three texts with five drafts' guesses, and prices.

    python -m tools.record_drafts            both
    python -m tools.record_drafts texts      after new weights
    python -m tools.record_drafts prices     on a quiet machine

Writes specdec/data/draft_race.json. The prose is the target's own: of fixed beginnings, the one
after which it repeats itself least. The other two texts are given, since so small a target neither
copies when asked nor writes code; the share of their tokens that it would choose is recorded.
"""

import json
import sys
from datetime import UTC, datetime

import specdec  # noqa: F401  # isort: skip  (first: it sets one BLAS thread)
import numpy as np

from specdec.model import MODELS, load_model
from specdec.trained.drafts import (
    five_drafts,
    generate,
    guess_cost,
    guesses_along,
    hidden_along,
    pass_costs,
)
from specdec.trained.traces import MAX_DRAFT, NEW_TOKENS, greedy_with_cache, prompt_ids
from specdec.widgets.draft_race import ASKED_K, RECORDED
from tools.record_traces import processor

PROSE_WORDS, PROSE_PROMPTS = 9, 16
GIVEN = {
    "copying": (
        "As it was spoken: She had been at the house of her brother for three days, and he had not "
        "yet asked her why she came.\nAs it was printed:",
        " She had been at the house of her brother for four days, and he had not once asked her "
        "why she came.",
    ),
    "code": (
        'ships = [\n    ship("Rachel", masts=3, boats=4, home="Nantucket"),\n    ship("Pequod",',
        ' masts=3, boats=5, home="Nantucket"),\n'
        '    ship("Samuel", masts=2, boats=4, home="London"),\n'
        "]",
    ),
}


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
    target, drafts = load_model("target"), five_drafts()
    written = {}
    for prompt in candidates():
        ids = prompt_ids(prompt, target, NEW_TOKENS)
        written[prompt] = greedy_with_cache(target, ids, NEW_TOKENS)
    prose = max(written, key=lambda prompt: (distinct(written[prompt]), prompt))
    texts = [record("prose", prose, written[prose], target, drafts)]
    for name, (prompt, text) in GIVEN.items():
        ids = target.tokenizer.encode(prompt)
        both = target.tokenizer.encode(prompt + text)
        if both[: len(ids)] != ids:
            raise ValueError(f"the prompt of {name!r} ends inside a token")
        texts.append(record(name, prompt, both[len(ids) :], target, drafts))
    return texts


def record(name: str, prompt: str, text: list[int], target, drafts) -> dict:
    """One text with all guesses; tokens are places in `pieces`, as in the pass player's traces."""
    ids = prompt_ids(prompt, target, len(text))
    hidden = hidden_along(target, np.array([*ids, *text]))
    choices = target.logits(hidden).argmax(axis=-1)[len(ids) - 1 : -1]
    guesses = {d.name: guesses_along(d, ids, text, hidden, MAX_DRAFT) for d in drafts}
    used = sorted({*text, *(t for rows in guesses.values() for row in rows for t in row)})
    place = {token: index for index, token in enumerate(used)}
    return {
        "name": name,
        "prompt": prompt,
        "own_share": round(float(np.mean(choices == text)), 2),
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
