"""What we integrate against: numpyro and SciPy distributions, products, log densities, draws."""

from typing import TYPE_CHECKING, Any

from steinquad.measures.base import Measure
from steinquad.measures.convert import as_measure
from steinquad.measures.density import LogDensity
from steinquad.measures.draws import Draws
from steinquad.measures.product import Product
from steinquad.measures.truncated import Truncated

if TYPE_CHECKING:
    from steinquad.measures.numpyro import NumpyroMeasure
    from steinquad.measures.scipy import ScipyMeasure

__all__ = [
    "Draws",
    "LogDensity",
    "Measure",
    "NumpyroMeasure",
    "Product",
    "ScipyMeasure",
    "Truncated",
    "as_measure",
]


def __getattr__(name: str) -> Any:
    """The two wrappers on first use: numpyro and scipy.stats each take a second to import."""
    if name == "NumpyroMeasure":
        from steinquad.measures.numpyro import NumpyroMeasure

        return NumpyroMeasure
    if name == "ScipyMeasure":
        from steinquad.measures.scipy import ScipyMeasure

        return ScipyMeasure
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
