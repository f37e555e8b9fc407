"""A multiplier of your own: m(x) of the Stein operator in one class, here for heavy tails.

S_m[u] = score . (m u) + div(m u). A subclass says what m and its slope are at each point; network,
boundary, training and posterior follow by themselves. Heavy tails have scores that fade: the
default m = 1 learns little there and its error bar can be too short; a growing m does better.
"""

import numpy as np
import numpyro.distributions as dist
from scipy.special import digamma

import steinquad as sq

DOF = 5.0  # of Student's t


class Growing(sq.multipliers.Multiplier):
    """m(x) = diag(sqrt(1 + x_i^2)): makes up for the scores that fade."""

    def __call__(self, points: sq.Points) -> tuple[np.ndarray, np.ndarray]:
        """The diagonal of m and d m_ii / d x_i, both (n, d)."""
        value = np.sqrt(1.0 + points.x**2)
        return value, points.x / value

    @property
    def varying(self) -> None:
        """Every coordinate has a value of its own; () would mean one m(x) for all."""
        return None


def integrand(x: np.ndarray) -> np.ndarray:
    """Sum of log(1 + x_i^2 / DOF), whose mean is known."""
    return np.log1p(x**2 / DOF).sum(axis=1)


def main() -> None:
    measure = dist.StudentT(DOF).expand([2]).to_event(1)
    truth = 2 * (digamma((DOF + 1) / 2) - digamma(DOF / 2))
    print(f"truth     {truth:.5f}")
    for multiplier in (sq.multipliers.Constant(), Growing()):
        method = sq.BSN(width=8, activation="tanh", folds=2, multiplier=multiplier)
        answer = sq.integrate(integrand, measure, n=500, method=method)
        error, name = answer.mean - truth, type(multiplier).__name__
        print(f"{name:9} {answer.mean:.5f} +- {answer.std:.5f}   error {error:+.5f}")


if __name__ == "__main__":
    main()
