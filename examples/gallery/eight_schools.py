"""Eight schools, centred and not: the effects of coaching, by Rubin (1981).

Given tau everything is normal, so the posterior means are one-dimensional integrals over tau.
"""

from typing import Any

import numpy as np
import numpyro
import numpyro.distributions as dist
from common import Means, Posterior, labelled, show

EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def centred(effect: Any, error: Any) -> None:
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", len(effect)):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("effect", dist.Normal(theta, error), obs=effect)


def non_centred(effect: Any, error: Any) -> None:
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", len(effect)):
        eta = numpyro.sample("eta", dist.Normal(0, 1))
        theta = numpyro.deterministic("theta", mu + tau * eta)
        numpyro.sample("effect", dist.Normal(theta, error), obs=effect)


def means() -> Means:
    """Of mu, tau and theta, by the trapezoidal rule in log(tau)."""
    return Means.compared(_means(4000), _means(3000))


def _means(nodes: int) -> dict[str, float]:
    log_tau = np.linspace(-40.0, 12.0, nodes)  # the density of log(tau) falls like tau below
    tau = np.exp(log_tau)[:, None]
    precision = 1 / (ERROR**2 + tau**2)  # of each effect around mu
    total = precision.sum(axis=1) + 1 / 25
    mu = precision @ EFFECT / total
    log_density = (
        0.5 * np.log(precision).sum(axis=1)
        - 0.5 * np.log(total)
        - 0.5 * (precision @ EFFECT**2 - mu**2 * total)
        - np.log1p((tau[:, 0] / 5) ** 2)
        + log_tau
    )
    weight = np.exp(log_density - log_density.max())
    shrink = ERROR**2 * precision  # of an effect towards mu
    theta = EFFECT * (1 - shrink) + mu[:, None] * shrink
    values = {"mu": mu, "tau": tau[:, 0], "theta": theta}
    return labelled({name: np.average(x, axis=0, weights=weight) for name, x in values.items()})


CENTRED = Posterior("eight schools centred", centred, (EFFECT, ERROR), means, smooth=False)
NON_CENTRED = Posterior("eight schools", non_centred, (EFFECT, ERROR), means, smooth=False)

if __name__ == "__main__":
    show(CENTRED)
    show(NON_CENTRED)
