"""What we integrate against: numpyro and SciPy distributions, products, log densities, draws."""

from steinquad.measures.base import Measure
from steinquad.measures.convert import Product, as_measure
from steinquad.measures.density import LogDensity
from steinquad.measures.draws import Draws
from steinquad.measures.truncated import Truncated

__all__ = ["Draws", "LogDensity", "Measure", "Product", "Truncated", "as_measure"]
