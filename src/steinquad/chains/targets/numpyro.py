"""The posterior of a NumPyro model."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from steinquad._float64 import float64
from steinquad._types import Array
from steinquad.chains.targets._draws import as_coordinates, as_draws, check_support, in_pieces
from steinquad.chains.targets.base import Target
from steinquad.errors import InputError

__all__ = ["NumPyro"]


class NumPyro(Target):
    """The posterior of a NumPyro model and its data, by NumPyro's own transforms.

    Args:
        model: the function with the `numpyro.sample` statements, with its handlers (`reparam`,
            `condition`) where the draws came from it with those.
        args: its positional arguments, as given to `MCMC.run`; float arrays are read as float64.
        kwargs: its keyword arguments.

    Draws of every sampled site are needed, of a reparametrized site those of its auxiliary site
    (`x_decentered`), all of which `MCMC.get_samples` returns.

    >>> import numpyro, numpyro.distributions as nd
    >>> def model(y):
    ...     scale = numpyro.sample("scale", nd.Exponential(1.0))
    ...     numpyro.sample("y", nd.Normal(0.0, scale), obs=y)
    >>> target = NumPyro(model, np.array([1.0, 2.0]))
    >>> z = target.unconstrain({"scale": np.array([1.0, 2.0])})
    >>> z.round(4), target.score(z)  # z = log(scale), 1 - scale + (1^2 + 2^2) / scale^2 - 2
    (array([[0.    ],
           [0.6931]]), array([[ 3.  ],
           [-1.75]]))
    """

    @float64
    def __init__(self, model: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
        from numpyro.handlers import seed
        from numpyro.infer.util import constrain_fn, potential_energy, unconstrain_fn

        if not callable(model):
            raise InputError(f"model is a {type(model).__name__}; pass a NumPyro model function.")
        args, kwargs = jax.tree.map(_widened, (args, kwargs))
        seeded = seed(model, rng_seed=0)
        # Shapes by tracing alone: run as it is, every operation of a model would be compiled.
        example = jax.eval_shape(lambda: _latent_values(seeded, args, kwargs))
        self._shapes = {name: value.shape for name, value in example.items()}
        start = jax.eval_shape(lambda draw: unconstrain_fn(seeded, args, kwargs, draw), example)
        position, unravel = ravel_pytree(jax.tree.map(lambda a: np.zeros(a.shape), start))
        self.dim = len(position)

        def unconstrain(draw: Any) -> Any:
            return ravel_pytree(unconstrain_fn(seeded, args, kwargs, draw))[0]

        def constrain(point: Any) -> Any:
            values = constrain_fn(seeded, args, kwargs, unravel(point))
            return {name: values[name] for name in example}

        def log_density(point: Any) -> Any:
            return -potential_energy(seeded, args, kwargs, unravel(point))

        functions = (unconstrain, constrain, jax.grad(log_density))
        self._unconstrain, self._constrain, self._score = (
            in_pieces(jax.jit(jax.vmap(f))) for f in functions
        )

    @float64
    def unconstrain(self, draws: Mapping[str, Array]) -> Array:
        """Draws of the sampled sites as points of R^d, (n, d), sites in the order of their names.

        By the inverse of `numpyro.distributions.biject_to`; draws that leave the support of the
        model are refused.
        """
        draws = as_draws(draws, self._shapes)
        points = self._unconstrain(draws)
        check_support(draws, points, self._constrain(points))
        return points

    @float64
    def score(self, points: Array) -> Array:
        """Minus the gradient of NumPyro's potential energy at points (n, d), in float64.

        The Jacobian of the transforms is in it, as in what NumPyro's samplers see.
        """
        return self._score(as_coordinates(points, self.dim))


def _widened(value: Any) -> Any:
    """Arrays of floats in float64, everything else as it is."""
    is_array = isinstance(value, np.ndarray | jax.Array)
    floats = is_array and jnp.issubdtype(value.dtype, jnp.floating)
    return value.astype(np.float64) if floats else value


def _latent_values(model: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any]:
    """A value of every sampled site that is not observed; refused where one is discrete."""
    from numpyro.handlers import substitute, trace
    from numpyro.infer import init_to_uniform

    # Not drawn from the prior: flat priors have no draws, and some others no sampler.
    placed = substitute(model, substitute_fn=init_to_uniform)
    sites = trace(placed).get_trace(*args, **kwargs).values()
    latent = [s for s in sites if s["type"] == "sample" and not s["is_observed"]]
    for site in latent:
        if site["fn"].support is not None and site["fn"].support.is_discrete:
            raise InputError(
                f"model has the discrete site {site['name']!r}, so its posterior has no score; "
                "sum that site out of the model, for example with a mixture distribution."
            )
    if not latent:
        raise InputError("model has no sampled site that is not observed, so no posterior.")
    return {s["name"]: jnp.asarray(s["value"], dtype=np.float64) for s in latent}
