"""Draws of a posterior from NUTS: the mean of a prediction, sharper than by plain averaging.

A Bayesian logistic regression is an unnormalized log density in JAX. Draws come from a sampler,
scores from automatic differentiation; nothing else about the posterior is needed.
"""

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import MCMC, NUTS

import steinquad as sq

RNG = np.random.default_rng(0)
FEATURES = np.column_stack([np.ones(40), RNG.standard_normal((40, 2))])
LABELS = RNG.random(40) < 1 / (1 + np.exp(-FEATURES @ [0.5, 1.0, -1.5]))
SIGNS = np.where(LABELS, 1.0, -1.0)


def log_posterior(w: jax.Array) -> jax.Array:
    """Normal prior of std 2 and logistic likelihood, up to a constant."""
    return -w @ w / 8 - jnp.sum(jnp.logaddexp(0.0, -SIGNS * (FEATURES @ w)))


def main() -> None:
    kernel = NUTS(potential_fn=lambda w: -log_posterior(w))
    sampler = MCMC(kernel, num_warmup=300, num_samples=500, progress_bar=False)
    sampler.run(jax.random.key(0), init_params=jnp.zeros(3))
    x = np.asarray(sampler.get_samples(), dtype=np.float64)
    score = sq.LogDensity(log_posterior, dim=3).score(x)
    chance = 1 / (1 + np.exp(-x @ [1.0, 0.5, 0.5]))  # of label 1 for a new case
    data = sq.Dataset(x, chance, score)
    print("Chance of label 1 for a new case, averaged over 500 draws of the posterior:")
    for method in (sq.MonteCarlo(), sq.BSN(width=8, activation="tanh", folds=2)):
        answer = sq.estimate(data, method=method)
        print(f"{method.name:10} {answer.mean:.6f} +- {answer.std:.1e}")


if __name__ == "__main__":
    main()
