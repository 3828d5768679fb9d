"""Lesson 6 on the trained pair: the learner's drafts at work, and trees of guesses.

A draft that gives one chain of guesses runs in specdec.trained.drafts.generate. A tree needs a mask
and a cache that keeps one path of it; that loop stands here.
"""

import time
from collections.abc import Callable

import numpy as np

from specdec.model import Model, load_model
from specdec.trained.decoding import heldout_prompts
from specdec.trained.distilling import heldout_tokens
from specdec.trained.drafts import (
    WINDOW,
    WRITTEN_WINDOW,
    Run,
    fit_heads,
    hidden_along,
    race_drafts,
    training_sample,
    written_features,
    written_sample,
)

FIDELITY_TOKENS = 2 * WINDOW
HEADS_TOKENS = 14 * WRITTEN_WINDOW


class AsDraft:
    """A learner's function as a draft for `generate`: guess(token_ids, hidden, k) -> list."""

    def __init__(self, name: str, guess: Callable):
        self.name, self.propose = name, guess


def rows_for_fidelity() -> dict[str, dict[str, np.ndarray]]:
    """Logits of the target and both drafts along two texts, {text: {model: (T, V)}}.

    "held-out text" was written by people; "the target's own text" by the target.
    """
    texts = {
        "held-out text": heldout_tokens()[:FIDELITY_TOKENS],
        "the target's own text": written_sample()[:FIDELITY_TOKENS],
    }
    models = {name: load_model(name) for name in ("target", "draft", "draft_distilled")}
    return {
        label: {
            name: model.logits(hidden_along(model, token_ids)) for name, model in models.items()
        }
        for label, token_ids in texts.items()
    }


def lesson_prompts(number: int = 3) -> list[list[int]]:
    """Beginnings of held-out paragraphs."""
    return heldout_prompts(load_model("target").tokenizer, number)


def print_runs(drafts, n_tokens: int = 48, k: int = 4, prompts=None) -> list[Run]:
    """Decode with each draft; print α, length, ledger, clock and whether the text is the same."""
    target = load_model("target")
    prompts = prompts or lesson_prompts()
    plain, *runs = race_drafts(target, drafts, prompts, n_tokens, [k])
    print(f"{len(prompts)} texts of {n_tokens} tokens, k = {k}")
    for run in runs:
        print_run(run, plain)
    return runs


def print_run(run: Run, plain: Run) -> None:
    """One draft in two lines: its numbers, and the ledger."""
    same = "same text" if run.texts == plain.texts else "ANOTHER TEXT"
    print(
        f"{run.draft:<26} α {run.acceptance:.2f}   tokens a pass {run.mean_acceptance_length:.2f}"
        f"   clock {plain.seconds / run.seconds:.2f}x   {same}"
    )
    print(f"    {run.ledger}")


def tree_of_heads(row, heads, widths) -> tuple[list[int], list[int]]:
    """Guesses of a tree: below each node at depth i the widths[i] likeliest tokens of head i.

    row  (d,), the target's row that gave its newest token. Returns (tokens, parents) without the
    token of node 0, whose parent -1 is included.
    """
    tokens, parents, level = [], [-1], [0]
    for head, width in zip(heads, widths, strict=False):
        best = np.argsort(-(row @ head), kind="stable")[:width].tolist()
        below = []
        for node in level:
            for token in best:
                tokens.append(token)
                parents.append(node)
                below.append(len(tokens))
        level = below
    return tokens, parents


def heads_for(count: int = 3) -> list[np.ndarray]:
    """Heads (d, V) for the shipped target, fitted on 3,136 tokens that it wrote."""
    rows = written_features(HEADS_TOKENS)[1]
    return fit_heads(rows, load_model("target").params.embedding, count, window=WRITTEN_WINDOW)


def depths_of(parents) -> np.ndarray:
    """How many steps below node 0 each node stands."""
    depths = [0]
    for parent in parents[1:]:
        depths.append(depths[parent] + 1)
    return np.array(depths)


def tree_pass(target: Model, cache, token_ids, parents, mask) -> np.ndarray:
    """One pass over a tree; node 0 follows the cached text. Returns the target's rows (n, d)."""
    start, count = len(cache), len(token_ids)
    sees = np.concatenate([np.ones((count, start), bool), np.asarray(mask, bool)], axis=1)
    positions = start + depths_of(parents)
    return target.hidden(np.array([token_ids]), cache, sees, positions)


def generate_with_tree(
    target, heads, widths, prompt, n_tokens, verify_tree, tree_mask, name="tree of heads"
) -> Run:
    """Write n_tokens after the prompt with a tree of guesses in each round.

    widths  how many of each head's tokens to try; (1, 1, 1) is a chain
    Returns a Run of one text: the target's greedy text, if verify_tree and tree_mask are right.
    """
    run = Run(name, len(widths))
    start = time.process_time()
    cache, tokens, end = target.new_cache(), list(prompt), len(prompt) + n_tokens
    row = target.hidden(np.array([tokens]), cache)[-1]
    tokens.append(int(target.logits(row[None])[0].argmax()))
    run.accepted.append(0)
    run.drafted.append(0)
    while len(tokens) < end:
        guesses, parents = tree_of_heads(row, heads, widths)
        nodes, read = [tokens[-1], *guesses], len(cache)
        rows = tree_pass(target, cache, nodes, parents, tree_mask(parents))
        choices = target.logits(rows).argmax(axis=-1).tolist()
        emitted, path = verify_tree(nodes, parents, choices)
        cache.keep(read, path)
        row = rows[path[-1]]
        tokens += emitted
        run.accepted.append(len(path) - 1)
        run.drafted.append(len(guesses))
    run.seconds = time.process_time() - start
    run.texts, run.tokens = [tokens[len(prompt) : end]], n_tokens
    return run


def print_trees(heads, trees, verify_tree, tree_mask, n_tokens: int = 32, prompts=None) -> None:
    """Decode with trees of several shapes; print tokens a pass, the clock, and the text's fate."""
    target = load_model("target")
    prompts = prompts or lesson_prompts()
    plain = race_drafts(target, [], prompts, n_tokens, [])[0]
    print(f"{len(prompts)} texts of {n_tokens} tokens")
    for label, widths in trees.items():
        runs = [
            generate_with_tree(target, heads, widths, prompt, n_tokens, verify_tree, tree_mask)
            for prompt in prompts
        ]
        rounds, accepted = sum(r.rounds for r in runs), sum(sum(r.accepted) for r in runs)
        same = [run.texts[0] for run in runs] == plain.texts
        guesses = max(max(run.drafted) for run in runs)
        print(
            f"{label:<22} {guesses:>2} guesses a pass   tokens a pass {1 + accepted / rounds:.2f}"
            f"   clock {plain.seconds / sum(r.seconds for r in runs):.2f}x   "
            f"{'same text' if same else 'ANOTHER TEXT'}"
        )


def ngram_race(draft_class, n: int = 3) -> None:
    """Decode with two tables of the learner's class: of people's text, and of the target's own."""
    tables = {
        "n-gram, people's text": draft_class(training_sample().tolist(), n),
        "n-gram, target's text": draft_class(written_sample().tolist(), n),
    }
    print_runs(
        [
            AsDraft(name, lambda tokens, rows, k, table=table: table.propose(tokens[-n:], k))
            for name, table in tables.items()
        ]
    )
