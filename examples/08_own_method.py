"""Add a whole method: a class with a name and `estimate`; everything else then works with it.

Here the oldest control variate: subtract the best linear function of x, whose mean is known. It
joins `Choose`, cross-fitting and tolerances as it is.
"""

from dataclasses import dataclass

import numpy as np
import numpyro.distributions as dist

import steinquad as sq


@dataclass(frozen=True)
class LinearTrend:
    """Least squares on a constant and x, for measures with mean zero."""

    name: str = "LinearTrend"

    def estimate(self, data, measure, *, seed, progress, start=None):
        """The intercept is the integral."""
        design = np.column_stack([np.ones(data.n), data.x])
        weights, *_ = np.linalg.lstsq(design, data.fx, rcond=None)
        residuals = data.fx - design @ weights
        covariance = residuals.T @ residuals / (data.n - design.shape[1]) / data.n

        def predictor(x, score, return_std):
            mean = np.column_stack([np.ones(len(x)), x]) @ weights
            return mean, np.tile(residuals.std(axis=0), (len(x), 1)) if return_std else None

        return sq.Estimate.build(
            weights[0],
            covariance,
            scalar=data.scalar,
            method=self.name,
            status=sq.Status("converged", f"{data.dim} slopes"),
            n=data.n,
            dof=data.n - design.shape[1],
            values=data.fx,
            fitted=design @ weights,
            predictor=predictor,
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
        f, measure, n=300, method=sq.Choose([sq.MonteCarlo(), LinearTrend()]), seed=0
    )
    print(chosen)


if __name__ == "__main__":
    main()
