"""A maintainer who breaks a rule of the course gets one line that says where and what to do."""

import copy

import nbformat
import pytest

from tools import build, check
from tools.course import CourseError, expand, lesson_slugs, read_lesson, source_notebook

SLUG = "01_draft_and_verify"


@pytest.fixture
def lesson():
    return copy.deepcopy(read_lesson(SLUG))


def cell(lesson, key, name):
    return next(c for c in lesson.cells if c.metadata.get(key) == name)


def drop(lesson, key, name):
    lesson.cells = [c for c in lesson.cells if c.metadata.get(key) != name]


def no_card(lesson):
    drop(lesson, "card", "verify_greedy")


def no_hints(lesson):
    drop(lesson, "hints", "verify_greedy")


def two_hints(lesson):
    hints = cell(lesson, "hints", "verify_greedy")
    hints.source = hints.source.replace("===\n", "", 1)


def nothing_graded(lesson):
    drop(lesson, "test", "speed_estimate")


def no_minutes(lesson):
    del cell(lesson, "card", "verify_greedy").metadata["minutes"]


def no_points(lesson):
    del cell(lesson, "test", "verify_greedy").metadata["points"]


def other_total(lesson):
    lesson.meta["points"] = 19


def figure_without_alt(lesson):
    lesson.cells[0].source += "\n![](picture.png)"


def show_without_alt(lesson):
    shown = next(c for c in lesson.cells if "show(\n" in c.source)
    shown.source = shown.source.replace("alt=", "title=")


def too_long(lesson):
    cell(lesson, "card", "verify_greedy").metadata["minutes"] = 60


@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        (no_card, 'exercise verify_greedy: no card; add a [markdown] cell with card="verify_gr'),
        (no_hints, "exercise verify_greedy: no hints; add"),
        (two_hints, "give three hints"),
        (nothing_graded, "exercise speed_estimate: nothing is graded"),
        (no_minutes, "the card needs difficulty= and minutes="),
        (other_total, "the header says 19 points, the cells add up to 20"),
        (figure_without_alt, "the image has no alt text"),
        (show_without_alt, "the figure has no alt text"),
        (too_long, "keep it from 45 to 90"),
    ],
)
def test_faults_in_the_text(lesson, break_it, says):
    break_it(lesson)
    assert any(says in fault for fault in check.check_text(lesson))


def test_a_test_counts_for_one_exercise_alone():
    lesson = read_lesson("02_one_forward_pass")
    assert lesson.points("speculative_decode_step") == 6
    assert lesson.points("speculative_decode") == 3
    for slug in lesson_slugs():
        lesson = read_lesson(slug)
        tests = [c.metadata for c in lesson.cells if "test" in c.metadata]
        names = {lesson.answer_of(test["test"]) for test in tests}
        assert sum(map(lesson.points, names)) == sum(test["points"] for test in tests)
        assert "" not in names


def test_the_text_as_it_stands_has_no_fault(lesson):
    assert list(check.check_text(lesson)) == []
    assert list(check.check_data(lesson)) == []


def test_an_id_used_twice(lesson):
    lesson.cells.append(copy.deepcopy(cell(lesson, "answer", "verify_greedy")))
    with pytest.raises(CourseError, match="the id verify_greedy is used twice"):
        expand(lesson, worked=False)


def test_an_answer_without_a_reference(lesson):
    cell(lesson, "answer", "verify_greedy").metadata["answer"] = "verify"
    with pytest.raises(CourseError, match="no `verify` in specdec/reference/lesson_01.py"):
        expand(lesson, worked=False)


def test_a_question_that_is_not_yaml(lesson):
    cell(lesson, "todo", "todo_all_agree").source = "question: [unclosed"
    with pytest.raises(CourseError, match="not YAML"):
        expand(lesson, worked=False)


def test_a_question_without_its_answer(lesson):
    cell(lesson, "todo", "todo_all_agree").source = "question: how many?"
    with pytest.raises(CourseError, match="add right"):
        expand(lesson, worked=False)


@pytest.fixture
def lessons(tmp_path, monkeypatch):
    """A folder of built lessons of its own."""
    monkeypatch.setattr(check, "LESSONS", check.ROOT / "lessons")
    path = tmp_path / "lessons"
    built = build.lesson_path(SLUG)
    target = build.lesson_path(SLUG, path)
    target.parent.mkdir(parents=True)
    target.write_text(built.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(check, "LESSONS", path)
    monkeypatch.setattr(check, "ROOT", tmp_path)
    return target


def test_a_lesson_edited_by_hand(lesson, lessons):
    text = lessons.read_text(encoding="utf-8")
    lessons.write_text(text.replace("Twelve words", "Eleven words"), encoding="utf-8")
    assert any("differs from a rebuild" in fault for fault in check.check_lesson(lesson))


def test_a_leaked_answer(lesson, lessons):
    notebook = nbformat.read(lessons, as_version=4)
    notebook.cells[3].source += "\nif drafted != target_next[i]:\n    return emitted"
    secret = sorted(check.secrets(lesson), key=len)[-1]
    notebook.cells[4].source += "\n" + secret
    nbformat.write(notebook, lessons)
    assert any("shows part of an answer" in fault for fault in check.check_lesson(lesson))


def test_a_missing_lesson(lesson, lessons):
    lessons.unlink()
    assert any("is missing; run `make build`" in fault for fault in check.check_lesson(lesson))


def test_a_wrong_reference_is_found(lesson):
    lesson.reference["accepted_count"] = lesson.reference["accepted_count"].replace(" - 1", "")
    faults = list(check.check_worked(lesson))
    assert any("test_accepted_count: the worked lesson fails" in fault for fault in faults)
    assert not any("test_verify_greedy:" in fault for fault in faults)


def test_untouched_faults_are_found(lesson):
    cell(lesson, "test", "verify_greedy").source = "pass"
    lesson.cells[3].source = "1 / 0"
    lesson.cells[3].cell_type = "code"
    faults = list(check.check_untouched(lesson))
    assert any("passes this graded cell; make the check stricter" in fault for fault in faults)
    assert any("fails untouched with ZeroDivisionError" in fault for fault in faults)


def test_secrets_are_the_answers_lines(lesson):
    secrets = check.secrets(lesson)
    assert "return len(verify_greedy(draft, target_next)) - 1" in secrets
    assert any("Case(" in line for line in secrets)
    assert source_notebook(lesson).cells[0].source not in secrets
