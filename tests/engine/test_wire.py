"""The protocol: whatever bytes come in, they become plain data or a WireError."""

import contextlib
import json
import os
import socket

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.engine.inside.peer import Peer
from autograder.engine.inside.wire import (
    HEADER,
    MAGIC,
    MAX_JSON,
    Channel,
    Decoder,
    Encoder,
    LostError,
    TooBigError,
    WireError,
)
from autograder.engine.proxies import StudentObject, describe, make_proxy, perform, remote_of

FEW = settings(max_examples=150, deadline=None)
PLAIN = (
    type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset,
    range, slice, type(...), np.ndarray, np.generic, type, StudentObject,
)  # fmt: skip

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.text()
    | st.binary() | st.fractions() | st.decimals(allow_nan=False)
)  # fmt: skip
hashable = st.none() | st.booleans() | st.integers() | st.text() | st.binary()
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.tuples(inner, inner)
        | st.dictionaries(hashable, inner, max_size=4) | st.sets(hashable, max_size=4)
        | st.frozensets(hashable, max_size=4)
    ),
    max_leaves=20,
)  # fmt: skip
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats()
    | st.sampled_from(["l", "t", "d", "s", "f", "b", "B", "a", "n", "N", "S", "c", "r", "F", "D",
                       "E", "T", "h", "own", "arg", "m", "g", "<f8", "|O", "int", "x", "ok",
                       "raise", "stop", "do", "call", "cell", "getattr", "ValueError"]),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=5), inner,
                                                                max_size=3),
    max_leaves=25,
)  # fmt: skip


def _no_objects(obj):
    raise ValueError(f"{type(obj).__name__} is not plain data")


def _no_names(*_):
    raise WireError("no objects here")


def there_and_back(value):
    encoder = Encoder(_no_objects)
    part = json.loads(json.dumps(encoder.encode(value)))
    decoder = Decoder(encoder.blob(), _no_names)
    found = decoder.decode(part)
    assert len(decoder.mutables) == len(encoder.mutables)
    return found


@FEW
@given(values)
def test_plain_values_come_back_the_same(value):
    assert _same(there_and_back(value), value)


def _same(one, other):
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict):
        return _same(list(one.items()), list(other.items()))
    return one == other or repr(one) == repr(other)  # NaN


def _is_plain(value):
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, [*value, *value.values()]))
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufcU"
    return isinstance(value, PLAIN) or type(value).__name__ in ("Fraction", "Decimal")


@FEW
@given(json_values, st.binary(max_size=64))
def test_decoding_ends_in_plain_data_or_a_wire_error(part, blob):
    try:
        found = Decoder(blob, _no_names).decode(part)
    except WireError:
        return
    assert _is_plain(found)


class Script:
    """A channel that plays given replies and remembers what was sent."""

    def __init__(self, replies):
        self.replies, self.sent = list(replies), []

    def send(self, message, blob=b""):
        self.sent.append(message)

    def receive(self):
        if not self.replies:
            raise LostError("no more")
        return self.replies.pop(0)

    def close(self):
        self.replies = []


def _trusted_peer(channel):
    return Peer(channel, describe, make_proxy({}), lambda target, *rest: perform(target, *rest),
                remote_of, keep_errors=True)  # fmt: skip


@FEW
@given(st.lists(st.tuples(json_values, st.binary(max_size=16)), max_size=6))
def test_a_request_survives_any_replies(replies):
    peer = _trusted_peer(Script(replies))
    outcome = None
    with contextlib.suppress(LostError, Exception):
        outcome = peer.request(None, "fetch", [1, 2], {"a": np.zeros(2)})
    assert outcome is None or _is_plain(outcome) or isinstance(outcome, type)


messages = st.one_of(
    st.tuples(st.just("ok"), json_values, json_values).map(list),
    st.tuples(st.just("raise"), json_values, json_values).map(list),
    st.tuples(
        st.just("raise"),
        st.tuples(json_values, json_values, json_values, json_values, json_values,
                  json_values).map(list),
        st.just([]),
    ).map(list),
    st.tuples(st.just("do"), json_values, st.sampled_from(["call", "getattr", "len"]),
              st.lists(json_values, max_size=2), st.just({})).map(list),
    st.just(["stop"]),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(messages, st.binary(max_size=16)), min_size=1, max_size=5))
def test_a_request_survives_replies_of_nearly_the_right_form(replies):
    calls = []
    peer = _trusted_peer(Script(replies))
    with contextlib.suppress(LostError, Exception):
        peer.request(None, "call", lambda *a: calls.append(a), [1])
    assert all(_is_plain(a) for args in calls for a in args if not isinstance(a, type))


@FEW
@given(st.binary(max_size=200))
def test_any_bytes_on_the_socket_are_a_frame_or_an_error(data):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises((WireError, LostError)):
            _receive_all(Channel(ours.fileno(), ours.fileno()))


def _receive_all(channel):
    while True:
        channel.receive()


def test_lengths_above_the_limit_are_refused_before_anything_is_read():
    read, write = os.pipe()
    os.write(write, HEADER.pack(MAGIC, MAX_JSON + 1, 0))
    with pytest.raises(WireError, match="size limit"):
        Channel(read, write).receive()
    os.close(read)
    os.close(write)


def test_deep_json_is_refused():
    read, write = os.pipe()
    text = b"[" * 5000 + b"]" * 5000
    os.write(write, HEADER.pack(MAGIC, len(text), 0) + text)
    channel = Channel(read, write)
    with pytest.raises(WireError):
        Decoder(b"", _no_names).decode(channel.receive()[0])
    channel.close()
    channel.close()


def test_numbers_with_too_many_digits_are_refused():
    read, write = os.pipe()
    with pytest.raises(TooBigError):
        Channel(read, write).send(["ok", 10**5000])
    Channel(read, write).close()


def test_arrays_that_are_too_large_are_refused():
    with pytest.raises(TooBigError):
        Encoder(_no_objects).encode(np.zeros((64 << 20) // 8 + 1))


def test_values_too_deep_are_refused_by_both_sides():
    deep = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(TooBigError):
        Encoder(_no_objects).encode(deep)
    part = 0
    for _ in range(100):
        part = ["l", [part]]
    with pytest.raises(WireError):
        Decoder(b"", _no_names).decode(part)


def test_truth_values_in_arrays_are_put_right():
    found = Decoder(b"\x02\x00", _no_names).decode(["a", "|b1", [2], 0, 2])
    assert found.tobytes() == b"\x01\x00"


def test_impossible_characters_in_text_arrays_are_refused():
    with pytest.raises(WireError):
        Decoder(b"\xff\xff\xff\xff", _no_names).decode(["a", "<U1", [1], 0, 4])


@pytest.mark.parametrize("name", ["__globals__", "_private", "gi_frame", "f_locals", "tb_frame"])
def test_insides_of_the_tests_objects_can_not_be_read(name):
    def generator():
        yield 1

    with pytest.raises(AttributeError):
        perform(generator(), "getattr", [name], {})


@pytest.mark.parametrize("obj", [eval, open, getattr, type, object, os.listdir])
def test_built_in_functions_are_not_run_for_student_code(obj):
    with pytest.raises(AttributeError):
        perform(obj, "call", ["1"], {})


@pytest.mark.parametrize("operation", ["setattr", "delattr", "setitem", "special", "repr", "x"])
def test_objects_of_the_tests_can_not_be_changed(operation):
    with pytest.raises(AttributeError):
        perform([1], operation, ["x", 1], {})
