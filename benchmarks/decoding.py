"""Plain and speculative decoding of the shipped pair, in one run: speed, acceptance, both formulas.

    python benchmarks/decoding.py [--prompts 8] [--tokens 100] [--out FILE]

Wall-clock, one thread, float32, held-out prompts, interleaved prompt by prompt. Ratios are against
the best plain decoder of the run: the readable code, the same code with fused matrices, or
transformers. Where torch and transformers are installed (extra `engines`), the same weights are
decoded there too, plain and assisted. The lesson shows the file that this writes.
"""

import argparse
import json
import platform
import sys
from datetime import date
from pathlib import Path

import specdec  # noqa: F401  # isort: skip  (first: it sets one BLAS thread)
import numpy as np

from specdec.fused import fuse
from specdec.reference.lesson_04 import speculative_generate_cached
from specdec.trained.decoding import (
    DRAFTS,
    RECORDED,
    Result,
    heldout_prompts,
    load_trained,
    race,
    seconds_per_pass,
    steps,
)

KS = range(1, 9)
ROWS = range(1, 10)
PEER_KS = (3, 4, 7)


def processor() -> str:
    """Name the processor and its widest vectors."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    found = dict(line.split(":", 1) for line in lines if ":" in line)
    facts = {name.strip(): value.strip() for name, value in found.items()}
    vectors = next((v for v in ("avx512f", "avx2") if v in facts.get("flags", "").split()), "")
    return f"{facts.get('model name', platform.machine())} ({vectors or 'no AVX2'})"


def row_of(code: str, result: Result, plain: Result, costs: dict, draft_cost: float) -> dict:
    """One decoder as a plain dict; `plain` is the same code without a draft."""
    row = {
        "code": code,
        "draft": result.draft,
        "k": result.k,
        "tokens_per_second": round(result.tokens_per_second, 1),
        "same_text": sum(a == b for a, b in zip(result.texts, plain.texts, strict=True)),
    }
    if result.k:
        found = steps(result, plain, costs, draft_cost)
        row |= {
            "acceptance": round(result.acceptance, 3),
            "mean_acceptance_length": round(result.mean_acceptance_length, 2),
            "simple": round(found.simple, 2),
            "with_pass_cost": round(found.with_pass_cost, 2),
            "ratio_same_code": round(found.measured, 2),
        }
    return row


def numpy_rows(code: str, target, drafts, prompts, n_tokens: int) -> tuple[list[dict], dict]:
    """Rows of one numpy code, and its pass costs {rows: seconds}."""
    costs = seconds_per_pass(target, ROWS, repeats=25)
    draft_costs = {name: seconds_per_pass(d, [1], repeats=25)[1] for name, d in drafts.items()}
    results = race(speculative_generate_cached, target, drafts, prompts, n_tokens, KS)
    rows = [row_of(code, r, results[0], costs, draft_costs.get(r.draft, 0.0)) for r in results]
    return rows, costs


def peer_rows(prompts, n_tokens: int) -> list[dict]:
    """Rows of transformers, plain and assisted; [] where it is not installed."""
    sys.path.insert(0, str(Path(__file__).parent / "engines"))
    try:
        import hf
    except ImportError:
        print("transformers and torch are not installed: left out", file=sys.stderr)
        return []
    import time

    target = hf.load("target")
    plain, rows = Result("", 0), []
    for prompt in prompts:
        start = time.perf_counter()
        plain.texts += hf.greedy(target, [prompt], n_tokens)
        plain.seconds += time.perf_counter() - start
        plain.tokens += n_tokens
    rows.append(row_of("transformers", plain, plain, {}, 0.0))
    for name, folder in DRAFTS.items():
        draft = hf.load(folder)
        for k in PEER_KS:
            result, accepted, rounds = Result(name, k), 0, 0
            for prompt in prompts:
                start = time.perf_counter()
                text, ledger = hf.assisted(target, draft, prompt, n_tokens, k)
                result.seconds += time.perf_counter() - start
                result.tokens += len(text)
                result.texts.append(text)
                accepted, rounds = accepted + ledger.accepted, rounds + ledger.rounds
            rows.append(
                {
                    "code": "transformers",
                    "draft": name,
                    "k": k,
                    "tokens_per_second": round(result.tokens_per_second, 1),
                    "same_text": sum(
                        a == b for a, b in zip(result.texts, plain.texts, strict=True)
                    ),
                    "mean_acceptance_length": round((accepted + rounds) / rounds, 2),
                    "ratio_same_code": round(plain.seconds / result.seconds, 2),
                }
            )
    return rows


def table(run: dict) -> str:
    """The run as text."""
    lines = [
        f"{run['machine']}, {run['date']}, {run['prompts']} prompts x {run['tokens']} tokens",
        "t(m)/t(1): " + " ".join(f"{m}:{cost:.2f}" for m, cost in run["pass_costs"].items()),
        f"{'code':<13}{'draft':<17}{'k':>2}{'tok/s':>8}{'ratio':>7}{'own':>6}{'a':>6}"
        f"{'len':>6}{'simple':>8}{'priced':>8}{'same':>6}",
    ]
    for row in run["rows"]:
        numbers = [
            f"{row[name]:.2f}" if name in row else "–"
            for name in ("ratio_same_code", "acceptance", "mean_acceptance_length", "simple",
                         "with_pass_cost")
        ]  # fmt: skip
        own, a, length, simple, priced = numbers
        lines.append(
            f"{row['code']:<13}{row['draft'] or 'plain':<17}{row['k']:>2}"
            f"{row['tokens_per_second']:>8.1f}{row['ratio']:>7.2f}{own:>6}{a:>6}{length:>6}"
            f"{simple:>8}{priced:>8}{row['same_text']:>4}/{run['prompts']}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--out", type=Path, default=RECORDED)
    options = parser.parse_args()
    trained = load_trained()
    target, drafts = trained.target, trained.drafts
    prompts = heldout_prompts(target.tokenizer, options.prompts)
    fused = fuse(target), {name: fuse(draft) for name, draft in drafts.items()}
    rows, costs = numpy_rows("readable", target, drafts, prompts, options.tokens)
    fused_rows, fused_costs = numpy_rows("fused", *fused, prompts, options.tokens)
    rows += fused_rows + peer_rows(prompts, options.tokens)
    best = max(row["tokens_per_second"] for row in rows if row["k"] == 0)
    for row in rows:
        row["ratio"] = round(row["tokens_per_second"] / best, 2)
    run = {
        "date": date.today().isoformat(),
        "machine": f"{processor()}, numpy {np.__version__}, one thread",
        "prompts": options.prompts,
        "tokens": options.tokens,
        "pass_costs": {m: round(seconds / costs[1], 2) for m, seconds in costs.items()},
        "pass_costs_fused": {
            m: round(seconds / fused_costs[1], 2) for m, seconds in fused_costs.items()
        },
        "rows": rows,
    }
    options.out.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    print(table(run))
    print(f"Written: {options.out}")


if __name__ == "__main__":
    main()
