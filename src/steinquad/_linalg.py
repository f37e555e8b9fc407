"""Linear algebra that several methods share."""

import numpy as np
import scipy.linalg

from steinquad._types import Array

__all__ = ["cholesky"]


def cholesky(matrix: Array) -> tuple[Array, float]:
    """Lower factor and the relative jitter that it took."""
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
