"""Write the shipped folders from the best checkpoints.

    python training/export.py --work DIR [--to specdec/data/models]

Each folder gets float16 weights, config.json and tokenizer.json as transformers reads them. The
weights are rounded to float16 here, once: every figure in RESULTS.md is of the rounded ones. A
sample of the held-out text goes beside them, for prompts and for measuring drafts, and samples of
what drafts may learn from: text that the models were trained on, and text that the target wrote.
"""

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import torch
from generate import NEW, PROMPT
from llama import SHAPES
from safetensors.torch import save_file

MODELS = Path(__file__).parents[1] / "specdec" / "data" / "models"
HELD_OUT_PARAGRAPHS = 60
TRAINING_TOKENS, WRITTEN_TOKENS = 100_000, 60_000
TOKENIZER_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "eos_token": "<|endoftext|>",
    "clean_up_tokenization_spaces": False,
    "model_max_length": 512,
}


def write_json(path: Path, content: dict) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def export(name: str, work: Path, to: Path) -> None:
    """One folder: the target from DIR/target.final.pt, a draft from DIR/NAME.best.pt."""
    kept = "final" if name == "target" else "best"
    weights = torch.load(work / f"{name}.{kept}.pt")["model"]
    folder = to / name
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {key: value.half().contiguous() for key, value in weights.items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)
    write_json(folder / "config.json", SHAPES[name.split("_")[0]].hf_config())
    write_json(folder / "tokenizer_config.json", TOKENIZER_CONFIG)
    shutil.copy(work / "tokenizer.json", folder)
    print(f"{name}: {(folder / 'model.safetensors').stat().st_size / 1e6:.1f} MB")


def export_heldout(work: Path, to: Path) -> None:
    """heldout.txt: paragraphs of middling length that training never saw, one a line."""
    text = (work / "heldout.txt").read_text(encoding="utf-8").replace("<|endoftext|>", "\n")
    paragraphs = [line for line in text.split("\n") if 300 <= len(line) <= 900]
    chosen = paragraphs[:: len(paragraphs) // HELD_OUT_PARAGRAPHS][:HELD_OUT_PARAGRAPHS]
    (to / "heldout.txt").write_text("\n".join(chosen) + "\n", encoding="utf-8")
    print(f"heldout.txt: {len(chosen)} of {len(paragraphs)} paragraphs")


def export_samples(work: Path, to: Path) -> None:
    """samples.npz: token ids "training", from the middle of each work, and "written"."""
    tokens = np.load(work / "train.npy")
    works = [part for part in np.split(tokens, np.flatnonzero(tokens == 0)) if len(part) > 1]
    each = TRAINING_TOKENS // len(works)
    middles = [part[len(part) // 2 :][:each] for part in works]
    texts = np.load(work / "generated.npy").reshape(-1, PROMPT + NEW)[:, PROMPT:]
    written = texts[:: len(texts) * NEW // WRITTEN_TOKENS].ravel()[:WRITTEN_TOKENS]
    samples = {"training": np.concatenate(middles), "written": written}
    np.savez_compressed(to / "samples.npz", **samples)
    print("samples.npz:", {name: len(sample) for name, sample in samples.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--to", type=Path, default=MODELS)
    parser.add_argument("--only", choices=["target", "draft", "draft_distilled", "samples"])
    options = parser.parse_args()
    names = ["target", "draft", "draft_distilled"]
    for name in [options.only] if options.only else names:
        if name in names:
            export(name, options.work, options.to)
    export_heldout(options.work, options.to)
    export_samples(options.work, options.to)


if __name__ == "__main__":
    main()
