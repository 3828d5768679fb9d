"""The sampling lane: its laws in both languages, its runs, and what a learner sees and does."""

import base64
import json
import math
import random

import numpy as np
import pytest
from alone import in_node, keys_are_kept, second_view, show, texts_lie_on_their_card
from lab import THEMES, Lab, axe_violations
from traitlets import TraitError

from specdec.widgets import SamplingLane
from specdec.widgets.base import FOLDER, IF_NOT_SHOWN
from specdec.widgets.sampling_lane import (
    RULES,
    TEXT,
    draw,
    keep_chances,
    masses,
    of_100,
    output_law,
    overlap,
    redraw,
    residual,
    simulate,
    status_sentence,
    uniforms,
)

CAT = (["mat", "rug", "cat"], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5])
LETTERS = (["A", "B", "C", "D"], [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4])
EIGHT = (
    ["the", "a", "carpet", "windowsill", "chair", "sofa", "roof", "fence"],
    [0.3, 0.2, 0.15, 0.12, 0.1, 0.08, 0.04, 0.01],
    [0.1, 0.25, 0.05, 0.2, 0.1, 0.1, 0.1, 0.1],
)
CHOICES = [
    ("100", "A guess is not yet a token.", False),
    ("20", "As often as the target wants it.", True),
    ("36", "That is a redraw from the whole of p.", False),
]
LAWS = {
    "right": [0.4, 0.3, 0.2, 0.1],
    "from_p": [0.26, 0.32, 0.28, 0.14],
    "threshold": [0.625, 0.375, 0, 0],
    "always": [0.1, 0.2, 0.3, 0.4],
    "inverted": [0.13125, 0.16875, 0.3, 0.4],
}


def free_lane(case=CAT, **changes):
    """A lane without a question."""
    return SamplingLane(*case, **changes)


def locked_lane(**changes):
    """A lane that waits for a prediction; the draft always says cat."""
    settings = {"question": "How often does cat come out?", "choices": CHOICES} | changes
    return SamplingLane(CAT[0], CAT[1], [0, 0, 1], **settings)


def random_cases(count, seed):
    """Return pairs (p, q) over 3 to 8 tokens, a third of them in whole counts, some with zeros."""
    rng = np.random.default_rng(seed)
    cases = []
    for number in range(count):
        size = int(rng.integers(3, 9))
        pair = rng.dirichlet(np.full(size, rng.choice([0.2, 1.0, 5.0])), size=2)
        if number % 3 == 0:
            pair = rng.multinomial(100, pair) / 100
        if number % 10 == 1:
            pair[1] = pair[0]
        cases.append(tuple(row.tolist() for row in pair))
    return cases


CASES = [
    CAT[1:],
    LETTERS[1:],
    ([1, 0, 0], [0, 0, 1]),
    ([0, 0, 1], [0, 0, 1]),
    ([0.5, 0.5, 0], [0, 0.5, 0.5]),
    *random_cases(600, seed=1),
]


# The laws


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_lands_where_it_was_worked_out_to_land(rule):
    _tokens, p, q = LETTERS
    np.testing.assert_allclose(output_law(p, q, rule), LAWS[rule], rtol=0, atol=1e-12)


def test_redraw_from_p_and_threshold_on_three_tokens():
    _tokens, p, q = CAT
    np.testing.assert_allclose(output_law(p, q, "from_p"), [0.35, 0.39, 0.26], atol=1e-12)
    np.testing.assert_allclose(output_law(p, q, "threshold"), [0.7, 0.3, 0], atol=1e-12)


def test_the_right_rule_gives_p_whatever_q_is(record_property):
    largest = 0.0
    for p, q in [*CASES, *random_cases(10_000, seed=2)]:
        largest = max(largest, np.abs(output_law(p, q) - p).max())
    record_property("largest_deviation", largest)
    assert largest < 1e-12


@pytest.mark.parametrize("rule", RULES)
def test_parts_add_up(rule):
    for p, q in CASES:
        parts = masses(p, q, rule)
        assert all(share >= 0 for values in parts.values() for share in values)
        np.testing.assert_allclose(parts["kept"] + parts["thrown"], q, atol=1e-12)
        np.testing.assert_allclose(parts["kept"] + parts["back"], parts["law"], atol=1e-12)
        assert parts["thrown"].sum() == pytest.approx(parts["back"].sum(), abs=1e-12)
        assert parts["law"].sum() == pytest.approx(1, abs=1e-12)


def test_the_right_rule_keeps_the_overlap_and_puts_back_what_is_missing():
    for p, q in CASES:
        p, q = np.array(p), np.array(q)
        parts = masses(p, q)
        np.testing.assert_allclose(parts["kept"], np.minimum(p, q), atol=1e-12)
        np.testing.assert_allclose(parts["thrown"], np.maximum(q - p, 0), atol=1e-12)
        np.testing.assert_allclose(parts["back"], np.maximum(p - q, 0), atol=1e-12)
        assert overlap(p, q) == pytest.approx(1 - np.abs(p - q).sum() / 2, abs=1e-12)
        assert overlap(p, q) == pytest.approx(parts["kept"].sum(), abs=1e-12)


def test_edges_of_the_rule():
    assert keep_chances([0.5, 0.5, 0], [0, 0.5, 0.5]).tolist() == [0, 1, 0]
    assert residual([0.1, 0.2, 0.7], [0.1, 0.2, 0.7]).tolist() == [0.1, 0.2, 0.7]
    assert residual([0, 1, 0], [1, 0, 0]).tolist() == [0, 1, 0]
    assert draw([0, 0.5, 0.5, 0], 0.0) == 1
    assert draw([0, 0.5, 0.5, 0], 0.5) == 2
    assert draw([0, 0.3, 0.3, 0], 0.9999) == 2, "a sum below 1 never draws what has no chance"


def test_every_pair_of_rules_differs_on_the_letters():
    assert len({tuple(np.round(output_law(*LETTERS[1:], rule), 9)) for rule in RULES}) == 5


# The twin in JavaScript

RUN = """
import { readFileSync } from "node:fs";
import * as lane from "./widget.mjs";
const { text, cases, rules, edits, runs, long, zero } = JSON.parse(readFileSync(0, "utf8"));
const laws = cases.map(([p, q], i) => rules.map((rule) => ({
  chances: lane.keepChances(p, q, rule),
  redraw: lane.redraw(p, q, rule),
  parts: lane.masses(p, q, rule),
  alpha: lane.overlap(p, q),
  sentence: lane.statusSentence(text, p.map((_, j) => `t${j}`), p, q, rule),
  simulated: lane.simulate(p, q, rule, runs, i),
})));
const spreads = edits.map(([base, index, count]) => lane.spread(base, index, count));
const tempered = edits.map(([base, , , t]) => lane.temper(base, t));
const fits = rules.map((rule) => lane.simulate(...cases[1], rule, long, 2026).counts);
const strict = lane.simulate([0, 0.5, 0.5], [1, 0, 0], "right", 1, zero);
console.log(JSON.stringify({ strict, laws, spreads, tempered, fits, kept: cases }));
"""
RUNS, LONG_RUN = 60, 200_000
ZERO_SECOND = -2 * 0x6D2B79F5 % 2**32  # from here the second number of the generator is 0
TEMPERATURES = [0, 0.1, 0.5, 1, 1.7, 3]


def edits():
    """Return changes of one bar: (shares before, index, its new count, a temperature)."""
    rng = random.Random(3)
    return [
        (p, rng.randrange(len(p)), rng.choice([0, 1, 50, 99, 100, rng.randrange(101)]), t)
        for p, _q in CASES
        for t in [rng.choice(TEMPERATURES)]
    ]


EDITS = edits()


@pytest.fixture(scope="module")
def from_javascript(tmp_path_factory):
    sent = {"text": TEXT, "cases": CASES, "rules": RULES, "edits": EDITS}
    return in_node(
        tmp_path_factory.mktemp("sampling"),
        SamplingLane._esm,
        RUN,
        sent | {"runs": RUNS, "long": LONG_RUN, "zero": ZERO_SECOND},
    )


def test_same_laws_in_both_languages(from_javascript, record_property):
    largest = 0.0
    for (p, q), per_rule in zip(CASES, from_javascript["laws"], strict=True):
        for rule, got in zip(RULES, per_rule, strict=True):
            pairs = [(got["chances"], keep_chances(p, q, rule)), (got["alpha"], overlap(p, q))]
            pairs += [(got["redraw"], redraw(p, q, rule))]
            pairs += [(got["parts"][name], values) for name, values in masses(p, q, rule).items()]
            largest = max([largest, *(np.abs(np.subtract(a, b)).max() for a, b in pairs)])
    record_property("largest_difference", largest)
    assert largest < 1e-12
    assert from_javascript["kept"] == [list(case) for case in CASES], "the inputs are not changed"


def test_same_sentences_in_both_languages(from_javascript):
    for (p, q), per_rule in zip(CASES, from_javascript["laws"], strict=True):
        tokens = [f"t{i}" for i in range(len(p))]
        for rule, got in zip(RULES, per_rule, strict=True):
            assert got["sentence"] == status_sentence(TEXT, tokens, p, q, rule)


def test_same_runs_in_both_languages(from_javascript):
    for seed, ((p, q), per_rule) in enumerate(zip(CASES, from_javascript["laws"], strict=True)):
        for rule, got in zip(RULES, per_rule, strict=True):
            counts, kept, state = simulate(p, q, rule, RUNS, seed)
            simulated = got["simulated"]
            assert (simulated["counts"], simulated["kept"]) == (counts, kept)
            assert simulated["state"] == state
            assert sum(counts) == RUNS


def test_a_token_without_a_chance_is_not_kept_even_at_zero(from_javascript):
    counts, kept, _state = simulate([0, 0.5, 0.5], [1, 0, 0], "right", 1, ZERO_SECOND)
    numbers = uniforms(ZERO_SECOND)
    assert [next(numbers)[0] for _ in range(2)][1] == 0
    assert (kept, counts[0]) == (0, 0)
    strict = from_javascript["strict"]
    assert (strict["kept"], strict["counts"]) == (0, counts)


def test_runs_fit_their_own_law_and_no_other(from_javascript):
    """Hoeffding: 20 shares of n draws each lie within `slack` of the law but for 1 in a million.

    2 · 20 · exp(−2 n slack²) = 1e-6. The seed is fixed; the bound holds for a fresh one too.
    """
    slack = math.sqrt(math.log(2 * 20 / 1e-6) / (2 * LONG_RUN))
    shares = {
        rule: np.array(counts) / LONG_RUN
        for rule, counts in zip(RULES, from_javascript["fits"], strict=True)
    }
    for rule, share in shares.items():
        for other in RULES:
            fits = np.abs(share - LAWS[other]).max() <= slack
            assert fits == (other == rule), (rule, other, slack)


def test_a_changed_bar_leaves_whole_counts_that_sum_to_100(from_javascript):
    for (base, index, count, _t), got in zip(EDITS, from_javascript["spreads"], strict=True):
        counts = [round(share * 100) for share in got]
        assert np.allclose(np.array(got) * 100, counts, atol=1e-9)
        assert (sum(counts), counts[index]) == (100, count)
        others = np.delete(base, index)
        total = others.sum()
        wanted = (others / total if total else np.full(len(others), 1 / len(others))) * (
            100 - count
        )
        assert np.abs(np.delete(counts, index) - wanted).max() < 1 + 1e-9


def test_temperatures_reshape_the_bars(from_javascript):
    for (base, _i, _n, t), got in zip(EDITS, from_javascript["tempered"], strict=True):
        base = np.array(base)
        if t == 1:
            assert got == base.tolist()
            continue
        if t == 0:
            wanted = (np.arange(len(base)) == base.argmax()) * 1.0
        else:
            with np.errstate(divide="ignore"):
                logits = np.log(base) / t
            wanted = np.exp(logits - logits.max())
            wanted /= wanted.sum()
        assert sum(round(share * 100) for share in got) == 100
        assert np.abs(np.array(got) - wanted).max() < 0.01 + 1e-9


def test_counts_of_100_are_rounded_to_a_tenth():
    shares = [0.4, 0.13125, 0.0025, 0.99995, 0.0, 1 / 3]
    assert [of_100(share) for share in shares] == ["40", "13.1", "0.3", "100", "0", "33.3"]


# The Python side


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"tokens": "abc"}, "tokens is a list of words"),
        ({"tokens": ["a", "b"]}, "needs 3 to 8 words, it has 2"),
        ({"tokens": list("abcdefghi")}, "needs 3 to 8 words, it has 9"),
        ({"tokens": ["a", "b", "a"]}, "needs a word of its own"),
        ({"tokens": ["a", "b", " "]}, "needs a word of its own"),
        ({"p": [0.5, 0.5]}, "p needs 3 probabilities, one a token; it has 2"),
        ({"p": [0.5, 0.6, -0.1]}, "p gives 'cat' the probability -0.1"),
        ({"q": [0.5, float("nan"), 0.5]}, "q gives 'rug' the probability nan"),
        ({"q": [0.5, 0.3, 0.1]}, "q sums to 0.9; probabilities sum to 1"),
        ({"q": ["a", "b", "c"]}, "q is a list of probabilities"),
        ({"q": None}, "q is a list of probabilities"),
        ({"question": "Why?"}, "question and choices belong together"),
        ({"choices": CHOICES}, "question and choices belong together"),
        ({"question": "Why?", "choices": CHOICES[:1]}, "needs 2 to 26 choices"),
        ({"seed": -1}, "seed is a whole number"),
        ({"text": {"unknown_key": "x"}}, r"does not know: \['unknown_key'\]"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes, sentence):
    settings = dict(zip(("tokens", "p", "q"), CAT, strict=True)) | changes
    with pytest.raises(ValueError, match=sentence):
        SamplingLane(**settings)


def test_a_cell_can_read_the_lane():
    lane = SamplingLane(CAT[0], np.array(CAT[1]), np.array(CAT[2], dtype=np.float32))
    assert (lane.tokens, lane.p, lane.rule) == (CAT[0], CAT[1], "right")
    assert {type(share) for share in lane.p + lane.q + lane.law} == {float}
    assert lane.alpha == pytest.approx(0.7, abs=1e-6)
    assert lane.law == pytest.approx(lane.p, abs=1e-6)
    assert (lane.counts, lane.kept, lane.prediction) == ([0, 0, 0], 0, "")


def test_a_cell_can_change_the_lane():
    lane = free_lane()
    lane.counts, lane.kept = [5, 3, 2], 7
    lane.rule = "always"
    assert lane.law == pytest.approx(CAT[2])
    assert (lane.counts, lane.kept) == ([0, 0, 0], 0), "runs of another rule are forgotten"
    assert lane.describe().startswith("Nothing is thrown away")
    lane.q = [0.5, 0.3, 0.2]
    assert lane.alpha == pytest.approx(1)
    assert "it gives p all the same" in lane.describe()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("p", [0.5, 0.5]),
        ("q", [0.5, 0.5, 0.5]),
        ("rule", "left"),
        ("counts", [1, 2]),
        ("counts", [1, 2, -3]),
        ("counts", [0.5, 0.5, 0]),
    ],
)
def test_a_wrong_change_is_refused_and_rolled_back(name, value):
    lane = free_lane()
    before = getattr(lane, name)
    with pytest.raises(TraitError):
        setattr(lane, name, value)
    assert getattr(lane, name) == before


def test_a_locked_lane_gives_nothing_away():
    lane = locked_lane()
    assert (lane.locked, lane.alpha, lane.law, lane.prediction) == (True, None, [], "")
    assert lane.describe().startswith("Locked")
    lane.set_state({"prediction": "20"})
    assert (lane.locked, lane.alpha) == (False, pytest.approx(0.2))
    assert lane.law == pytest.approx(CAT[1])


def test_a_change_of_the_front_end_arrives_as_a_whole():
    lane = free_lane()
    lane.set_state({"counts": [5, 3, 2], "kept": 7, "stream": 9})
    lane.set_state({"rule": "from_p", "counts": [0, 0, 0], "kept": 0})
    lane.set_state({"counts": [1, 0, 0], "kept": 1, "stream": 10})
    assert (lane.counts, lane.kept, lane.stream) == ([1, 0, 0], 1, 10)
    assert lane.law == pytest.approx([0.35, 0.39, 0.26])


def test_every_rule_has_its_texts():
    for rule in RULES:
        assert TEXT[f"{rule}_name"][0] == ("✓" if rule == "right" else "✗")
        assert {f"{rule}_rule", f"status_{rule}"} <= set(TEXT)


def test_every_word_can_be_translated():
    lane = free_lane(text={"status_right": "{law}!"})
    assert lane.describe() == "mat 50, rug 30, cat 20!"


def test_the_sentence_says_what_comes_back_and_where():
    assert free_lane().describe() == (
        "Of 100 guesses 70 are kept. The 30 thrown away (cat 30) are put back exactly where the "
        "draft had proposed too little (mat 30). Out comes mat 50, rug 30, cat 20: exactly p."
    )
    lane = free_lane(LETTERS)
    lane.rule = "inverted"
    assert "Out comes A 13.1, B 16.9, C 30, D 40 instead of 40, 30, 20, 10: 40 of 100" in (
        lane.describe()
    )


@pytest.mark.parametrize("case", [CAT, LETTERS, EIGHT])
@pytest.mark.parametrize("rule", RULES)
def test_every_text_of_the_still_twin_lies_within_its_card(case, rule):
    lane = free_lane(case, question="Why?", choices=[("a", "b " * 80, True), ("c", "d", False)])
    lane.rule = rule
    figure, _alt = lane.still()
    texts_lie_on_their_card(figure)


def test_the_still_twin_says_what_it_shows():
    figure, alt = locked_lane().still()
    assert "cat: target p 20, draft q 100, 20 kept, 80 thrown away, 0 put back, 20 come out." in alt
    assert "redraw from p: " in alt
    assert "mat 40, rug 24, cat 36 instead of 50, 30, 20" in alt
    assert "✓ B. 20: As often as the target wants it." in alt
    shown = [words.get_text() for words in figure.axes[0].texts]
    assert {"✓ 20", "✗ 80", "+ 50", "+ 30", "✓ kept 20"} <= set(shown)


def test_still_mode_shows_a_picture(monkeypatch):
    lane = free_lane()
    assert lane._repr_mimebundle_()[0]["text/plain"] == IF_NOT_SHOWN
    monkeypatch.setenv("SPECDEC_STILL", "1")
    data, metadata = lane._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert metadata == {"image/png": {"alt": data["text/plain"]}}


def test_a_lesson_can_name_the_lane(monkeypatch, tmp_path):
    from specdec.widgets import lessons

    choices = [{"text": text, "reason": why, "right": right} for text, why, right in CHOICES]
    settings = dict(zip(("tokens", "p", "q"), CAT, strict=True))
    settings |= {"kind": "SamplingLane", "question": "Why?", "choices": choices}
    (tmp_path / "data").mkdir()
    (tmp_path / "data/lesson_09.json").write_text(json.dumps({"lane": settings}), "utf-8")
    monkeypatch.setattr(lessons, "files", lambda _package: tmp_path)
    assert lessons.load_widget("lesson_09", "lane").tokens == CAT[0]


# What a learner sees and does

COLORS = ("light", "dark", "dark-high-contrast")


def state(page, *names):
    """Return what the front end has written to the model."""
    values = page.evaluate("(names) => names.map((name) => state[name])", list(names))
    return values[0] if len(names) == 1 else tuple(values)


def counts_of(page, name):
    """The bars of p or q as whole counts."""
    return [round(100 * share) for share in state(page, name)]


def slider(page, name, token):
    """The slider of a token: name is Target p or Draft q."""
    return page.get_by_label(f"{name} of {token}")


def token_row(page, token):
    """The four bars of a token."""
    return page.get_by_role("group", name=token, exact=True)


def numbers(page, bar):
    """The number and the note beside a bar, of every token."""
    return [
        " ".join(text.split())
        for text in page.locator(f".sd-bar-{bar} .sd-number").all_inner_texts()
    ]


def status(page):
    """The sentence below the bars."""
    return page.locator(".sd-status").inner_text()


def press(page, name):
    """Press a button."""
    page.get_by_role("button", name=name, exact=True).click()


@pytest.mark.browser
@pytest.mark.parametrize("lane", [free_lane, locked_lane])
def test_every_focusable_element_keeps_jupyterlab_from_taking_its_keys(page, lane):
    show(page, lane())
    keys_are_kept(page, at_least=16)


@pytest.mark.browser
@pytest.mark.parametrize("theme", COLORS)
def test_axe_finds_nothing(page, theme):
    show(page, locked_lane(), theme)
    assert axe_violations(page, ".sd-widget") == []
    lane = locked_lane()
    lane.prediction = "36"
    show(page, lane, theme)
    page.get_by_label("redraw from p").check()
    press(page, "Run 1,000")
    page.locator("summary").click()
    assert axe_violations(page, ".sd-widget") == []


@pytest.mark.browser
@pytest.mark.parametrize("case", [CAT, EIGHT])
@pytest.mark.parametrize("width", [360, 600, 900])
def test_nothing_is_wider_than_its_page(page, case, width):
    page.set_viewport_size({"width": width, "height": 700})
    show(page, free_lane(case))
    press(page, "Run 10,000")
    page.locator("summary").click()
    for rule in RULES:
        page.locator(f".sd-chip input[value={rule}]").check()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        outside = page.locator(".sd-number, th, td").evaluate_all(
            "(nodes) => nodes.filter((node) => node.scrollWidth > node.clientWidth).length"
        )
        assert outside == 0


@pytest.mark.browser
def test_the_parts_are_drawn_to_scale_and_labelled(page):
    show(page, free_lane())
    cat = token_row(page, "cat")
    track = cat.locator(".sd-bar-q .sd-track").bounding_box()
    kept = cat.locator(".sd-bar-q .sd-kept").bounding_box()
    thrown = cat.locator(".sd-bar-q .sd-thrown").bounding_box()
    assert kept["width"] == pytest.approx(0.2 * track["width"], abs=1)
    assert thrown["width"] == pytest.approx(0.3 * track["width"], abs=1)
    assert thrown["x"] == pytest.approx(kept["x"] + kept["width"], abs=1)
    mat = token_row(page, "mat")
    assert mat.locator(".sd-bar-exact .sd-back").inner_text() == "+ 30"
    assert mat.locator(".sd-bar-q .sd-missing").bounding_box()["width"] == pytest.approx(
        0.3 * track["width"], abs=1
    )
    assert numbers(page, "p") == ["50", "30", "20"]
    assert numbers(page, "q") == ["20 30 too few", "30 = p", "50 30 too many"]
    assert numbers(page, "exact") == ["50 = p", "30 = p", "20 = p"]
    assert page.get_by_label("cat: 20 of 100 come out, 20 kept and 0 put back").count() == 1
    assert page.locator(".sd-entry").all_inner_texts() == [
        "✓ kept\n70",
        "✗ thrown away\n30",
        "+ put back\n30",
        "missing\n30",
    ]
    assert page.locator(".sd-alpha b").inner_text() == "α = 0.70"


@pytest.mark.browser
def test_no_label_lies_under_the_line_of_p(page):
    show(page, free_lane(LETTERS))
    for rule in RULES:
        page.locator(f".sd-chip input[value={rule}]").check()
        crossed = page.locator(".sd-track:has(.sd-tick)").evaluate_all(
            """(tracks) => tracks.filter((track) => {
              const line = track.querySelector(".sd-tick").getBoundingClientRect();
              return [...track.querySelectorAll(".sd-part > span")].some((label) => {
                const box = label.getBoundingClientRect();
                return box.width && box.left < line.right - 2 && line.left + 2 < box.right;
              });
            }).length"""
        )
        assert crossed == 0, rule


@pytest.mark.browser
def test_the_patterns_tell_the_parts_apart_without_color(page):
    show(page, free_lane())
    looks = page.locator(".sd-swatch").evaluate_all(
        """(nodes) => nodes.map((node) => {
          const style = getComputedStyle(node);
          return `${style.borderStyle} ${style.backgroundImage.split("(")[0]}`;
        })"""
    )
    assert len(set(looks)) == 4


@pytest.mark.browser
@pytest.mark.parametrize("rule", RULES)
def test_each_rule_shows_where_it_lands(page, rule):
    show(page, free_lane(LETTERS))
    page.locator(f".sd-chip input[value={rule}]").check()
    assert state(page, "rule") == rule
    shown = [number.split()[0] for number in numbers(page, "exact")]
    assert shown == [of_100(share) for share in LAWS[rule]]
    assert status(page) == status_sentence(TEXT, *LETTERS, rule)
    assert ("instead of" in status(page)) == (rule != "right")


@pytest.mark.browser
def test_a_bar_can_be_dragged_with_the_mouse(page):
    show(page, free_lane())
    track = token_row(page, "cat").locator(".sd-bar-q .sd-track").bounding_box()
    y = track["y"] + track["height"] / 2
    page.mouse.move(track["x"] + 0.5 * track["width"], y)
    page.mouse.down()
    for count in (70, 100, 40):
        page.mouse.move(track["x"] + count / 100 * track["width"], y, steps=4)
    page.mouse.up()
    assert counts_of(page, "q") == [24, 36, 40], "the others keep their proportions, 2 to 3"
    assert state(page, "q", "p") == ([0.24, 0.36, 0.4], CAT[1])
    assert status(page) == status_sentence(TEXT, CAT[0], CAT[1], [0.24, 0.36, 0.4], "right")


@pytest.mark.browser
def test_the_keyboard_alone_is_enough(page):
    show(page, free_lane())
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Reset"
    page.keyboard.press("Tab")
    assert page.locator(":focus").get_attribute("aria-label") == "Target p of mat"
    assert page.locator(":focus").get_attribute("aria-valuetext") == "50 of 100"
    page.keyboard.press("ArrowRight")
    assert counts_of(page, "p")[0] == 51
    assert page.locator(":focus").get_attribute("aria-valuetext") == "51 of 100"
    page.keyboard.press("End")
    assert counts_of(page, "p") == [100, 0, 0]
    page.keyboard.press("Home")
    assert counts_of(page, "p") == [0, 60, 40], "what the others had, 3 to 2, is not lost"
    for _ in range(8):
        page.keyboard.press("Tab")
    assert page.locator(":focus").get_attribute("value") == "right"
    page.keyboard.press("ArrowDown")
    assert state(page, "rule") == "from_p"
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert sum(state(page, "counts")) == 1000


@pytest.mark.browser
def test_focus_can_be_seen(page):
    show(page, free_lane())
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    outline = "(node) => getComputedStyle(node).outlineStyle"
    assert page.locator(":focus").evaluate(outline) == "solid"


@pytest.mark.browser
def test_another_bar_starts_from_what_is_there_now(page):
    show(page, free_lane())
    slider(page, "Target p", "mat").fill("100")
    slider(page, "Target p", "rug").fill("50")
    assert counts_of(page, "p") == [50, 50, 0]
    page.evaluate("model.set('p', [0.2, 0.4, 0.4])")
    slider(page, "Target p", "rug").fill("0")
    assert counts_of(page, "p") == [33, 0, 67], "Python's change is the new start"


@pytest.mark.browser
def test_temperatures_reshape_what_was_set(page):
    show(page, free_lane())
    heat = page.get_by_label("Temperature of p")
    heat.fill("0")
    assert counts_of(page, "p") == [100, 0, 0]
    heat.fill("0.5")
    assert counts_of(page, "p") == [66, 24, 10]
    heat.fill("1")
    assert state(page, "p") == CAT[1]
    page.get_by_label("Temperature of q").fill("3")
    assert counts_of(page, "q") == [28, 33, 39]
    slider(page, "Draft q", "cat").fill("0")
    assert state(page, "temperature") == {"p": 1, "q": 1}, "what is set by hand is the new 1"
    assert state(page, "base")["q"] == state(page, "q")


@pytest.mark.browser
def test_runs_fill_up_to_p_and_add_up(page):
    show(page, free_lane())
    assert page.locator(".sd-story").inner_text().startswith("No run yet")
    assert numbers(page, "runs") == ["–"] * 3
    press(page, "Run 1,000")
    first = state(page, "counts")
    assert (first, state(page, "kept")) == simulate(*CAT[1:], "right", 1000, 1)[:2]
    press(page, "Run 10,000")
    assert state(page, "counts") == simulate(*CAT[1:], "right", 11_000, 1)[0]
    assert page.locator(".sd-story").inner_text().startswith("11,000 runs: ")
    press(page, "Clear runs")
    assert (state(page, "counts"), state(page, "kept")) == ([0, 0, 0], 0)
    press(page, "Run 1,000")
    assert state(page, "counts") != first, "cleared runs are not drawn once more"


@pytest.mark.browser
def test_the_bracket_is_two_standard_errors_around_p(page):
    show(page, free_lane())
    press(page, "Run 1,000")
    for token, p in zip(*CAT[:2], strict=True):
        bar = token_row(page, token).locator(".sd-bar-runs")
        track = bar.locator(".sd-track").bounding_box()
        bracket = bar.locator(".sd-error").bounding_box()
        error = 2 * math.sqrt(p * (1 - p) / 1000)
        middle = bracket["x"] + bracket["width"] / 2 - track["x"]
        assert middle == pytest.approx(p * track["width"], abs=1)
        assert bracket["width"] == pytest.approx(2 * error * track["width"], abs=1)


@pytest.mark.browser
def test_runs_of_a_wrong_rule_leave_the_bracket(page):
    show(page, free_lane(LETTERS))
    page.get_by_label("keep all").check()
    press(page, "Run 10,000")
    assert [note.split()[1] for note in numbers(page, "runs")] == ["outside"] * 4
    assert "0 of 4 tokens lie within" in page.locator(".sd-story").inner_text()


@pytest.mark.browser
def test_one_run_tells_its_story(page):
    show(page, locked_lane(question=None, choices=None))
    stories = set()
    for _ in range(12):
        press(page, "Run 1")
        stories.add(page.locator(".sd-story").inner_text().split(": ")[1].split(" ")[0])
    assert stories == {"kept.", "thrown"}
    assert (
        page.locator(".sd-story")
        .inner_text()
        .startswith("The draft drew cat, which is kept with chance 20 in 100:")
    )
    assert sum(state(page, "counts")) == 12


@pytest.mark.browser
@pytest.mark.parametrize(
    "change",
    [
        lambda page: slider(page, "Target p", "mat").fill("10"),
        lambda page: page.get_by_label("Temperature of q").fill("2"),
        lambda page: page.get_by_label("keep all").check(),
        lambda page: press(page, "Reset"),
    ],
)
def test_every_change_starts_the_runs_anew(page, change):
    show(page, free_lane())
    slider(page, "Draft q", "cat").fill("30")
    press(page, "Run 1,000")
    change(page)
    assert (state(page, "counts"), state(page, "kept")) == ([0, 0, 0], 0)


@pytest.mark.browser
def test_reset_brings_everything_back(page):
    lane = free_lane()
    show(page, lane)
    slider(page, "Target p", "mat").fill("10")
    page.get_by_label("Temperature of q").fill("2")
    page.get_by_label("keep all").check()
    press(page, "Run 1,000")
    press(page, "Reset")
    for name in ("p", "q", "rule", "base", "temperature", "counts", "kept", "stream"):
        assert state(page, name) == getattr(lane, name), name


@pytest.mark.browser
def test_a_locked_lane_shows_p_and_q_and_nothing_else(page):
    show(page, locked_lane())
    assert numbers(page, "p") == ["50", "30", "20"]
    assert numbers(page, "q") == ["0", "0", "100"]
    assert numbers(page, "exact") == ["?"] * 3
    assert {text.split("\n")[1] for text in page.locator(".sd-entry").all_inner_texts()} == {"?"}
    assert page.locator(".sd-alpha b").inner_text() == "α = ?"
    for part in ("kept", "thrown", "back", "missing", "share", "error"):
        assert page.locator(f".sd-part.sd-{part}:visible").count() == 0, part
    assert status(page).startswith("Locked")
    assert not page.locator("summary").is_visible()
    assert page.locator("table").text_content() == ""
    controls = page.locator(".sd-tokens input, .sd-heat input, .sd-chip input, .sd-button")
    waiting = [node for node in controls.all() if not node.is_disabled()]
    assert [node.inner_text() for node in waiting] == ["Show what happens"]
    assert page.get_by_label("cat: not shown yet").count() == 1


@pytest.mark.browser
def test_committing_unlocks_the_lane(page):
    show(page, locked_lane())
    top = page.locator(".sd-question").evaluate("(node) => node.offsetTop")
    press(page, "Show what happens")
    assert page.locator(".sd-verdict").inner_text() == "Choose an answer first."
    page.get_by_label("36").check()
    assert state(page, "prediction") == "", "choosing is not yet committing"
    press(page, "Show what happens")
    assert state(page, "prediction") == "36"
    assert page.locator(".sd-verdict").inner_text() == "✗ Not this time."
    assert numbers(page, "exact") == ["50 = p", "30 = p", "20 = p"]
    assert page.locator(":focus").get_attribute("class") == "sd-status"
    assert page.locator(".sd-question").evaluate("(node) => node.offsetTop") == top
    assert page.locator(".sd-numbers").is_visible()
    press(page, "Run 1,000")
    assert state(page, "counts")[2] == pytest.approx(200, abs=60)


@pytest.mark.browser
def test_the_table_holds_every_number(page):
    show(page, free_lane())
    page.locator("summary").click()
    rows = [row.split("\t") for row in page.locator("tr").all_inner_texts()]
    assert rows[1:] == [
        ["mat", "50", "20", "20", "0", "30", "50"],
        ["rug", "30", "30", "30", "0", "0", "30"],
        ["cat", "20", "50", "20", "30", "0", "20"],
        ["sum", "100", "100", "70", "30", "30", "100"],
    ]


@pytest.mark.browser
def test_a_change_is_sent_once(page):
    show(page, free_lane())
    slider(page, "Target p", "mat").fill("10")
    press(page, "Run 1,000")
    assert page.evaluate("model.saves") == 2


@pytest.mark.browser
def test_two_views_show_the_same_and_a_removed_one_stops_listening(page):
    show(page, free_lane())
    second_view(page)
    first, second = page.locator(".sd-sampling").all()
    first.get_by_label("keep all").check()
    assert second.get_by_label("keep all").is_checked()
    assert first.get_by_label("keep all").is_checked(), "each view has its own radio group"
    page.evaluate("cleanup(); model.set('rule', 'right')")
    assert second.locator(".sd-status").inner_text().startswith("Of 100 guesses")
    assert first.locator(".sd-status").inner_text().startswith("Nothing is thrown away")


@pytest.mark.browser
def test_markup_in_a_token_is_never_run(page):
    show(page, free_lane((["<img src=x onerror=alert(1)>", "b", "c"], *CAT[1:])))
    assert page.locator(".sd-widget img").count() == 0


RUN_AGAIN = """(cell) => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.activeCellIndex = cell;
  content.widgets[cell].model.sharedModel.execution_count = null;
  window.jupyterapp.commands.execute("notebook:run-cell");
}"""


@pytest.mark.browser
def test_the_lane_in_jupyterlab_keeps_its_keys_and_its_state(browser, tmp_path):
    import nbformat

    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    source = (
        "from specdec.widgets import SamplingLane\n"
        f"lane = SamplingLane({CAT[0]}, {CAT[1]}, [0, 0, 1], question='How often?', "
        f"choices={CHOICES})\nlane"
    )
    reading = "print(lane.q, lane.rule, lane.alpha, sum(lane.counts), lane.prediction)"
    notebook.cells = [nbformat.v4.new_code_cell(text) for text in (source, reading)]
    repository = str(FOLDER.parents[1])
    with Lab(tmp_path, env={"PYTHONPATH": repository}) as lab:
        nbformat.write(notebook, lab.root / "lane.ipynb")
        opened = lab.open(browser, "lane.ipynb")
        opened.run_all()
        opened.scroll_to(0)
        lane = opened.page.locator(".sd-sampling")
        lane.wait_for()
        lane.get_by_label("20").check()
        lane.get_by_role("button", name="Show what happens").click()
        cells = opened.cell_count()
        controls = [lane.get_by_label(name) for name in ("Draft q of cat", "Temperature of p")]
        controls += [lane.locator("input[value=right]"), lane.locator("summary")]
        controls += [lane.get_by_role("button", name="Run 1", exact=True)]
        for control in controls:
            control.focus()
            opened.page.keyboard.type("ddxab")
            assert opened.cell_count() == cells, control
        lane.get_by_label("Draft q of cat").fill("50")
        lane.get_by_label("redraw from p").check()
        lane.get_by_role("button", name="Run 1,000").click()
        for theme in THEMES:
            opened.theme(theme)
            assert axe_violations(opened.page, ".sd-widget") == []
        opened.page.evaluate(RUN_AGAIN, 1)
        opened.wait_until_run()
        read = opened.scroll_to(1).locator(".jp-OutputArea").inner_text()
        assert "[0.25, 0.25, 0.5] from_p 0.7 1000 20" in read
        opened.save()
        opened.close()
        lab.stop()
        lab.start()

        opened = lab.open(browser, "lane.ipynb")
        opened.scroll_to(0)
        lane = opened.page.locator(".sd-sampling")
        lane.wait_for()
        assert lane.locator(".sd-offline").is_visible()
        assert lane.get_by_label("redraw from p").is_checked()
        assert lane.locator(".sd-story").inner_text().startswith("1,000 runs")
        lane.locator("input[value=right]").check()
        lane.get_by_role("button", name="Run 10,000").click()
        assert lane.locator(".sd-story").inner_text().startswith("10,000 runs")
        opened.close()
        assert (opened.foreign, opened.errors) == ([], [])
