"""A multiplier of your own: m(x) of the Stein operator in one class, for a heavy-tailed measure.

S_m[u] = score . (m u) + div(m u). A subclass says what m and its slope are at each point; network,
training, boundary and posterior follow by themselves.
"""

import numpy as np
import numpyro.distributions as dist

import steinquad as sq


class Growing(sq.multipliers.Multiplier):
    """m_ii(x) = sqrt(1 + x_i^2), each coordinate its own: more room in the tails."""

    def __call__(self, points: sq.multipliers.Points) -> tuple[np.ndarray, np.ndarray]:
        """The diagonal of m and d m_ii / d x_i, both (n, d)."""
        value = np.sqrt(1.0 + points.x**2)
        return value, points.x / value

    @property
    def varying(self) -> None:
        """Every coordinate has a value of its own; () would mean one m for all."""
        return None


def main() -> None:
    measure = dist.StudentT(5.0).expand([2]).to_event(1)
    truth = np.log(2.0)
    print(f"truth {truth}")
    for multiplier in (sq.multipliers.Constant(), sq.multipliers.InverseRoot(), Growing()):
        method = sq.BSN(width=16, multiplier=multiplier, optimizer=sq.LBFGS(max_steps=300))
        answer = sq.integrate(lambda x: np.sum(x**2, axis=1), measure, n=400, method=method)
        print(f"{type(multiplier).__name__:12} {answer.mean:.5f} +- {answer.std:.5f}")


if __name__ == "__main__":
    main()
