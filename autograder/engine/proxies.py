"""What tests see of a student's objects, and what student code may do with a test's objects."""

import sys
import types

import numpy as np

from .inside.peer import _ERRORS, Remote
from .inside.wire import WireError

_ARITHMETIC = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul",
    "and", "or", "xor", "lshift", "rshift",
)  # fmt: skip
_BINARY = [*(f"{form}{name}" for name in _ARITHMETIC for form in ("", "r", "i")),
           "lt", "le", "gt", "ge"]  # fmt: skip
_UNARY = ["neg", "pos", "abs", "invert", "int", "float", "complex", "index", "round"]
_ALWAYS_TRUE = ("function", "class", "exception", "module")
_READABLE_SPECIALS = ("__doc__", "__name__", "__qualname__", "__module__")

# Attributes through which a program's own state can be read.
_INTERNAL_PREFIXES = ("_", "gi_", "cr_", "ag_", "f_", "tb_", "co_")
_GENERATOR_METHODS = frozenset({
    "random", "integers", "choice", "bytes", "shuffle", "permutation", "permuted",
    "beta", "binomial", "chisquare", "dirichlet", "exponential", "gamma", "geometric", "gumbel",
    "laplace", "logistic", "lognormal", "multinomial", "multivariate_normal",
    "negative_binomial", "normal", "pareto", "poisson", "power", "rayleigh", "standard_cauchy",
    "standard_exponential", "standard_gamma", "standard_normal", "standard_t", "triangular",
    "uniform", "vonmises", "wald", "weibull", "zipf", "rand", "randint", "randn",
    "random_sample",
})  # fmt: skip
_RANDOM = (np.random.Generator, np.random.RandomState)  # loads numpy.random once, while warm
_OPAQUE = (types.FrameType, types.CodeType, types.TracebackType)
_METHODS = (types.MethodType, types.BuiltinMethodType)
_BUILT_IN = (types.BuiltinFunctionType, np.ufunc, type)


class StudentObject:
    """Stands for an object in the student's process that is not plain data.

    It can be called, its attributes, items and length can be asked for. It can't be compared or
    calculated with, because its own code would decide the result; only operators that the
    instructor's solution defines for a class of this name are passed on.
    """

    __slots__ = ("_operators", "_remote")
    __hash__ = object.__hash__

    def __init__(self, remote, operators):
        object.__setattr__(self, "_remote", remote)
        object.__setattr__(self, "_operators", operators)

    def __call__(self, *args, **kwargs):
        return ask(self, "call", *args, **kwargs)

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            return _special_attribute(self, name)
        return ask(self, "getattr", name)

    def __setattr__(self, name, value):
        ask(self, "setattr", name, value)

    def __delattr__(self, name):
        ask(self, "delattr", name)

    def __len__(self):
        return ask(self, "len")

    def __getitem__(self, key):
        return ask(self, "getitem", key)

    def __setitem__(self, key, value):
        ask(self, "setitem", key, value)

    def __delitem__(self, key):
        ask(self, "delitem", key)

    def __iter__(self):
        if remote_of(self).info.get("kind") == "iterator":
            return self
        found = ask(self, "iter")
        return found if isinstance(found, StudentObject) else iter(found)

    def __next__(self):
        return ask(self, "next")

    def __contains__(self, item):
        return any(item is found or item == found for found in self)

    def __bool__(self):
        if remote_of(self).info.get("kind") in _ALWAYS_TRUE:
            return True
        return ask(self, "bool") is True

    def __enter__(self):
        return ask(self, "special", "__enter__")

    def __exit__(self, *_error):
        return ask(self, "special", "__exit__", None, None, None) is True

    def __instancecheck__(self, obj):
        return isinstance(obj, StudentObject) and ask(self, "isinstance", obj) is True

    def __subclasscheck__(self, kind):
        return isinstance(kind, StudentObject) and ask(self, "issubclass", kind) is True

    def __eq__(self, other):
        if other is self:
            return True
        if other is None:
            return False
        return _operate(self, "__eq__", other) is True

    def __ne__(self, other):
        return not self == other

    def __str__(self):
        return _text(self, "str")

    def __repr__(self):
        return _text(self, "repr")

    def __format__(self, spec):
        return format(_text(self, "str"), spec)

    def __dir__(self):
        return ask(self, "dir")


def _define_operators():
    def make(name):
        def operate(self, *args):
            return _operate(self, name, *args)

        operate.__name__ = name
        return operate

    for short in _BINARY + _UNARY:
        setattr(StudentObject, f"__{short}__", make(f"__{short}__"))


_define_operators()


def remote_of(obj):
    """Return the Remote behind a proxy or a stand-in exception class, else None."""
    if type(obj) is StudentObject:
        return object.__getattribute__(obj, "_remote")
    if isinstance(obj, type):
        return vars(obj).get("_student_remote")
    return None


def ask(obj, operation, *args, **kwargs):
    """Send one request about a student's object."""
    remote = remote_of(obj)
    return remote.peer.request(remote, operation, *args, **kwargs)


def kind_name(obj):
    """Return the name of the class of a student's object, for messages."""
    return remote_of(obj).info.get("type", "object")


def _operate(obj, name, *args):
    operators = object.__getattribute__(obj, "_operators")
    if name in operators.get(kind_name(obj), ()):
        return ask(obj, "special", name, *args)
    raise TypeError(
        f"your code gave a {kind_name(obj)!r} object where the test needs plain data, "
        "such as a number, a string, a list or an array"
    )


def _special_attribute(obj, name):
    info = remote_of(obj).info
    if name in _READABLE_SPECIALS:
        if name == "__doc__":
            return info.get("doc")
        if name == "__module__":
            return "__main__"
        if "name" in info:
            return info["name"]
    raise AttributeError(name)


def _text(obj, operation):
    plain = f"<{kind_name(obj)} object of the submission>"
    info = remote_of(obj).info
    if info.get("kind") in _ALWAYS_TRUE:
        return f"<{info['kind']} {info.get('name', '?')} of the submission>"
    try:
        text = ask(obj, operation)
    except Exception:
        return plain
    return text[:2000] if type(text) is str else plain


def make_proxy(operators):
    """Return proxy(remote), which stands for student objects; see StudentObject for operators."""

    def proxy(remote: Remote):
        if remote.number is None:
            raise WireError("a module can't come from the submission")
        if remote.info.get("kind") == "exception":
            return _exception_class(remote)
        return StudentObject(remote, operators)

    return proxy


def _exception_class(remote):
    base = _ERRORS.get(remote.info.get("base"), Exception)
    if base in (UnicodeDecodeError, UnicodeEncodeError, UnicodeTranslateError, ExceptionGroup):
        base = ValueError
    name = remote.info.get("name", "StudentError")
    name = name if name.isidentifier() else "StudentError"
    return type(name, (base,), {"_student_remote": remote})


# -- the test's objects, used by student code -------------------------------------------------


def describe(obj, pure=()):
    """Return what student code is told about an object of the tests.

    pure  how the dotted names of functions begin that give the same for the same plain arguments
    """
    if isinstance(obj, types.ModuleType):
        return {"module": obj.__name__}
    if public_name(obj):
        return {"public": public_name(obj)}
    if isinstance(obj, _RANDOM):
        kind = "generator" if isinstance(obj, np.random.Generator) else "instance"
        return {"kind": kind, "type": type(obj).__name__}
    info = {"kind": "function" if callable(obj) else "instance", "type": type(obj).__name__}
    name = getattr(obj, "__name__", None)
    if isinstance(name, str):
        info["name"] = name
    if isinstance(obj, _METHODS):
        info["method"] = True
    elif isinstance(obj, types.FunctionType):
        info["pure"] = f"{obj.__module__}.{obj.__qualname__}".startswith(pure)
    return info


def public_name(obj):
    """Return (module, name) of a built-in function or class that student code may import itself.

    Built-ins cross by name and run in the student's process; `eval` run over here would be a way
    out. None for everything else.
    """
    if not isinstance(obj, _BUILT_IN):
        return None
    module = getattr(obj, "__module__", None) or ("numpy" if isinstance(obj, np.ufunc) else None)
    name = getattr(obj, "__name__", None)
    if (
        module in sys.builtin_module_names
        or module in sys.stdlib_module_names
        or (isinstance(module, str) and module.split(".")[0] == "numpy")
    ):
        loaded = sys.modules.get(module)
        if loaded is not None and getattr(loaded, name, None) is obj:
            return [module, name]
    return None


def perform(obj, operation, args, kwargs):
    """Do what student code asks of an object of the tests; refuse what could tell it too much."""
    if operation == "call" and type(obj) is types.FunctionType:
        return obj(*args, **kwargs)
    if isinstance(obj, _OPAQUE) or public_name(obj):
        raise AttributeError("this object of the tests can't be used from your code")
    if operation == "call":
        return obj(*args, **kwargs)
    if operation not in _ALLOWED:
        raise AttributeError("objects of the tests can be used, not changed")
    return _ALLOWED[operation](obj, *args)


def _read(obj, name):
    if type(name) is not str or name.startswith(_INTERNAL_PREFIXES):
        raise AttributeError(f"{name!r} of an object of the tests can't be read")
    if isinstance(obj, _RANDOM) and name not in _GENERATOR_METHODS:
        raise AttributeError(f"{name!r} of a random generator of the tests can't be used")
    return getattr(obj, name)


_ALLOWED = {
    "getattr": _read,
    "len": len,
    "getitem": lambda obj, key: obj[key],
    "contains": lambda obj, item: item in obj,
    "iter": iter,
    "next": next,
}
