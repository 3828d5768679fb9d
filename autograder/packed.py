"""Tasks of grading as bytes, with the files that they name: for workers on other machines.

A task is split in two. What a whole class has in common (the lesson's notebooks and files) is the
pack, the rest is the student's own. A worker keeps a pack, so it is sent about once. Both are zip
archives of plain data: `task.json`, and the files below `files/`, `given/` and `source/`.
"""

import hashlib
import importlib.util
import io
import json
import os
import zipfile
from pathlib import Path

from autograder.engine.grader import MAX_FILES, read_file, regular_files
from autograder.engine.model import Policy

COMMON = ("source", "released", "limits", "policy", "sandbox", "settings")
HOLES = "left_out"  # {name: length} of files that are too large: a worker makes empty ones
_DATE = (1980, 1, 1, 0, 0, 0)  # the same bytes for the same files


def pack(task, stamp):
    """Return (digest, bytes) of what a task has in common with others of its class.

    stamp  what a worker must have installed, see environment.stamp
    """
    data = {name: task[name] for name in COMMON if name in task}
    if "policy" in data:
        data["policy"] = portable(data["policy"])
    files = {f"given/{name}": path for path, name in task.get("given_files", ())}
    folder = task.get("source_files")
    if folder is not None:
        files |= {f"source/{name}": path for path, name in _all_files(folder)}
    packed = _zip({**data, "stamp": stamp}, {n: _read(path) for n, path in files.items()})
    return hashlib.sha256(packed).hexdigest(), packed


def own(task):
    """Return the bytes of what is a task's own: a student's notebook and files."""
    places = ("given_files", "source_files", "files")
    data = {name: value for name, value in task.items() if name not in (*COMMON, *places)}
    files, data[HOLES] = _files_of(task)
    return _zip(data, {f"files/{name}": content for name, content in files.items()})


def unpack(packed, folder):
    """Write the files of a pack, or of a task's own part, into a folder; return its data.

    The data name the folders and files as engine.grade_task wants them.
    """
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        data = json.loads(archive.read("task.json"))
        names = [name for name in archive.namelist() if name != "task.json"]
        for name in names:
            target = Path(folder) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(name))
    for name, length in data.pop(HOLES, {}).items():
        target = Path(folder) / "files" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
        os.truncate(target, length)
        names.append(f"files/{name}")
    if "policy" in data:
        data["policy"] = local(data["policy"])
    return data | _places_in(Path(folder), names)


def _places_in(folder, names):
    """Return the parts of a task that name files, as far as there are any."""
    found = {}
    given = [name.removeprefix("given/") for name in names if name.startswith("given/")]
    if given:
        found["given_files"] = [(str(folder / "given" / name), name) for name in given]
    for part, key in (("files", "files"), ("source", "source_files")):
        if any(name.startswith(f"{part}/") for name in names):
            found[key] = str(folder / part)
    return found


def portable(policy):
    """Return a policy's data without this machine's places of the packages that it exposes."""
    ours = _places(policy)
    return {**policy, "test_path": [path for path in policy["test_path"] if path not in ours]}


def local(policy):
    """Return a portable policy's data with this machine's places."""
    return {**policy, "test_path": [*_places(policy), *policy["test_path"]]}


def _places(policy):
    specs = [importlib.util.find_spec(name) for name in policy["expose"]]
    return [str(Path(spec.origin).parents[1]) for spec in specs if spec and spec.origin]


def _files_of(task):
    """Return ({name: bytes}, {name: length} of what is too much) of a hand-in's other files.

    The engine looks at the lengths again, so that it says the same about them as anywhere.
    """
    folder, found, left_out, size = task.get("files"), {}, {}, 0
    most = (task.get("policy") or {}).get("files_mb", Policy.files_mb) << 20
    given = {name for _, name in task.get("given_files", ())}
    for path, name in regular_files(folder) if folder is not None else ():
        length = os.lstat(path).st_size
        if name in given:
            continue
        if size + length > most or len(found) >= MAX_FILES:
            left_out[name] = min(length, most + 1)
            continue
        content = read_file(path, length)
        if content is not None:
            size += length
            found[name] = content
    return found, left_out


def _all_files(folder):
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            yield path, os.path.relpath(path, folder)


def _read(path):
    return Path(path).read_bytes()


def _zip(data, files):
    target = io.BytesIO()
    texts = {"task.json": json.dumps(data).encode()}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in sorted((texts | files).items()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=1)
    return target.getvalue()
