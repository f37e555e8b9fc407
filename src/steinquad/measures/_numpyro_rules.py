"""How numpyro's functions are called: in float64, under JAX's default promotion, if at all."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import jax
import numpy as np
import numpyro.distributions as nd

from steinquad._float64 import float64

__all__ = ["cdf_cancels", "implemented", "in_numpyro_rules", "unwrap"]

# numpyro's truncation subtracts cdf(low) from cdf(x): below this share few digits are left.
SMALLEST_MASS = 1e-9

P = ParamSpec("P")
R = TypeVar("R")


def in_numpyro_rules(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` in float64 and with JAX's default promotion, which numpyro relies on.

    The rest of the library may run under strict promotion rules, under which numpyro's
    broadcasting of parameters would raise. Use it as a decorator of whatever calls numpyro.
    """

    @wraps(function)
    def scoped(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
            return float64(function)(*args, **kwargs)

    return scoped


def implemented(function: Callable[[Any], Any], argument: Any) -> bool:
    """Whether numpyro implements it; some inverses need a package that may be absent.

    Only shapes are evaluated, so the question costs no computation.

    Args:
        function: a method such as `dist.cdf`.
        argument: anything of the shape and type that the method takes.
    """
    try:
        jax.eval_shape(function, argument)
    except (ImportError, NotImplementedError):
        return False
    return True


def unwrap(dist: nd.Distribution) -> nd.Distribution:
    """What is repeated or reinterpreted by `.expand` and `.to_event`.

    Both wrappers only rearrange batch and event axes, so that the scalar cdf and the parameters
    are those of the distribution inside. Wrappers in wrappers are removed too.
    """
    while isinstance(dist, nd.Independent | nd.ExpandedDistribution):
        dist = dist.base_dist
    return dist


def cdf_cancels(dist: Any) -> bool:
    """Whether a truncated distribution's cdf has lost its digits, far in the right tail.

    numpyro truncates by a difference of two values of the base's cdf, which leaves no digits where
    both are close to 1. Such a cdf is then treated as unknown.
    """
    if not isinstance(dist, nd.LeftTruncatedDistribution | nd.TwoSidedTruncatedDistribution):
        return False
    two_sided = isinstance(dist, nd.TwoSidedTruncatedDistribution)
    base: Any = dist.base_dist
    top = np.asarray(base.cdf(dist.high)) if two_sided else np.ones(())
    mass = top - np.asarray(base.cdf(dist.low))
    return bool(np.any(mass < SMALLEST_MASS * top))
