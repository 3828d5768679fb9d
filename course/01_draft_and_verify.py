# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   specdec:
#     title: Draft and verify
#     points: 20
# ---

# %% [markdown]
# # Lesson 1 · Draft and verify
#
# **How can one expensive pass give several tokens, without changing a single word of the text?**
#
# {{minutes}} minutes: part A, the rule, takes {{minutes_A}}; part B, the generator and its speed,
# takes {{minutes_B}}. The place to stop is marked · {{points}} points.
# You need Python: lists, functions, loops, and `raise` for an error. You need no machine learning.

# %% [markdown] only="solution"
# **This is the worked solution** of
# [the lesson](../../lessons/01_draft_and_verify/01_draft_and_verify.ipynb), with the questions
# repeated, the answers, why they are so, and what the usual wrong turns give.
#
# **Ten minutes only?** The rule: keep guesses before the first difference, then add one token of the
# target's own. The number: twelve words in 4 passes, 60 ms instead of 120. The three mistakes:
# keeping later matches, forgetting the bonus, drafting without reading one's own guesses. Read *The
# idea*, exercise 1, *The race* and the worked example.
#
# **Your own notebook**, with all checks, the hidden ones included:
# `autograder check lessons/01_draft_and_verify/01_draft_and_verify.ipynb`.

# %% [markdown] part="A"
# ## What you will be able to do
#
# - **Trace** by hand which guesses of a draft survive one check.
# - **Write** the rule, and a generator that uses it.
# - **Count** the runs of the big model, the only thing that costs much.
# - **Estimate** when guessing pays, and when it loses.
#
# This is the first of six lessons. A → B means: do A before B.
#
# **1 the rule** → 2 one pass of a real model → 4 caches → 5 when it pays → 6 better drafts
#
# **1 the rule** → 3 exact sampling

# %% [markdown]
# Run each cell with <kbd>Shift</kbd> + <kbd>Enter</kbd>. Start with this one.

# %% setup=true
try:
    from specdec.start import start

    start("01_draft_and_verify")
except ModuleNotFoundError:
    print("This kernel lacks the course. Choose Kernel > Change Kernel, or start with: make lab")

# %% [markdown]
# ## Part A: the rule
#
# ### Twelve words, twice
#
# A language model writes one token at a time. Here a token is a word. To write
# *cat sat on the mat and the dog sat on the rug*, it runs 12 times. One run is called a **pass**.
#
# Below, the same model writes the same 12 words in 4 passes. Words of one pass stand together.
# ★ marks a word that the model added itself. ✓ marks one that was guessed for it, and that it would
# have chosen too.

# %% folded=true
from specdec.figures import show, text_in_passes
from specdec.toys import CAT_TEXT

passes = [["cat", "sat", "on", "the"], ["mat"], ["and", "the", "dog"], ["sat", "on", "the", "rug"]]
show(
    text_in_passes(
        [
            ("one word a pass", [[word] for word in CAT_TEXT], "12 passes"),
            ("several words a pass", passes, "4 passes"),
        ]
    ),
    alt="The same 12 words twice: above in 12 blocks of one word, below in 4 blocks of 4, 1, 3 "
    "and 4 words.",
)

# %% [markdown]
# Nothing was skipped, and no word is different. How?

# %% [markdown] minutes=4
# ## Predict first
#
# A small, cheap model, the **draft**, guesses four tokens: `7 3 5 9`. Then the big model, the
# **target**, looks at all of them in one pass. It says, at each place, which token it would have
# chosen there itself, given the text up to that place: `7 6 5 9`, and `2` for the place after the
# last guess.
#
# The text must come out exactly as if the target had written it alone.
# **Which tokens come out of this round?** Choose below before you read on. Then play: change what the
# target wants, and watch what comes out.
#
# *No picture below? Run the next cell.*

# %% [raw] widget="lane"
# kind: DraftLane
# draft: [7, 3, 5, 9]
# target_next: [7, 6, 5, 9, 2]
# question: Which tokens come out of this round?
# choices:
#   - text: "7"
#     reason: The target also said what it wants at place 2, and that answer is sound. So 6 comes out too.
#   - text: "7 6"
#     right: true
#     reason: 7 agrees. At place 2 the target wants 6, not 3, so its own token comes out. The answers after it were asked after 7 3, a text that will not exist.
#   - text: "7 6 5 9"
#     reason: 5 and 9 agree, but those answers were asked after 7 3. The text says 7 6 now, and after 7 6 the target might want something else.
#   - text: "7 6 5 9 2"
#     reason: Only the first two answers were asked about the true text. The rest were asked after 7 3, and the text does not say that any more.

# %% [markdown]
# Code can read the lane. Run this cell, change a number in the lane, run it again. Before you have
# chosen, `accepted` is None and `emitted` is empty.

# %%
print("target's choices:", lane.picks)
print("accepted:", lane.accepted)
print("emitted: ", lane.emitted)

# %% [markdown] only="solution"
# Set place 2 to 3, the draft's own guess, and three grey answers come alive: they were asked after
# `7 3`, and now that is the text.

# %% only="solution"
lane.picks = [7, 3, 5, 9, 2]
lane

# %% [markdown] minutes=3
# ## The idea
#
# 1. **Draft.** The cheap model guesses k tokens, one after the other. Above, k was 4.
# 2. **Verify.** The target reads the text and the k guesses in one pass. It gives k + 1 answers:
#    its own next token after the text, after the first guess, after the second, and so on.
# 3. **Keep** every guess before the first one that differs from the target's answer.
# 4. **Add one token of the target's own**: at the first difference its **correction**, or, when
#    all guesses were right, one more, the **bonus**. Throw the rest away. Start again.
#
# Every kept token is one that the target would have chosen at that place, after that very text.
# So the text is the target's own, whatever the draft says. The draft decides only how many passes
# it takes.

# %% [markdown]
# ### Why one pass over five tokens costs about as much as over one
#
# Take a target that has learnt 7 billion numbers, 2 bytes each: 14 GB. A pass reads them all from
# memory once. A fast graphics card reads 2,000 GB a second, so that takes 7.0 ms.
#
# For each token every number is used twice, in a multiplication and an addition: 14 billion
# operations. The same card does 300 trillion a second, so one token takes 0.047 ms of arithmetic,
# and five take 0.23 ms. The 14 GB are still read only once.
#
# So a pass mostly waits for memory, and four more tokens cost next to nothing. Lesson 2 measures how
# much, and lesson 5 shows when it is no longer true.

# %% [markdown]
# ### The words we use
#
# | word | meaning | in the figure |
# |---|---|---|
# | greedy | a model always takes its favourite next token; both models do so here | |
# | plain decoding | the target alone, one token a pass | 12 passes |
# | draft token | a guess of the cheap model | |
# | `target_next[i]` | the target's own choice after the text and the first i draft tokens | |
# | accepted | a draft token before the first difference | ✓ |
# | correction | the target's own token at the first difference | ★ |
# | bonus | the target's own token after k accepted ones | ★ |
# | emitted | what a round adds to the text: the accepted ones, then one correction or bonus | one block |
# | round | drafting, then one pass of the target to verify | |
# | k | how many tokens are drafted in a round | |

# %% [markdown]
# ## Trace it by hand
#
# Four questions, a minute each. Write your answer in place of `None`, run the cell, then run the
# check below it.

# %% [raw] todo="todo_tokens_emitted" minutes=1
# question: |
#   The draft is `7 3 5 9`. The target's choices begin `7 3 8`; the other two do not matter.
#   **How many tokens come out of this round?**
# right: 3
# why: The text grows by 7 3 8.
# wrong:
#   2: You left out the target's own token at the difference. It comes out as well.
#   4: Four were drafted. What comes out need not be as long as the draft.
#   5: There is no bonus after a difference.
#   1: One token a pass is plain decoding. Here some guesses were right.

# %% [raw] todo="todo_tokens_accepted" minutes=1
# question: |
#   The same round: draft `7 3 5 9`, target `7 3 8 …`.
#   **How many draft tokens were accepted?**
# right: 2
# why: 7 and 3. The 8 is the target's own, a correction, not an accepted guess.
# wrong:
#   3: Three tokens came out, but the third is the target's own. It was emitted, not accepted.
#   4: Four were drafted. Only those before the first difference are accepted.
#   1: Look at the second place again. Draft and target both say 3.

# %% [raw] todo="todo_all_agree" minutes=1
# question: |
#   The draft is `7 3 5 9`, and the target agrees with all four.
#   **How many tokens come out of this round?**
# right: 5
# why: Four accepted and the bonus. The pass gave k + 1 answers, and all were asked about the true text.
# wrong:
#   4: The pass also answered the question after the last guess. That answer is sound, so use it.
#   6: The pass gave five answers. There is one bonus, not two.

# %% [raw] todo="todo_later_match" minutes=1
# question: |
#   The draft is `4 5 6`. The target's choices are `4 8 6 9`.
#   **Which tokens come out?** Write a list.
# right: [4, 8]
# why: 4 agrees, 8 corrects. The target's 6 was asked after 4 5, and the text says 4 8.
# wrong:
#   "[4, 8, 6]": The 6 agrees, but the target was asked after 4 5. The text says 4 8 now.
#   "[4, 8, 9]": There is no bonus after a difference. The 9 was asked after 4 5 6, a text that will not exist.
#   "[4, 8, 6, 9]": This is the target's whole row. Its last two answers were asked after 4 5, a text that will not exist.
#   "[4]": Something comes out at the difference too, the target's own token.
#   "[4, 5]": At the difference the target's own token comes out, not the draft's.
#   "[4, 6]": Places are not skipped. At the difference the target's token comes out, then the round ends.
#   "[4, 5, 6]": This is the draft as it came. The target disagrees at the second place.

# %% [markdown]
# Go back to the lane now, if you like, and set the target's answers of the first three cases. Then
# switch place 2 between 3 and 6: the answers after it come alive and turn grey. They were asked after
# `7 3`, and they count only when that is the text.

# %% [markdown]
# ## Write the rule

# %% [markdown] card="verify_greedy" difficulty=2 minutes=9
# Write the rule of one round as a function.
#
# | `draft` | `target_next` | emitted | why |
# |---|---|---|---|
# | `[1, 2, 3]` | `[1, 2, 3, 4]` | `[1, 2, 3, 4]` | all right, and the bonus |
# | `[1, 2, 3]` | `[1, 5, 3, 4]` | `[1, 5]` | corrected at place 2 |
# | `[]` | `[5]` | `[5]` | nothing drafted: plain decoding |
#
# `target_next` always has one entry more than `draft`. If it has not, raise `ValueError`.
# Leave both inputs as they are.

# %% answer="verify_greedy"

# %% free_try="verify_greedy"
from specdec.tryout import side_by_side

side_by_side(
    verify_greedy,
    [
        (([1, 2, 3], [1, 2, 3, 4]), [1, 2, 3, 4]),
        (([1, 2, 3], [1, 5, 3, 4]), [1, 5]),
        (([], [5]), [5]),
    ],
)

# %% [markdown]
# Checks: the rule, then its edges. More cases run when this is graded; the rules are the same.

# %% test="verify_greedy" points=2
from specdec.checks.lesson_01 import check_verify_greedy

check_verify_greedy(verify_greedy)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_verify_greedy(
    verify_greedy,
    [
        Case(([6, 2], [6, 2, 1]), [6, 2, 1]),
        Case(([6, 2, 8, 4], [6, 2, 8, 5, 4]), [6, 2, 8, 5]),
        Case(([5, 5], [5, 4, 5]), [5, 4]),
        Case(([3, 9, 1, 1], [2, 9, 1, 1, 8]), [2]),
        Case(([1, 2, 1, 2, 1], [1, 2, 2, 2, 1, 6]), [1, 2, 2]),
        Case((["dog", "sat"], ["dog", "sat", "on"]), ["dog", "sat", "on"]),
        Case(([8], [8, 1]), [8, 1]),
    ],
)
### END HIDDEN TESTS

# %% test="verify_greedy_edges" points=1
from specdec.checks.lesson_01 import check_verify_greedy_edges

check_verify_greedy_edges(verify_greedy)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_verify_greedy_edges(
    verify_greedy,
    [
        Case(([], [0]), [0]),
        Case(([0, 0, 7], [0, 0, 7, 0]), [0, 0, 7, 0]),
        Case(([3, 0], [3, 1, 0]), [3, 1]),
        Case(([4], [4]), ValueError, "a draft of 1 needs 2 entries in target_next, not 1"),
        Case(([4], [4, 5, 6]), ValueError, "a draft of 1 needs 2 entries in target_next, not 3"),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="verify_greedy"
# Which answers of the target can you trust? Those asked about the true text: all up to the first
# difference, that one included. Walk from the left and stop there.
# ===
# Loop over the places with their index. There are two ways out. Inside the loop, at the first
# difference, you return what you have and the target's token. After the loop, nothing differed,
# and you return the draft and one more token.
# ===
# ```python
# if len(target_next) != len(draft) + 1:
#     raise ValueError("…")
# emitted = []
# for i in range(len(draft)):
#     emitted.append(____)            # whose token is it, at every place?
#     if draft[i] != target_next[i]:
#         return emitted
# emitted.append(____)                # nothing differed
# return emitted
# ```

# %% [markdown] only="solution"
# **Why this way.** At every place up to the first difference, the target's token comes out: where
# the two agree it is the same token anyway. So the loop appends `target_next[i]` first and asks
# afterwards. One line serves accepted tokens and the correction.
#
# **Another right way.** Count the leading matches `a`, then return `target_next[:a + 1]`. It is
# shorter, and it shows the law *emitted = accepted + 1*. The loop shows better *when* to stop.

# %% [markdown] only="solution" wrong_turns="verify_greedy" shown="[([4, 5, 6], [4, 8, 6, 9]), ([1, 2], [1, 2, 3]), ([1, 2], [1, 2])]"
# **Wrong turns**, called three times: draft `[4, 5, 6]` with target `[4, 8, 6, 9]`, draft `[1, 2]`
# with target `[1, 2, 3]`, and draft `[1, 2]` with a target of two. Right are `[4, 8]`,
# `[1, 2, 3]` and ValueError.

# %% [markdown] card="accepted_count" difficulty=1 minutes=3
# How many draft tokens does one round accept?
#
# | `draft` | `target_next` | accepted |
# |---|---|---|
# | `[1, 2, 3]` | `[1, 2, 3, 4]` | 3 |
# | `[1, 2, 3]` | `[1, 5, 3, 4]` | 1 |
# | `[6, 1, 6]` | `[6, 1, 7, 6]` | 2 |
#
# You may call `verify_greedy`. Look for the shortest way.

# %% answer="accepted_count"

# %% free_try="accepted_count"
from specdec.tryout import side_by_side

side_by_side(
    accepted_count,
    [
        (([1, 2, 3], [1, 2, 3, 4]), 3),
        (([1, 2, 3], [1, 5, 3, 4]), 1),
        (([6, 1, 6], [6, 1, 7, 6]), 2),
    ],
)

# %% test="accepted_count" points=1
from specdec.checks.lesson_01 import check_accepted_count

### BEGIN HIDDEN TESTS
from specdec.checks import Case
from specdec.reference.lesson_01 import verify_greedy  # an earlier mistake costs nothing here

### END HIDDEN TESTS
check_accepted_count(accepted_count, verify_greedy)
### BEGIN HIDDEN TESTS
check_accepted_count(
    accepted_count,
    verify_greedy,
    [
        Case(([6, 2], [6, 2, 1]), 2),
        Case(([6, 2, 8, 4], [6, 2, 8, 5, 4]), 3),
        Case(([3, 9, 1, 1], [2, 9, 1, 1, 8]), 0),
        Case(([5, 5], [5, 4, 5]), 1),
        Case(([], [0]), 0),
        Case(([4], [4]), ValueError, "a draft of 1 needs 2 entries in target_next, not 1"),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="accepted_count"
# What comes out of a pass is some accepted tokens and something more. How much more?
# ===
# Whether the pass ends in a correction or in a bonus, exactly one token is the target's own.
# ===
# ```python
# return len(verify_greedy(____, ____)) - ____
# ```

# %% [markdown] only="solution"
# **Why this way.** Each pass emits the accepted tokens and exactly one of the target's own. So
# *accepted = emitted − 1*, in every case, and the wrong length is refused by `verify_greedy`.
# Counting in a loop is right too; it says the rule a second time, and a rule that stands twice can
# differ in two places.

# %% [markdown] only="solution" wrong_turns="accepted_count" shown="[([4, 5, 6], [4, 8, 6, 9]), ([1, 2], [1, 2, 3]), ([1, 2], [1, 2])]"
# **Wrong turns**, called three times as above. Right are `1`, `2` and ValueError.

# %% [markdown] minutes=2
# ## Play again, with your own draft
#
# Now you set the draft as well, and its length k from 0 to 8.
# **Which k is plain decoding? How do you get 9 tokens out of one round?**
#
# *No picture below? Run the next cell.*

# %% [raw] widget="own_lane"
# kind: DraftLane
# draft: [2, 4, 6]
# target_next: [2, 4, 6, 8]
# edit_draft: true

# %% [markdown] minutes=1
# ## Find the bug
#
# The bug in this function was real. A program that runs language models had it in 2026
# ([report](https://github.com/ohdearquant/lattice/issues/243),
# [repair](https://github.com/ohdearquant/lattice/pull/258)), and promised the same text as plain
# decoding. All three examples below come out right. It is wrong all the same.

# %% include="specdec/bugs.py:verify_shifted"

# %%
print(verify_shifted([1, 2, 3], [1, 2, 3, 4]), "wanted [1, 2, 3, 4]")
print(verify_shifted([1, 2, 3], [1, 5, 3, 4]), "wanted [1, 5]")
print(verify_shifted([], [5]), "wanted [5]")

# %% [raw] todo="todo_bug_input" minutes=2
# question: |
#   **Find an input on which it is wrong.** Write a pair `(draft, target_next)` of two lists.
#   The check runs the function on it, and the rule beside it.
# right: ([9, 1, 2], [3, 1, 2, 7])
# why: The first guess is never compared, so a wrong one comes out as it is.
# check: |
#   from specdec.checks.lesson_01 import check_bug_input
#
#   check_bug_input(todo_bug_input)

# %% [markdown] only="solution"
# The condition `i > 0` lets the first guess through unseen: `9` comes out, though the target wants
# `3`. A draft of one token is always accepted. In the real program the loop fed the first draft
# token to the target before asking anything, so the answer that judges it was never computed; the
# repair feeds the last token of the text first. Examples in which the first guess happens to be
# right, like the three above, cannot show it.

# %% [markdown]
# ---
# **This is the end of part A, and a good place to stop.** Save with <kbd>Ctrl</kbd> +
# <kbd>S</kbd>. To come back later, run the cells from the top: *Run > Run All Cells*.
#
# ---

# %% [markdown] part="B"
# ## Part B: the generator, and its speed
#
# Two toy models write the story of the cat.
#
# - The **draft** looks at the last word only. After `the` it always says `cat`.
# - The **target** does the same, except after `the`, where it looks further back. After *and the* it
#   says `dog`. After *on the* it says `mat`, or `rug` when the sentence is about the dog. At the
#   start, with nothing before `the`, it says `cat`.
#
# Most words are easy: the word before is enough, and the draft gets them right. Real text is like
# that too, and so real drafts work.

# %% [markdown] minutes=2
# Plain decoding, and the drafting half of a round, are written for you. `propose` is yours to use.

# %%
from specdec.toys import hopeless_draft, look_back_target, one_word_draft


def greedy_generate(model, prompt, n_tokens):
    sequence = list(prompt)
    for _ in range(n_tokens):
        sequence.append(model(sequence))
    return sequence[len(prompt) :]


def propose(draft_model, sequence, k):
    draft = []
    for _ in range(k):
        draft.append(draft_model(sequence + draft))
    return draft


print(*greedy_generate(look_back_target, ["the"], 12))
print(*propose(one_word_draft, ["the"], 3))

# %% [markdown]
# ### One pass, written as k + 1 calls
#
# Here a model is a Python function that answers one question: which token comes next? A real
# target answers k + 1 such questions in one pass, because it reads k + 1 places at once. Our
# function can't, so **we write one pass as k + 1 calls**. They stand for one pass, since no answer
# depends on another. Lesson 2 makes it one call.

# %% [markdown] minutes=1
# Round 1, step by step. The target is asked after four texts, and your `verify_greedy` decides.

# %% free_try="round_1"
sequence = ["the"]
draft = propose(one_word_draft, sequence, 3)
target_next = []
for i in range(4):
    asked_after = sequence + draft[:i]
    target_next.append(look_back_target(asked_after))
    print(f"after {' '.join(asked_after):<16} the target says {target_next[-1]}")
print("draft:  ", draft)
print("emitted:", verify_greedy(draft, target_next))

# %% [markdown] card="speculative_generate" difficulty=3 minutes=14
# Put rounds together until `n_tokens` tokens are there. With the cat pair and k = 3, this is
# wanted:
#
# | round | drafted | accepted | emitted |
# |---|---|---|---|
# | 1 | cat sat on | 3 | cat sat on **the** |
# | 2 | cat sat on | 0 | **mat** |
# | 3 | and the cat | 2 | and the **dog** |
# | 4 | sat on the | 3 | sat on the **rug** |
#
# `rounds 4 · drafted 12 · accepted 8 · emitted 12`
#
# - The result is a list of exactly `n_tokens` new tokens, without the prompt. The last round may
#   give too many: cut.
# - The tokens equal plain greedy generation with the target.
# - `n_tokens` and `k` may be 0. If one is negative, raise `ValueError`.
# - The prompt is not changed.
# - The check counts passes from the calls, and their number must be exactly right. The draft may be
#   called at most k times a pass.
# - It also uses a pair of number models, `seven_target` (twice the last token plus 1, modulo 7) and
#   `seven_draft` (the same, but 5 after 3). Import them from `specdec.toys` to replay a case.

# %% answer="speculative_generate"

# %% free_try="speculative_generate"
from specdec.ledger import play, print_rounds

print_rounds(play(speculative_generate, one_word_draft, look_back_target, ["the"], 12, 3))
print("Ten words, so the last round is cut:")
print("wanted: cat sat on the mat and the dog sat on")
print("yours: ", *speculative_generate(one_word_draft, look_back_target, ["the"], 10, 3))

# %% [markdown]
# Checks: the text, its edges, and the number of passes. More cases run when this is graded.

# %% test="speculative_generate" points=2
from specdec.checks.lesson_01 import check_speculative_generate

### BEGIN HIDDEN TESTS
from specdec.checks import lesson_01 as cases
from specdec.reference.lesson_01 import verify_greedy  # an earlier mistake costs nothing here

### END HIDDEN TESTS
check_speculative_generate(speculative_generate, verify_greedy)
### BEGIN HIDDEN TESTS
check_speculative_generate(
    speculative_generate,
    verify_greedy,
    [
        cases.Generation(*cases.CAT, 9, 4),
        cases.Generation(*cases.CAT, 10, 1),
        cases.Generation(*cases.SEVEN, [2], 11, 3),
        cases.Generation(*cases.SEVEN, [4, 1], 7, 5),
        cases.Generation(cases.never_right_draft, cases.seven_target, [3], 4, 2),
    ],
)
### END HIDDEN TESTS

# %% test="speculative_generate_edges" points=1
from specdec.checks.lesson_01 import check_speculative_generate_edges

### BEGIN HIDDEN TESTS
from specdec.checks import lesson_01 as cases
from specdec.reference.lesson_01 import verify_greedy  # an earlier mistake costs nothing here

### END HIDDEN TESTS
check_speculative_generate_edges(speculative_generate, verify_greedy)
### BEGIN HIDDEN TESTS
check_speculative_generate_edges(
    speculative_generate,
    verify_greedy,
    [
        cases.Generation(*cases.CAT, 0, 0),
        cases.Generation(*cases.CAT, 1, 3),
        cases.Generation(*cases.CAT, 6, 0),
        cases.Generation(*cases.SEVEN, [1, 3, 0], 3, 7),
    ],
)
### END HIDDEN TESTS

# %% test="speculative_generate_rounds" points=2
from specdec.checks.lesson_01 import check_speculative_generate_rounds

### BEGIN HIDDEN TESTS
from specdec.checks import lesson_01 as cases
from specdec.reference.lesson_01 import verify_greedy  # an earlier mistake costs nothing here

### END HIDDEN TESTS
check_speculative_generate_rounds(speculative_generate, verify_greedy)
### BEGIN HIDDEN TESTS
check_speculative_generate_rounds(
    speculative_generate,
    verify_greedy,
    [
        cases.Generation(*cases.CAT, 12, 2, passes=5),
        cases.Generation(*cases.CAT, 12, 4, passes=3),
        cases.Generation(*cases.SEVEN, [1], 5, 4, passes=2),
        cases.Generation(*cases.SEVEN, [1], 9, 1, passes=6),
        cases.Generation(cases.hopeless_draft, cases.look_back_target, ["the"], 7, 2, passes=7),
        cases.Generation(cases.seven_target, cases.seven_target, [1], 8, 3, passes=2),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="speculative_generate"
# How many tokens does a round add at the very least? One, always. So a `while` loop that goes on
# until there are enough must end, with any draft.
# ===
# A round has four steps: propose k tokens; ask the target after the text and 0, 1, … k of them;
# call `verify_greedy`; append what it returns. Work on a copy of the prompt, and cut at the end.
# ===
# ```python
# if n_tokens < 0 or k < 0:
#     raise ValueError("…")
# sequence = list(prompt)
# while len(sequence) < ____:
#     draft = propose(draft_model, sequence, k)
#     target_next = [target_model(sequence + ____) for i in range(k + 1)]
#     sequence += verify_greedy(draft, target_next)
# return sequence[len(prompt) : ____]
# ```

# %% [markdown] only="solution"
# **Why this way.** `sequence` grows by whole rounds and is cut once, at the end. That is simpler
# than stopping in the middle of a round, and costs at most k guesses. The target's questions use
# `draft[:i]` for i from 0 to k: k + 1 texts, one more than there are guesses.
#
# **Another right way.** Draft only `min(k, missing - 1)` tokens in the last round. It saves a few
# draft calls and changes no pass; engines do it. Or stop asking the target at the first
# difference: in this toy it saves calls, in a real pass it saves nothing.

# %% [markdown] only="solution" wrong_turns="speculative_generate" shown="cat"
# **Wrong turns**, on the cat pair with 12 tokens and k = 3. Right is *cat sat on the mat and the
# dog sat on the rug* in 4 passes.

# %% [raw] todo="todo_hopeless_passes" minutes=1
# question: |
#   One more draft says `banana`, whatever came before. It is never right.
#   With k = 3 and 10 tokens to write: **how many passes of the target does it take?**
# right: 10
# why: No guess survives, and each pass still gives one token, the correction.
# wrong:
#   40: These are the single answers, 10 × 4. Four answers are one pass.
#   30: These are the guesses, 10 × 3. They cost draft calls, not passes.
#   4: That would need accepted guesses. Here none is.
#   3: That is a perfect draft, which gives four tokens a pass. Here no guess survives.
#   2.5: Ten tokens, four a pass, would need every guess to be right. Here none is.
#   11: Each pass gives one token, so ten tokens take as many passes. None is needed at the end.
#   12: The cat's text had twelve words. Here ten tokens are to be written.
#   0: The target looks once in every round, and each time its own token comes out.

# %% [markdown] minutes=2
# ## The race
#
# Your generator with three drafts, and plain decoding beside it. Say that plain decoding takes 10 ms
# a pass. A pass that reads k guesses more is not quite free: say 12 ms. Each guess of the draft takes
# 1 ms.

# %% free_try="race"
from specdec.figures import show, text_in_passes
from specdec.ledger import play

rows = [("plain decoding", [[word] for word in CAT_TEXT], "12 passes, 120 ms")]
for label, draft_model in [
    ("perfect draft", look_back_target),
    ("one-word draft", one_word_draft),
    ("hopeless draft", hopeless_draft),
]:
    ledger = play(speculative_generate, draft_model, look_back_target, ["the"], 12, k=3)
    passes = len(ledger.rounds)
    milliseconds = ledger.milliseconds(t_draft=1, t_verify=12)
    rows.append((label, [r.emitted for r in ledger.rounds], f"{passes} passes, {milliseconds} ms"))
    print(f"{label + ':':<16}{ledger.line()} · {milliseconds} ms")
show(
    text_in_passes(rows),
    alt="The same 12 words four times, cut into passes: plain decoding, a perfect draft, the "
    "one-word draft and the hopeless draft. The printed lines give the numbers.",
)

# %% [markdown]
# With the rule right, the four texts are the same, word for word. What differs is how often the target
# runs: 3 passes with a perfect draft, 4 with a draft that sees one word, 12 with `banana`. The
# hopeless one loses: 12 rounds of 12 + 3 × 1 ms are 180 ms, against 120 ms without a draft. It still
# writes the right text.

# %% [markdown] minutes=3
# ## How many tokens does a pass give?
#
# The chance that a guess is right when all before it were is called the **acceptance**, *a*. Say
# *a* = ½ and k = 2. Toss two coins for the two guesses. Four outcomes are equally likely:
#
# | first guess | second guess | tokens emitted |
# |---|---|---|
# | right | right | 3 |
# | right | wrong | 2 |
# | wrong | right | 1 |
# | wrong | wrong | 1 |
#
# The mean is (3 + 2 + 1 + 1) / 4 = **7/4**.
#
# Another way to count. A round always emits token 1. It emits token 2 when the first guess was right,
# which has chance *a*. It emits token 3 when two were right, *a*², and so on. So the mean is the sum
# 1 + a + a² + … + aᵏ. Here are these chances for a = 0.8 and k = 4. They add up to 3.3616.

# %% folded=true
from specdec.figures import show, token_bars

show(
    token_bars(0.8, 4),
    alt="Bars for the first to fifth token of a round, with chances 1, 0.8, 0.64, 0.512 and "
    "0.4096 that the token comes out.",
)

# %% [markdown]
# The sum has a short form. Call it S. In S − aS all terms cancel but the first and the last, so
# (1 − a) S = 1 − aᵏ⁺¹, and
#
# $$1 + a + a^2 + \dots + a^k = \frac{1 - a^{k+1}}{1 - a} \qquad (a \ne 1)$$
#
# For a below 1 and a long draft, aᵏ⁺¹ shrinks to nothing, and 1 / (1 − a) is left: the most that any
# k can give.
#
# The formula takes the same *a* for every guess. That is a model. Real text has easy places and hard
# ones, like the cat's.

# %% [markdown] card="expected_tokens" difficulty=2 minutes=4
# Write the mean number of tokens a pass emits.
#
# | a | k | tokens a pass |
# |---|---|---|
# | 0.5 | 2 | 1.75 |
# | 0.8 | 4 | 3.3616 |
# | 1 | 4 | 5 |
#
# `a` is between 0 and 1, both included, and `k` is 0 or more. Anything else: `ValueError`.

# %% answer="expected_tokens"

# %% free_try="expected_tokens"
from specdec.tryout import side_by_side

side_by_side(expected_tokens, [((0.5, 2), 1.75), ((0.8, 4), 3.3616), ((1, 4), 5)])

# %% test="expected_tokens" points=2
from specdec.checks.lesson_01 import check_expected_tokens

check_expected_tokens(expected_tokens)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_expected_tokens(
    expected_tokens,
    [
        Case((0.5, 4), 1.9375),
        Case((0.7, 3), 2.533),
        Case((0.8, 5), 3.68928),
        Case((0.25, 1), 1.25),
        Case((1.0, 7), 8.0),
        Case((0.0, 3), 1.0),
        Case((0.3, 0), 1.0),
        Case((-0.5, 2), ValueError, "a is a chance, between 0 and 1"),
        Case((1.001, 2), ValueError, "a is a chance, between 0 and 1"),
        Case((0.9, -2), ValueError, "k is negative"),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="expected_tokens"
# Two ways are right: add up k + 1 terms, or use the closed form. One of them needs care at one end.
# ===
# At a = 1 the closed form divides 0 by 0. All guesses are right there: what is the sum?
# ===
# ```python
# if not 0 <= a <= 1:
#     raise ValueError("…")
# if k < 0:
#     raise ValueError("…")
# if a == 1:
#     return ____
# return (1 - a ** ____) / (1 - a)
# ```

# %% [markdown] only="solution"
# **Why this way.** The closed form is one division, however large k is. At a = 1 it is 0 / 0, so
# that case stands alone.
#
# **Another right way.** `sum(a**i for i in range(k + 1))`. It needs no special case, and for the
# small k of practice it is just as good.

# %% [markdown] only="solution" wrong_turns="expected_tokens" shown="[(0.8, 4), (1, 4), (1.5, 4), (0.5, -1)]"
# **Wrong turns**, called with a = 0.8, then 1, then 1.5, each with k = 4, and with a = 0.5 and
# k = −1. Right are `3.362`, `5`, ValueError and ValueError.

# %% [markdown] minutes=2
# ### Does the formula hold?
#
# Play 1,000 rounds with a = 0.8 and k = 4. The mean should come out near 3.36, about within the ±
# that is printed. You need not read the code, which uses NumPy.
#
# **Before you run it: which number of tokens is the commonest in a round, 1, 2, 3, 4 or 5?**

# %% folded=true
import numpy as np

from specdec.figures import round_histogram, show

rng = np.random.default_rng(1)
rounds, k, a = 1_000, 4, 0.8
right = rng.random((rounds, k)) < a
accepted = np.cumprod(right, axis=1).sum(axis=1)  # 1 1 0 1 -> 1 1 0 0 -> 2 accepted
emitted = accepted + 1

mean = emitted.mean()
standard_error = emitted.std(ddof=1) / np.sqrt(rounds)
print(f"simulated {mean:.2f} ± {2 * standard_error:.2f} (two standard errors), formula 3.36")
show(
    round_histogram(emitted, k),
    alt="Shares of rounds that emitted 1, 2, 3, 4 and 5 tokens. Five is the commonest with about "
    "40 per cent, then one with about 20; two, three and four are rarer.",
)

# %% [markdown]
# The formula's 3.36 lies within the error of the simulated 3.31. And yet few rounds are like the mean.
# The commonest number is 5, all guesses right, in 39 of 100 rounds. Then comes 1, wrong at once, in
# 20. Rounds of 2, 3 and 4 tokens are rarer: 17, 14 and 10.

# %% [markdown] card="speed_estimate" difficulty=1 minutes=3
# Tokens a pass are not yet speed. A round takes time: the draft guesses k times, one after the other,
# then the target makes its pass. Write the speed in tokens per unit of time.
#
# | a | k | draft step | pass | speed |
# |---|---|---|---|---|
# | 0.5 | 2 | 2 ms | 10 ms | 0.125 tokens per ms |
# | 0.8 | 0 | 1 ms | 10 ms | 0.1 tokens per ms |
#
# The unit is whatever the times come in: seconds give tokens per second. You may call
# `expected_tokens`.

# %% answer="speed_estimate"

# %% free_try="speed_estimate"
from specdec.tryout import side_by_side

side_by_side(speed_estimate, [((0.5, 2, 2, 10), 0.125), ((0.8, 0, 1, 10), 0.1)])

# %% test="speed_estimate" points=1
from specdec.checks.lesson_01 import check_speed_estimate

### BEGIN HIDDEN TESTS
from specdec.checks import Case
from specdec.reference.lesson_01 import expected_tokens  # an earlier mistake costs nothing here

### END HIDDEN TESTS
check_speed_estimate(speed_estimate, expected_tokens)
### BEGIN HIDDEN TESTS
check_speed_estimate(
    speed_estimate,
    expected_tokens,
    [
        Case((0.7, 3, 2, 20), 2.533 / 26),
        Case((0.5, 4, 0.5, 8), 0.19375),
        Case((1, 2, 3, 7), 3 / 13),
        Case((0, 2, 1, 5), 1 / 7),
        Case((0.9, 0, 4, 5), 0.2),
        Case((0.8, 4, 0.002, 0.012), 3.3616 / 0.020),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="speed_estimate"
# Speed is tokens of a round, divided by the time of a round.
# ===
# In a round the draft runs k times, and the target once.
# ===
# ```python
# return expected_tokens(a, k) / (____ * t_draft + ____)
# ```

# %% [markdown] only="solution"
# **Why this way.** It reads as it is said: tokens of a round over time of a round. At k = 0 it is
# one token per verification, which is plain decoding at the verification's price.

# %% [markdown] only="solution" wrong_turns="speed_estimate" shown="[(0.8, 4, 1, 12), (0.5, 0, 1, 10)]"
# **Wrong turns**, called with a = 0.8, k = 4, 1 ms and 12 ms, then with a = 0.5, k = 0, 1 ms and
# 10 ms. Right are `0.2101` and `0.1` tokens per ms.

# %% [markdown] minutes=2
# ## Worked example
#
# The target alone takes 10 ms a token: 100 tokens a second. With a draft: a = 0.8, k = 4, 1 ms a
# draft step, 12 ms a pass.
#
# | step | value |
# |---|---|
# | tokens a round | 1 + 0.8 + 0.64 + 0.512 + 0.4096 = 3.3616 |
# | time of a round | 4 × 1 ms + 12 ms = 16 ms |
# | speed | 3.3616 / 16 ms = 210.1 tokens a second |
# | against the target alone | 210.1 / 100 = **2.101 times** as fast |
#
# And the other end. With a = 0 each round still gives one token, but takes 16 ms: 62.5 tokens a
# second, slower than no draft at all. To break even, a round of 16 ms must give 1.6 tokens, and
# 1 + a + a² + a³ + a⁴ reaches 1.6 at a = 0.38.

# %% free_try="curves"
from specdec.figures import expected_curves, show

print(f"{speed_estimate(0.8, 4, 0.001, 0.012):.1f} tokens a second")
show(
    expected_curves(expected_tokens, chances=[0.5, 0.7, 0.8, 0.9], k_max=12),
    alt="Expected tokens a pass over k from 0 to 12, for a of 0.5, 0.7, 0.8 and 0.9. All start at "
    "1. The first three have flattened near 2, 3.3 and 4.7; the last still rises, past 7.",
)

# %% [markdown]
# Each curve bends towards its limit 1 / (1 − a): 2, 3.3, 5 and 10. Long drafts help only when a is
# high, since a guess counts only when all before it were right.

# %% [markdown] minutes=3
# ## Check yourself
#
# Five questions, not graded. Every choice has its reason. Your picks stay when you save and
# reopen the notebook; running the cell again starts afresh.
#
# *No questions below? Run the next cell.*

# %% [raw] widget="quiz"
# kind: Quiz
# questions:
#   - prompt: Each guess is right with chance a = 0.5. What is the largest mean number of tokens a pass, over all k?
#     choices:
#       - {text: "k + 1", reason: "That needs every guess right, a = 1."}
#       - {text: "1.5", reason: "That is k = 1. Longer drafts add a little more."}
#       - {text: "2", right: true, reason: "1 + ½ + ¼ + … never passes 2, which is 1 / (1 − a)."}
#       - {text: "There is no limit.", reason: "Each further token is half as likely as the one before. The sum has a limit."}
#   - prompt: No guess is ever right. k = 4, a verification takes 12 ms, a draft step 1 ms. How many tokens a second?
#     choices:
#       - {text: "100", reason: "That is the target alone. Drafting and checking cost time."}
#       - {text: "62.5", right: true, reason: "One token every 4 × 1 + 12 = 16 ms."}
#       - {text: "83.3", reason: "That is one token every 12 ms. The four draft steps take time too."}
#       - {text: "0", reason: "Each pass still gives one token, the correction."}
#   - prompt: k = 0 and the target's only answer is 5. What does `verify_greedy([], [5])` return?
#     choices:
#       - {text: "`[5]`", right: true, reason: "Nothing drafted, nothing wrong. The one answer comes out, as in plain decoding."}
#       - {text: "`[]`", reason: "The pass gave an answer about the true text. It comes out."}
#       - {text: "It raises ValueError.", reason: "0 + 1 entries are exactly right."}
#   - prompt: Why trust the target's answer at the first difference, and none after it?
#     choices:
#       - {text: "The big model is surer there.", reason: "It is the same model at every place."}
#       - {text: "It is the most likely token.", reason: "So are its later answers, each after its own text."}
#       - {text: "It was asked about the true text, and the later ones were not.", right: true, reason: "All before that place was accepted. After it the text changes."}
#       - {text: "The later ones can be trusted too.", reason: "They were asked after the wrong guess, a text that will not exist."}
#   - prompt: 4 rounds, 12 tokens drafted, 8 accepted, nothing cut. How many were emitted?
#     choices:
#       - {text: "8", reason: "Each round adds one token of the target's own."}
#       - {text: "9", reason: "There is one in each round, not one in all."}
#       - {text: "16", reason: "Guesses that were turned down do not come out."}
#       - {text: "12", right: true, reason: "Accepted + rounds = 8 + 4."}

# %% [markdown]
# Two more are graded. Their reasons come with your feedback.

# %% [raw] quiz="quiz_emit_before_check" minutes=1
# question: |
#   A chat window prints tokens as they come. May it print a drafted token **before** the target has
#   checked it, and still show exactly the target's text?
# choices:
#   A: {text: "Yes, a wrong one is corrected in the same round.", reason: "The correction replaces the guess in the text, but the reader has seen it: what was printed was not the target's text."}
#   B: {text: "No, no drafted token.", reason: "Until the pass is done, nobody knows which guesses survive."}
#   C: {text: "Yes, the first of each round, since a round always emits one token.", reason: "It does, but that token may be the correction. The hopeless draft's first guess is always wrong."}
#   D: {text: "Yes, once the acceptance is known to be above 0.9.", reason: "Then one guess in ten is wrong, and nobody knows which before the pass."}
# right: B

# %% [raw] quiz="quiz_one_pass" minutes=1
# question: |
#   Plain decoding needs four passes for four tokens. Why can a real target answer the four questions
#   of a round, k = 3, in **one** pass?
# choices:
#   A: {text: "Four answers take no more arithmetic than one.", reason: "They take four times as much. It is the reading from memory that is shared."}
#   B: {text: "The draft has done part of the target's arithmetic.", reason: "The target uses nothing of the draft's but the guessed tokens."}
#   C: {text: "All four texts are known before the pass begins.", reason: "The guesses stand there already, so no answer has to wait for another. In plain decoding each text ends in the answer before."}
#   D: {text: "The four answers do not depend on the guesses.", reason: "Each is an answer after the text and some guesses. That is why those after a wrong guess are thrown away."}
# right: C

# %% [markdown] minutes=1
# ## Common mistakes
#
# What they do to the cat, with k = 3 (the worked solution runs them):
#
# | mistake | what comes out |
# |---|---|
# | later matches are kept | cat sat on the mat **sat** on the mat sat … |
# | the bonus comes from the draft | … the dog sat on the **cat** |
# | no bonus | the right text, in 5 passes instead of 4 |
# | the draft does not read its own guesses | the right text, in 7 passes |
# | one token a round | the right text, in 12 passes: all cost, no gain |
#
# The last three print the right text. Reading the output can't show them; counting passes does.
#
# ## When it breaks
#
# - **The draft is bad.** The text stays right, but it takes longer than without: 180 ms with `banana`.
# - **The draft is slow.** At 5 ms a draft step, the worked example takes 32 ms a round: 105 tokens
#   a second, hardly more than the 100 of plain decoding.
# - **The pass is not cheap.** With many users at once the target has no spare arithmetic, and k + 1
#   places cost more than one. Lesson 5 shows from where on.
# - **The target is not greedy.** Chat programs mostly draw the next token at random, likely ones more
#   often. Then "agrees" needs another rule: lesson 3.

# %% [markdown]
# ## What you built, and where it runs
#
# Programs that serve language models use your rule whenever they decode greedily. In
# [vLLM](https://docs.vllm.ai) the pieces are called draft tokens, recovered token (our correction)
# and bonus token. In [Hugging Face transformers](https://huggingface.co/docs/transformers) it is
# *assisted generation*: the draft is `assistant_model`, and k is `num_assistant_tokens`.
#
# ## Stretch, not graded
#
# 1. With a = 0.8, 1 ms and 12 ms: which k is fastest? How much do you lose with k = 4?
#    <details><summary>Answer</summary>k = 6 with 219.5 tokens a second. k = 4 has 96 % of
#    that with a shorter draft.</details>
# 2. Another real bug, from a library that millions use
#    ([repair](https://github.com/huggingface/transformers/pull/28508)). `acc` says which guesses
#    agree, and the line should count those before the first disagreement. For
#    `[True, False, True]` it should give 1. What does it give, and why?

# %%
acc = np.array([True, False, True])
print((~acc.cumsum() < 1).sum())

# %% [markdown]
# <details><summary>Answer</summary>
#
# It gives 3, so every draft was accepted whole. `~` binds tighter than `<`, and it acts on the sum
# `[1, 1, 2]`, not on `acc`: `~1` is −2, which is below 1, always. Meant was
# `((~acc).cumsum() < 1).sum()`.
#
# </details>

# %% [markdown] only="solution"
# ## Carry it over
#
# Three new situations. Answer first; the answers are folded.
#
# **1.** A chat window shows each round as it comes: bursts of one to five words. A colleague wants
# an even flow, one word after each pass, and proposes to throw the other accepted words away and
# draft them again. What does it cost?
#
# <details><summary>Answer 1</summary>
#
# All that was gained: one word a pass is plain decoding, with a draft to pay on top. The words are
# sound already. Keep them and show them one by one; text and passes stay as they are.
#
# </details>
#
# **2.** Your target is replaced by a newer version, and the draft stays as it is. What can change:
# the text, the number of passes, or both?
#
# <details><summary>Answer 2</summary>
#
# Both. The text is always the target's own, so it is the new one's. If the old draft agrees with it
# less often, there are more passes. Nothing becomes wrong.
#
# </details>
#
# **3.** Plain decoding takes 8 ms a token. With a draft, k = 2, a draft step takes 1 ms and a pass
# 10 ms, and a = 0.6. Is it faster? From which a on?
#
# <details><summary>Answer 3</summary>
#
# A round gives 1 + 0.6 + 0.36 = 1.96 tokens in 2 + 10 = 12 ms: 163 tokens a second against 125.
# Break-even is at 12 / 8 = 1.5 tokens, and 1 + a + a² = 1.5 at a = 0.37.
#
# </details>

# %% [markdown]
# ## Where you are
#
# This runs all visible checks on what you have written so far.

# %%
from specdec.progress import show_progress

show_progress("01_draft_and_verify")

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
# Your loop asked the target k + 1 times and we called it one pass. Lesson 2 does it for real, with a
# trained model that reads all the places at once.
#
# ## Sources
#
# - Y. Leviathan, M. Kalman, Y. Matias: *Fast Inference from Transformers via Speculative Decoding*,
#   ICML 2023, [arXiv 2211.17192](https://arxiv.org/abs/2211.17192). Equation 1 is your
#   `expected_tokens`; k is called γ there.
# - C. Chen and others: *Accelerating Large Language Model Decoding with Speculative Sampling*,
#   2023, [arXiv 2302.01318](https://arxiv.org/abs/2302.01318). The same idea, found independently.
# - The bugs: [lattice 243](https://github.com/ohdearquant/lattice/issues/243),
#   [transformers 28508](https://github.com/huggingface/transformers/pull/28508).
