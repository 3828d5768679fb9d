"""The checks of lesson 2. Each takes the learner's function, and cases of its own by default."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from specdec.passes import CAT_DRAFT, CAT_TARGET, CAT_WORDS, HOPELESS, RuleModel
from specdec.toys import seven_draft, seven_target
from specdec.trace import OutOfBudget
from specdec.values import plain, show

from .core import (
    Case,
    CheckFailed,
    Mistake,
    NotWrittenYet,
    call,
    calls_by_name,
    describe,
    error_text,
    is_right,
    run_cases,
)

# --- build_causal_mask --------------------------------------------------------------------------


def causal(n: int) -> list:
    """The right mask, as lists."""
    return [[column <= row for column in range(n)] for row in range(n)]


def _mask(rule: Callable) -> Callable:
    return lambda n: [[rule(row, column) for column in range(n)] for row in range(n)]


MASK_MISTAKES = [
    Mistake(
        "rows and columns are swapped: each token sees what comes after it. np.tril keeps the "
        "lower left.",
        _mask(lambda row, column: column >= row),
    ),
    Mistake(
        "a token does not see itself. The diagonal is True as well.",
        _mask(lambda row, column: column < row),
    ),
    Mistake(
        "every token sees everything. What comes after a token must be False.",
        _mask(lambda row, column: True),
    ),
    Mistake(
        "True and False are the wrong way round. True is where a token may see.",
        _mask(lambda row, column: column > row),
    ),
    Mistake(
        "each token sees only itself. It sees all before it too.",
        _mask(lambda row, column: column == row),
    ),
    Mistake(
        "each token sees one token of the future.",
        _mask(lambda row, column: column <= row + 1),
    ),
]

MASK_CASES = [Case((n,), causal(n)) for n in (3, 4, 1, 8)]
BROKEN_MASK = "First repair build_causal_mask: it fails its own check, and this function calls it."


def check_build_causal_mask(build_causal_mask, cases=MASK_CASES) -> None:
    """Check the mask: True on and below the diagonal, and booleans throughout."""
    for case in cases:
        outcome = call(build_causal_mask, case.args)
        cause = unlike_booleans(plain(outcome.value))
        if cause:
            lines = describe("build_causal_mask", case, outcome)
            raise CheckFailed("\n".join([*lines, cause]))
    run_cases(
        "build_causal_mask",
        build_causal_mask,
        cases,
        MASK_MISTAKES,
        "Row t sees positions 0 to t.",
    )


def unlike_booleans(mask) -> str:
    """Say so when a mask is made of numbers, which full_lm_forward refuses; else ""."""
    if not isinstance(mask, list) or not all(isinstance(row, list) for row in mask):
        return ""
    entries = [entry for row in mask for entry in row]
    if any(isinstance(entry, float) and np.isinf(entry) for entry in entries):
        return (
            "This is the form that is added to scores, 0 and -inf. full_lm_forward wants True and "
            "False."
        )
    if any(isinstance(entry, int | float) and not isinstance(entry, bool) for entry in entries):
        return "The entries are numbers. full_lm_forward wants True and False: dtype=bool."
    return ""


def _broken_mask(build_causal_mask) -> bool:
    try:
        return any(not is_right(call(build_causal_mask, c.args), c) for c in MASK_CASES)
    except NotWrittenYet:
        return True


def _mask_first(function, build_causal_mask) -> str:
    """Say so when `function` builds on the learner's mask and that one is wrong."""
    if build_causal_mask is None or not calls_by_name(function, "build_causal_mask"):
        return ""
    return BROKEN_MASK if _broken_mask(build_causal_mask) else ""


# --- what a run of a decoder did ----------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """Two rules on token ids and the size of their vocabulary; `words` are shown beside ids."""

    draft: Callable
    target: Callable
    vocab_size: int
    words: Sequence[str] = ()

    def named(self, token_ids) -> str:
        """Token ids as text, with their words where they have any."""
        token_ids = plain(token_ids)
        known = isinstance(token_ids, list) and all(
            isinstance(t, int) and 0 <= t < len(self.words) for t in token_ids
        )
        if not self.words or not known:
            return show(token_ids)
        return f"{show(token_ids)}  ({' '.join(self.words[t] for t in token_ids)})"


CAT = Pair(CAT_DRAFT, CAT_TARGET, len(CAT_WORDS), CAT_WORDS)
SEVEN = Pair(seven_draft, seven_target, 7)


def always_wrong(token_ids):
    """A draft that always misses the number target."""
    return (seven_target(token_ids) + 1) % 7


NEVER_RIGHT = Pair(always_wrong, seven_target, 7)
PERFECT = Pair(seven_target, seven_target, 7)
BANANA = Pair(HOPELESS, CAT_TARGET, len(CAT_WORDS), CAT_WORDS)


class Run:
    """One call of a learner's decoder: its outcome, and the passes that it made.

    name   of the function, for messages
    text   list of token ids; the function gets them as an array (1, T)
    rest   the arguments after the models
    both   whether the function takes a draft and a target, or one model
    """

    def __init__(self, name: str, function, pair: Pair, text: list, rest: tuple, both: bool = True):
        budget = 4 * (max(rest) + 2) ** 2  # far more passes than any right function makes
        self.name, self.pair, self.text, self.rest = name, pair, text, rest
        self.draft = RuleModel(pair.draft, pair.vocab_size, budget=budget)
        self.target = RuleModel(pair.target, pair.vocab_size, budget=budget)
        self.models = (self.draft, self.target) if both else (self.target,)
        self.outcome = call(function, (np.array([text]), *self.models, *rest))

    @property
    def called(self) -> str:
        """The call as text, with the words of the ids behind it."""
        models = [model.__name__ for model in self.models]
        args = ", ".join([f"[{self.text}]", *models, *map(str, self.rest)])
        words = " ".join(self.pair.words[t] for t in self.text) if self.pair.words else ""
        return f"{self.name}({args}){words and f'  ({words})'}"

    def fail(self, *lines: str, cause: str = "") -> CheckFailed:
        return CheckFailed("\n".join([f"✗ {self.called}", *lines, *([cause] if cause else [])]))

    def unlike_ids(self, value) -> str:
        """Say what is wrong with the form of token ids, or "": they are whole numbers, (1, L)."""
        value = plain(value)
        if value is None:
            return "token_ids is None: a `return` is missing, or never reached."
        if not isinstance(value, list) or not all(isinstance(row, list) for row in value):
            return f"token_ids has shape {_shape(value)}. Wanted is (1, length), as it came in."
        if len(value) != 1:
            return f"token_ids has shape {_shape(value)}. Wanted is (1, length): one text."
        if any(isinstance(t, bool) or not isinstance(t, int) for t in value[0]):
            return "token_ids must stay whole numbers; something turned them into another kind."
        return ""


def _shape(value) -> str:
    try:
        return str(np.shape(value))
    except ValueError:
        return "that is not even"


def _mask_cause(passes) -> str:
    """Name a mask that is missing or not causal in one of the passes."""
    for one in passes:
        if one.mask == "none":
            return (
                f"A pass over {len(one.token_ids)} tokens had no mask. Without it a row sees the "
                "tokens that it has to judge: mask=build_causal_mask(length)."
            )
        if one.mask == "other":
            return f"The mask of a pass over {len(one.token_ids)} tokens is not causal."
    return ""


# --- greedy_decode ------------------------------------------------------------------------------


def greedy(rule: Callable, text: list, num_tokens: int) -> list:
    """The rule's own continuation: the text and num_tokens more ids."""
    tokens = list(text)
    for _ in range(num_tokens):
        tokens.append(rule(tokens))
    return tokens


def _first_row(rule, text, n):
    tokens = list(text)
    for _ in range(n):
        tokens.append(rule(tokens[:1]))
    return tokens


def _row_before(rule, text, n):
    tokens = list(text)
    for _ in range(n):
        tokens.append(rule(tokens[:-1] or tokens))
    return tokens


GREEDY_MISTAKES = [
    Mistake(
        "the token comes from row 0. The last row is the one after the whole text.",
        _first_row,
    ),
    Mistake(
        "the token comes from the row before the last. The last row predicts the next token.",
        _row_before,
    ),
    Mistake(
        "only the new tokens are returned. Return the text and the new tokens.",
        lambda rule, text, n: greedy(rule, text, n)[len(text) :],
    ),
    Mistake(
        "one token too few. Add num_tokens tokens.",
        lambda rule, text, n: greedy(rule, text, max(n - 1, 0)),
    ),
    Mistake(
        "one token too many. Add num_tokens tokens.",
        lambda rule, text, n: greedy(rule, text, n + 1),
    ),
    Mistake(
        "every pass reads the text as it was at the start. Let it read the new tokens too.",
        lambda rule, text, n: [*text, *[rule(text)] * n],
    ),
    Mistake(
        "the text is returned as it came. Append each new token to it.",
        lambda rule, text, n: list(text),
    ),
    Mistake(
        "num_tokens is taken for the length of the whole text. Add num_tokens tokens to it.",
        lambda rule, text, n: greedy(rule, text, max(n - len(text), 0)),
    ),
]

# (pair, text, num_tokens)
GREEDY_CASES = [
    (CAT, [0], 12),
    (CAT, [0, 1, 2, 3, 0], 2),
    (SEVEN, [1, 3], 5),
    (SEVEN, [4], 0),
    (SEVEN, [2, 5, 6], 1),
]


def check_greedy_decode(greedy_decode, build_causal_mask=None, cases=GREEDY_CASES) -> None:
    """Check plain decoding: the tokens, one pass for each, each with a causal mask, the errors."""
    runs = [Run("greedy_decode", greedy_decode, p, text, (n,), both=False) for p, text, n in cases]
    known = [(run.pair.target, run.text, *run.rest) for run in runs]
    _check_tokens(
        runs,
        [greedy(*args) for args in known],
        lambda: _mask_first(greedy_decode, build_causal_mask),
        lambda: _cause(GREEDY_MISTAKES, runs, known),
        lambda value: value,
    )
    for run in runs:
        _check_greedy_passes(run, lambda: _mask_first(greedy_decode, build_causal_mask))
    _check_negative("greedy_decode", greedy_decode, ((-1,),), both=False)
    print(f"✓ greedy_decode: {len(cases)} texts right, one pass a token. Negative: ValueError.")


def _check_greedy_passes(run: Run, first: Callable) -> None:
    passes, (num_tokens,) = run.target.passes, run.rest
    if len(passes) != num_tokens:
        raise run.fail(
            f"  took      {len(passes)} passes", f"  wanted    {num_tokens}: one a token"
        )
    cause = _mask_cause(passes)
    if cause:
        raise run.fail("  tokens    right, with this rule model", cause=first() or cause)


def _check_tokens(runs, wanted, first, cause, ids_of, extra=None) -> None:
    """Compare the token ids of all runs; raise CheckFailed for the first wrong one.

    ids_of  gets the token ids out of a returned value
    extra   (run, value) -> lines and cause of another fault in the value, or None
    """
    for run, want in zip(runs, wanted, strict=True):
        outcome = run.outcome
        if outcome.error is not None:
            raise run.fail(
                f"  raised    {_error(outcome.error)}",
                f"  wanted    {run.pair.named(want)}",
                cause=first() or _error_cause(outcome.error, cause),
            )
        value = ids_of(outcome.value)
        odd = run.unlike_ids(value)
        if odd:
            raise run.fail(f"  returned  {show(outcome.value)}", f"  wanted    [{show(want)}]",
                           cause=odd)  # fmt: skip
        got = plain(value)[0]
        if got != want:
            raise run.fail(
                f"  returned  {run.pair.named(got)}",
                f"  wanted    {run.pair.named(want)}",
                cause=first() or _mask_cause(_all_passes(run)) or cause(),
            )
        if extra:
            extra(run, outcome.value)
        if outcome.changed:
            raise run.fail(
                f"  changed its input: {outcome.changed}. Make a new array: np.concatenate does."
            )


def _all_passes(run: Run) -> list:
    return [one for model in run.models for one in model.passes]


def _error_cause(error: BaseException, cause: Callable) -> str:
    """Name the cause of an error, where it is sure."""
    if out_of_budget(error):
        return ""  # its own sentence says it
    if isinstance(error, ValueError) and "token_ids must lie in" in str(error):
        return (
            "A token id is larger than the vocabulary. np.argmax of a whole array counts through "
            "all its rows; see to it that it looks at one row only, or give axis=-1."
        )
    return cause()


def out_of_budget(error) -> bool:
    return isinstance(error, OutOfBudget)


def _error(error: BaseException) -> str:
    """An error's text; the budget's sentence is not cut, since it explains."""
    return str(error) if out_of_budget(error) else error_text(error)


def _cause(mistakes, runs, known) -> str:
    """Name the one known mistake that gives what every run gave, right ones included."""
    fitting = [
        m for m in mistakes if all(_alike(m, r, k) for r, k in zip(runs, known, strict=True))
    ]
    return f"Likely cause: {fitting[0].cause}" if len(fitting) == 1 else ""


def _alike(mistake: Mistake, run: Run, args) -> bool:
    try:
        gives = mistake.does(*args)
    except Exception as error:
        return type(run.outcome.error) is type(error)
    if run.outcome.error is not None:
        return False
    got = plain(run.outcome.value)
    if isinstance(gives, tuple):
        ids, count = gives
        return isinstance(got, list) and got == [[ids], count]
    return got == [gives]


def _check_negative(name, function, rests, both=True) -> None:
    for rest in rests:
        run = Run(name, function, SEVEN, [1, 3], rest, both=both)
        if not isinstance(run.outcome.error, ValueError):
            if run.outcome.error is not None:
                back = f"  raised    {_error(run.outcome.error)}"
            else:
                back = f"  returned  {show(run.outcome.value)}"
            raise run.fail(back, "  wanted    ValueError, since a number is negative")


BROKEN_GREEDY = "First repair greedy_decode: it fails its own check, and this function calls it."


def _greedy_first(function, greedy_decode) -> str:
    if greedy_decode is None or not calls_by_name(function, "greedy_decode"):
        return ""
    try:
        runs = [Run("", greedy_decode, p, text, (n,), both=False) for p, text, n in GREEDY_CASES]
    except NotWrittenYet:
        return BROKEN_GREEDY
    right = all(
        plain(run.outcome.value) == [greedy(run.pair.target, run.text, *run.rest)] for run in runs
    )
    return "" if right else BROKEN_GREEDY


# --- speculative_decode_step --------------------------------------------------------------------


def answers(target: Callable, drafted: list, first: int) -> list:
    """The target's favourites of rows `first` to the last, each after the tokens up to its own."""
    return [target(drafted[: row + 1]) for row in range(first, len(drafted))]


def matches(guesses, judged) -> int:
    """Count the leading places where a drafted token is the target's favourite.

    IndexError when there are fewer answers than the comparison needs.
    """
    count = 0
    while count < len(guesses) and guesses[count] == judged[count]:
        count += 1
    return count


def one_step(pair: Pair, text: list, k: int) -> tuple[list, int]:
    """The right result: (ids of the longer text, number of accepted tokens)."""
    drafted = greedy(pair.draft, text, k)
    judged = answers(pair.target, drafted, len(text) - 1)
    count = matches(drafted[len(text) :], judged)
    return [*text, *judged[: count + 1]], count


def _by_rows(rule: Callable, judges: Callable | None = None, draft: Callable | None = None):
    """Make a wrong step from a rule of (drafted tokens, judging answers, matches, pair, text).

    judges  (target, whole drafted text, T) -> the answers that it compares with
    draft   (draft rule, text, k) -> the drafted text
    """

    def step(pair, text, k):
        drafted = (draft or greedy)(pair.draft, text, k)
        judged = (judges or (lambda t, d, n: answers(t, d, n - 1)))(pair.target, drafted, len(text))
        guesses = drafted[len(text) :]
        new, count = rule(guesses, judged, matches(guesses, judged), pair, text)
        return [*text, *new], count

    return step


def _from(start, tokens, count):
    return tokens[start:], count


def _right_rule(guesses, judged, count, *_):
    if count == len(guesses):
        return [*guesses, judged[count]], count
    return [*guesses[:count], judged[count]], count


def _stops_at_k(guesses, judged, count, *_):
    return (guesses if count == len(guesses) else judged[: count + 1]), count


def _matches_in_all(guesses, judged) -> int:
    """Count all places where guess and answer agree, also those after the first difference."""
    return sum(guess == answer for guess, answer in zip(guesses, judged, strict=False))


def _answers_of_all_matches(guesses, judged, *_):
    count = _matches_in_all(guesses, judged)
    return judged[: count + 1], count


def _guesses_of_all_matches(guesses, judged, *_):
    count = _matches_in_all(guesses, judged)
    return [*guesses[:count], judged[count]], count


def _matching_guesses(guesses, judged, *_):
    same = [guess for guess, answer in zip(guesses, judged, strict=False) if guess == answer]
    return [*same, judged[len(same)]], len(same)


def _later_without_bonus(guesses, judged, count, *_):
    total = _matches_in_all(guesses, judged)
    return (judged if count == len(guesses) else judged[:-1]), total


COUNTS_LATER = "guesses after the first difference are counted too. Stop there."


def _keeps_later(guesses, judged, count, *_):
    new, total = [], 0
    for guess, wanted in zip(guesses, judged, strict=False):
        if guess == wanted:
            total += 1
        new.append(wanted)
    return [*new, judged[-1]], total


def _same_token(rule, text, k):
    return [*text, *[rule(text)] * k]


STEP_MISTAKES = [
    Mistake(
        "the rows are read one place too late. The row of the text's last token, T - 1, judges the "
        "first drafted token; k + 1 rows count, T - 1 to T - 1 + k.",
        _by_rows(_right_rule, lambda t, d, n: answers(t, d, n)),
    ),
    Mistake(
        "the rows are read one place too early. Row T - 1 judges the first drafted token.",
        _by_rows(_right_rule, lambda t, d, n: answers(t, d, n - 2) if n > 1 else [t(d)]),
    ),
    Mistake(
        "the rows are read one place too early. Row T - 1 judges the first drafted token.",
        _by_rows(_right_rule, lambda t, d, n: answers(t, d, max(n - 2, 0))),
    ),
    Mistake(
        "the bonus is missing. When all k are accepted, the last row has one more answer.",
        _by_rows(_stops_at_k),
    ),
    Mistake(
        "the bonus comes from the draft. It is the target's answer in the last row.",
        _by_rows(
            lambda g, j, a, pair, text: (
                ([*g, pair.draft([*text, *g])], a) if a == len(g) else (j[: a + 1], a)
            )
        ),
    ),
    Mistake(
        "at the first difference the draft's token is kept. The target's own belongs there.",
        _by_rows(lambda g, j, a, *_: (j, a) if a == len(g) else (g[: a + 1], a)),
    ),
    Mistake(
        "the correction is missing. At the first difference the target's own token comes out.",
        _by_rows(lambda g, j, a, *_: (j, a) if a == len(g) else (g[:a], a)),
    ),
    Mistake(
        "only accepted tokens are added. Each pass adds one token of the target's own.",
        _by_rows(lambda g, j, a, *_: (g[:a], a)),
    ),
    Mistake(
        "it goes on after the first difference. Later answers are about a text that will not "
        "exist: stop there.",
        _by_rows(_keeps_later),
    ),
    Mistake(COUNTS_LATER, _by_rows(_answers_of_all_matches)),
    Mistake(COUNTS_LATER, _by_rows(_guesses_of_all_matches)),
    Mistake(COUNTS_LATER, _by_rows(_matching_guesses)),
    Mistake(COUNTS_LATER, _by_rows(_later_without_bonus)),
    Mistake(
        "all the target's answers are added, also those after the first difference.",
        _by_rows(lambda g, j, a, *_: (j, a)),
    ),
    Mistake(
        "all drafted tokens are kept, right or wrong.",
        _by_rows(lambda g, j, a, *_: ([*g, j[-1]], len(g))),
    ),
    Mistake(
        "the draft reads the same text for every guess. Let it read its own guesses: "
        "greedy_decode does.",
        _by_rows(_right_rule, draft=_same_token),
    ),
    Mistake(
        "the count includes the target's own token. That one is emitted, not accepted.",
        _by_rows(lambda g, j, a, *_: (j[: a + 1], a + 1)),
    ),
    Mistake(
        "all k drafted tokens are counted. Count those before the first difference.",
        _by_rows(lambda g, j, a, *_: (j[: a + 1], len(g))),
    ),
    Mistake(
        "all matches are counted. Count those before the first difference.",
        _by_rows(lambda g, j, a, *_: (j[: a + 1], sum(x == y for x, y in zip(g, j, strict=False)))),
    ),
    Mistake(
        "only the new tokens are returned. Return the text and the new tokens.",
        lambda pair, text, k: _from(len(text), *one_step(pair, text, k)),
    ),
    Mistake(
        "at the first difference both tokens come out. Only the target's own does.",
        _by_rows(lambda g, j, a, *_: (j, a) if a == len(g) else ([*g[: a + 1], j[a]], a)),
    ),
]

# (pair, text, k)
STEP_CASES = [
    (CAT, [0], 3),  # all accepted, the bonus
    (CAT, [0], 4),  # all accepted, and the draft would give another bonus
    (CAT, [0, 1, 2, 3, 0], 3),  # round 2: nothing accepted, two later matches
    (CAT, [0, 1, 2, 3, 0, 4], 3),  # round 3: two accepted
    (SEVEN, [2, 5, 4, 2], 4),
    (SEVEN, [1, 3], 2),
    (NEVER_RIGHT, [5, 1], 3),
    (PERFECT, [1], 5),
]

STEP_EDGES = [
    (CAT, [0], 0),
    (SEVEN, [1, 3, 0], 1),
    (SEVEN, [3], 1),
    (SEVEN, [0], 0),
    (CAT, [5], 8),
]


def check_speculative_decode_step(
    step, greedy_decode=None, build_causal_mask=None, cases=STEP_CASES, part=""
) -> None:
    """Check what a step returns: the longer text, and the number of accepted tokens."""
    runs = [Run("speculative_decode_step", step, p, text, (k,)) for p, text, k in cases]
    known = [(run.pair, run.text, *run.rest) for run in runs]
    wanted = [one_step(*args) for args in known]
    first = _first_of(step, greedy_decode, build_causal_mask)
    counts = {id(run): count for run, (_, count) in zip(runs, wanted, strict=True)}

    def extra(run, value):
        count = plain(value)[1]
        if isinstance(count, bool) or count != counts[id(run)]:
            raise run.fail(
                "  tokens    right",
                f"  returned  num_accepted_tokens = {show(count)}",
                f"  wanted    num_accepted_tokens = {counts[id(run)]}",
                cause=first() or _cause(STEP_MISTAKES, runs, known),
            )

    for run in runs:
        if run.outcome.error is None:
            _check_two(run, "(token_ids, num_accepted_tokens)")
    _check_tokens(
        runs,
        [ids for ids, _ in wanted],
        first,
        lambda: _cause(STEP_MISTAKES, runs, known),
        lambda value: next(iter(value)),
        extra,
    )
    print(
        f"✓ speculative_decode_step{part}: {len(cases)} texts right, with the accepted tokens "
        "counted."
    )


def _check_two(run: Run, wanted: str) -> None:
    value = plain(run.outcome.value)
    if value is None:
        raise run.fail("  returned  None  (a `return` is missing, or never reached)",
                       f"  wanted    {wanted}")  # fmt: skip
    if not isinstance(value, list) or len(value) != 2:
        raise run.fail(f"  returned  {show(value)}", f"  wanted    two values: {wanted}")
    if isinstance(value[0], int) and isinstance(value[1], list):
        raise run.fail(f"  returned  {show(value)}", f"  wanted    {wanted}",
                       cause="The two values are swapped.")  # fmt: skip


def check_speculative_decode_step_edges(
    step, greedy_decode=None, build_causal_mask=None, cases=STEP_EDGES
) -> None:
    """Check the edges: k of 0 and 1, a text of one token, a long draft, a negative k."""
    check_speculative_decode_step(step, greedy_decode, build_causal_mask, cases, part=", edges")
    _check_negative("speculative_decode_step", step, ((-1,),))
    print("✓ A negative num_draft_tokens raises ValueError.")


def check_speculative_decode_step_pass(
    step, greedy_decode=None, build_causal_mask=None, cases=STEP_CASES[:7]
) -> None:
    """Check the cost: one pass of the target over all drafted tokens, at most k of the draft."""
    first = _first_of(step, greedy_decode, build_causal_mask)
    for pair, text, k in cases:
        run = Run("speculative_decode_step", step, pair, text, (k,))
        passes, drafted = run.target.passes, tuple(greedy(pair.draft, text, k))
        if run.outcome.error is not None and not passes:
            raise run.fail(
                f"  raised    {_error(run.outcome.error)}",
                f"  wanted    one pass of the target over {len(drafted)} tokens",
                cause=first(),
            )
        if len(passes) != 1:
            raise run.fail(
                f"  took      {len(passes)} passes of the target, over {_lengths(passes)} tokens",
                f"  wanted    1 pass, over {len(drafted)} tokens",
                cause=first() or _pass_cause(passes, text, k, run.draft.passes),
            )
        if passes[0].token_ids != drafted:
            raise run.fail(
                f"  the target read  {pair.named(list(passes[0].token_ids))}",
                f"  it should read   {pair.named(list(drafted))}",
                cause=first() or _reading_cause(passes[0].token_ids, text, drafted),
            )
        if len(run.draft.passes) > k:
            raise run.fail(
                f"  took      {len(run.draft.passes)} passes of the draft",
                f"  wanted    at most {k}, one for each drafted token",
            )
        cause = _mask_cause(passes)
        if cause:
            raise run.fail(cause=first() or cause)
    print(f"✓ speculative_decode_step: one pass of the target in each of {len(cases)} steps.")


def _lengths(passes) -> str:
    lengths = [str(len(one.token_ids)) for one in passes[:6]]
    return ", ".join(lengths) + (", …" if len(passes) > 6 else "")


def _pass_cause(passes, text, k, draft_passes) -> str:
    """Name the cause of a wrong number of target passes, where the calls show it."""
    lengths = [len(one.token_ids) for one in passes]
    growing = all(b == a + 1 for a, b in pairwise(lengths))
    if not passes:
        return "The target was never asked. It has the last word at every place."
    if k and not draft_passes:
        return "The draft was never asked: this is plain decoding. Let it guess k tokens first."
    if len(passes) > 1 and growing and lengths[0] <= len(text) + 1:
        return (
            "The target ran once for each drafted token. One pass over the whole drafted text has "
            "all the answers: one in each row."
        )
    if len(passes) == 2 and lengths[0] == len(text) + k:
        return (
            "The target ran a second time. The answer is in the first pass already: the row after "
            "the last accepted token has it."
        )
    if len(set(lengths)) == 1 and len(passes) > 1:
        return "The same pass was made again for every row. Keep its logits, and read them by row."
    return ""


def _reading_cause(read, text, drafted) -> str:
    if read == tuple(text):
        return "The target did not read the drafted tokens. Give it the text and all k of them."
    if read == drafted[len(text) :]:
        return "The target read the drafted tokens alone. Give it the text before them too."
    if read == drafted[:-1]:
        return "The last drafted token is missing. Its row has the bonus token."
    if read[: len(text)] == tuple(text) and len(read) == len(drafted):
        return "Other tokens were drafted. Each guess of the draft reads the guesses before it."
    return ""


def _first_of(function, greedy_decode, build_causal_mask) -> Callable:
    return lambda: (
        _mask_first(function, build_causal_mask)
        or _mask_first(greedy_decode, build_causal_mask)
        or _greedy_first(function, greedy_decode)
    )


# --- speculative_decode -------------------------------------------------------------------------

BROKEN_STEP = (
    "First repair speculative_decode_step: it fails its own check, and this function calls it."
)


def _step_first(function, step) -> str:
    if step is None or not calls_by_name(function, "speculative_decode_step"):
        return ""
    try:
        runs = [Run("", step, p, text, (k,)) for p, text, k in STEP_CASES]
    except NotWrittenYet:
        return BROKEN_STEP
    for run in runs:
        ids, count = one_step(run.pair, run.text, *run.rest)
        if plain(run.outcome.value) != [[ids], count]:
            return BROKEN_STEP
    return ""


def rounds_of(pair: Pair, text: list, n: int, k: int, step: Callable = one_step):
    """Return (ids of the text after whole rounds, accepted tokens of each round)."""
    tokens, accepted = list(text), []
    while len(tokens) < len(text) + n:
        tokens, count = step(pair, tokens, k)
        accepted.append(count)
    return tokens, accepted


def _cut_at(length, tokens, count):
    return tokens[:length], count


def _cut(pair, text, n, k):
    return _cut_at(len(text) + n, *rounds_of(pair, text, n, k))


def _many_rounds(pair, text, rounds, k):
    tokens, accepted = list(text), []
    for _ in range(rounds):
        tokens, count = one_step(pair, tokens, k)
        accepted.append(count)
    return tokens, accepted


DECODE_MISTAKES = [
    Mistake("the last round's extra tokens are returned too. Cut the text.", rounds_of),
    Mistake(
        "the text at the start counts towards num_tokens. Add num_tokens new tokens.",
        lambda pair, text, n, k: _cut(pair, text, max(n - len(text), 0), k),
    ),
    Mistake(
        "the text is cut to num_tokens. It has T + num_tokens tokens.",
        lambda pair, text, n, k: _cut_at(n, *rounds_of(pair, text, n, k)),
    ),
    Mistake(
        "only the new tokens are returned. Return the text and the new tokens.",
        lambda pair, text, n, k: _from(len(text), *_cut(pair, text, n, k)),
    ),
    Mistake(
        "num_tokens rounds are run. A round may give several tokens: stop when there are enough.",
        lambda pair, text, n, k: _cut_at(len(text) + n, *_many_rounds(pair, text, n, k)),
    ),
    Mistake(
        "it ends before the text is long enough. Go on until there are num_tokens new tokens.",
        lambda pair, text, n, k: _many_rounds(pair, text, 1, k),
    ),
    Mistake(
        "a round runs even for num_tokens = 0. Test the length before a round.",
        lambda pair, text, n, k: _cut_at(len(text) + n, *rounds_of(pair, text, max(n, 1), k)),
    ),
]


# (pair, text, num_tokens, k)
DECODE_CASES = [
    (CAT, [0], 12, 3),
    (CAT, [0], 10, 3),
    (CAT, [0, 1, 2], 7, 2),
    (SEVEN, [1], 6, 4),
    (BANANA, [0], 4, 3),
]

DECODE_EDGES = [
    (SEVEN, [1, 3], 0, 3),
    (SEVEN, [1], 1, 4),
    (SEVEN, [1], 5, 0),
    (CAT, [0, 1], 2, 8),
]


def check_speculative_decode(
    decode, speculative_decode_step=None, cases=DECODE_CASES, part=""
) -> None:
    """Check the loop: the target's own text, cut, and the accepted tokens of each round."""
    runs = [Run("speculative_decode", decode, p, text, (n, k)) for p, text, n, k in cases]
    known = [(run.pair, run.text, *run.rest) for run in runs]

    def first():
        return _step_first(decode, speculative_decode_step)

    def extra(run, value):
        _check_rounds(run, plain(value)[1], first)

    for run in runs:
        if run.outcome.error is None:
            _check_two(run, "(token_ids, accepted)")
    _check_tokens(
        runs,
        [greedy(pair.target, text, n) for pair, text, n, _ in known],
        first,
        lambda: _cause(DECODE_MISTAKES, runs, known),
        lambda value: next(iter(value)),
        extra,
    )
    print(f"✓ speculative_decode{part}: {len(cases)} texts are the target's own, in few passes.")


def _check_rounds(run: Run, accepted, first: Callable) -> None:
    """Check the passes, and that every round's number is as the step gave it."""
    num_tokens, k = run.rest
    _, wanted = rounds_of(run.pair, run.text, num_tokens, k)
    passes = len(run.target.passes)
    if passes != len(wanted):
        raise run.fail(
            "  tokens    right",
            f"  took      {passes} passes of the target",
            f"  wanted    {len(wanted)}, one a round",
            cause=first() or _rounds_cause(run, passes),
        )
    if accepted != wanted:
        raise run.fail(
            "  tokens    right",
            f"  returned  accepted = {show(accepted)}",
            f"  wanted    accepted = {wanted}",
            cause=first() or _accepted_cause(accepted, wanted),
        )


def _rounds_cause(run: Run, passes: int) -> str:
    num_tokens, k = run.rest
    if k and not run.draft.passes:
        return "The draft was never asked: this is plain decoding."
    if passes == num_tokens + 1 or (not num_tokens and passes):
        return "A round ran when the text was long enough already. Test the length before a round."
    return ""


def _accepted_cause(accepted, wanted: list) -> str:
    if accepted == sum(wanted):
        return "This is their sum. Return a list with one number a round."
    if accepted == [count + 1 for count in wanted]:
        return "The target's own token is counted in each round. It is emitted, not accepted."
    if accepted == wanted[:-1]:
        return "The last round is missing."
    if isinstance(accepted, list) and accepted[:-1] == wanted[:-1] and len(accepted) == len(wanted):
        return (
            "Only the last round differs. It drafts k tokens too, and its number stays as the step "
            "gave it: the text alone is cut."
        )
    if accepted == wanted[-1:] or accepted == wanted[-1]:
        return "Only the last round is there. Collect the number of every round."
    return ""


def check_speculative_decode_edges(
    decode, speculative_decode_step=None, cases=DECODE_EDGES
) -> None:
    """Check the edges: 0 tokens, 1 token, k of 0, a long draft, negative numbers."""
    check_speculative_decode(decode, speculative_decode_step, cases, part=", edges")
    _check_negative("speculative_decode", decode, ((-1, 3), (3, -1)))
    print("✓ Negative numbers raise ValueError.")


# --- passes_saved -------------------------------------------------------------------------------

SAVED_MISTAKES = [
    Mistake(
        "it adds up the accepted tokens. In a last round that was cut, some of them are not in "
        "the text. Compare passes with passes.",
        lambda n, accepted: sum(accepted),
    ),
    Mistake(
        "these are the passes that were made. How many fewer is it than plain decoding takes?",
        lambda n, accepted: len(accepted),
    ),
    Mistake("the difference is the wrong way round.", lambda n, accepted: len(accepted) - n),
    Mistake(
        "these are the tokens that were not accepted. Count passes: one a round.",
        lambda n, accepted: n - sum(accepted),
    ),
    Mistake(
        "this is a ratio. The number of passes saved is a difference.",
        lambda n, accepted: n / len(accepted),
    ),
    Mistake(
        "the drafted tokens' rounds are counted once too often: a round is one pass.",
        lambda n, accepted: n - len(accepted) - 1,
    ),
    Mistake("these are the passes of plain decoding.", lambda n, accepted: n),
]

SAVED_CASES = [
    Case((12, [3, 0, 2, 3]), 8),
    Case((10, [3, 0, 2, 3]), 6),
    Case((5, [0, 0, 0, 0, 0]), 0),
    Case((9, [4, 4]), 7),
    Case((1, [4]), 0),
]


def check_passes_saved(passes_saved, cases=SAVED_CASES) -> None:
    """Check the number of passes saved, also where the last round was cut."""
    run_cases(
        "passes_saved",
        passes_saved,
        cases,
        SAVED_MISTAKES,
        "It is the sum of the accepted tokens, unless the last round was cut.",
    )
