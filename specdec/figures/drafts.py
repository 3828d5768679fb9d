"""Still figures of lesson 6: what each draft reaches, and what limits it."""

import matplotlib.pyplot as plt

from specdec.figures import BLUE, GREEN, GREY, ORANGE, SKY, axes

STAGES = (
    ("flat", "if a wide pass cost as much as a narrow one", SKY, "o"),
    ("priced", "with the measured price of a pass", ORANGE, "s"),
    ("ratio", "the clock, against the best plain decoder", BLUE, "D"),
)


def limits_figure(rows, goal: float | None = None) -> plt.Figure:
    """Draw, for each draft, its speedup in three stages: free passes, priced passes, the clock.

    rows  dicts with draft, k, flat, priced and ratio, the fastest first
    goal  a speedup to mark with a line
    """
    figure, ax = axes(8.4, 0.9 + 0.5 * len(rows))
    for place, row in enumerate(rows):
        values = [row[name] for name, *_ in STAGES]
        ax.plot([min(values), max(values)], [-place, -place], color=GREY, linewidth=1)
        for (_, _, colour, mark), value in zip(STAGES, values, strict=True):
            ax.plot(value, -place, mark, color=colour, markersize=8, markeredgecolor=GREY)
        ax.text(max(values) + 0.06, -place, f"clock {row['ratio']:.2f}×", color=GREY, va="center")
    ax.set_yticks([-place for place in range(len(rows))],
                  [f"{row['draft']}, k = {row['k']}" for row in rows])  # fmt: skip
    ax.axvline(1, color=GREY, linestyle=":", linewidth=1)
    if goal is not None:
        ax.axvline(goal, color=GREEN, linestyle="--", linewidth=1.5)
        ax.text(goal, 0.62, f" {goal}×", color=GREY, va="center", fontsize=9)
    for _, label, colour, mark in STAGES:
        ax.plot([], [], mark, color=colour, markeredgecolor=GREY, label=label)
    ax.set_xlabel("times as fast as plain decoding")
    ax.set_ylim(-len(rows) + 0.4, 0.8)
    ax.legend(frameon=False, labelcolor=GREY, fontsize=9, loc="upper center",
              bbox_to_anchor=(0.4, -0.5 / (0.9 + 0.5 * len(rows)) - 0.12), ncols=1)  # fmt: skip
    return figure


def limits_alt(rows) -> str:
    """The alternative text of limits_figure."""
    said = [
        f"{row['draft']}, k = {row['k']}: {row['flat']:.2f} if wide passes were free, "
        f"{row['priced']:.2f} as priced, {row['ratio']:.2f} by the clock."
        for row in rows
    ]
    return "Speedup of each draft in three stages. " + " ".join(said)
