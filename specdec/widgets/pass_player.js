const ANSWER_LIMIT_MS = 6000;

function visible(piece) {
  return `“${piece.replaceAll("\n", "↵")}”`;
}

export function statusSentence(text, passes, shown, pieces, k) {
  if (shown === 0) return fill(text.status_start, { total: passes.length, k });
  const one = passes[shown - 1];
  const last = marksOf(one).at(-1);
  const drafted = one.drafted.length;
  let kind = { corrected: "status_rejected", plain: "status_plain", bonus: "status_full" }[last];
  if (kind === "status_full" && drafted === 1) kind = "status_full_one";
  return fill(text[kind], {
    n: shown,
    accepted: one.accepted,
    drafted,
    wanted: visible(pieces[one.emitted.at(-1)]),
    guess: one.accepted < drafted ? visible(pieces[one.drafted[one.accepted]]) : "",
  });
}

export function compareSentence(text, passes) {
  const tokens = passes.reduce((total, one) => total + one.emitted.length, 0);
  const kind = passes.length === 1 ? "compare_one" : "compare";
  return fill(text[kind], { passes: passes.length, tokens });
}

function passNode(one, number, pieces, text, latest) {
  const node = make("li", "sd-pass");
  node.dataset.latest = String(latest);
  node.setAttribute("aria-label", fill(text.pass_name, { n: number }));
  const marks = marksOf(one);
  const line = make("span", "sd-line");
  node.append(make("span", "sd-number", String(number)), line);
  const out = make("span", "sd-emitted");
  out.append(...one.emitted.map((token, i) => tokenNode(pieces[token], marks[i], text)));
  const lost = one.drafted.slice(one.accepted);
  line.append(out);
  if (lost.length) {
    const gone = make("span", "sd-lost");
    gone.append(...lost.map((token) => tokenNode(pieces[token], "rejected", text)));
    line.append(gone);
  }
  return node;
}

function makeWriter(text, model) {
  const form = make("div", "sd-own");
  const input = focusable(make("input", "sd-input"));
  input.type = "text";
  input.maxLength = 4000;
  input.value = "";
  const button = focusable(make("button", "sd-button", text.write));
  button.type = "button";
  const note = make("p", "sd-live");
  note.setAttribute("role", "status");
  form.append(labelled(text.own, input), button, note);
  let waiting = 0;
  function ask() {
    model.send({ do: "write", prompt: input.value });
    window.clearTimeout(waiting);
    waiting = window.setTimeout(() => write(note, text.silent), ANSWER_LIMIT_MS);
  }
  // Not a form: JupyterLab keeps Enter from submitting one.
  button.addEventListener("click", ask);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !button.disabled) ask();
  });
  function show() {
    const live = model.get("live");
    if (!live.state) return;
    window.clearTimeout(waiting);
    button.disabled = live.state === "writing";
    form.dataset.state = live.state;
    write(note, live.note);
  }
  return { node: form, show, stop: () => window.clearTimeout(waiting) };
}

function render({ model, el }) {
  const text = model.get("text");
  const compare = make("span", "sd-compare");
  const root = makeRoot("sd-player", text, compare);
  const controls = make("div", "sd-controls");
  const prompt = makeSelect((value) => save({ prompt: Number(value), shown: 0 }));
  const draft = makeSelect((value) => save({ draft: value, shown: 0 }));
  const length = makeRange(text.length_label, MAX_DRAFT, (k) => save({ k, shown: 0 }));
  controls.append(
    labelled(text.prompt, prompt),
    labelled(text.draft_label, draft),
    length.node,
  );
  const steps = make("div", "sd-steps");
  const back = makeButton(text.back, () => step(-1));
  const next = makeButton(text.next, () => step(1));
  next.classList.add("sd-primary");
  const all = makeButton(text.all, () => save({ shown: current().passes.length }));
  const position = makeRange(text.passes, 1, (shown) => save({ shown }));
  steps.append(next, back, all, position.node);
  const start = make("p", "sd-start");
  const list = focusable(make("ol", "sd-passes"));
  list.tabIndex = 0; // it scrolls, so that keys must reach it
  list.setAttribute("aria-label", text.title);
  const ledger = make("p", "sd-ledger");
  const status = make("p", "sd-status");
  status.setAttribute("role", "status");
  const writer = makeWriter(text, model);
  root.append(controls, steps, start, list, makeLegend(text), ledger, status, writer.node);

  function current() {
    const trace = model.get("traces")[model.get("prompt")];
    const guesses = trace.drafts[model.get("draft")];
    return { trace, passes: passesOf(trace.tokens, guesses, model.get("k")) };
  }

  function save(changes) {
    model.set(changes);
    model.save_changes();
  }

  function step(by) {
    const most = current().passes.length;
    save({ shown: Math.min(most, Math.max(0, model.get("shown") + by)) });
  }

  function options() {
    const traces = model.get("traces");
    if (prompt.options.length !== traces.length) {
      prompt.replaceChildren(
        ...traces.map((trace, index) => new Option(`${trace.prompt} …`, String(index))),
      );
    }
    const names = Object.keys(traces[0].drafts);
    if (draft.options.length !== names.length) {
      draft.replaceChildren(...names.map((name) => new Option(text[name] ?? name, name)));
    }
  }

  function update() {
    options();
    const { trace, passes } = current();
    const shown = Math.min(model.get("shown"), passes.length);
    prompt.value = String(model.get("prompt"));
    draft.value = model.get("draft");
    length.show(model.get("k"), MAX_DRAFT);
    position.show(shown, passes.length);
    back.disabled = shown === 0;
    next.disabled = all.disabled = shown === passes.length;
    write(start, `${trace.prompt} …`);
    list.replaceChildren(
      ...passes
        .slice(0, shown)
        .map((one, i) => passNode(one, i + 1, trace.pieces, text, i === shown - 1)),
    );
    list.hidden = shown === 0;
    list.scrollTop = list.scrollHeight;
    write(ledger, ledgerLine(passes.slice(0, shown)));
    write(compare, compareSentence(text, passes));
    write(status, statusSentence(text, passes, shown, trace.pieces, model.get("k")));
    writer.show();
  }

  update();
  el.append(root);
  const names = ["traces", "prompt", "draft", "k", "shown", "live"];
  names.forEach((name) => model.on(`change:${name}`, update));
  return () => {
    writer.stop();
    names.forEach((name) => model.off(`change:${name}`, update));
  };
}

export default { initialize, render };
