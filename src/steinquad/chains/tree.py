"""The answers beside the draws, in a tree of xarray as ArviZ has them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from steinquad.chains.layout import ChainDraws, tree_node
from steinquad.chains.row import COLUMNS, SummaryRow
from steinquad.errors import InputError

__all__ = ["with_answers"]

GROUP = "posterior_expectation"  # of the tree that comes back
OWN_DIMS = ("statistic", "column")  # before those of the variables


def with_answers(
    draws: ChainDraws, rows: Sequence[SummaryRow], of_function: bool, attrs: Mapping[str, str]
) -> Any:
    """The tree that the draws came in, or a new one, with a group of the answers.

    Args:
        draws: what the answers are about; the tree that they came in is not changed.
        rows: the answers.
        of_function: whether they are outputs of a user's function, or of the draws' variables.
        attrs: of the group.
    """
    import xarray

    _check_names(draws, rows if of_function else ())
    shown = [row for row in rows if not row.statistic.startswith("P[")]
    statistics = list(dict.fromkeys(row.statistic for row in shown))
    by_key = {(row.name, row.statistic): row for row in shown}
    arrays = {}
    outputs = ((row.name, [row.name], (), (), {}) for row in shown)
    variables = outputs if of_function else _variables(draws, shown)
    for name, labels, shape, dims, known in variables:
        table = [
            [[getattr(by_key[label, s], c) for label in labels] for c in COLUMNS]
            for s in statistics
        ]
        array = np.array(table).reshape(len(statistics), len(COLUMNS), *shape)
        coords = {"statistic": statistics, "column": list(COLUMNS), **known}
        arrays[name] = xarray.DataArray(array, coords, (*OWN_DIMS, *dims))
    tree = _as_tree(draws, xarray)
    tree[GROUP] = xarray.DataTree(xarray.Dataset(arrays, attrs=attrs))
    return tree


def _check_names(draws: ChainDraws, outputs: Sequence[SummaryRow]) -> None:
    """Refuse what a tree cannot hold."""
    posterior = _posterior(draws)
    dims = () if posterior is None else tuple(map(str, posterior.dims))
    taken = [dim for dim in dims if dim in OWN_DIMS]
    if taken:
        raise InputError(f"draws has a dimension {taken[0]!r}, which we need; rename it.")
    for name in (*draws.variables, *(row.name for row in outputs)):
        if "/" in name:
            raise InputError(f"{name!r} has a /, which no name in a tree may have; rename it.")


def _variables(draws: ChainDraws, shown: Sequence[SummaryRow]) -> Iterator[tuple[Any, ...]]:
    """Name, labels of the rows, shape, dimensions and coordinates of what the table has."""
    names = {row.name for row in shown}
    posterior = _posterior(draws)
    for name, labels in draws.labels.items():
        if not names >= set(labels):
            continue
        shape = draws.variables[name].shape[1:]
        if posterior is None:
            yield name, labels, shape, _default_dims(name, len(shape)), {}
        else:
            dims = [d for d in posterior[name].dims if d not in ("chain", "draw")]
            known = posterior[name].coords
            yield name, labels, shape, dims, {d: known[d].values for d in dims if d in known}


def _posterior(draws: ChainDraws) -> Any:
    """The xarray dataset that the draws came in, None for arrays."""
    if draws.tree is None:
        return None
    node = tree_node(draws.tree, "posterior")
    return draws.tree if node is None else node


def _as_tree(draws: ChainDraws, xarray: Any) -> Any:
    """A new tree with all groups of what the draws came in."""
    if isinstance(draws.tree, xarray.DataTree) and "posterior" in draws.tree.children:
        return draws.tree.copy()
    if draws.tree is not None and callable(getattr(draws.tree, "groups", None)):
        groups = [name.strip("/") for name in draws.tree.groups()]  # InferenceData
        return xarray.DataTree.from_dict({name: getattr(draws.tree, name) for name in groups})
    posterior = _posterior(draws)
    if posterior is not None:
        dataset = posterior.to_dataset() if hasattr(posterior, "children") else posterior
        return xarray.DataTree.from_dict({"posterior": dataset})
    variables = {}
    for name, values in draws.variables.items():
        array = values.reshape(draws.chains, draws.draws, *values.shape[1:])
        variables[name] = (("chain", "draw", *_default_dims(name, array.ndim - 2)), array)
    coords = {"chain": np.arange(draws.chains), "draw": np.arange(draws.draws)}
    return xarray.DataTree.from_dict({"posterior": xarray.Dataset(variables, coords)})


def _default_dims(name: str, count: int) -> tuple[str, ...]:
    """As ArviZ calls the dimensions of an array."""
    return tuple(f"{name}_dim_{i}" for i in range(count))
