"""Still twins of lesson 2's widgets, for print and for viewers that run no script."""

import textwrap

from specdec.widgets.logits_grid import MARKS as GRID_MARKS
from specdec.widgets.logits_grid import judge
from specdec.widgets.pass_player import compare_sentence, marks_of
from specdec.widgets.question import letter, plain
from specdec.widgets.still import CARD, COLORS, INK, LINE, MUTED, WRAP_AT, _box, _tint
from specdec.widgets.still import question_lines as lines_of_question

MARKS = {"accepted": "✓", "corrected": "✎", "bonus": "+", "plain": "·", "rejected": "✗"}
WIDTH, ROW, SIDE = 10.4, 0.42, 0.3
FULL = WIDTH - 2 * SIDE  # what the passes may take
LETTER = 0.088  # width of a letter in the monospaced font
NUMBER = 0.45  # where the tokens of a pass begin, after its number


def card(rows: float, title: str):
    """Return (figure, axes) of a light card with room for so many rows below its title."""
    from matplotlib.figure import Figure

    height = rows * ROW + 0.9
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-SIDE, WIDTH - SIDE), ylim=(height - 0.55, -0.55))
    axes.axis("off")
    figure.patch.set_alpha(0)
    center = (WIDTH / 2 - SIDE, height / 2 - 0.55)
    _box(axes, center, WIDTH - 0.08, height - 0.08, facecolor=CARD, edgecolor=LINE, rounding=0.18)
    axes.text(0, -0.2, title, fontsize=13, weight="bold", color=INK, va="center")
    return figure, axes


def token_label(piece: str, mark: str) -> str:
    return f"{piece.strip() or '␣'} {MARKS[mark]}".replace("\n", "↵")


def token_width(label: str) -> float:
    return LETTER * len(label) + 0.14


def token(axes, x: float, y: float, piece: str, mark: str) -> float:
    """Draw a token with its mark from x on; return where it ends."""
    label = token_label(piece, mark)
    width = token_width(label)
    rejected = mark == "rejected"
    style = {"edgecolor": COLORS.get(mark, MUTED), "facecolor": CARD, "linewidth": 1.3}
    if rejected:
        style |= {"linestyle": (0, (3, 2)), "linewidth": 1}
    elif mark in COLORS:
        style["facecolor"] = _tint(COLORS[mark])
    _box(axes, (x + width / 2, y), width, 0.31, rounding=0.14 if mark == "bonus" else 0.06, **style)
    label = label.replace("$", r"\$")
    axes.text(x + width / 2, y, label, family="monospace", fontsize=8.5, ha="center", va="center",
              color=MUTED if rejected else INK)  # fmt: skip
    return x + width + 0.06


def pass_width(one: dict, pieces: list[str]) -> float:
    """How much room the emitted tokens of a pass take, its number included."""
    labels = [token_label(pieces[p], m) for p, m in zip(one["emitted"], marks_of(one), strict=True)]
    return NUMBER + sum(token_width(label) + 0.06 for label in labels)


def draw_pass(axes, left: float, y: float, room: float, number: int, one: dict, pieces: list):
    """Draw one pass: its number, what it emits, and of what is thrown away as much as fits."""
    axes.text(left + 0.25, y, str(number), fontsize=9, color=MUTED, ha="right", va="center")
    x = left + NUMBER
    for place, mark in zip(one["emitted"], marks_of(one), strict=True):
        x = token(axes, x, y, pieces[place], mark)
    x += 0.2
    for place in one["drafted"][one["accepted"] :]:
        if x + token_width(token_label(pieces[place], "rejected")) > left + room:
            break
        x = token(axes, x, y, pieces[place], "rejected")


def draw_player(player):
    """Draw every pass of the chosen text in a row of its own, in two columns where they fit."""
    trace, passes = player.traces[player.prompt], player.passes
    widest = max(pass_width(one, trace["pieces"]) for one in passes)
    columns = 2 if widest <= FULL / 2 and len(passes) > 1 else 1
    rows, room = -(-len(passes) // columns), FULL / columns
    figure, axes = card(rows + 3.4, player.text["title"])
    axes.text(0, 0.25, f"{trace['prompt']} …", fontsize=10, style="italic", color=INK, va="center")
    for number, one in enumerate(passes):
        left, y = number // rows * room, 0.25 + (number % rows + 1) * ROW
        draw_pass(axes, left, y, room, number + 1, one, trace["pieces"])
    y = 0.25 + (rows + 1) * ROW
    legend = [f"{sign} {player.text[mark]}" for mark, sign in MARKS.items()]
    axes.text(0, y, "     ".join(legend), fontsize=9, color=MUTED, va="center")
    axes.text(0, y + ROW, f"k = {player.k}.  {player.ledger}", fontsize=10, color=INK, va="center")
    axes.text(0, y + 1.8 * ROW, compare_sentence(player.text, passes), fontsize=10, color=INK,
              va="center")  # fmt: skip
    return figure


def player_alt(player) -> str:
    """The alternative text: how the text begins, its ledger, and its first two passes."""
    trace, passes = player.traces[player.prompt], player.passes
    first = []
    for number, one in enumerate(passes[:2], 1):
        written = "".join(trace["pieces"][place] for place in one["emitted"])
        last = player.text[marks_of(one)[-1]]
        first.append(
            f"Pass {number} writes “{written}”: {one['accepted']} accepted, then one {last}."
        )
    return " ".join(
        [
            f"{player.text['title']}. The text begins with “{trace['prompt']}”, k = {player.k}.",
            *first,
            f"{player.ledger}.",
            compare_sentence(player.text, passes),
        ]
    )


def draw_grid(grid):
    """Draw the grid as it stands, with the question below; a locked one hides its answers."""
    words = [*grid.words, *grid.draft]
    said, marks, roles = shown_rows(grid)
    notes = textwrap.wrap(grid.describe(), WRAP_AT + 10)
    for line in question_shown(grid):
        notes += textwrap.wrap(line, WRAP_AT + 10, subsequent_indent="      ")
    figure, axes = card(len(words) + 1.6 + 0.62 * len(notes), grid.text["title"])
    columns = {"row": 0.1, "reads": 0.8, "sees": 2.3, "answer": 5.6, "role": 7.1}
    for name, x in columns.items():
        axes.text(x, 0.2, grid.text[name], fontsize=9, color=MUTED, weight="bold", va="center")
    for row, word in enumerate(words):
        y = 0.2 + (row + 1) * ROW
        mark = marks[row]
        axes.text(columns["row"], y, str(row), fontsize=10, color=MUTED, va="center")
        drafted = f" ({grid.text['drafted']})" if row >= len(grid.words) else ""
        axes.text(columns["reads"], y, word + drafted, fontsize=10, color=INK, va="center")
        for column in range(len(words)):
            seen = column <= row or not grid.masked
            style = {"facecolor": _tint(COLORS["bonus"]) if seen else CARD,
                     "edgecolor": COLORS["bonus"] if seen else LINE}  # fmt: skip
            _box(axes, (columns["sees"] + 0.12 + 0.32 * column, y), 0.24, 0.24, 0.04, **style)
        if mark in COLORS:
            _box(axes, (columns["answer"] + 0.3, y), 0.8, 0.32, facecolor=_tint(COLORS[mark]),
                 edgecolor=COLORS[mark])  # fmt: skip
        axes.text(columns["answer"] + 0.3, y, said[row], fontsize=10, ha="center",
                  color=MUTED if mark == "unused" else INK, va="center")  # fmt: skip
        role = f"{GRID_MARKS[mark]} {roles[row]}".strip()
        axes.text(columns["role"], y, role, fontsize=9, va="center",
                  color=MUTED if mark == "unused" else INK)  # fmt: skip
    for number, line in enumerate(notes):
        y = 0.2 + (len(words) + 1.4 + 0.62 * number) * ROW
        axes.text(0.1, y, line, fontsize=9.5, color=INK, va="center")
    return figure


def shown_rows(grid) -> tuple[list[str], list[str], list[str]]:
    """What each row says, its mark, and what it is for; hidden while the grid is locked."""
    words = [*grid.words, *grid.draft]
    if grid.locked:
        hidden = [grid.text["hidden"]] * len(words)
        return hidden, ["unused"] * len(words), hidden
    result = judge(grid.words, grid.draft, grid.masked)
    roles = [
        grid.text[mark].format(guess=guess)
        for mark, guess in zip(result["marks"], [*words[1:], ""], strict=True)
    ]
    return result["answers"], result["marks"], roles


def question_shown(grid) -> list[str]:
    """The question and its choices; which is right, and why, only when one was chosen."""
    if not grid.locked:
        return lines_of_question(grid)
    choices = [
        f"{letter(index)}. {plain(choice['text'])}"
        for index, choice in enumerate(grid.question["choices"])
    ]
    return [plain(grid.question["prompt"]), *choices]


def grid_alt(grid) -> str:
    """The alternative text: every row, then the sentence and the question."""
    words = [*grid.words, *grid.draft]
    parts = [f"{grid.text['title']}."]
    for row, (word, answer, _mark, role) in enumerate(zip(words, *shown_rows(grid), strict=True)):
        last = row if grid.masked else len(words) - 1
        parts.append(f"Row {row} reads {word}, sees 0 to {last}, says {answer}: {role}.")
    return " ".join([*parts, grid.describe(), *question_shown(grid)])
