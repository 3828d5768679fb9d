"""Lesson 6: the worked functions, what the checks tell apart, and exactness on the trained pair."""

import random

import numpy as np
import pytest

from specdec.bugs import lookup_latest, mask_by_level
from specdec.cache import ModelCache
from specdec.checks import CheckFailed, NotWrittenYet
from specdec.checks import lesson_06 as checks
from specdec.checks.core import Case, acts_alike, call, is_right
from specdec.model import load_model
from specdec.multidraft import best_acceptance, recursive_acceptance
from specdec.reference import lesson_06 as reference
from specdec.reference.lesson_01 import verify_greedy
from specdec.trained.better import generate_with_tree, tree_of_heads, tree_pass
from specdec.trained.decoding import greedy_cached, heldout_prompts
from specdec.trained.distilling import LittleDraft, Places, alpha, one_hot, train
from specdec.trained.drafts import Heads, fit_heads, generate

# --- the worked functions ----------------------------------------------------------------------


def test_the_table_guesses_what_counting_by_hand_gives():
    rng = random.Random(1)
    for _ in range(60):
        text = [rng.randrange(4) for _ in range(rng.randrange(1, 25))]
        n, context = rng.randrange(1, 5), [rng.randrange(5) for _ in range(rng.randrange(5))]
        wanted = checks._ngram(text, n, context)
        assert reference.NGramDraft(text, n).next_token(context) == wanted


def test_the_lookup_finds_the_latest_earlier_place():
    rng = random.Random(2)
    for _ in range(200):
        text = [rng.randrange(3) for _ in range(rng.randrange(12))]
        n, k = rng.randrange(1, 4), rng.randrange(4)
        places = [s for s in range(len(text) - n) if text[s : s + n] == text[len(text) - n :]]
        wanted = text[places[-1] + n :][:k] if places else []
        assert reference.prompt_lookup(text, n, k) == wanted
        assert lookup_latest(text, n, k) == []


def test_the_gradient_is_the_slope_of_the_loss():
    rng = np.random.default_rng(3)
    logits, p = rng.normal(size=(4, 6)), rng.dirichlet(np.ones(6), size=4)
    _, gradient = reference.distillation_loss(logits, p)
    for place in np.ndindex(logits.shape):
        step = np.zeros_like(logits)
        step[place] = 1e-6
        up, down = (reference.distillation_loss(logits + s, p)[0] for s in (step, -step))
        assert gradient[place] == pytest.approx((up - down) / 2e-6, abs=1e-8)


def test_the_loss_is_zero_only_where_both_agree():
    p = np.array([[0.2, 0.3, 0.5], [0, 1, 0]])
    loss, gradient = reference.distillation_loss(np.log(np.maximum(p, 1e-300)), p)
    assert loss == pytest.approx(0, abs=1e-12)
    assert np.abs(gradient).max() < 1e-12


def test_a_chain_is_verified_as_in_lesson_1():
    rng = random.Random(4)
    for _ in range(200):
        draft = [rng.randrange(3) for _ in range(rng.randrange(6))]
        choices = [rng.randrange(3) for _ in range(len(draft) + 1)]
        parents = list(range(-1, len(draft)))
        emitted, path = reference.verify_tree([9, *draft], parents, choices)
        assert emitted == verify_greedy(draft, choices)
        assert path == list(range(len(emitted)))


def random_tree(rng, size: int) -> list[int]:
    return [-1, *(rng.randrange(node) for node in range(1, size))]


def test_the_mask_shows_each_node_its_own_line():
    rng = random.Random(5)
    for _ in range(50):
        parents = random_tree(rng, rng.randrange(1, 12))
        mask = reference.tree_mask(parents)
        for node in range(len(parents)):
            assert np.flatnonzero(mask[node]).tolist() == sorted(checks._ancestors(parents, node))


@pytest.mark.parametrize(
    ("p", "q", "in_turn", "best"),
    [
        ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.7, 0.76, 0.808], [0.7, 0.86, 0.988]),
        ([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.6, 0.72, 0.768], [0.6, 0.79, 0.871]),
    ],
)
def test_several_guesses_for_one_place(p, q, in_turn, best):
    assert [recursive_acceptance(p, q, m) for m in (1, 2, 3)] == pytest.approx(in_turn, abs=5e-4)
    assert [best_acceptance(p, q, m) for m in (1, 2, 3)] == pytest.approx(best, abs=5e-4)
    assert best_acceptance(p, q, 1) == pytest.approx(np.minimum(p, q).sum())


# --- what the checks say -----------------------------------------------------------------------

LOSSES = [Case((z, p), float(checks._kl(z, p).mean())) for z, p in checks.LOSS_CASES]
SLOPES = [Case((z, p), checks._gradient(z, p)) for z, p in checks.LOSS_CASES]
BANKS = [
    (checks.FIDELITY_MISTAKES, checks.FIDELITY_CASES),
    (checks.NGRAM_MISTAKES, checks.NGRAM_CASES),
    (checks.LOOKUP_MISTAKES, checks.LOOKUP_CASES),
    (checks.LOSS_MISTAKES, LOSSES),
    (checks.GRADIENT_MISTAKES, SLOPES),
    (checks.HEADS_MISTAKES, checks.HEADS_CASES),
    (checks.TREE_MISTAKES, checks.TREE_CASES),
    (checks.MASK_MISTAKES, checks.MASK_CASES),
]


@pytest.mark.parametrize(("mistakes", "cases"), BANKS)
def test_each_known_mistake_is_told_apart_from_all_others(mistakes, cases):
    legal = [case for case in cases if not case.wants_error]
    for mistake in mistakes:
        outcomes = [call(mistake.does, case.args) for case in legal]
        pairs = list(zip(legal, outcomes, strict=True))
        assert not all(is_right(outcome, case) for case, outcome in pairs), mistake.cause
        fitting = [m for m in mistakes if all(acts_alike(m, c, o) for c, o in pairs)]
        assert fitting == [mistake], mistake.cause


def test_a_nan_where_p_is_zero_is_named():
    def naive(z, p):
        with np.errstate(all="ignore"):
            terms = p * (np.log(p) - checks._log_softmax(z))
        return float(terms.sum(axis=1).mean()), None

    with pytest.raises(CheckFailed, match=r"0 \* log\(0\) is nan"):
        checks.check_distillation_loss(naive)


def test_messages_name_the_table_as_a_learner_would_call_it():
    class Wrong(reference.NGramDraft):
        def next_token(self, context):
            return 7

    with pytest.raises(CheckFailed, match=r"✗ NGramDraft\(\[.*\], 3\)\.next_token\(\[1, 1\]\)"):
        checks.check_ngram(Wrong)


@pytest.mark.parametrize("check", [checks.check_bug_lookup, checks.check_bug_mask])
def test_an_empty_bug_answer_is_not_written_yet(check):
    with pytest.raises(NotWrittenYet):
        check(None)


# --- a draft that is trained in a cell ---------------------------------------------------------


def synthetic_places(seed: int, count: int, size: int = 12) -> Places:
    """Places of a made-up language whose next token hangs on the last one; the target knows it."""
    law = np.random.default_rng(0).dirichlet(np.full(size, 0.3), size=size)
    rng = np.random.default_rng(seed)
    contexts = rng.integers(size, size=(count, 2))
    rows = law[contexts[:, 1]]
    tokens = np.array([rng.choice(size, p=row) for row in rows])
    return Places(contexts, tokens, rows)


def test_a_draft_taught_by_the_target_overlaps_more_with_it(capsys):
    learn, measure = synthetic_places(1, 150), synthetic_places(2, 400)
    drafts = {
        name: train(LittleDraft(0, 12), learn.contexts, rows, reference.distillation_loss, 60)
        for name, rows in (
            ("text", one_hot(learn.next_tokens, 12)),
            ("target", learn.target_probs),
        )
    }
    reached = {name: alpha(draft, measure) for name, draft in drafts.items()}
    assert alpha(LittleDraft(0, 12), measure) < reached["text"] < reached["target"] - 0.05
    assert len(drafts["target"].propose([3, 4], None, 5)) == 5


# --- exact on the trained pair, in double precision --------------------------------------------

TOKENS = 12


@pytest.fixture(scope="module")
def exact():
    """(target in float64, its heads, a prompt, its plain continuation).

    The heads are fitted on that very text, so that many of their guesses are right.
    """
    target = load_model("target", np.float64)
    prompt = heldout_prompts(target.tokenizer, 1, length=12)[0]
    plain = greedy_cached(target, target.new_cache(), prompt, TOKENS)
    rows = target.hidden(np.array([prompt + plain]))
    heads = fit_heads(rows, target.params.embedding, 3, window=len(rows))
    return target, heads, prompt, plain


def test_heads_give_the_targets_own_text(exact):
    target, heads, prompt, plain = exact
    run = generate(target, Heads(heads), prompt, TOKENS, 3)
    assert run.texts == [plain]
    assert sum(run.accepted) > 0


@pytest.mark.parametrize("widths", [(1, 1, 1), (3, 2)])
def test_trees_give_the_targets_own_text(exact, widths):
    target, heads, prompt, plain = exact
    run = generate_with_tree(
        target, heads, widths, prompt, TOKENS, reference.verify_tree, reference.tree_mask
    )
    assert run.texts == [plain]
    assert sum(run.accepted) > 0


def test_each_branch_is_judged_as_if_it_were_alone(exact):
    target, _, prompt, _ = exact
    rng = random.Random(6)
    parents = [-1, 0, 0, 1, 1, 2, 4]
    nodes = [rng.randrange(target.config.vocab_size) for _ in parents]

    def rows_with(mask):
        cache = target.new_cache()
        target.hidden(np.array([prompt]), cache)
        return tree_pass(target, cache, nodes, parents, mask)

    rows, wrong = rows_with(reference.tree_mask(parents)), rows_with(mask_by_level(parents))
    for node in range(len(parents)):
        line = checks._ancestors(parents, node)[::-1]
        alone = target.hidden(np.array([[*prompt, *(nodes[i] for i in line)]]))[-1]
        assert np.abs(rows[node] - alone).max() < 1e-9
    assert np.abs(wrong[3] - rows[3]).max() > 1e-3


def test_the_cache_keeps_a_path_and_goes_on_from_it(exact):
    target, _, prompt, _ = exact
    parents, path = [-1, 0, 0, 2], [0, 2, 3]
    nodes, after = [5, 6, 7, 8], [9, 10]
    cache = target.new_cache()
    target.hidden(np.array([prompt]), cache)
    tree_pass(target, cache, nodes, parents, reference.tree_mask(parents))
    cache.keep(len(prompt), path)
    assert len(cache) == len(prompt) + len(path)
    text = [*prompt, *(nodes[i] for i in path), *after]
    got = target.hidden(np.array([after]), cache)
    assert np.abs(got - target.hidden(np.array([text]))[-2:]).max() < 1e-9


def test_a_tree_of_heads_has_each_heads_best_tokens_below_each_node():
    heads = [np.array([[1.0, 5, 3]]), np.array([[4.0, 0, 2]])]
    tokens, parents = tree_of_heads(np.array([1.0]), heads, (2, 1))
    assert (tokens, parents) == ([1, 2, 0, 0], [-1, 0, 0, 1, 2])


def test_keep_moves_rows_of_all_layers():
    cache = ModelCache(2, 1, 8, 1, np.float64)
    for layer in range(2):
        values = np.arange(6, dtype=float).reshape(1, 6, 1) + 10 * layer
        cache.append(layer, values, -values)
    cache.keep(2, [0, 3])
    keys, values = cache.append(0, np.zeros((1, 0, 1)), np.zeros((1, 0, 1)))
    assert keys.ravel().tolist() == [0, 1, 2, 5]
    assert values.ravel().tolist() == [0, -1, -2, -5]
