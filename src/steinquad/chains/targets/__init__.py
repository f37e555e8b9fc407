"""Posteriors as targets of the Stein operator."""

from typing import Any

from steinquad.chains.targets.base import Target
from steinquad.errors import InputError

__all__ = ["Target", "as_target"]


def as_target(model: Any) -> Target:
    """A target as it is; anything else is refused."""
    if isinstance(model, Target):
        return model
    raise InputError(f"model is a {type(model).__name__}; pass a Target.")
