"""The widgets in a real JupyterLab: mouse, keys, themes, saving and coming back."""

import json
import statistics
from pathlib import Path

import nbformat
import pytest
from lab import THEMES, Lab, axe_violations

from specdec.widgets import DraftLane

pytestmark = pytest.mark.browser

LANE = """\
from specdec.widgets import Choice, DraftLane, Question, Quiz

lane = DraftLane(
    [7, 3, 5, 9],
    [7, 6, 5, 9, 2],
    question="Which tokens come out of this round?",
    choices=[("7", "One more comes out.", False), ("7 6", "7 agrees, 6 replaces 3.", True)],
)
lane"""
SOURCES = [
    LANE,
    "print(lane.picks, lane.accepted, lane.emitted, lane.prediction)",
    "free = DraftLane([7, 3], [7, 3, 5], edit_draft=True)\nfree",
    'quiz = Quiz([Question("Is it?", [Choice("no", "It is.", False), Choice("yes", "So.", True)])])'
    "\nquiz",
    "print(quiz.answers)",
]
MODEL_ERROR = "Error displaying widget"

# From the event to the next change of the document, 30 times, in milliseconds.
TIMES = """async (select) => {
  const root = select.closest(".sd-lane");
  const times = [];
  for (let i = 0; i < 30; i += 1) {
    const seen = new Promise((done) => {
      const observer = new MutationObserver(() => {
        observer.disconnect();
        done(performance.now());
      });
      observer.observe(root, { subtree: true, childList: true, characterData: true });
    });
    select.value = select.value === "3" ? "4" : "3";
    const start = performance.now();
    select.dispatchEvent(new Event("change", { bubbles: true }));
    times.push((await seen) - start);
    await new Promise((done) => requestAnimationFrame(done));
  }
  return times;
}"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory, browser):
    repository = str(Path(__file__).parents[2])
    with Lab(tmp_path_factory.mktemp("lab"), env={"PYTHONPATH": repository}) as running:
        yield running


@pytest.fixture
def notebook(lab, browser, request):
    """A notebook with the widgets in it, open and run."""
    name = f"{request.node.name}.ipynb"
    write_notebook(lab.root / name)
    opened = lab.open(browser, name)
    opened.run_all()
    yield opened
    opened.close()
    assert (opened.foreign, opened.errors) == ([], [])


def write_notebook(path):
    """Write the notebook that the tests open."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in SOURCES]
    nbformat.write(notebook, path)


def widget(notebook, cell):
    """The widget that a cell shows, brought on the screen."""
    shown = notebook.scroll_to(cell).locator(".sd-widget")
    shown.wait_for()
    return shown


def locked_lane(notebook):
    """The lane with a question."""
    return widget(notebook, 0)


def free_lane(notebook):
    """The lane whose draft can be edited."""
    return widget(notebook, 2)


def quiz(notebook):
    """The quiz."""
    return widget(notebook, 3)


def status(lane):
    """The sentence below a lane."""
    return lane.locator(".sd-status").inner_text()


def predict(lane):
    """Commit to the right choice."""
    lane.locator("input[value=B]").check()
    lane.get_by_role("button", name="Show what happens").click()


def check(quiz, letter):
    """Choose an answer of the quiz and have it checked."""
    quiz.locator(f"input[value={letter}]").check()
    quiz.get_by_role("button", name="Check").click()


def printed(notebook, cell):
    """Run a cell and return what it prints."""
    notebook.page.evaluate(
        """(cell) => {
          const { content, sessionContext } = window.jupyterapp.shell.currentWidget;
          content.activeCellIndex = cell;
          content.widgets[cell].model.sharedModel.execution_count = null;
          window.jupyterapp.commands.execute("notebook:run-cell");
        }""",
        cell,
    )
    notebook.wait_until_run()
    return notebook.output(cell)


def test_a_cell_reads_what_the_learner_set(notebook):
    lane = locked_lane(notebook)
    assert printed(notebook, 1).endswith("None []"), "a locked lane gives nothing away"
    predict(lane)
    lane.get_by_label("Target's answer at place 2").select_option("3")
    printed(notebook, 1)  # the page keeps a change back until the kernel has the one before it
    assert "[7, 3, 5, 9, 2] 4 [7, 3, 5, 9, 2] 7 6" in printed(notebook, 1)
    free = free_lane(notebook)
    free.get_by_label("Guesses a round").fill("0")
    assert "plain decoding" in status(free)


def test_no_key_deletes_a_cell_or_leaves_the_control(notebook):
    cells = notebook.cell_count()
    lane = locked_lane(notebook)
    controls = [
        lane.locator("input[type=radio]").first,
        lane.get_by_role("button", name="Show what happens"),
    ]
    free = free_lane(notebook)
    controls += [
        free.get_by_role("button", name="Reset"),
        free.get_by_label("Guesses a round"),
        free.get_by_label("Draft's guess at place 1"),
        free.get_by_label("Target's answer at place 1"),
    ]
    controls += [quiz(notebook).locator("input[type=radio]").first]
    controls += [quiz(notebook).get_by_role("button")]
    for control in controls:
        control.focus()
        notebook.page.keyboard.type("ddxabz")
        assert notebook.cell_count() == cells, control
        assert control.evaluate("(node) => node === document.activeElement"), control


def test_the_keyboard_alone_is_enough(notebook):
    free = free_lane(notebook)
    free.get_by_label("Target's answer at place 2").focus()
    notebook.page.keyboard.press("ArrowDown")
    assert status(free).startswith("1 accepted, 2 emitted: 7 4.")
    notebook.page.keyboard.press("8")
    assert status(free).startswith("1 accepted, 2 emitted: 7 8.")
    free.get_by_label("Guesses a round").focus()
    notebook.page.keyboard.press("Home")
    assert "plain decoding" in status(free)
    lane = locked_lane(notebook)
    lane.locator("input[type=radio]").first.focus()
    for key in ("Space", "ArrowDown", "Enter"):
        notebook.page.keyboard.press(key)
    assert lane.locator(".sd-verdict").inner_text() == "✓ Right."
    cells = notebook.cell_count()
    notebook.page.keyboard.type("dd")
    assert notebook.cell_count() == cells, "the sentence has the focus now"


def test_axe_finds_nothing_in_any_theme(notebook):
    found = {}
    for answered in (False, True):
        if answered:
            predict(locked_lane(notebook))
            check(quiz(notebook), "A")
        for theme in THEMES:
            notebook.theme(theme)
            for shown in (locked_lane, quiz):
                shown(notebook)
                problems = axe_violations(notebook.page, ".sd-widget")
                if problems:
                    found[answered, theme, shown.__name__] = problems
    assert found == {}


def test_every_change_is_answered(notebook, record_property):
    answer = free_lane(notebook).get_by_label("Target's answer at place 1")
    times = answer.evaluate(TIMES)
    assert len(times) == 30
    record_property("median_ms", round(statistics.median(times), 2))
    record_property("p95_ms", round(sorted(times)[28], 2))


def test_the_learners_work_survives_a_new_server(lab, browser):
    write_notebook(lab.root / "kept.ipynb")
    notebook = lab.open(browser, "kept.ipynb")
    notebook.run_all()
    lane = locked_lane(notebook)
    predict(lane)
    lane.get_by_label("Target's answer at place 2").select_option("4")
    check(quiz(notebook), "A")
    notebook.save()
    notebook.close()
    saved = json.loads((lab.root / "kept.ipynb").read_text("utf-8"))
    assert "application/vnd.jupyter.widget-state+json" in saved["metadata"]["widgets"]

    lab.stop()
    lab.start()
    notebook = lab.open(browser, "kept.ipynb")
    assert MODEL_ERROR not in notebook.page.locator(".jp-Notebook").inner_text()
    lane = locked_lane(notebook)
    assert lane.get_by_label("Target's answer at place 2").input_value() == "4"
    assert lane.locator(".sd-verdict").inner_text() == "✓ Right."
    assert lane.locator(".sd-offline").is_visible()
    assert quiz(notebook).locator(".sd-verdict").inner_text() == "✗ Not this time."

    notebook.shut_kernel_down()
    lane = locked_lane(notebook)
    lane.get_by_label("Target's answer at place 2").select_option("3")
    assert status(lane).startswith("4 accepted, 5 emitted")
    quiz(notebook).get_by_role("button", name="Try again").click()
    check(quiz(notebook), "B")
    assert quiz(notebook).locator(".sd-verdict").inner_text() == "✓ Right."
    notebook.save()
    notebook.close()

    notebook = lab.open(browser, "kept.ipynb")
    assert status(locked_lane(notebook)).startswith("4 accepted, 5 emitted")
    assert quiz(notebook).locator(".sd-verdict").inner_text() == "✓ Right."
    notebook.run_all()
    assert status(locked_lane(notebook)).startswith("Locked")
    assert not locked_lane(notebook).locator(".sd-offline").is_visible()
    notebook.close()
    assert (notebook.foreign, notebook.errors) == ([], [])


def test_a_restarted_kernel_leaves_the_widgets_working(notebook):
    notebook.restart_kernel()
    lane = locked_lane(notebook)
    predict(lane)
    assert status(lane).startswith("1 accepted, 2 emitted: 7 6.")
    assert MODEL_ERROR not in notebook.page.locator(".jp-Notebook").inner_text()


# Puts the error of a lost race into the first output, as JupyterLab leaves it there, and lets a
# widget arrive in the same manager.
LOSE_RACE = """async (esm) => {
  const { outputArea } = window.jupyterapp.shell.currentWidget.content.widgets[0];
  const renderer = [...outputArea.widgets[0].children()].find((child) => child._manager);
  const manager = await renderer._manager.promise;
  renderer.node.textContent = "Error displaying widget: model not found";
  const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
  (await import(url)).default.initialize({ model: { widget_manager: manager } });
}"""


def test_an_output_drawn_before_its_widget_was_loaded_is_drawn_again(notebook):
    predict(locked_lane(notebook))
    notebook.page.evaluate(LOSE_RACE, DraftLane._esm)
    assert status(locked_lane(notebook)).startswith("1 accepted, 2 emitted: 7 6.")
    assert MODEL_ERROR not in notebook.page.locator(".jp-Notebook").inner_text()
