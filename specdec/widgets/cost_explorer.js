const SLACK = 1e-12;
const BATCHES = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];
const MODELS = ["flat", "curve", "batch"];
const SETTINGS = ["a", "c", "k", "model", "batch"];
const WIDTH = 360;
const HEIGHT = 230;
const FRAME = { left: 38, right: 12, top: 14, bottom: 38 };

// The rules, twins of those in cost_explorer.py. `s` holds a, c, k, model, batch, critical, curve.
export function tokensPerPass(a, k) {
  let total = 0;
  let term = 1;
  for (let i = 0; i <= k; i += 1) {
    total += term;
    term *= a;
  }
  return total;
}

export function verifyCost(s, k) {
  if (s.model === "curve") return s.curve[k];
  if (s.model === "flat") return 1;
  const load = s.batch / s.critical;
  return Math.max(1, load * (k + 1)) / Math.max(1, load);
}

export function roundCost(s, k) {
  return k * s.c + verifyCost(s, k);
}

export function speedupAt(s, k) {
  return tokensPerPass(s.a, k) / roundCost(s, k);
}

export function bestK(s) {
  let best = 0;
  for (let k = 1; k < s.curve.length; k += 1) {
    if (speedupAt(s, k) > speedupAt(s, best) + SLACK) best = k;
  }
  return best;
}

// The smallest acceptance at which k guesses a round are no slower than none; null: there is none.
export function breakEven(s) {
  const needed = roundCost(s, s.k) - SLACK;
  if (tokensPerPass(1, s.k) < needed) return null;
  if (tokensPerPass(0, s.k) >= needed) return 0;
  let low = 0;
  let high = 1;
  for (let i = 0; i < 60; i += 1) {
    const middle = (low + high) / 2;
    if (tokensPerPass(middle, s.k) >= needed) high = middle;
    else low = middle;
  }
  return high;
}

// The smallest batch at which k guesses a round lose; null: none does. From `critical` texts on
// nothing changes any more.
export function losingBatch(s) {
  for (let batch = 1; batch <= s.critical; batch += 1) {
    const there = { ...s, model: "batch", batch };
    if (speedupAt(there, s.k) < 1 - SLACK) return batch;
  }
  return null;
}

export function breakEvenText(text, s) {
  const from = breakEven(s);
  if (from === null) return text.never_pays;
  return from === 0 ? text.always_pays : twoPlaces(from);
}

export function losingText(text, s) {
  const batch = losingBatch(s);
  return batch === null ? text.never_loses : String(batch);
}

export function statusSentence(text, s) {
  const best = bestK(s);
  const speed = speedupAt(s, s.k);
  const values = {
    k: s.k,
    tokens: twoPlaces(tokensPerPass(s.a, s.k)),
    cost: twoPlaces(roundCost(s, s.k)),
    speedup: twoPlaces(speed),
    best,
    best_speedup: twoPlaces(speedupAt(s, best)),
    batch: s.batch,
    losing: losingBatch(s),
  };
  const kind = speed < 1 - SLACK ? "loses" : speed > 1 + SLACK ? "wins" : "even";
  const kinds = [s.k === 0 ? "plain" : kind, best === s.k ? "is_best" : "best"];
  if (s.model === "batch" && s.k > 0) {
    const lost = values.losing;
    kinds.push(lost === null ? "never_loses" : lost === 1 ? "always_loses" : "losing");
  }
  return kinds.map((name) => fill(text[`status_${name}`], values)).join(" ");
}

function svg(tag, attributes, content) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (content !== undefined) node.textContent = content;
  return node;
}

// A chart from 0 to `top` upwards; `across` turns a value of the x axis into 0 to 1.
function makeChart() {
  const node = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "sd-chart", role: "img" });
  const right = WIDTH - FRAME.right;
  const bottom = HEIGHT - FRAME.bottom;
  const add = (tag, attributes, content) => node.append(svg(tag, attributes, content));

  function drawFrame({ title, ticks, top, plain, plainAtLeft }, x, y) {
    const ends = { x1: FRAME.left, x2: right };
    const step = top <= 3 ? 0.5 : top <= 6 ? 1 : top <= 12 ? 2 : 5;
    for (let value = 0; value <= top + 1e-9; value += step) {
      const words = { x: FRAME.left - 6, y: y(value) + 4, class: "sd-axis sd-end" };
      add("line", { ...ends, y1: y(value), y2: y(value), class: "sd-grid" });
      add("text", words, String(value));
    }
    const below = { class: "sd-axis sd-middle" };
    for (const tick of ticks) add("text", { ...below, x: x(tick), y: bottom + 16 }, String(tick));
    add("text", { ...below, x: (FRAME.left + right) / 2, y: HEIGHT - 5 }, title);
    add("line", { ...ends, y1: y(1), y2: y(1), class: "sd-plain-line" });
    // Where the curves leave room: under the line, at the right or, for batches, at the left.
    const side = plainAtLeft ? { x: FRAME.left + 4 } : { x: right, "text-anchor": "end" };
    add("text", { ...side, y: y(1) + 14, class: "sd-axis sd-plain" }, plain);
  }

  function show(chart) {
    const { across, top, curves, marks, description } = chart;
    const x = (value) => FRAME.left + across(value) * (right - FRAME.left);
    const y = (value) => bottom - (value / top) * (bottom - FRAME.top);
    node.setAttribute("aria-label", description);
    node.replaceChildren();
    drawFrame(chart, x, y);
    for (const { points, kind } of curves) {
      const path = points.map(([px, py]) => `${x(px).toFixed(1)} ${y(py).toFixed(1)}`);
      add("path", { d: `M${path.join("L")}`, class: `sd-curve sd-${kind}` });
    }
    for (const { at, sign, kind, above } of marks) {
      const [cx, cy] = [x(at[0]), y(at[1])];
      const words = { x: cx, y: cy + (above ? -7 : 5.5), class: "sd-sign sd-middle" };
      if (sign) add("text", words, sign);
      else add("circle", { cx, cy, r: 5, class: `sd-dot sd-${kind}` });
    }
  }
  return { node, show };
}

function makeSlider(name, text, { max, step }, onInput) {
  const node = make("label", "sd-slider");
  const range = focusable(make("input"));
  range.type = "range";
  range.min = "0";
  range.max = String(max);
  range.step = String(step);
  range.setAttribute("aria-label", text[`${name}_label`]);
  const value = make("b");
  node.append(make("span", "", text[`${name}_label`]), value, range);
  range.addEventListener("input", () => onInput(Number(range.value)));

  function show(position, words, locked) {
    range.value = String(position);
    range.disabled = locked;
    range.setAttribute("aria-valuetext", words);
    write(value, words);
  }
  return { node, show };
}

function makeModels(text, onChoose) {
  const node = make("fieldset", "sd-chips sd-models");
  node.append(make("legend", "", text.model_label));
  const group = `sd-model-${lastGroup++}-${Math.random().toString(36).slice(2)}`;
  const inputs = {};
  for (const model of MODELS) {
    const chip = make("label", "sd-chip");
    inputs[model] = focusable(make("input"));
    inputs[model].type = "radio";
    inputs[model].name = group;
    inputs[model].value = model;
    inputs[model].addEventListener("change", () => onChoose(model));
    chip.append(inputs[model], make("span", "", text[`${model}_name`]));
    node.append(chip);
  }
  const says = make("p", "sd-model-says");
  node.append(says);

  function show(model, values, locked) {
    for (const [name, input] of Object.entries(inputs)) {
      input.checked = name === model;
      input.disabled = locked;
    }
    write(says, fill(text[`${model}_says`], values));
  }
  return { node, show };
}

function makeCases(text, cases, onLoad) {
  const node = make("label", "sd-case");
  const select = focusable(make("select"));
  select.append(new Option(text.choose_case, ""));
  cases.forEach((item, i) => select.append(new Option(item.name, String(i))));
  select.addEventListener("change", () => {
    if (select.value) onLoad(cases[Number(select.value)]);
  });
  node.append(make("span", "", text.case_label), select);
  node.hidden = cases.length === 0;

  // The box names a case only while the sliders stand as the case wants them.
  function show(s, locked) {
    const same = (item) => SETTINGS.every((name) => !(name in item) || item[name] === s[name]);
    const chosen = cases.findIndex(same);
    select.value = chosen < 0 ? "" : String(chosen);
    select.disabled = locked;
  }
  return { node, show };
}

function makeTiles(text) {
  const node = make("dl", "sd-tiles");
  const tiles = {};
  for (const name of ["speedup", "tokens", "cost", "best", "even", "losing"]) {
    const tile = make("div", `sd-tile sd-tile-${name}`);
    tiles[name] = { node: tile, value: make("dd", "") };
    tile.append(make("dt", "", text[`tile_${name}`]), tiles[name].value);
    node.append(tile);
  }

  function show(s, locked) {
    const best = bestK(s);
    const values = {
      speedup: `${twoPlaces(speedupAt(s, s.k))}×`,
      tokens: twoPlaces(tokensPerPass(s.a, s.k)),
      cost: twoPlaces(roundCost(s, s.k)),
      best: `${best} (${twoPlaces(speedupAt(s, best))}×)`,
      even: breakEvenText(text, s),
      losing: losingText(text, s),
    };
    for (const [name, tile] of Object.entries(tiles)) {
      write(tile.value, locked ? text.hidden : values[name]);
    }
    tiles.losing.node.hidden = s.model !== "batch";
    const loses = !locked && speedupAt(s, s.k) < 1 - SLACK;
    tiles.speedup.node.dataset.loses = String(loses);
  }
  return { node, show };
}

function makeTable(text) {
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

  function show(s) {
    const heads = ["k", text.tile_tokens, text.tile_cost, text.tile_speedup];
    const lines = s.curve.map((_, k) => [
      String(k),
      twoPlaces(tokensPerPass(s.a, k)),
      twoPlaces(roundCost(s, k)),
      twoPlaces(speedupAt(s, k)),
    ]);
    table.replaceChildren(row(heads, "th"), ...lines.map((line) => row(line)));
  }
  return { node, show };
}

const overK = (s) => s.curve.map((_, k) => [k, speedupAt(s, k)]);

function overA(s) {
  const steps = Array.from({ length: 51 }, (_, i) => i / 50);
  return steps.map((a) => [a, speedupAt({ ...s, a }, s.k)]);
}

function overBatch(s) {
  const batches = Array.from({ length: 73 }, (_, i) => 2 ** (i / 8));
  return batches.map((batch) => [batch, speedupAt({ ...s, model: "batch", batch }, s.k)]);
}

const EMPTY = { curves: [], marks: [] };

// The curves and marks of the chart over k, and of the one beside it, over a or the batch.
function chartParts(s, other) {
  const isBatch = s.model === "batch";
  const best = bestK(s);
  const parts = { k: { curves: [], marks: [] }, side: { curves: [], marks: [] } };

  function add(setting, kind) {
    const there = isBatch ? { ...setting, model: "batch", batch: s.batch } : setting;
    const points = isBatch ? overBatch(there) : overA(there);
    const at = [isBatch ? there.batch : there.a, speedupAt(there, there.k)];
    parts.k.curves.push({ points: overK(setting), kind });
    parts.k.marks.push({ at: [setting.k, speedupAt(setting, setting.k)], kind });
    parts.side.curves.push({ points, kind });
    parts.side.marks.push({ at, kind });
  }

  if (other) add(other, "pinned");
  add(s, "now");
  parts.k.marks.push({ at: [best, speedupAt(s, best)], sign: "★", above: true });
  const even = isBatch ? losingBatch(s) : breakEven(s);
  if (even !== null && s.k > 0) parts.side.marks.push({ at: [even, 1], sign: "◆" });
  return parts;
}

// The top of a chart: the next whole number above its curves, and at least 2.
function topOf(curves) {
  const highest = Math.max(...curves.flatMap(({ points }) => points.map(([, y]) => y)), 1.5);
  return Math.ceil(highest + 0.2);
}

function shortSetting(text, s) {
  const speedup = twoPlaces(speedupAt(s, s.k));
  return fill(text.setting, { a: twoPlaces(s.a), c: twoPlaces(s.c), k: s.k, speedup });
}

function render({ model, el }) {
  const text = model.get("text");
  const question = model.get("question");
  const isAsked = Boolean(question && question.choices);
  const reset = focusable(make("button", "sd-button", text.reset));
  reset.type = "button";
  const root = makeRoot("sd-explorer", text, reset);
  const sliders = {
    a: makeSlider("a", text, { max: 1, step: 0.01 }, (a) => change({ a })),
    c: makeSlider("c", text, { max: 0.5, step: 0.01 }, (c) => change({ c })),
    k: makeSlider("k", text, { max: model.get("curve").length - 1, step: 1 }, (k) => change({ k })),
    batch: makeSlider("batch", text, { max: BATCHES.length - 1, step: 1 }, (i) =>
      change({ batch: BATCHES[i] }),
    ),
  };
  const controls = make("div", "sd-controls");
  controls.append(...Object.values(sliders).map((slider) => slider.node));
  const models = makeModels(text, (name) => change({ model: name }));
  const cases = makeCases(text, model.get("cases"), ({ name, ...values }) => change(values));
  const tiles = makeTiles(text);
  const charts = [makeChart(), makeChart()];
  const chartRow = make("div", "sd-charts");
  chartRow.append(...charts.map((chart) => chart.node));
  const legend = make("p", "sd-legend");
  const pin = focusable(make("button", "sd-button", text.pin));
  const unpin = focusable(make("button", "sd-button", text.unpin));
  pin.type = unpin.type = "button";
  const pins = make("div", "sd-pins");
  pins.append(pin, unpin);
  const status = focusable(make("p", "sd-status"));
  status.tabIndex = -1;
  status.setAttribute("role", "status");
  const table = makeTable(text);
  root.append(make("p", "sd-hint", text.hint), cases.node, controls, models.node, tiles.node);
  root.append(chartRow, legend, pins, status, table.node);
  const asked = isAsked ? makeQuestion(question, text, text.predict, commit) : null;
  if (asked) {
    write(asked.button, text.commit);
    root.append(asked.node);
  }
  pin.addEventListener("click", () => {
    const { a, c, k, model: name, batch } = settings();
    change({ pinned: { a, c, k, model: name, batch } });
  });
  unpin.addEventListener("click", () => change({ pinned: {} }));
  reset.addEventListener("click", () => change(model.get("start")));

  function change(values) {
    model.set(values);
    model.save_changes();
  }

  function settings() {
    const names = [...SETTINGS, "critical", "curve"];
    return Object.fromEntries(names.map((name) => [name, model.get(name)]));
  }

  function commit(index) {
    model.set("prediction", question.choices[index].text);
    model.save_changes();
    status.focus();
  }

  function showCharts(s, other, locked) {
    const parts = locked ? { k: EMPTY, side: EMPTY } : chartParts(s, other);
    const isBatch = s.model === "batch";
    const best = bestK(s);
    const values = {
      best,
      speedup: twoPlaces(speedupAt(s, best)),
      even: breakEvenText(text, s),
      losing: losingText(text, s),
    };
    const says = (label) => (locked ? text.chart_hidden : fill(text[`${label}_label`], values));
    const side = isBatch ? "chart_batch" : "chart_a";
    charts[0].show({
      ...parts.k,
      title: text.chart_k,
      ticks: [0, 4, 8, 12, 16],
      across: (k) => k / (s.curve.length - 1),
      top: topOf(parts.k.curves),
      description: says("chart_k"),
      plain: text.plain,
    });
    charts[1].show({
      ...parts.side,
      title: text[side],
      ticks: isBatch ? [1, 4, 16, 64, 256] : [0, 0.25, 0.5, 0.75, 1],
      across: isBatch ? (batch) => Math.log2(batch) / 9 : (a) => a,
      top: topOf(parts.side.curves),
      description: says(side),
      plain: text.plain,
      plainAtLeft: isBatch,
    });
  }

  function showLegend(s, other, locked) {
    const now = make("span", "sd-key sd-key-now", shortSetting(text, s));
    const parts = [now];
    if (other) {
      const words = `${text.pinned}: ${shortSetting(text, other)}`;
      parts.push(make("span", "sd-key sd-key-pinned", words));
    }
    parts.push(make("span", "", text.signs));
    legend.replaceChildren(...(locked ? [] : parts));
  }

  function update() {
    const s = settings();
    const locked = isAsked && !model.get("prediction");
    const pinned = model.get("pinned");
    const hasPin = Object.keys(pinned).length > 0;
    const other = hasPin ? { ...s, model: "flat", ...pinned } : null;
    root.dataset.locked = String(locked);
    sliders.a.show(s.a, twoPlaces(s.a), locked);
    sliders.c.show(s.c, twoPlaces(s.c), locked);
    sliders.k.show(s.k, String(s.k), locked);
    const nearest = BATCHES.findIndex((batch) => batch >= s.batch);
    sliders.batch.show(nearest < 0 ? BATCHES.length - 1 : nearest, String(s.batch), locked);
    sliders.batch.node.hidden = s.model !== "batch";
    const free = Math.floor(s.critical / (s.k + 1));
    models.show(s.model, { critical: s.critical, free, k: s.k }, locked);
    cases.show(s, locked);
    tiles.show(s, locked);
    showCharts(s, other, locked);
    showLegend(s, other, locked);
    write(status, locked ? text.status_locked : statusSentence(text, s));
    const loses = !locked && speedupAt(s, s.k) < 1 - SLACK;
    status.dataset.loses = String(loses);
    if (!locked) table.show(s);
    table.node.hidden = locked;
    pin.disabled = reset.disabled = locked;
    unpin.disabled = locked || !hasPin;
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
  const names = [...SETTINGS, "critical", "curve", "pinned", "prediction"];
  names.forEach((name) => model.on(`change:${name}`, update));
  return () => names.forEach((name) => model.off(`change:${name}`, update));
}

export default { initialize, render };
