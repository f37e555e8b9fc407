"""The squared exponential: its matrix by one product, near and far from the origin."""

import jax
import numpy as np
import pytest

from steinquad.kernels import RBF
from steinquad.kernels.base import Kernel


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_the_product_of_matrices_is_the_product_of_profiles(d, shift):
    rng = np.random.default_rng(d)
    x, y, scales = rng.normal(size=(7, d)), rng.normal(size=(4, d)), rng.uniform(0.5, 2.0, d)
    with jax.enable_x64(True):
        fast = np.asarray(RBF().gram(x + shift, y + shift, scales))
        slow = np.asarray(Kernel.gram(RBF(), x + shift, y + shift, scales))
    np.testing.assert_allclose(fast, slow, rtol=1e-13 if shift == 0 else 1e-9)


def test_equal_points_have_one_whatever_rounding_leaves_of_their_distance():
    x = np.random.default_rng(0).normal(size=(50, 5)) * 1e3
    with jax.enable_x64(True):
        gram = np.asarray(RBF().gram(x, x, np.full(5, 1e-2)))
    assert gram.max() <= 1.0
    np.testing.assert_allclose(np.diag(gram), 1.0, rtol=1e-4)
