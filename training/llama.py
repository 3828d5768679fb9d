"""The Llama architecture in PyTorch, trainable, with the parameter names of transformers."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass(frozen=True)
class Shape:
    """Sizes of one model; head_dim = width / heads."""

    width: int
    layers: int
    heads: int
    kv_heads: int
    hidden: int
    vocabulary: int = 704
    context: int = 512
    rope_theta: float = 10000.0
    norm_eps: float = 1e-5

    @property
    def head_dim(self) -> int:
        return self.width // self.heads

    def hf_config(self) -> dict:
        """config.json as transformers reads it."""
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": self.width,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "intermediate_size": self.hidden,
            "vocab_size": self.vocabulary,
            "max_position_embeddings": self.context,
            "rms_norm_eps": self.norm_eps,
            "rope_theta": self.rope_theta,
            "rope_parameters": {"rope_type": "default", "rope_theta": self.rope_theta},
            "hidden_act": "silu",
            "attention_bias": False,
            "mlp_bias": False,
            "tie_word_embeddings": True,
            "bos_token_id": None,
            "eos_token_id": 0,
            "pad_token_id": None,
            "torch_dtype": "float16",
        }


SHAPES = {
    "target": Shape(width=256, layers=12, heads=8, kv_heads=2, hidden=704),
    "draft": Shape(width=128, layers=1, heads=4, kv_heads=2, hidden=384),
}


def rotate(x, cos, sin):
    """Rotary positions on x (B, heads, T, head_dim), halves convention."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Attention(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        kv_width = shape.kv_heads * shape.head_dim
        self.q_proj = nn.Linear(shape.width, shape.width, bias=False)
        self.k_proj = nn.Linear(shape.width, kv_width, bias=False)
        self.v_proj = nn.Linear(shape.width, kv_width, bias=False)
        self.o_proj = nn.Linear(shape.width, shape.width, bias=False)

    def forward(self, x, cos, sin, past=None):
        def heads(y):
            return y.unflatten(-1, (-1, self.shape.head_dim)).transpose(1, 2)

        q = rotate(heads(self.q_proj(x)), cos, sin)
        k = rotate(heads(self.k_proj(x)), cos, sin)
        v = heads(self.v_proj(x))
        if past is not None:
            k, v = torch.cat((past[0], k), dim=2), torch.cat((past[1], v), dim=2)
        repeats = self.shape.heads // self.shape.kv_heads
        k_all, v_all = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
        # With a past, one new token at a time: it may see everything.
        out = F.scaled_dot_product_attention(q, k_all, v_all, is_causal=past is None)
        return self.o_proj(out.transpose(1, 2).flatten(2)), (k, v)


class FeedForward(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.gate_proj = nn.Linear(shape.width, shape.hidden, bias=False)
        self.up_proj = nn.Linear(shape.width, shape.hidden, bias=False)
        self.down_proj = nn.Linear(shape.hidden, shape.width, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.input_layernorm = nn.RMSNorm(shape.width, shape.norm_eps)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = nn.RMSNorm(shape.width, shape.norm_eps)
        self.mlp = FeedForward(shape)

    def forward(self, x, cos, sin, past=None):
        mixed, present = self.self_attn(self.input_layernorm(x), cos, sin, past)
        x = x + mixed
        return x + self.mlp(self.post_attention_layernorm(x)), present


class Body(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width, shape.norm_eps)


class Llama(nn.Module):
    """token ids (B, T) -> logits (B, T, vocabulary); the head is the embedding, transposed."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.model = Body(shape)
        half = torch.arange(0, shape.head_dim, 2) / shape.head_dim
        angles = torch.outer(torch.arange(shape.context), shape.rope_theta**-half)
        angles = torch.cat((angles, angles), dim=-1)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        for name, parameter in self.named_parameters():
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                nn.init.zeros_(parameter)  # every layer starts as the identity
            elif parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, token_ids, pasts=None, return_pasts=False):
        hidden, presents = self.hidden(token_ids, pasts)
        logits = hidden @ self.model.embed_tokens.weight.T
        return (logits, presents) if return_pasts else logits

    def hidden(self, token_ids, pasts=None):
        """(rows (B, T, width) after the last norm, keys and values of each layer)."""
        start = 0 if pasts is None else pasts[0][0].shape[2]
        stop = start + token_ids.shape[1]
        cos, sin = self.cos[start:stop], self.sin[start:stop]
        x, presents = self.model.embed_tokens(token_ids), []
        for number, layer in enumerate(self.model.layers):
            x, present = layer(x, cos, sin, None if pasts is None else pasts[number])
            presents.append(present)
        return self.model.norm(x), presents
