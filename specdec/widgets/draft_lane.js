const MARKS = { accepted: "✓", corrected: "✎", discarded: "✗", bonus: "+" };
const MAX_DRAFT = 8;

// The rule, twin of verify_greedy: what becomes of each place, and what comes out of the round.
export function verify(draft, picks) {
  let accepted = 0;
  while (accepted < draft.length && draft[accepted] === picks[accepted]) accepted += 1;
  const last = accepted === draft.length ? "bonus" : "corrected";
  const marks = picks.map((_, place) =>
    place < accepted ? "accepted" : place === accepted ? last : "discarded",
  );
  return { accepted, marks, emitted: picks.slice(0, accepted + 1) };
}

export function statusSentence(text, draft, picks) {
  const { accepted, emitted } = verify(draft, picks);
  let kind = "status_rejected";
  if (accepted === draft.length) kind = draft.length ? "status_full" : "status_plain";
  return fill(text[kind], {
    accepted,
    emitted: emitted.length,
    tokens: emitted.join(" "),
    place: accepted + 1,
    wanted: emitted[accepted],
    guess: draft[accepted] ?? "",
  });
}

export function askedAfter(text, draft, picks) {
  const { emitted, marks } = verify(draft, picks);
  if (!marks.includes("discarded")) return "";
  return fill(text.asked_after, { tokens: draft.slice(0, emitted.length).join(" ") });
}

// A draft of another length. Places that were there before come back from memory; a new guess
// is the target's own answer at that place, and the new last answer is the next token.
export function resize(round, memory, k, tokens) {
  const draft = round.draft.slice(0, k);
  const picks = round.picks.slice(0, k + 1);
  while (draft.length < k) {
    const place = draft.length;
    const next = tokens[(tokens.indexOf(picks[place]) + 1) % tokens.length];
    draft.push(memory.draft[place] ?? picks[place]);
    picks.push(memory.picks[place + 1] ?? next);
  }
  return { draft, picks };
}

function makeSelect(tokens, label, onChange) {
  const box = make("span", "sd-tile sd-select");
  const select = focusable(make("select"));
  select.setAttribute("aria-label", label);
  select.append(...tokens.map((token, index) => new Option(String(token), String(index))));
  select.addEventListener("change", () => onChange(tokens[Number(select.value)]));
  box.append(select);
  return {
    node: box,
    show(token, locked) {
      select.value = String(tokens.indexOf(token));
      select.disabled = locked;
    },
  };
}

function makeTile() {
  const node = make("span", "sd-tile");
  return { node, show: (token) => write(node, String(token)) };
}

// One place of the lane: the guess, the comparison, the answer, the verdict, what comes out.
function makePlace(place, k, editDraft, tokens, text, onDraft, onPick) {
  const node = make("div", "sd-place");
  const isBonus = place === k;
  const number = { n: place + 1 };
  node.style.setProperty("--sd-place", String(place));
  node.setAttribute("role", "group");
  node.setAttribute("aria-label", fill(isBonus ? text.bonus_group : text.place_group, number));
  const head = make("span", "sd-head", isBonus ? text.bonus_place : String(place + 1));
  let guess = null;
  if (!isBonus && editDraft) guess = makeSelect(tokens, fill(text.draft_label, number), onDraft);
  else if (!isBonus) guess = makeTile();
  const guessCell = make("span", "sd-guess");
  guessCell.append(guess ? guess.node : make("span", "sd-none", text.no_guess));
  const sign = make("span", "sd-sign");
  sign.setAttribute("aria-hidden", "true");
  const pick = makeSelect(tokens, fill(text.pick_label, number), onPick);
  const pickCell = make("span", "sd-pick");
  pickCell.append(pick.node);
  const verdict = make("span", "sd-mark");
  const glyph = make("span", "sd-glyph");
  glyph.setAttribute("aria-hidden", "true");
  const word = make("span", "sd-word");
  verdict.append(glyph, word);
  const out = make("span", "sd-out");
  const outTile = make("span", "sd-tile");
  out.append(outTile);
  node.append(head, guessCell, sign, pickCell, verdict, out);

  function show(draft, picks, mark) {
    const locked = mark === "hidden";
    node.dataset.mark = mark;
    if (guess) guess.show(draft[place], locked);
    pick.show(picks[place], locked);
    write(sign, { accepted: "=", corrected: "≠" }[mark] ?? "");
    write(glyph, locked ? "?" : MARKS[mark]);
    write(word, locked ? text.hidden : text[mark]);
    outTile.hidden = mark === "discarded";
    write(outTile, locked ? "?" : String(picks[place]));
  }
  return { node, show };
}

function makeLabels(text) {
  const node = make("div", "sd-labels");
  const notes = {};
  node.append(make("span", "sd-head", text.place));
  for (const row of ["draft", "sign", "target", "verdict", "out"]) {
    const label = make("span", `sd-label sd-label-${row}`);
    if (row !== "sign") {
      notes[row] = make("span", "sd-note");
      label.append(make("span", "", text[row]), notes[row]);
    }
    node.append(label);
  }
  return { node, notes };
}

function makeLength(text, onChange) {
  const node = make("label", "sd-length");
  const range = focusable(make("input"));
  range.type = "range";
  range.min = "0";
  range.max = String(MAX_DRAFT);
  const value = make("span", "sd-k");
  const words = make("span", "", `${text.length_label} = `);
  words.append(value);
  node.append(words, range);
  range.addEventListener("input", () => onChange(Number(range.value)));
  return {
    node,
    show(k, locked) {
      range.value = String(k);
      range.disabled = locked;
      write(value, String(k));
    },
  };
}

function render({ model, el }) {
  const text = model.get("text");
  const tokens = model.get("tokens");
  const question = model.get("question");
  const editDraft = model.get("edit_draft");
  const isAsked = Boolean(question && question.choices);
  const longest = Math.max(...tokens.map((token) => String(token).length));
  const placeWidth = Math.max(66, 46 + 9 * longest);
  const memory = { draft: [], picks: [] };
  let places = [];

  const reset = focusable(make("button", "sd-button", text.reset));
  reset.type = "button";
  const root = makeRoot("sd-lane", text, reset);
  root.dataset.tokens = longest > 2 ? "words" : "numbers";
  root.style.setProperty("--sd-place-width", `${placeWidth - 8}px`);
  const length = editDraft ? makeLength(text, changeLength) : null;
  const grid = make("div", "sd-grid");
  const labels = makeLabels(text);
  const band = make("span", "sd-band");
  const bracket = make("span", "sd-bracket");
  const caption = make("p", "sd-caption");
  const status = make("p", "sd-status");
  status.setAttribute("role", "status");
  if (length) root.append(length.node);
  root.append(grid, status);
  const asked = isAsked ? makeQuestion(question, text, text.predict, commit) : null;
  if (asked) {
    write(asked.button, text.commit);
    root.append(asked.node);
  }
  reset.addEventListener("click", () => {
    memory.draft = [];
    memory.picks = [];
    save(model.get("start"));
  });

  function isLocked() {
    return isAsked && !model.get("prediction");
  }

  function save({ draft, picks }) {
    const { accepted, emitted } = verify(draft, picks);
    model.set({ draft, picks, accepted, emitted });
    model.save_changes();
  }

  function changeToken(name, place, token) {
    const round = { draft: model.get("draft"), picks: model.get("picks") };
    round[name] = round[name].with(place, token);
    save(round);
  }

  function changeLength(k) {
    const round = { draft: model.get("draft"), picks: model.get("picks") };
    save(resize(round, memory, k, tokens));
  }

  function commit(index) {
    model.set("prediction", question.choices[index].text);
    save({ draft: model.get("draft"), picks: model.get("picks") });
    status.focus();
  }

  function rebuild(k) {
    places = Array.from({ length: k + 1 }, (_, place) =>
      makePlace(
        place,
        k,
        editDraft,
        tokens,
        text,
        (token) => changeToken("draft", place, token),
        (token) => changeToken("picks", place, token),
      ),
    );
    grid.style.setProperty("--sd-places", String(k + 1));
    grid.replaceChildren(band, labels.node, ...places.map((item) => item.node), bracket, caption);
    write(labels.notes.draft, counted(text, "guesses", k));
    write(labels.notes.target, counted(text, "answers", k + 1));
    arrange();
  }

  // A column a place where there is room for it, else a row a place.
  function arrange() {
    const needed = 200 + placeWidth * places.length;
    root.dataset.layout = root.clientWidth < needed ? "rows" : "columns";
  }

  function update() {
    const draft = model.get("draft");
    const picks = model.get("picks");
    if (picks.length !== draft.length + 1) return; // half of a change; the other half follows
    const locked = isLocked();
    Object.assign(memory.draft, draft);
    Object.assign(memory.picks, picks);
    if (places.length !== picks.length) rebuild(draft.length);
    const { marks, emitted } = verify(draft, picks);
    places.forEach((place, i) => place.show(draft, picks, locked ? "hidden" : marks[i]));
    const dead = locked ? 0 : picks.length - emitted.length;
    grid.style.setProperty("--sd-dead", String(dead));
    bracket.hidden = dead === 0;
    write(caption, locked ? "" : askedAfter(text, draft, picks));
    write(labels.notes.out, locked ? text.hidden : counted(text, "came_out", emitted.length));
    write(status, locked ? text.status_locked : statusSentence(text, draft, picks));
    root.dataset.locked = String(locked);
    reset.disabled = locked;
    if (length) length.show(draft.length, locked);
    if (asked) showQuestion();
  }

  function showQuestion() {
    const prediction = model.get("prediction");
    const chosen = question.choices.findIndex((choice) => choice.text === prediction);
    const state = chosen < 0 ? "open" : "done";
    if (asked.node.dataset.state !== state) asked.show(chosen);
    asked.button.hidden = chosen >= 0;
  }

  focusable(status).tabIndex = -1;
  update();
  el.append(root);
  const sizes = new ResizeObserver(arrange);
  sizes.observe(root);
  const names = ["draft", "picks", "prediction"];
  names.forEach((name) => model.on(`change:${name}`, update));
  return () => {
    sizes.disconnect();
    names.forEach((name) => model.off(`change:${name}`, update));
  };
}

export default { initialize, render };
