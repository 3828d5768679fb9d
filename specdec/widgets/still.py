"""Still twin of the draft-and-verify lane, for print and for viewers that run no script."""

import textwrap

from specdec.widgets.draft_lane import MARKS, asked_after, verdicts
from specdec.widgets.question import letter, plain

INK, MUTED, LINE, CARD, BAND = "#1f2328", "#59636e", "#afb8c1", "#fdfdfc", "#f1f2f3"
# Okabe and Ito's colors, which readers with a color vision deficiency can tell apart.
COLORS = {"accepted": "#009E73", "corrected": "#D55E00", "discarded": "#8c959f", "bonus": "#0072B2"}
ROWS = {"place": 0.0, "draft": 0.62, "sign": 1.16, "target": 1.7, "verdict": 2.55, "out": 3.75}
LABEL_WIDTH, PLACE_WIDTH, LINE_HEIGHT, MARGIN = 2.3, 1.05, 0.3, 0.35
WRAP_AT = 104
HEIGHT = 4.3


def lane_alt(lane):
    """Return the alternative text of the still twin: every place, then the sentence and reasons."""
    marks, _emitted = verdicts(lane.draft, lane.picks)
    parts = [f"{lane.text['title']}."]
    for place, (pick, mark) in enumerate(zip(lane.picks, marks, strict=True)):
        guess = f"draft {lane.draft[place]}, " if place < len(lane.draft) else ""
        parts.append(f"Place {place + 1}: {guess}target {pick}, {lane.text[mark]}.")
    caption = asked_after(lane.text, lane.draft, lane.picks)
    if caption:
        parts.append(f"The discarded answers were {caption}.")
    return " ".join([*parts, lane.describe(reveal=True), *question_lines(lane)])


def question_lines(lane):
    """Return the question, its choices and their reasons as lines of plain text."""
    if not lane.question:
        return []
    lines = [plain(lane.question["prompt"])]
    for index, choice in enumerate(lane.question["choices"]):
        mark = "✓" if choice["right"] else "✗"
        lines.append(f"{mark} {letter(index)}. {plain(choice['text'])}: {plain(choice['reason'])}")
    return lines


def draw_lane(lane):
    """Return a matplotlib Figure of the lane on a light card, readable on any page."""
    from matplotlib.figure import Figure

    notes = textwrap.wrap(lane.describe(reveal=True), WRAP_AT)
    for number, line in enumerate(question_lines(lane)):
        notes += [""] if number == 0 else []
        notes += [*textwrap.wrap(line, WRAP_AT, subsequent_indent="      ")]
    width = max(8.6, LABEL_WIDTH + PLACE_WIDTH * len(lane.picks) + 2 * MARGIN)
    height = HEIGHT + LINE_HEIGHT * 0.8 * len(notes) + 2 * MARGIN + 0.55
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-MARGIN, width - MARGIN), ylim=(height - MARGIN - 0.55, -MARGIN - 0.55))
    axes.axis("off")
    figure.patch.set_alpha(0)
    _box(axes, (width / 2 - MARGIN, height / 2 - MARGIN - 0.55), width - 0.08, height - 0.08,
         facecolor=CARD, edgecolor=LINE, rounding=0.18)  # fmt: skip
    axes.text(0, -0.45, lane.text["title"], fontsize=13, weight="bold", color=INK, va="center")
    _draw_labels(axes, lane, width - 2 * MARGIN)
    _draw_places(axes, lane)
    for number, line in enumerate(notes):
        axes.text(0, HEIGHT + 0.25 + number * LINE_HEIGHT * 0.8, line, fontsize=10, color=INK)
    return figure


def _draw_labels(axes, lane, width):
    _box(axes, (width / 2, ROWS["target"]), width, 0.82, facecolor=BAND, edgecolor=LINE)
    for row in ("draft", "target", "verdict", "out"):
        axes.text(0.15, ROWS[row], lane.text[row], fontsize=10.5, weight="bold", color=INK,
                  va="center")  # fmt: skip
    axes.text(0.15, ROWS["place"], lane.text["place"], fontsize=9, color=MUTED, va="center")


def _draw_places(axes, lane):
    marks, emitted = verdicts(lane.draft, lane.picks)
    last = len(lane.draft)
    for place, (pick, mark) in enumerate(zip(lane.picks, marks, strict=True)):
        x = LABEL_WIDTH + PLACE_WIDTH * (place + 0.5)
        head = lane.text["bonus_place"] if place == last else str(place + 1)
        _word(axes, x, ROWS["place"], head, MUTED, 9)
        if place < last:
            guess_mark = "rejected" if mark == "corrected" else mark
            _tile(axes, x, ROWS["draft"], lane.draft[place], guess_mark, filled=False)
            _word(axes, x, ROWS["sign"], {"accepted": "=", "corrected": "≠"}.get(mark, ""), INK, 12)
        else:
            _word(axes, x, ROWS["draft"], lane.text["no_guess"], MUTED, 9)
        _tile(axes, x, ROWS["target"], pick, mark)
        _word(axes, x, ROWS["verdict"] - 0.14, MARKS[mark], COLORS[mark], 14)
        _word(axes, x, ROWS["verdict"] + 0.18, lane.text[mark], INK, 9)
        if place < len(emitted):
            _tile(axes, x, ROWS["out"], pick, mark)
    caption = asked_after(lane.text, lane.draft, lane.picks)
    if caption:
        _bracket(axes, LABEL_WIDTH + PLACE_WIDTH * len(emitted), x + PLACE_WIDTH / 2, caption)


def _bracket(axes, left, right, caption):
    y = ROWS["verdict"] + 0.45
    xs = [left + 0.12, left + 0.12, right - 0.12, right - 0.12]
    axes.plot(xs, [y, y + 0.1, y + 0.1, y], color=MUTED, linewidth=1, linestyle=(0, (3, 2)))
    axes.text(right - 0.12, y + 0.27, caption, fontsize=9, color=MUTED, ha="right", va="center")


def _tile(axes, x, y, token, mark, filled=True):
    style = {"edgecolor": COLORS.get(mark, MUTED), "facecolor": CARD, "linewidth": 1.8}
    if mark in ("discarded", "rejected"):
        style |= {"linestyle": (0, (3, 2)), "linewidth": 1.2}
    if mark == "discarded":
        style |= {"hatch": "///", "edgecolor": LINE}
    elif filled:
        style["facecolor"] = _tint(COLORS[mark])
    if mark == "corrected":
        _box(axes, (x, y), 0.78, 0.6, facecolor="none", edgecolor=COLORS[mark])
    _box(axes, (x, y), 0.7, 0.52, rounding=0.26 if mark == "bonus" else 0.09, **style)
    struck = not filled and mark in ("discarded", "rejected")
    muted = mark == "discarded"
    _word(axes, x, y, str(token), MUTED if muted else INK, 12, weight="normal" if muted else "bold")
    if struck:
        axes.plot([x - 0.16, x + 0.16], [y, y], color=MUTED if muted else INK, linewidth=1.2)


def _box(axes, center, width, height, rounding=0.09, **style):
    from matplotlib.patches import FancyBboxPatch

    x, y = center
    shape = f"round,pad=0,rounding_size={rounding}"
    corner = (x - width / 2, y - height / 2)
    axes.add_patch(FancyBboxPatch(corner, width, height, boxstyle=shape, **style))


def _word(axes, x, y, word, color, size, weight="normal"):
    axes.text(x, y, word, fontsize=size, color=color, weight=weight, ha="center", va="center")


def _tint(color):
    from matplotlib.colors import to_rgb

    return tuple(1 - 0.16 * (1 - part) for part in to_rgb(color))
