"""Integrals of a kernel against the law of one coordinate, and of a mixture of products.

Closed forms where there is a stable one, registered by kernel and kind of law; quadrature for
everything else. Everything is NumPy float64.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

import numpy as np

from steinquad._float64 import float64
from steinquad._types import Array, as_finite, as_points
from steinquad.errors import InputError
from steinquad.kernels.base import Kernel
from steinquad.kernels.matern import Matern
from steinquad.kernels.rbf import RBF
from steinquad.measures.factors import Factors
from steinquad.measures.marginal import Marginal, gap

__all__ = ["double_integral", "embed", "kernel_mean", "register_kernel_mean"]

# (kernel, lengthscale, law, x) -> kernel mean at x
KernelMean: TypeAlias = Callable[[Any, float, Marginal, Array], Array]
F = TypeVar("F", bound=KernelMean)

CLOSED_FORMS: dict[tuple[type[Kernel], str], KernelMean] = {}

# Panels are halved until the coarse rule sees no more than this of a difference; the sums are then
# taken with the fine rule.
TOLERANCE = 1e-14
COARSE, FINE = np.polynomial.legendre.leggauss(10), np.polynomial.legendre.leggauss(16)
MOST_ROUNDS, MOST_PANELS = 60, 20_000

# How far the integral of a density by that rule may be from 1.
MASS_ERROR = 1e-10

# Quadrature nodes at once, in about 100 MB.
BLOCK = 1_000_000

# Exponents this far below the largest do not count in float64, and a rule that resolves the rest.
NEGLIGIBLE = 44.0
LONG = np.polynomial.legendre.leggauss(56)


def register_kernel_mean(kernel_type: type[Kernel], kind: str) -> Callable[[F], F]:
    """Make a function the closed form of `kernel_mean` for a kernel and a kind of law.

    The function takes `(kernel, lengthscale, law, x)`. Subclasses of the kernel do not inherit it:
    their profile may be another.
    """

    def register(function: F) -> F:
        CLOSED_FORMS[kernel_type, kind] = function
        return function

    return register


def kernel_mean(kernel: Kernel, lengthscale: float, law: Marginal, x: Array) -> Array:
    """`int kappa((x - y)/l) p(y) dy` at each x, (n,) -> (n,)."""
    lengthscale = _as_lengthscale(lengthscale)
    x = as_finite("x", x, ndim=(1,))
    closed = CLOSED_FORMS.get((type(kernel), law.kind))
    if closed is None:
        return _mean_by_quadrature(kernel, lengthscale, law, x)
    return np.asarray(closed(kernel, lengthscale, law, x), dtype=np.float64)


def double_integral(
    kernel: Kernel, lengthscale: float, first: Marginal, second: Marginal
) -> float:
    """`int int kappa((x - y)/l) p(x) q(y) dx dy` of two laws p and q."""
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
        factors: the law of z.
        z: points (n, d) in the coordinates of the factors, `factors.affine.points(x)`.
    """
    dim = factors.dim
    z = as_points("z", z, dim)
    scales = as_finite("lengthscales", lengthscales, ndim=(0, 1))
    if scales.size not in (1, dim):
        raise InputError(
            f"lengthscales has {scales.size} entries but the law has dim {dim}; give {dim}."
        )
    scales = np.broadcast_to(scales, (dim,))
    mean = np.ones((len(factors.weights), len(z)))
    pairs = np.outer(factors.weights, factors.weights)
    for i, scale in enumerate(scales.tolist()):
        # The components of a product of mixtures repeat few laws in each coordinate.
        laws = list(dict.fromkeys(part[i] for part in factors.components))
        where = np.array([laws.index(part[i]) for part in factors.components])
        mean *= np.array([kernel_mean(kernel, scale, law, z[:, i]) for law in laws])[where]
        table = np.empty((len(laws), len(laws)))
        for a, first in enumerate(laws):
            for b, second in enumerate(laws[: a + 1]):
                table[a, b] = table[b, a] = double_integral(kernel, scale, first, second)
        pairs *= table[np.ix_(where, where)]
    return factors.weights @ mean, float(pairs.sum())


@register_kernel_mean(RBF, "normal")
def _rbf_normal(kernel: RBF, lengthscale: float, law: Marginal, x: Array) -> Array:
    """The product of two normals is one: its largest exponential times its `gap`.

    The exponents are taken at the point of the support where the product is largest, so each is
    negative (the paper prints the sign of its C wrong) and none overflows.
    """
    variance = lengthscale**2 + law.scale**2
    width = lengthscale * law.scale / math.sqrt(variance)
    center = x + (law.loc - x) * (lengthscale**2 / variance)
    top = np.clip(center, law.low, law.high)
    u = (top - law.loc) / law.scale
    fall = ((x - top) / lengthscale) ** 2 / 2 + (u - law.mode) * (u + law.mode) / 2
    wide = (law.sides[1] - law.sides[0]) * (law.scale / width)
    inside = gap((law.low - center) / width, (law.high - center) / width, wide)
    return np.exp(-fall) * inside * width / (law.scale * law.mass)


@register_kernel_mean(RBF, "uniform")
def _rbf_uniform(kernel: RBF, lengthscale: float, law: Marginal, x: Array) -> Array:
    a, b = (law.low - x) / lengthscale, (law.high - x) / lengthscale
    fall = np.clip(0.0, a, b) ** 2 / 2
    wide = (law.high - law.low) / lengthscale
    return np.exp(-fall) * gap(a, b, wide) / wide


@register_kernel_mean(Matern, "normal")
def _matern_normal(kernel: Matern, lengthscale: float, law: Marginal, x: Array) -> Array:
    low, high = law.sides
    v = (x - law.loc) / law.scale
    rate = kernel.rate * law.scale / lengthscale
    left = _matern_left(kernel, rate, v, low, high, law.mode)
    return (left + _matern_left(kernel, rate, -v, -high, -low, -law.mode)) / law.mass


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
def _matern_uniform(kernel: Matern, lengthscale: float, law: Marginal, x: Array) -> Array:
    unit, width = kernel.rate / lengthscale, law.high - law.low
    below, above = unit * np.maximum(law.low - x, 0.0), unit * np.maximum(x - law.high, 0.0)
    inside = (x > law.low) & (x < law.high)
    left = np.where(inside, unit * (x - law.low), 0.0)
    right = np.where(inside, unit * (law.high - x), unit * width)
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


def _mean_by_quadrature(kernel: Kernel, lengthscale: float, law: Marginal, x: Array) -> Array:
    """Gauss-Legendre over panels that resolve the density and, around each x, the kernel."""
    edges = _law_panels(law)
    low, high = edges[0], edges[-1]
    far = max(np.abs(x - low).max(initial=0.0), np.abs(x - high).max(initial=0.0)) / lengthscale
    # Rounded up to a power of two, so that one set of panels serves many calls.
    around = lengthscale * _profile_panels(kernel, 2.0 ** math.ceil(math.log2(max(far, 1.0))))
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
        terms = _flat(law.pdf, y) * _flat(_profile(kernel), t)
        value[begin : begin + rows] = np.bincount(row, half * (terms @ weights), len(own))
    return value


def _double_by_quadrature(
    kernel: Kernel, lengthscale: float, first: Marginal, second: Marginal
) -> float:
    """The kernel mean of one law integrated against the density of the other."""
    closed = [(type(kernel), law.kind) in CLOSED_FORMS for law in (first, second)]
    if closed[1] and not closed[0]:
        first, second = second, first
    edges = _law_panels(second)
    # Where the first law ends, its kernel mean bends within a lengthscale.
    bends = [side for side in (first.low, first.high) if math.isfinite(side)]
    steps = lengthscale * np.array([-8.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0])
    extra = [edges, _law_panels(first), *(side + steps for side in bends)]
    breaks = np.unique(np.clip(np.concatenate(extra), edges[0], edges[-1]))

    def integrand(y: Array) -> Array:
        return kernel_mean(kernel, lengthscale, first, y) * second.pdf(y)

    panels = _adapted(integrand, breaks)
    if panels is None:
        raise _unresolved(second, "the kernel mean against its density does not converge")
    return _total(integrand, panels)


@lru_cache(maxsize=512)
def _law_panels(law: Marginal) -> Array:
    """Edges of panels on which Gauss-Legendre resolves the density of `law`, mass checked."""
    tails = 2.0 ** -np.array([40, 32, 24, 16, 8, 4, 2])
    quantiles = law.icdf(np.concatenate([tails, [0.5], 1 - tails[::-1]]))
    middle, growth = quantiles[len(tails)], 2.0 ** np.arange(1, 7)
    # Beyond the last quantiles: the side, or where the remaining mass fell by another 2^-6.
    ends = [
        np.array([side]) if math.isfinite(side) else middle + growth * (last - middle)
        for side, last in ((law.low, quantiles[0]), (law.high, quantiles[-1]))
    ]
    edges = np.unique(np.concatenate([*ends, quantiles]))
    panels = _adapted(law.pdf, edges) if np.isfinite(edges).all() else None
    if panels is None:
        raise _unresolved(law, "its density cannot be integrated by Gauss-Legendre panels")
    mass = _total(law.pdf, panels)
    if not abs(mass - 1) <= MASS_ERROR:
        raise _unresolved(law, f"its density integrates to {mass:.12g} instead of 1")
    panels.flags.writeable = False  # the cache hands out one array to all
    return panels


@lru_cache(maxsize=512)
def _profile_panels(kernel: Kernel, far: float) -> Array:
    """Edges of panels on [-far, far] on which Gauss-Legendre resolves the kernel."""
    steps = 2.0 ** np.arange(-1, max(0.0, math.ceil(math.log2(far))))
    steps = np.concatenate([steps[steps < far], [far]])
    center = [] if kernel.smooth else [0.0]
    panels = _adapted(_profile(kernel), np.concatenate([-steps[::-1], center, steps]))
    if panels is None:
        raise InputError(
            f"kernel {kernel.name} is too rough for quadrature; register a closed form with "
            "register_kernel_mean."
        )
    panels.flags.writeable = False
    return panels


def _adapted(function: Callable[[Array], Array], edges: Array) -> Array | None:
    """Panels between `edges`, halved until the integral of each settles; None if it does not."""
    left, right = edges[:-1], edges[1:]
    done = [edges[-1:]]
    whole = _panel_sums(function, left, right, COARSE)
    for _ in range(MOST_ROUNDS):
        middle = left + (right - left) / 2
        lower = _panel_sums(function, left, middle, COARSE)
        upper = _panel_sums(function, middle, right, COARSE)
        change = np.abs(lower + upper - whole)
        # A panel of neighboring numbers cannot be halved: a pole on it shows in the mass.
        good = (change <= TOLERANCE * np.maximum(1.0, np.abs(whole))) | ~(
            (left < middle) & (middle < right)
        )
        done.append(left[good])
        bad = ~good
        left, right = (
            np.concatenate([left[bad], middle[bad]]),
            np.concatenate([middle[bad], right[bad]]),
        )
        whole = np.concatenate([lower[bad], upper[bad]])
        if not len(left):
            return np.unique(np.concatenate(done))
        if len(left) + sum(map(len, done)) > MOST_PANELS:
            return None
    return None


def _total(function: Callable[[Array], Array], panels: Array) -> float:
    return math.fsum(_panel_sums(function, panels[:-1], panels[1:], FINE))


def _panel_sums(
    function: Callable[[Array], Array], left: Array, right: Array, rule: tuple[Array, Array]
) -> Array:
    nodes, weights = rule
    half = (right - left) / 2
    y = (left + half)[:, None] + half[:, None] * nodes
    return half * (_flat(function, y) @ weights)


def _flat(function: Callable[[Array], Array], y: Array) -> Array:
    return function(y.ravel()).reshape(y.shape)


def _profile(kernel: Kernel) -> Callable[[Array], Array]:
    """The profile from NumPy to NumPy, padded so that JAX compiles for few shapes."""

    @float64
    def profile(t: Array) -> Array:
        padded = np.zeros(max(1024, 1 << (len(t) - 1).bit_length()))
        padded[: len(t)] = t
        return np.asarray(kernel.profile(padded), dtype=np.float64)[: len(t)]

    return profile


def _as_lengthscale(value: Any) -> float:
    try:
        lengthscale = float(value)
    except (TypeError, ValueError):
        lengthscale = math.nan
    if not (lengthscale > 0 and math.isfinite(lengthscale)):
        raise InputError(f"lengthscale is {value!r}; pass a positive number.")
    return lengthscale


def _unresolved(law: Marginal, why: str) -> InputError:
    return InputError(
        f"the law {law} has no kernel mean, because {why}; use a method that needs only scores: "
        "sq.ControlFunctional, sq.BSN or sq.Polynomial."
    )
