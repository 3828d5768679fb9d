"""The same model with fewer, larger matrix products: faster, and harder to read.

Query, key and value become one matrix, gate and up another, all stored row by row. The taught code
is specdec.model; the benchmark uses this one, to compare with the best plain decoder we have.
"""

import math
from dataclasses import dataclass

import numpy as np

from specdec.model import (
    Model,
    rms_norm,
    rotary_angles,
    rotate,
    silu,
    softmax,
    split_heads,
)


@dataclass(frozen=True)
class FusedLayer:
    """Weights of one layer, matrices (inputs, outputs) and contiguous."""

    attention_norm: np.ndarray
    query_key_value: np.ndarray
    output: np.ndarray
    mlp_norm: np.ndarray
    gate_up: np.ndarray
    down: np.ndarray


class FusedModel(Model):
    """A Model that computes the same logits, up to rounding, from fused matrices."""

    def __init__(self, model: Model):
        super().__init__(model.name, model.params, model._folder)
        self.layers = [
            FusedLayer(
                layer.attention_norm,
                np.concatenate([layer.query, layer.key, layer.value], axis=1),
                np.ascontiguousarray(layer.output),
                layer.mlp_norm,
                np.concatenate([layer.gate, layer.up], axis=1),
                np.ascontiguousarray(layer.down),
            )
            for layer in model.params.layers
        ]
        self.head = np.ascontiguousarray(model.params.embedding.T)
        sizes = self.config
        every = np.arange(sizes.context)
        dtype = model.params.embedding.dtype
        self.cos, self.sin = rotary_angles(every, sizes.head_dim, sizes.rope_theta, dtype)

    def logits(self, hidden) -> np.ndarray:
        """As in Model."""
        return hidden @ self.head

    def _rows(self, ids, mask, cache, positions):
        start, count = 0 if cache is None else len(cache), ids.shape[1]
        where = slice(start, start + count) if positions is None else positions
        angles = self.cos[where], self.sin[where]
        x = self.params.embedding[ids[0]]
        for number, layer in enumerate(self.layers):
            x = x + self._attention(x, number, layer, angles, mask, cache)
            x = x + self._feed_forward(x, layer)
        return rms_norm(x, self.params.norm, self.config.norm_eps)

    def _attention(self, x, number, layer, angles, mask, cache):
        sizes = self.config
        normed = rms_norm(x, layer.attention_norm, sizes.norm_eps)
        both = sizes.heads + sizes.kv_heads
        heads = split_heads(normed @ layer.query_key_value, sizes.head_dim)
        turned, value = rotate(heads[:both], *angles), heads[both:]
        query, key = turned[: sizes.heads], turned[sizes.heads :]
        if cache is not None:
            key, value = cache.append(number, key, value)
        query = query.reshape(sizes.kv_heads, -1, *query.shape[1:])
        scores = query @ key[:, None].swapaxes(-1, -2) / math.sqrt(sizes.head_dim)
        if mask is not None:
            scores = np.where(mask, scores, -np.inf)
        mixed = (softmax(scores) @ value[:, None]).reshape(sizes.heads, len(x), -1)
        return mixed.swapaxes(0, 1).reshape(len(x), -1) @ layer.output

    def _feed_forward(self, x, layer):
        both = rms_norm(x, layer.mlp_norm, self.config.norm_eps) @ layer.gate_up
        gate, up = np.split(both, 2, axis=1)
        return (silu(gate) * up) @ layer.down


def fuse(model: Model) -> FusedModel:
    """Return the model with fused matrices; it takes twice the memory."""
    return FusedModel(model)
