"""Where a measure lives: a box of R^d whose open sides are infinite."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinquad._types import Array, ArrayLike, is_count
from steinquad.errors import InputError, shown

__all__ = ["Support"]

REFUSED = {
    "simplex": "a simplex has no interior in R^d; integrate over its unconstrained coordinates",
    "circular": "a circle has no boundary but is not R; pass its log density to LogDensity with "
    "one period as the support",
    "discrete": "the Stein operator needs a density on R^d; discrete measures have none",
    "other": "supported are R, half-lines, intervals and boxes of these; integrate over "
    "unconstrained coordinates instead",
}


@dataclass(frozen=True, eq=False)
class Support:
    """The box `low < x < high`, with infinite entries for open sides.

    Make one with `real`, `box` or `parse`; the fields themselves are not checked.

    Attributes:
        low: left sides, (d,), -inf where open.
        high: right sides, (d,), inf where open.

    >>> Support.real(2).contains([[0.0, 1.0]])
    array([ True])
    """

    low: Array
    high: Array

    @property
    def dim(self) -> int:
        """Number of coordinates of the box, bounded or not."""
        return len(self.low)

    @property
    def bounded(self) -> tuple[int, ...]:
        """Indices of the coordinates with a finite side, which need a boundary factor.

        Without it the Stein identity fails: the flux through such a face is not zero.
        """
        return tuple(np.flatnonzero(np.isfinite(self.low) | np.isfinite(self.high)).tolist())

    def contains(self, x: ArrayLike) -> np.ndarray:
        """Which points of a batch lie in the closed box, (n, d) -> (n,) of booleans.

        Faces are included, because draws may be rounded onto them.
        """
        x = np.asarray(x, dtype=np.float64)
        return np.all((x >= self.low) & (x <= self.high), axis=-1)

    def __eq__(self, other: object) -> bool:
        """Same box."""
        # By whole arrays: the dataclass's own comparison would be entry by entry.
        return (
            isinstance(other, Support)
            and np.array_equal(self.low, other.low)
            and np.array_equal(self.high, other.high)
        )

    def __str__(self) -> str:
        sides = [f"({a:g}, {b:g})" for a, b in zip(self.low, self.high, strict=True)]
        return "R^" + str(self.dim) if not self.bounded else " x ".join(sides)

    @classmethod
    def real(cls, dim: int) -> "Support":
        """All of R^dim, the support of a measure without bounds; no boundary factor is needed."""
        return cls(np.full(dim, -np.inf), np.full(dim, np.inf))

    @classmethod
    def box(cls, low: ArrayLike, high: ArrayLike, dim: int) -> "Support":
        """The box between `low` and `high`, refused if it is empty.

        Args:
            low: left sides, a number for all coordinates or (dim,); -inf where open.
            high: right sides, likewise.
            dim: number of coordinates.
        """
        low = np.broadcast_to(np.asarray(low, dtype=np.float64), (dim,)).copy()
        high = np.broadcast_to(np.asarray(high, dtype=np.float64), (dim,)).copy()
        if not np.all(low < high):
            i = int(np.flatnonzero(~(low < high))[0])
            raise InputError(
                f"support of coordinate {i} is empty ({low[i]:g} to {high[i]:g}); give low < high."
            )
        return cls(low, high)

    @classmethod
    def join(cls, parts: Sequence["Support"]) -> "Support":
        """The product of several supports, their coordinates one after the other.

        Args:
            parts: in order, as for the product of independent measures.
        """
        return cls(
            np.concatenate([part.low for part in parts]),
            np.concatenate([part.high for part in parts]),
        )

    @classmethod
    def parse(cls, spec: Any, dim: int, names: Sequence[str] = ()) -> "Support":
        """A support from what users write.

        Args:
            spec: None (all of R^d), a `Support`, a numpyro constraint, or
                `{coordinate: (low, high)}` with None for an open side; a coordinate is an index
                or one of `names`.
            dim: number of coordinates.
            names: coordinate names, where there are any.

        Returns:
            A box of that dimension; an `InputError` says why a constraint, such as a simplex, is
            none.
        """
        if spec is None:
            return cls.real(dim)
        if isinstance(spec, Support):
            if spec.dim != dim:
                raise InputError(f"support has dim {spec.dim} but the points have dim {dim}.")
            return spec
        if isinstance(spec, Mapping):
            return cls._from_mapping(spec, dim, list(names))
        # A pair such as (0, 1) would not say of which coordinates.
        if isinstance(spec, str | bool | int | float | tuple | list | np.ndarray):
            raise InputError(
                f"support is {shown(spec)}; give {{coordinate: (low, high)}}, "
                "None for an open side."
            )
        return cls._from_constraint(spec, dim)

    @classmethod
    def _from_mapping(cls, spec: Mapping[Any, Any], dim: int, names: list[str]) -> "Support":
        low, high = np.full(dim, -np.inf), np.full(dim, np.inf)
        for coordinate, sides in spec.items():
            i = names.index(coordinate) if coordinate in names else coordinate
            if not is_count(i, 0) or i >= dim:
                known = ", ".join(map(repr, names)) or f"0 to {dim - 1}"
                raise InputError(
                    f"support names coordinate {shown(coordinate)}; the coordinates are {known}."
                )
            try:
                a, b = sides
                low[i] = -np.inf if a is None else float(a)
                high[i] = np.inf if b is None else float(b)
            except (OverflowError, TypeError, ValueError):
                raise InputError(
                    f"support of coordinate {shown(coordinate)} is {shown(sides)}; "
                    "give a pair (low, high) with None for an open side."
                ) from None
        return cls.box(low, high, dim)

    @classmethod
    def _from_constraint(cls, constraint: Any, dim: int) -> "Support":
        """The box of a numpyro constraint, or an error that says why it has none."""
        while hasattr(constraint, "base_constraint"):  # independent(...), real_vector
            constraint = constraint.base_constraint
        kind = type(constraint).__name__.strip("_").lower()
        if getattr(constraint, "is_discrete", False):
            kind = "discrete"
        for word in ("discrete", "simplex", "circular"):
            if word in kind:
                raise InputError(f"support is {kind}; {REFUSED[word]}.")
        if kind == "real":
            return cls.real(dim)
        low = getattr(constraint, "lower_bound", None)
        high = getattr(constraint, "upper_bound", None)
        if low is None and high is None:
            raise InputError(f"support is {kind or constraint}; {REFUSED['other']}.")
        return cls.box(-np.inf if low is None else low, np.inf if high is None else high, dim)
