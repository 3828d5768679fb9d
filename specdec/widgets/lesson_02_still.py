"""Still twins of lesson 2's widgets, for print and for viewers that run no script."""

import textwrap

from specdec.widgets.logits_grid import MARKS as GRID_MARKS
from specdec.widgets.logits_grid import judge
from specdec.widgets.pass_player import compare_sentence, marks_of
from specdec.widgets.still import CARD, COLORS, INK, LINE, MUTED, WRAP_AT, _box, _tint
from specdec.widgets.still import question_lines as lines_of_question

MARKS = {"accepted": "✓", "corrected": "✎", "bonus": "+", "plain": "·", "rejected": "✗"}
WIDTH, ROW, SIDE = 10.4, 0.42, 0.3
LETTER = 0.088  # width of a letter in the monospaced font


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


def token(axes, x: float, y: float, piece: str, mark: str) -> float:
    """Draw a token with its mark from x on; return where it ends."""
    label = f"{piece.strip() or '␣'} {MARKS[mark]}".replace("\n", "↵").replace("$", r"\$")
    width = LETTER * len(label) + 0.14
    rejected = mark == "rejected"
    style = {"edgecolor": COLORS.get(mark, MUTED), "facecolor": CARD, "linewidth": 1.3}
    if rejected:
        style |= {"linestyle": (0, (3, 2)), "linewidth": 1}
    elif mark in COLORS:
        style["facecolor"] = _tint(COLORS[mark])
    _box(axes, (x + width / 2, y), width, 0.31, rounding=0.14 if mark == "bonus" else 0.06, **style)
    axes.text(x + width / 2, y, label, family="monospace", fontsize=8.5, ha="center", va="center",
              color=MUTED if rejected else INK)  # fmt: skip
    return x + width + 0.06


def draw_player(player):
    """Draw every pass of the chosen text in a row of its own."""
    trace, passes = player.traces[player.prompt], player.passes
    figure, axes = card(len(passes) + 3.4, player.text["title"])
    axes.text(0, 0.25, f"{trace['prompt']} …", fontsize=10, style="italic", color=INK, va="center")
    for number, one in enumerate(passes, 1):
        y = 0.25 + number * ROW
        axes.text(0.25, y, str(number), fontsize=9, color=MUTED, ha="right", va="center")
        x = 0.45
        for place, mark in zip(one["emitted"], marks_of(one), strict=True):
            x = token(axes, x, y, trace["pieces"][place], mark)
        x += 0.2
        for place in one["drafted"][one["accepted"] :]:
            if x < WIDTH - 1.4:
                x = token(axes, x, y, trace["pieces"][place], "rejected")
    y = 0.25 + (len(passes) + 1) * ROW
    legend = [
        f"{MARKS[m]} {player.text[m]}" for m in ("accepted", "corrected", "bonus", "rejected")
    ]
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
    """Draw the grid as it stands, answers shown, with the question below."""
    result = judge(grid.words, grid.draft, grid.masked)
    words = [*grid.words, *grid.draft]
    notes = textwrap.wrap(grid.describe(reveal=True), WRAP_AT + 10)
    for line in lines_of_question(grid):
        notes += textwrap.wrap(line, WRAP_AT + 10, subsequent_indent="      ")
    figure, axes = card(len(words) + 1.6 + 0.62 * len(notes), grid.text["title"])
    columns = {"row": 0.1, "reads": 0.8, "sees": 2.3, "answer": 5.6, "role": 7.1}
    for name, x in columns.items():
        axes.text(x, 0.2, grid.text[name], fontsize=9, color=MUTED, weight="bold", va="center")
    for row, word in enumerate(words):
        y = 0.2 + (row + 1) * ROW
        mark = result["marks"][row]
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
        axes.text(columns["answer"] + 0.3, y, result["answers"][row], fontsize=10, ha="center",
                  color=MUTED if mark == "unused" else INK, va="center")  # fmt: skip
        guess = words[row + 1] if row + 1 < len(words) else ""
        role = f"{GRID_MARKS[mark]} {grid.text[mark].format(guess=guess)}".strip()
        axes.text(columns["role"], y, role, fontsize=9, va="center",
                  color=MUTED if mark == "unused" else INK)  # fmt: skip
    for number, line in enumerate(notes):
        y = 0.2 + (len(words) + 1.4 + 0.62 * number) * ROW
        axes.text(0.1, y, line, fontsize=9.5, color=INK, va="center")
    return figure


def grid_alt(grid) -> str:
    """The alternative text: every row, then the sentence and the question."""
    result = judge(grid.words, grid.draft, grid.masked)
    words = [*grid.words, *grid.draft]
    parts = [f"{grid.text['title']}."]
    for row, (word, answer, mark) in enumerate(
        zip(words, result["answers"], result["marks"], strict=True)
    ):
        guess = words[row + 1] if row + 1 < len(words) else ""
        last = row if grid.masked else len(words) - 1
        role = grid.text[mark].format(guess=guess)
        parts.append(f"Row {row} reads {word}, sees 0 to {last}, says {answer}: {role}.")
    return " ".join([*parts, grid.describe(reveal=True), *lines_of_question(grid)])
