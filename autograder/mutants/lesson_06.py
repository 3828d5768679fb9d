"""Lesson 6, better drafts: wrong answers, commonest first, and odd ones that are right."""

from autograder.mutants import Mutant, OddButRight

from .lesson_04 import changed


def _wrong_by_edits(answer, right, *rows):
    """Return mutants of a right answer: rows (name, message, replacement, …)."""
    return [Mutant(answer, name, changed(right, *edits), message) for name, message, *edits in rows]


# --- fidelity ----------------------------------------------------------------------------------

RIGHT_FIDELITY = """
import numpy as np

def fidelity(draft_logits, target_logits):
    if draft_logits.shape != target_logits.shape or draft_logits.ndim != 2 or not len(draft_logits):
        raise ValueError("shapes")
    return float((draft_logits.argmax(axis=1) == target_logits.argmax(axis=1)).mean())
"""
RETURNED = "float((draft_logits.argmax(axis=1) == target_logits.argmax(axis=1)).mean())"

FIDELITY = _wrong_by_edits(
    "fidelity",
    RIGHT_FIDELITY,
    ("counts instead of a share", r"counts the rows that agree", (").mean())", ").sum())")),
    (
        "the favourites of columns",
        r"favourite of each column",
        (RETURNED, "float((draft_logits.argmax(axis=0) == target_logits.argmax(axis=0)).mean())"),
    ),
    (
        "one favourite for all rows",
        r"all rows together get one favourite",
        (RETURNED, "float(draft_logits.argmax() == target_logits.argmax())"),
    ),
    (
        "the last row only",
        r"only the last row is compared",
        (RETURNED, "float(draft_logits[-1].argmax() == target_logits[-1].argmax())"),
    ),
    (
        "compares the largest logits",
        r"largest logits are compared as numbers",
        (RETURNED, "float((draft_logits.max(axis=1) == target_logits.max(axis=1)).mean())"),
    ),
    (
        "counts equal logits",
        r"equal logits are counted",
        (RETURNED, "float((draft_logits == target_logits).mean())"),
    ),
    (
        "the share that disagrees",
        r"share of rows that disagree",
        (" == target_logits.a", " != target_logits.a"),
    ),
    (
        "the last of equals",
        r"of equal logits the last one",
        (
            RETURNED,
            "float((draft_logits[:, ::-1].argmax(axis=1) == target_logits[:, ::-1].argmax(axis=1))"
            ".mean())",
        ),
    ),
    (
        "takes any shape",
        r"wanted +ValueError",
        (
            "if draft_logits.shape != target_logits.shape or draft_logits.ndim != 2 or not "
            "len(draft_logits):",
            "if False:",
        ),
    ),
    (
        "no rows at all",
        r"wanted +ValueError, since there is no row",
        (" or not len(draft_logits)", ""),
    ),
)

# --- NGramDraft --------------------------------------------------------------------------------

PROPOSE = """
    def propose(self, token_ids, k):
        guesses = []
        for _ in range(k):
            guesses.append(self.next_token([*token_ids, *guesses]))
        return guesses
"""
RIGHT_NGRAM = f"""
from collections import Counter, defaultdict

class NGramDraft:
    def __init__(self, token_ids, n):
        if n < 1 or len(token_ids) == 0:
            raise ValueError("n")
        self.n = n
        self.followers = defaultdict(Counter)
        for place, token in enumerate(token_ids):
            for length in range(min(n - 1, place) + 1):
                self.followers[tuple(token_ids[place - length : place])][token] += 1

    def next_token(self, context):
        for length in range(min(self.n - 1, len(context)), -1, -1):
            seen = tuple(context[len(context) - length :])
            if seen in self.followers:
                counts = self.followers[seen]
                return max(counts, key=lambda token: (counts[token], -token))
{PROPOSE}"""
LENGTHS = "for length in range(min(self.n - 1, len(context)), -1, -1):"

NGRAM = _wrong_by_edits(
    "NGramDraft",
    RIGHT_NGRAM,
    (
        "the largest of equals",
        r"equally frequent tokens the largest id",
        ("(counts[token], -token)", "(counts[token], token)"),
    ),
    (
        "the first met of equals",
        r"takes the one that it met first",
        ("max(counts, key=lambda token: (counts[token], -token))", "counts.most_common(1)[0][0]"),
    ),
    (
        "looks back at n tokens",
        r"looks back at n tokens",
        ("range(min(n - 1, place) + 1)", "range(min(n, place) + 1)"),
        (LENGTHS, "for length in range(min(self.n, len(context)), -1, -1):"),
    ),
    (
        "looks at the last token only",
        r"never looks at more than the last token",
        (LENGTHS, "for length in range(min(1, self.n - 1, len(context)), -1, -1):"),
    ),
    (
        "begins with the shortest context",
        r"the context plays no part",
        (LENGTHS, "for length in range(min(self.n - 1, len(context)) + 1):"),
    ),
    (
        "never backs off",
        r"gives up when the longest context was never seen",
        (LENGTHS, "for length in [min(self.n - 1, len(context))]:"),
    ),
    (
        "stops before the empty context",
        r"gives up before the empty context",
        (LENGTHS, "for length in range(min(self.n - 1, len(context)), 0, -1):"),
    ),
    (
        "the rarest",
        r"takes the rarest",
        (
            "max(counts, key=lambda token: (counts[token], -token))",
            "min(counts, key=lambda token: (counts[token], token))",
        ),
    ),
    (
        "the first tokens of the context",
        r"looks at the first tokens of the context|returned ",
        ("seen = tuple(context[len(context) - length :])", "seen = tuple(context[:length])"),
    ),
    (
        "drops the newest token",
        r"backs off by dropping the newest token",
        (
            "seen = tuple(context[len(context) - length :])",
            "start = len(context) - min(self.n - 1, len(context))\n"
            "            seen = tuple(context[start : start + length])",
        ),
    ),
    (
        "lists as keys",
        r"raised +TypeError",
        (
            "self.followers[tuple(token_ids[place - length : place])]",
            "self.followers[token_ids[place - length : place]]",
        ),
    ),
    (
        "takes any n and any text",
        r"wanted +ValueError",
        ("if n < 1 or len(token_ids) == 0:", "if False:"),
    ),
    (
        "shares its counts among all tables",
        r"returned ",
        ("class NGramDraft:\n", "class NGramDraft:\n    shared = defaultdict(Counter)\n\n"),
        ("self.followers = defaultdict(Counter)", "self.followers = self.shared"),
    ),
)

# --- prompt_lookup -----------------------------------------------------------------------------

RIGHT_LOOKUP = """
def prompt_lookup(token_ids, n, k):
    if n < 1 or k < 0:
        raise ValueError("range")
    newest = token_ids[-n:]
    for start in range(len(token_ids) - n - 1, -1, -1):
        if token_ids[start : start + n] == newest:
            return token_ids[start + n : start + n + k]
    return []
"""
STARTS = "range(len(token_ids) - n - 1, -1, -1)"
FOLLOWING = "return token_ids[start + n : start + n + k]"

LOOKUP = _wrong_by_edits(
    "prompt_lookup",
    RIGHT_LOOKUP,
    ("matches itself", r"match themselves", (STARTS, "range(len(token_ids) - n, -1, -1)")),
    ("the earliest match", r"the earliest match counts", (STARTS, "range(len(token_ids) - n)")),
    (
        "proposes the matched tokens",
        r"matched tokens themselves are proposed",
        (FOLLOWING, "return token_ids[start : start + k]"),
    ),
    (
        "proposes all that follows",
        r"all that follows the match",
        (FOLLOWING, "return token_ids[start + n :]"),
    ),
    (
        "wants k tokens after the match",
        r"fewer than k tokens after it is passed over",
        (STARTS, "range(len(token_ids) - n - k, -1, -1)"),
    ),
    (
        "passes over overlaps",
        r"overlap the newest n tokens are passed over",
        (STARTS, "range(len(token_ids) - 2 * n, -1, -1)"),
    ),
    (
        "falls back to shorter matches",
        r"without a match of n tokens a shorter one",
        ("    return []\n", "    return prompt_lookup(token_ids, n - 1, k) if n > 1 else []\n"),
    ),
    (
        "begins one token too late",
        r"begins one token too late",
        (FOLLOWING, "return token_ids[start + n + 1 : start + n + 1 + k]"),
    ),
    (
        "begins inside the match",
        r"one token too early",
        (FOLLOWING, "return token_ids[start + n - 1 : start + n - 1 + k]"),
    ),
    (
        "never looks at the first place",
        r"the first place is never looked at",
        (STARTS, "range(len(token_ids) - n - 1, 0, -1)"),
    ),
    ("None without a match", r"it returns None|a `return` is missing", ("    return []\n", "")),
    ("takes any n and k", r"wanted +ValueError", ("if n < 1 or k < 0:", "if False:")),
    (
        "pads the text",
        r"changed its input",
        (
            "    newest = token_ids[-n:]\n",
            "    newest = token_ids[-n:]\n    token_ids.append(-1)\n",
        ),
        (STARTS, "range(len(token_ids) - n - 2, -1, -1)"),
        (FOLLOWING, "return token_ids[:-1][start + n : start + n + k]"),
    ),
)

# --- distillation_loss -------------------------------------------------------------------------

RIGHT_LOSS = """
import numpy as np

def distillation_loss(draft_logits, target_probs):
    p = target_probs
    if draft_logits.shape != p.shape:
        raise ValueError("shapes")
    shifted = draft_logits - draft_logits.max(axis=1, keepdims=True)
    log_q = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    q = np.exp(log_q)
    log_p = np.log(np.where(p > 0, p, 1))
    loss = (p * (log_p - log_q)).sum() / len(p)
    return loss, (q - p) / len(p)
"""
SUM = "(p * (log_p - log_q)).sum() / len(p)"
GRADIENT = "(q - p) / len(p)"

LOSS = _wrong_by_edits(
    "distillation_loss",
    RIGHT_LOSS,
    ("the cross entropy", r"this is the cross entropy", (SUM, "-(p * log_q).sum() / len(p)")),
    (
        "p and q have changed places",
        r"p and q have changed places",
        (SUM, "(q * (log_q - np.log(p))).sum() / len(p)"),
    ),
    ("sums the rows", r"the rows are summed", (SUM, "(p * (log_p - log_q)).sum()")),
    (
        "the mean of all entries",
        r"mean over rows and tokens",
        (SUM, "(p * (log_p - log_q)).mean()"),
    ),
    ("the sign of the loss", r"the sign is turned", (SUM, "(p * (log_q - log_p)).sum() / len(p)")),
    ("bits", r"logarithm has base 2", (SUM, "(p * (log_p - log_q)).sum() / len(p) / np.log(2)")),
    (
        "softmax over the rows",
        r"softmax runs over the rows|returned ",
        ("draft_logits.max(axis=1, keepdims=True)", "draft_logits.max(axis=0, keepdims=True)"),
        (
            "np.exp(shifted).sum(axis=1, keepdims=True)",
            "np.exp(shifted).sum(axis=0, keepdims=True)",
        ),
    ),
    ("0 times -inf", r"0 \* log\(0\) is nan", ("np.log(np.where(p > 0, p, 1))", "np.log(p)")),
    (
        "large logits overflow",
        r"returned +(nan|inf)",
        ("draft_logits - draft_logits.max(axis=1, keepdims=True)", "draft_logits"),
    ),
    ("the gradient turned", r"points the other way", (GRADIENT, "(p - q) / len(p)")),
    ("the gradient of the sum", r"not divided by the number of rows", (GRADIENT, "q - p")),
    ("the derivative by q", r"derivative by q", (GRADIENT, "-p / q / len(p)")),
    ("divides by all entries", r"divided by the number of entries", (GRADIENT, "(q - p) / p.size")),
    ("q alone", r"this is q alone", (GRADIENT, "q / len(p)")),
    (
        "takes any shapes",
        r"wanted +ValueError, since the shapes differ|raised",
        ("if draft_logits.shape != p.shape:", "if False:"),
    ),
    (
        "the loss alone",
        r"returned ",
        ("return loss, (q - p) / len(p)", "return loss"),
    ),
)

# --- propose_with_heads ------------------------------------------------------------------------

RIGHT_HEADS = """
import numpy as np

def propose_with_heads(hidden, num_accepted_tokens, heads):
    if not 0 <= num_accepted_tokens < len(hidden):
        raise ValueError("no such row")
    row = hidden[num_accepted_tokens]
    return [int((row @ head).argmax()) for head in heads]
"""
ROW = "row = hidden[num_accepted_tokens]"
GUESSES = "[int((row @ head).argmax()) for head in heads]"

HEADS = _wrong_by_edits(
    "propose_with_heads",
    RIGHT_HEADS,
    ("the last row", r"it reads the last row", (ROW, "row = hidden[-1]")),
    ("one row too early", r"one place too early", (ROW, "row = hidden[num_accepted_tokens - 1]")),
    ("the first row", r"it reads row 0 always", (ROW, "row = hidden[0]")),
    (
        "a row for each head",
        r"one row for each head",
        (
            GUESSES,
            "[int((hidden[min(num_accepted_tokens + i, len(hidden) - 1)] @ head).argmax())"
            " for i, head in enumerate(heads)]",
        ),
    ),
    (
        "leaves the first head out",
        r"first head is left out",
        ("for head in heads", "for head in heads[1:]"),
    ),
    (
        "one head for all",
        r"one head guesses everything",
        ("for head in heads", "for head in heads[:1] * len(heads)"),
    ),
    ("turned order", r"turned order", ("for head in heads", "for head in heads[::-1]")),
    ("the least likely", r"least likely token", ("argmax", "argmin")),
    ("returns logits", r"the logits are returned", (GUESSES, "[row @ head for head in heads]")),
    (
        "the largest of all rows",
        r"all rows are multiplied",
        (GUESSES, "[int((hidden @ head).argmax()) for head in heads]"),
    ),
    (
        "takes any row",
        r"wanted +ValueError|raised +IndexError",
        ("if not 0 <= num_accepted_tokens < len(hidden):", "if False:"),
    ),
    (
        "allows negative rows",
        r"wanted +ValueError, since there is no such row",
        ("if not 0 <= num", "if not -9 <= num"),
    ),
)

# --- verify_tree -------------------------------------------------------------------------------

RIGHT_TREE = """
import numpy as np

def verify_tree(token_ids, parents, choices):
    if not 0 < len(token_ids) == len(parents) == len(choices):
        raise ValueError("lengths")
    path = [0]
    for node in range(1, len(token_ids)):
        if parents[node] == path[-1] and token_ids[node] == choices[path[-1]]:
            path.append(node)
    emitted = [token_ids[node] for node in path[1:]]
    return emitted + [choices[path[-1]]], path

def tree_mask(parents):
    mask = np.eye(len(parents), dtype=bool)
    for node, parent in enumerate(parents):
        if node == 0 and parent == -1:
            continue
        if not 0 <= parent < node:
            raise ValueError("parent")
        mask[node] |= mask[parent]
    return mask
"""
ACCEPTS = "if parents[node] == path[-1] and token_ids[node] == choices[path[-1]]:"
RETURN = "return emitted + [choices[path[-1]]], path"
LINE = "mask[node] |= mask[parent]"

TREE = _wrong_by_edits(
    "verify_tree",
    RIGHT_TREE,
    (
        "forgets the target's own token",
        r"last accepted node is left out",
        (RETURN, "return emitted, path"),
    ),
    (
        "asks nobody's parent",
        r"is no child of the last accepted one",
        (ACCEPTS, "if token_ids[node] == choices[path[-1]]:"),
    ),
    (
        "takes the tree for a chain",
        r"taken for one chain",
        (ACCEPTS, "if node - 1 == path[-1] and token_ids[node] == choices[path[-1]]:"),
    ),
    (
        "judges a guess by the choice after itself",
        r"compared with the choice after itself",
        (ACCEPTS, "if parents[node] == path[-1] and token_ids[node] == choices[node]:"),
    ),
    (
        "the choice after node 0",
        r"last token is the choice after node 0",
        (RETURN, "return emitted + [choices[0]], path"),
    ),
    (
        "the choice after the last node",
        r"choice after the last node of the tree",
        (RETURN, "return emitted + [choices[-1]], path"),
    ),
    ("emits node 0", r"node 0 is emitted too", ("for node in path[1:]]", "for node in path]")),
    (
        "a path without node 0",
        r"path lacks node 0",
        (RETURN, "return emitted + [choices[path[-1]]], path[1:]"),
    ),
    (
        "a path of tokens",
        r"path holds tokens",
        (RETURN, "return emitted + [choices[path[-1]]], [token_ids[node] for node in path]"),
    ),
    ("the path first", r"turned order", (RETURN, "return path, emitted + [choices[path[-1]]]")),
    (
        "emitted alone",
        r"returns the emitted tokens alone",
        (RETURN, "return emitted + [choices[path[-1]]]"),
    ),
    (
        "one guess at most",
        r"stops after one accepted guess",
        ("            path.append(node)\n", "            path.append(node)\n            break\n"),
    ),
    (
        "the first child only",
        r"only the first child",
        (
            ACCEPTS,
            "at = path[-1]\n        first = (parents + [at]).index(at)\n"
            "        if node == first and token_ids[node] == choices[at]:",
        ),
    ),
    (
        "takes any lists",
        r"wanted +ValueError|raised",
        ("if not 0 < len(token_ids) == len(parents) == len(choices):", "if False:"),
    ),
    ("sees all earlier nodes", r"sees all earlier nodes", (LINE, "mask[node, :node] = True")),
    (
        "sees its parent only",
        r"sees itself and its parent, and nothing above",
        (LINE, "mask[node, parent] = True"),
    ),
    (
        "turns rows and columns",
        r"rows and columns have changed places",
        (LINE, "mask[:, node] |= mask[:, parent]"),
    ),
    (
        "does not see itself",
        r"a node does not see itself",
        ("return mask\n", "return mask & ~np.eye(len(parents), dtype=bool)\n"),
    ),
    ("sees itself only", r"sees itself only", (LINE, "pass")),
)


def _wrong(answer, *pairs):
    """Return mutants of a one-line answer from pairs (value as code, message)."""
    return [Mutant(answer, value, f"{answer} = {value}", message) for value, message in pairs]


AGAIN = r"Go through the pass once more"
A_NUMBER = r"Give a number, without quotes or brackets"
ANSWERS = [
    *_wrong(
        "todo_lookup_cat",
        ("2", r"after `mat`, which was rejected"),
        ("3", r"Compare word by word"),
        ("0", r"The first word is right"),
        ("4", AGAIN),
        ("'1'", A_NUMBER),
        ("['the']", A_NUMBER),
    ),
    *_wrong(
        "todo_bug_lookup",
        ("[1, 2, 3]", r"which is right"),
        ("[]", r"which is right"),
        ("[1, 1]", r"which is right"),
        ("'abab'", r"Give a list of token ids"),
        ("5", r"Give a list of token ids"),
        ("[1.5, 2, 1.5, 2]", r"Give a list of token ids"),
    ),
    *_wrong(
        "todo_overlap",
        ("0.6", r"chance of A alone"),
        ("0.2", r"what is lost"),
        ("0.56", r"two independent draws"),
        ("0.48", r"product of the two chances"),
        ("1", r"20 of its 80 A"),
        ("1.2", r"larger chance"),
        ("80", AGAIN),
    ),
    *_wrong(
        "todo_tree_or_chain",
        ("2.952", r"That is the chain"),
        ("2.7", r"C counts only when A is right as well"),
        ("2.62", r"hangs below A"),
        ("1.54", r"own token is missing"),
        ("2.71", r"B has nothing below it"),
        ("3.34", r"Two levels"),
        ("3", AGAIN),
    ),
    *_wrong(
        "todo_bug_mask",
        ("[-1, 0, 1, 2]", r"is right"),
        ("[-1, 0, 0]", r"is right"),
        ("[0, 0, 0]", r"is no tree"),
        ("[-1, 0, 3, 1]", r"is no tree"),
        ("[]", r"is no tree"),
        ("3", r"Give a list of parents"),
        ("[[-1], [0]]", r"Give a list of parents"),
    ),
    *_wrong(
        "quiz_perplexity",
        ('"A"', r"better at the truth"),
        ('"B"', r"costs the same"),
        ('"D"', r"number of passes"),
        ('"E"', r'give one of "A", "B", "C", "D"'),
        ("3", r"with the quotes"),
        ("True", r"with the quotes"),
    ),
    *_wrong(
        "quiz_lossless",
        ('"A"', r"not obeyed"),
        ('"C"', r"other tokens than the target's"),
        ('"D"', r"leaves the law behind"),
        ('"AB"', r'give one of "A", "B", "C", "D"'),
        ("['B']", r"with the quotes"),
        ("2", r"with the quotes"),
    ),
]

MUTANTS = [*FIDELITY, *NGRAM, *LOOKUP, *LOSS, *HEADS, *TREE, *ANSWERS]


def _odd(answer, **codes):
    """Return odd but right answers; names are written with underscores."""
    return [OddButRight(answer, name.replace("_", " "), code) for name, code in codes.items()]


ODD_FIDELITY = _odd(
    "fidelity",
    a_loop_over_pairs_of_rows="""
def fidelity(a, b):
    if a.shape != b.shape or len(a.shape) != 2 or a.shape[0] == 0:
        raise ValueError("shapes")
    right = 0
    for one, other in zip(a, b):
        right += list(one).index(max(one)) == list(other).index(max(other))
    return right / len(a)
""",
    lists_and_fractions="""
from fractions import Fraction

def fidelity(draft_logits, target_logits):
    if draft_logits.shape != target_logits.shape or draft_logits.ndim != 2:
        raise ValueError("shapes")
    rows = [(x.tolist(), y.tolist()) for x, y in zip(draft_logits, target_logits)]
    if not rows:
        raise ValueError("empty")
    same = [x.index(max(x)) == y.index(max(y)) for x, y in rows]
    return float(Fraction(sum(same), len(same)))
""",
    numpy_float_by_count_nonzero="""
import numpy as np

def fidelity(draft_logits, target_logits):
    if draft_logits.ndim != 2 or draft_logits.shape != target_logits.shape or not draft_logits.size:
        raise ValueError("shapes")
    gap = np.argmax(draft_logits, -1) - np.argmax(target_logits, -1)
    return np.float64(1) - np.count_nonzero(gap) / np.float64(len(gap))
""",
    softmax_first="""
import numpy as np

def fidelity(draft_logits, target_logits):
    if np.shape(draft_logits) != np.shape(target_logits) or np.ndim(draft_logits) != 2:
        raise ValueError("shapes")
    if np.shape(draft_logits)[0] < 1:
        raise ValueError("empty")
    def chances(z):
        e = np.exp(z - z.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)
    return np.mean(chances(draft_logits).argmax(1) == chances(target_logits).argmax(1))
""",
)

ODD_NGRAM = _odd(
    "NGramDraft",
    keeps_the_text_and_counts_when_asked=f"""
class NGramDraft:
    def __init__(self, token_ids, n):
        if n < 1 or not len(token_ids):
            raise ValueError("n")
        self.text, self.n = list(token_ids), n

    def next_token(self, context):
        context = list(context)[max(0, len(context) - self.n + 1):] if self.n > 1 else []
        while True:
            m = len(context)
            after = [self.text[i + m] for i in range(len(self.text) - m)
                     if self.text[i : i + m] == context]
            if after:
                return min(set(after), key=lambda t: (-after.count(t), t))
            context = context[1:]
{PROPOSE}""",
    a_dict_of_dicts=f"""
class NGramDraft:
    def __init__(self, text, order):
        if order < 1:
            raise ValueError("order")
        if len(text) < 1:
            raise ValueError("text")
        self.tables = [dict() for _ in range(order)]
        for m, table in enumerate(self.tables):
            for i in range(m, len(text)):
                counts = table.setdefault(tuple(text[i - m : i]), dict())
                counts[text[i]] = counts.get(text[i], 0) + 1

    def next_token(self, context):
        for m in reversed(range(len(self.tables))):
            if m > len(context):
                continue
            counts = self.tables[m].get(tuple(context[len(context) - m :]))
            if counts:
                most = max(counts.values())
                return min(token for token, count in counts.items() if count == most)
{PROPOSE}""",
    recursion_and_numpy=f"""
import numpy as np

class NGramDraft:
    def __init__(self, token_ids, n):
        if n <= 0 or len(token_ids) == 0:
            raise ValueError("n")
        self.text, self.n = np.array(token_ids), n

    def next_token(self, context):
        return self.after(list(context)[-(self.n - 1) :] if self.n > 1 else [])

    def after(self, seen):
        m = len(seen)
        fits = [self.text[i + m] for i in range(len(self.text) - m)
                if np.array_equal(self.text[i : i + m], seen)]
        if not fits:
            return self.after(seen[1:])
        return np.bincount(fits).argmax()
{PROPOSE}""",
    its_own_propose_too="""
from collections import Counter

class NGramDraft:
    def __init__(self, token_ids, n):
        if n < 1 or len(token_ids) < 1:
            raise ValueError("bad")
        self.n = n
        text = [int(t) for t in token_ids]
        self.counts = Counter(
            (tuple(text[i - m : i]), text[i]) for i in range(len(text)) for m in range(n) if m <= i
        )
        self.best = {}
        for (context, token), count in sorted(self.counts.items(), key=lambda e: (e[1], -e[0][1])):
            self.best[context] = token

    def next_token(self, context):
        context = tuple(context)
        while len(context) >= self.n or context not in self.best:
            context = context[1:]
        return self.best[context]

    def propose(self, token_ids, k):
        text = list(token_ids)
        for _ in range(k):
            text.append(self.next_token(text))
        return text[len(token_ids):]
""",
)

ODD_LOOKUP = _odd(
    "prompt_lookup",
    remembers_the_last_place_of_each_n_gram="""
def prompt_lookup(token_ids, n, k):
    if n < 1 or k < 0:
        raise ValueError("range")
    last = {}
    for end in range(n, len(token_ids)):
        last[tuple(token_ids[end - n : end])] = end
    end = last.get(tuple(token_ids[len(token_ids) - n :])) if len(token_ids) >= n else None
    return [] if end is None else list(token_ids[end : end + k])
""",
    turned_around="""
def prompt_lookup(token_ids, n, k):
    if n <= 0 or k <= -1:
        raise ValueError("range")
    back = token_ids[::-1]
    for start in range(1, len(back) - n + 1):
        if back[start : start + n] == back[:n]:
            return back[max(0, start - k) : start][::-1]
    return ()
""",
    numpy_windows="""
import numpy as np

def prompt_lookup(token_ids, n, k):
    if n < 1 or k < 0:
        raise ValueError("range")
    text = np.array(token_ids, dtype=int)
    if len(text) <= n:
        return []
    windows = np.lib.stride_tricks.sliding_window_view(text, n)
    places = np.flatnonzero((windows[:-1] == windows[-1]).all(axis=1))
    return text[places[-1] + n :][:k] if len(places) else text[:0]
""",
    collects_all_matches="""
def prompt_lookup(token_ids, n, k):
    if min(n - 1, k) < 0:
        raise ValueError("range")
    size = len(token_ids)
    matches = [s for s in range(size - n)
               if all(token_ids[s + i] == token_ids[size - n + i] for i in range(n))]
    guesses = []
    if matches:
        for place in range(matches[-1] + n, size):
            if len(guesses) == k:
                break
            guesses.append(token_ids[place])
    return guesses
""",
)

ODD_LOSS = _odd(
    "distillation_loss",
    row_by_row="""
import math

import numpy as np

def distillation_loss(draft_logits, target_probs):
    if draft_logits.shape != target_probs.shape:
        raise ValueError("shapes")
    rows, total = len(target_probs), 0.0
    gradient = []
    for z, p in zip(draft_logits.tolist(), target_probs.tolist()):
        top = max(z)
        log_sum = top + math.log(sum(math.exp(x - top) for x in z))
        total += sum(b * (math.log(b) - (a - log_sum)) for a, b in zip(z, p) if b > 0)
        gradient.append([(math.exp(a - log_sum) - b) / rows for a, b in zip(z, p)])
    return total / rows, gradient
""",
    logaddexp="""
import numpy as np

def distillation_loss(z, p):
    if np.shape(z) != np.shape(p):
        raise ValueError("shapes")
    log_q = z - np.logaddexp.reduce(z, axis=1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.nan_to_num(p * np.log(p)) - p * log_q
    return np.mean(terms.sum(axis=-1)), np.divide(np.exp(log_q) - p, p.shape[0])
""",
    entropy_and_cross_entropy="""
import numpy as np

def distillation_loss(draft_logits, target_probs):
    if draft_logits.shape != target_probs.shape:
        raise ValueError("shapes")
    e = np.exp(draft_logits - draft_logits.max(1)[:, None])
    q = e / e.sum(1)[:, None]
    some = target_probs > 0
    cross = -(target_probs[some] * np.log(q[some])).sum()
    entropy = -(target_probs[some] * np.log(target_probs[some])).sum()
    count = draft_logits.shape[0]
    return [(cross - entropy) / count, (q - target_probs) / count]
""",
    einsum="""
import numpy as np

def distillation_loss(draft_logits, target_probs):
    z, p = np.array(draft_logits, dtype=float), np.array(target_probs, dtype=float)
    if z.shape != p.shape:
        raise ValueError("shapes")
    z = z - np.amax(z, axis=1).reshape(-1, 1)
    log_q = z - np.log(np.einsum("tv->t", np.exp(z))).reshape(-1, 1)
    ratio = np.where(p > 0, np.log(np.maximum(p, 1e-300)), 0) - log_q
    return np.einsum("tv,tv->", p, ratio) / len(z), (np.exp(log_q) - p) * (1 / len(z))
""",
)

ODD_HEADS = _odd(
    "propose_with_heads",
    stacked_heads="""
import numpy as np

def propose_with_heads(hidden, num_accepted_tokens, heads):
    if num_accepted_tokens < 0 or num_accepted_tokens >= hidden.shape[0]:
        raise ValueError("row")
    if not len(heads):
        return []
    return np.argmax(np.stack(heads).transpose(0, 2, 1) @ hidden[num_accepted_tokens], axis=1)
""",
    loops_and_sums="""
def propose_with_heads(hidden, num_accepted_tokens, heads):
    if num_accepted_tokens not in range(len(hidden)):
        raise ValueError("row")
    row, guesses = list(hidden[num_accepted_tokens]), []
    for head in heads:
        logits = [sum(x * w for x, w in zip(row, column)) for column in head.T]
        guesses.append(logits.index(max(logits)))
    return guesses
""",
    a_tuple_of_numpy_ints="""
import numpy as np

def propose_with_heads(hidden, accepted, heads):
    if accepted > len(hidden) - 1 or accepted < 0:
        raise ValueError("row")
    return tuple(np.dot(hidden[accepted : accepted + 1], head)[0].argmax() for head in heads)
""",
    map_and_iter="""
def propose_with_heads(hidden, num_accepted_tokens, heads):
    if not (num_accepted_tokens + 1 <= len(hidden) and num_accepted_tokens > -1):
        raise ValueError("row")
    kept = hidden[: num_accepted_tokens + 1]
    return list(map(lambda head: (kept[-1] @ head).argmax().item(), heads))
""",
)

ODD_TREE = _odd(
    "verify_tree",
    a_dict_of_children="""
import numpy as np

def verify_tree(token_ids, parents, choices):
    if not len(token_ids) or len({len(token_ids), len(parents), len(choices)}) > 1:
        raise ValueError("lengths")
    below = {}
    for node in reversed(range(1, len(token_ids))):
        below[parents[node], token_ids[node]] = node
    path = [0]
    while (path[-1], choices[path[-1]]) in below:
        path.append(below[path[-1], choices[path[-1]]])
    return [choices[node] for node in path], path

def tree_mask(parents):
    n = len(parents)
    mask = np.zeros((n, n), dtype=bool)
    for node in range(n):
        if node and not 0 <= parents[node] < node:
            raise ValueError("parent")
        up = node
        while up != -1:
            mask[node, up] = True
            up = parents[up]
    return mask
""",
    recursion="""
def verify_tree(token_ids, parents, choices, node=0):
    if len(token_ids) == 0 or not len(token_ids) == len(parents) == len(choices):
        raise ValueError("lengths")
    for child in range(node + 1, len(token_ids)):
        if parents[child] == node and token_ids[child] == choices[node]:
            emitted, path = verify_tree(token_ids, parents, choices, child)
            return (choices[node], *emitted), (node, *path)
    return (choices[node],), (node,)

def tree_mask(parents):
    rows = []
    for node, parent in enumerate(parents):
        if node > 0 and (parent < 0 or parent >= node):
            raise ValueError("parent")
        row = list(rows[parent]) if node else [0] * len(parents)
        row[node] = 1
        rows.append(row)
    return rows
""",
    numpy_arrays="""
import numpy as np

def verify_tree(token_ids, parents, choices):
    tokens, above, wanted = map(np.array, (token_ids, parents, choices))
    if not 0 < len(tokens) or len(tokens) != len(above) or len(above) != len(wanted):
        raise ValueError("lengths")
    path = [0]
    while True:
        fits = np.flatnonzero((above == path[-1]) & (tokens == wanted[path[-1]]))
        fits = fits[fits > 0]
        if not len(fits):
            return wanted[path], np.array(path)
        path.append(int(fits[0]))

def tree_mask(parents):
    above = np.array(parents)
    if (above[1:] >= np.arange(1, len(above))).any() or (above[1:] < 0).any():
        raise ValueError("parent")
    step = np.zeros((len(above), len(above)), dtype=int)
    step[np.arange(1, len(above)), above[1:]] = 1
    mask = np.eye(len(above), dtype=int)
    for _ in parents:
        mask = np.minimum(1, np.eye(len(above), dtype=int) + step @ mask)
    return mask.astype(bool)
""",
    sets_of_ancestors="""
import numpy as np

def verify_tree(token_ids, parents, choices):
    if sorted([len(token_ids), len(parents), len(choices)])[0] < 1:
        raise ValueError("empty")
    if len(token_ids) != len(parents) or len(token_ids) != len(choices):
        raise ValueError("lengths")
    at, path, emitted = 0, [0], []
    while True:
        emitted.append(choices[at])
        children = [i for i, parent in enumerate(parents) if parent == at and i]
        right = [i for i in children if token_ids[i] == choices[at]]
        if not right:
            return emitted, path
        at = right[0]
        path.append(at)

def tree_mask(parents):
    lines = []
    for node, parent in enumerate(parents):
        if node and parent not in range(node):
            raise ValueError("parent")
        lines.append((lines[parent] if node else set()) | {node})
    return np.array([[j in line for j in range(len(parents))] for line in lines])
""",
)


def _right(answer, *values):
    """Return odd but right one-line answers from values as code."""
    return [OddButRight(answer, value, f"{answer} = {value}") for value in values]


ODD_ANSWERS = [
    *_right("todo_lookup_cat", "1.0", "2 - 1", "len(['the'])", "__import__('numpy').int64(1)"),
    *_right(
        "todo_bug_lookup",
        "(4, 4, 4)",
        "[0, 1, 0, 1, 0, 1]",
        "__import__('numpy').array([7, 8, 7, 8])",
        "list(range(9)) + [0, 1]",
    ),
    *_right("todo_overlap", "8 / 10", "0.6 + 0.2", "1 - 0.2", "__import__('numpy').float64(0.8)"),
    *_right(
        "todo_tree_or_chain",
        "1 + 0.9 + 0.8 * 0.8",
        "254 / 100",
        "sum([1, 0.9, 0.64])",
        "__import__('numpy').float64(2.54)",
    ),
    *_right(
        "todo_bug_mask",
        "(-1, 0, 0, 2)",
        "[-1, 0, 0, 1, 2]",
        "__import__('numpy').array([-1, 0, 0, 0, 1])",
        "[-1] + [0] * 3 + [1, 2, 3]",
    ),
    *_right("quiz_perplexity", "'c'", "' C '", "'ABCD'[2]", 'str("C")'),
    *_right("quiz_lossless", "'b'", "' B '", "'ABCD'[1]", 'str("B")'),
]

ODD_BUT_RIGHT = [
    *ODD_FIDELITY,
    *ODD_NGRAM,
    *ODD_LOOKUP,
    *ODD_LOSS,
    *ODD_HEADS,
    *ODD_TREE,
    *ODD_ANSWERS,
]
