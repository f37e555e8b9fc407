"""The one exception for wrong input, so that callers and the command can tell it from a bug."""

__all__ = ["InputError"]


class InputError(ValueError):
    """An argument is wrong; the message is one sentence: which, what came, what to do.

    Those who call for somebody else, such as the reader of a study file, tell the same problem by
    another name of the argument: they read these fields, never the text.

    Attributes:
        argument: the name of what is wrong, empty where the message alone tells.
        problem: what is wrong with it and what to do, without a period at the end.

    >>> error = InputError.about("seed", "is -1; give an integer >= 0")
    >>> str(error), error.argument
    ('seed is -1; give an integer >= 0.', 'seed')
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.argument, self.problem = "", message.removesuffix(".")

    @classmethod
    def about(cls, argument: str, problem: str) -> "InputError":
        """A complaint about one argument, with the message `argument problem.`.

        Args:
            argument: its name, as the caller knows it.
            problem: what came and what to do, without a period at the end.
        """
        error = cls(f"{argument} {problem}.")
        error.argument, error.problem = argument, problem
        return error
