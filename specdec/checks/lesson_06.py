"""The checks of lesson 6. Each takes the learner's function, and cases of its own by default."""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from specdec.bugs import lookup_latest, mask_by_level
from specdec.reference import lesson_06 as worked
from specdec.values import plain, same, show

from .core import Case, CheckFailed, Mistake, NotWrittenYet, run_cases

SHAPES_WHY = "the shapes differ"
NO_ROW_WHY = "there is no row to compare"


def rows(*values) -> np.ndarray:
    """An array of rows."""
    return np.array(values, dtype=float)


# --- fidelity ----------------------------------------------------------------------------------

FIDELITY_MISTAKES = [
    Mistake(
        "it counts the rows that agree. The share of them is wanted: divide by their number.",
        lambda a, b: int(_agree(a, b).sum()),
    ),
    Mistake(
        "the favourite of each column is taken, not of each row. The tokens lie along axis 1.",
        lambda a, b: float((a.argmax(0) == b.argmax(0)).mean()),
    ),
    Mistake(
        "all rows together get one favourite. Each row has its own: use argmax with axis=1.",
        lambda a, b: float(a.argmax() == b.argmax()),
    ),
    Mistake(
        "only the last row is compared. The share of all rows is wanted.",
        lambda a, b: float(_agree(a, b)[-1]),
    ),
    Mistake(
        "the largest logits are compared as numbers. Compare which token has the largest.",
        lambda a, b: float((a.max(1) == b.max(1)).mean()),
    ),
    Mistake(
        "equal logits are counted. Only each row's favourite token matters.",
        lambda a, b: float((a == b).mean()),
    ),
    Mistake(
        "it is the share of rows that disagree.",
        lambda a, b: float(1 - _agree(a, b).mean()),
    ),
    Mistake(
        "of equal logits the last one is taken for the favourite. Take the smallest id.",
        lambda a, b: float(
            (a[:, ::-1].argmax(1) == b[:, ::-1].argmax(1)).mean()  # counted from the right
        ),
    ),
]


def _agree(a, b) -> np.ndarray:
    return a.argmax(axis=1) == b.argmax(axis=1)


FIDELITY_CASES = [
    Case(
        (rows([1, 2, 0], [3, 1, 1], [0, 0, 5], [1, 1, 0]),
         rows([0, 9, 1], [0, 4, 1], [1, 0, 2], [2, 2, 1])),
        0.75,
    ),
    Case((rows([5, 1, 1], [2, 6, 1], [1, 1, 4]), rows([1, 3, 0], [2, 9, 0], [2, 1, 0])), 1 / 3),
    Case((rows([1, 2], [1, 0], [0, 4], [3, 1]), rows([0, 2], [0, 1], [0, 4], [1, 0])), 0.75),
    Case((rows([-2, -1, -3]), rows([-9, -7, -8])), 1.0),
    Case((rows([2, 1], [1, 2]), rows([1, 2], [2, 1])), 0.0),
    Case((rows([1, 1, 0], [0, 2, 1]), rows([2, 0, 0], [0, 3, 1])), 1.0),
    Case((rows([1, 2, 3]), rows([1, 2])), ValueError, SHAPES_WHY),
    Case((rows([1, 2], [2, 1]), rows([1, 2])), ValueError, SHAPES_WHY),
    Case((np.zeros((0, 3)), np.zeros((0, 3))), ValueError, NO_ROW_WHY),
    Case((np.array([1.0, 2.0]), np.array([1.0, 2.0])), ValueError, "a row has no shape (T, V)"),
]  # fmt: skip


def check_fidelity(fidelity, cases=FIDELITY_CASES) -> None:
    """Check the share of rows with the same favourite, and the errors."""
    run_cases(
        "fidelity",
        fidelity,
        cases,
        FIDELITY_MISTAKES,
        "That is the chance that a greedy draft is right, where it was measured.",
    )


# --- NGramDraft --------------------------------------------------------------------------------


def _ngram(text, n, context, pick=None, longest=None, shortest=0):
    """Guess as NGramDraft does, with parts of the rule replaced.

    pick      function (counts) -> token
    longest   function (n) -> how many tokens to look back at most
    shortest  the shortest context to back off to
    """
    most = min(longest(n) if longest else n - 1, len(context))
    for length in range(most, shortest - 1, -1):
        seen = list(context[len(context) - length :])
        counts = Counter(
            text[at + length]
            for at in range(len(text) - length)
            if list(text[at : at + length]) == seen
        )
        if counts:
            return (pick or _commonest)(counts)
    return None


def _commonest(counts: Counter) -> int:
    return max(counts, key=lambda token: (counts[token], -token))


NGRAM_MISTAKES = [
    Mistake(
        "of equally frequent tokens the largest id is taken. Take the smallest.",
        lambda t, n, c: _ngram(t, n, c, pick=lambda s: max(s, key=lambda x: (s[x], x))),
    ),
    Mistake(
        "of equally frequent tokens it takes the one that it met first. Take the smallest id.",
        lambda t, n, c: _ngram(t, n, c, pick=lambda s: s.most_common(1)[0][0]),
    ),
    Mistake(
        "it looks back at n tokens. The guess is one of the n, so n - 1 are left for the context.",
        lambda t, n, c: _ngram(t, n, c, longest=lambda n: n),
    ),
    Mistake(
        "it never looks at more than the last token. Begin with the last n - 1.",
        lambda t, n, c: _ngram(t, n, c, longest=lambda n: min(1, n - 1)),
    ),
    Mistake(
        "the context plays no part: this is the commonest token of the whole text. Begin with the "
        "longest context.",
        lambda t, n, c: _ngram(t, n, c, longest=lambda n: 0),
    ),
    Mistake(
        "it gives up when the longest context was never seen. Drop its oldest token, look again.",
        lambda t, n, c: _ngram(t, n, c, shortest=min(n - 1, len(c))),
    ),
    Mistake(
        "it gives up before the empty context, where every token of the text counts.",
        lambda t, n, c: _ngram(t, n, c, shortest=1),
    ),
    Mistake(
        "it takes the rarest of the tokens that followed. The most frequent is wanted.",
        lambda t, n, c: _ngram(t, n, c, pick=lambda s: min(s, key=lambda x: (s[x], x))),
    ),
    Mistake(
        "it takes the token that followed last, whatever the counts say.",
        lambda t, n, c: _ngram(t, n, c, pick=lambda s: list(s)[-1]),
    ),
    Mistake(
        "it looks at the first tokens of the context. The last ones stand just before the guess.",
        lambda t, n, c: _ngram(t, n, list(c)[: n - 1]),
    ),
    Mistake(
        "it backs off by dropping the newest token. Drop the oldest: the newest says most.",
        lambda t, n, c: _drops_newest(t, n, c),
    ),
]


def _drops_newest(text, n, context):
    seen = list(context[len(context) - min(n - 1, len(context)) :])
    while True:
        found = _ngram(text, len(seen) + 1, seen, shortest=len(seen))
        if found is not None or not seen:
            return found
        seen.pop()


# a a b a a c a a b d, with a = 1 and so on: two tokens tell more than one
COUNTED = [1, 1, 2, 1, 1, 3, 1, 1, 2, 4]

NGRAM_CASES = [
    Case((COUNTED, 3, [1, 1]), 2),
    Case((COUNTED, 3, [9, 1, 1]), 2),
    Case((COUNTED, 3, [1, 2]), 1),
    Case((COUNTED, 2, [1, 2]), 1),
    Case((COUNTED, 3, [3, 1]), 1),
    Case((COUNTED, 2, [3, 1]), 1),
    Case((COUNTED, 3, [4, 2]), 1),
    Case((COUNTED, 3, [2, 2]), 1),
    Case((COUNTED, 1, [1, 2]), 1),
    Case(([7, 5, 7, 6, 7, 6, 8, 7, 5, 5], 2, [7]), 5),
    Case(([3, 9, 3, 2, 3, 9, 3, 2], 2, [3]), 2),
    Case(([6, 1, 2, 8, 1, 2, 8, 5, 2, 3, 2, 3, 2, 3], 3, [1, 2]), 8),
    Case(([6, 1, 2, 8, 1, 2, 8, 5, 2, 3, 2, 3, 2, 3], 3, [4, 2]), 3),
    Case(([6, 1, 2, 8, 1, 2, 8, 5, 2, 3, 2, 3, 2, 3], 2, [1, 2]), 3),
    Case(([6, 1, 2, 8, 1, 2, 8, 5, 2, 3, 2, 3, 2, 3], 4, [6, 1, 2]), 8),
    Case(([1, 2, 3, 4, 2, 5, 2, 5, 1, 2, 3], 4, [4, 1, 2]), 3),
]

NGRAM_EDGES = [
    Case((COUNTED, 3, [9, 9]), 1),
    Case((COUNTED, 3, [4]), 1),
    Case((COUNTED, 3, [2, 4]), 1),
    Case((COUNTED, 5, [1]), 1),
    Case((COUNTED, 3, []), 1),
    Case(([4], 3, [4]), 4),
    Case(([0, 0, 5], 2, [0]), 0),
    Case(([5, 3, 5, 3, 5, 0], 2, [5]), 3),
    Case((COUNTED, 0, [1]), ValueError, "n is below 1"),
    Case(([], 2, [1]), ValueError, "there is no text to count"),
]


def check_ngram(draft_class, cases=NGRAM_CASES) -> None:
    """Check the guesses after contexts that were seen."""
    _run_ngram(draft_class, cases, "Counting is all it does, and it costs hardly anything.")


def check_ngram_edges(draft_class, cases=NGRAM_EDGES) -> None:
    """Check backing off to nothing, short contexts, ties, proposals and errors."""
    _run_ngram(draft_class, cases, "Where a context is new, a shorter one answers.", "edges")
    text, context = [1, 2, 3, 1, 2, 4, 1, 2, 4], [3, 1]
    got = plain(draft_class(text, 3).propose(context, 4))
    if got != [2, 4, 1, 2]:
        raise CheckFailed(
            f"✗ NGramDraft({text}, 3).propose({context}, 4)\n  returned  {show(got)}\n"
            "  wanted    [2, 4, 1, 2]\n`propose` was given; it calls your next_token."
        )


def _run_ngram(draft_class, cases, success: str, part: str = "") -> None:
    def next_token(text, n, context):
        return draft_class(text, n).next_token(context)

    try:
        run_cases("next_token", next_token, cases, NGRAM_MISTAKES, success, part=part)
    except CheckFailed as error:
        call = r"✗ next_token\((.*), (-?\d+), (\[.*\])\)"
        told = re.sub(call, r"✗ NGramDraft(\1, \2).next_token(\3)", str(error), count=1)
        raise CheckFailed(told) from None


# --- prompt_lookup -----------------------------------------------------------------------------


def _lookup(t, n, k, starts=None, give=None):
    """Look up with parts of the rule replaced.

    starts  places where a match may begin, in the order in which they are tried
    give    function (start) -> the proposal
    """
    tried = range(len(t) - n - 1, -1, -1) if starts is None else starts
    for start in tried:
        if len(t) >= n and t[start : start + n] == t[-n:]:
            return give(start) if give else t[start + n : start + n + k]
    return []


LOOKUP_MISTAKES = [
    Mistake(
        "the newest n tokens match themselves, and nothing follows them. Look at earlier places.",
        lambda t, n, k: _lookup(t, n, k, range(len(t) - n, -1, -1)),
    ),
    Mistake(
        "the earliest match counts. The latest is wanted.",
        lambda t, n, k: _lookup(t, n, k, range(len(t) - n)),
    ),
    Mistake(
        "the matched tokens themselves are proposed. The ones after them are wanted.",
        lambda t, n, k: _lookup(t, n, k, give=lambda s: t[s : s + k]),
    ),
    Mistake(
        "all that follows the match is proposed. At most k tokens are wanted.",
        lambda t, n, k: _lookup(t, n, k, give=lambda s: t[s + n :]),
    ),
    Mistake(
        "a match with fewer than k tokens after it is passed over. Propose what follows.",
        lambda t, n, k: _lookup(t, n, k, range(len(t) - n - k, -1, -1)),
    ),
    Mistake(
        "matches that overlap the newest n tokens are passed over. They count too.",
        lambda t, n, k: _lookup(t, n, k, range(len(t) - 2 * n, -1, -1)),
    ),
    Mistake(
        "only the last token has to match. All n have to.",
        lambda t, n, k: _lookup(t, 1, k),
    ),
    Mistake(
        "without a match of n tokens a shorter one is taken. Propose nothing then.",
        lambda t, n, k: next((found for m in range(n, 0, -1) if (found := _lookup(t, m, k))), []),
    ),
    Mistake(
        "the proposal begins one token too late.",
        lambda t, n, k: _lookup(t, n, k, give=lambda s: t[s + n + 1 : s + n + 1 + k]),
    ),
    Mistake(
        "the proposal begins one token too early, inside the match.",
        lambda t, n, k: _lookup(t, n, k, give=lambda s: t[s + n - 1 : s + n - 1 + k]),
    ),
    Mistake(
        "the first place is never looked at. A match may begin there.",
        lambda t, n, k: _lookup(t, n, k, range(len(t) - n - 1, 0, -1)),
    ),
    Mistake(
        "without a match it returns None. Return an empty list.",
        lambda t, n, k: _lookup(t, n, k) if any(True for _ in _found(t, n)) else None,
    ),
]


def _found(t, n):
    return (start for start in range(len(t) - n) if t[start : start + n] == t[-n:])


LOOKUP_CASES = [
    Case(([1, 2, 3, 1, 2], 2, 2), [3, 1]),
    Case(([1, 2, 3, 1, 2], 2, 9), [3, 1, 2]),
    Case(([1, 2, 3, 1, 2, 4, 5, 1, 2], 2, 2), [4, 5]),
    Case(([1, 2, 3, 1, 2, 4, 5, 1, 2], 2, 1), [4]),
    Case(([8, 1, 2, 3, 9, 2, 3, 7, 1, 2, 3], 3, 3), [9, 2, 3]),
    Case(([8, 1, 2, 3, 9, 2, 3, 7, 1, 2, 3], 2, 3), [7, 1, 2]),
    Case(([4, 1, 5, 6, 4, 2, 6, 1], 1, 3), [5, 6, 4]),
    Case(([7, 7, 7, 7], 2, 3), [7]),
    Case(([5, 6, 5, 6, 5], 3, 2), [6, 5]),
    Case(([3, 1, 2, 9, 4, 2], 2, 3), []),
]

LOOKUP_EDGES = [
    Case(([1, 2, 3, 4], 2, 3), []),
    Case(([1, 2], 2, 3), []),
    Case(([1], 2, 3), []),
    Case(([], 1, 3), []),
    Case(([6, 6], 1, 3), [6]),
    Case(([0, 1, 0], 1, 2), [1, 0]),
    Case(([1, 2, 1], 1, 0), []),
    Case(([1, 2, 1], 0, 2), ValueError, "n is below 1"),
    Case(([1, 2, 1], 1, -1), ValueError, "k is negative"),
]


def check_prompt_lookup(prompt_lookup, cases=LOOKUP_CASES) -> None:
    """Check which match counts, and what is proposed after it."""
    run_cases(
        "prompt_lookup",
        prompt_lookup,
        cases,
        LOOKUP_MISTAKES,
        "A draft without any weights: the text itself.",
    )


def check_prompt_lookup_edges(prompt_lookup, cases=LOOKUP_EDGES) -> None:
    """Check texts without a match, short ones, k = 0, and the errors."""
    run_cases(
        "prompt_lookup",
        prompt_lookup,
        cases,
        LOOKUP_MISTAKES,
        "Nothing to propose is an answer: then the round is plain decoding.",
        part="edges",
    )


# --- distillation_loss -------------------------------------------------------------------------


def _log_softmax(logits) -> np.ndarray:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def _entropy(p) -> np.ndarray:
    return -(p * np.log(np.where(p > 0, p, 1))).sum(axis=1)


def _kl(logits, p) -> np.ndarray:
    """KL(p || q) of each row."""
    return -(p * _log_softmax(logits)).sum(axis=1) - _entropy(p)


def _backward_kl(logits, p) -> float:
    q = np.exp(_log_softmax(logits))
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(q > 0, q * (np.log(q) - np.log(p)), 0)
    return float(terms.sum(axis=1).mean())


LOSS_MISTAKES = [
    Mistake(
        "this is the cross entropy, - sum of p log q. KL also adds the sum of p log p, so that it "
        "is 0 when q = p.",
        lambda z, p: float(-(p * _log_softmax(z)).sum(axis=1).mean()),
    ),
    Mistake(
        "p and q have changed places: this is KL(q || p).",
        _backward_kl,
    ),
    Mistake(
        "the rows are summed. Their mean is wanted: divide by T.",
        lambda z, p: float(_kl(z, p).sum()),
    ),
    Mistake(
        "it is the mean over rows and tokens. Sum over the tokens, mean over the rows.",
        lambda z, p: float(_kl(z, p).mean() / z.shape[1]),
    ),
    Mistake(
        "the sign is turned. KL is never negative.",
        lambda z, p: float(-_kl(z, p).mean()),
    ),
    Mistake(
        "the logarithm has base 2. np.log gives nats.",
        lambda z, p: float(_kl(z, p).mean() / np.log(2)),
    ),
    Mistake(
        "the softmax runs over the rows, not over the tokens of each row. Use axis=1.",
        lambda z, p: float((-(p * _log_softmax(z.T).T).sum(axis=1) - _entropy(p)).mean()),
    ),
    Mistake(
        "this is the total variation, half the sum of |p - q|. KL is wanted.",
        lambda z, p: float(abs(p - np.exp(_log_softmax(z))).sum(axis=1).mean() / 2),
    ),
]


def _gradient(z, p) -> np.ndarray:
    return (np.exp(_log_softmax(z)) - p) / len(p)


GRADIENT_MISTAKES = [
    Mistake(
        "it points the other way: (p - q) / T. Training goes against the gradient, which is q - p.",
        lambda z, p: -_gradient(z, p),
    ),
    Mistake(
        "it is not divided by the number of rows, though the loss is their mean.",
        lambda z, p: _gradient(z, p) * len(p),
    ),
    Mistake(
        "it is the derivative by q, - p / q. The logits move, and q follows by the softmax.",
        lambda z, p: -p / np.exp(_log_softmax(z)) / len(p),
    ),
    Mistake(
        "it is divided by the number of entries. Divide by the number of rows T.",
        lambda z, p: _gradient(z, p) / z.shape[1],
    ),
    Mistake(
        "this is q alone. Where q = p nothing should move: take p away.",
        lambda z, p: np.exp(_log_softmax(z)) / len(p),
    ),
    Mistake(
        "the logits themselves are compared with p. Turn them into q by a softmax first.",
        lambda z, p: (z - p) / len(p),
    ),
    Mistake(
        "it is summed over the rows. Each row has a gradient of its own.",
        lambda z, p: _gradient(z, p).sum(axis=0),
    ),
]

HALF = np.log([[2.0, 1.0, 1.0], [1.0, 1.0, 2.0]])  # q = .5 .25 .25 and .25 .25 .5
LOSS_CASES = [
    (HALF, rows([0.5, 0.25, 0.25], [0.25, 0.25, 0.5])),
    (np.log(rows([1, 1], [3, 1])), rows([1, 0], [0.5, 0.5])),
    (np.add(HALF, [[7.0], [-3.0]]), rows([0.2, 0.2, 0.6], [0.25, 0.5, 0.25])),
    (rows([0.3, -1.2, 2.0, 0.0], [1.5, 0.5, -0.5, 1.0], [0, 0, 0, 0]),
     rows([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 0], [0.7, 0.1, 0.1, 0.1])),
    (rows([1000, 999, 998]), rows([0.5, 0.3, 0.2])),
]  # fmt: skip


def check_distillation_loss(distillation_loss, pairs=LOSS_CASES) -> None:
    """Check the loss: the mean of KL(p || q) over the rows, and the error."""
    cases = [Case((z, p), float(_kl(z, p).mean())) for z, p in pairs]
    wrong = Case((rows([1, 2]), rows([0.5, 0.5], [1, 0])), ValueError, SHAPES_WHY)
    run_cases(
        "distillation_loss",
        _part(distillation_loss, 0),
        [*cases, wrong],
        LOSS_MISTAKES,
        "0 where draft and target agree in all their chances.",
        first=lambda: _nan_first(distillation_loss, pairs),
        part="loss",
    )


def _nan_first(distillation_loss, pairs) -> str:
    """Say so when the loss is nan just where a probability is 0."""
    for z, p in pairs:
        loss = plain(_part(distillation_loss, 0)(z, p))
        if (isinstance(loss, float) and math.isnan(loss)) != bool((p == 0).any()):
            return ""
    return "Likely cause: 0 * log(0) is nan. A token with p = 0 adds 0: np.where(p > 0, …) helps."


def check_distillation_loss_gradient(distillation_loss, pairs=LOSS_CASES) -> None:
    """Check the gradient by the logits."""
    run_cases(
        "distillation_loss",
        _part(distillation_loss, 1),
        [Case((z, p), _gradient(z, p)) for z, p in pairs],
        GRADIENT_MISTAKES,
        "It raises what the draft says too rarely, and lowers the rest.",
        part="gradient",
    )


def _part(function: Callable, place: int) -> Callable:
    """The loss (0) or the gradient (1) that a call returns."""

    def called(*args):
        with np.errstate(all="ignore"):  # a wrong way is shown by its number, not by a warning
            value = function(*args)
        if not isinstance(value, tuple | list) or len(value) != 2:
            return value
        return value[place]

    return called


# --- propose_with_heads ------------------------------------------------------------------------


def _guesses(row, heads) -> list[int]:
    return [int((row @ head).argmax()) for head in heads]


def _fed_on(hidden, accepted, heads) -> list[int]:
    """Heads used one after the other, each on the last one's result."""
    row, guesses = hidden[accepted], []
    for head in heads:
        logits = row @ head
        guesses.append(int(logits.argmax()))
        row = logits[: len(row)]
    return guesses


HEADS_MISTAKES = [
    Mistake(
        "it reads the last row. After a rejection that row has read rejected guesses; take row "
        "num_accepted_tokens.",
        lambda h, a, heads: _guesses(h[-1], heads),
    ),
    Mistake(
        "it reads the row one place too early. Row num_accepted_tokens gave the target's token.",
        lambda h, a, heads: _guesses(h[a - 1], heads),
    ),
    Mistake(
        "it reads row 0 always. Take row num_accepted_tokens.",
        lambda h, a, heads: _guesses(h[0], heads),
    ),
    Mistake(
        "it reads one row for each head. All heads read the same row.",
        lambda h, a, heads: [
            int((h[min(a + i, len(h) - 1)] @ head).argmax()) for i, head in enumerate(heads)
        ],
    ),
    Mistake(
        "the first head is left out. It guesses the token after the target's own one.",
        lambda h, a, heads: _guesses(h[a], heads[1:]),
    ),
    Mistake(
        "one head guesses everything. Head i guesses the token i places further on.",
        lambda h, a, heads: _guesses(h[a], heads[:1] * len(heads)),
    ),
    Mistake(
        "the guesses stand in turned order. Head 0 guesses the nearest token.",
        lambda h, a, heads: _guesses(h[a], heads)[::-1],
    ),
    Mistake(
        "the least likely token is taken. The largest of row @ head is wanted.",
        lambda h, a, heads: [int((h[a] @ head).argmin()) for head in heads],
    ),
    Mistake(
        "the logits are returned. A guess is the token with the largest.",
        lambda h, a, heads: [h[a] @ head for head in heads],
    ),
    Mistake(
        "all rows are multiplied, and the largest of all is taken. Choose the row first.",
        lambda h, a, heads: [int((h @ head).argmax()) for head in heads],
    ),
    Mistake("each head reads what the one before it gave. All read the same row.", _fed_on),
]

# Rows that point along one axis each, so that a head's row of numbers can be read off.
AXES = rows([1, 0, 0], [0, 1, 0], [0, 0, 1])
HEAD_A = rows([8, 0, 1, 2], [0, 9, 1, 2], [1, 0, 9, 2])
HEAD_B = rows([0, 1, 2, 8], [9, 1, 2, 0], [2, 9, 1, 0])
HEAD_C = rows([1, 2, 8, 0], [1, 0, 2, 9], [9, 1, 0, 2])
ROW_WHY = "there is no such row"

HEADS_CASES = [
    Case((AXES, 1, [HEAD_A, HEAD_B]), [1, 0]),
    Case((AXES, 2, [HEAD_A, HEAD_B, HEAD_C]), [2, 1, 0]),
    Case((AXES, 0, [HEAD_C, HEAD_A]), [2, 0]),
    Case(
        (rows([1, 2], [2, -1]), 1, [rows([1, 0, 0], [0, 1, 3]), rows([0, 1, 2], [3, 3, 0])]),
        [0, 2],
    ),
    Case((rows([3, 1]), 0, [rows([1, 2], [0, 9])]), [1]),
    Case((AXES, 1, []), []),
    Case((AXES, 3, [HEAD_A]), ValueError, ROW_WHY),
    Case((AXES, -1, [HEAD_A]), ValueError, ROW_WHY),
]  # fmt: skip


def check_propose_with_heads(propose_with_heads, cases=HEADS_CASES) -> None:
    """Check which row is read, one guess for each head, and the errors."""
    run_cases(
        "propose_with_heads",
        propose_with_heads,
        cases,
        HEADS_MISTAKES,
        "All guesses at once, from a row that was computed anyway.",
    )


# --- verify_tree and tree_mask -----------------------------------------------------------------


def _walk(tokens, parents, choices, child=None, answer=None):
    """Follow the choices with parts of the rule replaced.

    child   function (node) -> the next node, or None
    answer  function (path) -> the last token
    """

    def right_child(node):
        fitting = [
            i for i in range(1, len(tokens)) if parents[i] == node and tokens[i] == choices[node]
        ]
        return fitting[0] if fitting else None

    path = [0]
    while len(path) <= len(tokens):
        following = (child or right_child)(path[-1])
        if following is None:
            break
        path.append(following)
    last = answer(path) if answer else choices[path[-1]]
    return [[*(tokens[i] for i in path[1:]), last], path]


def _without_tail(tokens, parents, choices):
    emitted, path = _walk(tokens, parents, choices)
    return [emitted[:-1], path]


def _only_first_child(tokens, parents, choices):
    def child(node):
        children = [i for i in range(1, len(tokens)) if parents[i] == node]
        return children[0] if children and tokens[children[0]] == choices[node] else None

    return _walk(tokens, parents, choices, child)


def _any_node(tokens, parents, choices):
    def child(node):
        fitting = [i for i in range(node + 1, len(tokens)) if tokens[i] == choices[node]]
        return fitting[0] if fitting else None

    return _walk(tokens, parents, choices, child)


def _as_a_chain(tokens, parents, choices):
    def child(node):
        after = node + 1
        return after if after < len(tokens) and tokens[after] == choices[node] else None

    return _walk(tokens, parents, choices, child)


def _own_choice(tokens, parents, choices):
    def child(node):
        fitting = [
            i for i in range(1, len(tokens)) if parents[i] == node and tokens[i] == choices[i]
        ]
        return fitting[0] if fitting else None

    return _walk(tokens, parents, choices, child)


TREE_MISTAKES = [
    Mistake("the target's choice after the last accepted node is left out.", _without_tail),
    Mistake(
        "only the first child of a node is tried. Any child with the right token will do.",
        _only_first_child,
    ),
    Mistake(
        "a node is accepted that is no child of the last accepted one. Look at its parent.",
        _any_node,
    ),
    Mistake(
        "the nodes are taken for one chain, each the child of the one before.",
        _as_a_chain,
    ),
    Mistake(
        "a guess is compared with the choice after itself. The choice after its parent judges it.",
        _own_choice,
    ),
    Mistake(
        "the last token is the choice after node 0. Take the one after the last accepted node.",
        lambda t, p, c: _walk(t, p, c, answer=lambda path: c[0]),
    ),
    Mistake(
        "the last token is the choice after the last node of the tree. Take the one after the last "
        "accepted node.",
        lambda t, p, c: _walk(t, p, c, answer=lambda path: c[-1]),
    ),
    Mistake(
        "node 0 is emitted too. It is in the text already.",
        lambda t, p, c: [[t[0], *_walk(t, p, c)[0]], _walk(t, p, c)[1]],
    ),
    Mistake(
        "the path lacks node 0. The cache must keep it.",
        lambda t, p, c: [_walk(t, p, c)[0], _walk(t, p, c)[1][1:]],
    ),
    Mistake(
        "the path holds tokens. Its entries are numbers of nodes.",
        lambda t, p, c: [_walk(t, p, c)[0], [t[i] for i in _walk(t, p, c)[1]]],
    ),
    Mistake(
        "the pair stands in turned order: emitted first, then path.",
        lambda t, p, c: _walk(t, p, c)[::-1],
    ),
    Mistake(
        "it returns the emitted tokens alone. Return the path too: (emitted, path).",
        lambda t, p, c: _walk(t, p, c)[0],
    ),
    Mistake(
        "it stops after one accepted guess. Go on from there.",
        lambda t, p, c: _one_step(t, p, c),
    ),
]


def _one_step(tokens, parents, choices):
    emitted, path = _walk(tokens, parents, choices)
    path = path[:2]
    return [[*emitted[: len(path) - 1], choices[path[-1]]], path]


#      0          node 0 is the newest token; 1 and 2 guess the next one,
#     / \         3 and 4 the one after 1, 5 the one after 2
#    1   2
#   / \   \
#  3   4   5
FAMILY = [-1, 0, 0, 1, 1, 2]

TREE_CASES = [
    Case(([9, 1, 2, 3, 4, 3], FAMILY, [1, 4, 3, 8, 7, 6]), [[1, 4, 7], [0, 1, 4]]),
    Case(([9, 1, 2, 3, 4, 3], FAMILY, [2, 4, 3, 8, 7, 6]), [[2, 3, 6], [0, 2, 5]]),
    Case(([9, 1, 2, 3, 4, 3], FAMILY, [1, 5, 3, 8, 7, 6]), [[1, 5], [0, 1]]),
    Case(([9, 1, 2, 3, 4, 3], FAMILY, [3, 4, 3, 8, 7, 6]), [[3], [0]]),
    Case(([9, 1, 2, 3, 4, 3], FAMILY, [2, 3, 4, 8, 7, 6]), [[2, 4], [0, 2]]),
    Case(([5, 6, 7, 8], [-1, 0, 1, 2], [6, 7, 8, 1]), [[6, 7, 8, 1], [0, 1, 2, 3]]),
    Case(([5, 6, 7, 8], [-1, 0, 1, 2], [6, 2, 8, 1]), [[6, 2], [0, 1]]),
    Case(([5, 1, 2, 3], [-1, 0, 0, 0], [3, 1, 2, 4]), [[3, 4], [0, 3]]),
    Case(([5, 5, 5, 5, 5], [-1, 0, 0, 1, 2], [5, 5, 5, 4, 3]), [[5, 5, 4], [0, 1, 3]]),
    Case(([4], [-1], [7]), [[7], [0]]),
    Case(([2, 0, 1, 0], [-1, 0, 0, 1], [0, 0, 2, 0]), [[0, 0, 0], [0, 1, 3]]),
    Case(([4, 1], [-1], [7]), ValueError, "the lists differ in length"),
    Case(([4, 1], [-1, 0], [1]), ValueError, "the lists differ in length"),
    Case(([], [], []), ValueError, "a tree has a node 0"),
]


def check_verify_tree(verify_tree, cases=TREE_CASES) -> None:
    """Check the accepted path, what is emitted, and the errors."""
    run_cases(
        "verify_tree",
        verify_tree,
        cases,
        TREE_MISTAKES,
        "The cache keeps the path, and forgets the other branches.",
    )


def _mask(parents, sees: Callable) -> list:
    """Mask as lists; `sees(node)` gives the nodes that a node sees."""
    size = range(len(parents))
    return [[other in sees(node) for other in size] for node in size]


def _ancestors(parents, node) -> list[int]:
    """The node itself, its parent, and so on up."""
    line = [node]
    while parents[line[-1]] != -1:
        line.append(parents[line[-1]])
    return line


MASK_MISTAKES = [
    Mistake(
        "a node sees all earlier nodes, also those of other branches. Only its own line counts.",
        lambda p: _mask(p, lambda i: range(i + 1)),
    ),
    Mistake(
        "a node sees itself and its parent, and nothing above. Take over all that the parent sees.",
        lambda p: _mask(p, lambda i: [i, *([p[i]] if i else [])]),
    ),
    Mistake(
        "a node does not see itself.",
        lambda p: _mask(p, lambda i: _ancestors(p, i)[1:]),
    ),
    Mistake(
        "rows and columns have changed places: row i says what node i may see.",
        lambda p: [list(row) for row in zip(*_mask(p, lambda i: _ancestors(p, i)), strict=True)],
    ),
    Mistake(
        "a node sees all levels above its own, also its parent's brothers.",
        lambda p: mask_by_level(p).tolist(),
    ),
    Mistake(
        "node 0 is not seen by all. It is every node's ancestor.",
        lambda p: _mask(p, lambda i: [j for j in _ancestors(p, i) if j or not i]),
    ),
    Mistake(
        "a node sees itself only. It must see its parent and all above.",
        lambda p: _mask(p, lambda i: [i]),
    ),
]

PARENT_WHY = "a parent is an earlier node"
MASK_CASES = [
    *(
        Case((parents,), _mask(parents, lambda i, parents=parents: _ancestors(parents, i)))
        for parents in (FAMILY, [-1, 0, 1, 2], [-1, 0, 0], [-1], [-1, 0, 0, 2, 1, 3, 0, 4])
    ),
    Case(([-1, 0, 3, 1],), ValueError, PARENT_WHY),
    Case(([-1, 1],), ValueError, PARENT_WHY),
]


def check_tree_mask(tree_mask, cases=MASK_CASES) -> None:
    """Check which nodes see which."""
    run_cases(
        "tree_mask",
        _truths(tree_mask),
        cases,
        MASK_MISTAKES,
        "Each branch is judged as if it were the only one.",
    )


def _truths(function: Callable) -> Callable:
    """The function with zeros and ones made True and False: a mask works with either."""

    def called(*args):
        value = plain(function(*args))
        if isinstance(value, list) and all(isinstance(row, list) for row in value):
            return [[bool(x) if x in (0, 1) else x for x in row] for row in value]
        return value

    return called


# --- find the bug ------------------------------------------------------------------------------


def check_bug_lookup(answer) -> None:
    """Check a text for which the lookup that matches itself proposes something else, by running."""
    text = _given("todo_bug_lookup", answer, "Give a list of token ids, such as [1, 2, 3].")
    got, want = lookup_latest(text, 2, 3), worked.prompt_lookup(text, 2, 3)
    _exposed("todo_bug_lookup", f"lookup_latest({show(text)}, 2, 3)", got, want,
             "Its newest two tokens need an earlier place where they stand, too.")  # fmt: skip


def check_bug_mask(answer) -> None:
    """Check parents for which the mask by levels is wrong, by running it."""
    shape = "Give a list of parents, such as [-1, 0, 1]."
    parents = _given("todo_bug_mask", answer, shape)
    if not _is_tree(parents):
        raise CheckFailed(
            f"✗ todo_bug_mask = {show(parents)} is no tree: -1 for node 0, then for each node the "
            "number of an earlier one."
        )
    got = mask_by_level(parents).tolist()
    want = worked.tree_mask(parents).tolist()
    seen = [
        (i, j) for i in range(len(parents)) for j in range(len(parents)) if got[i][j] != want[i][j]
    ]
    if not seen:
        raise CheckFailed(
            f"✗ mask_by_level({show(parents)}) is right. Draw the tree: which node has a level "
            "above it with somebody who is not its ancestor?"
        )
    i, j = seen[0]
    print(
        f"✓ mask_by_level({show(parents)}) lets node {i} see node {j}, which is not above it in "
        "its own line. You exposed it."
    )


def _is_tree(parents) -> bool:
    if not parents or parents[0] != -1:
        return False
    return all(0 <= parent < node for node, parent in enumerate(parents) if node)


def _given(name: str, answer, shape: str) -> list:
    if answer is None or answer is Ellipsis:
        raise NotWrittenYet(
            f"✎ {name} is not written yet. Put your list in place of None, then run both."
        )
    answer = plain(answer)
    numbers = isinstance(answer, list) and all(
        isinstance(item, int) and not isinstance(item, bool) for item in answer
    )
    if not numbers:
        raise CheckFailed(f"✗ {name} = {show(answer)}. {shape}")
    return answer


def _exposed(name: str, call: str, got: Sequence, want: Sequence, hint: str) -> None:
    if same(got, want):
        raise CheckFailed(f"✗ {call}\n  returns   {show(got)}, which is right. {hint}")
    print(f"✓ {call}\n  returns {show(got)}, right is {show(want)}. You exposed it.")
