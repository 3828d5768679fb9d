"""The course's own sample class: `autograder demo`, run as its Makefile runs it."""

import csv
import json
import re
import subprocess
import sys
import tomllib

import pytest
from make_course import REPOSITORY

LESSON = "01_draft_and_verify"
RECIPES = tomllib.loads(
    (REPOSITORY / "autograder" / "classroom" / "sample_class" / "class.toml").read_text("utf-8")
)["student"]


@pytest.fixture(scope="module")
def demo(command, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample") / "class"
    before = _lessons()
    done = command(sys.executable, "-m", "autograder", "demo", "--dir", str(folder), cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr
    assert _lessons() == before, "the demo wrote into lessons/"
    done.classroom = folder / "autograder" / "classroom"
    done.folder = folder
    return done


def _lessons():
    return {path: path.read_bytes() for path in (REPOSITORY / "lessons").rglob("*.ipynb")}


def result(demo, student):
    record = demo.classroom / "results" / LESSON / f"{student}.json"
    return json.loads(record.read_text("utf-8"))["result"]


def test_the_class_has_every_kind():
    assert len(RECIPES) >= 8
    assert sum("points" not in recipe for recipe in RECIPES) >= 2


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe["name"])
def test_points_are_the_stated_ones(demo, recipe):
    with open(demo.classroom / "grades.csv", newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    row = rows[recipe["name"]]
    assert float(row["score"]) == recipe.get("points", 0), recipe["about"]
    assert float(row["max_score"]) == 20
    feedback = demo.classroom / "feedback" / recipe["name"] / LESSON / f"{LESSON}.html"
    assert feedback.is_file() == ("points" in recipe)


def test_mistakes_are_named(demo):
    messages = "\n".join(cell["message"] for cell in result(demo, "dora-wrong")["cells"])
    for cause in (
        "the bonus is missing",
        "Each round adds one token only",
        "the exponent is k",
        "Four answers are one pass",
        "They take four times as much",
    ):
        assert cause in messages
    statuses = {cell["grade_id"]: cell["status"] for cell in result(demo, "hana-loop")["cells"]}
    assert statuses.pop("test_accepted_count") == "timeout"
    assert set(statuses.values()) == {"passed"}
    odd = result(demo, "emil-odd")["cells"]
    assert not [cell for cell in odd if cell["message"]]


def test_feedback_shows_no_hidden_test(demo):
    source = demo.classroom / "source" / LESSON / f"{LESSON}.ipynb"
    cells = json.loads(source.read_text("utf-8"))["cells"]
    hidden = re.findall(
        r"### BEGIN HIDDEN TESTS\n(.*?)### END HIDDEN TESTS",
        "\n".join("".join(cell["source"]) for cell in cells),
        re.S,
    )
    assert hidden
    page = (demo.classroom / "feedback" / "dora-wrong" / LESSON / f"{LESSON}.html").read_text(
        "utf-8"
    )
    assert "HIDDEN TESTS" not in page
    assert "most recent call last" not in page
    assert "specdec.reference" not in page


def test_the_released_lesson_is_the_committed_one(demo):
    """Cell by cell: what the demo releases is what students have."""
    ours = json.loads((REPOSITORY / "lessons" / LESSON / f"{LESSON}.ipynb").read_text("utf-8"))
    demos = json.loads((demo.folder / "lessons" / LESSON / f"{LESSON}.ipynb").read_text("utf-8"))
    assert [cell["source"] for cell in demos["cells"]] == [cell["source"] for cell in ours["cells"]]


def test_git_sees_nothing_of_it(demo):
    done = subprocess.run(
        ["git", "status", "--porcelain", "--", "lessons", "autograder/classroom"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    changed = [line for line in done.stdout.splitlines() if "sample_class" not in line]
    assert changed == []
