"""The instructor's command line: `autograder` and `python -m autograder` are the same."""

import argparse
import os
import sys
from pathlib import Path

from autograder.errors import GradingError
from autograder.term_commands import add_term_commands, show_changes

EXAMPLES = """examples:
  autograder check lessons/01_draft_and_verify/01_draft_and_verify.ipynb
  autograder grade 01_draft_and_verify
  autograder grade 01 --jobs 4
  autograder grade 01 --student ada --force
  autograder collect 01 submissions.zip --roster grades.csv
  autograder report 01
  autograder repair 01
  autograder demo
"""


def build_parser():
    parser = argparse.ArgumentParser(
        prog="autograder",
        description="Grade the notebooks of a course. Set AUTOGRADER_DEBUG=1 to see tracebacks.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--course",
        metavar="DIR",
        help="course folder, the one with nbgrader_config.py (default: here or the nearest above)",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    check = commands.add_parser(
        "check",
        help="run all tests of a lesson on one notebook",
        description="Run all tests of a lesson, hidden ones too, on one notebook. Nothing is "
        "written. Exit status 0 when there is a result, 2 when the file can't be graded.",
    )
    check.add_argument("notebook", metavar="NOTEBOOK", help="the .ipynb file")
    check.add_argument("--json", action="store_true", help="print the result as JSON")
    check.set_defaults(run=run_check)

    grade = commands.add_parser(
        "grade",
        help="grade all hand-ins of a lesson",
        description="Grade submitted/*/LESSON into the gradebook, write feedback and grades.csv, "
        "print a table. What has not changed since the last run is not graded again.",
    )
    grade.add_argument("lesson", metavar="LESSON", help="the lesson's name, or how it starts")
    grade.add_argument("--student", metavar="ID", help="grade this student only")
    grade.add_argument("--force", action="store_true", help="grade unchanged hand-ins again")
    grade.add_argument(
        "--jobs", metavar="N", type=_jobs, help="grade N at the same time (default: one a core)"
    )
    grade.add_argument(
        "--dry-run", action="store_true", help="write nothing, show who would gain or lose"
    )
    grade.add_argument("--no-feedback", action="store_true", help="write no feedback pages")
    grade.add_argument(
        "--unsafe-no-sandbox",
        action="store_true",
        help="run the hand-ins' code as you, without any protection",
    )
    grade.set_defaults(run=run_grade)

    repair = commands.add_parser(
        "repair",
        help="mend the files of all hand-ins of a lesson",
        description="Mend what `grade` would mend in a copy: odd file names, wrong folders, byte "
        "order marks, the old notebook format, the line ends of Windows. The file that was handed "
        "in is kept beside it. For those who grade with plain nbgrader.",
    )
    repair.add_argument("lesson", metavar="LESSON", help="the lesson's name, or how it starts")
    repair.add_argument("--student", metavar="ID", help="mend this student's only")
    repair.set_defaults(run=run_repair)

    demo = commands.add_parser(
        "demo",
        help="grade a sample class in a scratch folder",
        description="Make a scratch course, release a lesson, hand in for a sample class, grade "
        "it. Your lessons and your classroom are not touched.",
    )
    demo.add_argument(
        "--dir",
        metavar="DIR",
        help="folder for the scratch course, new or empty or an earlier "
        "demo (default: a temporary folder)",
    )
    demo.set_defaults(run=run_demo)
    add_term_commands(commands)
    return parser


def _jobs(text):
    if not text.isdecimal() or not 1 <= int(text) <= 256:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 to 256")
    return int(text)


# The commands import what they need when they run, so that --help answers at once.


def run_check(args):
    from autograder.check import check, refused
    from autograder.course import Course

    try:
        result = check(Course.find(args.course), Path(args.notebook))
    except GradingError as error:
        result = refused(None, error)
    if args.json:
        print(result.as_json())
    if result.ungraded:
        return fail(result.problems[0].message)
    if not args.json:
        from autograder.report import print_check

        print_check(result, args.notebook)
    return 0


def run_grade(args):
    from autograder.work import start_imports

    start_imports()
    from autograder.batch import Options, grade
    from autograder.course import Course
    from autograder.report import print_class, progress, warn_unsafe

    course = Course.find(args.course)
    lesson = course.find_lesson(args.lesson)
    options = Options(
        args.student, args.force, args.jobs, args.unsafe_no_sandbox, not args.no_feedback
    )
    if options.unsafe:
        warn_unsafe()
    if args.dry_run:
        return show_changes(course, lesson, options)
    with progress() as say:
        lines, grades = grade(course, lesson, options, say)
    print_class(lesson, lines)
    print(f"grades: {grades}")
    if options.feedback:
        print(f"feedback: {course.folder('feedback', lesson, 'STUDENT')}")
    return 0


def run_repair(args):
    from autograder.batch import students_of
    from autograder.course import Course
    from autograder.repair import repair
    from autograder.report import print_repairs

    course = Course.find(args.course)
    lesson = course.find_lesson(args.lesson)
    print_repairs(repair(course, lesson, students_of(course, lesson, args.student)))
    return 0


def run_demo(args):
    from autograder.course import Course
    from autograder.demo import demo
    from autograder.report import print_class, progress

    with progress() as say:
        place = demo(Course.find(args.course), args.dir, say)
    print_class(place.lesson, place.lines)
    print(place.where())
    return 0


def fail(message):
    print(f"autograder: {message}", file=sys.stderr)
    return 2


def main(argv=None):
    """Run the command line and return its exit status."""
    args = build_parser().parse_args(argv)
    try:
        return args.run(args)
    except GradingError as error:
        return fail(error)
    except KeyboardInterrupt:
        fail("stopped; run the same command again to go on.")
        return 130
    except Exception as error:
        if os.environ.get("AUTOGRADER_DEBUG"):
            raise
        return fail(_sentence(error))


def _sentence(error):
    if isinstance(error, OSError) and error.strerror:
        where = f" {error.filename}" if error.filename else ""
        return f"can't use{where}: {error.strerror}."
    if isinstance(error, ModuleNotFoundError):
        return f"the package '{error.name}' is missing; install the course with its dependencies."
    return f"unexpected {type(error).__name__}: {error}. Set AUTOGRADER_DEBUG=1 to see where."


if __name__ == "__main__":
    sys.exit(main())
