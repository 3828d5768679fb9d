"""Two roles for a course on a JupyterHub: instructors grade, all others fetch and hand in.

A hub's own configuration loads this file; docs/deployment.md says how. Beside it stand the folders
`both`, `instructor` and `student` with the settings of each role, and the file `instructors`, one
user name a line. A change of that file counts from the next start of a user's server.
"""

import os
from pathlib import Path

c = get_config()  # noqa: F821  (JupyterHub provides it)

HERE = Path(__file__).resolve().parent


def settings(spawner):
    """Return the folders of settings for a user's server, the first one wins."""
    names = (HERE / "instructors").read_text(encoding="utf-8").split()
    role = "instructor" if spawner.user.name in names else "student"
    return os.pathsep.join([str(HERE / role), str(HERE / "both")])


c.Spawner.default_url = "/lab"
c.Spawner.environment = {
    "JUPYTER_CONFIG_PATH": settings,
    "COURSE_EXCHANGE": os.environ.get("COURSE_EXCHANGE", "/srv/nbgrader/exchange"),
}
