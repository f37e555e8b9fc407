"""Markov chains for the Goodwin posterior: the paper's, and better ones."""

from pathlib import Path

import numpy as np

from steinquad._types import Array
from steinquad.designs import NUTS, Resumable, TruncatedMALA, Whitened, laplace
from steinquad.problems.goodwin import GENERATING
from steinquad.problems.problem import Problem, standard_normal

__all__ = ["goodwin_mala", "goodwin_nuts"]

NOISE_STD = 0.0033  # the paper's step size h; only as the std of the noise does it give a chain
TRUNCATION = 3000.0


def goodwin_mala(
    *,
    warmup: int = 2000,
    truncation: float = TRUNCATION,
    candidates: int = 1,
    path: str | Path | None = None,
) -> TruncatedMALA | Resumable:
    """The paper's chains: five from the prior, `w' = w + h^2/2 score + h xi`, every 20th draw.

    The score is 1e5 to 1e6 where the prior is, and plain MALA freezes there; with its drift
    truncated a chain reaches the mode in some 600 steps, and is exact all the same. The paper has
    500,000 steps a chain, n = 125,000.

    Args:
        warmup: steps dropped at the beginning of each chain; 0 as in the paper, which leaves 10
            to 50 draws of each on their way to the mode.
        truncation: largest length of the score in the drift.
        candidates: draws of the prior, of which each chain begins at the likeliest. With 1, as in
            the paper, about one chain in thirteen is caught on a ridge far from the mode.
        path: directory to keep the run in, so that it can be stopped and go on.

    >>> goodwin_mala(warmup=0).name
    'TruncatedMALA'
    """
    design = TruncatedMALA(
        chains=5,
        warmup=warmup,
        thin=20,
        step_size=NOISE_STD**2 / 2,
        start=standard_normal(len(GENERATING)),  # the prior of w
        truncation=truncation,
        candidates=candidates,
    )
    return design if path is None else Resumable(design, path)


def goodwin_nuts(
    problem: Problem[Array],
    *,
    chains: int = 4,
    warmup: int = 300,
    path: str | Path | None = None,
) -> Whitened:
    """NUTS in the coordinates of the Laplace approximation, where the posterior is near N(0, I).

    Args:
        problem: what `goodwin` gave.
        chains: how many, each from a draw of the Laplace approximation.
        warmup: transitions dropped at the beginning of each.
        path: directory to keep the run in, so that it can be stopped and go on.
    """
    # N(0, I) of the whitened coordinates: the Laplace approximation itself.
    design = NUTS(chains=chains, warmup=warmup, start=standard_normal(len(GENERATING)))
    inner = design if path is None else Resumable(design, path)
    return Whitened(inner, laplace(problem.measure, np.log(GENERATING)))
