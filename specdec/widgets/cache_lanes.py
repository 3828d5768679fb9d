"""The cache lanes: what draft and target hold in one round, and what each must forget."""

import traitlets

from specdec.widgets.base import CourseWidget, front_end, picture_bundle
from specdec.widgets.question import TEXT as QUESTION_TEXT
from specdec.widgets.question import as_json, as_question

OWN = "★"
MARKS = {"text": "", "guess": "?", "accepted": "✓", "rejected": "✗", "own": ""}
ROLLBACKS = (
    "right",
    "target_kept",
    "draft_kept",
    "draft_one_more",
    "last_missing",
    "draft_reset",
)
STEPS = ("start", "draft", "verify", "accept", "roll_back", "next")

TEXT = {
    "title": "One round, and two caches",
    "offline": (
        "Kept from your last visit. It works as it is. Run its cell to start it anew; "
        "then other cells can read it too."
    ),
    "lane_text": "The text",
    "lane_target": "Target's cache",
    "lane_draft": "Draft's cache",
    "tokens": "{n} tokens",
    "holds": "holds {n}",
    "position": "Position",
    "mark_guess": "guess",
    "mark_accepted": "accepted",
    "mark_rejected": "rejected",
    "mark_own": "target's own",
    "mark_text": "",
    "accepted_label": "Guesses accepted",
    "rollback_label": "Rollback",
    "rollback_right": "right",
    "rollback_target_kept": "target's cache left as it is",
    "rollback_draft_kept": "draft's cache left as it is",
    "rollback_draft_one_more": "draft forgets one too many",
    "rollback_last_missing": "draft never reads its last guess",
    "rollback_draft_reset": "draft's cache emptied",
    "target_says": "Target will hold",
    "draft_says": "Draft will hold",
    "unsaid": "?",
    "go_start": "1. Draft",
    "go_draft": "2. Verify",
    "go_verify": "3. Accept",
    "go_accept": "4. Roll back",
    "go_roll_back": "5. Read what comes next",
    "go_next": "Start again",
    "say_first": "First say how many tokens each cache will hold.",
    "status_start": (
        "Both caches hold {length} tokens. Neither model has read the newest one, {newest}."
    ),
    "status_draft": (
        "The draft read {newest}, and each guess but its last. Its cache holds {draft}."
    ),
    "status_verify": (
        "In one pass the target read {newest} and all {k} guesses. Its cache holds {target}."
    ),
    "status_accept": (
        "{accepted} of {k} accepted, then comes the target's own token, ★. "
        "The target's cache holds {target}, the draft's {draft}. What will they keep?"
    ),
    "status_roll_back": "The target's cache holds {target}, the draft's {draft}.",
    "short": "The draft is one short: it never read its own last guess.",
    "said_right": "As you said.",
    "said_wrong": "You said {target_said} and {draft_said}.",
    "harm_none": "Each model reads what it lacks, and both hold the text. All is well.",
    "harm_text": (
        "The target's cache is not the text. Its next answers follow another text: "
        "the output will be WRONG."
    ),
    "harm_draft": (
        "The target's cache is right, so the output stays right. The draft's is not: it guesses "
        "after another text, and FEWER guesses will be accepted."
    ),
    "status_locked": "Locked: predict first, then step through the round yourself.",
    "predict": "Predict first",
    "commit": "Show what happens",
    **QUESTION_TEXT,
}


class LanesError(ValueError, traitlets.TraitError):
    """A value that the lanes cannot show; traitlets rolls the change back."""


def token_at(position):
    """Return the letter of a text token: position 0 is A."""
    return chr(ord("A") + position)


def guess_letters(k):
    """Return the letters of k drafted tokens, small ones; the last is z."""
    return [chr(ord("z") - k + 1 + i) for i in range(k)]


def stages(length, k, accepted, rollback):
    """Return what text and caches hold at each of STEPS: {"text", "target", "draft"}.

    length    tokens in both caches before the round; the text has one more, the newest
    k         guesses of the round, 1 or more; accepted is how many of them are accepted
    rollback  one of ROLLBACKS

    Each of the three is a list of [token, mark] with a mark out of MARKS.
    """
    text = [[token_at(i), "text"] for i in range(length + 1)]
    letters = guess_letters(k)
    open_ = [[letter, "guess"] for letter in letters]
    judged = [
        [letter, "accepted" if i < accepted else "rejected"] for i, letter in enumerate(letters)
    ]
    kept, own = judged[:accepted], [[OWN, "own"]]
    drafted = k - 1  # the draft does not read its last guess
    target_end = text + (judged if rollback == "target_kept" else kept)
    draft_end = draft_after(text, judged, accepted, rollback)
    # Right programs feed the last guess where it is missing; so do all but one of the wrong ones.
    filled = k == accepted and rollback not in ("last_missing", "draft_reset")
    return [
        {"text": text, "target": text[:-1], "draft": text[:-1]},
        {"text": text + open_, "target": text[:-1], "draft": text + open_[:drafted]},
        {
            "text": text + open_,
            "target": text + open_,
            "draft": text + open_[:drafted],
        },
        {
            "text": text + kept + own,
            "target": text + judged,
            "draft": text + judged[:drafted],
        },
        {"text": text + kept + own, "target": target_end, "draft": draft_end},
        {
            "text": text + kept + own,
            "target": target_end + own,
            "draft": draft_end + (judged[-1:] if filled else []) + own,
        },
    ]


def draft_after(text, judged, accepted, rollback):
    """Return the draft's cache after a rollback; text and judged as in `stages`."""
    held = text + judged[:-1]
    rejected = len(judged) - accepted
    forget = {
        "draft_kept": 0,
        "draft_one_more": rejected,
        "draft_reset": len(held),
    }.get(rollback, max(rejected - 1, 0))
    return held[: len(held) - forget]


def harm(length, k, accepted, rollback):
    """Return what the rollback breaks: "none", "text" or "draft" (fewer guesses accepted)."""
    last = stages(length, k, accepted, rollback)[-1]
    wanted = [token for token, _ in last["text"]]
    if [token for token, _ in last["target"]] != wanted:
        return "text"
    return "none" if [token for token, _ in last["draft"]] == wanted else "draft"


def status_sentence(text, state):
    """Return the sentence under the lanes.

    state  dict with length, k, accepted, rollback, step (a place in STEPS) and said, a list of two
           predicted lengths or an empty one
    """
    round_ = [state[name] for name in ("length", "k", "accepted", "rollback")]
    shown = stages(*round_)[state["step"]]
    values = {
        **state,
        "newest": token_at(state["length"]),
        "target": len(shown["target"]),
        "draft": len(shown["draft"]),
    }
    step = STEPS[state["step"]]
    if step == "next":
        return text[f"harm_{harm(*round_)}"]
    parts = [text[f"status_{step}"].format(**values)]
    if step == "roll_back":
        if state["rollback"] == "right" and state["k"] == state["accepted"]:
            parts.append(text["short"])
        if state["said"]:
            target_said, draft_said = state["said"]
            right = (target_said, draft_said) == (values["target"], values["draft"])
            parts.append(
                text["said_right"]
                if right
                else text["said_wrong"].format(target_said=target_said, draft_said=draft_said)
            )
    return " ".join(parts)


class CacheLanes(CourseWidget):
    """One round of speculative decoding: the text and both caches, position by position.

    length    tokens in both caches before the round, 1 to 12
    k         guesses of the round, 1 to 6
    accepted  how many of them are accepted, 0 to k
    question  with choices: the lanes stay locked until the learner has committed to one
    choices   list of Choice or (text, reason, right), exactly one of them right
    text      strings to replace in TEXT, for a translation

    A cell can read and set `accepted`, `rollback` (one of ROLLBACKS) and `step` (0 to 5, a place
    in STEPS); it can read `target_length`, `draft_length` and `harm`. While the lanes are locked
    these three are None.
    Raises ValueError with a sentence when a number does not fit.
    """

    TEXT = TEXT
    _esm, _css = front_end("cache_lanes")

    length = traitlets.Int().tag(sync=True)
    k = traitlets.Int().tag(sync=True)
    accepted = traitlets.Int().tag(sync=True)
    rollback = traitlets.Enum(ROLLBACKS, "right").tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    said = traitlets.List().tag(sync=True)
    prediction = traitlets.Unicode("").tag(sync=True)
    question = traitlets.Dict().tag(sync=True)
    rollbacks = traitlets.List(list(ROLLBACKS)).tag(sync=True)
    target_length = traitlets.Int(None, allow_none=True)
    draft_length = traitlets.Int(None, allow_none=True)
    harm = traitlets.Unicode(None, allow_none=True)

    def __init__(self, length, k, accepted, question=None, choices=None, text=None):
        if (question is None) != (choices is None):
            raise ValueError("question and choices belong together: give both or neither")
        if not 1 <= length <= 12 or not 1 <= k <= 6:
            raise ValueError(f"length is 1 to 12 and k 1 to 6, got {length} and {k}")
        asked = {} if question is None else as_json(as_question(question, choices))
        super().__init__(
            text=text,
            length=length,
            k=k,
            accepted=accepted,
            step=STEPS.index("accept") if asked else 0,
            question=asked,
        )
        self._settle()

    @property
    def locked(self):
        """True until the learner has committed to a choice; False without a question."""
        return bool(self.question) and not self.prediction

    @property
    def state(self):
        """The round as a dict, as status_sentence takes it."""
        names = ("length", "k", "accepted", "rollback", "step", "said")
        return {name: getattr(self, name) for name in names}

    def describe(self, reveal=False):
        """Return the sentence under the lanes; locked ones say only that, unless reveal is True."""
        if self.locked and not reveal:
            return self.text["status_locked"]
        return status_sentence(self.text, self.state)

    def still_bundle(self):
        """Return the still twin as a PNG with its alternative text."""
        from specdec.widgets.cache_still import draw_lanes, lanes_alt

        return picture_bundle(draw_lanes(self), lanes_alt(self))

    @traitlets.validate("accepted")
    def _check_accepted(self, proposal):
        if not 0 <= proposal["value"] <= self.k:
            raise LanesError(f"accepted is 0 to {self.k}, got {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("step")
    def _check_step(self, proposal):
        if not 0 <= proposal["value"] < len(STEPS):
            raise LanesError(f"step is 0 to {len(STEPS) - 1}, got {proposal['value']}")
        return proposal["value"]

    @traitlets.observe("prediction")
    def _reveal(self, change):
        if change["new"] and STEPS[self.step] == "accept":
            self.step = STEPS.index("roll_back")

    @traitlets.observe("accepted", "rollback", "step", "prediction")
    def _settle(self, _change=None):
        if self.locked:
            self.target_length = self.draft_length = self.harm = None
            return
        round_ = (self.length, self.k, self.accepted, self.rollback)
        shown = stages(*round_)[self.step]
        self.target_length, self.draft_length = len(shown["target"]), len(shown["draft"])
        self.harm = harm(*round_)
