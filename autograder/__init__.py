"""autograder: the instructor's side of the course. It may import `specdec`, never the reverse."""

import sys

# jsonschema reads a grammar of web addresses when it is imported, which takes seconds; notebooks
# are checked without it just as well.
sys.modules.setdefault("rfc3987_syntax", None)
