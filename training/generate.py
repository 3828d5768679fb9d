"""Let the target write text for the distillation: DIR/generated.npy.

    python training/generate.py --work DIR [--batches 6]

Each batch continues 128 pieces of the training text, by greedy choice and by sampling in turn: the
draft will be asked to guess both.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from llama import SHAPES, Llama
from train import SEED, windows

ROWS, PROMPT, NEW = 128, 32, 224


@torch.no_grad()
def continue_texts(model, prompts, count: int, greedy: bool, generator=None):
    """prompts (B, T) -> (B, T + count)."""
    logits, pasts = model(prompts, return_pasts=True)
    texts = prompts
    for _ in range(count):
        last = logits[:, -1]
        if greedy:
            chosen = last.argmax(-1, keepdim=True)
        else:
            chosen = torch.multinomial(last.softmax(-1), 1, generator=generator)
        texts = torch.cat((texts, chosen), dim=1)
        logits, pasts = model(chosen, pasts, return_pasts=True)
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model = Llama(SHAPES["target"]).eval()
    model.load_state_dict(torch.load(options.work / "target.final.pt")["model"])
    tokens = np.load(options.work / "train.npy")
    generator = torch.Generator().manual_seed(SEED)
    parts = []
    for number in range(options.batches):
        prompts = windows(tokens, number * ROWS, ROWS, PROMPT - 1)
        texts = continue_texts(model, prompts, NEW, greedy=number % 2 == 0, generator=generator)
        parts.append(texts.flatten().numpy().astype(np.uint16))
        print(f"batch {number}: {len(parts[-1]):,} tokens", flush=True)
    np.save(options.work / "generated.npy", np.concatenate(parts))


if __name__ == "__main__":
    main()
