// Texts in passes: the rule and the tokens, shared by the pass player and the draft race.

const MARKS = { accepted: "✓", corrected: "✎", bonus: "+", plain: "·", rejected: "✗" };
const MAX_DRAFT = 8;

// The rule, twin of passes_of: the rounds with k drafted tokens, from the text and the guesses
// that the draft has at every place of it.
export function passesOf(tokens, guesses, k) {
  const passes = [];
  let place = 0;
  while (place < tokens.length) {
    const drafted = guesses[place].slice(0, Math.min(k, tokens.length - place - 1));
    let accepted = 0;
    while (accepted < drafted.length && drafted[accepted] === tokens[place + accepted]) {
      accepted += 1;
    }
    passes.push({ drafted, accepted, emitted: tokens.slice(place, place + accepted + 1) });
    place += accepted + 1;
  }
  return passes;
}

export function marksOf({ drafted, accepted }) {
  let last = accepted === drafted.length ? "bonus" : "corrected";
  if (drafted.length === 0) last = "plain";
  return [...Array(accepted).fill("accepted"), last];
}

export function ledgerLine(passes) {
  const sum = (count) => passes.reduce((total, one) => total + count(one), 0);
  return (
    `rounds ${passes.length} · drafted ${sum((one) => one.drafted.length)} · ` +
    `accepted ${sum((one) => one.accepted)} · emitted ${sum((one) => one.emitted.length)}`
  );
}

function labelled(words, control) {
  const node = make("label", "sd-field");
  node.append(make("span", "sd-field-name", words), control);
  return node;
}

function makeSelect(onChange) {
  const select = focusable(make("select", "sd-choose"));
  select.addEventListener("change", () => onChange(select.value));
  return select;
}

function makeRange(words, max, onChange) {
  const range = focusable(make("input"));
  range.type = "range";
  range.min = "0";
  range.max = String(max);
  const value = make("span", "sd-k");
  const name = make("span", "sd-field-name", `${words} = `);
  name.append(value);
  const node = make("label", "sd-field");
  node.append(name, range);
  range.addEventListener("input", () => onChange(Number(range.value)));
  return {
    node,
    show(number, most) {
      range.max = String(most);
      range.value = String(number);
      write(value, String(number));
    },
  };
}

function makeButton(words, onClick) {
  const button = focusable(make("button", "sd-button", words));
  button.type = "button";
  button.addEventListener("click", onClick);
  return button;
}

// A token: its text, with a mark that says the same as its colour.
function tokenNode(piece, mark, text) {
  const node = make("span", "sd-token");
  node.dataset.mark = mark;
  node.dataset.newWord = String(piece.startsWith(" "));
  const glyph = make("span", "sd-glyph", MARKS[mark]);
  glyph.setAttribute("aria-hidden", "true");
  node.append(make("span", "sd-piece", piece.replaceAll("\n", "↵").trim() || "␣"), glyph);
  node.append(make("span", "sd-spoken", ` (${text[mark]}) `));
  return node;
}

function makeLegend(text) {
  const node = make("p", "sd-legend");
  for (const mark of ["accepted", "corrected", "bonus", "plain", "rejected"]) {
    const item = make("span", "sd-token");
    item.dataset.mark = mark;
    const glyph = make("span", "sd-glyph", MARKS[mark]);
    item.append(make("span", "sd-piece", text[mark]), glyph);
    node.append(item);
  }
  return node;
}
