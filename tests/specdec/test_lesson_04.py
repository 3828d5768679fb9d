"""Lesson 4: the worked functions, its toy models, its buggy programs and its measurements."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec import cache_bugs
from specdec.cached_toys import (
    NUMBERS,
    TokenModel,
    cat_pair,
    number_pair,
    tiny_pair,
)
from specdec.checks import lesson_04 as checks
from specdec.checks.core import CheckFailed, NotWrittenYet
from specdec.fused import fuse
from specdec.reference.lesson_04 import (
    KVCache,
    acceptance_by_position,
    catch_up,
    cut_at_eos,
    speculative_generate_cached,
)
from specdec.sampling import WORDS
from specdec.toys import CAT_TEXT
from specdec.trained import decoding


def greedy(model, prompt, n_tokens):
    """Plain decoding by passes over the whole text."""
    tokens = list(prompt)
    for _ in range(n_tokens):
        tokens.append(int(model(np.array([tokens]))[0, -1].argmax()))
    return tokens[len(prompt) :]


def layers_of(model):
    return 1 if isinstance(model, TokenModel) else model.config.layers


def generate(pair, prompt, n_tokens, k, eos=None):
    """The worked generator with the worked cache; also returns both caches."""
    draft, target = pair
    caches = KVCache(layers_of(draft)), KVCache(layers_of(target))
    return (*speculative_generate_cached(draft, target, *caches, prompt, n_tokens, k, eos), *caches)


class Noting(KVCache):
    """A cache that notes (length before, length after) of each crop."""

    def __init__(self, num_layers):
        super().__init__(num_layers)
        self.crops = []

    def crop(self, length):
        self.crops.append((len(self), length))
        super().crop(length)


def test_the_cats_caches_have_the_lengths_of_the_lesson():
    draft, target = cat_pair()
    draft_cache, target_cache = Noting(1), Noting(1)
    tokens, accepted = speculative_generate_cached(
        draft, target, draft_cache, target_cache, [0], 12, 3
    )
    assert len(tokens) == 12
    assert accepted == [3, 0, 2, 3]
    assert [after for _, after in target_cache.crops] == [4, 5, 8, 12]
    assert [before - after for before, after in target_cache.crops] == [0, 3, 1, 0]
    assert [after for _, after in draft_cache.crops] == [3, 5, 8, 11]
    assert [before - after for before, after in draft_cache.crops] == [0, 2, 0, 0]


def test_the_cat_writes_its_story():
    tokens, *_ = generate(cat_pair(), [0], 12, 3)
    assert [WORDS[i] for i in tokens] == CAT_TEXT


@settings(max_examples=60, deadline=None)
@given(
    pair=st.sampled_from([number_pair, tiny_pair]),
    prompt=st.lists(st.integers(0, 11), min_size=1, max_size=4),
    n_tokens=st.integers(0, 14),
    k=st.integers(0, 5),
    eos=st.none() | st.integers(0, 11),
)
def test_the_text_is_the_targets_and_the_caches_hold_it(pair, prompt, n_tokens, k, eos):
    draft, target = pair()
    tokens, accepted, draft_cache, target_cache = generate(
        (draft, target), prompt, n_tokens, k, eos
    )
    wanted = cut_at_eos(greedy(target, prompt, n_tokens), eos, n_tokens)
    assert tokens == wanted
    if not accepted:
        return
    text = prompt + tokens
    assert len(target_cache) == len(text) - 1
    assert len(draft_cache) <= len(text) - 1
    for model, cache in ((target, target_cache), (draft, draft_cache)):
        if not len(cache):
            continue
        fresh = KVCache(layers_of(model))
        model(np.array([text[: len(cache)]]), fresh)
        for held, new in zip(cache.keys + cache.values, fresh.keys + fresh.values, strict=True):
            assert np.abs(held - new).max() < 1e-10


@pytest.mark.parametrize("pair", [number_pair, tiny_pair, cat_pair])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_draft_equal_to_the_target_is_always_accepted(pair, k):
    _, target = pair()
    _, accepted, *_ = generate((target, target), [3, 1], 12, k)
    assert acceptance_by_position(accepted, k) == [1.0] * k


def test_cached_logits_equal_uncached_ones_after_a_rollback_too():
    _, target = tiny_pair()
    cache = KVCache(target.config.layers)
    target(np.array([[3, 1, 4, 1, 5]]), cache)
    cache.crop(2)
    got = target(np.array([[9, 2, 6]]), cache)
    assert np.abs(got - target(np.array([[3, 1, 9, 2, 6]]))[:, 2:]).max() < 1e-10


def test_a_crop_out_of_range_changes_nothing():
    cache = KVCache(1)
    cache.append(0, np.ones((2, 3, 4)), np.ones((2, 3, 4)))
    for length in (-1, 4):
        with pytest.raises(ValueError, match="3 positions"):
            cache.crop(length)
    assert len(cache) == 3


def test_catch_up_refuses_a_cache_that_lacks_nothing():
    _, target = number_pair()
    cache = target.new_cache()
    catch_up(target, cache, [1, 2])
    for text in ([1, 2], [1]):
        with pytest.raises(ValueError, match="the cache holds 2 tokens"):
            catch_up(target, cache, text)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1, 0), (1, 1, 1)])
def test_toy_models_take_a_batch_of_one_text_only(shape):
    _, target = number_pair()
    with pytest.raises(ValueError, match="shape"):
        target(np.zeros(shape, int))


# --- the buggy programs ------------------------------------------------------------------------


def run_program(program, pair=None, starts=range(12), n_tokens=40, k=5):
    """(texts equal to plain greedy ones, accepted counts after full rounds, after others)."""
    draft, target = pair or number_pair()
    same, after_full, after_rejection = [], [], []
    for first in starts:
        prompt = [first, (7 * first + 3) % NUMBERS]
        tokens, accepted = cache_bugs.generate_by_counting(
            draft, target, prompt, n_tokens, k, program
        )
        same.append(tokens == greedy(target, prompt, n_tokens))
        for before, count in itertools.pairwise(accepted):
            (after_full if before == k else after_rejection).append(count)
    return same, after_full, after_rejection


def first_place(counts):
    return acceptance_by_position(counts, 1)[0]


def test_the_right_program_is_right_and_steady():
    same, after_full, after_rejection = run_program(cache_bugs.roll_back)
    assert all(same)
    assert first_place(after_full) > 0.6
    assert first_place(after_rejection) > 0.6


@pytest.mark.parametrize(
    ("program", "text_right", "sound_after_full", "sound_after_rejection"),
    [
        (cache_bugs.program_1, True, False, True),
        (cache_bugs.program_2, False, True, False),
        (cache_bugs.program_3, True, False, False),
        (cache_bugs.program_4, True, True, False),
        (cache_bugs.keep_draft_as_it_is, True, True, False),
    ],
)
def test_each_wrong_program_has_its_own_signs(
    program, text_right, sound_after_full, sound_after_rejection
):
    same, after_full, after_rejection = run_program(program, starts=range(31), n_tokens=60)
    assert all(same) if text_right else not any(same)
    assert (first_place(after_full) > 0.4) == sound_after_full
    assert (first_place(after_rejection) > 0.4) == sound_after_rejection


def test_a_perfect_draft_exposes_two_of_the_four():
    _, target = number_pair()
    exposed = []
    for program in decoding.PROGRAMS.values():
        _, after_full, after_rejection = run_program(program, pair=(target, target))
        exposed.append(min(after_full + after_rejection) < 5)
    assert exposed == [False, True, False, True, False]


def test_the_panels_use_the_learners_function(capsys):
    asked = []

    def shares(accepted, k):
        asked.append(k)
        return acceptance_by_position(accepted, k)

    panels = decoding.program_panels(shares, n_tokens=20)
    assert asked == [5] * 10
    assert [title.split("\n")[1][5:10] for title, *_ in panels] == [
        "right", "right", "WRONG", "right", "right"
    ]  # fmt: skip
    assert "program 2  text WRONG" in capsys.readouterr().out


# --- measurements ------------------------------------------------------------------------------


def test_acceptance_of_a_result_counts_tested_guesses():
    result = decoding.Result("plain draft", 3, accepted=[3, 0, 2, 3])
    assert result.acceptance == 8 / 10
    assert result.mean_acceptance_length == 3.0


def test_steps_go_from_the_formula_to_the_clock():
    plain = decoding.Result("", 0, seconds=12.0)
    result = decoding.Result("d", 3, seconds=6.0, tokens=12, accepted=[3, 0, 2, 3])
    found = decoding.steps(result, plain, {1: 1.0, 4: 2.0}, draft_seconds=0.1)
    assert found.simple == pytest.approx(2.952 / 1.3)
    assert found.with_pass_cost == pytest.approx(2.952 / 2.3)
    assert found.with_counted_tokens == pytest.approx(3 / 2.3)
    assert found.measured == 2.0
    assert sum(found.changes) == pytest.approx(found.measured - found.simple)


def test_the_race_compares_the_same_texts(capsys):
    draft, target = tiny_pair()
    results = decoding.race(
        speculative_generate_cached, target, {"tiny": draft}, [[3, 1], [7]], 8, (1, 2)
    )
    assert [(r.draft, r.k) for r in results] == [("", 0), ("tiny", 1), ("tiny", 2)]
    assert all(r.texts == results[0].texts and r.tokens == 16 for r in results)
    seconds = {1: 1.0, 2: 1.5, 3: 1.6}
    decoding.print_race(results, seconds, 0.1)
    found = decoding.steps(results[2], results[0], seconds, 0.1)
    decoding.explain(found, results[2], results[0], seconds)
    said = capsys.readouterr().out
    assert said.count("yes") == 2
    assert "a pass of 3 rows costs 1.60 passes of one" in said


@pytest.mark.parametrize(("seconds", "disagrees"), [(6.0, False), (4.1, False), (3.9, True)])
def test_a_clock_faster_than_the_prices_allow_is_called_a_disagreement(seconds, disagrees, capsys):
    plain = decoding.Result("", 0, seconds=4 * 3 / 2.3)
    result = decoding.Result("d", 3, seconds=seconds, tokens=12, accepted=[3, 0, 2, 3])
    costs = {1: 1.0, 4: 2.0}
    decoding.explain(decoding.steps(result, plain, costs, 0.1), result, plain, costs)
    said = capsys.readouterr().out
    assert ("the timings disagree; run again when the machine is quieter" in said) == disagrees
    assert ("the rest: prompts" in said) != disagrees


def test_an_empty_race_says_what_is_missing():
    with pytest.raises(NotImplementedError, match="speculative_generate_cached"):
        decoding.find([], "plain draft", 3)


def test_a_cache_costs_keys_and_values_of_each_layer():
    _, target = tiny_pair()
    assert decoding.cache_bytes_per_token(target.config) == 2 * 2 * 2 * 4 * 4


def test_the_recorded_run_has_what_the_lesson_shows(capsys):
    run = decoding.recorded()
    assert sorted(run["pass_costs"]) == list(range(1, 10))
    shown = [row for row in run["rows"] if row["code"] != "transformers"]
    assert {row["draft"] for row in shown} == {"", *decoding.DRAFTS}
    assert all(row["same_text"] == run["prompts"] for row in shown)
    assert all(
        {"acceptance", "simple", "with_pass_cost", "ratio"} <= set(row) for row in shown if row["k"]
    )
    decoding.print_recorded()
    assert "best without a draft" in capsys.readouterr().out


def test_fused_matrices_give_the_same_logits():
    _, target = tiny_pair()
    fused = fuse(target)
    ids = np.array([[3, 1, 4, 1, 5]])
    assert np.abs(fused(ids) - target(ids)).max() < 1e-12
    cache, other = fused.new_cache(), target.new_cache()
    for piece in (ids[:, :3], ids[:, 3:4], ids[:, 4:]):
        assert np.abs(fused(piece, cache) - target(piece, other)).max() < 1e-12


# --- the checks --------------------------------------------------------------------------------


def test_an_unwritten_answer_is_no_mistake():
    class Unwritten:
        def __init__(self, layers):
            pass

        def __len__(self):
            raise NotImplementedError("KVCache is not written yet")

    with pytest.raises(NotWrittenYet, match="✎ KVCache is not written yet"):
        checks.check_kv_cache(Unwritten)


def test_every_known_cache_mistake_is_told_apart():
    for cause, wrong in checks.CACHE_MISTAKES:
        said = []
        for check in (checks.check_kv_cache, checks.check_kv_cache_crop):
            checks._Shared.stored = {}
            try:
                check(wrong)
            except CheckFailed as failed:
                said.append(str(failed))
        assert said, cause
        assert any(f"Likely cause: {cause}" in text for text in said), (cause, said)


def test_an_endless_generator_is_stopped_by_a_sentence():
    def endless(draft, target, draft_cache, target_cache, prompt, n_tokens, k, eos=None):
        while True:
            target(np.array([prompt]), target_cache)
            target_cache.crop(0)

    with pytest.raises(CheckFailed, match="far more than the text needs"):
        checks.check_speculative_generate_cached(endless)


CALLER = """
def generate(draft, target, draft_cache, target_cache, prompt, n_tokens, k, eos=None):
    return catch_up(target, target_cache, prompt), []
"""


def test_a_broken_helper_is_named_first():
    def with_batch_axis(model, cache, token_ids):
        return model(np.array([token_ids[len(cache) :]]), cache)

    names = {"catch_up": with_batch_axis}
    exec(CALLER, names)
    with pytest.raises(CheckFailed, match="First repair catch_up: it fails its own check"):
        checks.check_speculative_generate_cached(
            names["generate"], {"catch_up": with_batch_axis, "cut_at_eos": cut_at_eos}
        )
