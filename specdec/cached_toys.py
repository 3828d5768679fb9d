"""Toy models with a cache, for lesson 4: small enough to see what a cache holds.

A TokenModel keeps the tokens themselves as its keys, so a wrong cache changes its answers as it
would a real model's, and printing the cache shows why.
"""

import numpy as np

from specdec.cache import ModelCache
from specdec.model import Config, Model, params_from_tensors
from specdec.sampling import WORDS
from specdec.toys import look_back_target, one_word_draft

CONTEXT = 512


class TokenModel:
    """A model of one layer that answers by a rule about the tokens it sees.

    rule        function: list of token ids -> id of the next token
    vocab_size  V; logits are 1 for the chosen token and 0 for the others
    """

    def __init__(self, name: str, rule, vocab_size: int):
        self.__name__, self.rule, self.vocab_size = name, rule, vocab_size

    def new_cache(self) -> ModelCache:
        """An empty cache for one text."""
        return ModelCache(1, 1, CONTEXT, 1, np.float64)

    def __call__(self, token_ids, cache=None) -> np.ndarray:
        """Logits (1, T, V) of token_ids (1, T), which follow what the cache holds.

        Raises ValueError for another shape.
        """
        ids = np.asarray(token_ids)
        if ids.ndim != 2 or ids.shape[0] != 1 or ids.shape[1] == 0:
            raise ValueError(
                f"token_ids must have shape (1, T) with T of 1 or more, got {ids.shape}"
            )
        keys = ids.astype(np.float64).reshape(1, -1, 1)
        if cache is not None:
            keys, _ = cache.append(0, keys, keys.copy())
        seen = np.asarray(keys)[0, :, 0].astype(int).tolist()
        logits = np.zeros((1, ids.shape[1], self.vocab_size))
        for row in range(ids.shape[1]):
            known = seen[: len(seen) - ids.shape[1] + row + 1]
            logits[0, row, self.rule(known)] = 1
        return logits


def _by_words(rule):
    """Turn a rule about words into one about ids."""
    return lambda ids: WORDS.index(rule([WORDS[i] for i in ids]))


def cat_pair() -> tuple[TokenModel, TokenModel]:
    """Return (draft, target) of the cat's story; ids are places in specdec.sampling.WORDS."""
    return (
        TokenModel("cat_draft", _by_words(one_word_draft), len(WORDS)),
        TokenModel("cat_target", _by_words(look_back_target), len(WORDS)),
    )


NUMBERS = 31


def _mixed(ids) -> int:
    """Scramble the last three ids into one number below 2**16."""
    state = 7
    for token in ids[-3:]:
        state = (state * 1103 + token * 377 + 12345) % 65536
    return state


def number_target_rule(ids) -> int:
    """Return the next number; it depends on the last three and on nothing else."""
    return (_mixed(ids) >> 4) % NUMBERS


def number_draft_rule(ids) -> int:
    """Return the target's number in about four cases of five, else the one after it."""
    wrong = (_mixed(ids) >> 9) % 5 == 0
    return (number_target_rule(ids) + wrong) % NUMBERS


def number_pair() -> tuple[TokenModel, TokenModel]:
    """Return (draft, target): both look at the last three numbers, and agree in 4 of 5 cases."""
    return (
        TokenModel("number_draft", number_draft_rule, NUMBERS),
        TokenModel("number_target", number_target_rule, NUMBERS),
    )


TINY = Config(
    width=8,
    layers=2,
    heads=4,
    kv_heads=2,
    head_dim=4,
    vocab_size=12,
    context=96,
    rope_theta=100.0,
    norm_eps=1e-5,
)


def tiny_llama(name: str, seed: int, noise: float = 0.0) -> Model:
    """A Llama with 2 layers, width 8 and 12 tokens, random weights, in float64.

    noise  above 0: the weights of the same seed, moved a little, which makes a fair draft
    """
    rng, shake = np.random.default_rng(seed), np.random.default_rng(seed + 1000)
    query, kv = TINY.heads * TINY.head_dim, TINY.kv_heads * TINY.head_dim
    shapes = {
        "self_attn.q_proj": (query, 8),
        "self_attn.k_proj": (kv, 8),
        "self_attn.v_proj": (kv, 8),
        "self_attn.o_proj": (8, query),
        "mlp.gate_proj": (12, 8),
        "mlp.up_proj": (12, 8),
        "mlp.down_proj": (8, 12),
    }

    def draw(shape):
        return rng.normal(size=shape) + noise * shake.normal(size=shape)

    tensors = {"model.embed_tokens.weight": draw((12, 8)), "model.norm.weight": np.ones(8)}
    for layer in range(TINY.layers):
        at = f"model.layers.{layer}."
        tensors[at + "input_layernorm.weight"] = np.ones(8)
        tensors[at + "post_attention_layernorm.weight"] = np.ones(8)
        for part, shape in shapes.items():
            tensors[f"{at}{part}.weight"] = draw(shape)
    return Model(name, params_from_tensors(tensors, TINY, np.float64))


def tiny_pair() -> tuple[Model, Model]:
    """Return (draft, target): two tiny Llamas that agree often."""
    return tiny_llama("tiny_draft", 6, 0.12), tiny_llama("tiny_target", 6)
