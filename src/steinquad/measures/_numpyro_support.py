"""The box a numpyro distribution lives on, where what it declares is not the whole story."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as nd

from steinquad.errors import InputError
from steinquad.measures._numpyro_rules import unwrap
from steinquad.support import Support

__all__ = ["support_of"]


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
