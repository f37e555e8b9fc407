"""Add a whole method: a subclass with a name and `fit`; everything else then works with it.

Here the oldest control variate: subtract the best linear function of x, whose mean is known. It
gets cross-fitting, intervals, tolerances and a place in `Stack` for nothing.
"""

from dataclasses import dataclass

import numpy as np
import numpyro.distributions as dist

import steinquad as sq


@dataclass(frozen=True)
class LinearTrend(sq.Method):
    """Least squares on a constant and x, for measures with mean zero."""

    name: str = "LinearTrend"

    def fit(self, data, measure, context):
        """The intercept is the integral."""
        columns = np.column_stack([np.ones(data.n), data.x])
        weights, *_ = np.linalg.lstsq(columns, data.fx, rcond=None)
        residuals = data.fx - columns @ weights
        dof = data.n - columns.shape[1]

        def model(points, return_std):
            values = weights[0] + points.x @ weights[1:]
            return values, np.broadcast_to(residuals.std(axis=0), values.shape)

        return sq.Fit(
            theta0=weights[0],
            covariance=residuals.T @ residuals / dof / data.n,
            model=model,
            dof=dof,
            status=sq.Status("converged", f"{data.dim} slopes"),
            fitted=columns @ weights,
        )


def f(x):
    return np.exp(0.2 * x[:, 0] - 0.1 * x[:, 1])


def main() -> None:
    measure = dist.Normal(0, 1).expand([2]).to_event(1)
    truth = np.exp(0.5 * (0.2**2 + 0.1**2))
    est = sq.integrate(f, measure, n=300, method=LinearTrend(), folds=5, seed=0)
    print(est)
    assert est.check is not None
    print(f"  cross-fitted: {est.check.mean:.5f} +- {est.check.std:.1e}; truth {truth:.5f}")
    chosen = sq.integrate(
        f, measure, n=300, method=sq.Stack([sq.MonteCarlo(), LinearTrend()]), seed=0
    )
    print(chosen)


if __name__ == "__main__":
    main()
