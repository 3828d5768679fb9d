"""The draft-and-verify lane: one round of greedy speculative decoding, token by token."""

import operator
from contextlib import contextmanager

import traitlets

from specdec.widgets.base import Lane, front_end
from specdec.widgets.question import TEXT as QUESTION_TEXT

MAX_DRAFT = 8
MARKS = {"accepted": "✓", "corrected": "✎", "discarded": "✗", "bonus": "+"}

TEXT = {
    "title": "One round of draft and verify",
    "offline": (
        "Kept from your last visit. It works as it is. Run its cell to start it anew; "
        "then other cells can read it too."
    ),
    "place": "Place",
    "bonus_place": "bonus",
    "draft": "Draft guesses",
    "guesses": "{n} tokens, cheap",
    "guesses_one": "1 token, cheap",
    "target": "Target answers",
    "answers": "{n} tokens, ONE pass",
    "answers_one": "1 token, ONE pass",
    "verdict": "Verdict",
    "out": "Emitted",
    "came_out": "{n} tokens",
    "came_out_one": "1 token",
    "accepted": "accepted",
    "corrected": "corrected",
    "discarded": "discarded",
    "bonus": "bonus",
    "hidden": "not shown yet",
    "no_guess": "no guess",
    "place_group": "Place {n}",
    "bonus_group": "Place {n}, after all guesses",
    "pick_label": "Target's answer at place {n}",
    "draft_label": "Draft's guess at place {n}",
    "length_label": "Guesses a round, k",
    "asked_after": "asked after {tokens}, a text that will not exist",
    "status_rejected": (
        "{accepted} accepted, {emitted} emitted: {tokens}. At place {place} the target wanted "
        "{wanted}, so its own token replaces the guess {guess} and the rest is thrown away."
    ),
    "status_full": (
        "{accepted} accepted, {emitted} emitted: {tokens}. Every guess was right, so the target's "
        "last answer {wanted} comes on top: the bonus."
    ),
    "status_plain": (
        "0 accepted, 1 emitted: {tokens}. Nothing was guessed (k = 0), so the pass gives one "
        "token, the target's own. This is plain decoding."
    ),
    "status_locked": "Locked: predict first, then every token of the target is yours to change.",
    "reset": "Reset",
    "predict": "Predict first",
    "commit": "Show what happens",
    **QUESTION_TEXT,
}


class LaneError(ValueError, traitlets.TraitError):
    """A value that the lane cannot show; traitlets rolls the change back."""


def verdicts(draft, picks):
    """Return what becomes of each of the k + 1 places of a round, and the tokens that come out.

    draft  list of k drafted tokens
    picks  list of k + 1 tokens, the target's answers

    Returns (marks, emitted): marks is a list of k + 1 words out of MARKS.
    """
    from specdec.reference.lesson_01 import accepted_count, verify_greedy

    emitted = verify_greedy(draft, picks)
    accepted = accepted_count(draft, picks)
    last = "bonus" if accepted == len(draft) else "corrected"
    marks = ["accepted"] * accepted + [last] + ["discarded"] * (len(draft) - accepted)
    return marks, emitted


def status_sentence(text, draft, picks):
    """Return the sentence that says what a round gives and why; text is a dict like TEXT."""
    marks, emitted = verdicts(draft, picks)
    accepted = len(emitted) - 1
    kind = "status_rejected"
    if marks[-1] == "bonus":
        kind = "status_full" if draft else "status_plain"
    return text[kind].format(
        accepted=accepted,
        emitted=len(emitted),
        tokens=spaced(emitted),
        place=accepted + 1,
        wanted=emitted[-1],
        guess=draft[accepted] if accepted < len(draft) else "",
    )


def asked_after(text, draft, picks):
    """Return the caption of the answers that no longer count, or "" when all count."""
    marks, emitted = verdicts(draft, picks)
    if "discarded" not in marks:
        return ""
    return text["asked_after"].format(tokens=spaced(draft[: len(emitted)]))


def spaced(tokens):
    """Return tokens as one text, a space between two."""
    return " ".join(str(token) for token in tokens)


def token_list(vocabulary):
    """Return the tokens to choose from: 0 to vocabulary - 1, or the given words as a list."""
    if isinstance(vocabulary, str):
        raise ValueError(f"vocabulary is a number or a list of words, got {vocabulary!r}")
    try:
        tokens = list(range(operator.index(vocabulary)))
    except TypeError:
        tokens = [str(word) for word in vocabulary]
    if len(tokens) < 2 or len(set(tokens)) < len(tokens):
        raise ValueError(f"vocabulary needs at least two different tokens, got {vocabulary!r}")
    return tokens


class DraftLane(Lane):
    """One round: the draft's k guesses above the target's k + 1 answers from one pass.

    draft        list of k tokens, 0 <= k <= 8
    target_next  list of k + 1 tokens, the target's answer at each place
    question     with choices: the lane stays locked until the learner has committed to one
    choices      list of Choice or (text, reason, right), exactly one of them right
    edit_draft   True lets the learner change the draft and its length too
    vocabulary   number of tokens (0, 1, 2, ...) or a list of words
    text         strings to replace in TEXT, for a translation

    A cell can read `draft`, `picks` (the target's answers as they stand), `accepted`, `emitted`
    and `prediction`. While the lane is locked `accepted` is None and `emitted` is empty, so that
    no cell gives the answer away.
    Raises ValueError with a sentence when the lengths or tokens do not fit.
    """

    TEXT = TEXT
    _esm, _css = front_end("draft_lane")

    draft = traitlets.List().tag(sync=True)
    picks = traitlets.List().tag(sync=True)
    accepted = traitlets.Int(None, allow_none=True).tag(sync=True)
    emitted = traitlets.List().tag(sync=True)
    tokens = traitlets.List().tag(sync=True)
    edit_draft = traitlets.Bool(False).tag(sync=True)
    start = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        draft,
        target_next,
        question=None,
        choices=None,
        edit_draft=False,
        vocabulary=10,
        text=None,
    ):
        tokens = token_list(vocabulary)
        draft, picks = checked_round(draft, target_next, tokens)
        super().__init__(
            text=text,
            tokens=tokens,
            draft=draft,
            picks=picks,
            question=question,
            choices=choices,
            edit_draft=bool(edit_draft),
            start={"draft": draft, "picks": picks},
        )
        self._settle()

    def sentence(self):
        """Return what this round gives and why."""
        return status_sentence(self.text, self.draft, self.picks)

    @contextmanager
    def change(self):
        """Change draft and picks together, where their lengths change: `with lane.change(): ...`"""
        with self.hold_trait_notifications():
            yield self

    def still(self):
        """Return (matplotlib Figure, alternative text) of the lane as it stands, verdict shown."""
        from specdec.widgets.still import draw_lane, lane_alt

        return draw_lane(self), lane_alt(self)

    @traitlets.validate("draft", "picks")
    def _check_round(self, proposal):
        name = proposal["trait"].name
        both = {"draft": self.draft, "picks": self.picks, name: proposal["value"]}
        draft, picks = checked_round(both["draft"], both["picks"], self.tokens)
        return draft if name == "draft" else picks

    @traitlets.observe("draft", "picks", "prediction")
    def _settle(self, _change=None):
        if self.locked:
            self.accepted, self.emitted = None, []
            return
        _marks, emitted = verdicts(self.draft, self.picks)
        self.accepted, self.emitted = len(emitted) - 1, emitted


def checked_round(draft, target_next, tokens):
    """Return (draft, target_next) as plain lists; LaneError says what does not fit."""
    draft = [checked_token(token, tokens, "draft") for token in draft]
    picks = [checked_token(token, tokens, "target_next") for token in target_next]
    if len(draft) > MAX_DRAFT:
        raise LaneError(f"the draft can have at most {MAX_DRAFT} tokens, it has {len(draft)}")
    if len(picks) != len(draft) + 1:
        raise LaneError(
            f"target_next needs {len(draft) + 1} tokens, one more than the draft; "
            f"it has {len(picks)}"
        )
    return draft, picks


def checked_token(token, tokens, name):
    """Return the entry of tokens that equals token; LaneError when there is none."""
    for known in tokens:
        if known == token:
            return known
    raise LaneError(
        f"{name} has the token {token!r}; the tokens are {tokens[0]} to {tokens[-1]}"
        if isinstance(tokens[0], int)
        else f"{name} has the token {token!r}, which is not one of {spaced(tokens)}"
    )
