"""The cache lanes: the rule in two languages, the Python side, and a real browser."""

import itertools

import pytest
from alone import in_node, show
from lab import axe_violations

from specdec.widgets import CacheLanes
from specdec.widgets.cache_lanes import ROLLBACKS, STEPS, TEXT, harm, stages, status_sentence

CHOICES = [
    ("12 and 11", "They hold guesses that are not in the text.", False),
    ("10 and 10", "All that was read and stays.", True),
]
RUN = """
import { readFileSync } from "node:fs";
import { stages, harm, statusSentence } from "./widget.mjs";
const { text, states } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(states.map((s) => ({
  stages: stages(s.length, s.k, s.accepted, s.rollback),
  harm: harm(s.length, s.k, s.accepted, s.rollback),
  sentence: statusSentence(text, s),
}))));
"""
STATES = [
    {"length": n, "k": k, "accepted": a, "rollback": rollback, "step": step, "said": said}
    for n, k in ((1, 1), (7, 4), (12, 6), (3, 2))
    for a in range(k + 1)
    for rollback, step, said in itertools.product(ROLLBACKS, range(len(STEPS)), ([], [n + 1, n]))
]


def locked_lanes():
    return CacheLanes(7, 4, 2, question="What do they hold?", choices=CHOICES)


def free_lanes(accepted=2):
    return CacheLanes(7, 4, accepted)


# --- the rule ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def from_javascript(tmp_path_factory):
    return in_node(
        tmp_path_factory.mktemp("rule"), CacheLanes._esm, RUN, {"text": TEXT, "states": STATES}
    )


def test_both_languages_agree_on_every_round(from_javascript):
    for state, got in zip(STATES, from_javascript, strict=True):
        round_ = [state[name] for name in ("length", "k", "accepted", "rollback")]
        assert got["stages"] == stages(*round_), state
        assert got["harm"] == harm(*round_), state
        assert got["sentence"] == status_sentence(TEXT, state), state


@pytest.mark.parametrize(("length", "k"), [(7, 4), (1, 1), (20, 5)])
def test_lengths_are_those_of_the_rule(length, k):
    for accepted in range(k + 1):
        steps = stages(length, k, accepted, "right")
        assert [len(s["target"]) for s in steps[2:5]] == [
            length + k + 1, length + k + 1, length + 1 + accepted
        ]  # fmt: skip
        assert len(steps[2]["draft"]) == length + k
        assert len(steps[4]["draft"]) == min(length + 1 + accepted, length + k)
        assert steps[5]["target"] == steps[5]["draft"] == steps[5]["text"]


@pytest.mark.parametrize(
    ("rollback", "harms"),
    [
        ("right", ["none"] * 5),
        ("target_kept", ["text", "text", "text", "text", "none"]),
        ("draft_kept", ["draft", "draft", "draft", "none", "none"]),
        ("draft_one_more", ["draft", "draft", "draft", "draft", "none"]),
        ("last_missing", ["none", "none", "none", "none", "draft"]),
        ("draft_reset", ["draft"] * 5),
    ],
)
def test_what_each_wrong_rollback_breaks(rollback, harms):
    assert [harm(7, 4, accepted, rollback) for accepted in range(5)] == harms


# --- the Python side ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((0, 4, 2), "length is 1 to 12"),
        ((7, 0, 0), "k 1 to 6"),
        ((7, 7, 2), "k 1 to 6"),
        ((7, 4, 5), "accepted is 0 to 4, got 5"),
        ((7, 4, -1), "accepted is 0 to 4, got -1"),
    ],
)
def test_a_round_that_does_not_fit_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        CacheLanes(*arguments)


def test_question_and_choices_belong_together():
    with pytest.raises(ValueError, match="belong together"):
        CacheLanes(7, 4, 2, question="What?")


def test_locked_lanes_give_nothing_away():
    lanes = locked_lanes()
    assert lanes.locked
    assert (lanes.target_length, lanes.draft_length, lanes.harm) == (None, None, None)
    assert lanes.describe() == TEXT["status_locked"]


def test_a_prediction_unlocks_and_shows_the_rollback():
    lanes = locked_lanes()
    lanes.prediction = "12 and 11"
    assert (lanes.step, lanes.target_length, lanes.draft_length) == (4, 10, 10)
    assert lanes.harm == "none"


def test_a_cell_can_set_the_round():
    lanes = free_lanes()
    lanes.accepted, lanes.rollback, lanes.step = 4, "last_missing", 5
    assert (lanes.target_length, lanes.draft_length, lanes.harm) == (13, 12, "draft")
    with pytest.raises(ValueError, match="accepted is 0 to 4"):
        lanes.accepted = 9
    with pytest.raises(ValueError, match="step is 0 to 5"):
        lanes.step = 6


def test_the_still_twin_says_what_it_shows(monkeypatch):
    monkeypatch.setenv("SPECDEC_STILL", "1")
    lanes = locked_lanes()
    lanes.prediction = "10 and 10"
    data, metadata = lanes._repr_mimebundle_()
    alt = metadata["image/png"]["alt"]
    assert data["text/plain"] == alt
    assert "Target's cache, holds 10: A, B, C, D, E, F, G, H, w accepted, x accepted." in alt
    assert "✓ B. 10 and 10: All that was read and stays." in alt


# --- in a browser ------------------------------------------------------------------------------


def status(page):
    return page.locator(".sd-status").inner_text()


def go(page):
    page.locator(".sd-header .sd-primary").click()


def held(page, lane):
    return page.locator(f".sd-row-{lane} .sd-count").inner_text()


def say(page, target, draft):
    page.get_by_label("Target will hold").select_option(str(target))
    page.get_by_label("Draft will hold").select_option(str(draft))


@pytest.mark.browser
def test_the_round_step_by_step_with_the_mouse(page):
    show(page, free_lanes())
    assert (held(page, "target"), held(page, "draft")) == ("holds 7", "holds 7")
    for lengths in (("holds 7", "holds 11"), ("holds 12", "holds 11"), ("holds 12", "holds 11")):
        go(page)
        assert (held(page, "target"), held(page, "draft")) == lengths
    go(page)
    assert status(page) == TEXT["say_first"]
    say(page, 10, 9)
    go(page)
    assert status(page) == ("The target's cache holds 10, the draft's 10. You said 10 and 9.")
    go(page)
    assert status(page) == TEXT["harm_none"]
    go(page)
    assert "Neither model has read the newest one, H" in status(page)


@pytest.mark.browser
def test_a_wrong_rollback_shows_what_it_breaks(page):
    show(page, free_lanes())
    for rollback, lengths, word in (
        ("target_kept", (12, 10), "WRONG"),
        ("draft_kept", (10, 11), "FEWER"),
        ("draft_reset", (10, 0), "FEWER"),
    ):
        page.get_by_label("Rollback").select_option(rollback)
        while page.evaluate("state.step") < 3:
            go(page)
        say(page, *lengths)
        go(page)
        assert "As you said." in status(page)
        go(page)
        assert word in status(page)


@pytest.mark.browser
def test_full_acceptance_leaves_the_draft_one_short(page):
    show(page, free_lanes(accepted=4))
    for _ in range(3):
        go(page)
    say(page, 12, 11)
    go(page)
    assert status(page) == (
        "The target's cache holds 12, the draft's 11. The draft is one short: it never read its "
        "own last guess. As you said."
    )


@pytest.mark.browser
def test_another_round_takes_the_rollback_back(page):
    show(page, free_lanes())
    for _ in range(3):
        go(page)
    say(page, 10, 10)
    go(page)
    page.get_by_label("Guesses accepted").select_option("0")
    assert page.evaluate("[state.step, state.said.length]") == [3, 0]
    assert status(page).startswith("0 of 4 accepted")


@pytest.mark.browser
def test_keys_alone_predict_and_step(page):
    show(page, locked_lanes())
    assert status(page) == TEXT["status_locked"]
    assert page.get_by_label("Rollback").is_disabled()
    page.locator("input[value=A]").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert status(page) == "The target's cache holds 10, the draft's 10."
    assert "Right." in page.locator(".sd-verdict").inner_text()
    page.get_by_label("Guesses accepted").focus()
    page.keyboard.press("ArrowUp")
    assert status(page).startswith("1 of 4 accepted")
    page.locator(".sd-header .sd-primary").focus()
    page.keyboard.press("Enter")
    assert status(page) == TEXT["say_first"]
    page.keyboard.press("9")  # the first of the two lengths has the focus now
    page.get_by_label("Draft will hold").focus()
    page.keyboard.press("9")
    page.locator(".sd-header .sd-primary").focus()
    page.keyboard.press("Space")
    assert "As you said." in status(page)


@pytest.mark.browser
def test_every_focusable_element_keeps_jupyterlab_from_taking_its_keys(page):
    show(page, locked_lanes())
    every = "button, input, select, [tabindex]"
    bare = f":is({every}):not([data-lm-suppress-shortcuts='true'])"
    assert page.locator(every).count() >= 8
    assert page.locator(bare).count() == 0


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark", "dark-high-contrast"])
def test_axe_finds_nothing(page, theme):
    answered = locked_lanes()
    answered.prediction = "12 and 11"
    broken = free_lanes()
    broken.rollback, broken.step = "target_kept", 5
    for lanes in (locked_lanes(), answered, broken):
        show(page, lanes, theme)
        assert axe_violations(page, ".sd-widget") == []


@pytest.mark.browser
def test_nothing_is_wider_than_a_narrow_page(page):
    page.set_viewport_size({"width": 360, "height": 800})
    show(page, locked_lanes())
    right = page.locator(".sd-widget").bounding_box()
    edge = right["x"] + right["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for part in page.locator(".sd-widget select, .sd-widget .sd-track").all():
        box = part.bounding_box()
        assert box["x"] + box["width"] <= edge
