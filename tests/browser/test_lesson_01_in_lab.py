"""Lesson 1 as a student meets it: the course's own JupyterLab, a real browser, mouse and keys."""

import pytest
from lab import THEMES, axe_violations
from lesson_in_lab import MODEL_ERROR, commit, sentence, toolbar, validate

pytestmark = pytest.mark.browser

SLUG = "01_draft_and_verify"
LANE, OWN_LANE, QUIZ = "lane = load_widget", "own_lane = load_widget", "quiz = load_widget"


def test_run_all_reaches_the_last_cell(lesson, untouched):
    output = lesson.output(untouched, "show_progress")
    assert "0 of 20 points pass their visible checks" in output
    assert (untouched.foreign, untouched.errors) == ([], [])


def test_an_unwritten_exercise_says_so_in_one_line(lesson, untouched):
    assert lesson.output(untouched, "check_verify_greedy(verify_greedy)") == (
        "✎ verify_greedy is not written yet. Write it in the answer cell, without the line that "
        "raises NotImplementedError, then run both cells."
    )


def test_the_prediction_locks_the_lane_and_gives_nothing_away(lesson, browser):
    notebook = lesson.lab.open(browser, lesson.copy("locked"))
    notebook.run_all()
    lane = lesson.widget(notebook, LANE)
    assert "Locked" in sentence(lane)
    assert "accepted: None" in lesson.output(notebook, "lane.picks")
    commit(lesson.widget(notebook, LANE), "C")
    lane = lesson.widget(notebook, LANE)
    assert "Not this time" in lane.inner_text()
    assert sentence(lane).startswith("1 accepted, 2 emitted: 7 6.")
    lane.get_by_label("Target's answer at place 2").select_option("3")  # by mouse
    assert sentence(lane).startswith("4 accepted, 5 emitted")
    lane.get_by_label("Target's answer at place 1").focus()  # by keyboard alone
    notebook.page.keyboard.press("ArrowUp")
    assert sentence(lane).startswith("0 accepted, 1 emitted: 6.")
    cells = notebook.cell_count()
    notebook.page.keyboard.type("ddxab")
    assert notebook.cell_count() == cells
    notebook.close()


def test_the_own_lane_reaches_nine_tokens(lesson, untouched):
    lane = lesson.widget(untouched, OWN_LANE)
    lane.get_by_label("Guesses a round").focus()
    untouched.page.keyboard.press("End")
    for place in range(1, 9):
        guess = lane.get_by_label(f"Draft's guess at place {place}")
        lane.get_by_label(f"Target's answer at place {place}").select_option(guess.input_value())
    assert sentence(lane).startswith("8 accepted, 9 emitted")
    lane.get_by_label("Guesses a round").focus()
    untouched.page.keyboard.press("Home")
    assert "plain decoding" in sentence(lane)


def test_figures_have_their_alt_text(lesson, untouched):
    cell = untouched.scroll_to(lesson.place("token_bars(0.8, 4)"))
    assert "0.512" in cell.locator("img").get_attribute("alt")


def test_axe_finds_nothing(lesson, untouched):
    assert lesson.axe_findings(untouched, (LANE, OWN_LANE, QUIZ, "token_bars(0.8, 4)")) == {}


def test_validate_names_the_first_exercise_of_an_untouched_lesson(lesson, browser):
    notebook = lesson.lab.open(browser, lesson.copy("to_validate"))
    text = validate(notebook)
    assert "todo_tokens_emitted is not written yet" in text
    notebook.close()


def test_validate_says_success_for_a_solved_lesson(lesson, browser, solved):
    notebook = lesson.lab.open(browser, solved)
    assert "Success" in validate(notebook)
    notebook.run_all()
    output = lesson.output(notebook, "show_progress", solved)
    assert "18 of 20 points pass their visible checks.\n2 more noted" in output
    assert (notebook.foreign, notebook.errors) == ([], [])
    notebook.close()


def test_all_lessons_are_shown_and_opened_by_keyboard(lesson, browser):
    notebook = lesson.lab.open(browser, lesson.copy("course_view"))
    notebook.run_all()
    view = notebook.scroll_to(lesson.place("show_progress")).locator(".sd-course")
    view.wait_for()
    assert view.locator("tbody tr").count() == 6
    for theme in THEMES:
        notebook.theme(theme)
        assert axe_violations(notebook.page, ".sd-course") == []
    cells = notebook.cell_count()
    parts = view.locator("summary").first
    parts.focus()
    notebook.page.keyboard.press("Enter")
    assert view.get_by_text("verify_greedy: not written").is_visible()
    notebook.page.keyboard.type("dd")
    assert notebook.cell_count() == cells
    view.locator("a", has_text="One forward pass").focus()
    notebook.page.keyboard.press("Enter")
    notebook.page.locator(".jp-NotebookPanel:visible", has_text="Lesson 2 ·").wait_for()
    assert (notebook.foreign, notebook.errors) == ([], [])
    notebook.close()


def test_students_see_no_instructor_tools(untouched):
    assert untouched.page.locator("text=Nbgrader").count() == 0
    assert untouched.page.locator("text=Create Assignment").count() == 0
    assert toolbar(untouched).locator("text=Validate").count() == 1


def test_the_worked_answer_opens_from_its_link(lesson, browser, untouched):
    link = untouched.scroll_to(lesson.place("#Exercise-1:-verify_greedy")).locator(
        "a", has_text="worked answer"
    )
    assert link.get_attribute("href")
    link.click()
    untouched.page.locator(".jp-NotebookPanel:visible", has_text="Why this way").wait_for()


def test_work_survives_save_reload_restart_and_a_new_server(lesson, browser):
    """Keep this test last: a page that is open while the server goes away shows a dialog."""
    kept = lesson.copy("kept")
    notebook = lesson.lab.open(browser, kept)
    notebook.run_all()
    commit(lesson.widget(notebook, LANE))
    lesson.widget(notebook, LANE).get_by_label("Target's answer at place 2").select_option("3")
    quiz = lesson.widget(notebook, QUIZ)
    quiz.locator("input[value=C]").first.check()
    quiz.get_by_role("button", name="Check").first.click()
    notebook.wait_until_heard()
    notebook.save()
    notebook.page.reload()
    notebook.wait_until_ready()
    assert sentence(lesson.widget(notebook, LANE)).startswith("4 accepted, 5 emitted")
    notebook.restart_kernel()
    notebook.close()
    lesson.lab.stop()
    lesson.lab.start()

    notebook = lesson.lab.open(browser, kept)
    lane = lesson.widget(notebook, LANE)
    assert sentence(lane).startswith("4 accepted, 5 emitted")
    lane.get_by_label("Target's answer at place 1").select_option("1")
    assert sentence(lane).startswith("0 accepted, 1 emitted: 1.")
    assert "✓ Right." in lesson.widget(notebook, QUIZ).inner_text()
    assert MODEL_ERROR not in notebook.page.locator(".jp-Notebook").inner_text()
    notebook.close()
    assert (lesson.lab.root / kept).stat().st_size < 3_000_000
