"""Sparse polynomial chaos: few of many orthonormal polynomials, selected on the data."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steinquad._float64 import float64
from steinquad._types import Array, as_count
from steinquad.checking.error_bar import check_of, checked, widened
from steinquad.checking.folds import evenly_spaced, folds_of, others
from steinquad.checking.held_out import HeldOut
from steinquad.checking.standard_error import ROUNDING, weighted_mean
from steinquad.dataset import Dataset
from steinquad.fit import Context, Fit, HeldOutValues, Status
from steinquad.fitting.outputs import Outputs, correlated
from steinquad.fitting.pursuit import Path, held_out_squares, pursue
from steinquad.measures.base import Measure
from steinquad.methods.base import Method
from steinquad.methods.monte_carlo import not_a_sample
from steinquad.points import Points
from steinquad.posterior.linear import Factored, LinearPosterior, factor
from steinquad.stein.chaos import Chaos
from steinquad.stein.multi_indices import hyperbolic, products

__all__ = ["PolynomialChaos"]

NORMS = (0.5, 0.75, 1.0)  # of hyperbolic index sets
ORDERS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20)
MOST_CANDIDATES = 3000
MOST_SELECTED = 300
MOST_ROWS = 2000  # points on which features are selected
MOST_MEMORY = 2.0**30  # bytes of the selected features at all points
# Orders that leave more, by this factor, after which higher ones are not tried. An even function
# needs the next order, so those that leave as much do not count.
PATIENCE, WORSE = 2, 1.01
FIRST_FOLDS, FINALISTS = 3, 3  # in which all sets are tried, and how many of them in all others
EXACT = 1e-24  # share of the variance: no further set leaves less
# Exponent of a coordinate's share of the variance in its weight in anisotropic sets, and the most;
# and what they have to leave of the mean square that the others do, because there are many sets.
IMPORTANCE, LARGEST_WEIGHT = 0.25, 10.0
BETTER = 0.5
STEPS = 2  # orders back from which the integral has moved: an even f moves at every second one
FEWEST = 8  # points


@dataclass(frozen=True, kw_only=True)
class PolynomialChaos(Method):
    """Bayesian regression on the few orthonormal polynomials that the data ask for.

    Products of polynomials that are orthonormal under each coordinate's own distribution, selected
    one by one from hyperbolic sets of up to 3,000, and from anisotropic ones that spend their
    degrees on the coordinates that matter. Exact for sparse polynomials from few points,
    and good for smooth f of some 20 independent coordinates of which few matter. Residuals of
    features that were selected on the same points are far too small, so its std is cross-fitted
    with features selected again in every fold.

    Attributes:
        folds: of that cross-fit.
        name: for tables.

    >>> import scipy.stats as st, steinquad as sq
    >>> inputs = sq.Product({"load": st.expon(), "size": st.norm(1)})
    >>> est = sq.integrate(lambda x: x[:, 0] ** 2 * x[:, 1], inputs, n=50,
    ...                    method=sq.PolynomialChaos())
    >>> abs(est.mean - 2) < 1e-9
    True
    """

    folds: int = 10
    name: str = "PolynomialChaos"
    holds_out = True  # selects again in folds

    def __post_init__(self) -> None:
        as_count("folds", self.folds, 2)

    def with_folds(self, folds: int) -> "PolynomialChaos":
        """The same with so many folds of the cross-fit."""
        return replace(self, folds=folds)

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why it cannot be used on such data, or None.

        The measure has to be known and its coordinates to be independent, perhaps after
        whitening, as those of a multivariate normal are.
        """
        if data.n < FEWEST:
            return f"x has {data.n} points of positive weight; {self.name} needs {FEWEST}."
        if not data.sampled:  # m values on a line of a grid cannot tell degrees beyond m apart
            return not_a_sample(data)
        if Chaos.of(measure) is not None:
            return None
        what = "no measure was given" if measure is None else f"{type(measure).__name__} has none"
        return (
            "polynomial chaos needs independent coordinates with known distributions, and "
            f"{what}; use sq.Polynomial(features='score')."
        )

    def fit(self, data: Dataset, measure: Measure | None, context: Context) -> Fit:
        """Select features for every output, fit them, select again in folds; see `Method.fit`.

        Returns:
            The regression on the features that were selected on all points. Its variance is at
            least that of the cross-fit, the squared distance between the two answers, and the
            regression's own.
        """
        outputs = Outputs.fit(data)
        split = context.split or folds_of(data, min(self.folds, data.n // 2), context.seed)
        sets = [
            list(basis.family(norm, (1.0,) * data.dim))
            for basis in _bases(measure, data.x)
            for norm in NORMS
        ]
        parts = [_select_and_fit(sets, _Task(y, data, split)) for y in outputs.values.T]
        regressions, held_out, variances = zip(*parts, strict=True)
        posteriors = [each.posterior for each in regressions]
        theta0 = np.concatenate([each.theta0 for each in posteriors])
        residuals = np.concatenate([each.residuals for each in posteriors], axis=1)
        # A mean that is large beside the spread costs digits when it is subtracted.
        rounding = ROUNDING * (1.0 + np.abs(outputs.shift / outputs.scale))
        own = correlated(np.array(variances) + rounding**2, residuals)
        mean, covariance = outputs.integrals(theta0, own)
        values, without = (
            outputs.in_units(np.concatenate(each, axis=1))
            for each in zip(*((each.values, each.theta0) for each in held_out), strict=True)
        )
        sizes = [len(each.indices) for each in regressions]
        fit = Fit(
            theta0=mean,
            covariance=covariance,
            model=ChaosModel(outputs, regressions),
            status=Status("converged", f"{max(sizes)} orthonormal polynomials were selected"),
            fitted=outputs.in_units(outputs.values - residuals),
            held_out=HeldOutValues(values, without),
            stats={
                "size": sizes,
                "degree": [int(each.indices.max(initial=0)) for each in regressions],
            },
        )
        check = check_of(HeldOut.from_values(values, data, len(split)), mean)
        # Of a smooth f the folds may know as little as the fit of tails that no point has seen:
        # its own variance counts however much larger it is.
        return checked(widened(fit, check, own_share=np.inf), check)


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Features to select from, with their values at the points on which they are selected."""

    basis: "_Basis"
    norm: float
    indices: np.ndarray
    phi: Array


@dataclass(frozen=True, eq=False)
class _Basis:
    """Polynomials of each coordinate, at the points on which features are selected."""

    chaos: Chaos
    tables: Sequence[Array]

    def family(self, norm: float, weights: tuple[float, ...]) -> Iterator[_Candidates]:
        """Hyperbolic sets of rising order, as long as they have few enough candidates."""
        before = 0
        for order in ORDERS:
            indices = hyperbolic(weights, order, norm, MOST_CANDIDATES)
            if indices is None:
                return
            indices = self.chaos.allowed(indices)
            if len(indices) > before:
                before = len(indices)
                yield _Candidates(self, norm, indices, products(self.tables, indices))


@dataclass(frozen=True, eq=False)
class _Trial:
    """The paths of some folds through some candidates.

    Attributes:
        among: the candidates.
        before: the trial of the next smaller set of the same family, if any.
        paths: of the first folds, or of all.
        squares: what is left of their held-out points for every number of features, as a share
            of what the average leaves.
    """

    among: _Candidates
    before: "_Trial | None"
    paths: Sequence[Path]
    squares: Array

    @classmethod
    def of(cls, among: _Candidates, before: "_Trial | None", paths: Sequence[Path]) -> "_Trial":
        """By what the paths leave of the points that they have not seen."""
        squares = held_out_squares(paths)
        return cls(among, before, paths, squares / max(squares[0], np.finfo(float).tiny))

    @property
    def size(self) -> int:
        """Number of features that leaves least."""
        return int(np.argmin(self.squares))

    @property
    def error(self) -> float:
        """What is left then, to five digits: sets that differ by rounding keep their places."""
        return float(f"{np.min(self.squares):.5g}")


@dataclass(frozen=True, eq=False)
class _Regression:
    """On some of the features, of one output."""

    chaos: Chaos
    indices: np.ndarray
    factored: Factored
    posterior: LinearPosterior

    @classmethod
    def of(
        cls, chaos: Chaos, indices: np.ndarray, x: Array, y: Array, weights: Array
    ) -> "_Regression":
        factored = factor(chaos(x, indices), y[:, None], weights)
        posterior = factored.posterior(len(indices), np.ones(len(indices)))
        return cls(chaos, indices, factored, posterior)


def _bases(measure: Measure | None, x: Array) -> Iterator[_Basis]:
    """Polynomials of the coordinates themselves and, where those are others, of normal scores."""
    rows = _selection_rows(len(x))
    for coordinates in ("own", "scores"):
        chaos = Chaos.of(measure, coordinates)
        assert chaos is not None, "there is an obstacle"
        if coordinates == "own" or not chaos.classical:
            yield _Basis(chaos, chaos.tables(x[rows], max(ORDERS)))


def _of_importance(regression: _Regression) -> tuple[float, ...]:
    """Weights of the coordinates in anisotropic sets, 1 for the one that matters most.

    By the total Sobol indices of a model, in steps of a half so that few sets differ.
    """
    square = regression.posterior.weights[:, 0] ** 2
    total = square @ (regression.indices > 0)
    share = np.maximum(total / max(total.max(initial=0.0), np.finfo(float).tiny), 1e-12)
    weights = np.minimum(share**-IMPORTANCE, LARGEST_WEIGHT)
    return tuple((np.round(2 * weights) / 2).tolist())


def _selection_rows(n: int) -> np.ndarray:
    return evenly_spaced(np.arange(n), MOST_ROWS)


@dataclass(frozen=True, eq=False)
class _Task:
    """One output, and the folds of its points.

    Attributes:
        y: its values in standard units.
        data: points and weights.
        split: rows of each fold.
    """

    y: Array
    data: Dataset
    split: Sequence[np.ndarray]

    def path(self, among: _Candidates, fold: np.ndarray | None, size: int | None = None) -> Path:
        """Features in the order in which they are selected, on all points or without a fold.

        Args:
            among: what to select from.
            fold: rows that are left out.
            size: how many to select; as many as there is memory for unless given.
        """
        rows, n = _selection_rows(self.data.n), self.data.n
        held = None if fold is None else np.flatnonzero(np.isin(rows, fold))
        most = int(min(MOST_SELECTED, MOST_MEMORY / (8 * n))) if size is None else size
        return pursue(among.phi, self.y[rows], self.data.effective_weights[rows], most, held)

    def regression(
        self, among: _Candidates, columns: np.ndarray, rows: np.ndarray | None = None
    ) -> _Regression:
        """On selected features, of some of the points or all."""
        own = np.arange(self.data.n) if rows is None else rows
        x, weights = self.data.x[own], self.data.effective_weights[own]
        return _Regression.of(among.basis.chaos, among.indices[columns], x, self.y[own], weights)

    def selected(self, trial: _Trial) -> _Regression:
        """On the features that all points select, as many as leave least in the folds."""
        columns = self.path(trial.among, None, trial.size).columns
        return self.regression(trial.among, columns)

    def rising(self, family: Iterable[_Candidates]) -> Iterator[_Trial]:
        """Trials of larger and larger sets on the first folds, as long as they leave less."""
        before, waited, least = None, 0, np.inf
        for each in family:
            paths = [self.path(each, fold) for fold in self.split[:FIRST_FOLDS]]
            before = _Trial.of(each, before, paths)
            yield before
            waited = waited + 1 if before.error > WORSE * least else 0
            least = min(before.error, least)
            if waited == PATIENCE or least < EXACT:
                return

    def in_all_folds(self, trial: _Trial) -> _Trial:
        """The same set with the paths of the other folds too."""
        rest = [self.path(trial.among, fold) for fold in self.split[FIRST_FOLDS:]]
        return _Trial.of(trial.among, trial.before, [*trial.paths, *rest])


def _select_and_fit(
    sets: Sequence[Sequence[_Candidates]], task: _Task
) -> tuple[_Regression, HeldOutValues, float]:
    """The regression of one output, what those without each fold say, its variance."""
    best = _best(sets, task)
    held_out = _held_out(best, task)
    regression = task.selected(best)
    return regression, held_out, _variance(regression, held_out, best, task)


def _best(sets: Sequence[Sequence[_Candidates]], task: _Task) -> _Trial:
    """All sets are tried on some folds, the best of them on the others."""
    trials: list[_Trial] = []
    for family in sets:
        trials += task.rising(family)
        if min(each.error for each in trials) < EXACT:
            break
    trials += _anisotropic(min(trials, key=lambda each: each.error), task)
    trials.sort(key=lambda each: each.error)
    finalists = [task.in_all_folds(each) for each in trials[:FINALISTS]]
    return min(finalists, key=lambda each: each.error)


def _anisotropic(first: _Trial, task: _Task) -> Iterator[_Trial]:
    """Sets with weights by what the best of the others says that coordinates matter."""
    if task.data.dim == 1 or first.size == 0 or first.error <= EXACT:
        return
    among = first.among
    importance = _of_importance(task.selected(first))
    if max(importance) == 1.0:
        return
    for norm in sorted({among.norm, 1.0}):
        tried = task.rising(among.basis.family(norm, importance))
        yield from (each for each in tried if each.error < BETTER * first.error)


def _held_out(best: _Trial, task: _Task) -> HeldOutValues:
    """What the features that are selected without each fold say of its points."""
    n, folds = task.data.n, len(task.split)
    held_out = HeldOutValues(np.empty((n, 1)), np.empty((folds, 1)))
    for i, (fold, own) in enumerate(zip(task.split, best.paths, strict=True)):
        part = task.regression(best.among, own.columns[: best.size], others(n, fold))
        held_out.theta0[i] = part.posterior.theta0
        predicted = part.chaos(task.data.x[fold], part.indices) @ part.posterior.weights
        held_out.values[fold] = task.y[fold, None] - predicted
    return held_out


def _variance(
    regression: _Regression, held_out: HeldOutValues, best: _Trial, task: _Task
) -> float:
    """The posterior's, the held-out error over n, the jackknife's or that of the last steps.

    The largest of them, the steps being those from the two orders before: what is left of a
    smooth f is no noise, and no residual tells of tails that no point has seen.
    """
    weights = task.data.effective_weights
    left = (held_out.values - weighted_mean(held_out.values, weights))[:, 0]
    spread = float(weights @ left**2 / weights.sum() ** 2)
    jackknife = float(held_out.jackknife[0])
    variance = max(regression.posterior.variance[0], spread, jackknife**2)
    before = best.before
    for _ in range(STEPS):
        if before is None:
            break
        step = regression.posterior.theta0[0] - task.selected(before).posterior.theta0[0]
        # The error is taken to have fallen from that step by the root of what the residuals have.
        if before.error > best.error:
            variance = max(variance, step**2 * np.sqrt(best.error / before.error))
        before = before.before
    return variance


@dataclass(frozen=True, eq=False)
class ChaosModel:
    """The selected polynomials at any points, in the units of f.

    Attributes:
        outputs: from standard units to those of f.
        regressions: of every output that varies.
    """

    outputs: Outputs
    regressions: Sequence[_Regression]

    @float64
    def __call__(self, points: Points, return_std: bool) -> tuple[Array, Array | None]:
        """Mean (n, k) and, where asked for, the standard deviation of the posterior."""
        means, squares = [], []
        for each in self.regressions:
            phi = each.chaos(points.x, each.indices)
            means.append(each.posterior.theta0 + phi @ each.posterior.weights)
            mean, total = each.factored.feature_mean, each.factored.total
            if return_std:
                squares.append(each.posterior.predicted_variance(phi, mean, total))
        mean = self.outputs.in_units(np.concatenate(means, axis=1))
        if not return_std:
            return mean, None
        return mean, self.outputs.spread_in_units(np.sqrt(np.concatenate(squares, axis=1)))
