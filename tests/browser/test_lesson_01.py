"""Lesson 1 as a student meets it: the course's own JupyterLab, a real browser, mouse and keys."""

import sys
from pathlib import Path

import nbformat
import pytest

from autograder.answers import with_answers, worked_answers
from tools.course import read_lesson, source_notebook, strip_markers

sys.path.insert(0, str(Path(__file__).parent))

from lab import THEMES, CourseLab, axe_violations, chromium

pytestmark = pytest.mark.browser

SLUG = "01_draft_and_verify"
PATH = f"lessons/{SLUG}/{SLUG}.ipynb"
LANE, OWN_LANE, QUIZ = "lane = load_widget", "own_lane = load_widget", "quiz = load_widget"
MODEL_ERROR = "Error displaying widget"


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def lab(tmp_path_factory, browser):
    with CourseLab(tmp_path_factory.mktemp("student")) as running:
        yield running


@pytest.fixture(scope="module")
def untouched(lab, browser):
    """The released lesson, open and run from top to bottom."""
    notebook = lab.open(browser, copy_of(lab, "untouched"))
    notebook.run_all()
    yield notebook
    notebook.close()


@pytest.fixture(scope="module")
def solved(lab):
    """The path of the lesson with all answers filled in, not run."""
    released = nbformat.read(lab.root / PATH, as_version=4)
    answers = worked_answers(source_notebook(read_lesson(SLUG)))
    filled = with_answers(released, {name: strip_markers(code) for name, code in answers.items()})
    path = f"lessons/{SLUG}/solved.ipynb"
    nbformat.write(filled, lab.root / path)
    return path


def copy_of(lab, name):
    """Put a copy of the lesson beside it, so that no two pages save the same file."""
    path = f"lessons/{SLUG}/{name}.ipynb"
    (lab.root / path).write_bytes((lab.root / PATH).read_bytes())
    return path


def place_of(lab, text, path=PATH):
    """Return the place of the first cell whose source holds a text."""
    cells = nbformat.read(lab.root / path, as_version=4).cells
    return next(i for i, cell in enumerate(cells) if text in cell.source)


def widget(notebook, lab, text):
    shown = notebook.scroll_to(place_of(lab, text)).locator(".sd-widget")
    shown.wait_for()
    return shown


def sentence(lane):
    return lane.locator(".sd-status").inner_text()


def commit(lane, letter="B"):
    lane.locator(f"input[value={letter}]").check()
    lane.get_by_role("button", name="Show what happens").click()


def toolbar(notebook):
    return notebook.page.locator(".jp-NotebookPanel-toolbar")


def validate(notebook):
    """Press nbgrader's button and return what its dialog says."""
    toolbar(notebook).locator("text=Validate").click()
    dialog = notebook.page.locator(".jp-Dialog-content")
    dialog.wait_for(timeout=90_000)
    text = dialog.inner_text()
    notebook.page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    return text


def test_run_all_reaches_the_last_cell(lab, untouched):
    last = place_of(lab, "show_progress")
    output = untouched.scroll_to(last).locator(".jp-OutputArea").inner_text()
    assert "0 of 20 points pass their visible checks" in output
    assert (untouched.foreign, untouched.errors) == ([], [])


def test_an_unwritten_exercise_says_so_in_one_line(lab, untouched):
    cell = untouched.scroll_to(place_of(lab, "check_verify_greedy(verify_greedy)"))
    assert cell.locator(".jp-OutputArea").inner_text().strip() == (
        "✎ verify_greedy is not written yet. Write it in the answer cell, without the line that "
        "raises NotImplementedError, then run both cells."
    )


def test_the_prediction_locks_the_lane_and_gives_nothing_away(lab, browser):
    notebook = lab.open(browser, copy_of(lab, "locked"))
    notebook.run_all()
    lane = widget(notebook, lab, LANE)
    assert "Locked" in sentence(lane)
    assert "accepted: None" in notebook.scroll_to(place_of(lab, "lane.picks")).inner_text()
    commit(widget(notebook, lab, LANE), "C")
    lane = widget(notebook, lab, LANE)
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


def test_the_own_lane_reaches_nine_tokens(lab, untouched):
    lane = widget(untouched, lab, OWN_LANE)
    lane.get_by_label("Guesses a round").focus()
    untouched.page.keyboard.press("End")
    for place in range(1, 9):
        guess = lane.get_by_label(f"Draft's guess at place {place}")
        lane.get_by_label(f"Target's answer at place {place}").select_option(guess.input_value())
    assert sentence(lane).startswith("8 accepted, 9 emitted")
    lane.get_by_label("Guesses a round").focus()
    untouched.page.keyboard.press("Home")
    assert "plain decoding" in sentence(lane)


def test_figures_have_their_alt_text(lab, untouched):
    cell = untouched.scroll_to(place_of(lab, "token_bars(0.8, 4)"))
    assert "0.512" in cell.locator("img").get_attribute("alt")


def test_axe_finds_nothing(lab, untouched):
    found = {}
    for theme in THEMES:
        untouched.theme(theme)
        for text in (LANE, OWN_LANE, QUIZ, "token_bars(0.8, 4)"):
            place = place_of(lab, text)
            untouched.scroll_to(place).locator("img, .sd-widget").first.wait_for()
            selector = f".jp-Cell[data-windowed-list-index='{place}'] .jp-OutputArea-output"
            problems = axe_violations(untouched.page, selector)
            if problems:
                found[theme, text] = problems
    untouched.theme(THEMES[0])
    assert found == {}


def test_validate_names_the_first_exercise_of_an_untouched_lesson(lab, browser):
    notebook = lab.open(browser, copy_of(lab, "to_validate"))
    text = validate(notebook)
    assert "todo_tokens_emitted is not written yet" in text
    notebook.close()


def test_validate_says_success_for_a_solved_lesson(lab, browser, solved):
    notebook = lab.open(browser, solved)
    assert "Success" in validate(notebook)
    notebook.run_all()
    place = place_of(lab, "show_progress", solved)
    output = notebook.scroll_to(place).locator(".jp-OutputArea").inner_text()
    assert "20 of 20 points" in output
    assert (notebook.foreign, notebook.errors) == ([], [])
    notebook.close()


def test_students_see_no_instructor_tools(untouched):
    assert untouched.page.locator("text=Nbgrader").count() == 0
    assert untouched.page.locator("text=Create Assignment").count() == 0
    assert toolbar(untouched).locator("text=Validate").count() == 1


def test_the_worked_answer_opens_from_its_link(lab, browser, untouched):
    link = untouched.scroll_to(place_of(lab, "#Exercise-1:-verify_greedy")).locator(
        "a", has_text="worked answer"
    )
    assert link.get_attribute("href")
    link.click()
    untouched.page.locator(".jp-NotebookPanel:visible", has_text="Why this way").wait_for()


def test_work_survives_save_reload_restart_and_a_new_server(lab, browser):
    """Keep this test last: a page that is open while the server goes away shows a dialog."""
    kept = copy_of(lab, "kept")
    notebook = lab.open(browser, kept)
    notebook.run_all()
    commit(widget(notebook, lab, LANE))
    widget(notebook, lab, LANE).get_by_label("Target's answer at place 2").select_option("3")
    quiz = widget(notebook, lab, QUIZ)
    quiz.locator("input[value=C]").first.check()
    quiz.get_by_role("button", name="Check").first.click()
    notebook.save()
    notebook.page.reload()
    notebook.wait_until_ready()
    assert sentence(widget(notebook, lab, LANE)).startswith("4 accepted, 5 emitted")
    notebook.restart_kernel()
    notebook.close()
    lab.stop()
    lab.start()

    notebook = lab.open(browser, kept)
    lane = widget(notebook, lab, LANE)
    assert sentence(lane).startswith("4 accepted, 5 emitted")
    lane.get_by_label("Target's answer at place 1").select_option("1")
    assert sentence(lane).startswith("0 accepted, 1 emitted: 1.")
    assert "✓ Right." in widget(notebook, lab, QUIZ).inner_text()
    assert MODEL_ERROR not in notebook.page.locator(".jp-Notebook").inner_text()
    notebook.close()
    assert (lab.root / kept).stat().st_size < 3_000_000
