"""Any numpyro distribution on a box of R^d as a measure."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
import numpyro.distributions as nd

from steinquad._compile import filled_up
from steinquad._float64 import float64
from steinquad._types import Array, as_points
from steinquad.errors import InputError
from steinquad.measures._numpyro_factors import terms_of
from steinquad.measures._numpyro_rules import cdf_cancels, implemented, support_of, unwrap
from steinquad.measures._rebuild import in_float64, is_stock
from steinquad.measures.base import Measure
from steinquad.measures.checks import as_draw_request, as_names, as_probabilities
from steinquad.measures.factors import Factors

__all__ = ["NumpyroMeasure"]


def _log_prob(dist: Any, x: Any) -> Any:
    return dist.log_prob(x.reshape(dist.event_shape))


def _log_probs(dist: Any, x: Any) -> Any:
    return jax.vmap(partial(_log_prob, dist))(x)


def _scores(dist: Any, x: Any) -> Any:
    return jax.vmap(jax.grad(partial(_log_prob, dist)))(x)


def _cdfs(dist: Any, x: Any) -> Any:
    return unwrap(dist).cdf(x)


def _icdfs(dist: Any, p: Any) -> Any:
    return unwrap(dist).icdf(p)


def _samples(dist: Any, key: Any, n: int) -> Any:
    return dist.sample(key, (n,))


# Compiled once for a kind of distribution: parameters are arguments, so a second measure of the
# same structure runs the same code.
COMPILED: dict[Callable[..., Any], Callable[..., Any]] = {
    **{f: jax.jit(f) for f in (_log_probs, _scores, _cdfs, _icdfs)},
    _samples: jax.jit(_samples, static_argnums=2),
}


class NumpyroMeasure(Measure):
    """A numpyro distribution as it is: scalar, `.to_event(1)`, multivariate, mixture, truncated.

    Args:
        dist: a continuous distribution with empty batch shape on R, a half-line, an interval or
            a box of these.
        names: coordinate names, `x0, x1, ...` by default.

    `cdf` and `icdf` are there when the coordinates are independent and numpyro knows the cdf.

    >>> import numpyro.distributions as nd
    >>> NumpyroMeasure(nd.Normal(0.0, 2.0)).score([[1.0]])
    array([[-0.25]])
    """

    @float64
    def __init__(self, dist: nd.Distribution, names: Sequence[str] | None = None) -> None:
        _check(dist)
        dim = int(np.prod(dist.event_shape))
        self.names = as_names(names, dim)
        self.dist = in_float64(dist)
        self.support = support_of(self.dist, dim)
        # numpyro's own classes travel through jit as arguments; another class may keep state that
        # its pytree forgets, so it is evaluated as the object it is, operation by operation.
        self._portable = is_stock(self.dist) and _is_pytree(self.dist, np.zeros((1, dim)))
        self.provides, self._has_sample, self._has_icdf = self._capabilities()

    @float64
    def score(self, x: Array) -> Array:
        """Gradient of the log density, (n, d) -> (n, d), by automatic differentiation.

        Compiled once for all distributions of the same structure.

        Outside the support the value is whatever numpyro's formula gives there; `log_density` is
        the one that knows the sides.
        """
        return self._at(_scores, as_points("x", x, self.dim))

    @float64
    def log_density(self, x: Array) -> Array:
        """numpyro's log density at each point, (n, d) -> (n,): -inf outside the support.

        numpyro's formulas may be finite or NaN beyond the support, so the sides are applied here.
        Normalized if the distribution's `log_prob` is.
        """
        x = as_points("x", x, self.dim)
        return np.where(self.support.contains(x), self._at(_log_probs, x), -np.inf)

    @float64
    def sample(self, n: int, *, seed: int) -> Array:
        """Draws (n, d) from numpyro's sampler, or by inverting the cdf where it has none.

        The same seed gives the same draws, in float64 also where the distribution was made in
        32-bit types.
        """
        if not self._has_sample:
            return super().sample(n, seed=seed)
        n, seed = as_draw_request(n, seed)
        return self._run(_samples, jax.random.key(seed), n).reshape(n, self.dim)

    @float64
    def cdf(self, x: Array) -> Array:
        """Distribution function of each coordinate, (n, d) -> (n, d); 0 and 1 beyond the sides.

        Refused where coordinates depend on each other, where numpyro has no cdf, and where a
        truncation has lost its digits.
        """
        self._require("cdf")
        x = as_points("x", x, self.dim)
        low, high = self.support.low, self.support.high
        inner = np.clip(x, low, high)
        # Formulas with a division or a logarithm are undefined at the sides: set those by hand.
        return np.where(x <= low, 0.0, np.where(x >= high, 1.0, self._at(_cdfs, inner)))

    @float64
    def icdf(self, p: Array) -> Array:
        """Inverse of `cdf`, (n, d) -> (n, d): numpyro's, or by root finding where it has none.

        It exists whenever `cdf` does. Probabilities must lie in [0, 1]; in the numerical inverse 0
        and 1 give the sides of the support.
        """
        if not self._has_icdf:
            return super().icdf(p)
        return self._at(_icdfs, as_probabilities(p, self.dim))

    def factors(self) -> Factors | None:
        """Products, normals with one covariance, and mixtures of these; None for all else.

        Batched parameters are taken apart into one marginal for each coordinate, with closed forms
        for normals, half-normals, truncated normals and uniforms.
        """
        return Factors.of(terms_of(self.dist, self.dim))

    def jax_log_density(self) -> Callable[[Any], Any]:
        """numpyro's `log_prob` of one point.

        The point (d,) is reshaped to numpyro's event shape. The function holds the distribution,
        in float64, but not this measure, as the base class demands.
        """
        return partial(_log_prob, self.dist)

    def _run(self, function: Callable[..., Any], *args: Any) -> Array:
        call = COMPILED[function] if self._portable else function
        return np.array(call(self.dist, *args), dtype=np.float64)

    def _at(self, function: Callable[..., Any], rows: Array) -> Array:
        """A function of every row; few numbers of rows are compiled for."""
        return self._run(function, jax.device_put(filled_up(rows)))[: len(rows)]

    def _capabilities(self) -> tuple[frozenset[str], bool, bool]:
        """What this measure provides, and whether numpyro itself has the sampler and the icdf."""
        dist, point = self.dist, np.full((1, self.dim), 0.5)
        sample = implemented(lambda key: _samples(dist, key, 1), jax.random.key(0))
        scalar = unwrap(dist).event_shape == ()
        cdf = scalar and implemented(partial(_cdfs, dist), point) and not cdf_cancels(unwrap(dist))
        known = {"log_density"} | ({"cdf", "icdf", "sample"} if cdf else set())
        if sample:
            known.add("sample")
        return frozenset(known), sample, cdf and implemented(partial(_icdfs, dist), point)


def _is_pytree(dist: nd.Distribution, x: Array) -> bool:
    """Whether the log density survives the passage through jit's arguments."""
    try:
        jax.eval_shape(_log_probs, dist, x)
    except Exception:  # whatever a foreign transform's pytree raises means the same: no
        return False
    return True


def _check(dist: Any) -> None:
    """Refuse what is not a density on R^d, with the reason."""
    if not isinstance(dist, nd.Distribution):
        raise InputError(
            f"measure is a {type(dist).__name__}; pass a numpyro distribution to NumpyroMeasure."
        )
    kind = type(dist).__name__
    if isinstance(unwrap(dist), nd.Delta):
        raise InputError("measure is a Delta; a point mass has no density to integrate against.")
    if isinstance(unwrap(dist), nd.ImproperUniform):
        raise InputError(
            "measure is an ImproperUniform, which has no total mass; use a Uniform on a box."
        )
    if dist.batch_shape:
        raise InputError(
            f"measure {kind} has batch shape {dist.batch_shape}; "
            f"call .to_event({len(dist.batch_shape)}) to make it one distribution."
        )
    if dist.event_dim > 1:
        raise InputError(
            f"measure {kind} has event shape {dist.event_shape}; matrices are not supported, "
            "so integrate over a vector of unconstrained coordinates instead."
        )
    if 0 in dist.event_shape:
        raise InputError(f"measure {kind} has no coordinates; give at least one.")
