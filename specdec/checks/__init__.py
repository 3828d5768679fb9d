"""The checks behind the lessons' graded cells.

A check calls the learner's function, compares what came back with what was wanted, and ends in a
sentence: what was called, what was returned, what was wanted, and the likely cause when the check
has really told it apart from every other.
"""

from .answers import check_answer, check_choice
from .core import Case, CheckFailed, NotWrittenYet, run_cases

__all__ = ["Case", "CheckFailed", "NotWrittenYet", "check_answer", "check_choice", "run_cases"]
