"""The integrands of thirdparty.py: uqtestfuns, a narrow Borehole, and twelve nasty ones."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.special
import scipy.stats as st

import steinquad as sq
from steinquad.measures import as_measure

MEAN, PROBABILITY, BOREHOLE, NASTY = "mean", "probability", "borehole", "nasty"
# Functions of any dimension, and what they are called with.
DIMENSIONS = {
    "Ackley": 2,
    "BratleyA": 5,
    "BratleyB": 5,
    "BratleyC": 5,
    "BratleyD": 5,
    "GenzContinuous": 5,
    "GenzCornerPeak": 5,
    "GenzDiscontinuous": 5,
    "GenzGaussian": 5,
    "GenzOscillatory": 5,
    "GenzProductPeak": 5,
    "MorrisM": 10,
    "Rosenbrock": 4,
    "SaltelliLinear": 5,
    "SobolG": 8,
    "SobolGStar": 8,
    "SobolLevitan": 20,
}
PARAMETERS = {
    "SobolG": "Sun2022",  # the default sets make all eight inputs matter
    "SobolGStar": "Azzini2021",  # other sets draw their shifts anew each time
    "SobolLevitan": "Sobol1999-2",
}
LEFT_OUT = {
    "LinkletterInert": "is constant",
    "CantileverBeam2D": "has no mean: it divides by the cube of a normal; its probability stays",
}
COFFEE_TIME = 37  # of 150 outputs, the temperature after 50 minutes


@dataclass(frozen=True, eq=False)
class Law:
    """A scalar distribution by its uqtestfuns name and parameters.

    >>> float(Law("lognormal", (0.0, 1.0)).measure.median())
    1.0
    """

    name: str
    parameters: tuple[float, ...]

    @cached_property
    def measure(self) -> Any:
        """The same in terms of scipy.stats, or of this library where SciPy has none."""
        a, b, *more = self.parameters if len(self.parameters) > 1 else (*self.parameters, 0.0)
        match self.name:
            case "uniform":
                return st.uniform(a, b - a)
            case "normal":
                return st.norm(a, b)
            case "lognormal":
                return st.lognorm(b, scale=math.exp(a))
            case "gumbel":
                return st.gumbel_r(a, b)
            case "exponential":
                return st.expon(scale=1 / a)
            case "triangular":
                return st.triang((more[0] - a) / (b - a), a, b - a)
            case "beta":
                return st.beta(a, b, more[0], more[1] - more[0])
            case "trunc-normal":
                return st.truncnorm((more[0] - a) / b, (more[1] - a) / b, a, b)
            case "trunc-gumbel":
                return sq.Truncated(st.gumbel_r(a, b), more[0], more[1])
        raise ValueError(f"no measure for {self.name}{self.parameters}")

    def cdf(self, x: np.ndarray) -> np.ndarray:
        """Distribution function of the measure, (n,) -> (n,)."""
        return as_measure(self.measure).cdf(x[:, None])[:, 0]

    def icdf(self, p: np.ndarray) -> np.ndarray:
        """Its inverse, (n,) -> (n,)."""
        return as_measure(self.measure).icdf(p[:, None])[:, 0]


@dataclass(frozen=True, eq=False)
class Problem:
    """An integrand and its inputs.

    Attributes:
        name: for tables and rows.
        kind: mean, probability, borehole or nasty.
        laws: of the independent inputs.
        f: (n, d) -> (n,).
        truth: in closed form; None where thirdparty_truths.py computes it.
        finite: whether the variance is.
        inputs: uqtestfuns' own, to check the laws against.
    """

    name: str
    kind: str
    laws: tuple[Law, ...]
    f: Callable[[np.ndarray], np.ndarray]
    truth: float | None = None
    finite: bool = True
    inputs: Any = None

    @property
    def dim(self) -> int:
        """Number of inputs."""
        return len(self.laws)

    @cached_property
    def measure(self) -> Any:
        """Of the inputs together."""
        return sq.Product({f"x{i}": law.measure for i, law in enumerate(self.laws, 1)})

    def check_laws(self) -> None:
        """Compare every distribution function with uqtestfuns' own."""
        if self.inputs is None:
            return
        p = np.array([1e-4, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-4])
        for law, marginal in zip(self.laws, self.inputs.marginals, strict=True):
            x = law.icdf(p)
            gap = np.abs(law.cdf(x) - marginal.cdf(x)).max()
            if not (gap < 1e-9 and np.abs(law.cdf(x) - p).max() < 1e-9):
                raise ValueError(f"{self.name}: {law} is not what uqtestfuns has ({gap:.1e})")


def problems() -> dict[str, Problem]:
    """All of them by name."""
    every = [*uqtestfuns_problems(), narrow_borehole(), *nasty()]
    return {problem.name: problem for problem in every}


def uqtestfuns_problems() -> list[Problem]:
    """The mean of every function with at most 20 inputs, and every failure probability."""
    import uqtestfuns  # pyright: ignore[reportMissingImports]

    fragile = uqtestfuns.list_functions(tag="reliability", tabulate=False)
    means, probabilities = [], []
    for name in uqtestfuns.list_functions(tabulate=False):
        function = uqtestfuns.create(
            name, DIMENSIONS.get(name), parameters_id=PARAMETERS.get(name)
        )
        if function.input_dimension > 20:
            continue
        marginals = function.prob_input.marginals
        laws = tuple(Law(m.distribution, tuple(map(float, m.parameters))) for m in marginals)
        full = f"{name}{DIMENSIONS.get(name, '')}"
        output = COFFEE_TIME if function.output_dimension > 1 else 0
        if name not in LEFT_OUT:
            f = _output(function, output)
            means.append(Problem(full, MEAN, laws, f, inputs=function.prob_input))
        if name in fragile:
            f = _failure(function)
            probabilities.append(
                Problem(f"P({full})", PROBABILITY, laws, f, inputs=function.prob_input)
            )
    return means + probabilities


def _output(function: Any, output: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.asarray(function(x)).reshape(len(x), -1)[:, output]


def _failure(function: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Whether the limit state is exceeded, which uqtestfuns has at zero and below."""
    return lambda x: (np.asarray(function(x)).reshape(len(x)) <= 0).astype(float)


def narrow_borehole() -> Problem:
    """Borehole with narrow normal inputs; the truth is close to the value at their means."""
    means = (0.1, 100.0, 89335.0, 89.55, 1050.0, 760.0, 1400.0, 10950.0)
    variances = (0.0161812**2, 0.01, 20.0, 1.0, 1.0, 1.0, 10.0, 30.0)
    laws = tuple(Law("normal", (m, math.sqrt(v))) for m, v in zip(means, variances, strict=True))

    def f(x: np.ndarray) -> np.ndarray:
        radius, influence, upper, lower, high, low, length, conductivity = x.T
        ratio = np.log(influence / radius)
        flow = 1 + 2 * length * upper / (ratio * radius**2 * conductivity) + upper / lower
        return 2 * np.pi * upper * (high - low) / (ratio * flow)

    return Problem("narrow Borehole", BOREHOLE, laws, f)


@dataclass(frozen=True, eq=False)
class StudentT(Law):
    """Student's t, which uqtestfuns does not have; the parameter is its degrees of freedom."""

    @cached_property
    def measure(self) -> Any:
        """The same in terms of scipy.stats."""
        return st.t(self.parameters[0])


def nasty() -> list[Problem]:
    """Legal integrands that mislead: rare events, jumps, spikes, aliases, heavy tails."""
    normal, uniform, student = Law("normal", (0, 1)), Law("uniform", (0, 1)), StudentT("t", (2.5,))
    cdf, log_gamma = scipy.special.ndtr, math.lgamma
    rare, rarer = (float(-scipy.special.ndtri(p)) for p in (1e-2, 1e-3))

    def peak(center: float, width: float) -> float:
        """Integral of exp(-(x - center)^2 / (2 width^2)) over [0, 1]."""
        mass = cdf((1 - center) / width) - cdf(-center / width)
        return float(width * math.sqrt(2 * math.pi) * mass)

    nu, power = 2.5, 1.5
    moment = math.exp(
        power / 2 * math.log(nu)
        + log_gamma((power + 1) / 2)
        + log_gamma((nu - power) / 2)
        - log_gamma(0.5)
        - log_gamma(nu / 2)
    )
    kinked = math.sqrt(2 / math.pi) + float(cdf(-0.3)) + 1
    rows: Sequence[tuple[str, Law, int, Callable[[Any], Any], float, bool]] = [
        ("rare event", normal, 2, lambda x: x[:, 0] > rarer, 1e-3, True),
        (
            "rare, weighted",
            normal,
            2,
            lambda x: (x[:, 0] > rare) * np.exp(x[:, 1]),
            0.01 * math.exp(0.5),
            True,
        ),
        ("exp(.3 x^2)", normal, 1, lambda x: np.exp(0.3 * x[:, 0] ** 2), 0.4**-0.5, False),
        ("exp(2 x)", normal, 1, lambda x: np.exp(2 * x[:, 0]), math.exp(2), True),
        (
            "kink and jump",
            normal,
            3,
            lambda x: np.abs(x[:, 0]) + (x[:, 1] > 0.3) + x[:, 2] ** 2,
            kinked,
            True,
        ),
        (
            "circle",
            uniform,
            2,
            lambda x: np.sum((x - 0.5) ** 2, axis=1) < 0.354**2,
            math.pi * 0.354**2,
            True,
        ),
        (
            "spike, d = 5",
            uniform,
            5,
            lambda x: np.exp(-np.sum((x - 0.37) ** 2, axis=1) / (2 * 0.05**2)),
            peak(0.37, 0.05) ** 5,
            True,
        ),
        (
            "cos(200 x)^2",
            uniform,
            1,
            lambda x: np.cos(200 * x[:, 0]) ** 2,
            0.5 + math.sin(400) / 800,
            True,
        ),
        ("x^-0.9", uniform, 1, lambda x: x[:, 0] ** -0.9, 10.0, False),
        ("x^-0.6", uniform, 1, lambda x: x[:, 0] ** -0.6, 2.5, False),
        ("|t|^1.5", student, 1, lambda x: np.abs(x[:, 0]) ** power, moment, False),
        (
            "spike, d = 1",
            uniform,
            1,
            lambda x: np.exp(-1e4 * (x[:, 0] - 0.77) ** 2),
            peak(0.77, math.sqrt(0.5e-4)),
            True,
        ),
    ]
    return [
        Problem(name, NASTY, (law,) * d, _floats(f), truth, finite)
        for name, law, d, f, truth, finite in rows
    ]


def _floats(f: Callable[[Any], Any]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.asarray(f(x), dtype=float)
