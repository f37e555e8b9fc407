"""The posterior of a Stan program through BridgeStan."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from steinquad._types import Array
from steinquad.chains.targets._draws import as_coordinates, as_draws, check_support
from steinquad.chains.targets._stan import refused
from steinquad.chains.targets.base import Target
from steinquad.errors import InputError

__all__ = ["BridgeStan"]


class BridgeStan(Target):
    """The posterior of a Stan program and its data, by Stan's transforms and gradient.

    Args:
        model: a `bridgestan.StanModel`, made from the program and data that the draws are from;
            CmdStan, CmdStanPy, nutpie and other samplers of Stan programs give the same draws.
    """

    def __init__(self, model: Any) -> None:
        if not hasattr(model, "log_density_gradient"):
            raise InputError(f"model is a {type(model).__name__}; pass a bridgestan.StanModel.")
        self._model = model
        self._entries = [_parse(name) for name in model.param_names()]
        if not self._entries:
            raise InputError("model has no parameters, so no posterior.")
        self._shapes: dict[str, tuple[int, ...]] = {}
        for name, index in self._entries:  # the last entry has the largest index in every axis
            self._shapes[name] = tuple(i + 1 for i in index)
        self.dim = int(model.param_unc_num())

    def unconstrain(self, draws: Mapping[str, Array]) -> Array:
        """Draws of the parameters block as points of R^d, (n, d).

        By `StanModel.param_unconstrain`, which goes through matrices by columns; draws that Stan
        refuses, or that do not come back, are an `InputError`.
        """
        draws = as_draws(draws, self._shapes)
        columns = [draws[name][(slice(None), *index)] for name, index in self._entries]
        rows = np.stack(columns, axis=1)
        try:
            points = np.array([self._model.param_unconstrain(row) for row in rows])
        except RuntimeError as error:
            raise refused("draws", error) from error
        back = np.array([self._model.param_constrain(point) for point in points])
        names = [".".join([name, *(str(i + 1) for i in index)]) for name, index in self._entries]
        given, returned = (dict(zip(names, a.T, strict=True)) for a in (rows, back))
        check_support(given, points, returned)
        return points

    def score(self, points: Array) -> Array:
        """Gradients at points (n, d) from `StanModel.log_density_gradient`, with the Jacobian."""
        points = as_coordinates(points, self.dim)
        try:
            return np.array([self._model.log_density_gradient(point)[1] for point in points])
        except RuntimeError as error:
            raise refused("points", error) from error


def _parse(name: str) -> tuple[str, tuple[int, ...]]:
    """`theta.2.1` as theta and (1, 0)."""
    base, *index = name.split(".")
    if ":" in name or not all(word.isdigit() for word in index):
        raise InputError(
            f"model has the parameter {name!r}, of a tuple or complex type; draws of those have "
            "no one array, so declare its parts as parameters."
        )
    return base, tuple(int(word) - 1 for word in index)
