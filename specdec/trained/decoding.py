"""Lesson 4's measurements on the trained pair: passes and decoders, timed in one run.

Times are wall-clock, on one thread. What is compared is interleaved, prompt by prompt, so that a
machine that is busy for a moment slows both sides.
"""

import itertools
import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from specdec.cache_bugs import (
    generate_by_counting,
    keep_draft_as_it_is,
    keep_target_as_it_is,
    program_1,
    program_2,
    program_3,
    program_4,
    roll_back,
)
from specdec.cached_toys import NUMBERS, number_pair
from specdec.model import MODELS, Model, load_model

RECORDED = Path(__file__).parents[1] / "data" / "decoding.json"

DRAFTS = {"plain draft": "draft", "distilled draft": "draft_distilled"}
PREFIX = 64
FEW_ROUNDS = 10  # a place tested less often is printed and not drawn


@dataclass(frozen=True)
class Trained:
    """The trained target and its two drafts, {name: model}."""

    target: Model
    drafts: dict[str, Model]


def load_trained() -> Trained:
    """Load the models that the course ships."""
    drafts = {name: load_model(folder) for name, folder in DRAFTS.items()}
    return Trained(load_model("target"), drafts)


def heldout_prompts(tokenizer, number: int, length: int = 24) -> list[list[int]]:
    """Return `number` prompts of `length` tokens from text that no model was trained on.

    Each is the beginning of a line long enough, and they are spread over the whole text.
    """
    text = (MODELS / "heldout.txt").read_text(encoding="utf-8").replace("<|endoftext|>", "\n")
    lines = [line for line in text.splitlines() if len(line) > 6 * length]
    step = max(1, len(lines) // number)
    return [tokenizer.encode(line)[:length] for line in lines[::step][:number]]


def three_programs(target: Model, draft: Model, prompt, n_tokens: int, k: int) -> None:
    """Print a text of the pair with both caches rolled back, and with either left as it is."""
    print(f"prompt: {target.tokenizer.decode(prompt)} …\n")
    right = None
    for label, program in (
        ("both caches tidied", roll_back),
        ("target's line missing", keep_target_as_it_is),
        ("draft's line missing", keep_draft_as_it_is),
    ):
        tokens, accepted = generate_by_counting(draft, target, prompt, n_tokens, k, program)
        right = right or tokens
        verdict = "the right text" if tokens == right else "ANOTHER TEXT"
        print(f"{label}: {verdict}, {len(accepted)} passes for {n_tokens} tokens")
        print(f"    … {' '.join(target.tokenizer.decode(tokens).split())}\n")


PROGRAMS = {
    "right": roll_back,
    "program 1": program_1,
    "program 2": program_2,
    "program 3": program_3,
    "program 4": program_4,
}


def program_panels(acceptance_by_position, k: int = 5, n_tokens: int = 60) -> list[tuple]:
    """Run the programs on the number pair from 31 starts; print and return what they show.

    acceptance_by_position  lesson 4's function
    Returns panels for figures.cache.acceptance_panels: (title, shares after a full acceptance,
    shares after a rejection), with None for a place tested in fewer than FEW_ROUNDS rounds.
    """
    draft, target = number_pair()
    starts = [[i, (7 * i + 3) % NUMBERS, i * i % NUMBERS] for i in range(NUMBERS)]
    panels, wanted = [], []
    for label, program in PROGRAMS.items():
        texts, after_full, after_rejection = [], [], []
        for start in starts:
            tokens, accepted = generate_by_counting(draft, target, start, n_tokens, k, program)
            texts.append(tokens)
            for before, count in itertools.pairwise(accepted):
                (after_full if before == k else after_rejection).append(count)
        wanted = wanted or texts
        right = texts == wanted
        shares = [acceptance_by_position(c, k) for c in (after_full, after_rejection)]
        print(f"{label:<10} text {'right' if right else 'WRONG'}")
        drawn = []
        for name, counts, part in (
            ("after full acceptance", after_full, shares[0]),
            ("after a rejection", after_rejection, shares[1]),
        ):
            tested = [sum(count >= place for count in counts) for place in range(k)]
            print(f"   {name:<21}", shares_text(part))
            print(f"   {'  tested in rounds':<21}", " ".join(f"{number:>4}" for number in tested))
            pairs = zip(part, tested, strict=True)
            drawn.append([share if number >= FEW_ROUNDS else None for share, number in pairs])
        panels.append((f"{label}\ntext {'right ✓' if right else 'WRONG ✗'}", *drawn))
    return panels


def shares_text(shares) -> str:
    """Shares with two digits in columns, a dash for None."""
    return " ".join("   –" if share is None else f"{share:.2f}" for share in shares)


def perfect_draft(acceptance_by_position, k: int = 5, n_tokens: int = 60) -> None:
    """Print each program's acceptance by position when the target is its own draft."""
    _, target = number_pair()
    for label, program in PROGRAMS.items():
        _, accepted = generate_by_counting(target, target, [3, 1], n_tokens, k, program)
        print(f"{label:<10}", shares_text(acceptance_by_position(accepted, k)))


def logit_difference(cache_class, pieces, wrong: int) -> None:
    """Print how far cached logits of the float64 target lie from those of one uncached pass.

    pieces  lengths of the pieces in which the text is read with the cache; before the last piece,
            `wrong` other tokens are read and cropped away again
    """
    target = load_model("target", np.float64)
    text = heldout_prompts(target.tokenizer, 1, sum(pieces))[0]
    wanted = target(np.array([text]))[0]
    cache, start = cache_class(target.config.layers), 0
    for number, length in enumerate(pieces, 1):
        if number == len(pieces):
            target(np.array([text[:wrong]]), cache)
            cache.crop(start)
            print(f"{wrong} wrong tokens read, and cropped away")
        piece = text[start : start + length]
        got = target(np.array([piece]), cache)[0]
        difference = np.abs(got - wanted[start : start + length]).max()
        print(f"piece {number}, {length:>2} tokens: logits differ by at most {difference:.0e}")
        start += length


def greedy_uncached(model, prompt, n_tokens):
    tokens = list(prompt)
    for _ in range(n_tokens):
        logits = model(np.array([tokens]))  # all rows, each time
        tokens.append(int(logits[0, -1].argmax()))
    return tokens[len(prompt) :]


def greedy_cached(model, cache, prompt, n_tokens):
    tokens, unread = list(prompt), list(prompt)
    for _ in range(n_tokens):
        logits = model(np.array([unread]), cache)  # only what is new
        unread = [int(logits[0, -1].argmax())]
        tokens += unread
    return tokens[len(prompt) :]


def seconds_per_pass(model: Model, rows, repeats: int = 25) -> dict[int, float]:
    """Return {m: least seconds of a pass over m new tokens} after PREFIX cached ones.

    The repeats are interleaved; the least is what a busy machine disturbs least.
    """
    longest = max(rows)
    ids = np.arange(PREFIX + longest)[None] % model.config.vocab_size
    cache = model.new_cache()
    model(ids[:, :PREFIX], cache)
    times = {m: [] for m in rows}
    for _ in range(repeats):
        for m in rows:
            cache.crop(PREFIX)
            start = time.perf_counter()
            model(ids[:, PREFIX : PREFIX + m], cache)
            times[m].append(time.perf_counter() - start)
    return {m: min(seconds) for m, seconds in times.items()}


class Timed:
    """A model that adds up the seconds and the number of its passes."""

    def __init__(self, model: Model):
        self.model, self.seconds, self.passes = model, 0.0, 0

    def __call__(self, token_ids, cache=None):
        start = time.perf_counter()
        logits = self.model(token_ids, cache)
        self.seconds += time.perf_counter() - start
        self.passes += 1
        return logits


@dataclass
class Result:
    """One decoder's run over all prompts; draft "" and k 0 stand for plain decoding."""

    draft: str
    k: int
    seconds: float = 0.0
    target_seconds: float = 0.0
    draft_seconds: float = 0.0
    tokens: int = 0
    accepted: list[int] = field(default_factory=list)
    texts: list[list[int]] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        return len(self.accepted)

    @property
    def acceptance(self) -> float:
        """Accepted over tested guesses, the a of the formula."""
        rejections = sum(count < self.k for count in self.accepted)
        return sum(self.accepted) / max(1, sum(self.accepted) + rejections)

    @property
    def mean_acceptance_length(self) -> float:
        """Emitted tokens a pass, uncut: accepted guesses and one of the target's own."""
        return sum(self.accepted) / self.rounds + 1

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds


def race(generate, target, drafts, prompts, n_tokens: int, ks) -> list[Result]:
    """Run plain cached decoding and `generate` with each draft and k; plain comes first.

    generate  lesson 4's speculative_generate_cached
    """
    results = [Result("", 0)]
    results += [Result(name, k) for name in drafts for k in ks]
    for prompt in prompts:
        for result in results:
            _run_once(result, generate, target, drafts.get(result.draft), prompt, n_tokens)
    return results


def _run_once(result: Result, generate, target, draft, prompt, n_tokens) -> None:
    timed_target, timed_draft = Timed(target), Timed(draft)
    start = time.perf_counter()
    if draft is None:
        text, accepted = greedy_cached(timed_target, target.new_cache(), prompt, n_tokens), []
    else:
        caches = draft.new_cache(), target.new_cache()
        text, accepted = generate(timed_draft, timed_target, *caches, prompt, n_tokens, result.k)
    result.seconds += time.perf_counter() - start
    result.target_seconds += timed_target.seconds
    result.draft_seconds += timed_draft.seconds
    result.tokens += len(text)
    result.accepted += accepted
    result.texts.append(text)


@dataclass(frozen=True)
class Steps:
    """From the simple formula to the measured ratio: each step puts a measured number in."""

    simple: float  # a pass over k + 1 rows costs as much as one over 1
    with_pass_cost: float  # it costs t(k + 1) / t(1)
    with_counted_tokens: float  # tokens a round as counted, not from the formula
    measured: float  # wall-clock

    @property
    def values(self) -> list[float]:
        return [self.simple, self.with_pass_cost, self.with_counted_tokens, self.measured]

    @property
    def changes(self) -> list[float]:
        """What each of the three steps adds."""
        return [b - a for a, b in itertools.pairwise(self.values)]


def steps(result: Result, plain: Result, pass_seconds: dict, draft_seconds: float) -> Steps:
    """Compare a result with both formulas.

    pass_seconds   the target's seconds by rows, with 1 and k + 1 among them
    draft_seconds  the draft's seconds for one row
    """
    k, a = result.k, result.acceptance
    cost = draft_seconds / pass_seconds[1]
    wide = pass_seconds[k + 1] / pass_seconds[1]
    expected = sum(a**i for i in range(k + 1))
    return Steps(
        simple=expected / (1 + k * cost),
        with_pass_cost=expected / (wide + k * cost),
        with_counted_tokens=result.tokens / result.rounds / (wide + k * cost),
        measured=plain.seconds / result.seconds,
    )


def cache_bytes_per_token(config, bytes_per_number: int = 4) -> int:
    """Bytes that a cache needs for one position: keys and values of every layer."""
    return 2 * config.layers * config.kv_heads * config.head_dim * bytes_per_number


def compare_plain(greedy_without, greedy_with, target: Model, prompt, n_tokens: int) -> None:
    """Print the seconds of plain decoding without and with a cache."""
    start = time.perf_counter()
    without = greedy_without(target, prompt, n_tokens)
    between = time.perf_counter()
    cached = greedy_with(target, target.new_cache(), prompt, n_tokens)
    seconds = between - start, time.perf_counter() - between
    print(f"without a cache  {seconds[0]:.2f} s for {n_tokens} tokens")
    print(f"with a cache     {seconds[1]:.2f} s, {seconds[0] / seconds[1]:.1f} times as fast")
    print("same text:", without == cached)


def cache_sizes(models: dict[str, Model]) -> None:
    """Print what a token costs in each model's cache."""
    for name, model in models.items():
        print(f"{name}: {cache_bytes_per_token(model.config):,} bytes a token in its cache")


def relative_costs(pass_seconds: dict, draft_seconds: float) -> dict[int, float]:
    """Print and return t(m) / t(1) for the rows m of a pass."""
    one = pass_seconds[1]
    costs = {m: seconds / one for m, seconds in pass_seconds.items()}
    print(
        f"one row: target {1000 * one:.1f} ms, draft {1000 * draft_seconds:.2f} ms, "
        f"so c = {draft_seconds / one:.3f}"
    )
    print("rows:", *[f"{m:>5}" for m in costs])
    print("cost:", *[f"{cost:5.2f}" for cost in costs.values()])
    return costs


def product_costs(target: Model, rows: int = 4, repeats: int = 15) -> None:
    """Print the time of one matrix product of each layer: 1 row, several at once, one by one."""
    matrices = [layer.gate for layer in target.params.layers]
    x = np.ones((rows, target.config.width), matrices[0].dtype)
    ways = {
        "1 row": lambda matrix: x[:1] @ matrix,
        f"{rows} rows in one product": lambda matrix: x @ matrix,
        f"{rows} rows, one after the other": lambda matrix: [row @ matrix for row in x],
    }
    times = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            start = time.perf_counter()
            for matrix in matrices:
                way(matrix)
            times[name].append(time.perf_counter() - start)
    one = min(times["1 row"])
    print(f"{len(matrices)} matrices of {matrices[0].shape[0]} x {matrices[0].shape[1]} numbers:")
    for name, seconds in times.items():
        least = min(seconds)
        print(f"  {name:<30}{1e6 * least:7.0f} µs  {least / one:5.2f} times one row")


def print_race(results: list[Result], pass_seconds: dict, draft_seconds: float) -> None:
    """Print a row for each decoder: acceptance, tokens a pass, both formulas, and the clock."""
    plain = results[0]
    print(f"without a draft: {plain.tokens_per_second:.0f} tokens a second")
    print("                      tokens   simple   with the price   clock   same")
    print("draft         k    a  a pass  formula      of a pass     ratio   text")
    for result in results[1:]:
        found = steps(result, plain, pass_seconds, draft_seconds)
        same = "yes" if result.texts == plain.texts else "NO"
        print(
            f"{result.draft.removesuffix(' draft'):<12} {result.k:>2}  {result.acceptance:.2f}"
            f"   {result.mean_acceptance_length:.2f}    {found.simple:.2f}x"
            f"        {found.with_pass_cost:.2f}x       {found.measured:.2f}x    {same}"
        )


def find(results: list[Result], draft: str, k: int) -> Result:
    """Return the result of one draft and k.

    Raises NotImplementedError when there are no results: the race needs the learner's generator.
    """
    if not results:
        raise NotImplementedError("speculative_generate_cached is not written yet")
    return next(r for r in results if (r.draft, r.k) == (draft, k))


def explain(found: Steps, result: Result, plain: Result, pass_seconds: dict) -> None:
    """Print what each step from the formula to the clock takes or gives, and where time went."""
    disagree = found.changes[-1] > 0  # prompts and Python can only take time
    names = (
        f"a pass of {result.k + 1} rows costs "
        f"{pass_seconds[result.k + 1] / pass_seconds[1]:.2f} passes of one",
        "tokens a round as counted, the last round cut",
        "the timings disagree; run again when the machine is quieter"
        if disagree
        else "the rest: prompts, Python between passes, a busy machine",
    )
    print(f"{found.simple:5.2f}x  the simple formula")
    for name, change in zip(names, found.changes, strict=True):
        print(f"{change:+5.2f}   {name}".replace("-", "−", 1))
    print(f"{found.measured:5.2f}x  the clock")
    sizes = [abs(change) for change in found.changes[: 2 if disagree else 3]]
    print(f"The largest step: {names[sizes.index(max(sizes))]}.")
    rest = result.seconds - result.target_seconds - result.draft_seconds
    print(
        f"Of {result.seconds:.2f} s, {percent(result.target_seconds, result.seconds)} went to the "
        f"target, {percent(result.draft_seconds, result.seconds)} to the draft, "
        f"{percent(rest, result.seconds)} to the loop around them."
    )


def percent(part: float, whole: float) -> str:
    """A share as text, without digits after the point."""
    return f"{100 * part / whole:.0f} %"


def recorded() -> dict:
    """Return the recorded run of benchmarks/decoding.py; its pass costs have whole numbers."""
    run = json.loads(RECORDED.read_text(encoding="utf-8"))
    run["pass_costs"] = {int(m): cost for m, cost in run["pass_costs"].items()}
    return run


def print_recorded() -> None:
    """Print the recorded run: decoding without a draft, then the best k of each draft."""
    run = recorded()
    print(f"{run['machine']}, {run['date']}, {run['prompts']} prompts of held-out text")
    plain = max(row["tokens_per_second"] for row in run["rows"] if row["k"] == 0)
    print(f"best without a draft: {plain:.0f} tokens a second")
    for draft in DRAFTS:
        rows = [
            row for row in run["rows"] if row["draft"] == draft and row["code"] != "transformers"
        ]
        best = max(rows, key=lambda row: row["tokens_per_second"])
        print(
            f"{draft}, best k = {best['k']}: a = {best['acceptance']:.2f}, simple formula "
            f"{best['simple']:.2f}x, with the price of a pass {best['with_pass_cost']:.2f}x, "
            f"clock {best['ratio']:.2f}x"
        )
