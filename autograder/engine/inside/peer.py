"""Calls in both directions over one channel.

Each side exports its own objects by number and reaches the other's by number. A request is
answered by one reply; while it runs, the other side may send requests of its own, so calls nest
as they would in one process. Containers that are passed travel by value, and what the call did
to them is copied back afterwards.
"""

import builtins
import operator

import numpy as np

from .wire import Channel, Decoder, Encoder, TooBigError, WireError

MAX_NESTING = 150
MAX_EXPORTS = 100_000
MAX_MESSAGE = 2000

# Errors that arrive under their own name. OSError and its kin choose their class themselves.
_ERRORS = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Exception)
} | {"LinAlgError": np.linalg.LinAlgError}
_FUSSY = ("UnicodeDecodeError", "UnicodeEncodeError", "UnicodeTranslateError", "ExceptionGroup")


class Remote:
    """Where a proxy's object lives: the peer to ask, its number there, and what was said of it."""

    __slots__ = ("info", "number", "peer")

    def __init__(self, peer, number, info):
        self.peer, self.number, self.info = peer, number, info


class Peer:
    """One end of a conversation.

    channel   the Channel
    describe  describe(obj) -> info dict, sent with each exported object
    proxy     proxy(Remote) -> what stands for the other side's object here
    perform   perform(obj, operation, args, kwargs) -> result of a request on an exported object
    remote_of remote_of(obj) -> its Remote when obj is a proxy, else None
    keep_errors  send errors by number, so that one which comes back is the same object again
    """

    def __init__(self, channel: Channel, describe, proxy, perform, remote_of, keep_errors=False):
        self.channel = channel
        self.describe, self.proxy, self.perform = describe, proxy, perform
        self.remote_of = remote_of
        self.lost = False
        self.nesting = 0
        self.before_request = lambda: None
        self.news = list  # names that changed here, told with every reply
        self.on_news = lambda names: None
        self._exports, self._numbers = {}, {}
        self._proxies = {}
        self.keep_errors = keep_errors
        self._received_errors = {}

    # -- requests -------------------------------------------------------------------------

    def request(self, target, operation, *args, **kwargs):
        """Ask the other side to perform `operation` on its object; return or raise the outcome.

        target  a Remote, or None for the session itself
        """
        self.before_request()
        if self.nesting >= MAX_NESTING:
            raise RecursionError("calls between the tests and your code are nested too deep")
        encoder = Encoder(self._foreign)
        number = None if target is None else target.number
        args = encoder.items(args)
        kwargs = {name: encoder.encode(value) for name, value in kwargs.items()} if kwargs else {}
        self.nesting += 1
        try:
            self.channel.send(["do", number, operation, args, kwargs], encoder.blob())
            return self._await_reply(encoder.mutables)
        except WireError:
            self.end()
            raise
        finally:
            self.nesting -= 1

    def _await_reply(self, mutables):
        while True:
            message, blob = self.channel.receive()
            if type(message) is not list or not message:
                raise WireError("a message without a kind")
            if message[0] == "do":
                self.serve(message, blob)
                continue
            decoder = Decoder(blob, self._resolve, mutables)
            self._take_news(message.pop())
            if message[0] == "ok" and len(message) == 3:
                result = decoder.decode(message[1])
                self._copy_back(mutables, message[2], decoder)
                return result
            if message[0] == "stop" and len(message) == 1:
                raise StopIteration
            if message[0] == "raise" and len(message) == 3:
                self._copy_back(mutables, message[2], decoder)
                raise self._error(message[1], decoder)
            raise WireError("an unknown kind of message")

    def _take_news(self, names):
        if type(names) is not list:
            raise WireError("malformed news")
        if names:
            if any(type(name) is not str for name in names):
                raise WireError("malformed news")
            self.on_news(names)

    def end(self):
        """Close the channel; every later request ends in LostError."""
        self.lost = True
        self.channel.close()

    # -- serving --------------------------------------------------------------------------

    def serve(self, message, blob):
        """Perform one request of the other side and reply."""
        if len(message) != 5 or type(message[2]) is not str or type(message[4]) is not dict:
            raise WireError("a malformed request")
        if self.nesting >= MAX_NESTING:
            raise WireError("requests nested too deep")
        _kind, number, operation, args, kwargs = message
        decoder = Decoder(blob, self._resolve)
        args = decoder.items(args)
        if kwargs:
            kwargs = {name: decoder.decode(value) for name, value in kwargs.items()}
        received = decoder.mutables
        before = [_snapshot(item) for item in received]
        target = None if number is None else self._exported(number)
        self.nesting += 1
        try:
            result = self.perform(target, operation, args, kwargs)
        except StopIteration:
            self.channel.send(["stop", self.news()])
        except WireError:
            raise
        except Exception as error:
            self._reply_error(error, received, before)
        except BaseException:
            self.end()  # the other side waits for a reply that will not come
            raise
        else:
            self._reply(result, received, before)
        finally:
            self.nesting -= 1

    def _reply(self, result, received, before):
        known = {id(item): i for i, item in enumerate(received)}
        encoder = Encoder(self._foreign, known)
        try:
            reply = ["ok", encoder.encode(result), self._changes(received, before, encoder)]
            self.channel.send([*reply, self.news()], encoder.blob())
        except TooBigError as error:
            self._reply_error(error, [], [])

    def _reply_error(self, error, received, before):
        known = {id(item): i for i, item in enumerate(received)}
        encoder = Encoder(self._foreign, known)
        try:
            changes = self._changes(received, before, encoder)
            reply = ["raise", self._describe_error(error, encoder), changes]
        except TooBigError:
            encoder = Encoder(self._foreign)
            reply = ["raise", self._describe_error(error, encoder), []]
        self.channel.send([*reply, self.news()], encoder.blob())

    def _changes(self, received, before, encoder):
        if not received:
            return received
        return [
            [number, encoder.contents(item)]
            for number, (item, old) in enumerate(zip(received, before, strict=True))
            if _changed(item, old)
        ]

    def _copy_back(self, mutables, changes, decoder):
        if type(changes) is not list or len(changes) > len(mutables):
            raise WireError("malformed changes")
        for change in changes:
            if type(change) is not list or len(change) != 2 or type(change[0]) is not int:
                raise WireError("a malformed change")
            number, part = change
            if not 0 <= number < len(mutables):
                raise WireError("a change of something that was not passed")
            _overwrite(mutables[number], decoder.decode(part))

    # -- errors ---------------------------------------------------------------------------

    def _describe_error(self, error, encoder):
        _, theirs = self._received_errors.get(id(error), (None, None))
        ours = self._export(error) if self.keep_errors and theirs is None else None
        names = [kind.__name__[:100] for kind in type(error).__mro__[:20]]
        args = [a for a in error.args[:4] if type(a) in (str, int, float, bool)]
        if len(args) != len(error.args) or sum(len(str(a)) for a in args) > MAX_MESSAGE:
            args = [_text(error)]
        kinds = [encoder.encode(k) for k in type(error).__mro__[:20] if _is_own_error(k)]
        return [names, args, theirs, ours, kinds, error_place(error)]

    def _error(self, parts, decoder):
        """Return the exception that stands for one raised on the other side."""
        if type(parts) is not list or len(parts) != 6:
            raise WireError("a malformed error")
        names, args, ours, theirs, kinds, place = parts
        for value in (names, args, kinds):
            if type(value) is not list or len(value) > 20:
                raise WireError("a malformed error")
        if any(type(a) not in (str, int, float, bool) or len(str(a)) > 8000 for a in args):
            raise WireError("a malformed error")
        if type(ours) is int and isinstance(self._exports.get(ours), Exception):
            return self._exports[ours]
        error = self._new_error(names, args, [decoder.decode(k) for k in kinds])
        error.place = place[:500] if type(place) is str else ""
        if type(theirs) is int and len(self._received_errors) < MAX_EXPORTS:
            self._received_errors[id(error)] = error, theirs
        return error

    def _new_error(self, names, args, kinds):
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, Exception):
                return kind(*args)
        for name in names:
            if type(name) is str and name in _ERRORS:
                if name in _FUSSY:
                    return ValueError(*args)
                if name in ("Exception", "BaseException") and type(names[0]) is str:
                    args = [f"{names[0]}: {' '.join(map(str, args))}"] if names[0] != name else args
                return _ERRORS[name](*args)
        named = names[0] if names and type(names[0]) is str else "Error"
        return RuntimeError(f"{named[:100]}: {' '.join(map(str, args))}".rstrip(": "))

    # -- objects --------------------------------------------------------------------------

    def _foreign(self, obj):
        remote = self.remote_of(obj)
        if remote is not None:
            if remote.peer is not self:
                raise ValueError("an object of an earlier run can't be used again")
            return ["own", remote.number]
        info = self.describe(obj)
        if "module" in info:
            return ["m", info["module"]]
        if "public" in info:
            return ["g", *info["public"]]
        return ["h", self._export(obj), info]

    def _export(self, obj):
        number = self._numbers.get(id(obj))
        if number is None:
            if len(self._exports) >= MAX_EXPORTS:
                raise TooBigError("too many objects were passed between the tests and your code")
            number = len(self._exports) + 1
            self._exports[number] = obj  # kept alive, so that its id stays its own
            self._numbers[id(obj)] = number
        return number

    def _exported(self, number):
        if type(number) is not int or number not in self._exports:
            raise WireError("an object that was never passed")
        return self._exports[number]

    def _resolve(self, tag, *parts):
        if tag == "own" and len(parts) == 1:
            return self._exported(parts[0])
        if tag == "h" and len(parts) == 2:
            return self._proxy_for(*parts)
        if tag == "m" and len(parts) == 1:
            return self.proxy(Remote(self, None, {"module": parts[0]}))
        if tag == "g" and len(parts) == 2:
            return self.proxy(Remote(self, None, {"module": parts[0], "name": parts[1]}))
        raise WireError("an unknown kind of value")

    def _proxy_for(self, number, info):
        if type(number) is not int or type(info) is not dict:
            raise WireError("a malformed object")
        if number not in self._proxies:
            if len(self._proxies) >= MAX_EXPORTS:
                raise WireError("too many objects")
            clean = {k: v for k, v in info.items() if type(v) in (str, bool) and len(str(v)) <= 300}
            self._proxies[number] = self.proxy(Remote(self, number, clean))
        return self._proxies[number]


def _is_own_error(kind):
    return kind.__name__ not in _ERRORS and issubclass(kind, Exception)


def _text(error):
    try:
        return str(error)[:MAX_MESSAGE]
    except Exception:
        return "(its message can't be read)"


def error_place(error):
    """Return "line 3: code" for the innermost line of a notebook cell in the error's trace."""
    import linecache

    place, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name.startswith("<cell "):
            line = linecache.getline(name, trace.tb_lineno).strip()
            place = f"line {trace.tb_lineno}: {line[:200]}"
        trace = trace.tb_next
    return place


def _snapshot(item):
    if type(item) is list:
        return item[:]
    if isinstance(item, np.ndarray):
        return item.copy()
    if isinstance(item, bytearray):
        return bytes(item)
    if isinstance(item, dict):
        return [part for pair in item.items() for part in pair]
    return list(item)


def _changed(item, old):
    if type(item) is list:
        return len(item) != len(old) or not all(map(operator.is_, item, old))
    if isinstance(item, np.ndarray):
        return item.dtype != old.dtype or item.shape != old.shape or item.tobytes() != old.tobytes()
    if isinstance(item, bytearray):
        return bytes(item) != old
    if isinstance(item, dict):
        item = [part for pair in item.items() for part in pair]
    return len(item) != len(old) or not all(map(operator.is_, item, old))


def _overwrite(item, new):
    """Give the container `item` the contents of `new`, as far as the kinds fit."""
    if isinstance(item, np.ndarray):
        if isinstance(new, np.ndarray) and new.shape == item.shape and new.dtype == item.dtype:
            item[...] = new
        return
    for kind in (list, bytearray):
        if isinstance(item, kind) and isinstance(new, kind):
            item[:] = new
    for kind in (dict, set):
        if isinstance(item, kind) and isinstance(new, kind):
            item.clear()
            item.update(new)
