"""From what users have to a measure, and the product of several of these."""

from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

from steinquad.errors import InputError, shown
from steinquad.measures.base import Measure
from steinquad.measures.independent import Independent

__all__ = ["Product", "as_measure"]


def as_measure(obj: Any) -> Measure:
    """`obj` as a measure; everything that takes a measure from a user calls this.

    Args:
        obj: a measure, which stays as it is; a numpyro or a frozen `scipy.stats` distribution, a
            `scipy.stats.gaussian_kde`; a distribution of chaospy or OpenTURNS, or an input or a
            marginal of uqtestfuns; a dict of any of these by name, or a list of them, for
            independent ones.

    >>> import scipy.stats
    >>> as_measure(scipy.stats.norm(1.0, 2.0)).score([[3.0]])
    array([[-0.5]])
    >>> as_measure([scipy.stats.norm(), scipy.stats.uniform()]).names
    ('x0', 'x1')
    """
    if isinstance(obj, Measure):
        return obj
    if isinstance(obj, Mapping | list | tuple):
        return Product(obj)
    # The one place that imports what knows of other packages, and late: scipy.stats and numpyro
    # make `import steinquad` half as slow again, and whoever holds such an object has paid
    # already. So the packages are looked for among the object's ancestors.
    packages = {base.__module__.split(".")[0] for base in type(obj).__mro__}
    if "numpyro" in packages:
        from numpyro.distributions import Distribution

        from steinquad.measures.numpyro import NumpyroMeasure

        if isinstance(obj, Distribution):
            return NumpyroMeasure(obj)
    if "scipy" in packages:
        from steinquad.measures.scipy import from_scipy

        return from_scipy(obj)
    # These say the same by what is taken above: a distribution of scipy.stats, or a dict of such.
    if "chaospy" in packages:
        from steinquad.measures.chaospy import from_chaospy

        return as_measure(from_chaospy(obj))
    if "openturns" in packages:
        from steinquad.measures.openturns import from_openturns

        return as_measure(from_openturns(obj))
    if "uqtestfuns" in packages:
        from steinquad.measures.uqtestfuns import from_uqtestfuns

        return as_measure(from_uqtestfuns(obj))
    raise InputError(
        f"measure is a {_named(obj)}; pass a numpyro distribution, a frozen scipy.stats "
        "distribution or gaussian_kde, a distribution of chaospy or OpenTURNS, an input of "
        "uqtestfuns, a dict or list of these, Product, Truncated, LogDensity or Draws."
    )


class Product(Independent):
    """The product of independent named blocks, in the order of the mapping.

    Args:
        blocks: names to anything that `integrate` takes for a measure. A block of one coordinate
            gives it its name; a block `w` of several gives `w[0]`, `w[1]`, ... A list has the
            names `x0`, `x1`, ...

    It provides what every block provides.

    >>> import scipy.stats as st
    >>> Product({"ct": st.norm(0.8, 0.1), "wind": st.multivariate_normal([9.0, 8.0])}).names
    ('ct', 'wind[0]', 'wind[1]')
    """

    def __init__(self, blocks: Mapping[str, Any] | Sequence[Any]) -> None:
        if isinstance(blocks, list | tuple):
            blocks = {f"x{i}": part for i, part in enumerate(blocks)}
        if not isinstance(blocks, Mapping) or not blocks:
            raise InputError(
                f"blocks is {shown(blocks)}; pass a mapping of at least one name to a "
                "distribution, or a list of at least one."
            )
        super().__init__({name: _as_block(name, block) for name, block in blocks.items()})


def _as_block(name: Any, block: Any) -> Measure:
    if not isinstance(name, str) or not name:
        raise InputError(f"blocks has the name {name!r}; use non-empty strings.")
    try:
        return as_measure(block)
    except InputError as error:
        raise InputError(f"block {name!r}: {error}") from None


def _named(obj: Any) -> str:
    """What it is, and what may have been meant."""
    if isinstance(obj, type):
        return f"{obj.__name__} (create it with its parameters first)"
    if isinstance(obj, Number):
        return f"{type(obj).__name__} (between two numbers, scipy.stats.uniform(low, high - low))"
    return f"{type(obj).__name__} (see the list)"
