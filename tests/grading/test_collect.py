"""Downloads of hand-ins, clean and messy: what is taken, what is refused, and by which words."""

import io
import os
import stat
import struct
import zipfile

import nbformat
import pytest
from make_course import LESSON, make_course, source_notebook

from autograder.__main__ import main
from autograder.archives import Budget
from autograder.collect import collect
from autograder.course import Course
from autograder.errors import GradingError
from autograder.roster import import_roster, read_roster

ROSTER = """student_id,first_name,last_name,email,canvas_id
ada,Ada,Lovelace,ada@example.org,1001
ben,Ben,Müller,ben@example.org,1002
cyd,Cyd,O'Neil Smith,cyd@example.org,1003
dora1,Dora,Lee,dora1@example.org,1004
dora2,Dora,Lee,dora2@example.org,1005
"""
SOON, LATER = (2026, 11, 26, 10, 0, 0), (2026, 11, 27, 10, 0, 0)


def notebook(text="answer"):
    node = source_notebook()
    node.cells[1].source = text
    return nbformat.writes(node).encode()


@pytest.fixture
def course(tmp_path):
    """Return a small course with a roster, and make nothing of it the current folder."""
    course = Course.load(make_course(tmp_path / "course"))
    course.term.mkdir(parents=True)
    (course.term / "roster.csv").write_text(ROSTER, encoding="utf-8")
    return course


def archive(path, files):
    """Write a zip: {name: bytes, or (bytes, time)}."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items() if isinstance(files, dict) else files:
            content, time = content if isinstance(content, tuple) else (content, SOON)
            info = name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name, time)
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, content)
    return path


def packed(files):
    buffer = io.BytesIO()
    archive(buffer, files)
    return buffer.getvalue()


def taken(course, student):
    """Return the text of a student's answer cell as collected, or None."""
    path = course.folder("submitted", LESSON, student) / f"{LESSON}.ipynb"
    return nbformat.read(path, as_version=4).cells[1].source if path.exists() else None


def reasons(found):
    return {item.name: item.reason for item in found.refused}


def run(course, tmp_path, files, **options):
    return collect(course, LESSON, archive(tmp_path / "download.zip", files), **options)


def test_moodle_with_folders_and_without(course, tmp_path):
    found = run(
        course,
        tmp_path,
        {
            f"Ada Lovelace_77_assignsubmission_file/{LESSON}.ipynb": notebook("a"),
            f"Ben Müller_78_assignsubmission_file_/{LESSON} (1).ipynb": notebook("b"),
            "Ben Müller_78_assignsubmission_file_/data.csv": b"1,2",
            "Ben Müller_78_assignsubmission_onlinetext/onlinetext.html": b"<p>hello",
            f"Cyd O'Neil Smith_79_assignsubmission_file_{LESSON}.ipynb": notebook("c"),
        },
    )
    assert (found.taken, found.refused) == (["ada", "ben", "cyd"], [])
    assert [taken(course, s) for s in ("ada", "ben", "cyd")] == ["a", "b", "c"]
    beside = course.folder("submitted", LESSON, "ben")
    assert sorted(p.name for p in beside.iterdir()) == [f"{LESSON}.ipynb", "data.csv"]
    assert found.missing == ["dora1", "dora2"]
    assert found.times.startswith("no times")


def test_canvas_newest_file_late_mark_and_namesakes_by_number(course, tmp_path):
    found = run(
        course,
        tmp_path,
        {
            f"lovelaceada_1001_500_{LESSON}.ipynb": (notebook("old"), LATER),
            f"lovelaceada_1001_501_{LESSON}-1.ipynb": (notebook("new"), SOON),
            f"leedora_LATE_1005_502_{LESSON}.ipynb": notebook("second Dora"),
            f"leedora_1004_503_{LESSON}.ipynb": notebook("first Dora"),
        },
    )
    assert taken(course, "ada") == "new"
    assert taken(course, "dora1") == "first Dora"
    assert taken(course, "dora2") == "second Dora"
    assert "dora2: Canvas marks it as late" in found.notes
    assert any("2 notebooks, the newest counts" in note for note in found.notes)
    assert not (course.folder("submitted", LESSON, "ada") / "timestamp.txt").exists()


def test_grading_worksheet_gives_numbers_and_times(course, tmp_path):
    (course.term / "roster.csv").unlink()
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(
        "\ufeffIdentifier,Full name,ID number,Email address,Status,Last modified (submission)\n"
        'Participant 77,Ada Lovelace,ada,ada@example.org,Submitted,"Sunday, 29 November 2026, '
        '11:58 PM"\n'
        "Participant 78,Ben Müller,ben,ben@example.org,No submission,-\n"
        "Participant 79,Cyd Smith,,cyd@example.org,No submission,-\n"
    )
    files = {f"Participant_77_assignsubmission_file/{LESSON}.ipynb": notebook("blind")}
    found = run(course, tmp_path, files, roster=sheet, zone="Europe/Berlin")
    stamp = course.folder("submitted", LESSON, "ada") / "timestamp.txt"
    assert stamp.read_text() == "2026-11-29 22:58:00 UTC"
    assert "taken as Europe/Berlin and kept in UTC" in found.times
    assert found.missing == ["ben"]
    assert found.notes == ["line 4 (Cyd Smith): it has no id"]
    assert "moodle_id" not in (course.term / "roster.csv").read_text()


def test_folder_of_files_named_by_student_needs_no_roster(course, tmp_path):
    (course.term / "roster.csv").unlink()
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    for name, day in {"ada": 1, "ben": 2}.items():
        (inbox / f"{name}.ipynb").write_bytes(notebook(name))
        os.utime(inbox / f"{name}.ipynb", (day * 86400,) * 2)
    (inbox / "eve.ipynb").symlink_to("/etc/passwd")
    os.mkfifo(inbox / "pipe.ipynb")
    found = collect(course, LESSON, inbox, zone="UTC")
    assert found.taken == ["ada", "ben"]
    assert reasons(found) == {"eve.ipynb": "a link", "pipe.ipynb": "neither a file nor a folder"}
    stamp = course.folder("submitted", LESSON, "ben") / "timestamp.txt"
    assert stamp.read_text().startswith("1970-01-03")
    with pytest.raises(GradingError, match="--roster FILE"):
        run(course, tmp_path, {f"lovelaceada_1001_500_{LESSON}.ipynb": notebook()})


def test_newer_replaces_and_is_kept_older_and_unknown_do_not(course, tmp_path):
    other = {"ben.ipynb": (notebook("b"), (2026, 11, 1, 0, 0, 0))}

    def again(text, time):
        return run(course, tmp_path, {"ada.ipynb": (notebook(text), time), **other}, zone="UTC")

    again("first", SOON)
    assert again("first", SOON).unchanged == ["ada", "ben"]
    assert again("second", LATER).replaced == ["ada"]
    earlier = list((course.term / "earlier" / LESSON / "ada").rglob("*.ipynb"))
    assert [nbformat.read(p, 4).cells[1].source for p in earlier] == ["first"]
    assert "older than the one collected before" in reasons(again("third", SOON))["ada"]
    unknown = run(course, tmp_path, {"ada.ipynb": notebook("fourth")})
    assert "not known to be newer" in reasons(unknown)["ada"]
    assert taken(course, "ada") == "second"
    assert run(course, tmp_path, {"ada.ipynb": notebook("fourth")}, replace=True).replaced
    assert taken(course, "ada") == "fourth"
    assert not (course.term / "collecting").exists()


def odd(name, mode=0o100644, flag=0):
    info = zipfile.ZipInfo(name, SOON)
    info.external_attr, info.flag_bits = mode << 16, flag
    return info


def test_odd_members_are_refused_by_name_and_the_others_taken(course, tmp_path):
    good = f"Ada Lovelace_77_assignsubmission_file/{LESSON}.ipynb"
    found = run(
        course,
        tmp_path,
        [
            (good, notebook("good")),
            ("../../../outside.ipynb", b"{}"),
            ("..\\..\\outside.ipynb", b"{}"),
            ("/etc/cron.d/evil.ipynb", b"{}"),
            ("C:\\evil.ipynb", b"{}"),
            (odd("link.ipynb", stat.S_IFLNK | 0o777), b"/etc/passwd"),
            (odd("device.ipynb", stat.S_IFCHR | 0o666), b""),
            ("bell\x07.ipynb", b"{}"),
            (f"{'x' * 300}.ipynb", b"{}"),
            ("ben /01_double.ipynb", b"{}"),
            ("ben.ipynb", bytes(5_000_000)),
            ("__MACOSX/._01_double.ipynb", b"junk"),
            (".DS_Store", b"junk"),
        ],
    )
    assert found.taken == ["ada"]
    out = "its path leads out of the archive"
    said = reasons(found)
    assert said.pop("x" * 300 + ".ipynb") == "its name is longer than 240 bytes"
    assert said == {
        "../../../outside.ipynb": out,
        "../../outside.ipynb": out,
        "/etc/cron.d/evil.ipynb": out,
        "C:/evil.ipynb": out,
        "link.ipynb": "a link",
        "device.ipynb": "neither a file nor a folder",
        "bell\x07.ipynb": "its name has characters that can't be shown",
        "ben /01_double.ipynb": "its name has an empty part, or a space at an end",
        "ben.ipynb": "a zip bomb: unpacked more than 200 times as large",
    }
    assert not list(tmp_path.rglob("*outside*"))


def test_two_files_of_one_name_are_refused_and_the_same_twice_is_not(course, tmp_path):
    twice = [("ada.ipynb", notebook("1")), ("ADA.ipynb", notebook("2"))]
    same = [("ben.ipynb", notebook("3")), ("ben.ipynb", notebook("3"))]
    with pytest.warns(UserWarning, match="Duplicate name"):
        found = run(course, tmp_path, twice + same)
    assert found.taken == ["ben"]
    assert set(reasons(found)) == {"ada.ipynb", "ADA.ipynb"}


def test_students_zip_is_opened_once_and_not_deeper(course, tmp_path):
    bomb = packed({"ben/01_double.ipynb": bytes(5_000_000)})
    found = run(
        course,
        tmp_path,
        {
            "ada.zip": packed(
                {
                    f"work/{LESSON}.ipynb": notebook("in a zip"),
                    "work/plot.csv": b"1",
                    "work/again.zip": packed({"x.ipynb": notebook()}),
                    "../slip.ipynb": b"{}",
                }
            ),
            "ben.zip": bomb,
            "cyd.zip": b"PK no zip",
        },
    )
    assert found.taken == ["ada"]
    assert taken(course, "ada") == "in a zip"
    assert (course.folder("submitted", LESSON, "ada") / "plot.csv").read_bytes() == b"1"
    said = reasons(found)
    assert said["ada.zip > work/again.zip"] == "a zip in a zip of the student's"
    assert said["ada.zip > ../slip.ipynb"] == "its path leads out of the archive"
    assert "zip bomb" in said["ben.zip > ben/01_double.ipynb"]
    assert "no zip that can be read" in said["cyd.zip"]
    assert "no notebook among what was handed in" in said["ben"]


def test_who_and_what_cannot_be_told_is_listed(course, tmp_path):
    found = run(
        course,
        tmp_path,
        {
            f"Nobody Known_9_assignsubmission_file/{LESSON}.ipynb": notebook(),
            f"Dora Lee_9_assignsubmission_file/{LESSON}.ipynb": notebook(),
            f"anon_aB3_77_{LESSON}.ipynb": notebook(),
            f"LATE_anon_aB4_78_{LESSON}.ipynb": notebook(),
            "Ada Lovelace_77_assignsubmission_file/essay.pdf": b"%PDF",
            "Ben Müller_78_assignsubmission_file/one.ipynb": notebook("1"),
            "Ben Müller_78_assignsubmission_file/two.ipynb": notebook("2"),
        },
    )
    assert found.taken == []
    assert reasons(found) == {
        "Nobody Known_9": "nobody in the roster has this name or number",
        "Dora Lee_9": "several students have this name: dora1, dora2",
        f"anon_aB3_77_{LESSON}.ipynb": (
            "anonymous; switch anonymous marking off and download again"
        ),
        f"LATE_anon_aB4_78_{LESSON}.ipynb": (
            "anonymous; switch anonymous marking off and download again"
        ),
        "ada": "no notebook among what was handed in (essay.pdf)",
        "ben": "several notebooks, and no telling which counts (one.ipynb, two.ipynb)",
    }


def test_one_folder_around_all_and_names_that_only_look_like_anothers(course, tmp_path):
    found = run(
        course,
        tmp_path,
        {
            f"download/Ada Lovelace_77_assignsubmission_file/{LESSON}.ipynb": notebook("a"),
            "download/Ada Lovelace_77_assignsubmission_file/"
            f"Ben Müller_78_assignsubmission_file_{LESSON}.ipynb": notebook("not of Ben"),
            f"download/smithcyd_1003_9_leedora_1004_10_{LESSON}.ipynb": notebook("of Cyd"),
        },
    )
    assert found.taken == ["ada", "cyd"]
    assert taken(course, "ada") == "a"
    found = run(course, tmp_path, {f"ada/leedora_1004_10_{LESSON}.ipynb": notebook("of Ada")})
    assert reasons(found) == {"ada": "not known to be newer than the one collected before, which "
                              "stays; --replace takes this one"}  # fmt: skip
    assert taken(course, "dora1") is None


def test_a_name_never_stands_against_a_number_nor_takes_two_senders(course, tmp_path):
    found = run(
        course,
        tmp_path,
        {
            f"lovelaceada_1999_9_{LESSON}.ipynb": notebook("another Ada, not in the roster"),
            f"Ben Müller_5_assignsubmission_file/{LESSON}.ipynb": notebook("one Ben"),
            f"Ben Müller_6_assignsubmission_file/{LESSON}.ipynb": notebook("another Ben"),
        },
    )
    assert found.taken == []
    assert reasons(found) == {
        "lovelaceada_1999": "nobody in the roster has this name or number",
        "Ben Müller_5": "2 different senders are taken for ben",
        "Ben Müller_6": "2 different senders are taken for ben",
    }


def test_a_later_download_is_newer_though_its_times_are_its_own(course, tmp_path):
    def moodle(text, time):
        name = f"Ada Lovelace_77_assignsubmission_file/{LESSON}.ipynb"
        return run(course, tmp_path, {name: (notebook(text), time)})

    assert moodle("friday", SOON).taken == ["ada"]
    assert moodle("saturday", LATER).replaced == ["ada"]
    assert moodle("friday", SOON).refused
    assert taken(course, "ada") == "saturday"


def test_students_time_stamp_does_not_count(course, tmp_path):
    files = {f"ada/{LESSON}.ipynb": notebook(), "ada/timestamp.txt": b"1999-01-01 00:00:00 UTC"}
    found = run(course, tmp_path, {**files, "ben.ipynb": notebook()})
    assert reasons(found) == {"ada/timestamp.txt": "a student's time stamp"}
    assert not (course.folder("submitted", LESSON, "ada") / "timestamp.txt").exists()


def test_archives_refused_as_a_whole(course, tmp_path):
    place = tmp_path / "download.zip"

    def refused(content):
        place.write_bytes(content)
        with pytest.raises(GradingError) as stop:
            collect(course, LESSON, place)
        return str(stop.value)

    whole = packed({"ada.ipynb": notebook()})
    assert "no zip that can be read" in refused(whole[:-30])
    assert "no zip that can be read" in refused(b"")
    start = whole.index(b"PK\x01\x02")
    entry, end = whole[start : whole.index(b"PK\x05\x06")], whole[whole.index(b"PK\x05\x06") :]
    many = 50  # one file's data, listed many times: the core of overlapping bombs
    listed = b"".join(
        entry.replace(b"ada.ipynb", b"a%03d.ipyn" % i)[: len(entry)] for i in range(many)
    )
    tail = end[:8] + struct.pack("<HHI", many, many, len(listed)) + end[16:]
    assert "its files overlap: it is a zip bomb" in refused(whole[:start] + listed + tail)
    with pytest.raises(GradingError, match="does not exist"):
        collect(course, LESSON, tmp_path / "nothing.zip")
    with pytest.raises(GradingError, match="more than"):
        Budget(entries=2).spend(1 << 40)
    assert not course.folder("submitted", LESSON).parent.exists()


def test_encrypted_damaged_and_lying_files_cost_only_themselves(course, tmp_path):
    raw = bytearray(packed({"ada.ipynb": notebook("a"), "ben.ipynb": notebook("b")}))
    data = raw.index(b"ben.ipynb") + len("ben.ipynb") + 20
    raw[data] ^= 0xFF
    (tmp_path / "d.zip").write_bytes(raw)
    found = collect(course, LESSON, tmp_path / "d.zip")
    assert found.taken == ["ada"]
    assert "damaged" in reasons(found)["ben"]
    raw = bytearray(packed({"cyd.ipynb": notebook("c")}))
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "e.zip").write_bytes(raw)
    found = collect(course, LESSON, tmp_path / "e.zip")
    assert reasons(found) == {"cyd.ipynb": "encrypted; ask for it without a password"}


def test_names_of_old_zips_and_of_other_systems(course, tmp_path):
    info = zipfile.ZipInfo(f"Ben Mu\u0308ller_78_assignsubmission_file\\{LESSON}.ipynb", SOON)
    found = run(course, tmp_path, [(info, notebook("b"))])
    assert (found.taken, found.refused) == (["ben"], [])


def test_rosters_of_canvas_and_moodle_and_what_is_odd_in_them(course, tmp_path):
    canvas = tmp_path / "canvas.csv"
    canvas.write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section,Lesson 1 (55)\n"
        "    Points Possible,,,,,20\n"
        '"Lovelace, Ada",1001,ada,ada@x,S1,\n'
        '"Noether, Emmy",1009,emmy,emmy@x,S1,\n'
        '"Twin, One",1010,twin,t1@x,S1,\n'
        '"Twin, Two",1011,twin,t2@x,S1,\n'
        '"Slash, Bad",1012,../up,bad@x,S1,\n'
        '"Student, Test",1099,test,test@x,S1,\n',
        encoding="utf-8",
    )
    found = import_roster(course, canvas)
    assert found.people["emmy"].canvas_id == "1009"
    assert found.people["ada"].email == "ada@example.org"  # from before
    assert found.notes == [
        "line 6: id twin stands for One Twin and for Two Twin; neither is used",
        "line 7 (Slash, Bad): its id '../up' can't be a folder's name",
        "new: emmy",
        "not in the file, kept from before: ben, cyd, dora1, dora2",
    ]
    moodle = tmp_path / "participants.csv"
    moodle.write_text("First name;Last name;Email address\nÅsa;Öberg;asa@x\n", encoding="cp1252")
    assert list(read_roster(moodle).people) == ["asa@x"]
    with pytest.raises(GradingError, match="no column 'Matrikel'"):
        read_roster(moodle, "Matrikel")
    moodle.write_text("Vorname,Nachname\nA,B\n")
    with pytest.raises(GradingError, match="no column of student ids"):
        read_roster(moodle)


def test_the_command_prints_and_tells_by_its_status(course, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(course.root)
    place = archive(tmp_path / "d.zip", {"ada.ipynb": notebook(), "who\x1b[2J.ipynb": b"{}"})
    assert main(["collect", "01", str(place), "--timezone", "Europe/Berlin"]) == 1
    text = capsys.readouterr().out
    assert "01_double: 1 collected, 0 replaced by a newer one, 0 unchanged, 1 refused." in text
    assert "\x1b" not in text
    assert "Nothing handed in by 4: ben, cyd, dora1, dora2" in text
    assert main(["collect", "01", str(place), "--timezone", "Mars/Base"]) == 2
    assert "there is no time zone 'Mars/Base'" in capsys.readouterr().err
    (tmp_path / "r.csv").write_text(ROSTER)
    assert main(["roster", str(tmp_path / "r.csv")]) == 0
    assert "5 students in" in capsys.readouterr().out
