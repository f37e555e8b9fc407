"""A measure known by an unnormalized log density, a JAX function of one point."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from steinquad._compile import filled_up
from steinquad._float64 import float64
from steinquad._types import Array, as_flag, as_points, is_count, is_word
from steinquad.errors import InputError, shown
from steinquad.measures.base import Measure
from steinquad.measures.checks import as_draw_request, as_names, as_samples
from steinquad.support import Support

__all__ = ["LogDensity"]


class LogDensity(Measure):
    """The measure proportional to `exp(log_density(x))` on a declared support.

    Args:
        log_density: JAX function of one point, `(d,) -> ()`, up to an additive constant.
        dim: number of coordinates.
        support: where it lives, as `Support.parse` takes it; None is all of R^d. A side that is
            not declared makes the integrals wrong, not merely noisy.
        names: coordinate names, `x0, x1, ...` by default.
        sample: function `(n, seed) -> (n, d)` of independent draws, where there is one.
        sequential: one point after the other. Right where the log density runs a solver with
            steps of its own choice: together, all points would take those of the slowest.
        derivative: how the score is found, here and in samplers: "reverse", or "forward", d
            tangents at once, which is cheaper for the solution of an ODE with few parameters and
            what `diffrax.ForwardMode` needs. The score is then NaN where the density is zero.

    >>> LogDensity(lambda x: -x @ x, 2).score([[1.0, 2.0]])
    array([[-2., -4.]])
    """

    def __init__(
        self,
        log_density: Callable[[Any], Any],
        dim: int,
        support: Any = None,
        names: Sequence[str] | None = None,
        sample: Callable[[int, int], Any] | None = None,
        sequential: bool = False,
        derivative: Literal["reverse", "forward"] = "reverse",
    ) -> None:
        if not is_count(dim, 1):
            raise InputError(f"dim is {shown(dim)}; pass the number of coordinates, at least 1.")
        if not callable(log_density):
            raise InputError(
                f"log_density is a {type(log_density).__name__}; pass a JAX function (d,) -> ()."
            )
        if sample is not None and not callable(sample):
            raise InputError(f"sample is {shown(sample)}; pass a function of n and seed, or None.")
        if not is_word(derivative, "reverse", "forward"):
            raise InputError(f"derivative is {shown(derivative)}; choose 'reverse' or 'forward'.")
        self.names = as_names(names, int(dim))
        self.support = Support.parse(support, int(dim), self.names)
        _check(log_density, int(dim))
        self._sampler = sample
        self.provides = frozenset({"log_density"} | ({"sample"} if sample else set()))
        if derivative == "forward":
            log_density = _forward(log_density)
        self._sequential = as_flag("sequential", sequential)
        over = partial(partial, jax.lax.map) if self._sequential else jax.vmap
        self._values = jax.jit(over(log_density))
        self._scores = jax.jit(over(jax.grad(log_density)))

    @float64
    def score(self, x: Array) -> Array:
        """Gradient of the log density, (n, d) -> (n, d), by automatic differentiation.

        Compiled for few numbers of points, up to which batches are filled, unless `sequential`.
        With `derivative="forward"` it is NaN where the density is zero; with `sequential` the
        points are evaluated one after the other.
        """
        x = as_points("x", x, self.dim)
        return self._at(self._scores, x)

    @float64
    def log_density(self, x: Array) -> Array:
        """The function given at each point, (n, d) -> (n,): minus infinity outside the support.

        It is not normalized: the additive constant is whatever the user's function has, so values
        are comparable between points but not between measures.
        """
        x = as_points("x", x, self.dim)
        value = self._at(self._values, x)
        return np.where(self.support.contains(x), value, -np.inf)

    def sample(self, n: int, *, seed: int) -> Array:
        """Draws (n, d) from the sampler given, refused if they have another shape.

        Without a sampler this raises `InputError`, because nothing can be drawn from an
        unnormalized density directly; Markov chains start from `jax_log_density` instead.
        """
        if self._sampler is None:
            raise self._missing("sample")
        n, seed = as_draw_request(n, seed)
        return as_samples(self._sampler(n, seed), n, self.dim)

    def _at(self, function: Callable[[Any], Any], x: Array) -> Array:
        """Of every point; one after the other they are too dear to be evaluated for nothing."""
        rows = x if self._sequential else filled_up(x)
        return np.array(function(jax.device_put(rows)), dtype=np.float64)[: len(x)]

    def jax_log_density(self) -> Callable[[Any], Any]:
        """The function given, as it is compiled for batches.

        It keeps the choices of `sequential` and `derivative`, so that a sampler that
        differentiates it follows the same mode as `score` does.
        """
        values = self._values  # not self: see the base class
        return lambda x: values(x[None])[0]


def _forward(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`function` with forward tangents for whoever takes its gradient in reverse."""

    @jax.custom_vjp
    def value(x: Any) -> Any:
        return function(x)

    def with_gradient(x: Any) -> tuple[Any, Any]:
        push = jax.vmap(lambda t: jax.jvp(function, (x,), (t,)), out_axes=(None, 0))
        result, gradient = push(jnp.eye(len(x)))
        return result, jnp.where(jnp.isfinite(result), gradient, jnp.nan)

    value.defvjp(with_gradient, lambda gradient, weight: (weight * gradient,))
    return value


@float64
def _check(log_density: Callable[[Any], Any], dim: int) -> None:
    """Refuse what JAX cannot trace, and any answer but one float for one point."""
    point = jax.ShapeDtypeStruct((dim,), np.float64)
    try:
        answer = jax.eval_shape(log_density, point)
    except jax.errors.JAXTypeError:
        raise InputError(
            "log_density is not a JAX function (it turns a traced array into numbers); "
            "write it with jax.numpy, or pass points and scores to Draws."
        ) from None
    except (TypeError, ValueError, IndexError) as error:
        raise InputError(
            f"log_density fails on a point of shape ({dim},): {str(error).splitlines()[0]}"
        ) from error
    shape, kind = getattr(answer, "shape", None), getattr(answer, "dtype", None)
    if shape != () or kind is None or not jnp.issubdtype(kind, jnp.floating):
        raise InputError(
            f"log_density gives {answer} for a point of shape ({dim},); return one float, "
            "for example with a sum over the coordinates."
        )
