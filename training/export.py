"""Write the shipped folders from the best checkpoints.

    python training/export.py --work DIR [--to specdec/data/models]

Each folder gets float16 weights, config.json and tokenizer.json as transformers reads them. The
weights are rounded to float16 here, once: every figure in RESULTS.md is of the rounded ones. A
sample of the held-out text goes beside them, for prompts and for measuring drafts.
"""

import argparse
import json
import shutil
from pathlib import Path

import torch
from llama import SHAPES
from safetensors.torch import save_file

MODELS = Path(__file__).parents[1] / "specdec" / "data" / "models"
HELD_OUT_PARAGRAPHS = 60
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--to", type=Path, default=MODELS)
    parser.add_argument("--only", choices=["target", "draft", "draft_distilled"])
    options = parser.parse_args()
    for name in [options.only] if options.only else ["target", "draft", "draft_distilled"]:
        export(name, options.work, options.to)
    export_heldout(options.work, options.to)


if __name__ == "__main__":
    main()
