"""The answer: a table with the plain and the better value of everything, and what is doubtful."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steinquad.chains.layout import ChainDraws
from steinquad.chains.row import COLUMNS, SummaryRow
from steinquad.chains.tree import with_answers
from steinquad.errors import InputError
from steinquad.fit import Status

__all__ = ["PosteriorSummary"]

HIDDEN = ("mcse_sd", "mcse_5%", "mcse_50%", "mcse_95%", "plain_mean")  # in print


@dataclass(frozen=True, eq=False)
class PosteriorSummary:
    """Posterior expectations, plain and better, as `sq.posterior_expectation` returns them.

    `print` it for a table; `result["mu"]` is the row of the mean of mu, and
    `result["mu", "variance"]` that of its variance; iterate over it for all rows.

    Attributes:
        rows: the table, `to_dataframe()` as a data frame.
        status: `converged`, or `suspect` with the reasons.
        warnings: what is doubtful, each a sentence.
        n: number of draws.
        chains: number of chains.
        dim: dimension of the space that the Stein operator acts on.
        rhat: rank-normalized R-hat of every parameter, by label.
        ess: bulk effective sample size of every parameter, by label.
        draws: what the answers are about, as they were read.
        of_function: whether rows are outputs of a user's function, or of the draws' variables.
    """

    rows: tuple[SummaryRow, ...]
    status: Status
    warnings: tuple[str, ...]
    n: int
    chains: int
    dim: int
    rhat: Mapping[str, float] = field(repr=False)
    ess: Mapping[str, float] = field(repr=False)
    draws: ChainDraws = field(repr=False)
    of_function: bool = field(default=False, repr=False)

    def __getitem__(self, key: str | tuple[str, str]) -> SummaryRow:
        name, statistic = key if isinstance(key, tuple) else (key, "mean")
        for row in self.rows:
            if (row.name, row.statistic) == (name, statistic):
                return row
        known = ", ".join(dict.fromkeys(row.name for row in self.rows))
        raise InputError(f"there is no {statistic} of {name!r}; there are {known}.")

    def __iter__(self) -> Iterator[SummaryRow]:
        return iter(self.rows)

    def to_dataframe(self) -> Any:
        """All rows as a pandas data frame, one line for each statistic of each parameter.

        Use it to sort, filter or store the table; `summary()` has one line for each parameter.
        """
        import pandas

        return pandas.DataFrame([row.to_dict() for row in self.rows])

    def summary(self) -> Any:
        """A data frame like ArviZ's summary, a row for each parameter, of the better values.

        `mcse_mean` and `mcse_sd` are the standard errors of the better values; `reduction` says
        how many times as many draws the plain mean would need.
        """
        import pandas

        lines = self._lines()
        return pandas.DataFrame(list(lines.values()), index=list(lines))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON: status, sizes, diagnostics and all rows.

        Numbers that are not finite, such as an R-hat of short chains, become None.
        """
        rows = [row.to_dict() | _finite({c: getattr(row, c) for c in COLUMNS}) for row in self]
        return {
            "status": self.status.code,
            "message": self.status.message,
            "warnings": list(self.warnings),
            "n": self.n,
            "chains": self.chains,
            "dim": self.dim,
            "rhat": _finite(self.rhat),
            "ess": _finite(self.ess),
            "rows": rows,
        }

    def to_datatree(self) -> Any:
        """An xarray `DataTree`: that of the draws, or a new one, with a group of the answers.

        The group `posterior_expectation` has every variable with its own dimensions, after
        `statistic` (mean, variance, 5%, 50%, 95%) and `column` (plain, mcse, mean, std, low, high,
        reduction). The tree that the draws came in is not changed.
        """
        attrs = {"status": self.status.code, "message": self.status.message}
        return with_answers(self.draws, self.rows, self.of_function, attrs)

    def _lines(self) -> dict[str, dict[str, Any]]:
        """The columns of the summary, by name."""
        lines: dict[str, dict[str, Any]] = {}
        for row in self.rows:
            line = lines.setdefault(row.name, {})
            if row.statistic == "mean":
                line |= {"mean": row.mean, "mcse_mean": row.std}
            elif row.statistic == "variance":
                sd = float(np.sqrt(max(row.mean, 0.0)))
                line |= {"sd": sd, "mcse_sd": row.std / (2 * sd) if sd > 0 else 0.0}
            elif row.statistic.endswith("%"):
                line |= {row.statistic: row.mean, f"mcse_{row.statistic}": row.std}
        for name, line in lines.items():
            mean = self[name]
            line |= {"plain_mean": mean.plain, "plain_mcse": mean.mcse}
            line |= {"reduction": mean.reduction, "method": mean.method}
            if name in self.rhat and not self.of_function:
                line |= {"ess_bulk": self.ess[name], "r_hat": self.rhat[name]}
        return lines

    def __str__(self) -> str:
        lines = self._lines()
        shown = [head for head in next(iter(lines.values())) if head not in HIDDEN]
        table = [["", *shown]]
        for name, line in lines.items():
            cells = [_cell(line[head], line.get(f"mcse_{head}")) for head in shown]
            table.append([name, *cells])
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        text = []
        for row in table:
            cells = [cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True)]
            text.append("  ".join([row[0].ljust(widths[0]), *cells]).rstrip())
        first = f"{self.n} draws of {self.chains} chain{'s' * (self.chains > 1)}"
        return "\n".join([first, *text, str(self.status)])


def _finite(values: Mapping[str, float]) -> dict[str, float | None]:
    return {key: value if np.isfinite(value) else None for key, value in values.items()}


def _cell(value: Any, error: float | None) -> str:
    """As many digits as its error is worth."""
    if isinstance(value, str):
        return value
    if error is None or not (error > 0 and value != 0 and np.isfinite(value / error)):
        return f"{value:.3g}"
    return f"{value:.{int(np.clip(np.log10(abs(value) / error) + 2, 3, 12))}g}"
