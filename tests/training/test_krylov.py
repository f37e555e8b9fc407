"""Two-sided bounds on b^T A^-1 b for ill-conditioned A, and what goes wrong without them."""

from functools import lru_cache

import numpy as np
import pytest

from steinquad.training.krylov import Nystroem, ShiftedGram, lanczos_spectrum, quadratic_form

SIZE, RANK = 200, 40

# Eigenvalues of G; alpha = 1 and beta = 1 make the condition number 1 + the largest.
SPECTRA = {
    "1e8, geometric": np.geomspace(1e8, 1e-6, SIZE),
    "1e10, geometric": np.geomspace(1e10, 1e-6, SIZE),
    "1e12, geometric": np.geomspace(1e12, 1e-6, SIZE),
    "1e10, power": 1e10 * np.arange(1.0, SIZE + 1) ** -4,
    "1e12, power": 1e12 * np.arange(1.0, SIZE + 1) ** -5,
    "1e10, half of it zero": np.geomspace(1e10, 1.0, SIZE) * (np.arange(SIZE) < SIZE // 2),
}


@lru_cache
def basis() -> np.ndarray:
    q, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(SIZE, SIZE)))
    return q


def problem(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvectors, eigenvalues and a b in the range of G, as that of theta0 is."""
    q, values = basis(), SPECTRA[name]
    b = q @ (np.sqrt(values) * np.random.default_rng(2).normal(size=SIZE))
    return q, values, b


def exact(q, values, b, alpha, beta) -> float:
    return float(np.sum((q.T @ b) ** 2 / (beta * values + alpha)))


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("rtol", [0.01, 1e-4])
def test_bounds_hold_the_exact_value(name, rtol):
    q, values, b = problem(name)

    def product(v):
        return q @ (values * (q.T @ v))

    nystroem = Nystroem.build(product, SIZE, RANK, seed=3)
    want = exact(q, values, b, 1.0, 1.0)
    found = quadratic_form(ShiftedGram(product, nystroem, 1.0, 1.0), b, rtol=rtol)
    assert found.gap < rtol
    assert found.lower <= want <= found.upper


@pytest.mark.parametrize(("alpha", "beta"), [(1e-6, 1.0), (1e3, 1e6), (1.0, 1e-4)])
def test_bounds_hold_whatever_the_precisions(alpha, beta):
    values = np.geomspace(1e4, 1e-8, SIZE)
    q, b = basis(), np.random.default_rng(4).normal(size=SIZE)

    def product(v):
        return q @ (values * (q.T @ v))

    nystroem = Nystroem.build(product, SIZE, RANK, seed=3)
    found = quadratic_form(ShiftedGram(product, nystroem, alpha, beta), b)
    want = exact(q, values, b, alpha, beta)
    assert found.gap < 0.01
    assert found.lower <= want <= found.upper


def test_early_bounds_hold_too_and_say_how_wide_they_are():
    q, values, b = problem("1e10, power")

    def product(v):
        return q @ (values * (q.T @ v))

    matrix = ShiftedGram(product, Nystroem.build(product, SIZE, 10, seed=3), 1.0, 1.0)
    want = exact(q, values, b, 1.0, 1.0)
    gaps = []
    for steps in (1, 2, 5, 10, 20):
        found = quadratic_form(matrix, b, rtol=1e-9, max_steps=steps)
        assert found.steps == steps
        assert found.lower <= want <= found.upper
        gaps.append(found.gap)
    assert gaps == sorted(gaps, reverse=True) and gaps[0] > 0.5


@pytest.mark.parametrize("name", ["1e8, geometric", "1e10, geometric", "1e12, geometric"])
def test_plain_conjugate_gradients_answer_too_small(name):
    """Negative control: as many products, no preconditioner, and a value over 5 % too small."""
    q, values, b = problem(name)

    def product(v):
        return q @ (values * (q.T @ v))

    nystroem = Nystroem.build(product, SIZE, RANK, seed=3)
    ours = quadratic_form(ShiftedGram(product, nystroem, 1.0, 1.0), b)
    x, r = np.zeros(SIZE), b.copy()
    direction = r.copy()
    for _ in range(ours.steps + RANK):
        image = product(direction) + direction
        step = r @ r / (direction @ image)
        x, fresh = x + step * direction, r - step * image
        direction = fresh + (fresh @ fresh) / (r @ r) * direction
        r = fresh
    want = exact(q, values, b, 1.0, 1.0)
    assert b @ x < 0.95 * want
    assert ours.upper == pytest.approx(want, rel=0.011)


def test_the_nystroem_approximation_stays_below_the_matrix():
    values = np.geomspace(1e6, 1e-6, SIZE)
    q = basis()
    g = (q * values) @ q.T
    nystroem = Nystroem.build(lambda v: g @ v, SIZE, RANK, seed=3)
    np.testing.assert_allclose(nystroem.basis.T @ nystroem.basis, np.eye(RANK), atol=1e-12)
    difference = g - (nystroem.basis * nystroem.values) @ nystroem.basis.T
    lowest, highest = np.linalg.eigvalsh(difference)[[0, -1]]
    assert lowest > -1e-16 * SIZE * values.max()
    assert highest < 20 * values[RANK]  # and it is a good approximation
    v = np.random.default_rng(5).normal(size=SIZE)
    m = 3.0 * (nystroem.basis * nystroem.values) @ nystroem.basis.T + 2.0 * np.eye(SIZE)
    root = ShiftedGram(lambda v: g @ v, nystroem, alpha=2.0, beta=3.0).inverse_root(v)
    assert root @ root == pytest.approx(v @ np.linalg.solve(m, v), rel=1e-8)


def test_small_spaces_are_exhausted_and_exact():
    g = np.diag([4.0, 4.0, 1.0, 0.0])
    b = np.array([1.0, 2.0, 3.0, 0.0])
    nystroem = Nystroem.build(lambda v: g @ v, 4, 2, seed=0)
    matrix = ShiftedGram(lambda v: g @ v, nystroem, 1.0, 1.0)
    found = quadratic_form(matrix, b, rtol=0.0)
    assert found.upper == pytest.approx(1.0 + 9 / 2, rel=1e-9)
    assert found.lower == pytest.approx(1.0 + 9 / 2, rel=1e-9)
    zero = quadratic_form(matrix, 0 * b)
    assert (zero.lower, zero.upper, zero.gap) == (0.0, 0.0, 0.0)


def log_determinant_error(values: np.ndarray, steps: int) -> float:
    q = basis()
    spectrum = lanczos_spectrum(lambda v: q @ (values * (q.T @ v)), SIZE, seed=6, steps=steps)
    assert spectrum.counts.sum() == pytest.approx(SIZE, rel=1e-9)
    want = np.sum(np.log(values + 1.0))
    return float(spectrum.counts @ np.log(spectrum.values + 1.0)) / want - 1


@pytest.mark.parametrize("name", ["1e10, power", "1e12, power"])
def test_log_determinant_by_lanczos(name):
    """Within a few percent: 8 probes of 60 steps."""
    assert abs(log_determinant_error(SPECTRA[name], 60)) < 0.04


def test_log_determinant_of_a_geometric_spectrum_needs_more_steps():
    """Gauss quadrature of a logarithm converges from above, slowly over many decades."""
    errors = [log_determinant_error(np.geomspace(1e8, 1e-2, SIZE), s) for s in (30, 60, 120, 200)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 0.1 and abs(errors[-1]) < 0.04
