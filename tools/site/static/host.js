// Draws each widget of the page from its recorded state. There is no kernel: a widget's rule is in
// its own script, and this stand-in for its model keeps what the reader does.
(() => {
  function makeModel(state) {
    const listeners = {};
    return {
      get: (name) => state[name],
      set(name, value) {
        const changes = typeof name === "string" ? { [name]: value } : name;
        const before = { ...state };
        Object.assign(state, changes);
        for (const key of Object.keys(changes)) {
          if (JSON.stringify(before[key]) === JSON.stringify(state[key])) continue;
          for (const listener of listeners[`change:${key}`] ?? []) listener();
        }
      },
      save_changes() {},
      on: (name, listener) => (listeners[name] ??= []).push(listener),
      off(name, listener) {
        listeners[name] = (listeners[name] ?? []).filter((other) => other !== listener);
      },
    };
  }

  for (const el of document.querySelectorAll("[data-widget]")) {
    const state = JSON.parse(el.querySelector("script").textContent);
    window.specdecWidgets[el.dataset.widget].render({ model: makeModel(state), el });
  }
})();
