"""What Stan refuses, in one sentence."""

from steinquad.errors import InputError

__all__ = ["refused"]


def refused(what: str, error: Exception) -> InputError:
    """Stan's exception as an `InputError`, with the cause that is easily overlooked.

    Args:
        what: of our arguments it was given.
        error: what it raised.

    A simplex must sum to one within 1e-8, which files with CmdStan's default digits do not.
    """
    return InputError(
        f"{what} are refused by Stan ({' '.join(str(error).split())}); check that they come from "
        "this program and were stored with all digits (sig_figs=18 in CmdStan)."
    )
