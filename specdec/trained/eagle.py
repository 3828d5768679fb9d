"""A draft that continues from the target's own hidden rows, in numpy: EAGLE's idea, made small.

Li et al., EAGLE (2024, arXiv 2401.15077), and EAGLE-3 (2025, arXiv 2503.01840). The weights come
from training/eagle.py. What is left out: EAGLE's tree of guesses, EAGLE-2's choice of the tree by
confidence, EAGLE-3's rows from three depths of the target, and a thousand times more training text.
"""

from dataclasses import dataclass

import numpy as np
from safetensors.numpy import load_file

from specdec.cache import ModelCache
from specdec.model import (
    MODELS,
    Config,
    Layer,
    attention,
    causal_rows,
    feed_forward,
    rms_norm,
    rotary_angles,
)
from specdec.trained.sampled import common_length

WEIGHTS = MODELS / "eagle.safetensors"
HEAD_DIM = 32


@dataclass(frozen=True)
class EagleParams:
    """Weights: `join` (2d, d) mixes a row and an embedding; then one layer, and a last norm."""

    config: Config
    row_norm: np.ndarray
    token_norm: np.ndarray
    join: np.ndarray
    layer: Layer
    norm: np.ndarray

    @property
    def size(self) -> int:
        """Number of parameters."""
        own = self.row_norm.size + self.token_norm.size + self.join.size + self.norm.size
        return own + sum(array.size for array in vars(self.layer).values())


def load_eagle(path=WEIGHTS, dtype=np.float32) -> EagleParams:
    """Read the trained weights. Raises FileNotFoundError where there are none."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; make it with training/eagle.py.")
    raw = {name: array.astype(dtype) for name, array in load_file(path).items()}

    def matrix(name):
        return np.ascontiguousarray(raw[name].T)

    layer = Layer(
        attention_norm=raw["attention_norm"],
        query=matrix("query"),
        key=matrix("key"),
        value=matrix("value"),
        output=matrix("output"),
        mlp_norm=raw["mlp_norm"],
        gate=matrix("mlp.gate_proj"),
        up=matrix("mlp.up_proj"),
        down=matrix("mlp.down_proj"),
    )
    width, kv_width = layer.key.shape
    config = Config(
        width=width,
        layers=1,
        heads=layer.query.shape[1] // HEAD_DIM,
        kv_heads=kv_width // HEAD_DIM,
        head_dim=HEAD_DIM,
        vocab_size=0,  # it has none of its own: the target's embedding and head serve both
        context=512,
        rope_theta=10000.0,
        norm_eps=1e-5,
    )
    norms = (raw[name] for name in ("row_norm", "token_norm"))
    return EagleParams(config, *norms, matrix("join"), layer, raw["norm"])


def continue_from_features(params, rows, embeddings, cache):
    """Guess the rows that the target will have one token further on.

    rows        (T, d), the target's rows at T places of a text; later the draft's own
    embeddings  (T, d), of the tokens that came out there: each one place ahead of its row
    cache       keys and values of the places before; it grows by T

    Returns (T, d): the target's head turns them into logits for the tokens after those.
    """
    eps, layer, start = params.config.norm_eps, params.layer, len(cache)
    both = rms_norm(rows, params.row_norm, eps), rms_norm(embeddings, params.token_norm, eps)
    x = np.concatenate(both, axis=-1) @ params.join
    places = np.arange(start, start + len(x))
    angles = rotary_angles(places, params.config.head_dim, params.config.rope_theta, x.dtype)
    mask = causal_rows(start, len(x))
    normed = rms_norm(x, layer.attention_norm, eps)

    def seen(keys, values):
        return cache.append(0, keys, values)

    x = x + attention(normed, layer, params.config, angles, mask, seen)
    x = x + feed_forward(rms_norm(x, layer.mlp_norm, eps), layer)
    return rms_norm(x, params.norm, eps)


class EagleDraft:
    """A draft for specdec.trained.drafts.generate."""

    name = "EAGLE-style"

    def __init__(self, target, params: EagleParams | None = None):
        dtype = target.params.embedding.dtype
        self.target, self.params = target, params or load_eagle(dtype=dtype)
        sizes = self.params.config
        self.cache = ModelCache(1, sizes.kv_heads, sizes.context, sizes.head_dim, dtype)
        self.seen: list[int] = []

    def propose(self, token_ids, hidden, k: int) -> list[int]:
        """Return k guesses; [] before the target has read anything."""
        if k == 0 or len(hidden) == 0:
            return []
        embedding = self.target.params.embedding
        # Place j was made from row j and token j + 1; what still holds of the last text stays. The
        # last place is always made anew: its row is the answer.
        same = max(0, common_length(self.seen, token_ids) - 1)
        kept = min(len(self.cache), same, len(hidden) - 1)
        self.cache.crop(kept)
        rows, guesses = hidden[kept:], list(token_ids[kept + 1 :])
        ahead = continue_from_features(self.params, rows, embedding[guesses], self.cache)[-1:]
        guesses = [int(self.target.logits(ahead)[0].argmax())]
        true_places = len(self.cache)
        while len(guesses) < k:
            ahead = continue_from_features(self.params, ahead, embedding[guesses[-1:]], self.cache)
            guesses.append(int(self.target.logits(ahead)[0].argmax()))
        # Own rows stand in for the target's: they go, and the true ones come with the next round.
        self.cache.crop(true_places)
        self.seen = list(token_ids)
        return guesses
