"""Outputs whose events are counted: no model is fitted to them, and they join the answer after.

A fit to the others is cheaper without them, and its std has more degrees of freedom.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from steinquad._types import Array
from steinquad.binomial import Binomial
from steinquad.checking.standard_error import weighted_mean
from steinquad.checking.tally import Tally
from steinquad.dataset import Dataset
from steinquad.fit import (
    NOTHING_TOLD,
    Check,
    ConstantModel,
    Fit,
    HeldOutValues,
    Model,
    Status,
    heaviest_share,
    left_open,
)
from steinquad.points import Points

__all__ = [
    "Counted",
    "beside_averages",
    "check_with_counted",
    "fit_of_counted",
    "sentences_of_values",
    "told_of_values",
    "with_counted",
]

MOST_NAMED = 3  # outputs in a sentence
BY_OUTPUT = ("weight", "mean", "std")  # columns of a row of candidates


def fit_of_counted(few: Binomial, data: Dataset) -> Fit:
    """The average with its limits, where no output has anything to fit.

    Args:
        few: applies to every output that varies.
        data: of which the outputs are.
    """
    mean = np.where(few.applies, few.mean, data.fx[0])
    std = np.where(few.applies, few.std, 0.0)
    fit = Fit(
        theta0=mean,
        covariance=np.diag(std**2),
        model=ConstantModel(mean, std),
        fitted=np.tile(mean, (data.n, 1)),
        binomial=few,
    )
    code = "constant" if data.constant.all() else "converged"
    return replace(fit, status=Status(code, "; ".join(_sentences(few, data))))


def with_counted(fit: Fit, few: Binomial, data: Dataset) -> Fit:
    """A fit to the other outputs as one of all: those that are counted have average and limits.

    Args:
        fit: of the outputs to which `few` does not apply, in their order.
        few: applies to some outputs, not to all.
        data: with all outputs.
    """
    joined = beside_averages(fit, few.applies, few.mean, few.std, data)
    return replace(
        joined,
        check=None if fit.check is None else check_with_counted(fit.check, few, data),
        candidates=tuple(_row(row, few.applies) for row in fit.candidates),
        binomial=few,
    )


def beside_averages(fit: Fit, averaged: np.ndarray, mean: Array, std: Array, data: Dataset) -> Fit:
    """A fit to the other outputs as one of all: those that are averaged have no model.

    Args:
        fit: of the outputs that are not averaged, in their order; its check is left out.
        averaged: which are, (k,).
        mean: averages, (k,), of which those that are averaged count.
        std: of these, (k,), likewise.
        data: with all outputs.
    """
    put = partial(_joined, averaged)
    covariance = np.diag(np.where(averaged, std**2, 0.0))
    covariance[np.ix_(~averaged, ~averaged)] = fit.covariance
    correction, held_out = fit.correction, fit.held_out
    if held_out is not None:  # under an average, each point is itself
        values = put(held_out.values, mean)
        values[:, averaged] = data.fx[:, averaged]
        held_out = HeldOutValues(values, put(held_out.theta0, mean))
    history = dict(fit.history)
    if "theta0" in history:
        history["theta0"] = put(history["theta0"], mean)
    return replace(
        fit,
        theta0=put(fit.theta0, mean),
        covariance=covariance,
        model=None if fit.model is None else Counted(averaged, mean, std, fit.model),
        fitted=None if fit.fitted is None else put(fit.fitted, mean),
        correction=None if correction is None else put(correction, np.zeros_like(mean)),
        held_out=held_out,
        check=None,
        history=history,
    )


def check_with_counted(check: Check, few: Binomial, data: Dataset) -> Check:
    """A check of the other outputs as one of all; it is no opinion on what is counted.

    Args:
        check: of the outputs to which `few` does not apply.
        few: applies to the others, whose average is that of all points.
        data: with all outputs.
    """
    mean = few.mean
    put = partial(_joined, few.applies)
    weights = data.effective_weights
    spread = np.sqrt(weighted_mean((data.fx - mean) ** 2, weights))
    return replace(
        check,
        mean=put(check.mean, mean),
        std=put(check.std, few.std),
        residual=put(check.residual, spread),
        predicted=None if check.predicted is None else put(check.predicted, mean),
    )


def told_of_values(status: Status, few: Binomial | None, data: Dataset) -> Status:
    """The status, with what outputs leave open that do not vary or have few events.

    Args:
        status: of the answer so far; where it is constant it tells so already.
        few: which outputs are counted, if any.
        data: with all outputs.
    """
    if status.code == "constant":
        return status
    return Status(status.code, "; ".join([status.message, *_sentences(few, data)]))


@dataclass(frozen=True, eq=False)
class Counted:
    """A model of all outputs: constants where they are counted or averaged, a model of the others.

    Attributes:
        applies: which outputs are constants, (k,).
        mean: their averages, (k,).
        std: of these, (k,).
        others: the model of the other outputs, in their order.
    """

    applies: np.ndarray
    mean: Array
    std: Array
    others: Model

    def __call__(self, points: Points, return_std: bool) -> tuple[Array, Array | None]:
        """The model at the points, (n, k), and where asked for its own standard deviation."""
        mean, std = self.others(points, return_std)
        everywhere = _joined(self.applies, mean, self.mean)
        return everywhere, None if std is None else _joined(self.applies, std, self.std)


def _joined(applies: np.ndarray, others: Array, counted: Array) -> Array:
    """Numbers of the other outputs (..., k - c) with those that are counted, (k,) of which c are.

    In the order of the outputs, (..., k).
    """
    every = np.tile(counted, (*others.shape[:-1], 1))
    every[..., ~applies] = others
    return every


def _row(row: Mapping[str, Any], applies: np.ndarray) -> Mapping[str, Any]:
    """A candidate has nothing to say of outputs that it was not asked about: NaN."""
    nothing = np.full(len(applies), np.nan)
    asked = int(np.sum(~applies))
    wide = {
        key: _joined(applies, np.asarray(row[key], dtype=np.float64), nothing)
        for key in BY_OUTPUT
        if row.get(key) is not None and np.shape(row[key]) == (asked,)
    }
    return {**row, **wide}


def _sentences(few: Binomial | None, data: Dataset) -> list[str]:
    return sentences_of_values(
        few,
        Tally.of(data.fx),
        heaviest_share(data),
        dependent=data.groups is not None,
        weighted=data.weights is not None,
    )


def sentences_of_values(
    few: Binomial | None,
    tally: Tally,
    heaviest: float | None,
    *,
    dependent: bool = False,
    weighted: bool = False,
) -> list[str]:
    """One for outputs with one value, one for those that are 0 or 1 only, one for few events.

    Args:
        few: which outputs are counted, if any.
        tally: of the values of all outputs.
        heaviest: see `steinquad.fit.left_open`.
        dependent: whether draws depend on each other, so that they are worth fewer.
        weighted: whether some points count more than others.
    """
    same, outputs = tally.constant, len(tally.low)
    counted = np.zeros_like(same) if few is None else few.applies
    told = []
    for value in (0.0, 1.0):
        which = np.flatnonzero(same & counted & (tally.low == value))
        if few is not None and len(which):
            told.append(
                f"{_named(which, outputs)} {value:g} "
                f"{left_open(tally.n, float(few.heaviest[which].max()))}; the limits are Clopper "
                "and Pearson's, for an indicator, which is 0 or 1: what any other f is elsewhere "
                "no std can say"
            )
    which = np.flatnonzero(same & ~counted)
    if len(which):
        proven = left_open(tally.n, heaviest)
        told.append(f"{_named(which, outputs)} constant {proven}, {NOTHING_TOLD}")
    which = np.flatnonzero(counted & ~same)
    if few is not None and len(which):
        told.append(_events(few, tally, which, dependent, weighted))
    return told


def _events(
    few: Binomial, tally: Tally, which: np.ndarray, dependent: bool, weighted: bool
) -> str:
    """How few events there are, of the output that has the fewest of them."""
    mean = few.share > 0.5
    rare = np.where(mean, few.low, few.high)
    counts = np.where(mean, tally.at_low, tally.at_high)
    j = int(which[np.argmin(counts[which])])
    told = f"{_named([j], len(mean))} {rare[j]:g} at {counts[j]} of {tally.n} points"
    if dependent and (size := round(few.size[j])) < tally.n:
        told += f", which are worth {size} independent ones"
    if weighted:
        told += f" with {min(few.share[j], 1 - few.share[j]):.2g} of the weight"
    more = len(which) - 1
    told += f", and {more} more output{'s' * (more > 1)} likewise" * (more > 0)
    told += ": the limits are Clopper and Pearson's"
    if not tally.indicator[which].all():
        told += ", for an f that has no third value"
    return f"{told}; for narrower ones add points, or integrate what is behind the threshold"


def _named(which: Sequence[int] | np.ndarray, outputs: int) -> str:
    """The outputs and the verb that follows."""
    if outputs == 1:
        return "f is"
    names = ", ".join(str(j) for j in which[:MOST_NAMED])
    if len(which) > MOST_NAMED:
        names += f" and {len(which) - MOST_NAMED} more"
    return f"output {names} of f is" if len(which) == 1 else f"outputs {names} of f are"
