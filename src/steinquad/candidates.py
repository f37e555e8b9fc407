"""A row of `Estimate.candidates`, read for who shows it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinquad._types import Array

__all__ = ["Candidate", "read_candidates"]


@dataclass(frozen=True)
class Candidate:
    """What is known of one method that was considered; None where it is not known.

    Attributes:
        method: its name.
        rms: what it leaves of held-out points, as a share of the spread of f.
        weight: its share of the answer, an average over the outputs that it was asked about.
        weights: its share in the answer of each output, (k,); NaN where it was not asked.
        mean: its own integral, (k,), NaN likewise.
        std: of that, (k,), NaN likewise.
        chosen: whether it has a weight in the answer to any output.
        note: why it was not tried, or what is wrong.
    """

    method: str
    rms: float | None
    weight: float | None
    weights: Array | None
    mean: Array | None
    std: Array | None
    chosen: bool
    note: str

    def integrated(self, output: int) -> bool:
        """Whether it has an integral of its own with a finite error, to be drawn.

        Args:
            output: of which integrand.
        """
        if self.mean is None or self.std is None:
            return False
        return bool(np.isfinite(self.mean[output]) and np.isfinite(self.std[output]))

    def share(self, output: int) -> float | None:
        """Its weight in the answer to one output; None where it is not known.

        Args:
            output: which integrand.
        """
        weights = self.weights
        return None if weights is None or np.isnan(weights[output]) else float(weights[output])


def read_candidates(rows: Iterable[Mapping[str, Any]], outputs: int) -> list[Candidate]:
    """The rows as `Candidate`s; a method writes the keys that it has, so none is required.

    Args:
        rows: of `Estimate.candidates`.
        outputs: number of integrands, k; numbers of another size are left out, unless it is one
            for all, as a weight or an error may be.
    """
    return [_read(row, outputs) for row in rows]


def _read(row: Mapping[str, Any], outputs: int) -> Candidate:
    weights = _column(row.get("weight"), outputs, shared=True)
    return Candidate(
        method=str(row.get("method", "")),
        rms=_average(_column(row.get("held_out_rms"), outputs, shared=True)),
        weight=_average(weights),
        weights=weights,
        mean=_column(row.get("mean"), outputs),
        std=_column(row.get("std"), outputs),
        chosen=weights is not None and bool(np.any(weights > 0)),
        note=str(row.get("note") or ""),
    )


def _column(value: Any, outputs: int, *, shared: bool = False) -> Array | None:
    """A number for each output, NaN where it is not known; None where none is."""
    try:
        array = np.asarray(value, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        return None
    if shared and len(array) == 1:
        array = np.repeat(array, outputs)
    return None if len(array) != outputs or np.isnan(array).all() else array


def _average(column: Array | None) -> float | None:
    return None if column is None else float(np.nanmean(column))
