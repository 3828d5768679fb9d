"""Lesson 3: the law of the rule, the laws of its mistakes, and what the checks say of them."""

from math import comb

import numpy as np
import pytest

from specdec.checks import CheckFailed
from specdec.checks import lesson_03 as checks
from specdec.checks.laws import (
    FALSE_ALARM,
    TOO_MANY,
    allowed_chi_square,
    chi_square,
    deviation,
    exact_law,
    sampled_law,
)
from specdec.reference import lesson_03 as reference
from specdec.reference.lesson_01 import verify_greedy
from specdec.sampling import (
    NEVER,
    WORDS,
    CountedPair,
    as_distribution,
    cat_draft,
    cat_target,
    draw,
    keep_top_p,
)

P, Q = [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]


def message(check, *args, **keywords) -> str:
    with pytest.raises(CheckFailed) as failed:
        check(*args, **keywords)
    return str(failed.value)


# --- the law -----------------------------------------------------------------------------------


def output_law(p, q, accept, replacement):
    """Return the chance of each token from an acceptance rule and a replacement distribution."""
    kept = np.array([q[t] * accept(p, q, t) for t in range(len(p))])
    return kept + (1 - kept.sum()) * np.asarray(replacement(p, q))


def test_the_rule_is_exact_on_10_000_random_pairs():
    worst = 0.0
    for p, q in checks.random_pairs(10_000, seed=7):
        law = output_law(p, q, reference.acceptance_probability, reference.residual)
        worst = max(worst, float(np.abs(law - p).max()))
        alpha = reference.expected_acceptance(p, q)
        assert abs(alpha - (1 - np.abs(np.subtract(p, q)).sum() / 2)) < 1e-12
    print(f"largest deviation of the law on 10,000 random pairs: {worst:.1e}")
    assert worst <= 1e-12


WRONG_LAWS = {
    "resample from p": ([0.26, 0.32, 0.28, 0.14], reference.acceptance_probability, lambda p, q: p),
    "always accept": (Q, lambda p, q, t: 1.0, reference.residual),
    "absolute value": (
        [0.25] * 4,
        reference.acceptance_probability,
        lambda p, q: np.abs(np.subtract(p, q)) / np.abs(np.subtract(p, q)).sum(),
    ),
    "accept iff p >= q": (
        [0.625, 0.375, 0, 0],
        lambda p, q, t: float(p[t] >= q[t]),
        reference.residual,
    ),
    "accept with p": ([0.64, 0.26, 0.06, 0.04], lambda p, q, t: p[t], reference.residual),
    "inverted ratio": (
        [0.13125, 0.16875, 0.3, 0.4],
        lambda p, q, t: min(1, q[t] / p[t]),
        reference.residual,
    ),
}


@pytest.mark.parametrize("name", WRONG_LAWS)
def test_the_wrong_laws_that_the_lesson_prints(name):
    law, accept, replacement = WRONG_LAWS[name]
    assert np.allclose(output_law(P, Q, accept, replacement), law, atol=1e-12)
    assert np.abs(np.subtract(law, P)).max() > 0.04  # a clear margin


def test_an_honest_q_is_exact_and_another_is_not():
    p, q = [0.3, 0.3, 0.3, 0.1], [0.4, 0.3, 0.2, 0.1]
    top_two = keep_top_p(q, 0.6)

    def law(passed_on):
        kept = np.array(
            [top_two[t] * reference.acceptance_probability(p, passed_on, t) for t in range(4)]
        )
        return kept + (1 - kept.sum()) * reference.residual(p, passed_on)

    assert np.allclose(law(top_two), p, atol=1e-12)
    assert np.allclose(law(q), [3 / 7, 3 / 7, 1 / 7, 0], atol=1e-12)


def test_a_draft_of_another_temperature_is_accepted_more_often_in_the_lessons_example():
    p = reference.process_logits([1.0, 0.0, -1.0], 0.5, 1)
    alphas = [
        reference.expected_acceptance(p, reference.process_logits([0.0, 0.5, 0.0], t, 1))
        for t in (0.5, 1)
    ]
    assert np.round(alphas, 3).tolist() == [0.345, 0.407]


def test_temperature_0_is_the_rule_of_lesson_1():
    rng = np.random.default_rng(2)
    for _ in range(300):
        logits = rng.integers(0, 4, size=(4, 3)).astype(float)
        wanted = [int(np.argmax(row)) for row in logits]
        draft = rng.integers(0, 3, size=3).tolist()
        one_hot = np.eye(3)
        rows = [reference.process_logits(row, 0, 1) for row in logits]
        emitted = reference.speculative_step(draft, [one_hot[t] for t in draft], rows, rng)
        assert emitted == verify_greedy(draft, wanted)


# --- counting all random numbers ---------------------------------------------------------------


@pytest.mark.parametrize(
    "take",
    [
        lambda p, rng: draw(p, rng),
        lambda p, rng: int(rng.choice(3, p=p)),
        lambda p, rng: int(rng.multinomial(1, p).argmax()),
        lambda p, rng: int(np.searchsorted(np.cumsum(p), rng.random(1)[0])),
        lambda p, rng: int(np.searchsorted(np.cumsum(p), rng.uniform())),
    ],
)
def test_every_way_to_draw_has_its_exact_law(take):
    law = exact_law(lambda rng: take([0.5, 0.375, 0.125], rng), 8)
    assert law == {0: 0.5, 1: 0.375, 2: 0.125}


def test_numbers_off_the_grid_are_reported():
    assert exact_law(lambda rng: int(rng.exponential() > 1), 8) is None


def test_too_many_numbers_end():
    assert exact_law(lambda rng: len(rng.random(40)), 8) is TOO_MANY


def test_the_bound_on_false_alarms():
    """The bound holds for every n; here a right sampler stays far inside, a wrong one outside."""
    wanted = {0: 0.5, 1: 0.3, 2: 0.2}
    runs = 5_000
    bound = allowed_chi_square(wanted, runs)
    right = sampled_law(lambda r: draw([0.5, 0.3, 0.2], r), runs, 1)
    wrong = sampled_law(lambda r: draw([0.35, 0.39, 0.26], r), runs, 1)
    assert chi_square(right, wanted, runs) < bound < chi_square(wrong, wanted, runs)
    assert chi_square({0: 0.5, 3: 0.5}, wanted, runs) == np.inf


def test_the_chi_square_is_pearsons():
    assert chi_square({0: 0.6, 1: 0.4}, {0: 0.5, 1: 0.5}, 100) == pytest.approx(4.0)


@pytest.mark.parametrize("chance", [0.03, 0.25, 0.5])
def test_a_count_beyond_its_deviation_is_rarer_than_promised(chance):
    """Bernstein's inequality against the exact binomial tails."""
    runs, log_odds = 200, 5.0
    most = deviation(chance, runs, log_odds)
    tail = sum(
        comb(runs, count) * chance**count * (1 - chance) ** (runs - count)
        for count in range(runs + 1)
        if abs(count - runs * chance) > most
    )
    assert tail <= 2 * np.exp(-log_odds)


# --- distributions and the cat pair ------------------------------------------------------------


@pytest.mark.parametrize("bad", [[0.5, 0.6], [1.5, -0.5], [0.5, np.nan], [[0.5, 0.5]], [], 1.0])
def test_what_is_no_distribution_is_refused(bad):
    with pytest.raises(ValueError, match="not a distribution"):
        as_distribution(bad)


def test_draw_never_gives_an_impossible_token():
    class First:
        def random(self):
            return 0.0

    class Last:
        def random(self):
            return np.nextafter(1, 0)

    assert draw([0.0, 0.5, 0.5, 0.0], First()) == 1
    assert draw([0.0, 0.5, 0.5, 0.0], Last()) == 2


@pytest.mark.parametrize(
    ("top_p", "kept"),
    [(0.3, 1), (0.4, 1), (0.41, 2), (0.7, 2), (0.71, 3), (0.95, 4), (1, 4)],
)
def test_top_p_keeps_as_few_as_have_that_chance(top_p, kept):
    probs = keep_top_p([0.1, 0.2, 0.3, 0.4], top_p)
    assert np.count_nonzero(probs) == kept
    assert probs.sum() == pytest.approx(1)
    assert np.argmax(probs) == 3


def test_the_cat_pair_is_a_pair_of_distributions_after_every_text_it_can_write():
    texts = [[WORDS.index("the")]]
    for _ in range(5):
        texts = [
            [*text, token]
            for text in texts
            for token, logit in enumerate(cat_target(text))
            if logit != NEVER
        ]
        for text in texts:
            for model in (cat_draft, cat_target):
                as_distribution(reference.process_logits(model(text), 1, 1))


def test_passes_are_counted_with_and_without_drafts():
    pair = CountedPair(cat_draft, cat_target)
    reference.speculative_sample(pair.draft, pair.target, [0], 6, 0, 1, 1, np.random.default_rng(1))
    assert (pair.passes, pair.draft_calls) == (6, 0)
    pair = CountedPair(cat_target, cat_target)
    reference.speculative_sample(pair.draft, pair.target, [0], 8, 3, 1, 1, np.random.default_rng(1))
    assert (pair.passes, pair.draft_calls, pair.repeats) == (2, 6, 0)
    pair = CountedPair(cat_draft, cat_target, budget=5)
    with pytest.raises(RuntimeError, match="far more often"):
        reference.speculative_sample(
            pair.draft, pair.target, [0], 9, 2, 1, 1, np.random.default_rng(1)
        )


# --- what the checks say -----------------------------------------------------------------------


@pytest.mark.parametrize("mistake", checks.STEP_MISTAKES, ids=lambda m: m.cause[:40])
def test_every_known_mistake_of_a_step_is_named_alone(mistake):
    assert f"Likely cause: {mistake.cause}" in message(checks.check_speculative_step, mistake.does)


@pytest.mark.parametrize("mistake", checks.SAMPLE_MISTAKES, ids=lambda m: m.cause[:40])
def test_every_known_mistake_of_a_sampler_is_named_alone(mistake):
    assert f"Likely cause: {mistake.cause}" in message(
        checks.check_speculative_sample, mistake.does
    )


def what_it_gives(function, cases):
    return checks._scripted(function, cases)


def test_the_scripted_numbers_tell_every_mistake_of_a_step_from_the_rule():
    right = what_it_gives(reference.speculative_step, checks.STEP_CASES)
    given = [what_it_gives(mistake.does, checks.STEP_CASES) for mistake in checks.STEP_MISTAKES]
    assert right == what_it_gives(checks.rounds(), checks.STEP_CASES)
    assert right not in given
    assert all(given.count(outcomes) == 1 for outcomes in given)


def test_the_scripted_numbers_tell_every_mistake_of_a_sampler_from_the_rule():
    right = what_it_gives(reference.speculative_sample, checks.SAMPLE_TEXTS)
    given = [what_it_gives(mistake.does, checks.SAMPLE_TEXTS) for mistake in checks.SAMPLE_MISTAKES]
    assert right not in given
    assert all(given.count(outcomes) == 1 for outcomes in given)


@pytest.mark.parametrize("mistake", checks.STEP_MISTAKES, ids=lambda m: m.cause[:40])
def test_seeded_runs_miss_a_mistake_with_a_chance_below_one_in_a_million(mistake):
    """For numbers off every grid. The counts' bounds around the mistake's law, all at once."""
    runs = checks.RUNS

    def never_missed(case):
        wanted = case.wanted()
        law = exact_law(lambda rng: tuple(mistake.does(*case.args, rng)), case.grid)
        log_odds = np.log(2 * len({*law, *wanted}) / FALSE_ALARM)
        if any(
            (1 - chance) ** runs < FALSE_ALARM
            for outcome, chance in law.items()
            if not wanted.get(outcome)
        ):
            return True
        least = 0.0
        for outcome, chance in wanted.items():
            found = law.get(outcome, 0.0)
            gap = runs * abs(found - chance) - deviation(found, runs, log_odds)
            least += max(gap, 0.0) ** 2 / (runs * chance)
        return least > allowed_chi_square(wanted, runs)

    assert any(map(never_missed, checks.STEP_CASES))


def test_a_step_that_is_wrong_only_where_no_scripted_number_lies_is_found():
    """The exact law is counted from the learner's own function, whatever the scripts say."""

    def step(draft_token_ids, draft_probs, target_probs, rng):
        class Odd:
            def random(self, *_):
                number = rng.random()
                return 0.0 if 0.3 < number < 0.45 else number

        return reference.speculative_step(draft_token_ids, draft_probs, target_probs, Odd())

    with pytest.raises(CheckFailed, match="emits"):
        checks.check_speculative_step(step)


@pytest.mark.parametrize(
    ("check", "function", "most"),
    [
        (checks.check_speculative_step, reference.speculative_step, 300),
        (checks.check_speculative_step_edges, reference.speculative_step, 20),
        (checks.check_speculative_sample, reference.speculative_sample, 200),
        (checks.check_speculative_sample_rounds, reference.speculative_sample, 10),
    ],
)
def test_a_right_function_is_called_seldom(check, function, most):
    """When graded, a call, and each call that it makes of a model or of rng, takes 0.1 ms."""
    calls = []

    def counted(*args):
        calls.append(args)
        return function(*args)

    check(counted)
    assert len(calls) <= most


def test_an_unknown_mistake_gets_facts_only():
    text = message(checks.check_speculative_step, lambda draft, q, p, rng: [draw(p[0], rng)] * 2)
    assert "wanted" in text
    assert "Likely cause" not in text


def acceptance_probability(p, q, token):
    """An earlier function with a mistake."""
    return 1.0


def step_that_calls_it(draft_token_ids, draft_probs, target_probs, rng):
    for i, token in enumerate(draft_token_ids):
        if rng.random() >= acceptance_probability(target_probs[i], draft_probs[i], token):
            raise AssertionError("never rejected")
    return [*draft_token_ids, draw(target_probs[-1], rng)]


def test_an_earlier_function_is_named_when_it_is_the_cause():
    text = message(
        checks.check_speculative_step,
        step_that_calls_it,
        acceptance_probability,
        reference.residual,
    )
    assert "First repair acceptance_probability" in text


def test_nan_is_shown_and_not_compared():
    text = message(
        checks.check_residual_edges,
        lambda p, q: np.subtract(p, q) / np.maximum(np.subtract(p, q), 0).sum(),
    )
    assert "'nan'" in text


@pytest.mark.parametrize("seed", range(5))
def test_the_law_holds_for_other_seeds(seed, capsys):
    checks.check_residual_law(reference.residual, seed=seed)
    assert "✓ residual, the law" in capsys.readouterr().out


def test_worked_functions_pass_in_silence_of_warnings(recwarn, capsys):
    checks.check_acceptance_probability(reference.acceptance_probability)
    checks.check_residual(reference.residual)
    checks.check_residual_edges(reference.residual)
    checks.check_expected_acceptance(reference.expected_acceptance)
    checks.check_process_logits(reference.process_logits)
    checks.check_speculative_step(reference.speculative_step)
    checks.check_speculative_step_edges(reference.speculative_step)
    checks.check_speculative_sample(reference.speculative_sample)
    checks.check_speculative_sample_rounds(reference.speculative_sample)
    assert not recwarn.list
    assert capsys.readouterr().out.count("✓") == 9
