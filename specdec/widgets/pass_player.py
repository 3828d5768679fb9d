"""The pass player: a text of the trained pair, pass by pass, for every k and both drafts."""

import json
import threading
from pathlib import Path

import traitlets

from specdec.trained.traces import MAX_DRAFT, PromptError, ledger_line, passes_of, record_trace
from specdec.widgets.base import CourseWidget, front_end, picture_bundle

TRACES = Path(__file__).parent / "data" / "pair_traces.json"
DRAFTS = ("draft", "draft_distilled")

TEXT = {
    "title": "A text, pass by pass",
    "offline": (
        "Kept from your last visit. The recorded texts work as they are. Run the cell to write "
        "from a prompt of your own."
    ),
    "prompt": "Text begins with",
    "draft_label": "Draft",
    "draft": "small draft, learnt from books",
    "draft_distilled": "small draft, learnt from the target",
    "length_label": "Guesses a pass, k",
    "passes": "Passes shown",
    "back": "Back",
    "next": "Next pass",
    "all": "All passes",
    "accepted": "accepted guess",
    "corrected": "correction",
    "bonus": "bonus",
    "plain": "without a guess",
    "rejected": "thrown away",
    "pass_name": "Pass {n}",
    "drafted": "drafted",
    "no_draft": "nothing drafted",
    "compare": "{passes} passes for {tokens} tokens. Plain decoding takes {tokens}.",
    "compare_one": "1 pass for {tokens} tokens. Plain decoding takes {tokens}.",
    "status_start": "No pass yet: {total} to come, with k = {k}.",
    "status_full": (
        "Pass {n}: all {drafted} guesses accepted, and the target's own next token on top, the "
        "bonus."
    ),
    "status_full_one": (
        "Pass {n}: the one guess accepted, and the target's own next token on top, the bonus."
    ),
    "status_rejected": (
        "Pass {n}: {accepted} of {drafted} accepted. The target wanted {wanted} where the draft "
        "said {guess}: the correction. What was guessed after it is thrown away."
    ),
    "status_plain": "Pass {n}: nothing was guessed, so the pass gives one token.",
    "own": "Or begin a text of your own",
    "write": "Write",
    "writing": "Writing … other cells can run meanwhile.",
    "written": "Written: your text is the last in the list.",
    "silent": "No kernel answered. Run this cell again, then press Write.",
    "failed": "That did not work: {error}",
}


def marks_of(one: dict) -> list[str]:
    """What each emitted token of a pass is: accepted, then corrected, bonus or plain."""
    last = "bonus" if one["accepted"] == len(one["drafted"]) else "corrected"
    if not one["drafted"]:
        last = "plain"
    return ["accepted"] * one["accepted"] + [last]


def status_sentence(text: dict, passes: list[dict], shown: int, pieces: list[str], k: int) -> str:
    """The sentence about the last pass that is shown; text is a dict like TEXT."""
    if shown == 0:
        return text["status_start"].format(total=len(passes), k=k)
    one = passes[shown - 1]
    last = marks_of(one)[-1]
    drafted, accepted = len(one["drafted"]), one["accepted"]
    kind = {"corrected": "status_rejected", "plain": "status_plain", "bonus": "status_full"}[last]
    if kind == "status_full" and drafted == 1:
        kind = "status_full_one"
    return text[kind].format(
        n=shown,
        accepted=accepted,
        drafted=drafted,
        wanted=visible(pieces[one["emitted"][-1]]),
        guess=visible(pieces[one["drafted"][accepted]]) if accepted < drafted else "",
    )


def compare_sentence(text: dict, passes: list[dict]) -> str:
    """The passes of the whole text against plain decoding."""
    kind = "compare_one" if len(passes) == 1 else "compare"
    tokens = sum(len(one["emitted"]) for one in passes)
    return text[kind].format(passes=len(passes), tokens=tokens)


def visible(piece: str) -> str:
    """A token's text between quotes; a line break is shown as a sign."""
    return "“" + piece.replace("\n", "↵") + "”"


class PassPlayer(CourseWidget):
    """Recorded texts of the trained pair, and new ones where a kernel runs.

    k        guesses a pass, 0 to 8
    prompt   place of the text in `traces`
    draft    "draft" or "draft_distilled"
    traces   what record_trace returns, one for each text; by default the recorded ones
    text     strings to replace in TEXT, for a translation

    A cell can read `k`, `prompt`, `draft`, and `shown`, the number of passes that are shown;
    `passes` and `ledger` are those of the chosen text.
    Raises ValueError when a choice is not there.
    """

    TEXT = TEXT
    _esm, _css = front_end("passes", "pass_player")

    traces = traitlets.List().tag(sync=True)
    prompt = traitlets.Int(0).tag(sync=True)
    draft = traitlets.Enum(DRAFTS, "draft_distilled").tag(sync=True)
    k = traitlets.Int(4).tag(sync=True)
    shown = traitlets.Int(0).tag(sync=True)
    live = traitlets.Dict({"state": "", "note": ""}).tag(sync=True)

    def __init__(self, k=4, prompt=0, draft="draft_distilled", traces=None, text=None):
        if traces is None:
            traces = json.loads(TRACES.read_text(encoding="utf-8"))
        super().__init__(text=text, traces=traces, k=k, draft=draft)
        self.prompt = prompt
        self.writer = None
        self.on_msg(self._asked)

    @property
    def passes(self) -> list[dict]:
        """The passes of the chosen text, as dicts of places in its `pieces`."""
        trace = self.traces[self.prompt]
        return passes_of(trace["tokens"], trace["drafts"][self.draft], self.k)

    @property
    def ledger(self) -> str:
        """The ledger line of all passes."""
        return ledger_line(self.passes)

    def describe(self) -> str:
        """The sentence about the last pass that is shown."""
        pieces = self.traces[self.prompt]["pieces"]
        return status_sentence(self.text, self.passes, self.shown, pieces, self.k)

    def write(self, prompt: str) -> None:
        """Write from a prompt with the real models, and show it. Raises PromptError."""
        from specdec.model import load_model

        trace = record_trace(
            prompt, load_model("target"), {name: load_model(name) for name in DRAFTS}
        )
        with self.hold_trait_notifications():
            self.traces = [*self.traces, trace]
            self.prompt = len(self.traces) - 1
            self.shown = 0

    def _asked(self, _widget, content, _buffers) -> None:
        """Answer the page's wish at once, and write in the background."""
        if content.get("do") != "write" or (self.writer and self.writer.is_alive()):
            return
        self.live = {"state": "writing", "note": self.text["writing"]}
        self.writer = threading.Thread(
            target=self._write_safely, args=(str(content.get("prompt", "")),), daemon=True
        )
        self.writer.start()

    def _write_safely(self, prompt: str) -> None:
        try:
            self.write(prompt)
            self.live = {"state": "written", "note": self.text["written"]}
        except PromptError as error:
            self.live = {"state": "failed", "note": str(error)}
        except Exception as error:
            note = self.text["failed"].format(error=f"{type(error).__name__}: {error}")
            self.live = {"state": "failed", "note": note}

    def still(self):
        """Return (matplotlib Figure, alternative text) of the chosen text with all its passes."""
        from specdec.widgets.lesson_02_still import draw_player, player_alt

        return draw_player(self), player_alt(self)

    def still_bundle(self):
        """Return the still twin as a PNG with its alternative text."""
        return picture_bundle(*self.still())

    @traitlets.validate("k", "prompt", "shown")
    def _check_number(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        last = {"k": MAX_DRAFT, "prompt": len(self.traces) - 1, "shown": 10_000}[name]
        if not 0 <= value <= last:
            raise traitlets.TraitError(f"{name} must lie in 0 to {last}, got {value}")
        return value
