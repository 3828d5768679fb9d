"""Tests and student code in two processes behave as in one namespace, and only plain data cross."""

import textwrap

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from autograder.engine import Limits, Policy, grade

from . import corpus, lesson
from .conftest import QUICK

pytestmark = pytest.mark.sandbox


@pytest.fixture
def judged(needs_sandbox):
    """Grade one answer with one test; return the test's CellResult."""

    def run(answer, test, *, solution=None, given="", locked="", **options):
        solution = textwrap.dedent(answer if solution is None else solution)
        cells = [
            new_code_cell(given or "pass", id="given"),
            new_code_cell(locked or "pass", id="locked", metadata=lesson._info(
                "locked", locked=True)),
            lesson.answer_cell("a", f"### BEGIN SOLUTION\n{solution}\n### END SOLUTION"),
            lesson.check_cell("a", textwrap.dedent(test)),
        ]  # fmt: skip
        source = new_notebook(cells=cells)
        submitted = nbformat.from_dict(source)
        submitted = nbformat.reads(nbformat.writes(submitted), as_version=4)
        submitted.cells[2].source = textwrap.dedent(answer)
        return grade(source, submitted, limits=QUICK, **options).cells[0]

    return run


# -- one namespace -------------------------------------------------------------------------------

USES = """
def base(n):
    return n + 1

def above(n):
    return base(n) * 10
"""


def test_a_deleted_name_is_gone_for_the_students_functions_and_can_come_back(judged):
    result = judged(USES, """
        kept = base
        del base
        try:
            above(1)
        except NameError:
            pass
        else:
            raise AssertionError("above does not use base")
        finally:
            base = kept
        assert above(1) == 20 and base is kept
    """)  # fmt: skip
    assert result.status == "passed", result.message


def test_a_trusted_function_takes_the_place_of_a_wrong_one(judged):
    wrong = USES.replace("n + 1", "n - 1")
    result = judged(wrong, """
        calls = []
        def base(n):
            calls.append(n)
            return n + 1
        assert above(1) == 20
        assert calls == [1]
    """)  # fmt: skip
    assert result.status == "passed", result.message


def test_a_global_statement_replaces_a_name_too(judged):
    result = judged(USES, """
        def swap():
            global base
            base = lambda n: 100
        swap()
        assert above(1) == 1000
    """)  # fmt: skip
    assert result.status == "passed", result.message


def test_names_of_tests_do_not_reach_student_code(judged):
    answer = """
        expected = None
        def peek():
            return globals().get("expected"), globals().get("another")
    """
    test = 'expected = another = "secret"\nassert peek() == (None, None)'
    assert judged(answer, test, solution="def peek(): pass").status == "passed"


def test_variables_of_the_student_are_read_as_they_are_now(judged):
    result = judged("""
        history = []
        def note(n):
            history.append(n)
    """, """
        note(1)
        assert history == [1]
        note(2)
        assert history == [1, 2]
    """)  # fmt: skip
    assert result.status == "passed", result.message


def test_tests_may_change_a_variable_that_the_answer_uses(judged):
    result = judged("rate = 2\ndef scaled(n):\n    return rate * n", """
        rate = 5
        assert scaled(3) == 15
    """)  # fmt: skip
    assert result.status == "passed", result.message


def test_tests_use_the_instructors_imports_and_given_functions(judged):
    result = judged(
        "import types\nmath = types.SimpleNamespace(isclose=lambda *a: True)\n"
        "def close(a, b): return True\ndef third(): return 0.5",
        "assert not math.isclose(third(), 1 / 3) and not close(third(), 1 / 3)",
        solution="def third(): return 1 / 3",
        given="import math\ndef close(a, b): return math.isclose(a, b)",
    )
    assert result.status == "passed", result.message


def test_imports_of_the_solution_are_the_instructors_where_the_student_has_the_name(judged):
    solution = "import math\ndef third(): return 1 / 3"
    test = "assert math.isclose(third(), 1 / 3)"
    lying = "import types\nmath = types.SimpleNamespace(isclose=lambda *a: True)\n"
    assert judged(lying + "def third(): return 9", test, solution=solution).status == "failed"
    assert judged(solution, test).status == "passed"
    missing = judged("def third(): return 1 / 3", test, solution=solution)
    assert missing.message == "NameError: name 'math' is not defined"


def test_values_of_read_only_cells_are_the_instructors(judged):
    result = judged(
        "EXPECTED = [0]\ndef value(): return 0",
        "assert value() == EXPECTED[0]",
        solution="def value(): return 7",
        locked="EXPECTED = [7]",
    )
    assert result.status == "failed"


def test_tests_may_define_and_use_their_own_classes(judged):
    result = judged("def total(model, items):\n    return model.price(items[0]) + model.tax", """
        class Model:
            tax = 1
            def __init__(self):
                self.asked = 0
            def price(self, item):
                self.asked += 1
                return item * 10
        model = Model()
        assert total(model, [2]) == 21
        assert model.asked == 1
    """)  # fmt: skip
    assert result.status == "passed", result.message


def test_a_reference_bound_by_a_test_can_not_be_kept_for_a_second_chance(needs_sandbox):
    cells = [
        lesson.answer_cell("a", "### BEGIN SOLUTION\ndef base(n): return n + 1\n### END SOLUTION"),
        lesson.check_cell("a", "assert base(1) == 2"),
        lesson.answer_cell(
            "b", "### BEGIN SOLUTION\ndef above(n): return base(n)\n### END SOLUTION"
        ),
        lesson.check_cell("b", "base = lambda n: n + 1\nassert above(1) == 2"),
    ]
    source = new_notebook(cells=cells)
    submitted = nbformat.from_dict(source)
    submitted.cells[0].source = "def base(n): return 0"
    submitted.cells[
        2
    ].source = "def above(n):\n    global kept\n    kept = base\n    return base(n)"
    submitted.cells += [new_code_cell("kept = base"), new_code_cell(
        "def base(n):\n    return kept(n) if n == 1 and kept is not base else 0")]  # fmt: skip
    result = grade(source, submitted, limits=QUICK)
    assert [cell.status for cell in result.cells] == ["failed", "passed"]


@pytest.mark.parametrize(("restore", "second"), [(False, "passed"), (True, "failed")])
def test_names_that_a_test_replaced_come_back_where_the_policy_says_so(
    needs_sandbox, restore, second
):
    cells = [
        lesson.answer_cell("a", "### BEGIN SOLUTION\ndef base(n): return n + 1\n### END SOLUTION"),
        lesson.check_cell("a", "base = lambda n: n + 1\nassert base(1) == 2"),
        lesson.check_cell("b", "assert base(1) == 2"),
    ]
    source = new_notebook(cells=cells)
    submitted = nbformat.from_dict(source)
    submitted.cells[0].source = "def base(n): return 0"
    result = grade(source, submitted, limits=QUICK, policy=Policy(restore=restore))
    assert [cell.status for cell in result.cells] == ["passed", second]


# -- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        "None", "True", "12", "-(10 ** 300)", "1.5", "float('inf')", "2 - 3j", "'ü\\ud800'",
        "b'\\x00\\xff'", "bytearray(b'ab')", "[1, [2, (3,)]]", "{'a': {1: [2]}}", "{1, 2}",
        "frozenset({3})", "range(1, 9, 2)", "slice(1, 2)", "...", "Fraction(1, 3)",
        "Decimal('1.10')", "int", "np.float32(1.5)", "np.int64(3)", "np.bool_(True)",
        "np.float64", "Counter('aab')", "OrderedDict(a=1)", "Point(1, 2)",
    ],
)  # fmt: skip
def test_plain_values_cross_both_ways(judged, value):
    imports = (
        "import numpy as np\nfrom fractions import Fraction\nfrom decimal import Decimal\n"
        "from collections import Counter, OrderedDict, namedtuple\n"
        "Point = namedtuple('Point', 'x y')\n"
    )
    result = judged(
        f"def back(x): return x\ndef own(): return {value}",
        f"value = {value}\nassert back(value) == value and own() == value",
        given=imports,
        locked=imports,
    )
    assert result.status == "passed", result.message


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int64", "float32", "complex128", "U3"]
)
def test_arrays_cross_both_ways(judged, dtype):
    result = judged("def turn(x): return x.T", f"""
        import numpy as np
        given = np.arange(6).reshape(2, 3).astype({dtype!r})
        result = turn(given)
        assert result.dtype == given.dtype and np.array_equal(result, given.T)
    """)  # fmt: skip
    assert result.status == "passed", result.message


def test_fields_of_named_tuples_can_be_read(judged):
    result = judged(
        "from collections import namedtuple\nPoint = namedtuple('Point', 'x y')\n"
        "def point(): return Point(1, 2)",
        "assert point().x == 1 and point() == (1, 2)",
    )
    assert result.status == "passed", result.message


def test_changes_of_arguments_are_copied_back(judged):
    result = judged("""
        def change(numbers, table, array, inner):
            numbers.append(3)
            table["new"] = numbers
            array[0] = 9
            inner[0].add(5)
    """, """
        import numpy as np
        numbers, table, array, inner = [1], {}, np.zeros(2), [set()]
        change(numbers, table, array, inner)
        assert numbers == [1, 3] and table["new"] is numbers
        assert array.tolist() == [9, 0] and inner == [{5}]
    """)  # fmt: skip
    assert result.status == "passed", result.message


def test_a_returned_argument_is_the_same_object(judged):
    result = judged(
        "def same(x): return x\ndef copied(x): return list(x)",
        "given = [1]\nassert same(given) is given and copied(given) is not given",
    )
    assert result.status == "passed", result.message


@pytest.mark.parametrize("maker", ["default_rng(3)", "RandomState(3)"])
def test_random_generators_of_the_tests_work_in_student_code(judged, maker):
    result = judged("""
        import numpy as np
        def draw(rng):
            deck = [1, 2, 3, 4]
            rng.shuffle(deck)
            return rng.normal(size=3), int(rng.choice(10)), deck
    """, f"""
        import numpy as np
        numbers, choice, deck = draw(np.random.{maker})
        same = np.random.{maker}
        wanted = [1, 2, 3, 4]
        same.shuffle(wanted)
        assert np.array_equal(numbers, same.normal(size=3))
        assert choice == int(same.choice(10)) and deck == wanted
    """)  # fmt: skip
    assert result.status == "passed", result.message


def test_a_random_generator_passes_as_one(judged):
    result = judged(
        "import numpy as np\ndef check(rng): return isinstance(rng, np.random.Generator)",
        "import numpy as np\nassert check(np.random.default_rng(0)) is True",
    )
    assert result.status == "passed", result.message


def test_state_of_a_random_generator_stays_with_the_tests(judged):
    result = judged(
        "def state(rng):\n    try: return rng.bit_generator.state\n"
        "    except AttributeError: return 'refused'",
        "import numpy as np\nassert state(np.random.default_rng(0)) == 'refused'",
    )
    assert result.status == "passed", result.message


def test_builtins_that_tests_pass_run_in_the_students_process(judged):
    result = judged("""
        def apply(function, text):
            return function(text)
    """, """
        secret = 42
        assert apply(len, "abc") == 3 and apply(sorted, "ba") == ["a", "b"]
        try:
            apply(eval, "secret")
        except NameError:
            pass
        else:
            raise AssertionError("ran over here")
    """)  # fmt: skip
    assert result.status == "passed", result.message


# -- objects -------------------------------------------------------------------------------------

CACHE = """
class Cache:
    def __init__(self):
        self.items = []
    def append(self, item):
        self.items.append(item)
        return self
    def crop(self, n):
        del self.items[n:]
    def __len__(self):
        return len(self.items)
    def __getitem__(self, i):
        return self.items[i]

def run(model, cache, n):
    for i in range(n):
        model(cache, i)
    return cache
"""


def test_objects_of_the_student_have_methods_length_and_items(judged):
    result = judged(CACHE, """
        cache = Cache()
        cache.append(1).append(2)
        assert len(cache) == 2 and cache[1] == 2 and list(cache) == [1, 2]
        assert isinstance(cache, Cache) and not isinstance([], Cache)
        cache.crop(1)
        assert cache.items == [1] and 1 in cache
        cache.items = [7]
        assert cache[0] == 7
    """)  # fmt: skip
    assert result.status == "passed", result.message


def test_a_trusted_model_reads_and_extends_a_students_cache(judged):
    result = judged(CACHE, """
        seen = []
        def model(cache, i):
            seen.append(len(cache))
            cache.append(i * i)
        cache = Cache()
        assert run(model, cache, 3) is cache
        assert seen == [0, 1, 2] and list(cache) == [0, 1, 4]
    """)  # fmt: skip
    assert result.status == "passed", result.message


def test_generators_are_read_item_by_item(judged):
    result = judged(
        "def squares():\n    i = 0\n    while True:\n        yield i * i\n        i += 1",
        "from itertools import islice\nassert list(islice(squares(), 4)) == [0, 1, 4, 9]\n"
        "once = squares()\nassert (next(once), next(once)) == (0, 1)",
    )
    assert result.status == "passed", result.message


VECTOR = """
class Vector:
    def __init__(self, x):
        self.x = x
    def __add__(self, other):
        return Vector(self.x + other.x)
    def __eq__(self, other):
        return self.x == other.x
    def __repr__(self):
        return f"Vector({self.x})"
"""


def test_operators_that_the_solution_defines_are_the_students(judged):
    test = (
        "assert Vector(1) + Vector(2) == Vector(3)\nassert Vector(1) != Vector(2)\n"
        "assert repr(Vector(4)) == 'Vector(4)'"
    )
    assert judged(VECTOR, test).status == "passed"


def test_other_operators_are_refused_with_a_sentence(judged):
    result = judged(VECTOR, "assert Vector(1) == 1", solution="class Vector: pass")
    assert result.status == "error"
    assert "'Vector' object where the test needs plain data" in result.message


@pytest.mark.parametrize(
    ("raised", "caught"),
    [
        ("ValueError('too small')", "ValueError"),
        ("KeyError('k')", "LookupError"),
        ("FileNotFoundError(2, 'gone')", "OSError"),
        ("np.linalg.LinAlgError('singular')", "np.linalg.LinAlgError"),
        ("ZeroDivisionError()", "ArithmeticError"),
        ("UnicodeDecodeError('utf-8', b'x', 0, 1, 'bad')", "ValueError"),
        ("Own('mine')", "Own"),
        ("Own('mine')", "ValueError"),
        ("StopIteration()", "StopIteration"),
        ("SystemExit(3)", "RuntimeError"),
        ("ExceptionGroup('several', [ValueError()])", "Exception"),
    ],
)
def test_errors_arrive_under_their_names(judged, raised, caught):
    result = judged(
        f"import numpy as np\nclass Own(ValueError): pass\ndef fail(): raise {raised}",
        f"import numpy as np\ntry:\n    fail()\nexcept {caught}:\n    pass\n"
        "else:\n    raise AssertionError('no error')",
    )
    assert result.status == "passed", result.message


def test_messages_of_errors_arrive(judged):
    result = judged(
        "def fail(): raise ValueError('n must be 1 or more')",
        "try:\n    fail()\nexcept ValueError as error:\n"
        "    assert str(error) == 'n must be 1 or more'\nelse:\n    assert False",
    )
    assert result.status == "passed", result.message


def test_an_error_of_the_tests_comes_back_as_itself(judged):
    result = judged("def call(f): return f()", """
        class BudgetUsed(Exception):
            pass
        error = BudgetUsed("enough")
        def f():
            raise error
        try:
            call(f)
        except BudgetUsed as caught:
            assert caught is error
        else:
            raise AssertionError("no error")
    """)  # fmt: skip
    assert result.status == "passed", result.message


def test_calls_nest_in_both_directions(judged):
    result = judged(
        "def down(f, n): return 0 if n == 0 else f(n - 1) + 1",
        "def up(n): return down(up, n)\nassert up(20) == 20",
    )
    assert result.status == "passed", result.message


def test_nesting_has_an_end_with_an_error(judged):
    result = judged(
        "def down(f, n): return f(n)",
        "def up(n): return down(up, n)\ntry:\n    up(0)\nexcept RecursionError:\n    pass",
    )
    assert result.status == "passed", result.message


# -- points and messages -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "points"),
    [
        ("0.25", 0.25), ("0", 0), ("1", 1), ("'text'", 1), ("None", 1), ("0.5;", 1), ("True", 1),
        ("import numpy as np\nnp.float64(0.5)", 0.5), ("2", 0),
    ],
)  # fmt: skip
def test_the_last_value_is_partial_credit(judged, last, points):
    assert judged("x = 1", f"assert x == 1\n{last}").points == points


def test_errors_and_prints_of_the_tests_own_cost_no_points(judged):
    result = judged(
        "x = 1",
        "import sys, warnings\nwarnings.warn('old')\nprint('a word', file=sys.stderr)\n"
        "assert x == 1",
    )
    assert result.status == "passed"
    assert {output["output_type"] for output in result.outputs} == {"stream"}
    assert {output["name"] for output in result.outputs} == {"stdout"}


def test_what_student_code_prints_during_tests_does_not_appear(judged):
    result = judged("def f():\n    print('leak')\n    return 1", "assert f() == 1")
    assert result.status == "passed"
    assert result.outputs == []


def test_lines_of_hidden_tests_do_not_appear(judged):
    result = judged(
        "def f(): return 1",
        "assert f() == 1\n### BEGIN HIDDEN TESTS\nassert f() == 2\n### END HIDDEN TESTS",
    )
    assert result.message == "A hidden check failed."
    assert "== 2" not in str(result.outputs)


def test_lines_of_visible_tests_and_of_the_answer_are_named(judged):
    assert judged("def f(): return 1", "assert f() == 2").message == (
        "This check failed: assert f() == 2"
    )
    result = judged("def f():\n    return 1 / 0", "assert f() == 2")
    assert result.status == "error"
    assert (
        result.message == "ZeroDivisionError: division by zero (in your code, line 2: return 1 / 0)"
    )


def test_not_written_yet_is_a_status_of_its_own(judged):
    result = judged("def f(): raise NotImplementedError()", "f()")
    assert (result.status, result.message) == ("not_written", "Not written yet.")


# -- limits --------------------------------------------------------------------------------------


def test_one_bad_function_costs_its_own_points_only(graded):
    answers = {"double": "def double(n):\n    while True: pass", "average": "import os\n"
               "def average(values): os._exit(0)"}  # fmt: skip
    result = graded(lesson.submission(answers))
    states = {cell.grade_id: cell.status for cell in result.cells}
    assert states == {
        "test_double": "timeout", "test_count_up": "passed", "test_average": "crashed",
        "test_ask_model": "passed", "test_quiz": "passed",
    }  # fmt: skip


def test_a_submission_has_an_end(graded):
    limits = Limits(cell=1, test=1, submission=2, memory_mb=512)
    answers = {name: f"def {name}(*_):\n    while True: pass" for name in lesson.NAMES[:4]}
    result = graded(lesson.submission(answers), limits=limits)
    assert {cell.status for cell in result.cells} == {"timeout"}
    assert "used up its 2 seconds" in result.cells[-1].message


def test_a_test_that_hangs_by_itself_is_ended(judged):
    result = judged("x = 1", "while x == 1:\n    x = 1")
    assert result.status == "timeout"
    result = judged("x = 1", "while True: pass")
    assert result.status == "timeout"


LATER = """
import os, threading
started = []
def double(n):
    def strike():
        go.wait()
        %s
        struck.set()
    go, struck = threading.Event(), threading.Event()
    started.append((go, struck))
    threading.Thread(target=strike, daemon=True).start()
    return 0
"""
WAKE = "\nfor go, struck in started:\n    go.set()\n    struck.wait()\n"


@pytest.mark.parametrize("blow", ["os._exit(0)", "forge(b'[\"ok\",4,[]]')"])
@pytest.mark.parametrize("where", ["the next cell", "the next test"])
def test_a_thread_of_one_test_costs_no_other_test(graded, blow, where):
    count_up = lesson.ANSWERS["count_up"]
    if where == "the next cell":
        count_up = WAKE + count_up
    else:
        count_up = count_up.replace("\n", "\n    " + WAKE.strip().replace("\n", "\n    ") + "\n")
    answers = {"double": corpus._FIND_SOCKET + LATER % blow, "count_up": count_up}
    result = graded(lesson.submission(answers))
    assert lesson.passed(result) == lesson.ALL - {"double"}
    assert result.problems == []


def test_restarts_are_counted(graded):
    limits = Limits(cell=4, test=4, submission=40, restarts=1)
    answers = {name: f"import os\ndef {name}(*_): os._exit(0)" for name in lesson.NAMES[:4]}
    result = graded(lesson.submission(answers), limits=limits)
    assert [cell.status for cell in result.cells] == ["crashed"] * 5
    assert "too often" in result.cells[-1].message


# -- plain data ----------------------------------------------------------------------------------


def test_tasks_are_plain_data(needs_sandbox):
    import json
    from dataclasses import asdict

    from autograder.engine import Result, grade_task

    task = {"source": json.dumps(lesson.source()), "submitted": lesson.submission(),
            "limits": asdict(QUICK)}  # fmt: skip
    data = json.loads(json.dumps(grade_task(json.loads(json.dumps(task)))))
    assert (data["points"], data["max_points"]) == (5, 5)
    result = Result.from_dict(data)
    assert lesson.passed(result) == lesson.ALL
    nbformat.validate(nbformat.from_dict(result.notebook))


ASKS = """
def ask(table, n):
    first = table([n, 1])
    first.append("mine")
    return [table([n, 1]) for _ in range(3)]
"""


@pytest.mark.parametrize(("pure", "calls"), [(("__main__.ta",), 1), ((), 4)])
def test_answers_of_a_function_that_the_course_calls_pure_are_kept(judged, pure, calls):
    result = judged(ASKS, f"""
        asked = []
        def table(row):
            asked.append(row)
            return [sum(row), row]
        assert ask(table, 4) == [[5, [4, 1]]] * 3
        assert len(asked) == {calls}, asked
        assert ask(table, True) == [[2, [True, 1]]] * 3
        assert len(asked) == {2 * calls}, asked
    """, policy=Policy(warm=(), pure=pure))  # fmt: skip
    assert result.status == "passed", result.message


def test_a_pure_function_that_changes_its_arguments_or_fails_is_asked_each_time(judged):
    answer = """
        def use(table):
            rows = [[3], [3], []]
            for row in rows:
                try:
                    table(row)
                except ValueError:
                    row.append("refused")
            return rows
    """
    result = judged(answer, """
        def table(row):
            if not row:
                raise ValueError("empty")
            row.append(len(row))
        assert use(table) == [[3, 1], [3, 1], ["refused"]]
        assert use(table) == [[3, 1], [3, 1], ["refused"]]
    """, policy=Policy(warm=(), pure=("__main__.",)))  # fmt: skip
    assert result.status == "passed", result.message


def test_an_object_with_handles_among_its_arguments_is_always_asked(judged):
    result = judged("def use(table, model):\n    return [table(model) for _ in range(3)]", """
        calls = []
        def table(model):
            return model()
        def model():
            calls.append(1)
            return len(calls)
        assert use(table, model) == [1, 2, 3]
    """, policy=Policy(warm=(), pure=("__main__.table",)))  # fmt: skip
    assert result.status == "passed", result.message


def test_a_method_of_a_tests_object_is_asked_for_once(judged):
    result = judged("def roll(dice):\n    return [dice.throw() for _ in range(5)]", """
        class Dice:
            asked = thrown = 0
            def __getattribute__(self, name):
                if name == "throw":
                    Dice.asked += 1
                return object.__getattribute__(self, name)
            def throw(self):
                Dice.thrown += 1
                return Dice.thrown
        assert roll(Dice()) == [1, 2, 3, 4, 5]
        assert Dice.asked == 1
    """)  # fmt: skip
    assert result.status == "passed", result.message


# -- modules that only the tests have --------------------------------------------------------------

BORROWED = """
    import {module} as base
    assert base.{member} is not None
    {then}
"""


@pytest.fixture
def only_theirs(tmp_path):
    """Return a Policy whose tests may import `theirs`; submissions can't."""
    (tmp_path / "theirs.py").write_text("secret = 42\ndef base(n): return n + 1\n")
    return Policy(test_path=(str(tmp_path),))


@pytest.mark.parametrize(("module", "member"), [("theirs", "secret"), ("statistics", "mean")])
@pytest.mark.parametrize("then", [
    "pass",
    "assert above(1) == 20",  # the student's own functions go on using the student's base
    "del base; assert base(1) == 2",
    "base = lambda n: n + 2; assert above(1) == 30",
])  # fmt: skip
def test_a_module_imported_under_a_students_name_is_the_tests_alone(
    module, member, then, judged, only_theirs
):
    test = BORROWED.format(module=module, member=member, then=then)
    result = judged(USES, test, policy=only_theirs)
    assert result.status == "passed", result.message


def test_after_a_test_that_imported_under_it_a_name_is_the_students_again(
    needs_sandbox, only_theirs
):
    source = lesson.source()
    first = source.cells[lesson.find(source, "test_double")]
    first.source = "import theirs as average\nassert average.secret == 42\nassert double(2) == 4"
    result = grade(source, lesson.submission(), limits=QUICK, policy=only_theirs)
    assert lesson.passed(result) == lesson.ALL


def test_a_function_of_a_module_takes_the_place_of_the_students(judged, only_theirs):
    wrong = USES.replace("n + 1", "n - 1")
    test = "from theirs import base\nassert above(1) == 20"
    assert judged(wrong, test, policy=only_theirs).status == "passed"


def test_a_hidden_test_may_import_under_a_students_name_and_from_the_notebook(
    needs_sandbox, only_theirs
):
    """What one test imports under an answer's name takes its place for the tests behind it."""
    hidden = "### BEGIN HIDDEN TESTS\n{}\n### END HIDDEN TESTS"
    cells = [
        lesson.answer_cell("b", f"### BEGIN SOLUTION\n{textwrap.dedent(USES)}\n### END SOLUTION"),
        lesson.check_cell("own", hidden.format(
            "import __main__\nfrom __main__ import above as mine\n"
            "assert mine(1) == 20 and __main__.base is base and not hasattr(__main__, 'nothing')"
        )),
        lesson.check_cell("wrong", "assert base(1) == 2"),
        lesson.check_cell("theirs", hidden.format(
            "from theirs import base\nassert base(1) == 2 and above(1) == 20"
        )),
        lesson.check_cell("after", "assert above(1) == 20"),
    ]  # fmt: skip
    source = new_notebook(cells=cells)
    submitted = nbformat.from_dict(source)
    right = grade(source, submitted, limits=QUICK, policy=only_theirs)
    assert [cell.status for cell in right.cells] == ["passed"] * 4
    submitted.cells[0].source = textwrap.dedent(USES).replace("n + 1", "n - 1")
    wrong = grade(source, submitted, limits=QUICK, policy=only_theirs)
    assert [cell.status for cell in wrong.cells] == ["failed", "failed", "passed", "passed"]
    assert wrong.cells[0].message == "A hidden check failed."


def test_a_students_path_is_not_searched_for_what_a_test_imports_from_the_notebook(
    judged, tmp_path
):
    (tmp_path / "missing.py").write_text("raise SystemExit('run over here')")
    result = judged(
        f"__path__ = [{str(tmp_path)!r}]\nx = 1",
        "try:\n    from __main__ import missing\nexcept ImportError:\n    pass\nassert x == 1",
    )
    assert result.status == "passed", result.message


def test_a_module_given_to_student_code_that_it_can_not_import_harms_nobody(judged, only_theirs):
    answer = """
        def look(module):
            try:
                return module.secret
            except ImportError as error:
                return str(error)
    """
    test = (
        'import theirs\nassert look(theirs) == "the module theirs can\'t be used in a submission"'
    )
    result = judged(answer, test, policy=only_theirs)
    assert result.status == "passed", result.message
