"""Toy models of lesson 1: functions from the tokens so far to the next token.

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


def seven_target(tokens):
    """Return the number pair's next token, 0 to 6: twice the last one plus 1, modulo 7."""
    return (2 * tokens[-1] + 1) % 7


def seven_draft(tokens):
    """Return the guess of the number pair's draft: the target's rule, but 5 after 3."""
    return 5 if tokens[-1] == 3 else seven_target(tokens)


def hopeless_draft(words):
    """Return `banana`, whatever came before. It is never right."""
    return "banana"
