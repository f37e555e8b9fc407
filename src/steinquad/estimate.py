"""The answer of every method: the expectation with its uncertainty, and how it was found."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from steinquad._types import Array, as_flag, as_fraction, as_points
from steinquad.binomial import Binomial
from steinquad.candidates import read_candidates
from steinquad.dataset import Dataset
from steinquad.errors import InputError
from steinquad.estimate_html import ShownAnswer, to_html
from steinquad.fit import Check, Fit, Status
from steinquad.measures.base import Measure
from steinquad.points import Space

__all__ = ["Estimate"]


@dataclass(frozen=True, eq=False)
class Estimate:
    """An expectation and its uncertainty: the answer alone; `fit` has the model behind it.

    Attributes:
        mean: a float for one integrand, (k,) for several.
        std: likewise; what an error bar should show.
        method: name of the method, and where it chose another, of that.
        status: how it went, a word and a sentence.
        n: number of points.
        covariance: of the means, (k, k).
        dof: degrees of freedom of the std; `interval` uses Student's t for few.
        stats: what method and design have to report.
        check: the cross-fitted second opinion, where one was asked for or the method makes it.
        candidates: a row for every method that was considered.
        values: of f at the points that were fitted, (n, k); of files some rows.
        fit: the model of f, its integral and its training.
        space: what completes points for the model.
        binomial: limits of outputs that take two values, one of them seldom: their intervals are
            not symmetric.
    """

    mean: Any
    std: Any
    method: str
    status: Status
    n: int
    covariance: Array = field(repr=False)
    values: Array = field(repr=False)
    fit: Fit = field(repr=False)
    space: Space = field(repr=False)
    dof: float = field(default=np.inf, repr=False)
    stats: Mapping[str, Any] = field(default_factory=dict, repr=False)
    check: Check | None = field(default=None, repr=False)
    candidates: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    binomial: Binomial | None = field(default=None, repr=False)

    @classmethod
    def of(cls, fit: Fit, data: Dataset, measure: Measure | None, *, method: str) -> "Estimate":
        """The answer of a fit to these data, with floats for one integrand given as (n,).

        Args:
            fit: with its final covariance, check and status.
            data: that it was fitted to.
            measure: what they were drawn from, when known; completes points in `predict`.
            method: name of the method.
        """
        mean, std, check = fit.mean, fit.std, fit.check
        if data.scalar:
            mean, std = float(mean[0]), float(std[0])
            if check is not None:
                check = replace(check, mean=float(check.mean[0]), std=float(check.std[0]))
        return cls(
            mean=mean,
            std=std,
            method=f"{method}: {fit.chosen}" if fit.chosen else method,
            status=fit.status,
            n=data.n,
            covariance=fit.covariance,
            values=data.fx,
            fit=fit,
            space=Space(data, measure),
            dof=fit.dof,
            stats=fit.stats,
            check=check,
            candidates=fit.candidates,
            binomial=fit.binomial,
        )

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Central interval of the given level: normal, or Student's t at small samples.

        Of an output with two values, one of them seldom, by Clopper and Pearson.

        Args:
            level: probability that it should cover the true expectation.

        Returns:
            Lower and upper end, floats for one integrand, else (k,) each; outputs one by one, not
            jointly.
        """
        level = as_fraction("level", level)
        # With infinite degrees of freedom this is the quantile of the normal distribution.
        half = stdtrit(self.dof, 0.5 + level / 2) * self.std
        low, high = np.atleast_1d(self.mean - half), np.atleast_1d(self.mean + half)
        if self.binomial is not None:
            ends = zip((low, high), self.binomial.limits(level), strict=True)
            low, high = (np.where(self.binomial.applies, exact, end) for end, exact in ends)
        return (float(low[0]), float(high[0])) if isinstance(self.mean, float) else (low, high)

    def predict(self, x: Any, score: Any = None, *, return_std: bool = False) -> Any:
        """The fitted model of f at new points, (n,) or (n, k).

        Args:
            x: points, (n, d).
            score: gradient of the log density there; found by itself when a measure was given.
            return_std: also return the model's own standard deviation.

        Returns:
            Predictions, or a pair of predictions and standard deviations with `return_std`.
        """
        return_std = as_flag("return_std", return_std)
        if self.fit.model is None:
            raise InputError(
                f"the estimate by {self.method} carries no model of f to predict with."
            )
        points = self.space.points(
            as_points("x", x), None if score is None else as_points("score", score)
        )
        with np.errstate(over="ignore", invalid="ignore"):  # far out, where a model overflows
            mean, std = self.fit.predict(points, return_std=return_std)
        wrong = np.flatnonzero(~np.isfinite(mean).all(axis=1))
        if len(wrong):
            raise InputError(
                f"x row {wrong[0]} lies where the model of f has no finite value ({len(wrong)} "
                "rows do); predict nearer to the points that it was fitted to."
            )
        if isinstance(self.mean, float):
            mean, std = mean[:, 0], None if std is None else std[:, 0]
        return (mean, std) if return_std else mean

    def with_status(self, status: Status) -> "Estimate":
        """The same with another status, as for a tolerance that was not reached."""
        return replace(self, status=status)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON.

        Returns:
            Mean, std, 95 % interval, method, status and statistics; for several integrands also
            the covariance. `dof` is None where the interval is normal; `binomial` says of which
            outputs the limits are those of few events, and `constant` which took one value at all
            points. The model and the values are left out, and so is what a candidate does not
            know.
        """
        constant = np.ptp(self.values, axis=0) == 0
        if len(self.values) < self.n:  # of files: an output may vary at other rows
            constant &= ~(np.diag(self.covariance) > 0)
            if self.binomial is not None:
                one_value = np.isin(self.binomial.share, (0.0, 1.0))
                constant = np.where(self.binomial.applies, one_value, constant)
        counted = np.zeros_like(constant) if self.binomial is None else self.binomial.applies
        record = {
            "mean": self.mean,
            "std": self.std,
            "interval95": self.interval(0.95),
            "dof": self.dof if np.isfinite(self.dof) else None,
            "binomial": counted,
            "constant": constant,
            "method": self.method,
            "status": self.status.code,
            "message": self.status.message,
            "n": self.n,
        }
        if isinstance(self.mean, float):
            record |= {"binomial": counted[0], "constant": constant[0]}
        else:
            record["covariance"] = self.covariance
        if self.check is not None:
            record["check"] = {k: v for k, v in vars(self.check).items() if k != "predicted"}
        if self.candidates:
            record["candidates"] = [_known(row) for row in self.candidates]
        return _plain(record | {"stats": self.stats})

    def plot(self, **kwargs: Any) -> Any:
        """Values against predictions, posterior of the integral, loss; see `plotting.diagnose`.

        Args:
            **kwargs: passed on. Needs matplotlib, which is optional.
        """
        from steinquad.plotting import diagnose  # matplotlib is optional

        return diagnose(self, **kwargs)

    def __str__(self) -> str:
        return self.describe(self._names())

    def _repr_html_(self) -> str:
        """What a notebook shows: answer, interval, status, and the table of the candidates."""
        return to_html(
            f"{self.method}, n = {self.n}",
            list(self._answers(self._names())),
            (self.status.code, self.status.message),
            read_candidates(self.candidates, np.size(self.mean)),
        )

    def _names(self) -> list[str]:
        count = np.size(self.mean)
        return [f"f{j}" for j in range(count)] if count > 1 else ["f"]

    def describe(self, outputs: Iterable[str]) -> str:
        """The answer in a few lines, as `print` shows it, with the names of the outputs.

        Means have as many digits as their std is worth.

        Args:
            outputs: a name for each output, in their order.
        """
        lines = [f"{self.method}, n = {self.n}"]
        for name, mean, std, interval in self._answers(outputs):
            lines.append(f"  E[{name}] = {mean} +- {std}   95 %: {interval}")
        if self.check is not None:
            lines.append(
                f"  cross-fitted ({self.check.folds} folds): {self.check.distance:.1f} standard "
                "errors away"
            )
        return "\n".join([*lines, f"  {self.status}"])

    def _answers(self, outputs: Iterable[str]) -> Iterator[ShownAnswer]:
        """One for each output, with as many digits as the std is worth."""
        low, high = (np.atleast_1d(side) for side in self.interval(0.95))
        means, stds = np.atleast_1d(self.mean), np.atleast_1d(self.std)
        for name, m, s, a, b in zip(outputs, means, stds, low, high, strict=True):
            # Two digits beyond the first that the std leaves uncertain.
            plain = s == 0 or m == 0 or not (np.isfinite(s) and np.isfinite(m / s))
            digits = 6 if plain else int(np.clip(np.log10(abs(m) / s) + 3, 3, 15))
            interval = f"[{a:.{digits}g}, {b:.{digits}g}]"
            yield ShownAnswer(name, f"{m:.{digits}g}", f"{s:.2g}", interval)


def _known(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of candidates with None for numbers that are missing: JSON has no NaN."""
    return {key: _without_nan(_plain(value)) for key, value in row.items()}


def _without_nan(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and np.isnan(value) else value


def _plain(value: Any) -> Any:
    """NumPy values as Python's, in whatever they are wrapped."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
