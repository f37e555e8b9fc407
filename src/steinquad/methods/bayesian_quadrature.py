"""Bayesian quadrature: a Gaussian process in f, integrated in closed form."""

import itertools
import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import scipy.integrate

from steinquad._types import Array, as_finite, as_positive, is_count, is_word
from steinquad.dataset import Dataset, still_obstacle
from steinquad.errors import InputError, shown
from steinquad.fit import Context, Fit
from steinquad.fitting.gaussian_process import KernelProblem, fit_gaussian_process
from steinquad.kernels import Kernel, Matern, embed
from steinquad.kernels.blocks import Blocks
from steinquad.measures.base import Measure
from steinquad.measures.factors import Factors
from steinquad.measures.marginal import Marginal
from steinquad.methods.base import Method, check_choices
from steinquad.points import Points
from steinquad.posterior.gram import Gram
from steinquad.posterior.hyperparameter_search import Criterion, memory_obstacle

__all__ = ["BayesianQuadrature"]

ALTERNATIVES = "sq.ControlFunctional(), sq.BSN() or sq.Polynomial()"
MOMENT_ERROR = 1e-9  # of a moment found by quadrature, beyond which it is refused


@dataclass(frozen=True, kw_only=True)
class BayesianQuadrature(Method):
    """The posterior of the integral of a Gaussian process, given the values of f.

    The measure has to be a product, or a mixture of products, of known distributions of one
    coordinate, in the user's coordinates or whitened ones; points may come from anywhere. It takes
    n^3 operations. Importance weights are ignored, because conditioning on values needs none;
    points of weight zero are left out.

    Attributes:
        kernel: of the process; Matern 5/2 by default, which errs less than RBF where points are
            sparse.
        lengthscales: "separate" finds one for each coordinate and "isotropic" one number of
            standard deviations for all; or given ones, a number or (d,), in the coordinates in
            which the measure is a product.
        mean: of the process: zero, an unknown constant, or a polynomial of that total degree with
            unknown coefficients ("Bayes-Sard"), which is then integrated exactly.
        noise: standard deviation of errors in f, the same everywhere, besides `Dataset.noise`;
            "fit" to find it.
        amplitude: standard deviation of the process, in the units of f; "fit" to find it.
        criterion: what hyperparameters minimize in the end: the mean square of the leave-one-out
            residuals, which the error of the integral follows, or minus the likelihood.
        memory_limit: GiB that may be used.
        name: for tables.
    """

    kernel: Kernel = field(default_factory=Matern)
    lengthscales: Literal["isotropic", "separate"] | Any = "separate"
    mean: Literal["zero", "constant"] | int = "constant"
    noise: float | Literal["fit"] = "fit"
    amplitude: float | Literal["fit"] = "fit"
    criterion: Criterion = "leave_one_out"
    memory_limit: float = 6.0
    name: str = "BQ"
    expensive = warm_folds = True  # a few hyperparameters hardly remember any single point

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise InputError(f"kernel is {shown(self.kernel)}; pass a Kernel such as Matern().")
        if isinstance(self.lengthscales, str):
            if not is_word(self.lengthscales, "isotropic", "separate"):
                raise InputError(
                    f"lengthscales is {shown(self.lengthscales)}; "
                    "give 'isotropic', 'separate' or positive numbers."
                )
        else:
            given = np.atleast_1d(as_finite("lengthscales", self.lengthscales, (0, 1)))
            if not (given > 0).all():
                raise InputError(
                    f"lengthscales is {shown(self.lengthscales)}; give positive numbers."
                )
            object.__setattr__(self, "lengthscales", tuple(given.tolist()))
        if not is_word(self.mean, "zero", "constant") and not is_count(self.mean, 0):
            raise InputError(
                f"mean is {shown(self.mean)}; give 'zero', 'constant' or a degree >= 0."
            )
        for option, least in (("noise", "at least"), ("amplitude", "above")):
            value = getattr(self, option)
            if is_word(value, "fit"):
                continue
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 <= value < math.inf or (value == 0 and option == "amplitude"):
                raise InputError(f"{option} is {shown(value)}; give 'fit' or a number {least} 0.")
        check_choices(self, criterion=("leave_one_out", "likelihood"))
        as_positive("memory_limit", self.memory_limit)

    @property
    def in_units(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether noise or amplitude are given, or the mean is zero, for f as it is."""
        fitted = is_word(self.noise, "fit") and is_word(self.amplitude, "fit")
        return not fitted or is_word(self.mean, "zero")

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why it cannot be used on such data, or None.

        The measure has to be known and to factor into distributions of one coordinate, against
        which the kernel is integrated. Two more points than the mean has coefficients are needed,
        coordinates that vary, and memory for the n by n covariance.
        """
        if measure is None:
            return (
                f"measure is missing and {self.name} integrates its kernel against the measure; "
                f"pass measure=, or use {ALTERNATIVES}."
            )
        if measure.factors() is None:
            return (
                f"measure {type(measure).__name__} is not known as a product, or mixture of "
                f"products, of distributions of one coordinate, which {self.name} needs to "
                f"integrate its kernel; use {ALTERNATIVES}."
            )
        if not isinstance(self.lengthscales, str) and len(self.lengthscales) not in (1, data.dim):
            return (
                f"lengthscales has {len(self.lengthscales)} entries but x has {data.dim} "
                "coordinates; give one number or one for each."
            )
        needed = self._count(data.dim) + 2
        if data.n < needed:
            return f"x has {data.n} points of positive weight; {self.name} needs {needed}."
        return still_obstacle(data) or memory_obstacle(data.n, self.memory_limit)

    def fit(self, data: Dataset, measure: Measure | None, context: Context) -> Fit:
        """Find the hyperparameters, condition, integrate; see `Method.fit`.

        Given lengthscales, noise and amplitude are kept and only the others are searched for.

        Returns:
            Mean and variance of the integral under the posterior process, with the process as
            model and its hyperparameters in `stats`.
        """
        assert measure is not None
        factors = measure.factors()
        assert factors is not None
        z = factors.affine.points(data.x)
        separate = self.lengthscales != "isotropic"
        frame = ProductFrame(
            KernelGram(self.kernel),
            data.dim if separate else 1,
            factors,
            z.mean(axis=0),
            z.std(axis=0),
            _exponents(data.dim, self._degree),
        )
        given = None if isinstance(self.lengthscales, str) else np.asarray(self.lengthscales)
        problem = KernelProblem(
            Points.of(data, measure),
            frame,
            self.criterion,
            log_lengthscales=None if given is None else np.log(given / frame.unit),
            noise=None if self.noise == "fit" else float(self.noise),
            amplitude=None if self.amplitude == "fit" else float(self.amplitude),
        )
        return fit_gaussian_process(problem, data, context)

    @property
    def _degree(self) -> int:
        """Of the mean; -1 for none."""
        return {"zero": -1, "constant": 0}.get(self.mean, self.mean)  # pyright: ignore

    def _count(self, dim: int) -> int:
        """Number of coefficients of the mean."""
        return 0 if self._degree < 0 else math.comb(dim + self._degree, dim)


@dataclass(frozen=True)
class KernelGram(Gram):
    """A product kernel in coordinates of unit spread, as a function of log lengthscales.

    One log lengthscale is broadcast to all coordinates, so that isotropic and separate
    lengthscales share the code.

    Attributes:
        kernel: of one coordinate, multiplied over coordinates.
    """

    kernel: Kernel

    def __call__(self, log_lengthscales: jax.Array, rows: Any, columns: Any) -> jax.Array:
        """Covariances between rows and columns."""
        lengthscales = jnp.broadcast_to(jnp.exp(log_lengthscales), rows.shape[1:])
        return self.kernel.gram(rows, columns, lengthscales)

    @property
    def closed_form(self) -> Blocks | None:
        """That of the kernel, where it has one."""
        return self.kernel.closed_form


@dataclass(frozen=True)
class ProductFrame:
    """Coordinates in which the measure is a mixture of products, centered and of unit spread.

    The `KernelFrame` of Bayesian quadrature. Unit spread lets one search range serve all data;
    integrals are taken in the coordinates of the measure.

    Attributes:
        gram: the kernel.
        dim: number of lengthscales, 1 or d.
        factors: of the measure, and the coordinates in which it has them.
        center: mean of the points in those coordinates, (d,).
        unit: their standard deviation, (d,).
        exponents: of the monomials of the mean, (q, d).
    """

    gram: KernelGram
    dim: int
    factors: Factors
    center: Array
    unit: Array
    exponents: np.ndarray  # (q, d), of the monomials of the mean

    def at(self, points: Points) -> tuple[Array, Array]:
        """Coordinates and monomials.

        Args:
            points: in the user's coordinates; no scores are asked for.

        Returns:
            Centered and scaled coordinates (n, d), and the monomials of the prior mean there, (n,
            q).
        """
        t = (self.factors.affine.points(points.x) - self.center) / self.unit
        basis = np.empty((len(t), len(self.exponents)))
        for column, exponents in zip(basis.T, self.exponents, strict=True):
            column[:] = np.prod(t**exponents, axis=1)
        return t, basis

    def integrals(self, x: Array, log_lengthscales: Array) -> tuple[Array, float, Array]:
        """Kernel means, their integral, and the integrals of the monomials.

        Args:
            x: points in the user's coordinates, (n, d).
            log_lengthscales: in units of the spread of the points, (1,) or (d,).

        Returns:
            The kernel integrated over one argument, (n,), over both, and the moments (q,); what
            the posterior of the integral is made of.
        """
        lengthscales = self.lengthscales(log_lengthscales)
        z, v0 = embed(self.gram.kernel, lengthscales, self.factors, self.factors.affine.points(x))
        return np.asarray(z), float(v0), self.moments()

    def lengthscales(self, log_lengthscales: Array) -> Array:
        """In the coordinates of the measure, (d,).

        Args:
            log_lengthscales: in units of the spread of the points, as they are searched for.
        """
        return self.unit * np.exp(log_lengthscales)

    def moments(self) -> Array:
        """Integrals of the monomials, (q,), under the measure.

        Products of moments of one coordinate, summed over the components of the mixture. Equal
        marginals of a coordinate are integrated once; Gauss rules make those of normal and
        uniform ones exact.
        """
        degree = int(self.exponents.max(initial=0))
        total = np.zeros(len(self.exponents))
        for weight, marginals in zip(self.factors.weights, self.factors.components, strict=True):
            product = np.full(len(self.exponents), weight)
            for i, marginal in enumerate(marginals):
                moments = _moments(marginal, self.center[i], self.unit[i], degree)
                product *= moments[self.exponents[:, i]]
            total += product
        return total


def _exponents(dim: int, degree: int) -> np.ndarray:
    """Of all monomials up to a total degree, (q, dim); none below degree 0."""
    exponents = [
        np.bincount(choice, minlength=dim)
        for total in range(degree + 1)
        for choice in itertools.combinations_with_replacement(range(dim), total)
    ]
    return np.array(exponents, dtype=int).reshape(len(exponents), dim)


@lru_cache(maxsize=256)  # components of a mixture share marginals
def _moments(marginal: Marginal, center: float, unit: float, degree: int) -> Array:
    """`E[((z - center) / unit)^k]` for k up to `degree`."""
    powers = np.arange(degree + 1)
    if marginal.kind == "normal" and not marginal.truncated:
        # Gauss rules of m nodes are exact up to degree 2 m - 1, here at least `degree`.
        nodes, weights = np.polynomial.hermite_e.hermegauss(degree // 2 + 1)
        t = (marginal.loc + marginal.scale * nodes - center) / unit
        return weights @ t[:, None] ** powers / weights.sum()
    if marginal.kind == "uniform":
        nodes, weights = np.polynomial.legendre.leggauss(degree // 2 + 1)
        middle, half = (marginal.low + marginal.high) / 2, (marginal.high - marginal.low) / 2
        t = (middle + half * nodes - center) / unit
        return weights @ t[:, None] ** powers / weights.sum()
    # In units and with both sides by themselves, so that quadrature finds where the mass is.
    middle = (float(marginal.icdf(np.array([0.5]))[0]) - center) / unit
    sides = [(marginal.low - center) / unit, middle, (marginal.high - center) / unit]
    moments = np.ones(degree + 1)
    for k in powers[1:]:

        def weighted(t: float, k: int = k) -> float:
            return unit * float(marginal.pdf(np.array([center + unit * t]))[0]) * t**k

        # With its full output it reports trouble by a fourth entry and not by a warning.
        parts = [
            scipy.integrate.quad(weighted, a, b, epsabs=1e-13, limit=200, full_output=1)
            for a, b in itertools.pairwise(sides)
        ]
        moments[k] = sum(part[0] for part in parts)
        error = sum(part[1] for part in parts)
        trouble = any(len(part) > 3 and "roundoff" not in part[3] for part in parts)
        if trouble or not error < MOMENT_ERROR * max(1.0, abs(moments[k])):
            raise InputError(
                f"mean is {degree}, but moment {k} of a coordinate with distribution {marginal} "
                "was not found by quadrature; use mean='constant'."
            )
    return moments
