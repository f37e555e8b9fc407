"""The posterior of a log density written in JAX, as BlackJAX takes it."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from steinquad._float64 import float64
from steinquad._types import Array
from steinquad.chains.targets._draws import as_coordinates, as_draws, in_pieces, side_by_side
from steinquad.chains.targets.base import Target
from steinquad.errors import InputError

__all__ = ["JaxDensity"]


class JaxDensity(Target):
    """A log density on R^d as a JAX function of a position: a vector, a dict or any pytree.

    Args:
        log_density: log density of one position, up to a constant; on all of R^d, so with the
            Jacobian where it samples a positive or bounded quantity through a transform.
        position: one position, such as the one a sampler starts from. The draws are known by the
            names in it: keys and fields, joined by dots where they are nested, `x` for a lone
            array. By default it is a dict of all variables in the first draws that come.

    >>> target = JaxDensity(lambda q: -q["a"] ** 2 - q["b"] @ q["b"], {"a": 0.0, "b": np.zeros(2)})
    >>> z = target.unconstrain({"a": np.array([1.0]), "b": np.array([[2.0, 3.0]])})
    >>> target.score(z)
    array([[-2., -4., -6.]])
    """

    def __init__(self, log_density: Callable[[Any], Any], position: Any = None) -> None:
        if not callable(log_density):
            raise InputError(
                f"log_density is a {type(log_density).__name__}; pass a function in JAX."
            )
        self._log_density = log_density
        self._shapes: dict[str, tuple[int, ...]] | None = None
        if position is not None:
            self._start(position)

    @float64
    def unconstrain(self, draws: Mapping[str, Array]) -> Array:
        """The draws side by side as points of R^d, (n, d): they are unconstrained already.

        Without a position the first draws that come say which variables there are; one that the
        log density does not read is refused.
        """
        if self._shapes is None:
            shapes = {name: np.shape(values)[1:] for name, values in draws.items()}
            draws = as_draws(draws, shapes)
            self._start({name: values[0] for name, values in draws.items()})
            self._refuse_idle(draws)
        assert self._shapes is not None
        return side_by_side(as_draws(draws, self._shapes))

    @float64
    def score(self, points: Array) -> Array:
        """Gradient of the log density at points (n, d), by automatic differentiation in float64.

        Where no position was given, `unconstrain` must have been called before.
        """
        if self._shapes is None:
            raise InputError(
                "the log density was given without a position; give one to JaxDensity or call "
                "unconstrain with draws first."
            )
        return self._score(as_coordinates(points, self.dim))

    @float64
    def _start(self, position: Any) -> None:
        """Learn names and shapes from one position, and check the log density on it."""
        position = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=np.float64), position)
        leaves, _ = jax.tree_util.tree_flatten_with_path(position)
        shapes = {
            jax.tree_util.keystr(path, simple=True, separator=".") or "x": leaf.shape
            for path, leaf in leaves
        }
        flat, unravel = ravel_pytree(position)
        self._check(position)
        self.dim = len(flat)
        gradient = jax.grad(lambda point: self._log_density(unravel(point)))
        self._score = in_pieces(jax.jit(jax.vmap(gradient)))
        self._shapes = shapes

    def _check(self, position: Any) -> None:
        """Refuse what JAX cannot trace at this position, and any answer but one float."""
        try:
            answer = jax.eval_shape(self._log_density, position)
        except Exception as error:
            raise InputError(
                "log_density fails on a position of the draws' names and shapes "
                f"({str(error).splitlines()[0]}); give JaxDensity a position as its sampler had, "
                "and a NumPyro model as NumPyro(model, *args)."
            ) from error
        one = isinstance(answer, jax.ShapeDtypeStruct) and answer.shape == ()
        if not (one and jnp.issubdtype(answer.dtype, jnp.floating)):
            raise InputError(f"log_density gives {answer} for one position; return one float.")

    def _refuse_idle(self, draws: Mapping[str, Array]) -> None:
        """Refuse variables that the log density does not read, such as derived quantities."""
        few = {name: values[:8] for name, values in draws.items()}
        scores = self._score(side_by_side(few))
        ends = np.cumsum([values[0].size for values in few.values()])
        for name, part in zip(draws, np.split(scores, ends[:-1], axis=1), strict=True):
            if not part.any():
                self._shapes = None
                raise InputError(
                    f"the log density does not depend on {name!r} in the draws; leave it out, or "
                    "give JaxDensity a position that names what it does depend on."
                )
