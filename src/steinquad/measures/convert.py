"""From what users have to a measure."""

from typing import Any

from steinquad.errors import InputError
from steinquad.measures.base import Measure

__all__ = ["as_measure"]


def as_measure(obj: Any) -> Measure:
    """`obj` as a measure; everything that takes a measure from a user calls this.

    Args:
        obj: a measure, which stays as it is, a numpyro or a frozen `scipy.stats` distribution.

    >>> import scipy.stats
    >>> as_measure(scipy.stats.norm(1.0, 2.0)).score([[3.0]])
    array([[-0.5]])
    """
    if isinstance(obj, Measure):
        return obj
    # The one place that imports the two wrappers, and late: scipy.stats and numpyro make
    # `import steinquad` half as slow again, and whoever holds such an object has paid already.
    # So the packages are looked for among the object's ancestors.
    packages = {base.__module__.split(".")[0] for base in type(obj).__mro__}
    if "numpyro" in packages:
        from numpyro.distributions import Distribution

        from steinquad.measures.numpyro import NumpyroMeasure

        if isinstance(obj, Distribution):
            return NumpyroMeasure(obj)
    if "scipy" in packages:
        from steinquad.measures.scipy import from_scipy

        return from_scipy(obj)
    hint = "create it with its parameters first" if isinstance(obj, type) else "see the list"
    raise InputError(
        f"measure is a {obj.__name__ if isinstance(obj, type) else type(obj).__name__} ({hint}); "
        "pass a numpyro distribution, a frozen scipy.stats distribution, Product, Truncated, "
        "LogDensity or Draws."
    )
