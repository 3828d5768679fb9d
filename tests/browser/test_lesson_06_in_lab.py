"""Lesson 6 as a student meets it: the course's own JupyterLab, a real browser, mouse and keys."""

import pytest
from lesson_in_lab import MODEL_ERROR, answer_quiz, sentence

pytestmark = pytest.mark.browser

SLUG = "06_better_drafts"
RACE, QUIZ = "race = load_widget", "quiz = load_widget"
PLACED = ("distilled model", "prompt lookup", "n-gram")


def place_winners(race, drafts=PLACED):
    """Answer the race's question with the mouse."""
    for box, draft in zip(race.locator(".sd-place select").all(), drafts, strict=True):
        box.select_option(draft)
    race.get_by_role("button", name="Show the race").click()


def test_run_all_reaches_the_last_cell(lesson, untouched):
    assert "0 of 20 points pass their visible checks" in lesson.output(untouched, "show_progress")
    assert (untouched.foreign, untouched.errors) == ([], [])


def test_the_race_is_locked_and_then_played_by_mouse_and_keyboard(lesson, browser):
    notebook = lesson.lab.open(browser, lesson.copy("locked"))
    notebook.run_all()
    race = lesson.widget(notebook, RACE)
    assert sentence(race).startswith("Locked: ")
    assert "None" in lesson.output(notebook, "race.alpha")
    race = lesson.widget(notebook, RACE)
    place_winners(race)
    assert race.locator(".sd-place-verdict:visible").count() == 3
    race.get_by_role("button", name="Next pass").click()  # mouse
    assert sentence(race).startswith("After 1 of the target's passes")
    race.get_by_role("slider", name="Passes shown").focus()  # by keyboard alone
    notebook.page.keyboard.press("End")
    assert sentence(race).startswith("All are through. ")
    cells = notebook.cell_count()
    for name in ("Passes shown", "Guesses a pass, k"):
        race.get_by_role("slider", name=name).focus()
        notebook.page.keyboard.type("ddxab")
        assert notebook.cell_count() == cells
    notebook.close()


def test_the_quiz_answers_by_mouse_and_by_keyboard(lesson, untouched):
    assert answer_quiz(untouched, lesson.widget(untouched, QUIZ)) == ["Not this time", "Right."]


def test_axe_finds_nothing(lesson, untouched):
    place_winners(lesson.widget(untouched, RACE))
    assert lesson.axe_findings(untouched, (RACE, QUIZ)) == {}


def test_a_solved_lesson_gets_all_points(lesson, browser, solved):
    notebook = lesson.lab.open(browser, solved)
    notebook.run_all()
    output = lesson.output(notebook, "show_progress", solved)
    assert "18 of 20 points pass their visible checks.\n2 more noted" in output
    assert (notebook.foreign, notebook.errors) == ([], [])
    notebook.close()


def test_the_race_survives_save_reload_and_a_new_server(lesson, browser):
    """Keep this test last: a page that is open while the server goes away shows a dialog."""
    kept = lesson.copy("kept")
    notebook = lesson.lab.open(browser, kept)
    notebook.run_all()
    race = lesson.widget(notebook, RACE)
    place_winners(race)
    race.get_by_role("combobox", name="Text", exact=True).select_option("code")
    notebook.save()
    notebook.close()
    lesson.lab.stop()
    lesson.lab.start()

    notebook = lesson.lab.open(browser, kept)
    race = lesson.widget(notebook, RACE)
    assert sentence(race).startswith("No pass yet")
    race.get_by_role("button", name="All passes").click()
    assert sentence(race).startswith("All are through. ")
    assert race.get_by_role("combobox", name="Text", exact=True).input_value() == "code"
    assert MODEL_ERROR not in notebook.page.locator(".jp-Notebook").inner_text()
    notebook.close()
    assert (lesson.lab.root / kept).stat().st_size < 3_000_000
