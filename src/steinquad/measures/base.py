"""The measure protocol: what the library needs to know of what it integrates against."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from steinquad._types import Array
from steinquad.errors import InputError
from steinquad.measures._invert import invert_cdf
from steinquad.measures.checks import as_draw_request, as_probabilities
from steinquad.measures.factors import Factors
from steinquad.measures.marginal import Functions, Marginal
from steinquad.support import Support

__all__ = ["EVERYTHING", "Measure"]

EVERYTHING = frozenset({"log_density", "sample", "cdf", "icdf"})  # that a measure may provide


class Measure(ABC):
    """A probability measure on a box of R^d, known at least by its score.

    Batches are NumPy float64 of shape (n, d) in and out. A measure of your own is a subclass that
    sets `support`, `names` and `provides` and defines `score` and what it provides.

    Attributes:
        support: the box on which it lives.
        names: one for each coordinate.
        provides: which of the optional methods in `EVERYTHING` it has; the others raise
            `InputError`.
    """

    support: Support
    names: tuple[str, ...]
    provides: frozenset[str] = frozenset()

    @property
    def dim(self) -> int:
        """Number of coordinates.

        The d of every shape (n, d) in this class; it is read from the support, so that the two
        cannot disagree.
        """
        return self.support.dim

    @abstractmethod
    def score(self, x: Array) -> Array:
        """Gradient of the log density at each point, (n, d) -> (n, d).

        All that the Stein methods need; it need not be a number outside the support.
        """

    def log_density(self, x: Array) -> Array:
        """Log density at each point, (n, d) -> (n,): minus infinity outside the support.

        Up to an additive constant where the normalization is unknown (`LogDensity`).

        Needed by `Density` multipliers, `Truncated` and `Mixture`; the Stein methods themselves do
        without it.
        """
        raise self._missing("log_density")

    def sample(self, n: int, *, seed: int) -> Array:
        """Independent draws of the measure, (n, d), by inversion unless it has its own sampler.

        Args:
            n: how many, at least 1.
            seed: at least 0; the same seed gives the same draws.
        """
        self._require("sample")
        n, seed = as_draw_request(n, seed)
        return self.icdf(np.random.default_rng(seed).random((n, self.dim)))

    def cdf(self, x: Array) -> Array:
        """Distribution function of each coordinate, (n, d) -> (n, d).

        Only measures with independent coordinates provide it. Values are 0 and 1 beyond the sides
        of the support.
        """
        raise self._missing("cdf")

    def icdf(self, p: Array) -> Array:
        """Inverse of `cdf`, coordinate by coordinate: probabilities (n, d) to points (n, d).

        By root finding to rounding, unless a measure has a formula. Probabilities 0 and 1 give the
        sides of the support.

        It maps uniform or quasi-random points to points of the measure, so that low-discrepancy
        sequences can be used with it.
        """
        self._require("icdf")
        return invert_cdf(self.cdf, self.support, as_probabilities(p, self.dim))

    def factors(self) -> Factors | None:
        """The measure as a mixture of products in affine coordinates, or None where unknown.

        What Bayesian quadrature integrates its kernel against. A scalar measure with a cdf and a
        log density is one by itself; other classes answer from what they are made of.
        """
        if self.dim != 1 or not {"cdf", "log_density"} <= self.provides:
            return None
        return Factors.of([(1.0, (self._marginal(type(self).__name__),))])

    def jax_log_density(self) -> Callable[[Any], Any] | None:
        """The log density of one point as a JAX function (d,) -> (), or None where there is none.

        What Markov chains need; to be called with 64-bit types on, inside the support only. It
        must hold no reference to the measure: compiled programs that close over it are kept for
        as long as the measure lives.
        """
        return None

    def _marginal(self, name: str) -> Marginal:
        """A scalar measure by its functions; `name` is for messages."""

        def column(method: Callable[[Array], Array], values: Array) -> Array:
            return np.asarray(method(values[:, None])).reshape(len(values))

        icdf = self.icdf
        if "icdf" not in self.provides:
            icdf = partial(invert_cdf, self.cdf, self.support)
        functions = Functions(
            name,
            lambda x: np.exp(column(self.log_density, x)),
            partial(column, self.cdf),
            partial(column, icdf),
        )
        return Marginal.other(functions, self.support.low[0], self.support.high[0])

    def _require(self, what: str) -> None:
        if what not in self.provides:
            raise self._missing(what)

    def _missing(self, what: str) -> InputError:
        known = ", ".join(sorted(self.provides | {"score"}))
        return InputError(f"measure {type(self).__name__} has no {what}; it provides {known}.")
