"""Frames and values: the only things that cross between student code and tests.

A frame is a fixed header (magic with version, two lengths), a JSON text and a block of raw bytes
for arrays. Values are JSON scalars or tagged lists such as ["t", [1, 2]] for the tuple (1, 2).
Decoding builds exact built-in types and numeric arrays, checks every length, and runs no code of
the sender. Anything else than well-formed input raises `WireError`.
"""

import json
import math
import os
import struct
from collections import namedtuple
from decimal import Decimal
from fractions import Fraction

import numpy as np

MAGIC = b"grd1"
HEADER = struct.Struct(">4sII")
MAX_JSON = 8 << 20
MAX_BLOB = 64 << 20
MAX_DEPTH = 60
MAX_NODES = 1_000_000
MAX_INT_DIGITS = 4000

_DTYPES = frozenset(
    f"{order}{kind}{size}"
    for order, kind, size in [
        ("|", "b", 1), ("|", "i", 1), ("|", "u", 1),
        *[("<", kind, size) for kind in "iu" for size in (2, 4, 8)],
        *[("<", "f", size) for size in (2, 4, 8)],
        *[("<", "c", size) for size in (8, 16)],
    ]
)  # fmt: skip
_encoder = json.JSONEncoder(separators=(",", ":"), check_circular=False)
_from_json = json.JSONDecoder().raw_decode
_SCALARS = frozenset({type(None), bool, int, float, str})  # are JSON as they are
_MAX_TEXT_ITEM = 1024  # characters in one item of a text array
_NAMED_TYPES = {
    t.__name__: t for t in (bool, int, float, complex, str, bytes, list, tuple, dict, set)
}
_NUMPY_NAMES = (
    "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128", "ndarray",
)  # fmt: skip
_NAMED_TYPES |= {f"numpy.{name}": getattr(np, name) for name in _NUMPY_NAMES}
_TYPE_NAMES = {t: name for name, t in _NAMED_TYPES.items()}


def _json_writer():
    """Return a function that gives a value's JSON text.

    JSONEncoder.encode makes its fast encoder anew at every call, which costs more than a small
    message itself; this one is made once.
    """
    make = json.encoder.c_make_encoder
    if make is None:
        return _encoder.encode
    fast = make(None, _encoder.default, json.encoder.encode_basestring_ascii, None, ":", ",",
                False, False, True)  # fmt: skip
    return lambda value: "".join(fast(value, 0))


_to_json = _json_writer()


class WireError(Exception):
    """The other side sent something that is not a well-formed frame or value."""


class LostError(BaseException):
    """The other side is gone. Not an `Exception`, so that `except Exception` lets it pass."""


class TooBigError(ValueError):
    """A value is too large or too deep to cross."""


class Channel:
    """Frames over a pair of file descriptors (the same one twice for a socket)."""

    def __init__(self, read_fd, write_fd):
        self.read_fd, self.write_fd = read_fd, write_fd
        self._waiting = b""  # bytes read beyond the last frame

    def send(self, message, blob=b""):
        """Send one frame. Raises TooBigError for one above the limits, LostError at the end."""
        try:
            text = _to_json(message).encode()
        except ValueError as error:
            raise TooBigError("a number with too many digits can't be passed on") from error
        if len(text) > MAX_JSON or len(blob) > MAX_BLOB:
            raise TooBigError(f"a value of {len(text) + len(blob)} bytes is too large to pass on")
        data = HEADER.pack(MAGIC, len(text), len(blob)) + text
        try:
            _write_all(self.write_fd, data + blob if blob else data)
        except OSError as error:
            raise LostError("the connection ended") from error

    def receive(self):
        """Return (message, blob) of the next frame; raise WireError or LostError."""
        data, self._waiting = self._waiting or self._read_some(HEADER.size), b""
        if len(data) < HEADER.size:
            data = self._read_on(data, HEADER.size)
        magic, text_length, blob_length = HEADER.unpack_from(data)
        if magic != MAGIC:
            raise WireError("not a frame of this protocol")
        if text_length > MAX_JSON or blob_length > MAX_BLOB:
            raise WireError("a frame above the size limit")
        text_end = HEADER.size + text_length
        end = text_end + blob_length
        if len(data) < end:
            data = self._read_on(data, end)
        if len(data) > end:
            self._waiting = data[end:]
        try:
            text = data[HEADER.size : text_end].decode()
            message, length = _from_json(text)
        except (ValueError, RecursionError) as error:
            raise WireError("a frame that is not JSON") from error
        if length != len(text):
            raise WireError("a frame with more than its JSON")
        return message, data[text_end:end]

    @property
    def has_more(self):
        """Whether bytes beyond the last frame have been read already."""
        return bool(self._waiting)

    def close(self):
        """Close the descriptors; closing twice is fine."""
        for fd in {self.read_fd, self.write_fd} - {None}:
            os.close(fd)
        self.read_fd = self.write_fd = None

    def _read_on(self, data, length):
        """Return `data` and what follows it, at least `length` bytes."""
        parts, missing = [data], length - len(data)
        while missing > 0:
            parts.append(self._read_some(missing))
            missing -= len(parts[-1])
        return b"".join(parts)

    def _read_some(self, wanted):
        if self.read_fd is None:
            raise LostError("the connection is closed")
        try:
            part = os.read(self.read_fd, max(wanted, 1 << 14))
        except OSError as error:
            raise LostError("the connection ended") from error
        if not part:
            raise LostError("the connection ended")
        return part


def _write_all(fd, data):
    if fd is None:
        raise OSError("closed")
    written = os.write(fd, data)
    while written < len(data):
        written += os.write(fd, memoryview(data)[written:])


class Encoder:
    """Turns one message's values into JSON parts and a block of bytes.

    foreign(obj)  called for every object that is not plain data; returns a tagged list
    known         {id(container): number} of containers that the other side knows by number
    """

    blob_length = 0
    _depth = 0

    def __init__(self, foreign, known=None):
        self.foreign, self.known = foreign, known
        self.mutables = []  # containers in the order in which the decoder will meet them
        self.blobs = []

    def blob(self):
        """Return the block of bytes to send beside the JSON."""
        return b"".join(self.blobs) if self.blobs else b""

    def encode(self, value):
        """Return the JSON form of `value`; raises TooBigError for one too deep or too large."""
        kind = type(value)
        if kind in _SCALARS:
            return value
        if self.known and id(value) in self.known:
            return ["arg", self.known[id(value)]]
        method = _ENCODERS.get(kind)
        return self._other(value, kind) if method is None else method(self, value)

    def contents(self, value):
        """Return the JSON form of a container itself, though the other side knows its number."""
        number = self.known.pop(id(value), None)
        try:
            return self.encode(value)
        finally:
            if number is not None:
                self.known[id(value)] = number

    def items(self, values):
        """Return the JSON forms of several values."""
        if type(values) in (list, tuple) and _SCALARS.issuperset(map(type, values)):
            return list(values)
        self._depth += 1  # values nested in each other come through here, level by level
        if self._depth > MAX_DEPTH:
            raise TooBigError(f"a value nested more than {MAX_DEPTH} deep can't be passed on")
        found = [self.encode(item) for item in values]
        self._depth -= 1
        return found

    def _list(self, value):
        self.mutables.append(value)
        return ["l", self.items(value)]

    def _sequence(self, tag, base, value):
        if tag in "ls":
            self.mutables.append(value)
        return [tag, self.items(value if type(value) is base else base.__iter__(value))]

    def _bytearray(self, value):
        self.mutables.append(value)
        return ["B", *self._add(bytes(value))]

    def _dict(self, value):
        self.mutables.append(value)
        parts = iter(self.items(part for pair in dict.items(value) for part in pair))
        return ["d", [[key, part] for key, part in zip(parts, parts, strict=True)]]

    def _other(self, value, kind):
        if value is Ellipsis:
            return ["E"]
        if kind is type and value in _TYPE_NAMES:
            return ["T", _TYPE_NAMES[value]]
        if issubclass(kind, np.generic) and _dtype_name(value.dtype):
            return ["n", _dtype_name(value.dtype), *self._add(value.tobytes())]
        return self._subclass(value, kind)

    def _subclass(self, value, kind):
        """Send a subclass of a built-in by its built-in content, whatever it overrides."""
        fields = getattr(kind, "_fields", None)
        if issubclass(kind, tuple) and _are_names(fields) and len(fields) == tuple.__len__(value):
            return ["N", kind.__name__, list(fields), self.items(tuple.__iter__(value))]
        if issubclass(kind, bool | int):
            return int.__add__(value, 0)
        if issubclass(kind, float):
            return float.__mul__(value, 1.0)
        if issubclass(kind, str):
            return str.__getitem__(value, slice(None)) + ""
        if issubclass(kind, dict):
            return self._dict(value)
        for base, tag in ((list, "l"), (tuple, "t"), (set, "s"), (frozenset, "f")):
            if issubclass(kind, base):
                return self._sequence(tag, base, value)
        return self.foreign(value)

    def _array(self, value):
        name = _dtype_name(value.dtype)
        if name is None:
            return self.foreign(value)
        self.mutables.append(value)
        data = np.ascontiguousarray(value).astype(name, copy=False).tobytes()
        return ["a", name, list(value.shape), *self._add(data)]

    def _add(self, data):
        start = self.blob_length
        if start + len(data) > MAX_BLOB:
            raise TooBigError(f"more than {MAX_BLOB >> 20} MB in one value can't be passed on")
        self.blobs.append(data)
        self.blob_length += len(data)
        return start, len(data)


_ENCODERS = {
    list: Encoder._list,
    tuple: lambda self, value: self._sequence("t", tuple, value),
    set: lambda self, value: self._sequence("s", set, value),
    frozenset: lambda self, value: self._sequence("f", frozenset, value),
    dict: Encoder._dict,
    bytes: lambda self, value: ["b", *self._add(value)],
    bytearray: Encoder._bytearray,
    np.ndarray: Encoder._array,
    complex: lambda self, value: ["c", value.real, value.imag],
    range: lambda self, value: ["r", value.start, value.stop, value.step],
    slice: lambda self, value: ["S", self.items((value.start, value.stop, value.step))],
    Fraction: lambda self, value: ["F", value.numerator, value.denominator],
    Decimal: lambda self, value: ["D", str(value)],
}


def _dtype_name(dtype):
    if dtype.kind == "U" and 0 < dtype.itemsize <= 4 * _MAX_TEXT_ITEM:
        return f"<U{dtype.itemsize // 4}"
    name = dtype.newbyteorder("<").str
    return name if name in _DTYPES else None


def _are_names(fields):
    return (
        isinstance(fields, tuple | list)
        and 0 < len(fields) <= 64
        and all(type(f) is str and f.isidentifier() and not f.startswith("_") for f in fields)
        and len(set(fields)) == len(fields)
    )


class Decoder:
    """Turns JSON parts and a block of bytes into values.

    blob          the frame's bytes
    resolve(tag, *parts)  called for tags that name objects; returns one or raises WireError
    known         containers that the other side knows by number
    """

    _nodes = 0

    def __init__(self, blob, resolve, known=()):
        self.blob, self.resolve, self.known = blob, resolve, known
        self.mutables = []

    def decode(self, part, depth=0):
        """Return the value of one JSON part; raises WireError for anything malformed."""
        self._nodes += 1
        if self._nodes > MAX_NODES or depth > MAX_DEPTH + 2:
            raise WireError("a value above the limits")
        kind = type(part)
        if kind in _SCALARS:
            return part
        if kind is not list or not part or type(part[0]) is not str:
            raise WireError("a value without a tag")
        method = _DECODERS.get(part[0])
        try:
            if method is None:
                return self.resolve(*part)
            return method(self, depth + 1, *part[1:])
        except (TypeError, ValueError, KeyError, IndexError, OverflowError, ArithmeticError,
                MemoryError) as error:  # fmt: skip
            raise WireError(f"a malformed value of kind {part[0][:8]!r}") from error

    def items(self, parts, depth=1):
        """Return the values of a list of JSON parts."""
        if type(parts) is not list:
            raise WireError("a list was expected")
        if _SCALARS.issuperset(map(type, parts)):
            self._nodes += len(parts)
            return parts
        return [self.decode(item, depth) for item in parts]

    def _known(self, _depth, number):
        if type(number) is not int or not 0 <= number < len(self.known):
            raise WireError("a container that was never passed")
        return self.known[number]

    def _mutable(self, container):
        self.mutables.append(container)
        return container

    def _list(self, depth, parts):
        found = self._mutable([])
        found += self.items(parts, depth)
        return found

    def _dict(self, depth, parts):
        found = self._mutable({})
        for key, value in parts:
            key = self.decode(key, depth)
            found[key] = self.decode(value, depth)
        return found

    def _set(self, depth, parts):
        found = self._mutable(set())
        found.update(self.items(parts, depth))
        return found

    def _named_tuple(self, depth, name, fields, parts):
        if type(name) is not str or not name.isidentifier() or not _are_names(fields):
            raise WireError("a malformed named tuple")
        return namedtuple(name, fields)(*self.items(parts, depth))

    def _slice(self, depth, parts):
        return slice(*self.items(parts, depth))

    def _bytes(self, _depth, start, length):
        if not (_is_count(start) and _is_count(length) and start + length <= len(self.blob)):
            raise WireError("bytes outside the frame")
        return self.blob[start : start + length]

    def _bytearray(self, depth, start, length):
        return self._mutable(bytearray(self._bytes(depth, start, length)))

    def _array(self, depth, dtype, shape, start, length):
        if type(shape) is not list or len(shape) > 32 or not all(map(_is_count, shape)):
            raise WireError("a malformed shape")
        dtype = _checked_dtype(dtype)
        data = self._bytes(depth, start, length)
        if math.prod(shape) * dtype.itemsize != len(data):
            raise WireError("an array whose shape does not fit its bytes")
        return self._mutable(_numbers(data, dtype).reshape(shape).copy())

    def _numpy_scalar(self, depth, dtype, start, length):
        dtype = _checked_dtype(dtype)
        if length != dtype.itemsize:
            raise WireError("a number whose type does not fit its bytes")
        return _numbers(self._bytes(depth, start, length), dtype)[0]


def _is_count(value):
    return type(value) is int and 0 <= value <= MAX_BLOB


def _checked_dtype(name):
    if type(name) is not str or len(name) > 8:
        raise WireError("an unknown array type")
    if name in _DTYPES:
        return np.dtype(name)
    if name.startswith("<U") and name[2:].isdecimal() and 0 < int(name[2:]) <= _MAX_TEXT_ITEM:
        return np.dtype(name)
    raise WireError("an unknown array type")


def _numbers(data, dtype):
    """Return the array in `data`; bytes that no honest sender makes are put right or refused."""
    if dtype.kind == "b":
        return np.frombuffer(data, np.uint8) != 0
    if dtype.kind == "U" and data and int(np.frombuffer(data, "<u4").max()) > 0x10FFFF:
        raise WireError("text with impossible characters")
    return np.frombuffer(data, dtype)


def _exact(kind, *parts):
    if not all(type(part) in (int, kind) for part in parts):
        raise WireError("a number was expected")
    return parts


def _decimal(text):
    if type(text) is not str or len(text) > MAX_INT_DIGITS:
        raise WireError("a malformed decimal")
    return Decimal(text)


_DECODERS = {
    "arg": Decoder._known,
    "l": Decoder._list,
    "t": lambda self, depth, parts: tuple(self.items(parts, depth)),
    "d": Decoder._dict,
    "s": Decoder._set,
    "f": lambda self, depth, parts: frozenset(self.items(parts, depth)),
    "b": Decoder._bytes,
    "B": Decoder._bytearray,
    "a": Decoder._array,
    "n": Decoder._numpy_scalar,
    "N": Decoder._named_tuple,
    "S": Decoder._slice,
    "c": lambda self, depth, re, im: complex(*_exact(float, re, im)),
    "r": lambda self, depth, *ends: range(*_exact(int, *ends)),
    "F": lambda self, depth, *ends: Fraction(*_exact(int, *ends)),
    "D": lambda self, depth, text: _decimal(text),
    "E": lambda self, depth: Ellipsis,
    "T": lambda self, depth, name: _NAMED_TYPES[name],
}
