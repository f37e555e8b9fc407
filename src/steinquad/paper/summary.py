"""Records of one setting and several seeds, as the numbers that tables and figures show."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from steinquad.paper.record import REFUSED, Mark, Record, Run
from steinquad.paper.spec import PresetName, Spec

__all__ = ["Cell", "known_cpu_seconds", "markdown", "summarize"]

PAPER_SIMULATOR = 130.0  # seconds that the paper's wind farm takes at a point
FORMS = {"calibration": ".2g", "cpu": ".1f", "memory": ".0f"}
# A record's number of each of `spec.QUANTITIES`, None where it has none.
NUMBERS: dict[str, Callable[[Record], float | None]] = {
    "error": lambda r: None if r.error is None else r.error / abs(r.truth),
    "cpu": lambda r: r.total_seconds,
    "memory": lambda r: r.peak_mib,
    "calibration": lambda r: r.error / r.std if r.error is not None and r.std else None,
    "loss": lambda r: r.loss,
    "std": lambda r: r.std / abs(r.truth) if r.error is not None and r.std else None,
    "share": lambda r: r.cpu_seconds / r.total_seconds,
    "share-130": lambda r: r.cpu_seconds / (r.cpu_seconds + PAPER_SIMULATOR * r.run.n),
    "condition": lambda r: r.trajectory[-1].condition if r.trajectory else None,
}


@dataclass(frozen=True)
class Cell:
    """All records that differ by their seed only: one row of a table, one point of a figure.

    Attributes:
        records: at least one, in the order in which they were stored; refused runs are among them,
            but contribute no values.
    """

    records: Sequence[Record]

    @property
    def run(self) -> Run:
        """The first of the runs; all but its seed is common to all, so use it for labels."""
        return self.records[0].run

    @property
    def design(self) -> str:
        """The name of the design that placed the points."""
        # Records of before have no such setting, and independent draws.
        return self.run.settings.get("design", "iid")

    @property
    def trajectories(self) -> list[Sequence[Mark]]:
        """The marks of each training that was looked at along the way, one sequence a seed."""
        return [record.trajectory for record in self.records if record.trajectory]

    def values(self, quantity: str) -> list[float]:
        """One number a seed, where there is one.

        The list is shorter than `records` where a run was refused or has no such quantity.

        Args:
            quantity: a key of `spec.QUANTITIES`, such as `error`, which is relative to the truth.
        """
        # A refusal took no time and no memory.
        answered = [record for record in self.records if record.status != REFUSED]
        values = map(NUMBERS[quantity], answered)
        return [value for value in values if value is not None]


def summarize(spec: Spec, preset: PresetName, records: Iterable[Record]) -> list[Cell]:
    """The records that belong to a figure, seeds together, in the order of its runs.

    Args:
        spec: the figure.
        preset: which sizes; records of other sizes are left out.
        records: those of its store, with any seeds.
    """
    groups: dict[str, list[Record]] = {run.group: [] for run in spec.runs(preset, [0])}
    for record in records:
        if record.run.group in groups:
            groups[record.run.group].append(record)
    return [Cell(group) for group in groups.values() if group]


def known_cpu_seconds(runs: Iterable[Run], records: Iterable[Record]) -> list[float | None]:
    """What each run will cost, by records of the same method, settings, n and d.

    The problem does not count, so that a run on one can be foreseen from runs on others.

    Returns:
        The mean of their CPU seconds for each run, None where there is no such record.

    Args:
        runs: what is to be done.
        records: what has been done.
    """
    known: dict[Any, list[float]] = {}
    for record in records:
        known.setdefault(_like(record.run), []).append(record.cpu_seconds)
    return [statistics.fmean(known[_like(run)]) if _like(run) in known else None for run in runs]


def markdown(spec: Spec, cells: Sequence[Cell]) -> str:
    """The records as a Markdown table, a row a cell, with means and spreads over the seeds.

    Columns about training appear where a method was looked at along the way; the paper's number
    stands beside ours where n is the paper's.
    """
    head = ["problem", "d", "n", "method", "points", "relative error", "published"]
    head += ["\\|error\\|/std", "CPU s", "peak MiB"]
    trained = any(cell.trajectories for cell in cells)
    head += ["iterations", "CPU s of these", "loss", "condition number"] if trained else []
    head += ["seeds"]
    rows = [head, ["---"] * len(head)]
    for cell in cells:
        run = cell.run
        published = spec.published.get(run.problem, {}) if run.n in spec.paper.n else {}
        rows.append(
            [
                *(run.problem, str(run.d), str(run.n)),
                *(run.method.replace("|", "\\|"), cell.design),
                _with_spread(cell.values("error")) or cell.records[0].status,
                f"{published[run.method]:.1e}" if run.method in published else "",
                *(_mean(cell.values(name), form) for name, form in FORMS.items()),
                *(_ends(cell) if trained else ()),
                str(len(cell.records)),
            ]
        )
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def _ends(cell: Cell) -> list[str]:
    """Where the trainings of a cell ended."""
    last = [trajectory[-1] for trajectory in cell.trajectories]
    return [
        _mean([mark.iteration for mark in last], ".0f"),
        _mean([mark.seconds for mark in last], ".1f"),
        *(_mean(cell.values(name), ".1e") for name in ("loss", "condition")),
    ]


def _like(run: Run) -> Any:
    return run.method, run.n, run.d, tuple(sorted(run.settings.items()))


def _mean(values: Sequence[float], form: str) -> str:
    return format(statistics.fmean(values), form) if values else ""


def _with_spread(values: Sequence[float]) -> str:
    spread = f" +- {statistics.stdev(values):.1e}" if len(values) > 1 else ""
    return _mean(values, ".1e") + spread
