"""specdec: the learner's library of the speculative decoding course.

Lessons import from here and from nowhere else of this repository. This package never imports
`autograder`, `tools` or JupyterLab.
"""

__version__ = "0.1.0"
