"""Toy models of lesson 1: functions from the words so far to the next word.

The cat pair: the draft looks at one word, the target looks back further. They disagree only after
"the", which is where a reader has to think too.
"""

CAT_PROMPT = ["the"]
CAT_TEXT = ["cat", "sat", "on", "the", "mat", "and", "the", "dog", "sat", "on", "the", "rug"]

NEXT_WORD = {
    "the": "cat",
    "cat": "sat",
    "dog": "sat",
    "sat": "on",
    "on": "the",
    "mat": "and",
    "rug": "and",
    "and": "the",
}


def one_word_draft(words):
    """Return the next word from the last word alone. Cheap, and often right."""
    return NEXT_WORD.get(words[-1], "the")


def look_back_target(words):
    """Return the next word; after "the" it looks back at the words before. Never `banana`."""
    if words[-1] != "the":
        return one_word_draft(words)
    before = words[-2] if len(words) > 1 else ""
    if before == "and":
        return "dog"
    if before == "on":
        return "rug" if "dog" in words[-5:-1] else "mat"
    return "cat"


def hopeless_draft(words):
    """Return `banana`, whatever came before. It is never right."""
    return "banana"
