# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   specdec:
#     title: One forward pass
#     points: 20
# ---

# %% [markdown]
# # Lesson 2 · One forward pass
#
# **How can one pass of a model answer k + 1 questions?**
#
# {{minutes}} minutes: part A, rows and mask, takes {{minutes_A}}; part B, the decoder and its cost,
# takes {{minutes_B}}. The place to stop is marked · {{points}} points.
# You need lesson 1, and a little NumPy: shapes, slices, `np.argmax`. You need not know what goes on
# inside a language model.

# %% [markdown] only="solution"
# **This is the worked solution** of
# [the lesson](../../lessons/02_one_forward_pass/02_one_forward_pass.ipynb), with the questions
# repeated, the answers, why they are so, and what the usual wrong turns give.
#
# **Ten minutes only?** The picture: T tokens go in, T rows come out, and row t says what comes after
# token t. The rule: the rows T − 1 to T − 1 + k judge k drafted tokens. The number: change the last
# token, and the rows before it move by exactly 0.0. The three mistakes: reading one row too late,
# leaving the mask out, running the target once for each guess. Read *The idea*, exercise 3 and *Rows
# are not passes*.
#
# **Your own notebook**, with all checks, the hidden ones included:
# `autograder check lessons/02_one_forward_pass/02_one_forward_pass.ipynb`.

# %% [markdown] part="A"
# ## What you will be able to do
#
# - **Read** the output of a pass: which row answers which question.
# - **Build** the mask that keeps a row from seeing what it has to judge.
# - **Write** a decoder that checks k guesses in one pass of a real model.
# - **Measure** what a longer pass costs, on your own machine.
#
# Six lessons; A → B means: do A before B.
#
# 1 the rule → **2 one pass of a real model** → 4 caches → 5 when it pays → 6 better drafts
#
# 1 the rule → 3 exact sampling

# %% [markdown]
# Run each cell with <kbd>Shift</kbd> + <kbd>Enter</kbd>. Start with this one.

# %% setup=true
try:
    from specdec.start import start

    start("02_one_forward_pass")
except ModuleNotFoundError:
    print("This kernel lacks the course. Choose Kernel > Change Kernel, or start with: make lab")

# %% [markdown] minutes=4
# ## Part A: rows and mask
#
# ### Play: a text, pass by pass
#
# Two trained models wrote this. The **target** has about 9 million parameters, the **draft** about
# a thirtieth of that. They have read old novels, and they write in pieces of words, called **tokens**.
#
# Press *Next pass*. Each line is one pass of the target. ✓ is a guess of the draft that the target
# agrees with, ✎ the target's correction, + its bonus token after a draft that was right to the end,
# · a token without a guess, and ✗ what was thrown away. Then change k and the draft. **The text stays
# the same, whichever you set. What changes?** A new beginning gives a new text, to try it again.
#
# *No picture below? Run the next cell.*

# %% [raw] widget="player"
# kind: PassPlayer
# k: 4

# %% [markdown]
# Code can read the player. Set k, run this cell, and compare. (In its last pass the player drafts no
# more than the text has room for.)

# %%
print(player.ledger)

# %% [markdown]
# Only two things change: the number of passes, and what is thrown away.
#
# In lesson 1 a pass was a loop of k + 1 calls, and we *called* it one pass. Here each line of the
# player really was one call. How can a single call answer so many questions?

# %% [markdown] minutes=4
# ## Predict first
#
# The cat again. The text so far is *the cat sat on the*, five words. The draft guesses *cat sat on*.
# All eight words go into the target in one pass. It gives eight rows, numbered from 0. Each row says
# which word the target would write next, at one place of the text.
#
# **Which rows judge the three guesses and give the bonus?** Choose below. Then play: change a drafted
# word, the last one first, and see which rows say something else. At the end, switch the mask off.
#
# *No picture below? Run the next cell.*

# %% [raw] widget="grid"
# kind: LogitsGrid
# words: [the, cat, sat, "on", the]
# draft: [cat, sat, "on"]
# question: Which rows judge the three guesses and give the bonus?
# choices:
#   - text: "5, 6, 7"
#     reason: These are the rows that read the guesses. The first guess stands in row 5, but what should stand there is said by the row before it, row 4.
#   - text: "4, 5, 6"
#     reason: These judge the three guesses. But the pass has one more answer, in row 7, about what comes after the last guess. That is the bonus.
#   - text: "4, 5, 6, 7"
#     right: true
#     reason: Each row says what comes after its own word. So the last word of the text, in row 4, judges the first guess, and the last guess, in row 7, gives the bonus.
#   - text: "all 8"
#     reason: All eight are computed. Rows 0 to 3 say what comes after the, cat, sat and on, and there the text goes on already.

# %% [markdown]
# Code can read the grid. Before you have chosen, `accepted` is None and `emitted` is empty.

# %%
print("accepted:", grid.accepted)
print("emitted: ", grid.emitted)

# %% [markdown] minutes=4
# ## The idea
#
# **n tokens in, n predictions out.** A pass over 8 tokens does not give one prediction. It gives 8:
# row t is the prediction after token t. When you write plainly, one token a pass, you use the last
# row and throw the other 7 away. Speculative decoding uses k + 1 of them.
#
# Let the text have T tokens, here 5. With k = 3 guesses n is T + k = 8, and four rows are used:
#
# | row | it has read | so it says what comes after | and judges |
# |---|---|---|---|
# | T − 1, here 4 | the text | the text | the first guess |
# | T, here 5 | the text and one guess | one guess | the second guess |
# | … | | | |
# | T − 1 + k, here 7 | the text and all k guesses | all guesses | nothing: the bonus |
#
# **The causal mask makes the rows honest.** It is a table of True and False: may the token in this row
# see the token in that column? Row t may see columns 0 to t and nothing after. If row 4 could see the
# guess in column 5, its prediction would be about another text.
#
# This is also why one pass is as good as k + 1: with the mask, row 5 of the long pass is the same
# prediction as the last row of a pass over the first six tokens alone.

# %% [markdown]
# ### The words we use
#
# | word | meaning |
# |---|---|
# | T, k, V | tokens of the text, drafted tokens, size of the vocabulary |
# | `token_ids` | an array of whole numbers, shape (1, n); the 1 says that it is one text |
# | logits | a row of V numbers; the larger, the more the model wants that token |
# | favourite | the token with the largest logit: `np.argmax` |
# | `full_lm_forward(token_ids, model, mask)` | one pass: (1, n) in, logits (1, n, V) out; `mask=None` is no mask |
# | row t | `logits[0, t]`, the prediction after token t |
# | accepted, emitted | guesses that stay; all new tokens of a pass, the target's own one included |
# | round | k guesses of the draft, then one pass of the target |
#
# `full_lm_forward` is given. Here it is at work on the cat's target: V is 9, since the cat's models
# know nine words. Each row's favourite is a word.
#
# Four more names are given, all of them for the cat: `cat_pair()` makes its draft and target,
# `ids_of` turns words into token ids, `words_of` turns ids into words, and `cat_input` gives a text's
# ids and the mask for a pass over them.

# %%
import numpy as np

from specdec.model import full_lm_forward
from specdec.passes import cat_input, cat_pair, ids_of, words_of

cat_draft, cat_target = cat_pair()
token_ids, mask = cat_input("the cat sat on the")
logits = full_lm_forward(token_ids, cat_target, mask)
print("token ids:", token_ids, " shape", token_ids.shape)
print("logits: shape", logits.shape)
print("favourite of the last row:", words_of(np.argmax(logits[0, -1:], axis=-1)))

# %% [markdown]
# ## Which row?
#
# Write your answer in place of `None`, run the cell, then run the check below it.

# %% [raw] todo="todo_judging_rows" minutes=2
# question: |
#   The text has 12 tokens, and 4 are drafted. All 16 go in; rows count from 0.
#   **Which rows are read?** Write a list: the rows that judge the four guesses, then the bonus row.
# right: [11, 12, 13, 14, 15]
# why: T − 1 = 11 is the row of the text's last token, and it judges the first guess. T − 1 + k = 15 gives the bonus.
# wrong:
#   "[12, 13, 14, 15]": These rows read the guesses. What should stand in row 12 is said by row 11.
#   "[11, 12, 13, 14]": These judge the four guesses. One more row has the bonus.
#   "[12, 13, 14, 15, 16]": Row t says what comes after token t. The first guess is judged by the row before it, and there is no row 16.
#   "[10, 11, 12, 13, 14]": Rows count from 0, so the text's last token is in row 11.
#   "[4, 5, 6, 7]": These are the rows of the example above, with 5 words and 3 guesses.
#   "[4, 5, 6, 7, 8]": The text has 12 tokens here. Its last token is in row 11.

# %% [raw] todo="todo_changed_rows" minutes=2
# question: |
#   8 tokens go in, with the causal mask. Then the token at position 5 is changed (positions count
#   from 0), and the pass is made again. **How many of the 8 rows can come out differently?**
# right: 3
# why: Rows 5, 6 and 7 see position 5. Rows 0 to 4 do not.
# wrong:
#   1: Row 5 changes, but the rows after it see position 5 as well.
#   2: Row 5 itself sees its own token too.
#   5: These are the rows before the change. They can't see it.
#   8: That is a pass without the mask.
#   0: Some rows see position 5.
#   6: Rows 0 to 5 are six, but the mask lets a row see what is before it, not after.
#   4: Row 4 reads position 4 and sees nothing after it.

# %% [markdown] card="build_causal_mask" difficulty=1 minutes=4
# Write the mask for a pass over n tokens: an (n, n) array of `True` and `False`. For n = 3:
#
# | | column 0 | column 1 | column 2 |
# |---|---|---|---|
# | row 0 | True | False | False |
# | row 1 | True | True | False |
# | row 2 | True | True | True |
#
# True is where the row's token may see the column's: every position up to its own.
# `full_lm_forward` wants booleans, not 0 and 1.

# %% answer="build_causal_mask"

# %% free_try="build_causal_mask"
from specdec.tryout import side_by_side

side_by_side(
    build_causal_mask,
    [((2,), [[True, False], [True, True]])],
)

# %% test="build_causal_mask" points=2
from specdec.checks.lesson_02 import check_build_causal_mask

check_build_causal_mask(build_causal_mask)
### BEGIN HIDDEN TESTS
from specdec.checks import Case
from specdec.checks import lesson_02 as cases

check_build_causal_mask(build_causal_mask, [Case((n,), cases.causal(n)) for n in (2, 5, 11)])
### END HIDDEN TESTS

# %% [markdown] hints="build_causal_mask"
# Go through it by row and column: what must hold between the two numbers where it is True?
# ===
# True where column ≤ row. Two loops do it. NumPy has a function that keeps the lower left of an
# array: `np.tril`.
# ===
# ```python
# everything = np.ones((n, n), dtype=____)
# return np.tril(____)
# ```

# %% [markdown] only="solution"
# **Why this way.** `np.tril` says what is meant: the lower left triangle, the diagonal included.
#
# **Another right way.** `np.arange(n) <= np.arange(n)[:, None]` says the same with the rule itself,
# column ≤ row. It needs no triangle, and it is the form that still works in lesson 4, where the new
# rows do not begin at 0.

# %% [markdown] only="solution" wrong_turns="build_causal_mask" shown="[(3,)]"
# **Wrong turns**, called with n = 3.

# %% [markdown] minutes=2
# ### The same on the trained target
#
# Now your mask meets the real model. Its rows of logits have V numbers, one for each token of its
# vocabulary. Each row's favourite is its guess at what comes next.

# %% free_try="real_logits"
from specdec.trained.one_pass import load_pair

pair = load_pair()
pair.show_logits("She had no difficulty in", build_causal_mask)

# %% [markdown]
# **Before you run the next cell:** it makes four passes. The last token is changed, once with your
# mask and once without any. It prints by how much the logits of each row move, at most. Which rows
# move with the mask? Which without?

# %% free_try="rows_moved"
pair.show_moved("She had no difficulty in", build_causal_mask)

# %% [markdown]
# With the mask every row but the last moves by exactly 0.0: not one bit of the numbers is different.
# Without it they all move, since each has seen the changed token. Those exact zeros are what
# speculative decoding stands on: **drafted tokens can't touch the rows before them.**

# %% [markdown] card="greedy_decode" difficulty=2 minutes=8
# Plain decoding, with a real pass: read the text, take the last row's favourite, append it, again.
#
# | call on the cat's target | gives |
# |---|---|
# | `greedy_decode(ids_of("the"), cat_target, 4)` | *the cat sat on the* |
# | `greedy_decode(ids_of("the cat sat on the"), cat_target, 1)` | *the cat sat on the mat* |
#
# - `token_ids` has the shape (1, T). The result has the shape (1, T + num_tokens): the text and the
#   new tokens, still whole numbers.
# - One pass for each new token, each with a causal mask. `model` goes into `full_lm_forward` as it is.
# - A negative `num_tokens`: `ValueError`. 0 is allowed, and adds nothing.
# - `token_ids` is not changed. To append, make a new array: `np.concatenate`.

# %% answer="greedy_decode"

# %% free_try="greedy_decode"
print(words_of(greedy_decode(ids_of("the"), cat_target, 12)))
print("wanted: the cat sat on the mat and the dog sat on the rug")

# %% test="greedy_decode" points=2
from specdec.checks.lesson_02 import check_greedy_decode

### BEGIN HIDDEN TESTS
from specdec.checks import lesson_02 as cases
from specdec.reference.lesson_02 import build_causal_mask  # an earlier mistake costs nothing here

### END HIDDEN TESTS
check_greedy_decode(greedy_decode, build_causal_mask)
### BEGIN HIDDEN TESTS
check_greedy_decode(
    greedy_decode,
    build_causal_mask,
    [
        (cases.CAT, [0, 1, 2, 3, 0, 4, 5, 0], 5),
        (cases.SEVEN, [6, 2], 7),
        (cases.SEVEN, [3, 1, 4], 0),
        (cases.CAT, [6], 3),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="greedy_decode"
# Which of the T rows has seen the whole text?
# ===
# In a loop: build the mask for the present length, make the pass, take `np.argmax` of the last row,
# append it. The length is `token_ids.shape[1]`, and it grows.
# ===
# ```python
# if num_tokens < 0:
#     raise ValueError("…")
# for _ in range(num_tokens):
#     mask = build_causal_mask(____)
#     logits = full_lm_forward(token_ids, model, mask)
#     next_token = np.argmax(logits[0, ____])
#     token_ids = np.concatenate([token_ids, [[next_token]]], axis=1)
# return token_ids
# ```

# %% [markdown] only="solution"
# **Why this way.** `token_ids` is bound to a new array in each turn, so the caller's array stays as
# it was. `[[next_token]]` has the shape (1, 1), which fits to (1, T) along the second axis.
#
# **Another right way.** Collect the ids in a Python list and build the array anew for each pass.
# The mask is built for each length here; one large mask, cut to `mask[:n, :n]`, does as well.

# %% [markdown] only="solution" wrong_turns="greedy_decode" shown="greedy"
# **Wrong turns**, on the cat's target: twelve tokens after *the*. Right is *the cat sat on the mat
# and the dog sat on the rug* in 12 passes.

# %% [markdown]
# ---
# **This is the end of part A, and a good place to stop.** Save with <kbd>Ctrl</kbd> +
# <kbd>S</kbd>. To come back later, run the cells from the top: *Run > Run All Cells*.
#
# ---

# %% [markdown] part="B" minutes=3
# ## Part B: the decoder, and its cost
#
# ### One step, half of it given
#
# One round of the cat, in slow motion. The text is *the cat sat on the mat*, six words, so T = 6. The
# drafting and the pass are written for you. **Before you run it: which rows judge? The draft guesses
# *and the cat*, and the target's text goes on *and the dog*. How many guesses are accepted, and which
# words come out?**

# %% free_try="one_step"
token_ids = ids_of("the cat sat on the mat")
length = token_ids.shape[1]

drafted = greedy_decode(token_ids, cat_draft, 3)
mask = build_causal_mask(drafted.shape[1])
logits = full_lm_forward(drafted, cat_target, mask)  # the only pass of the target

for row in range(length - 1, length + 3):
    answer = np.argmax(logits[0, row])
    guess = words_of(drafted[0, row + 1 : row + 2]) or "(bonus)"
    print(f"row {row}: the target says {words_of([answer]):<5} the draft said {guess}")

# %% [markdown]
# Rows 5 to 8 judge. *and the* is accepted, and *dog* comes out with it, the correction. Row 8 goes
# unread: it has read *cat*, so it is about a text that will not exist. A guess can even agree with
# such a row, as *sat* and *on* did in the grid above. Still it goes.
#
# What is missing is the rest of the step: compare in order, stop at the first difference, add one
# token of the target's own.

# %% [markdown] card="speculative_decode_step" difficulty=4 minutes=15
# Write the whole step. On the cat pair:
#
# | text | k | accepted | what comes after the text |
# |---|---|---|---|
# | the | 3 | 3 | cat sat on **the** (bonus) |
# | the cat sat on the | 3 | 0 | **mat** (correction) |
# | the cat sat on the mat | 3 | 2 | and the **dog** (correction) |
# | the | 0 | 0 | **cat** (plain decoding) |
#
# - The draft adds `num_draft_tokens` greedy tokens, each after its own earlier guesses, in at most k
#   passes. You may call `greedy_decode`.
# - The target makes **exactly one pass**, over the text and all drafted tokens, with a causal mask.
#   The check counts.
# - A guess is accepted when all before it were, and it is the favourite of its judging row.
# - Then one token of the target's own: the correction at the first difference, or the bonus when all
#   were accepted.
# - The result is `(token_ids, num_accepted_tokens)`: shape (1, T + num_accepted_tokens + 1), whole
#   numbers, the text included; and a number.
# - A negative `num_draft_tokens`: `ValueError`. `token_ids` is not changed.
#
# Some papers and programs stop at k tokens when all were accepted. The bonus is free: its row is
# in the pass already. We take it.

# %% answer="speculative_decode_step"

# %% free_try="speculative_decode_step"
for text, wanted in [
    ("the", "the cat sat on the, 3 accepted"),
    ("the cat sat on the", "the cat sat on the mat, 0 accepted"),
    ("the cat sat on the mat", "the cat sat on the mat and the dog, 2 accepted"),
]:
    longer, accepted = speculative_decode_step(ids_of(text), cat_draft, cat_target, 3)
    print(f"yours:  {words_of(longer)}, {accepted} accepted\nwanted: {wanted}")

# %% [markdown]
# Checks: what comes out, its edges, and the passes. More cases run when this is graded.

# %% test="speculative_decode_step" points=3
from specdec.checks.lesson_02 import check_speculative_decode_step

### BEGIN HIDDEN TESTS
from specdec.checks import lesson_02 as cases
from specdec.reference.lesson_02 import (  # earlier mistakes cost nothing here
    build_causal_mask,
    greedy_decode,
)

### END HIDDEN TESTS
check_speculative_decode_step(speculative_decode_step, greedy_decode, build_causal_mask)
### BEGIN HIDDEN TESTS
check_speculative_decode_step(
    speculative_decode_step,
    greedy_decode,
    build_causal_mask,
    [
        (cases.CAT, [0, 1, 2], 4),
        (cases.CAT, [0, 1, 2, 3, 0, 4, 5, 0, 6], 4),
        (cases.CAT, [0, 1, 2, 3, 0, 4, 5], 2),
        (cases.SEVEN, [1], 4),
        (cases.SEVEN, [0, 2, 5], 2),
        (cases.BANANA, [0, 1], 2),
        (cases.PERFECT, [6, 2, 1], 3),
    ],
)
### END HIDDEN TESTS

# %% test="speculative_decode_step_pass" points=2
from specdec.checks.lesson_02 import check_speculative_decode_step_pass

### BEGIN HIDDEN TESTS
from specdec.checks import lesson_02 as cases
from specdec.reference.lesson_02 import (  # earlier mistakes cost nothing here
    build_causal_mask,
    greedy_decode,
)

### END HIDDEN TESTS
check_speculative_decode_step_pass(speculative_decode_step, greedy_decode, build_causal_mask)
### BEGIN HIDDEN TESTS
check_speculative_decode_step_pass(
    speculative_decode_step,
    greedy_decode,
    build_causal_mask,
    [
        (cases.CAT, [0, 1, 2], 4),
        (cases.CAT, [0, 1, 2, 3, 0, 4, 5, 0, 6], 5),
        (cases.SEVEN, [1], 4),
        (cases.NEVER_RIGHT, [3, 3], 2),
        (cases.PERFECT, [6, 2, 1], 3),
    ],
)
### END HIDDEN TESTS

# %% test="speculative_decode_step_edges" points=1
from specdec.checks.lesson_02 import check_speculative_decode_step_edges

### BEGIN HIDDEN TESTS
from specdec.checks import lesson_02 as cases
from specdec.reference.lesson_02 import (  # earlier mistakes cost nothing here
    build_causal_mask,
    greedy_decode,
)

### END HIDDEN TESTS
check_speculative_decode_step_edges(speculative_decode_step, greedy_decode, build_causal_mask)
### BEGIN HIDDEN TESTS
check_speculative_decode_step_edges(
    speculative_decode_step,
    greedy_decode,
    build_causal_mask,
    [
        (cases.CAT, [0, 1, 2, 3, 0], 0),
        (cases.CAT, [0, 1, 2, 3, 0], 1),
        (cases.SEVEN, [1], 1),
        (cases.SEVEN, [2, 5], 9),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="speculative_decode_step"
# The text has T tokens, so its last token is in row T − 1. That row judges the first guess. How many
# rows do you need from there on?
# ===
# Four parts. Draft with `greedy_decode`. One pass of the target over all of it. Favourites of the
# k + 1 rows from T − 1 on. Count the guesses that agree, from the left, and stop at the first that
# does not. The new tokens are then the first `accepted + 1` favourites: where both agree it is the
# same token anyway.
# ===
# ```python
# length = token_ids.shape[1]
# drafted = greedy_decode(token_ids, draft, num_draft_tokens)
# mask = build_causal_mask(drafted.shape[1])
# logits = full_lm_forward(drafted, target, mask)
# answers = np.argmax(logits[0, ____ :], axis=-1)
# accepted = 0
# while accepted < num_draft_tokens and drafted[0, ____] == answers[accepted]:
#     accepted += 1
# return np.concatenate([token_ids, [answers[: ____]]], axis=1), accepted
# ```

# %% [markdown] only="solution"
# **Why this way.** `answers` are the k + 1 judging rows and nothing else, so `answers[i]` stands
# beside guess i, and `answers[accepted]` is the correction or the bonus, whichever it is. No case has
# to be told apart.
#
# **Another right way.** A loop over the guesses that appends and breaks, as in lesson 1. It says
# better *when* to stop; the slice says better *what* comes out. Or call lesson 1's `verify_greedy` on
# the guesses and the answers: the rule is the same, only the answers come from one pass now.
#
# **In an engine** this is the same: vLLM's `rejection_sampler` gets the logits of k + 1 rows of one
# pass, and transformers' `_assisted_decoding` slices `logits[:, -candidate_length - 1:]`. They keep
# the keys and values of the text from the pass before, which lesson 4 adds.

# %% [markdown] only="solution" wrong_turns="speculative_decode_step" shown="cat_step"
# **Wrong turns**, on rounds 1, 2 and 3 of the cat with k = 3. Right are *cat sat on the* (3
# accepted), *mat* (0) and *and the dog* (2), each in one pass.

# %% [markdown] card="speculative_decode" difficulty=2 minutes=8
# Put steps together until `num_tokens` tokens are there. On the cat pair, 12 tokens with k = 3 take
# four rounds, with 3, 0, 2 and 3 accepted.
#
# - The result is `(token_ids, accepted)`: shape (1, T + num_tokens), the same tokens as
#   `greedy_decode` with the target; and a list with the `num_accepted_tokens` of each round.
# - Each round drafts `num_draft_tokens`, the last one too. It may give too many tokens: cut the
#   text. Keep that round's number as the step gave it. 10 tokens of the cat give [3, 0, 2, 3] as
#   well. (The player above drafts less in its last pass. Here the rule is simpler.)
# - One step a round, and no round when the text is long enough. The check counts the target's passes.
# - `num_tokens` and `num_draft_tokens` may be 0. If one is negative, raise `ValueError`.

# %% answer="speculative_decode"

# %% free_try="speculative_decode"
longer, accepted = speculative_decode(ids_of("the"), cat_draft, cat_target, 12, 3)
print("yours: ", words_of(longer), accepted)
print("wanted: the cat sat on the mat and the dog sat on the rug [3, 0, 2, 3]")

# %% test="speculative_decode" points=2
from specdec.checks.lesson_02 import check_speculative_decode

### BEGIN HIDDEN TESTS
from specdec.checks import lesson_02 as cases
from specdec.reference.lesson_02 import (  # an earlier mistake costs nothing here
    speculative_decode_step,
)

### END HIDDEN TESTS
check_speculative_decode(speculative_decode, speculative_decode_step)
### BEGIN HIDDEN TESTS
check_speculative_decode(
    speculative_decode,
    speculative_decode_step,
    [
        (cases.CAT, [0], 12, 4),
        (cases.CAT, [0, 1], 8, 1),
        (cases.SEVEN, [4, 1], 7, 3),
        (cases.NEVER_RIGHT, [2], 3, 2),
    ],
)
### END HIDDEN TESTS

# %% test="speculative_decode_edges" points=1
from specdec.checks.lesson_02 import check_speculative_decode_edges

### BEGIN HIDDEN TESTS
from specdec.checks import lesson_02 as cases
from specdec.reference.lesson_02 import (  # an earlier mistake costs nothing here
    speculative_decode_step,
)

### END HIDDEN TESTS
check_speculative_decode_edges(speculative_decode, speculative_decode_step)
### BEGIN HIDDEN TESTS
check_speculative_decode_edges(
    speculative_decode,
    speculative_decode_step,
    [
        (cases.CAT, [0, 1], 0, 2),
        (cases.CAT, [0], 4, 0),
        (cases.SEVEN, [6, 2, 5], 1, 3),
        (cases.SEVEN, [1], 2, 7),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="speculative_decode"
# A step adds at least one token. So a `while` loop that goes on until the text is long enough must
# end.
# ===
# Remember the wanted length before the loop, T + num_tokens: `token_ids` grows. In the loop, one
# step, and its number goes into a list. Cut once, at the end.
# ===
# ```python
# if num_tokens < 0 or num_draft_tokens < 0:
#     raise ValueError("…")
# wanted = token_ids.shape[1] + num_tokens
# accepted = []
# while token_ids.shape[1] < ____:
#     token_ids, count = speculative_decode_step(token_ids, draft, target, num_draft_tokens)
#     accepted.append(____)
# return token_ids[:, :____], accepted
# ```

# %% [markdown] only="solution"
# **Why this way.** The loop is lesson 1's, with arrays in place of lists: whole rounds, one cut at
# the end.
#
# **Another way, which the exercise does not take.** Draft only as many tokens as the text has room
# for, `min(k, missing − 1)`. It saves a few passes of the draft and none of the target; engines do
# it, and so does the player. The text is the same; the last round's number can be smaller.

# %% [markdown] only="solution" wrong_turns="speculative_decode" shown="cat_decode"
# **Wrong turns**, on the cat pair with 10 tokens and k = 3. Right is *the cat sat on the mat and the
# dog sat on* in 4 passes, with 3, 0, 2 and 3 accepted.

# %% [markdown] card="passes_saved" difficulty=1 minutes=2
# How many passes of the target were saved? Plain decoding takes one for each token.
#
# | `num_tokens` | `accepted` | saved |
# |---|---|---|
# | 12 | `[3, 0, 2, 3]` | 8 |
# | 10 | `[3, 0, 2, 3]` | 6 |
# | 5 | `[0, 0, 0, 0, 0]` | 0 |
#
# `accepted` is what `speculative_decode` returns. The second line is the first, cut to 10 tokens.

# %% answer="passes_saved"

# %% free_try="passes_saved"
from specdec.tryout import side_by_side

side_by_side(
    passes_saved,
    [((12, [3, 0, 2, 3]), 8), ((10, [3, 0, 2, 3]), 6), ((5, [0, 0, 0, 0, 0]), 0)],
)

# %% test="passes_saved" points=1
from specdec.checks.lesson_02 import check_passes_saved

check_passes_saved(passes_saved)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_passes_saved(
    passes_saved,
    [
        Case((20, [4, 4, 2, 0, 4, 1]), 14),
        Case((7, [2, 2, 2]), 4),
        Case((3, [0, 1]), 1),
        Case((0, []), 0),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="passes_saved"
# One entry of `accepted` is one round. What is a round, in passes?
# ===
# A round is one pass of the target. Plain decoding takes `num_tokens` passes. Subtract.
# ===
# ```python
# return num_tokens - ____(accepted)
# ```

# %% [markdown] only="solution"
# **Why this way.** It compares what is to be compared: passes with passes. When nothing is cut it
# equals `sum(accepted)`, since emitted = accepted + rounds: **each accepted token saves one pass**.
# With a cut last round the sum counts tokens that are not in the text.

# %% [markdown] only="solution" wrong_turns="passes_saved" shown="[(12, [3, 0, 2, 3]), (10, [3, 0, 2, 3])]"
# **Wrong turns**, called with 12 tokens and then with 10, each with 3, 0, 2 and 3 accepted. Right
# are 8 and 6.

# %% [markdown] minutes=2
# ## The trained pair, with your decoder
#
# Your functions and the real models. Both ways use 64-bit numbers here, so that the same sum gives
# the same digits. **Before you run it: at best, how few passes can 16 tokens take with k = 4?**

# %% free_try="real_run"
pair.show_run(speculative_decode, greedy_decode, "She had no difficulty in", 16, 4)

# %% [markdown]
# At best 4: a pass gives k + 1 = 5 tokens at most, so three passes give 15, and a fourth is needed.
# The draft's mistakes cost passes. They never reach the text: its tokens are those of plain decoding.
# (The text stops after 16 tokens, in the middle of a word if need be.)

# %% [markdown] minutes=4
# ## Rows are not passes
#
# Why do we count passes, and not seconds? Because seconds would flatter us here, for a wrong reason.
#
# `full_lm_forward` remembers nothing. Each pass reads the whole text again, so a pass over 12 words
# computes 12 rows. Count the rows of the cat's story: it begins with *the*, and 12 words are added, with
# k = 3. Before each round the text has 1, 5, 6 and 9 words, plus 3 guesses.
#
# | | passes | rows, all read again each time | rows, when old ones are remembered |
# |---|---|---|---|
# | plain | 12 | 1 + 2 + … + 12 = **78** | **12** |
# | speculative | 4 | 4 + 8 + 9 + 12 = **33** | 4 × 4 = **16** |
#
# Without a memory, speculative decoding computes *fewer* rows, 33 against 78, and would be faster even
# on a machine where every row costs the same. That is no merit: no one decodes this way. Real engines
# keep what they have computed of the old tokens, in a **cache** (lesson 4). With it, plain decoding
# computes 12 rows, and speculative decoding 16. **It does more work, in fewer passes.** Its 4
# passes replace 12. So it gains when one pass over 4 rows and the 3 draft steps before it take less
# time than 3 passes over one row.
#
# So the honest question is: what does a pass over k + 1 rows cost, with nothing read again?

# %%
lengths = [1, 5, 6, 9]  # of the text, before each of the four rounds
print("plain:       rows", sum(range(1, 13)), "or with a cache", 12)
print("speculative: rows", sum(n + 3 for n in lengths), "or with a cache", 4 * 4)

# %% [markdown]
# ### Measure it
#
# This times passes of the trained target over 1, 2, 4, 8 and 16 tokens with no text before them,
# each nine times in turn, and takes the median. **First guess: how much longer does a pass over 4
# take than a pass over 1?** The textbook's answer is "no longer".

# %% measured=true
from specdec.trained.one_pass import show_times, time_passes

show_times(time_passes())

# %% [markdown]
# Two lines bound what can happen. If the time grew in proportion to the rows, nothing would be gained.
# If it never grew, a draft would be nearly free. Real machines lie between. Where does yours lie?
#
# **Why more rows cost little.** A pass must read all weights from memory, for one row or for sixteen.
# While the processor waits for them it has arithmetic to spare.
#
# **Why the second row can cost more than the ones after it.** With one row, each layer multiplies a
# matrix by a vector. With two it multiplies a matrix by a matrix: another routine, made for many rows,
# with work of its own before it starts. A third and a fourth row then add little.
#
# Noise can put the points out of order, 4 rows quicker than 2. Then the machine was busy: run it again.
#
# **When "costs the same as one" fails**
#
# - *There are enough rows to keep the processor busy.* From there on each row costs its full share.
#   Sixteen rows need not show it; a graphics card gets there after a hundred or more.
# - *The weights fit into the processor's fast memory* (also called a cache, but another thing). Our
#   target is so small that reading it is quick. Then arithmetic matters from the second row on, and we
#   gain less than a large model would.
# - *Many users are served at once.* Their rows share the pass, and the spare arithmetic is gone.
#   Lesson 5 finds the point where speculative decoding begins to lose.
#
# The times differ from run to run, and they are yours. No point is given for them.

# %% [markdown] minutes=1
# ## Find the bug, twice
#
# Both bugs were in programs that many people use. Neither raises an error.
#
# ### A row too late
#
# A program that runs models on many kinds of processors had this one, for text that is drawn at
# random ([report](https://github.com/openvinotoolkit/openvino.genai/issues/4190),
# [repair](https://github.com/openvinotoolkit/openvino.genai/pull/4490)). Here is its shape in our
# words. `answers` are the favourites of the k + 1 judging rows.

# %% include="specdec/bugs.py:answer_late"

# %%
print(answer_late([1, 2, 3], [1, 2, 3, 4]), "wanted [1, 2, 3, 4]")
print(answer_late([7, 7], [7, 7, 5]), "wanted [7, 7, 5]")
print(answer_late([4, 5, 6], [4, 8, 6, 9]), "wanted [4, 8]")

# %% [raw] todo="todo_bug_row" minutes=2
# question: |
#   The text has 9 tokens, 5 are drafted, and the **third** guess is the first that differs.
#   **From which row of the pass must the correction come?** (Rows count from 0. The function above
#   takes it from the row after that.)
# right: 10
# why: The first guess is judged by row T − 1 = 8, so the third by row 10. The function takes row 11, which has read the wrong guess.
# wrong:
#   11: That is the row which the function takes. It has read the wrong guess already.
#   12: Count from the text's last token, in row 8; that row judges the first guess.
#   9: Row 9 judges the second guess.
#   8: Row 8 judges the first guess.
#   2: Rows count over the whole text, not over the guesses.
#   3: Rows count over the whole text, and from 0.
#   13: That is the bonus row, after all five guesses.

# %% [markdown] only="solution"
# The correction belongs to the place where the guess was wrong, and the row that judged the guess has
# it: `answers[i]`. The row after it has read the wrong guess as if it were text. So the right word is
# lost, and the word that follows the wrong one comes out: the report shows *covers than third of
# Earth surface*. The one-line repair is `answers[i]`; full acceptance never shows the bug.

# %% [markdown]
# ### No mask
#
# A large library leaves the mask out where a faster attention function applies the causal rule itself.
# In 2024 it left it out too often: speculative decoding hands the target several tokens and no mask
# of its own, and that case was overlooked ([repair](https://github.com/huggingface/transformers/pull/30311)). In its plainest
# form:

# %% include="specdec/bugs.py:judge_unmasked"

# %%
drafted = ids_of("the cat sat on the cat sat on")
print("wanted: mat sat on the")
print("given: ", words_of(judge_unmasked(drafted, cat_target, 3)))

# %% [raw] todo="todo_bug_mask" minutes=2
# question: |
#   8 tokens go in, 3 of them drafted. **For how many of the 8 rows does the missing mask change what
#   the row can see?**
# right: 7
# why: Row 7 sees all 8 tokens either way. Every other row sees more than it should.
# wrong:
#   8: The last row sees all 8 tokens with the mask too.
#   3: It is not only the drafted rows. Rows 0 to 4 see the guesses too now.
#   4: The four judging rows matter most, but the rows before them see more as well, and the last row does not.
#   5: Those are the rows of the text. Rows 5 and 6 see more than they should as well.
#   1: All rows but one see more than they should.
#   0: Without the mask a row sees what comes after it.

# %% [markdown] only="solution"
# Why is it hard to notice? Drafting still works: plain decoding reads only the last row, and the last
# row may see everything. In a model of many layers its numbers change a little, since the rows below
# it have changed, but it still writes sentences. Only the judging rows are spoilt, so acceptance
# falls, and wrong corrections come out. The test that finds it is the one of part A: change the last
# token, and look whether an earlier row moves.

# %% [markdown] minutes=2
# ## Check yourself
#
# Four questions, not graded. Every choice has its reason. Your picks stay when you save and
# reopen the notebook; running the cell again starts afresh.
#
# *No questions below? Run the next cell.*

# %% [raw] widget="quiz"
# kind: Quiz
# questions:
#   - prompt: A text of 20 tokens, 6 drafted. What is the shape of the target's logits, with a vocabulary of 700?
#     choices:
#       - {text: "(1, 7, 700)", reason: "Seven rows are read, but all 26 come out."}
#       - {text: "(1, 26, 700)", right: true, reason: "One row for each token that goes in."}
#       - {text: "(1, 6, 700)", reason: "The guesses are not the only tokens that go in."}
#       - {text: "(1, 700)", reason: "That would be one row. The pass gives one for every token."}
#   - prompt: All of k = 6 guesses are accepted. How many passes does the target make before the next draft begins?
#     choices:
#       - {text: "1", right: true, reason: "The same pass has judged all guesses and given the bonus."}
#       - {text: "2", reason: "The bonus is in the last row of the pass that is there already."}
#       - {text: "6", reason: "The guesses are judged together, each in its row."}
#       - {text: "7", reason: "That is plain decoding of seven tokens."}
#   - prompt: The last drafted token is changed to another. With the mask, which judging row can change?
#     choices:
#       - {text: "the row that judges it", reason: "That row is the one before it. It does not see the token."}
#       - {text: "the bonus row only", right: true, reason: "Only the row that reads this token sees it, and that is the last one."}
#       - {text: "all judging rows", reason: "The mask keeps it from every row before its own."}
#       - {text: "none", reason: "The row that reads the token depends on it."}
#   - prompt: A draft twice as good doubles the accepted tokens. What happens to the work of the target, in rows per pass, with a cache?
#     choices:
#       - {text: "It falls by half.", reason: "The number of passes falls. A pass has k + 1 rows as before."}
#       - {text: "It stays k + 1.", right: true, reason: "The pass is the same, whatever is accepted. There are fewer passes."}
#       - {text: "It doubles.", reason: "Accepted or not, the same k + 1 rows are computed."}

# %% [markdown]
# Two more are graded. Their reasons come with your feedback.

# %% [raw] quiz="quiz_count_passes" minutes=1
# question: |
#   On your machine, with `full_lm_forward`, your `speculative_decode` runs 1.9 times as fast as your
#   `greedy_decode`. What does that tell about an engine on the same machine, with the same models?
# choices:
#   A: {text: "Little: part of the 1.9 comes from what an engine never does.", reason: "Each of our passes reads the old text again, and fewer passes read it less often. On the cat, 33 rows against 78. With a cache it is 16 against 12, and the gain must come from cheap rows."}
#   B: {text: "It gains 1.9 times as well, since it makes the same passes.", reason: "Even on this machine it is not the gain against a decoder with a cache."}
#   C: {text: "Its draft will be right about 1.9 times out of every 2.", reason: "Seconds say nothing of how often the draft is right. The ledger does."}
#   D: {text: "Its target does about half the work for the same text.", reason: "With a cache it does more: k + 1 rows a pass, of which some are thrown away."}
# right: A

# %% [raw] quiz="quiz_one_row_wrong" minutes=1
# question: |
#   A step reads its rows from T on instead of from T − 1 on. Only k rows are left from T on, so it
#   uses the last of them twice. The draft is a copy of the target. What do you see?
# choices:
#   A: {text: "All guesses are accepted, since both models are the same.", reason: "Each guess is compared with the answer after it, so even a perfect draft is turned down."}
#   B: {text: "An IndexError in the first step.", reason: "The last row was taken twice, so all indices exist."}
#   C: {text: "The right text, in more passes.", reason: "The correction is the answer one place too late, so a word is skipped."}
#   D: {text: "Hardly any guess is accepted, and words are skipped.", reason: "Guess i is compared with the answer that belongs to guess i + 1, and that answer comes out in its place."}
# right: D

# %% [markdown] minutes=1
# ## Common mistakes
#
# What they do to the cat, with k = 3 (the worked solution runs them):
#
# | mistake | what comes out |
# |---|---|
# | no mask | *the cat sat on the* **the** … |
# | the last k rows, not k + 1 | no bonus, and rows that judge the wrong guess |
# | one pass a guess | the right text, and four passes where one would do |
# | the pass is made again for each row | the right text, four times the cost |
# | the draft reads the text only | the right text, fewer guesses accepted |
#
# The last three print the right text. Only counting shows them.
#
# ## When it breaks
#
# - **The text is too long.** Text and guesses must fit into the model's context together: near the
#   end, k has to shrink. `full_lm_forward` says so.
# - **The numbers have few digits.** A pass over 5 rows and 5 passes over one may add in another order.
#   With 32 bits, two tokens that are nearly equally good can then change places. It is rare, and no
#   bug.

# %% [markdown] minutes=1
# ## Worked example
#
# The cat's 12 words again, with a machine on which a pass over one row takes 10 ms, each further row
# 0.5 ms, and a draft step 1 ms. With a cache:
#
# | | passes | time |
# |---|---|---|
# | plain | 12 of one row | 12 × 10 ms = **120 ms** |
# | speculative, k = 3 | 4 of four rows | 4 × (10 + 3 × 0.5 + 3 × 1) ms = **58 ms** |
#
# That is 2.07 times as fast. If each further row cost 10 ms, like the first, four rounds would take
# 172 ms: slower than plain decoding, with the same 4 passes. **Now you: at how many ms for a further
# row is nothing gained?** Put your number in and run the cell; the factor must be 1.

# %%
yours = 5
for row_ms in (0, 0.5, yours, 10):
    total = 4 * (10 + 3 * row_ms + 3 * 1)
    print(f"{row_ms:>4} ms a further row: {total:>6.1f} ms, {120 / total:.2f} times as fast")

# %% [markdown]
# <details><summary>Answer</summary>Twelve passes of 10 ms are 120 ms, so each of the four rounds may
# take 30. The pass and its draft take 13 without the further rows. That leaves 17 ms for 3 rows: about
# 5.7 ms each.</details>
#
# ## What you built, and where it runs
#
# Your step is the heart of *assisted generation* in
# [Hugging Face transformers](https://huggingface.co/docs/transformers), and of speculative decoding
# in [vLLM](https://docs.vllm.ai): one pass over the text and the guesses, k + 1 rows, compare, cut.
# The folder with the trained target opens there too, unchanged.
#
# ## Stretch, not graded
#
# 1. Give `speculative_decode_step` lesson 1's perfect draft: the target itself. How many tokens does
#    each pass give? Where does the saving end?
#    <details><summary>Answer</summary>k + 1, always. The saving ends where a pass over k + 1 rows
#    costs more than what it replaces, and the draft is as dear as the target here.</details>
# 2. Two different continuations can be checked in one pass: put both behind the text, and mask each
#    from the other. Which positions must the second one get?
#    <details><summary>Answer</summary>The same as the first: both begin at position T. This is a
#    tree of guesses, lesson 6.</details>

# %% [markdown] only="solution"
# ## Carry it over
#
# Three new situations. Answer first; the answers are folded.
#
# **1.** A text has 20 tokens. You want to judge one single guess, the first. How many tokens must
# go in at least, and which row judges it?
#
# <details><summary>Answer 1</summary>
#
# 20, and row 19. No guess has to go in: the row of the text's last token judges the first guess. It
# is plain decoding's own pass. Only guess 2 needs guess 1 in the input.
#
# </details>
#
# **2.** A model for filling gaps is trained without a causal mask: each row sees the tokens on both
# sides. Can it verify k guesses in one pass?
#
# <details><summary>Answer 2</summary>
#
# No. Row t would see token t + 1, the very guess it has to judge, and could repeat it. To verify, a
# row must be blind to what comes after it.
#
# </details>
#
# **3.** Two texts, 12 and 9 tokens, k = 3, go through the model as one batch. The short one is
# filled up to 15 places on the right. Which rows judge the guesses of each? What if it is filled up
# on the left?
#
# <details><summary>Answer 3</summary>
#
# On the right: rows 11 to 14 for the long text, 8 to 11 for the short one, since T − 1 is 11 and 8.
# On the left the short one's rows move by 3, so it is 11 to 14 for both; then the filling needs a
# mask of its own, and positions must be counted from the first real token.
#
# </details>

# %% [markdown]
# ## Where you are
#
# This runs all visible checks on what you have written so far.

# %%
from specdec.progress import show_progress

show_progress("02_one_forward_pass")

# %% [markdown]
# ## Hand in
#
# 1. Save with <kbd>Ctrl</kbd> + <kbd>S</kbd>.
# 2. Press **Validate** in the toolbar. It runs the saved notebook from the top, in a fresh kernel,
#    as grading does.
# 3. *Success* means that all visible checks pass. Grading runs more cases of the same rules, and
#    marks the two questions.
#
# ## What comes next
#
# Every pass here read the whole text again. Lesson 4 keeps what was computed, and finds out what must
# be taken back after a rejection. Lesson 3 can come first: what if the target is not greedy?
#
# ## Sources
#
# - Y. Leviathan, M. Kalman, Y. Matias: *Fast Inference from Transformers via Speculative Decoding*,
#   ICML 2023, [arXiv 2211.17192](https://arxiv.org/abs/2211.17192). p is the target there, as here.
# - C. Chen and others: *Accelerating Large Language Model Decoding with Speculative Sampling*,
#   2023, [arXiv 2302.01318](https://arxiv.org/abs/2302.01318). Here the letters are the other way
#   round.
# - A. Vaswani and others: *Attention Is All You Need*, 2017,
#   [arXiv 1706.03762](https://arxiv.org/abs/1706.03762). The causal mask is in section 3.2.3.
# - The bugs: [openvino.genai 4190](https://github.com/openvinotoolkit/openvino.genai/issues/4190),
#   [transformers 30311](https://github.com/huggingface/transformers/pull/30311).
