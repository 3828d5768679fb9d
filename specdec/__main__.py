"""`python -m specdec`: the learner's commands, the same on Linux, macOS and Windows."""

import sys

from specdec.commands import main

sys.exit(main())
