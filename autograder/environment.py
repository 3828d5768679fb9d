"""The packages that students install, the versions locked for them, and what is installed here."""

import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import platform
import re
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

ENGINE = "autograder.engine"
MEND = (
    "Install the same versions and the same course there (pip install -c constraints.txt -e "
    '".[cluster]") and start the worker again.'
)
OWN_NEEDS = ("nbgrader", "numpy")  # of the engine, where a course has no requirements.txt


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


def stamp(root, packages):
    """Return what decides grades in this process, as plain data, for another to compare.

    root      the course's; what its requirements.txt names counts, with all that this needs
    packages  of the course that submissions may import; their files count, as do the engine's
    """
    names = _with_needs([*needed(root), *OWN_NEEDS])
    return installed(names, [ENGINE, *packages])


def installed(names, packages):
    """Return {"python", "packages": {name: version}, "code": {package: digest}} of this process."""
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "packages": {name: _version(name) for name in names},
        "code": {name: code_digest(name) for name in packages},
    }


def lock_hash(stamp):
    """Return a short digest of a stamp."""
    return hashlib.sha256(json.dumps(stamp, sort_keys=True).encode()).hexdigest()[:16]


def differences(wanted, found):
    """Return how a stamp differs from the wanted one, as short texts."""
    texts = []
    if found["python"] != wanted["python"]:
        texts.append(f"Python {found['python']} instead of {wanted['python']}")
    for name, version in wanted["packages"].items():
        if found["packages"][name] != version:
            texts.append(f"{name} {found['packages'][name]} instead of {version}")
    for name, digest in wanted["code"].items():
        if found["code"][name] != digest:
            texts.append(f"other files of {name}" if found["code"][name] else f"no {name}")
    return texts


@functools.cache
def code_digest(package):
    """Return a digest of a package's files, "" where it is not installed."""
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        return ""
    folder = Path(next(iter(spec.submodule_search_locations)))
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            name = path.relative_to(folder).as_posix()
            total.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()[:16]


def _version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def _with_needs(names):
    """Return packages and all that they need, as far as they are installed, sorted."""
    found, waiting = set(), list(names)
    while waiting:
        name = plain_name(waiting.pop())
        if name in found or _version(name) == "none":
            continue
        found.add(name)
        for text in importlib.metadata.requires(name) or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return sorted(found)


def plain_name(name):
    """Return a package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _lines(path):
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return [line.partition("#")[0].strip() for line in text.splitlines()]
