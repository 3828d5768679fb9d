"""The build: stubs, answers kept out, edited lessons kept."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from autograder.release import FriendlyStubs, stub_for
from autograder.versions import fingerprint
from tools import build
from tools.course import (
    CourseError,
    answers_file,
    find_slug,
    read_lesson,
    strip_markers,
    with_solution_markers,
    worked_notebook,
)

SLUG = "01_draft_and_verify"


def test_a_function_stub_names_the_function_and_the_line_to_delete():
    stub = stub_for('def f(x):\n    """Doc."""\n    ### BEGIN SOLUTION\n    return x')
    assert 'raise NotImplementedError("f is not written yet")  # delete this line' in stub


def test_the_stubs_of_methods_name_their_class():
    assert "C is not written yet" in stub_for(
        "class C:\n    def crop(self):\n        ### BEGIN SOLUTION\n        pass"
    )


def test_each_region_of_a_cell_has_a_stub_of_its_own():
    region = "    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\n"
    source = f"def f():\n{region}\ndef g():\n{region}"
    cell = new_code_cell(source, metadata={"nbgrader": {"solution": True, "grade": False}})
    cleared, _ = FriendlyStubs().preprocess_cell(cell, {"language": "python"}, 0)
    stub = "    # your code here\n    raise NotImplementedError(\"{} is not written yet\")"
    first, second = cleared.source.split("\n\n")
    assert stub.format("f") in first
    assert stub.format("g") in second
    assert "return" not in cleared.source


def test_an_answer_stub_is_none():
    assert stub_for("### BEGIN SOLUTION\ntodo_x = 3").startswith("todo_x = None  #")


def test_markers_go_around_the_body():
    source = with_solution_markers('def f(x):\n    """Doc.\n\n    More.\n    """\n    return x')
    assert source.splitlines()[5:] == [
        "    ### BEGIN SOLUTION",
        "    return x",
        "    ### END SOLUTION",
    ]


def test_half_given_answers_keep_their_own_markers():
    source = "def f():\n    a = 1\n    ### BEGIN SOLUTION\n    return a\n    ### END SOLUTION"
    assert with_solution_markers(source) == source


def test_worked_cells_have_no_markers_and_no_hidden_tests():
    text = "a\n### BEGIN SOLUTION\nb\n### END SOLUTION\n### BEGIN HIDDEN TESTS\nc\n### END HIDDEN TESTS"
    assert strip_markers(text) == "a\nb"
    worked = worked_notebook(read_lesson(SLUG))
    assert all("###" not in c.source or c.cell_type == "markdown" for c in worked.cells)
    assert all("nbgrader" not in c.metadata for c in worked.cells)


def test_answers_are_digests():
    questions = answers_file(read_lesson(SLUG))
    assert set(questions) >= {"todo_tokens_emitted", "quiz_one_pass"}
    assert "todo_bug_input" not in questions


@pytest.mark.parametrize("name", ["1", "01", SLUG])
def test_a_lesson_has_three_names(name):
    assert find_slug(name) == SLUG


def test_an_unknown_lesson_names_the_known_ones(capsys):
    with pytest.raises(CourseError, match=SLUG):
        find_slug("99")
    assert build.main(["all", "99"]) == 1
    assert "there is no lesson '99'" in capsys.readouterr().err


@pytest.fixture
def lesson_in(tmp_path, monkeypatch):
    """A built lesson in a folder of its own."""
    monkeypatch.setattr(build, "LESSONS", tmp_path)
    monkeypatch.setattr(build, "ROOT", tmp_path)
    target = build.lesson_path(SLUG, tmp_path)
    target.parent.mkdir(parents=True)
    released = nbformat.read(build.lesson_path(SLUG, build.SOLUTIONS.parent / "lessons"), 4)
    nbformat.write(released, target)
    monkeypatch.setattr(build, "lesson_path", lambda slug, folder=tmp_path: target)
    monkeypatch.setattr(build, "release", lambda lesson: newer(released))
    return target


def newer(notebook):
    notebook = nbformat.from_dict(notebook)
    notebook.cells[0].source += "\nnewer"
    notebook.metadata["specdec"]["built"] = fingerprint(notebook)
    return notebook


def test_a_build_replaces_an_untouched_lesson(lesson_in):
    assert not build.edited(lesson_in)
    build.build_lesson(read_lesson(SLUG))
    assert "newer" in lesson_in.read_text(encoding="utf-8")
    assert len(list(lesson_in.parent.iterdir())) == 1


@pytest.mark.parametrize("what", ["answer", "output", "broken"])
def test_a_build_keeps_an_edited_lesson(lesson_in, capsys, what):
    notebook = nbformat.read(lesson_in, as_version=4)
    code = next(c for c in notebook.cells if c.cell_type == "code")
    if what == "answer":
        code.source += "\n# mine"
    elif what == "output":
        code.outputs = [nbformat.v4.new_output("stream", text="mine")]
    nbformat.write(notebook, lesson_in)
    if what == "broken":
        lesson_in.write_text("{ mine", encoding="utf-8")
    mine = lesson_in.read_text(encoding="utf-8")
    build.build_lesson(read_lesson(SLUG))
    (copy,) = [p for p in lesson_in.parent.iterdir() if p != lesson_in]
    assert copy.read_text(encoding="utf-8") == mine
    assert copy.name in capsys.readouterr().out
