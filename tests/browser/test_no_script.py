"""A hostile hand-in in front of an instructor: in formgrader, in JupyterLab, as feedback.

Each way of acting asks for a beacon. First they are seen to fire where nothing is cleaned.
"""

import copy
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from nbgrader.api import Gradebook
from nbgrader.converters import GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from nbgrader.server_extensions.formgrader import handlers
from traitlets.config import Config

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "grading"))

from lab import KERNEL_READY, REPOSITORY, Lab
from make_course import LESSON, make_course, source_notebook

from autograder import grading
from autograder.answers import with_answers, worked_answers
from autograder.course import Course
from autograder.engine import SandboxUnavailable, sandbox
from tests.engine.vectors import MARKDOWN, poison

pytestmark = [pytest.mark.browser, pytest.mark.sandbox]

ALL_CELLS = {"@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"}}
ACTING = """(root) => [...document.querySelectorAll(root + ' *')].flatMap((element) =>
  [...element.attributes]
    .filter(({ name, value }) => /^on/.test(name) || /^\\s*javascript:/i.test(value))
    .map(({ name, value }) => `${element.tagName} ${name}=${value}`.slice(0, 120)))"""
LAST_CELL_DRAWN = """() => {
  const cells = window.jupyterapp?.shell.currentWidget?.content?.widgets;
  return cells?.at(-1)?.node.querySelector('.jp-InputArea')
    && document.querySelector('mjx-container');
}"""


class InstructorLab(Lab):
    """JupyterLab in the course's folder, with all cells of a notebook on the page."""

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def _write_settings(self):
        from lab import SETTINGS

        kept = dict(SETTINGS)
        SETTINGS.update(ALL_CELLS)
        try:
            super()._write_settings()
        finally:
            SETTINGS.clear()
            SETTINGS.update(kept)


class Beacons:
    """Watches what a page asks for."""

    def __init__(self, page):
        self.page, self.seen = page, set()
        page.context.on("request", self._note)

    def _note(self, request):
        # JupyterLab itself asks for paths in tracebacks, as part of a query
        self.seen |= set(re.findall(r"/beacon-([\w-]+)", urlsplit(request.url).path))

    def fired(self):
        """Return the names of the beacons that were asked for up to now."""
        self.page.wait_for_load_state("networkidle")
        with self.page.expect_request("**/beacon-end"):
            self.page.evaluate("() => { fetch('/beacon-end'); }")
        return self.seen - {"end"}


@pytest.fixture(scope="module")
def hostile():
    """Return a hand-in with right answers and every vector."""
    return poison(with_answers(source_notebook(), worked_answers(source_notebook())))


@pytest.fixture(scope="module")
def course(tmp_path_factory, hostile):
    """Return a course with the same hand-in of two students; the second one is graded."""
    try:
        sandbox.check()
    except SandboxUnavailable as error:
        pytest.skip(f"sandbox: {error}")
    folder = make_course(tmp_path_factory.mktemp("instructor") / "course")
    for student in ("mallory", "marvin"):
        path = folder / "autograder" / "classroom" / "submitted" / student / LESSON
        path.mkdir(parents=True)
        nbformat.write(hostile, path / f"{LESSON}.ipynb")
        (path / "page.html").write_text("<script>fetch('/beacon-file')</script>")
    nbformat.write(hostile, folder / "control.ipynb")
    made = Course.load(folder)
    with grading.log_to(made.results_folder(LESSON) / "nbgrader.log"):
        grading.release(made, LESSON)
    done = subprocess.run(
        [sys.executable, "-m", "autograder", "grade", LESSON, "--student", "marvin"],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="module")
def lab(course, tmp_path_factory):
    environment = {"PYTHONPATH": str(REPOSITORY)}
    with InstructorLab(tmp_path_factory.mktemp("lab"), root=course.root, env=environment) as made:
        yield made


def logged_in(lab, browser):
    """Return a new context and a page in it that has the server's cookie."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{lab.address}/login?next=/api/status&token={lab.token}")
    return context, page


def points(course, student):
    with Gradebook(course.gradebook_url, "small") as gradebook:
        return gradebook.find_submission(LESSON, student).score


@pytest.fixture(scope="module")
def autograded(course, lab, browser):
    """Click formgrader's Autograde button for the first student; return the page."""
    context, page = logged_in(lab, browser)
    page.goto(f"{lab.address}/formgrader/manage_submissions/{LESSON}")
    row = page.locator("tr", has=page.locator("td", has_text="mallory"))
    row.locator(".autograde a").first.click()
    page.locator("#success-modal").wait_for(timeout=60_000)
    yield page
    context.close()


def test_formgraders_autograde_button_grades_through_the_engine(course, autograded):
    log = autograded.locator("#success-modal").inner_text()
    assert "Successfully autograded" in log
    assert points(course, "mallory") == 5
    graded = course.folder("autograded", LESSON, "mallory")
    node = nbformat.read(graded / f"{LESSON}.ipynb", as_version=4)
    kinds = {output.output_type for cell in node.cells for output in cell.get("outputs", ())}
    assert kinds <= {"stream", "error"}  # nothing of what the hand-in brought along
    assert sorted(path.name for path in graded.iterdir()) == [f"{LESSON}.ipynb", "page.html.txt"]


# -- without cleaning ----------------------------------------------------------------------------

CERTAIN = {"script", "image", "svg", "image-in-table", "image-in-list", "image-after-comment"}


def shown(browser, text):
    """Open a page with this HTML; return what fired and the elements that could act."""
    context = browser.new_context()
    page = context.new_page()
    beacons = Beacons(page)
    page.route(
        "**/*",
        lambda route: (
            route.fulfill(body=text, content_type="text/html; charset=utf-8")
            if route.request.url == "http://pages.invalid/"
            else route.abort()
        ),
    )
    page.goto("http://pages.invalid/")
    try:
        return beacons.fired(), page.evaluate(ACTING, "#notebook")
    finally:
        context.close()


def page_by(kind, notebook):
    """Return a notebook as nbgrader itself shows it on one of its pages, nothing cleaned."""
    if kind == "feedback":
        config = GenerateFeedback(coursedir=CourseDirectory()).config
    else:
        config = Config()
        config.HTMLExporter.template_name = "formgrade"
        config.HTMLExporter.extra_template_basedirs = [handlers.template_path]
    names = {"notebook": LESSON, "score": 0, "max_score": 0, "late_penalty": 0}
    numbers = {"index": 0, "total": 1, "base_url": "", "submission_id": "x"}
    resources = {"nbgrader": names, **numbers}
    return HTMLExporter(config=config).from_notebook_node(notebook, resources)[0]


@pytest.fixture(scope="module")
def watchable(hostile):
    """Leave out what keeps nbconvert from making a page, or leads away from it."""
    copied = copy.deepcopy(hostile)
    lost = ("/beacon-refresh", "/beacon-base")
    copied.cells = [
        cell
        for cell in copied.cells
        if "attachments" not in cell and not any(name in cell.source for name in lost)
    ]
    for cell in copied.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata["nbgrader"]["score"] = 0
    return copied


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", ["formgrade", "feedback"])
def test_vectors_act_on_nbgraders_own_pages(page, browser, watchable):
    fired, acting = shown(browser, page_by(page, watchable))
    assert fired >= CERTAIN | {"out-html", "out-image"}
    assert any("javascript:" in finding for finding in acting)


def trust(lab, path):
    environment = {**os.environ, **lab._private_folders()}
    subprocess.run(
        [sys.executable, "-m", "jupyter", "trust", str(path)], env=environment, check=True,
        capture_output=True,
    )  # fmt: skip


def opened(lab, browser, path, wait_for=None):
    """Open a notebook in JupyterLab; return what fired and the elements that could act.

    wait_for  name of a beacon that must come
    """
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(60_000)
    beacons = Beacons(page)
    address = f"{lab.address}/lab/tree/{path}?reset&token={lab.token}"
    if wait_for is None:
        page.goto(address)
    else:
        with page.expect_request(f"**/beacon-{wait_for}"):
            page.goto(address)
    page.wait_for_function(KERNEL_READY)
    page.wait_for_function(LAST_CELL_DRAWN)
    try:
        return beacons.fired(), page.evaluate(ACTING, ".jp-Notebook")
    finally:
        context.close()


def test_vectors_act_in_a_trusted_notebook(lab, browser, course):
    trust(lab, course.root / "control.ipynb")
    fired, _ = opened(lab, browser, "control.ipynb", wait_for="widget-state")
    assert fired >= {"out-html", "out-image", "out-javascript", "widget-state"}, fired


# -- what instructors open ------------------------------------------------------------------------


@pytest.mark.parametrize("student", ["mallory", "marvin"])
def test_nothing_acts_in_formgraders_view(student, lab, browser, course, autograded):
    with Gradebook(course.gradebook_url, "small") as gradebook:
        submission = gradebook.find_submission_notebook(LESSON, LESSON, student).id
    context, page = logged_in(lab, browser)
    beacons = Beacons(page)
    address = f"{lab.address}/formgrader/submissions/{submission}"
    page.goto(f"{address}/")
    assert page.locator(".text_cell_render").count() > len(MARKDOWN)
    assert "2 * x" in page.locator("#notebook").first.inner_text()
    page.locator("#test_double").wait_for()  # the field for points is formgrader's own
    assert page.evaluate(ACTING, "#notebook") == []
    assert beacons.fired() == set()
    page.goto(f"{address}/page.html.txt")
    assert "<script>" in page.locator("body").inner_text()
    assert beacons.fired() == set()
    context.close()


@pytest.mark.parametrize(("student", "trusted"), [("mallory", False), ("marvin", True)])
def test_nothing_acts_in_jupyterlab(student, trusted, lab, browser, course, autograded):
    path = course.folder("autograded", LESSON, student) / f"{LESSON}.ipynb"
    if trusted:
        trust(lab, path)
    fired, acting = opened(lab, browser, path.relative_to(course.root))
    assert fired == set()
    assert acting == []


def test_nothing_acts_in_feedback(browser, course, autograded):
    from nbgrader.apps.api import NbGraderAPI

    api = NbGraderAPI(course.directory(LESSON), config=course.config)
    assert api.generate_feedback(LESSON, "mallory")["success"]
    for student in ("mallory", "marvin"):
        page = course.folder("feedback", LESSON, student) / f"{LESSON}.html"
        text = page.read_text(encoding="utf-8")
        assert "onerror" in text  # it is there to read
        fired, acting = shown(browser, text)
        assert fired == set()
        assert acting == []
