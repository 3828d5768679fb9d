const OWN = "★";
const SIGNS = { text: "", guess: "?", accepted: "✓", rejected: "✗", own: "" };
const STEPS = ["start", "draft", "verify", "accept", "roll_back", "next"];
const ROLL_BACK = STEPS.indexOf("roll_back");
const ACCEPT = STEPS.indexOf("accept");

function tokenAt(position) {
  return String.fromCharCode("A".charCodeAt(0) + position);
}

// The letters of k drafted tokens; the last is z.
function guessLetters(k) {
  return Array.from({ length: k }, (_, i) => String.fromCharCode("z".charCodeAt(0) - k + 1 + i));
}

// What text and caches hold at each step; twin of `stages` in Python.
export function stages(length, k, accepted, rollback) {
  const text = Array.from({ length: length + 1 }, (_, i) => [tokenAt(i), "text"]);
  const letters = guessLetters(k);
  const open = letters.map((letter) => [letter, "guess"]);
  const judged = letters.map((letter, i) => [letter, i < accepted ? "accepted" : "rejected"]);
  const kept = judged.slice(0, accepted);
  const own = [[OWN, "own"]];
  const drafting = (guesses) => [...text, ...guesses.slice(0, k - 1)];
  const targetEnd = [...text, ...(rollback === "target_kept" ? judged : kept)];
  const draftEnd = draftAfter(text, judged, accepted, rollback);
  const filled = k === accepted && !["last_missing", "draft_reset"].includes(rollback);
  const before = text.slice(0, -1);
  const after = [...text, ...kept, ...own];
  return [
    { text, target: before, draft: before },
    { text: [...text, ...open], target: before, draft: drafting(open) },
    { text: [...text, ...open], target: [...text, ...open], draft: drafting(open) },
    { text: after, target: [...text, ...judged], draft: drafting(judged) },
    { text: after, target: targetEnd, draft: draftEnd },
    {
      text: after,
      target: [...targetEnd, ...own],
      draft: [...draftEnd, ...(filled ? judged.slice(-1) : []), ...own],
    },
  ];
}

function draftAfter(text, judged, accepted, rollback) {
  const k = judged.length;
  const held = [...text, ...judged.slice(0, -1)];
  const rejected = k - accepted;
  const forget =
    { draft_kept: 0, draft_one_more: rejected, draft_reset: held.length }[rollback] ??
    Math.max(rejected - 1, 0);
  return held.slice(0, held.length - forget);
}

export function harm(length, k, accepted, rollback) {
  const last = stages(length, k, accepted, rollback).at(-1);
  const same = (lane) => lane.map(([t]) => t).join() === last.text.map(([t]) => t).join();
  if (!same(last.target)) return "text";
  return same(last.draft) ? "none" : "draft";
}

export function statusSentence(text, state) {
  const { length, k, accepted, rollback, step, said } = state;
  const shown = stages(length, k, accepted, rollback)[step];
  const target = shown.target.length;
  const draft = shown.draft.length;
  if (STEPS[step] === "next") return text[`harm_${harm(length, k, accepted, rollback)}`];
  const values = { ...state, newest: tokenAt(length), target, draft };
  const parts = [fill(text[`status_${STEPS[step]}`], values)];
  if (step === ROLL_BACK) {
    if (rollback === "right" && k === accepted) parts.push(text.short);
    if (said.length === 2) {
      const right = said[0] === target && said[1] === draft;
      const values = { target_said: said[0], draft_said: said[1] };
      parts.push(right ? text.said_right : fill(text.said_wrong, values));
    }
  }
  return parts.join(" ");
}

function makeCell() {
  const node = make("span", "sd-cell");
  const token = make("span", "sd-token");
  const mark = make("span", "sd-sign");
  mark.setAttribute("aria-hidden", "true");
  node.append(token, mark);
  return {
    node,
    show(entry) {
      node.dataset.mark = entry ? entry[1] : "empty";
      write(token, entry ? entry[0] : "");
      write(mark, entry ? SIGNS[entry[1]] : "");
    },
  };
}

// A lane: its name, how much it holds, and a cell for each position.
function makeLane(name, places, text) {
  const node = make("div", `sd-row sd-row-${name}`);
  const head = make("div", "sd-row-head");
  const count = make("span", "sd-count");
  head.append(make("span", "sd-row-name", text[`lane_${name}`]), count);
  const cells = Array.from({ length: places }, makeCell);
  const track = make("div", "sd-track");
  track.setAttribute("role", "img");
  track.append(...cells.map((cell) => cell.node));
  node.append(head, track);
  return {
    node,
    show(entries) {
      cells.forEach((cell, place) => cell.show(entries[place]));
      const n = entries.length;
      const words = fill(name === "text" ? text.tokens : text.holds, { n });
      write(count, words);
      const spoken = entries.map(([token, mark]) => `${token} ${text[`mark_${mark}`]}`.trim());
      track.setAttribute("aria-label", `${text[`lane_${name}`]}, ${words}: ${spoken.join(", ")}`);
    },
  };
}

function makeSelect(label, options, onChange) {
  const node = make("label", "sd-field");
  const select = focusable(make("select"));
  select.append(...options.map(([value, words]) => new Option(words, value)));
  select.addEventListener("change", () => onChange(select.value));
  node.append(make("span", "", label), select);
  return { node, select };
}

function numbers(last) {
  return Array.from({ length: last + 1 }, (_, n) => [String(n), String(n)]);
}

function render({ model, el }) {
  const text = model.get("text");
  const question = model.get("question");
  const isAsked = Boolean(question && question.choices);
  const length = model.get("length");
  const k = model.get("k");
  const places = length + k + 2;

  const go = focusable(make("button", "sd-button sd-primary"));
  go.type = "button";
  const root = makeRoot("sd-caches", text, go);
  root.style.setProperty("--sd-places", String(places));
  const scale = make("div", "sd-track sd-scale");
  scale.setAttribute("aria-hidden", "true");
  scale.append(...Array.from({ length: places }, (_, place) => make("span", "", String(place))));
  const lanes = ["text", "target", "draft"].map((name) => [name, makeLane(name, places, text)]);
  const status = make("p", "sd-status");
  status.setAttribute("role", "status");

  const setting = make("div", "sd-controls");
  const saying = make("div", "sd-controls");
  const accepted = makeSelect(text.accepted_label, numbers(k), (value) =>
    change({ accepted: Number(value) }),
  );
  const rollback = makeSelect(
    text.rollback_label,
    model.get("rollbacks").map((name) => [name, text[`rollback_${name}`]]),
    (value) => change({ rollback: value }),
  );
  const lengths = [["", text.unsaid], ...numbers(length + k + 1)];
  const targetSays = makeSelect(text.target_says, lengths, say);
  const draftSays = makeSelect(text.draft_says, lengths, say);
  setting.append(accepted.node, rollback.node);
  saying.append(targetSays.node, draftSays.node);
  root.append(setting, saying, scale, ...lanes.map(([, lane]) => lane.node), status);
  const asked = isAsked ? makeQuestion(question, text, text.predict, commit) : null;
  if (asked) {
    write(asked.button, text.commit);
    root.append(asked.node);
  }

  function isLocked() {
    return isAsked && !model.get("prediction");
  }

  function state() {
    const names = ["length", "k", "accepted", "rollback", "step", "said"];
    return Object.fromEntries(names.map((name) => [name, model.get(name)]));
  }

  function save(values) {
    model.set(values);
    model.save_changes();
  }

  // Another round: a rollback that was shown already is taken back.
  function change(values) {
    targetSays.select.value = draftSays.select.value = "";
    save({ ...values, said: [], step: Math.min(model.get("step"), ACCEPT) });
  }

  function said() {
    const values = [targetSays.select.value, draftSays.select.value];
    return values.includes("") ? [] : values.map(Number);
  }

  function say() {
    if (model.get("step") === ROLL_BACK) save({ said: said() });
    else showStatus();
  }

  function advance() {
    const step = model.get("step");
    if (step === ACCEPT && said().length === 0) {
      write(status, text.say_first);
      (targetSays.select.value === "" ? targetSays : draftSays).select.focus();
      return;
    }
    if (step + 1 === STEPS.length) {
      targetSays.select.value = draftSays.select.value = "";
      save({ step: 0, said: [] });
    } else save({ step: step + 1, said: step === ACCEPT ? said() : model.get("said") });
  }
  go.addEventListener("click", advance);

  function commit(index) {
    save({ prediction: question.choices[index].text, step: ROLL_BACK });
    status.focus();
  }

  function showStatus() {
    write(status, isLocked() ? text.status_locked : statusSentence(text, state()));
  }

  function update() {
    const { accepted: right, rollback: kind, step } = state();
    const locked = isLocked();
    const shown = stages(length, k, right, kind)[step];
    lanes.forEach(([name, lane]) => lane.show(shown[name]));
    accepted.select.value = String(right);
    rollback.select.value = kind;
    write(go, text[`go_${STEPS[step]}`]);
    for (const part of [accepted.select, rollback.select, targetSays.select, draftSays.select, go])
      part.disabled = locked;
    root.dataset.locked = String(locked);
    root.dataset.harm = STEPS[step] === "next" ? harm(length, k, right, kind) : "";
    showStatus();
    if (asked) showQuestion();
  }

  function showQuestion() {
    const prediction = model.get("prediction");
    const chosen = question.choices.findIndex((choice) => choice.text === prediction);
    const wanted = chosen < 0 ? "open" : "done";
    if (asked.node.dataset.state !== wanted) asked.show(chosen);
    asked.button.hidden = chosen >= 0;
  }

  focusable(status).tabIndex = -1;
  const before = model.get("said");
  if (before.length === 2) {
    targetSays.select.value = String(before[0]);
    draftSays.select.value = String(before[1]);
  }
  update();
  el.append(root);
  const names = ["accepted", "rollback", "step", "said", "prediction"];
  names.forEach((name) => model.on(`change:${name}`, update));
  return () => names.forEach((name) => model.off(`change:${name}`, update));
}

export default { initialize, render };
