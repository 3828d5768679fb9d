"""A Llama model in plain numpy: token ids in, one row of logits per token out.

The maths, in the order of the code: RMSNorm (Zhang & Sennrich, 2019), rotary positions (Su et al.,
2021), grouped-query attention (Ainslie et al., 2023), SwiGLU (Shazeer, 2020), and an output head
that is the embedding, transposed. Folders are those of Hugging Face: config.json,
model.safetensors, tokenizer.json; transformers and vLLM load the same ones.

    target = load_model("target")
    token_ids = np.array([target.tokenizer.encode("It is a truth")])   # (1, T)
    logits = target(token_ids)                                         # (1, T, V)
"""

import json
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from specdec.cache import ModelCache
from specdec.tokenizer import Tokenizer

MODELS = Path(__file__).parent / "data" / "models"
DTYPES = (np.float32, np.float64)


@dataclass(frozen=True)
class Config:
    """Sizes: width d, layers, query heads, key/value heads, head_dim, vocabulary V, context."""

    width: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab_size: int
    context: int
    rope_theta: float
    norm_eps: float


@dataclass(frozen=True)
class Layer:
    """Weights of one layer; matrices are (inputs, outputs), so that `x @ matrix` reads well."""

    attention_norm: np.ndarray
    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    output: np.ndarray
    mlp_norm: np.ndarray
    gate: np.ndarray
    up: np.ndarray
    down: np.ndarray


@dataclass(frozen=True)
class Params:
    """All weights of a model: embedding (V, d), layers, norm (d,), and the config."""

    config: Config
    embedding: np.ndarray
    layers: tuple[Layer, ...]
    norm: np.ndarray


def rms_norm(x, weight, eps):
    """x (T, d), each row brought to mean square 1, times weight (d,)."""
    mean_square = np.mean(x * x, axis=-1, keepdims=True)
    return x / np.sqrt(mean_square + eps) * weight


def rotary_angles(positions, head_dim, theta, dtype):
    """(cos, sin), each (T, head_dim / 2): position times one frequency per pair of numbers."""
    frequencies = theta ** -(np.arange(0, head_dim, 2) / head_dim)
    angles = np.outer(positions, frequencies)
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


def rotate(x, cos, sin):
    """x (heads, T, head_dim): turn each pair (i, i + head_dim / 2) by its position's angle."""
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate((first * cos - second * sin, second * cos + first * sin), axis=-1)


def softmax(x):
    """Probabilities along the last axis; the largest entry is taken out first, for safety."""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def split_heads(x, head_dim):
    """(T, heads * head_dim) -> (heads, T, head_dim)."""
    return x.reshape(len(x), -1, head_dim).swapaxes(0, 1)


def attention(x, layer, config, angles, mask, cached):
    """x (T, d) -> (T, d); a row mixes the values of the positions its mask row lets it see.

    `cached` takes the new keys and values and returns those of all S positions.
    """
    query = rotate(split_heads(x @ layer.query, config.head_dim), *angles)
    key = rotate(split_heads(x @ layer.key, config.head_dim), *angles)
    key, value = cached(key, split_heads(x @ layer.value, config.head_dim))
    # Query heads share key/value heads in groups: (kv_heads, group, T, head_dim).
    query = query.reshape(config.kv_heads, -1, *query.shape[1:])
    scores = query @ key[:, None].swapaxes(-1, -2) / math.sqrt(config.head_dim)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    mixed = softmax(scores) @ value[:, None]
    return mixed.reshape(config.heads, len(x), -1).swapaxes(0, 1).reshape(len(x), -1) @ layer.output


def silu(x):
    """x times the logistic function of x, written with tanh because exp could overflow."""
    return x * (1 + np.tanh(x / 2)) / 2


def feed_forward(x, layer):
    """x (T, d) -> (T, d): SwiGLU, a gate times a linear map, through a wider layer."""
    return (silu(x @ layer.gate) * (x @ layer.up)) @ layer.down


def hidden_rows(token_ids, params, mask, cache=None, positions=None):
    """Rows (T, d) after the last norm, for the T tokens that follow the cached ones.

    mask is (T, len(cache) + T), or None; positions (T,) are the places that the rotary angles
    tell apart, by default those after the cached ones.
    """
    config, start = params.config, 0 if cache is None else len(cache)
    x = params.embedding[token_ids[0]]
    if positions is None:
        positions = np.arange(start, start + len(x))
    angles = rotary_angles(positions, config.head_dim, config.rope_theta, x.dtype)
    for number, layer in enumerate(params.layers):

        def cached(key, value, number=number):
            return (key, value) if cache is None else cache.append(number, key, value)

        normed = rms_norm(x, layer.attention_norm, config.norm_eps)
        x = x + attention(normed, layer, config, angles, mask, cached)
        x = x + feed_forward(rms_norm(x, layer.mlp_norm, config.norm_eps), layer)
    return rms_norm(x, params.norm, config.norm_eps)


def forward(token_ids, params, mask, cache=None):
    """Logits (1, T, V) of the T tokens that follow the cached ones; mask is (T, len(cache) + T)."""
    return (hidden_rows(token_ids, params, mask, cache) @ params.embedding.T)[None]


def full_lm_forward(token_ids, params, mask):
    """One pass over a whole text, nothing remembered: token ids (1, T) -> logits (1, T, V).

    Row t predicts the token after position t. `mask` is boolean, (T, T), True where row t may see
    column s; None lets every row see everything. `params` is a Model or its weights; any function
    of (token_ids, mask) that returns logits will do as well. Raises ValueError for wrong shapes,
    ids outside the vocabulary, or more tokens than the model's context.
    """
    if isinstance(params, Model):
        params = params.params
    if callable(params):
        return params(token_ids, mask)
    token_ids = checked_ids(token_ids, params.config, 0)
    return forward(token_ids, params, checked_mask(mask, token_ids.shape[1]))


def checked_mask(mask, length: int):
    """mask as a boolean array (length, length), or None. Raises ValueError otherwise."""
    if mask is None:
        return None
    mask = np.asarray(mask)
    if mask.dtype != bool or mask.shape != (length, length):
        raise ValueError(
            f"mask must be boolean with shape ({length}, {length}), "
            f"got {mask.dtype} with shape {mask.shape}."
        )
    if not mask.any(axis=1).all():
        raise ValueError("Each row of the mask must let its token see at least one position.")
    return mask


def causal_rows(start: int, count: int) -> np.ndarray:
    """Mask (count, start + count) of new rows: each sees all that came before, and itself."""
    return np.arange(start + count) <= np.arange(start, start + count)[:, None]


def checked_ids(token_ids, config: Config, already: int) -> np.ndarray:
    """token_ids as an integer array (1, T) that fits the model. Raises ValueError otherwise."""
    ids = np.asarray(token_ids)
    if ids.ndim != 2 or ids.shape[0] != 1 or ids.shape[1] == 0:
        raise ValueError(f"token_ids must have shape (1, T) with T of 1 or more, got {ids.shape}.")
    if not np.issubdtype(ids.dtype, np.integer):
        raise ValueError(f"token_ids must be whole numbers, got {ids.dtype}.")
    if ids.min() < 0 or ids.max() >= config.vocab_size:
        raise ValueError(f"token_ids must lie in 0 to {config.vocab_size - 1}.")
    if already + ids.shape[1] > config.context:
        raise ValueError(
            f"{already + ids.shape[1]} tokens are more than the model's context of "
            f"{config.context}; use a shorter prompt or generate fewer tokens."
        )
    return ids


class Model:
    """A loaded model: call it on token ids, with or without a cache.

    Attributes: `name`, `params` (weights and config), `tokenizer`.
    """

    def __init__(self, name: str, params: Params, folder: Path | None = None):
        self.name, self.params, self._folder = name, params, folder

    def __repr__(self) -> str:
        return f"<Model {self.name}: {self.size:,} parameters, {self.params.embedding.dtype}>"

    @property
    def config(self) -> Config:
        return self.params.config

    @property
    def size(self) -> int:
        """Number of parameters."""
        layers = sum(array.size for layer in self.params.layers for array in vars(layer).values())
        return self.params.embedding.size + self.params.norm.size + layers

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer; target and drafts share one vocabulary."""
        return Tokenizer(self._folder / "tokenizer.json")

    def new_cache(self) -> ModelCache:
        """An empty cache for one text."""
        sizes = self.config
        dtype = self.params.embedding.dtype
        return ModelCache(sizes.layers, sizes.kv_heads, sizes.context, sizes.head_dim, dtype)

    def __call__(self, token_ids, cache=None) -> np.ndarray:
        """Causal logits (1, T, V) of token_ids (1, T), which follow what the cache holds.

        With a cache, its length grows by T; crop it to take tokens back. Raises ValueError for a
        wrong shape, an id outside the vocabulary, or a text longer than the context.
        """
        return self.logits(self.hidden(token_ids, cache))[None]

    def hidden(self, token_ids, cache=None, mask=None, positions=None) -> np.ndarray:
        """Rows (T, d) after the last norm of token_ids (1, T): what `logits` turns into logits.

        mask       boolean (T, len(cache) + T), True where a row may see a column; None: causal
        positions  (T,) places of the tokens in their text; None: one after the other
        For a tree of guesses both are given: a guess sees its own ancestors only, and guesses at
        one place share its position. Raises ValueError as a call of the model does.
        """
        start = 0 if cache is None else len(cache)
        ids = checked_ids(token_ids, self.config, start)
        count = ids.shape[1]
        if mask is None and count > 1:  # one new row sees everything: it needs no mask
            mask = causal_rows(start, count)
        return self._rows(ids, mask, cache, positions)

    def logits(self, hidden) -> np.ndarray:
        """Logits (T, V) of rows (T, d)."""
        return hidden @ self.params.embedding.T

    def _rows(self, ids, mask, cache, positions):
        return hidden_rows(ids, self.params, mask, cache, positions)


def shipped_models() -> list[str]:
    """Names that load_model knows."""
    return sorted(config.parent.name for config in MODELS.glob("*/config.json"))


def read_config(path: Path) -> Config:
    """Config of a Hugging Face folder. Raises ValueError for what this code does not compute."""
    raw = json.loads(path.read_text(encoding="utf-8"))
    if raw.get("model_type") != "llama" or not raw.get("tie_word_embeddings"):
        raise ValueError(f"{path} is not a Llama model with tied embeddings.")
    rope = raw.get("rope_parameters") or raw
    if rope.get("rope_type", "default") != "default":
        raise ValueError(f"{path} scales its rotary positions; that is not supported.")
    return Config(
        width=raw["hidden_size"],
        layers=raw["num_hidden_layers"],
        heads=raw["num_attention_heads"],
        kv_heads=raw["num_key_value_heads"],
        head_dim=raw.get("head_dim") or raw["hidden_size"] // raw["num_attention_heads"],
        vocab_size=raw["vocab_size"],
        context=raw["max_position_embeddings"],
        rope_theta=float(rope.get("rope_theta", raw.get("rope_theta", 10000.0))),
        norm_eps=raw["rms_norm_eps"],
    )


def params_from_tensors(tensors: dict, config: Config, dtype=np.float32) -> Params:
    """Params from arrays under their Hugging Face names. Matrices are stored (outputs, inputs)."""

    def fixed(array):
        # Row by row in memory: a product of a few rows with a turned matrix takes twice as long.
        array = np.array(array, dtype=dtype, order="C")
        array.flags.writeable = False
        return array

    def vector(name):
        return fixed(tensors[name])

    def matrix(name):
        return fixed(np.asarray(tensors[name]).T)

    def layer(number):
        at = f"model.layers.{number}."
        return Layer(
            attention_norm=vector(at + "input_layernorm.weight"),
            query=matrix(at + "self_attn.q_proj.weight"),
            key=matrix(at + "self_attn.k_proj.weight"),
            value=matrix(at + "self_attn.v_proj.weight"),
            output=matrix(at + "self_attn.o_proj.weight"),
            mlp_norm=vector(at + "post_attention_layernorm.weight"),
            gate=matrix(at + "mlp.gate_proj.weight"),
            up=matrix(at + "mlp.up_proj.weight"),
            down=matrix(at + "mlp.down_proj.weight"),
        )

    return Params(
        config=config,
        embedding=vector("model.embed_tokens.weight"),
        layers=tuple(layer(number) for number in range(config.layers)),
        norm=vector("model.norm.weight"),
    )


def load_model(name_or_path, dtype=np.float32) -> Model:
    """Load a shipped model by name ("target", "draft", "draft_distilled") or any folder by path.

    dtype is np.float32 (fast) or np.float64 (for exact comparisons). Raises FileNotFoundError where
    there is no such model, ValueError where the folder holds one that this code cannot compute.
    """
    if np.dtype(dtype) not in map(np.dtype, DTYPES):
        raise ValueError(f"dtype must be np.float32 or np.float64, got {dtype!r}.")
    shipped = shipped_models()
    folder = MODELS / name_or_path if str(name_or_path) in shipped else Path(name_or_path)
    for file in ("config.json", "model.safetensors", "tokenizer.json"):
        if not (folder / file).is_file():
            raise FileNotFoundError(
                f"There is no model {str(name_or_path)!r} ({file} is missing). "
                f"Known names: {', '.join(shipped) or 'none'}; or give a model's folder."
            )
    config = read_config(folder / "config.json")
    try:
        params = params_from_tensors(load_file(folder / "model.safetensors"), config, dtype)
    except KeyError as error:
        raise ValueError(f"{folder}/model.safetensors lacks the weights {error}.") from None
    return Model(folder.name, params, folder)
