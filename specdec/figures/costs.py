"""Still figures of lesson 5: formula and simulation, ticks along a text, speed by batch."""

import matplotlib.pyplot as plt
from matplotlib.ticker import NullLocator

from specdec.figures import BLUE, GREEN, GREY, ORANGE, SKY, axes

COLOURS, MARKERS = [BLUE, ORANGE, GREEN], ["o", "s", "^"]
HOLLOW = {"o": "○", "s": "□", "^": "△"}
FILLED = {"o": "●", "s": "■", "^": "▲"}


def formula_and_simulation(ks, series) -> plt.Figure:
    """Draw tokens a pass over k: formulas as lines, simulated means with two standard errors.

    series  list of (label, formula values, means, standard errors), one value for each k
    """
    figure, ax = axes(7.2, 3.6)
    for (label, formula, means, errors), colour, marker in zip(
        series, COLOURS, MARKERS, strict=False
    ):
        ax.plot(ks, formula, color=colour, linewidth=1.6)
        ax.errorbar(ks, means, [2 * e for e in errors], fmt=marker, color=colour, capsize=6,
                    markersize=8, markerfacecolor="none")  # hollow: the bars show  # fmt: skip
        place = max(formula[-1], means[-1])
        ax.text(ks[-1] + 0.3, place, f"{HOLLOW[marker]} {label}", color=GREY, va="center",
                fontsize=11)  # fmt: skip
    ax.set_xlabel("k, drafted tokens")
    ax.set_title("line: formula    mark: played, ± 2 standard errors", fontsize=11, color=GREY)
    ax.set_ylabel("tokens a pass")
    ax.set_xlim(min(ks) - 0.4, max(ks) + 0.3 * len(ks))
    ax.set_xticks(list(ks))
    ax.set_ylim(0, None)
    return figure


def ticks_along(rows, count: int) -> plt.Figure:
    """Draw where drafts guess right along a text: a filled box for a right guess, a cross if not.

    rows   list of (label, ticks), ticks a list of 0 and 1
    count  how many tokens to draw
    """
    figure, ax = axes(9.2, 0.5 + 0.45 * len(rows))
    ax.set_axis_off()
    for number, (label, ticks) in enumerate(rows):
        ax.text(-1, -number, label, color=GREY, fontsize=11, ha="right", va="center")
        for place, tick in enumerate(ticks[:count]):
            if tick:
                ax.add_patch(plt.Rectangle((place, -number - 0.3), 0.72, 0.6, color=SKY))
            else:
                ax.text(place + 0.36, -number, "×", color=ORANGE, ha="center", va="center",
                        fontsize=11, weight="bold")  # fmt: skip
    ax.set_xlim(-14, count)
    ax.set_ylim(-len(rows) + 0.4, 0.6)
    return figure


def speedup_over_batch(batches, series) -> plt.Figure:
    """Draw speedups over the batch, and the line at 1 below which the draft loses.

    series  list of (label, speedups), one speedup for each batch
    """
    figure, ax = axes(7.2, 3.4)
    ax.axhline(1, color=GREY, linewidth=1, linestyle=":")
    ax.annotate("plain decoding", (batches[0], 1), (0, 6), textcoords="offset points",
                color=GREY, fontsize=11)  # fmt: skip
    for (label, speeds), colour, marker in zip(series, COLOURS, MARKERS, strict=False):
        ax.plot(batches, speeds, color=colour, marker=marker, linewidth=2)
        ax.text(batches[-1] * 1.12, speeds[-1], f"{FILLED[marker]} {label}", color=GREY,
                va="center", fontsize=11)  # fmt: skip
    ax.set_xscale("log", base=2)
    ax.set_xticks(batches, [str(batch) for batch in batches])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlim(batches[0] * 0.85, batches[-1] * 4)
    ax.set_xlabel("texts decoded together")
    ax.set_ylabel("speedup")
    ax.set_ylim(0, None)
    return figure
