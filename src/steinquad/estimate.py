"""The answer of every method: the expectation with its uncertainty, and how it was found."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import stdtrit

from steinquad._types import Array, as_points
from steinquad.errors import InputError

__all__ = ["Check", "Estimate", "Status"]

StatusCode: TypeAlias = Literal[
    "converged", "constant", "max_steps", "max_n", "suspect", "not_finite"
]
# predict(x, score, return_std) -> mean (n, k), std (n, k) or None
Predictor: TypeAlias = Callable[[Array, Array | None, bool], tuple[Array, Array | None]]


@dataclass(frozen=True)
class Status:
    """How it went: a word to branch on and a sentence to read.

    `converged`: all is well. `constant`: f does not vary, the answer is exact. `max_steps`:
    training ended before it settled. `max_n`: a tolerance was not reached. `suspect`: a check
    failed, do not trust the answer before reading the sentence. `not_finite`: numerical failure.
    """

    code: StatusCode
    message: str

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


@dataclass(frozen=True, eq=False)
class Check:
    """A second opinion by cross-fitting: every point judged by a fit that has not seen it.

    Attributes:
        mean: the held-out corrected estimate, unbiased for independent draws.
        std: its standard error, from the held-out residuals alone.
        folds: how many parts the data were split into.
        dof: degrees of freedom of `std`.
        residual: root mean square of the held-out residuals of each output, (k,).
        distance: largest difference between the two estimates, in units of `std`.
        predicted: what the fits say of the points that they have not seen, (n, k); NaN where none.
    """

    mean: Any
    std: Any
    folds: int
    dof: float
    residual: Array
    distance: float
    predicted: Array | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Estimate:
    """An expectation and its uncertainty.

    `mean` and `std` are floats for one integrand and arrays (k,) for several; `covariance` is then
    (k, k). `stats` holds what the method has to report, `history` the loss and theta0 at every
    training step, `check` the cross-fitted second opinion where one was asked for, and
    `candidates` a row for every method that was considered.
    """

    mean: Any
    std: Any
    method: str
    status: Status
    n: int
    covariance: Array = field(repr=False)
    dof: float = field(default=np.inf, repr=False)
    stats: Mapping[str, Any] = field(default_factory=dict, repr=False)
    history: Mapping[str, Array] = field(default_factory=dict, repr=False)
    values: Array | None = field(default=None, repr=False)
    fitted: Array | None = field(default=None, repr=False)
    check: Check | None = field(default=None, repr=False)
    candidates: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    predictor: Predictor | None = field(default=None, repr=False)
    # Integral of what `predict` returns; differs from the mean where that is corrected.
    _model_mean: Array | None = field(default=None, repr=False)
    _state: Any = field(default=None, repr=False)  # what a method needs to start from here

    @classmethod
    def build(cls, mean: Array, covariance: Array, *, scalar: bool, **fields: Any) -> "Estimate":
        """From a mean (k,) and a covariance (k, k); floats for one integrand given as (n,)."""
        mean = np.asarray(mean, dtype=np.float64)
        covariance = np.asarray(covariance, dtype=np.float64)
        std = np.sqrt(np.diag(covariance))
        fields.setdefault("_model_mean", mean)
        if scalar:
            return cls(mean=float(mean[0]), std=float(std[0]), covariance=covariance, **fields)
        return cls(mean=mean, std=std, covariance=covariance, **fields)

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Central interval of the given level: normal, or Student's t at small samples."""
        if not 0 < level < 1:
            raise InputError(f"level is {level!r}; give a probability between 0 and 1.")
        half = stdtrit(self.dof, 0.5 + level / 2) * self.std
        return self.mean - half, self.mean + half

    def predict(self, x: Any, score: Any = None, *, return_std: bool = False) -> Any:
        """The fitted model of f at new points, (n,) or (n, k).

        Args:
            x: points, (n, d).
            score: gradient of the log density there; found by itself when a measure was given.
            return_std: also return the model's own standard deviation.
        """
        if self.predictor is None:
            raise InputError(
                f"the estimate by {self.method} carries no model of f to predict with."
            )
        points = as_points("x", x)
        scores = None if score is None else as_points("score", score)
        mean, std = self.predictor(points, scores, return_std)
        if isinstance(self.mean, float):
            mean, std = mean[:, 0], None if std is None else std[:, 0]
        return (mean, std) if return_std else mean

    def with_status(self, status: Status) -> "Estimate":
        """The same with another status."""
        return replace(self, status=status)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        low, high = self.interval(0.95)
        plain = {
            "mean": np.asarray(self.mean).tolist(),
            "std": np.asarray(self.std).tolist(),
            "interval95": [np.asarray(low).tolist(), np.asarray(high).tolist()],
            "method": self.method,
            "status": self.status.code,
            "message": self.status.message,
            "n": self.n,
        }
        if not isinstance(self.mean, float):
            plain["covariance"] = self.covariance.tolist()
        if self.check is not None:
            own = {key: value for key, value in vars(self.check).items() if key != "predicted"}
            plain["check"] = _plain(own)
        if self.candidates:
            plain["candidates"] = _plain(self.candidates)
        return plain | {"stats": _plain(self.stats)}

    def plot(self, **kwargs: Any) -> Any:
        """Values against predictions, posterior of the integral, loss; see `plotting.diagnose`."""
        from steinquad.plotting import diagnose  # matplotlib is optional

        return diagnose(self, **kwargs)

    def __str__(self) -> str:
        count = np.size(self.mean)
        return self.describe([f"f{j}" for j in range(count)] if count > 1 else ["f"])

    def describe(self, outputs: Iterable[str]) -> str:
        """The answer in a few lines, with the names of the outputs."""
        low, high = (np.atleast_1d(side) for side in self.interval(0.95))
        means, stds = np.atleast_1d(self.mean), np.atleast_1d(self.std)
        names, lines = list(outputs), [f"{self.method}, n = {self.n}"]
        for j, (m, s) in enumerate(zip(means, stds, strict=True)):
            label = f"  E[{names[j]}]"
            plain = s == 0 or m == 0 or not np.isfinite(m / s)
            digits = 6 if plain else int(np.clip(np.log10(abs(m) / s) + 3, 3, 15))
            lines.append(
                f"{label} = {m:.{digits}g} +- {s:.2g}   "
                f"95 %: [{low[j]:.{digits}g}, {high[j]:.{digits}g}]"
            )
        if self.check is not None:
            lines.append(
                f"  cross-fitted ({self.check.folds} folds): {self.check.distance:.1f} standard "
                "errors away"
            )
        return "\n".join([*lines, f"  {self.status}"])


def _plain(value: Any) -> Any:
    """NumPy values as Python's, in whatever they are wrapped."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
