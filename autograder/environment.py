"""The packages that students install, and the versions that are locked for them."""

import hashlib
import re

from packaging.requirements import InvalidRequirement, Requirement


def locked(root):
    """Return {package: version} of constraints.txt in a course's root; {} without one."""
    pins = {}
    for line in _lines(root / "constraints.txt"):
        name, same, version = line.partition("==")
        if same:
            pins[plain_name(name)] = version
    return pins


def needed(root):
    """Return the packages that requirements.txt names, sorted; the course itself is not one."""
    names = set()
    for line in _lines(root / "requirements.txt"):
        try:
            names.add(plain_name(Requirement(line).name))
        except InvalidRequirement:
            continue  # -e .
    return sorted(names)


def digest(root):
    """Return a digest of the locked versions of what students install, "" where nothing is."""
    pins = locked(root)
    lines = [f"{name}=={pins[name]}" for name in needed(root) if name in pins]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16] if lines else ""


def plain_name(name):
    """Return a package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _lines(path):
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return [line.partition("#")[0].strip() for line in text.splitlines()]
