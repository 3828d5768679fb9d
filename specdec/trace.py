"""Count rounds and draft calls from the calls that a generator makes to its two models."""

from collections.abc import Callable
from dataclasses import dataclass, field

from specdec.values import plain


class OutOfBudget(RuntimeError):
    """A model was asked far more often than any right generator asks."""


@dataclass
class Round:
    """One round as seen from outside: where it starts, what it drafts, what it asks the target.

    Prefixes are tuples of tokens.
    """

    start: tuple
    drafted: list = field(default_factory=list)
    draft_prefixes: list[tuple] = field(default_factory=list)
    asked: list[tuple] = field(default_factory=list)

    def covers(self, prefix: tuple) -> bool:
        """Say whether one pass over start + drafted has an answer after this prefix."""
        drafted = prefix[len(self.start) :]
        return (
            prefix[: len(self.start)] == self.start
            and drafted == tuple(self.drafted)[: len(drafted)]
            and len(prefix) >= len(self.start)
        )


class Trace:
    """A pair of models that write down each call.

    Give `draft` and `target` to a generator, then read `rounds`. A target call belongs to the
    round's pass when no draft call came since the pass began and its prefix is the round's start
    plus drafted tokens; any other target call begins a new pass.
    """

    def __init__(self, draft_model: Callable, target_model: Callable, budget: int):
        self.rounds: list[Round] = []
        self.draft_calls = 0
        self.target_calls = 0
        self._draft_model, self._target_model = draft_model, target_model
        self._budget = budget
        self.draft = self._named(self._draft, draft_model)
        self.target = self._named(self._target, target_model)

    @staticmethod
    def _named(method, model):
        def ask(tokens):
            return method(tokens)

        ask.__name__ = getattr(model, "__name__", "model")
        return ask

    @property
    def passes(self) -> int:
        return sum(1 for r in self.rounds if r.asked)

    def _draft(self, tokens):
        prefix = self._prefix(tokens)
        self.draft_calls += 1
        self._check_budget("draft", self.draft_calls)
        if not self.rounds or self.rounds[-1].asked:
            self.rounds.append(Round(start=prefix))
        token = self._draft_model(list(prefix))
        self.rounds[-1].drafted.append(token)
        self.rounds[-1].draft_prefixes.append(prefix)
        return token

    def _target(self, tokens):
        prefix = self._prefix(tokens)
        self.target_calls += 1
        self._check_budget("target", self.target_calls)
        if not self.rounds or not self.rounds[-1].covers(prefix):
            self.rounds.append(Round(start=prefix))
        self.rounds[-1].asked.append(prefix)
        return self._target_model(list(prefix))

    @staticmethod
    def _prefix(tokens) -> tuple:
        tokens = plain(tokens)
        if tokens == []:
            raise ValueError("a model was given an empty text; give it the text so far and guesses")
        if not isinstance(tokens, list):
            raise TypeError(f"a model takes a list of tokens, not {tokens!r}")
        if any(isinstance(token, list) for token in tokens):
            raise TypeError(
                "the text given to a model has a list in it. To add several tokens use += or "
                "extend, not append."
            )
        return tuple(tokens)

    def _check_budget(self, which: str, calls: int) -> None:
        if calls > self._budget:
            raise OutOfBudget(
                f"the {which} model was asked {calls} times, far more than the text needs. Either "
                "a round adds no token, or the loop waits for a length that it never reaches."
            )
