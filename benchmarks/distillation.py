"""What lesson 6's distillation gains: acceptance after learning from the text, and from the target.

    python benchmarks/distillation.py [--seeds 1 2 3]

Each seed starts two little drafts alike, and prints α on held-out text before, after training on
the text, and after training on the target's probabilities; then the gain's mean and its spread.
"""

import argparse
import contextlib
import io

import specdec  # noqa: F401  # isort: skip  (first: it sets one BLAS thread)
import numpy as np

from specdec.reference.lesson_06 import distillation_loss
from specdec.trained.distilling import distillation_gain


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options = parser.parse_args()
    gains = []
    for seed in options.seeds:
        with contextlib.redirect_stdout(io.StringIO()):  # its progress bar is for a notebook
            found = distillation_gain(seed, distillation_loss)
        gains.append(found["target"] - found["text"])
        numbers = ", ".join(f"{name} {value:.4f}" for name, value in found.items())
        print(f"seed {seed}: {numbers}, gain {gains[-1]:+.4f}", flush=True)
    spread = np.std(gains, ddof=1) if len(gains) > 1 else float("nan")
    print(f"gain {np.mean(gains):+.4f}, standard deviation {spread:.4f} over {len(gains)} seeds")


if __name__ == "__main__":
    main()
