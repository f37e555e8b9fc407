"""Stationary product kernels and their integrals against a measure."""

from steinquad.kernels.base import Kernel
from steinquad.kernels.embeddings import (
    double_integral,
    embed,
    kernel_mean,
    register_kernel_mean,
)
from steinquad.kernels.matern import Matern
from steinquad.kernels.rbf import RBF

__all__ = [
    "RBF",
    "Kernel",
    "Matern",
    "double_integral",
    "embed",
    "kernel_mean",
    "register_kernel_mean",
]
