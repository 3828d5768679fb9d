"""Train the EAGLE-style draft that continues from the target's hidden rows, and export it.

    PYTHONPATH=. python training/eagle.py --work DIR [--minutes 6]

Reads the shipped target (specdec/data/models/target), train.npy and generated.npy; writes
specdec/data/models/eagle.safetensors. Give the command again after the target's weights have
changed: a checkpoint of another target is not used. An interrupted run goes on where it was.

After Li et al., EAGLE (2024) and EAGLE-3 (2025): one layer reads the target's row at a token
beside the embedding of the next token, and answers with a row for the target's own head. It learns
on its own rows too, up to DEPTH guesses ahead, because that is what it reads when it drafts.
"""

import argparse
import hashlib
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "0")

import numpy as np
import torch
import torch.nn.functional as F
from llama import SHAPES, FeedForward, Llama, Shape, rotate
from safetensors.torch import load_file, save_file
from torch import nn
from train import SEED, Muon, rate, save, windows

from specdec.model import MODELS

SHAPE = Shape(width=256, layers=1, heads=4, kv_heads=2, hidden=256)
HEAD_DIM = 32  # smaller than width / heads: attention is narrow here, and cheap
LENGTH, ROWS, DEPTH = 128, 16, 3
WINDOWS = {"train.npy": 160, "generated.npy": 240}  # windows of LENGTH tokens, read once
HELD_OUT_WINDOWS = 24
CHECKPOINT_SECONDS = 60


class Eagle(nn.Module):
    """(rows of the target, embeddings one token ahead) -> rows for the target's head."""

    def __init__(self):
        super().__init__()
        width, kv_width = SHAPE.width, SHAPE.kv_heads * HEAD_DIM
        self.row_norm = nn.RMSNorm(width, SHAPE.norm_eps)
        self.token_norm = nn.RMSNorm(width, SHAPE.norm_eps)
        self.join = nn.Linear(2 * width, width, bias=False)
        self.attention_norm = nn.RMSNorm(width, SHAPE.norm_eps)
        self.query = nn.Linear(width, SHAPE.heads * HEAD_DIM, bias=False)
        self.key = nn.Linear(width, kv_width, bias=False)
        self.value = nn.Linear(width, kv_width, bias=False)
        self.output = nn.Linear(SHAPE.heads * HEAD_DIM, width, bias=False)
        self.mlp_norm = nn.RMSNorm(width, SHAPE.norm_eps)
        self.mlp = FeedForward(SHAPE)
        self.norm = nn.RMSNorm(width, SHAPE.norm_eps)
        half = torch.arange(0, HEAD_DIM, 2) / HEAD_DIM
        angles = torch.outer(torch.arange(SHAPE.context), SHAPE.rope_theta**-half)
        angles = torch.cat((angles, angles), dim=-1)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        for name, parameter in self.named_parameters():
            if name.endswith(("output.weight", "down_proj.weight")):
                nn.init.zeros_(parameter)
            elif parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.03)

    def forward(self, rows, embeddings, earlier):
        """One guess further at every place at once: two arrays (B, T, width) -> (B, T, width).

        earlier  [(keys, values), …] of the guesses before, the first of them made from the
                 target's own rows; this guess adds its own.
        """
        x = self.join(torch.cat((self.row_norm(rows), self.token_norm(embeddings)), dim=-1))
        normed = self.attention_norm(x)

        def heads(y):
            return y.unflatten(-1, (-1, HEAD_DIM)).transpose(1, 2)

        length = x.shape[1]
        cos, sin = self.cos[:length], self.sin[:length]
        groups = SHAPE.heads // SHAPE.kv_heads
        query = rotate(heads(self.query(normed)), cos, sin)
        key = rotate(heads(self.key(normed)), cos, sin).repeat_interleave(groups, 1)
        value = heads(self.value(normed)).repeat_interleave(groups, 1)
        earlier.append((key, value))
        mixed = mix(query, earlier).transpose(1, 2).flatten(2)
        x = x + self.output(mixed)
        x = x + self.mlp(self.mlp_norm(x))
        return self.norm(x)


def mix(query, seen):
    """Attention of guess number len(seen) at every place; all arrays (B, heads, T, head_dim).

    A guess sees what was made from the target's rows up to where its own chain of guesses begins,
    and then its chain: one place back for each guess.
    """
    depth, length = len(seen), query.shape[2]
    scale = query.shape[-1] ** -0.5
    keys, values = seen[0]
    visible = torch.ones(length, length, dtype=torch.bool).tril(-(depth - 1))
    scores = (query @ keys.transpose(-1, -2) * scale).masked_fill(~visible, -1e9)
    chain = [
        (back(key, depth - 1 - i), back(value, depth - 1 - i))
        for i, (key, value) in enumerate(seen)
        if i > 0
    ]
    own = [(query * key).sum(-1, keepdim=True) * scale for key, _ in chain]
    shares = torch.cat((scores, *own), dim=-1).softmax(-1)
    mixed = shares[..., :length] @ values
    for i, (_, value) in enumerate(chain):
        mixed = mixed + shares[..., length + i, None] * value
    return mixed


def back(x, places: int):
    """x (…, T, n) moved so that place t holds what stood at t - places; zeros before."""
    return F.pad(x, (0, 0, places, 0))[..., : x.shape[-2], :] if places else x


def shipped_target() -> tuple[Llama, str]:
    """The shipped target, its rounded weights in float32, and a fingerprint of its file."""
    path = MODELS / "target" / "model.safetensors"
    model = Llama(SHAPES["target"]).eval().requires_grad_(False)
    model.load_state_dict({name: value.float() for name, value in load_file(path).items()})
    return model, hashlib.sha256(path.read_bytes()).hexdigest()


@torch.no_grad()
def read(target, tokens, count: int):
    """(token ids (count, LENGTH), the target's rows (count, LENGTH, width)) of spread windows."""
    ids = windows(tokens, 0, count, LENGTH - 1)
    return ids, torch.cat([target.hidden(part)[0] for part in ids.split(16)])


def losses(eagle, head, ids, rows):
    """(loss, agreement with the target's favourite) of each of DEPTH guesses.

    Guess 1 at place t reads the target's row t and token t + 1, and answers for the token after
    it; guess d reads the answer that guess d - 1 gave one place before.
    """
    given, embeddings = rows[:, :-1], F.embedding(ids[:, 1:], head)
    wanted = rows[:, 1:] @ head.T
    earlier, found = [], []
    for depth in range(DEPTH):
        answers = eagle(given, embeddings, earlier)
        logits = answers @ head.T
        sure = slice(depth, None)  # before it, the chain would begin outside the window
        loss = F.kl_div(
            logits[:, sure].log_softmax(-1).flatten(0, 1),
            wanted[:, sure].log_softmax(-1).flatten(0, 1),
            reduction="batchmean",
            log_target=True,
        )
        agree = (logits[:, sure].argmax(-1) == wanted[:, sure].argmax(-1)).float().mean()
        found.append((loss, agree.item()))
        given = back(answers, 1)
    return found


class Run:
    """The training, with what has to survive an interruption."""

    def __init__(self, work: Path, minutes: float):
        self.budget, self.path = 60 * minutes, work / "eagle.last.pt"
        torch.manual_seed(SEED)
        target, self.fingerprint = shipped_target()
        self.head = target.model.embed_tokens.weight
        self.eagle = Eagle()
        matrices = [p for p in self.eagle.parameters() if p.dim() == 2]
        norms = [p for p in self.eagle.parameters() if p.dim() == 1]
        self.optimizers = [
            Muon(matrices, lr=0.02),
            torch.optim.AdamW(norms, lr=3e-3, betas=(0.9, 0.95), weight_decay=0.0),
        ]
        self.peaks = [optimizer.param_groups[0]["lr"] for optimizer in self.optimizers]
        self.step, self.spent = 0, 0.0
        self._resume()
        start = time.monotonic()
        parts = [read(target, np.load(work / name), count) for name, count in WINDOWS.items()]
        self.ids, self.rows = (torch.cat(both) for both in zip(*parts, strict=True))
        self.heldout = read(target, np.load(work / "heldout.npy"), HELD_OUT_WINDOWS)
        print(f"{self.ids.numel():,} tokens read in {time.monotonic() - start:.0f} s", flush=True)

    def _resume(self) -> None:
        if not self.path.is_file():
            return
        state = torch.load(self.path)
        if state["target"] != self.fingerprint:
            print("the checkpoint belongs to another target: starting anew")
            return
        self.eagle.load_state_dict(state["model"])
        for optimizer, kept in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(kept)
        self.step, self.spent = state["step"], state["spent"]

    def _save(self) -> None:
        save(
            self.path,
            {
                "target": self.fingerprint,
                "model": self.eagle.state_dict(),
                "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
                "step": self.step,
                "spent": self.spent,
            },
        )

    def run(self) -> None:
        saved = tick = time.monotonic()
        while self.spent < self.budget:
            self._train_once()
            now = time.monotonic()
            self.spent, tick = self.spent + now - tick, now
            if now - saved > CHECKPOINT_SECONDS:
                self._report()
                self._save()
                saved = tick = time.monotonic()
        self._report()
        self._save()

    def _train_once(self) -> None:
        order = np.random.default_rng((SEED, self.step // (len(self.ids) // ROWS)))
        order = order.permutation(len(self.ids))
        first = self.step % (len(self.ids) // ROWS) * ROWS
        chosen = order[first : first + ROWS]
        found = losses(self.eagle, self.head, self.ids[chosen], self.rows[chosen])
        for optimizer, peak in zip(self.optimizers, self.peaks, strict=True):
            optimizer.param_groups[0]["lr"] = peak * rate(self.spent / self.budget)
            optimizer.zero_grad()
        sum(loss for loss, _ in found).backward()
        for optimizer in self.optimizers:
            optimizer.step()
        self.step += 1

    @torch.no_grad()
    def _report(self) -> None:
        found = losses(self.eagle, self.head, *self.heldout)
        text = ", ".join(f"{agree:.3f} ({loss:.2f})" for loss, agree in found)
        print(
            f"{self.spent:4.0f} s, step {self.step}: agreement (loss) by guess {text}", flush=True
        )

    def export(self) -> None:
        tensors = {
            name.removesuffix(".weight"): value.half().contiguous()
            for name, value in self.eagle.state_dict().items()
        }
        path = MODELS / "eagle.safetensors"
        save_file(tensors, path, metadata={"target": self.fingerprint})
        path.chmod(0o644)
        print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    run = Run(options.work, options.minutes)
    run.run()
    run.export()


if __name__ == "__main__":
    main()
