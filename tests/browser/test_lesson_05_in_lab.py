"""Lesson 5 as a student meets it: the course's own JupyterLab, a real browser, mouse and keys."""

import pytest
from lesson_in_lab import MODEL_ERROR, answer_quiz, commit, sentence

pytestmark = pytest.mark.browser

SLUG = "05_when_it_pays"
DRAFTS, BATCHES, QUIZ = "drafts = load_widget", "batches = load_widget", "quiz = load_widget"
FIGURE = "ticks_along("


def slider(explorer, name):
    return explorer.get_by_role("slider", name=name, exact=True)


def test_run_all_reaches_the_last_cell(lesson, untouched):
    assert "0 of 20 points pass their visible checks" in lesson.output(untouched, "show_progress")
    assert (untouched.foreign, untouched.errors) == ([], [])


def test_the_prediction_locks_the_explorer_and_gives_nothing_away(lesson, browser):
    notebook = lesson.lab.open(browser, lesson.copy("locked"))
    notebook.run_all()
    explorer = lesson.widget(notebook, DRAFTS)
    assert "Locked" in sentence(explorer)
    assert "best k:        None" in lesson.output(notebook, "drafts.best_k")
    explorer = lesson.widget(notebook, DRAFTS)
    commit(explorer, "A")
    assert "Not this time" in explorer.inner_text()
    assert sentence(explorer).startswith("A round gives 3.60 tokens for a cost of 1.14 passes")
    explorer.get_by_label("Load a case").select_option("T5-large drafts, translation")  # mouse
    assert "2.50 times" in sentence(explorer)
    slider(explorer, "Guesses a round, k").focus()  # by keyboard alone
    notebook.page.keyboard.press("Home")
    assert sentence(explorer).startswith("k = 0: nothing is drafted")
    cells = notebook.cell_count()
    for control in (slider(explorer, "Acceptance a"), explorer.get_by_label("Load a case")):
        control.focus()
        notebook.page.keyboard.type("ddxab")
        assert notebook.cell_count() == cells
    notebook.close()


def test_the_second_explorer_answers_from_which_batch_it_loses(lesson, browser, untouched):
    explorer = lesson.widget(untouched, BATCHES)
    assert "Locked" in sentence(explorer)
    commit(explorer, "B")
    assert "At k = 4 it loses from 95 texts on." in sentence(explorer)
    batch = slider(explorer, "Texts in a batch")
    batch.focus()
    untouched.page.keyboard.press("End")
    assert "so slower" in sentence(explorer)
    box = batch.bounding_box()
    untouched.page.mouse.click(box["x"] + 3, box["y"] + box["height"] / 2)
    assert "times as fast" in sentence(explorer)
    assert "so slower" not in sentence(explorer)


def test_figures_have_their_alt_text(lesson, untouched):
    cell = untouched.scroll_to(lesson.place(FIGURE))
    assert "boxes where the draft guesses right" in cell.locator("img").get_attribute("alt")


def test_the_quiz_answers_by_mouse_and_by_keyboard(lesson, untouched):
    assert answer_quiz(untouched, lesson.widget(untouched, QUIZ)) == ["Right.", "Not this time"]


def test_axe_finds_nothing(lesson, untouched):
    assert lesson.axe_findings(untouched, (DRAFTS, BATCHES, QUIZ, FIGURE)) == {}


def test_a_solved_lesson_gets_all_points(lesson, browser, solved):
    notebook = lesson.lab.open(browser, solved)
    notebook.run_all()
    output = lesson.output(notebook, "show_progress", solved)
    assert "18 of 20 points pass their visible checks.\n2 more noted" in output
    assert (notebook.foreign, notebook.errors) == ([], [])
    notebook.close()


def test_the_explorer_survives_save_reload_and_a_new_server(lesson, browser):
    """Keep this test last: a page that is open while the server goes away shows a dialog."""
    kept = lesson.copy("kept")
    notebook = lesson.lab.open(browser, kept)
    notebook.run_all()
    explorer = lesson.widget(notebook, DRAFTS)
    commit(explorer, "B")
    slider(explorer, "Acceptance a").fill("0.5")
    notebook.save()
    notebook.close()
    lesson.lab.stop()
    lesson.lab.start()

    notebook = lesson.lab.open(browser, kept)
    explorer = lesson.widget(notebook, DRAFTS)
    assert sentence(explorer).startswith("A round gives 1.99 tokens")
    slider(explorer, "Acceptance a").fill("1")
    assert sentence(explorer).startswith("A round gives 8.00 tokens")
    assert "✓ Right." in explorer.inner_text()
    assert MODEL_ERROR not in notebook.page.locator(".jp-Notebook").inner_text()
    notebook.close()
    assert (lesson.lab.root / kept).stat().st_size < 3_000_000
