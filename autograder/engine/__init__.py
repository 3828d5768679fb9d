"""The grading engine: student code in a sandbox, the instructor's tests in a trusted process.

It knows nothing of any course; what is particular to one comes in as a Policy.
"""

from .grader import close_all, grade, grade_task
from .model import CellResult, Limits, Policy, Problem, Result
from .sandbox import SandboxUnavailable

__all__ = [
    "CellResult",
    "Limits",
    "Policy",
    "Problem",
    "Result",
    "SandboxUnavailable",
    "close_all",
    "grade",
    "grade_task",
]
