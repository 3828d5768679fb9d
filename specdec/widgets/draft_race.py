"""The draft race: five drafts guess the same text, pass by pass, and each is priced."""

import json
import math
from pathlib import Path
from typing import NamedTuple

import traitlets

from specdec.trained.traces import MAX_DRAFT, passes_of
from specdec.widgets.base import CourseWidget, front_end, picture_bundle
from specdec.widgets.cost_explorer import two_places

RECORDED = Path(__file__).parents[1] / "data" / "draft_race.json"
TEXTS = ("prose", "copying", "code")
DRAFTS = ("n-gram", "prompt lookup", "small model", "distilled model", "heads")
ASKED_K = 4  # the question is about this many guesses a pass

TEXT = {
    "title": "Five drafts, one text",
    "offline": (
        "Kept from your last visit. It works as it is. Run its cell to start it anew; "
        "then other cells can read it too."
    ),
    "predict": "Predict first",
    "question": "Which draft makes the target fastest? Place a winner for each text.",
    "terms": "Every draft may guess {k} tokens a pass. Each guess and each pass has its price.",
    "choose": "choose a draft",
    "choose_all": "Place a winner for every text first.",
    "commit": "Show the race",
    "text_label": "Text",
    "text_prose": "Free prose",
    "text_copying": "Copying, with two words changed",
    "text_code": "Code: a list of ships",
    "name_n-gram": "n-gram",
    "name_prompt lookup": "prompt lookup",
    "name_small model": "small model",
    "name_distilled model": "distilled model",
    "name_heads": "heads on the target",
    "how_n-gram": (
        "A table of what most often follows two tokens in books: almost free, and blind to all "
        "that stands further back."
    ),
    "how_prompt lookup": (
        "It copies what followed these tokens earlier in this very text: almost free, and right "
        "while the text repeats itself. Without such a place it guesses nothing."
    ),
    "how_small model": (
        "One layer, learnt from books. It reads the whole text, and pays for a pass of its own at "
        "each guess."
    ),
    "how_distilled model": (
        "The same small model, taught by the target: it guesses what the target says, not what "
        "the book says. It costs as much."
    ),
    "how_heads": (
        "One matrix for each place ahead, on the row that the target has just computed: cheap, but "
        "each head guesses without knowing what the head before it said."
    ),
    "verdict_right": (
        "{name}: {winner}, as you said. It is {speed}× as fast as plain decoding, with {tokens} "
        "tokens a pass. {how}"
    ),
    "verdict_wrong": (
        "{name}: {winner}, {speed}× as fast as plain decoding, with {tokens} tokens a pass. {how} "
        "You placed {choice}: {choice_speed}×. {choice_how}"
    ),
    "length_label": "Guesses a pass, k",
    "passes": "Passes shown",
    "back": "Back",
    "next": "Next pass",
    "all": "All passes",
    "alpha": "α {value}",
    "cost": "c {value}",
    "tokens": "{value} tokens a pass",
    "speed": "{value}×",
    "fastest": "★ fastest",
    "no_guess": "–",
    "lane_name": "{draft}: {numbers}",
    "done": "{passes} passes",
    "accepted": "accepted guess",
    "corrected": "correction",
    "bonus": "bonus",
    "plain": "without a guess",
    "rejected": "thrown away",
    "note": (
        "α: accepted share of the guesses that were tested. c: price of a guess, in passes of the "
        "target. ×: {tokens} tokens, over the price of all passes and guesses; a pass over more "
        "rows costs more, as measured."
    ),
    "given": (
        "This text is given. Our small target would choose only {share} % of its tokens itself: "
        "read it as the text of a larger target that can write such things. The guesses and the "
        "prices are our drafts' own."
    ),
    "status_locked": "Locked: place a winner for each text, then watch the race.",
    "status_start": "No pass yet, with k = {k}: all five wait for the target's first pass.",
    "status_going": "After {n} of the target's passes, of {total} tokens: {places}.",
    "status_end": (
        "All are through. Fastest: {winner}, {speed}× plain decoding. Fewest passes: {fewest}, "
        "{passes} for {total} tokens."
    ),
}


def three_places(value: float) -> str:
    """Return a number with three places after the point, halves rounded up as in JavaScript."""
    return f"{math.floor(value * 1000 + 0.5 + 1e-9) / 1000:.3f}"


class Numbers(NamedTuple):
    """What a draft reaches on a text: alpha is None when nothing was guessed."""

    passes: list
    alpha: float | None
    tokens_per_pass: float
    speed: float


def numbers_of(tokens: list, guesses: list, k: int, pass_costs: list, guess_cost: float) -> Numbers:
    """Play a draft on a text, and price it.

    tokens, guesses  as in passes_of
    pass_costs       cost of a pass of the target over 1, 2, … rows, in passes over one
    guess_cost       cost of a guess, in the same unit
    """
    passes = passes_of(tokens, guesses, k)
    accepted = sum(one["accepted"] for one in passes)
    tested = sum(min(one["accepted"] + 1, len(one["drafted"])) for one in passes)
    cost = 0.0
    for one in passes:
        cost += pass_costs[len(one["drafted"])] + guess_cost * len(one["drafted"])
    return Numbers(
        passes,
        accepted / tested if tested else None,
        len(tokens) / len(passes),
        len(tokens) / cost,
    )


def all_numbers(trace: dict, k: int, prices: dict) -> dict[str, Numbers]:
    """The numbers of every draft on a recorded text."""
    return {
        name: numbers_of(trace["tokens"], guesses, k, prices["pass"], prices["guess"][name])
        for name, guesses in trace["drafts"].items()
    }


def winner_of(numbers: dict[str, Numbers]) -> str:
    """The fastest draft; of equals, the first."""
    return max(numbers, key=lambda name: numbers[name].speed)


def written(numbers: Numbers, shown: int) -> int:
    """How many tokens are out after so many passes."""
    return sum(len(one["emitted"]) for one in numbers.passes[:shown])


def verdict(text: dict, trace: dict, prices: dict, choice: str) -> tuple[bool, str]:
    """Whether a placed winner is right, and the sentence with the reason."""
    numbers = all_numbers(trace, ASKED_K, prices)
    winner = winner_of(numbers)
    right = choice == winner
    return right, text["verdict_right" if right else "verdict_wrong"].format(
        name=text[f"text_{trace['name']}"],
        winner=text[f"name_{winner}"],
        speed=two_places(numbers[winner].speed),
        tokens=two_places(numbers[winner].tokens_per_pass),
        how=text[f"how_{winner}"],
        choice=text[f"name_{choice}"],
        choice_speed=two_places(numbers[choice].speed),
        choice_how=text[f"how_{choice}"],
    )


def given_sentence(text: dict, trace: dict) -> str:
    """What is to be known of a text that the target did not write; empty for its own."""
    if trace["own_share"] == 1:
        return ""
    return text["given"].format(share=math.floor(100 * trace["own_share"] + 0.5))


def status_sentence(text: dict, numbers: dict[str, Numbers], shown: int, k: int) -> str:
    """The sentence below the lanes."""
    total = written(next(iter(numbers.values())), 10_000)
    if shown == 0:
        return text["status_start"].format(k=k)
    if shown < max(len(found.passes) for found in numbers.values()):
        places = [f"{text[f'name_{n}']} {written(found, shown)}" for n, found in numbers.items()]
        return text["status_going"].format(n=shown, total=total, places=", ".join(places))
    winner = winner_of(numbers)
    fewest = min(numbers, key=lambda name: len(numbers[name].passes))
    return text["status_end"].format(
        winner=text[f"name_{winner}"],
        speed=two_places(numbers[winner].speed),
        fewest=text[f"name_{fewest}"],
        passes=len(numbers[fewest].passes),
        total=total,
    )


def lane_numbers(text: dict, found: Numbers, cost: float) -> list[str]:
    """What stands beside a draft's name."""
    alpha = text["no_guess"] if found.alpha is None else two_places(found.alpha)
    return [
        text["alpha"].format(value=alpha),
        text["cost"].format(value=three_places(cost)),
        text["tokens"].format(value=two_places(found.tokens_per_pass)),
        text["done"].format(passes=len(found.passes)),
        text["speed"].format(value=two_places(found.speed)),
    ]


class DraftRace(CourseWidget):
    """Recorded texts of the trained target, each guessed by five drafts.

    texts   recorded texts: dicts with name, prompt, pieces, tokens, drafts {name: guesses}, and
            own_share, the share of the tokens that the target would choose: 1 where it wrote them
    prices  {"pass": cost over 1, 2, … rows, "guess": {draft: cost}}, in passes over one row
    text    strings to replace in TEXT, for a translation

    A cell can read and set `picks`, {text: the draft placed as its winner, or None}, `shown_text`,
    `k` and `shown`, the number of passes shown. Nothing else is told until all picks are made;
    then `winners`, {text: draft}, and for the text and k shown `alpha`, `tokens_per_pass`, `cost`
    and `speed`, each {draft: number}.
    """

    TEXT = TEXT
    _esm, _css = front_end("passes", "draft_race")

    texts = traitlets.List().tag(sync=True)
    prices = traitlets.Dict().tag(sync=True)
    picks = traitlets.Dict().tag(sync=True)
    shown_text = traitlets.Unicode().tag(sync=True)
    k = traitlets.Int(ASKED_K).tag(sync=True)
    shown = traitlets.Int(0).tag(sync=True)
    asked_k = traitlets.Int(ASKED_K).tag(sync=True)

    def __init__(self, text=None, texts=None, prices=None):
        if texts is None or prices is None:
            found = json.loads(RECORDED.read_text(encoding="utf-8"))
            texts, prices = texts or found["texts"], prices or found["prices"]
        super().__init__(
            text=text,
            texts=texts,
            prices=prices,
            shown_text=texts[0]["name"],
            picks={one["name"]: None for one in texts},
        )

    @property
    def locked(self) -> bool:
        """True until a winner is placed for every text."""
        return not all(self.picks.values())

    @property
    def trace(self) -> dict:
        """The text shown."""
        return next(one for one in self.texts if one["name"] == self.shown_text)

    @property
    def numbers(self) -> dict[str, Numbers]:
        """All drafts' Numbers for the text and k shown, locked or not."""
        return all_numbers(self.trace, self.k, self.prices)

    @property
    def winners(self) -> dict[str, str] | None:
        """The fastest draft of each text at the k of the question; None while locked."""
        if self.locked:
            return None
        return {
            one["name"]: winner_of(all_numbers(one, ASKED_K, self.prices)) for one in self.texts
        }

    def _told(self, name: str) -> dict | None:
        if self.locked:
            return None
        return {draft: getattr(found, name) for draft, found in self.numbers.items()}

    @property
    def alpha(self) -> dict | None:
        """Accepted share of the tested guesses, for each draft."""
        return self._told("alpha")

    @property
    def tokens_per_pass(self) -> dict | None:
        """Tokens a pass of the target, for each draft."""
        return self._told("tokens_per_pass")

    @property
    def speed(self) -> dict | None:
        """How many times as fast as plain decoding, as priced, for each draft."""
        return self._told("speed")

    @property
    def cost(self) -> dict | None:
        """What a guess costs, in passes of the target, for each draft."""
        return None if self.locked else dict(self.prices["guess"])

    def describe(self, reveal: bool = False) -> str:
        """The sentence below the lanes; a locked race tells only that it is locked."""
        if self.locked and not reveal:
            return self.text["status_locked"]
        return status_sentence(self.text, self.numbers, self.shown, self.k)

    def still(self):
        """Return (matplotlib Figure, alternative text): the whole race of the text shown."""
        from specdec.widgets.race_still import draw_race, race_alt

        return draw_race(self), race_alt(self)

    def still_bundle(self):
        """Return the still twin as a PNG with its alternative text."""
        return picture_bundle(*self.still())

    @traitlets.validate("picks")
    def _check_picks(self, proposal):
        names = [one["name"] for one in self.texts]
        drafts = {*self.prices["guess"], None}
        if sorted(proposal["value"]) != sorted(names):
            raise traitlets.TraitError(f"picks needs one entry for each of {', '.join(names)}")
        wrong = [pick for pick in proposal["value"].values() if pick not in drafts]
        if wrong:
            known = ", ".join(self.prices["guess"])
            raise traitlets.TraitError(f"{wrong[0]!r} is no draft of the race; choose from {known}")
        return proposal["value"]

    @traitlets.validate("k", "shown")
    def _check_number(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        last = {"k": MAX_DRAFT, "shown": 10_000}[name]
        if not 0 <= value <= last:
            raise traitlets.TraitError(f"{name} must lie in 0 to {last}, got {value}")
        return value

    @traitlets.validate("shown_text")
    def _check_text(self, proposal):
        names = [one["name"] for one in self.texts]
        if proposal["value"] not in names:
            raise traitlets.TraitError(f"shown_text must be one of {', '.join(names)}")
        return proposal["value"]
