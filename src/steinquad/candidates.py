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
        weight: its share of the answer, an average where there are several outputs.
        mean: its own integral, (k,).
        std: of that, (k,).
        chosen: whether it has a weight in the answer.
        note: why it was not tried, or what is wrong.
    """

    method: str
    rms: float | None
    weight: float | None
    mean: Array | None
    std: Array | None
    chosen: bool
    note: str

    @property
    def integrated(self) -> bool:
        """Whether it has an integral of its own with a finite error, to be drawn."""
        if self.mean is None or self.std is None:
            return False
        return bool(np.isfinite(self.mean).all() and np.isfinite(self.std).all())


def read_candidates(rows: Iterable[Mapping[str, Any]], outputs: int) -> list[Candidate]:
    """The rows as `Candidate`s; a method writes the keys that it has, so none is required.

    Args:
        rows: of `Estimate.candidates`.
        outputs: number of integrands, k; a mean or std of another size is left out.
    """
    return [_read(row, outputs) for row in rows]


def _read(row: Mapping[str, Any], outputs: int) -> Candidate:
    weight = _average(row.get("weight"))
    return Candidate(
        method=str(row.get("method", "")),
        rms=_average(row.get("held_out_rms")),
        weight=weight,
        mean=_column(row.get("mean"), outputs),
        std=_column(row.get("std"), outputs),
        chosen=weight is not None and weight > 0,
        note=str(row.get("note") or ""),
    )


def _numbers(value: Any) -> Array | None:
    try:
        return None if value is None else np.asarray(value, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        return None


def _average(value: Any) -> float | None:
    """A number, or the average of one for each output."""
    array = _numbers(value)
    if array is None or not array.size or np.isnan(array).any():
        return None
    return float(np.mean(array))


def _column(value: Any, outputs: int) -> Array | None:
    array = _numbers(value)
    return array if array is not None and len(array) == outputs else None
