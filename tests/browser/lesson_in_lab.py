"""A lesson as a student meets it, in the course's own JupyterLab; shared by the lessons' tests."""

import re

import nbformat
from lab import PAGE_LIMIT_MS, THEMES, CourseLab, axe_violations

from autograder.answers import with_answers, worked_answers
from tools.course import read_lesson, source_notebook, strip_markers

MODEL_ERROR = "Error displaying widget"


class Lesson:
    """A lesson's released notebook in a running CourseLab: copies of it, its cells and widgets."""

    def __init__(self, lab: CourseLab, slug: str):
        self.lab, self.slug = lab, slug
        self.path = f"lessons/{slug}/{slug}.ipynb"

    def copy(self, name):
        """Put a copy of the lesson beside it, so that no two pages save the same file."""
        path = f"lessons/{self.slug}/{name}.ipynb"
        (self.lab.root / path).write_bytes((self.lab.root / self.path).read_bytes())
        return path

    def solved(self):
        """Write the lesson with all answers filled in, not run, and return its path."""
        released = nbformat.read(self.lab.root / self.path, as_version=4)
        answers = worked_answers(source_notebook(read_lesson(self.slug)))
        filled = with_answers(
            released, {name: strip_markers(code) for name, code in answers.items()}
        )
        path = f"lessons/{self.slug}/solved.ipynb"
        nbformat.write(filled, self.lab.root / path)
        return path

    def place(self, text, path=None):
        """Return the place of the first cell whose source holds a text."""
        cells = nbformat.read(self.lab.root / (path or self.path), as_version=4).cells
        return next(i for i, cell in enumerate(cells) if text in cell.source)

    def cell(self, notebook, text, path=None):
        """Bring the first cell with a text on the screen and return it."""
        return notebook.scroll_to(self.place(text, path))

    def output(self, notebook, text, path=None):
        """Return what the first cell with a text has put out; "" if it has put out nothing."""
        return notebook.output(self.place(text, path))

    def widget(self, notebook, text):
        """Return the widget below the first cell with a text, drawn."""
        shown = self.cell(notebook, text).locator(".sd-widget")
        shown.wait_for()
        return shown

    def axe_findings(self, notebook, texts):
        """Return what axe-core finds in the outputs of cells with these texts, in each theme."""
        found = {}
        for theme in THEMES:
            notebook.theme(theme)
            for text in texts:
                self.cell(notebook, text).locator("img, .sd-widget").first.wait_for()
                cell = f".jp-Cell[data-windowed-list-index='{self.place(text)}']"
                problems = axe_violations(notebook.page, f"{cell} .jp-OutputArea-output")
                if problems:
                    found[theme, text] = problems
        notebook.theme(THEMES[0])
        return found


def sentence(lane):
    """Return the sentence that a lane shows."""
    return lane.locator(".sd-status").inner_text()


def commit(lane, letter="B"):
    """Answer a lane's question with the mouse."""
    lane.locator(f"input[value={letter}]").check()
    lane.get_by_role("button", name="Show what happens").click()


def answer_quiz(notebook, quiz):
    """Answer question 1 with the mouse and 2 by keyboard alone; return the two verdicts."""
    quiz.locator("input[value=A]").first.check()
    quiz.get_by_role("button", name="Check").first.click()
    quiz.locator("input[value=A]").nth(1).focus()
    notebook.page.keyboard.press("ArrowDown")
    quiz.get_by_role("button", name="Check").first.focus()  # question 1's is now named otherwise
    notebook.page.keyboard.press("Enter")
    return re.findall(r"Right\.|Not this time", quiz.inner_text())


def toolbar(notebook):
    return notebook.page.locator(".jp-NotebookPanel-toolbar")


def validate(notebook):
    """Press nbgrader's button and return what its dialog says."""
    toolbar(notebook).locator("text=Validate").click()
    dialog = notebook.page.locator(".jp-Dialog-content")
    dialog.wait_for(timeout=3 * PAGE_LIMIT_MS)
    text = dialog.inner_text()
    notebook.page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    return text
