"""Kernel means and double integrals against quadrature in 25 digits."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from time import process_time
from typing import Any

import mpmath as mp
import numpy as np
import numpyro.distributions as nd
import pytest
import scipy.special
import scipy.stats as st

from steinquad._float64 import float64
from steinquad.errors import InputError
from steinquad.kernels import (
    RBF,
    Kernel,
    Matern,
    double_integral,
    embed,
    kernel_mean,
    register_kernel_mean,
)
from steinquad.kernels.embeddings import CLOSED_FORMS
from steinquad.measures import Product, Truncated, as_measure
from steinquad.measures.factors import Factors
from steinquad.measures.marginal import Functions, Marginal

KERNELS = [RBF(), Matern(0.5), Matern(1.5), Matern(2.5)]
LENGTHSCALES = [0.05, 0.7, 5.0]
INF = math.inf


def marginal_of(dist: Any) -> Marginal:
    found = as_measure(dist).factors()
    assert found is not None
    return found.components[0][0]


MARGINALS = {
    "standard": Marginal.normal(0.0, 1.0),
    "shifted": Marginal.normal(1.3, 0.4),
    "sides": Marginal.normal(0.5, 1.2, -0.3, 2.0),
    "left": Marginal.normal(1.33, 0.32, 1.2),
    "right": Marginal.normal(0.0, 2.0, -INF, -1.0),
    "tail": Marginal.normal(0.0, 1.0, 9.0),
    "uniform": Marginal.uniform(-1.0, 2.5),
    "gamma": marginal_of(st.gamma(2.0)),
    "beta": marginal_of(st.beta(2.0, 1.5)),
}

PRECISE_NODES: list[tuple[mp.mpf, mp.mpf]] = []


def precise_rule() -> list[tuple[mp.mpf, mp.mpf]]:
    """20 Gauss-Legendre nodes in 30 digits: NumPy's, polished by Newton's method."""
    if not PRECISE_NODES:
        for start in np.polynomial.legendre.leggauss(20)[0]:
            t = mp.mpf(start)
            for _ in range(3):
                p, before = mp.mpf(1), mp.mpf(0)
                for k in range(20):
                    p, before = ((2 * k + 1) * t * p - k * before) / (k + 1), p
                slope = 20 * (t * p - before) / (t * t - 1)
                t -= p / slope
            PRECISE_NODES.append((t, 2 / ((1 - t * t) * slope**2)))
    return PRECISE_NODES


def weighted(
    density: Callable[[Any], Any], breaks: Iterable[float], low: float, high: float
) -> list[tuple[Any, Any]]:
    """Nodes of panels between the breaks, and their weights times the density."""
    edges = sorted({low, high, *(b for b in breaks if low < b < high)})
    found = []
    with mp.workdps(25):
        for a, b in pairwise(edges):
            half, middle = (mp.mpf(b) - a) / 2, (mp.mpf(b) + a) / 2
            nodes = [(middle + half * t, half * w) for t, w in precise_rule()]
            found += [(y, w * density(y)) for y, w in nodes]
    return found


def kappa(kernel: Kernel, t: Any) -> Any:
    t = abs(t)
    if isinstance(kernel, RBF):
        return mp.exp(-t * t / 2)
    assert isinstance(kernel, Matern)
    s = mp.sqrt(mp.mpf(2 * kernel.nu)) * t
    return {0.5: 1, 1.5: 1 + s, 2.5: 1 + s + s * s / 3}[kernel.nu] * mp.exp(-s)


def mass(a: Any, b: Any) -> Any:
    """Normal mass of an interval, from the survival functions of its side of 0."""
    a, b = (-b, -a) if b < 0 else (a, b)
    return (mp.erfc(a / mp.sqrt(2)) - mp.erfc(b / mp.sqrt(2))) / 2


@cache
def total_mass(marginal: Marginal) -> Any:
    with mp.workdps(50):
        a, b = (
            (mp.mpf(side) - marginal.loc) / marginal.scale
            for side in (marginal.low, marginal.high)
        )
        return mass(a, b)


def precise_pdf(marginal: Marginal, y: Any) -> Any:
    if marginal.kind == "normal":
        z = (y - marginal.loc) / mp.mpf(marginal.scale)
        return mp.exp(-z * z / 2) / (marginal.scale * mp.sqrt(2 * mp.pi) * total_mass(marginal))
    if marginal.kind == "uniform":
        return 1 / (mp.mpf(marginal.high) - marginal.low)
    if marginal.functions is not None and marginal.functions.name == "gamma":
        return y * mp.exp(-y)
    return y * mp.sqrt(1 - y) / mp.beta(2, mp.mpf(1.5))


def breaks_of(marginal: Marginal) -> tuple[list[float], float, float]:
    """Where the density wants panels, and where it ends."""
    if marginal is MARGINALS["beta"]:  # y = 1 is a branch point
        return [1 - 4.0**-k for k in range(1, 22)], 0.0, 1.0
    if marginal is MARGINALS["gamma"]:
        return [0.5, 1.0, 2.0, 4.0, 8.0, 12.0, 20.0, 30.0, 40.0], 0.0, 50.0
    if marginal is MARGINALS["tail"]:
        return [9.1, 9.2, 9.4, 9.7, 10.2, 11.0], 9.0, 13.0
    steps = [0.0, 1.5, 3.0, 4.5, 6.5, 9.0, 11.5]
    own = [marginal.loc + sign * marginal.scale * s for s in steps for sign in (-1, 1)]
    return (
        own,
        max(marginal.low, marginal.loc - 14 * marginal.scale),
        min(marginal.high, marginal.loc + 14 * marginal.scale),
    )


def around(x: float, lengthscale: float) -> list[float]:
    steps = [1.0, 2.5, 5.0, 9.0, 16.0, 30.0]
    return [x, *(x + sign * lengthscale * s for s in steps for sign in (-1, 1))]


@cache  # all kernels share the nodes
def mean_nodes(lengthscale: float, marginal: Marginal, x: float) -> list[tuple[Any, Any]]:
    own, low, high = breaks_of(marginal)
    breaks = [*own, *around(x, lengthscale)]
    return weighted(lambda y: precise_pdf(marginal, y), breaks, low, high)


def precise_mean(kernel: Kernel, lengthscale: float, marginal: Marginal, x: float) -> float:
    nodes = mean_nodes(lengthscale, marginal, x)
    with mp.workdps(25):
        return float(sum(w * kappa(kernel, (x - y) / lengthscale) for y, w in nodes))


def points_of(marginal: Marginal) -> list[float]:
    """In the bulk, at a side, and outside."""
    middle = marginal.icdf(np.array([0.02, 0.6]))
    width = float(middle[1] - middle[0])
    ends = [side for side in (marginal.low, marginal.high) if math.isfinite(side)]
    return [
        *middle.tolist(),
        float(middle[0]) - 3 * width,
        float(middle[1]) + 5 * width,
        *ends[:1],
    ]


@pytest.mark.parametrize("name", MARGINALS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_kernel_means(kernel, name):
    marginal, x = MARGINALS[name], points_of(MARGINALS[name])
    for lengthscale in LENGTHSCALES:
        got = kernel_mean(kernel, lengthscale, marginal, np.array(x))
        want = [precise_mean(kernel, lengthscale, marginal, t) for t in x]
        # Closed forms are good to relative precision even outside, quadrature to 1e-12.
        closed = marginal.kind != "other"
        np.testing.assert_allclose(
            got, want, rtol=1e-10 if closed else 0, atol=1e-30 if closed else 1e-12
        )


def test_the_reference_itself():
    for kernel, name, lengthscale in ((RBF(), "gamma", 0.7), (Matern(1.5), "sides", 0.05)):
        marginal, x = MARGINALS[name], 0.9
        own, low, high = breaks_of(marginal)
        with mp.workdps(25):
            want = mp.quad(
                lambda y: kappa(kernel, (x - y) / lengthscale) * precise_pdf(marginal, y),  # noqa: B023
                sorted({low, high, *(b for b in own + around(x, lengthscale) if low < b < high)}),
            )
        assert precise_mean(kernel, lengthscale, marginal, x) == pytest.approx(
            float(want), rel=1e-15
        )


def as_other(marginal: Marginal) -> Marginal:
    """The same marginal, without its name."""
    return Marginal.other(
        Functions("disguised", marginal.pdf, marginal.cdf, marginal.icdf),
        marginal.low,
        marginal.high,
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_quadrature_is_the_closed_form(kernel):
    for name, lengthscale in product(MARGINALS, [0.003, 0.3, 60.0]):
        marginal = MARGINALS[name]
        if marginal.kind != "other":
            x = marginal.loc + marginal.scale * np.linspace(-9, 12, 40)
            x = np.concatenate([x, marginal.icdf(np.linspace(0.01, 0.99, 9))])
            want = kernel_mean(kernel, lengthscale, marginal, x)
            got = kernel_mean(kernel, lengthscale, as_other(marginal), x)
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_extremes_stay_finite_and_right(kernel):
    far = Marginal.normal(0.0, 1.0, 200.0)  # exp(-200^2 / 2) is not a number of float64
    area = {RBF(): math.sqrt(2 * math.pi)}
    full = area.get(kernel) or {0.5: 2.0, 1.5: 4 / 3**0.5, 2.5: 16 / 3 / 5**0.5}[kernel.nu]
    for marginal in (*MARGINALS.values(), far):
        x = marginal.icdf(np.array([0.3, 0.7]))
        for lengthscale in (1e-7, 1e-9):  # l p(x) times the area of the profile
            got = kernel_mean(kernel, lengthscale * marginal.scale, marginal, x)
            want = full * lengthscale * marginal.scale * marginal.pdf(x)
            np.testing.assert_allclose(got, want, rtol=1e-5)
        assert kernel_mean(kernel, 1e9, marginal, x) == pytest.approx(1.0, abs=1e-6)
        away = kernel_mean(kernel, 1e-3, marginal, np.array([-1e4, 1e4]))
        assert (np.isfinite(away) & (away >= 0) & (away < 1e-5)).all()
    narrow = Marginal.normal(0.0, 1.0, 200.0, 200.0 + 1e-9)
    np.testing.assert_allclose(
        kernel_mean(kernel, 1.0, narrow, np.array([200.5])),
        float64(kernel.profile)(np.array([0.5])),
        rtol=1e-8,
    )


def difference_pdf(first: Marginal, second: Marginal, t: Any) -> Any:
    """Density of x - y for independent x, y of the two marginals."""
    if first.kind == "other":  # both gamma(2)
        return (1 + abs(t)) * mp.exp(-abs(t)) / 4
    low, high = max(second.low, first.low - t), min(second.high, first.high - t)
    if not low < high:
        return mp.mpf(0)
    if first.kind == second.kind == "uniform":
        return (high - low) * precise_pdf(first, 0) * precise_pdf(second, 0)
    if first.kind == "uniform":
        inside = mass((low - second.loc) / second.scale, (high - second.loc) / second.scale)
        return inside / total_mass(second) * precise_pdf(first, 0)
    a, b = mp.mpf(first.scale) ** 2, mp.mpf(second.scale) ** 2
    center = (a * second.loc + b * (first.loc - t)) / (a + b)
    width = mp.sqrt(a * b / (a + b))
    inside = mass((low - center) / width, (high - center) / width)
    spread = mp.sqrt(a + b)
    whole = mp.npdf((t - first.loc + second.loc) / spread) / spread
    return whole * inside / (total_mass(first) * total_mass(second))


@cache
def double_nodes(lengthscale: float, first: Marginal, second: Marginal) -> list[tuple[Any, Any]]:
    (low, high), (below, above) = breaks_of(first)[1:], breaks_of(second)[1:]
    breaks = [a - b for a, b in product([low, high], [below, above])]
    center, spread = first.loc - second.loc, math.hypot(first.scale, second.scale)
    if first is MARGINALS["tail"]:
        center, spread = 0.0, 0.15
    breaks += [center + spread * s for s in (-6, -4.5, -3, -1.5, 0, 1.5, 3, 4.5, 6)]
    breaks += around(0.0, lengthscale)
    return weighted(lambda t: difference_pdf(first, second, t), breaks, low - above, high - below)


def precise_double(kernel: Kernel, lengthscale: float, first: Marginal, second: Marginal) -> float:
    nodes = double_nodes(lengthscale, first, second)
    with mp.workdps(25):
        return float(sum(w * kappa(kernel, t / lengthscale) for t, w in nodes))


PAIRS = [(name, name) for name in MARGINALS if name != "beta"]
PAIRS += [
    ("standard", "shifted"),
    ("sides", "left"),
    ("uniform", "standard"),
    ("uniform", "sides"),
]


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_double_integrals(kernel, pair):
    first, second = (MARGINALS[name] for name in pair)
    for lengthscale in LENGTHSCALES:
        want = precise_double(kernel, lengthscale, first, second)
        got = double_integral(kernel, lengthscale, first, second)
        assert got == pytest.approx(want, rel=0, abs=1e-12)
        assert double_integral(kernel, lengthscale, second, first) == pytest.approx(got, abs=1e-12)


def test_double_integral_of_a_marginal_known_by_its_functions():
    """Both marginals by quadrature inside quadrature."""
    for kernel, lengthscale in ((RBF(), 0.3), (Matern(0.5), 0.3)):
        first, second = MARGINALS["sides"], MARGINALS["left"]
        got = double_integral(kernel, lengthscale, as_other(first), as_other(second))
        want = double_integral(kernel, lengthscale, first, second)
        assert got == pytest.approx(want, rel=0, abs=1e-12)


@pytest.mark.parametrize("lengthscale", LENGTHSCALES)
def test_the_papers_sign_would_be_seen(lengthscale):
    marginal = MARGINALS["sides"]
    x, s2, l2 = np.array([0.1, 1.7, -1.0]), marginal.scale**2, lengthscale**2
    center, width = (s2 * x + l2 * marginal.loc) / (s2 + l2), math.sqrt(s2 * l2 / (s2 + l2))
    phi = scipy.special.ndtr
    share = phi((marginal.high - center) / width) - phi((marginal.low - center) / width)
    share /= phi(marginal.sides[1]) - phi(marginal.sides[0])
    exponent = (x - marginal.loc) ** 2 / (2 * (s2 + l2))
    got = kernel_mean(RBF(), lengthscale, marginal, x)
    right, printed = (
        share * math.sqrt(l2 / (s2 + l2)) * np.exp(sign * exponent) for sign in (-1, 1)
    )
    np.testing.assert_allclose(got, right, rtol=1e-10, atol=1e-12)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(got, printed, rtol=1e-10, atol=1e-12)


MIXTURE = nd.MixtureSameFamily(
    nd.Categorical(np.array([0.2, 0.5, 0.3])),
    nd.Normal(np.array([0.0, 2.5, 3.5]), np.array([0.7, 0.6, 0.3])),
)


def measure_of(d: int, kind: str) -> Any:
    if kind == "mixture":
        means = np.array([0.0, 1.0, 2.0])[:, None] - np.arange(d) / 4
        return nd.MixtureSameFamily(
            nd.Categorical(np.array([0.2, 0.5, 0.3])), nd.Normal(means, 0.7).to_event(1)
        )
    if kind == "correlated":
        root = np.tril(0.3 + 0.4 * np.eye(d))
        return st.multivariate_normal(np.arange(d) / 2, root @ root.T)
    blocks = [st.norm(0.3, 0.8), Truncated(MIXTURE, 0.5, 3.3), st.uniform(), st.gamma(2.0)]
    return Product({f"b{i}": (blocks + blocks)[i] for i in range(1, d + 1)})


def draw(factors: Factors, n: int) -> np.ndarray:
    """Draws of z; numpyro's samplers would take long to compile."""
    rng = np.random.default_rng(3)
    counts = rng.multinomial(n, factors.weights)
    parts = [
        np.stack([c.icdf(rng.random(k)) for c in part], axis=1)
        for k, part in zip(counts, factors.components, strict=True)
    ]
    return rng.permutation(np.concatenate(parts))


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("kind", ["product", "mixture", "correlated"])
@pytest.mark.parametrize("kernel", [RBF(), Matern(2.5)], ids=str)
def test_embed(kernel, kind, d):
    measure = as_measure(measure_of(d, kind))
    factors = measure.factors()
    assert factors is not None
    scales = 0.8 + np.arange(d) / 3
    draws = draw(factors, 4_000)
    if kind == "correlated":
        draws = factors.affine.points(measure.sample(4_000, seed=3))
    z = draws[:6]
    mean, double = embed(kernel, scales, factors, z)
    assert mean.shape == (6,) and mean.dtype == np.float64 and isinstance(double, float)

    @float64
    def samples(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.asarray(kernel.gram(x, y, scales))

    values = samples(z, draws[6:])
    error = values.std(axis=1) / math.sqrt(values.shape[1])
    assert (np.abs(values.mean(axis=1) - mean) < 4.5 * error).all()  # false alarm 4e-5
    pairs = embed(kernel, scales, factors, draws)[0]
    assert abs(pairs.mean() - double) < 4.5 * pairs.std() / math.sqrt(len(pairs))
    by_hand = sum(
        w
        * np.prod(
            [
                kernel_mean(kernel, s, c, z[:, i])
                for i, (s, c) in enumerate(zip(scales, part, strict=True))
            ],
            axis=0,
        )
        for w, part in zip(factors.weights, factors.components, strict=True)
    )
    np.testing.assert_allclose(mean, by_hand, rtol=1e-13)


def test_embed_of_a_mixture_in_25_digits():
    factors = as_measure(MIXTURE).factors()
    assert factors is not None
    z = np.array([[-0.5], [1.2], [3.6]])
    for kernel in (RBF(), Matern(0.5)):
        got, double = embed(kernel, 0.7, factors, z)
        parts = list(zip(factors.weights, (part[0] for part in factors.components), strict=True))
        want = [sum(w * precise_mean(kernel, 0.7, c, t) for w, c in parts) for t in z[:, 0]]
        np.testing.assert_allclose(got, want, rtol=1e-12)
        pairs = sum(
            (2 if i > j else 1) * v * w * precise_double(kernel, 0.7, a, b)
            for (i, (v, a)), (j, (w, b)) in product(enumerate(parts), enumerate(parts))
            if i >= j
        )
        assert double == pytest.approx(float(pairs), rel=0, abs=1e-12)


def test_a_kernel_of_ones_own_and_its_closed_form():
    @dataclass(frozen=True)
    class Tent(Kernel):
        """Kinks at 0 and where it ends."""

        name = "tent"
        smooth = False

        def profile(self, t):
            import jax.numpy as jnp

            return jnp.maximum(1 - jnp.abs(t), 0.0)

    marginal, x = MARGINALS["uniform"], np.array([-3.0, -1.2, 0.4, 2.4])
    steps = np.array([-1.0, 0.0, 1.0])

    def second_antiderivative(t):
        return np.maximum(t, 0.0) ** 2 / 2

    def closed(kernel, lengthscale, marginal, x):
        def area(t):  # of the tent up to t
            return second_antiderivative(t[:, None] - steps) @ np.array([1.0, -2.0, 1.0])

        ends = area((marginal.high - x) / lengthscale) - area((marginal.low - x) / lengthscale)
        return ends * lengthscale / (marginal.high - marginal.low)

    plain = kernel_mean(Tent(), 0.7, marginal, x)
    np.testing.assert_allclose(plain, closed(Tent(), 0.7, marginal, x), rtol=0, atol=1e-12)
    try:
        assert register_kernel_mean(Tent, "uniform")(closed) is closed
        assert np.array_equal(
            kernel_mean(Tent(), 0.7, marginal, x), closed(Tent(), 0.7, marginal, x)
        )
    finally:
        CLOSED_FORMS.pop((Tent, "uniform"), None)

    class Half(RBF):
        def profile(self, t):
            return super().profile(t) ** 2

    want = kernel_mean(RBF(), 0.7 / math.sqrt(2), marginal, x)
    np.testing.assert_allclose(kernel_mean(Half(), 0.7, marginal, x), want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dist", [st.cauchy(), st.gamma(0.5), st.beta(0.4, 0.9), st.triang(0.3)])
def test_heavy_tails_poles_and_kinks(dist):
    marginal = marginal_of(dist)
    # E kappa(x - y) by the characteristic function would need one; a kernel of width 1e9 is 1.
    assert kernel_mean(RBF(), 1e9, marginal, np.array([0.2])) == pytest.approx(1.0, abs=1e-5)
    values, again = (
        kernel_mean(kernel, 0.5, marginal, np.array([-0.4, 0.3, 0.9]))
        for kernel in (RBF(), Matern(0.5))
    )
    p = (np.arange(200_000) + 0.5) / 200_000
    t = (np.array([-0.4, 0.3, 0.9])[:, None] - marginal.icdf(p)) / 0.5
    np.testing.assert_allclose(values, np.exp(-(t**2) / 2).mean(axis=1), atol=2e-6)
    np.testing.assert_allclose(again, np.exp(-np.abs(t)).mean(axis=1), atol=2e-6)


def test_refusals():
    def doubled(x):
        return 2 * st.norm.pdf(x)

    wrong = Marginal.other(Functions("doubled", doubled, st.norm.cdf, st.norm.ppf), -INF, INF)
    words = r"doubled .*integrates to 2 .*sq\.ControlFunctional, sq\.BSN or sq\.Polynomial\.$"
    with pytest.raises(InputError, match=words):
        kernel_mean(RBF(), 1.0, wrong, np.zeros(1))
    with pytest.raises(InputError, match="distribution beta .*integrates to 0.99998"):
        # Mass 1e-5 lies between 1 and the float64 before it.
        kernel_mean(RBF(), 1.0, marginal_of(st.beta(0.4, 0.3)), np.zeros(1))
    for lengthscale in (0.0, -1.0, INF, math.nan, "a", None):
        with pytest.raises(InputError, match="lengthscale is"):
            kernel_mean(RBF(), lengthscale, MARGINALS["standard"], np.zeros(1))
    factors = as_measure(measure_of(5, "mixture")).factors()
    assert isinstance(factors, Factors)
    with pytest.raises(InputError, match="has 2 entries but the distribution has dim 5"):
        embed(RBF(), [1.0, 2.0], factors, np.zeros((3, 5)))
    with pytest.raises(InputError, match="z has shape"):
        embed(RBF(), 1.0, factors, np.zeros((3, 4)))


def test_ten_thousand_points_are_quick():
    x = np.random.default_rng(5).normal(size=10_000)
    for kernel, name, seconds in ((Matern(2.5), "sides", 1.0), (Matern(2.5), "gamma", 15.0)):
        start = process_time()
        assert kernel_mean(kernel, 0.3, MARGINALS[name], x).shape == (10_000,)
        assert process_time() - start < seconds
