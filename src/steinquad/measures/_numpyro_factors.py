"""What a numpyro distribution is made of: mixtures, products, and the marginals known to both."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpyro.distributions as nd

from steinquad._float64 import float64
from steinquad._types import Array
from steinquad.measures._invert import invert_cdf
from steinquad.measures._numpyro_rules import cdf_cancels, implemented, support_of, unwrap
from steinquad.measures.factors import Gaussian, Terms, combined, flattened
from steinquad.measures.marginal import Functions, Marginal
from steinquad.support import Support

__all__ = ["terms_of"]

# Truncated distributions, and which sides they have.
CUTS: dict[Any, tuple[str, ...]] = {
    nd.LeftTruncatedDistribution: ("low",),
    nd.RightTruncatedDistribution: ("high",),
    nd.TwoSidedTruncatedDistribution: ("low", "high"),
}

# JAX compiles for every length of a batch: shorter ones are padded to this, longer to powers of 2.
SHORTEST_BATCH = 64


@float64
def terms_of(dist: nd.Distribution, dim: int) -> Terms | None:
    """The components of a distribution of `dim` coordinates, or None where they are unknown.

    Args:
        dist: a numpyro distribution with empty batch shape.
        dim: number of its coordinates, the size of the event.

    Returns:
        Weights and components: products of marginals or correlated normals, with nested mixtures
        multiplied out.
    """
    return _vector_terms(_Entry(dist, (), ()), dim)


class _Entry(NamedTuple):
    """One distribution of a batch: the entry `place` of parameters of shape `shape`."""

    dist: Any
    shape: tuple[int, ...]
    place: tuple[int, ...]

    def value(self, parameter: Any, *event: int) -> Any:
        """Of a parameter, which numpyro may keep in a smaller shape."""
        array = np.asarray(parameter, np.float64)
        return np.broadcast_to(array, (*self.shape, *event))[self.place]


def _vector_terms(entry: _Entry, dim: int) -> Terms | None:
    base: Any = unwrap(entry.dist)
    event = entry.dist.event_shape
    if base.event_shape == ():
        places = [(*entry.place, i) for i in range(dim)] if event else [entry.place]
        each = [_scalar_terms(_Entry(base, (*entry.shape, *event), at)) for at in places]
        known = [terms for terms in each if terms is not None]
        return combined(known) if len(known) == dim else None
    if type(base) in (nd.MultivariateNormal, nd.LowRankMultivariateNormal):
        mean = entry.value(base.mean, dim)
        return [(1.0, Gaussian(mean, entry.value(base.covariance_matrix, dim, dim)))]
    parts = _mixture_parts(entry._replace(dist=base))
    if parts is None:
        return None
    return flattened((weight, _vector_terms(part, dim)) for weight, part in parts)


def _scalar_terms(entry: _Entry) -> list[tuple[float, tuple[Marginal, ...]]] | None:
    entry = entry._replace(dist=unwrap(entry.dist))
    parts = _mixture_parts(entry)
    if parts is not None:
        return flattened((weight, _scalar_terms(part)) for weight, part in parts)
    marginal = _known_marginal(entry) or _other_marginal(entry)
    return None if marginal is None else [(1.0, (marginal,))]


def _mixture_parts(entry: _Entry) -> list[tuple[float, _Entry]] | None:
    """Weight and component of each part of a mixture, None of anything else."""
    dist, shape, place = entry
    if not isinstance(dist, nd.MixtureSameFamily | nd.MixtureGeneral):
        return None
    probs: Any = dist.mixing_distribution.probs
    weights = entry.value(probs, np.shape(probs)[-1]).tolist()
    if isinstance(dist, nd.MixtureGeneral):
        parts = [entry._replace(dist=part) for part in dist.component_distributions]
    else:
        part, shape = dist.component_distribution, (*shape, len(weights))
        parts = [_Entry(part, shape, (*place, k)) for k in range(len(weights))]
    return list(zip(weights, parts, strict=True))


def _known_marginal(entry: _Entry) -> Marginal | None:
    """Of the families that have closed forms."""
    dist = entry.dist
    kind: Any = type(dist)
    if kind is nd.Normal:
        return Marginal.normal(entry.value(dist.loc), entry.value(dist.scale))
    if kind is nd.HalfNormal:
        return Marginal.normal(0.0, entry.value(dist.scale), 0.0)
    if kind is nd.Uniform:
        return Marginal.uniform(entry.value(dist.low), entry.value(dist.high))
    if kind in CUTS and type(dist.base_dist) is nd.Normal:
        sides = {side: entry.value(getattr(dist, side)) for side in CUTS[kind]}
        base = dist.base_dist
        return Marginal.normal(entry.value(base.loc), entry.value(base.scale), **sides)
    return None


def _other_marginal(entry: _Entry) -> Marginal | None:
    """By numpyro's functions, None without a cdf."""
    dist, shape, place = entry
    point = np.full(shape, 0.5)
    if not implemented(dist.cdf, point) or cdf_cancels(dist):
        return None
    try:
        box = support_of(dist, math.prod(dist.batch_shape))
    except ValueError:  # bounds of more than one axis
        return None
    low = float(entry.value(box.low.reshape(dist.batch_shape)))
    high = float(entry.value(box.high.reshape(dist.batch_shape)))

    @float64
    def at(method: Callable[[Any], Any], x: Array) -> Array:
        count = max(SHORTEST_BATCH, 1 << (len(x) - 1).bit_length())
        batch = np.full((count, *(1,) * len(shape)), 0.5 if len(x) == 0 else x[0])
        batch[: len(x)] = x.reshape(-1, *(1,) * len(shape))
        value = np.broadcast_to(np.asarray(method(batch), np.float64), (count, *shape))
        return np.array(value[(slice(len(x)), *place)])

    def inverse(p: Array) -> Array:
        side = Support.box(low, high, 1)
        return invert_cdf(lambda x: cdf(x[:, 0])[:, None], side, p[:, None])[:, 0]

    cdf = partial(at, dist.cdf)
    icdf = partial(at, dist.icdf) if implemented(dist.icdf, point) else inverse
    name = type(dist).__name__
    functions = Functions(name, lambda x: np.exp(at(dist.log_prob, x)), cdf, icdf)
    return Marginal.other(functions, low, high)
