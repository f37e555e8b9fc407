"""Logistic regression with an intercept and three covariates, 60 made-up cases."""

from typing import Any

import numpy as np
import numpyro
import numpyro.distributions as dist
from common import Means, Posterior, grid_means, show

RNG = np.random.default_rng(0)
COVARIATES = np.column_stack([np.ones(60), RNG.standard_normal((60, 3))])
LABELS = (RNG.random(60) < 1 / (1 + np.exp(-COVARIATES @ [0.5, 1.0, -1.5, 0.3]))).astype(int)


def model(covariates: Any, labels: Any) -> None:
    beta = numpyro.sample("beta", dist.Normal(0, 2).expand([4]).to_event(1))
    numpyro.sample("label", dist.Bernoulli(logits=covariates @ beta), obs=labels)


def means() -> Means:
    """Of the coefficients, on a grid in four dimensions."""
    return grid_means(model, (COVARIATES, LABELS), nodes=28, width=9.0)


POSTERIOR = Posterior("logistic regression", model, (COVARIATES, LABELS), means)

if __name__ == "__main__":
    show(POSTERIOR)
