"""The exit code of an answer that is not to be trusted before its status is read."""

import typer

from steinquad.fit import Status

__all__ = ["SUSPECT", "exit_if_suspect"]

SUSPECT = 3  # exit code


def exit_if_suspect(status: Status) -> None:
    """End the command with exit code 3 if a check of its answer failed, once all is printed.

    A script may thus take an answer as it is where the command ends with 0.

    Args:
        status: of the answer; only `suspect` and `not_finite` end the command.
    """
    if status.doubtful:
        raise typer.Exit(SUSPECT)
