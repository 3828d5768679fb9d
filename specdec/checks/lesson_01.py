"""The checks of lesson 1. Each takes the learner's function, and cases of its own by default."""

from collections.abc import Callable
from dataclasses import dataclass

from specdec.bugs import verify_shifted
from specdec.toys import (
    CAT_PROMPT,
    hopeless_draft,
    look_back_target,
    one_word_draft,
    seven_draft,
    seven_target,
)
from specdec.trace import Trace
from specdec.values import plain, show

from .core import (
    Case,
    CheckFailed,
    Mistake,
    NotWrittenYet,
    blame_helper,
    call,
    call_text,
    is_right,
    returned,
    run_cases,
)

# --- verify_greedy and accepted_count ----------------------------------------------------------


def leading_matches(draft, target_next) -> int:
    """Count the places before the first disagreement."""
    matches = 0
    while matches < len(draft) and draft[matches] == target_next[matches]:
        matches += 1
    return matches


def _by_matches(rule: Callable) -> Callable:
    """Make a wrong verify_greedy from a rule of (draft, target_next, leading matches)."""
    return lambda draft, target_next: rule(draft, target_next, leading_matches(draft, target_next))


def _rejected(draft, matches) -> bool:
    return matches < len(draft)


def _membership(draft, target_next):
    emitted = []
    for drafted, wanted in zip(draft, target_next, strict=False):
        emitted.append(drafted if drafted in target_next else wanted)
        if drafted not in target_next:
            return emitted
    return [*emitted, target_next[-1]]


def _matching(draft, target_next) -> list:
    return [d for d, t in zip(draft, target_next, strict=False) if d == t]


def _later_matches(draft, target_next, matches):
    emitted = target_next[: matches + 1]
    return emitted + _matching(draft[matches + 1 :], target_next[matches + 1 :])


def _zero_is_false(draft, target_next):
    emitted = []
    for drafted, wanted in zip(draft, target_next, strict=False):
        emitted.append(wanted)
        if not drafted or drafted != wanted:
            return emitted
    return [*emitted, target_next[-1]]


def _by_identity(draft, target_next):
    for i, (drafted, wanted) in enumerate(zip(draft, target_next, strict=False)):
        if drafted is not wanted:
            return target_next[: i + 1]
    return target_next


VERIFY_MISTAKES = [
    Mistake(
        "it looks at the first place only. Is a `return` indented too far, inside the loop?",
        lambda d, t: t[:1],
    ),
    Mistake(
        "at the mismatch both tokens come out. Only the target's own does.",
        _by_matches(lambda d, t, a: [*t[:a], d[a], t[a]] if _rejected(d, a) else t),
    ),
    Mistake(
        "tokens are compared with `is`. Compare with == or !=.",
        _by_identity,
    ),
    Mistake(
        "the bonus is missing. When every guess is right, the pass has one more answer: "
        "target_next's last.",
        _by_matches(lambda d, t, a: t[: a + 1] if _rejected(d, a) else t[:a]),
    ),
    Mistake(
        "the correction is missing. At the mismatch the target's own token comes out.",
        _by_matches(lambda d, t, a: t[:a] if _rejected(d, a) else t),
    ),
    Mistake(
        "only accepted guesses come out. Each pass adds one token of the target's own: "
        "the correction, or the bonus.",
        _by_matches(lambda d, t, a: t[:a]),
    ),
    Mistake(
        "at the mismatch it emits the draft's token. The target's own belongs there.",
        _by_matches(lambda d, t, a: d[: a + 1] if _rejected(d, a) else t),
    ),
    Mistake(
        "it returns all of target_next. Answers after the mismatch were asked after a text that "
        "will not exist.",
        lambda d, t: t,
    ),
    Mistake(
        "it keeps guesses that match after a mismatch. Those answers were asked after a text "
        "that will not exist; stop at the first mismatch.",
        _by_matches(_later_matches),
    ),
    Mistake(
        "it leaves out the place that differs and goes on. Stop at the first mismatch, after the "
        "target's own token.",
        lambda d, t: _matching(d, t) + t[-1:],
    ),
    Mistake(
        "it asks whether a guess stands anywhere in target_next. Compare place by place.",
        _membership,
    ),
    Mistake(
        "the first guess is never checked. Compare from place 0 on.",
        lambda d, t: verify_shifted(d, t),
    ),
    Mistake(
        "it adds the last entry of target_next after a rejection too. The bonus is for a draft "
        "that was right to the end.",
        _by_matches(lambda d, t, a: t[: a + 1] + t[-1:] if _rejected(d, a) else t),
    ),
    Mistake(
        "at the mismatch it emits the target's next answer, one place too far right.",
        _by_matches(lambda d, t, a: [*t[:a], t[a + 1]] if _rejected(d, a) else t),
    ),
    Mistake(
        "token 0 is taken for False. Compare with ==, do not test a token alone.",
        _zero_is_false,
    ),
]

VERIFY_CASES = [
    Case(([1, 2, 3], [1, 2, 3, 4]), [1, 2, 3, 4]),
    Case(([1, 2, 3], [1, 5, 3, 4]), [1, 5]),
    Case(([1], [2, 3]), [2]),
    Case(([2, 5, 6], [2, 9, 6, 1]), [2, 9]),
    Case(([7, 7, 7], [7, 7, 8, 7]), [7, 7, 8]),
    Case(([9, 1, 2], [3, 1, 2, 7]), [3]),
    Case((["cat", "sat", "on"], ["mat", "sat", "on", "the"]), ["mat"]),
    Case(([50000, 7], [int("50000"), 7, 1]), [50000, 7, 1]),  # equal, and not the same object
]

VERIFY_EDGES = [
    Case(([], [5]), [5]),
    Case(([0, 0], [0, 0, 0]), [0, 0, 0]),
    Case(([0, 4], [0, 0, 4]), [0, 0]),
    Case(([5, 0], [5, 0, 7]), [5, 0, 7]),
    Case(([1, 2], [1, 2]), ValueError, "a draft of 2 needs 3 entries in target_next, not 2"),
    Case(([1, 2], [1, 2, 3, 4]), ValueError, "a draft of 2 needs 3 entries in target_next, not 4"),
    Case(([1, 2], [5]), ValueError, "a draft of 2 needs 3 entries in target_next, not 1"),
    Case(([], []), ValueError, "a draft of 0 needs 1 entry in target_next, not 0"),
]


def check_verify_greedy(verify_greedy, cases=VERIFY_CASES) -> None:
    """Check the rule: accept, correct, stop; or accept all and add the bonus."""
    run_cases(
        "verify_greedy",
        verify_greedy,
        cases,
        VERIFY_MISTAKES,
        "Each pass emits the accepted guesses and one token of the target's own.",
    )


def check_verify_greedy_edges(verify_greedy, cases=VERIFY_EDGES) -> None:
    """Check the edges: an empty draft, token 0, a wrong length, inputs left as they were."""
    run_cases(
        "verify_greedy",
        verify_greedy,
        cases,
        [m for m in VERIFY_MISTAKES if m.does is _zero_is_false],
        "An empty draft gives one token: that is plain decoding.",
        part="edges",
    )


COUNT_MISTAKES = [
    Mistake(
        "it counts the target's own token too. That one is emitted, not accepted.",
        lambda d, t: leading_matches(d, t) + 1,
    ),
    Mistake(
        "after a rejection it counts the correction. That one is emitted, not accepted.",
        _by_matches(lambda d, t, a: a + 1 if _rejected(d, a) else a),
    ),
    Mistake(
        "it counts matches after the first mismatch. They are thrown away.",
        lambda d, t: sum(x == y for x, y in zip(d, t, strict=False)),
    ),
    Mistake(
        "it is all or nothing. Guesses before the mismatch are accepted.",
        _by_matches(lambda d, t, a: 0 if _rejected(d, a) else a),
    ),
    Mistake(
        "it gives 0 when nothing mismatches. Then every guess is accepted.",
        _by_matches(lambda d, t, a: a if _rejected(d, a) else 0),
    ),
    Mistake(
        "it counts every drafted token. Only those before the first mismatch are accepted.",
        lambda d, t: len(d),
    ),
    Mistake(
        "it counts guesses that stand anywhere in target_next. Compare place by place.",
        lambda d, t: sum(x in t for x in d),
    ),
    Mistake(
        "it counts the tokens that were thrown away. Count those that were kept.",
        lambda d, t: len(d) - leading_matches(d, t),
    ),
]

COUNT_CASES = [
    Case(([1, 2, 3], [1, 2, 3, 4]), 3),
    Case(([1, 2, 3], [1, 5, 3, 4]), 1),
    Case(([1], [2, 3]), 0),
    Case(([7, 7, 7, 7], [7, 7, 8, 7, 7]), 2),
    Case(([9, 1, 2], [3, 1, 2, 7]), 0),
    Case(([1, 3], [3, 0, 0]), 0),
    Case(([], [5]), 0),
    Case(([1, 2], [1, 2]), ValueError, "a draft of 2 needs 3 entries in target_next, not 2"),
]

BROKEN_VERIFY = "First repair verify_greedy: it fails its own check, and this function calls it."


def _verify_first(function, verify_greedy) -> str:
    return blame_helper(function, verify_greedy, "verify_greedy", VERIFY_CASES, BROKEN_VERIFY)


def check_accepted_count(accepted_count, verify_greedy=None, cases=COUNT_CASES) -> None:
    """Check the count. `verify_greedy` is the learner's own, to name it when it is the cause."""
    run_cases(
        "accepted_count",
        accepted_count,
        cases,
        COUNT_MISTAKES,
        "Worth knowing: emitted = accepted + 1 in every round.",
        first=lambda: _verify_first(accepted_count, verify_greedy),
    )


BUG_SHAPE = "Give a pair of lists, such as ([1, 2], [1, 2, 3])."


def check_bug_input(answer) -> None:
    """Check an input on which verify_shifted is wrong, by running it beside the rule."""
    if answer is None or answer is Ellipsis:
        raise NotWrittenYet(
            "✎ todo_bug_input is not written yet. Put your pair in place of None, then run both."
        )
    answer = plain(answer)
    shaped = isinstance(answer, list) and len(answer) == 2
    if not shaped or not all(isinstance(part, list) for part in answer):
        raise CheckFailed(f"✗ todo_bug_input = {show(answer)}. {BUG_SHAPE}")
    draft, target_next = answer
    if len(target_next) != len(draft) + 1:
        raise CheckFailed(
            f"✗ A draft of {len(draft)} needs {len(draft) + 1} target choices; "
            f"you gave {len(target_next)}."
        )
    wanted = target_next[: leading_matches(draft, target_next) + 1]
    got = verify_shifted(draft, target_next)
    text = call_text("verify_shifted", (draft, target_next))
    if got == wanted:
        raise CheckFailed(
            f"✗ {text}\n  returns   {show(got)}, which is right. Look for a place that it never "
            "compares."
        )
    print(f"✓ {text}\n  returns {show(got)}, wanted {show(wanted)}. You exposed it.")


# --- speculative_generate ----------------------------------------------------------------------


def never_right_draft(tokens):
    """A number draft that always misses."""
    return (seven_target(tokens) + 1) % 7


@dataclass(frozen=True)
class Generation:
    """One call of speculative_generate, and the passes that it should take (None: not asked)."""

    draft_model: Callable
    target_model: Callable
    prompt: list
    n_tokens: int
    k: int
    passes: int | None = None

    @property
    def args(self):
        return (self.draft_model, self.target_model, self.prompt, self.n_tokens, self.k)

    @property
    def want(self):
        return greedy_tokens(self.target_model, self.prompt, self.n_tokens)

    @property
    def text(self) -> str:
        draft, target = self.draft_model.__name__, self.target_model.__name__
        return (
            f"speculative_generate({draft}, {target}, {show(self.prompt)}, "
            f"{self.n_tokens}, {self.k})"
        )

    def trace(self) -> Trace:
        """Return fresh models that count, with a budget of four times what plain code needs."""
        return Trace(
            self.draft_model, self.target_model, 4 * (self.n_tokens + 2) * (abs(self.k) + 1)
        )


def greedy_tokens(model, prompt, n_tokens) -> list:
    """Return the model's own next n_tokens tokens."""
    tokens = list(prompt)
    for _ in range(n_tokens):
        tokens.append(model(tokens))
    return tokens[len(prompt) :]


def _generate_with(verify, draft_model, target_model, prompt, n_tokens, k, follow=True):
    """Generate with any verify rule, the wrong ones included."""
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n_tokens:
        draft = []
        for _ in range(k):
            draft.append(draft_model(tokens + draft if follow else tokens))
        target_next = [target_model(tokens + draft[:i]) for i in range(k + 1)]
        tokens += verify(draft, target_next, draft_model, tokens)
    return tokens[len(prompt) :]


def _right(draft, target_next, *_):
    return target_next[: leading_matches(draft, target_next) + 1]


def _bonus_from_draft(draft, target_next, draft_model, tokens):
    if leading_matches(draft, target_next) < len(draft):
        return _right(draft, target_next)
    return [*draft, draft_model(tokens + draft)]


def _all_drafts(draft, target_next, *_):
    return [*draft, target_next[-1]]


def _until(missing, draft_model, target_model, prompt, n_tokens, k):
    """Generate in whole rounds, but stop `missing` tokens too early."""
    return _generate_with(_right, draft_model, target_model, prompt, n_tokens - missing, k)


GENERATE_MISTAKES = [
    Mistake(
        "the last round's extra tokens are returned too. Cut to n_tokens.",
        lambda *args: _generate_with(_right, *args),
    ),
    Mistake(
        "the prompt is returned too. Return the new tokens only.",
        lambda d, t, prompt, n, k: [*prompt, *_generate_with(_right, d, t, prompt, n, k)[:n]],
    ),
    Mistake(
        "the prompt is counted and returned. Return n_tokens new tokens, without the prompt.",
        lambda d, t, prompt, n, k: [*prompt, *greedy_tokens(t, prompt, n)][:n],
    ),
    Mistake(
        "the prompt counts towards n_tokens. Go on until there are n_tokens new ones.",
        lambda d, t, prompt, n, k: _until(len(prompt), d, t, prompt, n, k)[:n],
    ),
    Mistake(
        "whole drafts are kept, right or wrong. Keep the guesses before the first mismatch.",
        lambda d, t, prompt, n, k: _generate_with(_all_drafts, d, t, prompt, n, k)[:n],
    ),
    Mistake(
        "the bonus comes from the draft. It is the target's answer after the whole draft.",
        lambda d, t, prompt, n, k: _generate_with(_bonus_from_draft, d, t, prompt, n, k)[:n],
    ),
    Mistake(
        "all the target's answers are kept in each round. Those after the first mismatch were "
        "asked after a text that will not exist.",
        lambda d, t, prompt, n, k: _generate_with(lambda _, row, *__: row, d, t, prompt, n, k)[:n],
    ),
    Mistake(
        "this is the draft's own text. The target has the last word at every place.",
        lambda d, t, prompt, n, k: greedy_tokens(d, prompt, n),
    ),
    Mistake(
        "one token comes out even for n_tokens = 0. Test the length before the first round.",
        lambda d, t, prompt, n, k: greedy_tokens(t, prompt, max(n, 1)),
    ),
]

CAT = (one_word_draft, look_back_target, CAT_PROMPT)
SEVEN = (seven_draft, seven_target)

GENERATE_CASES = [
    Generation(*CAT, 12, 3),
    Generation(*CAT, 11, 2),
    Generation(*SEVEN, [1], 6, 4),
    Generation(*SEVEN, [1, 3], 9, 1),
    Generation(hopeless_draft, look_back_target, CAT_PROMPT, 5, 3),
]

GENERATE_EDGES = [
    Generation(*SEVEN, [1], 0, 4),
    Generation(*SEVEN, [1], 1, 4),
    Generation(*SEVEN, [1], 9, 0),
    Generation(*CAT, 2, 8),
]

# The passes were counted by hand from the round tables in the lesson.
ROUND_CASES = [
    Generation(*CAT, 12, 3, passes=4),
    Generation(*CAT, 12, 1, passes=7),
    Generation(*SEVEN, [1], 6, 4, passes=3),
    Generation(never_right_draft, seven_target, [1], 6, 3, passes=6),
    Generation(look_back_target, look_back_target, CAT_PROMPT, 9, 3, passes=3),
    Generation(*SEVEN, [1], 9, 0, passes=9),
]


def check_speculative_generate(generate, verify_greedy=None, cases=GENERATE_CASES) -> None:
    """Check the text: plain greedy generation with the target, whatever the draft says."""
    _check_texts(
        "speculative_generate",
        generate,
        verify_greedy,
        cases,
        "The target's own text each time, whatever the draft said.",
    )


def check_speculative_generate_edges(generate, verify_greedy=None, cases=GENERATE_EDGES) -> None:
    """Check the edges: n_tokens or k of 0, one token, a draft longer than the text, negatives."""
    _check_texts("speculative_generate, edges", generate, verify_greedy, cases, "")
    for n_tokens, k in ((-1, 3), (3, -1)):
        case = Generation(*SEVEN, [1], n_tokens, k)
        trace = case.trace()
        outcome = call(generate, (trace.draft, trace.target, case.prompt, n_tokens, k))
        if not isinstance(outcome.error, ValueError):
            raise CheckFailed(
                f"✗ {case.text}\n  {_came_back(outcome)}\n  wanted    ValueError, since "
                f"{'n_tokens' if n_tokens < 0 else 'k'} is negative"
            )
    print("✓ Negative n_tokens or k raise ValueError.")


def _check_texts(name, generate, verify_greedy, cases, success) -> None:
    runs, traces = [], []
    for case in cases:
        trace = case.trace()
        args = (trace.draft, trace.target, *case.args[2:])
        runs.append((case, call(generate, args)))
        traces.append(trace)
    wrong = [i for i, (c, o) in enumerate(runs) if not is_right(o, Case((), c.want))]
    if not wrong:
        print(f"✓ {name}: {len(cases)} texts right. {success}".rstrip())
        return
    case, outcome = runs[wrong[0]]
    lines = [f"✗ {case.text}", f"  {_came_back(outcome)}", f"  wanted    {show(case.want)}"]
    if outcome.changed:
        lines.append(f"  changed its prompt: {outcome.changed}. Work on a copy: list(prompt).")
    lines.append(f"Right so far: {len(cases) - len(wrong)} of {len(cases)} texts.")
    if not outcome.changed:
        shown = _text_cause(runs, traces[wrong[0]], outcome.error)
        cause = _verify_first(generate, verify_greedy) or shown
        lines += [cause] if cause else []
    raise CheckFailed("\n".join(lines))


def _text_cause(runs, trace: Trace, error: BaseException | None) -> str:
    """Name the cause of a wrong text: one that the calls show, or a known mistake."""
    for this in trace.rounds:
        if len(this.drafted) > 1 and len(this.asked) > 1 and set(this.asked) == {this.start}:
            return (
                "The target was asked several times about the same text. Ask after the text and "
                "0, 1, … k guesses."
            )
    if isinstance(error, ValueError) and trace.rounds:
        k, asked = len(trace.rounds[0].drafted), len(trace.rounds[0].asked)
        if 0 < k == asked:
            return (
                f"The target was asked {k} times for {k} guesses. Ask it {k + 1} times: after the "
                "text, and after each guess."
            )
    fitting = [m for m in GENERATE_MISTAKES if _explains(m, runs)]
    return f"Likely cause: {fitting[0].cause}" if len(fitting) == 1 else ""


def _came_back(outcome) -> str:
    if outcome.error is not None:
        return f"raised    {type(outcome.error).__name__}: {outcome.error}"  # not cut: it explains
    return f"returned  {returned(outcome.value, [])}"


def _explains(mistake: Mistake, runs) -> bool:
    for case, outcome in runs:
        trace = case.trace()
        try:
            text = mistake.does(trace.draft, trace.target, *case.args[2:])
        except Exception:
            return False
        if outcome.error is not None or plain(outcome.value) != text:
            return False
    return True


def check_speculative_generate_rounds(generate, verify_greedy=None, cases=ROUND_CASES) -> None:
    """Check the number of passes, exactly, and of draft calls, at most k a pass.

    Extra tokens at the end do not count here: they cost points in the check of the text.
    """
    for case in cases:
        trace = case.trace()
        outcome = call(generate, (trace.draft, trace.target, *case.args[2:]))
        got = plain(outcome.value)
        if not isinstance(got, list) or got[: case.n_tokens] != case.want:
            cause = (
                _verify_first(generate, verify_greedy)
                or "First repair the text; the check above is about it."
            )
            raise CheckFailed(f"✗ {case.text}\n  {_came_back(outcome)}\n{cause}")
        if trace.passes != case.passes:
            cause = _verify_first(generate, verify_greedy) or _round_cause(case, trace)
            raise CheckFailed(
                f"✗ {case.text}\n"
                f"  took      {trace.passes} passes, {trace.draft_calls} draft calls\n"
                f"  wanted    {case.passes} passes\n{cause}".rstrip()
            )
        if trace.draft_calls > case.k * trace.passes:
            raise CheckFailed(
                f"✗ {case.text}\n"
                f"  took      {trace.draft_calls} draft calls in {trace.passes} passes\n"
                f"  wanted    at most {case.k} a pass, {case.k * trace.passes} in all"
            )
    print(f"✓ speculative_generate, rounds: {len(cases)} texts in as few passes as can be.")


def _round_cause(case: Generation, trace: Trace) -> str:
    """Name the cause of a wrong number of passes, where the calls show it."""
    if case.k and not trace.draft_calls and trace.passes == case.n_tokens:
        return (
            "The draft was never asked: this is plain greedy decoding. Draft k tokens, then check "
            "them in one pass."
        )
    if case.k and not trace.draft_calls:
        return "The draft was never asked. Let draft_model guess, and target_model check."
    if case.k and trace.passes > 1 and sum(bool(r.drafted) for r in trace.rounds) == 1:
        return "The draft guessed in the first round only. Draft anew in every round."
    if any(len(set(r.draft_prefixes)) < len(r.draft_prefixes) for r in trace.rounds):
        return (
            "The draft was asked twice about the same text. Feed each guess back before asking "
            "for the next."
        )
    steps = list(zip(trace.rounds, trace.rounds[1:], strict=False))
    if any(b.start == a.start and a.drafted and b.drafted for a, b in steps):
        return (
            "Two rounds draft from the same text. Draft from the text so far, and let each round "
            "add its tokens to it."
        )
    if len(trace.rounds[-1].start) >= len(case.prompt) + case.n_tokens:
        return "A round ran when the text was long enough already. Test the length before a round."
    if steps and all(len(b.start) == len(a.start) + 1 for a, b in steps) and case.k:
        return (
            "Each round adds one token only. Keep every guess before the first mismatch, then add "
            "the target's own token."
        )
    for before, after in steps:
        if before.drafted and after.start == before.start + tuple(before.drafted):
            return (
                "The bonus is lost: after a draft that was right to the end, the next round "
                "starts without the target's extra token."
            )
        if before.drafted and before.covers(after.start):
            return (
                "The correction is lost: after a rejection, the next round starts without the "
                "target's own token."
            )
    return ""


# --- expected_tokens and speed_estimate --------------------------------------------------------


def _sum(a, k) -> float:
    return float(sum(a**i for i in range(k + 1)))


EXPECTED_MISTAKES = [
    Mistake(
        "a = 1 divides by zero. Every guess is right then: k + 1 tokens.",
        lambda a, k: (1 - a ** (k + 1)) / (1 - a),
    ),
    Mistake(
        "at a = 1 every guess is right: k guesses, and the bonus on top.",
        lambda a, k: float(k) if a == 1 else _sum(a, k),
    ),
    Mistake(
        "^ is no power in Python. Write a ** k.",
        lambda a, k: a ^ k,
    ),
    Mistake(
        "brackets are missing: (1 - …) / (1 - a).",
        lambda a, k: float(k + 1) if a == 1 else 1 - a ** (k + 1) / (1 - a),
    ),
    Mistake(
        "the sum stops one term too early, or the exponent is k. It is k + 1: a pass of k guesses "
        "has k + 1 answers.",
        lambda a, k: _sum(a, k - 1),
    ),
    Mistake(
        "only accepted guesses are counted. Each pass adds one token of the target's own.",
        lambda a, k: _sum(a, k) - 1,
    ),
    Mistake(
        "guesses are counted as if each had chance a. A guess counts only when all before it "
        "were right: a, a², a³, …",
        lambda a, k: 1 + a * k,
    ),
    Mistake(
        "this is the limit for endless k. The formula has 1 - a**(k + 1) above the line.",
        lambda a, k: k + 1 if a == 1 else 1 / (1 - a),
    ),
    Mistake(
        "this is the chance that all k guesses are right, or the last term of the sum. Add all "
        "k + 1 terms.",
        lambda a, k: a**k,
    ),
]

A_WHY = "a is a chance, between 0 and 1"
EXPECTED_CASES = [
    Case((0.5, 2), 1.75),
    Case((0.8, 4), 3.3616),
    Case((0.9, 10), 6.8618940391),
    Case((0.8, 0), 1.0),
    Case((0, 4), 1.0),
    Case((1, 4), 5.0),
    Case((-0.1, 4), ValueError, A_WHY),
    Case((1.5, 4), ValueError, A_WHY),
    Case((0.5, -1), ValueError, "k is negative"),
]
EXPECTED_LEGAL = [c for c in EXPECTED_CASES if not c.wants_error]


def check_expected_tokens(expected_tokens, cases=EXPECTED_CASES) -> None:
    """Check the mean number of tokens a pass, its two ends, and its errors."""
    # Look first at the cases that no special branch touches: what they show is surest.
    inner = [c for c in cases if not c.wants_error and 0 < c.args[0] < 1]
    if any(not is_right(call(expected_tokens, c.args), c) for c in inner):
        cases = inner
    run_cases(
        "expected_tokens",
        expected_tokens,
        cases,
        EXPECTED_MISTAKES,
        "With a = 0.8, no k gives more than 1 / (1 - 0.8) = 5 tokens a pass.",
    )


SPEED_MISTAKES = [
    Mistake(
        "the time of drafting is left out. A round has k draft steps.",
        lambda a, k, d, v: _sum(a, k) / v,
    ),
    Mistake(
        "only one draft step is counted. The draft runs k times, one after the other.",
        lambda a, k, d, v: _sum(a, k) / (v + d),
    ),
    Mistake(
        "k + 1 draft steps are counted. The draft runs k times.",
        lambda a, k, d, v: _sum(a, k) / (v + (k + 1) * d),
    ),
    Mistake(
        "verification is counted k + 1 times. It is one pass.",
        lambda a, k, d, v: _sum(a, k) / ((k + 1) * v + k * d),
    ),
    Mistake(
        "only accepted guesses are counted. Each pass adds one token of the target's own.",
        lambda a, k, d, v: (_sum(a, k) - 1) / (v + k * d),
    ),
    Mistake(
        "this is time per token. Speed is tokens per time: turn the fraction over.",
        lambda a, k, d, v: (v + k * d) / _sum(a, k),
    ),
    Mistake(
        "the two times are swapped. k draft steps, one verification.",
        lambda a, k, d, v: _sum(a, k) / (d + k * v),
    ),
    Mistake(
        "the verification is left out. Each round has one.",
        lambda a, k, d, v: _sum(a, k) / (k * d) if k else float("inf"),
    ),
    Mistake(
        "a factor of 1,000 crept in. Use the times as they come: ms in, tokens per ms out.",
        lambda a, k, d, v: 1000 * _sum(a, k) / (v + k * d),
    ),
    Mistake(
        "verification is counted k times. A round has k draft steps and one pass.",
        lambda a, k, d, v: _sum(a, k) / (k * (d + v)),
    ),
    Mistake(
        "tokens and time are multiplied. Speed is tokens divided by time.",
        lambda a, k, d, v: _sum(a, k) * (v + k * d),
    ),
    Mistake(
        "k + 1 tokens a round would need every guess to be right. Use the mean, expected_tokens.",
        lambda a, k, d, v: (k + 1) / (v + k * d),
    ),
    Mistake(
        "brackets are missing around the time of a round.",
        lambda a, k, d, v: _sum(a, k) / k * d + v,
    ),
    Mistake(
        "it is the time of a round. Divide the tokens of a round by it.",
        lambda a, k, d, v: float(v + k * d),
    ),
]

SPEED_CASES = [
    Case((0.8, 4, 1, 12), 3.3616 / 16),
    Case((0.5, 2, 2, 10), 1.75 / 14),
    Case((1, 3, 0.001, 0.010), 4 / 0.013),
    Case((0, 4, 1, 12), 1 / 16),
    Case((0.7, 0, 1, 10), 0.1),
]

BROKEN_EXPECTED = (
    "First repair expected_tokens: it fails its own check, and this function calls it."
)


def check_speed_estimate(speed_estimate, expected_tokens=None, cases=SPEED_CASES) -> None:
    """Check tokens per unit of time. `expected_tokens` is the learner's own, as in the others."""

    run_cases(
        "speed_estimate",
        speed_estimate,
        cases,
        SPEED_MISTAKES,
        "Tokens of a round, divided by the time of a round.",
        first=lambda: blame_helper(
            speed_estimate, expected_tokens, "expected_tokens", EXPECTED_LEGAL, BROKEN_EXPECTED
        ),
    )
