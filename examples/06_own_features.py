"""Add your own mean-zero features: waves in the uniform coordinates of a periodic integrand.

If U = F(x) is uniform, then cos(2 pi k U) and sin(2 pi k U) have mean zero: a basis for functions
that are periodic in U, in one class of two methods.
"""

from dataclasses import dataclass

import numpy as np
import numpyro.distributions as dist
from scipy.special import ndtr

import steinquad as sq


@dataclass(frozen=True)
class Waves(sq.Features):
    """Cosines and sines of one standard normal coordinate's distribution function."""

    name: str = "waves"

    def size(self, order: int) -> int:
        """A cosine and a sine of each frequency."""
        return 2 * order

    def __call__(self, x, score, order):
        """Values of the features, (n, 1) -> (n, 2 order)."""
        angle = 2 * np.pi * ndtr(x) * np.arange(1, order + 1)
        return np.stack([np.cos(angle), np.sin(angle)], axis=2).reshape(len(x), -1)


def f(x):
    return 1 / (2 + np.sin(2 * np.pi * ndtr(x[:, 0])))  # E[f] = 1 / sqrt(3)


def main() -> None:
    measure = dist.Normal(0, 1)
    for method in (sq.Regression(features=Waves(), name="Waves"), sq.Polynomial()):
        est = sq.integrate(f, measure, n=200, method=method, seed=0)
        print(est)
        print(f"  error {abs(est.mean - 1 / np.sqrt(3)):.1e}")


if __name__ == "__main__":
    main()
