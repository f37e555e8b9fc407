"""A first integral: E[exp(-|x|)] under a correlated normal, by Monte Carlo and by a Stein network.

Both see the same 500 evaluations. The integral is known here, so the errors can be printed.
"""

import numpy as np
import numpyro.distributions as dist

import steinquad as sq


def integrand(x: np.ndarray) -> np.ndarray:
    """exp(x1 + x2 / 2), a batch (n, 2) -> (n,)."""
    return np.exp(x @ [1.0, 0.5])


def main() -> None:
    mean, covariance = np.array([0.2, -0.1]), np.array([[0.5, 0.2], [0.2, 0.4]])
    measure = dist.MultivariateNormal(mean, covariance)
    direction = np.array([1.0, 0.5])
    truth = np.exp(direction @ mean + direction @ covariance @ direction / 2)
    print(f"truth      {truth:.6f}")
    for method in (sq.MonteCarlo(), sq.BSN(optimizer=sq.LBFGS(max_steps=400))):
        answer = sq.integrate(integrand, measure, n=500, method=method)
        error = answer.mean - truth
        print(f"{method.name:10} {answer.mean:.6f} +- {answer.std:.6f}, error {error:+.6f}")


if __name__ == "__main__":
    main()
