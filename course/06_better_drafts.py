# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   specdec:
#     title: Better drafts
#     points: 20
# ---

# %% [markdown]
# # Lesson 6 · Better drafts
#
# **Where do good guesses come from?**
#
# {{minutes}} minutes in three parts, and some more for the gallery at the end: A, guesses from counting, {{minutes_A}}; B, guesses from a
# teacher, {{minutes_B}}; C, guesses from the target itself, and many at once, {{minutes_C}}. The
# places to stop are marked · {{points}} points, and a project of your own.
# You must have done lessons 1, 2 and 4, and know Python with lists, dicts and NumPy arrays. Lessons 3
# and 5 are best done before; what is used of them here is explained again.

# %% [markdown] only="solution"
# **This is the worked solution** of
# [the lesson](../../lessons/06_better_drafts/06_better_drafts.ipynb), with the questions repeated,
# the answers, why they are so, and what the usual wrong turns give.
#
# **Ten minutes only?** The rule: a draft must resemble the target, not the truth. The number: the text
# says A in 80 of 100 cases, the target believes 60; a draft that learnt from the text overlaps with
# the target by 0.8, one that learnt from the target by 1. The three mistakes: a lookup that finds
# itself and never guesses, heads that read a row which has seen rejected guesses, a tree whose
# branches see each other. Read *Predict first*, *A draft must resemble the target*, *Heads* and *Trees
# of guesses*.
#
# **Your own notebook**, with all checks, the hidden ones included:
# `autograder check lessons/06_better_drafts/06_better_drafts.ipynb`.

# %% [markdown] part="A"
# ## What you will be able to do
#
# - **Measure** how well a draft resembles its target, before you decode with it.
# - **Write** drafts that need no network: counts, and a lookup in the text itself.
# - **Train** a draft on what the target says, and see why that beats training on text.
# - **Guess** from the target's own hidden rows, and verify a whole tree of guesses in one pass.
# - **Judge** what a paper or an engine claims, and run the course's pair in real engines.
#
# Six lessons; A → B means: do A before B.
#
# 1 the rule → 2 one pass of a real model → 4 caches → 5 when it pays → **6 better drafts**
#
# 1 the rule → 3 exact sampling

# %% [markdown]
# Run each cell with <kbd>Shift</kbd> + <kbd>Enter</kbd>. Start with this one.

# %% setup=true
try:
    from specdec.start import start

    start("06_better_drafts")
except ModuleNotFoundError:
    print("This kernel lacks the course. Choose Kernel > Change Kernel, or start with: make lab")

# %% [markdown] minutes=3
# ## Part A: guesses from counting
#
# ## Predict first
#
# One target, five drafts:
#
# | draft | where its guesses come from |
# |---|---|
# | n-gram | counts: what followed these two tokens most often in 100,000 tokens of other text |
# | prompt lookup | the text so far: what followed these tokens the last time |
# | small model | a small network that learnt from text |
# | distilled model | the same network, taught by the target |
# | heads | a few matrices that read the target's own hidden rows |
#
# And three texts: free prose, a passage that is copied with two words changed, and a piece of code. The
# prose is the target's own. The other two are given, for our target is too small to copy on request or to
# write code. The drafts don't know that; what they guess there is real.
#
# **Which draft wins on each text?** The fastest wins: the most tokens a pass, over the price of a round.
# That price is one verifying pass, the dearer the more guesses it reads, and c for each guess. Choose
# below before you read on. Then play: change the text and k, and look at which tokens each draft got right.
#
# *No picture below? Run the next cell.*

# %% [raw] widget="race"
# kind: DraftRace

# %% [markdown]
# Code can read the player. Choose another text, then run this again. Before you have chosen, the
# results are None.

# %%
print("text shown:    ", race.shown_text, " k =", race.k)
print("your picks:    ", race.picks)
print("acceptance:    ", race.alpha)
print("tokens a pass: ", race.tokens_per_pass)
print("cost of a step:", race.cost)
print("speed:         ", race.speed)

# %% [markdown] minutes=2
# ## The idea
#
# The text never depends on the draft. So anything may guess: a table, a search, a network, the target
# itself. Lesson 5 said what a guess is worth: its chance of being accepted, α, and its cost, c. Two ways
# lead to better drafts:
#
# - **cheaper**: guesses that cost nearly nothing may be wrong more often;
# - **closer to the target**: that raises α.
#
# *Closer to the target* is not *better*. A draft that writes finer English than its target is rejected
# wherever the target would have written worse.
#
# ### The words we use
#
# | word | meaning |
# |---|---|
# | p, q | the chances that target and draft give to the next token |
# | α (alpha) | acceptance: accepted guesses over *tested* ones. What stands after a rejection is drafted, but not tested. For a sampled draft at one place, α is the sum of min(p, q) |
# | c | what one guess costs, in passes of the target |
# | fidelity | the share of places at which draft and target have the same favourite token |
# | hidden row | the d numbers that the target has computed for a place, just before its head |
# | head | a matrix (d, V) that turns a hidden row into logits for V tokens |
# | distill | train a draft on the target's chances instead of on text |

# %% [markdown] minutes=1
# ## How alike are they?
#
# Four places, three tokens. Logits of a draft on the left, of the target on the right:
#
# | place | draft | target | favourites |
# |---|---|---|---|
# | 1 | 1 **2** 0 | 0 **9** 1 | 1 and 1 |
# | 2 | **3** 1 1 | 0 **4** 1 | 0 and 1 |
# | 3 | 0 0 **5** | 1 0 **2** | 2 and 2 |
# | 4 | **1** 1 0 | **2** 2 1 | 0 and 0 (of equals, the smaller id) |
#
# Three of four agree: the fidelity is 0.75. When both are greedy, that is the chance that a guess is
# accepted, *at the places where you measured*.

# %%
from collections import Counter, defaultdict

import numpy as np

# %% [markdown] card="fidelity" difficulty=1 minutes=4
# Return the share of rows in which both have their largest logit at the same token.
#
# | draft's rows | target's rows | fidelity |
# |---|---|---|
# | the table above | the table above | 0.75 |
# | `[[-2, -1, -3]]` | `[[-9, -7, -8]]` | 1.0 |
# | `[[2, 1], [1, 2]]` | `[[1, 2], [2, 1]]` | 0.0 |
#
# Of equal logits the smallest id is the favourite; `argmax` does that. Raise `ValueError` when the
# shapes differ, when an array is not (T, V), or when there is no row.

# %% answer="fidelity"

# %% free_try="fidelity"
from specdec.tryout import side_by_side

draft_rows = np.array([[1, 2, 0], [3, 1, 1], [0, 0, 5], [1, 1, 0]])
target_rows = np.array([[0, 9, 1], [0, 4, 1], [1, 0, 2], [2, 2, 1]])
side_by_side(
    fidelity,
    [
        ((draft_rows, target_rows), 0.75),
        ((np.array([[-2, -1, -3]]), np.array([[-9, -7, -8]])), 1.0),
        ((np.array([[2, 1], [1, 2]]), np.array([[1, 2], [2, 1]])), 0.0),
    ],
)

# %% test="fidelity" points=1
from specdec.checks.lesson_06 import check_fidelity

check_fidelity(fidelity)
### BEGIN HIDDEN TESTS
import numpy as np

from specdec.checks import Case

check_fidelity(
    fidelity,
    [
        Case((np.array([[0.0, 1, 5], [7, 1, 2]]), np.array([[3.0, 1, 4], [1, 2, 0]])), 0.5),
        Case((np.array([[1.0, 4], [3, 2], [9, 9]]), np.array([[2.0, 6], [5, 5], [0, 8]])), 2 / 3),
        Case((np.array([[4.0, 4, 1], [1, 1, 1]]), np.array([[1.0, 3, 2], [6, 2, 2]])), 0.5),
        Case((np.array([[1.0, 0, 0, 0]]), np.array([[0.0, 0, 0, 1]])), 0.0),
        Case((np.zeros((2, 3)), np.zeros((3, 2))), ValueError, "the shapes differ"),
        Case((np.zeros((0, 4)), np.zeros((0, 4))), ValueError, "there is no row to compare"),
        Case((np.zeros((1, 2, 2)), np.zeros((1, 2, 2))), ValueError, "an array is not (T, V)"),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="fidelity"
# Each row has one favourite. Which axis do the tokens lie along?
# ===
# `argmax(axis=1)` gives an array of T favourites for each model. Compare the two arrays.
# ===
# ```python
# if draft_logits.shape != target_logits.shape or draft_logits.ndim != ____ or not len(draft_logits):
#     raise ValueError("…")
# agree = draft_logits.argmax(axis=1) == ____
# return agree.____()
# ```

# %% [markdown] only="solution"
# **Why this way.** Only the favourite matters to a greedy draft, so the logits may have any scale and
# any offset. A comparison gives True and False, and their mean is a share.
#
# **Another right way.** A loop over `zip(draft_logits, target_logits)` with `np.argmax` of each row.

# %% [markdown] only="solution" wrong_turns="fidelity" shown="fidelity"
# **Wrong turns**, called with the table above and with two rows that differ. Right are `0.75` and
# `0.0`.

# %% [markdown] minutes=1
# Now the real pair, along two texts: one that people wrote, and one that the target wrote itself. Both
# drafts of the course are measured. **Before you run it:** on which text do they agree more with the
# target?

# %% free_try="two_texts" measured=true
from specdec.trained.better import rows_for_fidelity

for text, rows in rows_for_fidelity().items():
    values = {name: fidelity(rows[name], rows["target"]) for name in ("draft", "draft_distilled")}
    print(f"{text:<24}" + "   ".join(f"{name} {value:.3f}" for name, value in values.items()))

# %% [markdown]
# Two texts, two figures, and perhaps not in the order that you expected: on the target's own text both may
# agree with it less often than on a book. A small target leaves the paths of books, and the drafts know
# those paths best. Now compare the two drafts: what the distilled one gains over the other. It was taught
# on text that the target wrote, and there it gains most. A draft will work on the text that the target
# *writes*; a figure from a book does not hold there, nor the other way round. Say where you measured.

# %% [markdown] minutes=1
# ## Counting
#
# The oldest language model is a table. Read a text, and count what followed. In
#
# `a a b a a c a a b d`
#
# `a a` was followed by b twice and by c once, so after `a a` guess b. After `c d`, which never occurred,
# look at `d` alone; it was never followed by anything either. So look at nothing: the commonest token of
# the text is a. Looking at less and less is called **backing off**.

# %% [markdown] card="NGramDraft" difficulty=3 minutes=9
# Write the table as a class, with `a` = 1, `b` = 2, `c` = 3, `d` = 4. An n-gram has n tokens: n − 1 to
# look back at, and the guess.
#
# ```python
# table = NGramDraft([1, 1, 2, 1, 1, 3, 1, 1, 2, 4], n=3)
# ```
#
# | `table.next_token(…)` | gives | because |
# |---|---|---|
# | `[1, 1]` | 2 | followed by 2 twice, by 3 once |
# | `[9, 1, 1]` | 2 | only the last n − 1 = 2 tokens count |
# | `[4, 2]` | 1 | `4 2` never occurred; after 2 came 1 and 4, once each: the smaller id |
# | `[9, 9]` | 1 | nor did 9; the commonest token of all |
# | `[]` | 1 | nothing to look at |
#
# - The constructor counts, for each place, the token there after the n − 1 tokens before it, after the
#   n − 2 before it, and so on, down to after none. Near the beginning there are fewer tokens before.
# - `next_token` begins with the longest context it can, and drops its oldest token until the table
#   knows it. Of equally frequent tokens it takes the smallest id.
# - Raise `ValueError` when n is below 1, or the text is empty. Leave the text as it is.
# - `propose` is given: it calls your `next_token` once a guess.

# %% answer="NGramDraft"

# %% free_try="NGramDraft"
table = NGramDraft([1, 1, 2, 1, 1, 3, 1, 1, 2, 4], 3)
for context, wanted in [([1, 1], 2), ([9, 1, 1], 2), ([4, 2], 1), ([9, 9], 1), ([], 1)]:
    print(f"{context!s:<12} wanted {wanted}   yours {table.next_token(context)}")
print("four guesses after 1, 1:", table.propose([1, 1], 4))

# %% [markdown]
# Checks: contexts that were seen, ties among them; then backing off, and edges.

# %% test="NGramDraft" points=1
from specdec.checks.lesson_06 import check_ngram

check_ngram(NGramDraft)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

hidden_text = [2, 7, 1, 2, 7, 3, 2, 7, 3, 5, 7, 1, 6, 7, 1, 4, 7, 1]
check_ngram(
    NGramDraft,
    [
        Case((hidden_text, 3, [2, 7]), 3),
        Case((hidden_text, 2, [2, 7]), 1),
        Case((hidden_text, 3, [8, 7]), 1),
        Case((hidden_text, 4, [3, 2, 7]), 3),
        Case((hidden_text, 1, [2, 7]), 7),
        Case(([5, 8, 5, 4, 5, 8, 5, 4], 2, [3, 5]), 4),
    ],
)
### END HIDDEN TESTS

# %% test="NGramDraft_edges" points=1
from specdec.checks.lesson_06 import check_ngram_edges

check_ngram_edges(NGramDraft)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_ngram_edges(
    NGramDraft,
    [
        Case(([3, 0, 0, 3, 3], 4, [7, 7, 7]), 3),
        Case(([6, 2, 6], 3, [2]), 6),
        Case(([6, 2, 6, 2], 3, []), 2),
        Case(([1, 0], 2, [1]), 0),
        Case(([8, 9], 5, [8, 8, 9]), 8),
        Case(([1, 2], 0, []), ValueError, "n is below 1"),
        Case(([], 1, []), ValueError, "there is no text to count"),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="NGramDraft"
# A dict from a context to its counts is enough. A list can't be a key of a dict, a tuple can.
# ===
# In the constructor, for each place and each length from 0 to n − 1, the context is the tuple of so many
# tokens before that place. `defaultdict(Counter)` of `collections` saves asking whether it is new. In
# `next_token`, try the lengths from large to small. Beware of length 0: `context[-0:]` is the whole list.
# ===
# ```python
# # __init__
# self.n, self.followers = n, defaultdict(Counter)
# for place, token in enumerate(token_ids):
#     for length in range(min(n - 1, place) + 1):
#         self.followers[tuple(token_ids[place - length : ____])][____] += 1
#
# # next_token
# for length in range(min(self.n - 1, len(context)), -1, -1):
#     seen = tuple(context[len(context) - length :])
#     if seen in self.followers:
#         counts = self.followers[seen]
#         return max(counts, key=lambda token: (counts[token], ____))
# ```

# %% [markdown] only="solution"
# **Why this way.** All lengths share one dict, since a tuple knows its own length. The empty tuple
# counts every token, so `next_token` always finds something. `max` with a pair as its key takes the
# largest count, and of those the largest of −token, which is the smallest id.
# `context[len(context) - length :]` and not `context[-length:]`: at length 0 the second would be the
# whole list.
#
# **Another right way.** Keep only the text, and count when asked. It is slow for long texts, and needs
# no memory.

# %% [markdown] only="solution" wrong_turns="NGramDraft" shown="ngram"
# **Wrong turns**: the guesses after `1 1`, `9 1 1`, `4 2`, `9 9` and nothing, for the text above and
# n = 3. Right are `2`, `2`, `1`, `1` and `1`.

# %% [markdown] minutes=1
# Your table as a draft of the real target: once counted on 100,000 tokens that people wrote, once on
# 60,000 that the target wrote. The loop around it is that of lesson 4; it verifies in one pass, and
# rolls back. **Which table do you expect to win?** (It takes some seconds.)

# %% free_try="ngram_race" measured=true
from specdec.trained.better import ngram_race

ngram_race(NGramDraft, n=3)

# %% [markdown] minutes=2
# ## Looking it up
#
# Many texts repeat themselves: a summary, a corrected text, a program. Then the best guess stands in the
# text already. Take the newest n tokens, find where they stood before, and propose what followed there.
# That is **prompt lookup**. It needs no weights and no training.
#
# By hand, with n = 2:
#
# `the cat sat on the mat and the dog sat on`
#
# The newest two words are `sat on`. They stood before, after `cat`. What followed there: `the mat and`.
# So with k = 3 it proposes `the mat and`.

# %% [raw] todo="todo_lookup_cat" minutes=1
# question: |
#   The target of lesson 1 goes on with `the rug and the`. The lookup proposes `the mat and`. **How many
#   of the three guesses are accepted?**
# right: 1
# why: "`the` is right, `mat` is corrected to `rug`, and what comes after a rejection is thrown away. The lookup was right about the structure, and wrong where the story changes."
# wrong:
#   2: "`and` stands at the right place, but after `mat`, which was rejected."
#   3: Compare word by word. The second one differs.
#   0: The first word is right.

# %% [markdown] card="prompt_lookup" difficulty=2 minutes=8
# Return the guesses as a list.
#
# | `token_ids` | n | k | proposes | because |
# |---|---|---|---|---|
# | `[1, 2, 3, 1, 2]` | 2 | 2 | `[3, 1]` | `1 2` stood at the beginning |
# | `[1, 2, 3, 1, 2, 4, 5, 1, 2]` | 2 | 2 | `[4, 5]` | of two places the **latest** counts |
# | `[1, 2, 3, 1, 2]` | 2 | 9 | `[3, 1, 2]` | the text ends there |
# | `[7, 7, 7, 7]` | 2 | 3 | `[7]` | the earlier place may overlap the newest n tokens |
# | `[1, 2, 3, 4]` | 2 | 3 | `[]` | no earlier place |
#
# **The newest n tokens do not match themselves**: nothing follows them. A text of n tokens or fewer has
# no earlier place either. Raise `ValueError` when n is below 1 or k is negative. Leave `token_ids` as it
# is.

# %% answer="prompt_lookup"

# %% free_try="prompt_lookup"
from specdec.tryout import side_by_side

side_by_side(
    prompt_lookup,
    [
        (([1, 2, 3, 1, 2], 2, 2), [3, 1]),
        (([1, 2, 3, 1, 2, 4, 5, 1, 2], 2, 2), [4, 5]),
        (([1, 2, 3, 1, 2], 2, 9), [3, 1, 2]),
        (([7, 7, 7, 7], 2, 3), [7]),
        (([1, 2, 3, 4], 2, 3), []),
    ],
)

# %% test="prompt_lookup" points=2
from specdec.checks.lesson_06 import check_prompt_lookup, check_prompt_lookup_edges

check_prompt_lookup(prompt_lookup)
check_prompt_lookup_edges(prompt_lookup)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_prompt_lookup(
    prompt_lookup,
    [
        Case(([9, 4, 9, 4, 8, 9, 4], 2, 2), [8, 9]),
        Case(([9, 4, 9, 4, 8, 9, 4], 1, 3), [8, 9, 4]),
        Case(([2, 3, 5, 2, 3, 6, 7, 2, 3], 2, 9), [6, 7, 2, 3]),
        Case(([3, 3, 3, 3, 3], 3, 4), [3]),
        Case(([1, 2, 3, 4, 5, 2, 3], 3, 2), []),
        Case(([6, 1, 2, 3, 6, 1, 2], 3, 1), [3]),
    ],
)
check_prompt_lookup_edges(
    prompt_lookup,
    [
        Case(([4, 4], 1, 5), [4]),
        Case(([4, 4], 2, 5), []),
        Case(([], 2, 1), []),
        Case(([5, 1, 5], 1, 0), []),
        Case(([5, 1, 5], -1, 2), ValueError, "n is below 1"),
        Case(([5, 1, 5], 1, -2), ValueError, "k is negative"),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="prompt_lookup"
# Try the places where the n tokens could begin, from the end of the text towards its beginning, and stop
# at the first that fits.
# ===
# `token_ids[start : start + n]` are the n tokens from `start`. The newest ones begin at
# `len(token_ids) - n`; that place must not be tried. What follows begins at `start + n`.
# ===
# ```python
# if n < 1 or k < 0:
#     raise ValueError("…")
# newest = token_ids[-n:]
# for start in range(____, -1, -1):
#     if token_ids[start : start + n] == newest:
#         return token_ids[____ : ____]
# return []
# ```

# %% [markdown] only="solution"
# **Why this way.** Going backwards, the first match is the latest, and the loop can stop. The last place
# to try is one before the newest n tokens, `len(token_ids) - n - 1`. For a short text that is negative,
# so the loop has no turn, and the answer is `[]`. The slice cuts itself off at the end of the text.
#
# **Another right way.** Keep a dict from each n-gram to the place where it stood last, and add to it as
# the text grows. Engines do that: then a round costs the same, however long the text is.

# %% [markdown] only="solution" wrong_turns="prompt_lookup" shown="[([1, 2, 3, 1, 2], 2, 2), ([1, 2, 3, 1, 2, 4, 5, 1, 2], 2, 2), ([7, 7, 7, 7], 2, 3), ([1, 2, 3, 4], 2, 3)]"
# **Wrong turns**, called with four rows of the table. Right are `[3, 1]`, `[4, 5]`, `[7]` and `[]`.

# %% [markdown] minutes=1
# The counts of the target's own text win, though they are fewer: closer to the target beats more. Now your
# lookup, on free prose. Look at the ledger, not only at α: a round without a guess costs what plain
# decoding costs, and gains nothing; a round with wrong guesses costs a wider pass. For texts that repeat
# themselves, choose the copied passage or the code in the player above: it runs the same rule.

# %% free_try="lookup_race" measured=true
from specdec.trained.better import AsDraft, print_runs

runs = print_runs(
    [AsDraft(f"prompt lookup, n = {n}", lambda tokens, rows, k, n=n: prompt_lookup(tokens, n, k))
     for n in (1, 2, 3)]
)

# %% [markdown] minutes=1
# ### Find the bug: a lookup that never guesses
#
# This lookup has been in use for a week. All texts come out right, so no comparison of texts finds
# anything wrong. Only the log shows it: `drafted 0`, round after round, and the speed of plain decoding.

# %% include="specdec/bugs.py:lookup_latest"

# %% free_try="bug_lookup"
print(lookup_latest([1, 2, 3, 4], 2, 3), " wanted []")
print(lookup_latest([5, 6, 7, 8, 9], 2, 3), " wanted []")

# %% [raw] todo="todo_bug_lookup" minutes=1
# question: |
#   It passes these two examples. **Find a text for which it is wrong** at n = 2 and k = 3. Write a list
#   of token ids. The check runs it.
# right: "[1, 2, 3, 1, 2]"
# why: The loop begins at the newest n tokens, which match themselves. Nothing follows there, so the guess is empty.
# check: |
#   from specdec.checks.lesson_06 import check_bug_lookup
#
#   check_bug_lookup(todo_bug_lookup)

# %% [markdown] only="solution"
# Any text with a true earlier match will do. The loop starts at `len(token_ids) - n`, where the newest n
# tokens stand, and they equal themselves. So it returns at once, and what follows there is nothing. With
# the search running forwards the bug would be harmless: there, the self-match comes last.
#
# Every lookup has to step over that place. In transformers one line does it: a match after which nothing
# follows is passed over ([pull request](https://github.com/huggingface/transformers/pull/27775)).

# %% [markdown]
# ---
# **This is the end of part A, and a good place to stop.** Save with <kbd>Ctrl</kbd> +
# <kbd>S</kbd>. To come back later, run the cells from the top: *Run > Run All Cells*.
#
# ---

# %% [markdown] part="B" minutes=3
# ## Part B: guesses from a teacher
#
# ## A draft must resemble the target
#
# At some place of a text, people go on with A in 80 of 100 cases and with B in 20. The target is not
# perfect: it believes A 60, B 40. You can train a draft in two ways.
#
# - **On text.** It sees A 80 times and B 20 times, and learns 80 and 20. That is the truth.
# - **On the target.** It sees the target's chances, and learns 60 and 40. That is wrong, as the target
#   is.
#
# Which one is the better draft? Only the target decides what is accepted. In counts of 100, for the
# draft that learnt from the target: 60 A and 40 B are drafted, and all are kept.

# %% [raw] todo="todo_overlap" minutes=1
# question: |
#   And the draft that learnt from text? It says A with chance 0.8 and B with 0.2; the target 0.6 and 0.4.
#   At one place a sampled guess is accepted with chance α = the sum of min(p, q) over all tokens. **What
#   is α?**
# right: 0.8
# why: "min(0.6, 0.8) + min(0.4, 0.2) = 0.6 + 0.2. Of 100 guesses, 20 A are too many. The draft that learnt from the target has 1.0."
# wrong:
#   0.6: That is the target's chance of A alone. What about B?
#   0.2: That is what is lost, the distance of the two. What is kept?
#   0.56: That is the chance that two independent draws are the same. The rule of lesson 3 accepts more.
#   0.48: That is the product of the two chances of A. Take the smaller of the two for each token, and add.
#   1: The draft says A too often; 20 of its 80 A are rejected.
#   1.2: You took the larger chance of each token. What both have in common is the smaller.

# %% [markdown] minutes=2
# ### One loss for both teachers
#
# How far are the draft's chances q from its teacher's p? Training needs one number, and a direction. The
# usual number is the **Kullback-Leibler divergence**
#
# KL(p ‖ q) = sum over all tokens of p × (log p − log q).
#
# It is 0 when q = p, and positive otherwise. For p = (½, ½) and q = (¾, ¼):
# ½ × (log ½ − log ¾) + ½ × (log ½ − log ¼) = −0.203 + 0.347 = **0.144**.
#
# And the direction? The draft computes logits; q is their softmax. When the logit of a token grows by
# a little, KL changes by **q − p** of that token times that little. It could hardly be simpler: where the
# draft says too much, lower the logit; where it says too little, raise it. Here: (+¼, −¼).
#
# A *text* is a teacher too, one that is sure: p is 1 at the token that stands there and 0 elsewhere. Then
# KL is −log q of that token. So one function serves both ways of training.

# %% [markdown] card="distillation_loss" difficulty=3 minutes=11
# For T places at once: return the mean of KL(p ‖ q) over the rows, and its gradient.
#
# | `draft_logits` | `target_probs` | loss | gradient |
# |---|---|---|---|
# | `[[log 3, log 1]]`, so q = (¾, ¼) | `[[0.5, 0.5]]` | 0.1438 | `[[0.25, -0.25]]` |
# | `[[0, 0]]`, so q = (½, ½) | `[[1, 0]]` | 0.6931 | `[[-0.5, 0.5]]` |
# | both of these, T = 2 | both | 0.4185 | each of these, halved |
#
# - The softmax runs along each row. Logits may be as large as 1000: take the row's largest away first,
#   which does not change q. And take log q from the logits, not from q:
#   log q = shifted − log(sum of exp(shifted)).
# - A token with p = 0 adds 0, though log 0 is −inf. `np.log(np.where(p > 0, p, 1))` gives 0 there.
# - Return `(loss, gradient)`: a number, and an array (T, V) that is (q − p) / T.
# - Raise `ValueError` when the two shapes differ.

# %% answer="distillation_loss"

# %% free_try="distillation_loss"
from specdec.tryout import side_by_side

one, other = np.log([[3.0, 1.0]]), np.array([[0.0, 0.0]])
p_one, p_other = np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]])
side_by_side(
    lambda logits, p: [np.round(part, 4) for part in distillation_loss(logits, p)],
    [
        ((one, p_one), [0.1438, [[0.25, -0.25]]]),
        ((other, p_other), [0.6931, [[-0.5, 0.5]]]),
        ((np.vstack([one, other]), np.vstack([p_one, p_other])),
         [0.4185, [[0.125, -0.125], [-0.25, 0.25]]]),
    ],
)

# %% test="distillation_loss" points=1
from specdec.checks.lesson_06 import check_distillation_loss

check_distillation_loss(distillation_loss)
### BEGIN HIDDEN TESTS
import numpy as np

check_distillation_loss(
    distillation_loss,
    [
        (np.log([[4.0, 1.0, 3.0]]), np.array([[0.25, 0.5, 0.25]])),
        (np.array([[2.0, -1.0], [0.5, 0.25], [1.0, 1.0]]), np.array([[0.0, 1.0], [0.7, 0.3], [0.4, 0.6]])),
        (np.array([[-1000.0, -999.0, -1001.0]]), np.array([[0.2, 0.3, 0.5]])),
    ],
)
### END HIDDEN TESTS

# %% test="distillation_loss_gradient" points=2
from specdec.checks.lesson_06 import check_distillation_loss_gradient

check_distillation_loss_gradient(distillation_loss)
### BEGIN HIDDEN TESTS
import numpy as np

check_distillation_loss_gradient(
    distillation_loss,
    [
        (np.log([[4.0, 1.0, 3.0]]), np.array([[0.25, 0.5, 0.25]])),
        (np.array([[2.0, -1.0], [0.5, 0.25], [1.0, 1.0]]), np.array([[0.0, 1.0], [0.7, 0.3], [0.4, 0.6]])),
        (np.array([[1000.0, 999.0, 1001.0]]), np.array([[0.2, 0.3, 0.5]])),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="distillation_loss"
# Three steps: log q from the logits; the sum of p (log p − log q) in each row; the mean of the rows.
# ===
# `draft_logits.max(axis=1, keepdims=True)` is a column with the largest of each row. `keepdims` keeps it
# a column, so that it can be taken away from the array. q is `np.exp(log_q)`.
# ===
# ```python
# shifted = draft_logits - draft_logits.max(axis=1, keepdims=True)
# log_q = shifted - np.log(np.exp(shifted).sum(axis=____, keepdims=True))
# log_p = np.log(np.where(p > 0, p, 1))
# loss = (p * (____ - ____)).sum() / len(p)
# return loss, (____ - p) / len(p)
# ```

# %% [markdown] only="solution"
# **Why this way.** Taking the largest logit away keeps `exp` below 1, and log q straight from the
# shifted logits never takes the logarithm of 0. The gradient q − p follows from
# log q_j = z_j − log Σ exp z: the derivative of −Σ p_j log q_j by z_i is −p_i + q_i, since the p sum to 1.
# The part p log p does not depend on the draft.
#
# **Another right way.** `scipy.special.log_softmax` and `rel_entr` do both steps. With a cross entropy
# in place of KL, training does the same: the two differ by the entropy of p, which no draft can change.

# %% [markdown] only="solution" wrong_turns="distillation_loss" shown="distillation"
# **Wrong turns**, called with the first two rows of the table. Right are `[0.1438, [[0.25, -0.25]]]`
# and `[0.6931, [[-0.5, 0.5]]]`.

# %% [markdown] minutes=1
# ### Train one
#
# A draft that can be trained here must be small. This one sees two tokens: an embedding of each, one
# hidden layer, a row of logits. It is far weaker than the course's own drafts. What counts is the
# difference between two teachers, with all else equal: the same start, the same 3,000 places of text, the
# same steps.
#
# First the target reads that text, and 1,000 held-out tokens to measure on. This takes some seconds.

# %% free_try="places" measured=true
from specdec.trained.distilling import (
    LittleDraft, heldout_places, one_hot, print_teachers, progress, training_places,
)

learn, measure = training_places(), heldout_places()
print("places to learn from:", learn.contexts.shape, "held-out ones:", measure.contexts.shape)

# %% [markdown]
# The loop. Your `distillation_loss` gives the direction; `step` goes against it.

# %% include="specdec/trained/distilling.py:train"

# %% [markdown] minutes=1
# Now both teachers. **Before you run it:** will the draft that learnt from the text or the one that
# learnt from the target accept more on held-out text? By how much?

# %% free_try="teachers" measured=true
size = learn.target_probs.shape[1]
before = LittleDraft(seed=0)
from_text = train(
    LittleDraft(seed=0), learn.contexts, one_hot(learn.next_tokens, size), distillation_loss
)
from_target = train(LittleDraft(seed=0), learn.contexts, learn.target_probs, distillation_loss)
print_teachers(
    {"before": before, "learnt from the text": from_text, "from the target": from_target},
    measure, fidelity,
)

# %% [markdown]
# The same places, the same steps, and a clearly larger α. Two reasons. The target's chances are what is
# measured, and the draft was shown them. And a row of chances says more than a token: it tells at each
# place what *else* would have been fine, where the text shows one choice. With little text that counts
# double. With endless text the second reason fades, and the first remains.
#
# The course's drafts were made so: *draft* from text, *draft_distilled* from the target, and what the
# target wrote. You measured the difference in part A. The last column is the mean of −log q of the token
# that stands in the text. It judges a language model. Here both columns happen to rank alike, since 3,000
# places are little text. With A and B above they do not: the draft that learnt 80 and 20 has the smaller
# surprise, and the smaller α.

# %% [markdown]
# ---
# **This is the end of part B, and a good place to stop.** Save with <kbd>Ctrl</kbd> +
# <kbd>S</kbd>.
#
# ---

# %% [markdown] part="C" minutes=2
# ## Part C: guesses from the target, and many at once
#
# ## Heads
#
# The target has just verified a draft. For each place it has computed a **hidden row** of d numbers, and
# its head has turned each row into logits for the *next* token. That row knows much about what is going
# on. Could another head read the token *after* the next one off it? And a third the one after that?
#
# Such heads are the whole draft of **Medusa** (2024). They guess all k tokens at once: no network runs k
# times. But they guess blindly: head 1 guesses the token after head 0's without knowing which token head 0
# will guess.
#
# One round, with k = 2. The newest token of the text is `on`, the guesses are `the cat`, and the target's
# answers are `the mat sat`:
#
# | row | has read | its answer | |
# |---|---|---|---|
# | 0 | … on | the | judges the first guess: accepted |
# | 1 | … on the | **mat** | judges the second: rejected, `mat` is the target's own token |
# | 2 | … on the cat | sat | has read a rejected guess: useless |
#
# One guess was accepted, so the target's own token was read off **row 1**, and the heads read row 1 too:
# head 0 guesses the word after `mat`, head 1 the one after that. Row 2 is about a text that does not
# exist.
#
# **The rule that keeps it exact**: guesses of heads are guesses. The next pass verifies them as it would
# any others. No token is ever emitted because a head said so.

# %% [markdown] card="propose_with_heads" difficulty=2 minutes=6
# Return one guess for each head, from the right row.
#
# | `hidden` | `num_accepted_tokens` | reads | guesses |
# |---|---|---|---|
# | 3 rows | 1 | row 1 | argmax of `row @ head`, for each head |
# | 3 rows | 2 (all accepted) | row 2 | |
# | 1 row (nothing was drafted) | 0 | row 0 | |
# | 3 rows | 3 or −1 | | `ValueError`: there is no such row |
#
# In the cell below the rows are `[1, 0]`, `[0, 1]` and `[1, 1]`, so that you can follow the products by
# hand. The result is a list, one entry for each head, nearest token first; without heads it is empty.

# %% answer="propose_with_heads"

# %% free_try="propose_with_heads"
from specdec.tryout import side_by_side

hidden = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
heads = [np.array([[5.0, 0.0, 1.0], [0.0, 2.0, 1.0]]), np.array([[0.0, 3.0, 0.0], [1.0, 0.0, 3.5]])]
side_by_side(
    propose_with_heads,
    [
        ((hidden, 1, heads), [1, 2]),
        ((hidden, 2, heads), [0, 2]),
        ((hidden, 0, heads), [0, 1]),
        ((hidden, 3, heads), ValueError),
    ],
)

# %% test="propose_with_heads" points=2
from specdec.checks.lesson_06 import check_propose_with_heads

check_propose_with_heads(propose_with_heads)
### BEGIN HIDDEN TESTS
import numpy as np

from specdec.checks import Case

hidden_rows = np.array([[0.0, 2, 0], [1, 0, 0], [0, 0, -1], [3, 1, 0]])
hidden_heads = [
    np.array([[0.0, 4, 1], [3, 0, 2], [5, 1, 0]]),
    np.array([[2.0, 0, 5], [1, 6, 0], [0, 9, 7]]),
    np.array([[7.0, 1, 0], [0, 1, 8], [4, 3, 9]]),
]
check_propose_with_heads(
    propose_with_heads,
    [
        Case((hidden_rows, 1, hidden_heads), [1, 2, 0]),
        Case((hidden_rows, 0, hidden_heads), [0, 1, 2]),
        Case((hidden_rows, 2, hidden_heads[:2]), [2, 0]),
        Case((hidden_rows, 3, hidden_heads), [1, 2, 0]),
        Case((hidden_rows[:1], 0, hidden_heads[1:]), [1, 2]),
        Case((hidden_rows, 4, hidden_heads), ValueError, "there is no such row"),
        Case((hidden_rows, -2, hidden_heads), ValueError, "there is no such row"),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="propose_with_heads"
# Which row gave the target's own token of this round? The table above counts rows from 0.
# ===
# `hidden[num_accepted_tokens]`. In Python `hidden[-1]` is a row as well, so ask about the range first.
# ===
# ```python
# if not 0 <= num_accepted_tokens < ____:
#     raise ValueError("…")
# row = hidden[____]
# return [int((row @ head).____()) for head in heads]
# ```

# %% [markdown] only="solution"
# **Why this way.** One row, one product for each head. With all guesses accepted it is the last row; after
# a rejection it is an earlier one. A program that always takes the last row still gives the right text.
# Only its guesses get worse, and only after rejections: find such a bug by the acceptance after full
# and after broken rounds, as in lesson 4.
#
# **Another right way.** `np.stack(heads)` and one product of shape (number of heads, V).

# %% [markdown] only="solution" wrong_turns="propose_with_heads" shown="heads"
# **Wrong turns**, called with the rows and heads of the cell above, for 1, for 2 and for 3 accepted.
# Right are `[1, 2]`, `[0, 2]` and ValueError.

# %% [markdown] minutes=1
# Heads for the course's target. They are fitted by **least squares**: head 0 learns to say, from the row at
# one place, the target's chances at the next place, head 1 those at the place after, and so on. That takes
# one solved system of equations a head. The text matters: on text that the target wrote itself, the words in between are its own, and heads fitted there
# learn what it goes on to say. A draft must have seen what it will be asked to guess.

# %% free_try="fit_heads" measured=true
from specdec.trained.better import heads_for

fitted = heads_for(3)
runs = print_runs(
    # rejected rows are rolled back before the draft is asked: here the last row is the right one
    [AsDraft("heads", lambda tokens, rows, k: propose_with_heads(rows[-1:], 0, fitted[:k])
             if len(rows) else [])],
    k=3,
)

# %% [markdown]
# A guess costs one small product, and the text is the same, to the token. Before the first pass there is
# no row to read, so the first round drafts nothing. Few guesses are accepted: a solved system of equations
# on a few thousand places is a weak teacher, and on a processor such heads may even lose. Medusa trains its
# heads for hours, on a target that knows far more.

# %% [markdown] minutes=3
# ## Trees of guesses
#
# A head is often unsure between two tokens. Why choose? **Verify both in one pass.** Three guesses can
# stand in a chain, or in a tree:
#
# ```
# chain:  on → A → C → E          tree:  on → A → C
#                                          ↘ B
# ```
#
# Say the first choice of the draft is right with chance 0.5, and one of its first two with 0.75, at each
# place. In the chain each guess needs all before it: 1 + 0.5 + 0.25 + 0.125 = **1.875** tokens a pass. In
# the tree, A or B is right with chance 0.75; C counts when A is right and C too: 1 + 0.75 + 0.5 × 0.5 =
# **2.0**. Trees pay when the first guess is weak and the second is not much worse.
#
# Two things change in the pass:
#
# - **the mask**: a guess may see the text, itself, and its own line upwards. `B` must not see `A`; for the
#   target, `A` and `B` are two different texts;
# - **the position**: `A` and `B` stand at the same place of their texts, so they get the same position.
#
# We write a tree as two lists. Node 0 is the newest token of the text, which is no guess. `parents` names
# for each node the one above it:
#
# | node | 0 | 1 | 2 | 3 |
# |---|---|---|---|---|
# | token | on | A | B | C |
# | parent | −1 | 0 | 0 | 1 |

# %% [raw] todo="todo_tree_or_chain" minutes=1
# question: |
#   A better draft: first choice right with 0.8, one of the first two with 0.9. The chain of three gives
#   1 + 0.8 + 0.64 + 0.512 = 2.952 tokens a pass. **What does the tree A, B, A → C give?**
# right: 2.54
# why: "1 + 0.9 + 0.8 × 0.8. Here the chain is better: when the first choice is nearly always right, B is wasted."
# wrong:
#   2.952: That is the chain.
#   2.7: C counts only when A is right as well, and C after it.
#   2.62: C hangs below A, not below B. A is right with chance 0.8.
#   1.54: The target's own token is missing.
#   2.71: B has nothing below it. Only A's child can add a second token.
#   3.34: Two levels are all that this tree has. Add three numbers.

# %% [markdown] card="verify_tree" difficulty=4 minutes=13
# Two functions in one cell. `verify_tree` walks down the tree; `tree_mask` says who sees whom. Of
# `tree_mask` one line is missing.
#
# The family, with the newest token 9, and the target's choice after each node:
#
# ```
#        0: 9               node     0  1  2  3  4  5
#       /    \              token    9  1  2  3  4  3
#    1: 1    2: 2           parent  -1  0  0  1  1  2
#    /  \       \           choice   1  4  3  8  7  6
# 3: 3  4: 4    5: 3
# ```
#
# After node 0 the target wants 1: that is node 1, a child of 0. After node 1 it wants 4: node 4. After
# node 4 it wants 7: node 4 has no child. So `emitted` is `[1, 4, 7]`, and the `path` is `[0, 1, 4]`.
#
# | the target's choices | `emitted` | `path` |
# |---|---|---|
# | `[1, 4, 3, 8, 7, 6]` | `[1, 4, 7]` | `[0, 1, 4]` |
# | `[2, 4, 3, 8, 7, 6]` | `[2, 3, 6]` | `[0, 2, 5]` |
# | `[1, 5, 3, 8, 7, 6]` | `[1, 5]` | `[0, 1]` |
# | `[3, 4, 3, 8, 7, 6]` | `[3]` | `[0]`: 3 stands in the tree, but not below 0 |
#
# - A node is accepted when its parent is the last accepted node, and its token is the target's choice
#   *after that parent*. Of two such children the first counts.
# - `path` begins with node 0: the cache keeps exactly these nodes, in this order.
# - Raise `ValueError` when the lists differ in length or are empty. Leave them as they are.
#
# `tree_mask(parents)` returns a boolean array (n, n), True in row i and column j where node i may see node
# j: itself, its parent, its parent's parent, up to node 0. For `[-1, 0, 0, 1]`:
#
# ```
# 1 0 0 0
# 1 1 0 0
# 1 0 1 0      node 2 does not see node 1
# 1 1 0 1      nor node 3 node 2
# ```

# %% answer="verify_tree" also="tree_mask"

# %% free_try="verify_tree"
from specdec.tryout import side_by_side

tokens, parents = [9, 1, 2, 3, 4, 3], [-1, 0, 0, 1, 1, 2]
side_by_side(
    verify_tree,
    [
        ((tokens, parents, [1, 4, 3, 8, 7, 6]), [[1, 4, 7], [0, 1, 4]]),
        ((tokens, parents, [2, 4, 3, 8, 7, 6]), [[2, 3, 6], [0, 2, 5]]),
        ((tokens, parents, [1, 5, 3, 8, 7, 6]), [[1, 5], [0, 1]]),
        ((tokens, parents, [3, 4, 3, 8, 7, 6]), [[3], [0]]),
    ],
)
print(np.array(tree_mask([-1, 0, 0, 1])).astype(int))

# %% [markdown]
# Checks: the walk, then the mask.

# %% test="verify_tree" points=2
from specdec.checks.lesson_06 import check_verify_tree

check_verify_tree(verify_tree)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_verify_tree(
    verify_tree,
    [
        Case(([7, 2, 5, 2, 5, 8], [-1, 0, 0, 1, 1, 2], [2, 5, 8, 1, 3, 4]), [[2, 5, 3], [0, 1, 4]]),
        Case(([7, 2, 5, 2, 5, 8], [-1, 0, 0, 1, 1, 2], [5, 5, 8, 1, 3, 4]), [[5, 8, 4], [0, 2, 5]]),
        Case(([7, 2, 5, 2, 5, 8], [-1, 0, 0, 1, 1, 2], [8, 5, 8, 1, 3, 4]), [[8], [0]]),
        Case(([3, 3, 3, 3], [-1, 0, 0, 2], [3, 4, 3, 5]), [[3, 4], [0, 1]]),
        Case(([1, 0, 4, 6, 0], [-1, 0, 1, 2, 3], [0, 4, 6, 2, 0]), [[0, 4, 6, 2], [0, 1, 2, 3]]),
        Case(([5], [-1], [0]), [[0], [0]]),
        Case(([5, 1], [-1, 0], [1, 2, 3]), ValueError, "the lists differ in length"),
    ],
)
### END HIDDEN TESTS

# %% test="verify_tree_mask" points=1
from specdec.checks.lesson_06 import check_tree_mask

check_tree_mask(tree_mask)
### BEGIN HIDDEN TESTS
from specdec.checks import Case
from specdec.reference.lesson_06 import tree_mask as worked_mask

check_tree_mask(
    tree_mask,
    [
        Case((parents,), worked_mask(parents))
        for parents in ([-1, 0, 0, 0, 1, 2, 4], [-1, 0, 1, 1, 0, 4, 5, 3], [-1, 0])
    ]
    + [Case(([-1, 0, 2],), ValueError, "a parent is an earlier node")],
)
### END HIDDEN TESTS

# %% [markdown] hints="verify_tree"
# For the walk: keep the path, and ask of each node in turn whether it goes on from the path's end. For
# the mask: what does a child see, compared with its parent?
# ===
# Parents stand before their children in the lists, so one loop over the nodes is enough. A node goes on
# when `parents[node] == path[-1]` and its token is `choices[path[-1]]`. A child sees all that its parent
# sees, and itself.
# ===
# ```python
# # verify_tree
# path = [0]
# for node in range(1, len(token_ids)):
#     if parents[node] == ____ and token_ids[node] == choices[____]:
#         path.append(node)
# emitted = [token_ids[node] for node in path[1:]]
# return emitted + [choices[____]], path
#
# # tree_mask: the missing line; | is "or" for each entry
# mask[node] = mask[node] | mask[____]
# ```

# %% [markdown] only="solution"
# **Why this way.** Each node is looked at once, in order, and a child always comes after its parent. When
# a node is accepted, the path's end moves on, so its brothers no longer fit: of two equal children the
# first wins by itself. In the mask, row `parent` is complete when its child takes it over, for the same
# reason.
#
# **Another right way.** A dict from (parent, token) to node, then follow it from node 0. For the mask,
# climb from each node to the root and set every node on the way.

# %% [markdown] only="solution" wrong_turns="verify_tree" shown="tree"
# **Wrong turns**: the family with the choices of the first and the third row, then the mask of
# `[-1, 0, 0, 1]`, written row by row. Right are `[[1, 4, 7], [0, 1, 4]]`, `[[1, 5], [0, 1]]` and
# `1000 1100 1010 1101`.

# %% [markdown] minutes=2
# Trees for the real target, from your heads: the best tokens of each head, below each node. The pass is
# the same code as before, with your mask, and with positions by depth. After it, the cache keeps only the
# rows of your path.
#
# **Before you run it:** which of these shapes gives the most tokens a pass? And which is the fastest?

# %% free_try="trees" measured=true
from specdec.trained.better import print_trees

shapes = {"chain of 3": (1, 1, 1), "2 below each, depth 2": (2, 2), "wide: 4, then 2": (4, 2)}
print_trees(fitted, shapes, verify_tree, tree_mask)

# %% [markdown]
# Here the wide trees give more tokens a pass: our heads are weak, so a third level adds little, and a
# second choice adds more. With a strong draft it would be the other way round, as you calculated above. Only
# a tree that *contains* another is sure to accept at least as much. The clock is another matter. On this processor each further row costs time (lesson 2). A graphics card with one text has room
# for dozens of rows; that is where trees live.

# %% [markdown] minutes=1
# ### Find the bug: a branch that sees its uncle
#
# When FastDeploy got trees, its attention kernel still took it for granted that whatever stands earlier
# may be seen, and skipped the mask there
# ([pull request](https://github.com/PaddlePaddle/FastDeploy/pull/3514)). Below, the rule is nearly right:
# a node sees all nodes of the levels above it. It gives the right mask for the chain, and for brothers
# below one node.

# %% include="specdec/bugs.py:mask_by_level"

# %% free_try="bug_mask"
for example in ([-1, 0, 1, 2], [-1, 0, 0, 0]):
    print(example, "right:", np.array_equal(mask_by_level(example), tree_mask(example)))

# %% [raw] todo="todo_bug_mask" minutes=1
# question: |
#   **Find a tree for which it is wrong**, another one than in the exercise above. Write its list of
#   parents. The check runs it.
# right: "[-1, 0, 0, 2]"
# why: Node 3 stands below node 2. By levels it also sees node 1, its parent's brother.
# check: |
#   from specdec.checks.lesson_06 import check_bug_mask
#
#   check_bug_mask(todo_bug_mask)

# %% [markdown]
# What does it do to a text? This bug is worse than the first one. The target answers about a text that
# contains both branches, and its answer is emitted.

# %% free_try="bug_mask_text" measured=true
print_trees(fitted, {"right mask": (4, 2, 2)}, verify_tree, tree_mask)
print_trees(fitted, {"mask by level": (4, 2, 2)}, verify_tree, mask_by_level)

# %% [markdown]
# A wrong mask may leave a short text unchanged by luck. That is why exactness is tested on many texts,
# and in double precision.

# %% [markdown]
# ## Gallery
#
# To run and to read. Nothing from here on is graded but the two questions.
#
# ### EAGLE: a draft that continues the target's rows
#
# Heads guess blindly: head 1 does not know what head 0 has guessed. **EAGLE** (2024) mends that. One small
# layer takes the target's hidden row *and* the token that came out, and predicts the next hidden *row*. The
# target's own head turns it into a token. Then row and token go in again, for the next guess. So it is a
# small draft model, but one that starts from all that the target knows. Ours was trained for this course,
# for minutes, not days. This is its step:

# %% include="specdec/trained/eagle.py:continue_from_features" folded=true

# %% free_try="eagle" measured=true
from specdec.trained.drafts import eagle_gallery

eagle_gallery()

# %% [markdown]
# ### Several guesses for one place
#
# With one sampled guess, no exact rule accepts more often than 1 − TV: the sum of min(p, q), which
# lesson 3's rule reaches. (TV is the total variation, half the sum of |p − q|.) With m guesses drawn from q
# for the same place, more is possible. SpecInfer tries them one after the other, each against what is left
# of p. SpecTr asks for the best that *any* exact rule could do; that is a problem of transport, and for
# few tokens it can be solved by looking at every set of tokens.

# %%
from specdec.multidraft import best_acceptance, recursive_acceptance

for p, q in [([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]), ([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4])]:
    print(f"p = {p}, q = {q}")
    for m in (1, 2, 3):
        print(f"   {m} guesses: one after the other {recursive_acceptance(p, q, m):.3f}, "
              f"best possible {best_acceptance(p, q, m):.3f}")

# %% [markdown]
# With one guess both are 1 − TV. With three, trying in turn leaves a good part on the table. And for
# several *places*, judging each on its own is not best either: verifying a block as a whole accepts more,
# for example 11/9 accepted guesses in place of 10/9 when p = (⅓, ⅔), q = (⅔, ⅓) and k = 2.
#
# ### All drafts in one run
#
# Recorded on one machine, on the same prompts, against the best plain decoder there.

# %% free_try="recorded_drafts" measured=true
from specdec.figures import show
from specdec.figures.drafts import limits_alt, limits_figure
from specdec.trained.drafts import best_rows, print_drafts_run, recorded

print_drafts_run()
best = best_rows(recorded())
show(limits_figure(best, goal=2.5), alt=limits_alt(best))

# %% [markdown]
# *length* is tokens a pass; the c of a tree is not priced apart. The figure takes each draft's speedup apart,
# as lesson 5 does (dashed green: the 2.5x that we aimed at): what it would be if a wide pass cost no more
# than a narrow one, what it should be at the measured price of a pass, and what the clock said. Where the
# first two lie far apart, the processor is the limit, not the draft.
#
# ### The same pair in real engines
#
# The folders `specdec/data/models/target` and `draft_distilled` load in transformers and vLLM as they are.
# llama.cpp wants GGUF files; `benchmarks/engines/llama_cpp.py` writes them. T and D stand for the paths.
#
# **transformers**
#
# ```python
# settings = draft.generation_config
# settings.num_assistant_tokens = 4                      # k
# settings.num_assistant_tokens_schedule = "constant"    # else k + 2 or k − 1 after each round
# settings.assistant_confidence_threshold = 0            # else it stops when the draft is unsure
# target.generate(ids, do_sample=False, max_new_tokens=120, assistant_model=draft)
# target.generate(ids, do_sample=False, max_new_tokens=120,
#                 prompt_lookup_num_tokens=4, max_matching_ngram_size=3)
# ```
#
# **vLLM**
#
# ```
# vllm serve T --speculative-config '{"method": "draft_model", "model": "D", "num_speculative_tokens": 4}'
# vllm serve T --speculative-config '{"method": "ngram", "num_speculative_tokens": 4,
#                                     "prompt_lookup_max": 3, "prompt_lookup_min": 1}'
# ```
#
# **llama.cpp** (its names changed in 2026; older builds say `--draft-max`)
#
# ```
# llama-server -m T.gguf -md D.gguf --spec-draft-n-max 4 --spec-draft-p-min 0
# llama-server -m T.gguf --spec-type ngram-simple
# ```
#
# | engine | prints | lesson 5's name |
# |---|---|---|
# | transformers | nothing; count calls of the target | rounds; accepted = emitted − rounds |
# | vLLM | `vllm:spec_decode_num_drafts`, `…_draft_tokens`, `…_accepted_tokens` | rounds that drafted, drafted, accepted |
# | vLLM | `Mean acceptance length` | 1 + accepted / rounds that drafted |
# | vLLM | `Avg Draft acceptance rate` | accepted / drafted |
# | vLLM | `Per-position acceptance rate` | accepted at that place / rounds: α is the ratio of neighbours |
# | llama.cpp | `draft acceptance = 0.44578 ( 37 accepted / 83 generated)` | accepted / drafted |
#
# `benchmarks/engines/compare.py` runs transformers against our loop: tokens and accepted counts. What it
# and the two others said when they were last run:

# %% free_try="engines" measured=true
from specdec.trained.drafts import print_engines

print_engines()

# %% [markdown]
# Counts differ by a few where an engine proposes more at the end of a text, or leaves the first round out.
# The texts are the same.
#
# ### What the papers claim
#
# Speedups against plain decoding at batch 1, as each paper states them, on its own machine. Compare
# across rows only with care.
#
# | method | needs | claim, and where | same law as the target? |
# |---|---|---|---|
# | DistillSpec (2023) | a trained draft | 10 to 45 % faster than the same draft undistilled | yes |
# | Prompt lookup (2023) | nothing | 2.4x on summaries and questions about a text (Mistral-7B, A100); about nothing on role play | yes |
# | SpecInfer (2023) | several drafts, a tree | 1.5 to 2.8x, several cards; 2.6 to 3.5x with weights in slow memory | yes |
# | Medusa (2024) | heads | 2.2x with heads alone, 2.8x with the target trained too (Vicuna-7B) | only with exact verification; its *typical acceptance* is not |
# | Sequoia (2024) | a draft, a tree shaped for the card | 4.0x (Llama-2-7B, A100) | yes |
# | EAGLE (2024) | one trained layer, a tree | 2.7 to 3.5x (70B) | yes |
# | EAGLE-2 (2024) | the same, tree by confidence | 4.3x (Vicuna-13B) | yes |
# | EAGLE-3 (2025) | rows of three depths, more training | 5.5x on average (Vicuna-13B, temperature 0) | yes |
#
# On equal machines the numbers shrink. One independent benchmark (Spec-Bench: A100, Vicuna-13B) has
# EAGLE-3 3.0, EAGLE-2 2.5, EAGLE 2.2, Medusa 1.8, prompt lookup 1.6, a small draft model 1.5.

# %% [markdown] minutes=2
# ## Check yourself
#
# Five questions, not graded. Every choice has its reason. Your picks stay when you save and
# reopen the notebook; running the cell again starts afresh.
#
# *No questions below? Run the next cell.*

# %% [raw] widget="quiz"
# kind: Quiz
# questions:
#   - prompt: A lookup reports α = 0.99 on stories. Should you use it there?
#     choices:
#       - {text: "Yes, nothing can be better.", reason: "Ask how much it proposed. Ten sure guesses in a thousand rounds give 0.99 and save ten passes."}
#       - {text: "It depends on how often it proposes.", right: true, reason: "α counts tested guesses only. The mean acceptance length counts the rounds without any."}
#       - {text: "No, lookups change the text.", reason: "Its guesses are verified like all others."}
#       - {text: "No, it costs too much.", reason: "It costs hardly anything. But it may bring hardly anything."}
#   - prompt: Draft and target agree at 64 % of the places of a held-out text. What is the greedy acceptance while decoding?
#     choices:
#       - {text: "0.64", reason: "That is true of the held-out text. While decoding, the target's own text stands before each guess."}
#       - {text: "Another number; measure it there.", right: true, reason: "It hangs on how sure the target is of its own text, and on whether the draft has learnt from such text. It may be more or less."}
#       - {text: "Always less", reason: "It may be less. A draft taught on what the target writes may also reach more there."}
#       - {text: "It can't be known.", reason: "It can be measured: decode and count."}
#   - prompt: Why do the guesses of heads get worse with distance?
#     choices:
#       - {text: "Later heads have fewer weights.", reason: "All have the same shape."}
#       - {text: "The row is rounded.", reason: "Rounding is far smaller."}
#       - {text: "A head does not know which tokens come out in between.", right: true, reason: "Head 1 must guess for all words that may stand before. EAGLE feeds the guess back in."}
#       - {text: "The target was not trained for it.", reason: "True of Medusa-1, and retraining helps. But even then they guess without the words between."}
#   - prompt: Two brothers in a tree, A and B. What may B see?
#     choices:
#       - {text: "A, since it stands earlier", reason: "For B's text A does not exist. With A in sight the target answers about another text."}
#       - {text: "The text, and itself", right: true, reason: "And whatever stands between the text and B in its own line. Here nothing does."}
#       - {text: "Everything; the softmax sorts it out", reason: "Attention would mix A into B's row."}
#       - {text: "Only itself", reason: "Without the text it can't be judged."}
#   - prompt: A tree of 30 guesses gives 3.1 tokens a pass, a chain of 4 gives 2.6. Which is faster?
#     choices:
#       - {text: "The tree", reason: "By tokens a pass. A pass over 31 rows may cost more than one over 5."}
#       - {text: "The chain", reason: "Only where 31 rows cost clearly more than 5."}
#       - {text: "The one with more tokens for each unit of time", right: true, reason: "Divide by the cost of the pass, as in lesson 5. On a card with one text both passes cost nearly the same; on a processor they do not."}
#       - {text: "They are equal.", reason: "3.1 and 2.6 tokens differ, and so do the passes."}

# %% [markdown]
# Two more are graded. Their reasons come with your feedback.

# %% [raw] quiz="quiz_perplexity" minutes=1
# question: |
#   Draft 1 predicts a held-out text better than draft 2: its perplexity is lower. Both cost the same. Which
#   should draft for your target?
# choices:
#   A: {text: "Draft 1. A better language model is a better draft.", reason: "It is better at the truth. Accepted is what the target would have said, right or wrong."}
#   B: {text: "Draft 2. A bad model is easier to verify.", reason: "Verification costs the same for every guess."}
#   C: {text: "The one whose chances overlap more with the target's; perplexity does not say which.", reason: "α is the sum of min(p, q), a property of the two. A draft that makes the target's own mistakes is a good one."}
#   D: {text: "It makes no difference, since the text is the target's.", reason: "The text is the same. The number of passes is not."}
# right: C

# %% [raw] quiz="quiz_lossless" minutes=1
# question: |
#   Medusa's *typical acceptance* keeps a guess when the target gives it a chance above a threshold, which
#   depends on how unsure the target is. What does that do?
# choices:
#   A: {text: "It keeps the target's law, since the target is asked.", reason: "It is asked, but not obeyed: a likely token is kept more often than the target would have drawn it."}
#   B: {text: "It changes the law of the text: faster, and no longer the target's.", reason: "A guess above the threshold is always kept, whatever the target would have drawn. Exact verification of the same heads keeps the law."}
#   C: {text: "It changes only the speed.", reason: "More guesses are kept than by the exact rule. Those are other tokens than the target's."}
#   D: {text: "It is exact at every temperature but 0.", reason: "It is nearest to exact at temperature 0, and leaves the law behind above it."}
# right: B

# %% [markdown] minutes=1
# ## Common mistakes
#
# | mistake | what it gives, on the numbers of this lesson |
# |---|---|
# | a lookup that matches itself | `[]` for every text: plain decoding, and a clean test of texts |
# | the earliest match instead of the latest | `[3, 1]` in place of `[4, 5]` |
# | an n-gram that looks back at n tokens | contexts that were hardly ever seen |
# | the gradient with the wrong sign | a draft that moves away from its teacher at every step |
# | cross entropy taken for KL | 0.6931 where q = p = (½, ½) should give 0 |
# | heads that read the last row | right text, worse guesses after each rejection |
# | a guess judged by the choice after itself | the family: `[1]` in place of `[1, 4, 7]` |
# | brothers that see each other | another text |
# | α praised, proposals not counted | 100 % of ten guesses |
#
# ## When it breaks
#
# - **Other text than it was trained for.** A draft distilled on chat is a poor draft for code.
# - **A target that changes.** Fine-tune the target, and the draft fits the old one. Distil again.
# - **Large batches.** The spare arithmetic that trees live on is gone (lesson 5).
# - **A cache that keeps the wrong branch.** EAGLE's code once kept rows of rejected branches while the mask
#   was reset ([report](https://github.com/SafeAILab/EAGLE/issues/336)).
# - **Heads and trees of different size.** Medusa's code ran past the end when the tree had more levels than
#   there were heads ([report](https://github.com/FasterDecoding/Medusa/issues/63)).
# - **The most frequent and the latest match mixed up.** llama.cpp chose the most frequent n-gram, and copied
#   from the latest one ([fix](https://github.com/ggml-org/llama.cpp/pull/28431)).
#
# ## What you built, and where it runs
#
# Your lookup is `prompt_lookup_num_tokens` in transformers (which takes the earliest match, where yours takes
# the latest), `"method": "ngram"` in vLLM and `ngram-simple` in llama.cpp. Your loss is that of DistillSpec with forward KL. Your heads are Medusa-1 without its
# training, and `tree_mask` with `verify_tree` is the core of SpecInfer, Medusa and EAGLE.

# %% [markdown]
# ## Stretch, not graded
#
# **Lookup with a fallback.** Try n = 3, and where nothing matches 2, and then 1. transformers does so. Does
# it help? On which text?
#
# **A tree of your own.** Which shape has the best clock on your machine? Change `shapes` above. Ask first:
# what does a pass over so many rows cost (lesson 2), and how many tokens must it bring?
#
# **The table, taught.** An n-gram could count the target's *chances* instead of its tokens: add p of each
# token, not 1. Does it beat the table of what the target wrote?

# %% [markdown]
# ## Your project
#
# Everything up to here had an answer. This has none. Choose a draft, or an idea about drafts, and find out
# something about it that you did not know. For example: a bigram table that is updated while the text
# grows; prompt lookup that proposes only after a long match; heads fitted on the target's own text; a k that
# depends on how long the match was; a tree that widens where the heads are unsure.
#
# Write half a page in the cell below, with these four parts. A person reads it, and gives 0 to 2 points for
# each part. These {{project_points}} points are counted apart from the {{points}} of the checks.
#
# | part | 2 points | 1 point | 0 points |
# |---|---|---|---|
# | **Claim** | one sentence that could turn out false, with a number in it | a claim without a number | a description |
# | **Measurement** | the same prompts for both sides, in one run, repeated or with its spread; the code is here | measured, but not comparable or not repeatable | no measurement |
# | **Exactness check** | the text (or the law) is compared with plain decoding, and a wrong program would fail the check | compared on one text | not checked |
# | **Limits** | where it does not hold, and what you did not test | one general remark | nothing |
#
# Put your code into cells of your own below; add as many as you need.

# %% [markdown] project="project" points=8
# **Claim.** On held-out prompts, heads fitted on 3,072 tokens that the target wrote accept at least twice as
# many guesses a pass, at k = 3, as heads fitted on 3,072 tokens from books.
#
# **Measurement.** Both ran on the same 8 prompts of 48 tokens in one call of `print_runs`, and again with 8
# other prompts, twice. I report all three ratios, not the best.
#
# **Exactness check.** All 24 texts were compared with plain decoding, token by token, for both. To see that
# the check can fail, I ran a tree with `mask_by_level`: it reported another text.
#
# **Limits.** One target, one kind of prose, greedy only. If the target repeats itself, a part of the gain
# comes from that. Not tried: more than 3,072 tokens, sampling.

# %% [markdown] only="solution"
# ## Carry it over
#
# Three new situations. Answer first; the answers are folded.
#
# **1.** Your target is tuned on contracts, and the old draft agrees less. You can teach the draft
# on contracts that people wrote, or on the tuned target's probabilities along such texts. Which?
#
# <details><summary>Answer 1</summary>
#
# The target's probabilities. The draft must resemble the target, not the truth, and along the texts
# that the target will meet. People's contracts alone teach it where the target itself would go
# otherwise.
#
# </details>
#
# **2.** An editor asks the model to rename a variable in a file of 300 lines. Which draft would you
# try first, and where will it fail?
#
# <details><summary>Answer 2</summary>
#
# Prompt lookup: nearly all of the answer stands in the prompt, and a lookup costs next to nothing.
# It fails at each renamed place, where it copies the old name. One correction later the newest
# tokens match again.
#
# </details>
#
# **3.** Head 1 is right with 0.6, its two best tokens hold the right one with 0.75. Head 2 is right
# with 0.4 after the first choice, head 3 with 0.3 after that. You may verify three nodes. A chain
# of three heads, or two choices of head 1 and head 2 below the first?
#
# <details><summary>Answer 3</summary>
#
# The chain gives 1 + 0.6 + 0.24 + 0.072 = 1.91 tokens a pass, the tree 1 + 0.75 + 0.24 = 1.99. With
# a weak first guess, wide is better than deep.
#
# </details>

# %% [markdown]
# ## Where you are
#
# This runs all visible checks on what you have written so far.

# %%
from specdec.progress import show_progress

show_progress("06_better_drafts")

# %% [markdown]
# ## Hand in
#
# 1. Save with <kbd>Ctrl</kbd> + <kbd>S</kbd>.
# 2. Press **Validate** in the toolbar. It runs the saved notebook from the top, in a fresh kernel,
#    as grading does. What worked only because cells ran in another order shows up here.
# 3. *Success* means that all visible checks pass. Grading runs more cases of the same rules, and
#    marks the two questions. Your project is read by a person.
#
# ## Where to go next
#
# This was the last lesson. You can now read the papers below, and most of the code of the engines.
#
# - **Use it**: turn drafting on in an engine that you run, log rounds, drafted, accepted and emitted, and ask
#   lesson 5's questions of the log.
# - **Train it**: [speculators](https://github.com/vllm-project/speculators) trains EAGLE-style drafts for
#   vLLM.
# - **Read on**: [Spec-Bench](https://github.com/hemingkx/Spec-Bench) compares methods on one machine, and
#   its authors keep a list of papers.
#
# ## Sources
#
# - Y. Zhou and others: *DistillSpec*, 2023, [arXiv 2310.08461](https://arxiv.org/abs/2310.08461).
# - A. Saxena: *Prompt Lookup Decoding*, 2023,
#   [code](https://github.com/apoorvumang/prompt-lookup-decoding).
# - T. Cai and others: *Medusa*, 2024, [arXiv 2401.10774](https://arxiv.org/abs/2401.10774). Heads, trees,
#   typical acceptance.
# - X. Miao and others: *SpecInfer*, 2023, [arXiv 2305.09781](https://arxiv.org/abs/2305.09781). Trees, and
#   several guesses for one place.
# - Z. Chen and others: *Sequoia*, 2024, [arXiv 2402.12374](https://arxiv.org/abs/2402.12374).
# - Y. Li and others: *EAGLE*, 2024, [arXiv 2401.15077](https://arxiv.org/abs/2401.15077); *EAGLE-2*, 2024,
#   [arXiv 2406.16858](https://arxiv.org/abs/2406.16858); *EAGLE-3*, 2025,
#   [arXiv 2503.01840](https://arxiv.org/abs/2503.01840).
# - Z. Sun and others: *SpecTr*, 2023, [arXiv 2310.15141](https://arxiv.org/abs/2310.15141). Optimal
#   transport. *Block Verification*, 2024, [arXiv 2403.10444](https://arxiv.org/abs/2403.10444).
# - H. Xia and others: *Spec-Bench*, 2024, [arXiv 2401.07851](https://arxiv.org/abs/2401.07851).
