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
    """Run `function` in float64 and with JAX's default promotion, which numpyro relies on."""

    @wraps(function)
    def scoped(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
            return float64(function)(*args, **kwargs)

    return scoped


def implemented(function: Callable[[Any], Any], argument: Any) -> bool:
    """Whether numpyro implements it; some inverses need a package that may be absent."""
    try:
        jax.eval_shape(function, argument)
    except (ImportError, NotImplementedError):
        return False
    return True


def unwrap(dist: nd.Distribution) -> nd.Distribution:
    """What is repeated or reinterpreted by `.expand` and `.to_event`."""
    while isinstance(dist, nd.Independent | nd.ExpandedDistribution):
        dist = dist.base_dist
    return dist


def cdf_cancels(dist: Any) -> bool:
    """Whether a truncated distribution's cdf has lost its digits, far in the right tail."""
    if not isinstance(dist, nd.LeftTruncatedDistribution | nd.TwoSidedTruncatedDistribution):
        return False
    two_sided = isinstance(dist, nd.TwoSidedTruncatedDistribution)
    base: Any = dist.base_dist
    top = np.asarray(base.cdf(dist.high)) if two_sided else np.ones(())
    mass = top - np.asarray(base.cdf(dist.low))
    return bool(np.any(mass < SMALLEST_MASS * top))
