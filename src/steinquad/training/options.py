"""What every optimizer asks of its options."""

from typing import Any

import numpy as np

from steinquad.errors import InputError

__all__ = ["check_counts", "check_penalty", "check_positive"]


def check_counts(**options: Any) -> None:
    """Refuse what is no integer >= 1."""
    for name, value in options.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"{name} is {value!r}; give an integer >= 1.")


def check_penalty(penalty: Any) -> None:
    """Refuse what is no finite number >= 0."""
    if isinstance(penalty, bool | str) or not 0 <= penalty < np.inf:
        raise InputError(f"penalty is {penalty!r}; give a number >= 0.")


def check_positive(**options: Any) -> None:
    """Refuse what is no finite number > 0."""
    for name, value in options.items():
        if isinstance(value, bool | str) or not 0 < value < np.inf:
            raise InputError(f"{name} is {value!r}; give a number > 0.")
