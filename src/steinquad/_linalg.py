"""Small numerical steps that several methods share."""

import numpy as np
import scipy.linalg

from steinquad._types import Array

__all__ = ["cholesky", "geometric_mean"]


def cholesky(matrix: Array) -> tuple[Array, float]:
    """Lower factor of a symmetric matrix, and the jitter that it took.

    The jitter is relative to the mean of the diagonal; above 1e-6 the matrix is taken for
    indefinite and NumPy's `LinAlgError` is raised.
    """
    scale = float(np.mean(np.diag(matrix)))
    jitter = 0.0
    while True:
        try:
            shifted = matrix + jitter * scale * np.eye(len(matrix)) if jitter else matrix
            return scipy.linalg.cholesky(shifted, lower=True), jitter
        except np.linalg.LinAlgError:
            jitter = max(1e-15, 10 * jitter)
            if jitter > 1e-6:
                raise


def geometric_mean(values: Array) -> float:
    """Of positive numbers, such as errors of several outputs, which need no common unit then.

    The floor keeps the logarithm finite for a model that is exact.
    """
    return float(np.exp(np.mean(np.log(np.maximum(values, 1e-300)))))
