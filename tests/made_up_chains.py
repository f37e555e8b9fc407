"""Chains whose distribution, score and autocorrelation are known exactly."""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, polygamma
from scipy.stats import loggamma, norm


class Known(NamedTuple):
    """Draws and scores (chain, draw, d), and the true means and variances, (d,)."""

    draws: np.ndarray
    score: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


def independent(chains: int, draws: int, d: int, seed: int = 0) -> np.ndarray:
    """Standard normal draws without autocorrelation; their score is minus themselves."""
    return np.random.default_rng(seed).normal(size=(chains, draws, d))


def autoregressive(seed: int, shape: tuple[int, int, int], rho: float) -> np.ndarray:
    """Stationary standard normal chains of independent coordinates with this autocorrelation."""
    noise = np.random.default_rng(seed).normal(size=shape)
    x = noise.copy()
    for t in range(1, shape[1]):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * noise[:, t]
    return x


def mixing(d: int) -> np.ndarray:
    """Makes the coordinates depend on each other."""
    return np.eye(d) + 0.5 * np.tri(d, k=-1)


def normal(seed: int, d: int, *, chains: int = 4, draws: int = 250, rho: float = 0.5) -> Known:
    """Correlated normals."""
    x = autoregressive(seed, (chains, draws, d), rho)
    a, mean = mixing(d), np.linspace(-1.0, 2.0, d)
    return Known(mean + x @ a.T, -x @ np.linalg.inv(a), mean, np.sum(a**2, axis=1))


def skewed(
    seed: int, d: int, *, chains: int = 4, draws: int = 250, rho: float = 0.5, shape: float = 2.0
) -> Known:
    """Correlated sums of logarithms of gamma variables."""
    u = autoregressive(seed, (chains, draws, d), rho)
    x = loggamma.ppf(norm.cdf(u), shape)
    a = mixing(d)
    mean = a @ np.full(d, digamma(shape))
    variance = np.sum(a**2, axis=1) * float(polygamma(1, shape))
    return Known(x @ a.T, (shape - np.exp(x)) @ np.linalg.inv(a), mean, variance)


def funnel(
    seed: int, d: int, *, chains: int = 4, draws: int = 500, rho: float = 0.5, spread: float = 0.4
) -> Known:
    """The logarithm of a scale, and d - 1 normal effects of that scale."""
    u = autoregressive(seed, (chains, draws, d), rho)
    t = spread * u[..., :1]
    score = np.concatenate(
        [
            -t / spread**2 + np.sum(u[..., 1:] ** 2 - 1, axis=-1, keepdims=True),
            -u[..., 1:] / np.exp(t),
        ],
        axis=-1,
    )
    variance = np.append(spread**2, np.full(d - 1, np.exp(2 * spread**2)))
    return Known(
        np.concatenate([t, np.exp(t) * u[..., 1:]], axis=-1), score, np.zeros(d), variance
    )
