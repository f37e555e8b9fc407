"""What thirdparty.py compares with: averages of iid and of Sobol points, and OpenTURNS' chaos.

The chaos expansion is sparse: candidates in the order of least-angle regression, their number by
corrected leave-one-out, which also picks the best of a grid of candidate sets: hyperbolic ones
(q = 1 and 1/2) of rising degree, then anisotropic ones that spend their degrees on the inputs
with the larger Sobol indices; and where some inputs are neither uniform nor normal, polynomials of
their own distributions and of their normal scores. The mean is the constant coefficient. It comes
without an error bar.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit
from thirdparty_problems import Law, Problem

from steinquad.designs import Sobol

NORMS = (1.0, 0.5)
DEGREES = (1, 2, 3, 4, 6, 8, 10, 13, 17, 22, 30, 40)
MOST_FEATURES = 600
PATIENCE = 2  # degrees without improvement after which higher ones are not tried
NOTHING_LEFT = 1e-26  # relative leave-one-out error of an exact fit
LARGEST_WEIGHT = 20.0  # of an input that hardly matters, in anisotropic sets
CLASSICAL = ("uniform", "normal")


def monte_carlo(y: np.ndarray) -> dict[str, Any]:
    """The average of independent values with Student's interval."""
    n, std = len(y), float(y.std(ddof=1) / math.sqrt(len(y)))
    half, mean = float(stdtrit(n - 1, 0.975)) * std, float(y.mean())
    return {"mean": mean, "std": std, "low": mean - half, "high": mean + half}


def sobol_average(problem: Problem, n: int, seed: int) -> dict[str, Any]:
    """The average over n scrambled Sobol points, which has no error bar."""
    x = Sobol().draw(problem.measure, n, seed=seed).x
    return {"mean": float(problem.f(x).mean())}


def openturns_chaos(problem: Problem, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Mean by the best sparse expansion of the grid."""
    if np.ptp(y) == 0:  # no variance to explain
        return {"mean": float(y[0])}
    best = Expansion(float(y.mean()), math.inf, 0, np.zeros(problem.dim))
    for classical in (True, False) if _mixed(problem.laws) else (True,):
        chaos = _Chaos(problem.laws, classical, x, y)
        found, norm = best, 1.0
        for q in NORMS:
            if found.error < NOTHING_LEFT:
                break
            for each in chaos.rising(np.ones(problem.dim), q):
                if each.error < found.error:
                    found, norm = each, q
        if problem.dim > 1 and found.error > NOTHING_LEFT:
            for q in {norm, 1.0}:
                for each in chaos.rising(_weights(found.importance), q):
                    found = min(found, each, key=lambda one: one.error)
        best = min(best, found, key=lambda one: one.error)
    return {"mean": best.mean, "loo": best.error, "size": best.size}


@dataclass(frozen=True)
class Expansion:
    """Mean, relative corrected leave-one-out error, size, and total Sobol index of each input."""

    mean: float
    error: float
    size: int
    importance: np.ndarray


class _Chaos:
    """Expansions of the same data in one product basis."""

    def __init__(self, laws: Sequence[Law], classical: bool, x: np.ndarray, y: np.ndarray) -> None:
        import openturns as ot  # pyright: ignore[reportMissingImports]

        # Faster than the default by singular values, with the same answers.
        decomposition = "QR" if len(y) < 300 else "Cholesky"
        ot.ResourceMap.Set("LeastSquaresMetaModelSelection-DecompositionMethod", decomposition)
        # Else it gives up where the first terms explain less than half of the variance.
        ot.ResourceMap.SetAsScalar("LeastSquaresMetaModelSelection-MaximumError", 1e9)
        self.ot, self.dim = ot, len(laws)
        families, columns = [], []
        for law, column in zip(laws, x.T, strict=True):
            family, z = _family(law, column, classical)
            families.append(family)
            columns.append(z)
        self.basis = ot.OrthogonalProductPolynomialFactory(families)
        self.x = ot.Sample(np.column_stack(columns).tolist())
        self.y = ot.Sample(y[:, None].tolist())

    def rising(self, weights: np.ndarray, q: float) -> Iterator[Expansion]:
        """Expansions of rising degree, until the error rises or the sets are too large."""
        least, worse, before = math.inf, 0, 0
        for degree in DEGREES:
            indices = index_set(weights, q, degree, MOST_FEATURES)
            if indices is None or worse == PATIENCE or least < NOTHING_LEFT:
                return
            if len(indices) == before:  # no index between the two degrees
                continue
            before = len(indices)
            each = self.fit(indices)
            worse = 0 if each.error < least else worse + 1
            least = min(least, each.error)
            yield each

    def fit(self, indices: np.ndarray) -> Expansion:
        """The sparse expansion out of these candidates."""
        ot = self.ot
        terms = [self.basis.build(ot.Indices(index)) for index in indices.tolist()]
        algorithm = ot.LeastSquaresMetaModelSelection(
            self.x, self.y, terms, list(range(len(terms))), ot.LARS(), ot.CorrectedLeaveOneOut()
        )
        algorithm.run()
        coefficients = np.array(algorithm.getCoefficients())
        square = coefficients**2
        return Expansion(
            mean=float(coefficients[0]),
            error=algorithm.getRelativeError() * len(self.y),  # it divides by n twice
            size=int(np.count_nonzero(square)),
            importance=square @ (indices > 0) / max(square[1:].sum(), 1e-300),
        )


def index_set(weights: np.ndarray, q: float, degree: float, most: int) -> np.ndarray | None:
    """Multi-indices with `(sum_i w_i a_i^q)^(1/q) <= degree`, the constant first.

    None if there are more than `most`.

    >>> index_set(np.array([1.0, 2.0]), 1.0, 2, 100).tolist()
    [[0, 0], [1, 0], [2, 0], [0, 1]]
    """
    limit = degree**q * (1 + 1e-9)
    found: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for weight in weights:
        powers = [0.0]
        while weight * len(powers) ** q <= limit:
            powers.append(float(weight * len(powers) ** q))
        found = [
            (used + power, (*index, k))
            for used, index in found
            for k, power in enumerate(powers)
            if used + power <= limit
        ]
        if len(found) > most:
            return None
    found.sort(key=lambda one: (one[0], [-k for k in one[1]]))
    return np.array([index for _, index in found])


def _family(law: Law, x: np.ndarray, classical: bool) -> tuple[Any, np.ndarray]:
    """Orthonormal polynomials for an input, and the variable that they are polynomials of."""
    import openturns as ot  # pyright: ignore[reportMissingImports]

    if law.name == "uniform":
        low, high = law.parameters
        return ot.LegendreFactory(), (2 * x - low - high) / (high - low)
    if law.name == "normal":
        return ot.HermiteFactory(), (x - law.parameters[0]) / law.parameters[1]
    if classical:
        return ot.StandardDistributionPolynomialFactory(distribution(law)), x
    if law.name == "lognormal":
        return ot.HermiteFactory(), (np.log(x) - law.parameters[0]) / law.parameters[1]
    return ot.HermiteFactory(), ndtri(law.cdf(x))


def _mixed(laws: Sequence[Law]) -> bool:
    return any(law.name not in CLASSICAL for law in laws)


def _weights(importance: np.ndarray) -> np.ndarray:
    """Of inputs in anisotropic sets: 1 for the most important, more for the others."""
    share = importance / max(importance.max(), 1e-300)
    return np.minimum(share.clip(1e-12) ** -0.25, LARGEST_WEIGHT)


def distribution(law: Law) -> Any:
    """The same in OpenTURNS."""
    import openturns as ot  # pyright: ignore[reportMissingImports]

    p = law.parameters
    match law.name:
        case "uniform":
            return ot.Uniform(*p)
        case "normal":
            return ot.Normal(*p)
        case "lognormal":
            return ot.LogNormal(*p)
        case "gumbel":
            return ot.Gumbel(p[1], p[0])
        case "triangular":
            return ot.Triangular(p[0], p[2], p[1])
        case "t":
            return ot.Student(p[0])
        case "trunc-normal" | "trunc-gumbel":
            whole = ot.Normal(*p[:2]) if law.name == "trunc-normal" else ot.Gumbel(p[1], p[0])
            lower, upper = (math.isfinite(side) for side in p[2:])
            return ot.TruncatedDistribution(whole, ot.Interval([p[2]], [p[3]], [lower], [upper]))
    raise ValueError(f"OpenTURNS: no distribution for {law.name}")
