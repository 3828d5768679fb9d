# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   specdec:
#     title: When it pays
#     points: 20
# ---

# %% [markdown]
# # Lesson 5 · When it pays
#
# **Which draft, how many guesses, how large a batch?**
#
# {{minutes}} minutes: part A, one text at a time, takes {{minutes_A}}; part B, logs, texts and
# batches, takes {{minutes_B}}. The place to stop is marked · {{points}} points.
# You must have done lesson 1, and know Python with lists, and fractions. Lessons 2 and 4 are best done
# before; what is used of them here is explained again.

# %% [markdown] only="solution"
# **This is the worked solution** of
# [the lesson](../../lessons/05_when_it_pays/05_when_it_pays.ipynb), with the questions repeated, the
# answers, why they are so, and what the usual wrong turns give.
#
# **Ten minutes only?** The rule: one more guess pays while its chance to come out is above its cost
# times the present speedup. The number: of two drafts, the one that agrees less is faster, 3.2 times
# against 2.5. The three mistakes: taking accepted/drafted for α, forgetting that a full pass costs
# more, trusting a high acceptance. Read *The idea*, *Three numbers of one log*, *Where the formula
# misleads* and *Many texts at once*.
#
# **Your own notebook**, with all checks, the hidden ones included:
# `autograder check lessons/05_when_it_pays/05_when_it_pays.ipynb`.

# %% [markdown] part="A"
# ## What you will be able to do
#
# - **Calculate** how much faster a draft makes a target, from three numbers.
# - **Find** the best number of guesses, and the acceptance below which a draft only costs.
# - **Read** the log of an engine, and tell apart three numbers that are often confused.
# - **Simulate** decoding along a real text, and see where the formula misleads.
# - **Say** from which batch speculative decoding loses.
#
# Six lessons; A → B means: do A before B.
#
# 1 the rule → 2 one pass of a real model → 4 caches → **5 when it pays** → 6 better drafts
#
# 1 the rule → 3 exact sampling

# %% [markdown]
# Run each cell with <kbd>Shift</kbd> + <kbd>Enter</kbd>. Start with this one.

# %% setup=true
try:
    from specdec.start import start

    start("05_when_it_pays")
except ModuleNotFoundError:
    print("This kernel lacks the course. Choose Kernel > Change Kernel, or start with: make lab")

# %% [markdown] minutes=3
# ## Part A: one text at a time
#
# ## Predict first
#
# A target writes one text. You may choose its draft:
#
# | draft | acceptance a | cost c of one draft step |
# |---|---|---|
# | large | 0.82 | 0.11 |
# | small | 0.75 | 0.02 |
#
# The **acceptance** a is the chance that a guess is right when all before it were. The unit of cost
# is one pass of the target: at c = 0.11, nine draft steps take about as long as one pass. Both drafts
# guess k = 7 tokens a round. A **place** is a position of the text for which a pass computes the next
# token. A pass over 8 places (7 guesses and the target's own token) costs as much as one over a
# single place.
#
# **With which draft is the target faster?** Choose below before you read on. Then play: move the
# sliders, load a case from a paper, and watch the two curves.
#
# *No picture below? Run the next cell.*

# %% [raw] widget="drafts"
# kind: CostExplorer
# a: 0.75
# c: 0.02
# k: 7
# pinned: {a: 0.82, c: 0.11, k: 7}
# question: Both drafts guess 7 tokens a round. With which is the target faster?
# choices:
#   - text: With the large one
#     reason: It gives more tokens a pass, 4.42 against 3.60. But its 7 steps cost 0.77 of a pass, those of the small one 0.14.
#   - text: With the small one
#     right: true
#     reason: 3.60 tokens for a cost of 1.14 are 3.16 tokens for each pass; 4.42 tokens for a cost of 1.77 are 2.50. On a real machine it was 3.4 against 1.7.
#   - text: About the same with both
#     reason: They differ by a quarter. The small draft gives a fifth fewer tokens, but a round takes a third less time.
#   - text: With neither; both are slower than no draft
#     reason: A round costs 1.14 or 1.77 passes and gives more than three tokens. Without a draft a pass gives one.

# %% [markdown]
# Code can read the explorer. Move a slider, then run this again. Before you have chosen, the
# results are None.

# %%
print("acceptance, step cost, guesses:", drafts.a, drafts.c, drafts.k)
print("tokens a pass:", drafts.tokens_per_pass)
print("speedup:      ", drafts.speedup)
print("best k:       ", drafts.best_k)

# %% [markdown]
# These two drafts are real. They are T5-large and T5-small, drafting for a T5 model of 11 billion
# weights that translates English into German. What a stopwatch said about them comes further down,
# where you check the paper's tables.

# %% [markdown] minutes=4
# ## The idea: tokens for a price
#
# Take a = ½, and a draft whose step costs c = ⅛ of a pass. With k = 2 guesses a round:
#
# - it gives 1 + ½ + ¼ = 1.75 tokens on average, the sum of lesson 1;
# - it costs 2 × ⅛ + 1 = 1.25 passes.
#
# That is 1.75 / 1.25 = **1.4** tokens for the price of a pass. Plain decoding gives 1. So it is 1.4
# times as fast. For other k:
#
# | k | tokens a round | cost of a round | speedup |
# |---|---|---|---|
# | 0 | 1 | 1 | 1 |
# | 1 | 1.5 | 1.125 | 1.333 |
# | 2 | 1.75 | 1.25 | **1.400** |
# | 3 | 1.875 | 1.375 | 1.364 |
# | 4 | 1.9375 | 1.5 | 1.292 |
#
# ### Does one more guess pay?
#
# Go from k = 1 to k = 2. The second guess comes out only if both guesses are right: chance ¼. So it
# brings 0.25 tokens. It costs ⅛ of a pass. In that time, at 1.333 tokens a pass, you would have got
# ⅛ × 1.333 = 0.167 tokens anyway. 0.25 is more, so take it.
#
# Go from k = 2 to k = 3. The third guess brings ⅛ = 0.125 tokens. In its time, at 1.4 tokens a pass,
# you would have got ⅛ × 1.4 = 0.175 anyway. That is more than it brings, so leave it.
#
# **With k guesses so far, one more pays while a^(k+1) is above c × the present speedup.** The left
# side shrinks with each guess. So the speedup rises as long as guesses pay, and falls from there on:
# there is one best k. Where the first guess already loses, it is 0.

# %% [markdown]
# ### The words we use
#
# | word | meaning |
# |---|---|
# | a, or α (alpha) | acceptance: the chance that a guess is right when all before it were |
# | k | guesses a round; γ (gamma) in many papers |
# | plain pass | the target reads one place: the unit of all costs |
# | c | the cost of one draft step, in plain passes |
# | verify cost | the cost of the pass that reads k + 1 places; 1 if the extra places are free |
# | speedup | tokens a round, divided by the cost of a round; plain decoding has 1 |
# | break-even | where the speedup is exactly 1 |

# %% [raw] todo="todo_next_guess" minutes=1
# question: |
#   Now a dearer draft: a = ½ as before, but c = ¼. **Which k is best?** Use the rule of the next
#   guess, starting from k = 0 with speedup 1.
# right: 1
# why: The first guess brings 0.5 for 0.25. Then the speedup is 1.5 / 1.25 = 1.2, and the second brings 0.25 for 0.25 × 1.2 = 0.3.
# wrong:
#   2: What does the second guess bring? Compare it with ¼ times the speedup at k = 1, not with ¼ alone.
#   0: What does the first guess bring, and what is ¼ of a pass worth at speedup 1?
#   3: The third guess brings ⅛ of a token and costs ¼ of a pass. Go up from 0, one guess at a time.
#   4: The fourth guess comes out once in 16 rounds and costs ¼ of a pass each time.
#   1.2: That is the speedup. The question is which k gives it.

# %% [markdown]
# ## Write the formula
#
# `expected_tokens` of lesson 1 is here, the worked one: the mean number of tokens a pass emits.

# %%
import numpy as np

from specdec.reference.lesson_01 import expected_tokens

print(expected_tokens(0.5, 2))

# %% [markdown] card="speedup" difficulty=1 minutes=4
# How many times as fast as plain decoding is a round?
#
# | a | k | c | `verify_cost` | speedup |
# |---|---|---|---|---|
# | 0.5 | 2 | 0.125 | 1 | 1.4 |
# | 1 | 4 | 0.25 | 1.5 | 2 |
# | 0 | 4 | 0.25 | 1 | 0.5 |
#
# `verify_cost` may be left out; then it is 1. Raise `ValueError` when a is outside 0 to 1, when k or c
# is negative, or when `verify_cost` is 0 or less. (`expected_tokens` sees to a and k.)

# %% answer="speedup"

# %% free_try="speedup"
from specdec.tryout import side_by_side

side_by_side(
    speedup,
    [((0.5, 2, 0.125, 1), 1.4), ((1, 4, 0.25, 1.5), 2.0), ((0, 4, 0.25, 1), 0.5)],
)

# %% test="speedup" points=2
from specdec.checks.lesson_05 import check_speedup

check_speedup(speedup)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_speedup(
    speedup,
    [
        Case((0.7, 3, 0.1, 1.0), 2.533 / 1.3),
        Case((0.6, 2, 0.25, 1.5), 0.98),
        Case((0.9, 10, 0.02, 1.3), 6.8618940391 / 1.5),
        Case((1, 3, 0.5, 2.5), 1.0),
        Case((0.25, 1, 0.5), 1.25 / 1.5),
        Case((0.5, 0, 3.0, 2.0), 0.5),
        Case((0.6, 1, 0.1, -1.0), ValueError, "a pass costs something: verify_cost is above 0"),
        Case((0.6, 1, -0.5), ValueError, "c is a cost, 0 or more"),
        Case((-0.2, 1, 0.5), ValueError, "a is a chance, between 0 and 1"),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="speedup"
# Plain decoding gives one token for a cost of 1. What does a round give, and what does it cost?
# ===
# It gives `expected_tokens(a, k)`. It costs k draft steps and one verification.
# ===
# ```python
# if c < 0 or verify_cost <= 0:
#     raise ValueError("…")
# return expected_tokens(a, k) / (____ * c + ____)
# ```

# %% [markdown] only="solution"
# **Why this way.** It reads as it is said: tokens of a round over the cost of a round. Plain decoding
# has 1 token over cost 1, so nothing more is to be divided. With `verify_cost` left at 1 it is
# theorem 3.8 of the paper.
#
# **Another right way.** `speed_estimate` of lesson 1 with times in passes:
# `speed_estimate(a, k, c, verify_cost)`. It is the same fraction.

# %% [markdown] only="solution" wrong_turns="speedup" shown="[(0.5, 2, 0.125, 1.0), (0.8, 4, 0.1, 1.2), (0.5, 2, -0.1, 1.0)]"
# **Wrong turns**, called with a = 0.5, k = 2, c = 0.125 and a pass of 1, then with a = 0.8, k = 4,
# c = 0.1 and a pass of 1.2, then with c = −0.1. Right are `1.4`, `2.101` and ValueError.

# %% [markdown] card="optimal_k" difficulty=2 minutes=8
# Which k is fastest? Try all from 0 to `k_max`, both included. The pass costs 1, whatever k is.
#
# | a | c | `k_max` | best k | because |
# |---|---|---|---|---|
# | 0.5 | 0.125 | 8 | 2 | the table above |
# | 0.3 | 0.5 | 20 | 0 | each k loses; no draft is best |
# | 0.8 | 0.05 | 4 | 4 | 8 would be best, but is not allowed |
# | 0.5 | 0.5 | 6 | 0 | k = 1 is just as fast: the smallest of equals |
# | 0.15 | 0.15 | 4 | 0 | k = 1 is just as fast, but a computer finds 1.0000000000000002 |
#
# The last row is why two speedups that differ by less than 1e-12 count as equal. If `k_max` is
# negative, raise `ValueError`; for a and c as in `speedup`. You may call `speedup`.

# %% answer="optimal_k"

# %% free_try="optimal_k"
from specdec.tryout import side_by_side

side_by_side(
    optimal_k,
    [
        ((0.5, 0.125, 8), 2),
        ((0.3, 0.5, 20), 0),
        ((0.8, 0.05, 4), 4),
        ((0.5, 0.5, 6), 0),
        ((0.15, 0.15, 4), 0),
    ],
)

# %% [markdown]
# Checks: the best k, then ties and edges. More cases run when this is graded; the rules are the same.

# %% test="optimal_k" points=2
from specdec.checks.lesson_05 import check_optimal_k

### BEGIN HIDDEN TESTS
from specdec.checks import Case
from specdec.reference.lesson_05 import speedup  # an earlier mistake costs nothing here

### END HIDDEN TESTS
check_optimal_k(optimal_k, speedup)
### BEGIN HIDDEN TESTS
check_optimal_k(
    optimal_k,
    speedup,
    [
        Case((0.7, 0.05, 30), 6),
        Case((0.9, 0.1, 30), 10),
        Case((0.9, 0.1, 9), 9),
        Case((0.5, 0.3, 12), 1),
        Case((0.2, 0.3, 12), 0),
        Case((0.95, 0.02, 64), 31),
        Case((1, 0.3, 7), 7),
    ],
)
### END HIDDEN TESTS

# %% test="optimal_k_edges" points=1
from specdec.checks.lesson_05 import check_optimal_k_edges

### BEGIN HIDDEN TESTS
from specdec.checks import Case
from specdec.reference.lesson_05 import speedup  # an earlier mistake costs nothing here

### END HIDDEN TESTS
check_optimal_k_edges(optimal_k, speedup)
### BEGIN HIDDEN TESTS
check_optimal_k_edges(
    optimal_k,
    speedup,
    [
        Case((0.125, 0.125, 4), 0),
        Case((0.85, 0.85, 3), 0),
        Case((0.75, 0.75, 2), 0),
        Case((1, 1, 8), 0),
        Case((0.4, 0.9, 0), 0),
        Case((0.6, 0.1, 1), 1),
        Case((0.6, 0.1, -3), ValueError, "k_max is negative"),
        Case((-0.1, 0.1, 3), ValueError, "a is a chance, between 0 and 1"),
        Case((0.6, -0.2, 3), ValueError, "c is a cost, 0 or more"),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="optimal_k"
# Go through all k from 0 on, and remember the best so far. When does a later k take its place?
# ===
# Only when it is faster, not when it is equal. So the smallest of equals stays.
# ===
# ```python
# if k_max < 0:
#     raise ValueError("…")
# best = 0
# for k in range(____):
#     if speedup(a, k, c) > speedup(a, best, c) + ____:
#         best = k
# return best
# ```

# %% [markdown] only="solution"
# **Why this way.** All k are tried, so nothing has to be proved about the shape of the curve. `best`
# starts at 0 and gives way only to a faster k, so of equals the smallest stays. The 1e-12 keeps a
# tie a tie when one of the two numbers was rounded up.
#
# **Another right way.** Walk up while the next guess pays,
# `a ** (k + 1) > c * speedup(a, k, c) + 1e-12`. It stops at the top of the curve, and it says why the
# best k is where it is.

# %% [markdown] only="solution" wrong_turns="optimal_k" shown="[(0.5, 0.125, 8), (0.3, 0.5, 20), (0.8, 0.05, 4), (0.5, 0.5, 6), (0.15, 0.15, 4)]"
# **Wrong turns**, called with the five rows of the table. Right are `2`, `0`, `4`, `0` and `0`.

# %% [markdown]
# The best k for some drafts, from your function. In brackets the speedup.

# %% free_try="best_k"
costs = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
print("a \\ c " + "".join(f"{c:>12}" for c in costs))
for a in [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]:
    cells = [(k, speedup(a, k, c)) for c in costs for k in [optimal_k(a, c, 64)]]
    print(f"{a:<6}" + "".join(f"{f'{k} ({s:.2f})':>12}" for k, s in cells))

# %% [markdown] minutes=3
# ## Check the papers
#
# The idea was published twice, with tables. Does your formula give what they print? The cell
# compares 27 cells: table 1 of Leviathan and others, the expected speeds in their tables 2 and 4,
# and the three ratios of Chen and others.

# %% free_try="papers"
from specdec.costs import LEVIATHAN_2_4, paper_table, verdict

rows = paper_table(speedup)
for words, kind in [
    ("equal after rounding", "equal"),
    ("within 0.07", "inputs"),
    ("another number", "no"),
]:
    cells = [row for row in rows if verdict(*row[1:]) == kind]
    print(f"{words}: {len(cells)} of {len(rows)}")
    for where, printed, computed, _ in cells if kind != "equal" else []:
        print(f"    {where}: printed {printed}, computed {computed:.3f}")

print("\ntask         draft     decoding  k     a     c   formula  measured")
for task, draft, temperature, k, a, c, _, measured in LEVIATHAN_2_4:
    decoding = "sampled" if temperature else "greedy"
    print(f"{task:<12} {draft:<9} {decoding:<8} {k:>2}  {a:.2f}  {c:.2f} "
          f"{speedup(a, k, c):>8.2f} {measured:>9}")

# %% [markdown]
# Three cells miss by up to 0.07. The printed a and c are rounded to two places, and that is enough to
# explain it. One of Chen's ratios is printed as 1.92, but the two times beside it give 14.1 / 7.52 =
# 1.875. A paper's own numbers are worth a check.
#
# Now the table, rows 1 and 3. From small to large, the acceptance rises from 0.75 to 0.82, and
# the measured speed falls from 3.4 to 1.7. **A draft that agrees more can be slower.** Each of its steps
# costs five times as much, and k of them are paid in every round, accepted or not.
#
# That explains a part only. The formula gives the large draft 2.50; measured was 1.7. It puts T5-base
# just ahead of T5-small, 3.25 against 3.16; measured were 2.8 and 3.4. And all six summaries ran faster
# than the formula says, four by about 0.4 or more. So a, c and k are not all that a clock sees. Let the
# formula say what to try, and a stopwatch decide.

# %% [markdown]
# ---
# **This is the end of part A, and a good place to stop.** Save with <kbd>Ctrl</kbd> +
# <kbd>S</kbd>. To come back later, run the cells from the top: *Run > Run All Cells*.
#
# ---

# %% [markdown] part="B"
# ## Part B: logs, texts and batches
#
# The formula takes a number a from somewhere. Where from?

# %% [markdown] minutes=3
# ## Three numbers of one log
#
# The cat of lesson 1, with k = 3: a box for each guess, ✓ accepted, ✗ rejected, · thrown away.
#
# | round | guesses | accepted | emitted |
# |---|---|---|---|
# | 1 | ✓ ✓ ✓ | 3 | 4 |
# | 2 | ✗ · · | 0 | 1 |
# | 3 | ✓ ✓ ✗ | 2 | 3 |
# | 4 | ✓ ✓ ✓ | 3 | 4 |
#
# `rounds 4 · drafted 12 · accepted 8 · emitted 12`
#
# - **Acceptance rate**: accepted / drafted = 8 / 12 = **0.667**.
# - **Mean acceptance length**: emitted / rounds = 12 / 4 = **3.0** tokens a pass.
# - **α**, the a of the formula: accepted / tested. A guess is *tested* when all before it were right:
#   the ✓ and the ✗, 10 of them. The · were never tested. 8 / 10 = **0.8**.
#
# Rounds 1 and 4 ended without a ✗. Their next guess might have been right too; nobody knows, since
# the draft ended there. So they add no rejection. (A statistician says: they are *censored* at k.)
#
# With α = 0.8 and k = 3 the formula gives 2.95 tokens a pass; counted were 3.0. With 0.667 it gives
# 2.41. The rate of a log is not the a of the formula.

# %% [markdown]
# Engines print these numbers under various names:
#
# | where | "acceptance rate" | "length" |
# |---|---|---|
# | vLLM | accepted / drafted | 1 + accepted / rounds that drafted |
# | SGLang | accepted / drafted | tokens / passes of the target |
# | llama.cpp | `0.64479` = 167 / 259 | `2.92` = 1 + 167 / 87 rounds that drafted |
# | gpt-fast | | accepted / rounds, *without* the target's own token |
#
# **Totals are not enough for α.** With k = 3, accepted `[3, 3, 2, 0]` and `[2, 2, 2, 2]` have the same
# totals: 4 rounds, 12 drafted, 8 accepted, 12 emitted. But the first has α = 0.8, the second 0.667.
# Totals give the rate and the length. For α you need each round, or the rate of each place.
#
# llama.cpp prints that too. `(0.805, 0.632, 0.483)` stood beside the numbers above: guess 1 was
# accepted in 0.805 of the 87 rounds, guess 2 in 0.632, guess 3 in 0.483. Guess 1 is tested in every
# round, the next one only where the one before was right. So
# α = (0.805 + 0.632 + 0.483) / (1 + 0.805 + 0.632) = **0.788**, while the rate is 0.645.

# %% [raw] todo="todo_alpha" minutes=1
# question: |
#   Another log: k = 3, and four rounds accepted 3, 3, 0 and 3 guesses. **What is α?**
# right: 0.9
# why: Nine were accepted, and one was rejected. Ten were tested.
# wrong:
#   0.75: That is accepted / drafted. Were all twelve tested? Look at the third round.
#   3.25: That is the mean acceptance length, 13 tokens in 4 rounds.
#   2.25: That is how many a round accepts on average. α is a chance.
#   0.6923076923076923: A round whose three guesses were all right has no rejection. How many rounds have one?
#   1: One round rejected its first guess.

# %% [markdown] card="estimate_acceptance" difficulty=2 minutes=10
# Write the three numbers, from a log with one entry a round.
#
# | `accepted` | `drafted` | rate | length | α |
# |---|---|---|---|---|
# | `[3, 0, 2, 3]` | `[3, 3, 3, 3]` | 0.6667 | 3.0 | 0.8 |
# | `[2, 5, 1]` | `[2, 5, 3]` | 0.8 | 3.6667 | 0.8889 |
# | `[3, 3]` | `[3, 3]` | 1.0 | 4.0 | 1.0 |
#
# Return them as a tuple, in this order. The length of a draft may change from round to round, and a
# round may draft nothing at all. Nothing was cut: each round emitted its accepted tokens and one of
# the target's own.
#
# Raise `ValueError` when the lists differ in length, when a round accepted less than 0 or more than
# it drafted, or when nothing was drafted in all rounds together.

# %% answer="estimate_acceptance"

# %% free_try="estimate_acceptance"
from specdec.tryout import side_by_side

side_by_side(
    estimate_acceptance,
    [
        (([3, 0, 2, 3], [3, 3, 3, 3]), [8 / 12, 3.0, 0.8]),
        (([2, 5, 1], [2, 5, 3]), [0.8, 11 / 3, 8 / 9]),
        (([3, 3], [3, 3]), [1.0, 4.0, 1.0]),
    ],
)

# %% test="estimate_acceptance" points=2
from specdec.checks.lesson_05 import check_estimate_acceptance

check_estimate_acceptance(estimate_acceptance)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_estimate_acceptance(
    estimate_acceptance,
    [
        Case(([1, 0, 2, 2, 0], [2, 2, 2, 2, 2]), [0.5, 2.0, 5 / 8]),
        Case(([5, 3, 1], [5, 4, 2]), [9 / 11, 4.0, 9 / 11]),
        Case(([0, 4, 7], [1, 8, 7]), [11 / 16, 14 / 3, 11 / 13]),
        Case(([2, 1, 1], [2, 1, 4]), [4 / 7, 7 / 3, 0.8]),
    ],
)
### END HIDDEN TESTS

# %% test="estimate_acceptance_edges" points=1
from specdec.checks.lesson_05 import check_estimate_acceptance_edges

check_estimate_acceptance_edges(estimate_acceptance)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_estimate_acceptance_edges(
    estimate_acceptance,
    [
        Case(([5], [5]), [1.0, 6.0, 1.0]),
        Case(([0, 0], [4, 1]), [0.0, 1.0, 0.0]),
        Case(([0, 0, 2, 0], [0, 1, 2, 0]), [2 / 3, 1.5, 2 / 3]),
        Case(([1], [1, 1]), ValueError, "the lists differ in length"),
        Case(([2, 2], [2, 1]), ValueError, "the second round accepted 2 of 1"),
        Case(([0], [0]), ValueError, "nothing was drafted"),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="estimate_acceptance"
# All three have `sum(accepted)` above the line, once with something added. What stands below?
# ===
# Below stand: all drafted tokens; all rounds; all tested tokens. A round tests what it accepts, and
# one token more if it rejects one. When does a round reject one? (The errors come first: see the card.)
# ===
# ```python
# if len(accepted) != len(drafted) or ____:
#     raise ValueError("…")
# rejections = sum(a < d for a, d in zip(accepted, drafted))
# rate = sum(accepted) / ____
# length = (sum(accepted) + ____) / len(accepted)
# alpha = sum(accepted) / (sum(accepted) + ____)
# return rate, length, alpha
# ```

# %% [markdown] only="solution"
# **Why this way.** A round has rejected a guess exactly when it accepted fewer than it drafted. This
# needs no k, so it holds for drafts of any length, and a draft of nothing (0 < 0 is false) counts as
# no rejection. The estimate is the one of largest likelihood for equal and independent guesses with
# chance α: accepted out of tested.
#
# **Another right way.** Count the tested tokens of each round, `min(a + 1, d)`, and sum them. At
# a = d it gives d: the censored round.

# %% [markdown] only="solution" wrong_turns="estimate_acceptance" shown="[([3, 0, 2, 3], [3, 3, 3, 3]), ([2, 5, 1], [2, 5, 3]), ([0, 3, 1], [0, 3, 2])]"
# **Wrong turns**, called with the cat's log, with drafts of 2, 5 and 3, and with a round that drafts
# nothing. Right are `[0.6667, 3.0, 0.8]`, `[0.8, 3.667, 0.8889]` and `[0.8, 2.333, 0.8]`.

# %% [markdown]
# ## Find the bug
#
# ### Nearly everything accepted, and slow
#
# A program of llama.cpp reported this for a text of 101 tokens
# ([report](https://github.com/ggml-org/llama.cpp/issues/3919)):
#
# ```
# n_predict = 101
# n_drafted = 19
# n_accept  = 18
# accept    = 94.737%
# ```
#
# 94.7 % is a splendid rate. The user found the program slower than plain decoding.

# %% [raw] todo="todo_hardly_drafts" minutes=1
# question: |
#   Take emitted = accepted + rounds, as always. **How many passes of the target did these 101 tokens
#   need?**
# right: 83
# why: 101 − 18. That is 1.2 tokens a pass. The draft guessed only when it was nearly sure, so it hardly guessed.
# wrong:
#   101: Plain decoding would need that many. Which tokens here came without a pass of their own?
#   82: You took off all that were drafted. Does a rejected guess save a pass?
#   18: That many tokens were accepted. Where did the others come from?
#   19: That many tokens were drafted. A pass happens also when nothing is drafted.
#   6: That would be 18 tokens a pass. Passes without a draft count too.
#   5: That would be about 20 tokens a pass. Look at how few were drafted.

# %% [markdown] only="solution"
# A rule had been added by which the draft stopped guessing as soon as it was less than sure. So it
# offered 19 guesses in 83 rounds. What was offered was nearly always right, and there was nothing to
# gain. A rate says how good the guesses are, never how many there were. Ask for the mean acceptance
# length: here 101 / 83 = 1.22.

# %% [markdown]
# ### A rate that can't be
#
# Whether the target's own token counts has been decided both ways. vLLM's mean acceptance length left
# it out at first, then [put it in](https://github.com/vllm-project/vllm/pull/17908). Both are fine
# when they are named. It goes wrong when the emitted tokens get into a *rate*, as here. The two logs
# below give rates that look like any other.

# %% include="specdec/metrics.py:acceptance_rate_by_output"

# %%
print(f"{acceptance_rate_by_output([1, 0, 2, 1], [4, 4, 4, 4]):.2f}, wanted 0.25")
print(f"{acceptance_rate_by_output([3, 5, 0, 4], [6, 6, 6, 6]):.2f}, wanted 0.50")

# %% [raw] todo="todo_bug_log" minutes=1
# question: |
#   **Find a log for which it tells a rate above 1.** Write a pair `(accepted, drafted)` of two lists,
#   one entry a round. The check runs the function on it.
# right: ([3, 3], [3, 3])
# why: The target's own tokens are counted above the line, and were never drafted.
# check: |
#   from specdec.checks.lesson_05 import check_bug_log
#
#   check_bug_log(todo_bug_log)

# %% [markdown] only="solution"
# With all guesses right, k are accepted and k + 1 come out: the "rate" is (k + 1) / k, here 4/3. A
# log of short drafts shows it best: `([1], [1])` gives 2. With long drafts and middling acceptance
# the same mistake hides, and only makes the draft look better than it is.

# %% [markdown]
# ## Play it along a text
#
# Where do the numbers of a log come from? From a text and a draft. When both models are greedy, the
# text is fixed. So ask the draft about each token of it: *you have read the true text so far; would
# you guess this token?* That gives one tick for each token. For the cat:

# %%
cat = [1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0]
words = "cat sat on the mat and the dog sat on the rug".split()
print("  ".join(f"{word} {'✓' if tick else '✗'}" for word, tick in zip(words, cat)))

# %% [markdown]
# The ticks tell what **any** k would have done. Start at the first token. With k = 3, the guesses are
# ✓ ✓ ✓: three accepted, and the target adds *the* itself. The next round starts at *mat* ✗: nothing
# accepted, the target adds *mat*. And so on.

# %% [markdown] card="simulate" difficulty=3 minutes=12
# Play the rounds along a row of ticks, and return two lists: what each round accepted, and what it
# drafted.
#
# | `right` | k | `accepted` | `drafted` |
# |---|---|---|---|
# | `cat` | 3 | `[3, 0, 2, 3]` | `[3, 3, 3, 3]` |
# | `cat` | 2 | `[2, 1, 2, 2, 0]` | `[2, 2, 2, 2, 1]` |
# | `[1, 0, 1]` | 0 | `[0, 0, 0]` | `[0, 0, 0]` |
# | `[1, 1]` | 5 | `[2]` | `[2]` |
#
# - A round drafts k tokens, or all that are left of the text when they are fewer. So the end of the
#   text never looks like a rejection.
# - It accepts the ticks before the first wrong one.
# - The next round starts after the accepted tokens **and** the target's own one.
# - Go on until the text is full. The last round's own token may fall behind the end, as in the row
#   `[1, 1]`; it still counts as emitted. An empty text has no rounds: `([], [])`.
# - If k is negative, raise `ValueError`. Leave `right` as it is.
#
# If the cell runs on and on (`[*]`), press ■ above: some round of yours does not move on. What
# happens when its first guess is wrong?

# %% answer="simulate"

# %% free_try="simulate"
from specdec.tryout import side_by_side

side_by_side(
    simulate,
    [
        ((cat, 3), [[3, 0, 2, 3], [3, 3, 3, 3]]),
        ((cat, 2), [[2, 1, 2, 2, 0], [2, 2, 2, 2, 1]]),
        (([1, 0, 1], 0), [[0, 0, 0], [0, 0, 0]]),
        (([1, 1], 5), [[2], [2]]),
    ],
)

# %% test="simulate" points=2
from specdec.checks.lesson_05 import check_simulate, check_simulate_edges

check_simulate(simulate)
check_simulate_edges(simulate)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_simulate(
    simulate,
    [
        Case(([1, 1, 0, 1, 1, 1, 1, 0, 0, 1], 3), [[2, 3, 0, 0, 1], [3, 3, 3, 2, 1]]),
        Case(([1, 1, 0, 1, 1, 1, 1, 0, 0, 1], 1), [[1, 0, 1, 1, 0, 0, 1], [1, 1, 1, 1, 1, 1, 1]]),
        Case(([0, 1, 1, 0, 1, 1, 1, 1, 1], 5), [[0, 2, 5], [5, 5, 5]]),
        Case(([True, True, True, False, False, True], 2), [[2, 0, 0, 1], [2, 2, 2, 1]]),
        Case(([1, 0, 1, 0, 0, 1, 1], 4), [[1, 1, 0, 2], [4, 4, 3, 2]]),
    ],
)
check_simulate_edges(
    simulate,
    [
        Case(([0, 1], 0), [[0, 0], [0, 0]]),
        Case(([], 0), [[], []]),
        Case(([1], 1), [[1], [1]]),
        Case(([1, 1, 1, 1], 3), [[3], [3]]),
        Case(([1], -2), ValueError, "k is negative"),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="simulate"
# Keep the place in the text. Each turn of a `while` loop is a round.
# ===
# `right[place : place + k]` is shorter than k by itself at the end of the text. Count its ticks up to
# the first wrong one. Then move on by that number and one more.
# ===
# ```python
# accepted, drafted, place = [], [], 0
# while place < len(right):
#     guesses = right[place : ____]
#     matches = 0
#     while matches < len(guesses) and guesses[matches]:
#         matches += 1
#     accepted.append(matches)
#     drafted.append(____)
#     place += ____
# return accepted, drafted
# ```

# %% [markdown] only="solution"
# **Why this way.** A slice past the end is simply shorter, so the last round drafts what is left
# without a special case, and k = 0 gives an empty draft. `place` grows by at least 1 in every round,
# so the loop ends.
#
# **Another right way.** `guesses.index(False)` where there is one, else `len(guesses)`. Or work from
# the right end once and note, for each place, how many ticks follow in a row; then a round is one
# `min`. That is fast enough for millions of tokens.

# %% [markdown] only="solution" wrong_turns="simulate" shown="[([1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0], 3), ([1, 1, 1, 1, 1, 0, 1, 1], 4), ([1, 0, 1], 0)]"
# **Wrong turns**, called with the cat and k = 3, with eight tokens and k = 4, and with k = 0. Right are
# `[[3, 0, 2, 3], [3, 3, 3, 3]]`, `[[4, 0, 2], [4, 3, 2]]` and `[[0, 0, 0], [0, 0, 0]]`.

# %% [markdown] minutes=1
# ### The formula, played
#
# First the world of the formula: each tick is a coin of its own, ✓ with chance 0.8. Your `simulate`
# plays 20,000 tokens for each k. The bars are two standard errors each way: chance alone leaves about
# one mark in 20 outside.

# %% free_try="coins"
from specdec.figures import show
from specdec.figures.costs import formula_and_simulation


def mean_and_error(accepted):
    emitted = np.array(accepted) + 1
    return emitted.mean(), emitted.std(ddof=1) / np.sqrt(len(emitted))


rng = np.random.default_rng(5)
coins = {a: (rng.random(20_000) < a).tolist() for a in (0.8, 0.5)}
ks = list(range(1, 9))
series, gaps = [], []
for a, right in coins.items():
    played = [mean_and_error(simulate(right, k)[0]) for k in ks]
    formula = [expected_tokens(a, k) for k in ks]
    gaps += [abs(mean - f) / error for (mean, error), f in zip(played, formula)]
    series.append((f"a = {a}", formula, *zip(*played)))
print(f"largest distance from the formula: {max(gaps):.1f} standard errors, of {len(gaps)} marks")
show(
    formula_and_simulation(ks, series),
    alt="Tokens a pass over k from 1 to 8 for a = 0.8 and 0.5. The simulated means lie on the "
    "formula's curves; the first rises to 4.3, the second flattens below 2.",
)

# %% [markdown] minutes=2
# ### Where the formula misleads
#
# Real text is not a row of coins. Easy stretches and hard ones follow each other. Take the extreme:
# in half the rounds all four guesses are right, in the other half the first is wrong.
#
# The truth is a mean of 5 tokens and 1: **3.0** a pass. Half of all drafted tokens are accepted; with
# a = 0.5 the formula gives **1.94**. Of the tested ones, 4 in 5 are right; with α = 0.8 it gives
# **3.36**. No a is right for all purposes. Which is nearer, the rate or α? Here are four worlds: coins;
# stretches of 30 easy tokens and 30 hard ones; whole rounds right or wrong; and a draft that gets worse
# with each guess of its own, right with chance 0.9, 0.8, 0.7 and 0.6.

# %% free_try="worlds"
from specdec.worlds import worlds_of_ticks, worse_by_place

k = 4
logs = {world: simulate(right, k) for world, right in worlds_of_ticks(seed=6).items()}
logs["0.9, 0.8, 0.7, 0.6 by place"] = worse_by_place([0.9, 0.8, 0.7, 0.6], seed=6)

print(f"{'world':<28} rate     α   formula(rate)   formula(α)   played ± 2 s.e.")
for world, (accepted, drafted) in logs.items():
    rate, length, alpha = estimate_acceptance(accepted, drafted)
    mean, error = mean_and_error(accepted)
    print(f"{world:<28} {rate:.2f}  {alpha:.2f} {expected_tokens(rate, k):>12.2f} "
          f"{expected_tokens(alpha, k):>12.2f} {mean:>12.2f} ± {2 * error:.2f}")

# %% [markdown]
# For coins, α gives the right answer. In the other worlds it does not, and it errs on both sides; the
# rate is farther off in all four. Where ticks come in stretches, the formula with α promises too much
# at the k that was measured.
# And it is wrong in another way at any other k, where the true curve has another shape. So:
# **use the formula to choose what to try, and a log of your own texts to decide.**
#
# When the chance depends on the place in the draft, the sum still holds with its own factors:
# 1 + 0.9 + 0.9 × 0.8 + 0.9 × 0.8 × 0.7 + 0.9 × 0.8 × 0.7 × 0.6 = 3.43. This is why engines print the
# rate of each place.

# %% [markdown] minutes=2
# ### A real pair
#
# Now the course's own models. The target has 8.6 million weights. One draft learnt from text; the
# other, the *distilled* one, from what the target says. The target continued 20 texts that neither had seen, greedily. The ticks of
# both drafts were recorded. Here is the beginning of the text whose share of right guesses is nearest
# the mean; × marks a wrong guess.

# %%
from specdec.costs import recorded, traces
from specdec.figures.costs import ticks_along

plain_draft, distilled = traces("draft"), traces("draft_distilled")
count = sum(map(len, distilled))
shares = [sum(map(sum, ticks)) / count for ticks in (plain_draft, distilled)]
print(f"{len(distilled)} texts, {count} tokens, recorded {recorded()['date']}")
print(f"right guesses: draft {shares[0]:.3f}, distilled draft {shares[1]:.3f}")
typical = min(range(len(distilled)), key=lambda i: abs(np.mean(distilled[i]) - shares[1]))
show(
    ticks_along([("draft", plain_draft[typical]), ("distilled draft", distilled[typical])], 80),
    alt="80 tokens of one text in two rows, one for each draft: boxes where the draft guesses right, "
    "crosses where it is wrong.",
)

# %% free_try="replay"
from specdec.costs import one_log
from specdec.worlds import fit_sentence

ks = list(range(1, 11))
series = []
for label, texts in [("distilled draft", distilled), ("draft", plain_draft)]:
    points = []
    for k in ks:
        played = [simulate(text, k) for text in texts]
        rate, length, alpha = estimate_acceptance(*one_log(played))
        of_texts = [1 + np.mean(accepted) for accepted, drafted in played]
        error = np.std(of_texts, ddof=1) / np.sqrt(len(texts))
        points.append((expected_tokens(alpha, k), length, error))
    formula, means, errors = zip(*points)
    series.append((label, formula, means, errors))
    print(f"{label}: {fit_sentence(formula, means, errors)}")
show(
    formula_and_simulation(ks, series),
    alt="Tokens a pass over k from 1 to 10 for both recorded drafts, replayed with error bars over "
    "texts, beside the formula with each log's own α. The printed lines say how they fit.",
)

# %% [markdown]
# Each k has a log of its own, and so an α of its own: the line joins ten answers of the formula, one
# for each α. The error bars are over texts, since tokens of one text are no independent coins. 20
# texts leave wide bars, and all ten marks come from the same 20 texts, so they tend to err together.

# %% [markdown] card="break_even" difficulty=2 minutes=8
# Below which acceptance should a draft stay at home? Return the smallest a with
# `speedup(a, k, c, verify_cost)` of at least 1.
#
# | k | c | `verify_cost` | break-even | because |
# |---|---|---|---|---|
# | 1 | 0.25 | 1 | 0.25 | a round costs 1.25 and gives 1 + a |
# | 4 | 0.1 | 1.2 | 0.379949 | lesson 1's worked example: 1.6 tokens are needed |
# | 3 | 0 | 1 | 0 | a round costs 1 and gives at least 1 |
# | 4 | 1 | 1.5 | None | a round costs 5.5 and gives at most 5 |
# | 5 | 0.81 | 1.95 | 1 | a round costs 6 and gives 6 when all is right |
#
# The result must be right to 6 places after the point. The speedup never falls when a grows. So halve
# the range from 0 to 1 again and again, and keep the half where it crosses 1. A computer rounds: in
# the last row it finds 0.9999999999999999. So count a speedup from 1 − 1e-12 on as 1. Errors as in
# `speedup`. You may call `speedup`.

# %% answer="break_even"

# %% free_try="break_even"
for k, c, verify_cost in [(1, 0.25, 1), (4, 0.1, 1.2), (3, 0, 1), (4, 1, 1.5), (5, 0.81, 1.95)]:
    print(k, c, verify_cost, "->", break_even(k, c, verify_cost))

# %% test="break_even" points=2
from specdec.checks.lesson_05 import check_break_even

### BEGIN HIDDEN TESTS
from specdec.checks import Case
from specdec.reference.lesson_05 import speedup  # an earlier mistake costs nothing here

### END HIDDEN TESTS
check_break_even(break_even, speedup)
### BEGIN HIDDEN TESTS
check_break_even(
    break_even,
    speedup,
    [
        Case((2, 0.75, 1.2), 0.896424),
        Case((1, 0.125, 1.5), 0.625),
        Case((3, 0.2, 1.4), 0.543689),
        Case((4, 0.05), 0.166774),
        Case((5, 0.0, 0.75), 0.0),
        Case((2, 0.5, 2.5), None),
        Case((6, 0.8, 2.2), 1.0),
        Case((0, 2.0, 0.5), 0.0),
        Case((3, 0.2, -1.0), ValueError, "a pass costs something: verify_cost is above 0"),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="break_even"
# Settle the two ends first: is a = 1 enough? Is a = 0 enough?
# ===
# Then keep `low`, where the speedup is below 1, and `high`, where it is not. Look at the middle, and
# move one of the two there. After 60 halvings nothing is left to halve.
# ===
# ```python
# enough = 1 - 1e-12
# if speedup(1, k, c, verify_cost) < enough:
#     return ____
# if speedup(0, k, c, verify_cost) >= enough:
#     return ____
# low, high = 0.0, 1.0
# for _ in range(60):
#     middle = (low + high) / 2
#     if speedup(middle, k, c, verify_cost) >= enough:
#         ____ = middle
#     else:
#         ____ = middle
# return high
# ```

# %% [markdown] only="solution"
# **Why this way.** There is no short formula for a when k is above 4, but halving needs none: it only
# needs that more acceptance never hurts. 60 halvings leave a range of 1e-18, finer than the numbers
# themselves. The two ends stand first, so the loop always has a crossing to find.
#
# **Another right way.** Solve `1 + a + … + a**k = k * c + verify_cost` with `np.roots` and take the
# root between 0 and 1. It is exact for small k, and needs more care: roots come as complex numbers.

# %% [markdown] only="solution" wrong_turns="break_even" shown="[(1, 0.25, 1.0), (4, 0.1, 1.2), (3, 0.0, 1.0), (4, 1.0, 1.5), (5, 0.81, 1.95)]"
# **Wrong turns**, called with the five rows of the table. Right are `0.25`, `0.3799`, `0.0`, `None`
# and `1.0`.

# %% [markdown] minutes=3
# ## Many texts at once
#
# So far the pass over k + 1 places cost 1. Lesson 1 said why: the card reads 14 GB of weights in 7.0
# ms, and the arithmetic of one place takes 0.047 ms. A pass takes as long as the slower of the two.
# Now an engine decodes a **batch**, many texts in one pass. The weights are still read once; the
# arithmetic grows with each text. At 150 places both take 7.0 ms.
#
# | texts | plain: places | plain pass | k = 4: places | verifying pass | verify cost |
# |---|---|---|---|---|---|
# | 1 | 1 | 7.0 ms | 5 | 7.0 ms | 1 |
# | 30 | 30 | 7.0 ms | 150 | 7.0 ms | 1 |
# | 60 | 60 | 7.0 ms | 300 | 14.0 ms | 2 |
# | 150 | 150 | 7.0 ms | 750 | 35.0 ms | 5 |
# | 300 | 300 | 14.0 ms | 1500 | 70.0 ms | 5 |
#
# Up to 30 texts the four guesses ride along for nothing. From 150 texts on, five places cost five
# times one. Arithmetic that is thrown away with rejected guesses is no longer free.
#
# Where is the turn? Take a = 0.8, c = 0.05 and k = 4. A round gives 3.36 tokens a text, and drafting
# costs 0.2 passes of the batch: we take c as the same at every batch. **From about which batch does
# drafting lose?** Guess first, then work it out: between 30 and 150 texts, B texts have a verify cost of
# 5 × B / 150. Choose below, then move the sliders.
#
# *No picture below? Run the next cell.*

# %% [raw] widget="batches"
# kind: CostExplorer
# a: 0.8
# c: 0.05
# k: 4
# model: batch
# batch: 8
# question: A card that reads the weights once in the time of 150 places; a = 0.8, c = 0.05, k = 4. From about which batch does drafting lose?
# choices:
#   - text: "30"
#     reason: From there on the guesses are no longer free. But a round still gives 3.36 tokens for little more than one pass.
#   - text: "95"
#     right: true
#     reason: 95 texts are 475 places, 3.17 times 150. With drafting that is a cost of 3.37 for 3.36 tokens.
#   - text: "150"
#     reason: There a pass costs five plain ones, for 3.36 tokens. It has been losing for a while.
#   - text: Never
#     reason: Reading is shared by all texts, arithmetic is not. With enough texts the rejected guesses cost real time.

# %% [markdown]
# Try k = 1, 2 and 8 in the explorer. Longer drafts lose sooner: at a large batch, a short draft or
# none is best.

# %% [raw] todo="todo_batch" minutes=1
# question: |
#   Another engine: its card reads the weights in the time of **100** places. a = 0.8, c = 0.2, k = 1,
#   so a round gives 1.8 tokens a text. As long as a plain pass of the batch costs 1, **at how many
#   texts is the speedup exactly 1?**
# right: 80
# why: Drafting costs 0.2, so verifying may cost 1.6. That is 160 places, two a text.
# wrong:
#   90: The round costs 1.8, drafting included. How much is left for the verification?
#   160: That many places. How many does each text have at k = 1?
#   100: There the pass costs 2, with drafting 2.2, for 1.8 tokens. It has lost already.
#   50: There the guesses stop being free. A cost of 1.2 still gives 1.8 tokens.
#   180: These are places, not texts, and drafting is forgotten.

# %% [markdown] minutes=2
# ### On your machine
#
# No card needed: your processor has a memory and an arithmetic too. This cell runs the course's target
# on a batch of texts in one pass, over 1 place each and over 5, and the draft beside it. Nothing is
# cached. It takes some seconds.
#
# **Before you run it:** will your machine fall below 1 with up to 32 texts? At which batch?

# %% free_try="measured" measured=true
from specdec.figures.costs import speedup_over_batch
from specdec.trained.batches import measure_batches

k, batches, speeds = 4, [], []
accepted, drafted = one_log([simulate(text, k) for text in distilled])
rate, length, alpha = estimate_acceptance(accepted, drafted)
print(f"α = {alpha:.2f}, k = {k}\nbatch   plain ms   verify ms   verify cost      c   speedup")
for batch, plain, verify, step in measure_batches(k, [1, 2, 4, 8, 16, 32]):
    batches.append(batch)
    speeds.append(speedup(alpha, k, step / plain, verify / plain))
    print(f"{batch:>5} {1e3 * plain:>10.1f} {1e3 * verify:>11.1f} {verify / plain:>13.2f} "
          f"{step / plain:>6.3f} {speeds[-1]:>9.2f}")
if batches:
    show(
        speedup_over_batch(batches, [("k = 4, measured", speeds)]),
        alt=f"Speedup over the batch from 1 to 32 texts on this machine: {speeds[0]:.2f} at first, "
        f"{speeds[-1]:.2f} at last. The dotted line at 1 is plain decoding.",
    )

# %% [markdown]
# Read the column *verify cost*. Near 1, the four guesses ride along for nothing, as on the card. Near 5,
# the arithmetic is used up, and each place costs time of its own. The higher it stands, the less
# drafting gains; where the speedup is below 1, it loses. Some processors pass that point with a few
# texts, others not even with 32. Graphics cards have the same curve with larger numbers.
#
# The texts were short. Long texts move the turn. In each pass a text's own *cache* is read, which keeps
# what the model computed for its earlier tokens (lesson 4). The longer the text, the more there is to
# read, and its k + 1 places share that reading. Engines have measured gains at batches of 32 and more
# with long texts.

# %% [raw] todo="todo_rows" minutes=1
# question: |
#   Time is one cost, arithmetic another. In 5 rounds with k = 4 a target accepted 15 guesses and
#   emitted 20 tokens. **How many places did it compute for each emitted token?** Plain decoding
#   computes one.
# right: 1.25
# why: 5 rounds of 5 places are 25, for 20 tokens. Fewer passes, more arithmetic.
# wrong:
#   1: A round computes k + 1 places, also for guesses that are thrown away.
#   0.8: Turned over. These are tokens for each place.
#   0.25: That is passes a token. How many places does a pass compute?
#   1.3333333333333333: That is drafted over accepted tokens. The pass also computes the place after the last guess, and emits a token there.
#   1.6666666666666667: These are places over accepted tokens. More than those were emitted.
#   5: That many places a round, or plain passes. The question is about each emitted token.

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
#   - prompt: A draft has a = 0.3 and c = 0.3. Which k is best?
#     choices:
#       - {text: "0", right: true, reason: "The first guess brings 0.3 tokens and its time is worth 0.3. It gains nothing, and a later one less."}
#       - {text: "1", reason: "Just as fast as no draft, 1.3 / 1.3. Then leave it out."}
#       - {text: "As long as possible", reason: "The tenth guess comes out 6 times in a million rounds, and costs 0.3 of a pass each time."}
#       - {text: "It depends on the target's speed.", reason: "c is a ratio, so the target's speed is in it already."}
#   - prompt: An engine prints acceptance rate 0.6, k = 5. What is α?
#     choices:
#       - {text: "0.6", reason: "The rate also counts guesses that were never tested. α is larger."}
#       - {text: "Less than 0.6", reason: "Untested guesses stand below the line of the rate, not of α. That makes the rate the smaller one."}
#       - {text: "More than 0.6", right: true, reason: "Guesses after a rejection are drafted and not tested. Without them the share is larger; here about 0.83, if guesses are independent."}
#       - {text: "It can't be compared", reason: "Accepted over drafted is at most accepted over tested: tested guesses are drafted ones."}
#   - prompt: Does speculative decoding show the first token of an answer sooner?
#     choices:
#       - {text: "Yes, by the speedup", reason: "The speedup counts tokens that follow. Before the first one the prompt, the text to go on from, is read, by the draft as well."}
#       - {text: "No, mostly later", right: true, reason: "The prompt must be read by both models, and k guesses come before the first verification."}
#       - {text: "Yes, the first guess can be shown at once", reason: "It is not the target's yet. Shown tokens can't be taken back."}
#       - {text: "Only at large batches", reason: "There both models have even more to read first."}
#   - prompt: What does a lower acceptance than expected do to the text, under an exact rule?
#     choices:
#       - {text: "It gets worse.", reason: "Every token is still the target's. Only the time changes."}
#       - {text: "It gets shorter.", reason: "Each round still gives a token. It takes more rounds."}
#       - {text: "Nothing", right: true, reason: "The draft decides only how often the target runs."}
#       - {text: "Rare words vanish.", reason: "What the draft never says is put in by the target."}
#   - prompt: Target and draft have different tokenizers. What happens?
#     choices:
#       - {text: "It works; both know the same words.", reason: "Token 512 of one is another text than token 512 of the other."}
#       - {text: "Nothing is accepted at first, then it learns.", reason: "Nothing learns while decoding."}
#       - {text: "The numbers mean other texts, so it can't be compared token by token.", right: true, reason: "Engines refuse such a pair, or turn guesses into text and back, which costs time and acceptance."}
#       - {text: "Only the speed suffers a little.", reason: "A wrong number is a wrong token. Without a translation, hardly any guess can be right."}

# %% [markdown]
# Two more are graded. Their reasons come with your feedback.

# %% [raw] quiz="quiz_rate_falls" minutes=1
# question: |
#   A user raises k from 2 to 8. The acceptance rate in the engine's log falls from 0.72 to 0.42. The
#   draft, the target and the texts are the same. What has happened?
# choices:
#   A: {text: "The draft has become worse, since it must look further ahead.", reason: "It may, but this fall needs no such cause: with a steady α of 0.8 the rate is 0.72 at k = 2 and 0.42 at k = 8."}
#   B: {text: "Arithmetic only. Later guesses are tested more rarely.", reason: "At α = 0.8 the mean of 0.8, 0.64, 0.512, … is 0.72 over two places and 0.42 over eight. Look at α or at each place."}
#   C: {text: "The engine now rejects guesses that it accepted before.", reason: "The rule does not know k. The first two guesses are accepted as often as before."}
#   D: {text: "The longer drafts have made the text less like the target's.", reason: "An exact rule keeps the target's text at any k."}
# right: B

# %% [raw] quiz="quiz_hundred" minutes=1
# question: |
#   A report says: "100 % acceptance!" What must you know before you call that fast?
# choices:
#   A: {text: "The target's size. Large ones are slow.", reason: "A speedup is against the same target without a draft."}
#   B: {text: "The temperature. At 0 all is accepted.", reason: "At temperature 0 a guess is accepted when it is the target's favourite, which is far from always."}
#   C: {text: "Nothing. No draft can do better than it.", reason: "One sure guess in ten rounds gives 100 % and saves hardly a pass. The target drafting for itself gives 100 % too, and loses."}
#   D: {text: "How many were guessed, and at what cost.", reason: "The rate says how good the guesses are. Speed also needs how many there are and their price."}
# right: D

# %% [markdown]
# ## Common mistakes
#
# | mistake | what it gives, on the numbers of this lesson |
# |---|---|
# | accepted / drafted put into the formula as a | cat, k = 3: 2.41 tokens a pass; counted 3.0 |
# | a round that accepts all counts as a rejection | cat: α = 0.67 instead of 0.8 |
# | the target's own token forgotten | cat: length 2.0 instead of 3.0 |
# | draft steps counted once | a = 0.82, c = 0.11, k = 7: 3.98 instead of 2.50 |
# | k as large as it goes | a = 0.5, c = ⅛: 1.0 at k = 8, 1.4 at k = 2 |
# | a pass taken as free at any batch | 150 texts: "2.8 times as fast", truly 0.65 |
#
# ## When it breaks
#
# - **Low acceptance.** Below the break-even every round loses. vLLM users measured an n-gram draft,
#   which copies what followed the same words earlier in the text. It took chat text from 69.8 to 61.8
#   tokens a second ([report](https://github.com/vllm-project/vllm/issues/8439)).
# - **Long drafts.** With a draft of 0.6 billion weights, k = 3, 5 and 10 gave 12, 11 and 9 tokens a
#   second ([report](https://github.com/vllm-project/vllm/issues/21278)).
# - **Large batches.** vLLM's makers measured 1.4 and 1.8 times *slower* at high load
#   ([report](https://blog.vllm.ai/2024/10/17/spec-decode.html)).
# - **Another tokenizer or vocabulary.** Token numbers must mean the same text. Even of one family, two
#   models can have vocabularies of different length.
# - **Other sampling settings.** If the draft samples hotter or colder than the target, the text stays
#   right as long as the rule is told the draft's true chances (lesson 3). The acceptance changes. With
#   chances that are not the true ones, the text itself is wrong.
# - **The first token.** It comes later, not sooner: the draft too must read the prompt, the text to go
#   on from, and then it guesses first.
# - **Memory.** Draft weights and a second cache take room that could have held more texts.

# %% [markdown]
# ## What you built, and where it runs
#
# `estimate_acceptance` reads any log with an entry for each round. Most engines print totals: these
# give the rate and the length, and α only with the rates of the places. In [vLLM](https://docs.vllm.ai) k is
# `num_speculative_tokens`; in [transformers](https://huggingface.co/docs/transformers)
# `num_assistant_tokens`, which by default is not fixed but steered. Serving systems turn drafting off
# when the load is high: they solve your `break_even` all the time.
#
# ## Stretch, not graded
#
# **A controller.** Why keep one k? A controller looks at each round and says how many to guess in the
# next. transformers has used a simple one: k + 2 when all guesses were right, else k − 1. Write a
# better one. `controller` is called after each round with its k, accepted and drafted, and returns the k
# of the next round. `my_controller` is called once for all 20 texts, so what it remembers lasts from
# text to text. Each text starts with k = 5. The judge: what all recorded texts cost, in passes of the
# target, against the best fixed k, which is known only afterwards.

# %%
from specdec.costs import cost_on, fixed, plus_two_minus_one


def my_controller():
    seen = []  # what it remembers

    def controller(k, accepted, drafted):
        seen.append((accepted, drafted))
        return k  # change this

    return controller


def print_regret(controllers, c=0.05):
    for label, texts in [("draft", plain_draft), ("distilled draft", distilled)]:
        best = min(range(1, 17), key=lambda k: cost_on(texts, fixed, k, c))
        least = cost_on(texts, fixed, best, c)
        print(f"{label}: best fixed k = {best}, {least / len(texts):.1f} passes a text")
        for name, make in controllers.items():
            cost = cost_on(texts, make(), k=5, c=c)
            print(f"    {name:<22} {cost / len(texts):>6.1f}   {100 * (cost / least - 1):+.1f} %")


print_regret({"k + 2 or k - 1": lambda: plus_two_minus_one, "mine": my_controller})

# %% [markdown]
# <details><summary>Idea</summary>
#
# Count accepted and rejected guesses, let old counts fade (times 0.9 a round), estimate α from them,
# and ask `optimal_k`. Never return 0: a round without a draft teaches nothing.
#
# </details>

# %% [markdown] only="solution"
# A worked controller. It estimates α from what it has seen lately, and asks `optimal_k`:

# %% include="specdec/reference/lesson_05.py:adaptive_k" only="solution"

# %% only="solution"
print_regret(
    {"k + 2 or k - 1": lambda: plus_two_minus_one, "adaptive_k": lambda: adaptive_k(0.05, 16)}
)

# %% [markdown] only="solution"
# A negative number means that the controller beats the best fixed k. It can, since a fixed k must suit
# easy texts and hard ones alike.

# %% [markdown]
# **Arithmetic.** The papers also count operations: a round computes k + 1 places of the target and k of
# the draft. With ĉ the draft's arithmetic over the target's, an emitted token takes
# (k ĉ + k + 1) / (1 + a + … + aᵏ) places. For a = 0.8, k = 5 and ĉ = 0.05: how much more arithmetic,
# and how much less reading of weights?
#
# <details><summary>Answer</summary>
#
# (0.25 + 6) / 3.689 = 1.69 times the arithmetic. The target's weights are read once for 3.689 tokens, so
# 0.27 times the reading. That is the whole trade: arithmetic that lies idle, for reading that does not.
#
# </details>

# %% [markdown] only="solution"
# ## Carry it over
#
# Three new situations. Answer first; the answers are folded.
#
# **1.** a = 0.7, c = 0.05, a full pass costs as much as a plain one. What is the speedup with k =
# 3? Does a fourth guess pay?
#
# <details><summary>Answer 1</summary>
#
# 2.533 / 1.15 = 2.20. The fourth guess comes out with a chance of 0.7⁴ = 0.24, and costs 0.05 ×
# 2.20 = 0.11 of a token. It pays.
#
# </details>
#
# **2.** After k was raised from 2 to 6, a dashboard shows accepted/drafted falling from 0.72 to
# 0.49. Has the draft become worse?
#
# <details><summary>Answer 2</summary>
#
# Not by this figure. With a = 0.8 throughout, arithmetic alone gives (0.8 + 0.64) / 2 = 0.72 for k
# = 2 and 2.95 / 6 = 0.49 for k = 6. Compare α̂, from tested places only.
#
# </details>
#
# **3.** By day a server answers 32 texts at once, and a pass over k + 1 = 4 places of each costs 2
# plain passes. By night it answers one, and the pass costs 1. The draft is free. From which
# acceptance on does k = 3 pay?
#
# <details><summary>Answer 3</summary>
#
# By night from any acceptance above 0. By day a round has to give more than 2 tokens: 1 + a + a² +
# a³ = 2 at a = 0.54. One setting of k does not fit both.
#
# </details>

# %% [markdown]
# ## Where you are
#
# This runs all visible checks on what you have written so far.

# %%
from specdec.progress import show_progress

show_progress("05_when_it_pays")

# %% [markdown]
# ## Hand in
#
# 1. Save with <kbd>Ctrl</kbd> + <kbd>S</kbd>.
# 2. Press **Validate** in the toolbar. It runs the saved notebook from the top, in a fresh kernel,
#    as grading does. What worked only because cells ran in another order shows up here.
# 3. *Success* means that all visible checks pass. Grading runs more cases of the same rules, and
#    marks the two questions.
#
# ## What comes next
#
# You know what a better guess is worth, and what it may cost. Lesson 6 makes better and cheaper
# guesses: from the text itself, from the target, and many at once.
#
# ## Sources
#
# - Y. Leviathan, M. Kalman, Y. Matias: *Fast Inference from Transformers via Speculative Decoding*,
#   ICML 2023, [arXiv 2211.17192](https://arxiv.org/abs/2211.17192). Theorem 3.8 is your `speedup`,
#   theorem 3.11 the arithmetic; tables 1, 2 and 4.
# - C. Chen and others: *Accelerating Large Language Model Decoding with Speculative Sampling*,
#   2023, [arXiv 2302.01318](https://arxiv.org/abs/2302.01318). Table 1.
# - X. Liu and others: *Optimizing Speculative Decoding for Serving Large Language Models Using
#   Goodput*, 2024, [arXiv 2406.14066](https://arxiv.org/abs/2406.14066): choosing k by load.
# - J. Chen and others: *MagicDec*, 2024, [arXiv 2408.11049](https://arxiv.org/abs/2408.11049): large
#   batches with long texts.
# - The metrics: [vLLM 11552](https://github.com/vllm-project/vllm/pull/11552) without the target's own
#   token, [vLLM 17908](https://github.com/vllm-project/vllm/pull/17908) with it,
#   [llama.cpp 24536](https://github.com/ggml-org/llama.cpp/pull/24536).
# - The bug: [llama.cpp 3919](https://github.com/ggml-org/llama.cpp/issues/3919). The rule of +2 and
#   −1: [llama.cpp 3006](https://github.com/ggml-org/llama.cpp/pull/3006), after transformers.
