"""Evaluations of an integrand: points, values and, where known, scores."""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinquad._types import Array, ArrayLike, as_finite, as_flag, as_points, is_missing, unmasked
from steinquad.errors import InputError, shown, shown_point
from steinquad.support import Support

__all__ = ["Dataset", "as_weights", "check_inside", "still_obstacle"]

BY_POINT = ("x", "fx", "score", "weights", "noise", "groups")  # fields with a row for each point
COPIES = 0.9  # of the points, distinct ones at most, where copies are no rare coincidence
RARE_ACCIDENT = np.log(1000)  # that all points come equally often; logarithm of one in so many
FEW_VALUES = 30  # of a coordinate: too few to tell rounded values from copies
SMALLEST_STEP = 1e-10  # of rounded values, relative to the largest
SMALLEST_SHARE = 1e-9  # of the weight, on all points but one
SMALLEST_SPREAD, LARGEST_SPREAD = 1e-60, 1e60  # of f: fourth powers are formed


@dataclass(frozen=True, eq=False, init=False)
class Dataset:
    """Points that somebody already has, with the integrand's values there.

    Everything is checked once, here; `take` and `completed` check only what is new.

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
            randomized quasi-Monte Carlo design, that each belongs to, (n,), points of a chain in
            their order. None for independent draws.
        sampled: False for points that are not a sample of the measure, such as a grid; no average
            over them is then taken for an expectation.

    >>> data = Dataset([0.1, -0.3, 0.2], [1.0, 2.0, 3.0], score=[-0.1, 0.3, -0.2])
    >>> data.n, data.dim, data.outputs
    (3, 1, 1)
    """

    x: Array
    fx: Array
    score: Array | None
    support: Support | None
    weights: Array | None
    names: tuple[str, ...]
    noise: Array | None
    groups: np.ndarray | None
    sampled: bool
    scalar: bool  # whether fx came as (n,), so that answers are numbers

    def __init__(
        self,
        x: ArrayLike,
        fx: ArrayLike,
        score: ArrayLike | None = None,
        support: Any = None,
        weights: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        noise: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        sampled: bool = True,
    ) -> None:
        points = as_points("x", x)
        values = as_finite("fx", fx, at=points)
        n, dim = points.shape
        if n < 2:
            raise InputError(f"x has {n} point{'s' * (n != 1)}; give at least 2.")
        if dim == 0:
            raise InputError("x has no columns; give points of shape (n, d).")
        columns = _outputs(values, n)
        _check_spread("x", points, "use other units")
        names = _column_names(x, dim) if names is None else _names(names, dim)
        box = None if support is None else Support.parse(support, dim, names)
        if box is not None:
            check_inside(points, box)
        gradients = None if score is None else _like("score", score, points)
        if gradients is not None:
            _check_scores(gradients, points)
        # The one assignment: a frozen dataclass has no other way to set checked fields.
        vars(self).update(
            x=points,
            fx=columns,
            score=gradients,
            support=box,
            weights=None if weights is None else as_weights(weights, n),
            names=names,
            noise=None if noise is None else _noise(noise, n, columns.shape[1]),
            groups=None if groups is None else _groups(groups, n),
            sampled=as_flag("sampled", sampled),
            scalar=values.ndim == 1,
        )

    def completed(self, score: Array, support: Support, names: Sequence[str]) -> "Dataset":
        """The same evaluations with what a measure knows of them.

        Args:
            score: gradient of its log density at the points, (n, d).
            support: where it lives; the points must lie inside.
            names: of its coordinates.
        """
        check_inside(self.x, support)
        score = _like("score", score, self.x)
        return self._with(score=score, support=support, names=tuple(names))

    def take(self, rows: np.ndarray) -> "Dataset":
        """Some of the evaluations, in the order of `rows`, with all that belongs to them.

        Args:
            rows: indices; rows of a chain should keep their order, which standard errors rely on.

        Returns:
            A dataset that is not checked again; support, names and shape of the answer stay.
        """
        arrays = {name: getattr(self, name) for name in BY_POINT}
        return self._with(**{k: None if a is None else a[rows] for k, a in arrays.items()})

    def of_outputs(self, which: np.ndarray) -> "Dataset":
        """The same points with some of the outputs, which stay columns.

        Args:
            which: of the outputs, a mask (k,) or indices.
        """
        noise = None if self.noise is None else self.noise[:, which]
        return self._with(fx=self.fx[:, which], noise=noise, scalar=False)

    def with_values(self, fx: Array) -> "Dataset":
        """The same points with other values, exact ones, whose outputs stay columns.

        Args:
            fx: of any number of outputs, (n, k); not checked.
        """
        return self._with(fx=fx, noise=None, scalar=False)

    def _with(self, **changes: Any) -> "Dataset":
        """The same with some fields changed to what is known to be right."""
        # `dataclasses.replace` would run all checks of `__init__` again.
        part = copy.copy(self)
        vars(part).update(changes)
        return part

    @property
    def n(self) -> int:
        """Number of points, those of weight zero included."""
        return len(self.x)

    @property
    def dim(self) -> int:
        """Number of coordinates of a point, d."""
        return self.x.shape[1]

    @property
    def outputs(self) -> int:
        """Number of integrands, k; 1 where the values came as (n,)."""
        return self.fx.shape[1]

    def with_weight(self) -> "Dataset":
        """The points of positive weight, because others say nothing of the measure.

        Fits take the values of all points that they are given, so these have to go first. All
        stay where fewer than two would be left.
        """
        used = np.flatnonzero(self.effective_weights > 0)
        return self.take(used) if 2 <= len(used) < self.n else self

    def counted_once(self, *, continuous: bool = False) -> "Dataset":
        """Copies of an evaluation as one that weighs as much as all of them.

        Independent draws of a continuous measure never repeat, so copies are no further evidence
        and must not make an error bar smaller. Points of chains (`groups`) repeat rightly, runs
        with noise may be replicated, and other values at the same point are such runs too. Draws
        of a discrete measure repeat as well, but never all of them equally often.

        Args:
            continuous: whether the points are known to be of a measure with a density; data with
                scores are.

        Returns:
            The same data where at most a tenth of them are copies, where all coordinates are
            rounded, or where the measure may be discrete; but whatever the measure, data that are
            there several times count once.
        """
        exact = self.sampled and self.groups is None and self.noise is None
        if not exact or len(np.unique(self.x[:, 0])) > COPIES * self.n:
            return self
        known = continuous or self.score is not None
        # Independent draws with few decimals repeat.
        if not known or all(map(_rounded, self.x.T)):
            return self._there_once()
        rows = np.concatenate([self.x, self.fx], axis=1)
        _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        if not 2 <= len(first) <= COPIES * self.n:
            return self
        order = np.argsort(first)
        weights = np.bincount(which.ravel(), weights=self.weights)[order].astype(np.float64)
        equal = np.ptp(weights) == 0
        return self.take(first[order])._with(weights=None if equal else weights)

    def _there_once(self) -> "Dataset":
        """One of several equal parts of the data, as of a file that was appended to itself.

        Numbers of copies with a common divisor are no accident where points are many: of draws
        of a discrete measure they vary by about the root of their mean.
        """
        columns = [self.x, self.fx, *([] if self.weights is None else [self.weights[:, None]])]
        _, which, counts = np.unique(
            np.concatenate(columns, axis=1), axis=0, return_inverse=True, return_counts=True
        )
        times = int(np.gcd.reduce(counts))
        chances = min(times, np.sqrt(counts.mean()))  # about one in so many, for each point
        if times == 1 or (len(counts) - 1) * np.log(chances) < RARE_ACCIDENT:
            return self
        which = which.ravel()
        order = np.argsort(which, kind="stable")
        begins = np.repeat(np.cumsum(counts) - counts, counts)
        nth = np.empty(self.n, dtype=np.intp)  # of each copy among its like
        nth[order] = np.arange(self.n) - begins
        return self.take(np.flatnonzero(nth < counts[which] // times))

    @property
    def constant(self) -> np.ndarray:
        """Which outputs take one value at all points, (k,); their integral is that value."""
        return np.ptp(self.fx, axis=0) == 0

    @property
    def effective_weights(self) -> Array:
        """Weights that add up to the effective sample size, (n,); ones where none were given.

        With them sums over points count as what they are worth, `(sum w)^2 / sum w^2` in all.
        """
        if self.weights is None:
            return np.ones(self.n)
        w = self.weights / self.weights.sum()
        return w / np.sum(w**2)


def still_obstacle(data: Dataset) -> str | None:
    """Why coordinates cannot be standardized: the first with one value only, or None.

    Args:
        data: of which every method that scales its coordinates asks this.
    """
    still = np.flatnonzero(np.ptp(data.x, axis=0) == 0)
    if not len(still):
        return None
    return f"x does not vary in coordinate {data.names[still[0]]}; leave that coordinate out."


def check_inside(x: Array, support: Support) -> None:
    """Refuse points (n, d) outside the closed support with an error that names the first row.

    Args:
        x: points; those on a face are inside.
        support: of the measure.
    """
    inside = support.contains(x)
    if not inside.all():
        row = int(np.flatnonzero(~inside)[0])
        raise InputError(
            f"x has {int((~inside).sum())} points outside the support {support} "
            f"(first: row {row}, {shown_point(x[row])}); "
            "remove them or correct the support."
        )


def _outputs(values: Array, n: int) -> Array:
    """The values of n points as (n, k), refused if their powers overflow."""
    if len(values) != n or values.size == 0:
        raise InputError(
            f"fx has shape {values.shape} but x has {n} points; "
            f"pass values of shape ({n},) or ({n}, k)."
        )
    columns = values.reshape(n, -1)
    remedy = "multiply f by a constant and divide the answer by it"
    _check_spread("fx", columns, remedy)
    largest = np.abs(columns).max()
    # Values that are all the same are answered without a power of them.
    if largest > LARGEST_SPREAD**2 and np.any(columns != columns[0]):
        raise InputError(
            f"fx reaches {largest:.1e}, whose powers float64 cannot hold; {remedy}, or leave out "
            "outputs that do not vary."
        )
    return columns


def _check_spread(name: str, columns: Array, remedy: str) -> None:
    """Refuse columns (n, m) with a range whose powers overflow or vanish."""
    with np.errstate(over="ignore"):
        spread = np.ptp(columns, axis=0)
    extreme = spread[(spread > 0) & ((spread < SMALLEST_SPREAD) | (spread > LARGEST_SPREAD))]
    if len(extreme):
        raise InputError(
            f"{name} varies by {extreme[0]:.1e}, whose powers float64 cannot hold; {remedy}."
        )


def _check_scores(score: Array, points: Array) -> None:
    """Refuse scores that are beyond any density on the scale of the points."""
    with np.errstate(over="ignore"):
        sizes = np.abs(score).max(axis=0) * np.ptp(points, axis=0)
    if sizes.max() > LARGEST_SPREAD:
        raise InputError(
            f"score times the range of x reaches {sizes.max():.1e}, whose powers float64 cannot "
            "hold; check the units of the scores, or leave out points on the boundary."
        )


def _rounded(values: Array) -> bool:
    """Whether values (n,) look like multiples of one step, as numbers with few decimals do."""
    distinct = np.unique(values)
    if len(distinct) <= FEW_VALUES:
        return False
    gaps = np.diff(distinct)
    step = gaps.min()
    if step < SMALLEST_STEP * np.abs(distinct).max():  # all floats are multiples of the last bit
        return False
    multiples = gaps / step
    return bool(np.all(np.abs(multiples - np.round(multiples)) < 0.01))


def _names(names: Any, dim: int) -> tuple[str, ...]:
    """Names of the coordinates that somebody gave, one for each."""
    given = [names] if isinstance(names, str) else names
    if not isinstance(given, Iterable) or not all(isinstance(name, str) for name in given):
        raise InputError(f"names is {shown(names)}; give a string for each coordinate.")
    if len(given := tuple(given)) != dim:
        raise InputError(
            f"names has {len(given)} entries but x has {dim} coordinates; give one for each."
        )
    return given


def _column_names(x: Any, dim: int) -> tuple[str, ...]:
    columns: Sequence[Any] | None = getattr(x, "columns", None)
    if columns is None or len(columns) != dim:
        return tuple(f"x{i}" for i in range(dim))
    return tuple(str(column) for column in columns)


def _like(name: str, values: ArrayLike, points: Array) -> Array:
    array = as_points(name, values)
    if array.shape != points.shape:
        raise InputError(
            f"{name} has shape {array.shape} but the points have shape {points.shape}; "
            "pass one gradient of the log density for each point."
        )
    return array


def as_weights(weights: ArrayLike, n: int) -> Array:
    """Weights of n points as float64, (n,): refused unless >= 0, at least two of them positive.

    Args:
        weights: importance weights up to a constant.
        n: number of points.
    """
    array = _in_range(as_finite("weights", weights, ndim=(1,)))
    if len(array) != n:
        raise InputError(f"weights has {len(array)} entries but x has {n} points.")
    if array.min() < 0 or np.count_nonzero(array) < 2:
        raise InputError(
            f"weights has a least value of {array.min():g} and {np.count_nonzero(array)} that are "
            "not zero; pass numbers >= 0, at least two of them positive."
        )
    share = array / array.sum()
    if np.sum(share**2) > 1 - SMALLEST_SHARE:
        raise InputError(
            f"weights has all its mass on row {int(np.argmax(array))}, which is one draw; draw "
            "from a measure closer to this one."
        )
    return array


def _in_range(array: Array) -> Array:
    """Weights whose sum float64 holds: they are known up to a constant only."""
    largest = array.max(initial=0.0)
    extreme = largest > 0 and not SMALLEST_SPREAD < largest < LARGEST_SPREAD
    return array / largest if extreme else array


def _noise(noise: ArrayLike, n: int, k: int) -> Array:
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
    if array.max() > LARGEST_SPREAD:
        raise InputError(
            f"noise reaches {array.max():.1e}, whose powers float64 cannot hold; "
            "multiply f and its noise by a constant and divide the answer by it."
        )
    return np.broadcast_to(array, (n, k)).copy()


def _groups(groups: ArrayLike, n: int) -> np.ndarray:
    try:
        array = unmasked(groups)
    except (TypeError, ValueError):
        raise InputError("groups is ragged; pass a label for each point.") from None
    if array.dtype.kind == "O":
        # Labels of several types cannot be sorted: each is one by its text.
        labels = ["" if is_missing(label) else str(label) for label in array.ravel()]
        array = np.array(labels).reshape(array.shape)
    if np.any(array == "") if array.dtype.kind == "U" else np.any(array != array):
        raise InputError("groups has missing labels; give the group of every point.")
    if array.shape != (n,):
        raise InputError(f"groups has shape {array.shape} but x has {n} points; pass ({n},).")
    _, first, labels = np.unique(array, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))  # numbered by their first appearance
    labels = rank[labels]
    if np.any(np.diff(labels) < 0):
        raise InputError("groups is not contiguous; order the points group by group.")
    return labels
