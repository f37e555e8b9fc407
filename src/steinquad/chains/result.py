"""The answer: a table with the plain and the better value of everything, and what is doubtful."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from steinquad._types import Array
from steinquad.chains.layout import ChainDraws, tree_node
from steinquad.errors import InputError
from steinquad.estimate import Status

__all__ = ["PosteriorSummary", "SummaryRow"]

GROUP = "posterior_expectation"  # of the tree that comes back
HIDDEN = ("mcse_sd", "mcse_5%", "mcse_50%", "mcse_95%", "plain_mean")  # in print
COLUMNS = ("plain", "mcse", "mean", "std", "low", "high", "reduction")


@dataclass(frozen=True)
class SummaryRow:
    """One property of one parameter or function.

    Attributes:
        name: of the parameter or output.
        statistic: `mean`, `variance`, `P[x <= 1.23]`, `5%`, `50%` or `95%`.
        plain: from the draws alone.
        mcse: its standard error, autocorrelation counted.
        mean: the better value.
        std: its standard error.
        low: lower end of its 95 % interval.
        high: upper end.
        method: what it was found with.
        warnings: what is doubtful of it, each a sentence.
    """

    name: str
    statistic: str
    plain: float
    mcse: float
    mean: float
    std: float
    low: float
    high: float
    method: str
    warnings: tuple[str, ...] = ()

    @property
    def reduction(self) -> float:
        """How many times as many draws the plain value would need: (mcse / std)^2."""
        if self.std > 0:
            return (self.mcse / self.std) ** 2
        return 1.0 if self.mcse == 0 else float("inf")

    def replaced(self, **fields: Any) -> "SummaryRow":
        """The same with other values."""
        return replace(self, **fields)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, a column each."""
        plain = asdict(self)
        method, warnings = plain.pop("method"), plain.pop("warnings")
        return {
            **plain,
            "reduction": self.reduction,
            "method": method,
            "warnings": "; ".join(warnings),
        }


@dataclass(frozen=True, eq=False)
class PosteriorSummary:
    """Posterior expectations, plain and better.

    Attributes:
        rows: the table, `to_dataframe()` as a data frame.
        status: `converged`, or `suspect` with the reasons.
        warnings: what is doubtful, each a sentence.
        n: number of draws.
        chains: number of chains.
        dim: dimension of the space that the Stein operator acts on.
        rhat: rank-normalized R-hat of every parameter, by label.
        ess: bulk effective sample size of every parameter, by label.

    `result["mu"]` is the row of the mean of mu, `result["mu", "variance"]` that of its variance.
    """

    rows: tuple[SummaryRow, ...]
    status: Status
    warnings: tuple[str, ...]
    n: int
    chains: int
    dim: int
    rhat: Mapping[str, float] = field(repr=False)
    ess: Mapping[str, float] = field(repr=False)
    _sample: ChainDraws = field(repr=False)
    _own: bool = field(default=False, repr=False)  # rows are outputs of a user's function

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
        """All rows as a pandas data frame."""
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
        """Plain numbers and strings, ready for JSON; None for what is not finite."""
        rows = [row.to_dict() for row in self.rows]
        for row in rows:
            row |= _finite({key: row[key] for key in COLUMNS})
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
        import xarray

        self._check_names()
        tree = _as_tree(self._sample, xarray)
        tree[GROUP] = xarray.DataTree(self._dataset(xarray))
        return tree

    def _check_names(self) -> None:
        """Refuse what a tree cannot hold."""
        posterior = _posterior(self._sample)
        dims = () if posterior is None else tuple(map(str, posterior.dims))
        taken = [dim for dim in dims if dim in ("statistic", "column")]
        if taken:
            raise InputError(f"draws has a dimension {taken[0]!r}, which we need; rename it.")
        own = [row.name for row in self.rows] if self._own else []
        for name in (*self._sample.variables, *own):
            if "/" in name:
                raise InputError(f"{name!r} has a /, which no name in a tree may have; rename it.")

    def _dataset(self, xarray: Any) -> Any:
        shown = [row for row in self.rows if not row.statistic.startswith("P[")]
        statistics = list(dict.fromkeys(row.statistic for row in shown))
        by_key = {(row.name, row.statistic): row for row in shown}
        found = {}
        for name, labels, dims, shape, coords in self._variables(shown):
            table = [
                [[getattr(by_key[label, s], c) for label in labels] for c in COLUMNS]
                for s in statistics
            ]
            array = np.array(table).reshape(len(statistics), len(COLUMNS), *shape)
            coords = {"statistic": statistics, "column": list(COLUMNS), **coords}
            found[name] = xarray.DataArray(array, coords, ("statistic", "column", *dims))
        attrs = {"status": self.status.code, "message": self.status.message}
        return xarray.Dataset(found, attrs=attrs)

    def _variables(
        self, shown: Sequence[SummaryRow]
    ) -> Iterator[tuple[str, Sequence[str], Any, Any, Any]]:
        """Name, labels, dimensions, shape and coordinates of what the table has."""
        names = {row.name for row in shown}
        if self._own:
            yield from ((row.name, [row.name], (), (), {}) for row in shown)
            return
        posterior = _posterior(self._sample)
        for name, labels in self._sample.labels.items():
            if names >= set(labels):
                shape = self._sample.variables[name].shape[1:]
                if posterior is None:
                    dims = tuple(f"{name}_dim_{i}" for i in range(len(shape)))
                    yield name, labels, dims, shape, {}
                else:
                    dims = [d for d in posterior[name].dims if d not in ("chain", "draw")]
                    known = posterior[name].coords
                    coords = {d: known[d].values for d in dims if d in known}
                    yield name, labels, tuple(dims), shape, coords

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
            if name in self.rhat and not self._own:
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


def _posterior(sample: ChainDraws) -> Any:
    """The xarray dataset that the draws came in, None for arrays."""
    if sample.tree is None:
        return None
    node = tree_node(sample.tree, "posterior")
    return sample.tree if node is None else node


def _as_tree(sample: ChainDraws, xarray: Any) -> Any:
    """A new tree with all groups of what the draws came in."""
    if isinstance(sample.tree, xarray.DataTree) and "posterior" in sample.tree.children:
        return sample.tree.copy()
    if sample.tree is not None and callable(getattr(sample.tree, "groups", None)):
        groups = [name.strip("/") for name in sample.tree.groups()]  # InferenceData
        return xarray.DataTree.from_dict({name: getattr(sample.tree, name) for name in groups})
    posterior = _posterior(sample)
    if posterior is not None:
        dataset = posterior.to_dataset() if hasattr(posterior, "children") else posterior
        return xarray.DataTree.from_dict({"posterior": dataset})
    arrays: dict[str, Array] = {}
    for name, values in sample.variables.items():
        arrays[name] = values.reshape(sample.chains, sample.draws, *values.shape[1:])
    variables = {
        name: (("chain", "draw", *(f"{name}_dim_{i}" for i in range(a.ndim - 2))), a)
        for name, a in arrays.items()
    }
    coords = {"chain": np.arange(sample.chains), "draw": np.arange(sample.draws)}
    return xarray.DataTree.from_dict({"posterior": xarray.Dataset(variables, coords)})
