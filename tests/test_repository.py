"""Facts that stand in more than one place, and the direction of imports."""

import ast
import re
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest
from packaging.requirements import Requirement

from tools.course import lesson_slugs

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def requirement_lines(path: Path) -> set[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line.strip() for line in lines if line.strip() and line[0] not in "#-"}


def test_requirements_and_package_ask_for_the_same():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert requirement_lines(ROOT / "requirements.txt") == set(project["dependencies"])


def test_constraints_fit_the_bounds():
    pinned = {}
    for line in requirement_lines(ROOT / "constraints.txt"):
        name, _, version = line.partition("==")
        pinned[name.lower().replace("_", "-")] = version
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = project["optional-dependencies"]
    wanted = [*project["dependencies"], *groups["instructor"], *groups["dev"], *groups["hub"]]
    for text in wanted:
        requirement = Requirement(text)
        if requirement.name == project["name"]:
            continue
        assert requirement.name in pinned, f"{requirement.name} is not in constraints.txt"
        assert requirement.specifier.contains(pinned[requirement.name]), text


def test_a_hub_has_the_same_lab_settings_as_binder():
    given = ROOT / "binder" / "lab-settings" / "overrides.json"
    on_hub = ROOT / "hub" / "both" / "labconfig" / "default_setting_overrides.json"
    assert on_hub.read_bytes() == given.read_bytes()


def test_the_guide_and_the_class_test_have_the_same_steps():
    guide = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
    table = guide.partition("## A class on a hub")[2].partition("\n## ")[0]
    steps = re.findall(r"^\| ([A-Z][^|]*?) \|", table, re.M)
    test = (ROOT / "tests" / "hub" / "test_class.py").read_text(encoding="utf-8")
    names = [step.lower().replace("'", "").replace(" ", "_") for step in steps]
    assert names == re.findall(r"^def test_(\w+)\(", test, re.M)


def test_the_badge_opens_a_lesson_that_exists():
    badge = re.search(r"mybinder\.org/v2/gh/\S+?urlpath=([^)\s]+)", README)
    path = unquote(badge.group(1)).removeprefix("lab/tree/")
    assert (ROOT / path).is_file()


def test_readme_links_point_to_files():
    for target in re.findall(r"\]\(((?!https?:)[^)#\s]+)", README):
        assert (ROOT / target).exists(), target


def test_readme_lists_the_lessons_that_exist():
    linked = re.findall(r"\]\(lessons/(\w+)/\1\.ipynb\)", README)
    assert linked == lesson_slugs()


def imported_packages(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        ("specdec", {"autograder", "tools", "jupyterlab", "nbgrader"}),
        ("autograder", {"tools", "tests"}),
    ],
)
def test_imports_go_one_way(package, forbidden):
    for path in (ROOT / package).rglob("*.py"):
        wrong = imported_packages(path) & forbidden
        assert not wrong, f"{path.relative_to(ROOT)} imports {', '.join(wrong)}"


def test_no_two_files_of_the_tests_share_a_name():
    # pytest imports them by their bare names, so a run of all tests would stop at the second.
    names = [path.name for path in (ROOT / "tests").rglob("*.py")]
    assert {name for name in names if names.count(name) > 1} <= {"conftest.py", "__init__.py"}
