"""Lesson 5: the papers' tables, the ticks and what is played on them, and what the checks say."""

import itertools
import random

import numpy as np
import pytest

from specdec.checks import CheckFailed, NotWrittenYet
from specdec.checks import lesson_05 as checks
from specdec.checks.core import acts_alike, call, is_right
from specdec.costs import (
    arithmetic_per_token,
    batch_verify_cost,
    cost_on,
    fixed,
    one_log,
    paper_table,
    plus_two_minus_one,
    recorded,
    replay,
    traces,
    verdict,
)
from specdec.ledger import play
from specdec.metrics import acceptance_rate_by_output
from specdec.model import load_model
from specdec.reference import lesson_05 as reference
from specdec.reference.lesson_01 import expected_tokens, speculative_generate
from specdec.toys import CAT_TEXT, look_back_target, one_word_draft
from specdec.trained.batches import measure_batches, time_pass
from specdec.worlds import fit_sentence, worlds_of_ticks, worse_by_place

DRAFTS = ("draft", "draft_distilled")


# --- the papers --------------------------------------------------------------------------------


def test_the_papers_tables_are_reproduced(record_property):
    rows = paper_table(reference.speedup)
    verdicts = {where: verdict(*cell) for where, *cell in rows}
    counted = {kind: list(verdicts.values()).count(kind) for kind in ("equal", "inputs", "no")}
    record_property("cells", counted)
    assert counted == {"equal": 23, "inputs": 3, "no": 1}
    assert all(kind == "equal" for where, kind in verdicts.items() if "table 1, a =" in where)
    assert [where for where, kind in verdicts.items() if kind == "inputs"] == [
        "Leviathan, table 2, translation, T5-base, temperature 1: speed",
        "Leviathan, table 2, translation, T5-large, temperature 1: speed",
        "Leviathan, table 2, summary, T5-large, temperature 1: speed",
    ]
    assert verdicts["Chen, table 1, XSum, sampled: speed"] == "no"


@pytest.mark.parametrize(
    ("a", "k", "c", "speed"),
    [(0.8, 8, 0.05, 3.092), (0.9, 10, 0.1, 3.431), (0.3, 3, 0.01, 1.376), (0.95, 31, 0.02, 9.954)],
)
def test_speedups_and_best_k_that_were_worked_out(a, k, c, speed):
    assert reference.speedup(a, k, c) == pytest.approx(speed, abs=6e-4)
    assert reference.optimal_k(a, c, 64) == k


def test_arithmetic_rises_when_passes_fall():
    assert arithmetic_per_token(0.8, 5, 0.05) == pytest.approx(1.694, abs=1e-3)
    assert arithmetic_per_token(1, 4) == 1


def test_the_batch_model():
    assert [batch_verify_cost(b, 4, 150) for b in (1, 30, 60, 150, 600)] == [1, 1, 2, 5, 5]
    speeds = [
        reference.speedup(0.8, 4, 0.05, batch_verify_cost(share * 1000, 4, 1000))
        for share in (0.2, 0.3, 0.5, 0.75, 1)
    ]
    assert speeds == pytest.approx([2.801, 1.977, 1.245, 0.851, 0.646], abs=6e-4)


# --- the worked functions ----------------------------------------------------------------------


def test_the_best_k_is_where_the_next_guess_stops_paying():
    rng = random.Random(1)
    for _ in range(400):
        a, c = rng.random(), rng.random() / 2
        k = 0
        while k < 40 and a ** (k + 1) > c * reference.speedup(a, k, c) + 1e-12:
            k += 1
        assert reference.optimal_k(a, c, 40) == k


def test_break_even_is_where_the_speedup_is_one():
    rng = random.Random(2)
    for _ in range(300):
        k, c, cost = rng.randrange(9), rng.random(), rng.uniform(0.3, 3)
        a = reference.break_even(k, c, cost)
        if a is None:
            assert reference.speedup(1, k, c, cost) < 1
        elif a == 0:
            assert reference.speedup(0, k, c, cost) >= 1
        else:
            assert reference.speedup(a, k, c, cost) == pytest.approx(1, abs=1e-6)


def test_the_cats_ticks_give_the_cats_rounds():
    """The ticks say for every k what the generator of lesson 1 does with the two toy models."""
    words = ["the", *CAT_TEXT]
    ticks = [one_word_draft(words[:i]) == words[i] for i in range(1, len(words))]
    assert ticks == checks.CAT_TICKS
    for k in range(1, 7):
        ledger = play(speculative_generate, one_word_draft, look_back_target, ["the"], 12, k)
        accepted, _drafted = reference.simulate(ticks, k)
        assert accepted == [r.num_accepted_tokens for r in ledger.rounds], k
    assert [len(reference.simulate(ticks, k)[0]) for k in range(7)] == [12, 7, 5, 4, 3, 3, 3]


def test_the_log_of_whole_rounds_misleads_the_formula():
    accepted, drafted = [4, 0] * 500, [4] * 1000
    rate, length, alpha = reference.estimate_acceptance(accepted, drafted)
    assert (rate, length, alpha) == (0.5, 3.0, 0.8)
    assert expected_tokens(rate, 4) == pytest.approx(1.94, abs=5e-3)
    assert expected_tokens(alpha, 4) == pytest.approx(3.36, abs=5e-3)


def test_totals_do_not_tell_alpha():
    some, others = ([3, 3, 2, 0], [3] * 4), ([2, 2, 2, 2], [3] * 4)
    assert reference.estimate_acceptance(*some) == pytest.approx((2 / 3, 3, 0.8))
    assert reference.estimate_acceptance(*others) == pytest.approx((2 / 3, 3, 2 / 3))


def test_a_break_even_of_exactly_one_is_found_despite_rounding():
    assert reference.speedup(1, 5, 0.81, 1.95) < 1
    assert reference.break_even(5, 0.81, 1.95) == pytest.approx(1, abs=1e-7)


def test_in_every_world_the_rate_is_a_worse_a_than_alpha():
    logs = [reference.simulate(ticks, 4) for ticks in worlds_of_ticks(seed=6).values()]
    logs.append(worse_by_place([0.9, 0.8, 0.7, 0.6], seed=6))
    for log in logs:
        rate, length, alpha = reference.estimate_acceptance(*log)
        gaps = [abs(expected_tokens(a, 4) - length) for a in (rate, alpha)]
        assert gaps[0] > 2 * gaps[1]


@pytest.mark.parametrize(
    ("means", "said"),
    [
        ([2.1, 2.9], "0 lie above the line by more than 2 standard errors, 0 below. These texts"),
        ([2.3, 3.0], "1 lie above the line by more than 2 standard errors, 0 below. So the formula "
         "promises too little"),
        ([2.0, 2.7], "0 lie above the line by more than 2 standard errors, 1 below. So the formula "
         "promises too much"),
        ([2.3, 2.7], "1 lie above the line by more than 2 standard errors, 1 below. So the formula "
         "errs on both sides"),
    ],
)  # fmt: skip
def test_the_sentence_about_the_fit_follows_from_the_marks(means, said):
    assert fit_sentence([2.0, 3.0], means, [0.1, 0.1]).startswith(f"of 2 marks {said}")


def test_logs_of_texts_are_joined_in_order():
    assert one_log([([3, 0], [3, 3]), ([], []), ([1], [2])]) == ([3, 0, 1], [3, 3, 2])


def test_the_estimate_finds_the_alpha_that_it_was_played_with():
    """Independent guesses: within 5 standard errors, which chance leaves once in 1.7 million."""
    rng = np.random.default_rng(3)
    for alpha, k in itertools.product((0.2, 0.5, 0.8, 0.95), (1, 4, 9)):
        ticks = (rng.random(60_000) < alpha).tolist()
        accepted, drafted = reference.simulate(ticks, k)
        found = reference.estimate_acceptance(accepted, drafted)[2]
        tested = sum(min(a + 1, d) for a, d in zip(accepted, drafted, strict=True))
        assert abs(found - alpha) < 5 * (alpha * (1 - alpha) / tested) ** 0.5


def test_simulated_rounds_fit_the_formula(record_property):
    """20 means, each within 5 standard errors of the formula."""
    rng, largest = np.random.default_rng(4), 0.0
    for alpha in (0.3, 0.6, 0.8, 0.9):
        ticks = (rng.random(100_000) < alpha).tolist()
        for k in (1, 2, 4, 7, 10):
            emitted = np.array(reference.simulate(ticks, k)[0]) + 1
            error = emitted.std(ddof=1) / len(emitted) ** 0.5
            largest = max(largest, abs(emitted.mean() - expected_tokens(alpha, k)) / error)
    record_property("largest_gap_in_standard_errors", round(largest, 2))
    assert largest < 5


# --- the recorded pair, and controllers --------------------------------------------------------


def test_the_recorded_ticks_are_whole():
    data = recorded()
    assert set(data["traces"]) == set(DRAFTS)
    for draft in DRAFTS:
        texts = traces(draft)
        assert len(texts) == 20
        assert {len(text) for text in texts} == {160}
        assert set().union(*texts) == {0, 1}
        assert 0 < data["draft cost"][draft] < 1
    assert len(data["verify cost"]) == 17
    assert data["verify cost"][0] == 1
    assert traces("draft") != traces("draft_distilled")


def test_the_recorded_ticks_fit_the_shipped_weights():
    """One text: a draft guesses right where the record says so, near ties aside."""
    from tools.record_ticks import greedy, prompts, ticks

    target, draft = load_model("target"), load_model("draft_distilled")
    prompt = prompts(target.tokenizer)[0]
    found = ticks(draft, prompt, greedy(target, prompt))
    kept = recorded()["traces"]["draft_distilled"][0]
    assert sum(a != b for a, b in zip(found, kept, strict=True)) <= 8


def test_replay_with_a_fixed_k_is_simulate():
    for text, k in itertools.product(traces("draft")[:5], range(8)):
        assert replay(text, fixed, k) == reference.simulate(text, k)


def test_replay_refuses_a_negative_k():
    with pytest.raises(ValueError, match="a controller must return 0 or more, it returned -1"):
        replay([1, 1, 0, 1], lambda k, accepted, drafted: k - 1, 0)


def test_the_rule_of_transformers():
    assert plus_two_minus_one(5, 5, 5) == 7
    assert plus_two_minus_one(5, 3, 5) == 4
    assert plus_two_minus_one(1, 0, 1) == 1


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("c", [0.02, 0.05, 0.1])
def test_the_adaptive_controller_is_near_the_best_fixed_k(draft, c, record_property):
    """It may lose a few per cent: it must find out what is known only in hindsight."""
    texts = traces(draft)
    best = min(cost_on(texts, fixed, k, c) for k in range(1, 17))
    regret = cost_on(texts, reference.adaptive_k(c, 16), 5, c) / best - 1
    heuristic = cost_on(texts, plus_two_minus_one, 5, c) / best - 1
    record_property("regret", {"adaptive": round(regret, 4), "+2/-1": round(heuristic, 4)})
    assert regret < 0.05


def test_the_controller_learns_what_it_is_shown():
    controller = reference.adaptive_k(0.05, 20)
    k = 4
    for _ in range(60):
        k = controller(k, k, k)
    assert k == 20
    for _ in range(60):
        k = controller(k, 0, k)
    assert k == 1


def test_the_stopwatch_measures_every_batch():
    rows = measure_batches(2, [1, 2])
    assert [row[0] for row in rows] == [1, 2]
    assert all(seconds > 0 for row in rows for seconds in row[1:])


def test_the_stopwatch_refuses_more_than_the_context():
    with pytest.raises(ValueError, match="more than the model's context"):
        time_pass(tiny_context(), 100, 100, repeats=1)


def tiny_context():
    """A model of one narrow layer with a context of 512."""
    from specdec.model import Config, Model, Params

    config = Config(4, 0, 1, 1, 4, 10, 512, 1e4, 1e-5)
    return Model("tiny", Params(config, np.ones((10, 4), np.float32), (), np.ones(4, np.float32)))


# --- the checks --------------------------------------------------------------------------------

FUNCTIONS = {
    "speedup": (checks.SPEEDUP_CASES, checks.SPEEDUP_MISTAKES, [checks.check_speedup]),
    "optimal_k": (
        checks.OPTIMAL_CASES,
        checks.OPTIMAL_MISTAKES,
        [checks.check_optimal_k, checks.check_optimal_k_edges],
    ),
    "estimate_acceptance": (
        checks.ESTIMATE_CASES,
        checks.ESTIMATE_MISTAKES,
        [checks.check_estimate_acceptance, checks.check_estimate_acceptance_edges],
    ),
    "simulate": (
        checks.SIMULATE_CASES,
        checks.SIMULATE_MISTAKES,
        [checks.check_simulate, checks.check_simulate_edges],
    ),
    "break_even": (
        checks.BREAK_EVEN_CASES,
        checks.BREAK_EVEN_MISTAKES,
        [checks.check_break_even],
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_worked_function_passes(name, capsys):
    for check in FUNCTIONS[name][2]:
        check(getattr(reference, name))
    assert capsys.readouterr().out.count("✓") == len(FUNCTIONS[name][2])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_two_known_mistakes_are_alike(name):
    """A mistake that goes wrong on the legal cases acts like no other, so its name is safe."""
    cases, mistakes, _checks = FUNCTIONS[name]
    legal = [case for case in cases if not case.wants_error]
    for one, other in itertools.combinations(mistakes, 2):
        outcomes = [call(one.does, case.args) for case in legal]
        pairs = list(zip(legal, outcomes, strict=True))
        if not all(is_right(outcome, case) for case, outcome in pairs):
            alike = all(acts_alike(other, case, outcome) for case, outcome in pairs)
            assert not alike, (one.cause, other.cause)


BROKEN_PAIR = """
def speedup(a, k, c, verify_cost=1.0):
    return expected_tokens(a, k) / (c + verify_cost)

def optimal_k(a, c, k_max):
    speeds = []
    for k in range(k_max + 1):
        speeds.append(speedup(a, k, c))
    return speeds.index(max(speeds))
"""


def test_a_wrong_speedup_is_named_where_it_is_the_cause():
    names = {"expected_tokens": expected_tokens}
    exec(BROKEN_PAIR, names)
    with pytest.raises(CheckFailed, match="First repair speedup"):
        checks.check_optimal_k(names["optimal_k"], names["speedup"])
    with pytest.raises(CheckFailed) as failed:
        checks.check_optimal_k(lambda a, c, k_max: k_max + 1, names["speedup"])
    assert "First repair" not in str(failed.value)


def test_a_break_even_that_is_not_exact_enough_fails():
    def coarse(k, c, verify_cost=1.0):
        exact = reference.break_even(k, c, verify_cost)
        return exact and exact + 1e-5

    with pytest.raises(CheckFailed, match=r"wanted +0\.379949"):
        checks.check_break_even(coarse)
    checks.check_break_even(lambda *args: (a := reference.break_even(*args)) and a + 1e-8)


@pytest.mark.parametrize("log", [([1], [1]), ([2, 2], [2, 2]), ([0, 0], [1, 0])])
def test_the_metric_that_counts_the_bonus_is_exposed(log, capsys):
    assert acceptance_rate_by_output(*log) > 1
    checks.check_bug_log(log)
    assert "You exposed it" in capsys.readouterr().out


def test_an_unanswered_bug_log_is_not_written():
    with pytest.raises(NotWrittenYet, match="todo_bug_log is not written yet"):
        checks.check_bug_log(None)
