"""Each widget alone in a real Chromium: what a learner sees, clicks and types."""

import pytest
from alone import keys_are_kept, second_view, show
from lab import axe_violations
from samples import free_lane, locked_lane, small_quiz

pytestmark = pytest.mark.browser

THEMES = ("light", "dark", "dark-high-contrast")
WIDGETS = {
    "locked lane": locked_lane,
    "free lane": free_lane,
    "editable lane": lambda: free_lane(edit_draft=True),
    "quiz": small_quiz,
}


def state(page, *names):
    """Return what the front end has written to the model."""
    values = page.evaluate("(names) => names.map((name) => state[name])", list(names))
    return values[0] if len(names) == 1 else tuple(values)


def answer_at(page, place):
    """The control of the target's answer at a place, counted from 1."""
    return page.get_by_label(f"Target's answer at place {place}")


def words_of(page, part):
    """The visible words of a part of every place."""
    return page.locator(f".sd-place {part}").all_inner_texts()


def status(page):
    """The sentence below the lane."""
    return page.locator(".sd-status").inner_text()


@pytest.mark.parametrize("name", WIDGETS)
def test_every_focusable_element_keeps_jupyterlab_from_taking_its_keys(page, name):
    show(page, WIDGETS[name]())
    keys_are_kept(page)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", WIDGETS)
def test_axe_finds_nothing(page, name, theme):
    show(page, WIDGETS[name](), theme)
    assert axe_violations(page, ".sd-widget") == []


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_after_answering(page, theme):
    lane, quiz = locked_lane(), small_quiz()
    lane.prediction = "7"
    quiz.answers = ["B", "B"]
    for widget in (lane, quiz):
        show(page, widget, theme)
        assert axe_violations(page, ".sd-widget") == []


@pytest.mark.parametrize("name", WIDGETS)
def test_nothing_is_wider_than_a_narrow_page(page, name):
    page.set_viewport_size({"width": 360, "height": 700})
    show(page, WIDGETS[name]())
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    overflowing = page.locator(".sd-grid").evaluate_all(
        "(grids) => grids.filter((grid) => grid.scrollWidth > grid.clientWidth).length"
    )
    assert overflowing == 0


def test_a_change_of_the_target_changes_everything_below(page):
    show(page, free_lane())
    assert words_of(page, ".sd-word") == ["accepted", "corrected", *["discarded"] * 3]
    assert words_of(page, ".sd-glyph") == ["✓", "✎", "✗", "✗", "✗"]
    assert page.locator(".sd-caption").inner_text() == (
        "asked after 7 3, a text that will not exist"
    )
    answer_at(page, 2).select_option("3")
    assert words_of(page, ".sd-word") == [*["accepted"] * 4, "bonus"]
    assert words_of(page, ".sd-out") == ["7", "3", "5", "9", "2"]
    assert page.locator(".sd-caption").inner_text() == ""
    assert status(page).startswith("4 accepted, 5 emitted: 7 3 5 9 2. Every guess was right")
    assert state(page, "picks", "accepted", "emitted") == (
        [7, 3, 5, 9, 2],
        4,
        [7, 3, 5, 9, 2],
    )


def test_the_lane_tells_python_once_a_change(page):
    show(page, free_lane())
    answer_at(page, 1).select_option("0")
    assert page.evaluate("model.saves") == 1


def test_the_lane_follows_python(page):
    show(page, free_lane())
    page.evaluate("model.set({ draft: [1], picks: [2, 3] })")
    assert words_of(page, ".sd-word") == ["corrected", "discarded"]
    assert answer_at(page, 1).input_value() == "2"


def test_keys_alone_reach_and_change_every_answer(page):
    show(page, free_lane())
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Reset"
    for place in range(1, 6):
        page.keyboard.press("Tab")
        assert answer_at(page, place).evaluate("(node) => node === document.activeElement")
    page.keyboard.press("ArrowDown")
    assert state(page, "picks") == [7, 6, 5, 9, 3]
    page.keyboard.press("8")
    assert state(page, "picks") == [7, 6, 5, 9, 8]


def test_focus_can_be_seen(page):
    show(page, free_lane())
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.locator(":focus").evaluate("(node) => getComputedStyle(node).outlineStyle") == (
        "solid"
    )


def test_reset_brings_the_first_round_back(page):
    show(page, free_lane(edit_draft=True))
    answer_at(page, 2).select_option("3")
    page.get_by_label("Guesses a round").fill("1")
    page.get_by_role("button", name="Reset").click()
    assert state(page, "draft", "picks") == ([7, 3, 5, 9], [7, 6, 5, 9, 2])
    assert state(page, "accepted", "emitted") == (1, [7, 6])


def test_a_locked_lane_shows_the_question_and_not_the_verdict(page):
    show(page, locked_lane())
    assert words_of(page, ".sd-guess")[:4] == ["7", "3", "5", "9"]
    shown = [answer_at(page, place).input_value() for place in range(1, 6)]
    assert shown == ["7", "6", "5", "9", "2"]
    assert all(answer_at(page, place).is_disabled() for place in range(1, 6))
    for part in (".sd-glyph", ".sd-out"):
        assert set(words_of(page, part)) == {"?"}
    assert set(words_of(page, ".sd-word")) == {"not shown yet"}
    assert page.locator(".sd-sign").all_inner_texts() == [""] * 5
    assert page.locator(".sd-caption").inner_text() == ""
    assert (
        page.locator(".sd-place").evaluate_all(
            "(places) => new Set(places.map((place) => place.dataset.mark)).size"
        )
        == 1
    )
    assert status(page).startswith("Locked")
    assert not page.locator(".sd-reason").first.is_visible()
    assert page.get_by_role("button", name="Reset").is_disabled()


def test_committing_unlocks_the_lane_and_gives_every_reason(page):
    show(page, locked_lane())
    page.get_by_role("button", name="Show what happens").click()
    assert state(page, "prediction") == "", "nothing was chosen yet"
    assert page.locator(".sd-verdict").inner_text() == "Choose an answer first."
    page.get_by_label("7 6 5 9").check()
    assert state(page, "prediction") == "", "choosing is not yet committing"
    page.get_by_role("button", name="Show what happens").click()
    assert state(page, "prediction", "accepted", "emitted") == ("7 6 5 9", 1, [7, 6])
    assert page.locator(".sd-reason").all_inner_texts() == [
        "The target's own token comes out too.",
        "7 agrees, and 6 replaces the guess.",
        "Later answers were asked after 7 3.",
    ]
    assert page.locator(".sd-tag").all_inner_texts() == [
        "✗ wrong",
        "✓ right",
        "✗ wrong, your choice",
    ]
    assert page.locator(".sd-verdict").inner_text() == "✗ Not this time."
    assert status(page).startswith("1 accepted, 2 emitted: 7 6.")
    assert page.locator(":focus").get_attribute("class") == "sd-status"
    answer_at(page, 2).select_option("3")
    assert state(page, "accepted") == 4


def test_a_prediction_can_be_made_by_keys_alone(page):
    show(page, locked_lane())
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    assert state(page, "prediction") == "", "arrows choose, they do not commit"
    page.keyboard.press("Enter")
    assert state(page, "prediction") == "7 6"
    assert page.locator(".sd-verdict").inner_text() == "✓ Right."


@pytest.mark.parametrize("name", ["locked lane", "quiz"])
def test_the_question_stays_in_place_when_the_verdict_comes(page, name):
    show(page, WIDGETS[name]())
    top = "(node) => node.offsetTop"
    before = page.locator(".sd-question").first.evaluate(top)
    page.locator("input[type=radio]").first.check()
    page.locator(".sd-primary").first.click()
    assert page.locator(".sd-question").first.evaluate(top) == before


def test_the_draft_and_its_length_can_be_changed(page):
    show(page, free_lane(edit_draft=True))
    page.get_by_label("Draft's guess at place 2").select_option("6")
    assert state(page, "draft", "accepted") == ([7, 6, 5, 9], 4)
    length = page.get_by_label("Guesses a round")
    length.fill("0")
    assert state(page, "draft", "picks", "emitted") == ([], [7], [7])
    assert "plain decoding" in status(page)
    length.fill("8")
    assert state(page, "draft")[:4] == [7, 6, 5, 9], "the learner's guesses come back"
    assert state(page, "picks")[:5] == [7, 6, 5, 9, 2]
    assert (len(state(page, "draft")), len(state(page, "picks"))) == (8, 9)
    length.press("ArrowLeft")
    assert len(state(page, "draft")) == 7
    assert length.evaluate("(node) => node === document.activeElement")


def test_two_views_show_the_same(page):
    show(page, locked_lane())
    second_view(page)
    first, second = page.locator(".sd-lane").all()
    first.locator("input[value=B]").check()
    second.locator("input[value=A]").check()
    assert first.locator("input[value=B]").is_checked(), "each view has its own radio group"
    first.get_by_role("button", name="Show what happens").click()
    assert second.locator(".sd-status").inner_text().startswith("1 accepted, 2 emitted")


def test_a_removed_view_no_longer_listens(page):
    show(page, free_lane())
    page.evaluate("cleanup(); model.set('picks', [1, 1, 1, 1, 1])")
    assert answer_at(page, 1).input_value() == "7"


def test_markup_in_a_question_is_never_run(page):
    show(page, locked_lane(question="<img src=x onerror=alert(1)> `a<b` x<sub>1</sub>"))
    prompt = page.locator(".sd-prompt")
    assert prompt.inner_text().startswith("<img src=x onerror=alert(1)> a<b x")
    assert prompt.locator("img").count() == 0
    assert (prompt.locator("code").count(), prompt.locator("sub").count()) == (1, 1)


def test_the_quiz_gives_every_reason_and_can_be_tried_again(page):
    show(page, small_quiz())
    first = page.locator(".sd-question").first
    first.get_by_label("[]").check()
    assert state(page, "answers") == ["", ""]
    first.get_by_role("button", name="Check").click()
    assert state(page, "answers") == ["B", ""]
    assert all(reason.is_visible() for reason in first.locator(".sd-reason").all())
    assert first.locator(".sd-verdict").inner_text() == "✗ Not this time."
    assert page.locator(".sd-progress").inner_text() == "0 of 2 right"
    first.get_by_role("button", name="Try again").click()
    assert state(page, "answers") == ["", ""]
    assert not first.locator(".sd-reason").first.is_visible()
    first.get_by_label("[5]").check()
    first.get_by_role("button", name="Check").click()
    assert state(page, "answers") == ["A", ""]
    assert first.locator(".sd-verdict").inner_text() == "✓ Right."
    assert page.locator(".sd-progress").inner_text() == "1 of 2 right"


def test_checking_one_question_leaves_the_other_alone(page):
    show(page, small_quiz())
    first, second = page.locator(".sd-question").all()
    second.get_by_label("3").check()
    first.get_by_label("[5]").check()
    first.get_by_role("button", name="Check").click()
    assert second.get_by_label("3").is_checked()


def test_kept_answers_are_shown_at_once(page):
    quiz = small_quiz()
    quiz.answers = ["", "B"]
    show(page, quiz)
    assert page.locator(".sd-verdict").all_inner_texts() == ["", "✓ Right."]
    assert page.locator(".sd-progress").inner_text() == "1 of 2 right"


def test_fieldsets_and_legends_name_the_questions(page):
    show(page, small_quiz())
    assert page.get_by_role("group", name="Largest mean at").count() == 1
    assert page.get_by_role("radio").count() == 5
