"""The posterior of a Stan program through BridgeStan or PyStan."""

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from steinquad._types import Array
from steinquad.chains.targets._draws import as_coordinates, as_draws, check_support
from steinquad.chains.targets.base import Target
from steinquad.errors import InputError

__all__ = ["BridgeStan", "PyStan"]


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
            raise _refused("draws", error) from error
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
            raise _refused("points", error) from error


class PyStan(Target):
    """The posterior of a Stan program and its data, by Stan's transforms and gradient.

    Args:
        model: what `stan.build(program, data=...)` returned.

    Calls the compiled program itself: `model.grad_log_prob` starts a web server for every draw.
    """

    def __init__(self, model: Any) -> None:
        if not hasattr(model, "model_name") or not hasattr(model, "constrained_param_names"):
            raise InputError(f"model is a {type(model).__name__}; pass what stan.build returned.")
        models = import_module("httpstan.models")  # PyStan's other half, there if a model is
        self._program = models.import_services_extension_module(model.model_name)
        self._data = dict(model.data)
        self._shapes = {
            name: tuple(dims) for name, dims in zip(model.param_names, model.dims, strict=True)
        }

    def unconstrain(self, draws: Mapping[str, Array]) -> Array:
        """Draws of the parameters block as points of R^d, (n, d), by Stan's `transform_inits`.

        Draws of transformed parameters and generated quantities may be there too; what Stan
        refuses, or does not give back, is an `InputError`.
        """
        # Stan lists transformed parameters and generated quantities too, which need not be there.
        shapes = {name: shape for name, shape in self._shapes.items() if name in draws}
        draws = as_draws(draws, shapes or self._shapes)
        n = len(next(iter(draws.values())))
        rows = [{name: values[i] for name, values in draws.items()} for i in range(n)]
        try:
            points = np.array([self._program.transform_inits(self._data, row) for row in rows])
        except (RuntimeError, ValueError) as error:
            # Stan has no field for it, only this text.
            missing = re.search(r"variable does not exist.*variable name=(\w+)", str(error))
            if missing:
                as_draws(draws, {missing[1]: ()})
            raise _refused("draws", error) from error
        if not points.shape[1]:  # known from a draw only: PyStan lists generated quantities too
            raise InputError("model has no parameters, so no posterior.")
        self._check(points, draws)
        return points

    def score(self, points: Array) -> Array:
        """Gradient of the log density with the Jacobian, from Stan's `log_prob_grad`."""
        points = as_coordinates(points, np.shape(points)[-1])
        gradient = self._program.log_prob_grad
        try:
            return np.array([gradient(self._data, list(point), True) for point in points])
        except RuntimeError as error:
            raise _refused("points", error) from error

    def _check(self, points: Array, draws: Mapping[str, Array]) -> None:
        back = np.array(
            [self._program.write_array(self._data, list(z), False, False) for z in points]
        )
        # The parameters come first, the entries of each in column-major order.
        given, returned, start = {}, {}, 0
        for name, shape in self._shapes.items():
            end = start + int(np.prod(shape))
            if end > back.shape[1]:
                break
            given[name] = draws[name].reshape(len(back), -1, order="F")
            returned[name], start = back[:, start:end], end
        check_support(given, points, returned)


def _parse(name: str) -> tuple[str, tuple[int, ...]]:
    """`theta.2.1` as theta and (1, 0)."""
    base, *index = name.split(".")
    if ":" in name or not all(word.isdigit() for word in index):
        raise InputError(
            f"model has the parameter {name!r}, of a tuple or complex type; draws of those have "
            "no one array, so declare its parts as parameters."
        )
    return base, tuple(int(word) - 1 for word in index)


def _refused(what: str, error: Exception) -> InputError:
    """Stan's exception as an `InputError`, with the cause that is easily overlooked."""
    # A simplex must sum to one within 1e-8, which files with CmdStan's default digits do not.
    return InputError(
        f"{what} are refused by Stan ({' '.join(str(error).split())}); check that they come from "
        "this program and were stored with all digits (sig_figs=18 in CmdStan)."
    )
