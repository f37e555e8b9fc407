"""A first integral: the mean of a log-normal sum, by Monte Carlo and by a Bayesian Stein network.

Both methods see the same 400 evaluations. This integral is known, so the errors can be printed.
"""

import numpy as np
import numpyro.distributions as dist

import steinquad as sq

SLOPE = np.array([1.0, 0.5])


def integrand(x: np.ndarray) -> np.ndarray:
    """exp(x1 + x2 / 2), for a batch of points (n, 2) -> (n,)."""
    return np.exp(x @ SLOPE)


def main() -> None:
    mean, covariance = np.array([0.2, -0.1]), np.array([[0.5, 0.2], [0.2, 0.4]])
    measure = dist.MultivariateNormal(mean, covariance)
    truth = np.exp(SLOPE @ mean + SLOPE @ covariance @ SLOPE / 2)
    print(f"truth       {truth:.5f}")
    for method in (sq.MonteCarlo(), sq.BSN(width=16)):
        answer = sq.integrate(integrand, measure, n=400, method=method)
        error = answer.mean - truth
        print(f"{method.name:11} {answer.mean:.5f} +- {answer.std:.5f}   error {error:+.5f}")


if __name__ == "__main__":
    main()
