"""The methods by the names that commands and study files know them by."""

from collections.abc import Callable

from steinquad.errors import InputError
from steinquad.methods.base import Method
from steinquad.methods.bayesian_quadrature import BayesianQuadrature
from steinquad.methods.bsn import BSN
from steinquad.methods.control_functional import ControlFunctional
from steinquad.methods.monte_carlo import MonteCarlo
from steinquad.methods.polynomial import Polynomial
from steinquad.methods.polynomial_chaos import PolynomialChaos
from steinquad.methods.quasi_monte_carlo import QuasiMonteCarlo
from steinquad.methods.stack import Stack

__all__ = ["method_named", "names"]

METHODS: dict[str, Callable[[], Method]] = {
    "auto": Stack,
    "bsn": BSN,
    "bsn-paper": BSN.paper,
    "bq": BayesianQuadrature,
    "cf": ControlFunctional,
    "polynomial": Polynomial,
    "chaos": PolynomialChaos,
    "mc": MonteCarlo,
    "qmc": QuasiMonteCarlo,
}


def names() -> tuple[str, ...]:
    """Every name that `method_named` knows, the default first: for help and for complaints.

    Returns:
        Keys of the table of methods, in the order in which they should be listed.
    """
    return tuple(METHODS)


def method_named(name: str) -> Method:
    """The method of that name with its default options, where a user can only give a word.

    Args:
        name: one of `names()`, e.g. `"auto"`, `"bsn"` or `"mc"`; another one is an `InputError`.
            In Python pass the object itself, such as `sq.BSN()`.

    >>> method_named("mc").name
    'MonteCarlo'
    """
    if name not in METHODS:
        raise InputError.about("method", f"is {name!r}; choose one of {', '.join(METHODS)}")
    return METHODS[name]()
