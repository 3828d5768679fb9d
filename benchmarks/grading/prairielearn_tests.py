"""The small lesson's tests in the words of pytest-prairielearn-grader; corpus.py copies them."""

import numpy as np
import pytest
from pytest_prairielearn_grader import ConfigObject

autograder_config = ConfigObject(
    student_code_pattern="student_code.ipynb", sandbox_timeout=8.0, import_blacklist=None
)
SECONDS = 5.0


@pytest.mark.grading_data(name="double", points=1)
def test_double(sandbox):
    for given, wanted in [(2, 4), (7, 14), (-3, -6)]:
        assert sandbox.query_function("double", given, query_timeout=SECONDS) == wanted


@pytest.mark.grading_data(name="count_up", points=1)
def test_count_up(sandbox):
    assert sandbox.query_function("count_up", 4, query_timeout=SECONDS) == [0, 1, 2, 3]
    assert sandbox.query_function("count_up", 0, query_timeout=SECONDS) == []


@pytest.mark.grading_data(name="average", points=1)
def test_average(sandbox):
    values = np.array([1.0, 2.0, 6.0])
    found = sandbox.query_function("average", values, query_timeout=SECONDS)
    np.testing.assert_allclose(found, 3.0)
    assert abs(sandbox.query_function("average", [2.0, 4.0], query_timeout=SECONDS) - 3) < 1e-9


@pytest.mark.grading_data(name="ask_model", points=1)
def test_ask_model(sandbox):
    names = {"__name__": "__main__"}  # else it is looked for in this file, which is not there
    exec("def model(prompt): return len(prompt) * 10", names)
    answer = sandbox.query_function("ask_model", names["model"], [5, 6], query_timeout=SECONDS)
    assert answer == [20, 30]


@pytest.mark.grading_data(name="quiz", points=1)
def test_quiz(sandbox):
    assert sandbox.query("quiz") == "B"
