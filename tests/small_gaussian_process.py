"""A Gaussian process of two coordinates that is small enough for dense linear algebra."""

import numpy as np

from steinquad.kernels import Matern
from steinquad.kernels.stein_kernel import RadialMatern52
from steinquad.methods.bayesian_quadrature import KernelGram
from steinquad.methods.control_functional import SteinGram
from steinquad.posterior.gaussian_process import GaussianProcessData, Hyperparameters

LOGS, NUGGET = np.log([0.8, 1.3]), 1e-4


def data(n=50, outputs=1, degree=0, stein=False, **options):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 2))
    y = np.stack([np.cos(x[:, 0] + j) + x[:, 1] for j in range(outputs)], axis=1)
    y = y + 0.05 * rng.standard_normal(y.shape)
    monomials = [np.ones(n), x[:, 0], x[:, 1], x[:, 0] ** 2, x[:, 0] * x[:, 1], x[:, 1] ** 2]
    basis = np.stack(monomials[: [0, 1, 3, 6][degree + 1]] or [x[:, 0]], axis=1)
    if degree < 0:
        basis = basis[:, :0]
    points = (x, np.ones_like(x), -x) if stein else x
    gram = SteinGram(RadialMatern52()) if stein else KernelGram(Matern(2.5))
    return GaussianProcessData(gram=gram, points=points, y=y, basis=basis, dim=2, **options)


def hyper(outputs=1, amplitude=1.0):
    return Hyperparameters(LOGS, NUGGET, np.full(outputs, amplitude))
