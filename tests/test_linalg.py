"""Cholesky with as little jitter as it takes, and means of positive numbers."""

import numpy as np
import pytest
from helpers import assert_close

from steinquad._linalg import cholesky, geometric_mean


def test_a_good_matrix_needs_no_jitter():
    matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    factor, jitter = cholesky(matrix)
    assert jitter == 0.0
    assert_close(factor @ factor.T, matrix, rtol=1e-15)


def test_jitter_is_reported():
    """A matrix with an eigenvalue a hair below zero; the factor is that of the shifted one."""
    rng = np.random.default_rng(1)
    q, _ = np.linalg.qr(rng.normal(size=(20, 20)))
    matrix = (q * np.append(np.ones(19), -1e-12)) @ q.T
    factor, jitter = cholesky(matrix)
    assert 1e-12 < jitter < 2e-11
    shifted = matrix + jitter * np.mean(np.diag(matrix)) * np.eye(20)
    assert_close(factor @ factor.T, shifted, rtol=1e-13)


def test_a_matrix_that_is_not_nearly_positive_is_refused():
    with pytest.raises(np.linalg.LinAlgError):
        cholesky(np.diag([1.0, -1.0, 2.0]))


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_geometric_mean_scales_and_survives_zeros(k):
    values = np.random.default_rng(k).uniform(0.1, 9.0, k)
    assert geometric_mean(values) == pytest.approx(np.prod(values) ** (1 / k), rel=1e-14)
    assert geometric_mean(7 * values) == pytest.approx(7 * geometric_mean(values), rel=1e-14)
    assert 0 < geometric_mean(np.append(values, 0.0)) < 1e-40
