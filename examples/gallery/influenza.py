"""An ODE model: influenza in a boarding school, 763 boys, 14 days (BMJ, 4 March 1978).

Susceptible, infected, recovered: S' = -beta S I / N, I' = beta S I / N - gamma I. The number of
boys in bed is negative binomial around I.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from common import Means, Posterior, grid_means, show

BOYS = 763.0
IN_BED = np.array([3, 8, 26, 76, 225, 298, 258, 233, 189, 128, 68, 29, 14, 4])
STEPS = 10  # of the classical Runge-Kutta rule, a day


def infected(beta: Any, gamma: Any, days: int) -> Any:
    """I at the end of each day, from one boy on."""

    def slope(state: Any) -> Any:
        susceptible, ill = state
        new = beta * susceptible * ill / BOYS
        return jnp.stack([-new, new - gamma * ill])

    def step(state: Any, _: Any) -> tuple[Any, None]:
        h = 1.0 / STEPS
        k1 = slope(state)
        k2 = slope(state + h / 2 * k1)
        k3 = slope(state + h / 2 * k2)
        k4 = slope(state + h * k3)
        return state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    def day(state: Any, _: Any) -> tuple[Any, Any]:
        state, _ = jax.lax.scan(step, state, None, length=STEPS)
        return state, state[1]

    start = jnp.stack([BOYS - 1.0 + 0.0 * beta, 1.0 + 0.0 * beta])
    return jax.lax.scan(day, start, None, length=days)[1]


def model(in_bed: Any) -> None:
    beta = numpyro.sample("beta", dist.LogNormal(0.7, 0.5))
    gamma = numpyro.sample("gamma", dist.LogNormal(-0.7, 0.5))
    spread = numpyro.sample("spread", dist.LogNormal(-2.0, 1.0))
    expected = infected(beta, gamma, len(in_bed))
    numpyro.deterministic("reproduction", beta / gamma)
    numpyro.sample("in_bed", dist.NegativeBinomial2(expected, 1 / spread), obs=in_bed)


def means() -> Means:
    """Of the three parameters and the reproduction number, on a grid in three dimensions."""
    return grid_means(model, (IN_BED,), nodes=56, width=14.0)


POSTERIOR = Posterior("influenza", model, (IN_BED,), means)

if __name__ == "__main__":
    show(POSTERIOR)
