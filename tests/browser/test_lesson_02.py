"""Lesson 2 as a student meets it: the course's own JupyterLab, a real browser, mouse and keys."""

import sys
from pathlib import Path

import nbformat
import pytest

from autograder.answers import with_answers, worked_answers
from specdec.model import MODELS
from tools.course import read_lesson, source_notebook, strip_markers

sys.path.insert(0, str(Path(__file__).parent))

from lab import THEMES, CourseLab, axe_violations, chromium

pytestmark = pytest.mark.browser

SLUG = "02_one_forward_pass"
PATH = f"lessons/{SLUG}/{SLUG}.ipynb"
PLAYER, GRID, QUIZ = "player = load_widget", "grid = load_widget", "quiz = load_widget"
TIMES = "show_times(time_passes())"
TRAINED = (MODELS / "target" / "model.safetensors").exists()
needs_weights = pytest.mark.skipif(not TRAINED, reason="trained weights: not in this checkout")


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


def sentence(shown):
    return shown.locator(".sd-status").inner_text()


def output(notebook, lab, text, path=PATH):
    return notebook.scroll_to(place_of(lab, text, path)).locator(".jp-OutputArea").inner_text()


def test_run_all_reaches_the_last_cell(lab, untouched):
    assert "0 of 20 points pass their visible checks" in output(untouched, lab, "show_progress")
    assert (untouched.foreign, untouched.errors) == ([], [])


def test_an_unwritten_exercise_says_so_in_one_line(lab, untouched):
    text = "check_speculative_decode_step(speculative_decode_step"
    assert output(untouched, lab, text).strip() == (
        "✎ speculative_decode_step is not written yet. Write it in the answer cell, without the "
        "line that raises NotImplementedError, then run both cells."
    )


def test_the_player_by_mouse_and_by_keys(lab, untouched):
    player = widget(untouched, lab, PLAYER)
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


@needs_weights
def test_a_text_of_ones_own_is_written_by_the_kernel(lab, untouched):
    player = widget(untouched, lab, PLAYER)
    own = player.get_by_label("Or begin a text of your own")
    own.fill("My dear Mr. Bennet, have you heard")
    own.press("Enter")
    assert answer_of_the_kernel(player).startswith("Written")
    assert "My dear Mr. Bennet" in player.locator(".sd-start").inner_text()
    own.fill("no " * 600)
    player.get_by_role("button", name="Write").click()
    player.locator(".sd-own[data-state=failed]").wait_for()
    assert "The model reads 512" in answer_of_the_kernel(player)


def test_the_prediction_locks_the_grid_and_gives_nothing_away(lab, browser):
    notebook = lab.open(browser, copy_of(lab, "locked"))
    notebook.run_all()
    grid = widget(notebook, lab, GRID)
    assert "Locked" in sentence(grid)
    assert set(grid.locator(".sd-said").all_inner_texts()) == {"?"}
    assert "accepted: None" in output(notebook, lab, "grid.accepted")
    grid = widget(notebook, lab, GRID)
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


def test_the_quiz_gives_its_reasons(lab, untouched):
    quiz = widget(untouched, lab, QUIZ)
    quiz.locator("input[value=B]").first.check()
    quiz.get_by_role("button", name="Check").first.click()
    assert "✓ Right." in quiz.inner_text()


@needs_weights
def test_the_times_have_their_alt_text(lab, untouched):
    cell = untouched.scroll_to(place_of(lab, TIMES))
    assert "reference machine" in cell.locator("img").get_attribute("alt")


def test_axe_finds_nothing(lab, untouched):
    found = {}
    for theme in THEMES:
        untouched.theme(theme)
        for text in (PLAYER, GRID, QUIZ, *([TIMES] if TRAINED else [])):
            place = place_of(lab, text)
            untouched.scroll_to(place).locator("img, .sd-widget").first.wait_for()
            selector = f".jp-Cell[data-windowed-list-index='{place}'] .jp-OutputArea-output"
            problems = axe_violations(untouched.page, selector)
            if problems:
                found[theme, text] = problems
    untouched.theme(THEMES[0])
    assert found == {}


@needs_weights
def test_a_solved_lesson_gets_all_points_and_runs_the_trained_pair(lab, browser, solved):
    notebook = lab.open(browser, solved)
    notebook.run_all()
    assert "18 of 20 points pass their visible checks.\n2 more noted" in output(
        notebook, lab, "show_progress", solved
    )
    said = output(notebook, lab, "pair.show_run", solved)
    assert "the same tokens as plain decoding: True" in said
    assert "passes of the target: 16 plain" in said
    rows = output(notebook, lab, "pair.show_moved", solved).splitlines()[1:-1]
    assert all(row.split()[-2] == "0.0" != row.split()[-1] for row in rows if row.strip())
    assert (notebook.foreign, notebook.errors) == ([], [])
    notebook.close()


def test_work_survives_save_and_reload(lab, browser):
    notebook = lab.open(browser, copy_of(lab, "kept"))
    notebook.run_all()
    grid = widget(notebook, lab, GRID)
    grid.locator("input[value=D]").check()
    grid.get_by_role("button", name="Show what happens").click()
    grid.get_by_label("Drafted word in row 5").select_option("mat")
    player = widget(notebook, lab, PLAYER)
    player.get_by_role("button", name="Next pass").click()
    notebook.save()
    notebook.page.reload()
    notebook.wait_until_ready()
    assert "Not this time" in widget(notebook, lab, GRID).inner_text()
    assert "1 accepted, 2 emitted: mat and" in sentence(widget(notebook, lab, GRID))
    assert sentence(widget(notebook, lab, PLAYER)).startswith("Pass 1: ")
    notebook.close()
    assert (lab.root / f"lessons/{SLUG}/kept.ipynb").stat().st_size < 3_000_000
