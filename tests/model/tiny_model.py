"""A tiny random model in the folder layout of the shipped ones."""

import json
import shutil

import numpy as np
from safetensors.numpy import save_file

from specdec.model import MODELS

TINY = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 48,
    "vocab_size": 704,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    "hidden_act": "silu",
    "tie_word_embeddings": True,
    "eos_token_id": 0,
}


def random_tensors(config: dict, seed: int) -> dict:
    """Weights large enough that the logits differ clearly."""
    rng = np.random.default_rng(seed)
    width, hidden = config["hidden_size"], config["intermediate_size"]
    kv_width = config["num_key_value_heads"] * config["head_dim"]
    shapes = {
        "input_layernorm": (width,),
        "self_attn.q_proj": (width, width),
        "self_attn.k_proj": (kv_width, width),
        "self_attn.v_proj": (kv_width, width),
        "self_attn.o_proj": (width, width),
        "post_attention_layernorm": (width,),
        "mlp.gate_proj": (hidden, width),
        "mlp.up_proj": (hidden, width),
        "mlp.down_proj": (width, hidden),
    }

    def draw(shape):
        if len(shape) == 1:
            return rng.uniform(0.5, 1.5, shape).astype(np.float32)
        return (rng.normal(size=shape) * 1.5 / np.sqrt(shape[1])).astype(np.float32)

    tensors = {
        "model.embed_tokens.weight": draw((config["vocab_size"], width)),
        "model.norm.weight": draw((width,)),
    }
    for number in range(config["num_hidden_layers"]):
        for name, shape in shapes.items():
            tensors[f"model.layers.{number}.{name}.weight"] = draw(shape)
    return tensors


def write_model(folder, config=TINY, seed=1):
    """A model folder with random weights and the shipped tokenizer."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    save_file(random_tensors(config, seed), folder / "model.safetensors")
    shutil.copy(MODELS / "target" / "tokenizer.json", folder)
    return folder
