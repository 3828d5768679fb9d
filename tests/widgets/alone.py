"""A widget alone, on a blank page with a stand-in for its model, or in node: no JupyterLab."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

THEMES = Path(sys.prefix) / "share/jupyter/lab/themes/@jupyterlab"

PAGE = """async ({esm, css, theme, light, state}) => {
  document.documentElement.lang = "en";
  document.title = "A widget alone";
  document.body.dataset.jpThemeLight = String(light);
  document.body.style.cssText = "margin: 16px; background: var(--jp-layout-color1)";
  for (const sheet of [theme, css]) {
    const style = document.createElement("style");
    style.textContent = sheet;
    document.head.append(style);
  }
  const listeners = {};
  const model = {
    saves: 0,
    get: (name) => state[name],
    set(name, value) {
      const changes = typeof name === "string" ? { [name]: value } : name;
      const before = { ...state };
      Object.assign(state, changes);
      for (const key of Object.keys(changes)) {
        if (JSON.stringify(before[key]) !== JSON.stringify(state[key]))
          (listeners[`change:${key}`] ?? []).forEach((listener) => listener());
      }
    },
    save_changes: () => { model.saves += 1; },
    on: (name, listener) => (listeners[name] ??= []).push(listener),
    off(name, listener) {
      listeners[name] = (listeners[name] ?? []).filter((other) => other !== listener);
    },
  };
  const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
  const widget = (await import(url)).default;
  const el = document.createElement("main");
  document.body.append(el);
  window.model = model;
  window.state = state;
  window.render = widget.render;
  window.cleanup = widget.render({ model, el });
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""


def show(page, widget, theme="light"):
    """Render a widget's front end on the page from the state its Python side has now.

    theme  light, dark or dark-high-contrast: JupyterLab's own colors
    The page then has `state` (what the front end wrote) and `model`.
    """
    sheet = (THEMES / f"theme-{theme}-extension/index.css").read_text("utf-8")
    state = {name: getattr(widget, name) for name in widget.keys if not name.startswith("_")}
    state = {name: value for name, value in state.items() if name not in ("layout", "tabbable")}
    page.set_content("<!doctype html><html><head></head><body></body></html>")
    page.evaluate(
        PAGE,
        {
            "esm": widget._esm,
            "css": widget._css,
            "theme": sheet,
            "light": theme == "light",
            "state": state,
        },
    )


def second_view(page):
    """Draw the page's widget once more, below the first view."""
    page.evaluate(
        """() => {
          const other = document.createElement("section");
          document.querySelector("main").append(other);
          window.render({ model, el: other });
        }"""
    )


FOCUSABLE = "button, input, select, textarea, summary, a[href], [tabindex]"


def keys_are_kept(page, at_least=1):
    """Assert that JupyterLab takes no key from what can have the focus."""
    assert page.locator(FOCUSABLE).count() >= at_least
    bare = f":is({FOCUSABLE}):not([data-lm-suppress-shortcuts='true'])"
    assert page.locator(bare).count() == 0


def in_node(folder, esm, run, sent):
    """Run a script in node beside widget.mjs, a widget's front end; return what it prints as JSON.

    The script reads `sent` as JSON. Skips the test where there is no node.
    """
    node = shutil.which("node")
    if node is None:
        pytest.skip("node: not found on this machine")
    (folder / "widget.mjs").write_text(esm, "utf-8")
    (folder / "run.mjs").write_text(run, "utf-8")
    done = subprocess.run(
        [node, "run.mjs"],
        cwd=folder,
        input=json.dumps(sent).encode(),
        capture_output=True,
        check=True,
        timeout=120,
    )
    return json.loads(done.stdout)


def texts_lie_on_their_card(figure):
    """Assert that no text of a widget's picture stands out of it."""
    figure.draw_without_rendering()
    card = figure.bbox
    for words in figure.axes[0].texts:
        box = words.get_window_extent()
        assert card.x0 <= box.x0, words
        assert box.x1 <= card.x1, words
        assert card.y0 <= box.y0, words
        assert box.y1 <= card.y1, words
