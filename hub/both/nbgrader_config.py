"""Where hand-ins are exchanged, and for which course: the same for students and instructors."""

import os

c = get_config()  # noqa: F821  (nbgrader provides it)

c.CourseDirectory.course_id = "speculative-decoding"
c.Exchange.root = os.environ.get("COURSE_EXCHANGE", "/srv/nbgrader/exchange")
