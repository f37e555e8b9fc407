"""The posterior of a PyMC model."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from steinquad._types import Array
from steinquad.chains.targets._draws import as_coordinates, as_draws, check_support, in_pieces
from steinquad.chains.targets.base import Target
from steinquad.errors import InputError

__all__ = ["PyMC"]

# Position among PyTensor's rewrites, the last of which is at 100.
AFTER_ALL = 200


class PyMC(Target):
    """The posterior of a PyMC model, by its own value transforms and gradient.

    Args:
        model: a `pymc.Model` whose free variables are all continuous, with the observed data that
            the draws were made with.

    The graph runs on many draws at a time in NumPy, so no C or Numba code is compiled.
    """

    def __init__(self, model: Any) -> None:
        _check(model)
        variables, values = model.free_RVs, model.value_vars
        with _without_compiler():
            shapes = model.eval_rv_shapes()
            forward, inputs = _forward(model)
            backward = model.replace_rvs_by_values(variables)
            self._unconstrain = _vectorized(inputs, forward)
            self._constrain = _vectorized(values, backward)
            self._score = _vectorized(values, [model.dlogp(vars=variables, jacobian=True)])
        self._shapes = {v.name: tuple(map(int, shapes[v.name])) for v in variables}
        self._value_shapes = [tuple(map(int, shapes[v.name])) for v in values]
        self.dim = sum(int(np.prod(shape)) for shape in self._value_shapes)

    def unconstrain(self, draws: Mapping[str, Array]) -> Array:
        """Draws of the free variables as points of R^d, (n, d), by the model's own transforms.

        The coordinates are the model's value variables, one after the other; draws that leave the
        support are refused.
        """
        draws = as_draws(draws, self._shapes)
        with np.errstate(all="ignore"):  # what leaves the support is refused below
            parts = self._unconstrain(list(draws.values()))
            back = self._constrain(parts)
        points = np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
        check_support(draws, points, dict(zip(draws, back, strict=True)))
        return points

    def score(self, points: Array) -> Array:
        """Gradient of `model.logp(jacobian=True)` with respect to the value variables, (n, d).

        In NumPy, some hundred draws at a time.
        """
        return self._score(self._split(as_coordinates(points, self.dim)))[0]

    def _split(self, points: Array) -> list[Array]:
        """Points as the model's value variables, one after the other."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self._value_shapes])
        parts = np.split(points, ends[:-1], axis=1)
        return [p.reshape(-1, *s) for p, s in zip(parts, self._value_shapes, strict=True)]


def _check(model: Any) -> None:
    """Refuse what has no score."""
    if not hasattr(model, "free_RVs"):
        raise InputError(f"model is a {type(model).__name__}; pass a pymc.Model.")
    if model.discrete_value_vars:
        raise InputError(
            f"model has the discrete variable {model.discrete_value_vars[0].name!r}, so its "
            "posterior has no score; sum it out of the model, for example with pymc.Mixture."
        )
    if not model.free_RVs:
        raise InputError("model has no free variables, so no posterior.")


def _forward(model: Any) -> tuple[list[Any], list[Any]]:
    """Every free variable's unconstrained value, and the draws that it is a function of.

    A transform may depend on other variables, such as the bounds of an interval.
    """
    from pytensor.graph.replace import clone_replace

    draws = {rv: rv.type(name=rv.name) for rv in model.free_RVs}
    transformed = []
    for rv, draw in draws.items():
        transform = model.rvs_to_transforms[rv]
        moved = draw if transform is None else transform.forward(draw, *rv.owner.inputs)
        transformed.append(moved)
    return clone_replace(transformed, replace=draws), list(draws.values())


def _vectorized(inputs: Sequence[Any], outputs: Sequence[Any]) -> Callable[[Any], Any]:
    """A function of arrays with one more axis in front, for the draws."""
    from pytensor.compile.function import function
    from pytensor.compile.mode import Mode
    from pytensor.graph.replace import vectorize_graph
    from pytensor.graph.rewriting.basic import WalkingGraphRewriter, node_rewriter
    from pytensor.scalar.basic import Add, Mul
    from pytensor.tensor.elemwise import Elemwise
    from pytensor.tensor.type import tensor

    @node_rewriter([Elemwise])
    def in_pairs(fgraph: Any, node: Any) -> Any:
        """Sums and products two by two: those of more terms have no function in NumPy."""
        many = isinstance(node.op.scalar_op, Add | Mul) and len(node.inputs) > 2
        return [reduce(node.op, node.inputs)] if many else None

    rows = [tensor(v.name, dtype=v.dtype, shape=(None, *v.type.shape)) for v in inputs]
    graphs = vectorize_graph(list(outputs), replace=dict(zip(inputs, rows, strict=True)))
    # Fused operations are loops in Python without a compiler.
    mode = Mode("py", "fast_run").excluding("fusion", "inplace")
    mode = mode.register((WalkingGraphRewriter(in_pairs), AFTER_ALL))
    program = function(rows, graphs, mode=mode, on_unused_input="ignore")
    return in_pieces(lambda arrays: program(*arrays))


def _without_compiler() -> Any:
    """PyTensor's graphs in NumPy: minutes of C++ compilation are more than the gradients take."""
    from pytensor.configdefaults import config

    return config.change_flags(cxx="")
