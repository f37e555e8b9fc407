"""One posterior, written for NumPyro, PyMC and Stan and by hand.

It has an unconstrained, a positive, a bounded and a simplex variable, and a matrix, so that the
order of entries shows.
"""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Y = np.array([0.3, 1.2, -0.5, 0.9, 2.1])
COUNTS = np.array([3, 5, 2])
CENTRES = np.array([[0.5, -1.0, 2.0], [1.5, 0.0, -0.7]])
WEIGHTS = np.array([2.0, 3.0, 4.0])
LOW, HIGH = -1.0, 3.0

STAN = """
data {
  int n;
  vector[n] y;
  array[3] int counts;
  matrix[2, 3] centres;
}
parameters {
  real mu;
  real<lower=0> sigma;
  real<lower=-1, upper=3> r;
  simplex[3] theta;
  matrix[2, 3] B;
}
transformed parameters {
  real total = mu + r;
}
model {
  mu ~ normal(0, 2);
  sigma ~ gamma(2, 1.5);
  r ~ normal(0.5, 1);
  theta ~ dirichlet([2, 3, 4]');
  to_vector(B) ~ normal(mu + to_vector(centres), sigma);
  y ~ normal(total, sigma);
  counts ~ multinomial(theta);
}
generated quantities {
  real doubled = 2 * sigma;
}
"""
STAN_DATA = {"n": len(Y), "y": Y, "counts": COUNTS, "centres": CENTRES}


def draws(n: int, seed: int = 0) -> dict[str, Any]:
    """Points of the support, of no particular distribution."""
    rng = np.random.default_rng(seed)
    return {
        "mu": rng.normal(size=n),
        "sigma": rng.gamma(2.0, 1.0, size=n),
        "r": LOW + (HIGH - LOW) * rng.beta(2.0, 2.0, size=n),
        "theta": rng.dirichlet(WEIGHTS, size=n),
        "B": rng.normal(size=(n, 2, 3)),
    }


def numpyro_model(y: Any, counts: Any, centres: Any) -> None:
    import numpyro
    import numpyro.distributions as nd

    mu = numpyro.sample("mu", nd.Normal(0.0, 2.0))
    sigma = numpyro.sample("sigma", nd.Gamma(2.0, 1.5))
    r = numpyro.sample("r", nd.TruncatedNormal(0.5, 1.0, low=LOW, high=HIGH))
    theta = numpyro.sample("theta", nd.Dirichlet(WEIGHTS))
    numpyro.sample("B", nd.Normal(mu + centres, sigma).to_event(2))
    total = numpyro.deterministic("total", mu + r)
    with numpyro.plate("data", len(y)):
        numpyro.sample("y", nd.Normal(total, sigma), obs=y)
    numpyro.sample("counts", nd.Multinomial(total_count=10, probs=theta), obs=counts)


def import_pymc() -> Any:
    """PyMC, without what its ArviZ announces when it is imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pymc
    return pymc


def pymc_model() -> Any:
    pm = import_pymc()
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 2)
        # PyTensor holds the literal 1.5 in float32, and so would its reciprocal.
        sigma = pm.Gamma("sigma", 2, np.float64(1.5))
        r = pm.TruncatedNormal("r", 0.5, 1, lower=LOW, upper=HIGH)
        theta = pm.Dirichlet("theta", WEIGHTS)
        pm.Normal("B", mu + CENTRES, sigma, shape=(2, 3))
        pm.Deterministic("total", mu + r)
        pm.Normal("y", mu + r, sigma, observed=Y)
        pm.Multinomial("counts", 10, theta, observed=COUNTS)
    return model


def log_density(q: dict[str, Any]) -> Any:
    """By hand, of a draw, up to a constant; theta by all three entries."""
    residuals = jnp.concatenate([Y - q["mu"] - q["r"], (q["B"] - q["mu"] - CENTRES).ravel()])
    return (
        -(q["mu"] ** 2) / 8
        + jnp.log(q["sigma"])
        - 1.5 * q["sigma"]
        - (q["r"] - 0.5) ** 2 / 2
        + (WEIGHTS - 1 + COUNTS) @ jnp.log(q["theta"])
        - len(residuals) * jnp.log(q["sigma"])
        - residuals @ residuals / (2 * q["sigma"] ** 2)
    )


def stick_breaking(z: Any) -> Any:
    """Two numbers to three probabilities, zero to equal ones."""
    first = jax.nn.sigmoid(z[0] - jnp.log(2.0))
    second = (1 - first) * jax.nn.sigmoid(z[1])
    return jnp.array([first, second, 1 - first - second])


def log_ratios(z: Any) -> Any:
    """Two centred logarithms to three probabilities."""
    return jax.nn.softmax(jnp.append(z, -z.sum()))


def constrain(z: dict[str, Any], simplex: Any) -> dict[str, Any]:
    """Unconstrained values by name to a draw."""
    return {
        "mu": z["mu"],
        "sigma": jnp.exp(z["sigma"]),
        "r": LOW + (HIGH - LOW) * jax.nn.sigmoid(z["r"]),
        "theta": simplex(z["theta"]),
        "B": z["B"],
    }


def scores_by_hand(
    points: Any, order: list[str], simplex: Any, column_major: bool = False
) -> np.ndarray:
    """Scores at points of R^11 with the coordinates in `order`, by differentiation alone."""
    sizes = {"mu": 1, "sigma": 1, "r": 1, "theta": 2, "B": 6}
    ends = np.cumsum([sizes[name] for name in order])

    def split(point: Any) -> dict[str, Any]:
        z = dict(zip(order, jnp.split(point, ends[:-1]), strict=True))
        z = {name: v if name in ("theta", "B") else v[0] for name, v in z.items()}
        z["B"] = z["B"].reshape(3, 2).T if column_major else z["B"].reshape(2, 3)
        return z

    def value(point: Any) -> Any:
        z = split(point)
        return log_density(constrain(z, simplex)) + log_jacobian(z, simplex)

    with jax.enable_x64(True):
        return np.asarray(jax.jit(jax.vmap(jax.grad(value)))(points))


def log_jacobian(z: dict[str, Any], simplex: Any) -> Any:
    """Logarithm of the determinant of `constrain`, whose blocks are differentiated one by one."""
    (a, b), (c, d) = jax.jacfwd(lambda t: simplex(t)[:2])(z["theta"])
    slopes = [
        jax.grad(lambda t, k=k: constrain({**z, k: t}, simplex)[k])(z[k]) for k in ("sigma", "r")
    ]
    return jnp.log(jnp.abs(a * d - b * c)) + jnp.log(jnp.stack(slopes)).sum()
