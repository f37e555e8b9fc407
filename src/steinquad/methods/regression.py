"""Linear regression on any functions that integrate to zero."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from steinquad._float64 import float64
from steinquad._linalg import geometric_mean
from steinquad._types import Array, Progress, is_count, is_word
from steinquad.checking.folds import folds_of
from steinquad.checking.standard_error import ROUNDING, far_from_average, standard_error
from steinquad.checking.stein_identities import mean_zero_violation
from steinquad.dataset import Dataset
from steinquad.errors import InputError, shown
from steinquad.fit import Context, Fit, HeldOutValues, Status
from steinquad.fitting.outputs import Outputs, correlated
from steinquad.measures.base import Measure
from steinquad.methods.base import Method
from steinquad.points import Points
from steinquad.posterior.linear import Factored, LinearPosterior, factor
from steinquad.stein.features import Features

__all__ = ["Regression"]

MOST_FEATURES = 1000
# Features a point: leave-one-out residuals tell orders apart up to nearly as many as points, where
# a tail may look exact.
MOST_SHARE = 0.9
MOST_MEMORY = 2.0**30  # bytes of the values of the features; three more such arrays are needed
FOLDS = 10  # of the jackknife, where none are given
NOISE_ROUNDS = 2  # in which the weights follow the misfit that a fit leaves beyond the noise
TESTED_ORDER = 2  # up to which features are tested to have mean zero on the data
FEWEST_ON_A_LINE = 4  # values of a coordinate of points that are no sample
LEAST_DOF = 5.0  # for comparing orders
NEXT_TO_NOTHING = 1e-12  # std of theta0, in units of the spread of f
STEPS = 2  # orders back from which the integral has moved: an even f moves at every second one
EXACT = 1e-16  # of the mean square that the order before leaves: f is a polynomial of this order
PATIENCE = 2  # orders without improvement after which higher ones are not tried
# How the prior standard deviation of a weight falls with the degree of its feature: jumps, kinks,
# and functions analytic in a small or a large neighborhood.
DECAYS: dict[str, Callable[[Array], Array]] = {
    "none": np.ones_like,
    "degree^-2": lambda degree: degree**-2.0,
    "0.8^degree": lambda degree: 0.8**degree,
    "0.65^degree": lambda degree: 0.65**degree,
}


@dataclass(frozen=True, kw_only=True)
class Regression(Method):
    """Exact Bayesian linear regression `f = theta0 + features . w`; theta0 is the integral.

    The posterior is available in closed form for any number of outputs, so orders and prior
    scales are compared by their leave-one-out residuals and need no training. `Polynomial` is the
    public way to it; use this class for features of one's own.

    Attributes:
        features: mean-zero functions, nested by order.
        order: how many of them, or "auto" for the order whose integral is known best.
        name: for tables.
    """

    features: Features
    order: int | Literal["auto"] = "auto"
    name: str = "Regression"

    def __post_init__(self) -> None:
        if not is_word(self.order, "auto") and not is_count(self.order, 1):
            raise InputError(f"order is {shown(self.order)}; give an integer >= 1 or 'auto'.")

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why it cannot be used on such data, or None.

        Either that of the features, such as missing scores, or fewer than four points. Whether an
        order has too many features for the points is for `fit` to say.
        """
        reason = self.features.obstacle(data, measure)
        if reason is None and not data.sampled and _lines(data) < FEWEST_ON_A_LINE:
            reason = (
                f"x is no sample and has {_lines(data)} values on a line, which tell too little "
                f"of f between them; {self.name} needs {FEWEST_ON_A_LINE}."
            )
        if reason is None and data.n < 4:
            reason = f"x has {data.n} points of positive weight; {self.name} needs at least 4."
        return reason

    def fit(self, data: Dataset, measure: Measure | None, context: Context) -> Fit:
        """Fit every order, keep the best; see `Method.fit`.

        Orders are compared by the width of the interval that each gives for theta0. With known
        noise the points are weighted by it, and by what the model misses, in two further rounds.

        Returns:
            theta0 with the largest of four variances: of the posterior, of the leave-one-out
            residuals, of the steps from other orders, and of the jackknife; suspect where low
            features do not average to zero.
        """
        features = self.features.fit(data, measure)
        outputs = Outputs.fit(data)
        importance = data.effective_weights
        orders = self._orders(features, data)
        phi = features(data.x, data.score, orders[-1])
        degrees = {order: features.degrees(order) for order in orders}

        def fitted(weights: Array) -> tuple[Factored, list[_Candidate], _Candidate]:
            factored = factor(phi, outputs.values, weights)
            candidates = _candidates(factored, degrees, data, context.progress)
            return factored, candidates, min(candidates, key=lambda each: each.spread)

        factored, candidates, best = fitted(importance)
        for _ in range(0 if outputs.noise is None else NOISE_ROUNDS):
            misfit = outputs.misfit(best.fit.left_out, importance)
            factored, candidates, best = fitted(importance * outputs.noise_weights(misfit))
        fit = best.fit
        order, size = best.order, len(degrees[best.order])
        # A mean that is large beside the spread costs digits when it is subtracted.
        rounding = ROUNDING * (1.0 + np.abs(outputs.shift / outputs.scale))
        split = context.split or folds_of(data, min(FOLDS, data.n // 2), context.seed)
        without = factored.held_out(fit, DECAYS[best.decay](degrees[order]), split)
        variance = np.maximum(best.variance, _truncation(candidates, best))
        if data.sampled:
            variance = np.maximum(variance, HeldOutValues(*without).jackknife ** 2)
        variance += rounding**2
        scored = features.needs_score and data.score is not None
        theta0, covariance = outputs.integrals(fit.theta0, correlated(variance, fit.left_out))
        trouble = features.trouble(data, order) or _violation(features, phi, orders, data)
        status = Status("converged", f"{features.name} of order {order}, {size} features")
        return Fit(
            theta0=theta0,
            covariance=covariance,
            model=LinearModel(features, order, outputs, factored, fit, scored),
            dof=best.dof,
            status=Status("suspect", trouble) if trouble else status,
            fitted=outputs.in_units(outputs.values - fit.residuals),
            held_out=HeldOutValues(*map(outputs.in_units, without)),
            stats={
                "features": features.name,
                "order": order,
                "size": size,
                "decay": best.decay,
                "left_out_mean_square": float(np.mean(fit.left_out**2)),
                "left_out_by_order": {each.order: each.error for each in candidates},
                "prior_precision": fit.alpha,
                "noise": 1.0 / np.sqrt(fit.beta),
                "posterior_std": np.sqrt(fit.variance) * outputs.scale,
            },
        )

    def _orders(self, features: Features, data: Dataset) -> list[int]:
        most = min(
            int(MOST_SHARE * data.n), MOST_FEATURES, max(int(MOST_MEMORY / (8 * data.n)), 1)
        )
        lowest = 1 if self.order == "auto" else self.order
        if features.size(lowest) > data.n - 2:
            raise InputError(
                f"order {lowest} has {features.size(lowest)} features for {data.n} points; "
                "choose a lower order, add points, or use sq.BSN()."
            )
        if self.order == "auto":  # no higher than the tails allow
            orders = features.orders(most) or [1]
            if not data.sampled:  # m values on a line cannot tell degree m from lower ones
                orders = [order for order in orders if order <= _lines(data) - 2] or orders[:1]
            return [order for order in orders if not features.trouble(data, order)] or orders[:1]
        return [self.order]


def _lines(data: Dataset) -> int:
    """The fewest different values of a coordinate, as those of a grid on a line."""
    return min(len(np.unique(column)) for column in data.x.T)


def _violation(features: Features, phi: Array, orders: list[int], data: Dataset) -> str | None:
    """What the data say against the mean of the lowest features being zero."""
    if not data.sampled:
        return None
    low = phi[:, : features.size(min(TESTED_ORDER, orders[-1]))]
    column, ratio = mean_zero_violation(low, data.effective_weights)
    if column is None:
        return None
    return (
        f"feature {column} of {features.name} should average to zero but is {ratio:.1f} standard "
        "errors away; likely causes: points that are not draws from the measure, coordinates that "
        "depend on each other, a support that was not declared, or scores of another measure"
    )


@dataclass(frozen=True, eq=False)
class _Candidate:
    """The fit of one order and decay, with what its integral is worth."""

    order: int
    decay: str
    fit: LinearPosterior
    variance: Array  # of theta0, (k,)
    dof: float
    far: bool  # from the plain average: its features are not of mean zero where the points are

    @property
    def error(self) -> float:
        """Root mean square held-out residual, geometric mean over the outputs."""
        return geometric_mean(np.sqrt(np.mean(self.fit.left_out**2, axis=0)))

    @property
    def spread(self) -> float:
        """Half width of an interval for theta0, geometric mean over the outputs."""
        if self.far:
            return np.inf
        half = float(stdtrit(max(self.dof, LEAST_DOF), 0.975))
        # Outputs that are exact but for rounding do not decide beside others.
        return half * geometric_mean(np.maximum(np.sqrt(self.variance), NEXT_TO_NOTHING))


def _candidates(
    factored: Factored, degrees: dict[int, Array], data: Dataset, progress: Progress
) -> list[_Candidate]:
    """The best decay of every order, up to some orders past the best."""
    best_of_order: list[_Candidate] = []
    for order, degree in degrees.items():
        decays = DECAYS if np.ptp(degree) > 0 else {"none": np.ones_like}
        tried = []
        for name, law in decays.items():
            fit = factored.posterior(len(degree), law(degree))
            variance, dof = _variance(fit, factored, data)
            far = data.sampled and bool(
                np.any(far_from_average(fit.theta0, factored.y, factored.root**2, data.groups) > 1)
            )
            tried.append(_Candidate(order, name, fit, variance, dof, far))
        best_of_order.append(min(tried, key=lambda each: each.spread))
        progress(len(best_of_order), len(degrees), best_of_order[-1].error)
        best = min(range(len(best_of_order)), key=lambda i: best_of_order[i].spread)
        if len(best_of_order) - 1 - best >= PATIENCE:
            break
    return best_of_order


def _variance(fit: LinearPosterior, factored: Factored, data: Dataset) -> tuple[Array, float]:
    """Of theta0, (k,): the posterior's or that of the leave-one-out residuals, the larger.

    The first presumes independent noise, the second does not.
    """
    # Above zero, because the geometric mean of the spreads takes logarithms.
    variance = np.maximum(fit.variance, np.finfo(float).tiny)
    if not data.sampled:
        return variance, max(factored.total - 1.0, 1.0)
    error, dof = standard_error(fit.left_out, factored.root**2, data.groups)
    return np.maximum(variance, error**2), dof


def _truncation(candidates: list[_Candidate], best: _Candidate) -> Array:
    """Variance of theta0 for the orders left out, (k,).

    What is left of a smooth f is no noise, and no residual tells of corners that no point has
    seen, but the steps from the orders before do. The error is taken to have fallen from each by
    the square root of what the residuals have fallen. It may fall more slowly than they do,
    because f grows where no point is. So the steps to higher orders count that leave less and
    are less sure; and where no higher order could be tried, the last step counts as if the error
    had fallen by the square root of what the steps have.
    """
    i = candidates.index(best)
    left = np.mean(best.fit.left_out**2, axis=0)
    variance = np.zeros_like(best.variance)
    for before in candidates[max(i - STEPS, 0) : i]:
        fallen = left / np.mean(before.fit.left_out**2, axis=0)
        step = best.fit.theta0 - before.fit.theta0
        variance = np.maximum(variance, step**2 * np.sqrt(np.minimum(fallen, 1.0)))
    for after in candidates[i + 1 :]:
        closer = np.mean(after.fit.left_out**2, axis=0) < left
        step = np.where(closer & ~after.far, after.fit.theta0 - best.fit.theta0, 0.0)
        variance = np.maximum(variance, step**2)
    if 2 <= i == len(candidates) - 1:
        first, second, third = (each.fit.theta0 for each in candidates[i - 2 :])
        earlier, step = np.abs(second - first), np.abs(third - second)
        ratio = np.divide(step, earlier, out=np.ones_like(step), where=step < earlier)
        open_ended = left > EXACT * np.mean(candidates[i - 1].fit.left_out ** 2, axis=0)
        variance = np.where(open_ended, np.maximum(variance, step**2 * ratio), variance)
    return variance


@dataclass(frozen=True, eq=False)
class LinearModel:
    """The fitted combination of features at any points, in the units of f.

    Attributes:
        features: fitted mean-zero functions.
        order: up to which they are used.
        outputs: from standard units to those of f.
        factored: the factorization, for the centers of the features.
        posterior: of theta0 and the weights.
        scored: whether the features need scores.
    """

    features: Features
    order: int
    outputs: Outputs
    factored: Factored
    posterior: LinearPosterior
    scored: bool  # whether the features need scores

    @float64
    def __call__(self, points: Points, return_std: bool) -> tuple[Array, Array | None]:
        """Mean (n, k) and, where asked for, the standard deviation of the posterior."""
        score = points.score if self.scored else None
        phi = self.features(points.x, score, self.order)
        mean = self.outputs.in_units(self.posterior.theta0 + phi @ self.posterior.weights)
        if not return_std:
            return mean, None
        center = self.factored.feature_mean[: phi.shape[1]]
        variance = self.posterior.predicted_variance(phi, center, self.factored.total)
        return mean, self.outputs.spread_in_units(np.sqrt(variance))
