"""Sparse polynomial chaos: few of many orthonormal polynomials, selected on the data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from steinquad._float64 import float64
from steinquad._types import Array, as_count
from steinquad.checking.error_bar import check_of
from steinquad.checking.folds import evenly_spaced, folds_of, others
from steinquad.checking.held_out import HeldOut
from steinquad.checking.standard_error import ROUNDING
from steinquad.dataset import Dataset
from steinquad.fit import Context, Fit, Status
from steinquad.fitting.outputs import Outputs, correlated
from steinquad.fitting.pursuit import Pursuit, pursue
from steinquad.measures.base import Measure
from steinquad.methods.base import Method
from steinquad.points import Points
from steinquad.posterior.linear import Factored, LinearPosterior, factor
from steinquad.stein.chaos import Chaos, hyperbolic

__all__ = ["PolynomialChaos"]

NORMS = (0.5, 0.75, 1.0)  # of hyperbolic index sets
ORDERS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20)
MOST_CANDIDATES = 3000
MOST_SELECTED = 300
MOST_ROWS = 2000  # points on which features are selected
MOST_MEMORY = 2.0**30  # bytes of the selected features at all points
import os
KURT = float(os.environ.get('KURT', 'inf'))
PATIENCE = 2  # orders without improvement after which higher ones are not tried
FEWEST = 8  # points


@dataclass(frozen=True, kw_only=True)
class PolynomialChaos(Method):
    """Bayesian regression on the few orthonormal polynomials that the data ask for.

    Products of polynomials that are orthonormal under each coordinate's own distribution, selected
    one by one from hyperbolic sets of up to 3,000; exact for sparse polynomials from few points,
    and good for smooth f in up to some 20 independent coordinates. Its std is cross-fitted, with
    features selected again in every fold: residuals of selected features are far too small.

    Attributes:
        folds: of that cross-fit.
        name: for tables.

    >>> import scipy.stats as st, steinquad as sq
    >>> est = sq.integrate(lambda x: x[:, 0] ** 2 * x[:, 1], sq.Product({"a": st.expon(), "b": st.norm(1)}),
    ...                    n=50, method=sq.PolynomialChaos())
    >>> abs(est.mean - 2) < 1e-9
    True
    """

    folds: int = 5
    name: str = "PolynomialChaos"
    holds_out = True

    def __post_init__(self) -> None:
        as_count("folds", self.folds, 2)

    def with_folds(self, folds: int) -> "PolynomialChaos":
        """The same with so many folds of the cross-fit."""
        return PolynomialChaos(folds=folds, name=self.name)

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why it cannot be used on such data, or None: a measure with independent coordinates.

        They may be so after whitening, as those of a multivariate normal are.
        """
        if data.n < FEWEST:
            return f"x has {data.n} points of positive weight; {self.name} needs {FEWEST}."
        if Chaos.of(measure) is None:
            what = "no measure was given" if measure is None else f"{type(measure).__name__} has none"
            return (
                "polynomial chaos needs independent coordinates with known distributions, and "
                f"{what}; use sq.Polynomial(features='score')."
            )
        return None

    def fit(self, data: Dataset, measure: Measure | None, context: Context) -> Fit:
        """Select features for every output, fit them, select again in folds; see `Method.fit`."""
        outputs = Outputs.fit(data)
        split = context.split
        if split is None:
            split = folds_of(data, min(self.folds, data.n // 2), context.seed)
        sets = list(_candidate_sets(measure, data.x))
        parts = [_fit_output(sets, y, outputs, data, split) for y in outputs.values.T]
        values = outputs.in_units(np.stack([part.held_out for part in parts], axis=1))
        theta0 = np.array([part.posterior.theta0[0] for part in parts])
        own = np.array([part.posterior.variance[0] for part in parts])
        rounding = ROUNDING * (1.0 + np.abs(outputs.shift / outputs.scale))
        left = np.stack([part.posterior.left_out[:, 0] for part in parts], axis=1)
        mean, covariance = outputs.integrals(theta0, correlated(own + rounding**2, left))
        fitted = outputs.values - np.stack([p.posterior.residuals[:, 0] for p in parts], axis=1)
        held = HeldOut.from_values(values, data, len(split))
        sizes = [len(part.indices) for part in parts]
        return Fit(
            theta0=mean,
            covariance=covariance,
            model=ChaosModel(outputs, parts),
            status=Status("converged", f"{max(sizes)} polynomials"),
            fitted=outputs.in_units(fitted),
            held_out=values,
            check=check_of(held, mean),
            stats={
                "order": [part.order for part in parts],
                "norm": [part.norm for part in parts],
                "size": sizes,
                "left_out_mean_square": float(np.mean(left**2)),
            },
        )


@dataclass(frozen=True, eq=False)
class _Candidates:
    """One set of features, with their values at the data."""

    chaos: Chaos
    indices: np.ndarray
    phi: Array
    norm: float
    order: int


@dataclass(frozen=True, eq=False)
class _Part:
    """The regression of one output."""

    chaos: Chaos
    indices: np.ndarray
    factored: Factored
    posterior: LinearPosterior
    held_out: Array
    norm: float
    order: int


def _candidate_sets(measure: Measure | None, x: Array) -> Iterator[list[_Candidates]]:
    """Sets of features to choose from, each list in increasing order."""
    rows = evenly_spaced(np.arange(len(x)), MOST_ROWS)
    for kind in ("own", "scores"):
        chaos = Chaos.of(measure, kind)
        assert chaos is not None
        if kind == "scores" and chaos.classical:
            return
        tables = chaos.tables(x[rows], max(ORDERS))
        for norm in NORMS:
            sets: list[_Candidates] = []
            for order in ORDERS:
                indices = hyperbolic(x.shape[1], order, norm, MOST_CANDIDATES)
                if indices is None:
                    break
                indices = chaos.allowed(indices, KURT * len(x))
                if sets and len(indices) == len(sets[-1].indices):
                    continue
                sets.append(
                    _Candidates(chaos, indices, chaos.products(tables, indices), norm, order)
                )
            yield sets


def _fit_output(
    sets: Sequence[Sequence[_Candidates]],
    y: Array,
    outputs: Outputs,
    data: Dataset,
    split: Sequence[np.ndarray],
) -> _Part:
    """Select on some of the points, fit to all, and the same without each fold."""
    rows = evenly_spaced(np.arange(data.n), MOST_ROWS)
    weights = data.effective_weights
    most = int(min(MOST_SELECTED, MOST_MEMORY / (8 * data.n)))

    def selected(among: _Candidates, train: np.ndarray) -> Pursuit:
        return pursue(among.phi[train], y[rows[train]], weights[rows[train]], most)

    everything = np.arange(len(rows))
    best, best_set = None, sets[0][0]
    for family in sets:
        waited, least = 0, np.inf
        for each in family:
            pursuit = selected(each, everything)
            if best is None or pursuit.error < best.error:
                best, best_set = pursuit, each
            waited = 0 if pursuit.error < least else waited + 1
            least = min(least, pursuit.error)
            if waited >= PATIENCE:
                break
    assert best is not None
    chaos = best_set.chaos

    def regression(columns: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, Factored, LinearPosterior]:
        indices = best_set.indices[columns]
        degree = int(indices.max(initial=1))
        phi = chaos.products(chaos.tables(data.x[points], degree), indices)
        factored = factor(phi, y[points, None], weights[points])
        return indices, factored, factored.posterior(len(indices), np.ones(len(indices)))

    indices, factored, posterior = regression(best.columns, np.arange(data.n))
    held_out = np.empty(data.n)
    for fold in split:
        train = others(data.n, fold)
        pursuit = selected(best_set, np.flatnonzero(np.isin(rows, train)))
        own, _, without = regression(pursuit.columns, train)
        phi = chaos.products(chaos.tables(data.x[fold], int(own.max(initial=1))), own)
        held_out[fold] = y[fold] - phi @ without.weights[:, 0]
    return _Part(chaos, indices, factored, posterior, held_out, best_set.norm, best_set.order)


@dataclass(frozen=True, eq=False)
class ChaosModel:
    """The selected polynomials at any points, in the units of f.

    Attributes:
        outputs: from standard units to those of f.
        parts: the regression of every output that varies.
    """

    outputs: Outputs
    parts: Sequence[_Part]

    @float64
    def __call__(self, points: Points, return_std: bool) -> tuple[Array, Array | None]:
        """Mean (n, k) and, where asked for, the standard deviation of the posterior."""
        means, stds = [], []
        for part in self.parts:
            tables = part.chaos.tables(points.x, int(part.indices.max(initial=1)))
            phi = part.chaos.products(tables, part.indices)
            means.append(part.posterior.theta0 + phi @ part.posterior.weights)
            if return_std:
                factored = part.factored
                square = part.posterior.predicted_variance(
                    phi, factored.feature_mean, factored.total
                )
                stds.append(np.sqrt(square))
        mean = self.outputs.in_units(np.concatenate(means, axis=1))
        if not return_std:
            return mean, None
        return mean, self.outputs.spread_in_units(np.concatenate(stds, axis=1))
