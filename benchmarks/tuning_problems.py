"""Integrands on which the default is tuned: of our own making, with exact means.

None of them is in thirdparty_problems.py, which is what the default is judged by. Sums of products
of functions of one input each have their means by quadrature in one dimension, functions of a sum
of normal inputs too, all others in up to three dimensions by product rules.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.integrate
import scipy.stats as st

Function = Callable[[np.ndarray], np.ndarray]
UNIT, NORMAL = st.uniform(), st.norm()


@dataclass(frozen=True, eq=False)
class Tuned:
    """An integrand of independent inputs, its mean, and what kind of trouble it is.

    Attributes:
        name: for rows.
        kind: smooth, peak, rough, tail or nasty.
        laws: frozen scipy.stats distributions.
        f: (n, d) -> (n,).
        mean: exact.
    """

    name: str
    kind: str
    laws: Sequence[Any]
    f: Function
    mean: float


def one(law: Any, g: Function, breaks: Sequence[float] = ()) -> float:
    """Mean of a function of one input, by quadrature over the normal score of its probability."""

    def piece(z: float) -> float:
        x = law.ppf(st.norm.cdf(z)) if z < 0 else law.isf(st.norm.sf(z))  # from the nearer end
        return float(g(np.array([x]))[0]) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    low, high = law.support()
    inner = [float(st.norm.ppf(law.cdf(b))) for b in breaks if low < b < high]
    cuts = sorted({-20.0, -6.0, -2.0, 0.0, 2.0, 6.0, 20.0, *inner})
    parts = [
        scipy.integrate.quad(piece, a, b, epsabs=1e-15, epsrel=1e-12, limit=400)[0]
        for a, b in pairwise(cuts)
    ]
    return sum(parts)


def products(
    name: str,
    kind: str,
    laws: Sequence[Any],
    terms: Sequence[tuple[float, Sequence[Function]]],
    breaks: Sequence[float] = (),
) -> Tuned:
    """A sum of c * prod_i g_i(x_i)."""

    def f(x: np.ndarray) -> np.ndarray:
        return np.sum(
            [c * np.prod([g(x[:, i]) for i, g in enumerate(gs)], axis=0) for c, gs in terms],
            axis=0,
        )

    mean = sum(
        c * math.prod(one(law, g, breaks) for law, g in zip(laws, gs, strict=True))
        for c, gs in terms
    )
    return Tuned(name, kind, laws, f, mean)


def ridge(
    name: str, kind: str, a: Sequence[float], g: Function, breaks: Sequence[float] = ()
) -> Tuned:
    """g(a . x) under standard normal inputs."""
    size = float(np.linalg.norm(a))
    mean = one(st.norm(0, size), g, breaks)
    return Tuned(name, kind, [NORMAL] * len(a), lambda x: g(x @ np.asarray(a)), mean)


def on_grid(name: str, kind: str, laws: Sequence[Any], f: Function, nodes: int = 200) -> Tuned:
    """Any smooth function of at most three inputs, by a product rule."""
    rules = []
    for law in laws:
        low, high = law.support()
        if math.isfinite(low) and math.isfinite(high):
            t, w = np.polynomial.legendre.leggauss(nodes)
            x = low + (high - low) * (t + 1) / 2
            w = w * law.pdf(x)
        else:
            z = np.linspace(-9, 9, nodes)
            x = np.where(z < 0, law.ppf(st.norm.cdf(z)), law.isf(st.norm.sf(z)))
            w = st.norm.pdf(z)
        rules.append((x, w / w.sum()))
    grids = np.meshgrid(*(x for x, _ in rules), indexing="ij")
    weights = np.ones(())
    for _, w in rules:
        weights = np.multiply.outer(weights, w)
    points = np.stack([grid.ravel() for grid in grids], axis=1)
    return Tuned(name, kind, laws, f, float(weights.ravel() @ f(points)))


def bump(center: float, width: float) -> Function:
    """A Gaussian bell."""
    return lambda x: np.exp(-0.5 * ((x - center) / width) ** 2)


def lorentz(center: float, width: float) -> Function:
    """A rational peak of height one."""
    return lambda x: width**2 / (width**2 + (x - center) ** 2)


def tent(center: float, rate: float) -> Function:
    """An exponential of the distance."""
    return lambda x: np.exp(-rate * np.abs(x - center))


def cut(rate: float, edge: float) -> Function:
    """An exponential up to an edge."""
    return lambda x: np.exp(rate * x) * (x < edge)


def corner(d: int, c: Sequence[float], power: float) -> Tuned:
    """(1 + c . x)^-power on the unit cube: a gamma mixture of products of exponentials."""
    c_ = np.asarray(c)

    def inner(t: float) -> float:
        return t ** (power - 1) * math.exp(-t) * float(np.prod(-np.expm1(-t * c_) / (t * c_)))

    value = sum(
        scipy.integrate.quad(inner, a, b, epsabs=0, epsrel=1e-12, limit=500)[0]
        for a, b in ((1e-14, 0.1), (0.1, 1), (1, 5), (5, 30), (30, 300))
    )
    f = lambda x: (1 + x @ c_) ** -power  # noqa: E731
    return Tuned(f"corner{d}", "peak", [UNIT] * d, f, value / math.gamma(power))


def same(g: Function, d: int) -> list[Function]:
    """The same function of each of d inputs."""
    return [g] * d


def ones(x: np.ndarray) -> np.ndarray:
    """One."""
    return np.ones_like(x)


def problems() -> dict[str, Tuned]:
    """All of them by name."""
    at = np.array([0.21, 0.64, 0.38, 0.83, 0.52, 0.17, 0.71])
    ln = [st.lognorm(0.4, scale=1.0), st.lognorm(0.25, scale=2.0), st.lognorm(0.3, scale=0.5)]
    every = [
        # Peaks on a box, some of whose points carry the integral.
        *(
            products(f"bell{d}_{w}", "peak", [UNIT] * d, [(1.0, [bump(m, w) for m in at[:d]])])
            for d, w in ((1, 0.08), (2, 0.1), (3, 0.15), (4, 0.25), (6, 0.25), (6, 0.4))
        ),
        *(
            products(
                f"lorentz{d}_{w}", "peak", [UNIT] * d, [(1.0, [lorentz(m, w) for m in at[:d]])]
            )
            for d, w in ((1, 0.05), (2, 0.15), (3, 0.2), (4, 0.3), (6, 0.4))
        ),
        *(
            products(
                f"tent{d}_{r}",
                "rough",
                [UNIT] * d,
                [(1.0, [tent(m, r) for m in at[:d]])],
                tuple(at),
            )
            for d, r in ((1, 8.0), (2, 5.0), (4, 3.0), (6, 1.5))
        ),
        *(
            products(
                f"cut{d}_{r}",
                "rough",
                [UNIT] * d,
                [(1.0, [cut(r, 0.45), cut(r, 0.6), *same(lambda x, r=r: np.exp(r * x), d - 2)])],
                (0.45, 0.6),
            )
            for d, r in ((2, 2.0), (4, 1.0), (6, 0.8))
        ),
        corner(3, (1.0, 2.0, 3.0), 4.0),
        corner(4, (3.0, 1.0, 0.5, 2.0), 5.0),
        corner(6, (1.0,) * 6, 7.0),
        products(
            "bells2_far",
            "peak",
            [UNIT] * 2,
            [
                (1.0, [bump(0.2, 0.07), bump(0.25, 0.1)]),
                (0.6, [bump(0.8, 0.12), bump(0.7, 0.09)]),
                (0.2, [ones, bump(0.5, 0.3)]),
            ],
        ),
        products(
            "bells3_far",
            "peak",
            [UNIT] * 3,
            [
                (1.0, [bump(0.3, 0.12), bump(0.25, 0.2), bump(0.6, 0.25)]),
                (0.7, [bump(0.75, 0.2), bump(0.7, 0.12), ones]),
            ],
        ),
        # Smooth.
        products(
            "waves3",
            "smooth",
            [UNIT] * 3,
            [
                (1.0, [lambda x: np.sin(3 * x), lambda x: np.cos(4 * x), np.exp]),
                (0.5, [np.sqrt, ones, np.square]),
            ],
            (0.001,),
        ),
        products(
            "sine5",
            "smooth",
            [UNIT] * 5,
            [(1.0, same(lambda x: 1 + 0.5 * np.sin(2 * np.pi * x), 5))],
        ),
        products("wiggle1", "smooth", [UNIT], [(1.0, [lambda x: np.sin(25 * x) + x])]),
        products("wiggle1_fast", "smooth", [UNIT], [(1.0, [lambda x: np.sin(70 * x * x) + 1])]),
        products("chirp1", "smooth", [NORMAL], [(1.0, [lambda x: np.cos(6 * x) + np.sin(x)])]),
        ridge("ridge_exp6", "smooth", (0.3, 0.2, 0.4, 0.1, 0.25, 0.3), np.exp),
        ridge(
            "ridge_cos8",
            "smooth",
            (0.5, 0.2, 0.4, 0.1, 0.25, 0.3, 0.3, 0.6),
            lambda t: np.cos(2 * t) + t,
        ),
        ridge(
            "ridge_logit5",
            "smooth",
            (1.0, 0.5, 0.8, -0.7, 0.3),
            lambda t: 1 / (1 + np.exp(-2 * t)),
        ),
        ridge(
            "ridge_tanh12", "smooth", tuple(np.linspace(-0.6, 0.6, 12)), lambda t: np.tanh(t + 0.3)
        ),
        ridge(
            "ridge_rational4", "smooth", (0.6, 0.4, -0.5, 0.3), lambda t: 1 / (1 + (t - 0.5) ** 2)
        ),
        ridge("ridge_softplus3", "smooth", (1.0, 2.0, 0.5), lambda t: np.logaddexp(0, 3 * t)),
        on_grid(
            "flow3",
            "smooth",
            ln,
            lambda x: x[:, 0] * x[:, 1] / (0.3 + x[:, 2]) + np.log(x[:, 0] + x[:, 1]),
        ),
        on_grid(
            "beam3",
            "smooth",
            [st.gamma(9, scale=0.1), st.beta(2, 5), st.norm(5, 0.5)],
            lambda x: x[:, 0] ** 1.5 * np.exp(x[:, 1]) / x[:, 2] ** 2,
            160,
        ),
        on_grid(
            "wing3",
            "smooth",
            [st.uniform(1, 2), st.uniform(0, 1), st.beta(3, 2, scale=2)],
            lambda x: np.sqrt(x[:, 0] + x[:, 1] ** 2) * np.cos(x[:, 2]),
            400,
        ),
        on_grid(
            "gap2",
            "smooth",
            [st.gumbel_r(1, 0.4), st.lognorm(0.3)],
            lambda x: np.log1p(np.exp(x[:, 0] - x[:, 1])),
            400,
        ),
        on_grid(
            "saddle2",
            "smooth",
            [st.expon(), st.uniform(-1, 2)],
            lambda x: np.sin(x[:, 0]) * x[:, 1] + x[:, 0] / (1 + x[:, 1] ** 2),
            600,
        ),
        on_grid(
            "ripple2",
            "smooth",
            [st.uniform(-3, 6)] * 2,
            lambda x: np.cos(2 * np.hypot(x[:, 0], x[:, 1])) + 0.1 * x[:, 0],
        ),
        on_grid(
            "bowl2",
            "smooth",
            [st.uniform(-4, 8)] * 2,
            lambda x: (
                np.sqrt(1 + x[:, 0] ** 2 + 2 * x[:, 1] ** 2)
                + np.cos(3 * x[:, 0]) * np.cos(2 * x[:, 1])
            ),
        ),
        products(
            "poly10",
            "smooth",
            [UNIT] * 10,
            [
                (1.0, [np.square, lambda x: x, *same(ones, 8)]),
                (2.0, [*same(ones, 8), np.square, lambda x: x]),
                (0.5, same(lambda x: 1 + 0.1 * x, 10)),
            ],
        ),
        products(
            "gfun6",
            "rough",
            [UNIT] * 6,
            [
                (
                    1.0,
                    [
                        lambda x, a=a: (np.abs(4 * x - 2) + a) / (1 + a)
                        for a in (0.5, 1, 2, 4, 8, 16)
                    ],
                )
            ],
            (0.5,),
        ),
        products(
            "kinks15",
            "rough",
            [UNIT] * 15,
            [
                (1.0, [*same(ones, i), lambda x: np.abs(x - 0.4), *same(ones, 14 - i)])
                for i in range(15)
            ],
            (0.4,),
        ),
        products(
            "poly_laguerre3",
            "smooth",
            [st.expon()] * 3,
            [
                (1.0, [np.square, lambda x: x, ones]),
                (0.3, [ones, lambda x: x**3, ones]),
                (1.0, [ones, ones, np.sqrt]),
            ],
            (1e-4,),
        ),
        products(
            "shield4",
            "smooth",
            [st.lognorm(0.5), st.lognorm(0.3), NORMAL, st.gamma(2)],
            [
                (1.0, [lambda x: x, np.sqrt, ones, lambda x: np.exp(-x)]),
                (0.5, [ones, lambda x: x, np.cos, ones]),
            ],
            (1e-4,),
        ),
        products(
            "hinge2",
            "rough",
            [NORMAL] * 2,
            [(1.0, [lambda x: np.maximum(x - 0.5, 0), lambda x: 1 + 0.2 * x])],
            (0.5,),
        ),
        ridge("step_ridge3", "rough", (1.0, 0.5, -0.5), lambda t: 1.0 * (t > 0.4), (0.4,)),
        ridge(
            "call5",
            "rough",
            (0.4, 0.3, 0.2, 0.3, 0.1),
            lambda t: np.maximum(np.exp(t) - 1.2, 0),
            (math.log(1.2),),
        ),
        products(
            "osc6",
            "smooth",
            [UNIT] * 6,
            [
                (1.0, [lambda x: np.cos(2 * x), *same(np.exp, 5)]),
                (1.0, [lambda x: np.sin(3 * x), *same(ones, 5)]),
            ],
        ),
        products(
            "decay20",
            "smooth",
            [UNIT] * 20,
            [(1.0, [lambda x, k=k: 1 + (x - 0.5) / (k + 1) ** 1.5 for k in range(20)])],
        ),
        # Tails: finite variance, but few points see the mass.
        ridge("exp_steep2", "tail", (1.0, 0.6), np.exp),
        ridge("exp_steeper3", "tail", (1.2, 0.8, 0.6), np.exp),
        products("power4", "tail", [NORMAL], [(1.0, [lambda x: x**4 + np.cos(x)])]),
        products("sixth2", "tail", [NORMAL] * 2, [(1.0, [lambda x: x**6, lambda x: 1 + x**2])]),
        products(
            "heavy_ln2",
            "tail",
            [st.lognorm(1.0), st.lognorm(0.7)],
            [(1.0, [lambda x: x, lambda x: x])],
            (1e-3,),
        ),
        *nasty(),
    ]
    return {each.name: each for each in every}


def nasty() -> list[Tuned]:
    """Kin of the twelve nasty integrands, with other numbers."""
    q1, q2 = st.norm.isf(2e-3), st.norm.isf(0.015)
    t, power = 2.4, 1.3
    moment = math.exp(
        power / 2 * math.log(t)
        + sum(map(math.lgamma, ((power + 1) / 2, (t - power) / 2)))
        - sum(map(math.lgamma, (0.5, t / 2)))
    )
    edge = 0.31**2

    def bells(center: float, width: float, d: int) -> float:
        mass = st.norm.cdf((1 - center) / width) - st.norm.cdf(-center / width)
        return float(width * math.sqrt(2 * math.pi) * mass) ** d

    def kinked(x: np.ndarray) -> np.ndarray:
        return np.abs(x[:, 0] - 0.2) + 0.8 * (x[:, 1] > -0.4) + x[:, 2] ** 2

    kink = 0.4 * st.norm.pdf(0.2) / 0.2 + 0.2 * (2 * st.norm.cdf(0.2) - 1)
    rows = [
        ("seldom", [NORMAL] * 2, lambda x: 1.0 * (x[:, 0] > q1), 2e-3),
        (
            "seldom_weighted",
            [NORMAL] * 2,
            lambda x: (x[:, 0] > q2) * np.exp(0.8 * x[:, 1]),
            0.015 * math.exp(0.32),
        ),
        ("exp_square", [NORMAL], lambda x: np.exp(0.27 * x[:, 0] ** 2), 0.46**-0.5),
        ("exp_linear", [NORMAL], lambda x: np.exp(1.8 * x[:, 0]), math.exp(1.62)),
        ("kink_jump", [NORMAL] * 3, kinked, kink + 0.8 * st.norm.cdf(0.4) + 1),
        (
            "disc",
            [UNIT] * 2,
            lambda x: 1.0 * (np.sum((x - 0.45) ** 2, axis=1) < edge),
            math.pi * edge,
        ),
        (
            "needle5",
            [UNIT] * 5,
            lambda x: np.exp(-np.sum((x - 0.41) ** 2, axis=1) / (2 * 0.06**2)),
            bells(0.41, 0.06, 5),
        ),
        ("alias", [UNIT], lambda x: np.cos(170 * x[:, 0]) ** 2, 0.5 + math.sin(340) / 680),
        ("root85", [UNIT], lambda x: x[:, 0] ** -0.85, 1 / 0.15),
        ("root57", [UNIT], lambda x: x[:, 0] ** -0.57, 1 / 0.43),
        ("student", [st.t(t)], lambda x: np.abs(x[:, 0]) ** power, moment),
        (
            "needle1",
            [UNIT],
            lambda x: np.exp(-7e3 * (x[:, 0] - 0.64) ** 2),
            bells(0.64, math.sqrt(0.5 / 7e3), 1),
        ),
    ]
    return [Tuned(name, "nasty", laws, f, float(mean)) for name, laws, f, mean in rows]
