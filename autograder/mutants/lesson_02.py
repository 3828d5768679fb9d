"""Lesson 2, one forward pass: wrong answers, commonest first, and odd ones that are right.

Most wrong answers are the worked one with a line changed, so that the line can be seen.
"""

from autograder.mutants import Mutant, OddButRight

MASK = """
import numpy as np

def build_causal_mask(n):
    return np.tril(np.ones((n, n), dtype=bool))
"""

GREEDY = """
import numpy as np

def greedy_decode(token_ids, model, num_tokens):
    if num_tokens < 0:
        raise ValueError("0 or more")
    for _ in range(num_tokens):
        mask = build_causal_mask(token_ids.shape[1])
        logits = full_lm_forward(token_ids, model, mask)
        next_token = np.argmax(logits[0, -1])
        token_ids = np.concatenate([token_ids, [[next_token]]], axis=1)
    return token_ids
"""

STEP = """
import numpy as np

def speculative_decode_step(token_ids, draft, target, num_draft_tokens):
    if num_draft_tokens < 0:
        raise ValueError("0 or more")
    length = token_ids.shape[1]
    drafted = greedy_decode(token_ids, draft, num_draft_tokens)
    mask = build_causal_mask(drafted.shape[1])
    logits = full_lm_forward(drafted, target, mask)
    answers = np.argmax(logits[0, length - 1:], axis=-1)
    guesses = drafted[0, length:]
    accepted = 0
    while accepted < num_draft_tokens and guesses[accepted] == answers[accepted]:
        accepted += 1
    new = answers[:accepted + 1]
    return np.concatenate([token_ids, [new]], axis=1), accepted
"""

DECODE = """
def speculative_decode(token_ids, draft, target, num_tokens, num_draft_tokens):
    if num_tokens < 0 or num_draft_tokens < 0:
        raise ValueError("0 or more")
    wanted = token_ids.shape[1] + num_tokens
    accepted = []
    while token_ids.shape[1] < wanted:
        token_ids, count = speculative_decode_step(token_ids, draft, target, num_draft_tokens)
        accepted.append(count)
    return token_ids[:, :wanted], accepted
"""


def _changed(answer, worked, *changes):
    """Return wrong answers from (name, message, old, new, …): the worked one with old -> new."""
    mutants = []
    for name, message, *pairs in changes:
        code = worked
        for old, new in zip(pairs[::2], pairs[1::2], strict=True):
            if code.count(old) != 1:
                raise ValueError(f"{name}: {old!r} stands {code.count(old)} times in the answer")
            code = code.replace(old, new)
        mutants.append(Mutant(answer, name, code, message))
    return mutants


TRIL = "np.tril(np.ones((n, n), dtype=bool))"
BUILD_CAUSAL_MASK = _changed(
    "build_causal_mask",
    MASK,
    ("sees what comes after", r"rows and columns are swapped", "np.tril", "np.triu"),
    ("does not see itself", r"a token does not see itself", "bool))", "bool), k=-1)"),
    ("sees everything", r"every token sees everything", TRIL, "np.ones((n, n), dtype=bool)"),
    ("True where it may not see", r"the wrong way round", TRIL, f"~{TRIL}"),
    ("0 and 1", r"The entries are numbers", ", dtype=bool", ""),
    ("0 and -inf", r"form that is added to scores", TRIL,
     "np.where(np.tril(np.ones((n, n))) == 1, 0, -np.inf)"),
    ("sees only itself", r"each token sees only itself", TRIL, "np.eye(n, dtype=bool)"),
    ("sees one token of the future", r"one token of the future", "bool))", "bool), k=1)"),
    ("fixed at three tokens", r"returned +\[\[True, False, False\]", "(n, n)", "(3, 3)"),
    ("nothing comes back", r"a `return` is missing", "return ", ""),
)  # fmt: skip

LAST_ROW = "logits[0, -1]"
APPEND = "np.concatenate([token_ids, [[next_token]]], axis=1)"
GREEDY_DECODE = _changed(
    "greedy_decode",
    GREEDY,
    ("takes the first row", r"comes from row 0", LAST_ROW, "logits[0, 0]"),
    ("takes the row before the last", r"row before the last", LAST_ROW,
     "logits[0, max(len(logits[0]) - 2, 0)]"),
    ("no mask", r"had no mask", "model, mask)", "model, None)"),
    ("a mask that looks ahead", r"is not causal",
     "build_causal_mask(token_ids.shape[1])", "np.ones((token_ids.shape[1],) * 2, dtype=bool)"),
    ("argmax over the whole array", r"looks at one row only", LAST_ROW, "logits"),
    ("one token too few", r"one token too few", "range(num_tokens)", "range(1, num_tokens)"),
    ("one token too many", r"one token too many", "range(num_tokens)", "range(num_tokens + 1)"),
    ("num_tokens is the whole length", r"taken for the length of the whole text",
     "range(num_tokens)", "range(num_tokens - token_ids.shape[1])"),
    ("returns the new tokens only", r"only the new tokens are returned",
     "    for _", "    length = token_ids.shape[1]\n    for _",
     "return token_ids", "return token_ids[:, length:]"),
    ("every pass reads the same text", r"reads the text as it was at the start",
     "    for _", "    given = token_ids\n    for _",
     "build_causal_mask(token_ids.shape[1])", "build_causal_mask(given.shape[1])",
     "full_lm_forward(token_ids,", "full_lm_forward(given,"),
    ("appends nothing", r"returned as it came", f"token_ids = {APPEND}", "pass"),
    ("loses the first axis", r"has shape \(\d+,\)", "return token_ids", "return token_ids[0]"),
    ("returns inside the loop", r"returned .*\n +wanted", "    return token_ids",
     "        return token_ids"),
    ("a second pass for each token", r"took +24 passes", "        next_token",
     "        logits = full_lm_forward(token_ids, model, mask)\n        next_token"),
    ("turns ids into decimals", r"must stay whole numbers", "return token_ids",
     "return token_ids * 1.0"),
    ("takes a negative number", r"since a number is negative",
     'raise ValueError("0 or more")', "return token_ids"),
    ("writes into its input", r"changed its input", "    for _",
     "    if num_tokens > 1:\n        token_ids[0, 0] += 0 * num_tokens + 1\n"
     "        copy = token_ids.copy()\n        copy[0, 0] -= 1\n"
     "        token_ids = copy\n    for _"),
)  # fmt: skip

PASS = "    logits = full_lm_forward(drafted, target, mask)\n"
ANSWERS = "    answers = np.argmax(logits[0, length - 1:], axis=-1)\n"
NEW = "new = answers[:accepted + 1]"
ALONE = (  # one pass for each guess
    "    answers = []\n"
    "    for n in range(length, length + num_draft_tokens + 1):\n"
    "        logits = full_lm_forward(drafted[:, :n], target, build_causal_mask(n))\n"
    "        answers.append(np.argmax(logits[0, -1]))\n"
)
STEP_RESULTS = _changed(
    "speculative_decode_step",
    STEP,
    ("one row too late", r"rows are read one place too late", "length - 1:", "length:"),
    ("one row too early", r"rows are read one place too early", "length - 1:",
     "length - 2:"),
    ("one row too early, from row 0 on", r"rows are read one place too early", "length - 1:",
     "max(length - 2, 0):"),
    ("argmax over all rows", r"looks at one row only|raised", ", axis=-1)", ")"),
    ("no mask", r"had no mask", "target, mask)", "target, None)"),
    ("one pass a guess", r"ran once for each drafted token", PASS, ALONE, ANSWERS, ""),
    ("a second pass for the bonus", r"ran a second time", "    new = answers[:accepted + 1]\n",
     "    text = drafted[:, :length + accepted]\n"
     "    again = full_lm_forward(text, target, build_causal_mask(text.shape[1]))\n"
     "    new = [*guesses[:accepted], np.argmax(again[0, -1])]\n"),
    ("the pass again for each row", r"made again for every row", ANSWERS,
     "    answers = [np.argmax(full_lm_forward(drafted, target, mask)[0, row])\n"
     "               for row in range(length - 1, drafted.shape[1])]\n"),
    ("forgets the bonus", r"the bonus is missing", NEW,
     "new = answers[:accepted + 1][:num_draft_tokens or 1]"),
    ("bonus from the draft", r"the bonus comes from the draft", f"    {NEW}\n",
     "    new = list(answers[:accepted + 1])\n"
     "    if accepted == num_draft_tokens:\n"
     "        new[-1] = greedy_decode(drafted, draft, 1)[0, -1]\n"),
    ("keeps the wrong guess", r"the draft's token is kept", NEW,
     "new = guesses[:accepted + 1] if accepted < num_draft_tokens else answers"),
    ("drops the correction", r"the correction is missing", NEW,
     "new = guesses[:accepted] if accepted < num_draft_tokens else answers"),
    ("adds accepted guesses only", r"only accepted tokens are added", NEW,
     "new = guesses[:accepted]"),
    ("goes on after a difference", r"it goes on after the first difference",
     "    while accepted < num_draft_tokens and guesses[accepted] == answers[accepted]:\n"
     "        accepted += 1\n    new = answers[:accepted + 1]\n",
     "    new = answers\n    accepted = int((guesses == answers[:-1]).sum())\n"),
    ("counts all matches, and takes as many answers", r"after the first difference are counted too",
     "    while accepted < num_draft_tokens and guesses[accepted] == answers[accepted]:\n"
     "        accepted += 1\n", "    accepted = int((guesses == answers[:-1]).sum())\n"),
    ("does not stop at the first difference", r"after the first difference are counted too",
     "    while accepted < num_draft_tokens and guesses[accepted] == answers[accepted]:\n"
     "        accepted += 1\n    new = answers[:accepted + 1]\n",
     "    for guess, answer in zip(guesses, answers):\n        accepted += int(guess == answer)\n"
     "    new = [*guesses[:accepted], answers[accepted]]\n"),
    ("adds every guess that agrees", r"after the first difference are counted too",
     "    while accepted < num_draft_tokens and guesses[accepted] == answers[accepted]:\n"
     "        accepted += 1\n    new = answers[:accepted + 1]\n",
     "    new = [int(g) for g, a in zip(guesses, answers) if g == a]\n"
     "    accepted = len(new)\n    new.append(answers[accepted])\n"),
    ("corrects and goes on", r"after the first difference are counted too",
     "    while accepted < num_draft_tokens and guesses[accepted] == answers[accepted]:\n"
     "        accepted += 1\n    new = answers[:accepted + 1]\n",
     "    agree = guesses == answers[:-1]\n    accepted = int(agree.sum())\n"
     "    new = answers if agree.all() else answers[:-1]\n"),
    ("adds all answers", r"all the target's answers are added", NEW, "new = answers"),
    ("keeps the whole draft", r"all drafted tokens are kept", NEW,
     "accepted = num_draft_tokens\n    new = [*guesses, answers[-1]]"),
    ("the draft reads the text only", r"draft reads the same text for every guess",
     "drafted = greedy_decode(token_ids, draft, num_draft_tokens)",
     "guess = greedy_decode(token_ids, draft, 1)[:, -1:]\n"
     "    drafted = np.concatenate([token_ids] + [guess] * num_draft_tokens, axis=1)"),
    ("never drafts", r"did not read the drafted tokens",
     "drafted = greedy_decode(token_ids, draft, num_draft_tokens)",
     "drafted, num_draft_tokens = token_ids, 0"),
    ("counts the correction", r"the count includes the target's own token",
     "axis=1), accepted", "axis=1), accepted + 1"),
    ("counts the whole draft", r"all k drafted tokens are counted",
     "axis=1), accepted", "axis=1), num_draft_tokens"),
    ("counts later matches", r"all matches are counted",
     "axis=1), accepted", "axis=1), int((guesses == answers[:-1]).sum())"),
    ("returns the new tokens only", r"only the new tokens are returned",
     "np.concatenate([token_ids, [new]], axis=1)", "np.array([new])"),
    ("swaps the two results", r"the two values are swapped|The two values are swapped",
     "return np.concatenate([token_ids, [new]], axis=1), accepted",
     "return accepted, np.concatenate([token_ids, [new]], axis=1)"),
    ("forgets the count", r"two values: \(token_ids, num_accepted_tokens\)",
     "axis=1), accepted", "axis=1)"),
    ("the last guess does not go in", r"The last drafted token is missing|raised +IndexError",
     "drafted.shape[1])", "drafted.shape[1] - 1)",
     "full_lm_forward(drafted,", "full_lm_forward(drafted[:, :-1],"),
    ("the target reads the guesses only", r"raised|returned",
     "build_causal_mask(drafted.shape[1])", "build_causal_mask(drafted.shape[1] - length)",
     "full_lm_forward(drafted,", "full_lm_forward(drafted[:, length:],"),
    ("both tokens at the difference", r"both tokens come out", NEW,
     "new = answers if accepted == num_draft_tokens else "
     "[*guesses[:accepted + 1], answers[accepted]]"),
    ("drafts one more than asked", r"it should read",
     "greedy_decode(token_ids, draft, num_draft_tokens)",
     "greedy_decode(token_ids, draft, num_draft_tokens + 1)"),
    ("drafts twice", r"passes of the draft", "    mask =",
     "    drafted = greedy_decode(token_ids, draft, num_draft_tokens)\n    mask ="),
    ("takes a negative k", r"since a number is negative",
     'raise ValueError("0 or more")', "num_draft_tokens = 0"),
    ("breaks without a draft", r"raised", "    length =",
     "    if num_draft_tokens == 0:\n        return token_ids[0, :, 0], 0\n    length ="),
    ("writes into its input", r"changed its input", "    length = token_ids.shape[1]\n",
     "    length = token_ids.shape[1]\n    given = token_ids.copy()\n",
     "    new = answers[:accepted + 1]\n",
     "    new = answers[:accepted + 1]\n    token_ids[0, 0] += 1\n    token_ids = given\n"),
)  # fmt: skip

SPECULATIVE_DECODE = _changed(
    "speculative_decode",
    DECODE,
    ("does not cut", r"extra tokens are returned too", "token_ids[:, :wanted]", "token_ids"),
    ("the text counts towards num_tokens", r"the text at the start counts",
     "token_ids.shape[1] + num_tokens", "max(token_ids.shape[1], num_tokens)"),
    ("cuts to num_tokens", r"cut to num_tokens", "token_ids[:, :wanted]",
     "token_ids[:, :num_tokens]"),
    ("returns the new tokens only", r"only the new tokens are returned", "token_ids[:, :wanted]",
     "token_ids[:, wanted - num_tokens:wanted]"),
    ("num_tokens rounds", r"took +\d+ passes", "while token_ids.shape[1] < wanted:",
     "for _ in range(num_tokens):"),
    ("one round only", r"ends before the text is long enough",
     "while token_ids.shape[1] < wanted:", "if token_ids.shape[1] < wanted:"),
    ("a round too many", r"long enough already|took +\d+ passes",
     "token_ids.shape[1] < wanted:", "token_ids.shape[1] <= wanted:"),
    ("drafts from the old text for ever", r"far more than the text needs",
     "    accepted = []\n", "    accepted, given = [], token_ids\n",
     "speculative_decode_step(token_ids,", "speculative_decode_step(given,"),
    ("returns the sum", r"This is their sum", ", accepted", ", sum(accepted)"),
    ("counts the target's own token", r"own token is counted", "append(count)",
     "append(count + 1)"),
    ("returns the last round's number", r"Only the last round", ", accepted\n",
     ", accepted[-1:]\n"),
    ("drafts less in the last round", r"Only the last round differs",
     "target, num_draft_tokens)",
     "target, min(num_draft_tokens, wanted - token_ids.shape[1] - 1))"),
    ("cuts the last round's number", r"Only the last round differs", "    return ",
     "    if accepted and token_ids.shape[1] > wanted:\n"
     "        accepted[-1] -= token_ids.shape[1] - wanted\n    return "),
    ("plain decoding", r"The draft was never asked", "num_draft_tokens)\n        accepted",
     "0)\n        accepted"),
    ("forgets the list", r"two values: \(token_ids, accepted\)", ":wanted], accepted", ":wanted]"),
    ("takes a negative number", r"since a number is negative",
     "num_tokens < 0 or num_draft_tokens < 0", "num_draft_tokens < 0"),
    ("a negative k is 0", r"since a number is negative",
     "num_tokens < 0 or num_draft_tokens < 0", "num_tokens < 0",
     "target, num_draft_tokens)", "target, max(num_draft_tokens, 0))"),
    ("a round for num_tokens = 0", r"long enough already|took +1 pass",
     "while token_ids.shape[1] < wanted:",
     "while token_ids.shape[1] < wanted or not accepted:"),
)  # fmt: skip

SAVED = """
def passes_saved(num_tokens, accepted):
    return num_tokens - len(accepted)
"""
PASSES_SAVED = _changed(
    "passes_saved",
    SAVED,
    ("adds up the accepted tokens", r"it adds up the accepted tokens",
     "num_tokens - len(accepted)", "sum(accepted)"),
    ("counts the passes made", r"the passes that were made", "num_tokens - ", ""),
    ("the wrong way round", r"the wrong way round", "num_tokens - len(accepted)",
     "len(accepted) - num_tokens"),
    ("subtracts the accepted tokens", r"tokens that were not accepted", "len(", "sum("),
    ("a ratio", r"this is a ratio", "num_tokens - len(accepted)",
     "num_tokens / len(accepted)"),
    ("one less", r"once too often", "len(accepted)", "len(accepted) - 1"),
    ("plain decoding's passes", r"the passes of plain decoding", " - len(accepted)", ""),
)  # fmt: skip


def _wrong(answer, *pairs):
    """Return wrong one-line answers from (value, message)."""
    return [Mutant(answer, value, f"{answer} = {value}", message) for value, message in pairs]


AGAIN = r"Go through the pass once more"
A_NUMBER = r"Give a number, without quotes or brackets"
A_LETTER = r"give one of \"A\""
ANSWERS_BANK = [
    *_wrong(
        "todo_judging_rows",
        ("[12, 13, 14, 15]", r"should stand in row 12 is said by row 11"),
        ("[11, 12, 13, 14]", r"One more row has the bonus"),
        ("[12, 13, 14, 15, 16]", r"there is no row 16"),
        ("[10, 11, 12, 13, 14]", r"Rows count from 0"),
        ("[4, 5, 6, 7]", r"rows of the example above"),
        ("[4, 5, 6, 7, 8]", r"last token is in row 11"),
        ("11", r"Give a list"),
        ("[15, 14, 13, 12, 11]", AGAIN),
    ),
    *_wrong(
        "todo_changed_rows",
        ("1", r"rows after it see position 5 as well"),
        ("2", r"sees its own token too"),
        ("5", r"rows before the change"),
        ("8", r"a pass without the mask"),
        ("0", r"Some rows see position 5"),
        ("4", r"sees nothing after it"),
        ("6", r"not after"),
        ("[5, 6, 7]", A_NUMBER),
    ),
    *_wrong(
        "todo_bug_row",
        ("11", r"has read the wrong guess already"),
        ("12", r"that row judges the first guess"),
        ("9", r"judges the second guess"),
        ("8", r"judges the first guess"),
        ("2", r"over the whole text, not over the guesses"),
        ("3", r"and from 0"),
        ("13", r"bonus row"),
        ("'10'", A_NUMBER),
    ),
    *_wrong(
        "todo_bug_mask",
        ("8", r"sees all 8 tokens with the mask too"),
        ("3", r"not only the drafted rows"),
        ("4", r"four judging rows matter most"),
        ("5", r"rows of the text"),
        ("1", r"All rows but one"),
        ("0", r"sees what comes after it"),
        ("6", AGAIN),
    ),
    *_wrong(
        "quiz_count_passes",
        ('"B"', r"not the gain against a decoder with a cache"),
        ('"C"', r"The ledger does"),
        ('"D"', r"With a cache it does more"),
        ('"E"', A_LETTER),
        ("1", A_LETTER),
        ("['A']", A_LETTER),
    ),
    *_wrong(
        "quiz_one_row_wrong",
        ('"A"', r"even a perfect draft is turned down"),
        ('"B"', r"all indices exist"),
        ('"C"', r"a word is skipped"),
        ('""', A_LETTER),
        ("'AD'", A_LETTER),
        ("4", A_LETTER),
    ),
]

MUTANTS = [
    *BUILD_CAUSAL_MASK,
    *GREEDY_DECODE,
    *STEP_RESULTS,
    *SPECULATIVE_DECODE,
    *PASSES_SAVED,
    *ANSWERS_BANK,
]


def _odd(answer, *pairs):
    """Return odd but right answers from (name, code)."""
    return [OddButRight(answer, name, code) for name, code in pairs]


ODD_MASK = _odd(
    "build_causal_mask",
    ("comparison", """
import numpy as np

def build_causal_mask(n):
    return np.arange(n) <= np.arange(n)[:, None]
"""),
    ("lists of lists", """
def build_causal_mask(n):
    return [[column <= row for column in range(n)] for row in range(n)]
"""),
    ("np.tri", """
import numpy as np

build_causal_mask = lambda n: np.tri(n).astype(bool)
"""),
    ("filled by loops", """
import numpy as np

def build_causal_mask(size):
    mask = np.zeros((size, size), bool)
    for row in range(size):
        mask[row, :row + 1] = True
    return mask
"""),
    ("not of the upper triangle", """
import numpy as np

def build_causal_mask(n):
    return ~np.triu(np.ones((n, n), dtype=bool), k=1)
"""),
)  # fmt: skip

ODD_GREEDY = _odd(
    "greedy_decode",
    ("a Python list inside", """
import numpy as np

def greedy_decode(token_ids, model, num_tokens):
    if num_tokens < 0:
        raise ValueError("0 or more")
    ids = token_ids[0].tolist()
    while num_tokens:
        logits = full_lm_forward(np.array([ids]), model, mask=build_causal_mask(len(ids)))
        ids.append(int(logits[0][-1].argmax()))
        num_tokens -= 1
    return np.array([ids])
"""),
    ("recursion", """
import numpy as np

def greedy_decode(token_ids, model, num_tokens):
    if num_tokens < 0:
        raise ValueError("0 or more")
    if num_tokens == 0:
        return token_ids
    logits = full_lm_forward(token_ids, model, build_causal_mask(token_ids.shape[1]))
    longer = np.append(token_ids, logits[:, -1].argmax(axis=-1, keepdims=True), axis=1)
    return greedy_decode(longer, model, num_tokens - 1)
"""),
    ("a mask of its own, a list comes back", """
import numpy as np

def greedy_decode(token_ids, model, num_tokens):
    if num_tokens < 0:
        raise ValueError("0 or more")
    ids = [int(t) for t in token_ids[0]]
    for n in range(len(ids), len(ids) + num_tokens):
        row = full_lm_forward(np.array([ids]), model, np.tri(n, dtype=bool))[0, n - 1]
        ids.append(max(range(len(row)), key=lambda t: row[t]))
    return [ids]
"""),
    ("one large mask, cut", """
import numpy as np

def greedy_decode(token_ids, model, num_tokens):
    if num_tokens < 0:
        raise ValueError("0 or more")
    start = token_ids.shape[1]
    out = np.zeros((1, start + num_tokens), dtype=np.int32)
    out[:, :start] = token_ids
    large = build_causal_mask(start + num_tokens)
    for n in range(start, start + num_tokens):
        logits = full_lm_forward(out[:, :n], model, large[:n, :n])
        out[0, n] = np.argmax(logits, axis=-1)[0, -1]
    return out
"""),
    ("no mask for a single token", """
import numpy as np

def greedy_decode(token_ids, model, num_tokens):
    if num_tokens < 0:
        raise ValueError("0 or more")
    token_ids = token_ids.copy()
    for _ in range(num_tokens):
        n = token_ids.shape[1]
        mask = None if n == 1 else build_causal_mask(n)
        best = full_lm_forward(token_ids, model, mask)[0, -1].argmax()
        token_ids = np.hstack([token_ids, best.reshape(1, 1)])
    return token_ids
"""),
)  # fmt: skip

ODD_STEP = _odd(
    "speculative_decode_step",
    ("loop with break", """
import numpy as np

def speculative_decode_step(token_ids, draft, target, num_draft_tokens):
    if num_draft_tokens < 0:
        raise ValueError("0 or more")
    T = token_ids.shape[1]
    sequence = greedy_decode(token_ids, draft, num_draft_tokens)
    logits = full_lm_forward(sequence, target, build_causal_mask(T + num_draft_tokens))
    new, accepted = [], 0
    for i in range(num_draft_tokens):
        wanted = int(np.argmax(logits[0, T - 1 + i]))
        new.append(wanted)
        if sequence[0, T + i] != wanted:
            break
        accepted += 1
    else:
        new.append(int(np.argmax(logits[0, -1])))
    return np.array([token_ids[0].tolist() + new]), accepted
"""),
    ("cumprod, numpy count", """
import numpy as np

def speculative_decode_step(token_ids, draft, target, num_draft_tokens):
    if num_draft_tokens < 0:
        raise ValueError("0 or more")
    both = greedy_decode(token_ids, draft, num_draft_tokens)
    best = full_lm_forward(both, target, build_causal_mask(both.shape[1])).argmax(axis=-1)
    start = token_ids.shape[1]
    agree = both[0, start:] == best[0, start - 1:-1]
    count = np.cumprod(agree).sum()
    return np.concatenate([token_ids, best[:, start - 1:start + count]], axis=1), count
"""),
    ("drafts by itself, lists, returns a list", """
import numpy as np

def speculative_decode_step(token_ids, draft, target, num_draft_tokens):
    if num_draft_tokens < 0:
        raise ValueError("0 or more")
    ids = token_ids[0].tolist()
    drafted = list(ids)
    for _ in range(num_draft_tokens):
        mask = np.tri(len(drafted)) == 1
        row = full_lm_forward(np.array([drafted]), draft, mask)[0, -1]
        drafted.append(int(row.argmax()))
    rows = full_lm_forward(np.array([drafted]), target, np.tri(len(drafted)) == 1)[0]
    answers = [int(row.argmax()) for row in rows][len(ids) - 1:]
    a = 0
    for guess, answer in zip(drafted[len(ids):], answers):
        if guess != answer:
            break
        a += 1
    return [[ids + answers[:a + 1]], a]
"""),
    ("row numbers, negative index", """
import numpy as np

def speculative_decode_step(token_ids, draft, target, num_draft_tokens):
    k = num_draft_tokens
    if k < 0:
        raise ValueError("0 or more")
    drafted = greedy_decode(token_ids, draft, k)
    logits = full_lm_forward(drafted, target, mask=build_causal_mask(drafted.shape[-1]))
    answers = logits[0, -k - 1:].argmax(-1)
    accepted = 0
    for i in range(k):
        if drafted[0, i - k] != answers[i]:
            break
        accepted = i + 1
    result = np.empty((1, token_ids.size + accepted + 1), dtype=token_ids.dtype)
    result[0, :token_ids.size] = token_ids
    result[0, token_ids.size:] = answers[:accepted + 1]
    return (result, np.int64(accepted))
"""),
    ("plain decoding apart", """
import numpy as np

def speculative_decode_step(token_ids, draft, target, num_draft_tokens):
    if num_draft_tokens < 0:
        raise ValueError("0 or more")
    if num_draft_tokens == 0:
        return greedy_decode(token_ids, target, 1), 0
    n = len(token_ids[0])
    drafted = greedy_decode(token_ids, draft, num_draft_tokens)
    logits = full_lm_forward(drafted, target, build_causal_mask(len(drafted[0])))
    judged = np.argmax(logits[0], axis=1)
    wrong = np.flatnonzero(drafted[0, n:] != judged[n - 1:-1])
    accepted = int(wrong[0]) if len(wrong) else num_draft_tokens
    return np.append(drafted[:, :n + accepted], [[judged[n - 1 + accepted]]], axis=1), accepted
"""),
)  # fmt: skip

ODD_DECODE = _odd(
    "speculative_decode",
    ("cuts in every round", """
def speculative_decode(token_ids, draft, target, num_tokens, num_draft_tokens):
    if num_tokens < 0 or num_draft_tokens < 0:
        raise ValueError("0 or more")
    missing, accepted = num_tokens, ()
    while missing > 0:
        longer, a = speculative_decode_step(token_ids, draft, target, num_draft_tokens)
        new = longer[0, token_ids.size:][:missing]
        token_ids = longer[:, :token_ids.size + len(new)]
        missing -= len(new)
        accepted += (a,)
    return token_ids, accepted
"""),
    ("recursion", """
def speculative_decode(token_ids, draft, target, num_tokens, num_draft_tokens):
    if min(num_tokens, num_draft_tokens) < 0:
        raise ValueError("0 or more")
    if num_tokens == 0:
        return token_ids, []
    T = token_ids.shape[1]
    longer, a = speculative_decode_step(token_ids, draft, target, num_draft_tokens)
    longer = longer[:, :T + num_tokens]
    missing = num_tokens - (longer.shape[1] - T)
    final, rest = speculative_decode(longer, draft, target, missing, num_draft_tokens)
    return final, [a] + rest
"""),
    ("counts tokens, returns a tuple and an array", """
import numpy as np

def speculative_decode(token_ids, draft, target, num_tokens, num_draft_tokens):
    if num_tokens < 0 or num_draft_tokens < 0:
        raise ValueError("0 or more")
    text, made, counts = token_ids, 0, []
    while made < num_tokens:
        text, count = speculative_decode_step(text, draft, target, num_draft_tokens)
        made += count + 1
        counts += [count]
    return text[:, :len(token_ids[0]) + num_tokens].tolist(), np.array(counts, dtype=int)
"""),
    ("endless loop with a way out", """
def speculative_decode(token_ids, draft, target, num_tokens, num_draft_tokens):
    if num_tokens < 0:
        raise ValueError("num_tokens")
    if num_draft_tokens < 0:
        raise ValueError("num_draft_tokens")
    target_length, log = token_ids.size + num_tokens, []
    while True:
        if token_ids.size >= target_length:
            return (token_ids[:, 0:target_length], log)
        step = speculative_decode_step(token_ids, draft, target, num_draft_tokens)
        token_ids = step[0]
        log.append(int(step[1]))
"""),
)  # fmt: skip

ODD_SAVED = _odd(
    "passes_saved",
    ("a loop", """
def passes_saved(num_tokens, accepted):
    saved = num_tokens
    for _ in accepted:
        saved -= 1
    return saved
"""),
    ("other names", """
passes_saved = lambda n, rounds: n - len(list(rounds))
"""),
    ("numpy", """
import numpy as np

def passes_saved(num_tokens, accepted):
    return np.int64(num_tokens) - np.size(accepted)
"""),
    ("a decimal number", """
def passes_saved(num_tokens, accepted):
    plain, speculative = num_tokens, len(accepted)
    return float(plain - speculative)
"""),
)  # fmt: skip


def _right(answer, *values):
    """Return odd but right one-line answers from values as code."""
    return [OddButRight(answer, value, f"{answer} = {value}") for value in values]


ODD_ANSWERS = [
    *_right(
        "todo_judging_rows",
        "(11, 12, 13, 14, 15)",
        "list(range(11, 16))",
        "__import__('numpy').arange(11, 16)",
        "[11.0, 12.0, 13.0, 14.0, 15.0]",
    ),
    *_right("todo_changed_rows", "3.0", "8 - 5", "len([5, 6, 7])", "__import__('numpy').int64(3)"),
    *_right("todo_bug_row", "10.0", "9 - 1 + 2", "8 + 2", "__import__('numpy').int8(10)"),
    *_right("todo_bug_mask", "7.0", "8 - 1", "len(range(7))", "__import__('numpy').int64(7)"),
    *_right("quiz_count_passes", "'a'", "' A '", "'ABCD'[0]", 'str("A")'),
    *_right("quiz_one_row_wrong", "'d'", "' D '", "'ABCD'[3]", 'str("D")'),
]

ODD_BUT_RIGHT = [*ODD_MASK, *ODD_GREEDY, *ODD_STEP, *ODD_DECODE, *ODD_SAVED, *ODD_ANSWERS]
