"""Small models for lesson 2: they answer every row of a pass by a rule, and write each pass down.

A rule is a function from the token ids that a row may see to the next one. So a row that sees too
much, because the mask is missing, answers about another text: as in a real model.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from specdec.model import causal_rows, checked_ids, checked_mask
from specdec.toys import (
    hopeless_draft,
    look_back_target,
    one_word_draft,
    seven_draft,
    seven_target,
)
from specdec.trace import OutOfBudget

CAT_WORDS = ["the", "cat", "sat", "on", "mat", "and", "dog", "rug", "banana"]


@dataclass(frozen=True)
class Pass:
    """One pass: the token ids that went in, and the mask: "causal", "none" or "other"."""

    token_ids: tuple[int, ...]
    mask: str


class RuleModel:
    """A model for full_lm_forward that answers by a rule.

    rule        function: the list of token ids that a row sees -> the next token id
    vocab_size  number of token ids, V
    context     the longest text
    budget      after so many passes it raises OutOfBudget

    `passes` lists the passes so far, each a Pass.
    """

    def __init__(self, rule: Callable, vocab_size: int, context: int = 64, budget: int = 500):
        self.rule, self.vocab_size = rule, vocab_size
        self.context, self.budget = context, budget
        self.__name__ = getattr(rule, "__name__", "model")
        self.passes: list[Pass] = []

    def __call__(self, token_ids, mask) -> np.ndarray:
        """Logits (1, T, V); errors as in full_lm_forward. Later rows have higher logits."""
        ids = checked_ids(token_ids, self, 0)
        length = ids.shape[1]
        mask = checked_mask(mask, length)
        self.passes.append(Pass(tuple(ids[0].tolist()), kind_of_mask(mask, length)))
        if len(self.passes) > self.budget:
            raise OutOfBudget(
                f"{self.__name__} made {len(self.passes)} passes, far more than the text needs. "
                "Does every round add its tokens to the text?"
            )
        seen = np.ones((length, length), bool) if mask is None else mask
        favourites = [self.rule(ids[0, row].tolist()) for row in seen]
        away = np.arange(self.vocab_size) - np.array(favourites)[:, None]
        heights = np.arange(length)[:, None] - away % self.vocab_size
        return heights[None].astype(float)


def kind_of_mask(mask, length: int) -> str:
    if mask is None:
        # One token sees itself, with a mask or without.
        return "causal" if length == 1 else "none"
    return "causal" if np.array_equal(mask, causal_rows(0, length)) else "other"


def on_words(rule: Callable) -> Callable:
    """Turn a rule on words into one on ids of CAT_WORDS."""

    def on_ids(token_ids):
        return CAT_WORDS.index(rule([CAT_WORDS[number] for number in token_ids]))

    on_ids.__name__ = rule.__name__
    return on_ids


CAT_DRAFT, CAT_TARGET = on_words(one_word_draft), on_words(look_back_target)
HOPELESS = on_words(hopeless_draft)


def cat_pair() -> tuple[RuleModel, RuleModel]:
    """The draft and the target of lesson 1's story, fresh: they have made no pass yet."""
    return RuleModel(CAT_DRAFT, len(CAT_WORDS)), RuleModel(CAT_TARGET, len(CAT_WORDS))


def seven_pair() -> tuple[RuleModel, RuleModel]:
    """The number pair: ids 0 to 6."""
    return RuleModel(seven_draft, 7), RuleModel(seven_target, 7)


def ids_of(words: str) -> np.ndarray:
    """Token ids (1, T) of a text of the cat's words."""
    return np.array([[CAT_WORDS.index(word) for word in words.split()]])


def cat_input(words: str) -> tuple[np.ndarray, np.ndarray]:
    """Token ids (1, T) of a text of the cat's words, and the mask (T, T) of a pass over it."""
    token_ids = ids_of(words)
    return token_ids, causal_rows(0, token_ids.shape[1])


def words_of(token_ids) -> str:
    """The text of token ids (1, T) or (T,)."""
    return " ".join(CAT_WORDS[number] for number in np.ravel(token_ids))
