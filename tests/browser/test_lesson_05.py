"""Lesson 5 as a student meets it: the course's own JupyterLab, a real browser, mouse and keys."""

import sys
from pathlib import Path

import nbformat
import pytest

from autograder.answers import with_answers, worked_answers
from tools.course import read_lesson, source_notebook, strip_markers

sys.path.insert(0, str(Path(__file__).parent))

from lab import THEMES, CourseLab, axe_violations, chromium

pytestmark = pytest.mark.browser

SLUG = "05_when_it_pays"
PATH = f"lessons/{SLUG}/{SLUG}.ipynb"
DRAFTS, BATCHES, QUIZ = "drafts = load_widget", "batches = load_widget", "quiz = load_widget"
FIGURE = "ticks_along("
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


def sentence(explorer):
    return explorer.locator(".sd-status").inner_text()


def slider(explorer, name):
    return explorer.get_by_role("slider", name=name, exact=True)


def commit(explorer, letter):
    explorer.locator(f"input[value={letter}]").check()
    explorer.get_by_role("button", name="Show what happens").click()


def test_run_all_reaches_the_last_cell(lab, untouched):
    last = place_of(lab, "show_progress")
    output = untouched.scroll_to(last).locator(".jp-OutputArea").inner_text()
    assert "0 of 20 points pass their visible checks" in output
    assert (untouched.foreign, untouched.errors) == ([], [])


def test_the_prediction_locks_the_explorer_and_gives_nothing_away(lab, browser):
    notebook = lab.open(browser, copy_of(lab, "locked"))
    notebook.run_all()
    explorer = widget(notebook, lab, DRAFTS)
    assert "Locked" in sentence(explorer)
    assert "best k:        None" in notebook.scroll_to(place_of(lab, "drafts.best_k")).inner_text()
    explorer = widget(notebook, lab, DRAFTS)
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


def test_the_second_explorer_answers_from_which_batch_it_loses(lab, browser, untouched):
    explorer = widget(untouched, lab, BATCHES)
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


def test_figures_have_their_alt_text(lab, untouched):
    cell = untouched.scroll_to(place_of(lab, FIGURE))
    assert "boxes where the draft guesses right" in cell.locator("img").get_attribute("alt")


def test_axe_finds_nothing(lab, untouched):
    found = {}
    for theme in THEMES:
        untouched.theme(theme)
        for text in (DRAFTS, BATCHES, QUIZ, FIGURE):
            place = place_of(lab, text)
            untouched.scroll_to(place).locator("img, .sd-widget").first.wait_for()
            selector = f".jp-Cell[data-windowed-list-index='{place}'] .jp-OutputArea-output"
            problems = axe_violations(untouched.page, selector)
            if problems:
                found[theme, text] = problems
    untouched.theme(THEMES[0])
    assert found == {}


def test_a_solved_lesson_gets_all_points(lab, browser):
    released = nbformat.read(lab.root / PATH, as_version=4)
    answers = worked_answers(source_notebook(read_lesson(SLUG)))
    filled = with_answers(released, {name: strip_markers(code) for name, code in answers.items()})
    path = f"lessons/{SLUG}/solved.ipynb"
    nbformat.write(filled, lab.root / path)
    notebook = lab.open(browser, path)
    notebook.run_all()
    place = place_of(lab, "show_progress", path)
    output = notebook.scroll_to(place).locator(".jp-OutputArea").inner_text()
    assert "18 of 20 points pass their visible checks.\n2 more noted" in output
    assert (notebook.foreign, notebook.errors) == ([], [])
    notebook.close()


def test_the_explorer_survives_save_reload_and_a_new_server(lab, browser):
    """Keep this test last: a page that is open while the server goes away shows a dialog."""
    kept = copy_of(lab, "kept")
    notebook = lab.open(browser, kept)
    notebook.run_all()
    explorer = widget(notebook, lab, DRAFTS)
    commit(explorer, "B")
    slider(explorer, "Acceptance a").fill("0.5")
    notebook.save()
    notebook.close()
    lab.stop()
    lab.start()

    notebook = lab.open(browser, kept)
    explorer = widget(notebook, lab, DRAFTS)
    assert sentence(explorer).startswith("A round gives 1.99 tokens")
    slider(explorer, "Acceptance a").fill("1")
    assert sentence(explorer).startswith("A round gives 8.00 tokens")
    assert "✓ Right." in explorer.inner_text()
    assert MODEL_ERROR not in notebook.page.locator(".jp-Notebook").inner_text()
    notebook.close()
    assert (lab.root / kept).stat().st_size < 3_000_000
