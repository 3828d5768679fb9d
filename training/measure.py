"""Quality of the shipped models on held-out text: the figures of RESULTS.md, as JSON.

    PYTHONPATH=. python training/measure.py --work DIR [--windows 60]

Loss and agreement: windows of 512 tokens spread over the whole held-out text. Loops: greedy text,
200 tokens after each of 20 held-out prompts of 32 tokens.
"""

import argparse
import json
import math
from pathlib import Path

import numpy as np
import torch
from generate import continue_texts
from llama import SHAPES, Llama
from safetensors.torch import load_file
from train import next_token_loss, windows

from specdec.model import MODELS
from specdec.tokenizer import Tokenizer

DRAFTS = ("draft", "draft_distilled")


def load(name: str) -> Llama:
    """A shipped model, its float16 weights in float32."""
    model = Llama(SHAPES[name.split("_")[0]]).eval()
    weights = load_file(MODELS / name / "model.safetensors")
    model.load_state_dict({key: value.float() for key, value in weights.items()})
    return model


def distinct(tokens: list[int], n: int = 4) -> float:
    """Share of the n-grams of a text that are different from each other."""
    grams = list(zip(*(tokens[i:] for i in range(n)), strict=False))
    return len(set(grams)) / len(grams)


@torch.no_grad()
def on_heldout(models: dict, tokens, count: int) -> dict:
    """Loss of each model; per draft, top-1 agreement and sum of min(p, q) with the target."""
    losses = {name: [] for name in models}
    agreement = {name: [] for name in DRAFTS}
    overlap = {(name, heat): [] for name in DRAFTS for heat in (1.0, 0.7)}
    for batch in windows(tokens, 0, count, 511).split(4):
        logits = {name: model(batch[:, :-1]) for name, model in models.items()}
        for name, values in logits.items():
            losses[name].append(next_token_loss(values, batch[:, 1:]).item())
        for name in DRAFTS:
            same = logits[name].argmax(-1) == logits["target"].argmax(-1)
            agreement[name].append(same.float().mean().item())
            for heat in (1.0, 0.7):
                p, q = ((logits[n] / heat).softmax(-1) for n in ("target", name))
                overlap[name, heat].append(torch.minimum(p, q).sum(-1).mean().item())
    return {
        "nats_per_token": {name: round(float(np.mean(v)), 4) for name, v in losses.items()},
        "top1_agreement": {name: round(float(np.mean(v)), 4) for name, v in agreement.items()},
        "sum_min_p_q": {
            f"{name} T={heat}": round(float(np.mean(v)), 4) for (name, heat), v in overlap.items()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--windows", type=int, default=60)
    options = parser.parse_args()
    torch.set_num_threads(2)
    tokenizer = Tokenizer(MODELS / "target" / "tokenizer.json")
    tokens = np.load(options.work / "heldout.npy")
    models = {name: load(name) for name in ("target", *DRAFTS)}
    figures = on_heldout(models, tokens, options.windows)

    characters = len(tokenizer.decode(tokens)) / len(tokens)
    loss = figures["nats_per_token"]["target"]
    figures["target_bits_per_character"] = round(loss / math.log(2) / characters, 4)
    lines = (MODELS / "heldout.txt").read_text(encoding="utf-8").splitlines()
    prompts = torch.tensor([tokenizer.encode(line)[:32] for line in lines[::3]])
    texts = continue_texts(models["target"], prompts, 200, greedy=True)[:, 32:].tolist()
    shares = [distinct(text) for text in texts]
    figures["distinct_4_grams"] = {
        "mean": round(float(np.mean(shares)), 3),
        "least": round(min(shares), 3),
        "above_0.8": sum(share > 0.8 for share in shares),
        "of": len(shares),
    }
    figures["greedy_samples"] = [
        [tokenizer.decode(prompt), tokenizer.decode(text)]
        for prompt, text in list(zip(prompts.tolist(), texts, strict=True))[:3]
    ]
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
