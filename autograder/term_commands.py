"""The commands of a term besides grading: what they are called and what they print."""

from pathlib import Path


def add_term_commands(commands):
    """Add the commands to an argparse group of sub-commands."""
    collect = commands.add_parser(
        "collect",
        help="take the learning platform's download of hand-ins",
        description="Put the hand-ins of a zip or folder from Moodle or Canvas into "
        "submitted/STUDENT/LESSON. Names become student ids by the roster, the newest attempt "
        "counts, nothing is overwritten. Exit status 1 when something was refused.",
    )
    _lesson(collect)
    collect.add_argument("place", metavar="ZIP|FOLDER", help="the download, packed or unpacked")
    _roster(collect, "--roster")
    collect.add_argument(
        "--timezone", metavar="NAME", help="of the times there, e.g. Europe/Berlin (default: here)"
    )
    collect.add_argument(
        "--replace", action="store_true", help="take these hand-ins though they may be older"
    )
    collect.set_defaults(run=run_collect)

    roster = commands.add_parser(
        "roster",
        help="import the class list",
        description="Read the class list from a CSV export, keep it, and list what is odd in it.",
    )
    _roster(roster, "roster")
    roster.set_defaults(run=run_roster)

    preflight = commands.add_parser(
        "preflight",
        help="try all that grading a lesson needs, the day before",
        description="Grade the worked solution, the untouched lesson and the sample class, look at "
        "sandbox, environment, exchange, gradebook, disk and time. Exit status 1 when a line is "
        "not in order.",
    )
    _lesson(preflight)
    preflight.set_defaults(run=run_preflight)

    report = commands.add_parser(
        "report",
        help="what a graded class got wrong, test by test",
        description="Count the failures of each test by mistake, with three answers each, as text "
        "and as an HTML page without names.",
    )
    _lesson(report)
    report.set_defaults(run=run_report)

    export = commands.add_parser(
        "export",
        help="write a lesson's grades for a learning platform",
        description="Write a CSV that Canvas' or Moodle's grade import takes, and a table of "
        "points, penalties and extensions beside it. Who has no grade yet is named. Exit status 1 "
        "when a student with a grade is not in the platform's file.",
    )
    _lesson(export)
    export.add_argument(
        "--format", required=True, choices=("canvas", "moodle"), help="whose import it is for"
    )
    export.add_argument(
        "--column",
        metavar="NAME",
        help="the assignment's name there, for Canvas as its export has it: 'Lesson 1 (4711)' "
        "(default: the lesson's)",
    )
    export.set_defaults(run=run_export)

    void = commands.add_parser(
        "void",
        help="let a wrong test count no more",
        description="Note that a test is void. `grade --dry-run` then shows who gains, `grade` "
        "applies it.",
    )
    _lesson(void)
    void.add_argument("test", metavar="TEST", help="the test's name, such as test_double")
    void.add_argument(
        "--counts",
        choices=("everyone", "nobody"),
        default="everyone",
        help="everyone has its points (default), or it is worth none for anybody",
    )
    void.add_argument("--why", default="", metavar="TEXT", help="the reason, kept with it")
    void.add_argument("--undo", action="store_true", help="let it count again")
    void.set_defaults(run=run_void)

    restore = commands.add_parser(
        "restore",
        help="put a backup of the gradebook in place",
        description="`grade` makes a backup first. What a restored one replaces is backed up too.",
    )
    restore.add_argument("name", nargs="?", metavar="BACKUP", help="default: the newest")
    restore.add_argument("--list", action="store_true", help="name the backups, oldest first")
    restore.set_defaults(run=run_restore)

    new_term = commands.add_parser(
        "new-term",
        help="archive the class's data, keep the course",
        description="Move hand-ins, results, feedback, grades and the gradebook into the archive.",
    )
    new_term.add_argument("--name", help="the archive's (default: until-DATE)")
    _sure(new_term)
    new_term.set_defaults(run=run_new_term)

    forget = commands.add_parser(
        "forget",
        help="delete one student everywhere",
        description="Delete a student's hand-ins, results, feedback and marks, in backups and "
        "earlier terms too. This can't be undone.",
    )
    forget.add_argument("student", metavar="STUDENT")
    _sure(forget)
    forget.set_defaults(run=run_forget)


def _lesson(parser):
    parser.add_argument("lesson", metavar="LESSON", help="the lesson's name, or how it starts")


def _roster(parser, name):
    parser.add_argument(
        name, metavar="FILE", help="class list: an export of Canvas or Moodle, or another CSV"
    )
    parser.add_argument(
        "--id-column", metavar="NAME", help="the column of student ids (default: the known ones)"
    )


def _sure(parser):
    parser.add_argument("--yes", action="store_true", help="do it; without, it is only said")


def _course(args):
    from autograder.course import Course

    return Course.find(args.course)


def run_collect(args):
    from autograder.collect import collect

    course = _course(args)
    lesson = course.find_lesson(args.lesson)
    found = collect(
        course,
        lesson,
        Path(args.place),
        roster=args.roster,
        id_column=args.id_column,
        zone=args.timezone,
        replace=args.replace,
    )
    _lines("refused", found.refused)
    _lines("note", found.notes)
    _say(
        f"{lesson}: {len(found.taken)} collected, {len(found.replaced)} replaced by a newer one, "
        f"{len(found.unchanged)} unchanged, {len(found.refused)} refused."
    )
    _say(found.times)
    if found.missing:
        _say(f"Nothing handed in by {len(found.missing)}: {', '.join(found.missing)}")
    return int(bool(found.refused))


def run_roster(args):
    from autograder.roster import import_roster, roster_file

    course = _course(args)
    found = import_roster(course, args.roster, args.id_column)
    _lines("note", found.notes)
    _say(f"{len(found.people)} students in {roster_file(course)}")
    return 0


def run_preflight(args):
    from autograder.preflight import preflight

    course = _course(args)
    lesson = course.find_lesson(args.lesson)
    failed = 0
    for check in preflight(course, lesson):
        _say(f"{'✓' if check.ok else '✗'} {check.name}: {check.said}")
        if not check.ok:
            failed += 1
            _say(f"    to mend it: {check.mend}")
    _say(f"{lesson}: {'ready' if not failed else f'{failed} not in order'}.")
    return int(failed > 0)


def run_report(args):
    from autograder.items import write_report

    course = _course(args)
    text, page = write_report(course, course.find_lesson(args.lesson))
    _say(text)
    _say(f"page: {page}")
    return 0


def run_export(args):
    from autograder.export import export

    course = _course(args)
    found = export(course, course.find_lesson(args.lesson), args.format, args.column)
    _lines("note", found.notes)
    _lines("left out", [f"{student} {why}" for student, why in found.left_out.items()])
    _say(f"{found.rows} students in {found.upload}")
    _say(f"points, penalties and extensions of all: {found.details}")
    return int(bool(found.left_out))


def run_void(args):
    from autograder.voids import void, void_file

    course = _course(args)
    lesson = course.find_lesson(args.lesson)
    void(course, lesson, args.test, None if args.undo else args.counts, args.why)
    _say(f"noted in {void_file(course)}; `autograder grade {lesson}` applies it.")
    return 0


def run_restore(args):
    from autograder.backup import backups, restore
    from autograder.lock import grading_lock

    course = _course(args)
    if args.list:
        for path in backups(course):
            _say(path.name)
        return 0
    with grading_lock(course):
        source = restore(course, args.name)
    _say(f"restored from {source}; run `autograder grade` for each lesson to make feedback again.")
    return 0


def run_new_term(args):
    from autograder.term import archive_folder, class_data, new_term

    course = _course(args)
    if not args.yes:
        _say(f"This would move into {archive_folder(course)}:")
        _lines("  ", class_data(course))
        _say("Nothing was moved; --yes does it.")
        return 2
    _say(f"archived in {new_term(course, args.name)}; lessons and settings are as they were.")
    return 0


def run_forget(args):
    from autograder.lock import grading_lock
    from autograder.term import dumps_of_earlier_terms, forget

    course = _course(args)
    if not args.yes:
        _say(f"This would delete all of '{args.student}', also in backups and earlier terms.")
        _say("Nothing was deleted; --yes does it. It can't be undone.")
        return 2
    with grading_lock(course):
        gone = forget(course, args.student)
    _lines("deleted from", gone)
    for dump in dumps_of_earlier_terms(course, args.student):
        _say(
            f"STILL IN {dump}: put it into a scratch database with pg_restore, delete the student "
            "there, and write it again with pg_dump."
        )
    _say("Not reached: the learning platform, an exchange, other copies of this folder.")
    return 0


def show_changes(course, lesson, options):
    """Print who would gain or lose if the lesson were graded now."""
    from autograder.regrade import compare, table
    from autograder.report import progress

    with progress() as say:
        changes = compare(course, lesson, options, say)
    for line in table(changes):
        _say(line)
    return 0


def _lines(kind, items):
    for item in items:
        _say(f"{kind}: {item}")


def _say(text):
    from autograder.results import printable

    print(printable(str(text)))
