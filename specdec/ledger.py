"""The ledger of a generation: what each round drafted, accepted and emitted."""

from collections.abc import Callable
from dataclasses import dataclass

from specdec.trace import Trace
from specdec.values import plain


@dataclass(frozen=True)
class LedgerRound:
    """One round: the drafted tokens, how many were accepted, and what came out."""

    drafted: list
    num_accepted_tokens: int
    emitted: list


@dataclass(frozen=True)
class Ledger:
    """All rounds of one generation; emitted = accepted + rounds, unless the last round was cut."""

    rounds: list[LedgerRound]
    draft_calls: int

    @property
    def drafted(self) -> int:
        return sum(len(r.drafted) for r in self.rounds)

    @property
    def accepted(self) -> int:
        return sum(r.num_accepted_tokens for r in self.rounds)

    @property
    def tokens(self) -> list:
        return [token for r in self.rounds for token in r.emitted]

    def line(self) -> str:
        """Return the one line that all lessons use."""
        return (
            f"rounds {len(self.rounds)} · drafted {self.drafted} · accepted {self.accepted} · "
            f"emitted {len(self.tokens)}"
        )

    def milliseconds(self, t_draft: float, t_verify: float) -> float:
        """Return the time of the run when a draft step and a pass cost this much, in ms."""
        return self.draft_calls * t_draft + len(self.rounds) * t_verify


def play(generate: Callable, draft_model, target_model, prompt, n_tokens: int, k: int) -> Ledger:
    """Run a speculative generator and write down its rounds, from outside.

    generate  a function with the arguments of speculative_generate
    Raises what `generate` raises; RuntimeError when it asks its models without end.
    """
    trace = Trace(draft_model, target_model, 4 * (n_tokens + 2) * (k + 1))
    generated = generate(trace.draft, trace.target, list(prompt), n_tokens, k)
    text = (*prompt, *plain(generated))
    rounds = [r for r in trace.rounds if r.asked]
    starts = [len(r.start) for r in rounds] + [len(text)]
    ledger = []
    for this, begin, end in zip(rounds, starts, starts[1:], strict=False):
        emitted = list(text[begin:end])
        accepted = 0
        while accepted < min(len(this.drafted), len(emitted)) and (
            this.drafted[accepted] == emitted[accepted]
        ):
            accepted += 1
        ledger.append(LedgerRound(list(this.drafted), accepted, emitted))
    return Ledger(ledger, trace.draft_calls)


def print_rounds(ledger: Ledger) -> None:
    """Print a line for each round, then the ledger line."""
    wide = max([len("drafted"), *(len(_words(r.drafted)) for r in ledger.rounds)])
    print(f"round  {'drafted':<{wide}}  accepted  emitted")
    for number, r in enumerate(ledger.rounds, 1):
        print(
            f"{number:>5}  {_words(r.drafted):<{wide}}  {r.num_accepted_tokens:>8}  "
            f"{_words(r.emitted)}"
        )
    print(ledger.line())


def _words(tokens) -> str:
    return " ".join(str(token) for token in tokens) or "–"
