// Shared by all widgets of the course; each widget's own file follows in the same module.

const WIDGET_VIEW = "application/vnd.jupyter.widget-view+json";

// JupyterLab takes keys from any focused element of an output, so that "d d" deletes the cell,
// unless that very element carries this attribute.
function focusable(node) {
  node.setAttribute("data-lm-suppress-shortcuts", "true");
  return node;
}

function make(tag, className, content) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (content !== undefined) node.textContent = content;
  return node;
}

// Assigns only what differs, so that a live region speaks only when its sentence changes.
function write(node, content) {
  if (node.textContent !== content) node.textContent = content;
}

export function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

// Halves rounded up, as in Python.
export function twoPlaces(value) {
  return (Math.floor(value * 100 + 0.5 + 1e-9) / 100).toFixed(2);
}

function counted(text, key, n) {
  return fill(n === 1 ? text[`${key}_one`] : text[key], { n });
}

function letter(index) {
  return String.fromCharCode("A".charCodeAt(0) + index);
}

// Writes text whose only markup is `code` and <sub>n</sub>; everything else stays text.
function writeMarkup(node, markup) {
  for (const part of markup.split(/(`[^`]+`|<sub>[^<]*<\/sub>)/)) {
    if (part.startsWith("`") && part.length > 2) node.append(make("code", "", part.slice(1, -1)));
    else if (part.startsWith("<sub>")) node.append(make("sub", "", part.slice(5, -6)));
    else if (part) node.append(part);
  }
  return node;
}

// JupyterLab saves only widgets whose kernel lives: one from an earlier visit would be gone from
// the file after the next save, and the visit after that would see "model not found" (ipywidgets
// issues 3270 and 3888). So while the state is collected, ours that an output shows count as live.
function keepInNotebook(manager) {
  const models = manager?._modelsSync;
  if (!(models instanceof Map) || manager.keepsCourseWidgets) return;
  const collect = manager.get_state_sync;
  manager.keepsCourseWidgets = true;
  manager.get_state_sync = (options) => {
    const asleep = courseWidgets(models, shownIds(manager)).filter((item) => !item.comm_live);
    asleep.forEach((item) => (item.comm_live = true));
    try {
      return collect.call(manager, options);
    } finally {
      asleep.forEach((item) => (item.comm_live = false));
    }
  };
}

function shownIds(manager) {
  const cells = manager.context?.model?.toJSON().cells ?? [];
  const outputs = cells.flatMap((cell) => cell.outputs ?? []);
  return outputs.map((output) => output.data?.[WIDGET_VIEW]?.model_id);
}

function courseWidgets(models, ids) {
  return ids
    .map((id) => models.get(id))
    .filter((item) => item?.get("_anywidget_id")?.startsWith("specdec.widgets."))
    .flatMap((item) => [item, item.get("layout")]);
}

// A reopened notebook can draw an output before its saved widgets are loaded, and then leaves an
// error there for good. Each widget that arrives has such outputs drawn once more.
function redrawEarlyOutputs(manager) {
  const drawn = [...document.querySelectorAll(".jp-OutputArea-output")];
  if (!drawn.some((node) => node.textContent.includes("widget: model not found"))) return;
  for (const cell of manager?.context?.model?.cells ?? []) {
    for (let i = 0; i < (cell.outputs?.length ?? 0); i += 1) {
      const output = cell.outputs.get(i).toJSON();
      const id = output.data?.[WIDGET_VIEW]?.model_id;
      if (id && manager.has_model(id)) cell.outputs.set(i, output);
    }
  }
}

function initialize({ model }) {
  keepInNotebook(model.widget_manager);
  redrawEarlyOutputs(model.widget_manager);
}

// The frame of a widget: its title, a corner for one more thing, and the note without a kernel.
function makeRoot(className, text, corner) {
  const root = make("div", `sd-widget ${className}`);
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", text.title);
  const header = make("div", "sd-header");
  header.append(make("span", "sd-title", text.title), corner);
  root.append(header, make("p", "sd-offline", text.offline));
  return root;
}

let lastGroup = 0;

// A question as a fieldset with radio buttons. onCommit(index) is called when the learner has
// chosen and pressed the button; show(index) marks every choice and gives its reason, and
// show(-1) opens the question again.
function makeQuestion(question, text, eyebrow, onCommit) {
  const form = make("form", "sd-question");
  const fieldset = make("fieldset");
  const legend = make("legend");
  legend.append(make("span", "sd-eyebrow", eyebrow));
  legend.append(writeMarkup(make("span", "sd-prompt"), question.prompt));
  fieldset.append(legend);
  const group = `sd-group-${lastGroup++}-${Math.random().toString(36).slice(2)}`;
  const choices = question.choices.map((choice, index) => makeChoice(choice, index, group, text));
  fieldset.append(...choices.map((choice) => choice.node));
  const button = focusable(make("button", "sd-button sd-primary"));
  button.type = "submit";
  const verdict = make("p", "sd-verdict");
  verdict.setAttribute("role", "status");
  const foot = make("div", "sd-foot");
  foot.append(button, verdict);
  form.append(fieldset, foot);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = choices.findIndex((choice) => choice.input.checked);
    if (chosen < 0) {
      write(verdict, text.choose_first);
      choices[0].input.focus();
    } else onCommit(chosen);
  });

  function show(chosen) {
    const open = chosen < 0;
    choices.forEach((choice, index) => choice.show(open, index === chosen));
    form.dataset.state = open ? "open" : "done";
    const right = !open && question.choices[chosen].right;
    verdict.dataset.right = open ? "" : String(right);
    write(verdict, open ? "" : `${right ? "✓" : "✗"} ${right ? text.right : text.wrong}`);
  }
  return { node: form, button, show, choices };
}

function makeChoice(choice, index, group, text) {
  const node = make("label", "sd-choice");
  const input = focusable(make("input"));
  input.type = "radio";
  input.name = group;
  input.value = letter(index);
  const body = make("span", "sd-choice-body");
  const words = writeMarkup(make("span", "sd-choice-text"), choice.text);
  const tag = make("span", "sd-tag");
  const reason = writeMarkup(make("span", "sd-reason"), choice.reason);
  body.append(words, tag, reason);
  node.append(input, make("span", "sd-letter", letter(index)), body);

  function show(open, chosen) {
    if (open) input.checked = false;
    else input.checked = chosen;
    input.disabled = !open;
    tag.hidden = reason.hidden = open;
    node.dataset.state = open ? "open" : choice.right ? "right" : "wrong";
    node.dataset.chosen = String(chosen);
    const word = choice.right ? text.mark_right : text.mark_wrong;
    write(tag, `${choice.right ? "✓" : "✗"} ${word}${chosen ? `, ${text.your_choice}` : ""}`);
  }
  return { node, input, show };
}
