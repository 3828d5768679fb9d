"""Lesson 2 as a student meets it: the course's own JupyterLab, a real browser, mouse and keys."""

import pytest
from lesson_in_lab import sentence

pytestmark = pytest.mark.browser

SLUG = "02_one_forward_pass"
PLAYER, GRID, QUIZ = "player = load_widget", "grid = load_widget", "quiz = load_widget"
TIMES = "show_times(time_passes())"


def test_run_all_reaches_the_last_cell(lesson, untouched):
    assert "0 of 20 points pass their visible checks" in lesson.output(untouched, "show_progress")
    assert (untouched.foreign, untouched.errors) == ([], [])


def test_an_unwritten_exercise_says_so_in_one_line(lesson, untouched):
    text = "check_speculative_decode_step(speculative_decode_step"
    assert lesson.output(untouched, text).strip() == (
        "✎ speculative_decode_step is not written yet. Write it in the answer cell, without the "
        "line that raises NotImplementedError, then run both cells."
    )


def test_the_player_by_mouse_and_by_keys(lesson, untouched):
    player = lesson.widget(untouched, PLAYER)
    player.get_by_role("button", name="Next pass").click()
    assert sentence(player).startswith("Pass 1: ")
    player.get_by_role("button", name="All passes").click()
    passes = player.locator(".sd-pass").count()
    assert player.locator(".sd-compare").inner_text().startswith(f"{passes} passes for 48 tokens")
    player.get_by_label("Guesses a pass, k").focus()
    untouched.page.keyboard.press("Home")
    assert "48 to come, with k = 0" in sentence(player)
    player.get_by_role("button", name="All passes").focus()
    untouched.page.keyboard.press("Enter")
    assert player.locator(".sd-pass").count() == 48
    assert "rounds 48 · drafted 0 · accepted 0 · emitted 48" in player.inner_text()
    cells = untouched.cell_count()
    untouched.page.keyboard.type("ddxab")
    assert untouched.cell_count() == cells


def answer_of_the_kernel(player):
    """Wait until the kernel has written or refused, and return the sentence that it gives."""
    form = player.locator(".sd-own")
    player.locator(".sd-own:is([data-state=written], [data-state=failed])").wait_for()
    return form.locator(".sd-live").inner_text()


def test_a_text_of_ones_own_is_written_by_the_kernel(lesson, untouched):
    player = lesson.widget(untouched, PLAYER)
    own = player.get_by_label("Or begin a text of your own")
    own.fill("My dear Mr. Bennet, have you heard")
    own.press("Enter")
    assert answer_of_the_kernel(player).startswith("Written")
    assert "My dear Mr. Bennet" in player.locator(".sd-start").inner_text()
    own.fill("no " * 600)
    player.get_by_role("button", name="Write").click()
    player.locator(".sd-own[data-state=failed]").wait_for()
    assert "The model reads 512" in answer_of_the_kernel(player)


def test_the_prediction_locks_the_grid_and_gives_nothing_away(lesson, browser):
    notebook = lesson.lab.open(browser, lesson.copy("locked"))
    notebook.run_all()
    grid = lesson.widget(notebook, GRID)
    assert "Locked" in sentence(grid)
    assert set(grid.locator(".sd-said").all_inner_texts()) == {"?"}
    assert "accepted: None" in lesson.output(notebook, "grid.accepted")
    grid = lesson.widget(notebook, GRID)
    grid.locator("input[value=A]").focus()  # by keyboard alone
    notebook.page.keyboard.press("ArrowDown")
    notebook.page.keyboard.press("ArrowDown")
    notebook.page.keyboard.press("Enter")
    assert "✓ Right." in grid.inner_text()
    assert sentence(grid).startswith("Rows 4, 5, 6, 7 judge. 0 accepted, 1 emitted: mat.")
    grid.get_by_label("Drafted word in row 7").select_option("the")  # by mouse
    assert "row 7 alone" in sentence(grid)
    grid.get_by_label("Causal mask").focus()
    notebook.page.keyboard.press("Space")
    assert "useless" in sentence(grid)
    cells = notebook.cell_count()
    notebook.page.keyboard.type("ddxab")
    assert notebook.cell_count() == cells
    notebook.close()


def test_the_quiz_gives_its_reasons(lesson, untouched):
    quiz = lesson.widget(untouched, QUIZ)
    quiz.locator("input[value=B]").first.check()
    quiz.get_by_role("button", name="Check").first.click()
    assert "✓ Right." in quiz.inner_text()


def test_the_times_have_their_alt_text(lesson, untouched):
    cell = untouched.scroll_to(lesson.place(TIMES))
    assert "reference machine" in cell.locator("img").get_attribute("alt")


def test_axe_finds_nothing(lesson, untouched):
    assert lesson.axe_findings(untouched, (PLAYER, GRID, QUIZ, TIMES)) == {}


def test_a_solved_lesson_gets_all_points_and_runs_the_trained_pair(lesson, browser, solved):
    notebook = lesson.lab.open(browser, solved)
    notebook.run_all()
    assert "18 of 20 points pass their visible checks.\n2 more noted" in lesson.output(
        notebook, "show_progress", solved
    )
    said = lesson.output(notebook, "pair.show_run", solved)
    assert "the same tokens as plain decoding: True" in said
    assert "passes of the target: 16 plain" in said
    rows = lesson.output(notebook, "pair.show_moved", solved).splitlines()[1:-1]
    assert all(row.split()[-2] == "0.0" != row.split()[-1] for row in rows if row.strip())
    assert (notebook.foreign, notebook.errors) == ([], [])
    notebook.close()


def test_work_survives_save_and_reload(lesson, browser):
    notebook = lesson.lab.open(browser, lesson.copy("kept"))
    notebook.run_all()
    grid = lesson.widget(notebook, GRID)
    grid.locator("input[value=D]").check()
    grid.get_by_role("button", name="Show what happens").click()
    grid.get_by_label("Drafted word in row 5").select_option("mat")
    player = lesson.widget(notebook, PLAYER)
    player.get_by_role("button", name="Next pass").click()
    notebook.wait_until_heard()
    notebook.save()
    notebook.page.reload()
    notebook.wait_until_ready()
    assert "Not this time" in lesson.widget(notebook, GRID).inner_text()
    assert "1 accepted, 2 emitted: mat and" in sentence(lesson.widget(notebook, GRID))
    assert sentence(lesson.widget(notebook, PLAYER)).startswith("Pass 1: ")
    notebook.close()
    assert (lesson.lab.root / f"lessons/{SLUG}/kept.ipynb").stat().st_size < 3_000_000
