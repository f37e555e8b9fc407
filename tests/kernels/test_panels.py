"""Panels that are halved until a rule resolves what stands on them."""

import jax
import numpy as np
import pytest
import scipy.stats as st

from steinquad.errors import InputError
from steinquad.kernels import RBF, Matern
from steinquad.kernels._panels import (
    adapted,
    marginal_panels,
    numpy_profile,
    profile_panels,
    total,
)
from steinquad.measures.convert import as_measure
from steinquad.measures.marginal import Marginal


def test_a_hidden_peak_is_found_and_integrated():
    def peak(x):
        return 1 / (1 + (1e4 * (x - 0.3)) ** 2)

    panels = adapted(peak, np.linspace(0.0, 1.0, 5))
    assert panels is not None and np.all(np.diff(panels) > 0) and np.diff(panels).min() < 1e-3
    want = (np.arctan(1e4 * 0.7) + np.arctan(1e4 * 0.3)) / 1e4
    np.testing.assert_allclose(total(peak, panels), want, rtol=1e-12)


@pytest.mark.parametrize("kernel", [RBF(), Matern(0.5), Matern(1.5), Matern(2.5)])
def test_the_two_roads_to_a_profile_agree(kernel):
    """NumPy's closed form and JAX's function, far out too."""
    t = np.concatenate([np.linspace(-9.0, 9.0, 301), [1e3, -1e100]])
    with jax.enable_x64(True):
        want = np.asarray(kernel.profile(t))
    np.testing.assert_allclose(numpy_profile(kernel)(t), want, rtol=1e-13)


def test_what_never_settles_has_no_panels():
    noise = np.random.default_rng(0)
    assert adapted(lambda x: noise.normal(size=x.shape), np.array([0.0, 1.0])) is None


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_panels_move_and_stretch_with_their_marginal(scale):
    unit = marginal_panels(Marginal.normal(0.0, 1.0))
    panels = marginal_panels(Marginal.normal(3.0 * scale, scale))
    assert panels[0] < 3 * scale - 6 * scale and panels[-1] > 3 * scale + 6 * scale
    assert abs(len(panels) - len(unit)) <= 2
    with pytest.raises(ValueError, match="read-only"):
        panels[0] = 0.0


def test_a_density_that_is_not_normalized_is_refused():
    factors = as_measure(st.gamma(2.0)).factors()
    assert factors is not None
    right = factors.components[0][0]
    assert right.functions is not None
    wrong = right.functions._replace(pdf=lambda x: 2 * right.pdf(x))
    with pytest.raises(InputError, match="its density integrates to 2 instead of 1"):
        marginal_panels(Marginal.other(wrong, 0.0, np.inf))


def test_only_a_kink_gets_an_edge_at_zero():
    assert 0.0 in profile_panels(Matern(0.5), 8.0) and 0.0 not in profile_panels(RBF(), 8.0)
