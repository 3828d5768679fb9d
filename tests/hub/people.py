"""What instructors and students click: nbgrader's parts of JupyterLab."""

import contextlib

from lab import Notebook


class Person:
    """Somebody's JupyterLab on the hub, in a browser context of its own."""

    def __init__(self, machine, browser, name):
        self.machine, self.name = machine, name
        self.page = machine.log_in(browser, name)

    def wait_for_lab(self):
        """Wait until the server is up and JupyterLab is drawn."""
        self.page.wait_for_url(f"**/user/{self.name}/lab**")
        self.page.locator(".jp-DirListing-content").wait_for()

    def menu(self, name):
        """Click an entry of the menu Nbgrader."""
        self.page.get_by_role("menuitem", name="Nbgrader").click()
        self.page.get_by_role("menuitem", name=name).click()

    def menu_entries(self):
        """Return the names in the menu Nbgrader."""
        self.page.get_by_role("menuitem", name="Nbgrader").click()
        shown = self.page.locator(".lm-Menu-itemLabel:visible").all_inner_texts()
        self.page.keyboard.press("Escape")
        return shown

    def server(self, path):
        """Return the status of a GET of the person's own server."""
        return self.other_server(self.name, path)

    def other_server(self, name, path):
        """Return the status of a GET of somebody's server, with this person's cookies."""
        return self.page.request.get(f"{self.machine.url}/user/{name}/{path}").status


class Instructor(Person):
    """The instructor with the formgrader in a tab of JupyterLab."""

    def open_formgrader(self):
        self.menu("Formgrader")
        self.form = self.page.frame_locator("#formgrader-iframe iframe")
        self.form.get_by_text("Manage Assignments").first.wait_for()

    def press(self, lesson, button, done):
        """Click one of a lesson's icons in the list and wait for the formgrader's message."""
        row = self.assignment(lesson)
        row.locator(f".{button} a").click()
        self.form.locator(".modal.in", has_text=done).wait_for()
        self.form.locator(".modal.in button.close").first.click()
        self.form.locator(".modal.in").wait_for(state="detached")

    def assignment(self, lesson):
        """Return the lesson's row in the list of assignments."""
        back = self.form.get_by_role("link", name="Manual Grading").first
        back.click()  # a graded notebook has no other way out
        self.form.get_by_role("link", name="Manage Assignments").first.click()
        row = self.form.locator("tr", has=self.form.get_by_role("link", name=lesson))
        row.wait_for()
        return row

    def scores(self, lesson):
        """Return {student: "points / most"} as the formgrader lists them."""
        self.assignment(lesson).locator(".num-submissions a").click()
        self.form.locator("td.score").first.wait_for()
        rows = self.form.locator("tr", has=self.form.locator("td.student-id"))
        return {
            row.locator("td.student-id").inner_text(): row.locator("td.score").inner_text()
            for row in rows.all()
        }

    def open_submission(self, lesson, student):
        """Open a student's graded notebook, as in Manage Students."""
        self.scores(lesson)
        row = self.form.locator("tr", has_text=student)
        row.locator(".student-name a").click()
        self.form.locator("td.name a", has_text=lesson).click()
        self.form.locator(".nbgrader_cell").first.wait_for()

    @contextlib.contextmanager
    def saving(self, kind):
        """Wait for the formgrader to have saved a grade or comment that is given inside."""
        wanted = f"/formgrader/api/{kind}/"
        with self.page.expect_response(lambda answer: wanted in answer.url) as info:
            yield
        assert info.value.ok

    def give(self, test, points):
        """Type points for a test."""
        field = self.form.locator(f"#{test}[placeholder]")  # it has one once it is loaded
        with self.saving("grade"):
            field.fill(str(points))
            field.press("Tab")  # as a marker does: it saves

    def comment(self, answer, text):
        """Type a comment on an answer."""
        field = self.form.locator(f"#{answer}-comment[placeholder]")
        with self.saving("comment"):
            field.fill(text)
            field.press("Tab")  # as a marker does: it saves


class Student(Person):
    """A student with the list of assignments."""

    def open_list(self):
        self.menu("Assignment List")
        self.list = self.page.locator("#nbgrader-assignment-list")
        self.page.get_by_text("Released assignments").wait_for()

    def press(self, button, then):
        """Click a button of the only assignment and wait for the text that follows."""
        self.page.get_by_role("button", name=button, exact=True).click()
        self.page.get_by_text(then, exact=True).first.wait_for()

    def open_feedback(self, lesson):
        """Open the fetched feedback from the list and return the frame that shows it."""
        self.page.get_by_text("(view feedback)").first.click()
        self.page.locator(".jp-DirListing-item", has_text=f"{lesson}.html").dblclick()
        return self.page.frame_locator(".jp-HTMLViewer iframe")


class OpenNotebook(Notebook):
    """A notebook in a tab of somebody's JupyterLab that is open already."""

    def __init__(self, page, path):
        self.page = page
        self.command("docmanager:open", path=path)
        self.wait_until_ready()

    def type_cell(self, cell, source):
        """Replace a cell's text by typing."""
        self.scroll_to(cell).locator(".cm-content").click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(source)
