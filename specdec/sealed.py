"""Text that is packed so that nobody reads an answer by accident.

A student bundle (`make bundle`) holds the few worked functions and checks that lessons need in this
form. It is an envelope, not a lock: whoever wants to can unpack it.
"""

import base64
import zlib

MARK = "sealed:"


def seal(text: str) -> str:
    """Return text as one line that can't be read."""
    return MARK + base64.b85encode(zlib.compress(text.encode(), 9)).decode("ascii")


def unseal(text: str) -> str:
    """Return what was sealed; text that is not sealed comes back as it is."""
    if not text.startswith(MARK):
        return text
    packed = text.removeprefix(MARK).strip()
    return zlib.decompress(base64.b85decode(packed)).decode()


def run_sealed(text: str, names: dict) -> None:
    """Run a sealed module's text in its own namespace, `globals()` of the module that calls."""
    exec(compile(unseal(text), f"<sealed {names['__name__']}>", "exec"), names)
