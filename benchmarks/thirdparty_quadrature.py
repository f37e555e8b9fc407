"""Quadrature rules of distributions, for the true values of thirdparty.py."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.stats as st
from thirdparty_problems import Law

from steinquad.measures import as_measure


@cache
def gauss(law: Law, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the Gauss rule of a distribution, by Lanczos on a fine rule.

    Of the logarithm for a lognormal one, whose own polynomials are not complete.
    """
    if law.name == "lognormal":
        x, w = gauss(Law("normal", law.parameters), count)
        return np.exp(x), w
    x, w = fine(law)
    middle = w @ x
    scale = math.sqrt(w @ (x - middle) ** 2)
    t = (x - middle) / scale
    basis, diagonal, beside = [np.sqrt(w)], np.empty(count), np.empty(count - 1)
    for k in range(count):
        v = t * basis[k]
        diagonal[k] = basis[k] @ v
        for _ in range(2):  # once more against rounding
            for q in basis:
                v = v - (q @ v) * q
        if k + 1 < count:
            beside[k] = np.linalg.norm(v)
            basis.append(v / beside[k])
    nodes, vectors = scipy.linalg.eigh_tridiagonal(diagonal, beside)
    return middle + scale * nodes, vectors[0] ** 2


def fine(law: Law) -> tuple[np.ndarray, np.ndarray]:
    """Many nodes: Legendre's where the support is bounded, else even steps of the normal score."""
    low, high = (float(side[0]) for side in sides(law))
    if math.isfinite(low) and math.isfinite(high):
        ends = [low, law.parameters[2], high] if law.name == "triangular" else [low, high]
        x, w = panels(ends, 1000)
        w = w * density(law, x)
    else:
        z = np.linspace(-11, 11, 2001)
        # From the nearer end: 1 - p has no digits left where p is tiny.
        base = law.measure
        x = np.where(z < 0, base.ppf(st.norm.cdf(z)), base.isf(st.norm.sf(z)))
        w = st.norm.pdf(z)
    return x, w / w.sum()


def sides(law: Law) -> tuple[np.ndarray, np.ndarray]:
    support = as_measure(law.measure).support
    return np.asarray(support.low), np.asarray(support.high)


def density(law: Law, x: np.ndarray) -> np.ndarray:
    return np.exp(as_measure(law.measure).log_density(x[:, None]))


def panels(ends: Sequence[float], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Legendre nodes on each of several intervals, for integrals that are not normalized."""
    t, w = np.polynomial.legendre.leggauss(count)
    pairs = list(pairwise(ends))
    x = np.concatenate([a + (b - a) * (t + 1) / 2 for a, b in pairs])
    return x, np.concatenate([(b - a) / 2 * w for a, b in pairs])


def product(rules: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """All combinations of nodes (n, d) with their weights (n,)."""
    grids = np.meshgrid(*(x for x, _ in rules), indexing="ij")
    weights = np.ones(())
    for _, w in rules:
        weights = np.multiply.outer(weights, w)
    return np.stack([grid.ravel() for grid in grids], axis=1), weights.ravel()


def integral(f: Callable[[float], Any], *ends: float) -> float:
    """Adaptive quadrature over consecutive intervals."""
    return sum(
        scipy.integrate.quad(f, a, b, epsabs=1e-15, epsrel=1e-13, limit=500)[0]
        for a, b in pairwise(ends)
    )


def moment(law: Law, g: Callable[[np.ndarray], np.ndarray]) -> float:
    """Mean of a smooth function of one input."""
    x, w = gauss(law, 60) if law.name != "trunc-normal" else fine(law)
    return float(w @ g(x))
