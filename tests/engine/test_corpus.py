"""The corpus of hostile, broken and odd submissions: everyone gets what their code deserves."""

import pytest

from . import lesson
from .corpus import CORPUS


@pytest.mark.sandbox
@pytest.mark.parametrize("entry", CORPUS, ids=lambda entry: entry.name)
def test_everyone_gets_what_their_code_deserves(entry, graded, tmp_path):
    for name, content in entry.files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    notebook = lesson.submission(
        entry.answers, first=entry.first, last=entry.last, between=entry.between
    )
    if entry.tamper:
        entry.tamper(notebook)

    result = graded(notebook, files=tmp_path)
    victim = graded(lesson.submission())

    assert lesson.passed(result) == entry.deserves, [
        (cell.grade_id, cell.status, cell.message) for cell in result.cells
    ]
    assert [cell.grade_id for cell in result.cells] == [f"test_{n}" for n in lesson.NAMES]
    assert result.max_points == 5
    if entry.problem:
        assert entry.problem in {problem.kind for problem in result.problems}
    assert lesson.passed(victim) == lesson.ALL
    assert victim.problems == []


def test_the_corpus_is_large_and_its_names_differ():
    assert len(CORPUS) >= 60
    assert len({entry.name for entry in CORPUS}) == len(CORPUS)
