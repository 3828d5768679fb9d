"""Lesson 3, exact sampling: wrong answers, commonest first, and odd ones that are right."""

from autograder.mutants import Mutant, OddButRight


def _expression(answer, arguments, mistakes):
    """Return wrong one-line functions from (name, expression, message)."""
    return [
        Mutant(answer, name, f"import numpy as np\n\ndef {answer}({arguments}):\n    return {code}",
               message)
        for name, code, message in mistakes
    ]  # fmt: skip


ACCEPTANCE = _expression(
    "acceptance_probability",
    "p, q, token",
    [
        (
            "not cut at 1",
            "0.0 if q[token] == 0 else p[token] / q[token]",
            r"not cut at 1",
        ),
        (
            "ratio upside down",
            "0.0 if p[token] == 0 else min(1.0, q[token] / p[token])",
            r"upside down",
        ),
        (
            "all or nothing",
            "1.0 if q[token] and p[token] >= q[token] else 0.0",
            r"keeps a token if p >= q and never otherwise",
        ),
        ("p alone", "p[token]", r"target's p alone"),
        ("min(p, q)", "min(p[token], q[token])", r"proposed and kept"),
        (
            "1 where q is 0",
            "1.0 if q[token] == 0 else min(1.0, p[token] / q[token])",
            r"q = 0 gives 1",
        ),
        (
            "divides by 0",
            "min(1.0, p[token] / q[token])",
            r"q = 0 needs a branch|raised +ZeroDivisionError",
        ),
        ("always 1", "1.0", r"every token is kept"),
        (
            "the chance of a rejection",
            "1.0 if q[token] == 0 else 1 - min(1.0, p[token] / q[token])",
            r"chance of a rejection",
        ),
    ],
)

HEAD = """
def residual(p, q):
    p, q = as_distribution(p), as_distribution(q)
    if len(p) != len(q):
        raise ValueError("lengths differ")
    if np.array_equal(p, q):
        return p
    return """

RESIDUAL = [
    *(
        Mutant("residual", name, HEAD + code, message)
        for name, code, message in [
            ("not scaled", "np.maximum(p - q, 0)", r"does not sum to 1"),
            ("absolute value", "abs(p - q) / abs(p - q).sum()", r"surplus counts as missing"),
            ("p itself", "p", r"this is p itself"),
            (
                "swapped",
                "np.maximum(q - p, 0) / np.maximum(q - p, 0).sum()",
                r"p and q are swapped",
            ),
            ("softmax of p - q", "np.exp(p - q) / np.exp(p - q).sum()", r"softmax of the diff"),
            ("shared evenly", "(p > q) / (p > q).sum()", r"shared evenly"),
            ("all to one token", "np.eye(len(p))[np.argmax(p - q)]", r"all of it goes to the one"),
            (
                "the part that was kept",
                "np.minimum(p, q) / np.minimum(p, q).sum()",
                r"the part that was kept",
            ),
        ]
    ),
    Mutant(
        "residual",
        "NaN when p and q are equal",
        """
def residual(p, q):
    p, q = as_distribution(p), as_distribution(q)
    if len(p) != len(q):
        raise ValueError("lengths differ")
    missing = np.maximum(p - q, 0)
    return missing / missing.sum()
""",
        r"0 is divided by 0\. Return p",
    ),
    Mutant(
        "residual",
        "uniform when p and q are equal",
        """
def residual(p, q):
    p, q = as_distribution(p), as_distribution(q)
    if len(p) != len(q):
        raise ValueError("lengths differ")
    missing = np.maximum(p - q, 0)
    if missing.sum() == 0:
        return np.full(len(p), 1 / len(p))
    return missing / missing.sum()
""",
        r"returns the uniform distribution",
    ),
    Mutant(
        "residual",
        "zeros when p and q are equal",
        """
def residual(p, q):
    p, q = as_distribution(p), as_distribution(q)
    if len(p) != len(q):
        raise ValueError("lengths differ")
    missing = np.maximum(p - q, 0)
    if missing.sum() > 0:
        missing = missing / missing.sum()
    return missing
""",
        r"returns zeros",
    ),
    Mutant(
        "residual",
        "refuses nothing",
        """
def residual(p, q):
    missing = [max(0, a - b) for a, b in zip(p, q)]
    total = sum(missing)
    return [m / total for m in missing] if total else list(p)
""",
        r"wanted +ValueError, since p has \d entries",
    ),
]

EXPECTED = _expression(
    "expected_acceptance",
    "p, q",
    [
        ("the chance that two draws agree", "np.dot(p, q)", r"two separate draws agree"),
        ("TV without the half", "1 - np.abs(np.subtract(p, q)).sum()", r"half of that diff"),
        ("the chance of a rejection", "1 - np.minimum(p, q).sum()", r"chance of a rejection"),
        ("the larger of the two", "np.maximum(p, q).sum()", r"takes the larger"),
        ("the mean", "np.minimum(p, q).mean()", r"mean over the tokens"),
        ("the largest overlap", "np.minimum(p, q).max()", r"largest overlap"),
        (
            "weighed with p",
            "sum(a * min(1.0, a / b) if b else 0.0 for a, b in zip(p, q))",
            r"weighs with p",
        ),
        (
            "ratios not weighed",
            "np.mean([min(1.0, a / b) if b else 0.0 for a, b in zip(p, q)])",
            r"ratios are not weighted",
        ),
    ],
)


def _step(keep="rng.random() < acceptance_probability(p, q, token)",
          rejected="return emitted + [draw(residual(p, q), rng)]",
          kept="emitted.append(token)",
          bonus="return emitted + [draw(target_probs[k], rng)]",
          rows="target_probs[i], draft_probs[i]",
          first="pass",
          guard=True):  # fmt: skip
    """Return a speculative_step as code, right but for what is given."""
    check = """
    if len(draft_probs) != k or len(target_probs) != k + 1:
        raise ValueError("rows do not fit")"""
    return f"""
def speculative_step(draft_token_ids, draft_probs, target_probs, rng):
    k = len(draft_token_ids){check if guard else ""}
    {first}
    emitted = []
    for i in range(k):
        (p, q), token = ({rows}), draft_token_ids[i]
        if not ({keep}):
            {rejected}
        else:
            {kept}
    {bonus}
"""


STEP = [
    Mutant("speculative_step", name, _step(**parts), message)
    for name, parts, message in [
        ("forgets the bonus", {"bonus": "return emitted"}, r"the bonus is missing"),
        (
            "replacement drawn from p",
            {"rejected": "return emitted + [draw(p, rng)]"},
            r"after a rejection it draws from p",
        ),
        (
            "accepts if p >= q",
            {"keep": "p[token] >= q[token]", "first": "rng.random()"},
            r"keeps a token if p >= q",
        ),
        ("accepts everything", {"keep": "True"}, r"keeps every token"),
        (
            "u <= ratio",
            {"keep": "rng.random() <= acceptance_probability(p, q, token)"},
            r"u <= ratio keeps a token of ratio 0",
        ),
        (
            "ratio upside down",
            {"keep": "p[token] > 0 and rng.random() < q[token] / p[token]"},
            r"upside down",
        ),
        ("u compared with p", {"keep": "rng.random() < p[token]"}, r"compares u with p\."),
        (
            "test the wrong way round",
            {"keep": "rng.random() >= acceptance_probability(p, q, token)"},
            r"wrong way round",
        ),
        (
            "swapped in the residual",
            {"rejected": "return emitted + [draw(residual(q, p), rng)]"},
            r"swapped in the residual",
        ),
        (
            "no token at a rejection",
            {"rejected": "return emitted"},
            r"nothing comes out at the rejection",
        ),
        (
            "the rejected token comes out too",
            {"rejected": "return emitted + [token, draw(residual(p, q), rng)]"},
            r"the rejected token comes out too",
        ),
        (
            "goes on after a rejection",
            {"rejected": "emitted.append(draw(residual(p, q), rng))"},
            r"goes on after a rejection",
        ),
        (
            "one u for all tests",
            {"first": "u = rng.random()", "keep": "u < acceptance_probability(p, q, token)"},
            r"one u is used for all",
        ),
        (
            "residual's favourite instead of a draw",
            {"rejected": "return emitted + [int(np.argmax(residual(p, q)))]"},
            r"not a draw",
        ),
        (
            "bonus from the row before",
            {"bonus": "return emitted + [draw(target_probs[k - 1], rng)]"},
            r"bonus is drawn from the row before",
        ),
        (
            "bonus from the draft",
            {"bonus": "return emitted + [draw(draft_probs[-1], rng)]"},
            r"bonus is drawn from the draft|raised +IndexError",
        ),
        (
            "first place's rows everywhere",
            {"rows": "target_probs[0], draft_probs[0]"},
            r"rows of the first place",
        ),
        (
            "draws from p and compares",
            {
                "first": "pass",
                "keep": "(drawn := draw(p, rng)) == token",
                "rejected": "return emitted + [drawn]",
            },
            r"exact too, but keeps fewer",
        ),
        (
            "own random numbers",
            {"first": "rng = np.random.default_rng(0)"},
            r"takes no random number from rng",
        ),
        (
            "rows are not checked",
            {"guard": False},
            r"wanted +ValueError, since 2 draft tokens need",
        ),
        (
            "changes its input",
            {"bonus": "draft_token_ids.append(draw(target_probs[k], rng))\n    "
                      "return draft_token_ids"},
            r"changed its input",
        ),
        (
            "prints instead of returning",
            {"rejected": "print(emitted)\n            return", "bonus": "print(emitted)"},
            r"is a `return` missing",
        ),
    ]
]  # fmt: skip


def _process(zero="probs = np.zeros(len(x))\n        probs[x.argmax()] = 1\n        return probs",
             weights="np.exp((x - x.max()) / temperature)",
             result="keep_top_p(weights / weights.sum(), top_p)",
             guard="temperature < 0 or not 0 < top_p <= 1"):  # fmt: skip
    """Return a process_logits as code, right but for what is given."""
    return f"""
def process_logits(logits, temperature, top_p):
    if {guard}:
        raise ValueError("out of range")
    x = np.asarray(logits, dtype=float)
    if temperature == 0:
        {zero}
    weights = {weights}
    return {result}
"""


PROCESS = [
    Mutant("process_logits", name, _process(**parts), message)
    for name, parts, message in [
        (
            "multiplies by the temperature",
            {"weights": "np.exp((x - x.max()) * temperature)"},
            r"multiplied by the temperature",
        ),
        (
            "ignores the temperature",
            {"weights": "np.exp(x - x.max())"},
            r"temperature is not used",
        ),
        ("ignores top-p", {"result": "weights / weights.sum()"}, r"top_p is not used"),
        (
            "top-p before the temperature",
            {
                "weights": "np.exp(x - x.max())",
                "result": "(w := keep_top_p(weights / weights.sum(), top_p) ** (1 / temperature))"
                " / w.sum()",
            },
            r"top_p comes before the temperature",
        ),
        (
            "not scaled",
            {"result": "keep_top_p(weights, 1) if top_p == 1 else weights"},
            r"does not sum to 1",
        ),
        (
            "overflows",
            {"weights": "np.exp(x / temperature)"},
            r"exp of large logits is infinite",
        ),
        ("no branch for T = 0", {"zero": "pass"}, r"temperature 0 divides by zero"),
        (
            "ties share at T = 0",
            {"zero": "return (x == x.max()) / (x == x.max()).sum()"},
            r"share at temperature 0",
        ),
        (
            "the last of several at T = 0",
            {"zero": "return np.eye(len(x))[len(x) - 1 - x[::-1].argmax()]"},
            r"takes the last of several",
        ),
        ("T = 0 is T = 1", {"zero": "temperature = 1"}, r"temperature 0 is treated as 1"),
        (
            "accepts a negative temperature",
            {"guard": "not 0 < top_p <= 1"},
            r"wanted +ValueError, since the temperature is negative",
        ),
        (
            "accepts any top-p",
            {"guard": "temperature < 0"},
            r"wanted +ValueError, since top_p is",
        ),
    ]
]


def _sample(pick="draw(q, rng)", q="process_logits({}, temperature, top_p)", reported="q",
            p="process_logits({}, temperature, top_p)", asked="sequence + draft[:i]",
            drafted_after="sequence + draft", kept="sequence += emitted",
            result="sequence[len(prompt):][:n_tokens]", start="list(prompt)",
            guard="n_tokens < 0 or k < 0", rows="draft_probs",
            enough="len(sequence) < len(prompt) + n_tokens"):  # fmt: skip
    """Return a speculative_sample as code, right but for what is given."""
    return f"""
def speculative_sample(draft_model, target_model, prompt, n_tokens, k, temperature, top_p, rng):
    if {guard}:
        raise ValueError("0 or more")
    sequence = {start}
    while {enough}:
        draft, draft_probs = [], []
        for _ in range(k):
            logits = draft_model({drafted_after})
            q = {q.format("logits")}
            draft.append({pick})
            draft_probs.append({reported})
        target_probs = [{p.format(f"target_model({asked})")} for i in range(k + 1)]
        emitted = speculative_step(draft, {rows}, target_probs, rng)
        {kept}
    return {result}
"""


SAMPLE = [
    Mutant("speculative_sample", name, _sample(**parts), message)
    for name, parts, message in [
        (
            "passes on another q than it drew from",
            {"reported": "process_logits(logits, 1, 1)"},
            r"not the one that the token was drawn from",
        ),
        (
            "target not processed",
            {"p": "process_logits({}, 1, 1)"},
            r"target's logits are not processed",
        ),
        (
            "ignores temperature and top-p",
            {"p": "process_logits({}, 1, 1)", "q": "process_logits({}, 1, 1)"},
            r"temperature and top_p are not used",
        ),
        (
            "ignores top-p",
            {
                "p": "process_logits({}, temperature, 1)",
                "q": "process_logits({}, temperature, 1)",
            },
            r"top_p is not used",
        ),
        (
            "draft takes its favourite",
            {"pick": "int(np.argmax(q))"},
            r"takes its likeliest token",
        ),
        (
            "asks the target about one text only",
            {"asked": "sequence"},
            r"asked k \+ 1 times about the same text",
        ),
        (
            "asks the target after all guesses",
            {"asked": "sequence + draft"},
            r"always asked after all guesses",
        ),
        (
            "keeps guesses untested",
            {"kept": "sequence += draft + [draw(target_probs[-1], rng)]"},
            r"drafted tokens come out untested",
        ),
        ("not cut", {"result": "sequence[len(prompt):]"}, r"extra tokens are returned"),
        (
            "returns the prompt too",
            {"result": "sequence[:len(prompt) + n_tokens]"},
            r"prompt is returned too",
        ),
        (
            "changes the prompt",
            {
                "start": "prompt; start = len(prompt)",
                "enough": "len(sequence) < start + n_tokens",
                "result": "sequence[start:][:n_tokens]",
            },
            r"changed its input",
        ),
        (
            "one token a round",
            {"kept": "sequence += emitted[:1]"},
            r"adds one token only",
        ),
        (
            "loses the bonus",
            {"kept": "sequence += emitted[:max(k, 1)]"},
            r"The bonus is lost",
        ),
        (
            "drafts all from the same text",
            {"drafted_after": "sequence"},
            r"Feed each guess back",
        ),
        (
            "accepts negative numbers",
            {"guard": "False"},
            r"wanted +ValueError, since n_tokens is negative|since k is negative",
        ),
    ]
] + [
    Mutant(
        "speculative_sample",
        "the target alone",
        """
def speculative_sample(draft_model, target_model, prompt, n_tokens, k, temperature, top_p, rng):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    return sample_generate(target_model, prompt, n_tokens, temperature, top_p, rng)
""",
        r"draft was never asked",
    )
]


def _answers(answer, *wrong):
    """Return wrong one-line answers from pairs (code, message)."""
    return [Mutant(answer, code, f"{answer} = {code}", message) for code, message in wrong]


ANSWERS = [
    *_answers(
        "todo_rejected",
        ("60", r"That many are accepted"),
        ("30", r"Another token is proposed too often"),
        ("70", r"Some of them may stay"),
        ("80", r"adds all differences"),
        ("20", r"Count token 3 too"),
        ("'40'", r"without quotes"),
    ),
    *_answers(
        "todo_put_back",
        ("[16, 12, 8, 4]", r"draws the 40 from p"),
        ("[10, 10, 10, 10]", r"Even shares"),
        ("[20, 20, 0, 0]", r"lacks more than token 1"),
        ("[40, 0, 0, 0]", r"Token 1 lacks some"),
        ("[40, 30, 0, 0]", r"accepted already"),
        ("[0, 0, 10, 30]", r"These are the rejected draws"),
        ("40", r"Give a list"),
    ),
    *_answers(
        "todo_trace",
        ("[1]", r"drawn from the residual, not from p"),
        ("[0]", r"token 0 ends at 0\.5"),
        ("[1, 0]", r"rejected already"),
        ("[2, 0]", r"the round is over"),
        ("[]", r"Something comes out at a rejection"),
        ("[1, 2]", r"rejected token does not come out"),
        ("2", r"Give a list"),
    ),
    *_answers(
        "todo_bug_pair",
        ("([0.5, 0.5], [0.4, 0.6])", r"which is right"),
        ("([0.5, 0.6], [0.5, 0.6])", r"p = .* is no distribution"),
        ("([0.5, 0.5], [1.0, 1.0])", r"q = .* is no distribution"),
        ("([0.5, 0.5], [1.0])", r"Give a pair of lists"),
        ("[0.5, 0.5]", r"Give a pair of lists"),
        ("7", r"Give a pair of lists"),
        ("([], [])", r"is no distribution"),
    ),
    *_answers(
        "quiz_replacement",
        ("'A'", r"It is known"),
        ("'C'", r"one draw from one distribution"),
        ("'D'", r"follows from the residual"),
        ("'E'", r'give one of "A", "B"'),
        ("2", r"with the quotes"),
        ("['B']", r"with the quotes"),
    ),
    *_answers(
        "quiz_honest",
        ("'A'", r"the proof holds"),
        ("'B'", r"costs speed"),
        ("'D'", r"exact by itself"),
        ("'E'", r'give one of "A", "B"'),
        ("3", r"with the quotes"),
        ("['C']", r"with the quotes"),
    ),
]

MUTANTS = [*ACCEPTANCE, *RESIDUAL, *EXPECTED, *STEP, *PROCESS, *SAMPLE, *ANSWERS]


# --- odd but right -----------------------------------------------------------------------------

ODD_ACCEPTANCE = [
    OddButRight("acceptance_probability", name, code)
    for name, code in [
        (
            "vectorised, with warnings off",
            """
def acceptance_probability(p, q, token):
    with np.errstate(all="ignore"):
        ratio = np.where(np.asarray(q) > 0, np.minimum(1, np.divide(p, q)), 0)
    return ratio[token]
""",
        ),
        (
            "integers 0 and 1, other names",
            """
def acceptance_probability(target, draft, x):
    if draft[x] == 0:
        return 0
    if target[x] >= draft[x]:
        return 1
    return target[x] / draft[x]
""",
        ),
        (
            "as min(p, q) / q",
            """
acceptance_probability = lambda p, q, token: min(p[token], q[token]) / q[token] if q[token] else 0
""",
        ),
        (
            "array of no dimension",
            """
def acceptance_probability(p, q, token):
    p, q = np.array(p, dtype=float), np.array(q, dtype=float)
    safe = np.where(q == 0, 1, q)
    return np.clip(np.asarray(p[token] / safe[token]), 0, 1) * (q[token] > 0)
""",
        ),
        (
            "by exception",
            """
def acceptance_probability(p, q, token):
    try:
        return min(float(p[token]) / float(q[token]), 1)
    except ZeroDivisionError:
        return 0.0
""",
        ),
    ]
]

ODD_RESIDUAL = [
    OddButRight("residual", name, code)
    for name, code in [
        (
            "lists and loops",
            """
def residual(p, q):
    as_distribution(p)
    as_distribution(q)
    if len(p) != len(q):
        raise ValueError("lengths")
    rest = []
    for i in range(len(p)):
        rest.append(p[i] - q[i] if p[i] > q[i] else 0)
    total = sum(rest)
    if total == 0:
        return list(p)
    return [x / total for x in rest]
""",
        ),
        (
            "tuple",
            """
def residual(p, q):
    p, q = as_distribution(p), as_distribution(q)
    if p.shape != q.shape:
        raise ValueError("lengths")
    if (p == q).all():
        return tuple(p)
    rest = np.clip(p - q, 0, None)
    return tuple(rest / (1 - np.minimum(p, q).sum()))
""",
        ),
        (
            "p minus the smaller of the two",
            """
def residual(p, q):
    p = as_distribution(p)
    rest = p - np.minimum(p, as_distribution(q))  # other lengths raise ValueError by themselves
    return rest / rest.sum() if rest.any() else p
""",
        ),
        (
            "own validation",
            """
def residual(p, q):
    p, q = list(map(float, p)), list(map(float, q))
    for row in (p, q):
        if any(not x >= 0 for x in row) or abs(sum(row) - 1) > 1e-6:
            raise ValueError("no distribution")
    if len(p) != len(q):
        raise ValueError("lengths")
    rest = {i: a - b for i, (a, b) in enumerate(zip(p, q)) if a > b}
    if not rest:
        return p
    return [rest.get(i, 0) / sum(rest.values()) for i in range(len(p))]
""",
        ),
    ]
]

ODD_EXPECTED = [
    OddButRight("expected_acceptance", name, code)
    for name, code in [
        (
            "loop",
            """
def expected_acceptance(p, q):
    total = 0
    for a, b in zip(p, q):
        total += a if a < b else b
    return total
""",
        ),
        (
            "one minus TV",
            "def expected_acceptance(p, q):\n    return 1 - np.abs(np.subtract(p, q)).sum() / 2",
        ),
        (
            "weighed with q",
            """
def expected_acceptance(p, q):
    return sum(q[t] * acceptance_probability(p, q, t) for t in range(len(q)))
""",
        ),
        (
            "array of no dimension",
            "expected_acceptance = lambda p, q: np.array(np.min([p, q], axis=0).sum())",
        ),
    ]
]

ODD_STEP = [
    OddButRight("speculative_step", name, code)
    for name, code in [
        (
            "all numbers at once",
            """
def speculative_step(draft_token_ids, draft_probs, target_probs, rng):
    k = len(draft_token_ids)
    if len(draft_probs) != k or len(target_probs) != k + 1:
        raise ValueError("rows")
    u = rng.random(k)
    chances = [acceptance_probability(target_probs[i], draft_probs[i], draft_token_ids[i])
               for i in range(k)]
    kept = 0
    while kept < k and u[kept] < chances[kept]:
        kept += 1
    last = target_probs[k] if kept == k else residual(target_probs[kept], draft_probs[kept])
    return list(draft_token_ids[:kept]) + [draw(last, rng)]
""",
        ),
        (
            "rng.choice, and a NumPy array",
            """
def speculative_step(draft_token_ids, draft_probs, target_probs, rng):
    k = len(draft_token_ids)
    if len(draft_probs) != k or len(target_probs) != k + 1:
        raise ValueError("rows")
    emitted = []
    for token, q, p in zip(draft_token_ids, draft_probs, target_probs):
        if rng.uniform() * q[token] < p[token]:
            emitted.append(token)
        else:
            emitted.append(rng.choice(len(p), p=residual(p, q)))
            return np.array(emitted)
    emitted.append(rng.choice(len(target_probs[-1]), p=target_probs[-1]))
    return np.array(emitted)
""",
        ),
        (
            "recursion and tuples",
            """
def speculative_step(draft_token_ids, draft_probs, target_probs, rng):
    if not len(draft_token_ids) == len(draft_probs) == len(target_probs) - 1:
        raise ValueError("rows")
    if len(draft_token_ids) == 0:
        return (draw(target_probs[0], rng),)
    token, p, q = draft_token_ids[0], target_probs[0], draft_probs[0]
    if rng.random() < acceptance_probability(p, q, token):
        rest = speculative_step(draft_token_ids[1:], draft_probs[1:], target_probs[1:], rng)
        return (token, *rest)
    return (draw(residual(p, q), rng),)
""",
        ),
        (
            "for and else, own inverse of the sums",
            """
def speculative_step(draft_token_ids, draft_probs, target_probs, rng):
    k = len(draft_token_ids)
    if len(draft_probs) != k or len(target_probs) != k + 1:
        raise ValueError("rows")
    out = []
    for i in range(k):
        t = draft_token_ids[i]
        if rng.random() >= acceptance_probability(target_probs[i], draft_probs[i], t):
            last = residual(target_probs[i], draft_probs[i])
            break
        out += [t]
    else:
        last = target_probs[-1]
    u, total = rng.random(), 0.0
    for token, chance in enumerate(last):
        total += chance
        if u < total:
            return out + [np.int64(token)]
""",
        ),
        (
            "exponential race for the last token",
            """
def speculative_step(draft_token_ids, draft_probs, target_probs, rng):
    k = len(draft_token_ids)
    if len(draft_probs) != k or len(target_probs) != k + 1:
        raise ValueError("rows")
    out = []
    last = target_probs[k]
    for i in range(k):
        t = draft_token_ids[i]
        if rng.random() >= acceptance_probability(target_probs[i], draft_probs[i], t):
            last = residual(target_probs[i], draft_probs[i])
            break
        out.append(t)
    race = np.asarray(last) / rng.exponential(size=len(last))
    return out + [int(race.argmax())]
""",
        ),
    ]
]

ODD_PROCESS = [
    OddButRight("process_logits", name, code)
    for name, code in [
        (
            "lists and math.exp",
            """
import math

def process_logits(logits, temperature, top_p):
    if temperature < 0: raise ValueError("temperature")
    if top_p <= 0 or top_p > 1: raise ValueError("top_p")
    logits = [float(x) for x in logits]
    best = max(logits)
    if temperature == 0:
        first = logits.index(best)
        return [1 if i == first else 0 for i in range(len(logits))]
    weights = [math.exp((x - best) / temperature) for x in logits]
    return list(keep_top_p([w / sum(weights) for w in weights], top_p))
""",
        ),
        (
            "logarithms",
            """
def process_logits(logits, temperature, top_p):
    if temperature < 0 or not 0 < top_p <= 1:
        raise ValueError("out of range")
    if temperature == 0:
        return np.eye(len(logits))[int(np.argmax(logits))]
    x = np.array(logits, dtype=float) / temperature
    return keep_top_p(np.exp(x - np.logaddexp.reduce(x)), top_p)
""",
        ),
        (
            "own top-p",
            """
def process_logits(logits, temperature, top_p):
    if temperature < 0 or not 0 < top_p <= 1:
        raise ValueError("out of range")
    x = np.array(logits, dtype=float)
    if temperature == 0:
        return [float(i == x.argmax()) for i in range(len(x))]
    p = np.exp((x - x.max()) / temperature)
    p = p / p.sum()
    kept, total = np.zeros(len(p)), 0.0
    for i in sorted(range(len(p)), key=lambda i: -p[i]):
        kept[i] = p[i]
        total += p[i]
        if total >= top_p:
            break
    return kept / kept.sum()
""",
        ),
        (
            "tuple, temperature as a power",
            """
def process_logits(logits, temperature, top_p):
    if temperature < 0 or not 0 < top_p <= 1:
        raise ValueError("out of range")
    x = np.array(logits, dtype=float) - max(logits)
    if temperature == 0:
        one = np.zeros(len(x))
        one[np.flatnonzero(x == 0)[0]] = 1.0
        return tuple(one)
    w = np.exp(x) ** (1 / temperature)
    return tuple(keep_top_p(w / np.sum(w), top_p))
""",
        ),
    ]
]

ODD_SAMPLE = [
    OddButRight("speculative_sample", name, code)
    for name, code in [
        (
            "drafts only what is missing",
            """
def speculative_sample(draft_model, target_model, prompt, n_tokens, k, temperature, top_p, rng):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    out = []
    while len(out) < n_tokens:
        text = list(prompt) + out
        size = min(k, n_tokens - len(out) - 1)
        draft, qs = [], []
        while len(draft) < size:
            qs.append(process_logits(draft_model(text + draft), temperature, top_p))
            draft.append(draw(qs[-1], rng))
        ps = [process_logits(target_model(text + draft[:i]), temperature, top_p)
              for i in range(size + 1)]
        out.extend(speculative_step(draft, qs, ps, rng))
    return out
""",
        ),
        (
            "asks the target lazily, tests by itself",
            """
def speculative_sample(draft_model, target_model, prompt, n_tokens, k, temperature, top_p, rng):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    text = list(prompt)
    while len(text) - len(prompt) < n_tokens:
        draft, qs = [], []
        for _ in range(k):
            q = process_logits(draft_model(text + draft), temperature, top_p)
            draft.append(int(rng.choice(len(q), p=q)))
            qs.append(q)
        for q, token in zip(qs, draft):
            p = process_logits(target_model(text), temperature, top_p)
            if rng.random() >= acceptance_probability(p, q, token):
                text.append(draw(residual(p, q), rng))
                break
            text.append(token)
        else:
            text.append(draw(process_logits(target_model(text), temperature, top_p), rng))
    return np.array(text[len(prompt):][:n_tokens], dtype=int)
""",
        ),
        (
            "draft at another temperature, honest",
            """
def speculative_sample(draft_model, target_model, prompt, n_tokens, k, temperature, top_p, rng):
    if n_tokens < 0 or k < 0:
        raise ValueError("0 or more")
    sequence = list(prompt)
    while len(sequence) < len(prompt) + n_tokens:
        draft, qs = [], []
        for _ in range(k):
            q = process_logits(draft_model(sequence + draft), temperature, 1)
            draft.append(draw(q, rng))
            qs.append(q)
        ps = [process_logits(target_model(sequence + draft[:i]), temperature, top_p)
              for i in range(k + 1)]
        sequence = sequence + list(speculative_step(draft, qs, ps, rng))
    return sequence[len(prompt):len(prompt) + n_tokens]
""",
        ),
        (
            "a deque and a tuple",
            """
from collections import deque

def speculative_sample(draft_model, target_model, prompt, n_tokens, k, temperature, top_p, rng):
    if min(n_tokens, k) < 0:
        raise ValueError("0 or more")
    text, made = list(prompt), deque()
    while len(made) < n_tokens:
        so_far = text + list(made)
        pairs = []
        for _ in range(k):
            q = process_logits(draft_model(so_far + [t for t, _ in pairs]), temperature, top_p)
            pairs.append((draw(q, rng), q))
        draft = [t for t, _ in pairs]
        ps = [process_logits(target_model(so_far + draft[:i]), temperature, top_p)
              for i in range(k + 1)]
        made.extend(speculative_step(draft, [q for _, q in pairs], ps, rng))
    return tuple(made)[:n_tokens]
""",
        ),
    ]
]


def _right(answer, *values):
    """Return odd but right one-line answers from values as code."""
    return [OddButRight(answer, value, f"{answer} = {value}") for value in values]


ODD_ANSWERS = [
    *_right("todo_rejected", "40.0", "10 + 30", "100 - 60", "__import__('numpy').int64(40)"),
    *_right(
        "todo_put_back",
        "(30, 10, 0, 0)",
        "[30.0, 10.0, 0.0, 0.0]",
        "__import__('numpy').array([30, 10, 0, 0])",
        "[30, 10] + 2 * [0]",
    ),
    *_right("todo_trace", "(2,)", "[2.0]", "__import__('numpy').array([2])", "list(range(2, 3))"),
    *_right(
        "todo_bug_pair",
        "[[1], [1]]",
        "((0.25, 0.75), (0.25, 0.75))",
        "(__import__('numpy').array([0.5, 0.5]), __import__('numpy').array([0.5, 0.5]))",
        "2 * ([0.1, 0.2, 0.7],)",
    ),
    *_right("quiz_replacement", "'b'", "' B '", "'ABCD'[1]", 'str("B")'),
    *_right("quiz_honest", "'c'", "' C '", "'ABCD'[2]", 'str("C")'),
]

ODD_BUT_RIGHT = [
    *ODD_ACCEPTANCE,
    *ODD_RESIDUAL,
    *ODD_EXPECTED,
    *ODD_STEP,
    *ODD_PROCESS,
    *ODD_SAMPLE,
    *ODD_ANSWERS,
]
