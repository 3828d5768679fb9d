"""Every lesson has its known wrong answers and odd-but-right ones, and all are judged rightly.

Here they run in one process, in seconds; tests/grading sends some through the whole grading path,
and `make soak` all of them.
"""

import signal
import subprocess
import sys
from collections import Counter

import pytest

from autograder.answers import worked_answers
from autograder.mutants import load
from tools.course import ROOT, lesson_slugs, read_lesson, source_notebook

LESSONS = lesson_slugs()


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_banks_are_large_enough(lesson):
    answers = set(worked_answers(source_notebook(read_lesson(lesson))))
    mutants, odd_ones = load(lesson)
    wrong, odd = Counter(m.answer for m in mutants), Counter(o.answer for o in odd_ones)
    assert set(wrong) == set(odd) == answers
    assert min(wrong.values()) >= 6
    assert min(odd.values()) >= 4
    for bank in (mutants, odd_ones):
        assert max(Counter((item.answer, item.name) for item in bank).values()) == 1


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="endless answers are ended by SIGALRM")
@pytest.mark.parametrize("lesson", LESSONS)
def test_wrong_answers_hear_why_and_odd_ones_lose_nothing(lesson):
    command = [sys.executable, "-m", "tools.mutants", lesson]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(" 0 misjudged\n")
