"""Repairs: what editors and hasty hands do to a notebook costs an honest student nothing."""

import copy

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell

from autograder.engine.repairs import plan, repair
from autograder.engine.source import hidden_lines, read_source

from . import lesson

SOURCE = read_source(lesson.source())


def at(notebook, grade_id):
    return notebook.cells[lesson.find(notebook, grade_id)]


def untouched(notebook):
    pass


def no_metadata(notebook):
    for cell in notebook.cells:
        cell.metadata = nbformat.NotebookNode()


def no_metadata_no_ids(notebook):
    no_metadata(notebook)
    for cell in notebook.cells:
        cell.pop("id")


def other_ids(notebook):
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"new-{number}"
        if "nbgrader" in cell.metadata:
            cell.metadata["nbgrader"]["grade_id"] = f"cell-{number}"


def answer_without_metadata(notebook):
    cell = at(notebook, "double")
    cell.metadata, cell["id"] = nbformat.NotebookNode(), "other"


def copied_answer(notebook):
    number = lesson.find(notebook, "double")
    notebook.cells.insert(number, copy.deepcopy(notebook.cells[number]))


def stub_left_below(notebook):
    number = lesson.find(notebook, "double")
    stub = copy.deepcopy(notebook.cells[number])
    stub.source = SOURCE.by_id["double"].release
    notebook.cells.insert(number + 1, stub)


def split_answer(notebook):
    number = lesson.find(notebook, "average")
    cell = notebook.cells[number]
    second = copy.deepcopy(cell)
    cell.source, second.source = (
        "import numpy as np\n\ndef average(values):",
        "    return np.mean(values)",
    )
    notebook.cells.insert(number + 1, second)


def split_between_statements(notebook):
    number = lesson.find(notebook, "average")
    cell = notebook.cells[number]
    second = copy.deepcopy(cell)
    cell.source, second.source = (
        "import numpy as np",
        "def average(values):\n    return np.mean(values)",
    )
    notebook.cells.insert(number + 1, second)


def markdown_answer(notebook):
    number = lesson.find(notebook, "double")
    cell = notebook.cells[number]
    notebook.cells[number] = new_markdown_cell(cell.source, metadata=cell.metadata)


def raw_answer(notebook):
    number = lesson.find(notebook, "double")
    cell = notebook.cells[number]
    notebook.cells[number] = new_raw_cell(cell.source, metadata=cell.metadata)


def answer_moved_to_the_end(notebook):
    notebook.cells.append(notebook.cells.pop(lesson.find(notebook, "double")))


def answer_in_a_new_cell_below(notebook):
    number = lesson.find(notebook, "double")
    cell = notebook.cells[number]
    notebook.cells.insert(number + 1, new_code_cell(cell.source))
    cell.source = SOURCE.by_id["double"].release


def answer_below_the_test(notebook):
    number = lesson.find(notebook, "double")
    cell = notebook.cells[number]
    notebook.cells.insert(number + 2, new_code_cell(cell.source))
    cell.source = SOURCE.by_id["double"].release


def answer_above_the_stub(notebook):
    number = lesson.find(notebook, "double")
    cell = notebook.cells[number]
    notebook.cells.insert(number, new_code_cell(cell.source))
    cell.source = SOURCE.by_id["double"].release


def answer_cell_deleted_and_written_anew(notebook):
    number = lesson.find(notebook, "double")
    notebook.cells[number] = new_code_cell(notebook.cells[number].source)


def answer_in_the_test_cell(notebook):
    number = lesson.find(notebook, "double")
    cell, test = notebook.cells[number : number + 2]
    test.source = f"{cell.source}\n\n{test.source}"
    cell.source = SOURCE.by_id["double"].release


def read_only_cells_deleted(notebook):
    notebook.cells = [c for c in notebook.cells if not c.metadata.get("nbgrader", {}).get("locked")]


def windows_line_ends(notebook):
    for cell in notebook.cells:
        cell.source = cell.source.replace("\n", "\r\n")


def byte_order_mark(notebook):
    for cell in notebook.cells:
        cell.source = "\ufeff" + cell.source


def saved_by_colab(notebook):
    notebook.metadata = nbformat.from_dict({"colab": {"provenance": []}, "accelerator": "GPU"})
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"Xy{number}"
        cell.metadata["id"] = f"Xy{number}"
        cell.metadata["outputId"] = "8f"


def without_cell_ids(notebook):
    notebook.nbformat_minor = 4
    for cell in notebook.cells:
        cell.pop("id")


ACCIDENTS = [
    (untouched, None),
    (no_metadata, "metadata"),
    (no_metadata_no_ids, "metadata"),
    (other_ids, "metadata"),
    (answer_without_metadata, "metadata"),
    (copied_answer, "duplicate"),
    (stub_left_below, "duplicate"),
    (split_answer, "split"),
    (split_between_statements, "duplicate"),
    (markdown_answer, "retyped"),
    (raw_answer, "retyped"),
    (answer_moved_to_the_end, "order"),
    (answer_in_a_new_cell_below, "elsewhere"),
    (answer_below_the_test, "elsewhere"),
    (answer_above_the_stub, "elsewhere"),
    (answer_cell_deleted_and_written_anew, "metadata"),
    (answer_in_the_test_cell, "edited_test"),
    (read_only_cells_deleted, "deleted"),
    (windows_line_ends, None),
    (byte_order_mark, None),
    (saved_by_colab, None),
    (without_cell_ids, None),
]


@pytest.mark.sandbox
@pytest.mark.parametrize(("accident", "kind"), ACCIDENTS, ids=lambda value: getattr(
    value, "__name__", str(value)))  # fmt: skip
def test_accidents_cost_nothing_and_are_named(accident, kind, graded):
    notebook = lesson.submission()
    accident(notebook)
    before = copy.deepcopy(notebook)

    result = graded(notebook)

    assert lesson.passed(result) == lesson.ALL, [(c.grade_id, c.message) for c in result.cells]
    kinds = {problem.kind for problem in result.problems}
    assert kind in kinds if kind else not kinds
    assert notebook == before
    stored = nbformat.from_dict(result.notebook)
    nbformat.validate(stored)
    ids = [c.metadata["nbgrader"]["grade_id"] for c in stored.cells if "nbgrader" in c.metadata]
    assert sorted(ids) == sorted(SOURCE.by_id)


@pytest.mark.parametrize("accident", [a for a, _ in ACCIDENTS], ids=lambda a: a.__name__)
def test_nothing_of_the_students_is_lost(accident):
    notebook = lesson.submission(last="my_own = 'kept'")
    accident(notebook)
    repaired = repair(SOURCE, notebook)
    text = "\n".join(place.cell.source for place in repaired.places)
    for name, answer in lesson.ANSWERS.items():
        for line in answer.splitlines():
            assert line in text, name
    assert "my_own = 'kept'" in text


def test_repairing_twice_finds_nothing_more():
    for accident, _ in ACCIDENTS:
        notebook = lesson.submission()
        accident(notebook)
        once = repair(SOURCE, notebook)
        notebook.cells = [place.cell for place in once.places]
        again = repair(SOURCE, notebook)
        assert [p.cell.source for p in again.places] == [p.cell.source for p in once.places]
        assert {p.kind for p in again.problems} <= {"elsewhere"}, accident.__name__


def test_texts_of_tests_are_the_instructors():
    notebook = lesson.submission()
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade"):
            cell.source = "print('mine')"
    repaired = repair(SOURCE, notebook)
    tests = [p for p in repaired.places if p.known is not None and p.known.role == "test"]
    assert [p.cell.source for p in tests] == list(lesson.TESTS.values())
    assert all(p.cell.metadata["nbgrader"]["points"] == 1 for p in tests)


def test_nothing_that_steers_a_grader_is_kept():
    notebook = lesson.submission()
    cell = at(notebook, "double")
    cell.metadata["tags"] = ["skip-execution", "mine"]
    cell.outputs = [nbformat.v4.new_output("display_data", {"text/html": "<script>"})]
    places = repair(SOURCE, notebook).places
    kept = next(p.cell for p in places if p.known is SOURCE.by_id["double"])
    assert kept.metadata["tags"] == ["mine"]
    assert kept.outputs == []


def test_every_test_runs_once_where_all_is_in_order():
    steps = plan(repair(SOURCE, lesson.submission()))
    tests = [step.place.known.grade_id for step in steps if step.kind == "test"]
    assert tests == [f"test_{name}" for name in lesson.NAMES]


def test_hidden_lines_are_those_that_the_release_lacks():
    known = SOURCE.by_id["test_double"]
    assert hidden_lines(known.source, known.release) == {2, 3, 4, 5, 6}


def test_names_of_the_lesson():
    assert SOURCE.shared == {*lesson.NAMES, "helper"}
    assert set(SOURCE.definitions) == {"math"}
    assert "np" in SOURCE.fallbacks
