"""Lesson 6: a draft small enough to be trained in a cell, on the text or on what the target says.

The draft sees the last two tokens: an embedding of each, one hidden layer, and a row of logits. It
is far weaker than the shipped drafts; what it shows is the difference between two teachers.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from IPython.display import HTML, display

from specdec.model import MODELS, load_model, softmax
from specdec.trained.drafts import hidden_along, sample_features

CONTEXT, WIDTH, HIDDEN = 2, 32, 96
TRAINED_ON = 3072  # tokens of text that the models were trained on
MEASURED_ON = 1024  # held-out tokens


@dataclass(frozen=True)
class Places:
    """Places of a text: the two tokens before (n, 2), the next one (n,), and the target's row."""

    contexts: np.ndarray
    next_tokens: np.ndarray
    target_probs: np.ndarray  # (n, V)


def places_of(token_ids, hidden) -> Places:
    """The places of a text at which two tokens have been read and a next one is known."""
    contexts = np.stack([token_ids[:-2], token_ids[1:-1]], axis=1)
    probs = softmax(load_model("target").logits(hidden[1:-1]))
    return Places(contexts, token_ids[2:], probs)


@cache
def training_places() -> Places:
    """Places to learn from: a piece of the text that the models were trained on."""
    return places_of(*sample_features(TRAINED_ON))


@cache
def heldout_tokens() -> np.ndarray:
    """Token ids of the held-out text, which no model has seen."""
    text = (MODELS / "heldout.txt").read_text(encoding="utf-8").replace("<|endoftext|>", "\n")
    return np.array(load_model("target").tokenizer.encode(text))


@cache
def heldout_places() -> Places:
    """Places to measure at, of the held-out text."""
    token_ids = heldout_tokens()[:MEASURED_ON]
    return places_of(token_ids, hidden_along(load_model("target"), token_ids))


class LittleDraft:
    """logits(contexts) gives rows; step(gradient) moves the weights against a gradient of them."""

    name = "little draft"

    def __init__(self, seed: int = 0, vocabulary: int | None = None):
        size = vocabulary or load_model("target").config.vocab_size
        rng = np.random.default_rng(seed)
        shapes = {
            "embedding": (size, WIDTH),
            "into": (CONTEXT * WIDTH, HIDDEN),
            "out": (HIDDEN, size),
        }
        self.weights = {
            name: rng.normal(0, 1 / np.sqrt(shape[0] if name != "embedding" else 100), shape)
            for name, shape in shapes.items()
        }
        self.weights["out"] = np.zeros(shapes["out"])
        self.weights["bias"] = np.zeros(size)
        self.weights = {name: array.astype(np.float32) for name, array in self.weights.items()}
        self.means = {name: np.zeros_like(array) for name, array in self.weights.items()}
        self.squares = {name: np.zeros_like(array) for name, array in self.weights.items()}
        self.steps = 0

    def logits(self, contexts) -> np.ndarray:
        """Rows (n, V) for contexts (n, 2); what `step` needs is kept."""
        self.contexts = contexts
        self.x = self.weights["embedding"][contexts].reshape(len(contexts), -1)
        self.h = np.tanh(self.x @ self.weights["into"])
        return self.h @ self.weights["out"] + self.weights["bias"]

    def step(self, gradient, rate: float) -> None:
        """One step of Adam, for a gradient (n, V) of the rows that `logits` has just given."""
        gradient = np.asarray(gradient, dtype=np.float32)
        back = (gradient @ self.weights["out"].T) * (1 - self.h * self.h)
        embedding = np.zeros_like(self.weights["embedding"])
        pieces = (back @ self.weights["into"].T).reshape(*self.contexts.shape, WIDTH)
        np.add.at(embedding, self.contexts, pieces)
        gradients = {
            "embedding": embedding,
            "into": self.x.T @ back,
            "out": self.h.T @ gradient,
            "bias": gradient.sum(axis=0),
        }
        self.steps += 1
        for name, g in gradients.items():
            mean, square = self.means[name], self.squares[name]
            mean += 0.1 * (g - mean)
            square += 0.01 * (g * g - square)
            size = np.sqrt(square / (1 - 0.99**self.steps)) + 1e-8
            self.weights[name] -= rate * mean / (1 - 0.9**self.steps) / size

    def propose(self, token_ids, hidden, k: int) -> list[int]:
        """k guesses, for specdec.trained.drafts.generate."""
        text = list(token_ids)
        for _ in range(k):
            text.append(int(self.logits(np.array([text[-CONTEXT:]]))[0].argmax()))
        return text[len(token_ids) :]


def progress(steps, label: str):
    """Yield from `steps` and show a bar that fills."""
    steps = list(steps)
    shown = None
    for done, step in enumerate(steps, 1):
        yield step
        if done % 10 == 0 or done == len(steps):
            bar = HTML(
                f'<progress value="{done}" max="{len(steps)}" aria-label="{label}"></progress> '
                f"{label}: {done} of {len(steps)} steps"
            )
            if shown is None:
                shown = display(bar, display_id=True)
            elif shown:
                shown.update(bar)


def train(draft, contexts, rows, distillation_loss, steps=200):
    rng = np.random.default_rng(1)
    for step in progress(range(steps), "training"):
        batch = rng.integers(len(contexts), size=192)
        logits = draft.logits(contexts[batch])
        _, gradient = distillation_loss(logits, rows[batch])
        draft.step(gradient, rate=0.005 * (1 - step / steps))
    return draft


def one_hot(tokens, size: int) -> np.ndarray:
    """Rows (n, size) of a teacher who is sure: 1 at the token that stands in the text."""
    rows = np.zeros((len(tokens), size), np.float32)
    rows[np.arange(len(tokens)), tokens] = 1
    return rows


def alpha(draft, places: Places) -> float:
    """The mean over places of sum of min(p, q): the acceptance of a sampled draft."""
    q = softmax(draft.logits(places.contexts))
    return float(np.minimum(q, places.target_probs).sum(axis=1).mean())


def surprise(draft, places: Places) -> float:
    """Mean of - log q(next token) in nats: how badly the draft predicts the text itself."""
    q = softmax(draft.logits(places.contexts))
    return float(-np.log(q[np.arange(len(q)), places.next_tokens]).mean())


def print_teachers(drafts: dict, places: Places, fidelity) -> None:
    """Print α, fidelity and surprise of drafts at held-out places; `fidelity` is lesson 6's."""
    print(f"{'':<24}α on held-out text   fidelity   surprise by the text")
    for name, draft in drafts.items():
        agree = fidelity(draft.logits(places.contexts), places.target_probs)
        print(
            f"{name:<24}{alpha(draft, places):>18.3f}{agree:>11.3f}{surprise(draft, places):>23.2f}"
        )


def distillation_gain(seed: int, distillation_loss) -> dict[str, float]:
    """Train two drafts from one start; return α before, after the text, after the target."""
    learn, measure = training_places(), heldout_places()
    size = learn.target_probs.shape[1]
    rows = {"text": one_hot(learn.next_tokens, size), "target": learn.target_probs}
    found = {"before": alpha(LittleDraft(seed), measure)}
    for teacher, wanted in rows.items():
        draft = train(LittleDraft(seed), learn.contexts, wanted, distillation_loss)
        found[teacher] = alpha(draft, measure)
    return found
