const RULES = ["right", "from_p", "threshold", "always", "inverted"];
const SIGNS = { kept: "✓", thrown: "✗", back: "+", missing: "" };
const SAME_LAW = 1e-9;
const HANDLE = 12; // of a slider, in pixels
const RUNS = { run_one: 1, run_some: 1000, run_many: 10000 };

const sum = (values) => values.reduce((total, value) => total + value, 0);
const above = (a, b) => a.map((value, i) => Math.max(value - b[i], 0));

// The rules, twins of those in sampling_lane.py. A token that q never draws has chance 0.
export function keepChances(p, q, rule) {
  return q.map((drawn, i) => {
    if (drawn === 0) return 0;
    if (rule === "always") return 1;
    if (rule === "threshold") return p[i] >= drawn ? 1 : 0;
    if (rule === "inverted") return drawn / Math.max(p[i], drawn);
    return Math.min(p[i] / drawn, 1);
  });
}

export function residual(p, q) {
  const missing = above(p, q);
  const total = sum(missing);
  return total > 0 ? missing.map((share) => share / total) : p;
}

export function redraw(p, q, rule) {
  return rule === "from_p" ? p : residual(p, q);
}

export function masses(p, q, rule) {
  const kept = keepChances(p, q, rule).map((chance, i) => q[i] * chance);
  const thrown = above(q, kept);
  const total = sum(thrown);
  const back = redraw(p, q, rule).map((share) => total * share);
  return { kept, thrown, back, law: kept.map((share, i) => share + back[i]) };
}

export function overlap(p, q) {
  return sum(p.map((share, i) => Math.min(share, q[i])));
}

// How much of a law lies in the wrong place: its total variation distance from p.
function biasOf(law, p) {
  return sum(law.map((share, i) => Math.abs(share - p[i]))) / 2;
}

// The generator mulberry32: returns a number in [0, 1) and moves the state of the stream on.
function uniform(stream) {
  stream.state = (stream.state + 0x6d2b79f5) >>> 0;
  let mixed = Math.imul(stream.state ^ (stream.state >>> 15), stream.state | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

function draw(distribution, u) {
  let last = 0;
  for (let token = 0; token < distribution.length; token += 1) {
    if (distribution[token] > 0) {
      last = token;
      if (u < distribution[token]) return token;
    }
    u -= distribution[token];
  }
  return last;
}

// Draws tokens one by one, as a decoder would; `last` tells the way of the last one.
export function simulate(p, q, rule, runs, state) {
  const chances = keepChances(p, q, rule);
  const again = redraw(p, q, rule);
  const stream = { state };
  const counts = p.map(() => 0);
  let kept = 0;
  let last = null;
  for (let run = 0; run < runs; run += 1) {
    const guess = draw(q, uniform(stream));
    const isKept = uniform(stream) < chances[guess];
    const third = uniform(stream);
    const out = isKept ? guess : draw(again, third);
    if (isKept) kept += 1;
    counts[out] += 1;
    last = { guess, isKept, out, chance: chances[guess] };
  }
  return { counts, kept, state: stream.state, last };
}

// Whole counts that sum to `total`, in proportion to the weights: what is over after rounding
// down goes to the largest remainders, the earlier one first where two are the same.
export function wholeCounts(weights, total) {
  const all = sum(weights);
  const exact = weights.map((weight) => (all > 0 ? weight / all : 1 / weights.length) * total);
  const counts = exact.map(Math.floor);
  const order = exact.map((share, i) => [counts[i] - share, i]);
  order.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  for (const [, i] of order.slice(0, total - sum(counts))) counts[i] += 1;
  return counts;
}

// One bar set to a count of 100; the others share the rest in the proportions of `base`.
export function spread(base, index, count) {
  const others = wholeCounts(base.filter((_, i) => i !== index), 100 - count);
  others.splice(index, 0, count);
  return others.map((value) => value / 100);
}

export function temper(base, temperature) {
  if (temperature === 1) return base;
  const largest = Math.max(...base);
  if (temperature === 0) return base.map((_, i) => (i === base.indexOf(largest) ? 1 : 0));
  const weights = base.map((share) => (share / largest) ** (1 / temperature));
  return wholeCounts(weights, 100).map((count) => count / 100);
}

export function of100(share) {
  return String(Math.floor(share * 1000 + 0.5 + 1e-9) / 10);
}

function listed(tokens, shares, least) {
  const pairs = tokens.map((token, i) => [token, shares[i]]);
  const shown = pairs.filter(([, share]) => share > least);
  return shown.map(([token, share]) => `${token} ${of100(share)}`).join(", ");
}

export function statusSentence(text, tokens, p, q, rule) {
  const { kept, thrown, law } = masses(p, q, rule);
  const bias = biasOf(law, p);
  let kind = `status_${rule}`;
  if (rule === "right" && overlap(p, q) > 1 - SAME_LAW) kind = "status_same";
  else if (rule !== "right" && bias < SAME_LAW) kind = "status_lucky";
  return fill(text[kind], {
    kept: of100(sum(kept)),
    thrown: of100(sum(thrown)),
    over: listed(tokens, q.map((share, i) => share - p[i]), SAME_LAW),
    under: listed(tokens, p.map((share, i) => share - q[i]), SAME_LAW),
    law: listed(tokens, law, -1),
    p: p.map(of100).join(", "),
    bias: of100(bias),
  });
}

// How far a share of n runs may lie from p: two standard errors.
export function twoErrors(share, runs) {
  return 2 * Math.sqrt((share * (1 - share)) / runs);
}

const isWithin = (count, share, runs) =>
  Math.abs(count / runs - share) <= twoErrors(share, runs) + 1e-12;

const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

function place(node, start, length) {
  node.style.insetInlineStart = `${100 * start}%`;
  node.style.inlineSize = `${100 * length}%`;
  node.hidden = length < 1e-9;
}

// A bar: its name, its track from 0 to 100 with colored parts, and a number beside it.
function makeBar(name, text, parts) {
  const node = make("div", `sd-bar sd-bar-${name}`);
  const label = make("span", "sd-bar-name", text[name]);
  label.setAttribute("aria-hidden", "true");
  const track = make("span", "sd-track");
  const number = make("span", "sd-number");
  const pieces = {};
  for (const part of parts) {
    pieces[part] = make("span", `sd-part sd-${part}`);
    pieces[part].setAttribute("aria-hidden", "true");
    track.append(pieces[part]);
  }
  node.append(label, track, number);
  return { node, track, number, pieces };
}

function addSlider(bar, label, onInput) {
  const range = focusable(make("input", "sd-handle"));
  range.type = "range";
  range.min = "0";
  range.max = "100";
  range.setAttribute("aria-label", label);
  range.addEventListener("input", () => onInput(Number(range.value)));
  bar.track.append(range);
  bar.slider = range;
}

function makePicture(bar) {
  bar.track.setAttribute("role", "img");
  return bar;
}

function showNumber(bar, number, note) {
  bar.number.replaceChildren(make("b", "", number), make("small", "", note));
}

// How a count stands against p, in words.
function against(text, off) {
  if (Math.abs(off) < SAME_LAW) return text.as_p;
  return fill(off > 0 ? text.too_many : text.too_few, { n: of100(Math.abs(off)) });
}

// A part of a bar with its sign and its count, as far as there is room for them. Where the line
// of p crosses the part, they stand on its longer side.
function showPart(bar, name, start, length, p) {
  const piece = bar.pieces[name];
  place(piece, start, length);
  const crossed = start < p - SAME_LAW && p < start + length - SAME_LAW;
  const before = crossed ? p - start : length;
  const side = Math.max(before, length - before);
  piece.dataset.side = !crossed ? "" : before > length - before ? "start" : "end";
  const room = side * bar.track.clientWidth - (bar.slider ? HANDLE : 0);
  const count = of100(length);
  const sign = SIGNS[name] ? `${SIGNS[name]} ` : "";
  let words = "";
  if (room >= 14 + 7 * (sign + count).length) words = sign + count;
  else if (room >= 14 + 7 * count.length) words = count;
  if (piece.textContent !== words) piece.replaceChildren(words ? make("span", "", words) : "");
}

// One token: the bars of p and q to set, the law and the runs that come out.
function makeToken(token, text, onInput) {
  const node = make("div", "sd-token");
  node.setAttribute("role", "group");
  node.setAttribute("aria-label", token);
  const target = makeBar("p", text, ["target"]);
  const draft = makeBar("q", text, ["plain", "kept", "thrown", "missing", "tick"]);
  const exact = makePicture(makeBar("exact", text, ["kept", "back", "tick"]));
  const runs = makePicture(makeBar("runs", text, ["share", "error"]));
  addSlider(target, fill(text.target_of, { token }), (n) => onInput("p", n));
  addSlider(draft, fill(text.draft_of, { token }), (n) => onInput("q", n));
  const bars = [target, draft, exact, runs].map((bar) => bar.node);
  node.append(make("span", "sd-name", token), ...bars);

  function showInput(bar, share, note, locked) {
    bar.slider.value = String(Math.round(100 * share));
    bar.slider.disabled = locked;
    bar.slider.setAttribute("aria-valuetext", fill(text.of_100, { n: of100(share) }));
    showNumber(bar, of100(share), note);
  }

  function showDraft(p, q, kept, thrown, locked) {
    place(draft.pieces.plain, 0, locked ? q : 0);
    showPart(draft, "kept", 0, locked ? 0 : kept, p);
    showPart(draft, "thrown", kept, locked ? 0 : thrown, p);
    showPart(draft, "missing", q, locked ? 0 : Math.max(p - q, 0), p);
  }

  function showExact(p, kept, back, locked) {
    showPart(exact, "kept", 0, locked ? 0 : kept, p);
    showPart(exact, "back", kept, locked ? 0 : back, p);
    const off = kept + back - p;
    const values = { token, law: of100(kept + back), kept: of100(kept), back: of100(back) };
    const label = fill(text.exact_label, { ...values, p: of100(p) });
    exact.track.setAttribute("aria-label", locked ? fill(text.hidden_label, { token }) : label);
    exact.node.dataset.miss = String(!locked && Math.abs(off) >= SAME_LAW);
    showNumber(exact, locked ? text.hidden : values.law, locked ? "" : against(text, off));
  }

  function showRuns(p, count, all) {
    const share = all ? count / all : 0;
    const error = all ? twoErrors(p, all) : 0;
    const from = Math.max(p - error, 0);
    place(runs.pieces.share, 0, share);
    place(runs.pieces.error, from, Math.min(p + error, 1) - from);
    const values = { token, runs: grouped(all), share: of100(share), p: of100(p) };
    const label = all ? text.runs_label : text.no_runs_label;
    runs.track.setAttribute("aria-label", fill(label, { ...values, error: of100(error) }));
    const within = all > 0 && isWithin(count, p, all);
    runs.node.dataset.miss = String(all > 0 && !within);
    const note = within ? text.within : text.outside;
    showNumber(runs, all ? of100(share) : text.none, all ? note : "");
  }

  function show({ p, q, kept, thrown, back, count, all, locked }) {
    showInput(target, p, "", locked);
    showInput(draft, q, locked ? "" : against(text, q - p), locked);
    place(target.pieces.target, 0, p);
    for (const bar of [draft, exact]) bar.pieces.tick.style.insetInlineStart = `${100 * p}%`;
    showDraft(p, q, kept, thrown, locked);
    showExact(p, kept, back, locked);
    showRuns(p, count, locked ? 0 : all);
  }
  return { node, show };
}

function makeHeads(text) {
  const node = make("div", "sd-heads");
  for (const name of ["set", "out"]) {
    const head = make("span", `sd-head-${name}`);
    head.append(make("b", "", text[name]), make("small", "", text[`${name}_note`]));
    node.append(head);
  }
  return node;
}

// What the colors mean, each with its total: thrown away and put back are always the same.
function makeLedger(text) {
  const node = make("div", "sd-ledger");
  const totals = {};
  for (const name of ["kept", "thrown", "back", "missing"]) {
    const entry = make("span", "sd-entry");
    const swatch = make("span", `sd-swatch sd-${name}`);
    swatch.setAttribute("aria-hidden", "true");
    totals[name] = make("b");
    const words = `${SIGNS[name]} ${text[name]}`.trim();
    entry.append(swatch, make("span", "", words), totals[name]);
    node.append(entry);
  }
  totals.thrown.parentNode.after(make("span", "sd-equals", "="));
  const alpha = make("b");
  const corner = make("span", "sd-alpha");
  corner.append(alpha, make("small", "", text.alpha_note));
  node.append(corner);

  function show(parts, p, q, locked) {
    const values = { ...parts, missing: above(p, q) };
    for (const [name, total] of Object.entries(totals)) {
      write(total, locked ? text.hidden : of100(sum(values[name])));
    }
    const shown = overlap(p, q).toFixed(3).replace(/0$/, "");
    write(alpha, fill(text.alpha, { alpha: locked ? text.hidden : shown }));
  }
  return { node, show };
}

function makeTemperature(name, text, onInput) {
  const node = make("label", "sd-heat");
  const range = focusable(make("input"));
  range.type = "range";
  range.min = "0";
  range.max = "3";
  range.step = "0.1";
  const value = make("b");
  node.append(make("span", "", text[`temperature_${name}`]), value, range);
  range.addEventListener("input", () => onInput(name, Number(range.value)));
  return {
    node,
    show(temperature, locked) {
      range.value = String(temperature);
      range.disabled = locked;
      write(value, temperature.toFixed(1));
    },
  };
}

function makeRules(text, onChoose) {
  const node = make("fieldset", "sd-chips sd-rules");
  const group = `sd-rule-${lastGroup++}-${Math.random().toString(36).slice(2)}`;
  const says = make("p", "sd-rule-says");
  const inputs = {};
  node.append(make("legend", "", text.rule));
  for (const rule of RULES) {
    const chip = make("label", "sd-chip");
    inputs[rule] = focusable(make("input"));
    inputs[rule].type = "radio";
    inputs[rule].name = group;
    inputs[rule].value = rule;
    inputs[rule].addEventListener("change", () => onChoose(rule));
    chip.append(inputs[rule], make("span", "", text[`${rule}_name`]));
    node.append(chip);
  }
  node.append(says);

  function show(rule, locked) {
    for (const [name, input] of Object.entries(inputs)) {
      input.checked = name === rule;
      input.disabled = locked;
    }
    if (says.dataset.rule === rule) return;
    says.dataset.rule = rule;
    says.replaceChildren();
    writeMarkup(says, text[`${rule}_rule`]);
  }
  return { node, show };
}

function makeRuns(text, onRun, onClear) {
  const node = make("div", "sd-runs");
  const story = make("p", "sd-story");
  story.setAttribute("role", "status");
  const buttons = [...Object.keys(RUNS), "clear"].map((name) => {
    const button = focusable(make("button", "sd-button", text[name]));
    button.type = "button";
    button.addEventListener("click", () => (name === "clear" ? onClear() : onRun(RUNS[name])));
    if (name === "run_some") button.classList.add("sd-primary");
    return button;
  });
  const row = make("div", "sd-run-buttons");
  row.append(...buttons);
  node.append(row, story);
  return { node, buttons, story };
}

function makeTable(text, tokens) {
  const node = make("details", "sd-numbers");
  const table = make("table");
  node.append(focusable(make("summary", "", text.table)), table);

  function row(cells, tag) {
    const line = make("tr");
    cells.forEach((cell, i) => {
      const item = make(tag === "th" || i === 0 ? "th" : "td", "", cell);
      if (item.tagName === "TH") item.scope = tag === "th" ? "col" : "row";
      line.append(item);
    });
    return line;
  }

  function show(p, q, { kept, thrown, back, law }) {
    const columns = [p, q, kept, thrown, back, law];
    const heads = [text.p, text.q, text.kept, text.thrown, text.back, text.out];
    table.replaceChildren(
      row([text.token, ...heads], "th"),
      ...tokens.map((token, i) => row([token, ...columns.map((values) => of100(values[i]))])),
      row([text.sum, ...columns.map((values) => of100(sum(values)))]),
    );
  }
  return { node, show };
}

function runStory(text, { counts, kept, p, last }) {
  const runs = sum(counts);
  if (runs === 0) return text.story_none;
  const within = counts.filter((count, i) => isWithin(count, p[i], runs)).length;
  const values = { runs: grouped(runs), within, tokens: p.length, share: of100(kept / runs) };
  const sofar = fill(runs === 1 ? text.story_one_run : text.story, values);
  if (!last) return sofar;
  return `${fill(last.isKept ? text.story_one_kept : text.story_one_back, last)} ${sofar}`;
}

function render({ model, el }) {
  const text = model.get("text");
  const tokens = model.get("tokens");
  const question = model.get("question");
  const isAsked = Boolean(question && question.choices);
  let held = null; // the bars as they were when the learner took hold of one of them
  let last = null; // the way of the last token, after a run of one

  const reset = focusable(make("button", "sd-button", text.reset));
  reset.type = "button";
  const root = makeRoot("sd-sampling", text, reset);
  const items = tokens.map((token, i) => makeToken(token, text, (name, n) => setBar(name, i, n)));
  const grid = make("div", "sd-tokens");
  grid.append(makeHeads(text), ...items.map((item) => item.node));
  const heats = { p: makeTemperature("p", text, heat), q: makeTemperature("q", text, heat) };
  const heatRow = make("div", "sd-heats");
  heatRow.append(heats.p.node, heats.q.node, make("small", "", text.temperature_note));
  const ledger = makeLedger(text);
  const rules = makeRules(text, (rule) => change({ rule }));
  const status = focusable(make("p", "sd-status"));
  status.tabIndex = -1;
  status.setAttribute("role", "status");
  const runs = makeRuns(text, run, () => change({}));
  const table = makeTable(text, tokens);
  root.append(make("p", "sd-hint", text.hint), grid, ledger.node, heatRow, rules.node, status);
  root.append(runs.node, table.node);
  const asked = isAsked ? makeQuestion(question, text, text.predict, commit) : null;
  if (asked) {
    write(asked.button, text.commit);
    root.append(asked.node);
  }
  reset.addEventListener("click", () => {
    const { p, q, stream } = model.get("start");
    const temperature = { p: 1, q: 1 };
    change({ p, q, stream, base: { p, q }, temperature, rule: "right" });
  });

  // Every change of the lane starts the runs anew: the old ones came from another law.
  function change(values) {
    held = null;
    last = null;
    model.set({ ...values, counts: tokens.map(() => 0), kept: 0 });
    model.save_changes();
  }

  function setBar(name, index, count) {
    const now = String(model.get(name));
    const same = held && held.name === name && held.index === index && held.now === now;
    const start = same ? held.start : model.get(name);
    const shares = spread(start, index, count);
    const base = { ...model.get("base"), [name]: shares };
    change({ [name]: shares, base, temperature: { ...model.get("temperature"), [name]: 1 } });
    held = { name, index, start, now: String(shares) };
  }

  function heat(name, value) {
    const temperature = { ...model.get("temperature"), [name]: value };
    change({ [name]: temper(model.get("base")[name], value), temperature });
  }

  function run(n) {
    const done = simulate(model.get("p"), model.get("q"), model.get("rule"), n, model.get("stream"));
    const { guess, isKept, out, chance } = done.last;
    const way = { guess: tokens[guess], out: tokens[out], chance: of100(chance) };
    last = n === 1 ? { ...way, isKept } : null;
    const counts = model.get("counts").map((count, i) => count + done.counts[i]);
    model.set({ counts, kept: model.get("kept") + done.kept, stream: done.state });
    model.save_changes();
  }

  function commit(index) {
    model.set("prediction", question.choices[index].text);
    model.save_changes();
    status.focus();
  }

  function update() {
    const [p, q, rule, counts] = ["p", "q", "rule", "counts"].map((name) => model.get(name));
    const locked = isAsked && !model.get("prediction");
    const parts = masses(p, q, rule);
    const all = sum(counts);
    items.forEach((item, i) => {
      const { kept, thrown, back } = parts;
      const shares = { p: p[i], q: q[i], kept: kept[i], thrown: thrown[i], back: back[i] };
      item.show({ ...shares, count: counts[i], all, locked });
    });
    root.dataset.locked = String(locked);
    ledger.show(parts, p, q, locked);
    for (const name of ["p", "q"]) heats[name].show(model.get("temperature")[name], locked);
    rules.show(rule, locked);
    write(status, locked ? text.status_locked : statusSentence(text, tokens, p, q, rule));
    status.dataset.biased = String(!locked && biasOf(parts.law, p) >= SAME_LAW);
    if (!locked) table.show(p, q, parts);
    runs.buttons.forEach((button) => (button.disabled = locked));
    runs.buttons.at(-1).disabled = locked || all === 0;
    reset.disabled = locked;
    const kept = model.get("kept");
    write(runs.story, locked ? text.story_none : runStory(text, { counts, kept, p, last }));
    if (asked) showQuestion();
  }

  function showQuestion() {
    const prediction = model.get("prediction");
    const chosen = question.choices.findIndex((choice) => choice.text === prediction);
    const state = chosen < 0 ? "open" : "done";
    if (asked.node.dataset.state !== state) asked.show(chosen);
    asked.button.hidden = chosen >= 0;
  }

  el.append(root);
  update();
  const sizes = new ResizeObserver(update);
  sizes.observe(root);
  const names = ["p", "q", "rule", "counts", "kept", "temperature", "prediction"];
  names.forEach((name) => model.on(`change:${name}`, update));
  return () => {
    sizes.disconnect();
    names.forEach((name) => model.off(`change:${name}`, update));
  };
}

export default { initialize, render };
