"""The cost explorer: its rules in both languages, and what a learner sees and does."""

import base64
import random

import pytest
from alone import in_node, keys_are_kept, second_view, show
from lab import axe_violations
from traitlets import TraitError

from specdec.reference.lesson_01 import expected_tokens
from specdec.reference.lesson_05 import break_even as worked_break_even
from specdec.reference.lesson_05 import optimal_k, speedup
from specdec.widgets import CostExplorer
from specdec.widgets.base import IF_NOT_SHOWN
from specdec.widgets.cost_explorer import (
    CRITICAL,
    K_MAX,
    PAPER_CASES,
    TEXT,
    Setting,
    best_k,
    break_even,
    losing_batch,
    of_the_course,
    round_cost,
    speedup_at,
    status_sentence,
    tokens_per_pass,
    two_places,
    verify_cost,
)

CHOICES = [
    ("With the large one", "It costs more than it gives.", False),
    ("With the small one", "3.16 against 2.50.", True),
    ("With neither", "Both give three tokens a round.", False),
]
CURVE = [1.0, 1.2, 1.4, 1.3, 1.6, *[1.7 + i / 10 for i in range(12)]]


def free_explorer(**changes):
    """An explorer without a question, at the setting of lesson 1's example."""
    return CostExplorer(**({"a": 0.8, "c": 0.1, "k": 4, "curve": CURVE} | changes))


def locked_explorer(**changes):
    """An explorer that waits for a prediction, with a pinned draft."""
    settings = {
        "a": 0.75,
        "c": 0.02,
        "k": 7,
        "pinned": {"a": 0.82, "c": 0.11, "k": 7},
        "question": "With which draft is the target faster?",
        "choices": CHOICES,
    }
    return CostExplorer(**(settings | changes))


def random_settings(count, seed):
    """Return settings over the whole range of the sliders, their ends included."""
    rng = random.Random(seed)
    settings = []
    for _ in range(count):
        curve = [1.0] + [round(rng.uniform(0.8, 9), 3) for _ in range(K_MAX)]
        settings.append(
            Setting(
                a=rng.choice([0, 1, 0.5, round(rng.random(), 2)]),
                c=rng.choice([0, 0.5, 0.25, round(rng.random() / 2, 2)]),
                k=rng.randrange(K_MAX + 1),
                model=rng.choice(["flat", "curve", "batch"]),
                batch=rng.choice([1, 2, 30, 95, 150, 151, 512]),
                critical=rng.choice([1, 40, 150]),
                curve=tuple(curve),
            )
        )
    return settings


SETTINGS = random_settings(1_500, seed=5)
T5_SMALL, T5_LARGE = Setting(0.75, 0.02, 7), Setting(0.82, 0.11, 7)


# The rules


def test_the_rules_agree_with_the_worked_functions():
    for s in SETTINGS:
        assert tokens_per_pass(s.a, s.k) == pytest.approx(expected_tokens(s.a, s.k), rel=1e-12)
        worked = speedup(s.a, s.k, s.c, verify_cost(s, s.k))
        assert speedup_at(s, s.k) == pytest.approx(worked, rel=1e-12)
        flat = s._replace(model="flat")
        assert best_k(flat) == optimal_k(s.a, s.c, K_MAX)
        if min(abs(round_cost(s, s.k) - most) for most in (1, s.k + 1)) > 1e-9:
            wanted = worked_break_even(s.k, s.c, verify_cost(s, s.k))
            assert break_even(s) == (wanted and pytest.approx(wanted, abs=1e-6))


def test_the_batch_model_on_paper():
    s = Setting(0.8, 0.05, 4, "batch", critical=150)
    at = {batch: verify_cost(s._replace(batch=batch), 4) for batch in (1, 30, 60, 150, 300)}
    assert at == {1: 1, 30: 1, 60: 2, 150: 5, 300: 5}
    assert losing_batch(s) == 95
    assert speedup_at(s._replace(batch=94), 4) > 1 > speedup_at(s._replace(batch=95), 4)
    for k, share in [(2, 0.780), (4, 0.632), (8, 0.437)]:
        assert losing_batch(s._replace(k=k)) == int(150 * share) + 1
    assert losing_batch(s._replace(k=0)) is None
    assert losing_batch(s._replace(a=1, c=0)) is None
    assert losing_batch(s._replace(a=0)) == 1


def test_from_the_losing_batch_on_every_batch_loses():
    for s in SETTINGS:
        lost = losing_batch(s)
        there = s._replace(model="batch")
        speeds = [speedup_at(there._replace(batch=b), s.k) for b in range(1, 2 * s.critical + 1)]
        losing = [speed < 1 - 1e-12 for speed in speeds]
        assert losing == sorted(losing)
        assert (losing.index(True) + 1 if any(losing) else None) == lost


def test_numbers_are_written_with_two_places():
    values = [3.3616, 0.125, 1.005, 0.994999, 2, 0]
    assert [two_places(v) for v in values] == ["3.36", "0.13", "1.01", "0.99", "2.00", "0.00"]


def test_the_sentence_says_what_a_setting_gives():
    space = "\u00a0"
    assert status_sentence(TEXT, T5_SMALL) == (
        "A round gives 3.60 tokens for a cost of 1.14 passes: 3.16 times as fast as plain "
        f"decoding. Best would be k{space}={space}9, 3.20{space}times."
    )
    assert "so slower" in status_sentence(TEXT, Setting(0, 0.1, 4))
    assert "no gain, no loss" in status_sentence(TEXT, Setting(0.25, 0.25, 1))
    assert status_sentence(TEXT, Setting(0, 0.1, 0)).startswith("k = 0: nothing is drafted")
    batch = Setting(0.8, 0.05, 8, "batch", batch=8)
    assert status_sentence(TEXT, batch).endswith("At k = 8 it loses from 66 texts on.")
    assert status_sentence(TEXT, batch._replace(a=0)).endswith("it loses at every batch.")
    assert status_sentence(TEXT, batch._replace(a=1, c=0)).endswith("It loses at no batch.")


# The twin in JavaScript

RUN = """
import { readFileSync } from "node:fs";
import * as explorer from "./widget.mjs";
const { text, settings, values } = JSON.parse(readFileSync(0, "utf8"));
const results = settings.map((s) => ({
  tokens: explorer.tokensPerPass(s.a, s.k),
  cost: explorer.roundCost(s, s.k),
  speedup: explorer.speedupAt(s, s.k),
  best: explorer.bestK(s),
  even: explorer.breakEven(s),
  losing: explorer.losingBatch(s),
  sentence: explorer.statusSentence(text, s),
}));
console.log(JSON.stringify({ results, places: values.map(explorer.twoPlaces) }));
"""
VALUES = [i / 800 for i in range(4_000)]


@pytest.fixture(scope="module")
def from_javascript(tmp_path_factory):
    sent = {"text": TEXT, "settings": [s._asdict() for s in SETTINGS], "values": VALUES}
    return in_node(tmp_path_factory.mktemp("explorer"), CostExplorer._esm, RUN, sent)


def test_same_results_in_both_languages(from_javascript):
    for s, got in zip(SETTINGS, from_javascript["results"], strict=True):
        assert got == {
            "tokens": tokens_per_pass(s.a, s.k),
            "cost": round_cost(s, s.k),
            "speedup": speedup_at(s, s.k),
            "best": best_k(s),
            "even": break_even(s),
            "losing": losing_batch(s),
            "sentence": status_sentence(TEXT, s),
        }, s


def test_same_writing_of_numbers_in_both_languages(from_javascript):
    assert from_javascript["places"] == [two_places(value) for value in VALUES]


# The Python side


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"a": 1.5}, "a must lie between 0 and 1"),
        ({"c": -0.1}, "c must lie between 0 and 0.5"),
        ({"k": 17}, "k must lie between 0 and 16"),
        ({"batch": 0}, "batch must lie between 1 and 512"),
        ({"critical": 0}, "critical must lie between 1 and 10000"),
        ({"curve": [1.0, 2.0]}, "curve needs 17 costs above 0"),
        ({"curve": [1.0] * 16 + [0.0]}, "curve needs 17 costs above 0"),
        ({"pinned": {"a": 0.5}}, "pinned needs a, c and k"),
        ({"pinned": {"a": 0.5, "c": 2, "k": 3}}, "c must lie between 0 and 0.5"),
        ({"question": "Why?"}, "question and choices belong together"),
        ({"text": {"unknown_key": "x"}}, r"does not know: \['unknown_key'\]"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        free_explorer(**changes)


def test_a_cell_can_read_and_move_the_explorer():
    explorer = free_explorer()
    assert explorer.tokens_per_pass == pytest.approx(3.3616)
    assert explorer.speedup == pytest.approx(3.3616 / 1.4)
    assert explorer.best_k == 6
    assert explorer.break_even == pytest.approx(0.287108, abs=1e-6)
    explorer.k, explorer.model = 0, "batch"
    assert (explorer.speedup, explorer.losing_batch) == (1, None)
    with pytest.raises(TraitError):
        explorer.k = 40
    assert explorer.k == 0
    explorer.curve = [2.0] * 17
    explorer.model, explorer.k = "curve", 1
    assert explorer.speedup == pytest.approx(1.8 / 2.1)


def test_a_locked_explorer_gives_nothing_away():
    explorer = locked_explorer()
    results = ("tokens_per_pass", "speedup", "best_k", "break_even", "losing_batch")
    assert [getattr(explorer, name) for name in results] == [None] * 5
    assert explorer.describe().startswith("Locked")
    explorer.set_state({"prediction": "With the small one"})
    assert explorer.speedup == pytest.approx(3.1575, abs=1e-4)


def test_the_papers_cases_give_the_papers_speeds():
    speeds = {case["name"]: speedup(case["a"], case["k"], case["c"]) for case in PAPER_CASES}
    assert speeds["T5-small drafts, translation"] == pytest.approx(3.2, abs=0.05)
    assert speeds["T5-base drafts, translation"] == pytest.approx(3.3, abs=0.05)
    assert speeds["T5-large drafts, translation"] == pytest.approx(2.5, abs=0.05)
    assert speeds["T5-small drafts, sampled"] == pytest.approx(2.3, abs=0.05)
    assert speeds["T5-large drafts, sampled"] == pytest.approx(2.0, abs=0.07)
    assert speeds["A table of word pairs drafts"] == pytest.approx(1.25, abs=0.01)


def test_the_courses_own_pair_is_a_case():
    recorded = of_the_course()
    assert len(recorded["curve"]) == K_MAX + 1
    assert recorded["curve"][0] == 1
    names = [case["name"] for case in recorded["cases"]]
    assert names == ["This course: draft", "This course: draft, distilled"]
    for case in CostExplorer().cases:
        CostExplorer(**{name: case[name] for name in ("a", "c", "k", "model")})


@pytest.mark.parametrize("model", ["flat", "curve", "batch"])
def test_every_text_of_the_still_twin_lies_within_its_card(model):
    explorer = locked_explorer(model=model)
    figure, alt = explorer.still()
    figure.draw_without_rendering()
    for words in figure.axes[0].texts:
        box = words.get_window_extent()
        assert figure.bbox.x0 <= box.x0, words
        assert box.x1 <= figure.bbox.x1, words
        assert figure.bbox.y0 <= box.y0, words
        assert box.y1 <= figure.bbox.y1, words
    assert "Speedup: " in alt
    assert "✓ B. With the small one: 3.16 against 2.50." in alt
    assert ("Loses from batch: " in alt) == (model == "batch")


def test_still_mode_shows_a_picture(monkeypatch):
    explorer = free_explorer()
    assert explorer._repr_mimebundle_()[0]["text/plain"] == IF_NOT_SHOWN
    monkeypatch.setenv("SPECDEC_STILL", "1")
    data, metadata = explorer._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert metadata == {"image/png": {"alt": data["text/plain"]}}


# What a learner sees and does

COLORS = ("light", "dark", "dark-high-contrast")


def state(page, *names):
    """Return what the front end has written to the model."""
    values = page.evaluate("(names) => names.map((name) => state[name])", list(names))
    return values[0] if len(names) == 1 else tuple(values)


def tiles(page):
    """The numbers above the charts that are shown, {name: value}."""
    shown = page.locator(".sd-tile:visible").all_inner_texts()
    return dict(text.split("\n") for text in shown)


def slider(page, name):
    return page.get_by_role("slider", name=name, exact=True)


def status(page):
    return page.locator(".sd-status").inner_text()


@pytest.mark.browser
@pytest.mark.parametrize("explorer", [free_explorer, locked_explorer])
def test_every_focusable_element_keeps_jupyterlab_from_taking_its_keys(page, explorer):
    show(page, explorer(model="batch"))
    keys_are_kept(page, at_least=13)


@pytest.mark.browser
@pytest.mark.parametrize("theme", COLORS)
def test_axe_finds_nothing(page, theme):
    show(page, locked_explorer(), theme)
    assert axe_violations(page, ".sd-widget") == []
    explorer = locked_explorer(model="batch", batch=384)
    explorer.prediction = "With the large one"
    show(page, explorer, theme)
    page.locator("summary").click()
    assert axe_violations(page, ".sd-widget") == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 600, 900])
def test_nothing_is_wider_than_its_page(page, width):
    page.set_viewport_size({"width": width, "height": 700})
    explorer = locked_explorer(model="batch")
    explorer.prediction = "With the small one"
    show(page, explorer)
    page.locator("summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
def test_the_tiles_show_what_the_rules_say(page):
    show(page, free_explorer())
    assert tiles(page) == {
        "Speedup": "2.40×",
        "Tokens a pass": "3.36",
        "Cost of a round": "1.40",
        "Best k": "6 (2.47×)",
        "Pays from a": "0.29",
    }
    page.get_by_label("what the batch needs").check()
    slider(page, "Texts in a batch").fill("13")
    assert state(page, "model", "batch") == ("batch", 128)
    s = Setting(0.8, 0.1, 4, "batch", 128)
    assert tiles(page)["Loses from batch"] == str(losing_batch(s))
    assert tiles(page)["Speedup"] == f"{two_places(speedup_at(s, 4))}×"
    assert page.locator(".sd-tile-speedup").get_attribute("data-loses") == "true"
    assert status(page) == status_sentence(TEXT, s)


@pytest.mark.browser
def test_sliders_can_be_dragged_with_the_mouse(page):
    show(page, free_explorer())
    box = slider(page, "Acceptance a").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert state(page, "a") == pytest.approx(0.5, abs=0.02)
    page.get_by_label("as measured").check()
    assert state(page, "model") == "curve"
    s = Setting(state(page, "a"), 0.1, 4, "curve", curve=tuple(CURVE))
    assert status(page) == status_sentence(TEXT, s)


@pytest.mark.browser
def test_the_keyboard_alone_is_enough(page):
    show(page, free_explorer())

    def focused(name):
        return page.locator(":focus").evaluate(f"(node) => node.{name}")

    page.keyboard.press("Tab")
    assert focused("innerText") == "Reset"
    page.keyboard.press("Tab")
    assert focused("tagName") == "SELECT"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert state(page, "a") == pytest.approx(0.81)
    assert page.locator(":focus").get_attribute("aria-valuetext") == "0.81"
    page.keyboard.press("Tab")
    page.keyboard.press("Home")
    assert state(page, "c") == 0
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    assert state(page, "k") == K_MAX
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert state(page, "model") == "curve"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert state(page, "pinned")["k"] == K_MAX
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert state(page, "pinned") == {}


@pytest.mark.browser
def test_a_case_sets_the_sliders_and_a_slider_leaves_the_case(page):
    show(page, free_explorer())
    box = page.get_by_label("Load a case")
    assert box.input_value() == ""
    box.select_option("T5-large drafts, translation")
    assert state(page, "a", "c", "k", "model") == (0.82, 0.11, 7, "flat")
    assert tiles(page)["Speedup"] == "2.50×"
    assert box.input_value() == "2"
    slider(page, "Guesses a round, k").fill("6")
    assert box.input_value() == ""


@pytest.mark.browser
def test_a_pinned_curve_stays_and_reset_brings_everything_back(page):
    explorer = free_explorer()
    show(page, explorer)
    assert page.locator(".sd-curve").count() == 2
    page.get_by_role("button", name="Pin this curve").click()
    slider(page, "Acceptance a").fill("0.5")
    assert page.locator(".sd-curve.sd-pinned").count() == 2
    assert "pinned: a 0.80 · c 0.10 · k 4: 2.40×" in page.locator(".sd-legend").inner_text()
    page.get_by_role("button", name="Reset").click()
    for name in ("a", "c", "k", "model", "batch", "pinned"):
        assert state(page, name) == getattr(explorer, name), name


@pytest.mark.browser
def test_the_charts_say_what_they_show(page):
    show(page, free_explorer(model="batch"))
    labels = [node.get_attribute("aria-label") for node in page.locator("svg").all()]
    assert labels == [
        "Speedup over k. The best k is 6, with a speedup of 2.47.",
        f"Speedup over the batch, at this k. It loses from batch: "
        f"{losing_batch(Setting(0.8, 0.1, 4))}.",
    ]
    assert page.locator(".sd-sign").all_text_contents() == ["★", "◆"]


@pytest.mark.browser
def test_a_locked_explorer_shows_the_sliders_and_nothing_else(page):
    show(page, locked_explorer())
    assert set(tiles(page).values()) == {"?"}
    assert page.locator(".sd-curve, .sd-dot, .sd-sign").count() == 0
    assert status(page).startswith("Locked")
    assert not page.locator("summary").is_visible()
    assert page.locator("table").text_content() == ""
    assert page.locator(".sd-legend").inner_text() == ""
    controls = page.locator(".sd-controls input, .sd-models input, select, .sd-button")
    waiting = [node for node in controls.all() if not node.is_disabled()]
    assert [node.inner_text() for node in waiting] == ["Show what happens"]
    assert page.get_by_label("An empty chart: predict first.").count() == 2


@pytest.mark.browser
def test_committing_unlocks_the_explorer(page):
    show(page, locked_explorer())
    page.get_by_role("button", name="Show what happens").click()
    assert page.locator(".sd-verdict").inner_text() == "Choose an answer first."
    page.get_by_label("With the large one").check()
    page.get_by_role("button", name="Show what happens").click()
    assert state(page, "prediction") == "With the large one"
    assert page.locator(".sd-verdict").inner_text() == "✗ Not this time."
    assert tiles(page)["Speedup"] == "3.16×"
    assert page.locator(":focus").get_attribute("class") == "sd-status"


@pytest.mark.browser
def test_the_table_holds_every_k(page):
    show(page, free_explorer())
    page.locator("summary").click()
    rows = [row.split("\t") for row in page.locator("tr").all_inner_texts()]
    s = Setting(0.8, 0.1, 4)
    assert len(rows) == K_MAX + 2
    for k, row in enumerate(rows[1:]):
        wanted = [two_places(f) for f in (tokens_per_pass(0.8, k), round_cost(s, k))]
        assert row == [str(k), *wanted, two_places(speedup_at(s, k))]


@pytest.mark.browser
def test_a_change_is_sent_once(page):
    show(page, free_explorer())
    slider(page, "Acceptance a").fill("0.3")
    page.get_by_label("Load a case").select_option("T5-small drafts, translation")
    assert page.evaluate("model.saves") == 2


@pytest.mark.browser
def test_two_views_show_the_same_and_a_removed_one_stops_listening(page):
    show(page, free_explorer())
    second_view(page)
    first, second = page.locator(".sd-explorer").all()
    first.get_by_label("as measured").check()
    assert second.get_by_label("as measured").is_checked()
    assert first.get_by_label("as measured").is_checked(), "each view has its own radio group"
    page.evaluate("cleanup(); model.set('k', 0)")
    assert second.locator(".sd-status").inner_text().startswith("k = 0")
    assert first.locator(".sd-status").inner_text().startswith("A round")


def test_the_constants_fit_lesson_1():
    assert pytest.approx(14e9 / 2e12 / (14e9 / 300e12), rel=1e-12) == CRITICAL
