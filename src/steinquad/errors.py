"""The one exception for wrong input, so that callers and the command can tell it from a bug."""

__all__ = ["InputError"]


class InputError(ValueError):
    """An argument is wrong; the message is one sentence: which, what came, what to do."""
