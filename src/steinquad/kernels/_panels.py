"""Gauss-Legendre panels that resolve a density and a kernel, found by halving."""

import math
from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np

from steinquad._float64 import float64
from steinquad._types import Array
from steinquad.errors import InputError
from steinquad.kernels.base import Kernel
from steinquad.kernels.blocks import Blocks
from steinquad.measures.marginal import Marginal

# Panels are halved until the coarse rule sees no more than this of a difference; the sums are then
# taken with the fine rule.
TOLERANCE = 1e-14
COARSE, FINE = np.polynomial.legendre.leggauss(10), np.polynomial.legendre.leggauss(16)
MOST_ROUNDS, MOST_PANELS = 60, 20_000

# How far the integral of a density by that rule may be from 1.
MASS_ERROR = 1e-10


@lru_cache(maxsize=512)
def marginal_panels(marginal: Marginal) -> Array:
    """Edges of panels on which Gauss-Legendre resolves the density of `marginal`.

    Refused where its integral by the fine rule is not 1: heavy poles, or a wrong density.

    The first edges are quantiles far into both tails, which adapt to any location and scale.
    """
    tails = 2.0 ** -np.array([40, 32, 24, 16, 8, 4, 2])
    quantiles = marginal.icdf(np.concatenate([tails, [0.5], 1 - tails[::-1]]))
    middle, growth = quantiles[len(tails)], 2.0 ** np.arange(1, 7)
    # Beyond the last quantiles: the side, or where the remaining mass fell by another 2^-6.
    ends = [
        np.array([side]) if math.isfinite(side) else middle + growth * (last - middle)
        for side, last in ((marginal.low, quantiles[0]), (marginal.high, quantiles[-1]))
    ]
    edges = np.unique(np.concatenate([*ends, quantiles]))
    panels = adapted(marginal.pdf, edges) if np.isfinite(edges).all() else None
    if panels is None:
        raise unresolved(marginal, "its density cannot be integrated by Gauss-Legendre panels")
    mass = total(marginal.pdf, panels)
    if not abs(mass - 1) <= MASS_ERROR:
        raise unresolved(marginal, f"its density integrates to {mass:.12g} instead of 1")
    panels.flags.writeable = False  # the cache hands out one array to all
    return panels


@lru_cache(maxsize=512)
def profile_panels(kernel: Kernel, far: float) -> Array:
    """Edges of panels on [-far, far] on which Gauss-Legendre resolves the kernel's profile.

    In units of the lengthscale; a kernel with a kink has an edge at 0.

    Cached, since every call for the same kernel and range needs the same edges.
    """
    steps = 2.0 ** np.arange(-1, max(0.0, math.ceil(math.log2(far))))
    steps = np.concatenate([steps[steps < far], [far]])
    center = [] if kernel.smooth else [0.0]
    panels = adapted(numpy_profile(kernel), np.concatenate([-steps[::-1], center, steps]))
    if panels is None:
        raise InputError(
            f"kernel {kernel.name} is too rough for quadrature; register a closed form with "
            "register_kernel_mean."
        )
    panels.flags.writeable = False
    return panels


def adapted(function: Callable[[Array], Array], edges: Array) -> Array | None:
    """Panels between `edges`, halved until the integral of each settles; None if it does not.

    Args:
        function: the integrand, (n,) -> (n,).
        edges: increasing, where the integrand may have kinks.
    """
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


def total(function: Callable[[Array], Array], panels: Array) -> float:
    """The integral of `function` over all panels by the fine rule, summed without rounding.

    Panels of very different sizes contribute; `math.fsum` keeps the small ones of the tails.

    Args:
        function: the integrand, (n,) -> (n,).
        panels: edges, as `adapted` gives them.
    """
    return math.fsum(_panel_sums(function, panels[:-1], panels[1:], FINE))


def _panel_sums(
    function: Callable[[Array], Array], left: Array, right: Array, rule: tuple[Array, Array]
) -> Array:
    nodes, weights = rule
    half = (right - left) / 2
    y = (left + half)[:, None] + half[:, None] * nodes
    return half * (flat(function, y) @ weights)


def flat(function: Callable[[Array], Array], y: Array) -> Array:
    """A function of (n,) at every entry of an array of any shape.

    One call for all nodes of all panels: a distribution's functions, which expect one axis, then
    run once instead of once for each panel.
    """
    return function(y.ravel()).reshape(y.shape)


def numpy_profile(kernel: Kernel) -> Callable[[Array], Array]:
    """The kernel's profile from NumPy to NumPy, by its closed form where it has `blocks`.

    Otherwise padded so that JAX compiles for few shapes. Lengths are rounded up to powers of two,
    at least 1,024: adaptive quadrature asks for many different lengths, and each would be a
    compilation.
    """
    blocks = kernel.closed_form
    if blocks is not None:
        return partial(_closed_profile, blocks)

    @float64
    def profile(t: Array) -> Array:
        padded = np.zeros(max(1024, 1 << (len(t) - 1).bit_length()))
        padded[: len(t)] = t
        return np.asarray(kernel.profile(padded), dtype=np.float64)[: len(t)]

    return profile


def _closed_profile(blocks: Blocks, t: Array) -> Array:
    """Covariances with a point at zero."""
    with np.errstate(over="ignore", invalid="ignore"):  # of distances whose square is no number
        return blocks.block(np.zeros(1), t[:, None], np.zeros((1, 1)))[:, 0]


def unresolved(marginal: Marginal, why: str) -> InputError:
    """The error for a marginal that quadrature cannot integrate against, with what to use.

    Args:
        marginal: the distribution, whose name goes into the message.
        why: the cause, as the end of a sentence that begins with "because".
    """
    return InputError(
        f"the distribution {marginal} has no kernel mean, because {why}; use a method that needs "
        "only scores: sq.ControlFunctional, sq.BSN or sq.Polynomial."
    )
