"""A small course to test the commands on: two exercises with hidden tests, no course library."""

import shutil
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

REPOSITORY = Path(__file__).resolve().parents[2]
LESSON = "01_double"

DOUBLE = '''def double(x):
    """Return x twice as large."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION
'''
TEST_DOUBLE = """assert double(2) == 4, f"double(2) returned {double(2)}, wanted 4"
### BEGIN HIDDEN TESTS
assert double(-3) == -6, f"double(-3) returned {double(-3)}, wanted -6"
### END HIDDEN TESTS
"""
TODO = """### BEGIN SOLUTION
todo_sum = 7
### END SOLUTION
"""
TEST_TODO = """assert todo_sum is not None, "todo_sum is not filled in yet"
### BEGIN HIDDEN TESTS
assert todo_sum == 7, f"todo_sum is {todo_sum}: 3 and 4 added give 7"
### END HIDDEN TESTS
"""


def _nbgrader(grade_id, points=None):
    data = {
        "grade_id": grade_id,
        "grade": points is not None,
        "solution": points is None,
        "locked": points is not None,
        "task": False,
        "schema_version": 3,
    }
    if points is not None:
        data["points"] = points
    return {"nbgrader": data}


def _answer(grade_id, source):
    return new_code_cell(source, id=grade_id, metadata=_nbgrader(grade_id))


def _test(grade_id, points, source):
    return new_code_cell(source, id=grade_id, metadata=_nbgrader(grade_id, points))


def source_notebook(lesson=LESSON):
    """Return the small course's source notebook."""
    cells = [
        new_markdown_cell("# Twice", id="title"),
        _answer("double", DOUBLE),
        _test("test_double", 3, TEST_DOUBLE),
        _answer("todo_sum", TODO),
        _test("test_todo_sum", 2, TEST_TODO),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "small": {"lesson": lesson}})


def make_course(root):
    """Write the small course to the folder root, with the repository's settings adapted."""
    config = (REPOSITORY / "nbgrader_config.py").read_text(encoding="utf-8")
    extra = f'''
c.CourseDirectory.course_id = "small"
c.Course.metadata_key = "small"
c.Course.demo_lesson = "{LESSON}"
c.GradeCells.limits = {{"cell": 3, "test": 3}}
'''
    root.mkdir(parents=True, exist_ok=True)
    (root / "nbgrader_config.py").write_text(config + extra, encoding="utf-8")
    folder = root / "autograder" / "classroom" / "source" / LESSON
    folder.mkdir(parents=True)
    nbformat.write(source_notebook(), folder / f"{LESSON}.ipynb")
    sample = root / "autograder" / "classroom" / "sample_class"
    sample.mkdir()
    shutil.copy(Path(__file__).with_name("class.toml"), sample)
    return root
