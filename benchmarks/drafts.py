"""Every draft of lesson 6 on the same held-out prompts, in one run: acceptance, price, speed.

    python benchmarks/drafts.py [--prompts 6] [--tokens 64] [--ks 2 4 6] [--out FILE]

CPU time, one thread, float32, greedy, interleaved prompt by prompt; both codes, readable and fused.
Ratios are against the best plain decoder of the run. The lesson shows the file that this writes.
For each row: `flat` is the ratio if a pass over k + 1 rows cost as much as one over 1, `priced`
takes what it costs, `ratio` is what the clock says.
"""

import argparse
import json
from datetime import date
from pathlib import Path

import specdec  # noqa: F401  # isort: skip  (first: it sets one BLAS thread)
import numpy as np
from decoding import processor

from specdec.fused import fuse
from specdec.model import load_model
from specdec.reference.lesson_06 import tree_mask, verify_tree
from specdec.trained.better import generate_with_tree
from specdec.trained.decoding import heldout_prompts
from specdec.trained.drafts import (
    RECORDED,
    ModelDraft,
    Run,
    all_drafts,
    fitted_heads,
    guess_cost,
    pass_costs,
    race_drafts,
)

MODELS = ("target", "draft", "draft_distilled")
MOST_ROWS = 10  # of a pass: a tree of 9 guesses
TREES = {"tree of heads, 2 x 2": (2, 2), "tree of heads, 3 x 1 x 1": (3, 1, 1)}


def drafts_for(target, models: dict) -> list:
    """All drafts, with the small models in the same code as the target."""
    drafts = []
    for draft in all_drafts(target):
        if isinstance(draft, ModelDraft):
            draft = ModelDraft(draft.name, models[draft.model.name])
        drafts.append(draft)
    return drafts


def priced(run: Run, costs: list[float], c: float) -> float:
    """Tokens over the price of all passes and guesses, in passes over one row."""
    return run.tokens / sum(costs[drafted] + c * drafted for drafted in run.drafted)


def row_of(code: str, run: Run, plain: Run, costs: list[float], one: float) -> dict:
    """One draft and k as a plain dict; plain is the same code without a draft."""
    c = guess_cost(run, one)
    return {
        "code": code,
        "draft": run.draft,
        "k": run.k,
        "rounds": run.rounds,
        "drafted": sum(run.drafted),
        "accepted": sum(run.accepted),
        "acceptance": round(run.acceptance, 3),
        "cost": round(c, 4),
        "mean_acceptance_length": round(run.mean_acceptance_length, 2),
        "tokens_per_second": round(run.tokens_per_second, 1),
        "flat": round(priced(run, [1.0] * len(costs), c), 2),
        "priced": round(priced(run, costs, c), 2),
        "ratio_same_code": round(plain.seconds / run.seconds, 2),
        "same_text": sum(a == b for a, b in zip(run.texts, plain.texts, strict=True)),
    }


def tree_runs(target, prompts, n_tokens: int) -> list[Run]:
    """Runs of trees of heads; a tree's guesses cost next to nothing and are not priced."""
    runs = []
    for name, widths in TREES.items():
        total = Run(name, len(widths))
        for prompt in prompts:
            one = generate_with_tree(
                target, fitted_heads(), widths, prompt, n_tokens, verify_tree, tree_mask, name
            )
            total.add(one)
        runs.append(total)
    return runs


def rows_of(code: str, models: dict, prompts, n_tokens: int, ks) -> tuple[list[dict], list, float]:
    """(rows, pass costs, plain tokens a second) of one code."""
    target = models["target"]
    *costs, one = pass_costs(target, range(1, MOST_ROWS + 1), repeats=15)
    plain, *runs = race_drafts(target, drafts_for(target, models), prompts, n_tokens, ks)
    runs += tree_runs(target, prompts, n_tokens)
    rows = [row_of(code, run, plain, costs, one) for run in runs]
    return rows, [round(cost, 2) for cost in costs], plain.tokens_per_second


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prompts", type=int, default=6)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--ks", type=int, nargs="+", default=[2, 4, 6])
    parser.add_argument("--out", type=Path, default=RECORDED)
    options = parser.parse_args()
    readable = {name: load_model(name) for name in MODELS}
    fused = {name: fuse(model) for name, model in readable.items()}
    prompts = heldout_prompts(readable["target"].tokenizer, options.prompts)
    rows, costs, speeds = [], {}, {}
    for code, models in (("readable", readable), ("fused", fused)):
        found, costs[code], speeds[code] = rows_of(
            code, models, prompts, options.tokens, options.ks
        )
        rows += found
    best = max(speeds.values())
    for row in rows:
        row["ratio"] = round(row["tokens_per_second"] / best, 2)
    run = {
        "date": date.today().isoformat(),
        "machine": f"{processor()}, numpy {np.__version__}, one thread, CPU time",
        "prompts": options.prompts,
        "tokens": options.tokens,
        "plain": round(best, 1),
        "plain_by_code": {code: round(speed, 1) for code, speed in speeds.items()},
        "pass_costs": costs,
        "rows": rows,
    }
    options.out.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    for row in sorted(rows, key=lambda row: -row["ratio"]):
        print(json.dumps(row))
    print(f"Written: {options.out}")


if __name__ == "__main__":
    main()
