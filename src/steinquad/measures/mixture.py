"""A mixture of scalar measures of any kinds."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax

from steinquad._types import Array, as_finite, as_points
from steinquad.errors import InputError
from steinquad.measures.base import EVERYTHING, Measure
from steinquad.measures.checks import as_draw_request
from steinquad.measures.convert import as_measure
from steinquad.measures.factors import Factors, flattened
from steinquad.support import Support

__all__ = ["Mixture"]

SMALLEST_JUMP = 1e-6  # of a component's density at a side, in units of that at its median
# A density fades if it has at most this share of what it has so many times further off, which must
# still be so near to the side, in units of the way to the median.
FADES, FURTHER, NEAR = 0.7, 1e6, 1e-3


class Mixture(Measure):
    """One of several scalar measures, chosen with given weights.

    The density must not jump inside the support: where it does, the score does not know of it and
    Stein's identity fails. So a component that ends inside must fade to zero there, as a gamma
    with a shape above 1 does, and a uniform does not.

    Args:
        components: at least two scalar measures, anything `as_measure` takes.
        weights: a positive number for each; they are divided by their sum.

    >>> import scipy.stats as st
    >>> both = Mixture([st.norm(), st.gamma(3.0)], [1.0, 3.0])
    >>> both.cdf([[0.0]])
    array([[0.125]])
    """

    provides = EVERYTHING

    def __init__(self, components: Sequence[Any], weights: Sequence[float]) -> None:
        self.components = tuple(as_measure(each) for each in components)
        if len(self.components) < 2 or any(each.dim != 1 for each in self.components):
            raise InputError(
                f"components has {len(self.components)} entries, of dims "
                f"{[each.dim for each in self.components]}; give at least two scalar measures."
            )
        for i, each in enumerate(self.components):
            lacking = sorted(EVERYTHING - each.provides)
            if lacking:
                raise InputError(f"components[{i}] has no {lacking[0]}; give one that has.")
        given = as_finite("weights", weights, ndim=(1,))
        if len(given) != len(self.components) or (given <= 0).any():
            raise InputError(f"weights is {weights!r}; give a positive number for each component.")
        self.weights = given / given.sum()
        low = min(float(each.support.low[0]) for each in self.components)
        high = max(float(each.support.high[0]) for each in self.components)
        self.support, self.names = Support.box(low, high, 1), ("x0",)
        for i, each in enumerate(self.components):
            _check_sides(i, each, self.support)

    def score(self, x: Array) -> Array:
        """The components' scores, (n, 1) -> (n, 1), by the share that each has of the density.

        Where a share is zero the component's score, which may be NaN outside its support, is left
        out. Points without any density have the score NaN.
        """
        x = as_points("x", x, 1)
        with np.errstate(invalid="ignore"):  # where there is no density there is no score
            shares = softmax(self._logs(x), axis=1)
        scores = np.stack([each.score(x)[:, 0] for each in self.components], axis=1)
        return np.sum(shares * np.where(shares > 0, scores, 0.0), axis=1, keepdims=True)

    def log_density(self, x: Array) -> Array:
        """Normalized log density at each point, (n, 1) -> (n,).

        The components' own normalized log densities are combined by `logsumexp`; outside all
        supports the value is minus infinity.
        """
        return np.asarray(logsumexp(self._logs(as_points("x", x, 1)), axis=1))

    def sample(self, n: int, *, seed: int) -> Array:
        """Independent draws: how many of which component, each by its own sampler, shuffled.

        Which component a row comes from is random, not stratified, so that draws are independent
        and identically distributed. Every component has a seed of its own, derived from `seed`.
        """
        n, seed = as_draw_request(n, seed)
        own, *seeds = np.random.SeedSequence(seed).generate_state(
            len(self.components) + 1, np.uint64
        )
        chosen = np.random.default_rng(own).choice(len(self.weights), size=n, p=self.weights)
        out = np.empty((n, 1))
        for k, each in enumerate(self.components):
            where = np.flatnonzero(chosen == k)
            if len(where):  # 63 bits, which all samplers take
                out[where] = each.sample(len(where), seed=int(seeds[k] >> np.uint64(1)))
        return out

    def cdf(self, x: Array) -> Array:
        """Distribution function at each point, (n, 1) -> (n, 1): the components', weighted.

        Since each component's value is 0 or 1 beyond its own sides, components with different
        supports need no special case.
        """
        x = as_points("x", x, 1)
        each = np.stack([component.cdf(x)[:, 0] for component in self.components], axis=1)
        return (each @ self.weights)[:, None]

    def factors(self) -> Factors | None:
        """The components of all components together.

        Each is multiplied by the weight of its component. None where a component has no factors,
        or where they are marginals of other coordinates than x.
        """
        parts = [each.factors() for each in self.components]
        terms = [part.terms if part is not None and part.plain else None for part in parts]
        return Factors.of(flattened(zip(map(float, self.weights), terms, strict=True)))

    def _logs(self, x: Array) -> Array:
        logs = np.stack([each.log_density(x) for each in self.components], axis=1)
        return logs + np.log(self.weights)


def _check_sides(i: int, component: Measure, whole: Support) -> None:
    low, high = float(component.support.low[0]), float(component.support.high[0])
    middle = component.icdf(np.array([[0.5]]))
    for side, end in ((low, whole.low[0]), (high, whole.high[0])):
        if side == end:
            continue
        step = max(float(np.spacing(abs(side))), 1e-200)  # still a normal number beside 0
        width = float(middle[0, 0]) - side
        step = math.copysign(step, width)
        places = np.array([side + step, side + FURTHER * step, middle[0, 0]])[:, None]
        jump, further, usual = np.exp(component.log_density(places))
        near = FURTHER * abs(step) <= NEAR * abs(width)
        if not jump <= max(SMALLEST_JUMP * usual, FADES * further if near else 0.0):
            raise InputError(
                f"components[{i}] ends at {side:g}, inside the mixture's support {whole}, where "
                "its density jumps, and Stein's identity fails; let it fade to zero there, or "
                "give all components that side."
            )
