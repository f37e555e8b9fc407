"""One answer, one standard deviation and one model from the networks of all folds.

Each of K networks has an integral theta0_k and, at the points of its own fold, which it has not
seen, residuals e_i = f_i - g_k(x_i). Where that is not too expensive, one more network is trained
on all of the data for as many steps as was best in the folds.

    plain       theta0 of that network, or the average of theta0_k: little noise, but biased where
                weights are many for the data
    held out    average of theta0_k + e_i over all points: unbiased for independent draws, with a
                standard error s from the residuals alone
    answer      plain + share c,   c = held out - average of theta0_k: corrected as far as the
                correction is more than its own noise, not at all below |c| = 2 s, wholly above
                3 s, and linearly in c^2 between; always wholly where the networks are known to be
                biased, many weights for their data and trained without evidence
    variance    s^2 + b^2 / 2,   b^2 = sum of (theta0_k - plain)^2 over K - 1

s sees what the networks miss where there are points; b, an ensemble's estimate of the posterior
variance, sees what they make up where there are none: on smooth integrands the residuals are
large only in tails that hardly any point has reached, and s alone is up to twenty times too small.
The degrees of freedom are Welch's for that sum. Without folds, or for points that are no
sample of the measure, the Laplace posterior takes the place of s.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from steinquad._float64 import float64
from steinquad._types import Array
from steinquad.checking.held_out import HeldOut
from steinquad.dataset import Dataset
from steinquad.errors import InputError
from steinquad.fitting.outputs import correlated
from steinquad.fitting.standard_frame import StandardFrame
from steinquad.networks.stein_network import SteinNetwork
from steinquad.points import Points
from steinquad.posterior.laplace import LaplacePosterior
from steinquad.training.model import model
from steinquad.training.objective import TrainingSet, flatten, predict
from steinquad.training.optimizer import TrainingResult

__all__ = ["EnsembleAnswer", "Member", "NetworkModel", "combine", "held_out"]

BETWEEN = 0.5  # of the variance between networks that counts
NOISE, SIGNAL = 4.0, 9.0  # squared standard errors of a correction that is not, that is, made


@dataclass(frozen=True, eq=False)
class Member:
    """One trained network.

    Attributes:
        network: at its best step.
        training: how it got there.
        find_posterior: computes `posterior`.
        held: rows that it has not seen, none without folds.
        values: `theta0 + y - g` there, standardized, (held, k).
    """

    network: SteinNetwork
    training: TrainingResult
    find_posterior: Callable[[], LaplacePosterior]
    held: np.ndarray
    values: Array

    @cached_property
    def posterior(self) -> LaplacePosterior:
        """Laplace approximation around the network; computed when it is first asked for.

        With folds the variance of the answer comes from held-out residuals, and most members are
        never asked.
        """
        return self.find_posterior()


@dataclass(frozen=True, eq=False)
class EnsembleAnswer:
    """Integrals in standard units, (k,), and what they were made of.

    Attributes:
        mean: the answer, corrected by held-out points as far as that pays.
        covariance: of the answer, (k, k).
        dof: degrees of freedom of the covariance, the least over outputs.
        plain: the answer before correction.
        between: std of the networks' integrals around the plain answer; None for one network.
        held_out: residuals of the folds; None without folds, or for points that are no sample.
        corrected: share of the correction that was made, (k,).
    """

    mean: Array
    covariance: Array
    dof: float
    plain: Array
    between: Array | None  # std of the integrals of several networks around the plain answer
    held_out: HeldOut | None
    corrected: Array  # share of the correction that was made, (k,)


def combine(
    members: Sequence[Member],
    frame: StandardFrame,
    data: Dataset,
    full: Member | None = None,
    *,
    biased: bool = False,
) -> EnsembleAnswer:
    """The answer of these networks; see the module for the formulas.

    Args:
        members: the networks of the folds, or one of all data.
        frame: the data in standard units.
        data: says whether the points are a sample, and which depend on each other.
        full: a network of all data besides those of the folds.
        biased: whether the networks are known to be biased, so that the correction is made
            wholly.
    """
    theta0s = np.stack([np.asarray(member.network.theta0) for member in members])
    average = theta0s.mean(axis=0)
    plain = average if full is None else np.asarray(full.network.theta0)
    between = None
    if len(members) > 1:
        between = np.sqrt(np.sum((theta0s - plain) ** 2, axis=0) / (len(members) - 1))
    held = held_out(members, frame, data)
    if held is None or not data.sampled:
        trusted = members if full is None else [full]
        covariance = np.mean([member.posterior.theta0_covariance for member in trusted], axis=0)
        dof = max(data.effective_weights.sum() - 1, 1.0)
        if between is not None:
            covariance = covariance + np.atleast_2d(np.cov(theta0s, rowvar=False))
        shares = np.zeros_like(plain)
        return EnsembleAnswer(plain, covariance, dof, plain, between, None, shares)
    correction = held.mean - average
    error, freedom = held.standard_error
    square, noise = correction**2, error**2
    # A correction without noise is certain, and made wholly unless it is zero.
    clear = np.divide(square, noise, out=np.where(square > 0, SIGNAL, 0.0), where=noise > 0)
    shares = np.clip((clear - NOISE) / (SIGNAL - NOISE), 1.0 if biased else 0.0, 1.0)
    spread = np.zeros_like(plain) if between is None else BETWEEN * between**2
    variance = noise + spread
    dof = freedom
    if between is not None:
        # Welch and Satterthwaite; the output with the fewest degrees of freedom speaks for all.
        parts = noise**2 / freedom + spread**2 / (len(members) - 1)
        unlimited = np.full_like(parts, np.inf)
        dof = float(np.divide(variance**2, parts, out=unlimited, where=parts > 0).min())
    covariance = correlated(variance, held.values - held.mean)
    return EnsembleAnswer(
        plain + shares * correction, covariance, dof, plain, between, held, shares
    )


def held_out(members: Sequence[Member], frame: StandardFrame, data: Dataset) -> HeldOut | None:
    """What the points of every fold say of its network, standardized; None without folds.

    Args:
        members: networks, each with its values at the rows it has not seen.
        frame: the data in standard units, with the weights of the points.
        data: for the groups of dependent points.
    """
    rows = np.concatenate([member.held for member in members])
    if not len(rows):
        return None
    order = np.argsort(rows)
    rows = rows[order]
    theta0 = [np.tile(member.network.theta0, (len(member.held), 1)) for member in members]
    return HeldOut(
        values=np.concatenate([member.values for member in members])[order],
        theta0=np.concatenate(theta0)[order],
        fx=frame.outputs.values,
        rows=rows,
        weights=frame.weights[rows],
        groups=None if data.groups is None else data.groups[rows],
        folds=len(members),
    )


@dataclass(frozen=True, eq=False)
class NetworkModel:
    """The fitted model of f, in the user's units: the average of its members.

    Attributes:
        frame: from the user's coordinates to those of the networks, and back to the units of f.
        members: networks of equal weight, one or those of all folds.
    """

    frame: StandardFrame
    members: Sequence[Member]

    @float64
    def __call__(self, points: Points, return_std: bool) -> tuple[Array, Array | None]:
        """Mean (n, k) and, where asked for, the standard deviation of the model.

        The variance is the members' own on average plus that between them.
        """
        at = self.frame.at(points)
        means = np.stack([predict(member.network, at) for member in self.members])
        mean = self.frame.outputs.in_units(means.mean(axis=0))
        if not return_std:
            return mean, None
        own = [_variance(member, at) for member in self.members]
        spread = np.sqrt(np.mean(own, axis=0) + means.var(axis=0))
        return mean, self.frame.outputs.spread_in_units(spread)


def _variance(member: Member, points: TrainingSet) -> Array:
    """Posterior variance of g at the points, standardized, (n, k)."""
    network, posterior = member.network, member.posterior
    vector = flatten(network)
    if posterior.factor is None:
        raise InputError(
            f"return_std needs the full posterior, which a network of {vector.size} weights "
            "does not form; use fewer."
        )
    rows = model(network, points).jacobian(vector)
    # With L the factor of the precision, diag(J (L L^T)^-1 J^T) without an inverse.
    half = scipy.linalg.solve_triangular(posterior.factor, rows.T, lower=True)
    return np.sum(half**2, axis=0).reshape(-1, network.theta0.size)[: points.n]
