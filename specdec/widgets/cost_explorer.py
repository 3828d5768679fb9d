"""The cost explorer: what a draft is worth for any acceptance, cost, length and batch."""

import math
from typing import NamedTuple

import traitlets

from specdec.widgets.base import CourseWidget, front_end, picture_bundle
from specdec.widgets.question import as_json, as_question

MODELS = ("flat", "curve", "batch")
SLACK = 1e-12
K_MAX, MAX_BATCH = 16, 512
MAX_COST = 0.5
CRITICAL = 150  # lesson 1: 7.0 ms to read the weights, 0.047 ms of arithmetic a place
PAPER_CASES = (
    {"name": "T5-small drafts, translation", "a": 0.75, "c": 0.02, "k": 7, "model": "flat"},
    {"name": "T5-base drafts, translation", "a": 0.80, "c": 0.04, "k": 7, "model": "flat"},
    {"name": "T5-large drafts, translation", "a": 0.82, "c": 0.11, "k": 7, "model": "flat"},
    {"name": "T5-small drafts, sampled", "a": 0.62, "c": 0.02, "k": 7, "model": "flat"},
    {"name": "T5-large drafts, sampled", "a": 0.71, "c": 0.11, "k": 3, "model": "flat"},
    {"name": "A table of word pairs drafts", "a": 0.20, "c": 0.0, "k": 3, "model": "flat"},
)

TEXT = {
    "title": "What is a draft worth?",
    "offline": (
        "Kept from your last visit. It works as it is. Run its cell to start it anew; "
        "then other cells can read it too."
    ),
    "hint": "All costs are in passes: one pass of the target over one place costs 1.",
    "case_label": "Load a case",
    "choose_case": "your own setting",
    "a_label": "Acceptance a",
    "c_label": "Cost c of a draft step",
    "k_label": "Guesses a round, k",
    "batch_label": "Texts in a batch",
    "model_label": "A pass over k + 1 places costs",
    "flat_name": "1, always",
    "curve_name": "as measured",
    "batch_name": "what the batch needs",
    "flat_says": "Reading the weights takes all the time, so more places cost nothing.",
    "curve_says": "As measured with the course's target in plain numpy, one text at a time.",
    "batch_says": (
        "Reading the weights takes as long as computing {critical} places. At k = {k} the guesses "
        "are free up to {free} texts."
    ),
    "tile_speedup": "Speedup",
    "tile_tokens": "Tokens a pass",
    "tile_cost": "Cost of a round",
    "tile_best": "Best k",
    "tile_even": "Pays from a",
    "tile_losing": "Loses from batch",
    "hidden": "?",
    "always_pays": "0, always",
    "never_pays": "never",
    "never_loses": "never",
    "chart_k": "speedup over k",
    "chart_a": "speedup over a",
    "chart_batch": "speedup over the batch",
    "chart_k_label": "Speedup over k. The best k is {best}, with a speedup of {speedup}.",
    "chart_a_label": "Speedup over the acceptance a, at this k. It pays from a = {even}.",
    "chart_batch_label": "Speedup over the batch, at this k. It loses from batch: {losing}.",
    "chart_hidden": "An empty chart: predict first.",
    "plain": "plain decoding",
    "setting": "a {a} · c {c} · k {k}: {speedup}×",
    "pinned": "pinned",
    "signs": "● now · ★ best k · ◆ break-even",
    "pin": "Pin this curve",
    "unpin": "Remove the pin",
    "status_wins": (
        "A round gives {tokens} tokens for a cost of {cost} passes: {speedup} times as fast as "
        "plain decoding."
    ),
    "status_loses": (
        "A round gives {tokens} tokens, but costs {cost} passes: {speedup} times as fast as plain "
        "decoding, so slower."
    ),
    "status_even": "A round gives {tokens} tokens for a cost of {cost} passes: no gain, no loss.",
    "status_plain": "k = 0: nothing is drafted, a pass gives one token. This is plain decoding.",
    "status_best": "Best would be k\u00a0=\u00a0{best}, {best_speedup}\u00a0times.",
    "status_is_best": "No other k is faster.",
    "status_losing": "At k = {k} it loses from {losing} texts on.",
    "status_always_loses": "At k = {k} it loses at every batch.",
    "status_never_loses": "It loses at no batch.",
    "status_locked": "Locked: predict first, then every slider is yours to move.",
    "table": "All k as a table",
    "reset": "Reset",
    "predict": "Predict first",
    "commit": "Show what happens",
    "choose_first": "Choose an answer first.",
    "right": "Right.",
    "wrong": "Not this time.",
    "mark_right": "right",
    "mark_wrong": "wrong",
    "your_choice": "your choice",
}


class ExplorerError(ValueError, traitlets.TraitError):
    """A value that the explorer cannot show; traitlets rolls the change back."""


class Setting(NamedTuple):
    """What the explorer calculates with; costs are in plain passes.

    a, c, k   acceptance, cost of a draft step, guesses a round
    model     how a pass over k + 1 places is priced: one of MODELS
    batch     number of texts decoded together, for "batch"
    critical  places whose arithmetic takes as long as reading the weights, for "batch"
    curve     measured cost of a pass over 1, 2, … places, for "curve"; its length bounds k
    """

    a: float
    c: float
    k: int
    model: str = "flat"
    batch: int = 1
    critical: int = CRITICAL
    curve: tuple = (1.0,) * (K_MAX + 1)


def tokens_per_pass(a, k):
    """Return 1 + a + … + a**k, summed as the JavaScript side does."""
    total, term = 0.0, 1.0
    for _ in range(k + 1):
        total += term
        term *= a
    return total


def verify_cost(s, k):
    """Return the cost of a pass over k + 1 places of each text."""
    if s.model == "curve":
        return s.curve[k]
    if s.model == "flat":
        return 1.0
    load = s.batch / s.critical
    return max(1.0, load * (k + 1)) / max(1.0, load)


def round_cost(s, k):
    """Return the cost of k draft steps and one verification."""
    return k * s.c + verify_cost(s, k)


def speedup_at(s, k):
    """Return the speedup over plain decoding with k guesses a round."""
    return tokens_per_pass(s.a, k) / round_cost(s, k)


def best_k(s):
    """Return the fastest k, the smallest of equals."""
    best = 0
    for k in range(1, len(s.curve)):
        if speedup_at(s, k) > speedup_at(s, best) + SLACK:
            best = k
    return best


def break_even(s):
    """Return the smallest acceptance at which s.k guesses are no slower than none, or None."""
    needed = round_cost(s, s.k) - SLACK
    if tokens_per_pass(1.0, s.k) < needed:
        return None
    if tokens_per_pass(0.0, s.k) >= needed:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if tokens_per_pass(middle, s.k) >= needed:
            high = middle
        else:
            low = middle
    return high


def losing_batch(s):
    """Return the smallest batch at which s.k guesses lose, or None.

    From `critical` texts on nothing changes any more.
    """
    for batch in range(1, s.critical + 1):
        if speedup_at(s._replace(model="batch", batch=batch), s.k) < 1 - SLACK:
            return batch
    return None


def two_places(value):
    """Return a number with two places after the point, halves rounded up as in JavaScript."""
    return f"{math.floor(value * 100 + 0.5 + 1e-9) / 100:.2f}"


def break_even_text(text, s):
    """Return the break-even acceptance in words."""
    start = break_even(s)
    if start is None:
        return text["never_pays"]
    return text["always_pays"] if start == 0 else two_places(start)


def losing_text(text, s):
    """Return the losing batch in words."""
    batch = losing_batch(s)
    return text["never_loses"] if batch is None else str(batch)


def status_sentence(text, s):
    """Return the sentences that say what a setting gives; text is a dict like TEXT."""
    best, speed = best_k(s), speedup_at(s, s.k)
    values = {
        "k": s.k,
        "tokens": two_places(tokens_per_pass(s.a, s.k)),
        "cost": two_places(round_cost(s, s.k)),
        "speedup": two_places(speed),
        "best": best,
        "best_speedup": two_places(speedup_at(s, best)),
        "batch": s.batch,
        "losing": losing_batch(s),
    }
    kind = "loses" if speed < 1 - SLACK else "wins" if speed > 1 + SLACK else "even"
    kinds = ["plain" if s.k == 0 else kind, "is_best" if best == s.k else "best"]
    if s.model == "batch" and s.k > 0:
        lost = values["losing"]
        kinds.append("never_loses" if lost is None else "always_loses" if lost == 1 else "losing")
    return " ".join(text[f"status_{kind}"].format(**values) for kind in kinds)


class CostExplorer(CourseWidget):
    """Sliders for acceptance, cost, k and batch, and what speculative decoding gives there.

    a, c, k   where the sliders stand at first: 0 to 1, 0 to 0.5, 0 to 16
    model     "flat", "curve" or "batch": how a pass over k + 1 places is priced
    batch     texts decoded together, 1 to 512
    critical  places whose arithmetic takes as long as reading all weights once
    curve     17 measured costs of a pass over 1 to 17 places, the first 1; default: the recorded
              one of the course's target
    pinned    a setting to compare with, such as {"a": 0.8, "c": 0.1, "k": 4}
    cases     list of settings with a "name"; default: some of the paper's and the course's pair
    question  with choices: results stay hidden until the learner has committed to one
    choices   list of Choice or (text, reason, right), exactly one of them right
    text      strings to replace in TEXT, for a translation

    A cell can read all of these, and `tokens_per_pass`, `speedup`, `best_k`, `break_even` (an
    acceptance), `losing_batch` and `prediction`. While the explorer is locked these results are
    None, so that no cell gives the answer away.
    Raises ValueError with a sentence when a value does not fit.
    """

    TEXT = TEXT
    _esm, _css = front_end("cost_explorer")

    a = traitlets.Float().tag(sync=True)
    c = traitlets.Float().tag(sync=True)
    k = traitlets.Int().tag(sync=True)
    model = traitlets.Enum(MODELS, "flat").tag(sync=True)
    batch = traitlets.Int(1).tag(sync=True)
    critical = traitlets.Int(CRITICAL).tag(sync=True)
    curve = traitlets.List().tag(sync=True)
    pinned = traitlets.Dict().tag(sync=True)
    cases = traitlets.List().tag(sync=True)
    prediction = traitlets.Unicode("").tag(sync=True)
    question = traitlets.Dict().tag(sync=True)
    start = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        a=0.8,
        c=0.1,
        k=4,
        model="flat",
        batch=1,
        critical=CRITICAL,
        curve=None,
        pinned=None,
        cases=None,
        question=None,
        choices=None,
        text=None,
    ):
        if (question is None) != (choices is None):
            raise ValueError("question and choices belong together: give both or neither")
        if curve is None or cases is None:
            recorded = of_the_course()
            curve = recorded["curve"] if curve is None else curve
            cases = [*PAPER_CASES, *recorded["cases"]] if cases is None else cases
        start = {"a": a, "c": c, "k": k, "model": model, "batch": batch, "pinned": pinned or {}}
        super().__init__(
            text=text,
            critical=critical,
            curve=curve,
            cases=[dict(case) for case in cases],
            question={} if question is None else as_json(as_question(question, choices)),
            start=start,
            **start,
        )

    @property
    def locked(self):
        """True until the learner has committed to a choice; False without a question."""
        return bool(self.question) and not self.prediction

    @property
    def setting(self):
        """The sliders as they stand, as a Setting."""
        return Setting(
            self.a, self.c, self.k, self.model, self.batch, self.critical, tuple(self.curve)
        )

    def _result(self, rule):
        return None if self.locked else rule(self.setting)

    @property
    def tokens_per_pass(self):
        """Mean tokens a pass emits; None while locked."""
        return self._result(lambda s: tokens_per_pass(s.a, s.k))

    @property
    def speedup(self):
        """Speedup over plain decoding; None while locked."""
        return self._result(lambda s: speedup_at(s, s.k))

    @property
    def best_k(self):
        """The fastest k; None while locked."""
        return self._result(best_k)

    @property
    def break_even(self):
        """Acceptance from which this k pays; None while locked, and where none is enough."""
        return self._result(break_even)

    @property
    def losing_batch(self):
        """Batch from which this k loses; None while locked, and where none does."""
        return self._result(losing_batch)

    def describe(self, reveal=False):
        """Return the sentences under the charts.

        A locked explorer tells only that it is locked, unless reveal is True.
        """
        if self.locked and not reveal:
            return self.text["status_locked"]
        return status_sentence(self.text, self.setting)

    def still(self):
        """Return (matplotlib Figure, alternative text) of the explorer as it stands."""
        from specdec.widgets.cost_still import draw_explorer, explorer_alt

        return draw_explorer(self), explorer_alt(self)

    def still_bundle(self):
        """Return the still twin as a PNG with its alternative text."""
        return picture_bundle(*self.still())

    @traitlets.validate("a")
    def _check_a(self, proposal):
        return checked("a", proposal["value"], 0, 1)

    @traitlets.validate("c")
    def _check_c(self, proposal):
        return checked("c", proposal["value"], 0, MAX_COST)

    @traitlets.validate("k")
    def _check_k(self, proposal):
        return checked("k", proposal["value"], 0, K_MAX)

    @traitlets.validate("batch")
    def _check_batch(self, proposal):
        return checked("batch", proposal["value"], 1, MAX_BATCH)

    @traitlets.validate("critical")
    def _check_critical(self, proposal):
        return checked("critical", proposal["value"], 1, 10_000)

    @traitlets.validate("curve")
    def _check_curve(self, proposal):
        curve = [float(cost) for cost in proposal["value"]]
        if len(curve) != K_MAX + 1 or not all(0 < cost < math.inf for cost in curve):
            raise ExplorerError(
                f"curve needs {K_MAX + 1} costs above 0, of passes over 1 to {K_MAX + 1} places; "
                f"got {proposal['value']!r}"
            )
        return curve

    @traitlets.validate("pinned")
    def _check_pinned(self, proposal):
        pinned = dict(proposal["value"])
        if not pinned:
            return pinned
        if not {"a", "c", "k"} <= set(pinned) <= {"a", "c", "k", "model", "batch"}:
            raise ExplorerError(f"pinned needs a, c and k, and may have model and batch: {pinned}")
        checked("a", pinned["a"], 0, 1)
        checked("c", pinned["c"], 0, MAX_COST)
        checked("k", pinned["k"], 0, K_MAX)
        return pinned


def checked(name, value, least, most):
    """Return value when it lies between least and most; ExplorerError otherwise."""
    if not least <= value <= most:
        raise ExplorerError(f"{name} must lie between {least} and {most}, got {value!r}")
    return value


def of_the_course():
    """Return what was recorded of the course's pair: its curve, and its drafts as cases."""
    from specdec.costs import recorded

    data = recorded()
    cases = []
    for name, texts in data["traces"].items():
        right = sum(text.count("1") for text in texts) / sum(map(len, texts))
        cases.append(
            {
                "name": f"This course: {name.replace('_', ', ')}",
                "a": round(right, 2),
                "c": min(round(data["draft cost"][name], 2), MAX_COST),
                "k": 4,
                "model": "curve",
            }
        )
    return {"curve": data["verify cost"], "cases": cases}
