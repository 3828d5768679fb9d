"""A widget alone on a blank page, with a stand-in for its model: no JupyterLab, no kernel."""

import sys
from pathlib import Path

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
