"""The draft race: its rules in both languages, what a learner sees and does, its records."""

import base64
import random

import pytest
from alone import in_node, keys_are_kept, second_view, show
from lab import axe_violations
from traitlets import TraitError

from specdec.trained.traces import passes_of
from specdec.widgets import DraftRace, load_widget
from specdec.widgets.draft_race import (
    DRAFTS,
    TEXT,
    TEXTS,
    all_numbers,
    given_sentence,
    lane_numbers,
    numbers_of,
    status_sentence,
    three_places,
    verdict,
    winner_of,
)

THEMES = ("light", "dark", "dark-high-contrast")
PASS = [1.0, 1.6, 1.8, 1.7, 1.9, 2.0, 2.1, 2.0, 2.3]
GUESS = {
    "n-gram": 0.01,
    "prompt lookup": 0.002,
    "small model": 0.08,
    "distilled model": 0.08,
    "heads": 0.02,
}
PRICES = {"pass": PASS, "guess": GUESS}
PLACED = {"prose": "n-gram", "copying": "prompt lookup", "code": "heads"}


def made_up(name: str, seed: int, count: int = 14) -> dict:
    """A made-up text over five pieces; some drafts are mostly right, some guess few tokens."""
    rng = random.Random(seed)
    tokens = [rng.randrange(5) for _ in range(count)]
    ahead = tokens + [rng.randrange(5) for _ in range(8)]

    def guesses(right, few):
        return [
            [t if rng.random() < right else rng.randrange(5) for t in ahead[place : place + 8]][
                : rng.randrange(9) if few else 8
            ]
            for place in range(count)
        ]

    shares = dict(zip(DRAFTS, (0.3, 0.6, 0.5, 0.8, 0.4), strict=True))
    return {
        "name": name,
        "prompt": f"Once upon {seed}",
        "own_share": 1 if seed % 2 else 0.005 * (seed % 200),
        "pieces": [" a", "bc", "\n", " the", " "],
        "tokens": tokens,
        "drafts": {d: guesses(right, d == "prompt lookup") for d, right in shares.items()},
    }


def locked_race(seed: int = 1, **changes) -> DraftRace:
    return DraftRace(
        texts=[made_up(name, seed + i) for i, name in enumerate(TEXTS)], prices=PRICES, **changes
    )


def open_race(seed: int = 1) -> DraftRace:
    race = locked_race(seed)
    race.picks = PLACED
    return race


# The rule


def test_a_race_by_hand():
    tokens, guesses = [1, 2, 3, 4, 5], [[1, 2, 9], [2, 3, 4], [3, 4, 5], [9, 5, 1], [5, 1, 1]]
    found = numbers_of(tokens, guesses, 2, [1.0, 1.5, 2.0], 0.25)
    # Round 1: 1 2 accepted, 3 the bonus. Round 2: room for one guess, 9; 4 the correction. Then 5.
    assert [one["accepted"] for one in found.passes] == [2, 0, 0]
    assert [len(one["drafted"]) for one in found.passes] == [2, 1, 0]
    assert found.alpha == 2 / 3
    assert found.tokens_per_pass == 5 / 3
    assert found.speed == 5 / (2.0 + 2 * 0.25 + 1.5 + 0.25 + 1.0)


def test_a_draft_that_never_guesses_is_plain_decoding():
    found = numbers_of([1, 2, 3], [[], [], []], 4, PASS, 0.5)
    assert (found.alpha, found.tokens_per_pass, found.speed) == (None, 1.0, 1.0)


RUN = """
import { readFileSync } from "node:fs";
import * as race from "./widget.mjs";
const { text, prices, cases, values } = JSON.parse(readFileSync(0, "utf8"));
const results = cases.map(({ trace, k, choice, asked }) => {
  const numbers = race.allNumbers(trace, k, prices);
  const most = Math.max(...Object.values(numbers).map((one) => one.passes.length));
  return {
    numbers,
    winner: race.winnerOf(numbers),
    verdict: race.verdictOf(text, trace, prices, choice, asked),
    given: race.givenSentence(text, trace),
    sentences: [...Array(most + 1).keys()].map((n) => race.statusSentence(text, numbers, n, k)),
    lanes: Object.entries(numbers).map(([name, found]) =>
      race.laneNumbers(text, found, prices.guess[name])),
  };
});
console.log(JSON.stringify({ results, places: values.map(race.threePlaces) }));
"""


def test_one_rule_in_two_languages(tmp_path):
    cases = [
        {
            "trace": made_up(TEXTS[seed % 3], seed, 1 + seed % 16),
            "k": seed % 9,
            "choice": DRAFTS[seed % 5],
            "asked": 4,
        }
        for seed in range(90)
    ]
    values = [i / 8000 for i in range(2000)]
    sent = {"text": TEXT, "prices": PRICES, "cases": cases, "values": values}
    answer = in_node(tmp_path, DraftRace._esm, RUN, sent)
    assert answer["places"] == [three_places(value) for value in values]
    rights = set()
    for case, got in zip(cases, answer["results"], strict=True):
        numbers = all_numbers(case["trace"], case["k"], PRICES)
        most = max(len(found.passes) for found in numbers.values())
        right, sentence = verdict(TEXT, case["trace"], PRICES, case["choice"])
        rights.add(right)
        assert got == {
            "numbers": {name: found._asdict() for name, found in numbers.items()},
            "winner": winner_of(numbers),
            "verdict": {"right": right, "sentence": sentence},
            "given": given_sentence(TEXT, case["trace"]),
            "sentences": [status_sentence(TEXT, numbers, n, case["k"]) for n in range(most + 1)],
            "lanes": [lane_numbers(TEXT, numbers[name], GUESS[name]) for name in numbers],
        }
    assert rights == {True, False}


# The Python side


def test_a_locked_race_gives_nothing_away():
    race = locked_race()
    told = ("winners", "alpha", "tokens_per_pass", "speed", "cost")
    assert [getattr(race, name) for name in told] == [None] * 5
    assert race.describe() == TEXT["status_locked"]
    race.picks = PLACED | {"code": None}
    assert race.locked
    race.picks = PLACED
    assert set(race.winners) == set(TEXTS)
    assert race.speed[race.winners["prose"]] == max(race.speed.values())
    assert race.cost == GUESS
    assert race.describe() == "No pass yet, with k = 4: all five wait for the target's first pass."


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"picks": {"prose": "n-gram"}}, "one entry for each of prose, copying, code"),
        ({"picks": PLACED | {"code": "a spell"}}, "'a spell' is no draft of the race"),
        ({"k": 9}, "k must lie in 0 to 8"),
        ({"shown": -1}, "shown must lie in 0"),
        ({"shown_text": "verse"}, "shown_text must be one of prose, copying, code"),
    ],
)
def test_what_does_not_fit_is_refused_and_rolled_back(change, sentence):
    race = open_race()
    ((name, value),) = change.items()
    before = getattr(race, name)
    with pytest.raises(TraitError, match=sentence):
        setattr(race, name, value)
    assert getattr(race, name) == before


def test_the_recorded_race_is_whole():
    race = load_widget("lesson_06", "race")
    assert tuple(one["name"] for one in race.texts) == TEXTS
    for trace in race.texts:
        assert tuple(trace["drafts"]) == DRAFTS == tuple(race.prices["guess"])
        for rows in trace["drafts"].values():
            assert len(rows) == len(trace["tokens"])
            assert all(0 <= piece < len(trace["pieces"]) for row in rows for piece in row)
            written = [t for one in passes_of(trace["tokens"], rows, 4) for t in one["emitted"]]
            assert written == trace["tokens"], "every draft gives the same text"
    own = {trace["name"]: trace["own_share"] for trace in race.texts}
    assert own["prose"] == 1, "the target wrote it"
    assert max(own["copying"], own["code"]) < 1, "these are given"
    assert race.prices["pass"][0] == 1
    assert len(race.prices["pass"]) == 9
    assert all(cost > 0 for cost in race.prices["guess"].values())


@pytest.mark.parametrize("name", TEXTS)
def test_every_text_of_the_still_twin_lies_within_its_card(name):
    race = load_widget("lesson_06", "race")
    race.shown_text = name
    figure, alt = race.still()
    figure.draw_without_rendering()
    for words in figure.axes[0].texts:
        box = words.get_window_extent()
        assert figure.bbox.x0 <= box.x0, words
        assert box.x1 <= figure.bbox.x1, words
        assert figure.bbox.y0 <= box.y0, words
        assert box.y1 <= figure.bbox.y1, words
    for draft in DRAFTS:
        assert f"{TEXT[f'name_{draft}']}: α" in alt


def test_a_lookup_wins_where_a_text_repeats_and_not_on_prose():
    race = load_widget("lesson_06", "race")
    race.picks = PLACED
    winners = race.winners
    assert (winners["copying"], winners["code"]) == ("prompt lookup", "prompt lookup")
    assert winners["prose"] != "prompt lookup"


def test_still_mode_shows_a_picture(monkeypatch):
    monkeypatch.setenv("SPECDEC_STILL", "1")
    data, metadata = open_race()._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert metadata == {"image/png": {"alt": data["text/plain"]}}


# What a learner sees and does


def state(page, *names):
    values = page.evaluate("(names) => names.map((name) => state[name])", list(names))
    return values[0] if len(names) == 1 else tuple(values)


def status(page):
    return page.locator(".sd-status").inner_text()


@pytest.mark.browser
@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing(page, theme):
    show(page, locked_race(), theme)
    assert axe_violations(page, ".sd-widget") == []
    race = load_widget("lesson_06", "race")
    race.picks, race.shown = PLACED, 3
    show(page, race, theme)
    assert axe_violations(page, ".sd-widget") == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 900])
def test_nothing_is_wider_than_its_page(page, width):
    page.set_viewport_size({"width": width, "height": 700})
    race = load_widget("lesson_06", "race")
    show(page, race)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    race.picks, race.shown = PLACED, 100
    show(page, race)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
def test_by_mouse_from_the_prediction_to_the_last_pass(page):
    race = locked_race()
    show(page, race)
    assert status(page) == TEXT["status_locked"]
    assert page.locator(".sd-lane, .sd-place-verdict:visible").count() == 0
    assert not page.locator(".sd-play").is_visible()
    page.get_by_role("button", name="Show the race").click()
    assert page.locator(".sd-verdict").inner_text() == TEXT["choose_all"]
    for row, draft in zip(page.locator(".sd-place select").all(), PLACED.values(), strict=True):
        row.select_option(draft)
    page.get_by_role("button", name="Show the race").click()
    assert state(page, "picks") == PLACED
    assert page.locator(":focus").get_attribute("class") == "sd-status"
    wanted = [verdict(TEXT, trace, PRICES, PLACED[trace["name"]]) for trace in race.texts]
    said = page.locator(".sd-place-verdict").all_inner_texts()
    assert said == [f"{'✓' if right else '✗'} {sentence}" for right, sentence in wanted]

    race.picks = PLACED
    lanes = page.locator(".sd-lane")
    assert [lane.get_attribute("data-draft") for lane in lanes.all()] == list(DRAFTS)
    page.get_by_role("button", name="Next pass").click()
    assert status(page) == status_sentence(TEXT, race.numbers, 1, 4)
    first = race.numbers["n-gram"].passes[0]
    signs = lanes.first.locator(".sd-glyph").all_inner_texts()
    assert signs.count("✓") == first["accepted"]
    assert signs.count("✗") == len(first["drafted"]) - first["accepted"]
    page.get_by_role("button", name="All passes").click()
    assert status(page).startswith("All are through. ")
    for name, lane in zip(DRAFTS, lanes.all(), strict=True):
        assert lane.locator(".sd-emitted .sd-token").count() == len(race.trace["tokens"]), name
    winner = page.locator(".sd-lane[data-fastest='true']")
    assert winner.get_attribute("data-draft") == winner_of(race.numbers)
    assert "★ fastest" in winner.inner_text()
    assert "This text is given" not in page.locator(".sd-play").inner_text()
    page.get_by_role("combobox", name="Text", exact=True).select_option("copying")
    assert state(page, "shown_text", "shown") == ("copying", 0)
    race.shown_text = "copying"
    assert given_sentence(TEXT, race.trace) in page.locator(".sd-play").inner_text()


@pytest.mark.browser
def test_the_keyboard_alone_is_enough(page):
    show(page, locked_race())
    for _ in range(3):
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert set(state(page, "picks").values()) == {"n-gram"}
    page.keyboard.press("Tab")  # the text
    while page.locator(":focus").evaluate("(node) => node.type") != "range":
        page.keyboard.press("Tab")
    page.keyboard.press("End")
    assert state(page, "k") == 8
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert state(page, "shown") == 1


@pytest.mark.browser
@pytest.mark.parametrize("race", [locked_race, open_race])
def test_every_focusable_element_keeps_jupyterlab_from_taking_its_keys(page, race):
    show(page, race())
    keys_are_kept(page, at_least=5)


@pytest.mark.browser
def test_two_views_show_the_same_and_a_removed_one_stops_listening(page):
    show(page, open_race())
    second_view(page)
    first, second = page.locator(".sd-race").all()
    first.get_by_role("button", name="All passes").click()
    assert second.locator(".sd-status").inner_text().startswith("All are through")
    page.evaluate("cleanup(); model.set('shown', 0)")
    assert second.locator(".sd-status").inner_text().startswith("No pass yet")
    assert first.locator(".sd-status").inner_text().startswith("All are through")
