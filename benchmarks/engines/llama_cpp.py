"""The same pair in llama.cpp: same tokens as our numpy code, and what the engine reports.

    PYTHONPATH=. python benchmarks/engines/llama_cpp.py [--prompts 6] [--tokens 120] [--out FILE]

Needs the packages xllamacpp and gguf. The weights are written as GGUF into a temporary folder
first. llama.cpp turns neighbouring pairs (2i, 2i + 1) of a head by one angle, Hugging Face the
pair (i, i + head_dim / 2): the rows of the query and key matrices are reordered for that. One
thread. Token ids go in and come out, so no tokenizer can differ.
"""

import argparse
import json
import os
import tempfile
import urllib.request
from datetime import date
from pathlib import Path

import specdec  # noqa: F401  # isort: skip  (first: it sets one BLAS thread)
import gguf
import numpy as np
import xllamacpp
from decoding import differs_beyond_a_tie, greedy, speculative
from safetensors.numpy import load_file

from specdec.model import MODELS, load_model

NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def interleaved(weight, heads: int):
    """Rows of a query or key matrix, halves convention -> neighbouring pairs."""
    halves = weight.reshape(heads, 2, -1, weight.shape[1])
    return halves.swapaxes(1, 2).reshape(weight.shape)


def gguf_name(name: str) -> str:
    if name == "model.embed_tokens.weight":
        return "token_embd.weight"
    if name == "model.norm.weight":
        return "output_norm.weight"
    _, _, number, rest = name.split(".", 3)
    return f"blk.{number}.{NAMES[rest.removesuffix('.weight')]}.weight"


def write_gguf(name: str, folder: Path) -> Path:
    """One shipped model as folder/NAME.gguf: float16 matrices, float32 norms."""
    config = json.loads((MODELS / name / "config.json").read_text(encoding="utf-8"))
    vocabulary = json.loads((MODELS / name / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    path = folder / f"{name}.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    tokens = sorted(vocabulary["vocab"], key=vocabulary["vocab"].get)
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL] + [gguf.TokenType.NORMAL] * (len(tokens) - 1))
    merges = [m if isinstance(m, str) else " ".join(m) for m in vocabulary["merges"]]
    writer.add_token_merges(merges)
    writer.add_eos_token_id(0)
    writer.add_add_bos_token(False)
    for key, weight in load_file(MODELS / name / "model.safetensors").items():
        if "q_proj" in key:
            weight = interleaved(weight, config["num_attention_heads"])
        if "k_proj" in key:
            weight = interleaved(weight, config["num_key_value_heads"])
        writer.add_tensor(gguf_name(key), weight if weight.ndim > 1 else weight.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


class StandardError:
    """What the process writes to standard error from now on; the engine logs there."""

    def __init__(self):
        self.file = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as the process)
        os.dup2(self.file.fileno(), 2)

    def lines(self) -> list[str]:
        self.file.seek(0)
        return self.file.read().decode("utf-8", "replace").splitlines()


def server(target: Path, draft: Path | None = None, k: int = 0):
    params = xllamacpp.CommonParams()
    params.model.path = str(target)
    params.n_ctx, params.n_parallel, params.warmup = 512, 1, False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    if draft is not None:
        speculation = params.speculative
        speculation.types = [xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE]
        speculation.draft.mparams.path = str(draft)
        speculation.draft.n_max, speculation.draft.n_min, speculation.draft.p_min = k, 0, 0.0
        speculation.draft.cpuparams.n_threads = 1
        speculation.draft.cpuparams_batch.n_threads = 1
    return xllamacpp.Server(params)


def complete(engine, prompt: list[int], count: int) -> dict:
    """llama.cpp's own answer: "tokens" and "timings" (with draft_n and draft_n_accepted)."""
    request = {
        "prompt": prompt,
        "n_predict": count,
        "temperature": 0.0,
        "ignore_eos": True,
        "return_tokens": True,
        "cache_prompt": False,
    }
    # The server's own endpoint: the OpenAI one of the package gives no token ids.
    call = urllib.request.Request(
        f"{engine.listening_address}/completion",
        json.dumps(request).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(call) as answer:
        return json.load(answer)


def compared(label: str, engine, target, prompts, wanted) -> dict:
    """One row: how many texts are equal, at a near tie, or different, and the engine's counts."""
    answers = [complete(engine, prompt, len(wanted[0])) for prompt in prompts]
    texts = [answer["tokens"] for answer in answers]
    timings = [answer["timings"] for answer in answers]
    equal = sum(text == plain for text, plain in zip(texts, wanted, strict=True))
    wrong = sum(
        differs_beyond_a_tie(target, prompt, plain, text)
        for prompt, plain, text in zip(prompts, wanted, texts, strict=True)
    )
    seconds = sum(t["predicted_ms"] for t in timings) / 1000
    entry = {
        "engine": label,
        "equal": equal,
        "different_at_a_near_tie": len(texts) - equal - wrong,
        "different": wrong,
        "tokens_per_s": round(sum(map(len, texts)) / seconds),
    }
    if "draft_n" in timings[0]:
        entry["drafted"] = sum(t["draft_n"] for t in timings)
        entry["accepted"] = sum(t["draft_n_accepted"] for t in timings)
    return entry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prompts", type=int, default=6)
    parser.add_argument("--tokens", type=int, default=120)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("llama_cpp.json"))
    options = parser.parse_args()
    k = 4
    target, draft = load_model("target"), load_model("draft_distilled")
    lines = (MODELS / "heldout.txt").read_text(encoding="utf-8").splitlines()
    prompts = [target.tokenizer.encode(line)[:24] for line in lines[::3]][: options.prompts]
    wanted = [greedy(target, prompt, options.tokens) for prompt in prompts]
    ledgers = [speculative(target, draft, prompt, options.tokens, k)[1] for prompt in prompts]
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: write_gguf(name, Path(folder)) for name in ("target", "draft_distilled")}
        log = StandardError()
        rows = [compared("llama.cpp plain", server(paths["target"]), target, prompts, wanted)]
        engine = server(paths["target"], paths["draft_distilled"], k)
        rows.append(compared(f"llama.cpp draft k={k}", engine, target, prompts, wanted))
        said = [line for line in log.lines() if "draft acceptance" in line]
        rows[-1]["prints"] = [line.partition(" I ")[2] for line in said[:2]]
    result = {
        "date": date.today().isoformat(),
        "version": f"xllamacpp {xllamacpp.__version__}",
        "prompts": len(prompts),
        "tokens_each": options.tokens,
        "numpy": {
            "drafted": sum(ledger.drafted for ledger in ledgers),
            "accepted": sum(ledger.accepted for ledger in ledgers),
            "rounds": sum(ledger.rounds for ledger in ledgers),
        },
        "engines": rows,
    }
    text = json.dumps(result, indent=2)
    options.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
