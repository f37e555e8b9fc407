"""What the fit would have said of each point without that point, to first order.

A network with many weights for its data bends towards them, and theta0 bends with it: at d = 20,
n = 10240 that bias is three times the noise. Leaving a point out of the linearized fit is a
formula,

    f_i - g^(-i)(x_i) = (I - H_i)^-1 r_i,   H_i = J_i A^-1 J_i^T,   A = G + N lambda I,

and `theta0^(-i) + f_i - g^(-i)(x_i)`, averaged over i, is the leave-one-out form of the
cross-fitted estimate: no point judges a fit that has seen it.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import scipy.linalg

from steinquad._linalg import cholesky
from steinquad._types import Array
from steinquad.networks.stein_network import SteinNetwork
from steinquad.posterior.ggn import block_jacobian, scaled_residuals
from steinquad.posterior.laplace import Posterior, prior_precision
from steinquad.training.objective import TrainingSet, flatten, theta0_entries

__all__ = ["LeaveOneOut", "leave_one_out"]

# Least 1 - leverage, the reciprocal of how much a residual may be amplified. Where a point decides
# its own fit, the formula extrapolates: the correction is trusted with the loose cap only if such
# points do not carry it, that is if the tight cap would not halve the mean square.
LOOSE, TIGHT = 0.02, 0.1


@dataclass(frozen=True)
class LeaveOneOut:
    """Leave-one-out residuals `f_i - g^(-i)(x_i)` and what follows from them.

    Attributes:
        residuals: with the loose cap, (n, k), zero for points of weight zero.
        correction: what to add to theta0, (k,).
        trusted: whether the correction comes from the loose cap.
    """

    residuals: Array
    correction: Array
    trusted: bool


def leave_one_out(
    network: SteinNetwork, data: TrainingSet, posterior: Posterior, *, flat: bool
) -> LeaveOneOut | None:
    """Leave-one-out residuals at the trained weights, None where G was not formed."""
    if posterior.ggn is None:
        return None
    vector, theta0 = flatten(network), theta0_entries(network)
    noise = jnp.asarray(posterior.noise)
    matrix = posterior.ggn.copy()
    ratio = posterior.precisions.alpha / posterior.precisions.beta
    matrix[np.diag_indices_from(matrix)] += prior_precision(theta0, ratio, flat)
    factor, _ = cholesky(matrix)
    k = int(theta0.sum())
    unit = scipy.linalg.solve_triangular(factor, np.eye(len(theta0))[:, theta0], lower=True)
    loose, tight, moved, weights = [], [], [], []
    for block in data.panels():
        rows = np.asarray(block_jacobian(vector, network, block, data.frame, noise))
        r = -np.asarray(scaled_residuals(vector, network, block, data.frame, noise))
        half = scipy.linalg.solve_triangular(factor, rows.reshape(-1, len(theta0)).T, lower=True)
        shift = np.transpose((unit.T @ half).reshape(k, -1, k), (1, 0, 2))  # (points, k, k)
        half = half.reshape(len(theta0), -1, k)
        leverage = np.einsum("pia,pib->iab", half, half)
        values, vectors = np.linalg.eigh(np.eye(k) - leverage)
        projected = np.einsum("iab,ia->ib", vectors, r)
        for out, floor in ((loose, LOOSE), (tight, TIGHT)):
            out.append(np.einsum("iab,ib->ia", vectors, projected / np.maximum(values, floor)))
        moved.append(np.einsum("iab,ib->ia", shift, loose[-1]))
        weights.append(np.asarray(block.weights))
    # All three without the padding of the last block.
    free, calm, moves = (np.concatenate(part)[: data.n] for part in (loose, tight, moved))
    w = np.concatenate(weights)[: data.n, None]
    trusted = bool(np.mean(free**2) < 2 * np.mean(calm**2))
    moved_theta0 = np.sum(w * moves, axis=0) / np.sum(w)
    root = np.sqrt(w)
    average = np.sum(root * (free if trusted else calm) * posterior.noise, axis=0) / np.sum(w)
    residuals = np.divide(free * posterior.noise, root, out=np.zeros_like(free), where=w > 0)
    return LeaveOneOut(residuals, average - moved_theta0, trusted)
