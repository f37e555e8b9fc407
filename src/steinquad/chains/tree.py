"""The answers beside the draws, in a tree of xarray as ArviZ has them."""

from collections.abc import Mapping, Sequence
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

    posterior = _posterior(draws, xarray)
    # The limits in P[x <= ...] differ between variables: no common coordinate.
    shown = [row for row in rows if not row.statistic.startswith("P[")]
    statistics = list(dict.fromkeys(row.statistic for row in shown))
    by_key = {(row.name, row.statistic): row for row in shown}
    labels_of = {row.name: (row.name,) for row in shown} if of_function else draws.labels
    _check_names(posterior, [*draws.variables, *labels_of])
    arrays = {}
    for name, labels in labels_of.items():
        if not all((label, statistics[0]) in by_key for label in labels):
            continue  # not among the variables that were asked for
        one = xarray.DataArray(0.0)
        if not of_function:
            one = posterior[name].isel(chain=0, draw=0, drop=True)
        table = [
            [[getattr(by_key[label, s], c) for label in labels] for c in COLUMNS]
            for s in statistics
        ]
        array = np.array(table).reshape(len(statistics), len(COLUMNS), *one.shape)
        coords = {"statistic": statistics, "column": list(COLUMNS)}
        coords |= {dim: one[dim].values for dim in one.dims if dim in one.coords}
        arrays[name] = xarray.DataArray(array, coords, (*OWN_DIMS, *one.dims))
    tree = _as_tree(draws, posterior, xarray)
    tree[GROUP] = xarray.DataTree(xarray.Dataset(arrays, attrs=attrs))
    return tree


def _check_names(posterior: Any, names: Sequence[str]) -> None:
    """Refuse what a tree cannot hold."""
    taken = [dim for dim in map(str, posterior.dims) if dim in OWN_DIMS]
    if taken:
        raise InputError(f"draws has a dimension {taken[0]!r}, which we need; rename it.")
    for name in names:
        if "/" in name:
            raise InputError(f"{name!r} has a /, which no name in a tree may have; rename it.")


def _posterior(draws: ChainDraws, xarray: Any) -> Any:
    """The xarray dataset that the draws came in, or one with their arrays."""
    if draws.tree is not None:
        node = tree_node(draws.tree, "posterior")
        return draws.tree if node is None else node
    variables = {}
    for name, values in draws.variables.items():
        array = values.reshape(draws.chains, draws.draws, *values.shape[1:])
        own = (f"{name}_dim_{i}" for i in range(array.ndim - 2))  # as ArviZ calls them
        variables[name] = (("chain", "draw", *own), array)
    coords = {"chain": np.arange(draws.chains), "draw": np.arange(draws.draws)}
    return xarray.Dataset(variables, coords)


def _as_tree(draws: ChainDraws, posterior: Any, xarray: Any) -> Any:
    """A new tree with all groups of what the draws came in."""
    if isinstance(draws.tree, xarray.DataTree) and "posterior" in draws.tree.children:
        return draws.tree.copy()
    if callable(getattr(draws.tree, "groups", None)):
        groups = [name.strip("/") for name in draws.tree.groups()]  # InferenceData
        return xarray.DataTree.from_dict({name: getattr(draws.tree, name) for name in groups})
    dataset = posterior.to_dataset() if hasattr(posterior, "children") else posterior
    return xarray.DataTree.from_dict({"posterior": dataset})
