"""Lesson 4 as a student meets it: the course's own JupyterLab, a real browser, mouse and keys."""

import sys
from pathlib import Path

import nbformat
import pytest

from autograder.answers import with_answers, worked_answers
from tools.course import read_lesson, source_notebook, strip_markers

sys.path.insert(0, str(Path(__file__).parent))

from lab import THEMES, CourseLab, axe_violations, chromium

pytestmark = pytest.mark.browser

SLUG = "04_cache_and_rollback"
PATH = f"lessons/{SLUG}/{SLUG}.ipynb"
LANES, QUIZ = "lanes = load_widget", "quiz = load_widget"
PLOTS = ("program_panels", "pass_costs(here", "waterfall(")


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
def solved(lab, browser):
    """The lesson with all answers filled in, open and run."""
    released = nbformat.read(lab.root / PATH, as_version=4)
    answers = worked_answers(source_notebook(read_lesson(SLUG)))
    filled = with_answers(released, {name: strip_markers(code) for name, code in answers.items()})
    path = f"lessons/{SLUG}/solved.ipynb"
    nbformat.write(filled, lab.root / path)
    notebook = lab.open(browser, path)
    notebook.run_all()
    yield notebook
    notebook.close()


def copy_of(lab, name):
    """Put a copy of the lesson beside it, so that no two pages save the same file."""
    path = f"lessons/{SLUG}/{name}.ipynb"
    (lab.root / path).write_bytes((lab.root / PATH).read_bytes())
    return path


def place_of(lab, text):
    """Return the place of the first cell whose source holds a text."""
    cells = nbformat.read(lab.root / PATH, as_version=4).cells
    return next(i for i, cell in enumerate(cells) if text in cell.source)


def widget(notebook, lab, text):
    shown = notebook.scroll_to(place_of(lab, text)).locator(".sd-widget")
    shown.wait_for()
    return shown


def output(notebook, lab, text):
    return notebook.scroll_to(place_of(lab, text)).locator(".jp-OutputArea").inner_text()


def sentence(lanes):
    return lanes.locator(".sd-status").inner_text()


def go(lanes):
    lanes.locator(".sd-header .sd-primary").click()


def test_run_all_reaches_the_last_cell(lab, untouched):
    assert "0 of 20 points pass their visible checks" in output(untouched, lab, "show_progress")
    assert (untouched.foreign, untouched.errors) == ([], [])


def test_unwritten_exercises_say_so_and_nothing_else_fails(lab, untouched):
    for text in ("check_kv_cache(KVCache)", "logit_difference(KVCache", "waterfall("):
        assert "is not written yet. Write it in the answer cell" in output(untouched, lab, text)
    for text in ("compare_plain(", "relative_costs(", "product_costs(", "print_recorded()"):
        assert "Error" not in output(untouched, lab, text)


def test_the_hook_shows_three_texts(lab, untouched):
    said = output(untouched, lab, "three_programs(")
    assert said.count("passes for 40 tokens") == 3
    assert "draft's line missing: the right text" in said


def test_the_lanes_by_mouse_and_by_keyboard(lab, browser):
    notebook = lab.open(browser, copy_of(lab, "lanes"))
    notebook.run_all()
    lanes = widget(notebook, lab, LANES)
    assert "Locked" in sentence(lanes)
    assert "target's cache: None" in output(notebook, lab, "lanes.target_length")
    lanes = widget(notebook, lab, LANES)
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


def test_a_solved_lesson_gets_all_points_and_draws_all_figures(lab, solved):
    assert "18 of 20 points pass their visible checks.\n2 more noted" in output(
        solved, lab, "show_progress"
    )
    assert "program 2  text WRONG" in output(solved, lab, "program_panels")
    assert "the clock" in output(solved, lab, "waterfall(")
    for text in PLOTS:
        image = solved.scroll_to(place_of(lab, text)).locator("img")
        assert len(image.get_attribute("alt")) > 60
    assert (solved.foreign, solved.errors) == ([], [])


def test_axe_finds_nothing(lab, solved):
    found = {}
    for theme in THEMES:
        solved.theme(theme)
        for text in (LANES, QUIZ, *PLOTS):
            place = place_of(lab, text)
            solved.scroll_to(place).locator("img, .sd-widget").first.wait_for()
            selector = f".jp-Cell[data-windowed-list-index='{place}'] .jp-OutputArea-output"
            problems = axe_violations(solved.page, selector)
            if problems:
                found[theme, text] = problems
    solved.theme(THEMES[0])
    assert found == {}


def test_the_quiz_answers_with_reasons(lab, solved):
    quiz = widget(solved, lab, QUIZ)
    quiz.locator("input[value=A]").first.check()
    quiz.get_by_role("button", name="Check").first.click()
    assert "✓ Right." in quiz.inner_text()
