"""The law of a measure as a mixture of products in some affine coordinates."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.linalg
import scipy.special

from steinquad._types import Array, as_points
from steinquad.measures import mixture
from steinquad.measures._invert import invert_cdf
from steinquad.measures.affine import Affine
from steinquad.measures.base import Measure
from steinquad.measures.product import Product
from steinquad.measures.truncated import Truncated
from steinquad.support import Support

__all__ = ["Factors", "Functions", "Marginal", "factors", "gap"]

# Products of mixtures multiply out; beyond this many components the law counts as not factorized.
MOST_COMPONENTS = 1_000

SHORT_NODES, SHORT_WEIGHTS = np.polynomial.legendre.leggauss(16)


def gap(a: Any, b: Any, width: Any = None) -> Array:
    """`int_a^b exp(-(t^2 - m^2)/2) dt` with m the point of [a, b] nearest to 0.

    The normal mass of an interval less its largest exponential: neither far in a tail nor for a
    short interval are digits lost, and nothing overflows. Pass the width where it is known
    better than by the difference of two rounded sides.
    """
    a, b, width = np.broadcast_arrays(
        np.asarray(a, np.float64),
        np.asarray(b, np.float64),
        np.subtract(b, a) if width is None else np.asarray(width, np.float64),
    )
    left = b < 0
    a, b = np.where(left, -b, a), np.where(left, -a, b)
    half, root = math.sqrt(math.pi / 2), math.sqrt(2)
    with np.errstate(invalid="ignore", over="ignore"):  # infinities of the branches not taken
        across = half * (scipy.special.erf(b / root) - scipy.special.erf(a / root))
        a = np.maximum(a, 0.0)
        decay = np.where(np.isinf(b), 0.0, np.exp(-width * (b + a) / 2))
        far = half * (scipy.special.erfcx(a / root) - decay * scipy.special.erfcx(b / root))
        # That difference cancels where the interval is short: quadrature is exact there.
        short = np.where(width * np.maximum(b, 1.0) < 1.0, width, 0.0)
    t = short[..., None] * (1 + SHORT_NODES) / 2
    near = short / 2 * (np.exp(-t * (2 * a[..., None] + t) / 2) @ SHORT_WEIGHTS)
    return np.where(a > 0, np.where(short > 0, near, far), across)


class Functions(NamedTuple):
    """What a coordinate of kind "other" is known by; each (n,) -> (n,)."""

    name: str
    pdf: Callable[[Array], Array]
    cdf: Callable[[Array], Array]
    icdf: Callable[[Array], Array]


@dataclass(frozen=True)
class Marginal:
    """The law of one coordinate.

    `loc` and `scale` are those of the parent normal for a (truncated) "normal", mean and standard
    deviation of a "uniform", median and half the width of the middle 68 % of an "other".
    """

    kind: Literal["normal", "uniform", "other"]
    loc: float
    scale: float
    low: float = -math.inf
    high: float = math.inf
    functions: Functions | None = None  # of an "other", pdf and cdf inside the support

    @classmethod
    def normal(
        cls, loc: float, scale: float, low: float = -math.inf, high: float = math.inf
    ) -> "Marginal":
        """A normal, given that it lies between `low` and `high`."""
        return cls("normal", float(loc), float(scale), float(low), float(high))

    @classmethod
    def uniform(cls, low: float, high: float) -> "Marginal":
        """The uniform between `low` and `high`."""
        low, high = float(low), float(high)
        return cls("uniform", (low + high) / 2, (high - low) / math.sqrt(12), low, high)

    @classmethod
    def other(cls, functions: Functions, low: float, high: float) -> "Marginal":
        """A law known by its functions only."""
        below, middle, above = functions.icdf(np.array([0.16, 0.5, 0.84]))
        return cls(
            "other",
            float(middle),
            float(above - below) / 2,
            float(low),
            float(high),
            functions,
        )

    @property
    def truncated(self) -> bool:
        """Whether a side of the support is finite."""
        return math.isfinite(self.low) or math.isfinite(self.high)

    @property
    def sides(self) -> tuple[float, float]:
        """The support in units of `scale` about `loc`."""
        return (self.low - self.loc) / self.scale, (self.high - self.loc) / self.scale

    @cached_property
    def mode(self) -> float:
        """Of a normal, the point of its support nearest to `loc`, in the units of `sides`."""
        return min(max(0.0, self.sides[0]), self.sides[1])

    @cached_property
    def mass(self) -> float:
        """Of a normal, `gap` over its support."""
        return float(gap(*self.sides))

    def pdf(self, x: Array) -> Array:
        """Density, zero outside the support and, for an "other", on its sides."""
        x = np.asarray(x, dtype=np.float64)
        inside = (x >= self.low) & (x <= self.high)
        if self.functions is not None:  # its formula may be undefined on the sides
            inside &= (x != self.low) & (x != self.high)
            value = self.functions.pdf(np.where(inside, x, self.loc))
        elif self.kind == "uniform":
            value = np.full(x.shape, 1 / (self.high - self.low))
        else:
            z = np.where(inside, (x - self.loc) / self.scale, self.mode)
            value = np.exp(-(z - self.mode) * (z + self.mode) / 2) / (self.scale * self.mass)
        return np.where(inside, value, 0.0)

    def cdf(self, x: Array) -> Array:
        """Distribution function."""
        x = np.asarray(x, dtype=np.float64)
        inner = np.clip(x, self.low, self.high)
        if self.functions is not None:
            value = self.functions.cdf(inner)
        elif self.kind == "uniform":
            value = (inner - self.low) / (self.high - self.low)
        else:
            value = self._normal_cdf((inner - self.loc) / self.scale)
        return np.where(x <= self.low, 0.0, np.where(x >= self.high, 1.0, value))

    def icdf(self, p: Array) -> Array:
        """Inverse of `cdf`."""
        p = np.asarray(p, dtype=np.float64)
        if self.functions is not None:
            value = self.functions.icdf(p)
        elif self.kind == "uniform":
            value = self.low + p * (self.high - self.low)
        else:
            value = self.loc + self.scale * self._normal_icdf(p)
        inner = np.clip(value, self.low, self.high)
        return np.where(p <= 0, self.low, np.where(p >= 1, self.high, inner))

    def truncate(self, low: float, high: float) -> tuple["Marginal", float]:
        """This law given that it lies between `low` and `high`, and the log of that mass."""
        low, high = max(low, self.low), min(high, self.high)
        if not low < high:
            return self, -math.inf
        if self.kind == "normal":
            new = Marginal.normal(self.loc, self.scale, low, high)
            shift = (new.mode - self.mode) * (new.mode + self.mode) / 2
            return new, math.log(new.mass / self.mass) - shift
        if self.kind == "uniform":
            return Marginal.uniform(low, high), math.log((high - low) / (self.high - self.low))
        below, top = (float(side) for side in self.cdf(np.array([low, high])))
        mass = top - below
        if not mass > 0:
            return self, -math.inf
        functions = Functions(
            f"{self} cut to ({low:g}, {high:g})",
            lambda x: self.pdf(x) / mass,
            lambda x: np.clip((self.cdf(x) - below) / mass, 0.0, 1.0),
            lambda p: self.icdf(np.clip(below + p * mass, 0.0, 1.0)),
        )
        return Marginal.other(functions, low, high), math.log(mass)

    def _normal_cdf(self, z: Array) -> Array:
        a, b = self.sides
        z = np.clip(z, a, b)
        near = np.clip(0.0, a, z)  # of [a, z] to 0
        with np.errstate(invalid="ignore"):
            fall = np.exp(-(near - self.mode) * (near + self.mode) / 2)
        return np.where(fall > 0, fall * gap(a, z) / self.mass, 0.0)

    def _normal_icdf(self, p: Array) -> Array:
        a, b = self.sides
        log_mass = math.log(self.mass / math.sqrt(2 * math.pi)) - self.mode**2 / 2
        with np.errstate(divide="ignore"):
            below = np.logaddexp(scipy.special.log_ndtr(a), np.log(p) + log_mass)
            above = np.logaddexp(scipy.special.log_ndtr(-b), np.log1p(-p) + log_mass)
        small = below < -math.log(2)
        z = scipy.special.ndtri_exp(np.minimum(np.where(small, below, above), 0.0))
        z = np.clip(np.where(small, z, -z), a, b)
        if self.mode == 0:
            return z
        # Far in a tail the logarithms carry the digits of mode^2 / 2: two Newton steps.
        for _ in range(2):
            slope = np.exp(-(z - self.mode) * (z + self.mode) / 2) / self.mass
            with np.errstate(divide="ignore", invalid="ignore"):
                step = (self._normal_cdf(z) - p) / slope
            z = np.clip(np.where(np.isfinite(step), z - step, z), a, b)
        return z

    def __str__(self) -> str:
        if self.functions is not None:
            return self.functions.name
        inside = f" on ({self.low:g}, {self.high:g})" if self.truncated else ""
        return f"{self.kind}({self.loc:g}, {self.scale:g}){inside}"


@dataclass(frozen=True)
class Factors:
    """A mixture of products: component c has weight `weights[c]` and independent coordinates."""

    affine: Affine  # z = L^-1 (x - mu), the coordinates in which the law factorizes
    weights: Array  # (c,), sum 1
    components: tuple[tuple[Marginal, ...], ...]  # c times d, laws of z

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.components[0])

    @property
    def independent(self) -> bool:
        """Whether the coordinates of z are independent: one component."""
        return len(self.components) == 1

    def density(self, x: Array) -> Array:
        """Density of the measure at x, (n, d) -> (n,)."""
        z = self.affine.points(as_points("x", x, self.dim))
        total = np.zeros(len(z))
        for weight, laws in zip(self.weights, self.components, strict=True):
            total += weight * np.prod([law.pdf(z[:, i]) for i, law in enumerate(laws)], axis=0)
        return total * abs(np.linalg.det(self.affine.inverse))


class Gaussian(NamedTuple):
    """A component with correlated coordinates, until it is whitened."""

    mean: Array
    covariance: Array


Component = tuple[Marginal, ...] | Gaussian
Mixture = list[tuple[float, Component]]  # with the weights


def factors(measure: Measure) -> Factors | None:
    """The law of `measure` as a mixture of products, or None where it is not one or unknown.

    >>> import scipy.stats as st
    >>> law = factors(Truncated(st.norm(), low=0.0))
    >>> law.independent, str(law.components[0][0])
    (True, 'normal(0, 1) on (0, inf)')
    """
    if isinstance(measure, Product):
        return _product([factors(block) for block in measure.blocks.values()])
    if isinstance(measure, Truncated):
        return _truncated(factors(measure.base), measure.support)
    if isinstance(measure, mixture.Mixture):
        return _mixed([factors(each) for each in measure.components], measure.weights)
    home = type(measure).__module__  # importing numpyro or scipy.stats here would take a second
    found: Mixture | None = None
    if home == "steinquad.measures.numpyro":
        found = _from_numpyro(measure)
    elif home == "steinquad.measures.scipy":
        found = _from_scipy(measure)
    elif measure.dim == 1 and {"cdf", "log_density"} <= measure.provides:
        found = [(1.0, (_scalar(measure),))]
    return None if found is None else _assembled(found)


def _product(parts: Sequence[Factors | None]) -> Factors | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or math.prod(len(p.weights) for p in known) > MOST_COMPONENTS:
        return None
    affine = Affine(
        np.concatenate([part.affine.shift for part in known]),
        np.asarray(scipy.linalg.block_diag(*(part.affine.matrix for part in known))),
        np.asarray(scipy.linalg.block_diag(*(part.affine.inverse for part in known))),
    )
    weights = [math.prod(choice) for choice in itertools.product(*(p.weights for p in known))]
    choices = itertools.product(*(p.components for p in known))
    return Factors(affine, np.array(weights), tuple(sum(choice, ()) for choice in choices))


def _truncated(base: Factors | None, support: Support) -> Factors | None:
    """Every component cut by itself, its weight times the mass that it keeps."""
    if base is None or base.affine.matrix != 1 or base.affine.shift != 0:
        return None
    low, high = float(support.low[0]), float(support.high[0])
    cut = [laws[0].truncate(low, high) for laws in base.components]
    with np.errstate(divide="ignore"):
        logs = np.log(base.weights) + np.array([log_mass for _, log_mass in cut])
    weights = scipy.special.softmax(logs)
    kept = np.flatnonzero(weights > 0)
    return Factors(base.affine, weights[kept], tuple((cut[k][0],) for k in kept))


def _mixed(parts: Sequence[Factors | None], weights: Array) -> Factors | None:
    """All components of scalar parts together."""
    found: Mixture = []
    for part, weight in zip(parts, weights, strict=True):
        if part is None or part.affine.matrix != 1 or part.affine.shift != 0:
            return None
        found += [
            (float(weight * w), laws)
            for w, laws in zip(part.weights, part.components, strict=True)
        ]
    return _assembled(found)


def _assembled(found: Mixture) -> Factors | None:
    """One set of coordinates for all: the user's, or whitened by a shared covariance."""
    kept = [(weight, part) for weight, part in found if weight > 0]
    if not kept or len(kept) > MOST_COMPONENTS:
        return None
    weights = np.array([weight for weight, _ in kept])
    parts = [_as_product(part) for _, part in kept]
    products = [part for part in parts if not isinstance(part, Gaussian)]
    if len(products) == len(parts):
        dim = len(products[0])
        affine = Affine(np.zeros(dim), np.eye(dim), np.eye(dim))
        return Factors(affine, weights / weights.sum(), tuple(products))
    gaussians = [g for g in map(_as_gaussian, parts) if g is not None]
    if len(gaussians) < len(parts):
        return None
    shared = gaussians[0].covariance
    size = np.abs(shared).max()
    if any(np.abs(g.covariance - shared).max() > 1e-13 * size for g in gaussians):
        return None
    matrix = scipy.linalg.cholesky(shared, lower=True)
    inverse = scipy.linalg.solve_triangular(matrix, np.eye(len(shared)), lower=True)
    shift = (weights / weights.sum()) @ np.array([g.mean for g in gaussians])
    centers = [inverse @ (g.mean - shift) for g in gaussians]
    laws = tuple(tuple(Marginal.normal(m, 1.0) for m in center) for center in centers)
    return Factors(Affine(shift, matrix, inverse), weights / weights.sum(), laws)


def _as_product(part: Component) -> Component:
    if not isinstance(part, Gaussian):
        return part
    diagonal = np.diag(part.covariance)
    if np.any(part.covariance != np.diag(diagonal)):
        return part
    return tuple(
        Marginal.normal(m, math.sqrt(v)) for m, v in zip(part.mean, diagonal, strict=True)
    )


def _as_gaussian(part: Component) -> Gaussian | None:
    if isinstance(part, Gaussian):
        return part
    if any(law.kind != "normal" or law.truncated for law in part):
        return None
    return Gaussian(np.array([c.loc for c in part]), np.diag([c.scale**2 for c in part]))


def _scalar(measure: Measure) -> Marginal:
    """Any scalar measure with a cdf and a density."""
    name = type(getattr(measure, "dist", measure)).__name__
    generic = getattr(getattr(measure, "dist", None), "dist", None)

    def column(method: Callable[[Array], Array], x: Array) -> Array:
        return np.asarray(method(x[:, None])).reshape(len(x))

    icdf = measure.icdf
    if "icdf" not in measure.provides:
        icdf = partial(invert_cdf, measure.cdf, measure.support)
    functions = Functions(
        getattr(generic, "name", name),
        lambda x: np.exp(column(measure.log_density, x)),
        partial(column, measure.cdf),
        partial(column, icdf),
    )
    return Marginal.other(functions, measure.support.low[0], measure.support.high[0])


def _from_scipy(measure: Any) -> Mixture:
    import scipy.stats

    dist: Any = measure.dist
    generic = getattr(dist, "dist", None)
    name = getattr(generic, "name", "")
    if hasattr(measure, "mean"):  # the multivariate normal
        return [(1.0, Gaussian(measure.mean, np.atleast_2d(np.asarray(dist.cov, np.float64))))]
    if isinstance(dist, scipy.stats.Mixture):
        from steinquad.measures.scipy import ScipyMeasure

        parts = [_from_scipy(ScipyMeasure(part))[0][1] for part in dist.components]
        return list(zip(map(float, dist.weights), parts, strict=True))
    low, high = measure.support.low[0], measure.support.high[0]
    law = None
    # A name alone would also match a user's own family of the same name.
    if generic is not None and type(generic) is type(getattr(scipy.stats, name, None)):
        _, loc, scale = generic._parse_args(*dist.args, **dist.kwds)
        if name in ("norm", "truncnorm", "halfnorm"):
            law = Marginal.normal(loc, scale, low, high)
        elif name == "uniform":
            law = Marginal.uniform(low, high)
    elif type(dist).__module__.startswith("scipy.stats."):
        if type(dist).__name__ in ("Normal", "StandardNormal"):
            law = Marginal.normal(dist.mu, dist.sigma)
        elif type(dist).__name__ == "Uniform":
            law = Marginal.uniform(low, high)
    return [(1.0, (law or _scalar(measure),))]


def _from_numpyro(measure: Any) -> Mixture | None:
    import numpyro.distributions as nd

    from steinquad.measures._numpyro_support import unwrap
    from steinquad.measures.numpyro import in_numpyro_rules

    dim: int = measure.dim

    def components(dist: Any, shape: tuple[int, ...], index: tuple[int, ...]) -> Mixture | None:
        """Of the entry `index` of a batch of d-dimensional distributions."""
        base: Any = unwrap(dist)
        event = dist.event_shape
        if base.event_shape == ():
            entries = [(*index, i) for i in range(dim)] if event else [index]
            each = [_numpyro_laws(base, (*shape, *event), entry) for entry in entries]
            return _multiplied([laws for laws in each if laws is not None], dim)
        if type(base) in (nd.MultivariateNormal, nd.LowRankMultivariateNormal):
            mean = np.asarray(base.mean, np.float64)
            covariance: Any = np.asarray(base.covariance_matrix, np.float64)
            mean = np.broadcast_to(mean, (*shape, dim))[index]
            covariance = np.broadcast_to(covariance, (*shape, dim, dim))[index]
            return [(1.0, Gaussian(mean, covariance))]
        parts = _numpyro_parts(base, shape, index)
        if parts is None:
            return None
        found: Mixture = []
        for weight, part, part_shape, part_index in parts:
            inner = components(part, part_shape, part_index)
            if inner is None:
                return None
            found += [(weight * w, component) for w, component in inner]
        return found

    return in_numpyro_rules(components)(measure.dist, (), ())


def _multiplied(each: Sequence[list[tuple[float, Marginal]]], dim: int) -> Mixture | None:
    """All combinations of the coordinates' components."""
    if len(each) < dim or math.prod(map(len, each)) > MOST_COMPONENTS:
        return None
    return [
        (math.prod(weight for weight, _ in choice), tuple(law for _, law in choice))
        for choice in itertools.product(*each)
    ]


def _numpyro_parts(dist: Any, shape: tuple[int, ...], index: tuple[int, ...]) -> Any:
    """Weight, distribution, batch shape and index of each component of a mixture, else None."""
    import numpyro.distributions as nd

    if not isinstance(dist, nd.MixtureSameFamily | nd.MixtureGeneral):
        return None
    probs = np.asarray(dist.mixing_distribution.probs, np.float64)
    weights = np.broadcast_to(probs, (*shape, probs.shape[-1]))[index]
    if isinstance(dist, nd.MixtureGeneral):
        listed = zip(weights, dist.component_distributions, strict=True)
        return [(float(w), part, shape, index) for w, part in listed]
    part, count = dist.component_distribution, len(weights)
    return [(float(w), part, (*shape, count), (*index, k)) for k, w in enumerate(weights)]


def _numpyro_laws(
    dist: Any, shape: tuple[int, ...], index: tuple[int, ...]
) -> list[tuple[float, Marginal]] | None:
    """The mixture that the entry `index` of a batch of scalar distributions is."""
    import numpyro.distributions as nd

    from steinquad.measures._numpyro_support import unwrap

    dist = unwrap(dist)
    parts = _numpyro_parts(dist, shape, index)
    if parts is not None:
        found: list[tuple[float, Marginal]] = []
        for weight, *part in parts:
            inner = _numpyro_laws(*part)
            if inner is None:
                return None
            found += [(weight * w, law) for w, law in inner]
        return found

    def at(value: Any) -> float:
        return float(np.broadcast_to(np.asarray(value), shape)[index])

    kind: Any = type(dist)
    law = None
    cuts = {
        nd.LeftTruncatedDistribution: ("low",),
        nd.RightTruncatedDistribution: ("high",),
        nd.TwoSidedTruncatedDistribution: ("low", "high"),
    }
    if kind is nd.Normal:
        law = Marginal.normal(at(dist.loc), at(dist.scale))
    elif kind is nd.HalfNormal:
        law = Marginal.normal(0.0, at(dist.scale), 0.0)
    elif kind is nd.Uniform:
        law = Marginal.uniform(at(dist.low), at(dist.high))
    elif kind in cuts and type(dist.base_dist) is nd.Normal:
        sides = {side: at(getattr(dist, side)) for side in cuts[kind]}
        law = Marginal.normal(at(dist.base_dist.loc), at(dist.base_dist.scale), **sides)
    else:
        law = _numpyro_other(dist, shape, index)
    return None if law is None else [(1.0, law)]


def _numpyro_other(dist: Any, shape: tuple[int, ...], index: tuple[int, ...]) -> Marginal | None:
    """A scalar distribution known by numpyro's functions, None without a cdf."""
    from steinquad.measures._numpyro_support import support_of
    from steinquad.measures.numpyro import _cancels, _implemented, in_numpyro_rules

    point = np.full(shape, 0.5)
    if not _implemented(dist.cdf, point) or _cancels(dist):
        return None
    try:
        box = support_of(dist, math.prod(dist.batch_shape))
    except ValueError:  # bounds of more than one axis
        return None
    low = float(np.broadcast_to(box.low.reshape(dist.batch_shape), shape)[index])
    high = float(np.broadcast_to(box.high.reshape(dist.batch_shape), shape)[index])

    @in_numpyro_rules
    def entry(method: Callable[[Any], Any], x: Array) -> Array:
        # Padded to a power of two, so that JAX compiles for few shapes.
        count = max(64, 1 << (len(x) - 1).bit_length())
        batch = np.full((count, *(1,) * len(shape)), 0.5 if len(x) == 0 else x[0])
        batch[: len(x)] = x.reshape(-1, *(1,) * len(shape))
        value = np.broadcast_to(np.asarray(method(batch), np.float64), (count, *shape))
        return np.array(value[(slice(len(x)), *index)])

    def inverse(p: Array) -> Array:
        side = Support.box(low, high, 1)
        return invert_cdf(lambda x: cdf(x[:, 0])[:, None], side, p[:, None])[:, 0]

    cdf = partial(entry, dist.cdf)
    icdf = partial(entry, dist.icdf) if _implemented(dist.icdf, point) else inverse
    name = type(dist).__name__
    functions = Functions(name, lambda x: np.exp(entry(dist.log_prob, x)), cdf, icdf)
    return Marginal.other(functions, low, high)
