"""Lesson 6 on the trained pair: drafts of every kind behind one interface, and one exact loop.

A draft has a `name` and `propose(token_ids, hidden, k)`, which returns at most k guesses for the
tokens that follow. token_ids is the text so far; hidden (n, d) are the target's rows after its
last norm, for the n tokens that it has read: none at first, later all but the newest. A draft may
keep what it computed before, and must give the same guesses as if it had kept nothing.

Whatever a draft proposes, `generate` returns the target's own greedy text. Seconds are CPU time of
this process, on one thread: what other programs take is not counted.
"""

import json
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from specdec.model import MODELS, Model, load_model, softmax
from specdec.trained.decoding import Result, greedy_cached, heldout_prompts
from specdec.trained.sampled import common_length

SAMPLES = MODELS / "samples.npz"
RECORDED = Path(__file__).parents[1] / "data" / "drafts.json"
ENGINES = Path(__file__).parents[1] / "data" / "engines.json"
WINDOW = 256  # tokens that the target reads at once along a text
WRITTEN_WINDOW = 224  # each text of the written sample has so many tokens
N_GRAM = 3  # tokens of an n-gram, the guess included
LOOKUP = 3  # longest n-gram that prompt lookup looks for
HEADS = 4
FIT_TOKENS = 18 * WRITTEN_WINDOW  # tokens along which the heads are fitted
RIDGE = 10.0


def training_sample() -> np.ndarray:
    """Token ids of about 100,000 tokens of text that the models were trained on."""
    with np.load(SAMPLES) as samples:
        return samples["training"].astype(int)


def written_sample() -> np.ndarray:
    """Token ids of about 60,000 tokens that the target wrote itself, greedily and by sampling."""
    with np.load(SAMPLES) as samples:
        return samples["written"].astype(int)


def hidden_along(target: Model, token_ids, window: int = WINDOW) -> np.ndarray:
    """Return the target's rows (n, d) along token_ids (n,), read in windows."""
    parts = [token_ids[at : at + window] for at in range(0, len(token_ids), window)]
    return np.concatenate([target.hidden(part[None]) for part in parts])


@cache
def sample_features(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (token_ids (count,), hidden (count, d)): the target along the training sample."""
    token_ids = training_sample()[:count]
    return token_ids, hidden_along(load_model("target"), token_ids)


@cache
def written_features(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (token_ids (count,), hidden (count, d)): the target along text that it wrote."""
    token_ids = written_sample()[:count]
    return token_ids, hidden_along(load_model("target"), token_ids, WRITTEN_WINDOW)


class ModelDraft:
    """A small model of its own, with a cache; it never sees the target's rows."""

    def __init__(self, name: str, model: Model):
        self.name, self.model = name, model
        self.cache, self.seen = model.new_cache(), []

    def propose(self, token_ids, hidden, k: int) -> list[int]:
        """Return k guesses."""
        guesses = []
        self.cache.crop(min(len(self.cache), common_length(self.seen, token_ids[:-1])))
        while len(guesses) < k:
            unread = [*token_ids, *guesses][len(self.cache) :]
            logits = self.model(np.array([unread]), self.cache)[0, -1]
            guesses.append(int(logits.argmax()))
        self.seen = [*token_ids, *guesses][: len(self.cache)]
        return guesses


@dataclass
class Run(Result):
    """One draft's run over all prompts; `drafted` are the guesses of each round."""

    drafted: list[int] = field(default_factory=list)

    @property
    def acceptance(self) -> float:
        """Accepted over tested guesses, the a of the formula; NaN without any guess."""
        pairs = zip(self.accepted, self.drafted, strict=True)
        tested = sum(min(count + 1, drafted) for count, drafted in pairs)
        return sum(self.accepted) / tested if tested else float("nan")

    def add(self, one: "Run") -> None:
        """Take in the run of another text."""
        for name in ("seconds", "target_seconds", "draft_seconds", "tokens"):
            setattr(self, name, getattr(self, name) + getattr(one, name))
        for name in ("accepted", "drafted", "texts"):
            getattr(self, name).extend(getattr(one, name))

    @property
    def ledger(self) -> str:
        """The one line that all lessons use."""
        return (
            f"rounds {self.rounds} · drafted {sum(self.drafted)} · "
            f"accepted {sum(self.accepted)} · emitted {self.tokens}"
        )


def generate(target: Model, draft, prompt, n_tokens: int, k: int) -> Run:
    """Write n_tokens after the prompt: the target's greedy text, whatever the draft proposes.

    The last round drafts no more than there is room for, so that nothing has to be cut.
    Returns a Run of one text.
    """
    run = Run(draft.name, k)
    start = time.process_time()
    cache, tokens, end = target.new_cache(), list(prompt), len(prompt) + n_tokens
    hidden = np.empty((target.config.context, target.config.width), target.params.embedding.dtype)
    while len(tokens) < end:
        read = len(cache)
        begin = time.process_time()
        guesses = list(draft.propose(tokens, hidden[:read], min(k, end - len(tokens) - 1)))
        between = time.process_time()
        rows = target.hidden(np.array([tokens[read:] + guesses]), cache)
        choices = target.logits(rows[-len(guesses) - 1 :]).argmax(axis=-1).tolist()
        run.target_seconds += time.process_time() - between
        run.draft_seconds += between - begin
        accepted = common_length(guesses, choices)
        hidden[read : len(cache)] = rows
        tokens += choices[: accepted + 1]
        cache.crop(len(tokens) - 1)
        run.accepted.append(accepted)
        run.drafted.append(len(guesses))
    run.seconds = time.process_time() - start
    run.texts, run.tokens = [tokens[len(prompt) :]], n_tokens
    return run


class NGram:
    """Lesson 6's NGramDraft behind this module's interface."""

    def __init__(self, name: str, token_ids, n: int = N_GRAM):
        from specdec.reference.lesson_06 import NGramDraft

        self.name, self.table = name, NGramDraft([int(token) for token in token_ids], n)

    def propose(self, token_ids, hidden, k: int) -> list[int]:
        """Return k guesses."""
        return self.table.propose(token_ids[-self.table.n :], k)


class Lookup:
    """Lesson 6's prompt_lookup, for the longest n-gram that occurred before, down to one token."""

    name = "prompt lookup"

    def propose(self, token_ids, hidden, k: int) -> list[int]:
        """Return up to k guesses; none where nothing matches."""
        from specdec.reference.lesson_06 import prompt_lookup

        found = (prompt_lookup(token_ids, n, k) for n in range(LOOKUP, 0, -1))
        return next((guesses for guesses in found if guesses), [])


class Heads:
    """Medusa-style heads: each guesses one place further from the target's newest row."""

    name = "heads"

    def __init__(self, heads):
        self.heads = heads

    def propose(self, token_ids, hidden, k: int) -> list[int]:
        """Return up to k guesses, one for each head; none before the target has read anything."""
        from specdec.reference.lesson_06 import propose_with_heads

        return propose_with_heads(hidden[-1:], 0, self.heads[:k]) if len(hidden) else []


def fit_heads(token_rows, embedding, count: int = HEADS, window: int = WINDOW) -> list[np.ndarray]:
    """Fit heads by least squares: from a row of the target, what it says further on.

    token_rows  (n, d), the target's rows along a text that was read in windows
    embedding   (V, d), the target's embedding, which is its own head transposed
    window      tokens of a window; no head is asked to look beyond its end

    Head i learns the target's probabilities for the token i + 2 places on: the target's own token
    comes first. Returns `count` arrays (d, V).
    """
    places, probs = np.arange(len(token_rows)) % window, softmax(token_rows @ embedding.T)
    heads = []
    for ahead in range(1, count + 1):
        start = np.flatnonzero(places[: len(token_rows) - ahead] + ahead < window)
        now = token_rows[start]
        gram = now.T @ now + RIDGE * np.eye(now.shape[1], dtype=now.dtype)
        heads.append(np.linalg.solve(gram, now.T @ probs[start + ahead]))
    return heads


@cache
def fitted_heads() -> list[np.ndarray]:
    """Heads for the shipped target, fitted on text that it wrote: some seconds, once."""
    rows = written_features(FIT_TOKENS)[1]
    return fit_heads(rows, load_model("target").params.embedding, window=WRITTEN_WINDOW)


def five_drafts() -> list:
    """The drafts of the race, in its order."""
    return [
        NGram("n-gram", training_sample()),
        Lookup(),
        ModelDraft("small model", load_model("draft")),
        ModelDraft("distilled model", load_model("draft_distilled")),
        Heads(fitted_heads()),
    ]


def all_drafts(target: Model) -> list:
    """The five, an n-gram of what the target wrote itself, and the EAGLE-style draft."""
    from specdec.trained.eagle import EagleDraft

    return [
        *five_drafts(),
        NGram("n-gram of the target's text", written_sample()),
        EagleDraft(target),
    ]


def race_drafts(target: Model, drafts, prompts, n_tokens: int, ks) -> list[Run]:
    """Run plain cached decoding and `generate` with each draft and k; plain comes first.

    Runs are interleaved prompt by prompt, so that a busy moment slows all of them.
    """
    runs = [Run("", 0), *(Run(draft.name, k) for draft in drafts for k in ks)]
    by_name = {draft.name: draft for draft in drafts}
    for prompt in prompts:
        for run in runs:
            if run.k == 0:
                _add_plain(run, target, prompt, n_tokens)
            else:
                run.add(generate(target, by_name[run.draft], prompt, n_tokens, run.k))
    return runs


def _add_plain(run: Run, target, prompt, n_tokens: int) -> None:
    start = time.process_time()
    run.texts.append(greedy_cached(target, target.new_cache(), prompt, n_tokens))
    run.seconds += time.process_time() - start
    run.tokens += n_tokens


def pass_costs(target: Model, rows=range(1, 10), repeats: int = 9) -> list[float]:
    """Return t(m) / t(1) of a pass of the target over m new rows, and t(1) in seconds last.

    64 tokens are cached before. The repeats are interleaved, and the middle time counts.
    """
    ids, cache = np.arange(64 + max(rows))[None] % target.config.vocab_size, target.new_cache()
    target(ids[:, :64], cache)
    took = {m: [] for m in rows}
    for _ in range(repeats):
        for m in rows:
            cache.crop(64)
            start = time.process_time()
            target(ids[:, 64 : 64 + m], cache)
            took[m].append(time.process_time() - start)
    middle = {m: float(np.median(times)) for m, times in took.items()}
    return [middle[m] / middle[1] for m in rows] + [middle[1]]


def guess_cost(run: Run, pass_seconds: float) -> float:
    """Return c: what one guess of a run cost, in passes of the target over one row."""
    return run.draft_seconds / max(1, sum(run.drafted)) / pass_seconds


def guesses_along(draft, prompt: list[int], text: list[int], hidden, count: int) -> list[list[int]]:
    """Return what a draft would guess at every place of the target's text, `count` tokens each.

    hidden  the target's rows along prompt and text; at the first place it has read nothing yet,
            as in `generate`
    """
    rows = []
    for place in range(len(text)):
        seen = [*prompt, *text[:place]]
        read = hidden[: len(seen) - 1] if place else hidden[:0]
        rows.append([int(token) for token in draft.propose(seen, read, count)])
    return rows


def eagle_gallery(prompts=None, n_tokens: int = 48, k: int = 4) -> None:
    """Run the EAGLE-style draft beside the distilled one, and print what comes out.

    prompts  lists of token ids; by default three beginnings of held-out paragraphs
    """
    from specdec.trained.eagle import EagleDraft

    target = load_model("target")
    prompts = prompts or heldout_prompts(target.tokenizer, 3)
    eagle = EagleDraft(target)
    drafts = [ModelDraft("distilled model", load_model("draft_distilled")), eagle]
    plain, *runs = race_drafts(target, drafts, prompts, n_tokens, [k])
    print(f"{len(prompts)} held-out prompts x {n_tokens} tokens, k = {k}")
    print(f"{'draft':<17}{'weights':>9}{'α':>7}{'tokens a pass':>15}{'clock':>8}   same text")
    sizes = [drafts[0].model.size, eagle.params.size]
    for run, size in zip(runs, sizes, strict=True):
        print(
            f"{run.draft:<17}{size:>9,}{run.acceptance:>7.2f}{run.mean_acceptance_length:>15.2f}"
            f"{plain.seconds / run.seconds:>7.2f}x   {'yes' if run.texts == plain.texts else 'NO'}"
        )
    print(
        "\nWhat this small EAGLE leaves out: a tree of guesses (EAGLE), a tree chosen by\n"
        "confidence (EAGLE-2), rows from three depths of the target (EAGLE-3), and far more\n"
        "training text."
    )


def recorded() -> dict:
    """Return the recorded run of benchmarks/drafts.py."""
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def print_drafts_run() -> None:
    """Print the recorded run: each draft at its best k, against the best plain decoder."""
    run = recorded()
    print(f"{run['machine']}, {run['date']}")
    print(
        f"{run['prompts']} held-out prompts x {run['tokens']} tokens; best plain decoder: ", end=""
    )
    print(f"{run['plain']:.0f} tokens a second")
    print(
        f"{'draft':<28}{'k':>3}{'α':>7}{'c':>7}{'length':>8}{'priced':>8}{'clock':>8}   same text"
    )
    for row in best_rows(run):
        same = f"{row['same_text']} of {run['prompts']}"
        print(
            f"{row['draft']:<28}{row['k']:>3}{row['acceptance']:>7.2f}{row['cost']:>7.3f}"
            f"{row['mean_acceptance_length']:>8.2f}{row['priced']:>7.2f}x{row['ratio']:>7.2f}x"
            f"   {same}"
        )


def best_rows(run: dict) -> list[dict]:
    """The fastest row of each draft, the fastest draft first."""
    best = {}
    for row in run["rows"]:
        if row["draft"] not in best or row["ratio"] > best[row["draft"]]["ratio"]:
            best[row["draft"]] = row
    return sorted(best.values(), key=lambda row: -row["ratio"])


def show_limits(goal: float = 2.5) -> None:
    """Draw the recorded run in three stages, and print what keeps the fastest draft from the goal.

    goal  a speedup against the best plain decoder
    """
    from specdec.figures import show
    from specdec.figures.drafts import limits_alt, limits_figure

    run = recorded()
    rows = best_rows(run)
    show(limits_figure(rows, goal), alt=limits_alt(rows))
    best = rows[0]
    wide = run["pass_costs"][best["code"]][best["k"]]
    print(f"fastest: {best['draft']}, k = {best['k']}: {best['ratio']:.2f}x by the clock")
    print(f"a pass over {best['k'] + 1} rows costs {wide:.2f} passes over one on this machine;")
    print(f"if it cost 1, the same guesses would give {best['flat']:.2f}x (c = {best['cost']:.3f})")


def print_engines() -> None:
    """Print what real engines did with the course's pair, and what each of them says itself."""
    found = json.loads(ENGINES.read_text(encoding="utf-8"))
    print(
        f"{'engine':<26}{'draft':<24}{'same text':<11}{'rounds':>7}{'drafted':>9}{'accepted':>10}"
    )
    for row in found["rows"]:
        same = f"{row['same_text']} of {row['texts']}"
        print(f"{row['engine']:<26}{row['draft']:<24}{same:<11}{counts_text(row)}")
        if row["ours"]:
            print(f"{'':<26}{'our loop':<35}{counts_text(row['ours'])}")
        for line in row["prints"]:
            print(f"    prints: {line}")
    print(f"recorded {found['date']}; – is not counted. Each engine ran on the weights of its day,")
    print("so compare a row with our loop's row below it, not with another engine's.")


def counts_text(row: dict) -> str:
    """Rounds, drafted and accepted in columns."""
    rounds, drafted, accepted = (row.get(name, "–") for name in ("rounds", "drafted", "accepted"))
    return f"{rounds:>7}{drafted:>9}{accepted:>10}"
