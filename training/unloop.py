"""Teach the trained target not to repeat itself: DIR/target.best.pt -> DIR/target.final.pt.

    python training/unloop.py --work DIR --minutes 20

A small model that always takes its likeliest token falls into loops. Steps on text and steps on
the model's own greedy text take turns; in those, each token that completes a 4-gram seen before in
the same text is made less likely: unlikelihood training on sequences (Welleck et al. 2020,
"Neural Text Generation with Unlikelihood Training", section 5.2). A second run goes on from the
first one's result.
"""

import argparse
import time
from pathlib import Path

import train  # noqa: F401  # isort: skip  (first: it sets how torch's threads wait)

import numpy as np
import torch
from generate import continue_texts
from llama import SHAPES, Llama
from train import next_token_loss, save, validation_loss, windows

N_GRAM = 4
ROWS, PROMPT, NEW = 24, 32, 160  # own texts a step
TEXTS, LENGTH = 8, 512  # text windows a step
RATE, WARM_UP_STEPS = 1.5e-4, 4
REPORT_EVERY = 10


def repeats(tokens, n: int = N_GRAM):
    """tokens (B, T) -> (B, T), True where a token completes an n-gram seen before in its row."""
    marks = torch.zeros_like(tokens, dtype=torch.bool)
    for row, values in enumerate(tokens.tolist()):
        seen = set()
        for end in range(n, len(values) + 1):
            gram = tuple(values[end - n : end])
            marks[row, end - 1] = gram in seen
            seen.add(gram)
    return marks


def unlikelihood(logits, tokens, marks):
    """Mean of -log(1 - p(token)) over the marked tokens; 0 where none is marked."""
    if not marks.any():
        return logits.sum() * 0
    p = logits.float().softmax(-1).gather(-1, tokens[..., None])[..., 0]
    return -torch.log1p(-p[marks].clamp(max=1 - 1e-4)).mean()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model = Llama(SHAPES["target"])
    done = options.work / "target.final.pt"
    begin = done if done.exists() else options.work / "target.best.pt"
    model.load_state_dict(torch.load(begin)["model"])
    text, heldout = (np.load(options.work / f"{name}.npy") for name in ("train", "heldout"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.0)

    start, step, shares = time.monotonic(), 0, []
    print(f"before: {validation_loss(model, heldout):.4f} nats a token", flush=True)
    while (progress := (time.monotonic() - start) / 60 / options.minutes) < 1:
        for group in optimizer.param_groups:
            group["lr"] = RATE * min((step + 1) / WARM_UP_STEPS, 1, 2 * (1 - progress))
        if step % 2:
            prompts = windows(text, step * ROWS, ROWS, PROMPT - 1)
            with torch.no_grad():
                texts = continue_texts(model, prompts, NEW, greedy=True)
            marks = repeats(texts[:, PROMPT:])
            shares.append(float(marks.float().mean()))
            logits = model(texts[:, :-1])[:, PROMPT - 1 :]
            loss = unlikelihood(logits, texts[:, PROMPT:], marks)
        else:
            batch = windows(text, step * TEXTS, TEXTS, LENGTH)
            loss = next_token_loss(model(batch[:, :-1]), batch[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        if step % REPORT_EVERY == 0:
            print(
                f"{(time.monotonic() - start) / 60:5.1f} min, {step} steps: "
                f"{np.mean(shares[-5:]):.3f} of its own tokens repeat",
                flush=True,
            )
            save(done, {"model": model.state_dict()})
    save(done, {"model": model.state_dict()})
    print(f"after: {validation_loss(model, heldout):.4f} nats a token", flush=True)


if __name__ == "__main__":
    main()
