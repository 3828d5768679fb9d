// As twoPlaces, for the price of a guess, which may be small.
export function threePlaces(value) {
  return (Math.floor(value * 1000 + 0.5 + 1e-9) / 1000).toFixed(3);
}

// What a draft reaches on a text, twin of numbers_of; alpha is null when nothing was guessed.
export function numbersOf(tokens, guesses, k, passCosts, guessCost) {
  const passes = passesOf(tokens, guesses, k);
  let accepted = 0;
  let tested = 0;
  let cost = 0;
  for (const one of passes) {
    accepted += one.accepted;
    tested += Math.min(one.accepted + 1, one.drafted.length);
    cost += passCosts[one.drafted.length] + guessCost * one.drafted.length;
  }
  return {
    passes,
    alpha: tested ? accepted / tested : null,
    tokens_per_pass: tokens.length / passes.length,
    speed: tokens.length / cost,
  };
}

export function allNumbers(trace, k, prices) {
  const found = {};
  for (const [name, guesses] of Object.entries(trace.drafts)) {
    found[name] = numbersOf(trace.tokens, guesses, k, prices.pass, prices.guess[name]);
  }
  return found;
}

// The first of the drafts for which `value` is largest.
function first(numbers, value) {
  const names = Object.keys(numbers);
  return names.reduce((best, name) =>
    value(numbers[name]) > value(numbers[best]) ? name : best,
  );
}

export function winnerOf(numbers) {
  return first(numbers, (found) => found.speed);
}

function written(found, shown) {
  return found.passes.slice(0, shown).reduce((sum, one) => sum + one.emitted.length, 0);
}

function mostPasses(numbers) {
  return Math.max(...Object.values(numbers).map((found) => found.passes.length));
}

export function verdictOf(text, trace, prices, choice, k) {
  const numbers = allNumbers(trace, k, prices);
  const winner = winnerOf(numbers);
  const right = choice === winner;
  const sentence = fill(text[right ? "verdict_right" : "verdict_wrong"], {
    name: text[`text_${trace.name}`],
    winner: text[`name_${winner}`],
    speed: twoPlaces(numbers[winner].speed),
    tokens: twoPlaces(numbers[winner].tokens_per_pass),
    how: text[`how_${winner}`],
    choice: text[`name_${choice}`],
    choice_speed: twoPlaces(numbers[choice].speed),
    choice_how: text[`how_${choice}`],
  });
  return { right, sentence };
}

// What is to be known of a text that the target did not write; empty for its own.
export function givenSentence(text, trace) {
  if (trace.own_share === 1) return "";
  return fill(text.given, { share: Math.floor(100 * trace.own_share + 0.5) });
}

export function statusSentence(text, numbers, shown, k) {
  const total = written(Object.values(numbers)[0], Infinity);
  if (shown === 0) return fill(text.status_start, { k });
  if (shown < mostPasses(numbers)) {
    const places = Object.entries(numbers)
      .map(([name, found]) => `${text[`name_${name}`]} ${written(found, shown)}`)
      .join(", ");
    return fill(text.status_going, { n: shown, total, places });
  }
  const winner = winnerOf(numbers);
  const fewest = first(numbers, (found) => -found.passes.length);
  return fill(text.status_end, {
    winner: text[`name_${winner}`],
    speed: twoPlaces(numbers[winner].speed),
    fewest: text[`name_${fewest}`],
    passes: numbers[fewest].passes.length,
    total,
  });
}

export function laneNumbers(text, found, cost) {
  const alpha = found.alpha === null ? text.no_guess : twoPlaces(found.alpha);
  return [
    fill(text.alpha, { value: alpha }),
    fill(text.cost, { value: threePlaces(cost) }),
    fill(text.tokens, { value: twoPlaces(found.tokens_per_pass) }),
    fill(text.done, { passes: found.passes.length }),
    fill(text.speed, { value: twoPlaces(found.speed) }),
  ];
}

// The question: a winner for each text. onCommit(picks) is called when all are placed.
function makePlacing(text, traces, drafts, k, onCommit) {
  const node = make("form", "sd-question sd-placing");
  const fieldset = make("fieldset");
  const legend = make("legend");
  legend.append(make("span", "sd-eyebrow", text.predict));
  legend.append(make("span", "sd-prompt", text.question));
  fieldset.append(legend, make("p", "sd-terms", fill(text.terms, { k })));
  const rows = traces.map((trace) => makeRow(trace, drafts, text));
  fieldset.append(...rows.map((row) => row.node));
  const button = focusable(make("button", "sd-button sd-primary", text.commit));
  button.type = "submit";
  const note = make("p", "sd-verdict");
  note.setAttribute("role", "status");
  const foot = make("div", "sd-foot");
  foot.append(button, note);
  node.append(fieldset, foot);
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    const empty = rows.find((row) => !row.select.value);
    if (empty) {
      write(note, text.choose_all);
      empty.select.focus();
    } else {
      write(note, "");
      onCommit(Object.fromEntries(rows.map((row) => [row.name, row.select.value])));
    }
  });

  function show(picks, prices) {
    const open = Object.values(picks).some((pick) => !pick);
    rows.forEach((row, i) => row.show(picks[row.name], open ? null : traces[i], prices));
    button.hidden = !open;
    node.dataset.state = open ? "open" : "done";
  }

  function makeRow(trace, names, words) {
    const box = make("div", "sd-place");
    const select = makeSelect(() => {});
    select.append(new Option(words.choose, ""));
    select.append(...names.map((name) => new Option(words[`name_${name}`], name)));
    const label = make("label", "sd-field");
    const name = make("span", "sd-place-name", words[`text_${trace.name}`]);
    const begin = make("span", "sd-begin", `${trace.prompt.replaceAll("\n", " ↵ ")} …`);
    label.append(name, select);
    const reason = make("p", "sd-place-verdict");
    box.append(label, begin, reason);
    return {
      node: box,
      select,
      name: trace.name,
      show(pick, shownTrace, prices) {
        if (pick) select.value = pick;
        select.disabled = shownTrace !== null;
        reason.hidden = shownTrace === null;
        if (shownTrace === null) return;
        const { right, sentence } = verdictOf(words, shownTrace, prices, pick, k);
        box.dataset.right = String(right);
        write(reason, `${right ? "✓" : "✗"} ${sentence}`);
      },
    };
  }
  return { node, show };
}

// One draft's lane: its numbers, and the text as far as its passes have come.
function laneNode(name, found, trace, prices, shown, fastest, text) {
  const node = make("section", "sd-lane");
  node.dataset.draft = name;
  node.dataset.fastest = String(fastest);
  const head = make("div", "sd-lane-head");
  const numbers = laneNumbers(text, found, prices.guess[name]);
  head.append(make("span", "sd-lane-name", text[`name_${name}`]));
  head.append(...numbers.map((words) => make("span", "sd-number", words)));
  if (fastest) head.append(make("span", "sd-fastest", text.fastest));
  node.setAttribute(
    "aria-label",
    fill(text.lane_name, { draft: text[`name_${name}`], numbers: numbers.join(", ") }),
  );
  const line = make("div", "sd-lane-line");
  found.passes.slice(0, shown).forEach((one, i) => {
    const out = make("span", "sd-emitted");
    out.dataset.latest = String(i === shown - 1);
    const marks = marksOf(one);
    out.append(...one.emitted.map((token, j) => tokenNode(trace.pieces[token], marks[j], text)));
    line.append(out);
    if (i === shown - 1) {
      const lost = one.drafted.slice(one.accepted);
      line.append(...lost.map((token) => tokenNode(trace.pieces[token], "rejected", text)));
    }
  });
  node.append(head, line);
  return node;
}

function render({ model, el }) {
  const text = model.get("text");
  const traces = model.get("texts");
  const prices = model.get("prices");
  const root = makeRoot("sd-player sd-race", text, make("span"));
  const placing = makePlacing(
    text,
    traces,
    Object.keys(prices.guess),
    model.get("asked_k"),
    (picks) => {
      save({ picks });
      status.focus();
    },
  );
  const controls = make("div", "sd-controls");
  const chosen = makeSelect((value) => save({ shown_text: value, shown: 0 }));
  chosen.append(...traces.map((one) => new Option(text[`text_${one.name}`], one.name)));
  const length = makeRange(text.length_label, MAX_DRAFT, (k) => save({ k, shown: 0 }));
  controls.append(labelled(text.text_label, chosen), length.node);
  const steps = make("div", "sd-steps");
  const back = makeButton(text.back, () => step(-1));
  const next = makeButton(text.next, () => step(1));
  next.classList.add("sd-primary");
  const all = makeButton(text.all, () => save({ shown: mostPasses(current().numbers) }));
  const position = makeRange(text.passes, 1, (shown) => save({ shown }));
  steps.append(next, back, all, position.node);
  const start = make("p", "sd-start");
  const given = make("p", "sd-note sd-given");
  const lanes = make("div", "sd-lanes");
  const status = make("p", "sd-status");
  status.setAttribute("role", "status");
  status.tabIndex = -1;
  focusable(status);
  const note = make("p", "sd-note");
  const play = make("div", "sd-play");
  play.append(controls, steps, start, given, lanes, makeLegend(text), note);
  root.append(placing.node, play, status);

  function current() {
    const trace = traces.find((one) => one.name === model.get("shown_text"));
    return { trace, numbers: allNumbers(trace, model.get("k"), prices) };
  }

  function save(changes) {
    model.set(changes);
    model.save_changes();
  }

  function step(by) {
    const most = mostPasses(current().numbers);
    save({ shown: Math.min(most, Math.max(0, model.get("shown") + by)) });
  }

  function update() {
    const picks = model.get("picks");
    const locked = Object.values(picks).some((pick) => !pick);
    placing.show(picks, prices);
    play.hidden = locked;
    if (locked) {
      write(status, text.status_locked);
      lanes.replaceChildren();
      return;
    }
    const { trace, numbers } = current();
    const most = mostPasses(numbers);
    const shown = Math.min(model.get("shown"), most);
    chosen.value = trace.name;
    length.show(model.get("k"), MAX_DRAFT);
    position.show(shown, most);
    back.disabled = shown === 0;
    next.disabled = all.disabled = shown === most;
    write(start, `${trace.prompt} …`);
    write(given, givenSentence(text, trace));
    given.hidden = !given.textContent;
    const winner = winnerOf(numbers);
    lanes.replaceChildren(
      ...Object.entries(numbers).map(([name, found]) =>
        laneNode(name, found, trace, prices, shown, name === winner, text),
      ),
    );
    write(note, fill(text.note, { tokens: trace.tokens.length }));
    write(status, statusSentence(text, numbers, shown, model.get("k")));
  }

  update();
  el.append(root);
  const names = ["picks", "shown_text", "k", "shown"];
  names.forEach((name) => model.on(`change:${name}`, update));
  return () => names.forEach((name) => model.off(`change:${name}`, update));
}

export default { initialize, render };
