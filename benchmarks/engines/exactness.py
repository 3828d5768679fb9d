"""Count how often speculative output differs from plain greedy, over many tokens.

    PYTHONPATH=. python benchmarks/engines/exactness.py [--tokens 50000] [--dtype float64]

Exits with 1 if a text differs in float64, or in float32 beyond a near tie (top-2 gap under 1e-3).
"""

import argparse
import sys

import specdec  # noqa: F401  # isort: skip  (first: it sets one BLAS thread)
import numpy as np
from decoding import differs_beyond_a_tie, greedy, is_greedy, speculative

from specdec.model import MODELS, load_model

PROMPT, CONTINUED = 24, 450


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tokens", type=int, default=50_000)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    options = parser.parse_args()
    dtype = np.dtype(options.dtype).type
    target, draft = load_model("target", dtype), load_model("draft_distilled", dtype)
    text = (MODELS / "heldout.txt").read_text(encoding="utf-8")
    ids = target.tokenizer.encode(text)
    done = texts = different = wrong = 0
    while done < options.tokens:
        start = texts * 97 % (len(ids) - PROMPT)
        prompt, k = ids[start : start + PROMPT], 1 + texts % 8
        tokens, _ = speculative(target, draft, prompt, CONTINUED, k)
        if not is_greedy(target, prompt, tokens):
            plain = greedy(target, prompt, CONTINUED)
            different += plain != tokens
            near_ties_pass = options.dtype == "float32"
            wrong += plain != tokens and not (
                near_ties_pass and not differs_beyond_a_tie(target, prompt, plain, tokens)
            )
        done, texts = done + len(tokens), texts + 1
    print(f"{options.dtype}: {done:,} tokens in {texts} texts, {different} differ, {wrong} wrongly")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
