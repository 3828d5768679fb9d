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
    tidy(ax)
    return figure, ax


def tidy(ax) -> None:
    """Give axes the course's style."""
    ax.spines[["top", "right"]].set_visible(False)
    for spine in ax.spines.values():
        spine.set_color(GREY)
    ax.tick_params(colors=GREY, labelsize=10)
    ax.xaxis.label.set_color(GREY)
    ax.yaxis.label.set_color(GREY)


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


def kept_and_refilled(words, wanted, drafted) -> plt.Figure:
    """Draw, in counts, what the draft proposed of each word: accepted, rejected, put back.

    wanted, drafted  counts of each word, with the same sum
    """
    figure, ax = axes(6.6, 3.2)
    for x, (want, have) in enumerate(zip(wanted, drafted, strict=True)):
        kept = min(want, have)
        _count_bar(ax, x - 0.2, 0, kept, "accepted", facecolor=GREEN)
        _count_bar(ax, x - 0.2, kept, have - kept, "rejected", facecolor="none", linestyle="--")
        _count_bar(ax, x + 0.2, 0, kept, "", facecolor=GREEN)
        _count_bar(ax, x + 0.2, kept, want - kept, "put back", facecolor=SKY)
    ax.set_xticks(range(len(words)), words)
    ax.set_ylabel("draws out of 100")
    ax.set_ylim(0, 1.18 * max(*wanted, *drafted))
    ax.set_title("left: what the draft proposed    right: what comes out", fontsize=10, color=GREY)
    return figure


def _count_bar(ax, x, bottom, height, label: str, **style) -> None:
    if height <= 0:
        return
    ax.bar(x, height, 0.36, bottom=bottom, edgecolor=GREY, **style)
    text = f"{height}\n{label}".strip()
    colour = GREY if style["facecolor"] == "none" else "black"
    ax.text(x, bottom + height / 2, text, ha="center", va="center", fontsize=8, color=colour)


def shares_against(words, shares, wanted, errors) -> plt.Figure:
    """Draw measured shares with two standard errors each way, and the wanted ones as diamonds."""
    figure, ax = axes(6.2, 2.8)
    places = np.arange(len(words))
    ax.bar(places, shares, 0.6, color=SKY, label="measured")
    ax.errorbar(places, shares, 2 * np.asarray(errors), fmt="none", ecolor=GREY, capsize=4)
    ax.plot(places, wanted, "D", color=ORANGE, markeredgecolor=GREY, label="wanted, p")
    ax.set_xticks(places, words)
    ax.set_ylabel("share of the draws")
    ax.set_ylim(0, 1.25 * max(*shares, *wanted))
    ax.legend(frameon=False, labelcolor=GREY)
    return figure


def acceptance_along(tokens, alphas) -> plt.Figure:
    """Draw the chance of acceptance at each token of a text, and their mean as a line."""
    figure, ax = axes(9.2, 2.9)
    places = np.arange(len(tokens))
    ax.bar(places, alphas, 0.7, color=GREEN)
    mean = float(np.mean(alphas))
    ax.axhline(mean, color=ORANGE, linestyle="--", linewidth=1.5)
    ax.text(len(tokens) - 0.4, mean, f" mean\n {mean:.2f}", va="center", color=GREY, fontsize=9)
    ax.set_xticks(places, tokens, rotation=90, fontsize=9, family="monospace")
    ax.set_xlim(-0.6, len(tokens) - 0.4)
    ax.set_xlabel("token of the text that is being guessed; _ begins a word")
    ax.set_ylabel("α, chance of acceptance")
    ax.set_ylim(0, 1.05)
    return figure


def acceptance_by_temperature(results, k: int) -> plt.Figure:
    """Draw alpha, and the tokens a pass beside the formula, against temperature.

    results  a list of specdec.recorded.Acceptance
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.2), constrained_layout=True)
    left.set_ylabel("α, mean along the texts")
    right.set_ylabel(f"tokens a pass, k = {k}")
    for ax in (left, right):
        tidy(ax)
        ax.set_xlabel("temperature")
    for draft, color, marker in zip(
        dict.fromkeys(r.draft for r in results), (SKY, GREEN), "os", strict=False
    ):
        rows = [r for r in results if r.draft == draft]
        heats = [r.temperature for r in rows]
        style = {"color": color, "marker": marker, "capsize": 3, "label": draft}
        left.errorbar(heats, [r.alpha for r in rows], [r.alpha_error for r in rows], **style)
        style["label"] = f"{draft}, counted"
        right.errorbar(heats, [r.length for r in rows], [r.length_error for r in rows], **style)
        right.plot(
            heats,
            [r.formula for r in rows],
            color=color,
            marker="D",
            fillstyle="none",
            linestyle=":",
            label=f"{draft}, formula",
        )
    for ax in (left, right):
        ax.legend(
            frameon=False, labelcolor=GREY, fontsize=8, ncols=2,
            loc="lower center", bbox_to_anchor=(0.5, 1),
        )  # fmt: skip
    return figure
