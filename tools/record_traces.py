"""Record what lesson 2 shows of the trained pair: texts with all their passes, and pass times.

    python -m tools.record_traces           both
    python -m tools.record_traces texts     after new weights
    python -m tools.record_traces times     on a quiet machine

Writes specdec/widgets/data/pair_traces.json and specdec/data/pass_times.json.
"""

import json
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from specdec.model import MODELS, load_model
from specdec.trained.one_pass import RECORDED_TIMES, time_passes
from specdec.trained.traces import NEW_TOKENS, greedy_with_cache, prompt_ids, record_trace
from specdec.widgets.pass_player import TRACES

PROMPTS, WORDS = 4, 8
DRAFTS = ("draft", "draft_distilled")


def prompts(target) -> list[str]:
    """First words of held-out paragraphs: those after which the target repeats itself least.

    A small model's greedy text turns in circles. Loops are dull to read and too easy to guess.
    """
    paragraphs = (MODELS / "heldout.txt").read_text(encoding="utf-8").splitlines()
    begun = [" ".join(text.split()[:WORDS]).lstrip('"') for text in paragraphs]

    def distinct(prompt: str) -> int:
        text = greedy_with_cache(target, prompt_ids(prompt, target, NEW_TOKENS), NEW_TOKENS)
        return len(set(zip(text, text[1:], text[2:], strict=False)))

    return sorted(begun, key=distinct, reverse=True)[:PROMPTS]


def record_texts() -> None:
    target = load_model("target")
    drafts = {name: load_model(name) for name in DRAFTS}
    traces = [record_trace(prompt, target, drafts) for prompt in prompts(target)]
    write(TRACES, json.dumps(traces, ensure_ascii=False, separators=(",", ":")))


def record_times() -> None:
    times = time_passes(repeats=31, at_most=60)
    found = {
        "machine": f"{processor()}, one BLAS thread",
        "date": datetime.now(UTC).date().isoformat(),
        "milliseconds": {str(rows): round(ms, 2) for rows, ms in times.items()},
    }
    write(RECORDED_TIMES, json.dumps(found, indent=1, ensure_ascii=False))


def processor() -> str:
    """The processor's name and its widest vector instructions, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    if not info.is_file():
        return platform.processor() or platform.machine()
    lines = dict(
        (part.strip() for part in line.split(":", 1))
        for line in info.read_text(encoding="utf-8").splitlines()
        if ":" in line
    )
    widest = [name for name in ("avx512f", "avx2") if name in lines.get("flags", "").split()]
    return ", ".join([lines.get("model name", platform.machine()), *map(str.upper, widest[:1])])


def write(path: Path, text: str) -> None:
    path.write_text(text + "\n", encoding="utf-8", newline="\n")
    print(f"{path.name}: written, {len(text):,} characters")


def main(arguments: list[str]) -> int:
    jobs = {"texts": record_texts, "times": record_times}
    if not set(arguments) <= set(jobs):
        print(f"record_traces: choose from {', '.join(jobs)}", file=sys.stderr)
        return 2
    for name, job in jobs.items():
        if not arguments or name in arguments:
            job()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
