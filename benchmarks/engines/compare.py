"""Our numpy code and transformers in one run: equal output, passes, time per pass, tokens/s.

    PYTHONPATH=. python benchmarks/engines/compare.py [--prompts 20] [--tokens 120] [--out FILE]

One thread each, float32, CPU time (the machine may be busy). Needs torch and transformers.
"""

import argparse
import json
import platform
import statistics
import sys
import time
from datetime import date
from pathlib import Path

import specdec  # noqa: F401  # isort: skip  (first: it sets one BLAS thread)
import hf
import numpy as np
from decoding import Ledger, greedy, row, speculative

from specdec.model import MODELS, load_model

PREFIX = 128


def seconds_per_pass(model, rows: int, repeats: int = 30) -> float:
    """Median CPU time of a pass of `rows` new tokens after PREFIX cached ones."""
    ids, cache = np.arange(PREFIX + rows)[None] % 700, model.new_cache()
    model(ids[:, :PREFIX], cache)
    times = []
    for _ in range(repeats):
        cache.crop(PREFIX)
        start = time.process_time()
        model(ids[:, PREFIX:], cache)
        times.append(time.process_time() - start)
    return statistics.median(times)


def timed(function, prompts):
    """(results, CPU seconds) of function(prompt) for each prompt."""
    start = time.process_time()
    results = [function(prompt) for prompt in prompts]
    return results, time.process_time() - start


def pass_costs(target, draft) -> dict:
    """t(k+1)/t(1) for k = 1..8, and c: the draft's pass over the target's."""
    one = seconds_per_pass(target, 1)
    return {
        "t1_ms": round(1000 * one, 2),
        "t_k_plus_1_over_t1": [
            round(seconds_per_pass(target, k + 1) / one, 2) for k in range(1, 9)
        ],
        "c": round(seconds_per_pass(draft, 1) / one, 3),
    }


def comparison(prompts, count: int, settings) -> list[dict]:
    """One row per decoder; `equal` counts texts identical to our plain greedy."""
    ours, peers = {}, {}
    for name in ("target", "draft", "draft_distilled"):
        ours[name], peers[name] = load_model(name), hf.load(name)
    produced = count * len(prompts)
    plain, seconds = timed(lambda prompt: greedy(ours["target"], prompt, count), prompts)
    rows = [{"code": "numpy", "draft": None, "tokens_per_s": produced / seconds}]
    theirs, seconds = timed(lambda p: hf.greedy(peers["target"], [p], count)[0], prompts)
    equal = sum(a == b for a, b in zip(plain, theirs, strict=True))
    rows.append(
        {"code": "transformers", "draft": None, "tokens_per_s": produced / seconds, "equal": equal}
    )
    base = {row["code"]: row["tokens_per_s"] for row in rows}
    for draft, k in settings:
        runs = {
            "numpy": lambda p, d=draft, k=k: speculative(ours["target"], ours[d], p, count, k),
            "transformers": lambda p, d=draft, k=k: hf.assisted(
                peers["target"], peers[d], p, count, k
            ),
        }
        for code, function in runs.items():
            results, seconds = timed(function, prompts)
            total = Ledger()
            for _, ledger in results:
                total.rounds += ledger.rounds
                total.drafted += ledger.drafted
                total.accepted += ledger.accepted
            rows.append(
                {
                    "code": code,
                    "draft": draft,
                    "k": k,
                    "tokens_per_s": produced / seconds,
                    "ratio": round(produced / seconds / base[code], 2),
                    "equal": sum(a == b for a, (b, _) in zip(plain, results, strict=True)),
                    "rounds": total.rounds,
                    "accepted": total.accepted,
                    "drafted": total.drafted,
                    "emitted_per_round": round(total.emitted / total.rounds, 2),
                }
            )
    for entry in rows:
        entry["tokens_per_s"] = round(entry["tokens_per_s"])
        print(json.dumps(entry), file=sys.stderr, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prompts", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=120)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results.json"))
    options = parser.parse_args()
    target, draft = load_model("target"), load_model("draft_distilled")
    lines = (MODELS / "heldout.txt").read_text(encoding="utf-8").splitlines()
    prompts = [target.tokenizer.encode(line)[:24] for line in lines[::3]][: options.prompts]
    peer = hf.load("target")
    result = {
        "date": date.today().isoformat(),
        "machine": f"{platform.machine()}, numpy {np.__version__}, one thread, CPU time",
        "largest_logit_difference": float(
            max(np.abs(target(row(p))[0] - hf.logits(peer, p)).max() for p in prompts)
        ),
        "passes": pass_costs(target, draft),
        "prompts": len(prompts),
        "tokens_each": options.tokens,
        "decoders": comparison(
            prompts,
            options.tokens,
            [("draft", 3), ("draft_distilled", 3), ("draft_distilled", 4), ("draft_distilled", 7)],
        ),
    }
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"Written: {options.out}")


if __name__ == "__main__":
    main()
