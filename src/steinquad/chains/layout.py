"""Draws as people have them: ArviZ trees, dicts of arrays, arrays."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from steinquad._types import Array, as_finite, as_numbers, unmasked
from steinquad.errors import InputError

__all__ = ["ChainDraws", "is_xarray", "numbered_labels", "read", "tree_node"]

FEWEST_OF_MANY = 20  # draws in chains that are more than their draws
UNNAMED = "x"  # what the columns of a bare array are called together


@dataclass(frozen=True, eq=False)
class ChainDraws:
    """Draws of variables, chain after chain.

    Attributes:
        variables: (chains * draws, *shape) each, by name.
        labels: of the entries of each variable, in C order.
        chains: number of chains.
        draws: number of draws of each.
        named: whether the user gave names, or one array.
        tree: the ArviZ object that they came in, if any.
    """

    variables: Mapping[str, np.ndarray]
    labels: Mapping[str, tuple[str, ...]]
    chains: int
    draws: int
    named: bool = True
    tree: Any = field(default=None, repr=False)

    @property
    def n(self) -> int:
        """Number of draws of all chains."""
        return self.chains * self.draws

    @property
    def groups(self) -> np.ndarray:
        """The chain of every draw, (n,)."""
        return np.repeat(np.arange(self.chains), self.draws)

    def columns(
        self, names: Sequence[str] | None = None, argument: str = "draws"
    ) -> tuple[Array, list[str]]:
        """Every entry of the variables as a column, (n, D), and its label.

        Args:
            names: of the variables, by default all.
            argument: what to call the draws in messages.

        Raises:
            InputError: if an entry is not finite.
        """
        parts: list[Array] = []
        labels: list[str] = []
        for name in self.variables if names is None else names:
            what = f"{argument}[{name!r}]" if self.named else argument
            flat = self.variables[name].reshape(self.n, -1)
            parts.append(as_finite(what, flat))
            labels += self.labels[name]
        return np.concatenate(parts, axis=1), labels

    def for_function(self) -> Any:
        """What a user's function receives.

        A dict of arrays (n, *shape) by name, or one array (n, d) where the draws came as one.
        """
        return dict(self.variables) if self.named else self.variables[UNNAMED]


def read(draws: Any, argument: str = "draws", group: str = "posterior") -> ChainDraws:
    """Read draws in any layout that samplers and their users have.

    Args:
        draws: an ArviZ `DataTree` or `InferenceData`, an xarray `Dataset`, a mapping of arrays
            (chain, draw, *shape), or an array (chain, draw, dim) or (draw, dim).
        argument: what to call it in messages.
        group: of a tree that is requested.

    Returns:
        The same draws in one layout, with a label for every entry of every variable.

    Raises:
        InputError: if they are no numbers, or their chains or draws differ in number.
    """
    node = tree_node(draws, group)
    if node is None and is_xarray(draws) and not getattr(draws, "children", None):
        node = draws  # a dataset by itself
    if node is not None:
        return _from_xarray(node, argument, draws)
    if is_xarray(draws) or callable(getattr(draws, "groups", None)):
        raise InputError(f"{argument} has no group {group!r}; pass a tree that has one.")
    if isinstance(draws, Mapping):
        if not draws:
            raise InputError(f"{argument} is empty; give at least one variable.")
        arrays = {str(name): _numeric(f"{argument}[{name!r}]", a) for name, a in draws.items()}
        arrays = {name: a[None] if a.ndim == 1 else a for name, a in arrays.items()}
        return _from_arrays(arrays, argument)
    array = _numeric(argument, draws)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3 or array.shape[2] == 0:
        raise InputError(
            f"{argument} has shape {array.shape}; pass (chain, draw, dim) or (draw, dim)."
        )
    labels = {UNNAMED: tuple(f"{UNNAMED}{i}" for i in range(array.shape[2]))}
    return _from_arrays({UNNAMED: array}, argument, labels, named=False)


def is_xarray(value: Any) -> bool:
    """Whether a value is a dataset or a tree of xarray.

    Never imports xarray, which is optional: only a loaded module can have made one.
    """
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(value, xarray.Dataset | xarray.DataTree)


def tree_node(draws: Any, group: str) -> Any:
    """A group of a `DataTree` or an `InferenceData`, by its name.

    Returns:
        The group, or None where there is none and for everything that is no tree.
    """
    if is_xarray(draws):
        return getattr(draws, "children", {}).get(group)
    if callable(getattr(draws, "groups", None)):  # InferenceData
        return getattr(draws, group, None)
    return None


def _from_xarray(node: Any, argument: str, tree: Any) -> ChainDraws:
    arrays, labels = {}, {}
    for key, variable in node.data_vars.items():
        name = str(key)
        if not {"chain", "draw"} <= set(variable.dims):
            raise InputError(
                f"{argument}[{name!r}] has dimensions {tuple(map(str, variable.dims))}; "
                "give it chain and draw, or leave it out."
            )
        variable = variable.transpose("chain", "draw", ...)
        arrays[name] = _numeric(f"{argument}[{name!r}]", variable.values)
        # A dimension without coordinates counts from 0.
        labels[name] = _entry_labels(name, [variable[dim].values for dim in variable.dims[2:]])
    if not arrays:
        raise InputError(f"{argument} has no variables; give at least one.")
    return _from_arrays(arrays, argument, labels, tree=tree)


def _from_arrays(
    arrays: Mapping[str, np.ndarray],
    argument: str,
    labels: Mapping[str, tuple[str, ...]] | None = None,
    *,
    named: bool = True,
    tree: Any = None,
) -> ChainDraws:
    first = next(iter(arrays))
    if arrays[first].ndim < 2:
        raise InputError(f"{argument}[{first!r}] is a number; pass (chain, draw, *shape).")
    chains, draws = arrays[first].shape[:2]
    for name, array in arrays.items():
        if array.shape[:2] != (chains, draws):
            raise InputError(
                f"{argument}[{name!r}] has shape {array.shape} but {argument}[{first!r}] has "
                f"{arrays[first].shape}; pass (chain, draw, *shape) for every variable."
            )
    # xarray names its axes; in bare arrays (n, d) is easily taken for n chains.
    if tree is None and chains > draws and draws < FEWEST_OF_MANY:
        raise InputError(
            f"{argument} would be {chains} chains of {draws} draws; pass (chain, draw, *shape): "
            "a[None] for one chain, of NumPyro mcmc.get_samples(group_by_chain=True)."
        )
    if chains * draws < 2:
        raise InputError(f"{argument} has {chains * draws} draws; give at least 2.")
    variables = {name: a.reshape(chains * draws, *a.shape[2:]) for name, a in arrays.items()}
    if labels is None:
        labels = {name: numbered_labels(name, a.shape[1:]) for name, a in variables.items()}
    return ChainDraws(variables, labels, chains, draws, named, tree)


def numbered_labels(name: str, shape: Sequence[int]) -> tuple[str, ...]:
    """Names of the entries of an array of this shape in C order, as ArviZ writes them.

    >>> numbered_labels("theta", (2, 1)), numbered_labels("mu", ())
    (('theta[0, 0]', 'theta[1, 0]'), ('mu',))
    """
    return _entry_labels(name, [range(size) for size in shape])


def _entry_labels(name: str, axes: Sequence[Iterable[Any]]) -> tuple[str, ...]:
    """By the coordinates of each dimension."""
    indices = product(*axes)
    return tuple(f"{name}[{', '.join(map(str, index))}]" if axes else name for index in indices)


def _numeric(name: str, values: Any) -> np.ndarray:
    try:
        array = unmasked(values)
    except (TypeError, ValueError):
        raise InputError(f"{name} is ragged; pass an array of real numbers.") from None
    if array.dtype.kind == "O":  # numbers as objects, None for what is missing
        return as_numbers(name, array)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} is not numeric ({array.dtype}); pass an array of real numbers.")
    return array.astype(np.float64)
