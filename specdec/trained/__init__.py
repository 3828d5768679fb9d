"""What runs the trained pair for a lesson: one module for each lesson's runs and timings.

one_pass  lesson 2: rows of logits, both decoders, times of a pass
traces    lesson 2: texts with the guesses at every place, for the pass player
sampled   lesson 3: a sampled text, and alpha along it
decoding  lesson 4: three programs, caches, the race
batches   lesson 5: passes over many texts
drafts    lesson 6: drafts of every kind behind one interface, and their races
eagle     lesson 6: a draft that continues the target's rows
distilling  lesson 6: a little draft, trained on the text or on the target
better    lesson 6: the learner's drafts at work, and trees of guesses

Nothing here is graded: while hand-ins are graded the whole package is left out.
"""
