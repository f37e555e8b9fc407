"""Evaluations of an integrand: points, values and, where known, scores."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinquad._types import Array, as_finite, as_points
from steinquad.errors import InputError
from steinquad.support import Support

__all__ = ["Dataset", "as_weights", "check_inside"]

SMALLEST_SPREAD, LARGEST_SPREAD = 1e-60, 1e60  # of f: fourth powers are formed


@dataclass(frozen=True, eq=False)
class Dataset:
    """Points that somebody already has, with the integrand's values there.

    Args:
        x: points, (n, d) or (n,) for d = 1; arrays or data frames.
        fx: values, (n,) or (n, k) for k integrands.
        score: gradient of the log density at the points, like x; needed by every Stein method
            unless a measure is given.
        support: where the measure lives: None for all of R^d, `{coordinate: (low, high)}` with
            None for an open side, or a numpyro constraint.
        weights: importance weights of the points, (n,), up to a constant.
        names: of the coordinates; by default a data frame's columns, or x0, x1, ...
        noise: standard deviation of the error in the values: a number, (n,) or (n, k); None for
            values that are exact.
        groups: which points depend on each other: the Markov chain, or the replicate of a
            randomised quasi-Monte Carlo design, that each belongs to, (n,), points of a chain in
            their order. None for independent draws.
        sampled: False for points that are not a sample of the measure, such as a grid; no average
            over them is then taken for an expectation.

    >>> data = Dataset([0.1, -0.3, 0.2], [1.0, 2.0, 3.0], score=[-0.1, 0.3, -0.2])
    >>> data.n, data.dim, data.outputs
    (3, 1, 1)
    """

    x: Array
    fx: Array
    score: Array | None = None
    support: Support | None = None
    weights: Array | None = None
    names: tuple[str, ...] = ()
    noise: Array | None = None
    groups: np.ndarray | None = None
    sampled: bool = True
    scalar: bool = True

    def __init__(
        self,
        x: Any,
        fx: Any,
        score: Any = None,
        support: Any = None,
        weights: Any = None,
        names: Sequence[str] | None = None,
        noise: Any = None,
        groups: Any = None,
        sampled: bool = True,
    ) -> None:
        points = as_points("x", x)
        values = as_finite("fx", fx)
        n, dim = points.shape
        if n < 2:
            raise InputError(f"x has {n} point{'s' * (n != 1)}; give at least 2.")
        if dim == 0:
            raise InputError("x has no columns; give points of shape (n, d).")
        if len(values) != n or values.size == 0:
            raise InputError(
                f"fx has shape {values.shape} but x has {n} points; "
                f"pass values of shape ({n},) or ({n}, k)."
            )
        spread = np.ptp(values.reshape(n, -1), axis=0)
        extreme = spread[(spread > 0) & ((spread < SMALLEST_SPREAD) | (spread > LARGEST_SPREAD))]
        if len(extreme):
            raise InputError(
                f"fx varies by {extreme[0]:.1e}, whose powers float64 cannot hold; "
                "multiply f by a constant and divide the answer by it."
            )
        names = _column_names(x, dim) if names is None else tuple(names)
        box = None if support is None else Support.parse(support, dim, names)
        if box is not None:
            check_inside(points, box)
        set_field = object.__setattr__
        set_field(self, "x", points)
        set_field(self, "fx", values.reshape(n, -1))
        set_field(self, "scalar", values.ndim == 1)
        set_field(self, "names", names)
        set_field(self, "score", None if score is None else _like("score", score, points))
        set_field(self, "support", box)
        set_field(self, "weights", None if weights is None else as_weights(weights, n))
        k = values.reshape(n, -1).shape[1]
        set_field(self, "noise", None if noise is None else _noise(noise, n, k))
        set_field(self, "groups", None if groups is None else _groups(groups, n))
        set_field(self, "sampled", bool(sampled))

    def completed(self, score: Array, support: Support, names: Sequence[str]) -> "Dataset":
        """The same evaluations with what a measure knows of them."""
        fx = self.fx[:, 0] if self.scalar else self.fx
        return Dataset(
            self.x,
            fx,
            score,
            support,
            self.weights,
            names,
            self.noise,
            self.groups,
            self.sampled,
        )

    def take(self, rows: np.ndarray) -> "Dataset":
        """Some of the evaluations, in the order of `rows`; what was checked is not again."""
        part = copy.copy(self)
        for name in ("x", "fx", "score", "weights", "noise", "groups"):
            array = getattr(self, name)
            object.__setattr__(part, name, None if array is None else array[rows])
        return part

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.x)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.x.shape[1]

    @property
    def outputs(self) -> int:
        """Number of integrands."""
        return self.fx.shape[1]

    @property
    def constant(self) -> np.ndarray:
        """Which outputs do not vary at all, (k,)."""
        return np.ptp(self.fx, axis=0) == 0

    @property
    def effective_weights(self) -> Array:
        """Weights that add up to the effective sample size; ones where none were given."""
        if self.weights is None:
            return np.ones(self.n)
        w = self.weights / self.weights.sum()
        return w / np.sum(w**2)


def check_inside(x: Array, support: Support) -> None:
    """Refuse points outside the support, naming the first."""
    inside = support.contains(x)
    if not inside.all():
        row = int(np.flatnonzero(~inside)[0])
        raise InputError(
            f"x has {int((~inside).sum())} points outside the support {support} "
            f"(first: row {row}, {np.array2string(x[row], precision=4)}); "
            "remove them or correct the support."
        )


def _column_names(x: Any, dim: int) -> tuple[str, ...]:
    columns: Sequence[Any] | None = getattr(x, "columns", None)
    if columns is None or len(columns) != dim:
        return tuple(f"x{i}" for i in range(dim))
    return tuple(str(column) for column in columns)


def _like(name: str, values: Any, points: Array) -> Array:
    array = as_points(name, values)
    if array.shape != points.shape:
        raise InputError(
            f"{name} has shape {array.shape} but the points have shape {points.shape}; "
            "pass one gradient of the log density for each point."
        )
    return array


def as_weights(weights: Any, n: int) -> Array:
    """Weights of n points: >= 0, at least two of them positive."""
    array = as_finite("weights", weights, ndim=(1,))
    if len(array) != n:
        raise InputError(f"weights has {len(array)} entries but x has {n} points.")
    if array.min() < 0 or np.count_nonzero(array) < 2:
        raise InputError(
            f"weights has a least value of {array.min():g} and {np.count_nonzero(array)} that are "
            "not zero; pass numbers >= 0, at least two of them positive."
        )
    return array


def _noise(noise: Any, n: int, k: int) -> Array:
    array = np.asarray(as_finite("noise", noise, ndim=(0, 1, 2)))
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim == 2 and (len(array) != n or array.shape[1] not in (1, k)):
        raise InputError(
            f"noise has shape {np.shape(noise)} but fx has {n} points and {k} "
            f"output{'s' * (k != 1)}; pass a number, ({n},) or ({n}, {k})."
        )
    if array.min() < 0:
        raise InputError("noise has negative entries; give standard deviations >= 0.")
    return np.broadcast_to(array, (n, k)).copy()


def _groups(groups: Any, n: int) -> np.ndarray:
    array = np.asarray(groups)
    if array.shape != (n,):
        raise InputError(f"groups has shape {array.shape} but x has {n} points; pass ({n},).")
    _, first, labels = np.unique(array, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))  # numbered by their first appearance
    labels = rank[labels]
    if np.any(np.diff(labels) < 0):
        raise InputError("groups is not contiguous; order the points group by group.")
    return labels
