"""Normals to be sampled, and how far from them the draws of a sound chain may be."""

import jax.numpy as jnp
import numpy as np
from scipy.special import stdtrit

from steinquad.checking.standard_error import standard_error
from steinquad.measures import LogDensity

FALSE_ALARM = 1e-5  # chance that a right sampler fails one of the tests, for a random seed
N = 4000


def excess(values, truth, groups):
    """Largest distance from the truth in units of what chance allows; below 1 for a sound chain.

    Chains are cut into 16 pieces each, longer than their memory: the error of the error is small.
    """
    pieces = 16 * groups + np.tile(np.arange(len(groups) // 4) * 16 * 4 // len(groups), 4)
    std, dof = standard_error(values, np.ones(len(values)), pieces)
    limit = stdtrit(dof, 1 - FALSE_ALARM / (2 * values.shape[1]))
    return np.max(np.abs(values.mean(axis=0) - truth) / std) / limit


def normal(d):
    """A normal of mean 1, 2, ... and correlation one half, its precision and covariance."""
    mean, covariance = np.arange(1.0, d + 1), 0.5 * np.eye(d) + 0.5
    precision = np.linalg.inv(covariance)

    def log_density(x):
        return -(x - mean) @ precision @ (x - mean) / 2

    return LogDensity(log_density, d), mean, covariance


# One measure for all tests: samplers compile once for each.
NORMALS = {d: normal(d) for d in (1, 2, 5)}
NORMAL = NORMALS[2][0]
# log density -x^4 / 4: at x = 20 the score is -8000 and a step of .05 overshoots to -380
QUARTIC = LogDensity(lambda x: -jnp.sum(x**4) / 4, 1)
