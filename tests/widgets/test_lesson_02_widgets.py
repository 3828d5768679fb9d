"""The pass player and the logits grid: rules in both languages, lock, live prompts, pages."""

import base64
import random
import threading

import pytest
from alone import in_node, keys_are_kept, show
from lab import axe_violations
from traitlets import TraitError

from specdec.passes import CAT_WORDS
from specdec.toys import NEXT_WORD
from specdec.trained.traces import PromptError, ledger_line, passes_of
from specdec.widgets import LogitsGrid, PassPlayer, load_widget, logits_grid, pass_player
from specdec.widgets.base import IF_NOT_SHOWN

THEMES = ("light", "dark", "dark-high-contrast")
WORDS, DRAFT = ["the", "cat", "sat", "on", "the"], ["cat", "sat", "on"]
CHOICES = [
    ("5, 6, 7", "These read the guesses.", False),
    ("4, 5, 6, 7", "The row before judges.", True),
]


def small_trace(prompt="Once upon", seed=1, count=12):
    """A made-up trace over five pieces, with a draft that is mostly right."""
    rng = random.Random(seed)
    tokens = [rng.randrange(5) for _ in range(count)]
    ahead = tokens + [rng.randrange(5) for _ in range(8)]

    def guesses(right):
        return [
            [t if rng.random() < right else rng.randrange(5) for t in ahead[place : place + 8]]
            for place in range(count)
        ]

    return {
        "prompt": prompt,
        "pieces": [" a", "bc", "\n", " the", " "],
        "tokens": tokens,
        "drafts": {"draft": guesses(0.5), "draft_distilled": guesses(0.8)},
    }


def player(**changes):
    return PassPlayer(traces=[small_trace(), small_trace("Twice", seed=2)], **changes)


def free_grid(**changes):
    return LogitsGrid(WORDS, DRAFT, **changes)


def locked_grid():
    return free_grid(question="Which rows judge?", choices=CHOICES)


WIDGETS = {
    "player": player,
    "player, all passes": lambda: with_all(player()),
    "recorded player": lambda: with_all(load_widget("lesson_02", "player")),
    "locked grid": locked_grid,
    "free grid": free_grid,
    "lesson grid": lambda: load_widget("lesson_02", "grid"),
}


def with_all(widget):
    widget.shown = len(widget.passes)
    return widget


# --- the same rule in both languages -------------------------------------------------------------

PLAYER_RUN = """
import { readFileSync } from "node:fs";
import { passesOf, ledgerLine, statusSentence, compareSentence, marksOf } from "./widget.mjs";
const { text, cases } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(({ tokens, guesses, pieces, k }) => {
  const passes = passesOf(tokens, guesses, k);
  return {
    passes,
    ledger: ledgerLine(passes),
    marks: passes.map(marksOf),
    compare: compareSentence(text, passes),
    sentences: [...passes.keys(), passes.length].map((n) =>
      statusSentence(text, passes, n, pieces, k)),
  };
})));
"""
GRID_RUN = """
import { readFileSync } from "node:fs";
import { judge, movedRows, statusSentence } from "./widget.mjs";
const { text, nextWord, cases } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(({ words, draft, start, masked }) => ({
  ...judge(words, draft, masked, nextWord),
  moved: movedRows(words, draft, masked, start, nextWord),
  sentence: statusSentence(text, words, draft, masked, start, nextWord),
}))));
"""


def test_the_player_has_one_rule_in_two_languages(tmp_path):
    cases = []
    for seed in range(120):
        trace = small_trace(seed=seed, count=1 + seed % 15)
        guesses = trace["drafts"]["draft" if seed % 2 else "draft_distilled"]
        cases.append({**trace, "guesses": guesses, "k": seed % 9})
    found = in_node(
        tmp_path, PassPlayer._esm, PLAYER_RUN, {"text": pass_player.TEXT, "cases": cases}
    )
    for case, got in zip(cases, found, strict=True):
        passes = passes_of(case["tokens"], case["guesses"], case["k"])
        assert got["passes"] == passes
        assert got["ledger"] == ledger_line(passes)
        assert got["marks"] == [pass_player.marks_of(one) for one in passes]
        assert got["compare"] == pass_player.compare_sentence(pass_player.TEXT, passes)
        assert got["sentences"] == [
            pass_player.status_sentence(pass_player.TEXT, passes, n, case["pieces"], case["k"])
            for n in range(len(passes) + 1)
        ]
    marks = {mark for got in found for one in got["marks"] for mark in one}
    assert marks == {"accepted", "corrected", "bonus", "plain"}


def test_the_grid_has_one_rule_in_two_languages(tmp_path):
    rng = random.Random(4)
    cases = []
    for _ in range(400):
        k = rng.randrange(6)
        cases.append(
            {
                "words": [rng.choice(CAT_WORDS[:8]) for _ in range(rng.randrange(1, 8))],
                "draft": [rng.choice(CAT_WORDS) for _ in range(k)],
                "start": [rng.choice(CAT_WORDS) for _ in range(k)],
                "masked": rng.random() < 0.8,
            }
        )
    sent = {"text": logits_grid.TEXT, "nextWord": NEXT_WORD, "cases": cases}
    found = in_node(tmp_path, LogitsGrid._esm, GRID_RUN, sent)
    for case, got in zip(cases, found, strict=True):
        args = (case["words"], case["draft"], case["masked"])
        result = logits_grid.judge(*args)
        assert {name: got[name] for name in result} == result
        assert got["moved"] == logits_grid.moved_rows(*args, case["start"])
        sentence = logits_grid.status_sentence(logits_grid.TEXT, *args, case["start"])
        assert got["sentence"] == sentence
    assert {mark for got in found for mark in got["marks"]} == set(logits_grid.MARKS)


def test_with_the_mask_a_changed_word_moves_no_row_above_it():
    rng = random.Random(6)
    for _ in range(200):
        draft = [rng.choice(CAT_WORDS) for _ in range(5)]
        place = rng.randrange(5)
        changed = [*draft]
        changed[place] = rng.choice(CAT_WORDS)
        moved = logits_grid.moved_rows(WORDS, changed, True, draft)
        assert all(row >= len(WORDS) + place for row in moved)


# --- the Python side ------------------------------------------------------------------------------


def test_a_cell_can_read_and_set_the_player():
    widget = player(k=0)
    assert widget.ledger == "rounds 12 · drafted 0 · accepted 0 · emitted 12"
    assert widget.describe() == "No pass yet: 12 to come, with k = 0."
    widget.k, widget.shown = 3, 1
    assert widget.describe().startswith("Pass 1: ")
    for name, value in [("k", 9), ("k", -1), ("prompt", 2), ("draft", "none"), ("shown", -1)]:
        with pytest.raises(TraitError):
            setattr(widget, name, value)


def test_the_recorded_texts_are_whole():
    widget = PassPlayer()
    assert len(widget.traces) == 4
    for trace in widget.traces:
        assert set(trace["drafts"]) == set(pass_player.DRAFTS)
        for rows in trace["drafts"].values():
            assert [len(row) for row in rows] == [8] * len(trace["tokens"])
            assert max(max(row) for row in rows) < len(trace["pieces"])


def test_the_grid_locks_until_a_choice_is_made():
    grid = locked_grid()
    assert (grid.locked, grid.accepted, grid.emitted) == (True, None, [])
    assert grid.describe() == logits_grid.TEXT["status_locked"]
    grid.prediction = "5, 6, 7"
    assert (grid.locked, grid.accepted, grid.emitted) == (False, 0, ["mat"])
    grid.draft = ["mat", "and", "the"]
    assert (grid.accepted, grid.emitted) == (3, ["mat", "and", "the", "dog"])
    grid.masked = False
    assert "useless" in grid.describe()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((["the", "bird"], []), "'bird' is not one of the cat's words"),
        (([], ["cat"]), "at least one word"),
        ((["the"] * 9, ["cat"] * 8), "at most 16 rows"),
        ((WORDS, DRAFT, "Which?"), "question and choices belong together"),
    ],
)
def test_a_grid_that_does_not_fit_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        LogitsGrid(*arguments)


def test_a_wrong_draft_is_refused_and_rolled_back():
    grid = free_grid()
    for wrong in (["bird", "sat", "on"], ["cat"]):
        with pytest.raises(TraitError):
            grid.draft = wrong
    assert grid.draft == DRAFT


@pytest.mark.parametrize("name", ["player", "free grid", "lesson grid"])
def test_the_still_twin_has_a_picture_and_its_text(name, monkeypatch):
    monkeypatch.setenv("SPECDEC_STILL", "1")
    data, metadata = WIDGETS[name]()._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert metadata["image/png"]["alt"] == data["text/plain"]
    assert len(data["text/plain"]) > 150
    monkeypatch.delenv("SPECDEC_STILL")
    assert WIDGETS[name]()._repr_mimebundle_()[0]["text/plain"] == IF_NOT_SHOWN


def test_the_still_of_a_locked_grid_gives_nothing_away():
    grid = load_widget("lesson_02", "grid")
    _, alt = grid.still()
    assert "✓" not in alt
    assert "says ?: ?." in alt
    assert "mat" not in alt
    assert logits_grid.TEXT["status_locked"] in alt
    grid.prediction = "4, 5, 6, 7"
    _, alt = grid.still()
    assert "✓ C. 4, 5, 6, 7" in alt
    assert "0 accepted, 1 emitted: mat." in alt


@pytest.mark.parametrize("k", [0, 4, 8])
def test_the_still_of_the_player_has_each_pass_and_all_marks(k):
    widget = load_widget("lesson_02", "player")
    widget.k = k
    figure, _ = widget.still()
    words = [text.get_text() for text in figure.axes[0].texts]
    assert [w for w in words if w.isdigit()] == [str(n + 1) for n in range(len(widget.passes))]
    legend = next(w for w in words if pass_player.TEXT["rejected"] in w)
    assert all(sign in legend for sign in "✓✎+·✗")


# --- a text of one's own --------------------------------------------------------------------------


def asked(widget, **content):
    """What the page sends when Write is pressed, and the end of the writing."""
    widget._asked(widget, content, [])
    if widget.writer:
        widget.writer.join(30)
    return widget.live


def test_a_prompt_is_written_in_the_background(monkeypatch):
    may_go_on = threading.Event()

    def slow(prompt, *_):
        may_go_on.wait(30)
        return small_trace(prompt, seed=9)

    monkeypatch.setattr(pass_player, "record_trace", slow)
    monkeypatch.setattr("specdec.model.load_model", lambda name: name)
    widget = player()
    widget.shown = 3
    widget._asked(widget, {"do": "write", "prompt": "My own"}, [])
    assert widget.live["state"] == "writing"  # the kernel is free again, the text is not there yet
    assert len(widget.traces) == 2
    widget._asked(widget, {"do": "write", "prompt": "Twice pressed"}, [])
    may_go_on.set()
    widget.writer.join(30)
    assert widget.live["state"] == "written"
    assert [trace["prompt"] for trace in widget.traces] == ["Once upon", "Twice", "My own"]
    assert (widget.prompt, widget.shown) == (2, 0)


def test_a_prompt_that_does_not_fit_says_why(monkeypatch):
    def too_long(*_):
        raise PromptError("This prompt has 600 tokens.")

    monkeypatch.setattr(pass_player, "record_trace", too_long)
    monkeypatch.setattr("specdec.model.load_model", lambda name: name)
    widget = player()
    assert asked(widget, do="write", prompt="x") == {
        "state": "failed",
        "note": "This prompt has 600 tokens.",
    }
    assert len(widget.traces) == 2


def test_any_other_fault_is_told_too(monkeypatch):
    def missing(name):
        raise FileNotFoundError("There is no model 'target'")

    monkeypatch.setattr("specdec.model.load_model", missing)
    live = asked(player(), do="write", prompt="x")
    assert live["state"] == "failed"
    assert "FileNotFoundError: There is no model 'target'" in live["note"]


def test_other_messages_are_left_alone():
    widget = player()
    assert asked(widget, do="something")["state"] == ""
    assert widget.writer is None


# --- pages ----------------------------------------------------------------------------------------


def state(page, *names):
    values = page.evaluate("(names) => names.map((name) => state[name])", list(names))
    return values[0] if len(names) == 1 else tuple(values)


def status(page):
    return page.locator(".sd-status").inner_text()


@pytest.mark.browser
@pytest.mark.parametrize("name", WIDGETS)
def test_every_focusable_element_keeps_jupyterlab_from_taking_its_keys(page, name):
    show(page, WIDGETS[name]())
    keys_are_kept(page)


@pytest.mark.browser
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", WIDGETS)
def test_axe_finds_nothing(page, name, theme):
    show(page, WIDGETS[name](), theme)
    assert axe_violations(page, ".sd-widget") == []


@pytest.mark.browser
@pytest.mark.parametrize("name", WIDGETS)
def test_nothing_is_wider_than_a_narrow_page(page, name):
    page.set_viewport_size({"width": 360, "height": 700})
    show(page, WIDGETS[name]())
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box = page.locator(".sd-widget").bounding_box()
    inner = page.locator(".sd-widget :is(table, ol, select, .sd-line)").all()
    for element in inner:
        if element.is_visible():
            edges = element.bounding_box()
            assert edges["x"] + edges["width"] <= box["x"] + box["width"]


@pytest.mark.browser
def test_the_player_by_mouse(page):
    show(page, player(k=3))
    assert page.locator(".sd-pass").count() == 0
    page.get_by_role("button", name="Next pass").click()
    assert page.locator(".sd-pass").count() == 1
    assert status(page).startswith("Pass 1: ")
    page.get_by_role("button", name="All passes").click()
    passes = player(k=3).passes
    assert page.locator(".sd-pass").count() == len(passes)
    assert page.locator(".sd-ledger").inner_text() == ledger_line(passes)
    assert page.get_by_role("button", name="Next pass").is_disabled()
    page.get_by_label("Text begins with").select_option("1")
    assert state(page, "prompt", "shown") == (1, 0)
    page.get_by_role("combobox", name="Draft").select_option("draft")
    assert state(page, "draft") == "draft"


@pytest.mark.browser
def test_the_player_by_keys_alone(page):
    show(page, player(k=3))
    page.keyboard.press("Tab")
    assert page.locator(":focus").get_attribute("class") == "sd-choose"
    page.keyboard.press("ArrowDown")
    assert state(page, "prompt") == 1
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    assert state(page, "k") == 8
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert state(page, "shown") == 2
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert state(page, "shown") == 1


@pytest.mark.browser
def test_marks_stand_beside_colours(page):
    show(page, with_all(player(k=3, draft="draft")))
    for mark, sign in {"accepted": "✓", "corrected": "✎", "bonus": "+", "rejected": "✗"}.items():
        signs = page.locator(f".sd-pass [data-mark={mark}] .sd-glyph").all_inner_texts()
        assert set(signs) == {sign}
    words = page.locator(".sd-pass .sd-spoken").all_text_contents()
    assert {word.strip() for word in words} >= {"(accepted guess)", "(correction)", "(bonus)"}


@pytest.mark.browser
def test_write_asks_the_kernel_and_shows_its_answer(page):
    show(page, player())
    page.evaluate("() => { window.sent = []; model.send = (wish) => window.sent.push(wish); }")
    page.get_by_label("Or begin a text of your own").fill("My own")
    page.keyboard.press("Enter")
    assert page.evaluate("sent") == [{"do": "write", "prompt": "My own"}]
    page.evaluate("model.set({live: {state: 'failed', note: 'This prompt has 600 tokens.'}})")
    assert page.locator(".sd-live").inner_text() == "This prompt has 600 tokens."


@pytest.mark.browser
def test_the_locked_grid_shows_the_question_and_no_answer(page):
    show(page, locked_grid())
    assert set(page.locator(".sd-said").all_inner_texts()) == {"?"}
    assert page.get_by_label("Drafted word in row 5").is_disabled()
    assert page.get_by_label("Causal mask").is_disabled()
    page.get_by_role("button", name="Show what happens").click()
    assert page.locator(".sd-verdict").inner_text() == "Choose an answer first."
    page.locator("input[value=A]").check()
    page.get_by_role("button", name="Show what happens").click()
    assert page.locator(".sd-verdict").inner_text() == "✗ Not this time."
    assert status(page).startswith("Rows 4, 5, 6, 7 judge. 0 accepted, 1 emitted: mat.")
    assert page.locator(".sd-said").all_inner_texts()[4:] == ["mat", "sat", "on", "the"]


@pytest.mark.browser
def test_the_grid_by_mouse_and_by_keys(page):
    show(page, free_grid())
    page.get_by_label("Drafted word in row 7").select_option("the")
    assert status(page).endswith("Changed: row 7 alone.")
    page.get_by_label("Causal mask").uncheck()
    assert set(page.locator(".sd-said").all_inner_texts()) == {"cat"}
    assert state(page, "masked") is False
    page.get_by_role("button", name="Reset").click()
    assert state(page, "draft", "masked") == (DRAFT, True)
    page.keyboard.press("Tab")
    page.keyboard.type("mat")
    assert state(page, "draft") == ["mat", "sat", "on"]
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert state(page, "masked") is False
