"""Train one model on train.npy for a budget of wall-clock minutes; stop and resume at will.

    python training/train.py target --work DIR --minutes 75
    python training/train.py draft --work DIR --minutes 5
    python training/train.py draft_distilled --work DIR --minutes 8

`--work` holds train.npy and heldout.npy (training/tokenizer.py) and takes the checkpoints; the best
by validation loss is DIR/NAME.best.pt. The learning rate follows the share of the budget used, so
an interrupted run goes on where it was: give the same command again. A longer `--minutes` continues
a finished run. The target starts with a quarter of its layers, which is fast, and grows twice, by
layers that begin as the identity. `draft_distilled` starts from `draft` and learns the target's
whole distribution on training text and on generated.npy (training/generate.py).
"""

import argparse
import csv
import os
import time
from dataclasses import replace
from pathlib import Path

# On a busy machine a waiting thread that spins takes the time of the one that it waits for: this
# made training 5 times faster there. Read when torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "0")

import numpy as np
import torch
import torch.nn.functional as F
from llama import SHAPES, Llama

SEED = 20261129
# (share of the budget used, the target's layers are divided by, tokens a step, window length)
STAGES = ((0.0, 4, 2048, 128), (0.65, 4, 2048, 512), (0.78, 2, 2048, 512), (0.9, 1, 4096, 512))
WARM_UP, COOL_DOWN = 0.02, 0.6  # shares of the budget
DISTILLATION_RATE = 0.3  # of the peak: a full one would undo what the draft has learnt
GOLDEN = (5**0.5 - 1) / 2
CHECKPOINT_SECONDS = 150


def windows(tokens, first: int, count: int, length: int):
    """Windows number first .. first+count-1, spread evenly over the text: (count, length+1)."""
    starts = np.modf(np.arange(first, first + count) * GOLDEN)[0] * (len(tokens) - length - 1)
    rows = [tokens[start : start + length + 1] for start in starts.astype(int)]
    return torch.from_numpy(np.stack(rows).astype(np.int64))


def orthogonalise(matrices):
    """Newton-Schulz iteration of Muon (Keller Jordan, 2024) on a stack (n, rows, columns)."""
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.transpose(1, 2) if tall else matrices
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        gram = x @ x.transpose(1, 2)
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x.transpose(1, 2) if tall else x


class Muon(torch.optim.Optimizer):
    """Momentum, made orthogonal; matrices of one shape are handled in one batch."""

    def __init__(self, parameters, lr=0.02, momentum=0.95):
        super().__init__(list(parameters), {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            by_shape = {}
            for parameter in group["params"]:
                by_shape.setdefault(parameter.shape, []).append(parameter)
            for (rows, columns), parameters in by_shape.items():
                updates = []
                for parameter in parameters:
                    state = self.state[parameter]
                    state.setdefault("momentum", torch.zeros_like(parameter))
                    state["momentum"].lerp_(parameter.grad, 1 - group["momentum"])
                    updates.append(parameter.grad.lerp(state["momentum"], group["momentum"]))
                scale = group["lr"] * max(1.0, rows / columns) ** 0.5
                for parameter, update in zip(
                    parameters, orthogonalise(torch.stack(updates)), strict=True
                ):
                    parameter.add_(update, alpha=-scale)


def optimizers(model):
    """Muon for the layers' matrices, AdamW for the embedding and the norms."""
    matrices = [p for p in model.model.layers.parameters() if p.dim() == 2]
    chosen = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in chosen]
    adam = torch.optim.AdamW(others, lr=4e-3, betas=(0.9, 0.95), weight_decay=0.0)
    return [Muon(matrices), adam]


def rate(progress: float) -> float:
    """Learning rate over its peak: warm-up, flat, then linear to zero."""
    return max(0.0, min(1.0, (progress + 0.001) / WARM_UP, (1 - progress) / COOL_DOWN))


def deepen(model):
    """A model of twice the layers that computes the same: after each layer, a silent copy."""
    shape = replace(model.shape, layers=2 * model.shape.layers)
    deeper = Llama(shape)
    old = model.state_dict()
    new = {name: value for name, value in old.items() if ".layers." not in name}
    for number in range(model.shape.layers):
        for name, value in model.model.layers[number].state_dict().items():
            silent = name.endswith(("o_proj.weight", "down_proj.weight"))
            new[f"model.layers.{2 * number}.{name}"] = value
            new[f"model.layers.{2 * number + 1}.{name}"] = value * 0 if silent else value
    deeper.load_state_dict(new)
    return deeper


@torch.no_grad()
def validation_loss(model, tokens, count=24, length=256) -> float:
    """Mean negative log-likelihood, nats a token, on fixed held-out windows."""
    batch = windows(tokens, 0, count, length)
    losses = [next_token_loss(model(part[:, :-1]), part[:, 1:]) for part in batch.split(8)]
    return float(torch.stack(losses).mean())


def next_token_loss(logits, wanted):
    return F.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten())


def distillation_loss(logits, teacher_logits, wanted):
    """Mostly the teacher's whole distribution, a little of the text itself."""
    soft = F.kl_div(
        logits.log_softmax(-1).flatten(0, 1),
        teacher_logits.log_softmax(-1).flatten(0, 1),
        reduction="batchmean",
        log_target=True,
    )
    return 0.9 * soft + 0.1 * next_token_loss(logits, wanted)


def save(path: Path, content) -> None:
    """Write beside and rename: a crash leaves the old file or the new one."""
    part = path.with_suffix(".part")
    torch.save(content, part)
    os.replace(part, path)


class Run:
    """One model's training, with all that has to survive an interruption."""

    def __init__(self, name: str, work: Path, minutes: float):
        self.name, self.work, self.budget = name, work, minutes * 60
        self.train = np.load(work / "train.npy")
        self.heldout = np.load(work / "heldout.npy")
        torch.manual_seed(SEED)
        self.shape = SHAPES["target" if name == "target" else "draft"]
        self.model = Llama(self.shape)
        if name == "target":
            self.model = Llama(replace(self.shape, layers=self.shape.layers // STAGES[0][1]))
        self.teacher = self.generated = None
        if name == "draft_distilled":
            self.model.load_state_dict(torch.load(work / "draft.best.pt")["model"])
            self.teacher = Llama(SHAPES["target"]).eval().requires_grad_(False)
            self.teacher.load_state_dict(torch.load(work / "target.final.pt")["model"])
            self.generated = np.load(work / "generated.npy")
        self.optimizers = optimizers(self.model)
        share = DISTILLATION_RATE if self.teacher else 1.0
        self.peaks = [share * group["lr"] for opt in self.optimizers for group in opt.param_groups]
        self.elapsed, self.tokens, self.drawn, self.best = 0.0, 0, 0, float("inf")
        self.load()

    def grow(self) -> None:
        """Double the layers, with fresh optimizers."""
        self.model = deepen(self.model)
        self.optimizers = optimizers(self.model)

    def load(self) -> None:
        path = self.work / f"{self.name}.last.pt"
        if not path.exists():
            return
        state = torch.load(path)
        while f"model.layers.{self.model.shape.layers}.mlp.up_proj.weight" in state["model"]:
            self.grow()
        self.model.load_state_dict(state["model"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.elapsed, self.tokens, self.drawn = state["elapsed"], state["tokens"], state["drawn"]
        self.best = state["best"]
        print(f"{self.name}: going on at {self.elapsed / 60:.1f} minutes", flush=True)

    def record(self, train_loss: float) -> None:
        """Validate, log one line, keep the last and the best checkpoint."""
        loss = validation_loss(self.model, self.heldout)
        if loss < self.best:
            self.best = loss
            save(self.work / f"{self.name}.best.pt", {"model": self.model.state_dict()})
        save(
            self.work / f"{self.name}.last.pt",
            {
                "model": self.model.state_dict(),
                "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
                "elapsed": self.elapsed,
                "tokens": self.tokens,
                "drawn": self.drawn,
                "best": self.best,
            },
        )
        path = self.work / f"{self.name}.csv"
        new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if new:
                writer.writerow(["seconds", "tokens", "rate", "train_loss", "validation_loss"])
            writer.writerow(
                [
                    round(self.elapsed),
                    self.tokens,
                    round(rate(self.elapsed / self.budget), 4),
                    round(train_loss, 4),
                    round(loss, 4),
                ]
            )
        print(f"{self.name} {self.elapsed:6.0f} s {self.tokens:9,} tokens {loss:.4f}", flush=True)

    def batch(self, count: int, length: int):
        text = self.train
        if self.generated is not None and (self.drawn // count) % 2:
            text = self.generated
        batch = windows(text, self.drawn, count, length)
        self.drawn += count
        return batch

    def loss(self, batch):
        inputs, wanted = batch[:, :-1], batch[:, 1:]
        logits = self.model(inputs)
        if self.teacher is None:
            return next_token_loss(logits, wanted)
        with torch.no_grad():
            teacher_logits = self.teacher(inputs)
        return distillation_loss(logits, teacher_logits, wanted)

    def step(self) -> float:
        progress = self.elapsed / self.budget
        # A model of full depth, when its training is continued, stays in the last stage.
        whole = self.model.shape.layers == self.shape.layers
        stage = STAGES[-1] if whole else max(s for s in STAGES if s[0] <= progress)
        _, divisor, tokens, length = stage
        while self.model.shape.layers < self.shape.layers // divisor:
            self.grow()
        groups = [group for opt in self.optimizers for group in opt.param_groups]
        for group, peak in zip(groups, self.peaks, strict=True):
            group["lr"] = peak * rate(progress)
        loss = self.loss(self.batch(tokens // length, length))
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.tokens += tokens
        return float(loss.detach())

    def until_done(self) -> None:
        losses, since = [], time.monotonic()
        recorded = self.elapsed
        while self.elapsed < self.budget:
            losses.append(self.step())
            now = time.monotonic()
            self.elapsed, since = self.elapsed + now - since, now
            if self.elapsed - recorded > CHECKPOINT_SECONDS:
                self.record(float(np.mean(losses)))
                losses, recorded, since = [], self.elapsed, time.monotonic()
        if losses:
            self.record(float(np.mean(losses)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name", choices=["target", "draft", "draft_distilled"])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    Run(options.name, options.work, options.minutes).until_done()


if __name__ == "__main__":
    main()
