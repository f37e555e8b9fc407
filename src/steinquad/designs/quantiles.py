"""What designs need of a measure: a map from uniform points, means and deviations."""

import numpy as np
from scipy.special import ndtr

from steinquad._types import Array
from steinquad.errors import InputError
from steinquad.measures.base import Measure
from steinquad.measures.factors import Factors

__all__ = ["from_uniform", "has_quantiles", "moments"]

# Normal scores z of the trapezoidal rule for moments, E[x] = int icdf(Phi(z)) phi(z) dz: to ten
# digits for a normal. Beyond 7, 1 - Phi(z) has lost its own.
NODES = np.linspace(-7.0, 7.0, 561)
TAIL = 6.0  # a variance of which |z| > TAIL holds more than TAIL_SHARE is not known
TAIL_SHARE = 1e-3


def has_quantiles(measure: Measure) -> bool:
    """Whether `from_uniform` knows the way from uniform points to the measure."""
    if "icdf" in measure.provides:
        return True
    factored = measure.factors()
    return factored is not None and factored.independent


def from_uniform(measure: Measure, u: Array) -> Array:
    """Points of the measure from uniform ones, (n, d) -> (n, d), through its quantiles.

    For a measure with `icdf`, or with independent factors in affine coordinates; any other is
    refused with what to use instead.
    """
    if "icdf" in measure.provides:
        return measure.icdf(u)
    factored = _factors(measure)
    if not factored.independent:
        raise InputError(
            f"measure {type(measure).__name__} is a mixture without icdf; integrate over each "
            "component by itself, or use design=IID()."
        )
    z = np.column_stack([c.icdf(u[:, i]) for i, c in enumerate(factored.components[0])])
    return factored.affine.shift + z @ factored.affine.matrix.T


def moments(measure: Measure) -> tuple[Array, Array]:
    """Mean and standard deviation of every coordinate, (d,) and (d,), by quadrature.

    For a measure with `icdf`, or a mixture of independent factors in affine coordinates. Tails
    too heavy for a standard deviation are refused.
    """
    p = ndtr(NODES)
    if "icdf" in measure.provides:
        x = measure.icdf(np.tile(p[:, None], (1, measure.dim)))
        mean, variance = _integrate(x, measure.names)
        return mean, np.sqrt(variance)
    factored = _factors(measure)
    each = [
        _integrate(np.column_stack([c.icdf(p) for c in component]), measure.names)
        for component in factored.components
    ]
    matrix = factored.affine.matrix
    means = np.stack([factored.affine.shift + matrix @ m for m, _ in each])
    mean = factored.weights @ means
    within = np.stack([matrix**2 @ v for _, v in each])
    return mean, np.sqrt(factored.weights @ (within + (means - mean) ** 2))


def _integrate(x: Array, names: tuple[str, ...]) -> tuple[Array, Array]:
    """Mean and variance from quantiles at the nodes, (nodes, d) -> (d,), (d,)."""
    w = np.exp(-(NODES**2) / 2)
    w /= w.sum()
    mean = w @ x
    square = w[:, None] * (x - mean) ** 2
    variance = square.sum(axis=0)
    tail = square[np.abs(NODES) > TAIL].sum(axis=0)
    heavy = ~(tail <= TAIL_SHARE * variance)  # NaN is heavy too
    if heavy.any():
        raise InputError(
            f"measure has tails too heavy for a standard deviation in coordinate "
            f"{names[int(np.argmax(heavy))]}; use design=IID()."
        )
    return mean, variance


def _factors(measure: Measure) -> Factors:
    known = measure.factors()
    if known is None:
        raise InputError(
            f"measure {type(measure).__name__} has no icdf and is no product or normal in affine "
            "coordinates; use design=IID(), or a Markov chain such as design=NUTS()."
        )
    return known
