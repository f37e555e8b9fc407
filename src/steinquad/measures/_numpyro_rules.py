"""How numpyro's functions are called, if at all, and on which box a distribution lives."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as nd

from steinquad.errors import InputError
from steinquad.support import Support

__all__ = ["cdf_cancels", "implemented", "support_of", "unwrap"]

# numpyro's truncation subtracts cdf(low) from cdf(x): below this share few digits are left.
SMALLEST_MASS = 1e-9


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


def support_of(dist: nd.Distribution, dim: int) -> Support:
    """The support of `dist` as a box, or an error that says why it has none.

    Mixtures must have one support in all components, and the sides that transforms of a bounded
    base close are added to what numpyro declares.

    Args:
        dist: a numpyro distribution.
        dim: number of its coordinates.
    """
    if dist.support is None:
        raise InputError(
            f"measure {type(dist).__name__} declares no support; pass its log density to "
            "LogDensity with a support."
        )
    declared = Support.parse(dist.support, dim)
    base = unwrap(dist)
    if isinstance(base, nd.MixtureGeneral):
        _check_components(base.component_distributions, declared)
    if isinstance(base, nd.TransformedDistribution):
        return _narrowed(base, declared)
    return declared


def _check_components(components: Sequence[nd.Distribution], declared: Support) -> None:
    """Refuse components of different supports: the mixture's density jumps where one ends.

    numpyro compares the kinds of the supports, not their bounds, and reports the first.
    """
    for k, component in enumerate(components):
        own = support_of(component, declared.dim)
        if own != declared:
            raise InputError(
                f"measure is a mixture on {declared} whose component {k} lives on {own}; "
                "its density jumps inside the support, so integrate over each component by itself."
            )


def _narrowed(dist: nd.TransformedDistribution, declared: Support) -> Support:
    """`declared`, with the open sides that the transforms in fact close.

    numpyro takes the codomain of the last transform: a half-normal shifted by an affine
    transform declares all of R.
    """
    inner = support_of(dist.base_dist, declared.dim)
    if not inner.bounded:
        return declared
    if any(t.domain.event_dim or t.codomain.event_dim for t in dist.transforms):
        raise InputError(
            f"measure {type(dist).__name__} mixes the coordinates of a base on {inner}, so its "
            "support is not a box; integrate over the base's coordinates instead."
        )
    ends = jnp.stack([jnp.asarray(inner.low), jnp.asarray(inner.high)])
    for transform in dist.transforms:
        ends = transform(ends)
    low, high = np.sort(np.asarray(ends, dtype=np.float64), axis=0)
    return Support.box(
        np.where(np.isneginf(declared.low) & np.isfinite(low), low, declared.low),
        np.where(np.isposinf(declared.high) & np.isfinite(high), high, declared.high),
        declared.dim,
    )
