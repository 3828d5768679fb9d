"""specdec: the learner's library of the speculative decoding course.

Lessons import from here and from nowhere else of this repository. This package never imports
`autograder`, `tools` or JupyterLab.
"""

import os

# One BLAS thread, set before numpy loads: on a busy machine two threads can be 80 times slower.
for _variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_variable, "1")

__version__ = "0.1.0"
