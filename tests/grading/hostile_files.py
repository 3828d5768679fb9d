"""Hand-ins that are hostile or odd as files: what stands in a student's folder, by name.

Each value is (function of the folder and its notebook's path, exercises that it deserves, or None
where there is nothing to grade; kind of a problem that must be told, or "").
"""

import json
import os

from tests.engine.lesson import ALL

LONG = 49_000_000


def _at_victims(folder, notebook):
    notebook.unlink()
    notebook.symlink_to(folder.parents[1] / "victim-0" / folder.name / notebook.name)


def _folder_of_victim(folder, notebook):
    notebook.unlink()
    folder.rmdir()
    folder.symlink_to(folder.parents[1] / "victim-0" / folder.name)


def _links_beside(folder, notebook):
    (folder / "passwd.txt").symlink_to("/etc/passwd")
    (folder / "root").symlink_to("/")
    (folder / "nowhere.txt").symlink_to("nothing")
    (folder / "round").symlink_to(".")


def _pipes(folder, notebook):
    os.mkfifo(folder / "timestamp.txt")
    os.mkfifo(folder / "data.txt")


def _pipe_for_notebook(folder, notebook):
    notebook.unlink()
    os.mkfifo(notebook)


def _terabyte_beside(folder, notebook):
    with open(folder / "huge.bin", "wb") as target:
        target.truncate(1 << 40)


def _terabyte_notebook(folder, notebook):
    with open(notebook, "r+b") as target:
        target.truncate(1 << 40)


def _many_files(folder, notebook):
    for number in range(3000):
        (folder / f"{number}.txt").write_text("x")


def _deep_folders(folder, notebook):
    before = os.getcwd()
    os.chdir(folder)
    for _ in range(300):
        os.mkdir("d")
        os.chdir("d")
    os.chdir(before)


def _odd_names(folder, notebook):
    names = [b"new\nline.txt", b"\xff\xfe.txt", b"-rf", b"'; rm -rf x", b"x" * 250, b" ", b"~",
             b"y" * 250 + b".html", b"\x1b[31mred.txt", b"%s%n.txt", b"con.txt",
             "ü\u202e✓.txt".encode()]  # fmt: skip
    for name in names:
        with open(os.path.join(os.fsencode(folder), name), "w") as target:
            target.write("x")


def _odd_notebook_name(folder, notebook):
    os.rename(notebook, os.path.join(os.fsencode(folder), b"\x1b[31m \xff.ipynb"))


def _broken_timestamp(folder, notebook):
    (folder / "timestamp.txt").write_bytes(b"\xff yesterday, about noon")


def _changed(change):
    def befall(folder, notebook):
        node = json.loads(notebook.read_text())
        change(node)
        notebook.write_text(json.dumps(node))

    return befall


def _large_outputs(node):
    output = {"output_type": "stream", "name": "stdout", "text": "x" * LONG}
    node["cells"][1]["outputs"] = [output]


def _broken_outputs(node):
    for cell in node["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "surprise"}, {"output_type": "stream"}]


def _lean_cells(node):
    for number, cell in enumerate(node["cells"]):
        cell["id"] = f"not an id! {number}"
        cell.pop("outputs", None)
        cell.pop("execution_count", None)


def _deep_metadata(node):
    inner = node["metadata"]
    for _ in range(400):
        inner["x"] = inner = {}


def _deep_list(node):
    inner = node["cells"][0]["metadata"].setdefault("x", [])
    for _ in range(400):
        inner.append([])
        inner = inner[0]


def _not_numbers(node):
    node["cells"][0]["metadata"]["x"] = [float("nan"), float("inf"), 10**400]


def _brackets(folder, notebook):
    notebook.write_text("[" * 1_000_000)


def _wrong_types(node):
    node["cells"] = {"0": node["cells"]}


FILES = {
    "a link to another's notebook": (_at_victims, None, "not_a_file"),
    "a link to another's folder": (_folder_of_victim, None, "not_a_file"),
    "links beside the notebook": (_links_beside, ALL, ""),
    "pipes beside the notebook": (_pipes, ALL, ""),
    "a pipe for a notebook": (_pipe_for_notebook, None, "not_a_file"),
    "a terabyte beside the notebook": (_terabyte_beside, ALL, "files"),
    "a terabyte of notebook": (_terabyte_notebook, None, "too_large"),
    "three thousand files": (_many_files, ALL, "files"),
    "300 folders in each other": (_deep_folders, ALL, ""),
    "odd names of files": (_odd_names, ALL, ""),
    "an odd name of the notebook": (_odd_notebook_name, ALL, "wrong_name"),
    "a broken time stamp": (_broken_timestamp, ALL, ""),
    "a notebook of 49 MB": (_changed(_large_outputs), ALL, ""),
    "outputs of no known kind": (_changed(_broken_outputs), ALL, ""),
    "cells without parts, ids of another program": (_changed(_lean_cells), ALL, ""),
    "deep metadata": (_changed(_deep_metadata), None, "not_a_notebook"),
    "a deep list": (_changed(_deep_list), None, "not_a_notebook"),
    "numbers that JSON has not": (_changed(_not_numbers), ALL, ""),
    "a million brackets": (_brackets, None, "unreadable"),
    "cells of the wrong type": (_changed(_wrong_types), None, "not_a_notebook"),
}
