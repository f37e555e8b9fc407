"""One run of one method on one problem, and what came of it."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple

__all__ = ["REFUSED", "Mark", "Record", "Run", "finite"]

REFUSED = "refused"  # status of a run whose method would not have it


@dataclass(frozen=True)
class Run:
    """What is to be computed; two runs with the same `key` are the same.

    Attributes:
        problem: name of the integral, such as `genz-continuous`.
        method: name in the table of methods.
        n: number of evaluations.
        d: number of coordinates.
        seed: of the points and of the method.
        settings: whatever else the answer depends on: the design, the most training steps.
    """

    problem: str
    method: str
    n: int
    d: int
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The run as one line of JSON: equal for two runs exactly if they are the same."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def group(self) -> str:
        """The key of the run whatever its seed: common to the records of one `Cell`."""
        return json.dumps({**asdict(self), "seed": None}, sort_keys=True)


class Mark(NamedTuple):
    """One moment of a training.

    Attributes:
        iteration: steps so far.
        seconds: CPU seconds so far, compiling not included.
        loss: penalized, in standardized units, on all points.
        condition: of the Hessian of the loss; None where it was not computed.
    """

    iteration: int
    seconds: float
    loss: float | None
    condition: float | None


@dataclass(frozen=True)
class Record:
    """The outcome of a run: one row of a store.

    Attributes:
        run: what was computed.
        estimate: the integral; None where the method refused or the answer is not finite.
        std: its standard deviation, likewise.
        truth: what the estimate should be.
        error: absolute, |estimate - truth|.
        cpu_seconds: of all threads, user and system, compiling included and importing not; and
            without the evaluations where those are kept for all methods.
        peak_mib: largest resident memory during the run, Python and libraries included.
        rest_mib: resident memory just before it.
        status: of the estimate, or `REFUSED`.
        message: the sentence that goes with it.
        loss: penalized, in standardized units, at the end of training; published network only.
        versions: of Python and of the libraries that compute.
        evaluation_seconds: CPU seconds of the evaluations that are kept for all methods; None
            where every run makes its own.
        trajectory: of a training that is looked at along the way; else empty.
    """

    run: Run
    estimate: float | None
    std: float | None
    truth: float
    error: float | None
    cpu_seconds: float
    peak_mib: float
    rest_mib: float
    status: str
    message: str
    loss: float | None
    versions: Mapping[str, str]
    evaluation_seconds: float | None = None
    trajectory: Sequence[Mark] = ()

    @property
    def total_seconds(self) -> float:
        """CPU seconds as if the run had made its evaluations itself.

        For comparisons between methods that share kept evaluations and others; the same as
        `cpu_seconds` where every run makes its own.
        """
        return self.cpu_seconds + (self.evaluation_seconds or 0.0)

    def to_json(self) -> str:
        """The record as one line of JSON, without its end; what is not finite is null.

        The fields of the run stand beside those of the record, so that a table can be read from
        the lines without nesting.
        """
        row = asdict(self)
        flat = {**row.pop("run"), **row}
        plain = {k: finite(v) if isinstance(v, float) else v for k, v in flat.items()}
        return json.dumps(plain, allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> "Record":
        """The record that `to_json` wrote as this line; raises ValueError for anything else.

        Args:
            line: one line of a store, with or without its end.

        Returns:
            A record that equals the one written, but for numbers that were not finite, which are
            None.
        """
        row = json.loads(line)
        names = [f.name for f in fields(Run)]
        try:
            run = Run(**{name: row.pop(name) for name in names})
            # Records of before have no trajectory.
            trajectory = tuple(Mark(*mark) for mark in row.pop("trajectory", ()))
            return cls(run=run, trajectory=trajectory, **row)
        except (AttributeError, KeyError, TypeError):
            raise ValueError("not a record") from None


def finite(value: float) -> float | None:
    """A number as a record may hold it: JSON has no NaN and no infinity, so None for these."""
    return float(value) if math.isfinite(value) else None
