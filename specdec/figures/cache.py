"""Figures of lesson 4: acceptance by position, the price of a pass, and a waterfall."""

import matplotlib.pyplot as plt

from specdec.figures import BLUE, GREEN, GREY, ORANGE, axes


def acceptance_panels(panels) -> plt.Figure:
    """Draw acceptance by position for several programs, side by side.

    panels  list of (title, shares after a full acceptance, shares after a rejection); shares are
            numbers, None where nothing was tested
    """
    figure, all_axes = plt.subplots(1, len(panels), figsize=(2.35 * len(panels), 2.9), sharey=True)
    for ax, (title, after_full, after_rejection) in zip(all_axes, panels, strict=True):
        ax.spines[["top", "right"]].set_visible(False)
        for spine in ax.spines.values():
            spine.set_color(GREY)
        ax.tick_params(colors=GREY, labelsize=9)
        _line(ax, after_full, BLUE, "o", 9, "-", "after full acceptance")
        _line(ax, after_rejection, ORANGE, "s", 5, "--", "after a rejection")
        ax.set_title(title, fontsize=10, color=GREY)
        ax.set_xticks(range(len(after_full)))
        ax.set_ylim(-0.05, 1.08)
    all_axes[0].set_ylabel("acceptance", color=GREY)
    figure.supxlabel("place in the draft, 0 is the first guess", fontsize=10, color=GREY, y=0.09)
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=2, frameon=False, labelcolor=GREY)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    return figure


def _line(ax, shares, colour, marker, size, style, label) -> None:
    points = [(place, share) for place, share in enumerate(shares) if share is not None]
    places, heights = zip(*points, strict=True) if points else ((), ())
    ax.plot(places, heights, color=colour, marker=marker, markersize=size, linestyle=style,
            label=label, clip_on=False)  # fmt: skip


def pass_costs(here: dict, recorded: dict) -> plt.Figure:
    """Draw t(m) / t(1) over the rows m of a pass: measured here, and on another machine.

    here      {m: cost}; recorded is the same, from the recorded file
    """
    figure, ax = axes(6.2, 3.0)
    ax.axhline(1, color=GREY, linewidth=1, linestyle=":")
    for costs, colour, marker, style, label in (
        (here, BLUE, "o", "-", "here, now"),
        (recorded, ORANGE, "s", "--", "recorded"),
    ):
        shown = {m: cost for m, cost in costs.items() if m in here}
        ax.plot(shown.keys(), shown.values(), color=colour, marker=marker, linestyle=style,
                label=label)  # fmt: skip
    ax.text(max(here), 1.02, "what the simple formula takes", color=GREY, ha="right", va="bottom",
            fontsize=9)  # fmt: skip
    ax.set_xticks(list(here))
    ax.set_xlabel("rows of a pass, m = k + 1")
    ax.set_ylabel("cost, t(m) / t(1)")
    ax.set_ylim(0, None)
    ax.legend(frameon=False, labelcolor=GREY)
    return figure


def waterfall(labels, values) -> plt.Figure:
    """Draw values as bars from left to right, with the change between two neighbours."""
    figure, ax = axes(7.4, 3.1)
    colours = [ORANGE, ORANGE, ORANGE, GREEN]
    ax.bar(range(len(values)), values, 0.6, color=colours)
    for place, value in enumerate(values):
        ax.text(place, value + 0.03, f"{value:.2f}x", ha="center", va="bottom", color=GREY)
        if place:
            change = f"{value - values[place - 1]:+.2f}".replace("-", "−")
            middle = (value + values[place - 1]) / 2
            ax.text(place - 0.5, middle, change, ha="center", va="center", color=GREY, fontsize=9)
    ax.axhline(1, color=GREY, linewidth=1, linestyle=":")
    ax.set_xticks(range(len(values)), labels)
    ax.set_ylabel("speedup over plain")
    ax.set_ylim(0, 1.18 * max(values))
    return figure
