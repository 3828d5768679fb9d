"""The same model with matrices laid out for passes of few rows: faster, and harder to read.

Query, key and value become one matrix, and each matrix is kept twice: whole, and in panels of
columns. OpenBLAS has a quick routine for small products. For a larger one it first copies the
matrix, which takes longer than the product of a few rows; a panel keeps each product small.
Recorded with AVX-512 (specdec/data/decoding.json): nine rows for 1.6 passes of one, and for 2.4 in
the taught code, specdec.model. The benchmarks run both, to compare with the best plain decoder.
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

PANEL = 64  # columns
SMALL = 1_000_000  # multiplications, up to which OpenBLAS takes the quick routine


class Product:
    """Multiplies rows with one matrix of shape (inputs, outputs)."""

    def __init__(self, matrix):
        self.whole = np.ascontiguousarray(matrix)
        inputs, self.outputs = matrix.shape
        width = math.gcd(self.outputs, PANEL)
        self.panels = np.ascontiguousarray(matrix.reshape(inputs, -1, width).swapaxes(0, 1))

    def __call__(self, x) -> np.ndarray:
        """Return x @ matrix; x (rows, inputs)."""
        if len(x) == 1 or x.size * self.outputs <= SMALL:
            return x @ self.whole
        return (x @ self.panels).swapaxes(0, 1).reshape(len(x), self.outputs)


@dataclass(frozen=True)
class FusedLayer:
    """Weights of one layer."""

    attention_norm: np.ndarray
    query_key_value: Product
    output: Product
    mlp_norm: np.ndarray
    gate: Product
    up: Product
    down: Product


class FusedModel(Model):
    """A Model that computes the same logits, up to rounding, from fused matrices."""

    def __init__(self, model: Model):
        super().__init__(model.name, model.params, model._folder)
        self.layers = [
            FusedLayer(
                layer.attention_norm,
                Product(np.concatenate([layer.query, layer.key, layer.value], axis=1)),
                Product(layer.output),
                layer.mlp_norm,
                Product(layer.gate),
                Product(layer.up),
                Product(layer.down),
            )
            for layer in model.params.layers
        ]
        self.head = Product(model.params.embedding.T)
        sizes = self.config
        every = np.arange(sizes.context)
        dtype = model.params.embedding.dtype
        self.cos, self.sin = rotary_angles(every, sizes.head_dim, sizes.rope_theta, dtype)

    def logits(self, hidden) -> np.ndarray:
        """As in Model."""
        return self.head(hidden)

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
        heads = split_heads(layer.query_key_value(normed), sizes.head_dim)
        turned, value = rotate(heads[:both], *angles), heads[both:]
        query, key = turned[: sizes.heads], turned[sizes.heads :]
        if cache is not None:
            key, value = cache.append(number, key, value)
        query = query.reshape(sizes.kv_heads, -1, *query.shape[1:])
        scores = query @ key[:, None].swapaxes(-1, -2) / math.sqrt(sizes.head_dim)
        if mask is not None:
            scores = np.where(mask, scores, -np.inf)
        mixed = (softmax(scores) @ value[:, None]).reshape(sizes.heads, len(x), -1)
        return layer.output(mixed.swapaxes(0, 1).reshape(len(x), -1))

    def _feed_forward(self, x, layer):
        normed = rms_norm(x, layer.mlp_norm, self.config.norm_eps)
        return layer.down(silu(layer.gate(normed)) * layer.up(normed))


def fuse(model: Model) -> FusedModel:
    """Return the model with fused matrices; it takes three times the memory."""
    return FusedModel(model)
