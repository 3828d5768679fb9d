"""The one kind of error that a command shows as a sentence."""


class GradingError(Exception):
    """A command can't do its job; the text says why and what to do about it."""

    def __init__(self, message, kind="error"):
        super().__init__(message)
        self.kind = kind
