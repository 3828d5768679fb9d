"""The lane's Python side: checks, traits, lock, words and still twin."""

import base64

import numpy as np
import pytest
from alone import texts_lie_on_their_card
from samples import CHOICES, free_lane, locked_lane
from traitlets import TraitError

from specdec.widgets import DraftLane
from specdec.widgets.base import IF_NOT_SHOWN

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([1, 2], [1, 2]), "needs 3 tokens, one more than the draft; it has 2"),
        (([1, 2], [1, 2, 3, 4]), "needs 3 tokens, one more than the draft; it has 4"),
        (([], []), "needs 1 tokens, one more than the draft; it has 0"),
        (([1, 12], [1, 2, 3]), "draft has the token 12; the tokens are 0 to 9"),
        (([1, 2], [1, 2, -1]), "target_next has the token -1; the tokens are 0 to 9"),
        (([1, "2"], [1, 2, 3]), "draft has the token '2'"),
        ((list(range(9)), [*range(9), 0]), "at most 8 tokens, it has 9"),
    ],
)
def test_a_round_that_does_not_fit_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        DraftLane(*arguments)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"choices": None}, "question and choices belong together"),
        ({"question": None}, "question and choices belong together"),
        ({"question": " "}, "needs a prompt"),
        ({"choices": CHOICES[:1]}, "needs 2 to 26 choices, it has 1"),
        ({"choices": [CHOICES[0], CHOICES[2]]}, "exactly one right choice, it has 0"),
        ({"choices": [CHOICES[1], ("x", "y", True)]}, "exactly one right choice, it has 2"),
        ({"choices": [CHOICES[1], ("7 6", "again")]}, "two choices with the same text"),
        ({"choices": [CHOICES[1], ("x", "")]}, "every choice needs a text and a reason"),
        ({"choices": [CHOICES[1], "xy"]}, r"a choice is \(text, reason, right\)"),
        ({"vocabulary": "abc"}, "a number or a list of words"),
        ({"vocabulary": 1}, "at least two different tokens"),
        ({"text": {"unknown_key": "x"}}, r"does not know: \['unknown_key'\]"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        locked_lane(**changes)


def test_a_cell_can_read_the_round():
    lane = free_lane()
    assert (lane.draft, lane.picks) == ([7, 3, 5, 9], [7, 6, 5, 9, 2])
    assert (lane.accepted, lane.emitted) == (1, [7, 6])
    assert lane.describe().startswith("1 accepted, 2 emitted: 7 6. At place 2 the target wanted 6")


def test_a_cell_can_change_the_round():
    lane = free_lane()
    lane.picks = [7, 3, 5, 9, 2]
    assert (lane.accepted, lane.emitted) == (4, [7, 3, 5, 9, 2])
    with lane.change():
        lane.draft, lane.picks = [], [5]
    assert (lane.accepted, lane.emitted) == (0, [5])
    assert "plain decoding" in lane.describe()


def test_a_wrong_change_is_refused_and_rolled_back():
    lane = free_lane()
    with pytest.raises(ValueError, match="needs 5 tokens"):
        lane.picks = [7, 3]
    with pytest.raises(TraitError), lane.change():
        lane.draft, lane.picks = [1], [1]
    assert (lane.draft, lane.picks) == ([7, 3, 5, 9], [7, 6, 5, 9, 2])
    assert (lane.accepted, lane.emitted) == (1, [7, 6])


def test_numpy_tokens_become_plain_numbers():
    lane = DraftLane(np.array([7, 3]), np.array([7, 3, 5]))
    assert {type(token) for token in lane.draft + lane.picks + lane.emitted} == {int}


def test_the_inputs_are_not_changed():
    draft, picks = [7, 3], [7, 3, 5]
    lane = DraftLane(draft, picks)
    lane.picks = [1, 1, 1]
    assert (draft, picks) == ([7, 3], [7, 3, 5])
    assert lane.start == {"draft": [7, 3], "picks": [7, 3, 5]}


def test_a_locked_lane_gives_nothing_away():
    lane = locked_lane()
    assert lane.locked
    assert (lane.accepted, lane.emitted, lane.prediction) == (None, [], "")
    assert "6" not in lane.describe()


def test_the_front_ends_message_unlocks_the_lane():
    lane = locked_lane()
    lane.set_state({"prediction": "7", "accepted": 1, "emitted": [7, 6]})
    assert not lane.locked
    assert (lane.prediction, lane.accepted, lane.emitted) == ("7", 1, [7, 6])


def test_the_front_end_can_change_the_length():
    lane = free_lane(edit_draft=True)
    lane.set_state({"draft": [7], "picks": [7, 6], "accepted": 1, "emitted": [7, 6]})
    assert (lane.draft, lane.picks, lane.accepted, lane.emitted) == ([7], [7, 6], 1, [7, 6])


def test_python_decides_what_came_out():
    lane = free_lane()
    lane.set_state({"picks": [1, 6, 5, 9, 2], "accepted": 4, "emitted": [9]})
    assert (lane.accepted, lane.emitted) == (0, [1])


def test_words_are_tokens_too():
    lane = DraftLane(["cat"], ["mat", "on"], vocabulary=["cat", "mat", "on"])
    assert lane.emitted == ["mat"]
    with pytest.raises(ValueError, match="'dog', which is not one of cat mat on"):
        DraftLane(["dog"], ["mat", "on"], vocabulary=["cat", "mat", "on"])


def test_every_word_can_be_translated():
    lane = free_lane(text={"status_rejected": "{tokens}!", "reset": "Zurück"})
    assert lane.describe() == "7 6!"
    assert lane.text["reset"] == "Zurück"


@pytest.mark.parametrize(
    ("draft", "picks", "said"),
    [
        ([7, 3], [7, 3, 5], "Place 3: target 5, bonus."),
        ([7, 3], [7, 4, 5], "Place 2: draft 3, target 4, corrected. Place 3: target 5, discarded."),
        ([], [5], "Place 1: target 5, bonus. 0 accepted, 1 emitted: 5."),
        (list(range(8)), [*range(8), 9], "8 accepted, 9 emitted"),
    ],
)
def test_the_still_twin_says_what_it_shows(draft, picks, said):
    figure, alt = DraftLane(draft, picks).still()
    assert said in alt
    shown = [words.get_text() for words in figure.axes[0].texts]
    assert [word for word in shown if word in "✓✎✗+" and word] == [
        {"accepted": "✓", "corrected": "✎", "discarded": "✗", "bonus": "+"}[mark]
        for mark in marks_of(draft, picks)
    ]


def marks_of(draft, picks):
    """The marks, worked out here once more by hand."""
    for place, (guess, pick) in enumerate(zip(draft, picks, strict=False)):
        if guess != pick:
            return ["accepted"] * place + ["corrected"] + ["discarded"] * (len(draft) - place)
    return ["accepted"] * len(draft) + ["bonus"]


def test_every_text_of_the_still_twin_lies_within_its_card():
    long = "A reason that is long enough to need more than one line on the card, " * 3
    lane = locked_lane(choices=[("7", long, False), ("7 6", long, True)])
    figure, _alt = lane.still()
    texts_lie_on_their_card(figure)


def test_the_still_twin_of_a_locked_lane_shows_the_reasons():
    _figure, alt = locked_lane().still()
    assert "1 accepted, 2 emitted: 7 6." in alt
    assert "✓ B. 7 6: 7 agrees, and 6 replaces the guess." in alt
    assert "✗ C. 7 6 5 9: Later answers were asked after 7 3." in alt


def test_still_mode_shows_a_picture(monkeypatch):
    monkeypatch.setenv("SPECDEC_STILL", "1")
    lane = free_lane()
    data, metadata = lane._repr_mimebundle_()
    assert sorted(data) == ["image/png", "text/plain"]
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert metadata == {"image/png": {"alt": lane.still()[1]}}
    assert data["text/plain"] == lane.still()[1]


def test_live_mode_shows_the_widget_and_says_what_to_run():
    data, _metadata = free_lane()._repr_mimebundle_()
    assert data["text/plain"] == IF_NOT_SHOWN
    assert VIEW in data
