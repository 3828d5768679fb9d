"""The sampling lane: one token of speculative sampling, its right rule and four wrong ones."""

import math

import numpy as np
import traitlets

from specdec.widgets.base import Lane, front_end
from specdec.widgets.question import TEXT as QUESTION_TEXT

MIN_TOKENS, MAX_TOKENS = 3, 8
RULES = ("right", "from_p", "threshold", "always", "inverted")
# A sum of probabilities may miss 1 by this much, which is what float32 leaves.
SUM_SLACK = 1e-6
# Two laws closer than this, in total variation, are the same law.
SAME_LAW = 1e-9
WORD = 0xFFFFFFFF

TEXT = {
    "title": "One token of speculative sampling",
    "offline": (
        "Kept from your last visit. It works as it is. Run its cell to start it anew; "
        "then other cells can read it too."
    ),
    "hint": (
        "All numbers are counts of 100. Drag a bar or use the arrow keys on it: the other tokens "
        "share the rest in the proportions they had."
    ),
    "set": "You set",
    "set_note": "target p, draft q",
    "out": "What comes out",
    "out_note": "the line marks p",
    "p": "p",
    "q": "q",
    "exact": "exact",
    "runs": "runs",
    "target_of": "Target p of {token}",
    "draft_of": "Draft q of {token}",
    "of_100": "{n} of 100",
    "exact_label": (
        "{token}: {law} of 100 come out, {kept} kept and {back} put back; the target wants {p}"
    ),
    "runs_label": "{token}: {runs} runs gave {share} of 100; p is {p}, give or take {error}",
    "no_runs_label": "{token}: no run yet",
    "hidden_label": "{token}: not shown yet",
    "as_p": "= p",
    "too_many": "{n} too many",
    "too_few": "{n} too few",
    "within": "✓",
    "outside": "outside",
    "none": "–",
    "hidden": "?",
    "kept": "kept",
    "thrown": "thrown away",
    "back": "put back",
    "missing": "missing",
    "alpha": "α = {alpha}",
    "alpha_note": "Σ min(p, q) = 1 − TV(p, q)",
    "temperature_p": "Temperature of p",
    "temperature_q": "Temperature of q",
    "temperature_note": "1: as you set it, 0: the likeliest only",
    "rule": "Rule",
    "right_name": "✓ right",
    "from_p_name": "✗ redraw from p",
    "threshold_name": "✗ keep if p ≥ q",
    "always_name": "✗ keep all",
    "inverted_name": "✗ ratio q/p",
    "right_rule": "Keep a guess with chance `min(1, p/q)`, else draw from what p has above q.",
    "from_p_rule": "Keep a guess with chance `min(1, p/q)`, else draw from the whole of p.",
    "threshold_rule": "Keep a guess if `p ≥ q`, else draw from what p has above q.",
    "always_rule": "Keep every guess.",
    "inverted_rule": "Keep a guess with chance `min(1, q/p)`, else draw from what p has above q.",
    "status_right": (
        "Of 100 guesses {kept} are kept. The {thrown} thrown away ({over}) are put back exactly "
        "where the draft had proposed too little ({under}). Out comes {law}: exactly p."
    ),
    "status_same": (
        "p and q are the same, so every guess is kept and nothing is left to put back. "
        "Out comes {law}: exactly p."
    ),
    "status_from_p": (
        "The {thrown} guesses thrown away are drawn again from the whole of p, so a part lands "
        "where enough was kept already. Out comes {law} instead of {p}: {bias} of 100 in the "
        "wrong place."
    ),
    "status_threshold": (
        "Where the draft proposed too much, every guess is thrown away, also the part that was "
        "due. Out comes {law} instead of {p}: {bias} of 100 in the wrong place."
    ),
    "status_always": (
        "Nothing is thrown away, so the draft's own law comes out. Out comes {law} instead of "
        "{p}: {bias} of 100 in the wrong place."
    ),
    "status_inverted": (
        "Upside down, the ratio throws away what the draft proposed too rarely and keeps what it "
        "proposed too often. Out comes {law} instead of {p}: {bias} of 100 in the wrong place."
    ),
    "status_lucky": (
        "This rule is wrong, but with these p and q it gives p all the same. Change a bar to see "
        "it miss."
    ),
    "status_locked": "Locked: predict first, then every bar and every rule is yours to change.",
    "run_one": "Run 1",
    "run_some": "Run 1,000",
    "run_many": "Run 10,000",
    "clear": "Clear runs",
    "story_none": "No run yet. A run is one token: a guess drawn from q, then the rule.",
    "story_one_kept": "The draft drew {guess}, which is kept with chance {chance} in 100: kept.",
    "story_one_back": (
        "The draft drew {guess}, which is kept with chance {chance} in 100: thrown away. "
        "Drawn again: {out}."
    ),
    "story_one_run": "1 run so far.",
    "story": (
        "{runs} runs: {share} of 100 guesses kept. {within} of {tokens} tokens lie within ±2 "
        "standard errors of p (the bracket); chance alone leaves 1 in 20 outside."
    ),
    "table": "All numbers as a table",
    "token": "token",
    "sum": "sum",
    "reset": "Reset",
    "predict": "Predict first",
    "commit": "Show what happens",
    **QUESTION_TEXT,
}


class SamplingError(ValueError, traitlets.TraitError):
    """A value that the sampling lane cannot show; traitlets rolls the change back."""


def keep_chances(p, q, rule="right"):
    """Return the chance that each token, once drawn from q, is kept.

    p, q  arrays of V probabilities: the target's and the draft's
    rule  one of RULES

    A token that q never draws has chance 0.
    """
    p, q = np.asarray(p, float), np.asarray(q, float)
    drawn = q > 0
    chances = np.zeros(len(q))
    if rule == "always":
        chances[drawn] = 1.0
    elif rule == "threshold":
        chances[drawn] = p[drawn] >= q[drawn]
    elif rule == "inverted":
        chances[drawn] = q[drawn] / np.maximum(p[drawn], q[drawn])
    else:
        chances[drawn] = np.minimum(p[drawn] / q[drawn], 1.0)
    return chances


def residual(p, q):
    """Return what p has above q as a distribution over V tokens; p itself where they are equal."""
    above = np.maximum(np.asarray(p, float) - np.asarray(q, float), 0)
    total = above.sum()
    return above / total if total > 0 else np.asarray(p, float)


def redraw(p, q, rule="right"):
    """Return the distribution that a rule draws from after a rejection, V probabilities."""
    return np.asarray(p, float) if rule == "from_p" else residual(p, q)


def masses(p, q, rule="right"):
    """Return what becomes of the draft's probability under a rule.

    Returns a dict of arrays of V probabilities: "kept" and "thrown" add up to q, and "kept" and
    "back" to "law", the exact distribution of the token that comes out.
    """
    kept = np.asarray(q, float) * keep_chances(p, q, rule)
    thrown = np.maximum(np.asarray(q, float) - kept, 0)
    back = thrown.sum() * redraw(p, q, rule)
    return {"kept": kept, "thrown": thrown, "back": back, "law": kept + back}


def output_law(p, q, rule="right"):
    """Return the exact distribution of the token that comes out under a rule."""
    return masses(p, q, rule)["law"]


def overlap(p, q):
    """Return α = Σ min(p, q), which is 1 minus the total variation distance of p and q."""
    return float(np.minimum(p, q).sum())


def uniforms(state):
    """Yield (number in [0, 1), next state) of the generator mulberry32, for ever.

    state  a whole number of 32 bits; the JavaScript side has the same generator
    """
    while True:
        state = (state + 0x6D2B79F5) & WORD
        mixed = ((state ^ state >> 15) * (state | 1)) & WORD
        mixed ^= (mixed + (((mixed ^ mixed >> 7) * (mixed | 61)) & WORD)) & WORD
        yield (mixed ^ mixed >> 14) / 2**32, state


def draw(distribution, u):
    """Return the index of the token at which the running sum of the distribution passes u."""
    last = 0
    for token, share in enumerate(distribution):
        if share > 0:
            last = token
            if u < share:
                return token
        u -= share
    return last


def simulate(p, q, rule, runs, state):
    """Draw `runs` tokens one by one, as a decoder would.

    Returns (counts, kept, state): how often each token came out, how many guesses were kept, and
    where the generator stands afterwards.
    """
    chances, again = keep_chances(p, q, rule).tolist(), redraw(p, q, rule).tolist()
    numbers = uniforms(state)
    counts, kept = [0] * len(p), 0
    for _ in range(runs):
        (first, _), (second, _), (third, state) = next(numbers), next(numbers), next(numbers)
        token = draw(q, first)
        if second < chances[token]:
            kept += 1
        else:
            token = draw(again, third)
        counts[token] += 1
    return counts, kept, state


def of_100(share):
    """Return a probability as a count of 100 in words: "40", or "13.1" where it is not whole."""
    tenths = math.floor(share * 1000 + 0.5 + 1e-9)
    return f"{tenths / 10:g}"


def listed(tokens, shares, least=0.0):
    """Return tokens with their counts of 100, those above `least` only: "mat 50, rug 30"."""
    pairs = zip(tokens, shares, strict=True)
    return ", ".join(f"{token} {of_100(share)}" for token, share in pairs if share > least)


def status_sentence(text, tokens, p, q, rule):
    """Return the sentence that says what comes out under a rule and why; text is like TEXT."""
    p, q = np.asarray(p, float), np.asarray(q, float)
    parts = masses(p, q, rule)
    bias = np.abs(parts["law"] - p).sum() / 2
    kind = f"status_{rule}"
    if rule == "right" and overlap(p, q) > 1 - SAME_LAW:
        kind = "status_same"
    elif rule != "right" and bias < SAME_LAW:
        kind = "status_lucky"
    return text[kind].format(
        kept=of_100(parts["kept"].sum()),
        thrown=of_100(parts["thrown"].sum()),
        over=listed(tokens, q - p, SAME_LAW),
        under=listed(tokens, p - q, SAME_LAW),
        law=listed(tokens, parts["law"], -1),
        p=", ".join(map(of_100, p)),
        bias=of_100(bias),
    )


class SamplingLane(Lane):
    """One token of speculative sampling: p, q, what is kept, thrown away and put back.

    tokens    3 to 8 different words
    p, q      the target's and the draft's probabilities of them, each summing to 1
    question  with choices: results stay hidden until the learner has committed to one
    choices   list of Choice or (text, reason, right), exactly one of them right
    text      strings to replace in TEXT, for a translation
    seed      where the generator of the runs starts, 0 to 2**32 - 1

    A cell can read `p`, `q`, `rule` (one of RULES), `alpha`, `law` (the exact distribution of what
    comes out), `counts` (what the runs gave, cleared by every change of p, q or rule), `kept` (how
    many of the runs kept the guess) and `prediction`. While the lane is locked `alpha` is None and
    `law` is empty, so that no cell gives the answer away.
    Raises ValueError with a sentence when tokens or probabilities do not fit.
    """

    TEXT = TEXT
    _esm, _css = front_end("sampling_lane")

    tokens = traitlets.List().tag(sync=True)
    p = traitlets.List().tag(sync=True)
    q = traitlets.List().tag(sync=True)
    rule = traitlets.Enum(RULES, "right").tag(sync=True)
    counts = traitlets.List().tag(sync=True)
    kept = traitlets.Int(0).tag(sync=True)
    # What the temperatures work on: the bars as the learner set them by hand.
    base = traitlets.Dict().tag(sync=True)
    temperature = traitlets.Dict().tag(sync=True)
    stream = traitlets.Int(0).tag(sync=True)
    start = traitlets.Dict().tag(sync=True)
    # Worked out from p, q and rule, here and once more by the front end: never sent.
    alpha = traitlets.Float(None, allow_none=True)
    law = traitlets.List()

    def __init__(self, tokens, p, q, question=None, choices=None, text=None, seed=1):
        if not 0 <= seed <= WORD:
            raise ValueError(f"seed is a whole number from 0 to {WORD}, got {seed!r}")
        tokens = checked_tokens(tokens)
        p, q = checked_law(p, tokens, "p"), checked_law(q, tokens, "q")
        super().__init__(
            text=text,
            tokens=tokens,
            p=p,
            q=q,
            question=question,
            choices=choices,
            base={"p": p, "q": q},
            temperature={"p": 1, "q": 1},
            counts=[0] * len(tokens),
            stream=int(seed),
            start={"p": p, "q": q, "stream": int(seed)},
        )
        self._settle()

    def sentence(self):
        """Return what comes out under this rule and why."""
        return status_sentence(self.text, self.tokens, self.p, self.q, self.rule)

    def still(self):
        """Return (matplotlib Figure, alternative text) of the lane as it stands, results shown."""
        from specdec.widgets.sampling_still import draw_sampling, sampling_alt

        return draw_sampling(self), sampling_alt(self)

    @traitlets.validate("p", "q")
    def _check_law(self, proposal):
        return checked_law(proposal["value"], self.tokens, proposal["trait"].name)

    @traitlets.validate("counts")
    def _check_counts(self, proposal):
        counts = list(proposal["value"])
        whole = all(isinstance(count, int) and count >= 0 for count in counts)
        if len(counts) != len(self.tokens) or not whole:
            raise SamplingError(
                f"counts needs {len(self.tokens)} whole numbers, one a token; got {counts!r}"
            )
        return counts

    @traitlets.observe("p", "q", "rule")
    def _forget_runs(self, _change):
        self.counts, self.kept = [0] * len(self.tokens), 0

    @traitlets.observe("p", "q", "rule", "prediction")
    def _settle(self, _change=None):
        if self.locked:
            self.alpha, self.law = None, []
            return
        self.alpha = overlap(self.p, self.q)
        self.law = output_law(self.p, self.q, self.rule).tolist()


def checked_tokens(tokens):
    """Return tokens as a list of words; SamplingError when they are not 3 to 8 different ones."""
    if isinstance(tokens, str):
        raise SamplingError(f"tokens is a list of words, got {tokens!r}")
    words = [str(token) for token in tokens]
    if not MIN_TOKENS <= len(words) <= MAX_TOKENS:
        raise SamplingError(f"tokens needs {MIN_TOKENS} to {MAX_TOKENS} words, it has {len(words)}")
    if len(set(words)) < len(words) or not all(word.strip() for word in words):
        raise SamplingError(f"every token needs a word of its own, got {words!r}")
    return words


def checked_law(values, tokens, name):
    """Return values as plain floats; SamplingError says why they are no distribution."""
    try:
        law = [float(value) for value in values]
    except (TypeError, ValueError):
        raise SamplingError(f"{name} is a list of probabilities, got {values!r}") from None
    if len(law) != len(tokens):
        raise SamplingError(
            f"{name} needs {len(tokens)} probabilities, one a token; it has {len(law)}"
        )
    for token, share in zip(tokens, law, strict=True):
        if not 0 <= share < math.inf:
            raise SamplingError(f"{name} gives {token!r} the probability {share:g}")
    if abs(sum(law) - 1) > SUM_SLACK:
        raise SamplingError(f"{name} sums to {sum(law):g}; probabilities sum to 1")
    return law
