"""The checks of lesson 4. Each takes the learner's function, and cases of its own by default."""

import contextlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from specdec.cache import ModelCache
from specdec.cached_toys import TokenModel, cat_pair, number_pair, tiny_pair
from specdec.reference.lesson_01 import verify_greedy
from specdec.values import plain, same, show

from .core import (
    Case,
    CheckFailed,
    Mistake,
    NotWrittenYet,
    call,
    calls_by_name,
    count,
    error_text,
    not_written,
    run_cases,
)

CLOSE = 1e-10  # float64, far above its rounding and far below any mistake's effect

# --- KVCache -----------------------------------------------------------------------------------

HEADS, HEAD_DIM = 2, 3


@dataclass(frozen=True)
class Append:
    """Append positions with these ids to a layer."""

    layer: int
    ids: tuple

    def __str__(self):
        noun = "position" if len(self.ids) == 1 else "positions"
        return f"append({self.layer}, {noun} {' '.join(map(str, self.ids))})"


@dataclass(frozen=True)
class Crop:
    """Crop to a length; None as `want` of the step means that it works."""

    length: int

    def __str__(self):
        return f"crop({self.length})"


@dataclass(frozen=True)
class Length:
    """Ask for the length."""

    def __str__(self):
        return "len(cache)"


def filled(layer: int, *ids) -> list:
    """Steps that append the same positions to layers 0 to `layer`."""
    return [Append(number, ids) for number in range(layer + 1)]


def arrays_of(layer: int, ids) -> tuple[np.ndarray, np.ndarray]:
    """Keys and values (HEADS, T, HEAD_DIM) in which each number tells where it belongs."""
    heads = np.arange(HEADS)[:, None, None] / 10
    places = np.asarray(ids, dtype=float).reshape(1, -1, 1)
    dims = np.arange(HEAD_DIM) / 100
    keys = 1000 * (layer + 1) + places + heads + dims
    return keys, -keys


def seen_in(returned, layer: int):
    """Write what append returned as the ids of its positions, or say what is wrong with it."""
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        return "not a pair (keys, values)"
    keys, values = returned
    for name, array in (("keys", keys), ("values", values)):
        if not isinstance(array, np.ndarray):
            return f"{name} that are no array"
        if array.ndim != 3 or array.shape[0] != HEADS or array.shape[2] != HEAD_DIM:
            return f"{name} of shape {array.shape}"
    ids = [round(float(x)) for x in keys[0, :, 0] - 1000 * (layer + 1)]
    wanted_keys, wanted_values = arrays_of(layer, ids)
    if keys.shape == wanted_keys.shape and np.allclose(keys, wanted_keys):
        if values.shape == wanted_values.shape and np.allclose(values, wanted_values):
            return ids
        if values.shape != wanted_values.shape:
            return f"keys of {keys.shape[1]} positions, values of {values.shape[1]}"
    return "keys and values of other layers or positions"


def drive(cache_class: Callable, layers: int, steps: Sequence) -> list:
    """Make a cache, do the steps, and return what each gave, in plain words and numbers."""
    try:
        cache = cache_class(layers)
    except NotImplementedError:
        raise
    except Exception as error:
        return [error_text(error)]
    results = []
    for step in steps:
        try:
            results.append(_do(cache, step))
        except NotImplementedError:
            raise
        except Exception as error:
            expected = isinstance(error, ValueError) and isinstance(step, Crop)
            results.append("ValueError" if expected else error_text(error))
    return results


def _do(cache, step):
    if isinstance(step, Length):
        return plain(len(cache))
    if isinstance(step, Crop):
        cache.crop(step.length)
        return "done"
    keys, values = arrays_of(step.layer, step.ids)
    before = keys.copy()
    result = seen_in(cache.append(step.layer, keys, values), step.layer)
    return result if np.array_equal(keys, before) else "changed the arrays it was given"


class _Lists:
    """A right cache in another form, from which the known mistakes are made."""

    def __init__(self, layers):
        self.k = [np.zeros((HEADS, 0, HEAD_DIM)) for _ in range(layers)]
        self.v = [np.zeros((HEADS, 0, HEAD_DIM)) for _ in range(layers)]

    def __len__(self):
        return self.k[-1].shape[1]

    def append(self, layer, keys, values):
        self.k[layer] = np.concatenate([self.k[layer], keys], axis=1)
        self.v[layer] = np.concatenate([self.v[layer], values], axis=1)
        return self.k[layer], self.v[layer]

    def crop(self, length):
        if not 0 <= length <= len(self):
            raise ValueError("outside")
        self.cut(length)

    def cut(self, length):
        self.k = [keys[:, :length] for keys in self.k]
        self.v = [values[:, :length] for values in self.v]


def _cache(**methods) -> type:
    """A cache with some methods replaced by wrong ones."""
    return type("Wrong", (_Lists,), methods)


def _axis_0(self, layer, keys, values):
    if self.k[layer].shape[1]:
        keys = np.concatenate([self.k[layer], keys], axis=0)
        values = np.concatenate([self.v[layer], values], axis=0)
    self.k[layer], self.v[layer] = keys, values
    return keys, values


def _new_only(self, layer, keys, values):
    _Lists.append(self, layer, keys, values)
    return keys, values


def _replace(self, layer, keys, values):
    self.k[layer], self.v[layer] = keys, values
    return keys, values


def _in_front(self, layer, keys, values):
    self.k[layer] = np.concatenate([keys, self.k[layer]], axis=1)
    self.v[layer] = np.concatenate([values, self.v[layer]], axis=1)
    return self.k[layer], self.v[layer]


def _swapped(self, layer, keys, values):
    return _Lists.append(self, layer, keys, values)[::-1]


def _one_layer(self, layer, keys, values):
    return _Lists.append(self, 0, keys, values)


class _Shared(_Lists):
    """All caches of as many layers are one; empty `stored` before a new set of caches."""

    stored: ClassVar[dict] = {}

    def __init__(self, layers):
        fresh = _Lists(layers)
        self.__dict__ = self.stored.setdefault(layers, vars(fresh))


def _cut_keys(self, length):
    self.k = [keys[:, :length] for keys in self.k]


def _cut_first_layer(self, length):
    self.k[0], self.v[0] = self.k[0][:, :length], self.v[0][:, :length]


def _cut_last_layer(self, length):
    self.k[-1], self.v[-1] = self.k[-1][:, :length], self.v[-1][:, :length]


def _keep_newest(self, length):
    start = len(self) - length
    self.k = [keys[:, start:] for keys in self.k]
    self.v = [values[:, start:] for values in self.v]


def _unchecked(self, length):
    _Lists.cut(self, length)


def _check_above(self, length):
    if length > len(self):
        raise ValueError("outside")
    self.cut(length)


def _check_below(self, length):
    if length < 0:
        raise ValueError("outside")
    self.cut(length)


def _not_full_length(self, length):
    if not 0 <= length < len(self):
        raise ValueError("outside")
    self.cut(length)


def _not_zero(self, length):
    if not 0 < length <= len(self):
        raise ValueError("outside")
    self.cut(length)


CACHE_MISTAKES = [
    (
        "append returns the new positions only. The model needs all that the layer holds.",
        _cache(append=_new_only),
    ),
    (
        "append forgets what was there before. Add the new positions behind the old ones.",
        _cache(append=_replace),
    ),
    (
        "positions are joined along the wrong axis. In (kv_heads, T, head_dim) they are axis 1.",
        _cache(append=_axis_0),
    ),
    (
        "the new positions stand in front. They belong behind the old ones.",
        _cache(append=_in_front),
    ),
    ("keys and values are returned in the wrong order.", _cache(append=_swapped)),
    (
        "all layers share one place. Each layer has keys and values of its own.",
        _cache(append=_one_layer),
    ),
    (
        "len(cache) adds up the layers. It is the number of positions in the last layer.",
        _cache(__len__=lambda self: sum(k.shape[1] for k in self.k)),
    ),
    (
        "len(cache) is the number of layers. It is the number of positions in the last layer.",
        _cache(__len__=lambda self: len(self.k)),
    ),
    (
        "len(cache) looks at layer 0. In the middle of a pass the last layer is behind it.",
        _cache(__len__=lambda self: self.k[0].shape[1]),
    ),
    (
        "two caches share what they hold. Make the lists in __init__, one set for each cache.",
        _Shared,
    ),
    ("crop does nothing.", _cache(cut=lambda self, length: None)),
    ("crop cuts the keys and not the values.", _cache(cut=_cut_keys)),
    ("crop cuts the first layer only.", _cache(cut=_cut_first_layer)),
    ("crop cuts the last layer only.", _cache(cut=_cut_last_layer)),
    ("crop keeps the newest positions. It should keep the oldest.", _cache(cut=_keep_newest)),
    (
        "crop(n) takes n positions away. It should keep n.",
        _cache(cut=lambda self, length: _Lists.cut(self, len(self) - length)),
    ),
    ("crop empties the cache.", _cache(cut=lambda self, length: _Lists.cut(self, 0))),
    (
        "crop keeps one position too few.",
        _cache(cut=lambda self, length: _Lists.cut(self, max(length - 1, 0))),
    ),
    (
        "crop keeps one position too many.",
        _cache(cut=lambda self, length: _Lists.cut(self, length + 1)),
    ),
    (
        "a length out of range is not refused. Raise ValueError below 0 and above len(cache).",
        _cache(crop=_unchecked),
    ),
    (
        "a length below 0 is not refused. A slice [:-1] would cut from the end.",
        _cache(crop=_check_above),
    ),
    ("a length above len(cache) is not refused.", _cache(crop=_check_below)),
    (
        "crop(len(cache)) is refused. It keeps all, and that is allowed.",
        _cache(crop=_not_full_length),
    ),
    ("crop(0) is refused. It empties the cache, and that is allowed.", _cache(crop=_not_zero)),
]


@dataclass(frozen=True)
class Scenario:
    """Steps with one cache, and what each should give; append gives the ids it then holds."""

    layers: int
    steps: list
    want: list


KEEP_SCENARIOS = [
    Scenario(
        2,
        [Length(), Append(0, (1, 2, 3)), Length(), Append(1, (1, 2, 3)), Length()],
        [0, [1, 2, 3], 0, [1, 2, 3], 3],
    ),
    Scenario(
        2,
        [*filled(1, 4, 5), *filled(1, 6), *filled(1, 7, 8), Length()],
        [[4, 5], [4, 5], [4, 5, 6], [4, 5, 6], [4, 5, 6, 7, 8], [4, 5, 6, 7, 8], 5],
    ),
    Scenario(1, [Append(0, (9,)), Append(0, (3,)), Length()], [[9], [9, 3], 2]),
]

CROP_SCENARIOS = [
    Scenario(
        2,
        [*filled(1, 1, 2, 3, 4, 5), Crop(3), Length(), *filled(1, 9), Length()],
        [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5], "done", 3, [1, 2, 3, 9], [1, 2, 3, 9], 4],
    ),
    Scenario(
        1,
        [*filled(0, 6, 7), Crop(2), Length(), Crop(0), Length(), *filled(0, 5, 4), Length()],
        [[6, 7], "done", 2, "done", 0, [5, 4], 2],
    ),
    Scenario(
        3,
        [*filled(2, 1, 2), Crop(3), Length(), Crop(-1), Length(), *filled(2, 3)],
        [[1, 2], [1, 2], [1, 2], "ValueError", 2, "ValueError", 2, *[[1, 2, 3]] * 3],
    ),
    Scenario(
        1,
        [Crop(1), Crop(0), Length()],
        ["ValueError", "done", 0],
    ),
]


def check_kv_cache(cache_class, scenarios=KEEP_SCENARIOS, in_model: bool = True) -> None:
    """Check append and len: what a layer holds, in which order, and that a model can use it."""
    _check_scenarios(cache_class, scenarios)
    if in_model:
        _check_in_model(cache_class, [([3, 1, 4], None), ([1], None), ([5, 9], None)])
    print(
        f"✓ KVCache: {count(len(scenarios), 'sequence')} of calls right. A model gives the same "
        "logits with it as without."
    )


def check_kv_cache_crop(cache_class, scenarios=CROP_SCENARIOS, in_model: bool = True) -> None:
    """Check crop: what is kept, what comes after it, and which lengths are refused."""
    _check_scenarios(cache_class, scenarios)
    if in_model:
        _check_in_model(cache_class, [([3, 1, 4, 1], None), ([5, 9], 2), ([2, 6], 3)])
    print(f"✓ KVCache, crop: {count(len(scenarios), 'sequence')} of calls right.")


def _check_scenarios(cache_class, scenarios) -> None:
    try:
        results = [drive(cache_class, s.layers, s.steps) for s in scenarios]
    except NotImplementedError as error:
        raise NotWrittenYet(not_written(str(error))) from None
    for scenario, got in zip(scenarios, results, strict=True):
        if not same(got, scenario.want):
            lines = _told(scenario, got)
            cause = _cache_cause(scenarios, results)
            raise CheckFailed("\n".join(lines + ([f"Likely cause: {cause}"] if cause else [])))


def _told(scenario: Scenario, got: list) -> list[str]:
    lines = [f"✗ cache = KVCache({scenario.layers})"]
    if len(got) < len(scenario.steps):
        return [*lines, f"  raised    {got[0]}"]
    for step, is_, want in zip(scenario.steps, got, scenario.want, strict=True):
        text = str(step) if isinstance(step, Length) else f"cache.{step}"
        if same(is_, want):
            lines.append(f"  {text}" + "  (ValueError, as it should)" * (want == "ValueError"))
            continue
        return [*lines, f"  {text}", f"    gave    {_shown(is_)}", f"    wanted  {_shown(want)}"]
    return lines


def _shown(result) -> str:
    if isinstance(result, list):
        return f"positions {' '.join(map(str, result))}"
    return str(result)


def _cache_cause(scenarios, results) -> str:
    """The cause that gives the same results in all scenarios, if there is exactly one."""
    fitting = []
    for cause, wrong in CACHE_MISTAKES:
        _Shared.stored = {}
        if same([drive(wrong, s.layers, s.steps) for s in scenarios], results):
            fitting.append(cause)
    return fitting[0] if len(fitting) == 1 else ""


def _check_in_model(cache_class, parts) -> None:
    """Run a tiny Llama with the learner's cache; compare with passes over the whole text.

    parts  pairs (tokens to feed, length to crop to before, or None)
    """
    _, target = tiny_pair()
    cache, text = cache_class(target.config.layers), []
    for tokens, crop in parts:
        try:
            if crop is not None:
                cache.crop(crop)
                text = text[:crop]
            logits = target(np.array([tokens]), cache)
        except Exception as error:
            raise CheckFailed(
                f"✗ A small model read {len(text)} tokens with your cache, then "
                f"{count(len(tokens), 'token')} more.\n  raised    {error_text(error)}"
            ) from None
        text = text + tokens
        wanted = target(np.array([text]))[:, -len(tokens) :]
        if logits.shape != wanted.shape or not np.abs(logits - wanted).max() < CLOSE:
            after = " after a crop" if crop is not None else ""
            raise CheckFailed(
                f"✗ A small model read {count(len(text), 'token')} with your cache{after}. Its "
                "logits differ from those of one pass without a cache."
            )


# --- catch_up ----------------------------------------------------------------------------------


class Watched:
    """A model that writes down each pass: the tokens fed, and what its cache held before.

    With a budget, so that a loop that never advances ends with a sentence.
    """

    def __init__(self, model, name: str, budget: int = 400):
        self.model, self.__name__, self.budget = model, name, budget
        self.cache = WatchedCache(model)
        self.passes: list[Pass] = []
        self.partner: Watched | None = None  # for a draft: its target
        self.rounds, self.is_new_round = 0, True  # a target pass after a draft pass begins a round

    def __call__(self, token_ids, cache=None):
        if len(self.passes) >= self.budget:
            raise RuntimeError(
                f"the {self.__name__} made {self.budget} passes, far more than the text needs: "
                "a round adds no token, or the loop waits for a length that it never reaches"
            )
        if cache is not None and cache is not self.cache:
            raise ValueError(f"the {self.__name__} was called with a cache that is not its own")
        fed = np.asarray(token_ids)
        held = None if cache is None else list(self.cache.tokens)
        logits = self.model(fed, cache)
        if cache is not None:
            self.cache.tokens += fed[0].tolist()
        self.passes.append(Pass(fed[0].tolist(), held, self._count_round()))
        return logits

    def _count_round(self) -> int:
        if self.partner is not None:
            self.partner.is_new_round = True
            return self.partner.rounds
        self.rounds += self.is_new_round
        self.is_new_round = False
        return self.rounds - 1


class WatchedCache:
    """A right cache that also knows which tokens it holds."""

    def __init__(self, model):
        self._cache: ModelCache = model.new_cache()
        self.tokens: list[int] = []
        self.refused_length = 0  # a crop asked for more than the cache held

    def __len__(self):
        return len(self._cache)

    def append(self, layer, keys, values):
        """As in KVCache."""
        return self._cache.append(layer, keys, values)

    def crop(self, length):
        """As in KVCache."""
        if length > len(self.tokens):
            self.refused_length = length
        self._cache.crop(length)
        self.tokens = self.tokens[:length]


@dataclass
class Pass:
    """One pass: the tokens fed, and the tokens that the cache held before; None without cache.

    round  number of the round, from 0; a guess that is fed after its pass counts to the next
    """

    fed: list
    held: list | None
    round: int

    @property
    def text(self) -> list:
        return (self.held or []) + self.fed


@dataclass(frozen=True)
class Missing:
    """One call of catch_up: how many of the tokens the cache holds already."""

    token_ids: list
    held: int

    @property
    def refused(self) -> bool:
        return self.held >= len(self.token_ids)


CATCH_UP_CASES = [
    Missing([3, 8, 1, 20, 5, 9], 3),
    Missing([7, 7, 2], 2),
    Missing([4, 9, 11, 2, 6, 1], 0),
    Missing([12], 0),
]
CATCH_UP_REFUSED = [Missing([3, 8, 1], 3), Missing([3, 8], 4)]


def _caught_up(catch_up, case: Missing) -> dict:
    """What one call of catch_up did, in plain words and numbers."""
    _, target = number_pair()
    model = Watched(target, "model")
    before = [*case.token_ids, 1, 2, 3][: case.held]
    if before:
        model(np.array([before]), model.cache)
        model.passes.clear()
    outcome = call(catch_up, (model, model.cache, case.token_ids))
    rows = np.asarray(outcome.value) if isinstance(outcome.value, np.ndarray | list) else None
    return {
        "error": outcome.error,
        "changed": outcome.changed,
        "fed": [p.fed for p in model.passes],
        "uncached": any(p.held is None for p in model.passes),
        "shape": None if rows is None else rows.shape,
        "choices": rows.argmax(axis=-1).tolist() if rows is not None and rows.ndim == 2 else None,
        "length": len(model.cache),
        "none": outcome.value is None,
    }


def _reference_catch_up(model, cache, token_ids):
    missing = token_ids[len(cache) :]
    if not missing:
        raise ValueError("nothing is missing")
    return model(np.array([missing]), cache)[0]


def check_catch_up(catch_up, cases=CATCH_UP_CASES, refused=CATCH_UP_REFUSED) -> None:
    """Check which tokens are fed, in how many passes, what comes back, and what is refused."""
    for case in cases:
        got, want = _caught_up(catch_up, case), _caught_up(_reference_catch_up, case)
        keys = ("error", "changed", "fed", "uncached", "shape", "choices", "length")
        if any(got[key] != want[key] for key in keys):
            raise CheckFailed("\n".join(_catch_up_report(case, got, want)))
    for case in refused:
        got = _caught_up(catch_up, case)
        if not isinstance(got["error"], ValueError) or got["fed"]:
            raise CheckFailed(
                f"✗ {_catch_up_call(case)}\n  {_did(got)}\n  wanted    ValueError and no pass, "
                "since nothing is missing"
            )
    print(
        f"✓ catch_up: {count(len(cases) + len(refused), 'case')} right. Each feeds what is "
        "missing, and nothing twice."
    )


def _catch_up_call(case: Missing) -> str:
    return f"catch_up(model, cache, {show(case.token_ids)}) with {case.held} tokens in the cache"


def _did(got: dict) -> str:
    if got["error"] is not None:
        return f"raised    {error_text(got['error'])}"
    if not got["fed"]:
        return "fed       nothing"
    return "fed       " + ", then ".join(show(tokens) for tokens in got["fed"])


def _catch_up_report(case: Missing, got: dict, want: dict) -> list[str]:
    lines = [f"✗ {_catch_up_call(case)}", f"  {_did(got)}", f"  wanted    {show(want['fed'][0])}"]
    if got["changed"]:
        return [*lines, f"  changed its input: {got['changed']}. Leave token_ids as it is."]
    if got["error"] is not None:
        if "shape (1, T)" in str(got["error"]):
            lines.append("Likely cause: the model takes a batch of one text, np.array([missing]).")
        return lines
    if got["uncached"]:
        return [*lines, "Likely cause: the model was called without the cache. Pass it on."]
    if got["fed"] != want["fed"]:
        return lines + _feeding_cause(case, got["fed"], want["fed"][0])
    if got["length"] != want["length"]:
        return [
            *lines[:2],
            f"  the cache then holds {got['length']} positions, wanted {want['length']}",
        ]
    lines = [lines[0], f"  returned  {_shape_text(got)}", f"  wanted    shape {want['shape']}"]
    if got["none"]:
        return [*lines, "Likely cause: a `return` is missing."]
    if got["shape"] == (1, *want["shape"]):
        return [*lines, "Likely cause: the batch axis is still there. Take [0] of the logits."]
    if got["shape"] == want["shape"][1:] or got["shape"] == (1, want["shape"][1]):
        return [*lines, "Likely cause: only one row is returned. Return a row for each token fed."]
    return lines


def _shape_text(got: dict) -> str:
    if got["none"]:
        return "None"
    if got["shape"] is None:
        return "something that is no array"
    return f"shape {got['shape']}"


def _feeding_cause(case: Missing, fed: list, missing: list) -> list[str]:
    if len(fed) > 1 and [token for part in fed for token in part] == missing:
        return ["Likely cause: one pass for each token. Feed all missing ones in a single pass."]
    if len(fed) == 1 and len(missing) < len(case.token_ids) and fed[0] == case.token_ids:
        return ["Likely cause: the whole text is fed. The cache holds its first tokens already."]
    if len(fed) == 1 and len(missing) > 1 and fed[0] == missing[-1:]:
        return ["Likely cause: only the last token is fed. The cache lacks more than that."]
    if len(fed) == 1 and case.held and fed[0] == case.token_ids[case.held - 1 :]:
        return ["Likely cause: one token too many is fed; the cache holds the first of them."]
    if len(fed) == 1 and len(missing) > 1 and fed[0] == missing[1:]:
        return ["Likely cause: the first missing token is left out."]
    return []


# --- cut_at_eos --------------------------------------------------------------------------------


def _cut(token_ids, eos, room):
    kept = list(token_ids[:room])
    return kept[: kept.index(eos) + 1] if eos in kept else kept


def _until_eos(token_ids, eos):
    return token_ids[: token_ids.index(eos) + 1] if eos in token_ids else list(token_ids)


CUT_MISTAKES = [
    Mistake("the eos is dropped. It is the last token of the text.",
            lambda t, e, r: t[:r][: t[:r].index(e)] if e in t[:r] else t[:r]),
    Mistake("tokens after the eos are kept. The text ends with it.", lambda t, e, r: t[:r]),
    Mistake("room is not looked at. At most `room` tokens are wanted.",
            lambda t, e, r: _until_eos(t, e)),
    Mistake("the last eos ends the text here. The first one does.",
            lambda t, e, r: t[:r][: len(t[:r]) - t[:r][::-1].index(e)] if e in t[:r] else t[:r]),
    Mistake("only an eos at the end is seen. It may stand in the middle of a round.",
            lambda t, e, r: [] if t[-1:] == [e] and False else t[:r]),
    Mistake("eos 0 is taken for no eos. Compare with None, or use `in`.",
            lambda t, e, r: _cut(t, e or None, r)),
    Mistake("one token more than there is room for. Cut at room.",
            lambda t, e, r: _cut(t, e, r + 1)),
    Mistake("the eos gets a place beyond the room. It counts like any token.",
            lambda t, e, r: _until_eos(t, e) if e in t[: r + 1] else t[:r]),
    Mistake("room keeps the newest tokens. Keep the first ones.",
            lambda t, e, r: _cut(t[max(0, len(t) - r):], e, r) if r else []),
    Mistake("without an eos in the tokens nothing is cut. At most `room` are wanted all the same.",
            lambda t, e, r: _cut(t, e, r) if e in t else list(t)),
    Mistake("the eos itself is looked for with index(), which raises when it is not there.",
            lambda t, e, r: t[:r][: t[:r].index(e) + 1]),
    Mistake("a text with an eos is dropped whole. What comes before it stays.",
            lambda t, e, r: [e] if e in t[:r] else t[:r]),
]  # fmt: skip
# The two that keep all after the eos act alike on every case: one is enough.
CUT_MISTAKES = [m for m in CUT_MISTAKES if "only an eos at the end" not in m.cause]

CUT_CASES = [
    Case(([5, 2, 7, 8], 2, 9), [5, 2]),
    Case(([5, 6, 7], 2, 9), [5, 6, 7]),
    Case(([5, 6, 7, 8], 2, 3), [5, 6, 7]),
    Case(([5, 6, 2, 8], 2, 2), [5, 6]),
    Case(([4, 2, 2, 6, 2], 2, 4), [4, 2]),
    Case(([0, 3, 0], 0, 5), [0]),
    Case(([1, 9, 4], None, 2), [1, 9]),
    Case(([1, 2], 2, 2), [1, 2]),
    Case(([8, 2], 2, 0), []),
]


def check_cut_at_eos(cut_at_eos, cases=CUT_CASES) -> None:
    """Check where a round's tokens end: at the first eos, and where the room ends."""
    run_cases(
        "cut_at_eos",
        cut_at_eos,
        cases,
        CUT_MISTAKES,
        "An eos in the middle of a round ends the text there.",
    )


# --- speculative_generate_cached ---------------------------------------------------------------


def never_right() -> TokenModel:
    """A draft for the number pair that always misses."""
    _, target = number_pair()
    return TokenModel("never_right", lambda ids: (target.rule(ids) + 3) % 31, 31)


PAIRS: dict[str, Callable] = {
    "cat": cat_pair,
    "number": number_pair,
    "tiny": tiny_pair,
    "perfect": lambda: (number_pair()[1], number_pair()[1]),
    "hopeless": lambda: (never_right(), number_pair()[1]),
}


@dataclass(frozen=True)
class Expected:
    """What a generation should do, worked out with passes over whole texts.

    starts    for each round the text before it
    proposed  for each round the draft's k guesses
    """

    tokens: list
    accepted: list
    starts: list = field(default_factory=list)
    proposed: list = field(default_factory=list)


@dataclass(frozen=True)
class Generation:
    """One call of speculative_generate_cached with a named pair."""

    pair: str
    prompt: list
    n_tokens: int
    k: int
    eos: int | None = None

    @property
    def text(self) -> str:
        eos = "" if self.eos is None else f", eos={self.eos}"
        return (
            f"speculative_generate_cached({self.pair} draft, {self.pair} target, two caches, "
            f"{show(self.prompt)}, {self.n_tokens}, {self.k}{eos})"
        )

    def models(self) -> tuple[Watched, Watched]:
        """Fresh watched models; the budget is four times what the text needs."""
        draft, target = PAIRS[self.pair]()
        budget = 4 * (self.n_tokens + 2)
        watched = Watched(draft, "draft", budget * (self.k + 1)), Watched(target, "target", budget)
        watched[0].partner = watched[1]
        return watched

    def expected(self) -> Expected:
        """Work out the rounds by passes over whole texts, without any cache."""
        draft, target = PAIRS[self.pair]()
        text, accepted, starts, guesses = list(self.prompt), [], [], []
        end = len(self.prompt) + self.n_tokens
        while len(text) < end:
            proposed = []
            for _ in range(self.k):
                proposed.append(_choices(draft, text + proposed)[-1])
            emitted = verify_greedy(proposed, _choices(target, text + proposed)[-self.k - 1 :])
            starts.append(list(text))
            guesses.append(proposed)
            accepted.append(len(emitted) - 1)
            new = _cut(emitted, self.eos, end - len(text))
            text += new
            if new[-1] == self.eos:
                break
        return Expected(text[len(self.prompt) :], accepted, starts, guesses)


def _choices(model, token_ids) -> list[int]:
    return model(np.array([token_ids]))[0].argmax(axis=-1).tolist()


@dataclass
class Run:
    """One generation of the learner's: what came back, and what the models saw."""

    case: Generation
    want: Expected
    outcome: object
    draft: Watched
    target: Watched

    @property
    def pair(self):
        """The returned (token_ids, accepted), or None when it is not such a pair."""
        value = plain(self.outcome.value)
        shaped = isinstance(value, list) and len(value) == 2
        return value if shaped and all(isinstance(part, list) for part in value) else None

    @property
    def tokens(self):
        return self.pair[0] if self.pair else None


def run_generation(generate, case: Generation) -> Run:
    """Run the learner's generator with watched models and caches."""
    draft, target = case.models()
    args = (draft, target, draft.cache, target.cache, case.prompt, case.n_tokens, case.k)
    if case.eos is not None:
        args = (*args, case.eos)
    return Run(case, case.expected(), call(generate, args), draft, target)


GENERATE_CASES = [
    Generation("cat", [0], 12, 3),
    Generation("number", [4, 9], 14, 3),
    Generation("tiny", [3, 1], 12, 2),
    Generation("hopeless", [5], 4, 2),
]
GENERATE_EDGES = [
    Generation("number", [2], 0, 3),
    Generation("number", [2], 5, 0),
    Generation("number", [7, 1], 3, 5),
    Generation("cat", [0], 12, 3, eos=4),
    Generation("cat", [0], 9, 3, eos=6),
]
CACHE_CASES = [
    Generation("cat", [0], 12, 3),
    Generation("number", [6, 2, 8], 14, 3),
    Generation("tiny", [3, 1], 10, 2),
    Generation("perfect", [5], 8, 3),
    Generation("hopeless", [1, 2], 4, 2),
]


HELPERS = {"catch_up": check_catch_up, "cut_at_eos": check_cut_at_eos}


def _blame(generate, helpers: dict[str, Callable]) -> str:
    """Name an earlier function of the learner's that is wrong and that the generator calls."""
    for name, helper in helpers.items():
        if calls_by_name(generate, name):
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    HELPERS[name](helper)
            except (CheckFailed, NotWrittenYet):
                return f"First repair {name}: it fails its own check, and this function calls it."
    return ""


def check_speculative_generate_cached(generate, helpers=None, cases=GENERATE_CASES) -> None:
    """Check the text: the target's own, whatever the draft says.

    helpers  {name: function}: the learner's catch_up and cut_at_eos, to name the one at fault
    """
    _check_texts(generate, helpers or {}, cases)
    print(
        f"✓ speculative_generate_cached: {count(len(cases), 'text')} right, each the target's own."
    )


def check_speculative_generate_cached_edges(generate, helpers=None, cases=GENERATE_EDGES) -> None:
    """Check the edges: no tokens, k of 0, a draft longer than the text, eos, negatives."""
    _check_texts(generate, helpers or {}, cases)
    for n_tokens, k in ((-1, 3), (3, -1)):
        draft, target = Generation("number", [1], 1, 1).models()
        outcome = call(generate, (draft, target, draft.cache, target.cache, [1], n_tokens, k))
        if not isinstance(outcome.error, ValueError):
            name = "n_tokens" if n_tokens < 0 else "k"
            got = error_text(outcome.error) if outcome.error else show(outcome.value)
            raise CheckFailed(
                f"✗ speculative_generate_cached(…, [1], {n_tokens}, {k})\n"
                f"  gave      {got}\n  wanted    ValueError, since {name} is negative"
            )
    print("✓ speculative_generate_cached, edges: right. Negative n_tokens or k raise ValueError.")


def _check_texts(generate, helpers, cases) -> None:
    for case in cases:
        run = run_generation(generate, case)
        if run.tokens != run.want.tokens or run.outcome.changed:
            raise CheckFailed("\n".join(_text_report(run, _blame(generate, helpers))))


def _text_report(run: Run, blame: str) -> list[str]:
    case, want = run.case, run.want
    lines = [f"✗ {case.text}", f"  {_gave(run)}", f"  wanted    {show(want.tokens)}"]
    if run.outcome.changed:
        return [
            *lines,
            f"  changed its prompt: {run.outcome.changed}. Work on a copy: list(prompt).",
        ]
    cause = blame or _text_cause(run)
    return lines + ([cause] if cause else [])


def _gave(run: Run) -> str:
    if run.outcome.error is not None:
        return f"raised    {type(run.outcome.error).__name__}: {run.outcome.error}"
    if run.pair is None:
        return f"returned  {show(run.outcome.value)}"
    return f"returned  {show(run.tokens)} as the text"


def _text_cause(run: Run) -> str:
    """Name the cause of a wrong text, where the result or the passes show it."""
    case, want, tokens, error = run.case, run.want, run.tokens, run.outcome.error
    if error is not None and not isinstance(error, ValueError):
        return ""
    from_cache = _cache_cause_of(run)
    if error is not None:
        return from_cache or _draft_error_cause(run)
    if from_cache:
        return from_cache
    if run.pair is None:
        return "Return a pair: the list of new tokens, and the list of accepted counts."
    if tokens == case.prompt + want.tokens:
        return "The prompt is returned too. Return the new tokens only."
    if case.eos is not None and case.eos in tokens[:-1]:
        return "The text goes on after eos. Cut each round with cut_at_eos, then stop."
    if tokens[: len(want.tokens)] == want.tokens:
        return "The last round's extra tokens are returned too. Cut each round with cut_at_eos."
    return ""


def _cache_cause_of(run: Run) -> str:
    """Say what was wrong with the target's cache at its first pass over anything but the text.

    The tokens fed follow what the cache held, so together they must be the text and the guesses.
    """
    starts = run.want.starts
    for number, this in enumerate(run.target.passes):
        if this.held is None:
            return "The target was called without its cache."
        if number >= len(starts):
            return ""
        true = starts[number] + run.want.proposed[number]
        if this.text == true or number == 0:
            continue
        if this.held != true[: len(this.held)]:
            rejected = len(this.held) - _common(this.held, true)
            return (
                f"Before pass {number + 1} the target's cache held {len(this.held)} tokens, and "
                f"the last {rejected} of them are not in the text: rejected guesses. Crop the "
                "cache to the text without its newest token."
            )
        if len(this.text) < len(true) and this.held == true[: len(this.held)]:
            return (
                f"In pass {number + 1} a token of the text is missing: the target's cache held "
                f"{len(this.held)} tokens, the text {len(starts[number])}, and the target was fed "
                f"{len(this.fed)}. Feed all that the cache lacks."
            )
    return ""


def _draft_error_cause(run: Run) -> str:
    """Say what the draft's cache held when the generator raised, where that explains it."""
    cache, rounds = run.draft.cache, len(run.target.passes)
    if cache.refused_length:
        return (
            f"The draft's cache held {len(cache)} tokens, and a crop asked for "
            f"{cache.refused_length}. After full acceptance the draft's cache is one shorter; "
            "leave it."
        )
    if not 0 < rounds < len(run.want.starts):
        return ""
    true = run.want.starts[rounds] + run.want.proposed[rounds]
    rejected = len(cache) - _common(cache.tokens, true)
    if not rejected:
        return ""
    are = "the last is" if rejected == 1 else f"the last {rejected} are"
    return (
        f"Before pass {rounds + 1} the draft's cache held {count(len(cache), 'token')}, and {are} "
        "not in the text: rejected guesses. Crop the draft's cache too."
    )


def _common(a, b) -> int:
    same_ = 0
    while same_ < min(len(a), len(b)) and a[same_] == b[same_]:
        same_ += 1
    return same_


def check_speculative_generate_cached_caches(generate, helpers=None, cases=CACHE_CASES) -> None:
    """Check passes, rows, acceptance and what both caches hold, at each round and at the end."""
    helpers = helpers or {}
    for case in cases:
        run = run_generation(generate, case)
        if run.tokens != run.want.tokens:
            cause = (
                _blame(generate, helpers)
                or _text_cause(run)
                or "First repair the text; the first check is about it."
            )
            raise CheckFailed(f"✗ {case.text}\n  {_gave(run)}\n{cause}")
        fault = _cache_fault(run)
        if fault:
            raise CheckFailed(f"✗ {case.text}\n{fault}\n{_blame(generate, helpers)}".rstrip())
    print(
        f"✓ speculative_generate_cached, caches: {count(len(cases), 'text')} in as few passes and "
        "rows as can be; both caches hold the text, and nothing else."
    )


def _cache_fault(run: Run) -> str:
    """The first thing wrong with passes, rows, acceptance or caches; "" when all is right."""
    case, want = run.case, run.want
    rounds = len(want.starts)
    return (
        _uncached_fault(run)
        or _draft_fault(run)
        or _pass_fault(run, rounds)
        or _row_fault(run)
        or _accepted_fault(run)
        or _held_at_end("target", run, case.prompt + want.tokens)
        or _held_at_end("draft", run, case.prompt + want.tokens)
        or _content_fault(run)
    )


def _uncached_fault(run: Run) -> str:
    for model in (run.target, run.draft):
        if any(p.held is None for p in model.passes):
            return f"The {model.__name__} was called without its cache."
    return ""


def _pass_fault(run: Run, rounds: int) -> str:
    took = len(run.target.passes)
    if took == rounds:
        return ""
    lines = f"  took      {took} target passes\n  wanted    {rounds}"
    if not run.draft.passes and run.case.k:
        return lines + "\nThe draft was never asked."
    if took > rounds and any(len(p.fed) == 1 for p in run.target.passes[1:]) and run.case.k:
        return (
            lines + "\nThe target read guesses one at a time. Feed all k in one pass, with the "
            "newest token before them."
        )
    return lines


def _row_fault(run: Run) -> str:
    """Each pass after the first reads the newest token and the k guesses, and no more."""
    for number, this in enumerate(run.target.passes):
        want = len(run.want.starts[number]) + run.case.k if number == 0 else 1 + run.case.k
        if len(this.fed) != want:
            return (
                f"  target pass {number + 1} read {count(len(this.fed), 'row')}\n"
                f"  wanted    {want}: "
                f"{'the prompt' if number == 0 else 'the newest token'} and {run.case.k} guesses\n"
                f"Before it the target's cache held {len(this.held)} tokens, and the text had "
                f"{len(run.want.starts[number])}."
            )
    return ""


def _draft_fault(run: Run) -> str:
    """The draft reads each token of the text once, and is never asked about another text."""
    texts = [
        start + proposed for start, proposed in zip(run.want.starts, run.want.proposed, strict=True)
    ]
    for this in run.draft.passes:
        where = min(this.round, len(texts) - 1)
        true = texts[where]
        if this.text != true[: len(this.text)]:
            kept = _common(this.held, true)
            if kept < len(this.held):
                return (
                    f"In round {where + 1} the draft's cache held "
                    f"{count(len(this.held) - kept, 'token')} that are not in the text: rejected "
                    "guesses. The text stays right, but the draft guesses after another text."
                )
            return (
                f"In round {where + 1} the draft was fed {show(this.fed)} behind "
                f"{len(this.held)} cached tokens: a token of the text is missing in between. Feed "
                "all that the cache lacks; after full acceptance that is two tokens."
            )
        # The first pass of a round has at most the newest token and the round's last guess to read.
        if where and len(this.fed) > 2:
            return (
                f"In round {where + 1} the draft read {len(this.fed)} tokens at once, and its "
                f"cache held {len(this.held)}. It had read most of them before: crop, do not start "
                "anew."
            )
    limit = (run.case.k + 1) * len(texts)
    if len(run.draft.passes) > limit:
        return (
            f"  took      {len(run.draft.passes)} draft passes\n  wanted    at most {run.case.k} a "
            "round"
        )
    return ""


def _accepted_fault(run: Run) -> str:
    accepted, want = run.pair[1], run.want.accepted
    if accepted == want:
        return ""
    text = f"  accepted  {show(accepted)}\n  wanted    {show(want)}"
    if accepted == [a + 1 for a in want]:
        return text + "\nThe target's own token is counted too. It is emitted, not accepted."
    if accepted == _counted_after_cut(run):
        return text + "\nThe count is taken after the cut. Take it before the round is cut."
    return text


def _counted_after_cut(run: Run) -> list[int]:
    """The counts of a generator that takes them from the cut round."""
    lengths = [len(start) for start in run.want.starts]
    ends = [*lengths[1:], len(run.case.prompt) + len(run.want.tokens)]
    return [end - start - 1 for start, end in zip(lengths, ends, strict=True)]


def _held_at_end(name: str, run: Run, text: list) -> str:
    """After the last round a cache holds the text without its newest token, or less by one."""
    held = (run.target if name == "target" else run.draft).cache.tokens
    if not run.want.starts or (name == "draft" and not run.case.k):
        return ""
    least = len(text) - 1 if name == "target" else min(len(run.want.starts[-1]), len(text) - 1)
    if held == text[: len(held)] and least <= len(held) <= len(text) - 1:
        return ""
    wanted = f"{len(text) - 1}" if name == "target" else f"{least} to {len(text) - 1}"
    return (
        f"  the {name}'s cache holds {len(held)} tokens at the end, the text has {len(text)}\n"
        f"  wanted    {wanted}: tokens of the text, without the newest. Crop after the last round "
        "too."
    )


def _content_fault(run: Run) -> str:
    """What the target's cache holds must equal what one fresh pass over the text would store."""
    model, cache = run.target.model, run.target.cache
    if not len(cache):
        return ""
    fresh = model.new_cache()
    model(np.array([cache.tokens]), fresh)
    stored, wanted = cache._cache, fresh
    length = len(cache)
    keys = np.abs(stored._keys[:, :, :length] - wanted._keys[:, :, :length]).max()
    values = np.abs(stored._values[:, :, :length] - wanted._values[:, :, :length]).max()
    if max(keys, values) < CLOSE:
        return ""
    return "The target's cache holds other numbers than a fresh pass over the text would store."


# --- acceptance_by_position --------------------------------------------------------------------


def _share(passed, tested, never=None):
    return passed / tested if tested else never


ACCEPTANCE_MISTAKES = [
    Mistake(
        "each place is divided by all rounds. Divide by the rounds that tested it.",
        lambda acc, k: [_share(sum(a > i for a in acc), len(acc)) for i in range(k)],
    ),
    Mistake(
        "rounds that ended before the place count as tested. Only those that accepted all guesses "
        "before it are.",
        lambda acc, k: [_share(sum(a > i for a in acc), sum(a >= i - 1 for a in acc))
                        for i in range(k)],
    ),
    Mistake(
        "these are counts. Divide by the rounds that tested the place.",
        lambda acc, k: [sum(a > i for a in acc) for i in range(k)],
    ),
    Mistake(
        "a place that no round tested gives 0. Nothing is known about it: None.",
        lambda acc, k: [_share(sum(a > i for a in acc), sum(a >= i for a in acc), 0.0)
                        for i in range(k)],
    ),
    Mistake(
        "it is one place off: a round with count a accepted the places 0 to a - 1.",
        lambda acc, k: [_share(sum(a > i + 1 for a in acc), sum(a >= i + 1 for a in acc))
                        for i in range(k)],
    ),
    Mistake(
        "these are the rounds that ended at each place. Count those that went beyond it.",
        lambda acc, k: [_share(sum(a == i for a in acc), sum(a >= i for a in acc))
                        for i in range(k)],
    ),
    Mistake(
        "a round without a rejection is left out. It accepted every place.",
        lambda acc, k: [_share(sum(k > a > i for a in acc), sum(k > a >= i for a in acc))
                        for i in range(k)],
    ),
    Mistake(
        "places from k on are listed, or the last is missing. There are k of them.",
        lambda acc, k: [_share(sum(a > i for a in acc), sum(a >= i for a in acc))
                        for i in range(k - 1)],
    ),
    Mistake(
        "this is one number for all places. Give a list, one share for each place.",
        lambda acc, k: _share(sum(acc), k * len(acc)),
    ),
    Mistake(
        "a place that no round tested divides by zero. Give None there.",
        lambda acc, k: [sum(a > i for a in acc) / sum(a >= i for a in acc) for i in range(k)],
    ),
]  # fmt: skip

ACCEPTANCE_CASES = [
    Case(([3, 0, 2, 3], 3), [3 / 4, 1.0, 2 / 3]),
    Case(([1, 0, 2, 4, 1, 4], 4), [5 / 6, 3 / 5, 2 / 3, 1.0]),
    Case(([2, 2, 2], 2), [1.0, 1.0]),
    Case(([0, 0], 3), [0.0, None, None]),
    Case(([1, 0], 3), [0.5, 0.0, None]),
    Case(([], 2), [None, None]),
    Case(([0, 0, 0], 0), []),
]


def check_acceptance_by_position(acceptance_by_position, cases=ACCEPTANCE_CASES) -> None:
    """Check the shares, place by place, among the rounds that tested the place."""
    run_cases(
        "acceptance_by_position",
        acceptance_by_position,
        cases,
        ACCEPTANCE_MISTAKES,
        "A right program with a steady draft gives nearly level bars.",
    )
