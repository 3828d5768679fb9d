"""The logits grid: one pass of the cat's target, row by row, with its mask."""

import traitlets

from specdec.passes import CAT_WORDS
from specdec.toys import NEXT_WORD, look_back_target
from specdec.widgets.base import CourseWidget, front_end, picture_bundle
from specdec.widgets.question import TEXT as QUESTION_TEXT
from specdec.widgets.question import as_json, as_question

MAX_ROWS = 16
MARKS = {"unused": "", "accepted": "✓", "corrected": "✎", "discarded": "✗", "bonus": "+"}

TEXT = {
    "title": "One pass, row by row",
    "offline": (
        "Kept from your last visit. It works as it is. Run its cell to start it anew; "
        "then other cells can read it too."
    ),
    "caption": "Words go in at the left. Each row says what it would write next.",
    "row": "Row",
    "reads": "reads",
    "sees": "sees",
    "sees_rows": "0 to {last}",
    "sees_itself": "0",
    "answer": "next word",
    "role": "what for",
    "draft_label": "Drafted word in row {row}",
    "drafted": "drafted",
    "mask": "Causal mask: a row sees itself and the rows before it",
    "hidden": "?",
    "unused": "the text goes on already",
    "accepted": "agrees with “{guess}”",
    "corrected": "corrects “{guess}”",
    "discarded": "after a wrong word",
    "bonus": "bonus",
    "was": "was {word}",
    "reset": "Reset",
    "status_locked": "Locked: predict first. Then the drafted words and the mask are yours.",
    "status_masked": "Rows {rows} judge. {accepted} accepted, {emitted} emitted: {words}.",
    "status_moved": "Changed: {rows} since the start, and no row above.",
    "status_moved_one": "Changed: row {rows} alone.",
    "status_same": "No row says anything else than at the start.",
    "status_unmasked": (
        "Without the mask all {count} rows see the whole text, so all give the same answer: what "
        "comes after its last word. As judges they are useless."
    ),
    "predict": "Predict first",
    "commit": "Show what happens",
    **QUESTION_TEXT,
}


def row_answers(words: list[str], masked: bool) -> list[str]:
    """Each row's next word: with the mask a row sees the words up to its own, else all words."""
    return [look_back_target(words[: row + 1] if masked else words) for row in range(len(words))]


def judge(text_words: list[str], draft: list[str], masked: bool) -> dict:
    """What every row says and what it is for.

    text_words  T words of the text, T >= 1
    draft       k drafted words

    Returns {"answers": T + k words, "marks": T + k of MARKS, "accepted": number, "emitted": words}.
    """
    answers = row_answers([*text_words, *draft], masked)
    judging = answers[len(text_words) - 1 :]
    accepted = 0
    while accepted < len(draft) and draft[accepted] == judging[accepted]:
        accepted += 1
    last = "bonus" if accepted == len(draft) else "corrected"
    marks = ["unused"] * (len(text_words) - 1) + ["accepted"] * accepted + [last]
    marks += ["discarded"] * (len(draft) - accepted)
    return {
        "answers": answers,
        "marks": marks,
        "accepted": accepted,
        "emitted": judging[: accepted + 1],
    }


def moved_rows(text_words, draft, masked, start_draft) -> list[int]:
    """Rows that say something else than at the start, where the mask was on."""
    now = judge(text_words, draft, masked)["answers"]
    then = judge(text_words, start_draft, True)["answers"]
    return [row for row, (a, b) in enumerate(zip(now, then, strict=True)) if a != b]


def status_sentence(text, text_words, draft, masked, start_draft) -> str:
    """The sentence under the grid; text is a dict like TEXT."""
    if not masked:
        return text["status_unmasked"].format(count=len(text_words) + len(draft))
    result = judge(text_words, draft, masked)
    first = len(text_words) - 1
    rows = ", ".join(str(row) for row in range(first, first + len(draft) + 1))
    sentence = text["status_masked"].format(
        rows=rows,
        accepted=result["accepted"],
        emitted=len(result["emitted"]),
        words=" ".join(result["emitted"]),
    )
    moved = moved_rows(text_words, draft, masked, start_draft)
    kind = "status_same" if not moved else "status_moved_one" if len(moved) == 1 else "status_moved"
    listed = ", ".join(map(str, moved))
    if len(moved) > 1:
        listed = f"rows {listed}"
    return f"{sentence} {text[kind].format(rows=listed)}"


class LogitsGrid(CourseWidget):
    """One pass of the cat's target over a text and its drafted words.

    words     list of T words of the text, T >= 1
    draft     list of k drafted words
    question  with choices: the grid stays locked until the learner has committed to one
    choices   list of Choice or (text, reason, right), exactly one of them right
    text      strings to replace in TEXT, for a translation

    A cell can read and set `draft` and `masked`, and read `accepted`, `emitted` and `prediction`.
    While the grid is locked `accepted` is None and `emitted` is empty.
    Raises ValueError for words that the cat's models do not know, or too many of them.
    """

    TEXT = TEXT
    _esm, _css = front_end("logits_grid")

    words = traitlets.List().tag(sync=True)
    draft = traitlets.List().tag(sync=True)
    masked = traitlets.Bool(True).tag(sync=True)
    accepted = traitlets.Int(None, allow_none=True).tag(sync=True)
    emitted = traitlets.List().tag(sync=True)
    prediction = traitlets.Unicode("").tag(sync=True)
    vocabulary = traitlets.List().tag(sync=True)
    next_word = traitlets.Dict().tag(sync=True)
    question = traitlets.Dict().tag(sync=True)
    start_draft = traitlets.List().tag(sync=True)

    def __init__(self, words, draft, question=None, choices=None, text=None):
        if (question is None) != (choices is None):
            raise ValueError("question and choices belong together: give both or neither")
        words, draft = known_words(words), known_words(draft)
        if not words:
            raise ValueError("the text needs at least one word")
        if len(words) + len(draft) > MAX_ROWS:
            raise ValueError(f"the grid shows at most {MAX_ROWS} rows")
        asked = {} if question is None else as_json(as_question(question, choices))
        super().__init__(
            text=text,
            words=words,
            draft=draft,
            start_draft=draft,
            vocabulary=list(CAT_WORDS),
            next_word=dict(NEXT_WORD),
            question=asked,
        )
        self._settle()

    @property
    def locked(self) -> bool:
        """True until the learner has committed to a choice; False without a question."""
        return bool(self.question) and not self.prediction

    def describe(self) -> str:
        """The sentence under the grid; a locked grid tells only that it is locked."""
        if self.locked:
            return self.text["status_locked"]
        return status_sentence(self.text, self.words, self.draft, self.masked, self.start_draft)

    def still(self):
        """Return (matplotlib Figure, alternative text) of the grid as it stands."""
        from specdec.widgets.lesson_02_still import draw_grid, grid_alt

        return draw_grid(self), grid_alt(self)

    def still_bundle(self):
        """Return the still twin as a PNG with its alternative text."""
        return picture_bundle(*self.still())

    @traitlets.validate("draft")
    def _check_draft(self, proposal):
        draft = known_words(proposal["value"])
        if self.start_draft and len(draft) != len(self.start_draft):
            raise traitlets.TraitError(
                f"the draft has {len(self.start_draft)} words here, not {len(draft)}"
            )
        return draft

    @traitlets.observe("draft", "masked", "prediction")
    def _settle(self, _change=None):
        if self.locked:
            self.accepted, self.emitted = None, []
            return
        result = judge(self.words, self.draft, self.masked)
        self.accepted, self.emitted = result["accepted"], result["emitted"]


class WordError(ValueError, traitlets.TraitError):
    """A word that the cat's models do not know."""


def known_words(words) -> list[str]:
    """The words as a list. Raises WordError for an unknown one."""
    words = list(words)
    for word in words:
        if word not in CAT_WORDS:
            raise WordError(f"{word!r} is not one of the cat's words: {', '.join(CAT_WORDS)}")
    return words
