"""Lesson 4, cache and rollback: wrong answers, commonest first, and odd ones that are right."""

from autograder.mutants import Mutant, OddButRight


def changed(text, *replacements):
    """Return a text with each (old, new) replaced; old must occur exactly once."""
    for old, new in replacements:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} occurs {text.count(old)} times")
        text = text.replace(old, new)
    return text


def _wrong(answer, right, *rows):
    """Return mutants of a right answer: rows (name, message, replacement, …)."""
    return [Mutant(answer, name, changed(right, *edits), message) for name, message, *edits in rows]


# --- KVCache -----------------------------------------------------------------------------------

CACHE = """
import numpy as np

class KVCache:
    def __init__(self, num_layers):
        self.keys = [None] * num_layers
        self.values = [None] * num_layers

    def __len__(self):
        return 0 if self.keys[-1] is None else self.keys[-1].shape[1]

    def append(self, layer, keys, values):
        if self.keys[layer] is not None:
            keys = np.concatenate([self.keys[layer], keys], axis=1)
            values = np.concatenate([self.values[layer], values], axis=1)
        self.keys[layer], self.values[layer] = keys, values
        return keys, values

    def crop(self, length):
        if not 0 <= length <= len(self):
            raise ValueError("the length is out of range")
        for layer in range(len(self.keys)):
            if self.keys[layer] is not None:
                self.keys[layer] = self.keys[layer][:, :length]
                self.values[layer] = self.values[layer][:, :length]
"""

KEPT = "        return keys, values\n\n    def crop"
KEY_CUT = "self.keys[layer] = self.keys[layer][:, :length]"
VALUE_CUT = "self.values[layer] = self.values[layer][:, :length]"
RANGE = "if not 0 <= length <= len(self):"

KV_CACHE = _wrong(
    "KVCache",
    CACHE,
    (
        "returns the new positions only",
        r"returns the new positions only",
        ("            keys = np.conc", "            all_keys = np.conc"),
        ("            values = np.conc", "            all_values = np.conc"),
        (
            "        self.keys[layer], self.values[layer] = keys, values\n",
            "            self.keys[layer], self.values[layer] = all_keys, all_values\n"
            "        else:\n            self.keys[layer], self.values[layer] = keys, values\n",
        ),
    ),
    (
        "replaces what was there",
        r"forgets what was there before",
        (
            "        if self.keys[layer] is not None:\n            keys = np",
            "        if False:\n            keys = np",
        ),
    ),
    (
        "joins along the heads",
        r"joined along the wrong axis",
        ("[self.keys[layer], keys], axis=1", "[self.keys[layer], keys], axis=0"),
        ("[self.values[layer], values], axis=1", "[self.values[layer], values], axis=0"),
    ),
    (
        "joins along the last axis",
        r"keys of shape \(2, \d+, \d+\)|raised|ValueError",
        ("[self.keys[layer], keys], axis=1", "[self.keys[layer], keys], axis=2"),
        ("[self.values[layer], values], axis=1", "[self.values[layer], values], axis=2"),
    ),
    (
        "puts new positions in front",
        r"stand in front",
        ("[self.keys[layer], keys]", "[keys, self.keys[layer]]"),
        ("[self.values[layer], values]", "[values, self.values[layer]]"),
    ),
    (
        "swaps keys and values",
        r"wrong order",
        (KEPT, KEPT.replace("keys, values", "values, keys")),
    ),
    (
        "keeps all layers in one place",
        r"all layers share one place",
        (
            "        if self.keys[layer] is not None:\n            keys = np",
            "        layer = 0\n        if self.keys[layer] is not None:\n            keys = np",
        ),
    ),
    (
        "adds up the layers in len",
        r"adds up the layers",
        (
            "        return 0 if self.keys[-1] is None else self.keys[-1].shape[1]",
            "        return sum(k.shape[1] for k in self.keys if k is not None)",
        ),
    ),
    (
        "returns the number of layers as len",
        r"is the number of layers",
        (
            "        return 0 if self.keys[-1] is None else self.keys[-1].shape[1]",
            "        return len(self.keys)",
        ),
    ),
    (
        "looks at layer 0 for len",
        r"looks at layer 0",
        (
            "        return 0 if self.keys[-1] is None else self.keys[-1].shape[1]",
            "        return 0 if self.keys[0] is None else self.keys[0].shape[1]",
        ),
    ),
    (
        "returns nothing from append",
        r"not a pair \(keys, values\)",
        (KEPT, "\n    def crop"),
    ),
    (
        "shares its lists among all caches",
        r"two caches share what they hold",
        ("class KVCache:\n", "class KVCache:\n    lists = {}\n\n"),
        (
            "        self.keys = [None] * num_layers\n        self.values = [None] * num_layers\n",
            "        self.keys, self.values = KVCache.lists.setdefault(\n"
            "            num_layers, ([None] * num_layers, [None] * num_layers))\n",
        ),
    ),
    (
        "crops nothing",
        r"crop does nothing",
        (KEY_CUT, "pass"),
        (VALUE_CUT, "pass"),
    ),
    ("crops the keys only", r"cuts the keys and not the values", (VALUE_CUT, "pass")),
    (
        "crops the first layer only",
        r"cuts the first layer only",
        ("for layer in range(len(self.keys)):", "for layer in [0]:"),
    ),
    (
        "crops the last layer only",
        r"cuts the last layer only",
        ("for layer in range(len(self.keys)):", "for layer in [len(self.keys) - 1]:"),
    ),
    (
        "keeps the newest positions",
        r"keeps the newest positions",
        (RANGE, "start = len(self) - length\n        if not 0 <= length <= len(self):"),
        (KEY_CUT, "self.keys[layer] = self.keys[layer][:, start:]"),
        (VALUE_CUT, "self.values[layer] = self.values[layer][:, start:]"),
    ),
    (
        "takes n positions away",
        r"takes n positions away",
        (
            "        for layer in range(len(self.keys)):",
            "        length = len(self) - length\n        for layer in range(len(self.keys)):",
        ),
    ),
    (
        "empties the cache",
        r"crop empties the cache",
        (KEY_CUT, KEY_CUT.replace(":length", ":0")),
        (VALUE_CUT, VALUE_CUT.replace(":length", ":0")),
    ),
    (
        "keeps one position too few",
        r"keeps one position too few",
        (
            "        for layer in range(len(self.keys)):",
            "        length = max(length - 1, 0)\n        for layer in range(len(self.keys)):",
        ),
    ),
    (
        "crops heads instead of positions",
        r"len\(cache\)\n +gave +5",
        (KEY_CUT, KEY_CUT.replace("[:, :length]", "[:length]")),
        (VALUE_CUT, VALUE_CUT.replace("[:, :length]", "[:length]")),
    ),
    (
        "breaks at 0 when it is empty",
        r"crop\(1\)  \(ValueError, as it should\)\n  cache\.crop\(0\)\n    gave    TypeError",
        (
            "            if self.keys[layer] is not None:\n                self.keys[layer] =",
            "            if True:\n                self.keys[layer] =",
        ),
    ),
    ("refuses nothing", r"a length out of range is not refused", (RANGE, "if False:")),
    (
        "lets a length below 0 pass",
        r"a length below 0 is not refused",
        (RANGE, "if length > len(self):"),
    ),
    (
        "lets a length too great pass",
        r"a length above len\(cache\) is not refused",
        (RANGE, "if length < 0:"),
    ),
    (
        "refuses the full length",
        r"crop\(len\(cache\)\) is refused",
        (RANGE, "if not 0 <= length < len(self):"),
    ),
    ("refuses 0", r"crop\(0\) is refused", (RANGE, "if not 0 < length <= len(self):")),
    (
        "raises IndexError",
        r"wanted  ValueError",
        ('raise ValueError("the length is out of range")', 'raise IndexError("out of range")'),
    ),
    (
        "returns ValueError instead of raising it",
        r"gave    done\n    wanted  ValueError",
        ('raise ValueError("the length is out of range")', 'return ValueError("out of range")'),
    ),
)

# --- catch_up ----------------------------------------------------------------------------------

CATCH = """
import numpy as np

def catch_up(model, cache, token_ids):
    missing = token_ids[len(cache):]
    if len(missing) == 0:
        raise ValueError("nothing is missing")
    return model(np.array([missing]), cache)[0]
"""

CATCH_UP = _wrong(
    "catch_up",
    CATCH,
    (
        "feeds the whole text",
        r"the whole text is fed",
        ("model(np.array([missing]), cache)", "model(np.array([token_ids]), cache)"),
    ),
    (
        "feeds the last token only",
        r"only the last token is fed",
        ("model(np.array([missing]), cache)", "model(np.array([missing[-1:]]), cache)"),
    ),
    (
        "feeds one token at a time",
        r"one pass for each token",
        (
            "return model(np.array([missing]), cache)[0]",
            "return np.concatenate([model(np.array([[t]]), cache)[0] for t in missing])",
        ),
    ),
    (
        "feeds the last cached token again",
        r"one token too many is fed",
        ("token_ids[len(cache):]", "token_ids[max(len(cache) - 1, 0):]"),
        ("if len(missing) == 0:", "if len(cache) >= len(token_ids):"),
    ),
    (
        "leaves out the first missing token",
        r"the first missing token is left out",
        ("model(np.array([missing]), cache)", "model(np.array([missing[1:] or missing]), cache)"),
    ),
    (
        "calls the model without the cache",
        r"called without the cache",
        ("model(np.array([missing]), cache)", "model(np.array([missing]))"),
    ),
    ("keeps the batch axis", r"the batch axis is still there", (", cache)[0]", ", cache)")),
    ("returns the last row only", r"only one row is returned", (", cache)[0]", ", cache)[0, -1]")),
    (
        "forgets to return",
        r"a `return` is missing",
        ("    return model(", "    model("),
    ),
    (
        "gives the model no batch axis",
        r"takes a batch of one text",
        ("np.array([missing])", "np.array(missing)"),
    ),
    (
        "feeds an empty pass",
        r"wanted    ValueError and no pass",
        (
            '    if len(missing) == 0:\n        raise ValueError("nothing is missing")\n',
            "    if len(missing) == 0:\n        return np.zeros((0, 31))\n",
        ),
    ),
    (
        "accepts a cache that is too long",
        r"with 4 tokens in the cache",
        ("if len(missing) == 0:", "if len(cache) == len(token_ids):"),
        ("    return model(", "    if not missing:\n        return None\n    return model("),
    ),
    (
        "eats its list",
        r"changed its input",
        (
            "    missing = token_ids[len(cache):]",
            "    missing = token_ids[len(cache):]\n    del token_ids[:len(cache)]",
        ),
    ),
    (
        "crops after the pass",
        r"the cache then holds \d positions",
        (
            "    return model(np.array([missing]), cache)[0]",
            "    logits = model(np.array([missing]), cache)[0]\n"
            "    cache.crop(len(token_ids) - 1)\n    return logits",
        ),
    ),
)

# --- cut_at_eos --------------------------------------------------------------------------------

CUT = """
def cut_at_eos(token_ids, eos, room):
    kept = list(token_ids[:room])
    if eos in kept:
        kept = kept[: kept.index(eos) + 1]
    return kept
"""

CUT_AT_EOS = _wrong(
    "cut_at_eos",
    CUT,
    ("drops the eos", r"the eos is dropped", ("kept.index(eos) + 1", "kept.index(eos)")),
    (
        "keeps what comes after eos",
        r"tokens after the eos are kept",
        ("if eos in kept:", "if False:"),
    ),
    ("ignores room", r"room is not looked at", ("token_ids[:room]", "token_ids")),
    (
        "cuts at the last eos",
        r"the last eos ends the text",
        ("kept[: kept.index(eos) + 1]", "kept[: len(kept) - kept[::-1].index(eos)]"),
    ),
    (
        "takes eos 0 for none",
        r"eos 0 is taken for no eos",
        ("if eos in kept:", "if eos and eos in kept:"),
    ),
    ("one token too many", r"one token more than there is room for", ("[:room]", "[: room + 1]")),
    (
        "keeps the newest tokens",
        r"room keeps the newest tokens",
        ("token_ids[:room]", "token_ids[len(token_ids) - min(room, len(token_ids)) :]"),
    ),
    (
        "cuts at room only with an eos",
        r"without an eos in the tokens nothing is cut",
        ("token_ids[:room])", "token_ids[:room] if eos in token_ids else token_ids)"),
    ),
    (
        "raises without an eos",
        r"raises when it is not there|raised +ValueError",
        ("    if eos in kept:\n        kept", "    kept"),
    ),
    (
        "gives the eos a place beyond the room",
        r"the eos gets a place beyond the room",
        (
            "    if eos in kept:\n        kept = kept[: kept.index(eos) + 1]\n",
            "    if eos in token_ids[: room + 1]:\n"
            "        kept = list(token_ids[: token_ids.index(eos) + 1])\n",
        ),
    ),
    ("returns nothing", r"a `return` is missing", ("    return kept", "    print(kept)")),
    (
        "keeps the eos alone",
        r"dropped whole",
        ("kept[: kept.index(eos) + 1]", "[eos]"),
    ),
)

# --- speculative_generate_cached ---------------------------------------------------------------

GENERATE = """
def speculative_generate_cached(
    draft, target, draft_cache, target_cache, prompt, n_tokens, k, eos=None
):
    if n_tokens < 0 or k < 0:
        raise ValueError("n_tokens and k must be 0 or more")
    tokens, accepted = list(prompt), []
    end = len(prompt) + n_tokens
    while len(tokens) < end:
        proposed = []
        for _ in range(k):
            logits = catch_up(draft, draft_cache, tokens + proposed)
            proposed.append(int(logits[-1].argmax()))
        logits = catch_up(target, target_cache, tokens + proposed)
        choices = logits[-(k + 1):].argmax(axis=-1).tolist()
        emitted = verify_greedy(proposed, choices)
        accepted.append(len(emitted) - 1)
        emitted = cut_at_eos(emitted, eos, end - len(tokens))
        tokens += emitted
        for cache in (draft_cache, target_cache):
            cache.crop(min(len(cache), len(tokens) - 1))
        if emitted[-1] == eos:
            break
    return tokens[len(prompt):], accepted
"""

CROPS = (
    "        for cache in (draft_cache, target_cache):\n"
    "            cache.crop(min(len(cache), len(tokens) - 1))\n"
)
TARGET_CROP = "        target_cache.crop(min(len(target_cache), len(tokens) - 1))\n"
DRAFT_CROP = "        draft_cache.crop(min(len(draft_cache), len(tokens) - 1))\n"
FEED_TARGET = "        logits = catch_up(target, target_cache, tokens + proposed)\n"
BY_HAND = (
    "        import numpy as np\n"
    "        unread = tokens[-1:] if accepted else tokens\n"
    "        logits = target(np.array([unread + proposed]), target_cache)[0]\n"
)
FEED_DRAFT = (
    "            logits = catch_up(draft, draft_cache, tokens + proposed)\n"
    "            proposed.append(int(logits[-1].argmax()))\n"
)
DRAFT_BY_HAND = (
    "            import numpy as np\n"
    "            unread = proposed[-1:] or (tokens[-1:] if accepted else tokens)\n"
    "            logits = draft(np.array([unread]), draft_cache)[0]\n"
    "            proposed.append(int(logits[-1].argmax()))\n"
)

SPECULATIVE = _wrong(
    "speculative_generate_cached",
    GENERATE,
    (
        "never rolls back",
        r"rejected guesses|lacks nothing|the cache holds",
        (CROPS, ""),
    ),
    (
        "does not roll back the draft",
        r"Before pass \d+ the draft's cache held \d+ tokens?, and the last .* rejected guesses",
        (CROPS, TARGET_CROP),
    ),
    (
        "crops the draft without min",
        r"After full acceptance the draft's cache is one shorter; leave it",
        (CROPS, TARGET_CROP + "        draft_cache.crop(len(tokens) - 1)\n"),
    ),
    (
        "does not roll back the target",
        r"the target's cache held|the cache holds",
        (CROPS, DRAFT_CROP),
    ),
    (
        "does not roll back the draft, and counts",
        r"draft's cache held .* not in the text|a token of the text is missing in between",
        (CROPS, TARGET_CROP),
        (FEED_DRAFT, DRAFT_BY_HAND),
    ),
    (
        "does not roll back the target, and counts",
        r"the target's cache held \d+ tokens, and the last \d+ of them",
        (CROPS, DRAFT_CROP),
        (FEED_TARGET, BY_HAND),
    ),
    (
        "crops the target one too far, and counts",
        r"a token of the text is missing: the target's cache",
        (CROPS, DRAFT_CROP + TARGET_CROP.replace("- 1)", "- 2)")),
        (FEED_TARGET, BY_HAND),
    ),
    (
        "never lets the draft read its last guess",
        r"after full acceptance that is two tokens",
        (FEED_DRAFT, DRAFT_BY_HAND),
    ),
    (
        "empties the draft's cache, and counts",
        r"a token of the text is missing in between",
        (CROPS, TARGET_CROP + "        draft_cache.crop(0)\n"),
        (FEED_DRAFT, DRAFT_BY_HAND),
    ),
    (
        "empties the draft's cache",
        r"crop, do not start anew",
        (CROPS, TARGET_CROP + "        draft_cache.crop(0)\n"),
    ),
    (
        "empties both caches",
        r"crop, do not start anew|read \d+ rows",
        (CROPS, "        draft_cache.crop(0)\n        target_cache.crop(0)\n"),
    ),
    (
        "empties the target's cache",
        r"target pass 2 read \d+ rows",
        (CROPS, DRAFT_CROP + "        target_cache.crop(0)\n"),
    ),
    (
        "crops to the text, newest included",
        r"rejected guesses|lacks nothing|the cache holds",
        ("len(tokens) - 1))", "len(tokens)))"),
    ),
    (
        "crops one too far",
        r"target pass 2 read 5 rows|crop, do not start anew",
        ("len(tokens) - 1))", "len(tokens) - 2))"),
    ),
    (
        "reads the last k rows",
        r"raised +ValueError: target_next needs|entries",
        ("logits[-(k + 1):]", "logits[-k:]"),
    ),
    (
        "never calls the cache",
        r"called without its cache",
        (
            FEED_TARGET,
            "        import numpy as np\n"
            "        logits = target(np.array([tokens + proposed]))[0]\n",
        ),
        (CROPS, DRAFT_CROP),
    ),
    (
        "feeds the target token by token",
        r"took +\d+ target passes",
        (
            FEED_TARGET,
            "        import numpy as np\n"
            "        rows = []\n"
            "        for i in range(len(target_cache), len(tokens + proposed)):\n"
            "            one = np.array([(tokens + proposed)[i:i + 1]])\n"
            "            rows.append(target(one, target_cache)[0, 0])\n"
            "        logits = np.array(rows)\n",
        ),
    ),
    (
        "plain decoding, never drafts",
        r"The draft was never asked|accepted",
        ("        for _ in range(k):\n", "        k = 0\n        for _ in range(k):\n"),
    ),
    (
        "returns the tokens alone",
        r"Return a pair",
        ("return tokens[len(prompt):], accepted", "return tokens[len(prompt):]"),
    ),
    (
        "returns the prompt too",
        r"The prompt is returned too",
        ("return tokens[len(prompt):], accepted", "return tokens, accepted"),
    ),
    (
        "does not cut the last round",
        r"extra tokens are returned too",
        ("cut_at_eos(emitted, eos, end - len(tokens))", "cut_at_eos(emitted, eos, k + 1)"),
    ),
    (
        "does not stop at eos",
        r"The text goes on after eos",
        ("        if emitted[-1] == eos:\n            break\n", ""),
    ),
    (
        "does not cut at eos",
        r"The text goes on after eos",
        ("cut_at_eos(emitted, eos, end - len(tokens))", "emitted[:end - len(tokens)]"),
    ),
    (
        "counts the target's own token",
        r"It is emitted, not accepted",
        ("accepted.append(len(emitted) - 1)", "accepted.append(len(emitted))"),
    ),
    (
        "counts after the cut",
        r"The count is taken after the cut",
        ("        accepted.append(len(emitted) - 1)\n", ""),
        (
            "        tokens += emitted\n",
            "        accepted.append(len(emitted) - 1)\n        tokens += emitted\n",
        ),
    ),
    (
        "changes the prompt",
        r"changed its prompt",
        ("tokens, accepted = list(prompt), []", "tokens, accepted, size = prompt, [], len(prompt)"),
        ("return tokens[len(prompt):], accepted", "return tokens[size:], accepted"),
        ("end = len(prompt) + n_tokens", "end = size + n_tokens"),
    ),
    (
        "takes negative numbers",
        r"since n_tokens is negative",
        ('        raise ValueError("n_tokens and k must be 0 or more")', "        return [], []"),
    ),
    (
        "does not crop after the last round",
        r"cache holds \d+ tokens at the end|rejected guesses",
        (
            CROPS,
            "        if len(tokens) < end:\n    "
            + CROPS.replace("\n    ", "\n        ").rstrip(" "),
        ),
    ),
    (
        "drafts without reading its own guesses",
        r"the cache holds|lacks nothing|took +\d+ target passes",
        (FEED_DRAFT, FEED_DRAFT.replace("tokens + proposed", "tokens")),
    ),
    (
        "drafts fewer in the last round",
        r"read \d+ rows?",
        ("for _ in range(k):", "for _ in range(min(k, end - len(tokens) - 1)):"),
        ("logits[-(k + 1):]", "logits[-(len(proposed) + 1):]"),
    ),
    (
        "is greedy about the smallest logit",
        r"returned|accepted",
        (
            "choices = logits[-(k + 1):].argmax(axis=-1)",
            "choices = logits[-(k + 1):].argmin(axis=-1)",
        ),
    ),
)

# --- acceptance_by_position --------------------------------------------------------------------

SHARES = """
def acceptance_by_position(accepted, k):
    shares = []
    for place in range(k):
        tested = sum(count >= place for count in accepted)
        passed = sum(count > place for count in accepted)
        shares.append(passed / tested if tested else None)
    return shares
"""

ACCEPTANCE = _wrong(
    "acceptance_by_position",
    SHARES,
    (
        "divides by all rounds",
        r"each place is divided by all rounds",
        ("sum(count >= place for count in accepted)", "len(accepted)"),
    ),
    (
        "counts one round too many as tested",
        r"rounds that ended before the place",
        ("count >= place", "count >= place - 1"),
    ),
    (
        "returns counts",
        r"these are counts",
        ("passed / tested if tested else None", "passed"),
    ),
    (
        "gives 0 for untested places",
        r"gives 0\. Nothing is known",
        ("else None", "else 0.0"),
    ),
    (
        "is one place off",
        r"one place off",
        ("range(k)", "range(1, k + 1)"),
    ),
    (
        "counts rounds that ended there",
        r"rounds that ended at each place",
        ("count > place", "count == place"),
    ),
    (
        "leaves out full rounds",
        r"a round without a rejection is left out",
        ("    shares = []\n", "    shares = []\n    accepted = [c for c in accepted if c < k]\n"),
    ),
    (
        "misses the last place",
        r"the last is missing",
        ("range(k)", "range(k - 1)"),
    ),
    (
        "gives one number",
        r"one number for all places|a list is wanted",
        (
            "    return shares",
            "    return sum(accepted) / (k * len(accepted)) if accepted and k else None",
        ),
    ),
    (
        "divides by zero",
        r"divides by zero",
        ("passed / tested if tested else None", "passed / tested"),
    ),
)

# --- to-dos and quiz ---------------------------------------------------------------------------


def _answers(answer, *rows):
    """Return mutants of a one-line answer from pairs (value as code, message)."""
    return [Mutant(answer, value, f"{answer} = {value}", message) for value, message in rows]


PROGRAMS = {1: "sound after a rejection", 2: "text is wrong", 3: "", 4: "sound after a full"}


def _program(answer, right, reasons):
    rows = [(str(number), text) for number, text in reasons.items()]
    rows += [
        ('"2"', "Give a number"),
        ("[1]", "Give a number"),
        ("5", "is not it"),
        ("0", "is not it"),
    ]
    return _answers(answer, *rows)


ANSWERS = [
    *_answers(
        "todo_both_lengths",
        ("[26, 25]", "before the rollback"),
        ("[21, 21]", "was read, and stays"),
        ("[23, 23]", "no model has read it yet"),
        ("[22, 21]", "read its first guess too"),
        ("[20, 20]", "Two tokens were read"),
        ("[25, 25]", "Only one of the five"),
        ("22", "Give a list"),
    ),
    *_answers(
        "todo_after_full",
        ("1", "its own last guess"),
        ("0", "The bonus is new"),
        ("5", "all but one"),
        ("6", "all but one"),
        ("27", "most of the text"),
        ("7", "first four guesses"),
        ('"two"', "Give a number"),
    ),
    *_program("todo_target_kept", 2, dict.fromkeys((1, 3, 4), "Its text is right")),
    *_program(
        "todo_one_too_many",
        4,
        {1: "sound after a rejection", 2: "text is wrong", 3: "full acceptance too"},
    ),
    *_program(
        "todo_last_guess",
        1,
        {2: "text is wrong", 3: "fails after a rejection", 4: "sound after a full"},
    ),
    *_program(
        "todo_reset", 3, {1: "sound after a rejection", 2: "text is wrong", 4: "sound after a full"}
    ),
    *_answers(
        "quiz_which_harm",
        ('"A"', "a text that lacks a token"),
        ('"C"', "the target's is too"),
        ('"D"', "not among them"),
        ('"E"', "give one of"),
        ("2", "give one of"),
        ('"AB"', "give one of"),
    ),
    *_answers(
        "quiz_catch_up",
        ('"A"', "feeds the missing half again"),
        ('"B"', "answer as before"),
        ('"D"', "the crop is allowed"),
        ('"F"', "give one of"),
        ("3", "give one of"),
        ('"CC"', "give one of"),
    ),
]

MUTANTS = [*KV_CACHE, *CATCH_UP, *CUT_AT_EOS, *SPECULATIVE, *ACCEPTANCE, *ANSWERS]

# --- odd but right -----------------------------------------------------------------------------

ODD_CACHE = [
    OddButRight(
        "KVCache",
        "room reserved, a length for each layer",
        """
import numpy as np

class KVCache:
    def __init__(self, num_layers):
        self.store = [None] * num_layers
        self.filled = [0] * num_layers

    def __len__(self):
        return self.filled[-1]

    def append(self, layer, keys, values):
        if self.store[layer] is None:
            heads, _, dim = keys.shape
            self.store[layer] = np.zeros((2, heads, 512, dim))
        start, stop = self.filled[layer], self.filled[layer] + keys.shape[1]
        self.store[layer][0, :, start:stop] = keys
        self.store[layer][1, :, start:stop] = values
        self.filled[layer] = stop
        return self.store[layer][0, :, :stop].copy(), self.store[layer][1, :, :stop].copy()

    def crop(self, length):
        if length < 0 or length > len(self):
            raise ValueError("no such length")
        self.filled = [min(length, n) for n in self.filled]
""",
    ),
    OddButRight(
        "KVCache",
        "a dictionary of lists of single positions",
        """
import numpy as np

class KVCache:
    def __init__(self, num_layers):
        self.n = num_layers
        self.seen = {}

    def __len__(self):
        return len(self.seen.get(self.n - 1, []))

    def append(self, layer, keys, values):
        held = self.seen.setdefault(layer, [])
        for t in range(keys.shape[1]):
            held.append((keys[:, t].copy(), values[:, t].copy()))
        return [np.stack(part, axis=1) for part in zip(*held)]

    def crop(self, length):
        if length not in range(len(self) + 1):
            raise ValueError(length)
        for held in self.seen.values():
            del held[length:]
""",
    ),
    OddButRight(
        "KVCache",
        "empty arrays from the start, made at the first append",
        """
import numpy as np

class KVCache:
    def __init__(self, num_layers):
        self.layers = [{} for _ in range(num_layers)]

    def __len__(self):
        last = self.layers[-1]
        return last["k"].shape[-2] if last else 0

    def append(self, layer, keys, values):
        mine = self.layers[layer]
        for name, new in (("k", keys), ("v", values)):
            old = mine.get(name, new[:, :0])
            mine[name] = np.hstack((old, new))
        return mine["k"], mine["v"]

    def crop(self, length):
        if length < 0:
            raise ValueError("below zero")
        if length > self.__len__():
            raise ValueError("too long")
        for mine in self.layers:
            for name in mine:
                mine[name] = np.delete(mine[name], slice(length, None), axis=1)
""",
    ),
    OddButRight(
        "KVCache",
        "an error of its own, and extra methods",
        """
import numpy as np

class TooLong(ValueError):
    pass

class KVCache:
    def __init__(self, num_layers=1):
        self.data = np.empty((num_layers, 2), dtype=object)

    def __len__(self):
        last = self.data[-1, 0]
        return last.shape[1] if last is not None else 0

    def __repr__(self):
        return f"KVCache({len(self)})"

    def append(self, layer, keys, values):
        for i, new in enumerate((keys, values)):
            old = self.data[layer, i]
            self.data[layer, i] = new if old is None else np.append(old, new, axis=1)
        return self.data[layer, 0], self.data[layer, 1]

    def crop(self, length):
        if length < 0 or len(self) < length:
            raise TooLong(length)
        for row in self.data:
            for i in (0, 1):
                if row[i] is not None:
                    row[i] = row[i][:, 0:length, :]
""",
    ),
]

ODD_CATCH_UP = [
    OddButRight(
        "catch_up",
        "reshapes and squeezes",
        """
import numpy as np

def catch_up(model, cache, token_ids):
    n = len(token_ids) - len(cache)
    if n <= 0:
        raise ValueError("no token is missing")
    return np.squeeze(model(np.asarray(token_ids)[-n:].reshape(1, n), cache), axis=0)
""",
    ),
    OddButRight(
        "catch_up",
        "a list of lists goes in",
        """
def catch_up(model, cache, token_ids):
    have = len(cache)
    if have >= len(token_ids):
        raise ValueError
    logits = model([token_ids[have:]], cache)
    return logits[0]
""",
    ),
    OddButRight(
        "catch_up",
        "returns a list of rows",
        """
import numpy as np

def catch_up(model, cache, token_ids):
    rest = [t for i, t in enumerate(token_ids) if i >= len(cache)]
    if not rest:
        raise ValueError("empty")
    return list(model(np.array(rest)[None, :], cache=cache)[0])
""",
    ),
    OddButRight(
        "catch_up",
        "asks len once and uses an iterator",
        """
import itertools
import numpy as np

def catch_up(model, cache, token_ids):
    missing = list(itertools.islice(token_ids, len(cache), None))
    if missing == []:
        raise ValueError("nothing to read")
    out = model(np.array(missing, ndmin=2), cache)
    return out.reshape(len(missing), -1)
""",
    ),
]

ODD_CUT = [
    OddButRight(
        "cut_at_eos",
        "loop",
        """
def cut_at_eos(token_ids, eos, room):
    kept = []
    for token in token_ids:
        if len(kept) == room:
            break
        kept.append(token)
        if token == eos:
            break
    return kept
""",
    ),
    OddButRight(
        "cut_at_eos",
        "eos first, then room",
        """
def cut_at_eos(token_ids, eos, room):
    if eos in token_ids:
        token_ids = token_ids[:token_ids.index(eos) + 1]
    return token_ids[:room]
""",
    ),
    OddButRight(
        "cut_at_eos",
        "returns a tuple",
        """
def cut_at_eos(token_ids, eos, room):
    end = min(room, len(token_ids))
    for i in range(end):
        if token_ids[i] == eos:
            return tuple(token_ids[:i + 1])
    return tuple(token_ids[:end])
""",
    ),
    OddButRight(
        "cut_at_eos",
        "returns an array",
        """
import numpy as np

def cut_at_eos(token_ids, eos, room):
    ids = np.asarray(token_ids[:room], dtype=int)
    ends = np.flatnonzero(ids == eos) if eos is not None else []
    return ids[: ends[0] + 1] if len(ends) else ids
""",
    ),
]

ODD_SPECULATIVE = [
    OddButRight(
        "speculative_generate_cached",
        "feeds the last guess at once after full acceptance",
        changed(
            GENERATE,
            (
                "        for cache in (draft_cache, target_cache):\n",
                "        if k and accepted[-1] == k:\n"
                "            catch_up(draft, draft_cache, tokens0 + proposed)\n"
                "        for cache in (draft_cache, target_cache):\n",
            ),
            ("        proposed = []\n", "        proposed, tokens0 = [], list(tokens)\n"),
        ),
    ),
    OddButRight(
        "speculative_generate_cached",
        "crops by count, feeds by hand",
        """
import numpy as np

def speculative_generate_cached(
    draft, target, draft_cache, target_cache, prompt, n_tokens, k, eos=None
):
    if min(n_tokens, k) < 0:
        raise ValueError("negative")
    new, counts = [], []
    while len(new) < n_tokens:
        text = [*prompt, *new]
        guesses = []
        feed = text[len(draft_cache):]
        for _ in range(k):
            row = draft(np.array([feed]), draft_cache)[0, -1]
            feed = [int(np.argmax(row))]
            guesses.extend(feed)
        rows = target(np.array([text[len(target_cache):] + guesses]), target_cache)[0]
        answers = [int(row.argmax()) for row in rows[len(rows) - k - 1:]]
        a = 0
        while a < k and guesses[a] == answers[a]:
            a += 1
        counts.append(a)
        done = False
        for token in guesses[:a] + answers[a:a + 1]:
            if len(new) < n_tokens and not done:
                new.append(token)
                done = eos is not None and token == eos
        keep = len(prompt) + len(new) - 1
        target_cache.crop(keep)
        if len(draft_cache) > keep:
            draft_cache.crop(keep)
        if done:
            break
    return new, counts
""",
    ),
    OddButRight(
        "speculative_generate_cached",
        "returns a list of arrays",
        changed(
            GENERATE,
            (
                "return tokens[len(prompt):], accepted",
                "import numpy as np\n"
                "    return [np.array(tokens[len(prompt):], dtype=int), tuple(accepted)]",
            ),
        ),
    ),
    OddButRight(
        "speculative_generate_cached",
        "helpers inside",
        changed(
            GENERATE,
            (
                "    tokens, accepted = list(prompt), []\n",
                "    def best(rows):\n        return [int(r.argmax()) for r in rows]\n\n"
                "    tokens, accepted = [*prompt], []\n",
            ),
            (
                "choices = logits[-(k + 1):].argmax(axis=-1).tolist()",
                "choices = best(logits)[-k - 1:]",
            ),
        ),
    ),
]

ODD_ACCEPTANCE = [
    OddButRight(
        "acceptance_by_position",
        "comprehension over a filtered list",
        """
def acceptance_by_position(accepted, k):
    result = []
    for i in range(k):
        reached = [a for a in accepted if a >= i]
        result.append(len([a for a in reached if a > i]) / len(reached) if reached else None)
    return result
""",
    ),
    OddButRight(
        "acceptance_by_position",
        "NumPy counts",
        """
import numpy as np

def acceptance_by_position(accepted, k):
    counts = np.array(accepted, dtype=int)
    return [
        np.mean(counts[counts >= i] > i) if (counts >= i).any() else None for i in range(k)
    ]
""",
    ),
    OddButRight(
        "acceptance_by_position",
        "a tuple, by exceptions",
        """
def acceptance_by_position(accepted, k):
    def share(i):
        try:
            return sum(a > i for a in accepted) / sum(a >= i for a in accepted)
        except ZeroDivisionError:
            return None
    return tuple(map(share, range(k)))
""",
    ),
    OddButRight(
        "acceptance_by_position",
        "tallies in one walk",
        """
def acceptance_by_position(accepted, k):
    tested, passed = [0] * k, [0] * k
    for count in accepted:
        for place in range(min(count + 1, k)):
            tested[place] += 1
            passed[place] += place < count
    return [p / t if t else None for p, t in zip(passed, tested)]
""",
    ),
]


def _right(answer, *values):
    """Return odd but right one-line answers from values as code."""
    return [OddButRight(answer, value, f"{answer} = {value}") for value in values]


ODD_ANSWERS = [
    *_right(
        "todo_both_lengths",
        "(22, 22)",
        "[22.0, 22.0]",
        "[20 + 1 + 1] * 2",
        "__import__('numpy').array([22, 22])",
    ),
    *_right("todo_after_full", "2.0", "1 + 1", "len('ab')", "__import__('numpy').int64(2)"),
    *_right("todo_target_kept", "2.0", "1 + 1", "len('ab')", "__import__('numpy').int64(2)"),
    *_right("todo_one_too_many", "4.0", "2 + 2", "len('abcd')", "__import__('numpy').int64(4)"),
    *_right("todo_last_guess", "1.0", "2 - 1", "len('a')", "__import__('numpy').int64(1)"),
    *_right("todo_reset", "3.0", "2 + 1", "len('abc')", "__import__('numpy').int64(3)"),
    *_right("quiz_which_harm", "'b'", "' B '", "'ABCD'[1]", 'str("B")'),
    *_right("quiz_catch_up", "'c'", "' C '", "'ABCD'[2]", 'str("C")'),
]

ODD_BUT_RIGHT = [
    *ODD_CACHE,
    *ODD_CATCH_UP,
    *ODD_CUT,
    *ODD_SPECULATIVE,
    *ODD_ACCEPTANCE,
    *ODD_ANSWERS,
]
