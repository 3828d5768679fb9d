"""Lesson 6's drafts in real engines: what transformers does here, and what the others were seen to.

    PYTHONPATH=. python benchmarks/engines/better_drafts.py [--prompts 4] [--tokens 64] [--out FILE]

Runs transformers plain, with an assistant model and with prompt lookup, and compares texts, rounds
and accepted guesses with our own loop. llama_cpp.json and vllm_cpu.json beside this file, which
llama_cpp.py and vllm_cpu.py write, are taken as they are. The lesson shows the file that comes out.
"""

import argparse
import json
from datetime import date
from pathlib import Path

import specdec  # noqa: F401  # isort: skip  (first: it sets one BLAS thread)
import hf
import transformers
from decoding import Ledger

from specdec.model import load_model
from specdec.trained.decoding import heldout_prompts
from specdec.trained.drafts import ENGINES, ModelDraft, generate

K, LONGEST = 4, 3
# An engine's name of a count, and ours.
COUNTERS = {
    "drafted": "drafted",
    "accepted": "accepted",
    "drafts": "rounds",
    "draft_tokens": "drafted",
    "accepted_tokens": "accepted",
}


class EarliestMatch:
    """Prompt lookup by transformers' rule: of several places, the earliest with a continuation."""

    name = "prompt lookup, earliest match"

    def propose(self, token_ids, hidden, k: int) -> list[int]:
        """Up to k tokens, after the longest n-gram that occurred before."""
        for n in range(min(LONGEST, len(token_ids) - 1), 0, -1):
            newest = token_ids[-n:]
            for start in range(len(token_ids) - n):
                if token_ids[start : start + n] == newest:
                    return token_ids[start + n : start + n + k]
        return []


def total(results) -> dict:
    """Rounds and accepted guesses of several texts."""
    ledger = Ledger()
    for _, one in results:
        ledger.rounds += one.rounds
        ledger.accepted += one.accepted
    return {"rounds": ledger.rounds, "accepted": ledger.accepted}


def compared(label: str, theirs, draft, target, prompts, count: int) -> dict:
    """One row: theirs is their function of a prompt, draft ours for the same thing."""
    results = [theirs(prompt) for prompt in prompts]
    runs = [generate(target, draft, prompt, count, K) for prompt in prompts]
    pairs = zip(results, runs, strict=True)
    return {
        "engine": f"transformers {transformers.__version__}",
        "draft": label,
        "texts": len(prompts),
        "same_text": sum(text == run.texts[0] for (text, _), run in pairs),
        **total(results),
        "ours": {
            "rounds": sum(run.rounds for run in runs),
            "accepted": sum(sum(run.accepted) for run in runs),
        },
        "prints": [],
    }


def transformers_rows(prompts, count: int) -> list[dict]:
    target, draft = load_model("target"), load_model("draft_distilled")
    peer, peer_draft = hf.load("target"), hf.load("draft_distilled")
    return [
        compared(
            f"assistant model, k = {K}",
            lambda prompt: hf.assisted(peer, peer_draft, prompt, count, K),
            ModelDraft("distilled model", draft),
            target,
            prompts,
            count,
        ),
        compared(
            f"prompt lookup, k = {K}",
            lambda prompt: hf.looked_up(peer, prompt, count, K, LONGEST),
            EarliestMatch(),
            target,
            prompts,
            count,
        ),
    ]


def recorded_rows(name: str) -> list[dict]:
    """The rows that another engine's script has written, in this file's form."""
    found = json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    rows = []
    for row in found["engines"]:
        counts = {key: value for key, value in row.items() if key in COUNTERS}
        if not counts:
            continue  # plain decoding
        draft = row["engine"].partition(" ")[2]
        rows.append(
            {
                "engine": found["version"],
                "draft": draft.replace("k=", "k = "),
                "texts": found["prompts"],
                "same_text": row["equal"],
                **{COUNTERS[key]: value for key, value in counts.items()},
                "ours": found["numpy"] if "draft" in draft else None,
                "prints": row.get("prints") or vllm_lines(counts),
            }
        )
    return rows


def vllm_lines(counts: dict) -> list[str]:
    """vLLM's counters under their full names; [] for another engine's."""
    return [
        f"vllm:spec_decode_num_{name} = {value}"
        for name, value in counts.items()
        if name in ("drafts", "draft_tokens", "accepted_tokens")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prompts", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--out", type=Path, default=ENGINES)
    options = parser.parse_args()
    prompts = heldout_prompts(load_model("target").tokenizer, options.prompts)
    rows = transformers_rows(prompts, options.tokens)
    rows += recorded_rows("llama_cpp.json") + recorded_rows("vllm_cpu.json")
    found = {"date": date.today().isoformat(), "rows": rows}
    text = json.dumps(found, indent=1, ensure_ascii=False)
    options.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
