"""An isolated JupyterLab and a real Chromium to look at it; used by the browser tests.

    with Lab(tmp_path) as lab, chromium() as browser:
        notebook = lab.open(browser, "a.ipynb")
        notebook.run_all()

The server reads no settings of the user's and writes only below the folder it is given.
"""

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM_ARGS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
SETTINGS = {
    "@jupyter-widgets/jupyterlab-manager/plugin": {"saveState": True},
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false"},
}
REPOSITORY = Path(__file__).resolve().parents[2]
THEMES = ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast")
START_LIMIT_S = 240  # generous: a busy machine is no fault
PAGE_LIMIT_MS = 120_000
OUTPUT_LIMIT_MS = 10_000
ALL_DRAWN = """(area) => {
    const outputs = [...area.querySelectorAll(".jp-OutputArea-output")];
    return outputs.length > 0 && outputs.every((output) => output.hasChildNodes());
}"""

KERNEL_READY = """() => {
  const panel = window.jupyterapp?.shell.currentWidget;
  const kernel = panel?.sessionContext?.session?.kernel;
  return kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
}"""
ALL_RUN = """() => {
  const panel = window.jupyterapp.shell.currentWidget;
  const cells = panel.content.widgets.filter(
    (cell) => cell.model.type === 'code' && cell.model.sharedModel.getSource().trim());
  return cells.every((cell) => cell.model.executionCount !== null
      && !cell.promptNode?.textContent.includes('*'))
    && panel.sessionContext.session.kernel.status === 'idle';
}"""


def find_chromium():
    """Return the path of a Chromium on this machine, or None."""
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


@contextlib.contextmanager
def chromium():
    """Yield a playwright Browser; skip the test by name where playwright or Chromium is missing."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Chromium: no playwright")
    path = find_chromium()
    if path is None:
        pytest.skip("Chromium: not found on this machine")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM_ARGS))
        yield browser
        browser.close()


def free_port():
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def axe_violations(page, selector=None):
    """Return axe-core's findings on the page or on one part of it, as short lines."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core: missing")
    options = {"resultTypes": ["violations"]}  # nothing is worked out of what is in order
    found = axe.Axe().run(page, context=selector, options=options).response["violations"]
    return [
        f"{violation['id']} ({violation['impact']}): {node['html'][:200]}"
        for violation in found
        for node in violation["nodes"]
    ]


class Lab:
    """A JupyterLab server of its own; `folder` gets everything it writes.

    folder  where its settings, runtime files and notebooks lie; notebooks are in folder/notebooks
            unless root says otherwise
    root    the folder that JupyterLab shows
    env     more environment variables for the server and its kernels
    """

    command = (sys.executable, "-m", "jupyterlab")

    def __init__(self, folder, root=None, env=None):
        self.folder = Path(folder)
        self.root = Path(root or self.folder / "notebooks")
        self.root.mkdir(parents=True, exist_ok=True)
        self.env = env or {}
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_error):
        self.stop()

    def start(self):
        """Start the server and wait until it answers."""
        self._write_settings()
        self.port, self.token = free_port(), secrets.token_hex(16)
        self.log = self.folder / "server.log"
        options = {
            "ServerApp.ip": "127.0.0.1",
            "ServerApp.port": self.port,
            "ServerApp.port_retries": 0,
            "IdentityProvider.token": self.token,
            "ServerApp.root_dir": self.root,
            "ServerApp.allow_root": True,
            "LabApp.expose_app_in_browser": True,
        }
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*self.command, "--no-browser"]
                + [f"--{name}={value}" for name, value in options.items()],
                cwd=self.root,
                env={**os.environ, **self._private_folders(), **self.env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._wait_until_up()

    def stop(self):
        """Shut the server and its kernels down."""
        if self.process is None:
            return
        with contextlib.suppress(OSError):
            self._ask("/api/shutdown", method="POST")
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def open(self, browser, path, width=1280, height=900):
        """Open a notebook in a page of its own and return it as a Notebook, its kernel ready."""
        notebook = Notebook(browser.new_context(viewport={"width": width, "height": height}))
        # A workspace of its own: a reloaded page would bring back the tabs of other pages.
        workspace = secrets.token_hex(8)
        notebook.goto(
            f"http://127.0.0.1:{self.port}/lab/workspaces/{workspace}/tree/{path}"
            f"?token={self.token}"
        )
        return notebook

    def _private_folders(self):
        names = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
            "IPYTHONDIR": "ipython",
        }
        return {variable: str(self.folder / name) for variable, name in names.items()}

    def _write_settings(self):
        for name, values in SETTINGS.items():
            path = self.folder / "settings" / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values))

    def _ask(self, path, method="GET"):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            method=method,
            headers={"Authorization": f"token {self.token}"},
        )
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.read()

    def _wait_until_up(self):
        limit = time.monotonic() + START_LIMIT_S
        while time.monotonic() < limit and self.process.poll() is None:
            with contextlib.suppress(OSError):
                self._ask("/api/status")
                return
            time.sleep(0.1)
        self.process.kill()
        raise RuntimeError(f"JupyterLab did not start:\n{self.log.read_text()[-3000:]}")


class CourseLab(Lab):
    """JupyterLab as the course's own `lab` command starts it, in a copy of the learner's folder."""

    command = (sys.executable, "-m", "specdec", "lab")

    def __init__(self, folder):
        course = Path(folder) / "course"
        for part in ("lessons", "solutions", "binder"):
            shutil.copytree(REPOSITORY / part, course / part)
        super().__init__(folder, root=course, env={"PYTHONPATH": str(REPOSITORY)})

    def _write_settings(self):
        """Leave the settings to the course."""


class Notebook:
    """A notebook open in JupyterLab, in a browser context of its own."""

    def __init__(self, context):
        self.context = context
        self.foreign = []
        self.errors = []
        context.route("**/*", self._only_local)
        self.page = context.new_page()
        self.page.set_default_timeout(PAGE_LIMIT_MS)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def goto(self, url):
        """Open the address and wait until the kernel is connected and idle.

        The status shown by the notebook reads "idle" before the kernel is connected, and a run
        that starts then is lost; so the connection itself is asked.
        """
        self.page.goto(url)
        self.wait_until_ready()

    def wait_until_ready(self):
        """Wait until the kernel is connected and the cells are drawn."""
        self.page.wait_for_function(KERNEL_READY)
        self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell:visible").first.wait_for()

    def command(self, name, **args):
        """Start a JupyterLab command without waiting for its end."""
        self.page.evaluate(
            "([name, args]) => { window.jupyterapp.commands.execute(name, args); }", [name, args]
        )

    def run_all(self):
        """Run all cells and wait until each one has its number."""
        self.command("notebook:run-all-cells")
        self.wait_until_run()

    def wait_until_run(self):
        """Wait until every cell with code has its number and the kernel is idle."""
        self.page.wait_for_function(ALL_RUN)

    def scroll_to(self, cell):
        """Bring a cell on the screen and return it; JupyterLab draws only cells near it."""
        self.page.evaluate(
            "(cell) => window.jupyterapp.shell.currentWidget.content.scrollToItem(cell)", cell
        )
        # a reloaded page may have brought back a second notebook, in a hidden tab
        shown = self.page.locator(
            f".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell[data-windowed-list-index='{cell}']"
        )
        shown.wait_for()
        return shown

    def output(self, cell):
        """Return what a cell has put out, once all of it is drawn; "" if it has put out nothing."""
        from playwright.sync_api import TimeoutError

        area = self.scroll_to(cell).locator(".jp-OutputArea")
        with contextlib.suppress(TimeoutError):  # outputs are drawn a moment after their cell
            self.page.wait_for_function(
                ALL_DRAWN, arg=area.element_handle(), timeout=OUTPUT_LIMIT_MS
            )
        return area.inner_text().strip()

    def save(self):
        """Save and wait until the file is written."""
        self.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.save()")
        self.page.wait_for_function(
            "() => !window.jupyterapp.shell.currentWidget.context.model.dirty"
        )

    def wait_until_heard(self):
        """Wait until the kernel has taken in what widgets told it: it answers in order."""
        self.page.evaluate(
            """async () => {
              const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
              await kernel.requestExecute({ code: "pass", silent: true }).done;
            }"""
        )

    def shut_kernel_down(self):
        """End the kernel and leave the page open."""
        self.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
        self.page.wait_for_function(
            "() => !window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel"
        )

    def restart_kernel(self):
        """Restart the kernel and wait until it is ready again."""
        self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()"
        )
        self.page.wait_for_function(KERNEL_READY)

    def theme(self, name):
        """Switch to one of THEMES and wait until it is in force."""
        self.command("apputils:change-theme", theme=name)
        self.page.wait_for_function(
            "(name) => document.body.dataset.jpThemeName === name", arg=name
        )

    def cell_count(self):
        """Return the number of cells, to see that no key deleted one."""
        return self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.content.widgets.length"
        )

    def close(self):
        """Close the page and its context."""
        self.context.close()

    def _only_local(self, route):
        url = route.request.url
        if url.startswith(("http://127.0.0.1:", "data:", "blob:")):
            route.continue_()
        else:
            self.foreign.append(url)
            route.abort()
