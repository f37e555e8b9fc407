"""Where draws are in R^d, and the gradient of the log density there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinquad._types import Array, as_finite
from steinquad.chains.layout import ChainDraws, is_xarray, read, tree_node
from steinquad.chains.targets import Target, as_target
from steinquad.errors import InputError
from steinquad.measures.draws import Draws

__all__ = ["Located", "locate"]

GROUP = "score"  # of a tree, with the gradients by name
STORED = ("unconstrained_draw", "gradient")  # what nutpie can keep in sample_stats


@dataclass(frozen=True, eq=False)
class Located:
    """Draws as the Stein operator sees them.

    Unlike those of `Draws`, names may repeat: coordinates of an xarray dimension can.

    Attributes:
        points: of R^d, (n, d), chain after chain.
        scores: gradients of the log density there, (n, d).
        names: of the d coordinates.
    """

    points: Array
    scores: Array
    names: Sequence[str]


def locate(sample: ChainDraws, score: Any) -> Located:
    """Points of R^d and scores of the draws, from whatever the user has of the posterior.

    Args:
        sample: the draws.
        score: a model, function, array or tree; see `posterior_expectation` for all of them.

    Raises:
        InputError: if the scores are missing or of other draws, or the user's model fails.
    """
    if score is None:
        return _stored(sample)
    if isinstance(score, Draws):
        return _given(sample, score)
    arrays = isinstance(score, Mapping | list | tuple) or hasattr(score, "__array__")
    if arrays or is_xarray(score):
        return _beside(sample, read(score, "score", GROUP))
    if callable(score) and not isinstance(score, Target):
        points, names = sample.columns()
        return Located(points, _called(score, points), names)
    # A model's own coordinates: variables may be positive, bounded or simplices.
    target = as_target(score)
    moved = _asked(target.unconstrain, sample.variables, "coordinates of the draws")
    points = as_finite("points of the target", moved, ndim=(2,))
    scores = _asked(target.score, points, "scores")
    return _given(sample, Draws(points, scores, names=_names(points.shape[1])))


def _stored(sample: ChainDraws) -> Located:
    """What a sampler or a user has put into the tree."""
    if tree_node(sample.tree, GROUP) is not None:
        return _beside(sample, read(sample.tree, "score", GROUP))
    stats = tree_node(sample.tree, "sample_stats")
    if stats is not None and all(
        name in stats.data_vars and {"chain", "draw"} <= set(stats[name].dims) for name in STORED
    ):
        points, scores = (
            np.asarray(stats[name].transpose("chain", "draw", ...).values) for name in STORED
        )
        if points.ndim == 3 and points.shape[:2] == (sample.chains, sample.draws):
            names = _names(points.shape[2])
            points = as_finite(STORED[0], points.reshape(sample.n, -1))
            return Located(points, scores.reshape(sample.n, -1), names)
    raise InputError(
        "score is missing: the draws have no group 'score', nor unconstrained_draw and gradient "
        "in sample_stats; pass score= an array like the draws, a function, or the model."
    )


def _given(sample: ChainDraws, draws: Draws) -> Located:
    if len(draws.x) != sample.n:
        raise InputError(f"score has {len(draws.x)} points for {sample.n} draws; give one each.")
    if draws.support.bounded:
        raise InputError(
            "score has points with a bounded support; pass points of all of R^d, such as "
            "logarithms of positive parameters, and scores with the Jacobian."
        )
    return Located(draws.x, draws.scores, draws.names)


def _beside(sample: ChainDraws, scores: ChainDraws) -> Located:
    """Scores laid out as the draws; variables without one are functions of the others."""
    if (sample.chains, sample.draws) != (scores.chains, scores.draws):
        raise InputError(
            f"score has {scores.chains} chains of {scores.draws} draws but draws has "
            f"{sample.chains} of {sample.draws}; pass one for each draw, in the same layout."
        )
    scored = scores.variables if scores.named else {}
    for name, values in scored.items():
        if name not in sample.variables:
            known = ", ".join(sample.variables)
            raise InputError(f"score has {name!r}, which is no variable of draws ({known}).")
        if values.shape != sample.variables[name].shape:
            raise InputError(
                f"score[{name!r}] has shape {values.shape[1:]} a draw but the variable has "
                f"{sample.variables[name].shape[1:]}; pass one derivative for each entry."
            )
    points, names = sample.columns(list(scored) or None)
    return Located(points, scores.columns(argument="score")[0], names)


def _asked(question: Callable[[Any], Any], about: Any, what: str) -> Any:
    """What a model answers, or a sentence on why it does not."""
    try:
        return question(about)
    except InputError:
        raise
    except Exception as error:  # whatever the user's model raises
        reason = (str(error).splitlines() or [""])[0]
        raise InputError(
            f"score is a model that raised {type(error).__name__} ({reason}) when asked for the "
            f"{what}; check that its data and variables are those of the draws."
        ) from error


def _called(score: Any, points: Array) -> Any:
    try:
        scores = score(points)
    except Exception as error:  # whatever it is that the user's function, or model, raises
        raise InputError(
            f"score is a function that raised {type(error).__name__} ({error}) for points "
            f"{points.shape}; a NumPyro model goes in as sq.targets.NumPyro(model, *args), a log "
            "density as sq.targets.JaxDensity(log_density)."
        ) from error
    if np.shape(scores) != points.shape:
        raise InputError(
            f"score is a function that returned shape {np.shape(scores)} for points "
            f"{points.shape}; return a gradient for each, or pass a log density as "
            "sq.targets.JaxDensity(log_density)."
        )
    return scores


def _names(dim: int) -> list[str]:
    """Of coordinates in an order that only the model knows."""
    return [f"z{i}" for i in range(dim)]
