"""A first integral: a chance averaged over uncertain x, by Monte Carlo and by a Stein network.

Both methods see the same 500 evaluations. This integral is known, so the errors can be printed.
"""

import numpy as np
import numpyro.distributions as dist
from scipy.special import ndtr

import steinquad as sq

SLOPE = np.array([1.0, 0.5])


def integrand(x: np.ndarray) -> np.ndarray:
    """The normal distribution function of x1 + x2 / 2, for a batch of points (n, 2) -> (n,)."""
    return ndtr(x @ SLOPE)


def main() -> None:
    mean, covariance = np.array([0.2, -0.1]), np.array([[0.5, 0.2], [0.2, 0.4]])
    measure = dist.MultivariateNormal(mean, covariance)
    truth = ndtr(SLOPE @ mean / np.sqrt(1 + SLOPE @ covariance @ SLOPE))
    print(f"truth       {truth:.6f}")
    network = sq.BSN(width=8, activation="tanh", folds=2)  # small and quick
    for method in (sq.MonteCarlo(), network):
        answer = sq.integrate(integrand, measure, n=500, method=method)
        error = answer.mean - truth
        print(f"{method.name:11} {answer.mean:.6f} +- {answer.std:.1e}   error {error:+.1e}")


if __name__ == "__main__":
    main()
