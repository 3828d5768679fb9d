"""Still twin of the cache lanes, for print and for viewers that run no script."""

import textwrap

from specdec.widgets.cache_lanes import MARKS, stages
from specdec.widgets.still import (
    CARD,
    COLORS,
    INK,
    LINE,
    LINE_HEIGHT,
    MARGIN,
    MUTED,
    WRAP_AT,
    _box,
    _tint,
    _word,
    question_lines,
)

LANES = ("text", "target", "draft")
LABEL_WIDTH, CELL, ROW = 2.9, 0.56, 0.95
COLOUR = {"accepted": COLORS["accepted"], "own": COLORS["corrected"], "rejected": MUTED}


def shown(lanes):
    """Return what text and caches hold at the step that the lanes stand at."""
    return stages(lanes.length, lanes.k, lanes.accepted, lanes.rollback)[lanes.step]


def lane_name(lanes, name):
    """Return a lane's name and how many tokens it holds."""
    n = len(shown(lanes)[name])
    count = lanes.text["tokens" if name == "text" else "holds"].format(n=n)
    return f"{lanes.text[f'lane_{name}']}, {count}"


def lanes_alt(lanes):
    """Return the alternative text: every lane, then the sentence and the choices' reasons."""
    parts = [f"{lanes.text['title']}."]
    for name in LANES:
        words = [
            f"{token} {lanes.text[f'mark_{mark}']}".strip() for token, mark in shown(lanes)[name]
        ]
        parts.append(f"{lane_name(lanes, name)}: {', '.join(words)}.")
    return " ".join([*parts, lanes.describe(reveal=True), *question_lines(lanes)])


def draw_lanes(lanes):
    """Return a matplotlib Figure of the lanes on a light card, readable on any page."""
    from matplotlib.figure import Figure

    notes = textwrap.wrap(lanes.describe(reveal=True), WRAP_AT)
    for number, line in enumerate(question_lines(lanes)):
        notes += [""] if number == 0 else []
        notes += textwrap.wrap(line, WRAP_AT, subsequent_indent="      ")
    places = lanes.length + lanes.k + 2
    width = max(8.6, LABEL_WIDTH + CELL * places + 2 * MARGIN)
    body = 0.45 + ROW * len(LANES)
    height = body + LINE_HEIGHT * 0.8 * len(notes) + 2 * MARGIN + 0.55
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-MARGIN, width - MARGIN), ylim=(height - MARGIN - 0.55, -MARGIN - 0.55))
    axes.axis("off")
    figure.patch.set_alpha(0)
    _box(axes, (width / 2 - MARGIN, height / 2 - MARGIN - 0.55), width - 0.08, height - 0.08,
         facecolor=CARD, edgecolor=LINE, rounding=0.18)  # fmt: skip
    axes.text(0, -0.45, lanes.text["title"], fontsize=13, weight="bold", color=INK, va="center")
    for place in range(places):
        _word(axes, LABEL_WIDTH + CELL * (place + 0.5), 0, str(place), MUTED, 8.5)
    for number, name in enumerate(LANES):
        y = 0.6 + ROW * number
        axes.text(
            0.1, y, lane_name(lanes, name), fontsize=10, weight="bold", color=INK, va="center"
        )
        for place, (token, mark) in enumerate(shown(lanes)[name]):
            _draw_cell(axes, LABEL_WIDTH + CELL * (place + 0.5), y, token, mark)
    for number, line in enumerate(notes):
        axes.text(0, body + number * LINE_HEIGHT * 0.8, line, fontsize=10, color=INK)
    return figure


def _draw_cell(axes, x, y, token, mark):
    style = {"edgecolor": COLOUR.get(mark, MUTED), "facecolor": CARD, "linewidth": 1.6}
    if mark in ("guess", "rejected"):
        style |= {"linestyle": (0, (3, 2)), "linewidth": 1.1}
    if mark in ("accepted", "own"):
        style["facecolor"] = _tint(COLOUR[mark])
    _box(axes, (x, y), CELL - 0.08, 0.68, **style)
    sign = MARKS[mark]
    _word(axes, x, y - (0.12 if sign else 0), token, INK, 11, weight="bold")
    if sign:
        _word(axes, x, y + 0.19, sign, COLOUR.get(mark, MUTED), 9)
