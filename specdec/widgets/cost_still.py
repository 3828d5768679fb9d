"""Still twin of the cost explorer, for print and for viewers that run no script."""

import textwrap

from specdec.widgets.cost_explorer import (
    Setting,
    best_k,
    break_even,
    break_even_text,
    losing_batch,
    losing_text,
    round_cost,
    speedup_at,
    tokens_per_pass,
    two_places,
)
from specdec.widgets.still import CARD, INK, LINE, MUTED, question_lines

NOW, PINNED = "#0072B2", "#b34a00"  # Okabe and Ito's blue, and a dark orange
WIDTH, MARGIN, WRAP_AT, LINE_HEIGHT, GAP = 10.0, 0.35, 118, 0.22, 0.09
TILES, CHARTS = 1.05, 3.0  # how far down the numbers and the charts begin and end, in inches


def explorer_alt(explorer):
    """Return the alternative text of the still twin: the setting, the results, the question."""
    text = explorer.text
    said = [f"{text['title']} {short_setting(text, explorer.setting)}."]
    if explorer.pinned:
        said.append(f"{text['pinned']}: {short_setting(text, pinned_setting(explorer))}.")
    numbers = [f"{name}: {value}." for name, value in tiles(text, explorer.setting)]
    return " ".join([*said, *numbers, *notes(explorer)])


def notes(explorer):
    """Return the sentences below the charts."""
    return [explorer.describe(reveal=True), *question_lines(explorer)]


def pinned_setting(explorer):
    """Return the pinned setting as a Setting."""
    return explorer.setting._replace(**{"model": "flat", **explorer.pinned})


def short_setting(text, s: Setting):
    """Return a setting and its speedup in one line."""
    return text["setting"].format(
        a=two_places(s.a), c=two_places(s.c), k=s.k, speedup=two_places(speedup_at(s, s.k))
    )


def tiles(text, s: Setting):
    """Return pairs (name, value) of the numbers above the charts."""
    best = best_k(s)
    pairs = [
        (text["tile_speedup"], f"{two_places(speedup_at(s, s.k))}×"),
        (text["tile_tokens"], two_places(tokens_per_pass(s.a, s.k))),
        (text["tile_cost"], two_places(round_cost(s, s.k))),
        (text["tile_best"], f"{best} ({two_places(speedup_at(s, best))}×)"),
        (text["tile_even"], break_even_text(text, s)),
    ]
    if s.model == "batch":
        pairs.append((text["tile_losing"], losing_text(text, s)))
    return pairs


def draw_explorer(explorer):
    """Return a matplotlib Figure of the explorer on a light card, readable on any page."""
    from matplotlib.figure import Figure

    paragraphs = [textwrap.wrap(note, WRAP_AT) for note in notes(explorer)]
    below = sum(LINE_HEIGHT * len(lines) + GAP for lines in paragraphs)
    height = TILES + CHARTS + 0.75 + below + MARGIN
    figure = Figure(figsize=(WIDTH, height))
    page = figure.add_axes((0, 0, 1, 1))
    page.set(xlim=(0, WIDTH), ylim=(height, 0))
    page.axis("off")
    figure.patch.set_alpha(0)
    _card(page, height)
    _words(page, MARGIN, 0.4, explorer.text["title"], size=13, weight="bold")
    pairs = tiles(explorer.text, explorer.setting)
    for i, (name, value) in enumerate(pairs):
        x = MARGIN + (WIDTH - 2 * MARGIN) / len(pairs) * i
        _words(page, x, 0.8, name, size=9, color=MUTED)
        _words(page, x, 1.05, value, size=12, weight="bold")
    size = (0.4, (CHARTS - 1.0) / height)
    bottom = 1 - (TILES + CHARTS - 0.35) / height
    _draw_over_k(figure.add_axes((0.07, bottom, *size)), explorer)
    _draw_beside(figure.add_axes((0.56, bottom, *size)), explorer)
    y = TILES + CHARTS + 0.3
    _legend(page, explorer, y)
    y += 0.35
    for lines in paragraphs:
        for line in lines:
            _words(page, MARGIN, y, line, size=9.5)
            y += LINE_HEIGHT
        y += GAP
    return figure


def _draw_over_k(ax, explorer):
    s = explorer.setting
    ks = range(len(s.curve))
    if explorer.pinned:
        other = pinned_setting(explorer)
        ax.plot(ks, [speedup_at(other, k) for k in ks], "--", color=PINNED, linewidth=1.6)
        ax.plot(other.k, speedup_at(other, other.k), "o", color=CARD, markeredgecolor=PINNED)
    ax.plot(ks, [speedup_at(s, k) for k in ks], color=NOW, linewidth=2)
    best = best_k(s)
    ax.plot(best, speedup_at(s, best), "*", color=INK, markersize=11)
    ax.plot(s.k, speedup_at(s, s.k), "o", color=NOW)
    ax.set_xticks([0, 4, 8, 12, 16])
    _finish(ax, explorer.text["chart_k"])


def _draw_beside(ax, explorer):
    """Draw the speedup over the acceptance, or over the batch where the batch is priced."""
    s = explorer.setting
    batched = s.model == "batch"
    points = [2 ** (i / 8) for i in range(73)] if batched else [i / 50 for i in range(51)]
    name = "batch" if batched else "a"
    if explorer.pinned:
        other = pinned_setting(explorer)._replace(**({"model": "batch"} if batched else {}))
        speeds = [speedup_at(other._replace(**{name: x}), other.k) for x in points]
        ax.plot(points, speeds, "--", color=PINNED, linewidth=1.6)
        there = other._replace(batch=s.batch)
        ax.plot(getattr(there, name), speedup_at(there, there.k), "o", color=CARD,
                markeredgecolor=PINNED)  # fmt: skip
    speeds = [speedup_at(s._replace(**{name: x}), s.k) for x in points]
    ax.plot(points, speeds, color=NOW, linewidth=2)
    even = losing_batch(s) if batched else break_even(s)
    if even is not None and s.k > 0:
        ax.plot(even, 1, "D", color=INK, markersize=6)
    ax.plot(getattr(s, name), speedup_at(s, s.k), "o", color=NOW)
    if batched:
        ax.set_xscale("log", base=2)
        ax.set_xticks([1, 4, 16, 64, 256], ["1", "4", "16", "64", "256"])
    _finish(ax, explorer.text["chart_batch" if batched else "chart_a"])


def _finish(ax, title):
    ax.axhline(1, color=INK, linewidth=0.9, linestyle=":")
    ax.patch.set_alpha(0)
    ax.set_ylim(0, None)
    ax.set_xlabel(title, color=INK, fontsize=9)
    ax.tick_params(colors=INK, labelsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    for spine in ax.spines.values():
        spine.set_color(LINE)


def _legend(page, explorer, y):
    entries = [(NOW, "-", short_setting(explorer.text, explorer.setting))]
    if explorer.pinned:
        words = (
            f"{explorer.text['pinned']}: {short_setting(explorer.text, pinned_setting(explorer))}"
        )
        entries.append((PINNED, "--", words))
    for i, (color, style, words) in enumerate(entries):
        x = MARGIN + 3.0 * i
        page.plot([x, x + 0.35], [y, y], color=color, linestyle=style, linewidth=2)
        _words(page, x + 0.45, y, words, size=9)
    _words(page, WIDTH - MARGIN, y, explorer.text["signs"], size=9, color=MUTED, ha="right")


def _card(page, height):
    from matplotlib.patches import FancyBboxPatch

    shape = "round,pad=0,rounding_size=0.18"
    page.add_patch(
        FancyBboxPatch((0.04, 0.04), WIDTH - 0.08, height - 0.08, boxstyle=shape,
                       facecolor=CARD, edgecolor=LINE)
    )  # fmt: skip


def _words(page, x, y, words, size=10, color=INK, **style):
    page.text(x, y, words, fontsize=size, color=color, **{"va": "center", **style})
