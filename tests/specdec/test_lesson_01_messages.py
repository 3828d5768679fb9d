"""Slips that a new learner made in lesson 1, and the sentence that each one needs."""

import pytest

from specdec.checks import CheckFailed
from specdec.checks import lesson_01 as checks
from specdec.reference.lesson_01 import expected_tokens, verify_greedy


def message(check, *args) -> str:
    with pytest.raises(CheckFailed) as failed:
        check(*args)
    return str(failed.value)


def generator(body: str):
    """Make a speculative_generate from the body of its loop, with the usual lines around it."""
    lines = [
        "def generate(draft_model, target_model, prompt, n_tokens, k):",
        "    sequence = list(prompt)",
        "    while len(sequence) < len(prompt) + n_tokens:",
        *(f"        {line}" for line in body.strip().splitlines()),
        "    return sequence[len(prompt):][:n_tokens]",
    ]
    names = {"verify_greedy": verify_greedy, "propose": propose}
    exec("\n".join(lines), names)
    return names["generate"]


def propose(draft_model, sequence, k):
    draft = []
    for _ in range(k):
        draft.append(draft_model(sequence + draft))
    return draft


DRAFT = "draft = propose(draft_model, sequence, k)\n"
ASK = "answers = [target_model(sequence + draft[:i]) for i in range(k + 1)]\n"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            DRAFT
            + "answers = [target_model(sequence + draft[:i]) for i in range(k)]\n"
            + "sequence += verify_greedy(draft, answers)",
            "The target was asked 3 times for 3 guesses. Ask it 4 times",
        ),
        (
            DRAFT + ASK + "sequence.append(verify_greedy(draft, answers))",
            "use += or extend, not append",
        ),
        (
            DRAFT
            + "answers = [target_model(sequence) for i in range(k + 1)]\n"
            + "sequence += verify_greedy(draft, answers)",
            "The target was asked several times about the same text.",
        ),
        (DRAFT + ASK + "sequence += draft + [answers[-1]]", "whole drafts are kept"),
        (DRAFT + ASK + "verify_greedy(draft, answers)", "a round adds no token"),
    ],
)
def test_slips_in_the_text(body, says):
    assert says in message(checks.check_speculative_generate, generator(body), verify_greedy)


def test_the_prompt_counted_as_new_tokens():
    def generate(draft_model, target_model, prompt, n_tokens, k):
        sequence = list(prompt)
        while len(sequence) < n_tokens:
            draft = propose(draft_model, sequence, k)
            answers = [target_model(sequence + draft[:i]) for i in range(k + 1)]
            sequence += verify_greedy(draft, answers)
        return sequence[len(prompt) :][:n_tokens]

    text = message(checks.check_speculative_generate, generate, verify_greedy)
    assert "the prompt counts towards n_tokens" in text


def test_a_prompt_that_grows_is_the_mistake():
    def generate(draft_model, target_model, prompt, n_tokens, k):
        start, sequence = len(prompt), prompt
        while len(sequence) < start + n_tokens:
            draft = propose(draft_model, sequence, k)
            answers = [target_model(sequence + draft[:i]) for i in range(k + 1)]
            sequence += verify_greedy(draft, answers)
        return sequence[start:][:n_tokens]

    text = message(checks.check_speculative_generate, generate, verify_greedy)
    assert "changed its prompt" in text
    assert "Likely cause" not in text


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            "draft = propose(draft_model, list(prompt), k)\n"
            "sequence.append(target_model(sequence))",
            "Two rounds draft from the same text.",
        ),
        ("sequence.append(target_model(sequence))", "this is plain greedy decoding"),
        (DRAFT + ASK + "sequence.append(answers[0])", "Each round adds one token only."),
        (
            DRAFT + ASK + "emitted = verify_greedy(draft, answers)\n"
            "sequence += emitted[:-1] if len(emitted) > k else emitted",
            "The bonus is lost",
        ),
    ],
)
def test_slips_in_the_rounds(body, says):
    text = message(checks.check_speculative_generate_rounds, generator(body), verify_greedy)
    assert says in text


def test_a_round_too_many():
    def generate(draft_model, target_model, prompt, n_tokens, k):
        sequence = list(prompt)
        while len(sequence) <= len(prompt) + n_tokens:
            draft = propose(draft_model, sequence, k)
            answers = [target_model(sequence + draft[:i]) for i in range(k + 1)]
            sequence += verify_greedy(draft, answers)
        return sequence[len(prompt) :][:n_tokens]

    text = message(checks.check_speculative_generate_rounds, generate, verify_greedy)
    assert "A round ran when the text was long enough already." in text


def test_a_changed_draft_is_not_blamed_on_token_0():
    def verify(draft, target_next):
        emitted = verify_greedy(draft, target_next)
        draft.append(0)
        return emitted

    for check in (checks.check_verify_greedy, checks.check_verify_greedy_edges):
        text = message(check, verify)
        assert "changed its input" in text
        assert "Likely cause" not in text


def test_an_answer_too_far_right():
    def verify(draft, target_next):
        if len(target_next) != len(draft) + 1:
            raise ValueError
        for i, drafted in enumerate(draft):
            if drafted != target_next[i]:
                return [*draft[:i], target_next[i + 1]]
        return list(target_next)

    assert "one place too far right" in message(checks.check_verify_greedy, verify)


def test_an_earlier_function_is_named_only_when_it_is_called():
    def broken(draft, target_next):
        return list(target_next)

    def own_way(draft, target_next):
        return sum(d == t for d, t in zip(draft, target_next, strict=False))

    def builds_on_it(draft, target_next):
        return len(verify_greedy(draft, target_next)) - 2

    text = message(checks.check_accepted_count, own_way, broken)
    assert "counts matches after the first mismatch" in text
    assert "First repair verify_greedy" in message(
        checks.check_accepted_count, builds_on_it, broken
    )


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        (lambda a, k: k + 1 if a == 1 else (1 - a**k) / (1 - a), "the exponent is k"),
        (lambda a, k: (1 - a ** (k + 1)) / (1 - a), "a = 1 divides by zero"),
        (lambda a, k: k + 1 if a == 1 else 1 / (1 - a), "the limit for endless k"),
    ],
)
def test_slips_in_expected_tokens(formula, says):
    def guarded(a, k):
        if not 0 <= a <= 1 or k < 0:
            raise ValueError("out of range")
        return formula(a, k)

    assert says in message(checks.check_expected_tokens, guarded)
    assert says in message(checks.check_expected_tokens, formula)


def test_a_refused_zero_is_shown_as_it_is():
    def refuses_zero(a, k):
        if a <= 0 or k <= 0:
            raise ValueError
        return expected_tokens(a, k)

    text = message(checks.check_expected_tokens, refuses_zero)
    assert "raised    ValueError\n" in text


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        (lambda a, k, d, v: expected_tokens(a, k) / (k * (d + v)), "counted k times"),
        (lambda a, k, d, v: expected_tokens(a, k) * (k * d + v), "are multiplied"),
        (lambda a, k, d, v: (k + 1) / (k * d + v), "Use the mean, expected_tokens"),
    ],
)
def test_slips_in_speed_estimate(formula, says):
    assert says in message(checks.check_speed_estimate, formula, expected_tokens)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return target_next[:1]", "inside the loop?"),
        (
            "for i in range(len(draft)):\n"
            "    if draft[i] != target_next[i]:\n"
            "        return draft[:i + 1] + [target_next[i]]\n"
            "return list(target_next)",
            "both tokens come out",
        ),
        (
            "for i in range(len(draft)):\n"
            "    if draft[i] is not target_next[i]:\n"
            "        return target_next[:i + 1]\n"
            "return list(target_next)",
            "compared with `is`",
        ),
    ],
)
def test_slips_in_verify_greedy(body, says):
    lines = ["def verify(draft, target_next):", *(f"    {line}" for line in body.splitlines())]
    names = {}
    exec("\n".join(lines), names)
    assert says in message(checks.check_verify_greedy, names["verify"])
    assert "token 0" not in message(checks.check_verify_greedy_edges, names["verify"])


def test_a_length_test_that_comes_too_late():
    def verify(draft, target_next):
        for i, drafted in enumerate(draft):
            if drafted != target_next[i]:
                return target_next[: i + 1]
        if len(target_next) != len(draft) + 1:
            raise ValueError
        return list(target_next)

    assert "not 1" in message(checks.check_verify_greedy_edges, verify)


def test_an_error_returned_instead_of_raised():
    def verify(draft, target_next):
        if len(target_next) != len(draft) + 1:
            return ValueError("length")
        return verify_greedy(draft, target_next)

    assert "write `raise`, not `return`" in message(checks.check_verify_greedy_edges, verify)


def test_a_list_where_a_number_is_wanted():
    text = message(checks.check_accepted_count, lambda draft, target_next: draft)
    assert "a number is wanted, not a list" in text


def test_a_draft_made_once():
    def generate(draft_model, target_model, prompt, n_tokens, k):
        sequence = list(prompt)
        draft = propose(draft_model, sequence, k)
        while len(sequence) < len(prompt) + n_tokens:
            answers = [target_model(sequence + draft[:i]) for i in range(k + 1)]
            sequence += verify_greedy(draft, answers)
        return sequence[len(prompt) :][:n_tokens]

    text = message(checks.check_speculative_generate_rounds, generate, verify_greedy)
    assert "Draft anew in every round." in text


def test_brackets_and_powers():
    text = message(
        checks.check_expected_tokens,
        lambda a, k: k + 1 if a == 1 else 1 - a ** (k + 1) / (1 - a),
    )
    assert "brackets are missing" in text
    text = message(checks.check_expected_tokens, lambda a, k: (1 - a ^ (k + 1)) / (1 - a))
    assert "^ is no power" in text
    text = message(
        checks.check_speed_estimate, lambda a, k, d, v: expected_tokens(a, k) / k * d + v
    )
    assert "brackets are missing around the time" in text
