# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   specdec:
#     title: Exact sampling
#     points: 20
# ---

# %% [markdown]
# # Lesson 3 · Exact sampling
#
# **How can a bad draft leave the target's distribution untouched?**
#
# {{minutes}} minutes: part A, the rule for one token, takes {{minutes_A}}; part B, whole texts, takes
# {{minutes_B}}. The place to stop is marked · {{points}} points.
# Allow half as much again if distributions are new to you.
# You need lesson 1, and Python with lists. NumPy helps; loops do as well. You need no course in
# statistics: a **chance** is a number from 0 to 1.

# %% [markdown] only="solution"
# **This is the worked solution** of
# [the lesson](../../lessons/03_exact_sampling/03_exact_sampling.ipynb), with the questions
# repeated, the answers, why they are so, and what the usual wrong turns give.
#
# **Ten minutes only?** The rule: keep a guess with the chance min(1, p / q), and after a rejection draw
# from what the draft had proposed too little of. The number: of 100 guesses 20 are mat, 30 rug and 50
# cat; 70 are kept, the other 30 all become mat, and out come 50, 30 and 20, the target's own. The three
# mistakes: drawing from p again after a rejection, keeping a guess only where p is at least q,
# reporting another q than the one that was drawn from. Read *The idea, in counts of 100*, exercise 4
# and *The one condition*.
#
# **Your own notebook**, with all checks, the hidden ones included:
# `autograder check lessons/03_exact_sampling/03_exact_sampling.ipynb`.

# %% [markdown] part="A"
# ## What you will be able to do
#
# - **Write** the rule by which a drafted token is accepted when words are drawn at random.
# - **Show** with numbers that the draft leaves no trace in the text.
# - **Calculate** how often a draft is accepted.
# - **Find** the mistakes that bend the text and raise no error.
#
# Six lessons; A → B means: do A before B.
#
# 1 the rule → 2 one pass of a real model → 4 caches → 5 when it pays → 6 better drafts
#
# 1 the rule → **3 exact sampling**

# %% [markdown]
# Run each cell with <kbd>Shift</kbd> + <kbd>Enter</kbd>. Start with this one.

# %% setup=true
try:
    from specdec.start import start

    start("03_exact_sampling")
except ModuleNotFoundError:
    print("This kernel lacks the course. Choose Kernel > Change Kernel, or start with: make lab")

# %% [markdown]
# ## Part A: the rule for one token
#
# ## Drawing a word
#
# In lesson 1 both models always took their favourite word. Chat programs mostly do not. They
# **sample**: each word has a chance, and the next word is drawn by these chances.
#
# Think of a bag with 100 slips. After *on the*, the target's bag holds 50 slips `mat`, 30 `rug` and
# 20 `cat`. One slip is drawn. So `mat` comes with chance 0.5, `rug` with 0.3 and `cat` with 0.2.
#
# Such a list of chances is a **distribution**. No chance is negative, and together they are 1. In
# the whole course **p** is the target's distribution, and **q** the draft's.
#
# The text must be what the target alone would have written. Under sampling this means: every word
# comes with the target's chance. Not the same words each time, but the same chances.

# %% [markdown] minutes=4
# ## Predict first
#
# Here is the worst draft that there is: after *on the*, it **always** says `cat`. The target's
# chances are 0.5 for `mat`, 0.3 for `rug` and 0.2 for `cat`.
#
# The target tests each guess. What it turns down is replaced by another word.
# **In 100 runs, how often does `cat` come out?** Choose below. Then play: drag the bars, switch to a
# wrong rule, and press the button that makes 1,000 runs.
#
# *No picture below? Run the next cell.*

# %% [raw] widget="lane"
# kind: SamplingLane
# tokens: [mat, rug, cat]
# p: [0.5, 0.3, 0.2]
# q: [0.0, 0.0, 1.0]
# question: The draft always says cat. How often does cat come out in 100 runs?
# choices:
#   - text: "100"
#     reason: Then the text would be the draft's. The target looks at each guess, and turns many down.
#   - text: "36"
#     reason: This is 20 accepted, and 16 more from drawing the other 80 anew from p. The new draw must leave cat out, since its 20 are there already.
#   - text: "20"
#     right: true
#     reason: 20 of the 100 guesses are accepted. The other 80 become 50 mat and 30 rug, which the draft never said. That is the target's own share of each.
#   - text: "0"
#     reason: The target wants cat 20 times in 100. If no cat came out, its chances would be changed too.

# %% [markdown] minutes=4
# ## The idea, in counts of 100
#
# Take a milder draft now. In 100 draws it says `mat` 20 times, `rug` 30 times and `cat` 50 times.
# The target wants 50, 30 and 20.
#
# | | mat | rug | cat | sum |
# |---|---|---|---|---|
# | the draft proposes | 20 | 30 | 50 | 100 |
# | the target wants | 50 | 30 | 20 | 100 |
# | accepted: the smaller of the two | 20 | 30 | 20 | 70 |
# | rejected: proposed too often | 0 | 0 | 30 | 30 |
# | missing: proposed too rarely | 30 | 0 | 0 | 30 |
#
# Of the 50 `cat`, 20 may stay. So each single `cat` stays with chance 20/50 = 0.4.
# All `mat` stay: the draft proposes too few of them anyway.
#
# 30 draws are rejected, and exactly 30 are missing. That is no accident: both rows above them sum
# to 100. So put each rejected draw where one is missing. Here all 30 become `mat`.

# %% folded=true
from specdec.figures import kept_and_refilled, show

show(
    kept_and_refilled(["mat", "rug", "cat"], wanted=[50, 30, 20], drafted=[20, 30, 50]),
    alt="Two bars a word. Proposed: 20 mat and 30 rug, all accepted; 50 cat, of which 20 are "
    "accepted and 30 rejected. What comes out: 20 mat and 30 put back, 30 rug, 20 cat.",
)

# %% [markdown]
# ### The words we use
#
# | word | meaning |
# |---|---|
# | p, q | distributions of the next token: the target's, the draft's |
# | `p[t]` | the chance that p gives to token t; tokens are numbered from 0 |
# | accepted, kept | a drafted token that stays |
# | rejected, thrown away | a drafted token that is replaced |
# | residual | the distribution of the replacement: what was missing, scaled to sum 1 |
# | α (alpha) | the chance that a drafted token is accepted; 0.7 above |
# | u | a random number, 0 ≤ u < 1, every value equally likely |
#
# A warning for your reading: one of the two founding papers writes p for the draft and q for the
# target. Look which is which before you copy a formula.

# %% [markdown]
# ## By hand
#
# Write your answer in place of `None`, run the cell, then run the check below it. Both questions
# are about four tokens, 0 to 3, and 100 draws:
#
# | token | 0 | 1 | 2 | 3 |
# |---|---|---|---|---|
# | the draft proposes | 10 | 20 | 30 | 40 |
# | the target wants | 40 | 30 | 20 | 10 |

# %% [raw] todo="todo_rejected" minutes=1
# question: |
#   **How many of the 100 drafted tokens are rejected?**
# right: 40
# why: Token 2 is proposed 10 times too often, and token 3 30 times.
# wrong:
#   60: That many are accepted. The question is about the others.
#   30: Token 3 is proposed 30 times too often. Another token is proposed too often as well.
#   70: All draws of tokens 2 and 3 are 70. Some of them may stay.
#   80: This adds all differences, too many and too few. Only what is too many is rejected.
#   20: Count token 3 too. It is proposed far too often.

# %% [raw] todo="todo_put_back" minutes=1
# question: |
#   The rejected draws are put back where some are missing.
#   **How many become token 0, 1, 2 and 3?** Write a list of four numbers.
# right: [30, 10, 0, 0]
# why: Token 0 lacks 30 draws and token 1 lacks 10. Together they are the 40 rejected ones.
# wrong:
#   "[16, 12, 8, 4]": This draws the 40 from p. Then tokens 2 and 3 get more than they should. Only what is missing is put back.
#   "[10, 10, 10, 10]": Even shares would leave token 0 short. Look at what each token lacks.
#   "[20, 20, 0, 0]": The right tokens, but token 0 lacks more than token 1.
#   "[40, 0, 0, 0]": Token 1 lacks some draws too.
#   "[40, 30, 0, 0]": This is what the target wants. Some of it has been accepted already.
#   "[0, 0, 10, 30]": These are the rejected draws. The question is what they become.
#   "[30, 10, -10, -30]": Nothing is taken away here. Tokens that lack nothing get 0.

# %% [markdown]
# ## Write the rule
#
# NumPy is at hand as `np`. Use it, or plain lists and loops, as you like.

# %%
import numpy as np

# %% [markdown] card="acceptance_probability" difficulty=1 minutes=4
# The draft has drawn `token`. With which chance does it stay?
#
# In the example, `cat` stays with 0.2 / 0.5 = 0.4. For `mat` the quotient is 0.5 / 0.2 = 2.5, and a
# chance can't be above 1. So it is min(1, p / q).
#
# | `p` | `q` | `token` | chance |
# |---|---|---|---|
# | `[0.5, 0.3, 0.2]` | `[0.2, 0.3, 0.5]` | 2 | 0.4 |
# | `[0.5, 0.3, 0.2]` | `[0.2, 0.3, 0.5]` | 0 | 1 |
# | `[0.5, 0.5]` | `[0, 1]` | 0 | 0 |
#
# The last row has q = 0. The draft can't draw that token, so nothing should depend on it. We settle
# on 0, and no division by zero.

# %% answer="acceptance_probability"

# %% free_try="acceptance_probability"
from specdec.tryout import side_by_side

side_by_side(
    acceptance_probability,
    [
        (([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 2), 0.4),
        (([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 0), 1.0),
        (([0.5, 0.5], [0.0, 1.0], 0), 0.0),
    ],
)

# %% test="acceptance_probability" points=2
from specdec.checks.lesson_03 import check_acceptance_probability

check_acceptance_probability(acceptance_probability)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_acceptance_probability(
    acceptance_probability,
    [
        Case(([0.6, 0.4], [0.8, 0.2], 0), 0.75),
        Case(([0.6, 0.4], [0.8, 0.2], 1), 1.0),
        Case(([0.1, 0.2, 0.7], [0.1, 0.2, 0.7], 2), 1.0),
        Case(([0.125, 0.625, 0.25], [0.625, 0.25, 0.125], 0), 0.2),
        Case(([0.0, 0.25, 0.75], [0.5, 0.5, 0.0], 0), 0.0),
        Case(([0.0, 0.25, 0.75], [0.5, 0.5, 0.0], 2), 0.0),
        Case(([0.0, 1.0], [0.0, 1.0], 0), 0.0),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="acceptance_probability"
# Two cases come first to mind: the target wants the token at least as often as the draft says it,
# or it does not. `min` does both in one line.
# ===
# Ask about q = 0 before you divide.
# ===
# ```python
# if q[token] == 0:
#     return ____
# return min(1.0, ____ / ____)
# ```

# %% [markdown] only="solution"
# **Why this way.** The branch for q = 0 stands first, so the division below it is always allowed.
#
# **Another right way.** `min(p[token], q[token]) / q[token]` for q above 0. It is the same number, and
# says better what it means: the part of the draft's proposals that the target wants too.

# %% [markdown] only="solution" wrong_turns="acceptance_probability" shown="[([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 2), ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 0), ([0.5, 0.5], [0.0, 1.0], 0)]"
# **Wrong turns**, called three times as in the table above. Right are `0.4`, `1.0` and `0.0`.

# %% [markdown] card="residual" difficulty=2 minutes=7
# From which distribution is the replacement drawn? Take what is missing, max(0, p − q), and scale
# it so that it sums to 1.
#
# | `p` | `q` | missing | residual |
# |---|---|---|---|
# | `[0.5, 0.3, 0.2]` | `[0.2, 0.3, 0.5]` | 0.3, 0, 0 | `[1, 0, 0]` |
# | `[0.4, 0.3, 0.2, 0.1]` | `[0.1, 0.2, 0.3, 0.4]` | 0.3, 0.1, 0, 0 | `[0.75, 0.25, 0, 0]` |
# | `[0.1, 0.2, 0.7]` | `[0.1, 0.2, 0.7]` | nothing | `[0.1, 0.2, 0.7]` |
#
# - When p and q are equal, nothing is missing, and nothing is ever rejected. Return p then.
# - A list or an array of V numbers is fine, V being the number of tokens.
# - If the lengths differ, or one of the two is no distribution, raise `ValueError`. The function
#   `as_distribution` below is given. It turns a list into an array, and raises for you when the
#   entries are no distribution.

# %% include="specdec/sampling.py:as_distribution"

# %% answer="residual"

# %% free_try="residual"
from specdec.tryout import side_by_side

side_by_side(
    residual,
    [
        (([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]), [1.0, 0.0, 0.0]),
        (([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]), [0.75, 0.25, 0.0, 0.0]),
        (([0.1, 0.2, 0.7], [0.1, 0.2, 0.7]), [0.1, 0.2, 0.7]),
        (([0.5, 0.6], [0.5, 0.5]), ValueError),
    ],
)

# %% [markdown]
# Checks: the rule, its edges, and then the equation of the next section, on 200 random pairs.

# %% test="residual" points=1
from specdec.checks.lesson_03 import check_residual

check_residual(residual)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_residual(
    residual,
    [
        Case(([0.6, 0.1, 0.3], [0.2, 0.5, 0.3]), [1.0, 0.0, 0.0]),
        Case(([0.5, 0.25, 0.125, 0.125], [0.125, 0.125, 0.25, 0.5]), [0.75, 0.25, 0.0, 0.0]),
        Case(([0.3, 0.3, 0.4], [0.6, 0.2, 0.2]), [0.0, 1 / 3, 2 / 3]),
        Case(([0.2, 0.3, 0.4, 0.1], [0.1, 0.1, 0.1, 0.7]), [1 / 6, 1 / 3, 1 / 2, 0.0]),
    ],
)
### END HIDDEN TESTS

# %% test="residual_edges" points=1
from specdec.checks.lesson_03 import check_residual_edges

check_residual_edges(residual)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_residual_edges(
    residual,
    [
        Case(([0.25, 0.75], [0.25, 0.75]), [0.25, 0.75]),
        Case(([1.0, 0.0, 0.0], [1.0, 0.0, 0.0]), [1.0, 0.0, 0.0]),
        Case(([0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]), [0.5, 0.5, 0.0, 0.0]),
        Case(([0.2, 0.3, 0.5], [0.5, 0.5]), ValueError, "p has 3 entries and q has 2"),
        Case(([0.5, 0.5], [0.5, 0.4]), ValueError, "q does not sum to 1"),
        Case(([1.25, -0.25], [0.5, 0.5]), ValueError, "p has a negative entry"),
    ],
)
### END HIDDEN TESTS

# %% test="residual_law" points=1
from specdec.checks.lesson_03 import check_residual_law

check_residual_law(residual)
### BEGIN HIDDEN TESTS
check_residual_law(residual, seed=11)
### END HIDDEN TESTS

# %% [markdown] hints="residual"
# What was proposed too often must not appear: cut the difference p − q at 0. Then divide by the
# sum, so that the rest is a distribution.
# ===
# `np.maximum(p - q, 0)` cuts an array at 0. Look at its sum before you divide by it: when is it 0?
# ===
# ```python
# p, q = as_distribution(p), as_distribution(q)
# if len(p) != len(q):
#     raise ValueError("…")
# missing = np.maximum(____, 0)
# if missing.sum() == 0:
#     return ____
# return missing / ____
# ```

# %% [markdown] only="solution"
# **Why this way.** First refuse, then compute. The only sum that can be 0 belongs to equal p and q,
# and that is asked before the division.
#
# **Another right way.** A loop over the tokens, `max(0, p[t] - q[t])` each. It reads as the table
# above, and for four tokens it is as good. Real vocabularies have 100,000 tokens and more.

# %% [markdown] only="solution" wrong_turns="residual" shown="[([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]), ([0.1, 0.2, 0.7], [0.1, 0.2, 0.7])]"
# **Wrong turns**, called with `[0.4, 0.3, 0.2, 0.1]` against its reverse, then with two equal
# distributions. Right are `[0.75, 0.25, 0.0, 0.0]` and `[0.1, 0.2, 0.7]`.

# %% [markdown] minutes=4
# ## Why it is exact
#
# A token t can come out in two ways. Look at token 0 of the four, with p = 0.4 and q = 0.1.
#
# 1. The draft proposes it, and it is accepted: 0.1 × 1 = 0.1.
# 2. Something was rejected, 40 times in 100 as you counted, and the replacement is token 0:
#    0.4 × 0.75 = 0.3.
#
# Together that is 0.4, the target's chance. Token 3, with p = 0.1 and q = 0.4: it is accepted with
# 0.4 × 0.25 = 0.1, and it is never a replacement. Together 0.1, the target's chance again.
#
# The next cell does all four, with your functions. **Before you run it: which tokens
# get something put back, and which don't?**

# %% free_try="law"
p, q = [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]
accepted = [q[t] * acceptance_probability(p, q, t) for t in range(4)]
rejected = 1 - sum(accepted)
put_back = [rejected * chance for chance in residual(p, q)]

print("token  accepted  put back   sum     p")
for t in range(4):
    both = accepted[t] + put_back[t]
    print(f"{t:>5}  {accepted[t]:>8.2f}  {put_back[t]:>8.2f}  {both:>4.2f}  {p[t]:>4.2f}")

# %% [markdown]
# In symbols, for any p and q. The first way has chance q · min(1, p/q) = min(p, q). All these sum to
# α, so something is rejected with chance 1 − α. What is missing, max(0, p − q), sums to
# 1 − α too, since p sums to 1. So the scaling divides by 1 − α, the second way multiplies by it,
# and it drops out:
#
# $$\min(p, q) + (1 - \alpha)\,\frac{\max(0,\,p - q)}{1 - \alpha} = \min(p, q) + \max(0,\,p - q) = p$$
#
# The last step is worth a look. If p ≥ q it says q + (p − q) = p. If p < q it says p + 0 = p.
#
# **Why not draw the replacement from p?** Because the accepted tokens have covered min(p, q) already.
# Drawing from p once more gives 0.26, 0.32, 0.28, 0.14 here, instead of 0.4, 0.3, 0.2, 0.1.
#
# The ends: if p = q, all is accepted. If q is 0 where p is not, the token comes only as a
# replacement. If p is 0, the token is never accepted, and never a replacement.

# %% [markdown] card="expected_acceptance" difficulty=1 minutes=2
# How often is a drafted token accepted, before you know which one it is? Add up the first way over
# all tokens: α is the sum of min(p, q).
#
# | `p` | `q` | α |
# |---|---|---|
# | `[0.5, 0.3, 0.2]` | `[0.2, 0.3, 0.5]` | 0.7 |
# | `[0.4, 0.3, 0.2, 0.1]` | `[0.1, 0.2, 0.3, 0.4]` | 0.6 |
# | `[1, 0]` | `[0, 1]` | 0 |

# %% answer="expected_acceptance"

# %% free_try="expected_acceptance"
from specdec.tryout import side_by_side

side_by_side(
    expected_acceptance,
    [
        (([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]), 0.7),
        (([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]), 0.6),
        (([1.0, 0.0], [0.0, 1.0]), 0.0),
    ],
)

# %% test="expected_acceptance" points=1
from specdec.checks.lesson_03 import check_expected_acceptance

check_expected_acceptance(expected_acceptance)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_expected_acceptance(
    expected_acceptance,
    [
        Case(([0.3, 0.3, 0.3, 0.1], [0.5, 0.5, 0.0, 0.0]), 0.6),
        Case(([0.2, 0.8], [0.2, 0.8]), 1.0),
        Case(([0.0, 0.5, 0.5], [1.0, 0.0, 0.0]), 0.0),
        Case(([0.7, 0.2, 0.1], [0.1, 0.3, 0.6]), 0.4),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="expected_acceptance"
# At each token, the smaller of the two chances is accepted. How do you get one number from that?
# ===
# `np.minimum(p, q)` takes the smaller one place by place, for lists as well as arrays.
# ===
# ```python
# return np.minimum(____, ____).____()
# ```

# %% [markdown] only="solution"
# **Why this way.** q · min(1, p / q) is min(p, q), so no division is needed, and q = 0 needs no
# branch.
#
# **Another right way.** `1 - np.abs(np.subtract(p, q)).sum() / 2`. Half of the sum of all
# differences is called the **total variation distance** of p and q, TV for short. So α = 1 − TV.

# %% [markdown] only="solution" wrong_turns="expected_acceptance" shown="[([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]), ([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4])]"
# **Wrong turns**, called with the first two rows of the table. Right are `0.7` and `0.6`.

# %% [markdown]
# ### A simpler rule, and what it costs
#
# Draw a token from p, and accept the draft's token if the two are the same. If not, the token from p
# comes out. Whatever happens, what comes out was drawn from p, so this is exact too.
#
# But two separate draws seldom agree. They agree with chance Σ p · q, which is 0.29 for the first
# pair of the table, against α = 0.7. No exact rule for a single token accepts
# more often than yours: t can't be kept more often than it is proposed, q, or than it may come out,
# p.
#
# ---
# **This is the end of part A, and a good place to stop.** Save with <kbd>Ctrl</kbd> +
# <kbd>S</kbd>. To come back later, run the cells from the top: *Run > Run All Cells*.
#
# ---

# %% [markdown] part="B"
# ## Part B: whole texts
#
# ## A round
#
# As in lesson 1, the draft guesses k tokens, one after the other. This time it draws each of them,
# and writes down the q that it drew it from. Then one pass of the target gives k + 1
# distributions p. The tokens are tested from the left:
#
# - Draw u. If u < min(1, p/q), the token stays, and the next one is tested. All that comes out of
#   the round is **emitted**.
# - If not, one token is drawn from the residual of that place, and the round is over.
# - If all k stay, one more is drawn from the last p: the bonus.
#
# A token of chance 0.4 stays when u < 0.4, and u lies there 4 times in 10. Why < and not ≤? u may
# be exactly 0. With ≤, a token of chance 0 would come out then.

# %% [markdown] minutes=1
# To draw from any distribution, one u is enough. Lay the chances side by side on a line from 0 to 1,
# and see where u falls. For 0.5, 0.3, 0.2 that is token 0 below 0.5, token 1 below 0.8, else token 2.
# The function is given. `rng` makes the random numbers: `rng.random()` gives the next u.

# %% include="specdec/sampling.py:draw"

# %%
rng = np.random.default_rng(1)
print([draw([0.5, 0.3, 0.2], rng) for _ in range(12)])

# %% [raw] todo="todo_trace" minutes=2
# question: |
#   The draft is `[1, 0]`. At the first place p = `[0.5, 0.2, 0.3]` and q = `[0.2, 0.8, 0]`, so token 1
#   stays with chance 0.25. The random numbers come as 0.3, then 0.6, then 0.9.
#   **Which tokens come out of this round?** Write a list. (The residual is `[0.5, 0, 0.5]`.)
# right: [2]
# why: 0.3 is not below 0.25, so token 1 is rejected. On the residual's line token 0 ends at 0.5, so 0.6 falls on token 2. The round is over.
# wrong:
#   "[1]": 0.3 is not below 0.25, so token 1 does not stay. And its replacement is drawn from the residual, not from p.
#   "[0]": On the residual's line token 0 ends at 0.5.
#   "[1, 0]": The first token is rejected already. 0.3 is not below 0.25.
#   "[2, 0]": After a rejection the round is over. The 0 was guessed after a 1 that does not exist.
#   "[]": Something comes out at a rejection too, drawn from the residual.
#   "[1, 2]": The rejected token does not come out. Only its replacement does.

# %% [markdown] card="speculative_step" difficulty=3 minutes=10
# Write one round's verification. `target_probs[i]` is p at place i, and `draft_probs[i]` is q.
#
# With p = `[[0.5, 0.3, 0.2], [0.4, 0.4, 0.2], [0.1, 0.1, 0.8]]` and
# q = `[[0.2, 0.3, 0.5], [0.4, 0.4, 0.2]]`:
#
# | draft | u | emitted | why |
# |---|---|---|---|
# | `[0, 1]` | 0.99, 0.99, 0.15 | `[0, 1, 1]` | both have chance 1; 0.15 falls on token 1 of the last p |
# | `[2, 1]` | 0.39, 0.5, 0.9 | `[2, 1, 2]` | 0.39 < 0.4; 0.9 falls on token 2 |
# | `[2, 1]` | 0.4, 0.999 | `[0]` | 0.4 is not below 0.4 |
#
# - Use `acceptance_probability`, `residual` and `draw`.
# - Draw the random numbers in the order of the table: one for each test, then one for the last token.
# - k may be 0. If the numbers of rows do not fit, raise `ValueError`. Change no input.

# %% answer="speculative_step"

# %% free_try="speculative_step"
from specdec.tryout import side_by_side


class Scripted:
    """Random numbers from a list, so that a round can be followed by hand."""

    def __init__(self, numbers):
        self.numbers = iter(numbers)

    def random(self):
        return next(self.numbers)


def step_with(draft, numbers):
    p = [[0.5, 0.3, 0.2], [0.4, 0.4, 0.2], [0.1, 0.1, 0.8]]
    q = [[0.2, 0.3, 0.5], [0.4, 0.4, 0.2]]
    return speculative_step(draft, q, p, Scripted(numbers))


side_by_side(
    step_with,
    [
        (([0, 1], [0.99, 0.99, 0.15]), [0, 1, 1]),
        (([2, 1], [0.39, 0.5, 0.9]), [2, 1, 2]),
        (([2, 1], [0.4, 0.999]), [0]),
    ],
)

# %% [markdown]
# Checks: the chance of every outcome, counted over all random numbers of an even grid; then tokens
# that must never come out, whatever u is. The order in which you draw your numbers is free. If you
# draw numbers of another kind, such as exponential ones, 700 runs are compared with the right
# chances instead, and a right function fails with a chance below one in a million.

# %% test="speculative_step" points=2
from specdec.checks.lesson_03 import check_speculative_step

### BEGIN HIDDEN TESTS
from specdec.checks.lesson_03 import GRID, P_A, P_B, P_C, P_D, Q_A, Q_B, Q_C, Step
from specdec.reference.lesson_03 import acceptance_probability, residual  # as above

### END HIDDEN TESTS
check_speculative_step(speculative_step, acceptance_probability, residual)
### BEGIN HIDDEN TESTS
check_speculative_step(
    speculative_step,
    cases=[
        Step([3], [Q_A], [P_A, P_B], GRID),
        Step([0, 2], [Q_C, Q_B], [P_C, P_B, P_D]),
    ],
)
### END HIDDEN TESTS

# %% test="speculative_step_edges" points=1
from specdec.checks.lesson_03 import check_speculative_step_edges

### BEGIN HIDDEN TESTS
from specdec.checks.lesson_03 import Step
from specdec.reference.lesson_03 import acceptance_probability, residual  # as above

### END HIDDEN TESTS
check_speculative_step_edges(speculative_step)
### BEGIN HIDDEN TESTS
check_speculative_step_edges(
    speculative_step,
    [
        Step([], [], [[0.0, 0.5, 0.5]]),
        Step([2], [[0.25, 0.25, 0.5]], [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]),
        Step([0], [[0.75, 0.25, 0.0]], [[0.25, 0.0, 0.75], [0.0, 0.0, 1.0]]),
    ],
    [(Step([1, 1], [[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5]]), "2 draft tokens need 3 rows, not 1")],
)
### END HIDDEN TESTS

# %% [markdown] hints="speculative_step"
# It is lesson 1's rule with another test. Again there are two ways out: at the first rejection, and
# after the loop.
# ===
# At place i: `p, q = target_probs[i], draft_probs[i]`. Draw one u. If it is not below the chance,
# append a token drawn from the residual, and return. Else append the draft's token.
# ===
# ```python
# k = len(draft_token_ids)
# if len(draft_probs) != k or len(target_probs) != ____:
#     raise ValueError("…")
# emitted = []
# for i in range(k):
#     p, q, token = target_probs[i], draft_probs[i], draft_token_ids[i]
#     if rng.random() >= acceptance_probability(p, q, token):
#         emitted.append(draw(____, rng))
#         return emitted
#     emitted.append(token)
# emitted.append(draw(____, rng))
# return emitted
# ```

# %% [markdown] only="solution"
# **Why this way.** The loop tests, and leaves at the first rejection. What stands after the loop is
# reached only when all were accepted: the bonus.
#
# **Another right way.** Draw all k numbers at once, `rng.random(k)`, and find the first place where
# u is too large. The numbers behind that place are wasted, and the chances are the same. Programs
# for graphics cards do it so, since there a loop costs more than unused numbers.

# %% [markdown] only="solution" wrong_turns="speculative_step" shown="step"
# **Wrong turns**, with k = 1, q = 0.125, 0.125, 0.25, 0.5 and p = 0.5, 0.25, 0.125, 0.125. The table
# shows the chance of each token to come out first, over all random numbers, and the mean number of
# tokens. Right are p and a mean of 1.5.

# %% [markdown] minutes=2
# ## Does the draft leave a trace?
#
# Let the worst draft speak, 500 times: it always says `cat`. **Before you run it: will the three
# bars end exactly at the diamonds?**
#
# The thin lines reach two **standard errors** up and down. A share that is measured in n draws
# misses its true value by more than that only about once in twenty tries.

# %% free_try="trace"
from specdec.figures import shares_against, show

rng = np.random.default_rng(3)
p, q, runs = [0.5, 0.3, 0.2], [0.0, 0.0, 1.0], 500
counts = np.zeros(3)
for _ in range(runs):
    counts[speculative_step([2], [q], [p, p], rng)[0]] += 1
shares = counts / runs
errors = np.sqrt(shares * (1 - shares) / runs)
for word, share, error, chance in zip(["mat", "rug", "cat"], shares, errors, p, strict=True):
    print(f"{word}: {share:.3f} ± {2 * error:.3f}, p is {chance}")
show(
    shares_against(["mat", "rug", "cat"], shares, p, errors),
    alt="Shares of mat, rug and cat in 500 runs with a draft that always says cat. They are "
    "printed above; diamonds mark the target's 0.5, 0.3 and 0.2.",
)

# %% [markdown]
# With the rule right, `cat` is the rarest of the three. The draft said nothing else, and the text
# does not show it. The price is paid in speed: only 2 guesses in 10 are accepted.

# %% [markdown] minutes=2
# ## Temperature and top-p
#
# A model does not give chances directly. It gives a number for each token, its **logit**. Larger
# means likelier. To get chances, take exp of each logit, and divide by the sum. This is called
# **softmax**.
#
# Users of a chat program can turn two knobs:
#
# - **Temperature** T: the logits are divided by T first. A small T makes the likely tokens likelier
#   still, a large T evens the chances out. T = 0 stands for the favourite token alone.
# - **top-p**: only the likeliest tokens stay, as few as have at least this chance together. The rest
#   can't be drawn. The kept ones are scaled to sum 1.
#
# The function for top-p is given.

# %% include="specdec/sampling.py:keep_top_p"

# %%
print(keep_top_p([0.4, 0.3, 0.2, 0.1], 0.6).round(3))

# %% [markdown] card="process_logits" difficulty=2 minutes=6
# Turn logits into the distribution that is drawn from: temperature first, then top-p.
#
# | `logits` | T | `top_p` | chances |
# |---|---|---|---|
# | `[1, 0, -1]` | 1 | 1 | 0.665, 0.245, 0.090 |
# | `[1, 0, -1]` | 0.5 | 1 | 0.867, 0.117, 0.016 |
# | `[1, 0, -1]` | 1 | 0.9 | 0.731, 0.269, 0 |
# | `[2, 5, 5]` | 0 | 1 | 0, 1, 0 |
#
# - T = 0 gives all to the largest logit, and to the first one if several are equally large.
# - exp(1000) is too large for the computer. Subtract the largest logit from all of them first: the
#   chances stay the same, since it cancels.
# - A negative T, or a `top_p` that is not above 0 and at most 1, is a `ValueError`.

# %% answer="process_logits"

# %% free_try="process_logits"
for logits, temperature, top_p in [
    ([1.0, 0.0, -1.0], 1, 1),
    ([1.0, 0.0, -1.0], 0.5, 1),
    ([1.0, 0.0, -1.0], 1, 0.9),
    ([2.0, 5.0, 5.0], 0, 1),
    ([1000.0, 999.0, 0.0], 1, 1),
]:
    chances = process_logits(logits, temperature, top_p)
    print(logits, temperature, top_p, "->", [f"{c:.3f}" for c in chances])

# %% test="process_logits" points=2
from specdec.checks.lesson_03 import check_process_logits

check_process_logits(process_logits)
### BEGIN HIDDEN TESTS
from specdec.checks import Case

check_process_logits(
    process_logits,
    [
        Case(([0.0, 0.0, 0.0, 0.0], 1, 1), [0.25, 0.25, 0.25, 0.25]),
        Case(([0.0, 1.0], 1, 1), [0.2689414213699951, 0.7310585786300049]),
        Case(([0.0, 1.0], 0.5, 1), [0.11920292202211755, 0.8807970779778823]),
        Case(([0.0, 1.0, -1.0], 2, 0.75), [0.3775406687981454, 0.6224593312018546, 0.0]),
        Case(([4.0, -1.0, 4.0], 0, 0.5), [1.0, 0.0, 0.0]),
        Case(([-2000.0, -2001.0], 1, 1), [0.7310585786300049, 0.2689414213699951]),
        Case(([1500.0, 1501.0], 1, 1), [0.2689414213699951, 0.7310585786300049]),
        Case(([0.0, 1.0], -1, 1), ValueError, "the temperature is negative"),
        Case(([0.0, 1.0], 1, -0.1), ValueError, "top_p is negative"),
        Case(([0.0, 1.0], 0, 2), ValueError, "top_p is above 1"),
    ],
)
### END HIDDEN TESTS

# %% [markdown] hints="process_logits"
# Three things in this order: refuse bad values, treat T = 0 on its own, then softmax and top-p.
# ===
# `np.argmax` gives the place of the largest entry, the first one if there are several. For T > 0,
# make an array of the logits, subtract `max()`, divide by T, and use `np.exp`.
# ===
# ```python
# if temperature < 0 or not 0 < top_p <= 1:
#     raise ValueError("…")
# logits = np.asarray(logits, dtype=float)
# if temperature == 0:
#     probs = np.zeros(len(logits))
#     probs[____] = 1
#     return probs
# weights = np.exp((logits - logits.max()) / ____)
# return keep_top_p(weights / ____, top_p)
# ```

# %% [markdown] only="solution"
# **Why this way.** T = 0 can't go through the division, so it has its own branch. There is one token
# left then, and top-p keeps it.
#
# **Another right way.** `scipy.special.softmax(logits / T)` subtracts the largest logit by itself.

# %% [markdown] only="solution" wrong_turns="process_logits" shown="[([1.0, 0.0, -1.0], 0.5, 0.9), ([2.0, 5.0, 5.0], 0, 1), ([1000.0, 999.0, 0.0], 1, 1)]"
# **Wrong turns**, called with T = 0.5 and top-p 0.9, then with T = 0, then with large logits. Right
# are `[0.8808, 0.1192, 0.0]`, `[0.0, 1.0, 0.0]` and `[0.7311, 0.2689, 0.0]`, rounded.

# %% [markdown] minutes=3
# ### The one condition: q must be honest
#
# Go back to the proof. It used q twice: as the chance that the draft draws a token, and in your
# rule. So the rule needs the **q that the token was really drawn from**. That is all it needs.
#
# Must draft and target have the same temperature? No. Any honest q is exact, only α changes. Using
# the same settings for both is a simple, safe habit.
#
# And if q is not honest? Let the draft draw from its two likeliest tokens, but pass on the q from
# before the cut. Take p = 0.3, 0.3, 0.3, 0.1 and q = 0.4, 0.3, 0.2, 0.1. **Before you run the cell:
# which token can never come out?**


# %% free_try="honest"
def output_law(p, drawn_from, passed_on):
    """The chance of each token, when drafts come from one q and the rule is given another."""
    tokens = range(len(p))
    kept = np.array([drawn_from[t] * acceptance_probability(p, passed_on, t) for t in tokens])
    return kept + (1 - kept.sum()) * np.asarray(residual(p, passed_on))


p, q = [0.3, 0.3, 0.3, 0.1], [0.4, 0.3, 0.2, 0.1]
top_two = keep_top_p(q, 0.6)
print("top two, honest:    ", output_law(p, top_two, top_two).round(4))
print("top two, not honest:", output_law(p, top_two, q).round(4))

target_logits, draft_logits = [1.0, 0.0, -1.0], [0.0, 0.5, 0.0]
p = process_logits(target_logits, 0.5, 1)
print("\ntarget at T = 0.5:      ", p.round(4))
for T in (0.5, 1):
    q = process_logits(draft_logits, T, 1)
    print(
        f"draft at T = {T}, honest:",
        output_law(p, q, q).round(4),
        f"α {np.minimum(p, q).sum():.3f}",
    )

# %% [markdown]
# Token 3 has disappeared from the second line: it is never drafted, and the rule believes that it
# is drafted often enough. No error, no warning, only another text. The last two lines both equal
# the target's; here the warmer draft is even accepted more often.
#
# At T = 0 nothing is left to chance: p is 1 at the target's favourite, and 0 elsewhere. A guess that
# is the favourite stays for certain. Any other guess is rejected, and the residual is the favourite.
# **Before you run it: which rule have you seen that does this?**

# %% free_try="zero"
favourites = [[0.0, 3.0, 1.0], [2.0, 0.0, 1.0], [1.0, 0.0, 4.0]]  # the target's: 1, 0, 2
guesses = [[0.0, 1.0, 0.0], [0.0, 1.0, 2.0]]  # the draft's: 1, 2
p_rows = [process_logits(logits, 0, 1) for logits in favourites]
q_rows = [process_logits(logits, 0, 1) for logits in guesses]
for seed in range(3):
    print(speculative_step([1, 2], q_rows, p_rows, np.random.default_rng(seed)))

# %% [markdown]
# It is lesson 1's: keep up to the first disagreement, then the target's own token. So one program
# does both.

# %% [markdown] minutes=1
# ## A text
#
# Now for whole texts. The cat pair from lesson 1 has chances this time. The words are numbered, and
# each model gives 8 logits. Sampling with the target alone is written for you.

# %% free_try="plain"
from specdec.sampling import WORDS, cat_draft, cat_target


def sample_generate(model, prompt, n_tokens, temperature, top_p, rng):
    sequence = list(prompt)
    for _ in range(n_tokens):
        p = process_logits(model(sequence), temperature, top_p)
        sequence.append(draw(p, rng))
    return sequence[len(prompt) :]


for seed in range(3):
    token_ids = sample_generate(cat_target, [0], 12, 1, 1, np.random.default_rng(seed))
    print("the", *[WORDS[token] for token in token_ids])

# %% [markdown] card="speculative_sample" difficulty=3 minutes=8
# Put rounds together until `n_tokens` tokens are there. It is the loop of lesson 1, with two
# changes: tokens are drawn, and the distributions are written down.
#
# 1. Draft k tokens. Each is drawn from `process_logits` of the draft's logits. Keep each q.
# 2. Ask the target after the text and 0, 1, … k guesses. Each answer becomes a p. As in lesson 1,
#    these k + 1 calls stand for one pass.
# 3. Call `speculative_step`, and append what it returns.
#
# - The result is a list of exactly `n_tokens` tokens, without the prompt. The prompt is not changed.
# - Their chances are those of `sample_generate` with the target.
# - `n_tokens` and `k` may be 0. If one is negative, raise `ValueError`.
# - Passes are counted. With a draft that equals the target, every round gives k + 1 tokens. The draft
#   may be called at most k times a pass.

# %% answer="speculative_sample"

# %% free_try="speculative_sample"
for seed in range(3):
    rng = np.random.default_rng(seed)
    token_ids = speculative_sample(cat_draft, cat_target, [0], 12, 3, 1, 1, rng)
    print("the", *[WORDS[token] for token in token_ids])

# %% [markdown]
# Other texts than above, and yet the same chances. The random numbers are used for other things, so
# one seed gives two texts. Checks: texts for given random numbers, or else the chance of every
# text; then the passes.

# %% test="speculative_sample" points=2
from specdec.checks.lesson_03 import check_speculative_sample

### BEGIN HIDDEN TESTS
from specdec.checks import lesson_03 as cases
from specdec.reference.lesson_03 import process_logits, speculative_step  # as above

### END HIDDEN TESTS
check_speculative_sample(speculative_sample, speculative_step, process_logits)
### BEGIN HIDDEN TESTS
check_speculative_sample(
    speculative_sample,
    cases=[
        cases.Sample(*cases.WARM_PAIR, [2], 1, 1, temperature=4, grid=4),
        cases.Sample(*cases.TAIL_PAIR, [1], 1, 1, top_p=0.5),
        cases.Sample(*cases.HALVES_PAIR, [1], 2, 1),
    ],
    texts=[
        cases.Sample(*cases.WARM_PAIR, [2], 5, 2, temperature=4),
        cases.Sample(*cases.TAIL_PAIR, [1], 4, 1, top_p=0.5),
        cases.Sample(*cases.HALVES_PAIR, [2], 3, 0),
        cases.Sample(*cases.HALVES_PAIR, [0], 1, 3),
    ],
)
### END HIDDEN TESTS

# %% test="speculative_sample_rounds" points=1
from specdec.checks.lesson_03 import check_speculative_sample_rounds

### BEGIN HIDDEN TESTS
from specdec.checks import lesson_03 as cases
from specdec.reference.lesson_03 import process_logits, speculative_step  # as above

### END HIDDEN TESTS
check_speculative_sample_rounds(speculative_sample, speculative_step, process_logits)
### BEGIN HIDDEN TESTS
check_speculative_sample_rounds(
    speculative_sample,
    cases=[cases.Perfect(8, 3, 2), cases.Perfect(9, 3, 3), cases.Perfect(3, 5, 1)],
)
### END HIDDEN TESTS

# %% [markdown] hints="speculative_sample"
# Begin with the loop of lesson 1. Where did it ask the draft, and where the target? Each answer now
# goes through `process_logits`.
# ===
# Make two lists in each round, `draft` and `draft_probs`, and fill them together: q from the draft's
# logits after `sequence + draft`, then a token drawn from that q.
# ===
# ```python
# if n_tokens < 0 or k < 0:
#     raise ValueError("…")
# sequence = list(prompt)
# while len(sequence) < ____:
#     draft, draft_probs = [], []
#     for _ in range(k):
#         q = process_logits(draft_model(sequence + draft), temperature, top_p)
#         draft.append(____)
#         draft_probs.append(____)
#     target_probs = [
#         process_logits(target_model(____), temperature, top_p) for i in range(k + 1)
#     ]
#     sequence += speculative_step(draft, draft_probs, target_probs, rng)
# return sequence[len(prompt) : ____]
# ```

# %% [markdown] only="solution"
# **Why this way.** `draft` and `draft_probs` grow in the same two lines. What is passed on is the
# very array that the token was drawn from, so q can't be anything but honest.
#
# **Another right way.** Draft fewer tokens in the last round, `min(k, missing - 1)`. It draws other
# random numbers, so one seed gives another text, with the same chances.

# %% [markdown] only="solution" wrong_turns="speculative_sample" shown="sample"
# **Wrong turns.** First the chances of a single token, on a pair with 4 tokens, top-p 0.5 and k = 1;
# then the passes for 6 tokens with k = 2 and a draft that equals the target. Right are
# `[0.0, 0.5, 0.5, 0.0]` and 2 passes.

# %% [markdown] minutes=3
# ## On two real models
#
# The course has a small pair of models that learnt from novels: a target with 8.6 million weights,
# and a draft with 0.3 million. Their tokens are pieces of words. `on_real_pair` gives them to your
# `speculative_sample`, as functions from token ids to logits, like the cats. Then it asks both models
# for their logits before each token of the text, and you compute α there. **Before you run it: will
# all tokens be about equally easy to guess?**

# %% free_try="real"
from specdec.figures import acceptance_along, show
from specdec.trained.sampled import on_real_pair

T = 1
run = on_real_pair(
    speculative_sample, "It was a dark morning, and the captain", n_tokens=40, k=4, temperature=T
)
print(run)

alphas = []
for target_logits, draft_logits in run.logits:
    p, q = process_logits(target_logits, T, 1), process_logits(draft_logits, T, 1)
    alphas.append(expected_acceptance(p, q))
print(run.describe(alphas))
show(
    acceptance_along(run.pieces, alphas),
    alt=f"Acceptance at each of the 40 tokens of the text: {run.describe(alphas)}.",
)

# %% [markdown]
# They are not. The printed line compares tokens that begin a word with the others, punctuation
# included; in a text of 40 tokens that difference may be chance. So more was measured beforehand: many texts at five temperatures, with two
# drafts. `draft` learnt from the novels alone, `draft_distilled` from the target too (lesson 6). Each
# ± is two standard errors, from how much the texts differ.
#
# If every guess were accepted with the same chance α, whatever came before, a pass would give
# (1 − α<sup>k+1</sup>) / (1 − α) tokens on average. That is the formula of lesson 1. **Before you run
# it: will the count agree with the formula?**

# %%
from specdec.figures import acceptance_by_temperature, show
from specdec.recorded import recorded_acceptance

how, results = recorded_acceptance()
print(f"{how['prompts']} texts of {how['n_tokens']} tokens each, k = {how['k']}")
print("draft              T     α             formula   counted")
for r in results:
    print(
        f"{r.draft:<16} {r.temperature:>4}  {r.alpha:.3f} ± {r.alpha_error:.3f}"
        f"   {r.formula:.2f}      {r.length:.2f} ± {r.length_error:.2f}"
    )
near = sum(abs(r.formula - r.length) <= r.length_error for r in results)
print(f"\nThe formula lies within the ± of the count in {near} of {len(results)} rows.")
shown = next(r for r in results if (r.draft, r.temperature) == ("draft_distilled", 1))
print("draft_distilled at T = 1, accepted when tested, at place 1 to 4:")
print("   ".join(f"{a:.2f} ± {e:.2f}" for a, e in zip(shown.by_place, shown.by_place_error)))
show(
    acceptance_by_temperature(results, how["k"]),
    alt="Left: the mean of α for both drafts against temperature. Right: tokens a pass, as counted "
    "and by the formula. All values are in the table above.",
)

# %% [markdown]
# The formula takes one α for the whole text, and lets each guess know nothing of the others. Neither
# is true:
#
# - α changes from place to place, as you saw. Over easy and hard stretches the mean of α<sup>k</sup>
#   is more than the k-th power of the mean α. This makes passes longer than the formula says.
# - A round begins where the one before broke off, often at a hard place. This makes them shorter.
#
# The two pull against each other, so the formula can come near the count for no good reason. It is a
# **model** of the speed. That the text has the target's chances is no model: it holds at every
# place, whatever α is.

# %% [markdown] minutes=1
# ## Find the bug: three real ones
#
# All three stood in public programs. None of them stops with an error. Here is the first
# ([report](https://github.com/jaymody/speculative-sampling/issues/5)): a residual as many people
# write it.

# %% include="specdec/bugs.py:residual_unguarded"

# %%
print(residual_unguarded([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]))
print(residual_unguarded([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]))

# %% [raw] todo="todo_bug_pair" minutes=2
# question: |
#   **Find a pair on which it gives no distribution.** Write `(p, q)`, two lists of chances.
#   The check runs the function on it.
# right: ([0.5, 0.5], [0.5, 0.5])
# why: When p and q are equal, nothing is missing, and 0 / 0 is not a number.
# check: |
#   from specdec.checks.lesson_03 import check_bug_pair
#
#   check_bug_pair(todo_bug_pair)

# %% [markdown] only="solution"
# Equal distributions are never rejected, so should this matter? A draft and a target at a low
# temperature are nearly equal often, and rounding can reject where exact numbers would not. Then
# `nan` is drawn from, and the text breaks. Later versions ask for a sum of 0 first.

# %% [markdown] minutes=1
# The other two are about the draft. Each returns a token and the q that is passed on to the rule.
# **Which q should each of them return?**

# %% include="specdec/bugs.py:draft_top_two"

# %% include="specdec/bugs.py:draft_likeliest"

# %% [markdown]
# <details><summary>Answer</summary>
#
# `draft_top_two` draws from the two likeliest, and returns the q from before the cut. You have seen
# what comes of it: 0.4286, 0.4286, 0.1429, 0 instead of p. Three parts of a well-known library did
# this in 2026 ([report](https://github.com/huggingface/transformers/issues/47932)). With a real pair
# of models, at half of the places 5 draws of 100 or more were on the wrong token.
#
# `draft_likeliest` does not draw at all. It always takes the favourite, so its true q is 1 for that
# token and 0 for all others. With p = 0.6, 0.4 and q = 0.8, 0.2 the rule accepts the favourite with
# chance 0.75, and puts the rest on the other token: 0.75, 0.25 comes out instead of 0.6, 0.4
# ([report](https://github.com/jaymody/speculative-sampling/issues/3)). With the true q it is exact:
# accepted with chance 0.6, else the other token.
#
# </details>

# %% [markdown] minutes=3
# ## Check yourself
#
# Five questions, not graded. Every choice has its reason.
#
# *No questions below? Run the next cell.*

# %% [raw] widget="quiz"
# kind: Quiz
# questions:
#   - prompt: Plain sampling and speculative sampling, same seed, two different texts. Is that a bug?
#     choices:
#       - {text: "Yes, exact means the same tokens.", reason: "Exact means the same chances. The random numbers are used for other things."}
#       - {text: "No. The chances are the same, not the tokens.", right: true, reason: "A bug would show in the shares of many runs, not in one text."}
#       - {text: "Yes, unless the draft equals the target.", reason: "Even then the numbers are used in another order."}
#   - prompt: p = 0.3 and q = 0.6 for the drafted token. The random number is 0.4. What happens?
#     choices:
#       - {text: "It is rejected, since p < q.", reason: "Below 1 the quotient is a chance, here 0.5. The random number decides."}
#       - {text: "It is rejected, since 0.4 > 0.3.", reason: "u is compared with p / q, not with p."}
#       - {text: "It is accepted, since 0.4 < 0.5.", right: true, reason: "The chance is 0.3 / 0.6 = 0.5."}
#   - prompt: The draft's temperature is 1, the target's 0.5. What must be passed on as q?
#     choices:
#       - {text: "The draft's distribution at temperature 1.", right: true, reason: "The token was drawn from it. Then the text is exact."}
#       - {text: "The draft's distribution at temperature 0.5.", reason: "The token was not drawn from that. The text would be bent."}
#       - {text: "It can't be exact with two temperatures.", reason: "It can. Only an honest q is needed."}
#   - prompt: Both models run at temperature 0. What is the rule then?
#     choices:
#       - {text: "It accepts everything.", reason: "Where the favourites differ, p of the drafted token is 0."}
#       - {text: "Lesson 1's rule.", right: true, reason: "p and q are 1 at one token each. Same token: chance 1. Another: chance 0, and the residual is the target's favourite."}
#       - {text: "It is undefined, 0 / 0.", reason: "q of the drafted token is 1, so nothing is divided by 0."}
#   - prompt: α is 0.1. What does the user see?
#     choices:
#       - {text: "A text that is a little worse.", reason: "The chances are the target's, whatever α is."}
#       - {text: "The same kind of text, more slowly.", right: true, reason: "Few guesses survive, so there are many passes. The text is not touched."}
#       - {text: "A text that is more like the draft's.", reason: "The residual puts back what the draft proposes too rarely."}

# %% [markdown]
# Two more are graded. Their reasons come with your feedback.

# %% [raw] quiz="quiz_replacement" minutes=1
# question: |
#   A drafted token was rejected. Why is its replacement not drawn from p?
# choices:
#   A: {text: "Because p is not known at that place.", reason: "It is known: the pass of the target gave it, and the test used it."}
#   B: {text: "Because the accepted tokens cover min(p, q) already, and only the rest is missing.", reason: "Drawing from p would count that part twice, and bend the text towards the draft."}
#   C: {text: "Because drawing from p is slower.", reason: "Both are one draw from one distribution."}
#   D: {text: "Because the rejected token must never come out.", reason: "It never does, that is true, but it follows from the residual. Drawing from p without that token would be wrong too."}
# right: B

# %% [raw] quiz="quiz_honest" minutes=1
# question: |
#   Which of these changes the chances of the text?
# choices:
#   A: {text: "The draft runs at a higher temperature, and passes on its q at that temperature.", reason: "The token was drawn from that q, so the proof holds."}
#   B: {text: "The draft is a table of word pairs that is mostly wrong.", reason: "A bad draft costs speed. The chances stay the target's."}
#   C: {text: "The draft draws with top-p 0.9, and passes on its chances from before the cut.", reason: "The token was not drawn from the q that the rule is given."}
#   D: {text: "k is 1 at even places and 5 at odd ones.", reason: "Each place is exact by itself, however long the draft is."}
# right: C

# %% [markdown] minutes=1
# ## Common mistakes
#
# What they make of p = 0.4, 0.3, 0.2, 0.1 with q reversed:
#
# | mistake | what comes out |
# |---|---|
# | the replacement comes from p | 0.26, 0.32, 0.28, 0.14 |
# | a token is accepted only if p ≥ q | 0.625, 0.375, 0, 0 |
# | every token is accepted | 0.1, 0.2, 0.3, 0.4 |
# | u is compared with p | 0.64, 0.26, 0.06, 0.04 |
# | \|p − q\| instead of max(0, p − q) | 0.25, 0.25, 0.25, 0.25 |
# | q / p instead of p / q | 0.131, 0.169, 0.3, 0.4 |
#
# Each text looks fine to the eye. Only the shares of many runs show the mistake, or the equation.
#
# ## When it breaks
#
# - **q is not honest.** Top-p, a temperature, a rounding to fewer digits: all must be in the q that
#   is passed on.
# - **The vocabularies differ.** p and q must be about the same tokens.
# - **The temperature is 1 and not 0.** Nothing breaks, but α can be lower, since both models are less
#   sure: 0.62 instead of 0.75 for one pair of the first paper below. Your own table shows a draft
#   for which it falls.

# %% [markdown]
# ## What you built, and where it runs
#
# The rule is in [vLLM](https://docs.vllm.ai) as the *rejection sampler*, where the replacement is
# called recovered token. In
# [Hugging Face transformers](https://huggingface.co/docs/transformers) it is assisted generation
# with `do_sample=True`.
#
# ## Stretch, not graded
#
# Is it best to test token by token? For one token no exact rule accepts more often than α. For two
# it can be done better. *Block verification* multiplies the quotients along the draft, cutting the
# product at 1 at every token, and accepts both tokens with that chance; the first alone is accepted
# so often that its chance stays min(p, q). Take p = 1/3, 2/3 and
# q = 2/3, 1/3 at both places. **How many of two drafted tokens does each rule accept on average?**

# %%
from fractions import Fraction

p, q = [Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]
one = sum(min(a, b) for a, b in zip(p, q, strict=True))
both_token = one * one
both_block = sum(
    q[x] * q[y] * min(1, min(1, p[x] / q[x]) * p[y] / q[y]) for x in range(2) for y in range(2)
)
print("token by token:", one + both_token, " as a block:", one + both_block)

# %% [markdown]
# The first token is accepted equally often, 2/3. Both are accepted with chance 4/9 token by token,
# and 5/9 as a block. What to draw after a rejection then is in the paper below.

# %% [markdown] only="solution"
# ## Carry it over
#
# Three new situations. Answer first; the answers are folded.
#
# **1.** A draft always says the same token x: q is 1 there. The target gives x a chance of 0.3. How
# often does x come out, and what is drawn otherwise?
#
# <details><summary>Answer 1</summary>
#
# It is kept with min(1, 0.3 / 1) = 0.3. Otherwise the residual is p without x, scaled to 1: the
# other tokens in the target's own proportions. So the law is p, and a pass with k = 1 gives 1.3
# tokens.
#
# </details>
#
# **2.** The target runs at temperature 0, the draft draws at temperature 1. What does the rule
# become?
#
# <details><summary>Answer 2</summary>
#
# Lesson 1's. All of p lies on the target's favourite: a guess is kept when it is that token and
# never otherwise, and the residual is the favourite. α is q of the favourite.
#
# </details>
#
# **3.** The target uses top-p 0.9. The draft's engine knows no top-p and draws from its whole
# distribution. Is the text still the target's?
#
# <details><summary>Answer 3</summary>
#
# Yes, as long as q is reported as it was drawn from. Guesses outside the target's top-p have p = 0
# and are always turned down, so α is a little lower. It goes wrong when another q is reported than
# the one that was drawn from.
#
# </details>

# %% [markdown]
# ## Where you are
#
# This runs all visible checks on what you have written so far.

# %%
from specdec.progress import show_progress

show_progress("03_exact_sampling")

# %% [markdown]
# ## Hand in
#
# 1. Save with <kbd>Ctrl</kbd> + <kbd>S</kbd>.
# 2. Press **Validate** in the toolbar. It runs the saved notebook from the top, in a fresh kernel,
#    as grading does.
# 3. *Success* means that all visible checks pass. Grading runs more cases of the same rules, and
#    marks the two questions.
#
# ## Sources
#
# - Y. Leviathan, M. Kalman, Y. Matias: *Fast Inference from Transformers via Speculative Decoding*,
#   ICML 2023, [arXiv 2211.17192](https://arxiv.org/abs/2211.17192). Algorithm 1 is your
#   `speculative_step`. p is the target there, as here.
# - C. Chen and others: *Accelerating Large Language Model Decoding with Speculative Sampling*,
#   2023, [arXiv 2302.01318](https://arxiv.org/abs/2302.01318). The same rule, with p and q the
#   other way round.
# - Z. Sun and others: *Block Verification Accelerates Speculative Decoding*, 2024,
#   [arXiv 2403.10444](https://arxiv.org/abs/2403.10444).
# - The bugs: [speculative-sampling 3](https://github.com/jaymody/speculative-sampling/issues/3) and
#   [5](https://github.com/jaymody/speculative-sampling/issues/5),
#   [transformers 47932](https://github.com/huggingface/transformers/issues/47932).
