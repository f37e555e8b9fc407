"""Control variates for many outputs at once, each with the features that held-out draws prefer.

Draws are held out in consecutive blocks, and features are fitted to the complement of each. What
is left of an output, `f - Phi w` with Phi and w of the other blocks, has the mean of f and is
averaged; its autocorrelation is in the standard error. No features at all, the plain mean, is a
candidate too.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from steinquad._types import Array
from steinquad.chains.identity import least_effective_size
from steinquad.chains.regression import SPARSE, candidates
from steinquad.checking.folds import folds_of
from steinquad.checking.held_out import residuals
from steinquad.checking.standard_error import (
    FALSE_ALARM,
    ROUNDING,
    robust_standard_error,
    standard_error,
    tail_freedom,
)
from steinquad.dataset import Dataset

__all__ = ["PLAIN", "Expectation", "Expectations", "average", "improve", "plain"]

FOLDS = 5
FEWEST = 20  # draws from which features are tried
# Sound features imitate a constant by their number over that of independent draws; up to so many
# times that is believed, with some more features for the chance of few.
IMITATION, FEW_FEATURES = 3.0, 5
LEAST_FREEDOM = 10.0  # of residuals, by their kurtosis
PLAIN = "plain mean"
CLEARLY = 0.95  # of the standard error of fewer features, below which more are used


class Expectation(NamedTuple):
    """The fields of `Expectations` for one output."""

    plain: float
    mcse: float
    mean: float
    std: float
    dof: float
    method: str
    refused: str


class Expectations(NamedTuple):
    """The plain and the better expectation of k outputs, (k,) each.

    Attributes:
        plain: average of the draws.
        mcse: its standard error.
        mean: the better answer.
        std: its standard error.
        dof: degrees of freedom of `std`.
        method: by which features, or other method, each better answer is.
        refused: why a correction was not made that held-out draws prefer; empty for most.
    """

    plain: Array
    mcse: Array
    mean: Array
    std: Array
    dof: Array
    method: tuple[str, ...]
    refused: tuple[str, ...]

    def each(self) -> list[Expectation]:
        """One value for each output, in the order of the outputs, with numbers of Python."""
        columns = (np.asarray(column).tolist() for column in self)
        return [Expectation(*fields) for fields in zip(*columns, strict=True)]


def plain(data: Dataset) -> Expectations:
    """Averages of the draws, with standard errors that count their autocorrelation.

    Args:
        data: draws in chains (`groups`), with the outputs as `fx`; scores are not read.

    Returns:
        The same answer as plain and as better one; outputs that do not vary have no error.
    """
    constant = data.constant
    mean, std, dof = average(data.fx, data)
    std[constant] = 0.0
    names = tuple("constant" if c else PLAIN for c in constant)
    return Expectations(mean, std, mean, std, dof, names, ("",) * len(names))


def improve(data: Dataset, sparse: int = SPARSE) -> Expectations:
    """The best of the plain mean and Stein polynomials of every order, for every output.

    Args:
        data: draws with scores, in chains (`groups`), with the outputs as `fx`.
        sparse: products of two coordinates for each parameter, where all would be too many.

    Returns:
        For every output its average and the one of what the chosen features leave of it.
    """
    before = plain(data)
    varying = np.flatnonzero(before.mcse > 0)
    if data.n < FEWEST or not len(varying):
        return before
    best = _Best(data, data.fx[:, varying], before.mcse[varying], before.dof[varying])
    _try_features(data, best, sparse)
    refused = np.full(len(before.method), "", dtype=object)
    refused[varying] = np.where(best.name == PLAIN, best.refused, "")
    before = before._replace(refused=tuple(refused))
    changed = np.flatnonzero(best.name != PLAIN)  # the others keep the plain answer to the bit
    if not len(changed):
        return before
    at = varying[changed]
    mean, std, dof = before.mean.copy(), before.std.copy(), before.dof.copy()
    mean[at], error, dof[at] = average(best.residuals[:, changed], data)
    error = np.maximum(error * best.spread[changed], best.error[changed])
    std[at] = np.hypot(error, best.truncation[changed])
    method = np.array(before.method, dtype=object)
    method[at] = best.name[changed]
    return before._replace(mean=mean, std=std, dof=dof, method=tuple(method))


def average(values: Array, data: Dataset) -> tuple[Array, Array, Array]:
    """Mean, standard error and its degrees of freedom of values at the draws, (n, k) -> (k,) each.

    Every column is looked at by itself: one of heavy tails does not widen the others.
    """
    weights = data.effective_weights
    columns = (values[:, [j]] for j in range(values.shape[1]))
    errors = [standard_error(column, weights, data.groups) for column in columns]
    std = np.array([float(error[0]) for error, _ in errors])
    return weights @ values / weights.sum(), std, np.array([dof for _, dof in errors])


def _try_features(data: Dataset, best: "_Best", sparse: int) -> None:
    """Let every order of features compete that the draws can tell from a constant."""
    assert data.score is not None
    size = least_effective_size(data.score, data)
    blocks = folds_of(data, FOLDS, seed=0)  # chains are cut in their order
    held_in = min(data.n - len(block) for block in blocks)
    refused = ""
    for candidate in candidates(data, held_in, sparse):
        fits = [candidate.fit_outside(data, best.values, block) for block in blocks]
        for order, name in candidate.orders.items():
            imitation = float(np.mean([fit.imitation(order) for fit in fits]))
            if imitation > IMITATION * (fits[0].sizes[order] + FEW_FEATURES) / size:
                refused = "a correction was refused: the draws take its features for a constant"
                continue
            ridges = candidate.ridges(order)
            predictions = ([fit.prediction(order, ridge) for fit in fits] for ridge in ridges)
            left = (residuals(best.values, blocks, each) for each in predictions)
            best.compare(name, np.sqrt(1 + imitation), left)
    if best.before is None:  # not one order could be tried
        best.refused[:] = refused


class _Best:
    """What is left of every output after the best features so far, (n, k), and its error."""

    def __init__(self, data: Dataset, values: Array, mcse: Array, dof: Array) -> None:
        self.weights = data.effective_weights
        self.values = values
        self.residuals = values.copy()
        self.error = robust_standard_error(values, self.weights)[0]
        self.least = ROUNDING * np.abs(values).max(axis=0)
        self.name = np.full(values.shape[1], PLAIN, dtype=object)
        self.spread = np.ones(values.shape[1])
        self.truncation = np.zeros(values.shape[1])
        # A fit that moves the average by more than chance explains is not believed, nor one
        # whose residuals are large at a handful of draws only.
        self.farthest = stdtrit(dof, 1 - FALSE_ALARM / 2) * mcse
        self.freedom = np.minimum(tail_freedom(values, self.weights), LEAST_FREEDOM)
        self.mcse, self.refused = mcse, np.full(values.shape[1], "", dtype=object)
        self.before: tuple[Array, Array] | None = None

    def compare(self, name: str, spread: float, fits: Iterable[Array]) -> None:
        """Take the fits of a further order for the outputs where one of them is better.

        Args:
            name: of the order.
            spread: factor by which errors of the weights widen the standard error.
            fits: what each leaves of the outputs, (n, k).
        """
        total = self.weights.sum()
        average = self.weights @ self.values / total
        means, errors = average.copy(), np.full_like(self.error, np.inf)
        for left in fits:
            error = spread * robust_standard_error(left, self.weights)[0]
            error = np.maximum(error, self.least)
            mean = self.weights @ left / total
            closer = error < errors
            means[closer], errors[closer] = mean[closer], error[closer]
            sound = tail_freedom(left, self.weights) >= self.freedom
            near = np.abs(mean - average) <= self.farthest
            smaller = (error < CLEARLY * self.error) & sound
            for j in np.flatnonzero(smaller & ~near & (self.refused == "")):
                steps = abs(mean[j] - average[j]) / self.mcse[j]
                self.refused[j] = (
                    f"a correction by {name} was refused: it is {steps:.1f} standard errors away"
                )
            better = smaller & near
            self.residuals[:, better], self.error[better] = left[:, better], error[better]
            self.name[better], self.spread[better] = name, spread
            self.truncation[better] = self._truncation(mean, error)[better]
        self.before = means, errors

    def _truncation(self, mean: Array, error: Array) -> Array:
        """For the orders left out, (k,): the last step, fallen as the residuals have.

        No residual tells of tails that no draw has seen, but the step from the order before does.
        """
        if self.before is None:
            return np.zeros_like(mean)
        mean_before, error_before = self.before
        fallen = np.minimum(error / np.maximum(error_before, self.least), 1.0)
        return np.abs(mean - mean_before) * fallen
