"""A gradebook in PostgreSQL: its lock, its copies (pg_dump, pg_restore), and what is deleted.

nbgrader names it by `c.CourseDirectory.db_url = "postgresql://…"`.
"""

import contextlib
import os
import shutil
import subprocess

from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ProgrammingError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from autograder.errors import GradingError

LOCK = 7_315_520_001  # of a database: any number that no other program takes
DUMP = "gradebook.dump"
TOOLS = ("pg_dump", "pg_restore")
NO_TOOLS = "pg_dump and pg_restore are not installed; install postgresql-client"
NO_GRADEBOOK = "it holds no gradebook yet"
TABLES = ("grade", "comment", "submitted_notebook", "submitted_assignment", "student")
_VARIABLES = {
    "PGHOST": "host",
    "PGPORT": "port",
    "PGUSER": "username",
    "PGPASSWORD": "password",
    "PGDATABASE": "database",
}


def is_used(course):
    """Say whether a course's gradebook is in PostgreSQL."""
    return course.gradebook_url.startswith("postgresql")


def has_tools():
    """Say whether copies can be made and put back."""
    return all(shutil.which(tool) for tool in TOOLS)


@contextlib.contextmanager
def only_one(course):
    """Hold the database's lock, or raise GradingError when another grader has it.

    It ends with the connection, so with the process, however that ends.
    """
    with _connection(course) as connection:
        if not connection.execute(text("select pg_try_advisory_lock(:n)"), {"n": LOCK}).scalar():
            raise GradingError(
                f"another `autograder` is at work on {course.gradebook_name}, perhaps on another "
                "machine; wait until it has ended.",
                "locked",
            )
        yield


def check(course):
    """Return what is wrong with the gradebook, or ""."""
    try:
        with _connection(course) as connection:
            connection.execute(text("select count(*) from student"))
    except ProgrammingError:
        return NO_GRADEBOOK
    except GradingError as error:
        return str(error)
    return ""


def students_with_work(course):
    """Return how many students have something in the gradebook."""
    if check(course):
        return 0
    query = "select count(distinct student_id) from submitted_assignment"
    with _connection(course) as connection:
        return connection.execute(text(query)).scalar()


def dump(course, target):
    """Write the gradebook into a file with pg_dump, and let pg_restore read what is in it."""
    _run(course, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "-f", str(target))
    listed = _run(course, "pg_restore", "--list", str(target))
    missing = [name for name in TABLES if f"TABLE DATA public {name} " not in listed]
    if missing:
        raise GradingError(f"the copy {target} lacks {', '.join(missing)}.")


def restore(course, source):
    """Put a dump in the place of what the database holds, all or nothing."""
    options = ("--clean", "--if-exists", "--no-owner", "--no-privileges", "--single-transaction")
    database = make_url(course.gradebook_url).database
    _run(course, "pg_restore", *options, "--exit-on-error", f"--dbname={database}", str(source))


def names_student(course, dumped, student):
    """Say whether a dump holds a student."""
    rows = _run(course, "pg_restore", "--data-only", "--table=student", "-f", "-", str(dumped))
    return any(line.split("\t")[0] == student for line in rows.splitlines())


def wipe(course):
    """Write the tables of students anew, so that no deleted row is left in the server's files."""
    with _connection(course) as connection:
        for table in TABLES:
            connection.execute(text(f"vacuum full {table}"))


@contextlib.contextmanager
def _connection(course):
    """Open a connection without transactions; GradingError where there is no way to the server."""
    url = make_url(course.gradebook_url)
    try:
        engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        connection = engine.connect()
    except ModuleNotFoundError as error:
        raise GradingError(
            f"the package '{error.name}' is missing, which speaks to PostgreSQL; install it with: "
            'pip install -c constraints.txt -e ".[postgresql]"'
        ) from None
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", error)).strip().splitlines()[0]
        raise GradingError(
            f"the gradebook {course.gradebook_name} can't be reached: {reason}"
        ) from None
    with connection:
        yield connection


def _run(course, tool, *arguments):
    """Run one of PostgreSQL's own programs and return what it prints.

    It gets the server, and the password, by its environment: others can read arguments.
    """
    if not has_tools():
        raise GradingError(f"{NO_TOOLS}.")
    url = make_url(course.gradebook_url)
    where = {name: getattr(url, part) for name, part in _VARIABLES.items()}
    where["PGHOST"] = url.query.get("host") or where["PGHOST"]
    where["PGSSLMODE"] = url.query.get("sslmode")
    where["PGOPTIONS"] = "-c lock_timeout=20s"  # an open formgrader holds the tables
    environment = os.environ | {name: str(value) for name, value in where.items() if value}
    done = subprocess.run(
        [tool, "--no-password", *arguments], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise GradingError(f"{tool} failed on {course.gradebook_name}: {said[0]}")
    return done.stdout
