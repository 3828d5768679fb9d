"""Still twin of the draft race, for print and for viewers that run no script."""

import textwrap

from specdec.widgets.cost_explorer import two_places
from specdec.widgets.draft_race import (
    ASKED_K,
    all_numbers,
    given_sentence,
    lane_numbers,
    winner_of,
)
from specdec.widgets.lesson_02_still import (
    FULL,
    MARKS,
    ROW,
    card,
    token,
    token_label,
    token_width,
)
from specdec.widgets.pass_player import marks_of
from specdec.widgets.still import INK, MUTED

WRAP_AT = 125
LABEL = 0.25  # how far the tokens of a lane stand in


def lane_rows(found, pieces) -> list[list[tuple]]:
    """The emitted tokens of a lane as rows of (piece, mark, ends its pass) that fit the card."""
    rows, width = [[]], 0.0
    for one in found.passes:
        marks = marks_of(one)
        for place, mark in zip(one["emitted"], marks, strict=True):
            needed = token_width(token_label(pieces[place], mark)) + 0.06
            if LABEL + width + needed > FULL:
                rows.append([])
                width = 0.0
            rows[-1].append((pieces[place], mark))
            width += needed
        width += 0.12
        rows[-1].append(None)  # the end of a pass
    return rows


def winners_lines(race) -> list[str]:
    """For each text: its winner, its speed, and why."""
    lines = [race.text["question"]]
    for trace in race.texts:
        numbers = all_numbers(trace, ASKED_K, race.prices)
        winner = winner_of(numbers)
        lines.append(
            f"{race.text['text_' + trace['name']]}: {race.text['name_' + winner]}, "
            f"{two_places(numbers[winner].speed)}×. {race.text['how_' + winner]}"
        )
    return lines


def draw_race(race):
    """Return a matplotlib Figure of the whole race of the text shown, and all winners."""
    trace, numbers = race.trace, race.numbers
    lanes = {name: lane_rows(found, trace["pieces"]) for name, found in numbers.items()}
    begins = [
        part
        for line in f"{trace['prompt']} …".splitlines()
        for part in textwrap.wrap(line, WRAP_AT, drop_whitespace=False)
    ]
    begins += textwrap.wrap(given_sentence(race.text, trace), WRAP_AT)
    note = textwrap.wrap(race.text["note"].format(tokens=len(trace["tokens"])), WRAP_AT)
    end = [line for words in winners_lines(race) for line in textwrap.wrap(words, WRAP_AT)]
    rows = sum(len(lane) + 1.35 for lane in lanes.values())
    figure, axes = card(rows + 0.6 * (len(begins) + len(note) + len(end)) + 2.4, race.text["title"])
    y = 0.25
    for line in begins:
        axes.text(0, y, line, fontsize=10, style="italic", color=INK, va="center")
        y += 0.6 * ROW
    y += 0.3 * ROW
    winner = winner_of(numbers)
    for name, lane in lanes.items():
        y = draw_lane(axes, y, race, name, lane, name == winner)
    legend = [f"{sign} {race.text[mark]}" for mark, sign in MARKS.items() if mark != "rejected"]
    axes.text(0, y, "     ".join(legend), fontsize=9, color=MUTED, va="center")
    y += 0.9 * ROW
    for line in note:
        axes.text(0, y, line, fontsize=9, color=MUTED, va="center")
        y += 0.6 * ROW
    y += 0.3 * ROW
    for line in end:
        axes.text(0, y, line, fontsize=9.5, color=INK, va="center")
        y += 0.6 * ROW
    return figure


def draw_lane(axes, y: float, race, name: str, lane, fastest: bool) -> float:
    """Draw one draft's name, numbers and tokens; return where the next lane begins."""
    numbers = lane_numbers(race.text, race.numbers[name], race.prices["guess"][name])
    said = "   ".join(numbers + ([race.text["fastest"]] if fastest else []))
    axes.text(0, y, race.text[f"name_{name}"], fontsize=10, weight="bold", color=INK, va="center")
    axes.text(2.1, y, said, fontsize=9.5, color=INK if fastest else MUTED, va="center")
    for row in lane:
        y += ROW
        x = LABEL
        for entry in row:
            if entry is None:
                axes.plot([x, x], [y - 0.13, y + 0.13], color=MUTED, linewidth=0.8)
                x += 0.12
            else:
                x = token(axes, x, y, *entry)
    return y + 1.35 * ROW


def race_alt(race) -> str:
    """The alternative text: the text, each draft's numbers, and the winners."""
    parts = [f"{race.text['title']}. The text begins with “{race.trace['prompt']}”, k = {race.k}."]
    for name, found in race.numbers.items():
        numbers = lane_numbers(race.text, found, race.prices["guess"][name])
        parts.append(f"{race.text['name_' + name]}: {', '.join(numbers)}.")
    given = given_sentence(race.text, race.trace)
    return " ".join([*parts, *filter(None, [given]), *winners_lines(race)])
