"""Lesson 4 as a student meets it: the course's own JupyterLab, a real browser, mouse and keys."""

import pytest
from lesson_in_lab import answer_quiz, sentence

pytestmark = pytest.mark.browser

SLUG = "04_cache_and_rollback"
LANES, QUIZ = "lanes = load_widget", "quiz = load_widget"
PLOTS = ("program_panels", "pass_costs(here", "waterfall(")


@pytest.fixture(scope="module")
def finished(lesson, solved, browser):
    """The lesson with all answers filled in, open and run."""
    notebook = lesson.lab.open(browser, solved)
    notebook.run_all()
    yield notebook
    notebook.close()


def go(lanes):
    lanes.locator(".sd-header .sd-primary").click()


def test_run_all_reaches_the_last_cell(lesson, untouched):
    assert "0 of 20 points pass their visible checks" in lesson.output(untouched, "show_progress")
    assert (untouched.foreign, untouched.errors) == ([], [])


def test_unwritten_exercises_say_so_and_nothing_else_fails(lesson, untouched):
    for text in ("check_kv_cache(KVCache)", "logit_difference(KVCache", "waterfall("):
        assert "is not written yet. Write it in the answer cell" in lesson.output(untouched, text)
    for text in ("compare_plain(", "relative_costs(", "product_costs(", "print_recorded()"):
        assert "Error" not in lesson.output(untouched, text)


def test_the_hook_shows_three_texts(lesson, untouched):
    said = lesson.output(untouched, "three_programs(")
    assert said.count("passes for 40 tokens") == 3
    assert "draft's line missing: the right text" in said


def test_the_lanes_by_mouse_and_by_keyboard(lesson, browser):
    notebook = lesson.lab.open(browser, lesson.copy("lanes"))
    notebook.run_all()
    lanes = lesson.widget(notebook, LANES)
    assert "Locked" in sentence(lanes)
    assert "target's cache: None" in lesson.output(notebook, "lanes.target_length")
    lanes = lesson.widget(notebook, LANES)
    lanes.locator("input[value=D]").check()
    lanes.get_by_role("button", name="Show what happens").click()
    assert "Not this time" in lanes.inner_text()
    assert sentence(lanes) == "The target's cache holds 10, the draft's 10."
    lanes.get_by_label("Rollback").select_option("target_kept")  # by mouse
    lanes.get_by_label("Target will hold").select_option("12")
    lanes.get_by_label("Draft will hold").select_option("10")
    go(lanes)
    assert "As you said." in sentence(lanes)
    go(lanes)
    assert "WRONG" in sentence(lanes)
    lanes.get_by_label("Guesses accepted").focus()  # by keyboard alone
    notebook.page.keyboard.press("ArrowDown")
    assert sentence(lanes).startswith("3 of 4 accepted")
    cells = notebook.cell_count()
    notebook.page.keyboard.type("ddxab")
    assert notebook.cell_count() == cells
    notebook.close()


def test_a_solved_lesson_gets_all_points_and_draws_all_figures(lesson, finished):
    assert "18 of 20 points pass their visible checks.\n2 more noted" in lesson.output(
        finished, "show_progress"
    )
    assert "program 2  text WRONG" in lesson.output(finished, "program_panels")
    assert "the clock" in lesson.output(finished, "waterfall(")
    for text in PLOTS:
        image = finished.scroll_to(lesson.place(text)).locator("img")
        assert len(image.get_attribute("alt")) > 60
    assert (finished.foreign, finished.errors) == ([], [])


def test_axe_finds_nothing(lesson, finished):
    assert lesson.axe_findings(finished, (LANES, QUIZ, *PLOTS)) == {}


def test_the_quiz_answers_by_mouse_and_by_keyboard(lesson, finished):
    assert answer_quiz(finished, lesson.widget(finished, QUIZ)) == ["Right.", "Not this time"]
