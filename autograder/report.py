"""What the commands print."""

import contextlib

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from autograder.results import printable

MARKS = {
    "passed": ("✓ passed", "green"),
    "partial": ("◐ partial", "yellow"),
    "failed": ("✗ failed", "red"),
    "unwritten": ("✎ not written", "yellow"),
    "timeout": ("✗ too slow", "red"),
    "crashed": ("✗ crashed", "red"),
    "error": ("✗ error", "red"),
    "manual": ("✎ by hand", "cyan"),
}


UNSAFE = (
    "WARNING: --unsafe-no-sandbox: the hand-ins' code runs as you. It can read and change your "
    "files, the gradebook and the other hand-ins, and use the network."
)


@contextlib.contextmanager
def progress():
    """Show a bar on stderr; yields a function of (number done, number of all, last student)."""
    columns = (
        TextColumn("grading"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[student]}", markup=False),
    )
    console = Console(stderr=True)
    silent = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=silent) as bar:
        task = bar.add_task("grading", total=None, student="")
        yield lambda done, total, student: bar.update(
            task, completed=done, total=total, student=student
        )


def warn_unsafe():
    """Say loudly that there is no sandbox."""
    Console(stderr=True).print(Text(UNSAFE, "bold white on red"), soft_wrap=True)


def print_check(result, path):
    """Print the outcome of one notebook: a table, then the messages of what lost points."""
    console = Console()
    title = Text(f"{printable(str(path))}\nlesson {result.lesson}")
    table = Table(title=title, title_justify="left")
    table.add_column("test", no_wrap=True)
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    for cell in result.cells:
        mark, style = MARKS[cell.status]
        points = f"{cell.points} of {cell.max_points}"
        table.add_row(Text(cell.grade_id), points, Text(mark, style))
    console.print(table)
    for cell in result.cells:
        if cell.message:
            console.print(Text(cell.grade_id, "bold"))
            console.print(Text(f"{cell.message}\n"), soft_wrap=True)
    for problem in result.problems:
        console.print(Text(f"note: {problem.message}"), soft_wrap=True)
    console.print(Text(f"{result.points} of {result.max_points} points", "bold"))


def print_class(lesson, lines):
    """Print the class table, the problems by student, and a summary."""
    console = Console()
    table = Table(title=Text(f"lesson {lesson}"), title_justify="left")
    table.add_column("student")
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("of", justify="right", no_wrap=True)
    late = any(line.penalty for line in lines)
    if late:
        table.add_column("late", justify="right", no_wrap=True)
    table.add_column("lost at")
    for line in lines:
        penalty = [f"−{line.penalty}" if line.penalty else ""] if late else []
        table.add_row(Text(line.student), *_points(line), *penalty, Text(_lost(line.result)))
    console.print(table)
    for line in lines:
        for problem in line.result.problems:
            console.print(Text(f"{line.student}: {problem.message}"), soft_wrap=True)
    console.print(Text(summary(lines), "bold"), soft_wrap=True)


def _points(line):
    if line.result.ungraded:
        return "–", "–"
    return str(line.points), str(line.max_points)


def _lost(result):
    if result.ungraded:
        return "not graded, see below"
    if not result.points:
        return "everything"
    return ", ".join(
        cell.grade_id.removeprefix("test_")
        for cell in result.cells
        if cell.points < cell.max_points
    )


def summary(lines):
    """Return one sentence about a class."""
    graded = [line for line in lines if not line.result.ungraded]
    fresh = sum(line.fresh for line in graded)
    text = f"{len(lines)} students: {fresh} graded now, {len(graded) - fresh} unchanged"
    if len(graded) < len(lines):
        text += f", {len(lines) - len(graded)} could not be graded"
    if graded:
        mean = sum(line.points for line in graded) / len(graded)
        text += f"; mean of the graded {mean:.1f} of {graded[0].max_points}"
    return text + "."


def print_repairs(repairs):
    """Print what was mended for whom, what could not be, and a summary."""
    console = Console()
    for one in repairs:
        said = one.refused or "; ".join(one.done)
        if said:
            console.print(Text(f"{one.student}: {said}"), soft_wrap=True)
    mended = sum(bool(one.done) for one in repairs)
    refused = sum(bool(one.refused) for one in repairs)
    text = f"{len(repairs)} students: {mended} mended, {len(repairs) - mended - refused} in order"
    text += f", {refused} can't be read" if refused else ""
    console.print(Text(f"{text}.", "bold"), soft_wrap=True)
