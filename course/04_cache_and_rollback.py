# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   specdec:
#     title: Cache and rollback
#     points: 20
# ---

# %% [markdown]
# # Lesson 4 · Cache and rollback
#
# **A guess is turned down. What has to be undone?**
#
# {{minutes}} minutes: part A, the cache, takes {{minutes_A}}; part B, the generator, four bugs and
# the clock, takes {{minutes_B}}. Allow a quarter more if slices of arrays are new to you. The place
# to stop is marked · {{points}} points.
# You need lesson 1, and from lesson 2 that one pass over T tokens gives T answers. NumPy helps:
# slices, and `np.concatenate`.

# %% [markdown] only="solution"
# **This is the worked solution** of
# [the lesson](../../lessons/04_cache_and_rollback/04_cache_and_rollback.ipynb), with the questions
# repeated, the answers, why they are so, and what the usual wrong turns give.
#
# **Ten minutes only?** The rule: after each round both caches hold the text without its newest
# token, and nothing else. The number: with 7 tokens cached, k = 4 and 2 accepted, 12 and 11 become
# 10 and 10. The three mistakes: a target's cache that keeps rejected guesses (wrong text), a draft's
# cache that does (right text, slow), and a draft that never reads its last guess. Read *The idea*,
# exercise 4, *Four programs, four bugs* and *Where the speed went*.
#
# **Your own notebook**, with all checks, the hidden ones included:
# `autograder check lessons/04_cache_and_rollback/04_cache_and_rollback.ipynb`.

# %% [markdown] part="A"
# ## What you will be able to do
#
# - **Say** how long both caches are after any round.
# - **Write** a cache that can be rolled back, and a generator that keeps two of them right.
# - **Find** a cache bug in a plot, without reading a line of the program.
# - **Measure** the speedup on your machine, and say where the rest of it went.
#
# This is the fourth of six lessons. A → B means: do A before B.
#
# 1 the rule → 2 one pass of a real model → **4 caches** → 5 when it pays → 6 better drafts
#
# 1 the rule → 3 exact sampling

# %% [markdown]
# Run each cell with <kbd>Shift</kbd> + <kbd>Enter</kbd>. Start with this one.

# %% setup=true
try:
    from specdec.start import start

    start("04_cache_and_rollback")
except ModuleNotFoundError:
    print("This kernel lacks the course. Choose Kernel > Change Kernel, or start with: make lab")

# %% [markdown] minutes=2
# ## Part A: the cache
#
# ### One line missing
#
# Below, a trained pair of models continues a text that neither has seen. A model is slow because it
# works through the whole text for each token, so each of the two keeps what it has worked out: its
# **cache**. The same program runs three times. Once it is right. Once a line is missing that tidies
# the target's cache, and once the line that tidies the draft's.

# %% folded=true measured=true
from specdec.trained.decoding import heldout_prompts, load_trained, three_programs

trained = load_trained()
target, drafts = trained.target, trained.drafts
draft = drafts["distilled draft"]
prompt = heldout_prompts(target.tokenizer, 1)[0]
three_programs(target, draft, prompt, n_tokens=40, k=4)

# %% [markdown]
# Both lines look alike. One of them, forgotten, spoils the text. The other spoils nothing that you
# can see, and takes part of the speed away. Nothing raises an error: these programs count what to
# forget. The generator that you will write asks its caches what they lack; there a cache that is
# too long may raise.

# %% [markdown] minutes=5
# ## Predict first
#
# Before a round both caches hold 7 tokens, `A` to `G`. The text has one more, `H`: the newest token,
# which no model has read yet. The draft guesses 4 tokens, `w` to `z`. Then the target reads `H` and these
# in one pass: its cache holds 12 now. The draft has read `H` and three of its own guesses. It never
# read the fourth, it only said it: 11.
#
# Two guesses are accepted, `w` and `x`. The target adds a token of its own, ★.
# **How many tokens must each cache hold before the next round?** Choose below. Then step through
# rounds of your own: set how many guesses are accepted, say both lengths, and press the button. When
# the right rollback holds no more surprises, try the wrong ones.
#
# *No picture below? Run the next cell.*

# %% [raw] widget="lanes"
# kind: CacheLanes
# length: 7
# k: 4
# accepted: 2
# question: The target's cache holds 12 tokens, the draft's 11. What must they hold after the round?
# choices:
#   - text: "12 and 11, as they are"
#     reason: Then both hold y, and the target's holds z too. Neither is in the text. What is read next would follow them.
#   - text: "10 and 10"
#     right: true
#     reason: A to H, then w and x. ★ is in the text too, but no model has read it yet.
#   - text: "9 and 9"
#     reason: That would forget x, which was accepted and belongs to the text.
#   - text: "7 and 7, as before the round"
#     reason: That forgets H, w and x. They were read already, and they stay in the text.

# %% [markdown]
# Code can read the lanes. Run this cell after a step. Before you have chosen, all three are None.

# %%
print("target's cache:", lanes.target_length)
print("draft's cache: ", lanes.draft_length)
print("what this rollback breaks:", lanes.harm)

# %% [markdown] only="solution"
# The round in which the draft leaves its cache as it is. ★ lands behind two tokens that are not in
# the text. The target's lane is sound, so the text stays right; the draft's next guesses answer
# another text.

# %% only="solution"
lanes.rollback, lanes.step = "draft_kept", 5
lanes

# %% [markdown] minutes=3
# ## The idea
#
# In a pass, each layer of the model turns each token into a **key** and a **value**, two short rows
# of numbers. Later tokens look at the keys, and take in the values. A token's key and value depend
# on the tokens before it and on nothing after it. So they need not be worked out twice.
#
# | | without a cache (lesson 2) | with a cache |
# |---|---|---|
# | goes in | the whole text | only the tokens that are new |
# | comes out | a row for each token of the text | a row for each new token |
# | kept | nothing | keys and values of each token read |
# | to undo after a rejection | **nothing** | **the rejected tokens' keys and values** |
#
# The last line is this lesson. In lesson 2 a rejected guess was simply not there any more. With a
# cache it stays, and every later token looks at it, until somebody takes it out. That is a
# **rollback**. Since all of it stands at the end, rolling back means: keep the first so many
# positions, forget the rest.
#
# **The rule.** After each round, each cache holds tokens of the text, in order, and not the newest.

# %% [markdown]
# ### The words we use
#
# | word | meaning |
# |---|---|
# | L | tokens in both caches before a round; the text has L + 1 |
# | k, accepted, ★ | as in lesson 1; ★ is the correction or the bonus |
# | position | a token's place in the text, from 0; the model needs it, and takes it from len(cache) |
# | crop(n) | keep the first n positions |
# | catch up | feed a model all tokens that its cache lacks |
# | p, q | the target and the draft |
#
# The cat of lesson 1, with k = 3, starts from one word. Its four rounds accept 3, 0, 2 and 3 guesses.
# So its target's cache forgets 0, 3, 1 and 0 tokens, and then holds **4, 5, 8, 12**, always one fewer
# than the text.

# %% [raw] todo="todo_both_lengths" minutes=1
# question: |
#   Both caches hold L = 20 tokens. The draft guesses k = 5, and 1 guess is accepted.
#   **How many tokens does each cache hold after the right rollback?** Write a list,
#   `[target, draft]`.
# right: [22, 22]
# why: The 20, the token that was the newest, and one accepted guess. ★ has not been read.
# wrong:
#   "[26, 25]": That is before the rollback. Four guesses were turned down.
#   "[21, 21]": The token that was newest before the round was read, and stays. So does the accepted guess.
#   "[23, 23]": ★ belongs to the text, but no model has read it yet.
#   "[22, 21]": The draft read its first guess too, before it made the second.
#   "[20, 20]": Two tokens were read that stay in the text.
#   "[25, 25]": Only one of the five guesses was accepted.

# %% [raw] todo="todo_after_full" minutes=1
# question: |
#   Again L = 20 and k = 5, but all 5 guesses are accepted, and ★ is the bonus.
#   **How many tokens of the text must the draft read before it can guess anew?**
# right: 2
# why: Its own last guess, which it never read, and the bonus. The target needs only the bonus.
# wrong:
#   1: The bonus, yes. But did the draft ever read its own last guess?
#   0: The bonus is new to it.
#   5: It has read its guesses, all but one, as it made them.
#   6: It has read its guesses, all but one, as it made them.
#   27: Its cache holds most of the text.
#   7: Its first four guesses are in its cache. It read each as it made the next.

# %% [markdown]
# ## Write the cache
#
# Two tools of NumPy that you will want, on arrays of the shape (kv_heads, T, head_dim):

# %%
import numpy as np

three, one = np.ones((2, 3, 4)), np.zeros((2, 1, 4))
print("joined along axis 1:", np.concatenate([three, one], axis=1).shape)
print("the first 2 of axis 1:", three[:, :2].shape)

# %% [markdown] card="KVCache" difficulty=3 minutes=12
# Write a class that keeps keys and values, layer by layer. `__init__` is given: a list of arrays for
# the keys and one for the values, with `None` for a layer that is empty. So is `__repr__`, the text
# that `print` shows. Three methods are yours: `__len__`, `append` and `crop`.
#
# A cache for two layers, with positions written as letters:
#
# | call | returns | len(cache) then |
# |---|---|---|
# | `append(0, keys and values of A B)` | keys and values of A B | 0, the last layer is empty |
# | `append(1, keys and values of A B)` | keys and values of A B | 2 |
# | `append(0, keys and values of C)` | keys and values of **A B C** | 2 |
# | `append(1, keys and values of C)` | keys and values of **A B C** | 3 |
# | `crop(1)` | nothing | 1, in both layers |
# | `crop(2)` | ValueError: it holds only 1 | 1 |
#
# - The arrays have the shape (kv_heads, T, head_dim): a layer keeps kv_heads keys for each of T
#   positions, each a row of head_dim numbers. Positions are axis **1**.
# - `crop(len(cache))` and `crop(0)` are fine. Below 0 or above `len(cache)`: `ValueError`, and
#   nothing changes.
# - Two caches must not share what they hold: no lists that belong to the class. You need not copy the
#   arrays that you get, and must not write into them.

# %% answer="KVCache"

# %% free_try="KVCache"
def rows(*numbers):
    """Keys of one head, one number a position: shape (1, T, 1)."""
    return np.array(numbers, dtype=float).reshape(1, -1, 1)


cache = KVCache(2)
for layer in (0, 1):
    cache.append(layer, rows(1, 2, 3), rows(10, 20, 30))
cache.crop(2)
keys, values = cache.append(0, rows(9), rows(90))
print("keys of layer 0:  ", keys.ravel(), " wanted [1. 2. 9.]")
print("values of layer 0:", values.ravel(), " wanted [10. 20. 90.]")
print("len(cache):       ", len(cache), " wanted 2: the last layer has not got the new one yet")

# %% [markdown]
# Checks: what a layer holds, then cropping. Both let a small model use your cache. More cases run
# when this is graded; the rules are the same.

# %% test="KVCache" points=1
from specdec.checks.lesson_04 import check_kv_cache

check_kv_cache(KVCache)
### BEGIN HIDDEN TESTS
from specdec.checks.lesson_04 import Append, Length, Scenario, filled

check_kv_cache(
    KVCache,
    [
        Scenario(1, [Length(), *filled(0, 7), *filled(0, 2), Length()], [0, [7], [7, 2], 2]),
        Scenario(
            3,
            [*filled(2, 8, 6), Length(), Append(0, (5, 1)), Length(), Append(1, (5, 1)), Length()],
            [[8, 6], [8, 6], [8, 6], 2, [8, 6, 5, 1], 2, [8, 6, 5, 1], 2],
        ),
        Scenario(2, [*filled(1, 1, 2), *filled(1, 3, 4)], [[1, 2]] * 2 + [[1, 2, 3, 4]] * 2),
    ],
    in_model=False,
)
### END HIDDEN TESTS

# %% test="KVCache_crop" points=1
from specdec.checks.lesson_04 import check_kv_cache_crop

check_kv_cache_crop(KVCache)
### BEGIN HIDDEN TESTS
from specdec.checks.lesson_04 import Crop, Length, Scenario, filled

check_kv_cache_crop(
    KVCache,
    [
        Scenario(
            2,
            [*filled(1, 3, 1, 4, 1, 5), Crop(5), Crop(4), Crop(1), Length(), *filled(1, 8, 9)],
            [[3, 1, 4, 1, 5]] * 2 + ["done", "done", "done", 1] + [[3, 8, 9]] * 2,
        ),
        Scenario(
            1,
            [*filled(0, 6), Crop(-2), Crop(2), Length(), Crop(0), *filled(0, 2)],
            [[6], "ValueError", "ValueError", 1, "done", [2]],
        ),
    ],
    in_model=False,
)
### END HIDDEN TESTS

# %% [markdown] hints="KVCache"
# How does a model see the past? It asks `append` for all positions of the layer. So `append` has to
# join old and new, keep the result, and return it.
# ===
# A slice along axis 1: `keys[:, :length]`. Joining along axis 1: `np.concatenate([old, new], axis=1)`.
# A layer that is empty has `None`, which can't be joined. And a slice takes a length below 0 without
# a word: test it first.
# ===
# ```python
# def append(self, layer, keys, values):
#     if self.keys[layer] is not None:
#         keys = np.concatenate([____, keys], axis=1)
#         values = np.concatenate([____, values], axis=1)
#     self.keys[layer], self.values[layer] = ____
#     return keys, values
#
# def crop(self, length):
#     if not 0 <= length <= ____:
#         raise ValueError("…")
#     for layer in range(len(self.keys)):
#         if self.keys[layer] is not None:
#             self.keys[layer] = ____
#             self.values[layer] = ____
# ```

# %% [markdown] only="solution"
# **Why this way.** Joining copies the whole cache for each token. That is simple, and for a short
# text cheap enough. A crop is only a slice: nothing is moved.
#
# **Another right way.** Reserve room for the longest text once, write new positions into it, and
# keep a number that says how far it is filled. Then `crop` changes one number. The library's own
# `ModelCache` does this, and so do real programs.

# %% [markdown] only="solution" wrong_turns="KVCache" shown="cache"
# **Wrong turns**, on a cache of two layers: three positions, `crop(2)`, one more position. Right is
# `1 2 9` in both layers, a length of 3, and ValueError for `crop(4)`.

# %% [markdown] minutes=2
# ### Does a cache change the answers?
#
# The trained target, with numbers of 64 bits, reads 48 tokens twice: all in one pass without a
# cache, then in pieces of 20, 1, 8 and 19 with yours, and with 5 wrong tokens in between, which are
# taken out again. The table says by how much the logits differ at most.

# %% free_try="cached_logits" measured=true
from specdec.trained.decoding import logit_difference

logit_difference(KVCache, pieces=[20, 1, 8, 19], wrong=5)

# %% [markdown]
# What is left, about 1e-14, is rounding: the same numbers are added in another order.

# %% [markdown] card="catch_up" difficulty=2 minutes=5
# A model has a cache that holds the first part of a text. Feed it the rest, in **one** pass, and
# return its logits.
#
# | cache holds | `token_ids` | fed | returned |
# |---|---|---|---|
# | 3 tokens | `[5, 1, 8, 2, 7]` | `[[2, 7]]`, shape (1, 2) | 2 rows, shape (2, V) |
# | 0 tokens | `[5, 1, 8]` | `[[5, 1, 8]]` | 3 rows |
# | 3 tokens | `[5, 1, 8]` | nothing | ValueError: nothing is missing |
#
# - Call `model(ids, cache)` with an array `ids` of shape (1, T). It returns logits (1, T, V).
# - The cache grows in the pass by itself. You need not append anything.
# - Nothing is missing when the cache holds as many tokens as the text has, or more: `ValueError`.
# - `token_ids` is a list; leave it as it is.
#
# This small function removes the hardest bug of this lesson. Whatever a rollback took away, too much
# or just enough, `catch_up` feeds it again. It can't mend a cache that holds too much.

# %% answer="catch_up"

# %% free_try="catch_up"
from specdec.cached_toys import cat_pair
from specdec.sampling import WORDS

cat_draft, cat_target = cat_pair()
words = ["the", "cat", "sat", "on", "the"]
ids = [WORDS.index(word) for word in words]
cache = cat_target.new_cache()
first = catch_up(cat_target, cache, ids[:3])
print("3 words:     ", first.shape, "wanted (3, 8)")
rest = catch_up(cat_target, cache, ids)
print("2 more words:", rest.shape, "wanted (2, 8)")
print("then comes:  ", WORDS[rest[-1].argmax()], "  wanted mat")

# %% test="catch_up" points=2
from specdec.checks.lesson_04 import check_catch_up

check_catch_up(catch_up)
### BEGIN HIDDEN TESTS
from specdec.checks.lesson_04 import Missing

check_catch_up(
    catch_up,
    [
        Missing([2, 2, 2, 9], 1),
        Missing([30, 0, 11, 4, 5, 6, 7], 5),
        Missing([6, 14], 0),
        Missing([0, 0, 3], 2),
    ],
    [Missing([9], 1), Missing([1, 2, 3], 5)],
)
### END HIDDEN TESTS

# %% [markdown] hints="catch_up"
# Which tokens are missing? `len(cache)` says how many are there.
# ===
# A slice that starts at `len(cache)`. The model takes an array with two axes, and gives logits with
# three; the first of them is the batch, of one text.
# ===
# ```python
# missing = token_ids[____:]
# if len(missing) == 0:
#     raise ValueError("…")
# return model(np.array([____]), cache)[____]
# ```

# %% [markdown] only="solution"
# **Why this way.** The slice is empty when the cache holds the whole text, and also when it holds
# more: one test for both. The usual other form counts by hand: feed one token after a rejection, two
# after a full acceptance. It is right too, and each of the four bugs below is a slip in that
# counting.

# %% [markdown] only="solution" wrong_turns="catch_up" shown="catch_up"
# **Wrong turns**, with 3 tokens in the cache and the text `[3, 8, 1, 20, 5, 9]`. Right is to
# feed `[20, 5, 9]` and return 3 rows.

# %% [markdown] card="cut_at_eos" difficulty=1 minutes=3
# A round may emit more than is wanted. And the token that ends a text, **eos**, may be accepted in
# the middle of a round; programs have printed what came after it
# ([report](https://github.com/huggingface/transformers/issues/47912)).
#
# | `token_ids` | `eos` | `room` | kept |
# |---|---|---|---|
# | `[5, 2, 7, 8]` | 2 | 9 | `[5, 2]` |
# | `[5, 6, 7, 8]` | 2 | 3 | `[5, 6, 7]` |
# | `[5, 6, 2, 8]` | 2 | 2 | `[5, 6]` |
# | `[5, 6]` | None | 1 | `[5]` |
#
# The eos stays, nothing after the first one does, and at most `room` tokens are kept. `room` may be
# 0. `eos` may be 0, a token like any other; None means that no token ends the text.

# %% answer="cut_at_eos"

# %% free_try="cut_at_eos"
from specdec.tryout import side_by_side

side_by_side(
    cut_at_eos,
    [
        (([5, 2, 7, 8], 2, 9), [5, 2]),
        (([5, 6, 7, 8], 2, 3), [5, 6, 7]),
        (([5, 6, 2, 8], 2, 2), [5, 6]),
        (([5, 6], None, 1), [5]),
    ],
)

# %% test="cut_at_eos" points=1
from specdec.checks.lesson_04 import check_cut_at_eos

check_cut_at_eos(cut_at_eos)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_cut_at_eos(
    cut_at_eos,
    [
        Case(([9, 9, 4, 9], 4, 8), [9, 9, 4]),
        Case(([3, 0, 8, 0], 0, 4), [3, 0]),
        Case(([3, 0, 8], 5, 1), [3]),
        Case(([6, 7, 1, 2], 1, 3), [6, 7, 1]),
        Case(([2, 2], 2, 0), []),
        Case(([1, 2, 3], None, 3), [1, 2, 3]),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="cut_at_eos"
# Two cuts, and their order does not matter.
# ===
# First a slice to `room`. Then, if eos is in what is left, a slice up to its first place, that place
# included. `eos in kept` is False for None by itself.
# ===
# ```python
# kept = list(token_ids[:____])
# if eos in kept:
#     kept = kept[: kept.index(eos) + ____]
# return kept
# ```

# %% [markdown] only="solution"
# **Why this way.** `list.index` finds the first eos, and `in` answers for None and for 0 alike. A
# test such as `if eos:` would take token 0 for no eos.

# %% [markdown] only="solution" wrong_turns="cut_at_eos" shown="[([5, 2, 7, 8], 2, 9), ([5, 6, 7, 8], 2, 3), ([0, 3], 0, 5)]"
# **Wrong turns**, called three times: with an eos in the middle, with little room, and with eos 0.
# Right are `[5, 2]`, `[5, 6, 7]` and `[0]`.

# %% [markdown]
# ---
# **This is the end of part A, and a good place to stop.** Save with <kbd>Ctrl</kbd> +
# <kbd>S</kbd>. To come back later, run the cells from the top: *Run > Run All Cells*.
#
# ---

# %% [markdown] part="B"
# ## Part B: the generator, four bugs, and the clock
#
# Your rule of lesson 1 comes back: `verify_greedy(draft, target_next)` returns one list: the
# accepted guesses, then the target's own token. Run this cell to have it.

# %%
from specdec.reference.lesson_01 import verify_greedy

print(verify_greedy([1, 2, 3], [1, 5, 3, 4]), "wanted [1, 5]")

# %% [markdown] minutes=2
# Round 1 of the cat, step by step, with your `catch_up`. Watch the two lengths.

# %% free_try="round_1"
draft_cache, target_cache = cat_draft.new_cache(), cat_target.new_cache()
tokens, proposed = [WORDS.index("the")], []
for _ in range(3):
    logits = catch_up(cat_draft, draft_cache, tokens + proposed)
    proposed.append(int(logits[-1].argmax()))
logits = catch_up(cat_target, target_cache, tokens + proposed)
choices = logits[-4:].argmax(axis=-1).tolist()
print("guesses:", [WORDS[i] for i in proposed])
print("target: ", [WORDS[i] for i in choices], "k + 1 answers of one pass")
print("caches: ", len(target_cache), "and", len(draft_cache), "tokens, before any rollback")

# %% [markdown] card="speculative_generate_cached" difficulty=4 minutes=15
# Put it together. The cat with k = 3 wants this:
#
# | round | accepted | emitted | text then | target's cache | draft's cache |
# |---|---|---|---|---|---|
# | 1 | 3 | cat sat on the | 5 words | 4 | 3 |
# | 2 | 0 | mat | 6 | 5 | 5 |
# | 3 | 2 | and the dog | 9 | 8 | 8 |
# | 4 | 3 | sat on the rug | 13 | 12 | 11 |
#
# - Return a pair: the list of new tokens, without the prompt, and the list of accepted counts, here
#   `[3, 0, 2, 3]`. A count is taken before the round is cut.
# - The tokens are the target's own greedy text: `n_tokens` of them, or fewer when `eos` comes; then
#   the generator stops.
# - Draft k tokens in each round, in the last one too. The guess of a row is its largest logit.
# - The target makes **one** pass a round, over k + 1 rows: the newest token and the guesses. Only the
#   first pass has the prompt to read as well.
# - After each round, the last included, no cache holds more than the text without its newest token.
#   Each cache is cropped to the cut text without its newest token; a cache that is already shorter
#   stays as it is. No model reads a token of the text twice.
# - The two caches come in empty. Use `len(cache)` and `cache.crop(n)`; the caches of the check have
#   no other way to be changed. `catch_up`, `verify_greedy` and `cut_at_eos` are yours to call.
# - `n_tokens` and `k` may be 0; with k = 0 the draft is not asked. If one is negative: `ValueError`.
# - The prompt, a list with at least one token, is not changed.

# %% answer="speculative_generate_cached"

# %% free_try="speculative_generate_cached"
draft_cache, target_cache = cat_draft.new_cache(), cat_target.new_cache()
the = [WORDS.index("the")]
tokens, accepted = speculative_generate_cached(
    cat_draft, cat_target, draft_cache, target_cache, the, 12, 3
)
print("wanted: cat sat on the mat and the dog sat on the rug · [3, 0, 2, 3] · 12 and 11")
print("yours: ", *[WORDS[i] for i in tokens], "·", accepted, "·", end=" ")
print(len(target_cache), "and", len(draft_cache))

# %% [markdown]
# Checks: the text, its edges, then passes and caches. They use the cat, pairs of number models that
# look at the last three tokens, and a tiny Llama. More cases run when this is graded.

# %% test="speculative_generate_cached" points=2
from specdec.checks.lesson_04 import check_speculative_generate_cached

### BEGIN HIDDEN TESTS
from specdec.checks import lesson_04
from specdec.reference.lesson_01 import verify_greedy
from specdec.reference.lesson_04 import catch_up, cut_at_eos  # earlier mistakes cost nothing here

### END HIDDEN TESTS
check_speculative_generate_cached(
    speculative_generate_cached, {"catch_up": catch_up, "cut_at_eos": cut_at_eos}
)
### BEGIN HIDDEN TESTS
check_speculative_generate_cached(
    speculative_generate_cached,
    cases=[
        lesson_04.Generation("number", [0, 30, 5], 11, 4),
        lesson_04.Generation("number", [8], 9, 1),
        lesson_04.Generation("tiny", [7], 9, 3),
        lesson_04.Generation("cat", [2, 3], 7, 2),
    ],
)
### END HIDDEN TESTS

# %% test="speculative_generate_cached_edges" points=1
from specdec.checks.lesson_04 import check_speculative_generate_cached_edges

### BEGIN HIDDEN TESTS
from specdec.checks import lesson_04
from specdec.reference.lesson_01 import verify_greedy
from specdec.reference.lesson_04 import catch_up, cut_at_eos  # earlier mistakes cost nothing here

### END HIDDEN TESTS
check_speculative_generate_cached_edges(
    speculative_generate_cached, {"catch_up": catch_up, "cut_at_eos": cut_at_eos}
)
### BEGIN HIDDEN TESTS
check_speculative_generate_cached_edges(
    speculative_generate_cached,
    cases=[
        lesson_04.Generation("cat", [0], 1, 2),
        lesson_04.Generation("number", [3], 0, 0),
        lesson_04.Generation("cat", [0], 12, 3, eos=7),
        lesson_04.Generation("cat", [0], 4, 3, eos=0),
        lesson_04.Generation("tiny", [2], 4, 0),
    ],
)
### END HIDDEN TESTS

# %% test="speculative_generate_cached_caches" points=2
from specdec.checks.lesson_04 import check_speculative_generate_cached_caches

### BEGIN HIDDEN TESTS
from specdec.checks import lesson_04
from specdec.reference.lesson_01 import verify_greedy
from specdec.reference.lesson_04 import catch_up, cut_at_eos  # earlier mistakes cost nothing here

### END HIDDEN TESTS
check_speculative_generate_cached_caches(
    speculative_generate_cached, {"catch_up": catch_up, "cut_at_eos": cut_at_eos}
)
### BEGIN HIDDEN TESTS
check_speculative_generate_cached_caches(
    speculative_generate_cached,
    cases=[
        lesson_04.Generation("number", [9, 9], 12, 2),
        lesson_04.Generation("perfect", [3], 7, 2),
        lesson_04.Generation("tiny", [7], 9, 3),
        lesson_04.Generation("number", [4], 10, 5, eos=29),
        lesson_04.Generation("number", [11, 3], 5, 1),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="speculative_generate_cached"
# Take the loop of lesson 1 and replace "ask the model" by `catch_up`. Then one question is left:
# what do the caches hold at the end of a round that they should not?
# ===
# Five steps a round: draft k guesses, each from the last row of `catch_up`; one `catch_up` of the
# target over text and guesses, of which the last k + 1 rows count; `verify_greedy`; `cut_at_eos` and
# append; crop both caches to the text without its newest token. A cache that is shorter already
# stays as it is.
# ===
# ```python
# if n_tokens < 0 or k < 0:
#     raise ValueError("…")
# tokens, accepted = list(prompt), []
# end = len(prompt) + n_tokens
# while len(tokens) < end:
#     proposed = []
#     for _ in range(k):
#         logits = catch_up(draft, draft_cache, ____)
#         proposed.append(int(logits[-1].argmax()))
#     logits = catch_up(target, target_cache, ____)
#     choices = logits[-(k + 1):].argmax(axis=-1).tolist()
#     emitted = verify_greedy(proposed, choices)
#     accepted.append(____)
#     emitted = cut_at_eos(emitted, eos, ____)
#     tokens += emitted
#     for cache in (draft_cache, target_cache):
#         cache.crop(min(len(cache), ____))
#     if emitted[-1] == eos:
#         break
# return tokens[len(prompt):], accepted
# ```

# %% [markdown] only="solution"
# **Why this way.** The crop is the same line for both caches, and it needs no count of rejected
# tokens: the text says how much may stay. `min` is for the draft after a full acceptance. Its cache
# is one short then, and the next `catch_up` feeds it two tokens: its own last guess, and the bonus.
#
# **Another right way.** Feed the last guess at once when all were accepted, as gpt-fast does. It
# costs the draft one more pass in such rounds, where ours costs one more row.

# %% [markdown] only="solution" wrong_turns="speculative_generate_cached" shown="cached"
# **Wrong turns**, on the number pair: the prompt `[4, 9]`, 12 tokens, k = 3. Right are the target's
# own text, `[3, 1, 3, 3]`, 4 passes, 17 rows of the target and 15 of the draft, and 13 tokens in each
# cache at the end. (On the cat several of these print the right text by luck: its models look back
# too little to notice.)

# %% [markdown] card="acceptance_by_position" difficulty=2 minutes=5
# A mean hides which guesses fail. Write the share of accepted guesses for each place of the draft.
#
# Place 0 is the first guess. It is tested in every round. Place i is tested only in rounds that
# accepted all i guesses before it; in the others nobody knows. For the cat's `[3, 0, 2, 3]`, k = 3:
#
# | place | tested in | accepted in | share |
# |---|---|---|---|
# | 0 | 4 rounds | 3 | 0.75 |
# | 1 | 3 | 3 | 1.0 |
# | 2 | 3 | 2 | 0.667 |
#
# A place that no round tested gets None. `accepted` may be an empty list, and k may be 0.

# %% answer="acceptance_by_position"

# %% free_try="acceptance_by_position"
side_by_side(
    acceptance_by_position,
    [
        (([3, 0, 2, 3], 3), [0.75, 1.0, 2 / 3]),
        (([0, 0], 2), [0.0, None]),
        (([2, 2], 2), [1.0, 1.0]),
    ],
)

# %% test="acceptance_by_position" points=2
from specdec.checks.lesson_04 import check_acceptance_by_position

check_acceptance_by_position(acceptance_by_position)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_acceptance_by_position(
    acceptance_by_position,
    [
        Case(([5, 1, 0, 3, 5, 2, 1], 5), [6 / 7, 4 / 6, 3 / 4, 2 / 3, 1.0]),
        Case(([0, 1, 1, 0], 2), [0.5, 0.0]),
        Case(([1], 1), [1.0]),
        Case(([0], 4), [0.0, None, None, None]),
        Case(([2, 0, 2], 4), [2 / 3, 1.0, 0.0, None]),
        Case(([], 0), []),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="acceptance_by_position"
# A round with count a accepted the places 0 to a − 1. Which places did it test?
# ===
# Place i was tested when `a >= i`, and accepted when `a > i`. Count both over all rounds.
# ===
# ```python
# shares = []
# for place in range(k):
#     tested = sum(count >= ____ for count in accepted)
#     passed = sum(count > ____ for count in accepted)
#     shares.append(passed / tested if tested else None)
# return shares
# ```

# %% [markdown] only="solution"
# **Why this way.** Divided by the rounds that tested it, each place shows the *a* of lesson 1, the
# chance that a guess is right when all before it were. With a steady draft the bars are nearly level.
# Some programs divide by all rounds instead. Those bars always fall, and a fault hides in the slope.

# %% [markdown] only="solution" wrong_turns="acceptance_by_position" shown="[([3, 0, 2, 3], 3), ([0, 0], 2)]"
# **Wrong turns**, called with the cat's counts and with two rounds that accepted nothing. Right are
# `[0.75, 1.0, 0.6667]` and `[0.0, None]`.

# %% [markdown] minutes=1
# ## Four programs, four bugs
#
# Four programs don't catch up. They count: so many tokens read, so many turned down, so many to
# forget. Each has a bug that a real program had. You get no code, only plots, as you would from a
# program that seems to work: for each place, the acceptance in rounds **after a full acceptance**
# and **after a rejection**. The models are the number pair, of which a right program gets about 0.8
# at each place. Both look at the last three tokens only, so a fault fades after three. Look at the
# first two places: far ones rest on few rounds. The printed table says on how many, and the plot
# leaves out a place that fewer than 10 rounds tested.

# %% free_try="bug_plots"
from specdec.figures import show
from specdec.figures.cache import acceptance_panels
from specdec.trained.decoding import program_panels

panels = program_panels(acceptance_by_position)
show(
    acceptance_panels(panels),
    alt="Acceptance by place for five programs, one line for rounds after a full acceptance and "
    "one for rounds after a rejection. The printed table has the numbers.",
)

# %% [markdown]
# What the four do wrong, in no order:
#
# - It never rolls back the **target's** cache.
# - After a rejection it forgets one token **too many** of the **draft's** cache.
# - After a full acceptance the draft **never reads its last guess**.
# - It **empties** the draft's cache after each round, instead of rolling it back.
#
# **Which is which?** Ask of each: is the text right? After which rounds does it fail? At which
# places?

# %% [raw] todo="todo_target_kept" minutes=1
# question: |
#   **Which program, 1 to 4, never rolls back the target's cache?**
# right: 2
# why: Only the target's cache can spoil the text, and only program 2 writes a wrong one.
# wrong:
#   1: Its text is right. A target that reads rejected guesses writes another text.
#   3: Its text is right. A target that reads rejected guesses writes another text.
#   4: Its text is right. A target that reads rejected guesses writes another text.

# %% [raw] todo="todo_one_too_many" minutes=1
# question: |
#   **Which program forgets one token too many of the draft's cache after a rejection?**
# right: 4
# why: The text is right, and it fails after a rejection only. After a full acceptance nothing is forgotten, so nothing too many.
# wrong:
#   1: It is sound after a rejection, where something is forgotten. It fails after a full acceptance.
#   2: Its text is wrong. The draft's cache can't do that.
#   3: It fails after a full acceptance too, where a right program forgets nothing.

# %% [raw] todo="todo_last_guess" minutes=1
# question: |
#   **In which program does the draft never read its last guess after a full acceptance?**
# right: 1
# why: It fails after a full acceptance, at the places that still look back at the hole, and a little in the round after that, while the hole is still in view.
# wrong:
#   2: Its text is wrong. The draft's cache can't do that.
#   3: It fails after a rejection as well. There the last guess is not in the text, so nobody misses it.
#   4: It is sound after a full acceptance.

# %% [raw] todo="todo_reset" minutes=1
# question: |
#   **Which program empties the draft's cache after each round?**
# right: 3
# why: It fails after every round, whatever came before. The draft knows one token, the newest, and has to collect a past anew.
# wrong:
#   1: It is sound after a rejection. An empty cache would hurt there too.
#   2: Its text is wrong. The draft's cache can't do that.
#   4: It is sound after a full acceptance. An empty cache would hurt there too.

# %% [markdown] minutes=2
# Now the code, when you have answered. The four cells below the right one are folded: open one at a
# time, and find the line. In the real programs:
# [mlx-lm](https://github.com/ml-explore/mlx-lm/pull/1109) let a trim do nothing where a cache could
# not be cut, [mlxcel](https://github.com/lablup/mlxcel/issues/994) trimmed the draft by the target's
# count, in [vLLM](https://github.com/vllm-project/vllm/pull/5765) the draft lacked a token after a
# full acceptance, and [aprender](https://github.com/paiml/aprender/pull/2014) reset its cache. The
# last three printed the right text.

# %% include="specdec/cache_bugs.py:roll_back"

# %% folded=true include="specdec/cache_bugs.py:program_1"

# %% folded=true include="specdec/cache_bugs.py:program_2"

# %% folded=true include="specdec/cache_bugs.py:program_3"

# %% folded=true include="specdec/cache_bugs.py:program_4"

# %% [markdown]
# One more detector, the cheapest there is. **Use the target as its own draft.** A right program
# accepts every guess, 1.0 at each place. Programs 1 and 3 fail this at once. Programs 2 and 4 pass,
# since nothing is ever rejected: a test with a perfect draft alone is not enough.

# %% free_try="canary"
from specdec.trained.decoding import perfect_draft

perfect_draft(acceptance_by_position)

# %% [markdown] minutes=1
# ## The clock
#
# First, what the cache itself is worth. The trained target writes 30 tokens after a prompt of 24,
# without a cache and with one. Both functions are given; run them.

# %% include="specdec/trained/decoding.py:greedy_uncached"

# %% include="specdec/trained/decoding.py:greedy_cached"

# %% measured=true
from specdec.trained.decoding import cache_sizes, compare_plain

compare_plain(greedy_uncached, greedy_cached, target, prompt, n_tokens=30)
cache_sizes({"target": target, "draft": draft})

# %% [markdown]
# So each cache takes 2 × layers × kv_heads × head_dim numbers a token, of 4 bytes here.
#
# <details><summary>How real servers keep caches: pages and rings</summary>
#
# Servers hold thousands of tokens for each of many users. They cut the memory into pages and give a
# text as many as it needs (**paged** cache): a rollback only moves the end, and now and then gives a
# page back. A **ring** cache keeps the newest W positions and writes over the oldest, so a rollback
# must not go back further than what has been written over: check it, or forbid it.
#
# </details>

# %% [markdown] minutes=2
# ### What does a pass cost?
#
# The formula of lesson 1 says that k + 1 rows cost as much as one. On a graphics card that is nearly
# so. Here the same numbers are multiplied by one core of a processor. **Before you run it: how much
# dearer is a pass of 8 rows than a pass of 1?**

# %% measured=true
from specdec.figures.cache import pass_costs
from specdec.trained.decoding import recorded, relative_costs, seconds_per_pass

pass_seconds = seconds_per_pass(target, [1, 2, 3, 4, 5, 6, 7, 8])
draft_seconds = seconds_per_pass(draft, [1])[1]
here = relative_costs(pass_seconds, draft_seconds)
print("recorded:", recorded()["machine"])
show(
    pass_costs(here, recorded()["pass_costs"]),
    alt="Cost of a pass over 1 to 8 rows, in passes over one row: measured here and recorded. The "
    "printed rows give the numbers; the simple formula takes 1 for all.",
)

# %% [markdown]
# If your line climbs above 1, a wider pass is not free here. Stretch 3 shows why.

# %% [markdown] minutes=2
# ### The race
#
# Your generator against plain decoding with a cache, on two prompts from books that no model was
# trained on, in one run, for two drafts and three k. The plain one learnt from text alone; the
# distilled one learnt to guess what this target says. **Before you run it: how much of what the
# simple formula promises will the clock keep? All, half, nothing?**
#
# That formula, with c, the price of a draft pass in target passes over one row:
# (1 + a + … + aᵏ) / (1 + k·c). With the price of the wide pass, t(k + 1) / t(1) stands for the 1 below.
#
# Two prompts are a small sample. With k = 1 a draft makes few guesses here, so *a* is off by several
# hundredths either way, and the better draft can come out behind.

# %% free_try="race" measured=true
from specdec.trained.decoding import print_race, race

results = []
prompts = heldout_prompts(target.tokenizer, 2)
results = race(speculative_generate_cached, target, drafts, prompts, n_tokens=24, ks=(1, 3, 7))
print_race(results, pass_seconds, draft_seconds)

# %% [markdown] minutes=2
# ### Where the speed went
#
# From the promise to the clock in three steps, for the distilled draft and k = 3. Each step puts a
# number that you measured in the place of one that was assumed.

# %% free_try="waterfall" measured=true
from specdec.figures.cache import waterfall
from specdec.trained.decoding import explain, find, steps

chosen = find(results, "distilled draft", 3)
found = steps(chosen, results[0], pass_seconds, draft_seconds)
explain(found, chosen, results[0], pass_seconds)
show(
    waterfall(
        ["simple\nformula", "with the price\nof the wide pass", "with tokens\nas counted", "clock"],
        found.values,
    ),
    alt="Four bars: the simple formula, the formula with the measured price of a pass, the same "
    "with tokens as counted, and the measured ratio. The printed lines give the numbers.",
)

# %% [markdown]
# So there are two lessons in one plot. A speedup needs a draft that is right *and* a pass that stays
# cheap when it gets wider. The first you can see in the acceptance. The second depends on the
# machine, and only the clock shows it.

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
#   - prompt: L = 12, k = 3, all three guesses accepted. How long are target's and draft's caches, before anything is fed again?
#     choices:
#       - {text: "16 and 15", right: true, reason: "12, the newest token, three guesses: 16. The draft never read its last guess."}
#       - {text: "16 and 16", reason: "The draft says its last guess, it does not read it."}
#       - {text: "15 and 15", reason: "The target read all three guesses and the newest token before them."}
#       - {text: "17 and 16", reason: "The bonus came out of the pass. No model has read it yet."}
#   - prompt: A program that counts, as the four above do, forgets to roll back the draft's cache. What do you see?
#     choices:
#       - {text: "A wrong text", reason: "The target has the last word on each token, and its cache is right."}
#       - {text: "An error", reason: "Not in a program that counts: it feeds what is new and never looks at the length. With catch_up it may raise."}
#       - {text: "The right text, in more passes", right: true, reason: "The draft answers another text, so fewer of its guesses are accepted."}
#       - {text: "The right text, just as fast", reason: "Its guesses follow tokens that are not in the text, and most are wrong."}
#   - prompt: The position of a token is taken from `len(cache)`. The cache holds two rejected tokens too many. What else goes wrong?
#     choices:
#       - {text: "Nothing: positions don't matter.", reason: "The model turns keys and queries by their position."}
#       - {text: "All later tokens get positions that are too high by two.", right: true, reason: "So even a token that looks past the rejected ones sees distances that are off."}
#       - {text: "Two tokens are dropped from the text.", reason: "The text is a list of its own. Nothing is taken from it."}
#   - prompt: You use the target as its own draft, and the acceptance is 0.4. What does that tell you?
#     choices:
#       - {text: "The draft is bad.", reason: "It is the target. It can't disagree with itself about the same text."}
#       - {text: "The models see different texts: a cache is wrong.", right: true, reason: "A model that disagrees with itself has been asked about something else."}
#       - {text: "k is too large.", reason: "With a perfect draft every guess is right, for any k."}

# %% [markdown]
# Two more are graded. Their reasons come with your feedback.

# %% [raw] quiz="quiz_which_harm" minutes=1
# question: |
#   After a rejection a program crops **both** caches one position too far, so that the last accepted
#   token is missing from both. The next round feeds each model only ★. What happens?
# choices:
#   A: {text: "Nothing: the two models still agree with each other.", reason: "They agree on a text that lacks a token. The output follows the target, which follows that text."}
#   B: {text: "The text can come out wrong.", reason: "The target reads ★ behind a hole. Its answers belong to a text without that token."}
#   C: {text: "The text stays right, but acceptance falls.", reason: "That is so when only the draft's cache is wrong. Here the target's is too."}
#   D: {text: "The next pass mends it, since it reads k + 1 rows.", reason: "The rows are ★ and the new guesses. The missing token is not among them."}
# right: B

# %% [raw] quiz="quiz_catch_up" minutes=1
# question: |
#   Your generator uses `catch_up`. By mistake it crops both caches to **half** the text after each
#   round. What do you see?
# choices:
#   A: {text: "A wrong text.", reason: "What the caches hold is right, only less. catch_up feeds the missing half again."}
#   B: {text: "The right text, and a lower acceptance.", reason: "Both models read the whole text in the end, so they answer as before."}
#   C: {text: "The right text and the same acceptance, but slower passes.", reason: "Each pass has half the text to read again. Only rows or the clock show it."}
#   D: {text: "ValueError from crop.", reason: "Half the text is less than the cache holds, so the crop is allowed."}
# right: C

# %% [markdown] minutes=1
# ## Common mistakes
#
# | mistake | what comes out, in a program that counts |
# |---|---|
# | the target's cache keeps rejected guesses | another text |
# | the draft's cache keeps them | the right text, in more passes |
# | the draft lacks its last guess | the right text; acceptance falls after full acceptance |
# | the crop comes before the cut at eos | caches longer than the text |
# | the last k rows instead of k + 1 | no bonus, or answers that are one place off |
#
# With `catch_up` a cache that keeps too much may raise ValueError instead. Several of these print the
# right text. Passes, rows, lengths and acceptance by position show them.
#
# ## When it breaks
#
# - **Batches.** Two texts accept different numbers of guesses, so their caches have different
#   lengths. Programs pad, or refuse; transformers raises ValueError for more than one text.
# - **Caches that can't be cut.** A recurrent layer has one state, no list of positions. It needs a
#   copy from before the round.
# - **Ring caches.** After a wrap the old positions are gone.
# - **Sharing.** If two texts share a prefix in one cache, a crop of one must not cut the other.

# %% [markdown]
# ## What you built, and where it runs
#
# Your loop is *assisted generation* in
# [Hugging Face transformers](https://huggingface.co/docs/transformers): its caches have a method
# `crop`, used as you use it. [vLLM](https://docs.vllm.ai) keeps pages and moves the end; there the
# acceptance by position is one of the numbers that a server reports.
#
# ## Stretch, not graded
#
# 1. **Two texts at once.** In one batch, text 1 accepts 3 guesses and text 2 accepts none. Both
#    caches are one array, (2, kv_heads, S, head_dim). Crop to the shorter, and what is lost? Keep the
#    longer, and what must the mask do?
#    <details><summary>Answer</summary>Cropped to the shorter, text 1 has to read three tokens again.
#    Kept at the longer, text 2 has three dead positions: the mask must hide them, and its positions
#    no longer equal the places in the array. Both are only simpler to write; real programs keep a
#    length for each text, and pages.</details>
# 2. Run your generator on a batch by running it once for each text, with caches of their own, on
#    `[3, 1]` and `[7]` of the number pair. Then give both the *same* two caches. Which of this
#    lesson's signs tells you that something is wrong?
#    <details><summary>Answer</summary>The second text starts with a cache that holds the first one:
#    `catch_up` raises ValueError, or feeds too little, and the text is another one.</details>

# %% [markdown]
# 3. **Why is a wide pass dearer?** Most of a pass is products of rows with matrices. The next cell takes
#    these alone: one row, four rows in one product, and four rows one after the other, which is what
#    the target would do without speculation.

# %% measured=true
from specdec.trained.decoding import product_costs

product_costs(target)

# %% [markdown]
# <details><summary>Answer</summary>
#
# Four rows in one product need the weights once, and still take longer than one row. For one row the
# library behind NumPy walks through the matrix and adds up. For several it uses another routine, made
# for big batches: it first copies the matrix into an order that suits it, at each call. And the
# arithmetic is no longer hidden behind the reading: these matrices are small, and much of them waits
# in the processor's own memory. On processors with wider vectors (AVX-512) there is a third routine, for
# products of up to about a million multiplications. It copies nothing. There the line climbs slowly at
# first and jumps where the largest matrix of a layer passes the million: 256 × 704 × 6 rows.
#
# </details>
#
# 4. **Another machine.** Compare your race with the recorded run of the course. Which step of the
#    waterfall would differ most?

# %% measured=true
from specdec.trained.decoding import print_recorded

print_recorded()

# %% [markdown] only="solution"
# ## Carry it over
#
# Three new situations. Answer first; the answers are folded.
#
# **1.** Both caches hold 40 positions. k = 5, and all five guesses are accepted. How long are the
# caches before and after repair?
#
# <details><summary>Answer 1</summary>
#
# The target read the newest token and 5 guesses: 46, and nothing is trimmed. The text had 41 tokens
# and now has 47, so 46 is right. The draft read the newest token and 4 guesses: 45. It must still
# read its last guess.
#
# </details>
#
# **2.** A reader of your chat presses *Write that answer again*. The prompt has T tokens. What do
# you do to the caches?
#
# <details><summary>Answer 2</summary>
#
# Crop both to T − 1 positions, the prompt without its newest token, and go on from there. Nothing
# of the prompt is computed again.
#
# </details>
#
# **3.** A recurrent draft keeps one state of fixed size instead of keys and values, and cannot
# crop. How do you roll it back?
#
# <details><summary>Answer 3</summary>
#
# Keep a copy of the state from before the round, or one after each guess. After the verdict take
# the last state that read only accepted tokens, and let it read what is missing. The states do not
# grow with the text, so k + 1 copies are cheap.
#
# </details>

# %% [markdown]
# ## Where you are
#
# This runs all visible checks on what you have written so far.

# %%
from specdec.progress import show_progress

show_progress("04_cache_and_rollback")

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
# You have seen how much of a promise your own machine keeps. Lesson 5 makes a method of it: when
# does speculation pay, with which k, and when should it be turned off?
#
# ## Sources
#
# - Y. Leviathan, M. Kalman, Y. Matias: *Fast Inference from Transformers via Speculative Decoding*,
#   ICML 2023, [arXiv 2211.17192](https://arxiv.org/abs/2211.17192). Theorem 3.8 is the simple
#   formula, with the cost c of a draft step.
# - W. Kwon and others: *Efficient Memory Management for Large Language Model Serving with
#   PagedAttention*, SOSP 2023, [arXiv 2309.06180](https://arxiv.org/abs/2309.06180). Paged caches.
# - [gpt-fast](https://github.com/pytorch-labs/gpt-fast), function `speculative_decode`, and the
#   question [why the last token must be filled in](https://github.com/pytorch-labs/gpt-fast/issues/107).
# - The bugs: [mlx-lm 1109](https://github.com/ml-explore/mlx-lm/pull/1109),
#   [mlxcel 994](https://github.com/lablup/mlxcel/issues/994),
#   [vLLM 5765](https://github.com/vllm-project/vllm/pull/5765),
#   [aprender 2014](https://github.com/paiml/aprender/pull/2014),
#   [transformers 47912](https://github.com/huggingface/transformers/issues/47912).
