"""Integrals of a kernel against one marginal, and against a mixture of products.

Closed forms where there is a stable one, registered by kernel and kind of marginal; quadrature for
everything else. Everything is NumPy float64.
"""

import math
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np

from steinquad._types import Array, as_finite, as_points
from steinquad.errors import InputError
from steinquad.kernels._panels import (
    FINE,
    adapted,
    flat,
    marginal_panels,
    numpy_profile,
    profile_panels,
    total,
    unresolved,
)
from steinquad.kernels.base import Kernel
from steinquad.kernels.matern import Matern
from steinquad.kernels.rbf import RBF
from steinquad.measures.factors import Factors
from steinquad.measures.marginal import Marginal, gap

__all__ = ["double_integral", "embed", "kernel_mean", "register_kernel_mean"]

# (kernel, lengthscale, marginal, x) -> kernel mean at x
KernelMean: TypeAlias = Callable[[Any, float, Marginal, Array], Array]
F = TypeVar("F", bound=KernelMean)

CLOSED_FORMS: dict[tuple[type[Kernel], str], KernelMean] = {}

# Quadrature nodes at once, in about 100 MB.
BLOCK = 1_000_000

# Exponents this far below the largest do not count in float64, and a rule that resolves the rest.
NEGLIGIBLE = 44.0
LONG = np.polynomial.legendre.leggauss(56)


def register_kernel_mean(kernel_type: type[Kernel], kind: str) -> Callable[[F], F]:
    """Make a function the closed form of `kernel_mean` for a kernel and a kind of marginal.

    Args:
        kernel_type: the class itself; subclasses do not inherit the function, because their
            profile may be another.
        kind: of the marginal, "normal", "uniform" or "other".

    The decorated function takes `(kernel, lengthscale, marginal, x)` and gives the means at x.
    """

    def register(function: F) -> F:
        CLOSED_FORMS[kernel_type, kind] = function
        return function

    return register


def kernel_mean(kernel: Kernel, lengthscale: float, marginal: Marginal, x: Array) -> Array:
    """`int kappa((x - y)/l) p(y) dy` at each x, (n,) -> (n,).

    Args:
        kernel: whose profile kappa is integrated.
        lengthscale: l, positive.
        marginal: the distribution with density p; one that quadrature cannot resolve is refused.
        x: points, inside the support or not.
    """
    lengthscale = _as_lengthscale(lengthscale)
    x = as_finite("x", x, ndim=(1,))
    closed = CLOSED_FORMS.get((type(kernel), marginal.kind))
    if closed is None:
        return _mean_by_quadrature(kernel, lengthscale, marginal, x)
    return np.asarray(closed(kernel, lengthscale, marginal, x), dtype=np.float64)


def double_integral(
    kernel: Kernel, lengthscale: float, first: Marginal, second: Marginal
) -> float:
    """`int int kappa((x - y)/l) p(x) q(y) dx dy` of two marginals with densities p and q.

    The variance of the integral before any data is this with p = q, in every coordinate.
    """
    lengthscale = _as_lengthscale(lengthscale)
    kinds = {first.kind, second.kind}
    if kinds == {"normal"} and not (first.truncated or second.truncated):
        # x - y is a normal too, so this is its kernel mean at 0.
        spread = math.hypot(first.scale, second.scale)
        difference = Marginal.normal(first.loc - second.loc, spread)
        return float(kernel_mean(kernel, lengthscale, difference, np.zeros(1))[0])
    if type(kernel) is RBF and kinds == {"uniform"} and first == second:
        w = (first.high - first.low) / lengthscale
        area = w * math.sqrt(math.pi / 2) * math.erf(w / math.sqrt(2))
        return 2 * (area + math.expm1(-w * w / 2)) / (w * w)
    return _double_by_quadrature(kernel, lengthscale, first, second)


def embed(kernel: Kernel, lengthscales: Any, factors: Factors, z: Array) -> tuple[Array, float]:
    """Kernel mean at the points z and double integral, of a whole mixture of products.

    Args:
        kernel: a product kernel of z.
        lengthscales: one for each coordinate of z, (d,), or one for all.
        factors: the distribution of z.
        z: points (n, d) in the coordinates of the factors, `factors.affine.points(x)`.

    Returns:
        The means (n,), and the integral of the kernel in both arguments.
    """
    dim = factors.dim
    z = as_points("z", z, dim)
    scales = as_finite("lengthscales", lengthscales, ndim=(0, 1))
    if scales.size not in (1, dim):
        raise InputError(
            f"lengthscales has {scales.size} entries but the distribution has dim {dim}; "
            f"give {dim}."
        )
    scales = np.broadcast_to(scales, (dim,))
    mean = np.ones((len(factors.weights), len(z)))
    pairs = np.outer(factors.weights, factors.weights)
    for i, scale in enumerate(scales.tolist()):
        # The components of a product of mixtures repeat few marginals in each coordinate.
        own = list(dict.fromkeys(part[i] for part in factors.components))
        where = np.array([own.index(part[i]) for part in factors.components])
        mean *= np.array([kernel_mean(kernel, scale, each, z[:, i]) for each in own])[where]
        table = np.empty((len(own), len(own)))
        for a, first in enumerate(own):
            for b, second in enumerate(own[: a + 1]):
                table[a, b] = table[b, a] = double_integral(kernel, scale, first, second)
        pairs *= table[np.ix_(where, where)]
    return factors.weights @ mean, float(pairs.sum())


@register_kernel_mean(RBF, "normal")
def _rbf_normal(kernel: RBF, lengthscale: float, marginal: Marginal, x: Array) -> Array:
    """The product of two normals is one: its largest exponential times its `gap`.

    The exponents are taken at the point of the support where the product is largest, so each is
    negative (the paper prints the sign of its C wrong) and none overflows.
    """
    variance = lengthscale**2 + marginal.scale**2
    width = lengthscale * marginal.scale / math.sqrt(variance)
    center = x + (marginal.loc - x) * (lengthscale**2 / variance)
    top = np.clip(center, marginal.low, marginal.high)
    u = (top - marginal.loc) / marginal.scale
    fall = ((x - top) / lengthscale) ** 2 / 2 + (u - marginal.mode) * (u + marginal.mode) / 2
    wide = (marginal.sides[1] - marginal.sides[0]) * (marginal.scale / width)
    inside = gap((marginal.low - center) / width, (marginal.high - center) / width, wide)
    return np.exp(-fall) * inside * width / (marginal.scale * marginal.mass)


@register_kernel_mean(RBF, "uniform")
def _rbf_uniform(kernel: RBF, lengthscale: float, marginal: Marginal, x: Array) -> Array:
    a, b = (marginal.low - x) / lengthscale, (marginal.high - x) / lengthscale
    fall = np.clip(0.0, a, b) ** 2 / 2
    wide = (marginal.high - marginal.low) / lengthscale
    return np.exp(-fall) * gap(a, b, wide) / wide


@register_kernel_mean(Matern, "normal")
def _matern_normal(kernel: Matern, lengthscale: float, marginal: Marginal, x: Array) -> Array:
    low, high = marginal.sides
    v = (x - marginal.loc) / marginal.scale
    rate = kernel.rate * marginal.scale / lengthscale
    left = _matern_left(kernel, rate, v, low, high, marginal.mode)
    return (left + _matern_left(kernel, rate, -v, -high, -low, -marginal.mode)) / marginal.mass


def _matern_left(
    kernel: Matern, rate: float, v: Array, low: float, high: float, mode: float
) -> Array:
    """`int P(rate t) exp(-rate t - (z^2 - mode^2)/2) dz`, t = v - z, over z < v in the support.

    P is 1 for nu = 1/2, and the integral a `gap` times its largest exponential. The moments that
    the others need cancel like rate^4 in closed form; the integrand is log-concave, so one
    Gauss-Legendre rule where it is not negligible gives every digit at any lengthscale.
    """
    value = np.zeros(len(v))
    some = v > low
    v = v[some]
    end = np.minimum(v, high)
    top = np.clip(rate, low, end)  # where the exponential is largest
    fall = np.exp(-rate * (v - top) - (top - mode) * (top + mode) / 2)
    if kernel.polynomial == (1.0,):
        value[some] = fall * gap(low - rate, end - rate, end - low)
        return value
    slope = np.abs(rate - top)
    reach = 2 * NEGLIGIBLE / (slope + np.sqrt(slope**2 + 2 * NEGLIGIBLE))
    start, stop = np.maximum(low, top - reach), np.minimum(end, top + reach)
    nodes, weights = LONG
    z = start[:, None] + (stop - start)[:, None] * (1 + nodes) / 2
    s = rate * (v[:, None] - z)
    step = z - top[:, None]
    terms = np.exp(step * (rate - top[:, None]) - step**2 / 2)
    terms *= np.polynomial.polynomial.polyval(s, kernel.polynomial)
    value[some] = fall * (stop - start) / 2 * (terms @ weights)
    return value


@register_kernel_mean(Matern, "uniform")
def _matern_uniform(kernel: Matern, lengthscale: float, marginal: Marginal, x: Array) -> Array:
    low, high = marginal.low, marginal.high
    unit, width = kernel.rate / lengthscale, high - low
    below, above = unit * np.maximum(low - x, 0.0), unit * np.maximum(x - high, 0.0)
    inside = (x > low) & (x < high)
    left = np.where(inside, unit * (x - low), 0.0)
    right = np.where(inside, unit * (high - x), unit * width)
    return (_matern_area(kernel, 0.0, left) + _matern_area(kernel, below + above, right)) / (
        unit * width
    )


def _matern_area(kernel: Matern, s: Any, w: Any) -> Array:
    """`int P(t) exp(-t) dt` from s to s + w, without cancellation for small w or large s.

    The antiderivative is `-h(s) exp(-s)`; the difference is taken with expm1.
    """
    h = {0.5: (1.0, 0.0, 0.0), 1.5: (2.0, 1.0, 0.0), 2.5: (8 / 3, 5 / 3, 1 / 3)}[kernel.nu]
    here = h[0] + s * (h[1] + s * h[2])
    rise = w * (h[1] + h[2] * (2 * s + w))  # h(s + w) - h(s)
    return np.exp(-s) * (-here * np.expm1(-w) - rise * np.exp(-w))


def _mean_by_quadrature(kernel: Kernel, lengthscale: float, marginal: Marginal, x: Array) -> Array:
    """Gauss-Legendre over panels that resolve the density and, around each x, the kernel."""
    edges = marginal_panels(marginal)
    low, high = edges[0], edges[-1]
    far = max(np.abs(x - low).max(initial=0.0), np.abs(x - high).max(initial=0.0)) / lengthscale
    # Rounded up to a power of two, so that one set of panels serves many calls.
    around = lengthscale * profile_panels(kernel, 2.0 ** math.ceil(math.log2(max(far, 1.0))))
    nodes, weights = FINE
    rows = max(1, BLOCK // ((len(edges) + len(around)) * len(nodes)))
    value = np.empty(len(x))
    for begin in range(0, len(x), rows):
        own = x[begin : begin + rows]
        cuts = np.concatenate(
            [
                np.clip(own[:, None] + around, low, high),
                np.broadcast_to(edges, (len(own), len(edges))),
            ],
            axis=1,
        )
        cuts.sort(axis=1)
        row, column = np.nonzero(np.diff(cuts, axis=1) > 0)
        half = (cuts[row, column + 1] - cuts[row, column]) / 2
        y = (cuts[row, column] + half)[:, None] + half[:, None] * nodes
        t = (own[row, None] - y) / lengthscale
        terms = flat(marginal.pdf, y) * flat(numpy_profile(kernel), t)
        value[begin : begin + rows] = np.bincount(row, half * (terms @ weights), len(own))
    return value


def _double_by_quadrature(
    kernel: Kernel, lengthscale: float, first: Marginal, second: Marginal
) -> float:
    """The kernel mean of one marginal integrated against the density of the other."""
    closed = [(type(kernel), marginal.kind) in CLOSED_FORMS for marginal in (first, second)]
    if closed[1] and not closed[0]:
        first, second = second, first
    edges = marginal_panels(second)
    # Where the first marginal ends, its kernel mean bends within a lengthscale.
    bends = [side for side in (first.low, first.high) if math.isfinite(side)]
    steps = lengthscale * np.array([-8.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0])
    extra = [edges, marginal_panels(first), *(side + steps for side in bends)]
    breaks = np.unique(np.clip(np.concatenate(extra), edges[0], edges[-1]))

    def integrand(y: Array) -> Array:
        return kernel_mean(kernel, lengthscale, first, y) * second.pdf(y)

    panels = adapted(integrand, breaks)
    if panels is None:
        raise unresolved(second, "the kernel mean against its density does not converge")
    return total(integrand, panels)


def _as_lengthscale(value: Any) -> float:
    try:
        lengthscale = float(value)
    except (TypeError, ValueError):
        lengthscale = math.nan
    if not (lengthscale > 0 and math.isfinite(lengthscale)):
        raise InputError(f"lengthscale is {value!r}; pass a positive number.")
    return lengthscale
