"""Lesson 2: rule models and their passes, traces, and what the checks say."""

import numpy as np
import pytest

from specdec import bugs
from specdec.checks import CheckFailed, NotWrittenYet
from specdec.checks import lesson_02 as checks
from specdec.model import MODELS, causal_rows, full_lm_forward, load_model
from specdec.passes import CAT_WORDS, Pass, RuleModel, cat_pair, ids_of, seven_pair, words_of
from specdec.reference import lesson_02 as reference
from specdec.toys import CAT_TEXT, seven_draft, seven_target
from specdec.trace import OutOfBudget
from specdec.trained.traces import PromptError, ledger_line, passes_of, record_trace

TRAINED = (MODELS / "target" / "model.safetensors").exists()
needs_weights = pytest.mark.skipif(not TRAINED, reason="trained weights: not in this checkout")
HELPERS = (reference.greedy_decode, reference.build_causal_mask)


def message(check, *args, **keywords) -> str:
    with pytest.raises(CheckFailed) as failed:
        check(*args, **keywords)
    return str(failed.value)


# --- rule models -------------------------------------------------------------------------------


def test_each_row_answers_about_what_it_may_see():
    _, target = cat_pair()
    ids = ids_of("the cat sat on the cat sat on")
    logits = full_lm_forward(ids, target, causal_rows(0, 8))
    assert logits.shape == (1, 8, len(CAT_WORDS))
    assert words_of(logits.argmax(-1)) == "cat sat on the mat sat on the"
    assert words_of(full_lm_forward(ids, target, None).argmax(-1)) == " ".join(["the"] * 8)


def test_the_last_token_moves_no_row_before_it():
    _, target = seven_pair()
    rng = np.random.default_rng(3)
    for length in range(2, 12):
        ids = rng.integers(0, 7, (1, length))
        changed = ids.copy()
        changed[0, -1] = (ids[0, -1] + 1) % 7
        mask = causal_rows(0, length)
        moved = full_lm_forward(ids, target, mask) - full_lm_forward(changed, target, mask)
        assert np.abs(moved[0, :-1]).max() == 0.0
        assert np.abs(moved[0, -1]).max() > 0


def test_a_model_writes_its_passes_down():
    _, target = seven_pair()
    full_lm_forward(np.array([[3]]), target, None)
    full_lm_forward(np.array([[3, 0]]), target, None)
    full_lm_forward([[3, 0]], target, [[True, False], [True, True]])
    full_lm_forward([[3, 0]], target, np.ones((2, 2), bool))
    assert target.passes == [
        Pass((3,), "causal"),  # one token sees itself either way
        Pass((3, 0), "none"),
        Pass((3, 0), "causal"),
        Pass((3, 0), "other"),
    ]


@pytest.mark.parametrize(
    ("ids", "mask", "sentence"),
    [
        ([3, 0], None, r"shape \(1, T\)"),
        ([[3.0, 0.0]], None, "whole numbers"),
        ([[7]], None, "0 to 6"),
        ([[3, 0]], np.ones((2, 2)), "boolean"),
        ([[3, 0]], np.ones((3, 3), bool), r"shape \(2, 2\)"),
        ([[3, 0]], np.zeros((2, 2), bool), "at least one position"),
        ([[0] * 65], None, "context of 64"),
    ],
)
def test_a_rule_model_refuses_what_the_real_one_refuses(ids, mask, sentence):
    with pytest.raises(ValueError, match=sentence):
        full_lm_forward(np.array(ids), seven_pair()[1], mask)


def test_a_model_gives_up_after_its_budget():
    model = RuleModel(seven_target, 7, budget=2)
    for _ in range(2):
        full_lm_forward([[1]], model, None)
    with pytest.raises(OutOfBudget, match="seven_target made 3 passes"):
        full_lm_forward([[1]], model, None)


# --- the worked functions ------------------------------------------------------------------------


def test_the_cat_takes_four_passes_and_saves_eight():
    draft, target = cat_pair()
    ids, accepted = reference.speculative_decode(ids_of("the"), draft, target, 12, 3)
    assert words_of(ids).split() == ["the", *CAT_TEXT]
    assert accepted == [3, 0, 2, 3]
    assert [len(one.token_ids) for one in target.passes] == [4, 8, 9, 12]
    assert reference.passes_saved(12, accepted) == 8


def by_two(table):
    """A rule on six ids that looks at the last two."""
    return lambda ids: int(table[ids[-1], ids[-2] if len(ids) > 1 else 0])


def test_speculative_equals_greedy_on_random_rules():
    rng = np.random.default_rng(5)
    for _ in range(60):
        table = rng.integers(0, 6, (6, 6))
        right = rng.random((6, 6)) < 0.7
        other = np.where(right, table, rng.integers(0, 6, (6, 6)))
        text = rng.integers(0, 6, (1, rng.integers(1, 5)))
        n, k = int(rng.integers(0, 15)), int(rng.integers(0, 6))
        draft, target = RuleModel(by_two(other), 6), RuleModel(by_two(table), 6)
        ids, accepted = reference.speculative_decode(text, draft, target, n, k)
        plain = reference.greedy_decode(text, RuleModel(by_two(table), 6), n)
        assert np.array_equal(ids, plain)
        assert len(target.passes) == len(accepted)
        assert all(0 <= count <= k for count in accepted)


@pytest.mark.parametrize(("n", "saved"), [(12, 8), (11, 7), (10, 6), (9, 5)])
def test_passes_saved_counts_what_a_cut_leaves(n, saved):
    draft, target = cat_pair()
    _, accepted = reference.speculative_decode(ids_of("the"), draft, target, n, 3)
    assert reference.passes_saved(n, accepted) == saved == n - len(target.passes)


# --- the checks ----------------------------------------------------------------------------------


def test_the_checks_cost_few_calls(monkeypatch):
    """Each pass crosses from the learner's process to the grader's."""
    passes = []

    class Counted(RuleModel):
        def __call__(self, token_ids, mask):
            passes.append(mask)
            return super().__call__(token_ids, mask)

    monkeypatch.setattr(checks, "RuleModel", Counted)
    step = reference.speculative_decode_step
    for check, function, helpers in [
        (checks.check_greedy_decode, reference.greedy_decode, HELPERS[1:]),
        (checks.check_speculative_decode_step, step, HELPERS),
        (checks.check_speculative_decode_step_pass, step, HELPERS),
        (checks.check_speculative_decode, reference.speculative_decode, (step,)),
    ]:
        passes.clear()
        check(function, *helpers)
        assert 10 < len(passes) < 150, check.__name__


def test_an_unwritten_function_is_not_called_wrong():
    def stub(*_):
        raise NotImplementedError("it is not written yet")

    for check in (
        checks.check_build_causal_mask,
        checks.check_greedy_decode,
        checks.check_speculative_decode_step,
        checks.check_speculative_decode_step_pass,
        checks.check_speculative_decode_step_edges,
        checks.check_speculative_decode,
        checks.check_speculative_decode_edges,
        checks.check_passes_saved,
    ):
        with pytest.raises(NotWrittenYet, match="is not written yet"):
            check(stub)


def broken_mask(n):
    return np.ones((n, n), bool)


def test_an_earlier_mistake_is_named_first():
    namespace = {**vars(reference), "build_causal_mask": broken_mask}

    def rebuilt(function):
        code = function.__code__
        return type(function)(code, namespace, function.__name__)

    greedy, step = rebuilt(reference.greedy_decode), rebuilt(reference.speculative_decode_step)
    namespace["greedy_decode"] = greedy
    said = message(checks.check_greedy_decode, greedy, broken_mask)
    assert "First repair build_causal_mask" in said
    said = message(checks.check_speculative_decode_step, step, greedy, broken_mask)
    assert "First repair build_causal_mask" in said

    namespace["build_causal_mask"] = reference.build_causal_mask
    namespace["greedy_decode"] = short = lambda ids, model, n: ids
    said = message(checks.check_speculative_decode_step, step, short, reference.build_causal_mask)
    assert "First repair greedy_decode" in said

    decode = rebuilt(reference.speculative_decode)
    namespace["speculative_decode_step"] = lambda ids, *_: (np.append(ids, [[0]], axis=1), 0)
    said = message(checks.check_speculative_decode, decode, namespace["speculative_decode_step"])
    assert "First repair speculative_decode_step" in said


def test_a_target_pass_for_each_guess_is_named():
    def per_token(token_ids, draft, target, k):
        drafted = reference.greedy_decode(token_ids, draft, k)
        length, accepted = token_ids.shape[1], 0
        while True:
            text = drafted[:, : length + accepted]
            answer = reference.greedy_decode(text, target, 1)
            if accepted == k or answer[0, -1] != drafted[0, length + accepted]:
                return answer, accepted
            accepted += 1

    checks.check_speculative_decode_step(per_token, *HELPERS)  # what comes out is right
    said = message(checks.check_speculative_decode_step_pass, per_token, *HELPERS)
    assert "took      4 passes of the target, over 1, 2, 3, 4 tokens" in said
    assert "The target ran once for each drafted token" in said


def test_an_unknown_mistake_gets_facts_only():
    def odd(token_ids, draft, target, k):
        ids, count = reference.speculative_decode_step(token_ids, draft, target, k)
        return (ids, count) if k < 4 else (ids[:, ::-1], count)

    said = message(checks.check_speculative_decode_step, odd, *HELPERS)
    assert "returned" in said
    assert "wanted" in said
    assert "Likely cause" not in said


def test_every_known_mistake_is_wrong_and_unlike_the_others():
    banks = [
        (checks.GREEDY_MISTAKES, [(p.target, t, n) for p, t, n in checks.GREEDY_CASES]),
        (checks.STEP_MISTAKES, checks.STEP_CASES),
        (checks.DECODE_MISTAKES, checks.DECODE_CASES + checks.DECODE_EDGES),
    ]
    for mistakes, cases in banks:
        seen = {}
        for mistake in mistakes:
            results = repr([outcome_of(mistake.does, case) for case in cases])
            assert results not in seen, (mistake.cause, seen.get(results))
            seen[results] = mistake.cause


def outcome_of(function, args):
    try:
        return function(*args)
    except Exception as error:
        return type(error).__name__


def test_the_bugs_are_wrong_where_the_lesson_says_so():
    assert bugs.answer_late([1, 2, 3], [1, 2, 3, 4]) == [1, 2, 3, 4]
    assert bugs.answer_late([4, 5, 6], [4, 8, 6, 9]) == [4, 6]
    drafted = ids_of("the cat sat on the cat sat on")
    assert words_of(bugs.judge_unmasked(drafted, cat_pair()[1], 3)) == "the the the the"


# --- traces --------------------------------------------------------------------------------------


def trace_of(pair, text, n):
    """Tokens and guesses as record_trace finds them, from rules on ids."""
    tokens = checks.greedy(pair.target, text, n)[len(text) :]
    guesses = [checks.greedy(pair.draft, [*text, *tokens[:place]], 8)[-8:] for place in range(n)]
    return tokens, guesses


@pytest.mark.parametrize("k", range(9))
def test_the_passes_of_a_trace_are_those_of_the_decoder(k):
    for pair, text, n in [(checks.CAT, [0], 12), (checks.SEVEN, [1], 11), (checks.BANANA, [0], 7)]:
        tokens, guesses = trace_of(pair, text, n)
        passes = passes_of(tokens, guesses, k)
        draft, target = (RuleModel(rule, pair.vocab_size) for rule in (pair.draft, pair.target))
        _, accepted = reference.speculative_decode(np.array([text]), draft, target, n, k)
        assert [token for one in passes for token in one["emitted"]] == tokens
        assert len(passes) == len(accepted)
        assert [one["accepted"] for one in passes[:-1]] == accepted[:-1]
        assert all(len(one["emitted"]) == one["accepted"] + 1 for one in passes)


def test_the_ledger_line_of_the_cat():
    assert ledger_line(passes_of(*trace_of(checks.CAT, [0], 12), 3)) == (
        "rounds 4 · drafted 12 · accepted 8 · emitted 12"
    )


@needs_weights
def test_a_recorded_trace_is_the_decoders_own_text():
    target, draft = load_model("target"), load_model("draft")
    trace = record_trace("The captain came", target, {"draft": draft}, num_tokens=6)
    ids = np.array([target.tokenizer.encode("The captain came")])
    text = reference.greedy_decode(ids, target, 6)[0, ids.shape[1] :]
    pieces = [trace["pieces"][place] for place in trace["tokens"]]
    assert pieces == [target.tokenizer.decode([token]) for token in text]
    first = reference.greedy_decode(ids, draft, 8)[0, ids.shape[1] :]
    guesses = [trace["pieces"][place] for place in trace["drafts"]["draft"][0]]
    assert guesses == [target.tokenizer.decode([token]) for token in first]
    assert [len(row) for row in trace["drafts"]["draft"]] == [8] * 6


@needs_weights
@pytest.mark.parametrize(
    ("prompt", "sentence"),
    [("  ", "Type a few words first"), ("no " * 500, r"has \d+ tokens. The model reads 512")],
)
def test_a_prompt_that_cannot_be_continued_says_why(prompt, sentence):
    target = load_model("target")
    with pytest.raises(PromptError, match=sentence):
        record_trace(prompt, target, {})


# --- the trained pair ----------------------------------------------------------------------------


@needs_weights
def test_the_mask_keeps_every_earlier_row_of_the_trained_target():
    target = load_model("target", np.float64)
    ids = np.array([target.tokenizer.encode("She had no difficulty in")])
    changed = ids.copy()
    changed[0, -1] += 1
    mask = reference.build_causal_mask(ids.shape[1])
    moved = [
        np.abs(full_lm_forward(ids, target, m) - full_lm_forward(changed, target, m))[0].max(-1)
        for m in (mask, None)
    ]
    assert moved[0][:-1].max() == 0.0
    assert moved[0][-1] > 0
    assert moved[1].min() > 0


@needs_weights
def test_the_pair_prints_what_the_lesson_says(capsys):
    from specdec.trained.one_pass import load_pair

    pair = load_pair()
    pair.show_logits("She had no", reference.build_causal_mask)
    pair.show_moved("She had no", reference.build_causal_mask)
    pair.show_run(reference.speculative_decode, reference.greedy_decode, "She had no", 6, 3)
    said = capsys.readouterr().out
    assert "(1, " in said
    assert "the same tokens as plain decoding: True" in said
    assert "passes of the target: 6 plain" in said
    assert "emitted 6" in said


@needs_weights
def test_pass_times_are_measured_for_every_size():
    from specdec.trained.one_pass import ROWS, recorded_times, time_passes

    times = time_passes(rows=(1, 3), repeats=2)
    assert list(times) == [1, 3]
    assert min(times.values()) > 0
    recorded, name = recorded_times()
    assert tuple(recorded) == ROWS
    assert name


def test_seven_draft_is_wrong_right_after_an_accepted_token():
    """So that a bonus taken from the draft can be told from the target's."""
    assert seven_draft([1]) == seven_target([1]) == 3
    assert seven_draft([1, 3]) != seven_target([1, 3])
