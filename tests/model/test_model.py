"""specdec.model on a tiny random model, and on the shipped pair where its weights matter."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tiny_model import TINY, random_tensors, write_model

from specdec.fused import fuse
from specdec.model import (
    MODELS,
    causal_rows,
    full_lm_forward,
    load_model,
    rotary_angles,
    rotate,
    shipped_models,
)

RNG = np.random.default_rng(20)
TEXT = RNG.integers(0, 704, size=(1, 40))


def by_the_definition(token_ids, tensors, config):
    """Logits with loops and scalars, from the papers' formulas; shares no code with specdec."""
    eps, head_dim = config["rms_norm_eps"], config["head_dim"]
    group = config["num_attention_heads"] // config["num_key_value_heads"]

    def get(name):
        return tensors[name].astype(np.float64)

    def norm(row, weight):
        return row / (sum(v * v for v in row) / len(row) + eps) ** 0.5 * weight

    def turned(vector, position):
        half = head_dim // 2
        pairs = [complex(vector[i], vector[i + half]) for i in range(half)]
        turns = [np.exp(1j * position * 10000.0 ** (-2 * i / head_dim)) for i in range(half)]
        done = [pair * turn for pair, turn in zip(pairs, turns, strict=True)]
        return np.array([z.real for z in done] + [z.imag for z in done])

    rows = [get("model.embed_tokens.weight")[i] for i in token_ids]
    for number in range(config["num_hidden_layers"]):
        at = f"model.layers.{number}."
        wq, wk, wv, wo = (get(at + f"self_attn.{n}_proj.weight") for n in "qkvo")
        normed = [norm(row, get(at + "input_layernorm.weight")) for row in rows]
        for t in reversed(range(len(rows))):
            heads = []
            for head in range(config["num_attention_heads"]):
                q = slice(head * head_dim, (head + 1) * head_dim)
                kv = slice(head // group * head_dim, (head // group + 1) * head_dim)
                query = turned((wq @ normed[t])[q], t)
                keys = [turned((wk @ normed[s])[kv], s) for s in range(t + 1)]
                powers = np.exp([query @ key / head_dim**0.5 for key in keys])
                values = [(wv @ normed[s])[kv] for s in range(t + 1)]
                heads.append(sum(w * v for w, v in zip(powers / powers.sum(), values, strict=True)))
            rows[t] = rows[t] + wo @ np.concatenate(heads)
        for t, row in enumerate(rows):
            h = norm(row, get(at + "post_attention_layernorm.weight"))
            gate = get(at + "mlp.gate_proj.weight") @ h
            inner = gate / (1 + np.exp(-gate)) * (get(at + "mlp.up_proj.weight") @ h)
            rows[t] = row + get(at + "mlp.down_proj.weight") @ inner
    head = get("model.embed_tokens.weight")
    return np.array([head @ norm(row, get("model.norm.weight")) for row in rows])


def test_equals_the_definition(tiny, tiny_folder):
    tensors = load_file(tiny_folder / "model.safetensors")
    wanted = by_the_definition(TEXT[0, :12], tensors, TINY)
    assert np.ptp(wanted) > 1  # logits that differ enough to tell models apart
    np.testing.assert_allclose(tiny(TEXT[:, :12])[0], wanted, rtol=0, atol=1e-10)


@pytest.mark.parametrize("sizes", [[40], [1] * 40, [5, 1, 30, 4], [39, 1], [1, 39], [7] * 5 + [5]])
def test_cached_equals_uncached(tiny, sizes):
    cache, parts, start = tiny.new_cache(), [], 0
    for size in sizes:
        parts.append(tiny(TEXT[:, start : start + size], cache))
        start += size
        assert len(cache) == start
    np.testing.assert_allclose(np.concatenate(parts, axis=1), tiny(TEXT), rtol=0, atol=1e-10)


@pytest.mark.parametrize("sizes", [[40], [1] * 40, [5, 1, 30, 4]])
def test_the_fused_model_is_the_same_model(tiny, sizes):
    fused = fuse(tiny)
    cache, parts, start = fused.new_cache(), [], 0
    for size in sizes:
        parts.append(fused(TEXT[:, start : start + size], cache))
        start += size
    np.testing.assert_allclose(np.concatenate(parts, axis=1), tiny(TEXT), rtol=0, atol=1e-10)
    np.testing.assert_allclose(fused(TEXT), tiny(TEXT), rtol=0, atol=1e-10)


def test_cropped_cache_forgets(tiny):
    cache = tiny.new_cache()
    tiny(TEXT[:, :20], cache)
    tiny(RNG.integers(0, 704, size=(1, 9)), cache)
    cache.crop(20)
    after = tiny(TEXT[:, 20:], cache)
    np.testing.assert_allclose(after, tiny(TEXT)[:, 20:], rtol=0, atol=1e-10)


@pytest.mark.parametrize("length", [-1, 21])
def test_crop_outside(tiny, length):
    cache = tiny.new_cache()
    tiny(TEXT[:, :20], cache)
    with pytest.raises(ValueError, match=f"holds 20 positions; cannot crop to {length}"):
        cache.crop(length)


def test_any_cache_with_the_two_methods_will_do(tiny):
    class Joining:
        def __init__(self):
            self.layers = {}

        def __len__(self):
            last = self.layers.get(TINY["num_hidden_layers"] - 1)
            return 0 if last is None else last[0].shape[1]

        def append(self, layer, keys, values):
            if layer in self.layers:
                keys = np.concatenate((self.layers[layer][0], keys), axis=1)
                values = np.concatenate((self.layers[layer][1], values), axis=1)
            self.layers[layer] = keys, values
            return keys, values

    cache = Joining()
    parts = [tiny(TEXT[:, :30], cache), tiny(TEXT[:, 30:], cache)]
    np.testing.assert_allclose(np.concatenate(parts, axis=1), tiny(TEXT), rtol=0, atol=1e-10)


@pytest.mark.parametrize("position", [0, 17, 39])
def test_a_token_changes_no_earlier_row(tiny, position):
    changed = TEXT.copy()
    changed[0, position] = (changed[0, position] + 1) % 704
    before, after = tiny(TEXT)[0], tiny(changed)[0]
    np.testing.assert_array_equal(before[:position], after[:position])
    assert (np.abs(before[position:] - after[position:]).max(axis=1) > 1e-6).all()


def test_order_matters(tiny):
    """Without positions, the last row would not notice that earlier tokens changed places."""
    swapped = TEXT.copy()
    swapped[0, [3, 20]] = swapped[0, [20, 3]]
    assert np.abs(tiny(TEXT)[0, -1] - tiny(swapped)[0, -1]).max() > 1e-3


def test_rotation_depends_on_distance_only():
    query, key = RNG.normal(size=(2, 1, 1, 8))

    def product(at_query, at_key):
        a = rotate(query, *rotary_angles([at_query], 8, 10000.0, np.float64))
        b = rotate(key, *rotary_angles([at_key], 8, 10000.0, np.float64))
        return (a * b).sum()

    assert product(7, 3) == pytest.approx(product(504, 500), abs=1e-12)
    assert abs(product(7, 3) - product(3, 7)) > 1e-3
    assert product(0, 0) == pytest.approx((query * key).sum(), abs=1e-12)


def test_full_forward_with_the_causal_mask_is_the_model(tiny):
    mask = np.tril(np.ones((40, 40), dtype=bool))
    np.testing.assert_array_equal(full_lm_forward(TEXT, tiny.params, mask), tiny(TEXT))
    np.testing.assert_array_equal(causal_rows(0, 40), mask)
    np.testing.assert_array_equal(causal_rows(30, 10), mask[30:])


def test_full_forward_without_a_mask_looks_ahead(tiny):
    seen = full_lm_forward(TEXT, tiny.params, None)
    assert np.abs(seen - tiny(TEXT))[0, 0].max() > 1e-3
    np.testing.assert_array_equal(seen, full_lm_forward(TEXT, tiny.params, np.ones((40, 40), bool)))


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (np.ones((3, 3), bool), r"boolean with shape \(40, 40\), got bool with shape \(3, 3\)"),
        (np.ones((40, 40)), "got float64"),
        (np.zeros((40, 40), bool), "Each row of the mask"),
    ],
)
def test_wrong_mask(tiny, mask, words):
    with pytest.raises(ValueError, match=words):
        full_lm_forward(TEXT, tiny.params, mask)


@pytest.mark.parametrize(
    ("token_ids", "words"),
    [
        ([1, 2, 3], r"shape \(1, T\) with T of 1 or more, got \(3,\)"),
        ([[1], [2]], r"got \(2, 1\)"),
        ([[]], r"got \(1, 0\)"),
        ([[1.0, 2.0]], "whole numbers, got float64"),
        ([[704]], "must lie in 0 to 703"),
        ([[-1]], "must lie in 0 to 703"),
        ([[0] * 65], "65 tokens are more than the model's context of 64; use a shorter prompt"),
    ],
)
def test_wrong_token_ids(tiny, token_ids, words):
    with pytest.raises(ValueError, match=words):
        tiny(token_ids)


def test_the_context_counts_what_is_cached(tiny):
    cache = tiny.new_cache()
    tiny(TEXT, cache)
    with pytest.raises(ValueError, match="65 tokens are more than the model's context of 64"):
        tiny(TEXT[:, :25], cache)
    assert len(cache) == 40
    assert tiny(TEXT[:, :24], cache).shape == (1, 24, 704)


def test_float32_stays_float32_and_close(tiny, tiny_folder):
    single = load_model(tiny_folder)
    logits = single(TEXT)
    assert (logits.dtype, tiny(TEXT).dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(logits, tiny(TEXT), rtol=0, atol=1e-3)


def test_large_numbers_give_no_warning(tmp_path):
    folder = write_model(tmp_path / "large")
    tensors = load_file(folder / "model.safetensors")
    save_file({name: 100 * value for name, value in tensors.items()}, folder / "model.safetensors")
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(load_model(folder)(TEXT)).all()


def test_weights_cannot_be_changed(tiny):
    for array in (tiny.params.embedding, tiny.params.layers[0].query):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


def test_unknown_model():
    with pytest.raises(
        FileNotFoundError, match=r"no model 'gpt-5'.*draft, draft_distilled, target"
    ):
        load_model("gpt-5")


def test_wrong_dtype(tiny_folder):
    with pytest.raises(ValueError, match=r"np\.float32 or np\.float64"):
        load_model(tiny_folder, np.float16)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model_type": "gpt2"}, "not a Llama model"),
        ({"tie_word_embeddings": False}, "tied embeddings"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "scales its rotary positions"),
        ({"num_hidden_layers": 9}, r"lacks the weights 'model\.layers\.3"),
    ],
)
def test_model_that_this_code_cannot_compute(tmp_path, tiny_folder, change, words):
    folder = shutil.copytree(tiny_folder, tmp_path / "other")
    (folder / "config.json").write_text(json.dumps(TINY | change), encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        load_model(folder)


def test_random_tensors_are_reproducible(tiny_folder):
    tensors = load_file(tiny_folder / "model.safetensors")
    for name, value in random_tensors(TINY, 1).items():
        np.testing.assert_array_equal(tensors[name], value)


def test_shipped_models():
    assert shipped_models() == ["draft", "draft_distilled", "target"]
    files = [path for path in MODELS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 20e6
    tokenizers = {(MODELS / name / "tokenizer.json").read_bytes() for name in shipped_models()}
    assert len(tokenizers) == 1
    target = load_model("target")
    assert target.config.vocab_size == target.tokenizer.vocab_size
    assert 8e6 < target.size < 9e6
    assert load_model("draft").size < target.size / 25


MEMORY = """
import numpy as np
import psutil
from specdec.model import load_model
pair = load_model("target"), load_model("draft_distilled")
text = np.array([pair[0].tokenizer.encode("It is a truth universally acknowledged")])
for model in pair:
    model(text, model.new_cache())
print(psutil.Process().memory_info().rss / 1024**2)
"""


def test_memory_of_a_process_with_the_pair():
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 400


def test_one_blas_thread_unless_the_user_chose():
    code = "import os, specdec; print(os.environ['OPENBLAS_NUM_THREADS'])"
    for given, wanted in ({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3"):
        without = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=without | given,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == wanted
