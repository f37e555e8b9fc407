"""A Gaussian process with three hyperparameters, 20 made-up observations of a wave."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from common import Means, Posterior, grid_means, show

RNG = np.random.default_rng(0)
TIMES = np.sort(RNG.uniform(0.0, 5.0, 20))
OBSERVED = np.sin(2.0 * TIMES) + 0.2 * RNG.standard_normal(20)


def model(times: Any, observed: Any) -> None:
    length = numpyro.sample("length", dist.LogNormal(0.0, 0.5))
    amplitude = numpyro.sample("amplitude", dist.LogNormal(0.0, 0.5))
    noise = numpyro.sample("noise", dist.LogNormal(-1.0, 0.5))
    distance = (times[:, None] - times) / length
    covariance = amplitude**2 * jnp.exp(-(distance**2) / 2) + noise**2 * jnp.eye(len(times))
    numpyro.sample("y", dist.MultivariateNormal(0.0, covariance), obs=observed)


def means() -> Means:
    """Of the hyperparameters, on a grid in three dimensions."""
    return grid_means(model, (TIMES, OBSERVED), nodes=56, width=14.0)


POSTERIOR = Posterior("gaussian process", model, (TIMES, OBSERVED), means)

if __name__ == "__main__":
    show(POSTERIOR)
