"""A student's session without a sandbox, on standard input and output.

For checking one's own notebook where there is no sandbox; never for the work of others.
"""

import json
import os
import sys

from . import modules
from .session import run
from .wire import Channel


def main():
    """Prepare the imports as told by the first argument, then serve until the other side ends."""
    settings = json.loads(sys.argv[1])
    channel = Channel(os.dup(0), os.dup(1))
    modules.prepare(settings)
    run(channel, settings["limits"])


if __name__ == "__main__":
    main()
