"""Lesson 1, draft and verify: wrong answers, commonest first, and odd ones that are right."""

from autograder.mutants import Mutant, OddButRight

VERIFY_GREEDY = [
    Mutant(
        "verify_greedy",
        "forgets the bonus",
        """
def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    emitted = []
    for drafted, wanted in zip(draft, target_next):
        emitted.append(wanted)
        if drafted != wanted:
            break
    return emitted
""",
        r"the bonus is missing",
    ),
    Mutant(
        "verify_greedy",
        "keeps matches after a mismatch",
        """
def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    emitted, corrected = [], False
    for drafted, wanted in zip(draft, target_next):
        if drafted == wanted:
            emitted.append(drafted)
        elif not corrected:
            emitted.append(wanted)
            corrected = True
    if not corrected:
        emitted.append(target_next[-1])
    return emitted
""",
        r"keeps guesses that match after a mismatch",
    ),
    Mutant(
        "verify_greedy",
        "drops the correction",
        """
def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    emitted = []
    for i in range(len(draft)):
        if draft[i] != target_next[i]:
            return emitted
        emitted.append(draft[i])
    return emitted + [target_next[-1]]
""",
        r"the correction is missing",
    ),
    Mutant(
        "verify_greedy",
        "emits the draft's token at the mismatch",
        """
def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    emitted = []
    for i in range(len(draft)):
        emitted.append(draft[i])
        if draft[i] != target_next[i]:
            return emitted
    return emitted + [target_next[-1]]
""",
        r"emits the draft's token",
    ),
    Mutant(
        "verify_greedy",
        "returns the target's whole row",
        """
def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    return list(target_next)
""",
        r"returns all of target_next",
    ),
    Mutant(
        "verify_greedy",
        "never checks the first guess",
        """
def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    emitted = []
    for i in range(len(draft)):
        if i > 0 and draft[i] != target_next[i]:
            return emitted + [target_next[i]]
        emitted.append(draft[i])
    return emitted + [target_next[len(draft)]]
""",
        r"first guess is never checked",
    ),
    Mutant(
        "verify_greedy",
        "adds the last answer after a rejection too",
        """
def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    emitted = []
    for drafted, wanted in zip(draft, target_next):
        emitted.append(wanted)
        if drafted != wanted:
            break
    return emitted + [target_next[-1]]
""",
        r"adds the last entry of target_next after a rejection",
    ),
    Mutant(
        "verify_greedy",
        "asks whether a guess is anywhere in the row",
        """
def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    emitted = []
    for drafted, wanted in zip(draft, target_next):
        if drafted not in target_next:
            return emitted + [wanted]
        emitted.append(drafted)
    return emitted + [target_next[-1]]
""",
        r"stands anywhere in target_next",
    ),
    Mutant(
        "verify_greedy",
        "leaves out the place that differs",
        """
def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    emitted = [d for d, t in zip(draft, target_next) if d == t]
    return emitted + [target_next[-1]]
""",
        r"leaves out the place that differs",
    ),
    Mutant(
        "verify_greedy",
        "emits accepted guesses only",
        """
def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    emitted = []
    for drafted, wanted in zip(draft, target_next):
        if drafted != wanted:
            break
        emitted.append(drafted)
    return emitted
""",
        r"only accepted guesses come out",
    ),
    Mutant(
        "verify_greedy",
        "corrects with the answer one place further",
        """
def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    emitted = []
    for i in range(len(draft)):
        if draft[i] != target_next[i]:
            return emitted + [target_next[i + 1]]
        emitted.append(draft[i])
    return emitted + [target_next[-1]]
""",
        r"one place too far right",
    ),
    Mutant(
        "verify_greedy",
        "takes token 0 for False",
        """
def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    emitted = []
    for drafted, wanted in zip(draft, target_next):
        emitted.append(wanted)
        if not drafted or drafted != wanted:
            return emitted
    return emitted + [target_next[-1]]
""",
        r"token 0 is taken for False",
    ),
    Mutant(
        "verify_greedy",
        "accepts a row of the wrong length",
        """
def verify_greedy(draft, target_next):
    emitted = []
    for drafted, wanted in zip(draft, target_next):
        emitted.append(wanted)
        if drafted != wanted:
            return emitted
    return emitted + list(target_next[len(draft):])
""",
        r"wanted +ValueError, since a draft of 2 needs 3 entries",
    ),
    Mutant(
        "verify_greedy",
        "eats its input",
        """
def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    emitted = []
    while draft:
        wanted = target_next.pop(0)
        emitted.append(wanted)
        if draft.pop(0) != wanted:
            return emitted
    return emitted + [target_next.pop(0)]
""",
        r"changed its input",
    ),
    Mutant(
        "verify_greedy",
        "prints instead of returning",
        """
def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    matches = 0
    while matches < len(draft) and draft[matches] == target_next[matches]:
        matches += 1
    print(target_next[: matches + 1])
""",
        r"a `return` is missing",
    ),
    Mutant(
        "verify_greedy",
        "breaks on an empty draft",
        """
def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    if draft[0] != target_next[0]:
        return [target_next[0]]
    return [draft[0]] + verify_greedy(draft[1:], target_next[1:]) if draft[1:] else target_next[:2]
""",
        r"verify_greedy\(\[\], \[5\]\)\n +raised +IndexError",
    ),
]

ACCEPTED_COUNT = [
    Mutant(
        "accepted_count",
        "counts what is emitted",
        """
def accepted_count(draft, target_next):
    return len(verify_greedy(draft, target_next))
""",
        r"counts the target's own token too",
    ),
    Mutant(
        "accepted_count",
        "counts later matches",
        """
def accepted_count(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    return sum(d == t for d, t in zip(draft, target_next))
""",
        r"counts matches after the first mismatch",
    ),
    Mutant(
        "accepted_count",
        "counts the correction",
        """
def accepted_count(draft, target_next):
    return min(len(verify_greedy(draft, target_next)), len(draft))
""",
        r"after a rejection it counts the correction",
    ),
    Mutant(
        "accepted_count",
        "all or nothing",
        """
def accepted_count(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    return len(draft) if list(draft) == list(target_next[:-1]) else 0
""",
        r"all or nothing",
    ),
    Mutant(
        "accepted_count",
        "0 when nothing differs",
        """
def accepted_count(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    for i in range(len(draft)):
        if draft[i] != target_next[i]:
            return i
    return 0
""",
        r"gives 0 when nothing mismatches",
    ),
    Mutant(
        "accepted_count",
        "`~` before cumsum, as once in transformers",
        """
import numpy as np

def accepted_count(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    acc = np.array([d == t for d, t in zip(draft, target_next)], dtype=bool)
    return (~acc.cumsum() < 1).sum()
""",
        r"counts every drafted token",
    ),
    Mutant(
        "accepted_count",
        "counts guesses found anywhere in the row",
        """
def accepted_count(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    return len([d for d in draft if d in target_next])
""",
        r"stand anywhere in target_next",
    ),
    Mutant(
        "accepted_count",
        "counts the tokens thrown away",
        """
def accepted_count(draft, target_next):
    return len(draft) + 1 - len(verify_greedy(draft, target_next))
""",
        r"counts the tokens that were thrown away",
    ),
    Mutant(
        "accepted_count",
        "accepts a row of the wrong length",
        """
def accepted_count(draft, target_next):
    count = 0
    for d, t in zip(draft, target_next):
        if d != t:
            break
        count += 1
    return count
""",
        r"wanted +ValueError, since a draft of 2 needs 3 entries",
    ),
]

SPECULATIVE_GENERATE = [
    Mutant(
        "speculative_generate",
        "returns the last round whole",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    sequence = list(prompt)
    while len(sequence) - len(prompt) < n_tokens:
        draft = propose(draft_model, sequence, k)
        target_next = [target_model(sequence + draft[:i]) for i in range(k + 1)]
        sequence += verify_greedy(draft, target_next)
    return sequence[len(prompt):]
""",
        r"last round's extra tokens are returned",
    ),
    Mutant(
        "speculative_generate",
        "returns the prompt too",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    sequence = list(prompt)
    while len(sequence) < len(prompt) + n_tokens:
        draft = propose(draft_model, sequence, k)
        target_next = [target_model(sequence + draft[:i]) for i in range(k + 1)]
        sequence += verify_greedy(draft, target_next)
    return sequence[:len(prompt) + n_tokens]
""",
        r"the prompt is returned too",
    ),
    Mutant(
        "speculative_generate",
        "writes into the prompt",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    start = len(prompt)
    while len(prompt) < start + n_tokens:
        draft = propose(draft_model, prompt, k)
        target_next = [target_model(prompt + draft[:i]) for i in range(k + 1)]
        prompt += verify_greedy(draft, target_next)
    return prompt[start:start + n_tokens]
""",
        r"changed its prompt",
    ),
    Mutant(
        "speculative_generate",
        "plain greedy decoding",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    return greedy_generate(target_model, prompt, n_tokens)
""",
        r"draft was never asked: this is plain greedy decoding",
    ),
    Mutant(
        "speculative_generate",
        "one token a round",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    sequence = list(prompt)
    for _ in range(n_tokens):
        draft = propose(draft_model, sequence, k)
        target_next = [target_model(sequence + draft[:i]) for i in range(k + 1)]
        sequence.append(verify_greedy(draft, target_next)[0])
    return sequence[len(prompt):]
""",
        r"Each round adds one token only",
    ),
    Mutant(
        "speculative_generate",
        "no bonus",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    sequence = list(prompt)
    while len(sequence) < len(prompt) + n_tokens:
        draft = propose(draft_model, sequence, k)
        target_next = [target_model(sequence + draft[:i]) for i in range(k + 1)]
        sequence += verify_greedy(draft, target_next)[:max(k, 1)]
    return sequence[len(prompt):len(prompt) + n_tokens]
""",
        r"The bonus is lost",
    ),
    Mutant(
        "speculative_generate",
        "the draft never reads its own guesses",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    sequence = list(prompt)
    while len(sequence) < len(prompt) + n_tokens:
        draft = [draft_model(sequence) for _ in range(k)]
        target_next = [target_model(sequence + draft[:i]) for i in range(k + 1)]
        sequence += verify_greedy(draft, target_next)
    return sequence[len(prompt):len(prompt) + n_tokens]
""",
        r"asked twice about the same text",
    ),
    Mutant(
        "speculative_generate",
        "the bonus comes from the draft",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    sequence = list(prompt)
    while len(sequence) < len(prompt) + n_tokens:
        draft = propose(draft_model, sequence, k + 1)
        target_next = [target_model(sequence + draft[:i]) for i in range(k)]
        for drafted, wanted in zip(draft, target_next):
            sequence.append(wanted)
            if drafted != wanted:
                break
        else:
            sequence.append(draft[k])
    return sequence[len(prompt):len(prompt) + n_tokens]
""",
        r"the bonus comes from the draft",
    ),
    Mutant(
        "speculative_generate",
        "keeps all the target's answers",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    sequence = list(prompt)
    while len(sequence) < len(prompt) + n_tokens:
        draft = propose(draft_model, sequence, k)
        sequence += [target_model(sequence + draft[:i]) for i in range(k + 1)]
    return sequence[len(prompt):len(prompt) + n_tokens]
""",
        r"all the target's answers are kept",
    ),
    Mutant(
        "speculative_generate",
        "the draft's own text",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    return propose(draft_model, list(prompt), n_tokens)
""",
        r"the draft's own text",
    ),
    Mutant(
        "speculative_generate",
        "loses the correction",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    sequence = list(prompt)
    while len(sequence) < len(prompt) + n_tokens:
        draft = propose(draft_model, sequence, k)
        target_next = [target_model(sequence + draft[:i]) for i in range(k + 1)]
        emitted = verify_greedy(draft, target_next)
        if 1 < len(emitted) <= k:
            emitted.pop()
        sequence += emitted
    return sequence[len(prompt):len(prompt) + n_tokens]
""",
        r"The correction is lost",
    ),
    Mutant(
        "speculative_generate",
        "one token for n_tokens = 0",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    sequence = list(prompt)
    while True:
        draft = propose(draft_model, sequence, k)
        target_next = [target_model(sequence + draft[:i]) for i in range(k + 1)]
        sequence += verify_greedy(draft, target_next)
        if len(sequence) >= len(prompt) + n_tokens:
            break
    return sequence[len(prompt):len(prompt) + max(n_tokens, 1)]
""",
        r"one token comes out even for n_tokens = 0",
    ),
    Mutant(
        "speculative_generate",
        "never advances after a rejection",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    sequence = list(prompt)
    while len(sequence) < len(prompt) + n_tokens:
        draft = propose(draft_model, sequence, k)
        target_next = [target_model(sequence + draft[:i]) for i in range(k + 1)]
        emitted = verify_greedy(draft, target_next)
        sequence += emitted if len(emitted) == k + 1 else emitted[:-1]
    return sequence[len(prompt):len(prompt) + n_tokens]
""",
        r"Either a round adds no token, or the loop waits",
    ),
    Mutant(
        "speculative_generate",
        "accepts negative numbers",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    sequence = list(prompt)
    while len(sequence) < len(prompt) + n_tokens:
        draft = propose(draft_model, sequence, k)
        target_next = [target_model(sequence + draft[:i]) for i in range(len(draft) + 1)]
        sequence += verify_greedy(draft, target_next)
    return sequence[len(prompt):len(prompt) + n_tokens]
""",
        r"wanted +ValueError, since n_tokens is negative",
    ),
    Mutant(
        "speculative_generate",
        "drafts one token too many",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    sequence = list(prompt)
    while len(sequence) < len(prompt) + n_tokens:
        draft = propose(draft_model, sequence, k + 1)[:k]
        target_next = [target_model(sequence + draft[:i]) for i in range(k + 1)]
        sequence += verify_greedy(draft, target_next)
    return sequence[len(prompt):len(prompt) + n_tokens]
""",
        r"wanted +at most \d+ a pass",
    ),
    Mutant(
        "speculative_generate",
        "keeps whole drafts",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    sequence = list(prompt)
    while len(sequence) < len(prompt) + n_tokens:
        draft = propose(draft_model, sequence, k)
        target_next = [target_model(sequence + draft[:i]) for i in range(k + 1)]
        sequence += draft + [target_next[-1]]
    return sequence[len(prompt):len(prompt) + n_tokens]
""",
        r"whole drafts are kept",
    ),
    Mutant(
        "speculative_generate",
        "asks the target k times only",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    sequence = list(prompt)
    while len(sequence) < len(prompt) + n_tokens:
        draft = propose(draft_model, sequence, k)
        target_next = [target_model(sequence + draft[:i]) for i in range(k)]
        sequence += verify_greedy(draft, target_next)
    return sequence[len(prompt):len(prompt) + n_tokens]
""",
        r"asked 3 times for 3 guesses\. Ask it 4 times",
    ),
]

EXPECTED_TOKENS = [
    Mutant(
        "expected_tokens",
        "divides by zero at a = 1",
        """
def expected_tokens(a, k):
    if not 0 <= a <= 1 or k < 0:
        raise ValueError("a in 0..1, k 0 or more")
    return (1 - a ** (k + 1)) / (1 - a)
""",
        r"a = 1 divides by zero",
    ),
    Mutant(
        "expected_tokens",
        "exponent k",
        """
def expected_tokens(a, k):
    if not 0 <= a <= 1 or k < 0:
        raise ValueError("a in 0..1, k 0 or more")
    return k if a == 1 else (1 - a ** k) / (1 - a)
""",
        r"one term too early, or the exponent is k",
    ),
    Mutant(
        "expected_tokens",
        "counts accepted guesses only",
        """
def expected_tokens(a, k):
    if not 0 <= a <= 1 or k < 0:
        raise ValueError("a in 0..1, k 0 or more")
    return sum(a ** i for i in range(1, k + 1))
""",
        r"only accepted guesses are counted",
    ),
    Mutant(
        "expected_tokens",
        "each guess counts alone",
        """
def expected_tokens(a, k):
    if not 0 <= a <= 1 or k < 0:
        raise ValueError("a in 0..1, k 0 or more")
    return 1 + a * k
""",
        r"as if each had chance a",
    ),
    Mutant(
        "expected_tokens",
        "the limit of endless drafts",
        """
def expected_tokens(a, k):
    if not 0 <= a <= 1 or k < 0:
        raise ValueError("a in 0..1, k 0 or more")
    if a == 1:
        return k + 1
    return 1 / (1 - a)
""",
        r"the limit for endless k",
    ),
    Mutant(
        "expected_tokens",
        "the chance that all are right",
        """
def expected_tokens(a, k):
    if not 0 <= a <= 1 or k < 0:
        raise ValueError("a in 0..1, k 0 or more")
    return a ** k
""",
        r"the chance that all k guesses are right",
    ),
    Mutant(
        "expected_tokens",
        "lets any a through",
        """
def expected_tokens(a, k):
    if k < 0:
        raise ValueError("k 0 or more")
    return sum(a ** i for i in range(k + 1))
""",
        r"wanted +ValueError, since a is a chance",
    ),
    Mutant(
        "expected_tokens",
        "lets a negative k through",
        """
def expected_tokens(a, k):
    if not 0 <= a <= 1:
        raise ValueError("a in 0..1")
    return sum(a ** i for i in range(k + 1))
""",
        r"wanted +ValueError, since k is negative",
    ),
]

SPEED_ESTIMATE = [
    Mutant(
        "speed_estimate",
        "drafting costs nothing",
        """
def speed_estimate(a, k, t_draft, t_verify):
    return expected_tokens(a, k) / t_verify
""",
        r"time of drafting is left out",
    ),
    Mutant(
        "speed_estimate",
        "one draft step",
        """
def speed_estimate(a, k, t_draft, t_verify):
    return expected_tokens(a, k) / (t_draft + t_verify)
""",
        r"only one draft step is counted",
    ),
    Mutant(
        "speed_estimate",
        "k + 1 verifications",
        """
def speed_estimate(a, k, t_draft, t_verify):
    return expected_tokens(a, k) / (k * t_draft + (k + 1) * t_verify)
""",
        r"verification is counted k \+ 1 times",
    ),
    Mutant(
        "speed_estimate",
        "k + 1 draft steps",
        """
def speed_estimate(a, k, t_draft, t_verify):
    return expected_tokens(a, k) / ((k + 1) * t_draft + t_verify)
""",
        r"k \+ 1 draft steps are counted",
    ),
    Mutant(
        "speed_estimate",
        "time per token",
        """
def speed_estimate(a, k, t_draft, t_verify):
    return (k * t_draft + t_verify) / expected_tokens(a, k)
""",
        r"this is time per token",
    ),
    Mutant(
        "speed_estimate",
        "counts accepted guesses only",
        """
def speed_estimate(a, k, t_draft, t_verify):
    return (expected_tokens(a, k) - 1) / (k * t_draft + t_verify)
""",
        r"only accepted guesses are counted",
    ),
    Mutant(
        "speed_estimate",
        "times swapped",
        """
def speed_estimate(a, k, t_draft, t_verify):
    return expected_tokens(a, k) / (k * t_verify + t_draft)
""",
        r"the two times are swapped",
    ),
    Mutant(
        "speed_estimate",
        "takes the times for milliseconds",
        """
def speed_estimate(a, k, t_draft, t_verify):
    return 1000 * expected_tokens(a, k) / (k * t_draft + t_verify)
""",
        r"a factor of 1,000",
    ),
    Mutant(
        "speed_estimate",
        "the time of a round",
        """
def speed_estimate(a, k, t_draft, t_verify):
    return k * t_draft + t_verify
""",
        r"it is the time of a round",
    ),
    Mutant(
        "speed_estimate",
        "k verifications",
        """
def speed_estimate(a, k, t_draft, t_verify):
    return expected_tokens(a, k) / (k * (t_draft + t_verify))
""",
        r"verification is counted k times",
    ),
    Mutant(
        "speed_estimate",
        "multiplies",
        """
def speed_estimate(a, k, t_draft, t_verify):
    return expected_tokens(a, k) * (k * t_draft + t_verify)
""",
        r"tokens and time are multiplied",
    ),
    Mutant(
        "speed_estimate",
        "as if every guess were right",
        """
def speed_estimate(a, k, t_draft, t_verify):
    return (k + 1) / (k * t_draft + t_verify)
""",
        r"would need every guess to be right",
    ),
    Mutant(
        "speed_estimate",
        "leaves the verification out",
        """
def speed_estimate(a, k, t_draft, t_verify):
    return expected_tokens(a, k) / (k * t_draft) if k else float("inf")
""",
        r"the verification is left out",
    ),
]


def _wrong(answer, *pairs):
    """Return mutants of a one-line answer from pairs (value as code, message)."""
    return [Mutant(answer, value, f"{answer} = {value}", message) for value, message in pairs]


AGAIN = r"Go through the pass once more"
A_NUMBER = r"Give a number, without quotes or brackets"
ANSWERS = [
    *_wrong(
        "todo_tokens_emitted",
        ("2", r"left out the target's own token"),
        ("4", r"need not be as long as the draft"),
        ("5", r"no bonus after a difference"),
        ("1", r"plain decoding"),
        ("[7, 3, 8]", A_NUMBER),
        ("0", AGAIN),
    ),
    *_wrong(
        "todo_tokens_accepted",
        ("3", r"emitted, not accepted"),
        ("4", r"Four were drafted"),
        ("1", r"Look at the second place"),
        ("0", AGAIN),
        ("[7, 3]", A_NUMBER),
        ('"two"', A_NUMBER),
    ),
    *_wrong(
        "todo_all_agree",
        ("4", r"answered the question after the last guess"),
        ("6", r"one bonus, not two"),
        ("1", AGAIN),
        ("0", AGAIN),
        ("9", AGAIN),
        ("[7, 3, 5, 9]", A_NUMBER),
    ),
    *_wrong(
        "todo_later_match",
        ("[4, 8, 6]", r"asked after 4 5\. The text says 4 8"),
        ("[4, 8, 6, 9]", r"whole row"),
        ("[4, 8, 9]", r"no bonus after a difference"),
        ("[4]", r"Something comes out at the difference"),
        ("[4, 5]", r"not the draft's"),
        ("[4, 6]", r"Places are not skipped"),
        ("[4, 5, 6]", r"the draft as it came"),
        ("[8]", AGAIN),
        ("2", r"Give a list, such as"),
    ),
    *_wrong(
        "todo_hopeless_passes",
        ("40", r"Four answers are one pass"),
        ("30", r"draft calls, not passes"),
        ("4", r"need accepted guesses"),
        ("3", r"a perfect draft"),
        ("0", r"target looks once in every round"),
        ("11", r"None is needed at the end"),
    ),
    *_wrong(
        "todo_bug_input",
        ("([1, 2, 3], [1, 2, 3, 4])", r"which is right\. Look for a place that it never compares"),
        ("([1, 2, 3], [1, 5, 3, 4])", r"which is right"),
        ("([], [5])", r"which is right"),
        ("([9, 1, 2], [3, 1, 2])", r"A draft of 3 needs 4 target choices; you gave 3"),
        ("[9, 1, 2]", r"Give a pair of lists"),
        ("9, 3", r"Give a pair of lists"),
        ("([9], [3, 1], [3])", r"Give a pair of lists"),
    ),
    *_wrong(
        "quiz_emit_before_check",
        ('"A"', r"the reader has seen it"),
        ('"C"', r"that token may be the correction"),
        ('"D"', r"one guess in ten is wrong"),
        ('"E"', r'give one of "A", "B", "C", "D"'),
        ('"No."', r"with the quotes"),
        ("False", r"with the quotes"),
        ("B", r"NameError"),
    ),
    *_wrong(
        "quiz_one_pass",
        ('"A"', r"They take four times as much"),
        ('"B"', r"nothing of the draft's but the guessed tokens"),
        ('"D"', r"after the text and some guesses"),
        ('"AC"', r'give one of "A", "B", "C", "D"'),
        ("1", r"with the quotes"),
        ("['C']", r"with the quotes"),
    ),
]

MUTANTS = [
    *VERIFY_GREEDY,
    *ACCEPTED_COUNT,
    *SPECULATIVE_GENERATE,
    *EXPECTED_TOKENS,
    *SPEED_ESTIMATE,
    *ANSWERS,
]

ODD_VERIFY_GREEDY = [
    OddButRight(
        "verify_greedy",
        "recursion",
        """
def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("one entry more than the draft")
    if not len(draft) or draft[0] != target_next[0]:
        return [target_next[0]]
    return [target_next[0]] + verify_greedy(draft[1:], target_next[1:])
""",
    ),
    OddButRight(
        "verify_greedy",
        "while loop, returns a tuple",
        """
def verify_greedy(draft, target_next):
    if len(target_next) - len(draft) != 1:
        raise ValueError
    i = 0
    while i < len(draft) and draft[i] == target_next[i]:
        i += 1
    return tuple(target_next[:i + 1])
""",
    ),
    OddButRight(
        "verify_greedy",
        "generator turned to list, other argument names",
        """
def verify_greedy(guesses, choices):
    def walk():
        for guess, choice in zip(guesses, choices):
            yield choice
            if guess != choice:
                return
        yield choices[-1]
    if len(choices) != 1 + len(guesses):
        raise ValueError(f"{len(guesses)} guesses, {len(choices)} choices")
    return list(walk())
""",
    ),
    OddButRight(
        "verify_greedy",
        "NumPy array",
        """
import numpy as np

def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("lengths")
    differ = np.flatnonzero(np.asarray(draft) != np.asarray(target_next[:-1])) if len(draft) else []
    stop = differ[0] if len(differ) else len(draft)
    return np.asarray(target_next)[: stop + 1]
""",
    ),
    OddButRight(
        "verify_greedy",
        "NumPy integers in a list, early return of the whole row",
        """
import numpy as np

def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("lengths")
    row = [np.int64(t) if isinstance(t, int) else t for t in target_next]
    if list(draft) == list(target_next)[:-1]:
        return row
    for i, token in enumerate(draft):
        if token != row[i]:
            return row[:i] + [row[i]]
""",
    ),
    OddButRight(
        "verify_greedy",
        "own kind of ValueError, itertools",
        """
from itertools import takewhile

class WrongLength(ValueError):
    pass

def verify_greedy(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise WrongLength
    right = [d for d, t in takewhile(lambda pair: pair[0] == pair[1], zip(draft, target_next))]
    return [*right, target_next[len(right)]]
""",
    ),
]

ODD_ACCEPTED_COUNT = [
    OddButRight(
        "accepted_count",
        "NumPy integer",
        """
import numpy as np

def accepted_count(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("lengths")
    agree = np.array([d == t for d, t in zip(draft, target_next)], dtype=bool)
    return np.cumprod(agree).sum(dtype=np.int32)
""",
    ),
    OddButRight(
        "accepted_count",
        "recursion",
        """
def accepted_count(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("lengths")
    if not draft or draft[0] != target_next[0]:
        return 0
    return 1 + accepted_count(draft[1:], target_next[1:])
""",
    ),
    OddButRight(
        "accepted_count",
        "for and else",
        """
def accepted_count(draft, target_next):
    if len(target_next) != len(draft) + 1:
        raise ValueError("lengths")
    for place, (guess, choice) in enumerate(zip(draft, target_next)):
        if guess != choice:
            break
    else:
        place = len(draft)
    return place
""",
    ),
    OddButRight(
        "accepted_count",
        "lambda",
        "accepted_count = lambda d, t: len(verify_greedy(d, t)) - 1",
    ),
    OddButRight(
        "accepted_count",
        "while loop with its own rule",
        """
def accepted_count(draft, target_next):
    assert_lengths = len(target_next) == len(draft) + 1
    if not assert_lengths:
        raise ValueError("lengths")
    n = 0
    while n < len(draft):
        if draft[n] != target_next[n]:
            return n
        n = n + 1
    return n
""",
    ),
]

ODD_SPECULATIVE_GENERATE = [
    OddButRight(
        "speculative_generate",
        "clips the last draft",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    new = []
    while len(new) < n_tokens:
        draft = propose(draft_model, prompt + new, min(k, n_tokens - len(new) - 1))
        row = [target_model(prompt + new + draft[:i]) for i in range(len(draft) + 1)]
        new += verify_greedy(draft, row)
    return new
""",
    ),
    OddButRight(
        "speculative_generate",
        "stops asking at the first mismatch",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    text = list(prompt)
    while len(text) < len(prompt) + n_tokens:
        guesses = propose(draft_model, text, k)
        for guess in guesses:
            choice = target_model(text)
            text.append(choice)
            if guess != choice:
                break
        else:
            text.append(target_model(text))
    return text[len(prompt):][:n_tokens]
""",
    ),
    OddButRight(
        "speculative_generate",
        "recursion, returns a tuple",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if min(n_tokens, k) < 0:
        raise ValueError("0 or more")
    if n_tokens == 0:
        return ()
    draft = propose(draft_model, list(prompt), k)
    row = [target_model([*prompt, *draft[:i]]) for i in range(k + 1)]
    new = verify_greedy(draft, row)[:n_tokens]
    rest = speculative_generate(
        draft_model, target_model, [*prompt, *new], n_tokens - len(new), k)
    return (*new, *rest)
""",
    ),
    OddButRight(
        "speculative_generate",
        "generator turned to list with islice",
        """
from itertools import islice

def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    def rounds():
        text = list(prompt)
        while True:
            draft = []
            while len(draft) < k:
                draft.append(draft_model(text + draft))
            row = [target_model(text + draft[:i]) for i in range(k + 1)]
            emitted = verify_greedy(draft, row)
            text.extend(emitted)
            yield from emitted
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    return list(islice(rounds(), n_tokens))
""",
    ),
    OddButRight(
        "speculative_generate",
        "asks the target from the last place to the first",
        """
def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    out = []
    while True:
        if len(out) >= n_tokens:
            return out[:n_tokens]
        base = list(prompt) + out
        draft = propose(draft_model, base, k)
        row = {}
        for i in reversed(range(k + 1)):
            row[i] = target_model(base + draft[:i])
        out += verify_greedy(draft, [row[i] for i in range(k + 1)])
""",
    ),
    OddButRight(
        "speculative_generate",
        "NumPy integers and an array",
        """
import numpy as np

def speculative_generate(draft_model, target_model, prompt, n_tokens, k):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    text = np.array(prompt)
    while len(text) < len(prompt) + n_tokens:
        seq = text.tolist()
        draft = propose(draft_model, seq, k)
        row = [target_model(seq + draft[:i]) for i in range(k + 1)]
        text = np.array(seq + list(verify_greedy(draft, row)))
    return text[len(prompt):len(prompt) + n_tokens]
""",
    ),
]

ODD_EXPECTED_TOKENS = [
    OddButRight(
        "expected_tokens",
        "sum of powers",
        """
def expected_tokens(a, k):
    if a < 0 or a > 1 or k < 0:
        raise ValueError("a in 0..1, k 0 or more")
    return sum(a ** i for i in range(k + 1))
""",
    ),
    OddButRight(
        "expected_tokens",
        "recursion",
        """
def expected_tokens(a, k):
    if not 0 <= a <= 1 or k < 0:
        raise ValueError("a in 0..1, k 0 or more")
    return 1 if k == 0 else 1 + a * expected_tokens(a, k - 1)
""",
    ),
    OddButRight(
        "expected_tokens",
        "NumPy float",
        """
import numpy as np

def expected_tokens(a, k):
    if not 0 <= a <= 1 or k < 0:
        raise ValueError("a in 0..1, k 0 or more")
    return np.power(float(a), np.arange(k + 1)).sum()
""",
    ),
    OddButRight(
        "expected_tokens",
        "while loop",
        """
def expected_tokens(a, k):
    if a > 1: raise ValueError("a")
    if a < 0: raise ValueError("a")
    if k < 0: raise ValueError("k")
    total, term = 0.0, 1.0
    while k >= 0:
        total += term
        term *= a
        k -= 1
    return total
""",
    ),
    OddButRight(
        "expected_tokens",
        "array of no dimension",
        """
import numpy as np

def expected_tokens(a, k):
    if not 0 <= a <= 1 or k < 0:
        raise ValueError("a in 0..1, k 0 or more")
    return np.asarray(np.polyval(np.ones(k + 1), a))
""",
    ),
]

ODD_SPEED_ESTIMATE = [
    OddButRight(
        "speed_estimate",
        "own sum, other names",
        """
def speed_estimate(chance, guesses, draft_time, verify_time):
    tokens = sum(chance ** i for i in range(guesses + 1))
    return tokens / (draft_time * guesses + verify_time)
""",
    ),
    OddButRight(
        "speed_estimate",
        "turns the time per token over",
        """
def speed_estimate(a, k, t_draft, t_verify):
    return 1 / ((k * t_draft + t_verify) / expected_tokens(a, k))
""",
    ),
    OddButRight(
        "speed_estimate",
        "NumPy float",
        """
import numpy as np

def speed_estimate(a, k, t_draft, t_verify):
    return np.float64(expected_tokens(a, k)) / np.sum([t_draft] * k + [t_verify])
""",
    ),
    OddButRight(
        "speed_estimate",
        "loop over the draft steps",
        """
def speed_estimate(a, k, t_draft, t_verify):
    time = t_verify
    for _ in range(k):
        time = time + t_draft
    return expected_tokens(a, k) / time
""",
    ),
]


def _right(answer, *values):
    """Return odd but right one-line answers from values as code."""
    return [OddButRight(answer, value, f"{answer} = {value}") for value in values]


ODD_ANSWERS = [
    *_right(
        "todo_tokens_emitted", "3.0", "1 + 2", "len([7, 3, 8])", "__import__('numpy').int64(3)"
    ),
    *_right("todo_tokens_accepted", "2.0", "3 - 1", "len((7, 3))", "__import__('numpy').int8(2)"),
    *_right("todo_all_agree", "5.0", "4 + 1", "len('73590')", "__import__('numpy').float64(5)"),
    *_right(
        "todo_later_match",
        "(4, 8)",
        "__import__('numpy').array([4, 8])",
        "[4.0, 8.0]",
        "list(range(4, 9, 4))",
    ),
    *_right(
        "todo_hopeless_passes", "10.0", "5 * 2", "len('x' * 10)", "__import__('numpy').int64(10)"
    ),
    *_right(
        "todo_bug_input",
        "[[1], [2, 3]]",
        "((9, 1, 2), (3, 1, 2, 7))",
        "(__import__('numpy').array([9]), __import__('numpy').array([3, 1]))",
        '(["cat", "sat"], ["mat", "sat", "on"])',
    ),
    *_right("quiz_emit_before_check", "'b'", "' B '", "'ABCD'[1]", 'str("B")'),
    *_right("quiz_one_pass", "'c'", "' C '", "'ABCD'[2]", 'str("C")'),
]

ODD_BUT_RIGHT = [
    *ODD_VERIFY_GREEDY,
    *ODD_ACCEPTED_COUNT,
    *ODD_SPECULATIVE_GENERATE,
    *ODD_EXPECTED_TOKENS,
    *ODD_SPEED_ESTIMATE,
    *ODD_ANSWERS,
]
