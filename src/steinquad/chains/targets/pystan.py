"""The posterior of a Stan program through PyStan."""

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from steinquad._types import Array
from steinquad.chains.targets._draws import as_coordinates, as_draws, check_support
from steinquad.chains.targets._stan import refused
from steinquad.chains.targets.base import Target
from steinquad.errors import InputError

__all__ = ["PyStan"]


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
            raise refused("draws", error) from error
        if not points.shape[1]:
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
            raise refused("points", error) from error

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
