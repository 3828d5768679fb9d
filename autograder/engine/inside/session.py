"""One submission's session: runs the student's cells and serves the tests' requests.

Runs in the sandbox, together with the student's code. Whatever it says is checked by the other
side; nothing here is trusted.
"""

import ast
import asyncio
import base64
import contextlib
import importlib
import inspect
import io
import itertools
import linecache
import os
import pickle
import sys
import traceback
import types

from .peer import Peer, Remote
from .wire import LostError, WireError

MAX_OUTPUT = 64 << 10  # characters kept of a cell's output
MAX_FIGURES = 8
MAX_RESULT = 10_000
MAX_ANSWERS = 10_000

_prepared = {}  # {a cell that students were given: its compiled parts}
_numbers = itertools.count()


class Output(io.TextIOBase):
    """Collects what a cell prints, up to a limit; throws away what is printed during tests."""

    encoding = "utf-8"

    def __init__(self):
        self.parts, self.length, self.keeping = [], 0, False

    def writable(self):
        return True

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self.keeping and self.length < MAX_OUTPUT:
            self.parts.append(text[: MAX_OUTPUT - self.length])
            self.length += len(text)
        return len(text)

    def start(self):
        self.parts, self.length, self.keeping = [], 0, True

    def finish(self):
        self.keeping = False
        text = "".join(self.parts)
        return text + "\n… (more output was cut)\n" if self.length > MAX_OUTPUT else text


class TrustedObject:
    """Stands for an object of the tests: its methods run there, its attributes are read there.

    A method is asked for once. Answers of a function that the course calls pure are kept: only
    this process is spared the way, and it could keep them itself.
    """

    def __init__(self, remote):
        object.__setattr__(self, "_remote", remote)
        object.__setattr__(self, "_answers", {} if remote.info.get("pure") else None)

    def __getattr__(self, name):
        if name.startswith("_"):
            if name in ("__name__", "__qualname__"):
                return _remote_of(self).info.get("name", "function")
            raise AttributeError(name)
        found = _ask(self, "getattr", name)
        remote = _remote_of(found)
        if remote is not None and remote.info.get("method"):
            object.__setattr__(self, name, found)
        return found

    def __setattr__(self, name, value):
        raise AttributeError("an object of the tests can't be changed")

    def __call__(self, *args, **kwargs):
        answers = object.__getattribute__(self, "_answers")
        if answers is not None:
            return _call_once(self, answers, args, kwargs)
        remote = object.__getattribute__(self, "_remote")
        _refuse_outside_tests(remote)
        return remote.peer.request(remote, "call", *args, **kwargs)

    def __len__(self):
        return _ask(self, "len")

    def __getitem__(self, key):
        return _ask(self, "getitem", key)

    def __contains__(self, item):
        return _ask(self, "contains", item)

    def __iter__(self):
        return _ask(self, "iter")

    def __next__(self):
        return _ask(self, "next")

    def __bool__(self):
        return True

    def __repr__(self):
        return f"<{_remote_of(self).info.get('name', 'an object of the tests')}>"


def _remote_of(obj):
    if isinstance(type(obj), type) and issubclass(type(obj), TrustedObject):
        return object.__getattribute__(obj, "_remote")
    return None


def _ask(obj, operation, *args, **kwargs):
    remote = _remote_of(obj)
    _refuse_outside_tests(remote)
    return remote.peer.request(remote, operation, *args, **kwargs)


def _refuse_outside_tests(remote):
    if not remote.peer.nesting:
        raise RuntimeError("objects of the tests can be used only while a test calls your code")


def _call_once(obj, answers, args, kwargs):
    """Call a pure function of the tests, unless it has answered the same plain question before."""
    _refuse_outside_tests(_remote_of(obj))
    question = _pickled((args, kwargs))
    if question in answers:
        return pickle.loads(answers[question])
    result = _ask(obj, "call", *args, **kwargs)
    answer = _pickled(result)
    unchanged = question is not None and question == _pickled((args, kwargs))
    if answer is not None and unchanged and len(answers) < MAX_ANSWERS:
        answers[question] = answer
    return result


def _pickled(value):
    """Return the bytes of plain data, None for what can't be pickled; never leaves this process."""
    try:
        return pickle.dumps(value)
    except Exception:
        return None


def _proxy(remote: Remote):
    module = remote.info.get("module")
    if module is not None:
        try:
            found = importlib.import_module(module)
        except Exception:
            return _NotHere(module)
        return getattr(found, remote.info["name"]) if "name" in remote.info else found
    if remote.info.get("kind") == "generator":
        return _generator_type()(remote)
    return TrustedObject(remote)


class _NotHere:
    """Stands for a module of the tests that student code can't import."""

    def __init__(self, name):
        self.__name__ = name

    def __getattr__(self, attribute):
        raise ImportError(f"the module {self.__name__} can't be used in a submission")


def _generator_type():
    """A stand-in that isinstance() takes for a numpy Generator."""
    import numpy as np

    class Generator(TrustedObject):
        __class__ = property(lambda self: np.random.Generator)

    return Generator


def _describe(obj):
    if isinstance(obj, types.ModuleType):
        return {"kind": "module", "type": obj.__name__[:200]}
    info = {"type": type(obj).__name__[:200], "kind": "instance"}
    if isinstance(obj, type):
        info["kind"] = "exception" if issubclass(obj, Exception) else "class"
        if info["kind"] == "exception":
            import builtins

            info["base"] = next(k.__name__ for k in obj.__mro__ if hasattr(builtins, k.__name__))
    elif isinstance(obj, types.FunctionType | types.BuiltinFunctionType | types.MethodType):
        info["kind"] = "function"
    elif hasattr(type(obj), "__next__"):
        info["kind"] = "iterator"
    name = getattr(obj, "__name__", None)
    if isinstance(name, str):
        info["name"] = name[:200]
    doc = getattr(obj, "__doc__", None)
    if info["kind"] in ("function", "class") and isinstance(doc, str):
        info["doc"] = doc[:300]
    return info


class Session:
    """The student's namespace and the requests on it."""

    def __init__(self, channel, limits):
        self.module = types.ModuleType("__main__")
        self.names = vars(self.module)
        self.names["__builtins__"] = __builtins__
        sys.modules["__main__"] = self.module
        self.replaced = {}
        self.output = Output()
        sys.stdout = sys.stderr = self.output
        sys.displayhook = self._show
        self.max_figures = min(MAX_FIGURES, limits.get("figures", MAX_FIGURES))
        self.shell = Shell(self)
        self.names["get_ipython"] = lambda: self.shell
        self.names["display"] = self._display
        _use_shell(self.shell, self._display)
        self.fetched = {}  # names whose objects the tests hold: they are told of changes
        self.peer = Peer(channel, _describe, _proxy, self._perform, _remote_of)
        self.peer.news = self._changed_names

    def run(self):
        """Serve requests until the other side ends the conversation."""
        while True:
            try:
                message, blob = self.peer.channel.receive()
                if message[0] == "do":
                    self.peer.serve(message, blob)
            except WireError:
                continue
            except LostError:
                return

    def _perform(self, target, operation, args, kwargs):
        try:
            if target is None:
                return getattr(self, f"session_{operation}")(*args)
            return _OPERATIONS[operation](target, *args, **kwargs)
        except (LostError, WireError, Exception):
            raise
        except BaseException as error:
            raise RuntimeError(f"{type(error).__name__}: {error}".rstrip(": ")) from error

    # -- requests on the session itself -----------------------------------------------------

    def session_cell(self, source, number):
        """Run one cell; return what it printed, showed and raised, as plain data."""
        self.output.start()
        error = None
        try:
            self._execute(source, number)
        except BaseException as caught:
            if isinstance(caught, LostError):
                raise
            error = _error_report(caught)
        try:
            figures = self._figures()
        except BaseException:
            figures = []
        return {"text": self.output.finish(), "error": error, "figures": figures}

    def session_fetch(self, name):
        if name not in self.names:
            return (False, None)
        self.fetched[name] = self.names[name]
        return (True, self.names[name])

    def _changed_names(self):
        changed = [n for n, old in self.fetched.items() if self.names.get(n, self) is not old]
        for name in changed:
            del self.fetched[name]
        return changed

    def session_store(self, name, value):
        self._remember(name)
        self.names[name] = value

    def session_delete(self, name):
        self._remember(name)
        return self.names.pop(name, self) is not self

    def session_restore(self):
        """Give names that a test replaced or deleted their old values again."""
        for name, value in self.replaced.items():
            if value is self:
                self.names.pop(name, None)
            else:
                self.names[name] = value
        self.replaced = {}

    def _remember(self, name):
        self.replaced.setdefault(name, self.names.get(name, self))

    # -- running cells ----------------------------------------------------------------------

    def _execute(self, source, number):
        parts = _prepared.get(source)
        if parts is None:
            parts = _compiled(self.shell.transform(source), f"<cell {number}>")
        for code in parts:
            result = eval(code, self.names)
            if code.co_flags & inspect.CO_COROUTINE:
                asyncio.run(result)

    def _show(self, value):
        if value is not None:
            self.names["_"] = value
            self.output.write(repr(value)[:MAX_RESULT] + "\n")

    def _display(self, *objects, **_options):
        for obj in objects:
            self.output.write(repr(obj)[:MAX_RESULT] + "\n")

    def _figures(self):
        """Return the figures that the cell drew, as PNG in base64, and close them."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return []
        drawn = []
        for number in pyplot.get_fignums()[: self.max_figures]:
            target = io.BytesIO()
            pyplot.figure(number).savefig(target, format="png", dpi=72)
            if target.tell() < 1 << 20:
                drawn.append(base64.b64encode(target.getvalue()).decode())
        pyplot.close("all")
        return drawn


class Shell:
    """The little of IPython's shell that notebooks use: magics do nothing harmful here."""

    def __init__(self, session):
        self.session = session
        self.user_ns = session.names

    def transform(self, source):
        """Return the cell as plain Python; one that is that already stays as it is."""
        if not any(mark in source for mark in "%!?") or _is_python(source):
            return source
        try:
            from IPython.core.inputtransformer2 import TransformerManager
        except ImportError:
            return source
        return TransformerManager().transform_cell(source)

    def run_line_magic(self, name, line, *_rest, **_options):
        if name in ("time", "timeit") and line:
            exec(self.transform(line), self.user_ns)

    def run_cell_magic(self, name, line, cell):
        if name == "writefile":
            with open(line.split()[-1], "a" if "-a" in line.split() else "w") as target:
                target.write(cell)
        elif name in ("time", "timeit", "capture", "prun"):
            exec(compile(self.transform(cell), "<cell magic>", "exec"), self.user_ns)

    def system(self, _command):
        """Shell commands are not run while grading."""

    getoutput = system

    def showtraceback(self, *_args, **_options):
        """Errors are reported by the session, not shown."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **options: None


def _use_shell(shell, display):
    """Let `IPython.get_ipython()` and `IPython.display.display` find the stand-ins."""
    for module_name in ("IPython", "IPython.core.getipython"):
        module = sys.modules.get(module_name)
        if module is not None:
            module.get_ipython = lambda: shell
    for module_name in ("IPython.display", "IPython.core.display_functions"):
        module = sys.modules.get(module_name)
        if module is not None:
            module.display = display


def prepare_cells(sources):
    """Compile cells before any submission starts; those with magics wait for their turn."""
    for source in sources:
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            _prepared[source] = _compiled(source, f"<cell given {next(_numbers)}>")


def _compiled(source, name):
    """Return a cell's code objects: its statements, and the expression that it shows."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    tree = ast.parse(source, name)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not _is_silenced(source):
        last = ast.Interactive([tree.body.pop()])
    return [
        compile(part, name, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        for part, mode in ((tree, "exec"), (last, "single"))
        if part is not None
    ]


def _is_python(source):
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_silenced(source):
    return source.rstrip().endswith(";")


def _error_report(error):
    lines = []
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if name.startswith("<cell "):
            text = linecache.getline(name, line).strip()
            lines.append(f"line {line}, in {frame.f_code.co_name}: {text}"[:300])
    if isinstance(error, SyntaxError) and error.lineno:
        lines.append(f"line {error.lineno}: {(error.text or '').strip()}"[:300])
    try:
        message = str(error)[:2000]
    except BaseException:
        message = ""
    return {"name": type(error).__name__[:100], "message": message, "lines": lines[-10:]}


def _special(obj, name, *args):
    result = getattr(type(obj), name)(obj, *args)
    if result is NotImplemented:
        raise TypeError(f"{type(obj).__name__} does not support this operation")
    return result


_OPERATIONS = {
    "call": lambda obj, *args, **kwargs: obj(*args, **kwargs),
    "getattr": getattr,
    "setattr": setattr,
    "delattr": delattr,
    "len": len,
    "getitem": lambda obj, key: obj[key],
    "setitem": lambda obj, key, value: obj.__setitem__(key, value),
    "delitem": lambda obj, key: obj.__delitem__(key),
    "iter": iter,
    "next": next,
    "bool": bool,
    "str": str,
    "repr": repr,
    "isinstance": lambda kind, obj: isinstance(obj, kind),
    "issubclass": lambda kind, obj: issubclass(obj, kind),
    "dir": dir,
    "special": _special,
}


def run(channel, limits):
    """Run a session on `channel` until the other side ends it, then end the process."""
    quiet = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(quiet, standard)
    sys.stdin = open(os.devnull)  # noqa: SIM115  # input() raises EOFError
    sys.path[:] = ["", *(p for p in sys.path if p)]
    Session(channel, limits).run()
    os._exit(0)
