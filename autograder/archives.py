"""Read a zip or a folder that others filled, as a list of plain files; nothing is unpacked.

What is not a plain file with a plain name and a sensible size is refused by name.
"""

import contextlib
import io
import os
import re
import stat
import unicodedata
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath

from autograder.errors import GradingError
from autograder.results import printable
from autograder.submissions import MAX_BYTES

MAX_TOTAL = 8 << 30  # bytes of all files together, unpacked
MAX_ENTRIES = 50_000
MAX_RATIO = 200  # unpacked to packed; a notebook is far below
SMALL = 1 << 20  # bytes that no ratio matters for
MAX_NAME = 240  # bytes of one part of a path; file systems take 255
LITTER = re.compile(r"(__MACOSX|\.ipynb_checkpoints|\.git)(/|$)|(^|/)(\.DS_Store|Thumbs\.db|\._)")
_ENCRYPTED, _UTF8 = 0x1, 0x800


@dataclass
class Entry:
    """One plain file. time is the local time that the archive notes, without a zone."""

    path: PurePosixPath
    size: int
    time: datetime | None
    read: Callable[[], bytes] = field(repr=False)


@dataclass
class Refused:
    """What was not taken, and why."""

    name: str
    reason: str

    def __str__(self):
        return printable(f"{self.name}: {self.reason}")


@dataclass
class Budget:
    """What one collection may unpack in all, nested zips included."""

    entries: int = MAX_ENTRIES
    total: int = MAX_TOTAL

    def spend(self, size):
        """Count one file; GradingError when it is one too many or the sum is too large."""
        self.entries, self.total = self.entries - 1, self.total - size
        if self.entries < 0:
            raise GradingError(f"it holds more than {MAX_ENTRIES:,} files.", "too_large")
        if self.total < 0:
            raise GradingError(f"unpacked it has more than {MAX_TOTAL >> 30} GB.", "too_large")


def read_place(path, budget):
    """Return ([Entry], [Refused]) of the zip or folder at path.

    Raises GradingError for what is neither, or as a whole too large.
    """
    path = Path(path)
    if path.is_dir():
        return _read_folder(path, budget)
    if not path.is_file():
        raise GradingError(f"{path} does not exist; name the zip or the folder of hand-ins.")
    try:
        return read_zip(path, path.stat().st_size, budget)
    except GradingError as error:
        raise GradingError(f"{path} is refused: {error}", error.kind) from None


def read_nested(entry, budget):
    """Return ([Entry], [Refused]) of a zip that lies in an archive; zips in it are refused."""
    try:
        entries, refused = read_zip(io.BytesIO(entry.read()), entry.size, budget)
    except GradingError as error:
        return [], [Refused(str(entry.path), str(error))]
    inside = f"{entry.path} > "
    kept = []
    for inner in entries:
        if inner.path.suffix.lower() == ".zip":
            refused.append(Refused(str(inner.path), "a zip in a zip of the student's"))
        else:
            kept.append(Entry(inner.path, inner.size, entry.time, inner.read))
    return kept, [Refused(inside + item.name, item.reason) for item in refused]


def read_zip(file, packed_size, budget):
    """Return ([Entry], [Refused]) of a zip: a path or an open file of that many bytes."""
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise GradingError(f"it is no zip that can be read: {error}.", "unreadable") from None
    infos = archive.infolist()
    if sum(info.compress_size for info in infos) > packed_size:
        raise GradingError("its files overlap: it is a zip bomb.", "too_large")
    entries, refused = [], []
    twice = _ambiguous(infos)
    seen = set()
    for info in infos:
        name = _zip_name(info)
        if info.is_dir() or LITTER.search(name):
            continue
        reason = _odd_name(name) or _odd_member(info)
        if not reason and name.casefold() in twice:
            reason = "the archive holds two different files of this name"
        if reason:
            refused.append(Refused(name, reason))
            continue
        if name.casefold() in seen:
            continue  # the same file again
        seen.add(name.casefold())
        budget.spend(info.file_size)
        entries.append(_zip_entry(archive, info, name))
    return entries, refused


def _zip_entry(archive, info, name):
    def read():
        try:
            with archive.open(info) as file:
                content = file.read(info.file_size + 1)
        except Exception as error:  # zipfile, zlib, lzma and bz2 each have their own
            raise GradingError(f"it is damaged: {error}.", "unreadable") from None
        if len(content) != info.file_size:
            raise GradingError("it is not as large as the archive says.", "unreadable")
        return content

    try:
        time = datetime(*info.date_time)
    except ValueError:
        time = None
    if time is not None and time.year == 1980:  # the format's zero
        time = None
    return Entry(PurePosixPath(name), info.file_size, time, read)


def _zip_name(info):
    """Return an entry's name as it was meant: UTF-8 without its flag, Windows' backslashes."""
    name = info.orig_filename
    if not info.flag_bits & _UTF8:
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return unicodedata.normalize("NFC", name.replace("\\", "/"))


def _ambiguous(infos):
    """Return the names, in one case, that stand for different files."""
    found = {}
    for info in infos:
        found.setdefault(_zip_name(info).casefold(), set()).add((info.CRC, info.file_size))
    return {name for name, contents in found.items() if len(contents) > 1}


def _odd_name(name):
    """Return what is wrong with a path in an archive, or ""."""
    parts = name.split("/")
    if name.startswith("/") or re.match(r"[A-Za-z]:", name) or ".." in parts:
        return "its path leads out of the archive"
    if not name.isprintable():
        return "its name has characters that can't be shown"
    if any(part != part.strip() or not part or part == "." for part in parts):
        return "its name has an empty part, or a space at an end"
    if any(len(os.fsencode(part)) > MAX_NAME for part in parts):
        return f"its name is longer than {MAX_NAME} bytes"
    return ""


def _odd_member(info):
    """Return what is wrong with a zip's entry besides its name, or ""."""
    mode = info.external_attr >> 16
    if stat.S_ISLNK(mode):
        return "a link"
    if stat.S_IFMT(mode) and not stat.S_ISREG(mode):
        return "neither a file nor a folder"
    if info.flag_bits & _ENCRYPTED:
        return "encrypted; ask for it without a password"
    if info.file_size > max(SMALL, info.compress_size * MAX_RATIO):
        return f"a zip bomb: unpacked more than {MAX_RATIO} times as large"
    return _too_large(info.file_size)


def _too_large(size):
    limit = MAX_BYTES // 1_000_000
    return f"{size / 1e6:.0f} MB, more than {limit}" if size > MAX_BYTES else ""


def _read_folder(folder, budget):
    entries, refused = [], []
    for parent, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        folders[:] = sorted(name for name in folders if name not in links)
        for name in sorted([*names, *links]):
            path = Path(parent, name)
            shown = path.relative_to(folder).as_posix()
            if LITTER.search(shown):
                continue
            info = os.lstat(path)
            reason = _odd_name(shown) or _odd_file(info)
            if reason:
                refused.append(Refused(shown, reason))
                continue
            budget.spend(info.st_size)
            entries.append(_file_entry(path, shown, info))
    return entries, refused


def _odd_file(info):
    if stat.S_ISLNK(info.st_mode):
        return "a link"
    if not stat.S_ISREG(info.st_mode):
        return "neither a file nor a folder"
    return _too_large(info.st_size)


def _file_entry(path, shown, info):
    def read():
        try:
            return path.read_bytes()
        except OSError as error:
            raise GradingError(f"it can't be read: {error.strerror}.", "unreadable") from None

    time = datetime.fromtimestamp(info.st_mtime).replace(microsecond=0)
    return Entry(PurePosixPath(unicodedata.normalize("NFC", shown)), info.st_size, time, read)
