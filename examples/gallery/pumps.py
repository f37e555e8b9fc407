"""A hierarchical Poisson model: failures of ten pumps, by Gaver and O'Muircheartaigh (1987).

Given mu and tau the pumps are independent, so the posterior means are integrals over mu and tau of
products of one-dimensional integrals. Most pumps have failed often enough to tell their rates:
centred, the posterior is near to normal, and in the other parametrization it is bent.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from common import Means, Posterior, labelled, show

FAILURES = np.array([5, 1, 5, 14, 3, 19, 1, 1, 4, 22])
HOURS = np.array([94.3, 15.7, 62.9, 126.0, 5.24, 31.4, 1.05, 1.05, 2.1, 10.5])  # thousands


def centred(failures: Any, hours: Any) -> None:
    mu = numpyro.sample("mu", dist.Normal(0, 2))
    tau = numpyro.sample("tau", dist.LogNormal(0, 0.5))
    with numpyro.plate("pump", len(hours)):
        log_rate = numpyro.sample("log_rate", dist.Normal(mu, tau))
        rate = numpyro.deterministic("rate", jnp.exp(log_rate))
        numpyro.sample("failures", dist.Poisson(rate * hours), obs=failures)


def non_centred(failures: Any, hours: Any) -> None:
    mu = numpyro.sample("mu", dist.Normal(0, 2))
    tau = numpyro.sample("tau", dist.LogNormal(0, 0.5))
    with numpyro.plate("pump", len(hours)):
        eta = numpyro.sample("eta", dist.Normal(0, 1))
        rate = numpyro.deterministic("rate", jnp.exp(mu + tau * eta))
        numpyro.sample("failures", dist.Poisson(rate * hours), obs=failures)


def means() -> Means:
    """Of mu, tau and the failures in a thousand hours of each pump."""
    return Means.compared(_means(128), _means(96))


def _means(nodes: int) -> dict[str, float]:
    mu, log_tau = np.meshgrid(
        np.linspace(-6.0, 5.0, nodes), np.linspace(-4.0, 4.0, nodes), indexing="ij"
    )
    mu, tau = mu.ravel(), np.exp(log_tau.ravel())
    log_density = -(mu**2) / 8 - 2 * log_tau.ravel() ** 2
    rates = []
    for count, time in zip(FAILURES, HOURS, strict=True):
        # The rate of a pump: log(rate) = w, likelihood times normal density of w.
        w = np.linspace(np.log(count / time) - 10.0, np.log(count / time) + 6.0, 4 * nodes)
        inner = count * w - time * np.exp(w) - ((w - mu[:, None]) / tau[:, None]) ** 2 / 2
        top = inner.max(axis=1, keepdims=True)
        terms = np.exp(inner - top)
        mass = terms.sum(axis=1)
        log_density += np.log(mass) + top[:, 0] - np.log(tau)
        rates.append(terms @ np.exp(w) / mass)
    weight = np.exp(log_density - log_density.max())
    values = {"mu": mu, "tau": tau, "rate": np.stack(rates, axis=1)}
    return labelled({name: np.average(x, axis=0, weights=weight) for name, x in values.items()})


CENTRED = Posterior("pumps", centred, (FAILURES, HOURS), means)
NON_CENTRED = Posterior("pumps not centred", non_centred, (FAILURES, HOURS), means, smooth=False)

if __name__ == "__main__":
    for posterior in (CENTRED, NON_CENTRED):
        show(posterior)
