"""Posteriors by the model that made the draws: NumPyro, PyMC, Stan, any JAX log density."""

import inspect
import sys
from typing import Any

from steinquad.chains.targets.base import Target
from steinquad.chains.targets.jax_density import JaxDensity
from steinquad.chains.targets.numpyro import NumPyro
from steinquad.chains.targets.pymc import PyMC
from steinquad.chains.targets.stan import BridgeStan, PyStan
from steinquad.chains.targets.stored import Stored
from steinquad.errors import InputError

__all__ = [
    "BridgeStan",
    "JaxDensity",
    "NumPyro",
    "PyMC",
    "PyStan",
    "Stored",
    "Target",
    "as_target",
]

# The module and class that a model's object is of; only a loaded module can have made one.
KNOWN = (
    ("pymc", "Model", PyMC),
    ("bridgestan", "StanModel", BridgeStan),
    ("stan.model", "Model", PyStan),
)


def as_target(model: Any) -> Target:
    """Make a target of whatever a user has of a posterior.

    Args:
        model: a target already, or a PyMC, BridgeStan or PyStan model. A function is taken as a
            log density in JAX, see `JaxDensity`, and one without arguments as a NumPyro model; a
            NumPyro model that takes its data as arguments is `NumPyro(model, *args)`.

    Raises:
        InputError: if it is none of these.

    >>> as_target(lambda q: -q["a"] ** 2).unconstrain({"a": [1.0, 2.0]})
    array([[1.],
           [2.]])
    """
    if isinstance(model, Target):
        return model
    for module, kind, target in KNOWN:
        known = getattr(sys.modules.get(module), kind, None)
        if known is not None and isinstance(model, known):
            return target(model)
    if callable(model):
        return JaxDensity(model) if _takes_arguments(model) else NumPyro(model)
    raise InputError(
        f"model is a {type(model).__name__}; pass a target of sq.targets, a PyMC, BridgeStan or "
        "PyStan model, or a log density in JAX."
    )


def _takes_arguments(model: Any) -> bool:
    try:
        return bool(inspect.signature(model).parameters)
    except (TypeError, ValueError):  # a builtin
        return True
