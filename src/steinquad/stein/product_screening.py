"""Which products of coordinates are worth having, where there are too many to try them all.

Posteriors of many parameters are often sparse: a scale goes together with every effect that it
scales, the effects hardly with each other. A product is ranked by its squared correlation with
what single coordinates and their squares leave of the outputs, summed over the outputs. The sum is
estimated from `SKETCHES` combinations of the outputs with random signs, to within a fifth, which
does for an order.
"""

import numpy as np

from steinquad._types import Array

__all__ = ["strongest_products"]

SKETCHES = 64
MOST_NUMBERS = 100_000_000  # draws times products that one sketch may look at
FEWEST_DRAWS = 1000
EXACT = 1e-10  # of the spread of an output: nothing is left of it


def strongest_products(
    y: Array, drift: Array, lower: Array, fx: Array, weights: Array, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs i < j of the most promising images `y_i drift_j + y_j drift_i`, best first.

    Args:
        y: centered coordinates, (n, d).
        drift: of each, (n, d).
        lower: features that are used in any case, (n, p).
        fx: outputs, (n, k).
        weights: of the draws, (n,).
        count: how many are requested.
    """
    dim = y.shape[1]
    left = _left(lower, fx, weights)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(left.shape[1], SKETCHES))
    sketches = left @ signs if left.shape[1] > SKETCHES else left
    step = max(len(y) // max(MOST_NUMBERS // dim**2, FEWEST_DRAWS), 1)
    y, drift, sketches = y[::step], drift[::step], sketches[::step]
    w = weights[::step] / weights[::step].sum()
    sketches = sketches - w @ sketches

    def symmetric(matrix: Array) -> Array:
        return matrix + matrix.T

    mean = symmetric(y.T @ (w[:, None] * drift))
    square = symmetric((y**2).T @ (w[:, None] * drift**2))
    square += 2 * (y * drift).T @ (w[:, None] * y * drift)
    variance = square - mean**2
    strength = np.zeros_like(variance)
    for sketch in sketches.T:
        strength += symmetric(y.T @ ((w * sketch)[:, None] * drift)) ** 2
    i, j = np.triu_indices(dim, 1)
    strength, variance = strength[i, j], variance[i, j]
    share = np.divide(strength, variance, out=np.zeros_like(strength), where=variance > 0)
    best = np.argsort(-share, kind="stable")[:count]
    return i[best], j[best]


def _left(lower: Array, fx: Array, weights: Array) -> Array:
    """Of every output, in units of its own standard deviation, (n, k); nothing of constants."""
    w = weights / weights.sum()
    fx = fx[:, np.ptp(fx, axis=0) > 0]
    centered = fx - w @ fx
    spread = np.sqrt(w @ centered**2)
    scaled = centered / np.where(spread > 0, spread, 1.0)
    root = np.sqrt(w)[:, None]
    features = lower - w @ lower
    solution = np.linalg.lstsq(root * features, root * scaled, rcond=None)[0]
    left = scaled - features @ solution
    size = np.sqrt(w @ left**2)
    return left[:, size > EXACT] / size[size > EXACT]
