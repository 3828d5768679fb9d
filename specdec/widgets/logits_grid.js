const MARKS = { unused: "", accepted: "✓", corrected: "✎", discarded: "✗", bonus: "+" };

// The cat's target, twin of look_back_target: the next word from the words that a row sees.
export function lookBack(words, nextWord) {
  const last = words.at(-1);
  if (last !== "the") return nextWord[last] ?? "the";
  const before = words.at(-2) ?? "";
  if (before === "and") return "dog";
  if (before === "on") return words.slice(-5, -1).includes("dog") ? "rug" : "mat";
  return "cat";
}

export function rowAnswers(words, masked, nextWord) {
  return words.map((_, row) => lookBack(masked ? words.slice(0, row + 1) : words, nextWord));
}

export function judge(words, draft, masked, nextWord) {
  const answers = rowAnswers([...words, ...draft], masked, nextWord);
  const judging = answers.slice(words.length - 1);
  let accepted = 0;
  while (accepted < draft.length && draft[accepted] === judging[accepted]) accepted += 1;
  const marks = [
    ...Array(words.length - 1).fill("unused"),
    ...Array(accepted).fill("accepted"),
    accepted === draft.length ? "bonus" : "corrected",
    ...Array(draft.length - accepted).fill("discarded"),
  ];
  return { answers, marks, accepted, emitted: judging.slice(0, accepted + 1) };
}

export function movedRows(words, draft, masked, startDraft, nextWord) {
  const now = judge(words, draft, masked, nextWord).answers;
  const then = judge(words, startDraft, true, nextWord).answers;
  return now.flatMap((word, row) => (word === then[row] ? [] : [row]));
}

export function statusSentence(text, words, draft, masked, startDraft, nextWord) {
  if (!masked) return fill(text.status_unmasked, { count: words.length + draft.length });
  const { accepted, emitted } = judge(words, draft, masked, nextWord);
  const first = words.length - 1;
  const rows = Array.from({ length: draft.length + 1 }, (_, i) => first + i).join(", ");
  const sentence = fill(text.status_masked, {
    rows,
    accepted,
    emitted: emitted.length,
    words: emitted.join(" "),
  });
  const moved = movedRows(words, draft, masked, startDraft, nextWord);
  if (moved.length === 0) return `${sentence} ${text.status_same}`;
  if (moved.length === 1) return `${sentence} ${fill(text.status_moved_one, { rows: moved[0] })}`;
  return `${sentence} ${fill(text.status_moved, { rows: `rows ${moved.join(", ")}` })}`;
}

// One row of the table: its number, the word that it reads, what it sees, what it says, and why.
function makeRow(row, count, options, text, onWord) {
  const node = make("tr", "sd-row");
  const head = make("th", "", String(row));
  head.scope = "row";
  const reads = make("td", "sd-reads");
  let select = null;
  if (onWord) {
    select = focusable(make("select", "sd-choose"));
    select.setAttribute("aria-label", fill(text.draft_label, { row }));
    select.append(...options.map((word) => new Option(word, word)));
    select.addEventListener("change", () => onWord(select.value));
    reads.append(select);
    node.dataset.drafted = "true";
  } else reads.append(make("span", "sd-word"));
  const sees = make("td", "sd-sees");
  const squares = make("span", "sd-squares");
  squares.setAttribute("aria-hidden", "true");
  const cells = Array.from({ length: count }, () => make("span", "sd-square"));
  squares.append(...cells);
  const range = make("span", "sd-range");
  sees.append(squares, range);
  const answer = make("td", "sd-answer");
  const said = make("span", "sd-said");
  const was = make("span", "sd-was");
  answer.append(said, was);
  const role = make("td", "sd-role");
  const glyph = make("span", "sd-glyph");
  glyph.setAttribute("aria-hidden", "true");
  const words = make("span", "sd-role-words");
  role.append(glyph, words);
  node.append(head, reads, sees, answer, role);

  function show({ word, last, said: says, before, mark, guess, locked }) {
    node.dataset.mark = locked ? "hidden" : mark;
    if (select) {
      select.value = word;
      select.disabled = locked;
    } else write(reads.firstChild, word);
    cells.forEach((cell, column) => (cell.dataset.seen = String(column <= last)));
    write(range, last === 0 ? text.sees_itself : fill(text.sees_rows, { last }));
    write(said, locked ? text.hidden : says);
    const moved = !locked && before !== says;
    was.hidden = !moved;
    write(was, moved ? fill(text.was, { word: before }) : "");
    write(glyph, locked ? "" : MARKS[mark]);
    write(words, locked ? text.hidden : fill(text[mark], { guess }));
  }
  return { node, show };
}

function makeTable(text) {
  const table = make("table", "sd-table");
  table.append(make("caption", "sd-caption", text.caption));
  const head = make("thead");
  const line = make("tr");
  for (const name of ["row", "reads", "sees", "answer", "role"]) {
    const cell = make("th", "", text[name]);
    cell.scope = "col";
    line.append(cell);
  }
  head.append(line);
  const body = make("tbody");
  table.append(head, body);
  return { table, body };
}

function makeSwitch(text, onChange) {
  const box = focusable(make("input"));
  box.type = "checkbox";
  const node = make("label", "sd-switch");
  node.append(box, make("span", "", text.mask));
  box.addEventListener("change", () => onChange(box.checked));
  return {
    node,
    show(on, locked) {
      box.checked = on;
      box.disabled = locked;
    },
  };
}

function render({ model, el }) {
  const text = model.get("text");
  const words = model.get("words");
  const start = model.get("start_draft");
  const nextWord = model.get("next_word");
  const question = model.get("question");
  const isAsked = Boolean(question && question.choices);
  const count = words.length + start.length;

  const reset = focusable(make("button", "sd-button", text.reset));
  reset.type = "button";
  reset.addEventListener("click", () => save(start, true));
  const root = makeRoot("sd-logits", text, reset);
  const { table, body } = makeTable(text);
  const rows = Array.from({ length: count }, (_, row) => {
    const place = row - words.length;
    const edit = place < 0 ? null : (word) => save(model.get("draft").with(place, word));
    return makeRow(row, count, model.get("vocabulary"), text, edit);
  });
  body.append(...rows.map((row) => row.node));
  const mask = makeSwitch(text, (on) => save(model.get("draft"), on));
  const status = focusable(make("p", "sd-status"));
  status.setAttribute("role", "status");
  status.tabIndex = -1;
  root.append(table, mask.node, status);
  const asked = isAsked ? makeQuestion(question, text, text.predict, commit) : null;
  if (asked) {
    write(asked.button, text.commit);
    root.append(asked.node);
  }

  function isLocked() {
    return isAsked && !model.get("prediction");
  }

  function save(draft, masked = model.get("masked")) {
    const { accepted, emitted } = judge(words, draft, masked, nextWord);
    model.set({ draft, masked, accepted, emitted });
    model.save_changes();
  }

  function commit(index) {
    model.set("prediction", question.choices[index].text);
    save(model.get("draft"));
    status.focus();
  }

  function update() {
    const draft = model.get("draft");
    const masked = model.get("masked");
    const locked = isLocked();
    const { answers, marks } = judge(words, draft, masked, nextWord);
    const before = judge(words, start, true, nextWord).answers;
    const all = [...words, ...draft];
    rows.forEach((row, i) =>
      row.show({
        word: all[i],
        last: masked ? i : count - 1,
        said: answers[i],
        before: before[i],
        mark: marks[i],
        guess: all[i + 1] ?? "",
        locked,
      }),
    );
    mask.show(masked, locked);
    reset.disabled = locked;
    root.dataset.locked = String(locked);
    const sentence = statusSentence(text, words, draft, masked, start, nextWord);
    write(status, locked ? text.status_locked : sentence);
    if (asked) showQuestion();
  }

  function showQuestion() {
    const prediction = model.get("prediction");
    const chosen = question.choices.findIndex((choice) => choice.text === prediction);
    const state = chosen < 0 ? "open" : "done";
    if (asked.node.dataset.state !== state) asked.show(chosen);
    asked.button.hidden = chosen >= 0;
  }

  update();
  el.append(root);
  const names = ["draft", "masked", "prediction"];
  names.forEach((name) => model.on(`change:${name}`, update));
  return () => names.forEach((name) => model.off(`change:${name}`, update));
}

export default { initialize, render };
