"""Mend the files of hand-ins where they lie: name, folder, byte order mark, old format, line ends.

Nothing is ever lost: the file that was handed in stays, under its name or as NAME.original.ipynb.
What is found is what `autograder grade` finds, which mends a copy.
"""

import os
import shutil
from dataclasses import dataclass, field

import nbformat

from autograder.errors import GradingError
from autograder.staging import ORIGINAL, read_hand_in
from autograder.submissions import BOM, read_notebook, with_plain_lines

_IN_THE_TEXT = ("old_format", "windows_line_ends")
_MENDED = ("wrong_name", "wrong_folder", "byte_order_mark", *_IN_THE_TEXT)


@dataclass
class Repair:
    """What was done for one student: nothing, or why nothing could be done, or sentences."""

    student: str
    done: list[str] = field(default_factory=list)
    refused: str = ""


def repair(course, lesson, students):
    """Mend the hand-ins of these students; return their Repairs."""
    return [_repair_one(course, lesson, student) for student in students]


def _repair_one(course, lesson, student):
    try:
        hand_in = read_hand_in(course, lesson, student)
    except GradingError as error:
        return Repair(student, refused=str(error))
    found = [problem for problem in hand_in.notebook.problems if problem.kind in _MENDED]
    if not found:
        return Repair(student)
    target = course.folder("submitted", lesson, student) / f"{lesson}.ipynb"
    done = [problem.message for problem in found]
    target.parent.mkdir(parents=True, exist_ok=True)
    if hand_in.path == target:
        done.append(f"the file as it was is kept as '{_keep_original(target).name}'")
    else:
        done += _copy_extras(hand_in, target.parent)
        done.append(f"it is copied to '{target.relative_to(target.parents[1])}'")
    _write(target, _mended(hand_in, found), hand_in.path)
    return Repair(student, done)


def _mended(hand_in, found):
    """Return the bytes of the mended notebook; they change no more than they have to."""
    if any(problem.kind in _IN_THE_TEXT for problem in found):
        node = read_notebook(hand_in.path, keep_outputs=True).node
        text = nbformat.writes(with_plain_lines(node), version=4)
        return text.encode() + b"\n"
    return hand_in.path.read_bytes().removeprefix(BOM)


def _keep_original(path):
    """Copy a file to a free name beside it; return the copy's path."""
    number = 1
    while True:
        count = "" if number == 1 else f"-{number}"
        kept = path.with_name(f"{path.stem}{count}{ORIGINAL}")
        part = kept.with_suffix(".part")
        shutil.copy2(path, part)
        try:
            os.link(part, kept)  # never over an older one
        except FileExistsError:
            number += 1
            continue
        finally:
            part.unlink()
        return kept


def _copy_extras(hand_in, folder):
    """Copy the files beside a notebook that has to move, where there are none of their name."""
    copied = []
    for path in hand_in.extras:
        target = folder / path.name
        if not os.path.lexists(target):
            shutil.copy2(path, target)
            copied.append(f"'{path.name}' is copied too")
    return copied


def _write(target, content, like):
    """Write a file in one step, with another one's time: it is no newer hand-in."""
    part = target.with_suffix(".part")
    part.write_bytes(content)
    shutil.copystat(like, part)
    os.replace(part, target)
