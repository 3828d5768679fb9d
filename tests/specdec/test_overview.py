"""The view of all lessons: marks from saved notebooks, links, broken files."""

import json
import shutil

import pytest
from bs4 import BeautifulSoup

from specdec import commands, progress
from specdec.progress.overview import Overview, mark_of
from tools.build import LESSONS
from tools.course import lesson_slugs

ONE, TWO, THREE = lesson_slugs()[:3]


def error(name):
    return [{"output_type": "error", "ename": name, "evalue": "", "traceback": []}]


def printed(text):
    return [{"output_type": "stream", "name": "stdout", "text": [text]}]


@pytest.fixture
def lessons(tmp_path, monkeypatch):
    """Lessons 1 and 2 as a learner saved them, 3 broken, the others missing."""
    monkeypatch.delenv("SPECDEC_STILL", raising=False)
    for slug in (ONE, TWO, THREE):
        shutil.copytree(LESSONS / slug, tmp_path / slug)
    path = tmp_path / ONE / f"{ONE}.ipynb"
    notebook = json.loads(path.read_text("utf-8"))
    outputs = {
        "test_verify_greedy": printed("✓ verify_greedy: 9 cases"),
        "test_verify_greedy_edges": error("CheckFailed"),
        "test_accepted_count": error("NotWrittenYet"),
        "test_todo_all_agree": printed("✓ todo_all_agree: right."),
        "test_quiz_one_pass": printed("✓ quiz_one_pass: your answer B is noted."),
    }
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        cell.update({"outputs": outputs[name]} if name in outputs else {})
    path.write_text(json.dumps(notebook), "utf-8")
    (tmp_path / THREE / f"{THREE}.ipynb").write_text('{"cells": [3]}')
    return tmp_path


def test_marks_come_from_the_saved_notebooks(lessons):
    overview = Overview(lessons, lessons / ONE)
    lines = repr(overview).splitlines()[1:]
    assert [line[:1] for line in lines] == list("123456")
    assert "3 of 16 parts, 3 of 20 points, 1 more noted" in lines[0]
    assert "One forward pass" in lines[1]
    assert "0 of 14 parts" in lines[1]
    assert all("no notebook here" in line for line in lines[2:])


def test_the_table_has_links_labels_and_marks_in_words(lessons):
    soup = BeautifulSoup(Overview(lessons, lessons / TWO)._repr_html_(), "html.parser")
    links = [link["href"] for link in soup.find_all("a")]
    assert links == [f"../{ONE}/{ONE}.ipynb", f"{TWO}.ipynb"]
    assert len(soup.select("tbody th[scope=row]")) == 6
    parts = [item.get_text() for item in soup.select("tr:nth-of-type(1) li")]
    assert "✓ verify_greedy: passes" in parts
    assert "✗ verify_greedy_edges: look again" in parts
    assert "✎ accepted_count: not written" in parts
    assert "• quiz_one_pass: noted, marked when graded" in parts
    assert "– expected_tokens: not run yet" in parts
    focusable = soup.select("a, summary")
    assert all(node["data-lm-suppress-shortcuts"] == "true" for node in focusable)


def test_what_has_just_run_counts_before_what_is_saved(lessons, monkeypatch, capsys):
    monkeypatch.chdir(lessons / ONE)
    progress.show_course({ONE: {"accepted_count": "✓"}})
    assert "4 of 16 parts, 4 of 20 points" in capsys.readouterr().out


def test_nothing_is_shown_where_no_lesson_lies_or_a_solution_is_built(
    lessons, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(lessons)  # its neighbours are no lessons
    progress.show_course()
    monkeypatch.chdir(lessons / ONE)
    monkeypatch.setenv("SPECDEC_STILL", "1")
    progress.show_course()
    assert capsys.readouterr().out == ""


def test_the_command_shows_the_same(lessons, monkeypatch, capsys):
    monkeypatch.setattr(commands, "LESSONS", lessons)
    assert commands.main(["progress"]) == 0
    assert "3 of 16 parts" in capsys.readouterr().out
    monkeypatch.setattr(commands, "LESSONS", lessons / "none")
    assert commands.main(["progress"]) == 1
    assert "There are no lessons in" in capsys.readouterr().err


def test_a_check_that_printed_nothing_yet_was_not_run():
    assert mark_of([]) is None
