"""Finds out which cell of a submission answers which cell of the lesson, and mends what is off.

Nothing is guessed where it matters: tests and read-only cells always come from the instructor's
notebook; all other code cells are the student's, whatever they call themselves.
"""

import copy
from dataclasses import dataclass, field

from nbformat import from_dict

from .cells import code_cell, fresh_id, markdown_cell, valid_text
from .code import bound_names, parse
from .model import Problem

MAX_CELL = 500_000  # characters; a longer cell is kept and not run
_DANGEROUS_TAGS = ("skip-execution", "raises-exception", "nbval-skip")


@dataclass
class Place:
    """One cell of the repaired notebook. `known` is the source cell that it is, if it is one."""

    cell: dict
    known: object = None
    run: bool = True  # unchanged stubs are left out where another cell has the answer

    @property
    def is_student(self):
        """Whether the cell's text is the student's."""
        return self.known is None or not self.known.is_ours

    @property
    def is_code(self):
        return self.cell.cell_type == "code"


@dataclass
class Repaired:
    """The repaired notebook's cells in order, and what was found on the way."""

    places: list
    problems: list = field(default_factory=list)


def repair(source, notebook):
    """Match a submission's cells with the lesson's and mend them.

    source    the lesson's Source
    notebook  the submission, nbformat 4; it is not changed
    """
    return _Repair(source, notebook).run()


class _Repair:
    def __init__(self, source, notebook):
        self.source = source
        self.problems = []
        self.places = [Place(_clean(cell)) for cell in notebook.cells]
        self.claims = {}
        self.without_metadata = []
        for place in self.places:
            claimed = _claimed_id(place.cell)
            place.cell.metadata.pop("nbgrader", None)
            if claimed in source.by_id:
                self.claims.setdefault(claimed, []).append(place)

    def run(self):
        for known in self.source.cells:
            if known.grade_id and known.is_ours:
                self._match_ours(known)
        for known in self.source.cells:
            if known.grade_id and not known.is_ours:
                self._match_answer(known)
        self._note_lost_metadata()
        self._insert_missing()
        self._leave_out_stubs()
        for place in self.places:
            if place.known is not None:
                _take_over(place)
            if len(place.cell.source) > MAX_CELL:
                place.run = False
                self._say("too_long", f"A cell of {len(place.cell.source):,} characters "
                          "is too long to be run.")  # fmt: skip
        return Repaired(self.places, self.problems)

    def _say(self, kind, message):
        self.problems.append(Problem(kind, message))

    # -- cells of the instructor's ------------------------------------------------------------

    def _match_ours(self, known):
        found = self.claims.get(known.grade_id, [])
        if not found:
            found = self._same_cell(known)
            if found:
                self.without_metadata.append(known.grade_id)
        if not found:
            return
        if len(found) > 1:
            self._say("duplicate", f"The cell {known.grade_id} is there {len(found)} times.")
        for place in found[1:]:
            if _same_text(place.cell.source, known.release, known.source):
                self.places.remove(place)
        first = found[0]
        if not _same_text(first.cell.source, known.release, known.source):
            self._keep_edit(known, first)
        elif first.cell.cell_type != known.cell_type:
            self._say("retyped", f"The cell {known.grade_id} had another type; it is put right.")
        first.known = known

    def _keep_edit(self, known, place):
        """Use the instructor's text; an answer that was written into it stays, in its own cell."""
        kind = "edited_test" if known.role == "test" else "edited"
        self._say(kind, f"The read-only cell {known.grade_id} was changed; the original is used.")
        answers = _answer_names(self.source)
        if place.is_code and bound_names(place.cell.source) & answers:
            kept = Place(code_cell(place.cell.source))
            self.places.insert(self.places.index(place), kept)

    # -- cells of the student's ----------------------------------------------------------------

    def _match_answer(self, known):
        found = [p for p in self.claims.get(known.grade_id, []) if p.known is None]
        if not found:
            found = self._same_cell(known) or self._same_names(known)
            if found:
                self.without_metadata.append(known.grade_id)
        if not found:
            return
        found = self._without_stubs(known, found)
        for place in found:
            self._retype(known, place)
        if len(found) > 1:
            found = self._join(known, found)
        found[-1].known = known

    def _without_stubs(self, known, found):
        written = [p for p in found if not _same_text(p.cell.source, known.release)]
        if len(found) > 1:
            self._say(
                "duplicate",
                f"The answer cell {known.grade_id} is there {len(found)} times; "
                "all copies with an answer are used, in their order.",
            )
        for place in found:
            if written and place not in written:
                self.places.remove(place)
        return written or found[:1]

    def _retype(self, known, place):
        if place.cell.cell_type == known.cell_type:
            return
        make = code_cell if known.cell_type == "code" else markdown_cell
        self._say(
            "retyped",
            f"The answer cell {known.grade_id} was turned into "
            f"{'a ' + place.cell.cell_type.capitalize()} cell; it is used as {known.cell_type}.",
        )
        place.cell = make(place.cell.source, metadata=place.cell.metadata)

    def _join(self, known, found):
        """Put the parts of a split cell together where they are no programs of their own."""
        if known.cell_type == "code":
            whole = "\n".join(place.cell.source for place in found)
            if all(parse(p.cell.source) is not None for p in found) or parse(whole) is None:
                return found
        else:
            whole = "\n\n".join(place.cell.source for place in found)
        self._say("split", f"The answer cell {known.grade_id} was split; its parts are joined.")
        for place in found[1:]:
            self.places.remove(place)
        found[0].cell.source = whole
        return found[:1]

    # -- finding cells that have lost their metadata ---------------------------------------------

    def _free(self):
        claimed = {id(p) for places in self.claims.values() for p in places}
        return [p for p in self.places if p.known is None and id(p) not in claimed]

    def _same_cell(self, known):
        free = self._free()
        by_text = [p for p in free if _same_text(p.cell.source, known.release, known.source)]
        by_id = [p for p in free if known.cell_id and p.cell.get("id") == known.cell_id]
        if known.is_ours:
            return by_text[:1] or by_id[:1]
        return by_id[:1]

    def _same_names(self, known):
        wanted = known.binds
        if not wanted:
            return []
        found = [p for p in self._free() if wanted <= bound_names(p.cell.source)]
        return found[-1:]

    # -- the rest -----------------------------------------------------------------------------

    def _insert_missing(self):
        """Put back cells that were deleted, each behind the one it follows in the lesson."""
        here = {id(p.known): p for p in self.places if p.known is not None}
        previous = None
        for known in self.source.cells:
            if not known.grade_id:
                continue
            place = here.get(id(known))
            if place is None:
                place = Place(_new_cell(known), known)
                at = 0 if previous is None else self.places.index(previous) + 1
                self.places.insert(at, place)
                what = "answer" if not known.is_ours else known.role
                self._say("deleted", f"The {what} cell {known.grade_id} was deleted; it is back.")
            previous = place

    def _leave_out_stubs(self):
        for place in self.places:
            known = place.known
            if known is None or known.role not in ("answer", "manual") or not known.binds:
                continue
            if known.cell_type != "code" or not _same_text(place.cell.source, known.release):
                continue
            for other in self.places:
                if other is not place and other.is_student and other.is_code:
                    elsewhere = other.known is None or other.known.index < known.index
                    if elsewhere and known.binds <= bound_names(other.cell.source):
                        place.run = False
                        self._say(
                            "elsewhere",
                            f"The answer to {known.grade_id} was found in another cell.",
                        )
                        break

    def _note_lost_metadata(self):
        names = self.without_metadata
        if names:
            few = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            self._say(
                "metadata",
                f"Cells that had lost nbgrader's metadata were found by their content: {few}.",
            )


def give_ids(cells):
    """Give each cell an id of its own, where it has none or another cell's."""
    used = set()
    for cell in cells:
        if not cell.get("id") or cell["id"] in used:
            cell["id"] = fresh_id()
        used.add(cell["id"])


def _claimed_id(cell):
    info = cell.metadata.get("nbgrader")
    found = info.get("grade_id") if isinstance(info, dict) else None
    return found if isinstance(found, str) else None


def _clean(cell):
    """Return a copy of a submitted cell with nothing that steers a grader."""
    kept = {name: part for name, part in cell.items() if name not in ("outputs", "source")}
    cell = type(cell)(from_dict(kept), source=_plain_lines(cell.source))
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
    tags = cell.metadata.get("tags")
    if isinstance(tags, list):
        cell.metadata["tags"] = [t for t in tags if t not in _DANGEROUS_TAGS]
    return cell


def _plain_lines(text):
    text = "".join(text) if isinstance(text, list) else str(text)
    text = valid_text(text)
    return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _same_text(text, *others):
    def normal(value):
        return "\n".join(line.rstrip() for line in value.strip().splitlines())

    return normal(text) in map(normal, others)


def _answer_names(source):
    answers = (cell for cell in source.cells if cell.role in ("answer", "manual"))
    return frozenset().union(*(cell.binds for cell in answers))


def _new_cell(known):
    make = code_cell if known.cell_type == "code" else markdown_cell
    return make(known.source if known.is_ours else known.release)


def _take_over(place):
    """Give a matched cell the instructor's metadata, and for read-only cells text and type."""
    known = place.known
    if known.is_ours:
        cell = _new_cell(known)
        cell.metadata.update(copy.deepcopy(known.cell["metadata"]))
        if "id" in place.cell:
            cell["id"] = place.cell["id"]
        place.cell = cell
    else:
        place.cell.metadata["nbgrader"] = copy.deepcopy(known.cell["metadata"]["nbgrader"])


# -- the order of running ----------------------------------------------------------------------


@dataclass
class Step:
    """One thing to run: kind is "student", "trusted" or "test"."""

    kind: str
    place: Place


def plan(repaired):
    """Return the Steps in the order of the notebook."""
    steps = []
    for place in repaired.places:
        if not place.is_code:
            continue
        if place.known is not None and place.known.role == "test":
            steps.append(Step("test", place))
        elif place.run:
            steps.append(Step("student", place))
            if place.known is not None and place.known.role == "locked":
                steps.append(Step("trusted", place))
    return steps


def second_chances(source, repaired):
    """Return the places of tests whose answer comes later in the notebook than the test.

    They deserve a run after all cells.
    """
    found = []
    for number, place in enumerate(repaired.places):
        if place.is_code and place.known is not None and place.known.role == "test":
            names = _answered_names(source, place.known)
            behind = repaired.places[number + 1 :]
            if any(
                other.is_code and other.is_student and names & bound_names(other.cell.source)
                for other in behind
            ):
                found.append(place)
    return found


def _answered_names(source, test):
    """Return the names that the answer before a test binds and no later cell of the lesson."""
    names = set()
    for cell in reversed(source.cells[: test.index]):
        if cell.role in ("answer", "manual") and cell.cell_type == "code":
            names |= cell.binds
            break
    for cell in source.cells[test.index :]:
        names -= cell.binds
    return names
