"""Still twin of the sampling lane, for print and for viewers that run no script."""

import textwrap

import numpy as np

from specdec.widgets.sampling_lane import RULES, masses, of_100, overlap, status_sentence
from specdec.widgets.still import CARD, INK, LINE, MUTED, question_lines

# Okabe and Ito's colors, which readers with a color vision deficiency can tell apart.
STYLES = {
    "kept": {"facecolor": "#c5e6da", "edgecolor": "#007a58"},
    "thrown": {"facecolor": "#fbe3d3", "edgecolor": "#b34a00", "hatch": "///", "linestyle": "--"},
    "back": {"facecolor": "#d6e8f4", "edgecolor": "#0072B2", "hatch": "..."},
    "missing": {"facecolor": "none", "edgecolor": "#0072B2", "linestyle": ":"},
    "target": {"facecolor": "#c9ced3", "edgecolor": "#c9ced3"},
}
SIGNS = {"kept": "✓ ", "thrown": "✗ ", "back": "+ ", "missing": "", "target": ""}
WIDTH, MARGIN, TRACK, LEFT, RIGHT = 10.0, 0.35, 3.2, 1.5, 6.05
BAR, ROW, HEAD, LINE_HEIGHT, GAP = 0.3, 0.98, 0.95, 0.22, 0.09
WRAP_AT = 118
ROOM = 9  # counts of 100 that a part needs for its sign and number


def sampling_alt(lane):
    """Return the alternative text of the still twin: every token, the laws, the question."""
    parts = masses(lane.p, lane.q, lane.rule)
    said = [f"{lane.text['title']}."]
    for i, token in enumerate(lane.tokens):
        kept, thrown, back = (of_100(parts[name][i]) for name in ("kept", "thrown", "back"))
        said.append(
            f"{token}: target p {of_100(lane.p[i])}, draft q {of_100(lane.q[i])}, "
            f"{kept} kept, {thrown} thrown away, {back} put back, "
            f"{of_100(parts['law'][i])} come out."
        )
    return " ".join([*said, *notes(lane)])


def notes(lane):
    """Return the sentences below the picture: α, what the rule gives, where wrong rules land."""
    alpha = lane.text["alpha"].format(alpha=f"{overlap(lane.p, lane.q):.3g}")
    lines = [f"{alpha} ({lane.text['alpha_note']}).", lane.describe(reveal=True)]
    for rule in RULES:
        if rule != lane.rule:
            name = lane.text[f"{rule}_name"]
            said = status_sentence(lane.text, lane.tokens, lane.p, lane.q, rule)
            lines.append(f"{name}: {said}")
    return lines + question_lines(lane)


def draw_sampling(lane):
    """Return a matplotlib Figure of the lane on a light card, readable on any page."""
    from matplotlib.figure import Figure

    paragraphs = [textwrap.wrap(note, WRAP_AT) for note in notes(lane)]
    body = HEAD + ROW * len(lane.tokens)
    below = sum(LINE_HEIGHT * len(lines) + GAP for lines in paragraphs)
    height = body + 0.5 + below + MARGIN
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    figure.patch.set_alpha(0)
    _card(axes, height)
    _words(axes, MARGIN, 0.4, lane.text["title"], size=13, weight="bold")
    _words(axes, LEFT, 0.8, f"{lane.text['set']}: {lane.text['set_note']}", color=MUTED)
    _words(axes, RIGHT, 0.8, f"{lane.text['out']}; {lane.text['out_note']}", color=MUTED)
    for i in range(len(lane.tokens)):
        _draw_token(axes, lane, i, HEAD + ROW * i)
    _draw_legend(axes, lane, body + 0.15)
    y = body + 0.65
    for lines in paragraphs:
        for line in lines:
            _words(axes, MARGIN, y, line, size=9.5)
            y += LINE_HEIGHT
        y += GAP
    return figure


def _draw_token(axes, lane, i, top):
    p, q = lane.p[i], lane.q[i]
    parts = {name: float(values[i]) for name, values in masses(lane.p, lane.q, lane.rule).items()}
    upper, lower = top + 0.3, top + 0.68
    axes.plot([MARGIN, WIDTH - MARGIN], [top, top], color=LINE, linewidth=0.7)
    _words(axes, MARGIN, top + ROW / 2, lane.tokens[i], size=11, weight="bold")
    _draw_bar(axes, LEFT, upper, lane.text["p"], [("target", p)], of_100(p))
    missing = max(p - q, 0)
    draft = [("kept", parts["kept"]), ("thrown", parts["thrown"]), ("missing", missing)]
    _draw_bar(axes, LEFT, lower, lane.text["q"], draft, of_100(q))
    _tick(axes, LEFT, lower, p)
    out = [("kept", parts["kept"]), ("back", parts["back"])]
    _draw_bar(axes, RIGHT, top + ROW / 2, "", out, of_100(parts["law"]))
    _tick(axes, RIGHT, top + ROW / 2, p)


def _draw_bar(axes, left, y, name, pieces, number):
    _words(axes, left - 0.1, y, name, size=9, color=MUTED, ha="right")
    _patch(axes, left, y, 1, {"facecolor": "#f1f2f3", "edgecolor": "none"})
    start = 0.0
    for kind, share in pieces:
        if share > 1e-9:
            _patch(axes, left + TRACK * start, y, share, STYLES[kind])
            _part_label(axes, left + TRACK * (start + share / 2), y, kind, share)
        start += share
    _words(axes, left + TRACK + 0.12, y, number, weight="bold")


def _part_label(axes, x, y, kind, share):
    if kind != "target" and 100 * share >= ROOM:
        box = {"facecolor": CARD, "edgecolor": "none", "pad": 1} if kind != "kept" else None
        _words(axes, x, y, SIGNS[kind] + of_100(share), size=8.5, ha="center", bbox=box)


def _patch(axes, x, y, share, style):
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y - BAR / 2), TRACK * share, BAR, linewidth=1, **style))


def _tick(axes, left, y, share):
    x = left + TRACK * share
    axes.plot([x, x], [y - BAR * 0.72, y + BAR * 0.72], color=INK, linewidth=2.4)


def _draw_legend(axes, lane, y):
    from matplotlib.patches import Rectangle

    parts = masses(lane.p, lane.q, lane.rule)
    parts["missing"] = np.maximum(np.subtract(lane.p, lane.q), 0)
    axes.plot([MARGIN, WIDTH - MARGIN], [y - 0.15, y - 0.15], color=LINE, linewidth=0.7)
    for i, kind in enumerate(("kept", "thrown", "back", "missing")):
        x = MARGIN + 2.35 * i
        axes.add_patch(Rectangle((x, y), 0.34, 0.22, linewidth=1, **STYLES[kind]))
        words = f"{SIGNS[kind]}{lane.text[kind]} {of_100(parts[kind].sum())}"
        _words(axes, x + 0.45, y + 0.11, words)


def _card(axes, height):
    from matplotlib.patches import FancyBboxPatch

    shape = "round,pad=0,rounding_size=0.18"
    axes.add_patch(
        FancyBboxPatch((0.04, 0.04), WIDTH - 0.08, height - 0.08, boxstyle=shape,
                       facecolor=CARD, edgecolor=LINE)
    )  # fmt: skip


def _words(axes, x, y, words, size=10, color=INK, **style):
    axes.text(x, y, words, fontsize=size, color=color, **{"va": "center", **style})
