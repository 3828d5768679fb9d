"""Lesson 3 as a student meets it: the course's own JupyterLab, a real browser, mouse and keys."""

import re

import pytest
from lesson_in_lab import MODEL_ERROR, commit, sentence, validate

pytestmark = pytest.mark.browser

SLUG = "03_exact_sampling"
LANE, QUIZ = "lane = load_widget", "quiz = load_widget"
RIGHT = "C"  # of the prediction


def bars(lane, token):
    """Return the text of a token's row: its bars and what comes out."""
    return lane.get_by_role("group", name=token, exact=True).inner_text()


def drag(page, slider, share):
    """Take a slider's handle with the mouse and move it to a share of its width."""
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    now = int(slider.input_value()) / 100
    middle = box["y"] + box["height"] / 2
    page.mouse.move(handle_at(box, now), middle)
    page.mouse.down()
    page.mouse.move(handle_at(box, share), middle, steps=4)
    page.mouse.up()


def handle_at(box, share, handle=12):
    return box["x"] + handle / 2 + share * (box["width"] - handle)


def test_run_all_reaches_the_last_cell(lesson, untouched):
    output = lesson.output(untouched, "show_progress")
    assert "0 of 20 points pass their visible checks" in output
    assert (untouched.foreign, untouched.errors) == ([], [])


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("check_residual_law(residual)", "residual"),
        ("check_speculative_step(speculative_step", "speculative_step"),
        ("run = on_real_pair(", "speculative_sample"),
    ],
)
def test_an_unwritten_exercise_says_so_in_one_line(lesson, untouched, cell, name):
    assert lesson.output(untouched, cell).splitlines()[-1] == (
        f"✎ {name} is not written yet. Write it in the answer cell, without the line that "
        "raises NotImplementedError, then run both cells."
    )


def test_the_prediction_locks_the_lane_and_gives_nothing_away(lesson, browser):
    notebook = lesson.lab.open(browser, lesson.copy("locked"))
    notebook.run_all()
    lane = lesson.widget(notebook, LANE)
    assert sentence(lane).startswith("Locked")
    for control in lane.locator("input[type=range], .sd-rules input, .sd-runs button").all():
        assert control.is_disabled()
    assert "?" in bars(lane, "cat")
    commit(lane, "B")
    assert "Not this time" in lane.inner_text()
    assert "Out comes mat 50, rug 30, cat 20: exactly p." in sentence(lane)
    notebook.close()


def test_the_mouse_alone_is_enough(lesson, browser):
    notebook = lesson.lab.open(browser, lesson.copy("mouse"))
    notebook.run_all()
    lane = lesson.widget(notebook, LANE)
    commit(lane, RIGHT)
    assert "Right." in lane.inner_text()
    drag(notebook.page, lane.get_by_label("Draft q of mat"), 0.4)
    assert lane.get_by_label("Draft q of mat").input_value() == "40"
    assert "Out comes mat 50, rug 30, cat 20: exactly p." in sentence(lane)
    lane.get_by_role("button", name="Run 1,000", exact=True).click()
    assert "1,000 runs" in lane.locator(".sd-story").inner_text()
    for name in ("redraw from p", "keep if p ≥ q", "keep all", "ratio q/p"):
        lane.locator("label", has_text=name).click()
        assert "in the wrong place" in sentence(lane), name
    drag(notebook.page, lane.get_by_label("Temperature of q"), 0)
    lane.get_by_role("button", name="Reset").click()
    assert "exactly p" in sentence(lane)
    lane.locator("summary").click()
    assert lane.locator("table").is_visible()

    quiz = lesson.widget(notebook, QUIZ)
    for place in range(quiz.locator("form").count()):
        form = quiz.locator("form").nth(place)
        form.locator("label").nth(1).click()
        form.get_by_role("button", name="Check").click()
        assert re.search("Right|Not this time", form.locator(".sd-verdict").inner_text())
    assert (notebook.foreign, notebook.errors) == ([], [])
    notebook.close()


def test_the_keyboard_alone_is_enough(lesson, browser):
    notebook = lesson.lab.open(browser, lesson.copy("keys"))
    notebook.run_all()
    press = notebook.page.keyboard.press
    lane = lesson.widget(notebook, LANE)
    lane.locator("input[type=radio][value=A]").focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        press(key)
    assert "Right." in lane.locator(".sd-verdict").inner_text()
    cells = notebook.cell_count()
    notebook.page.keyboard.type("ddxab")
    assert notebook.cell_count() == cells, "the sentence has the focus now"

    slider = lane.get_by_label("Target p of cat")
    slider.focus()
    press("ArrowRight")
    assert slider.input_value() == "21"
    press("End")
    assert "cat 100: exactly p." in sentence(lane)
    lane.get_by_role("button", name="Reset").focus()
    press("Enter")
    lane.get_by_label("Temperature of p").focus()
    press("Home")
    assert "Out comes mat 100, rug 0, cat 0: exactly p." in sentence(lane)
    lane.get_by_role("button", name="Reset").focus()
    press("Space")
    lane.locator("input[value=right]").focus()
    press("ArrowDown")
    assert "wrong place" in sentence(lane)
    lane.get_by_role("button", name="Run 10,000", exact=True).focus()
    press("Enter")
    assert "10,000 runs" in lane.locator(".sd-story").inner_text()
    lane.locator("summary").focus()
    press("Enter")
    assert lane.locator("table").is_visible()
    for control in lane.locator("button:enabled, input:enabled, summary").all():
        control.focus()
        notebook.page.keyboard.type("ddxab")
        assert notebook.cell_count() == cells, control

    form = lesson.widget(notebook, QUIZ).locator("form").first
    form.locator("input").first.focus()
    for key in ("Space", "ArrowDown", "Enter"):
        press(key)
    assert "Right." in form.locator(".sd-verdict").inner_text()
    assert notebook.errors == []
    notebook.close()


def test_axe_finds_nothing(lesson, untouched):
    commit(lesson.widget(untouched, LANE), RIGHT)
    texts = (LANE, QUIZ, "kept_and_refilled(", "acceptance_by_temperature(")
    assert lesson.axe_findings(untouched, texts) == {}


def test_validate_says_success_for_a_solved_lesson(lesson, browser, solved):
    notebook = lesson.lab.open(browser, solved)
    assert "Success" in validate(notebook)
    notebook.run_all()
    assert "18 of 20 points pass their visible checks.\n2 more noted" in lesson.output(
        notebook, "show_progress", solved
    )
    assert "tokens a pass" in lesson.output(notebook, "run = on_real_pair(", solved)
    real = lesson.cell(notebook, "run = on_real_pair(", solved)
    assert "Acceptance at each of the 40 tokens" in real.locator("img").get_attribute("alt")
    assert (notebook.foreign, notebook.errors) == ([], [])
    notebook.close()


def test_work_survives_save_reload_and_restart(lesson, browser):
    kept = lesson.copy("kept")
    notebook = lesson.lab.open(browser, kept)
    notebook.run_all()
    commit(lesson.widget(notebook, LANE), RIGHT)
    slider = lesson.widget(notebook, LANE).get_by_label("Draft q of mat")
    slider.focus()
    notebook.page.keyboard.press("End")
    said = sentence(lesson.widget(notebook, LANE))
    notebook.wait_until_heard()  # a reloaded page asks the kernel
    notebook.save()
    notebook.page.reload()
    notebook.wait_until_ready()
    assert sentence(lesson.widget(notebook, LANE)) == said
    notebook.restart_kernel()
    lane = lesson.widget(notebook, LANE)
    lane.get_by_label("Draft q of mat").focus()
    notebook.page.keyboard.press("Home")
    assert sentence(lane) != said
    assert MODEL_ERROR not in notebook.page.locator(".jp-Notebook").inner_text()
    notebook.close()
    assert (lesson.lab.root / kept).stat().st_size < 3_000_000
