"""Still figures, with alt text. Colours are Okabe and Ito's; marks stand beside colour."""

import base64
import io
import os

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML, Image, display
from matplotlib.patches import FancyBboxPatch

BLUE, ORANGE, GREEN, SKY = "#0072B2", "#E69F00", "#009E73", "#56B4E9"
GREY = "#808080"  # readable on white and on JupyterLab's dark background
LINE_STYLES = ["-", "--", "-.", ":"]
DPI = 160


def still_mode() -> bool:
    """Say whether outputs are for a page without a kernel: a code host, or print."""
    return os.environ.get("SPECDEC_STILL") == "1"


def show(figure, alt: str) -> None:
    """Display a figure with its alt text, and close it.

    In a live notebook the image is HTML, since JupyterLab gives PNG outputs no alt text; in a
    built page it is a PNG, since code hosts drop embedded HTML images.
    """
    buffer = io.BytesIO()
    figure.savefig(
        buffer,
        format="png",
        dpi=DPI,
        transparent=True,
        bbox_inches="tight",
        metadata={"Software": None},
    )
    width = round(figure.get_figwidth() * 96)
    plt.close(figure)
    png = buffer.getvalue()
    if still_mode():
        display(Image(data=png, width=width, alt=alt, metadata={"alt": alt}))
        return
    code = base64.b64encode(png).decode()
    display(
        HTML(
            f'<img alt="{alt}" width="{width}" style="max-width: 100%" '
            f'src="data:image/png;base64,{code}">'
        )
    )


def axes(width: float, height: float):
    """Return a figure and axes in the course's style: grey text and lines, no frame."""
    figure, ax = plt.subplots(figsize=(width, height))
    ax.spines[["top", "right"]].set_visible(False)
    for spine in ax.spines.values():
        spine.set_color(GREY)
    ax.tick_params(colors=GREY, labelsize=10)
    ax.xaxis.label.set_color(GREY)
    ax.yaxis.label.set_color(GREY)
    return figure, ax


def text_in_passes(rows) -> plt.Figure:
    """Draw the same words in several rows, each cut into the passes that made it.

    rows  a list of (label, passes, note); passes is a list of lists of words. The last word of a
          pass is the target's own (★), the words before it are accepted guesses (✓).
    """
    figure, ax = axes(9.2, 0.3 + 1.1 * len(rows))
    ax.set_axis_off()
    words = [word for emitted in rows[0][1] for word in emitted]
    widths = [0.16 * len(word) + 0.36 for word in words]
    longest = 0.0
    for row, (label, passes, note) in enumerate(rows):
        top = -1.6 * row
        ax.text(0, top + 0.72, label, color=GREY, fontsize=11, weight="bold", va="bottom")
        x, place = 0.0, 0
        for emitted in passes:
            for position, word in enumerate(emitted):
                own = position == len(emitted) - 1
                width = widths[place]
                _word_box(ax, x, top, width, word, own)
                x += width + 0.04
                place += 1
            x += 0.2
        longest = max(longest, x)
        ax.text(x + 0.1, top + 0.25, note, color=GREY, fontsize=11, va="center")
    ax.set_xlim(-0.1, longest + 2.6)
    ax.set_ylim(-1.6 * (len(rows) - 1) - 0.45, 1.25)
    return figure


def _word_box(ax, x, y, width, word, own: bool) -> None:
    """Draw one word: orange with a star when it is the target's own, else blue with a tick."""
    ax.add_patch(
        FancyBboxPatch(
            (x, y),
            width,
            0.5,
            boxstyle="round,pad=0,rounding_size=0.08",
            facecolor=ORANGE if own else SKY,
            edgecolor="none",
        )
    )
    ax.text(x + width / 2, y + 0.25, word, color="black", fontsize=10, ha="center", va="center")
    ax.text(
        x + width / 2,
        y - 0.2,
        "★" if own else "✓",
        color=GREY,
        fontsize=8,
        ha="center",
        va="center",
    )


def token_bars(a: float, k: int) -> plt.Figure:
    """Draw the chance that a round emits a 1st, 2nd, … token: 1, a, a², …, a**k."""
    figure, ax = axes(6.2, 2.8)
    chances = [a**i for i in range(k + 1)]
    ax.bar(range(1, k + 2), chances, color=GREEN, width=0.7)
    for i, chance in enumerate(chances, 1):
        ax.text(i, chance + 0.02, f"{chance:.4g}", ha="center", va="bottom", color=GREY)
    ax.set_xlabel("token of the round")
    ax.set_ylabel("chance that it comes out")
    ax.set_xticks(range(1, k + 2))
    ax.set_ylim(0, 1.15)
    return figure


def round_histogram(emitted, k: int) -> plt.Figure:
    """Draw how often a round emitted 1, 2, …, k + 1 tokens, in per cent."""
    figure, ax = axes(6.2, 2.8)
    sizes = np.arange(1, k + 2)
    share = [100 * np.mean(np.asarray(emitted) == size) for size in sizes]
    ax.bar(sizes, share, color=GREEN, width=0.7)
    for size, height in zip(sizes, share, strict=True):
        ax.text(size, height + 0.6, f"{height:.0f} %", ha="center", va="bottom", color=GREY)
    ax.set_xlabel("tokens emitted in a round")
    ax.set_ylabel("rounds, per cent")
    ax.set_xticks(sizes)
    ax.set_ylim(0, max(share) * 1.2)
    return figure


def expected_curves(expected_tokens, chances, k_max: int) -> plt.Figure:
    """Draw expected tokens per pass over k, one line for each acceptance."""
    figure, ax = axes(6.6, 3.4)
    ks = range(k_max + 1)
    colours = [BLUE, ORANGE, GREEN, SKY]
    for a, colour, style in zip(chances, colours, LINE_STYLES, strict=False):
        values = [expected_tokens(a, k) for k in ks]
        ax.plot(ks, values, color=colour, linestyle=style, linewidth=2)
        ax.text(k_max + 0.15, values[-1], f"a = {a}", color=GREY, va="center")
    ax.set_xlabel("k, drafted tokens")
    ax.set_ylabel("expected tokens a pass")
    ax.set_xlim(0, k_max + 1.6)
    ax.set_ylim(0, None)
    return figure
