"""Train the byte-level BPE tokenizer on train.txt.

    python training/tokenizer.py --work DIR

Every byte has a token, so any text can be encoded. The pattern that cuts text into words uses ASCII
classes only: Python's `re` and the tokenizers library then agree on it to the letter.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from corpus import END_OF_TEXT
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY = 704  # 1 end of text + 256 bytes + 447 merges; 704 = 11 x 64
WORD = r"'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[0-9]+| ?[^ A-Za-z0-9\n]+|\n| +"


def train(text: str) -> Tokenizer:
    """A tokenizer of VOCABULARY tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORD), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(text.split(END_OF_TEXT), trainer)
    return tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    work = parser.parse_args().work
    tokenizer = train((work / "train.txt").read_text(encoding="utf-8"))
    tokenizer.save(str(work / "tokenizer.json"))
    for name in ("train", "heldout"):
        text = (work / f"{name}.txt").read_text(encoding="utf-8")
        ids = np.array(tokenizer.encode(text).ids, dtype=np.uint16)
        np.save(work / f"{name}.npy", ids)
        print(f"{name}: {len(ids):,} tokens, {len(text) / len(ids):.3f} characters a token")
    merges = json.loads((work / "tokenizer.json").read_text(encoding="utf-8"))["model"]["merges"]
    print(f"{tokenizer.get_vocab_size()} tokens, {len(merges)} merges")


if __name__ == "__main__":
    main()
