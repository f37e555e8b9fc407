"""The answer from adaptive points: cross-fitted, and corrected by weighted points.

    answer = average over folds of theta0^(-k) + weighted average of f - g^(-k) over all pairs

g^(-k) is fitted to all scouts and to the pairs of the other folds, with their weights. Given the
scouts, which are in no fold, it knows nothing of the pairs that correct it, and they lie
where they do by known chances: so the answer is unbiased whatever g is, up to the sum of the
weights that it is divided by. Its std is that of the weighted mean of these residuals or, where
they are few and large and tell too little, wider, by the rule of `widened`: the uncorrected answer
has a say in the std, not in the mean.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steinquad._float64 import float64
from steinquad._types import Progress
from steinquad.checking.counted import check_with_counted
from steinquad.checking.error_bar import check_of, widened
from steinquad.dataset import Dataset
from steinquad.estimate import Estimate
from steinquad.fit import Context
from steinquad.methods.stack import Stack
from steinquad.studies.settings import Settings

__all__ = ["corrected"]


@float64
def corrected(
    estimate: Estimate,
    data: Dataset,
    split: Sequence[np.ndarray],
    settings: Settings,
    progress: Progress,
) -> Estimate:
    """An estimate from all of the data, corrected by the residuals of the folds in `split`.

    A weighted average, a constant, and events that are counted need no correction and come back
    as they are. Of a stack the folds refit the member with the largest weight.

    Args:
        estimate: by the method of the settings, from all of `data`.
        data: scouts and pairs with their weights.
        split: rows of each fold, as `adaptive.folds_of` gives them.
        settings: of the study: measure, method and seed.
        progress: called with (step, total, loss) while a method is trained.
    """
    measure, method, fit = settings.measure, settings.method or Stack(), estimate.fit
    few = fit.binomial
    counted = few is not None and bool((few.applies | data.constant).all())
    if method.winner(fit).averages or estimate.status.final or counted:
        return estimate
    data = data.completed(measure.score(data.x), measure.support, measure.names)
    context = Context(int(settings.seed), progress)
    part = data if few is None else data.of_outputs(~few.applies)
    held_out = method.hold_out(split, part, measure, fit, context)
    check = check_of(held_out, fit.mean if few is None else fit.mean[~few.applies])
    check = check if few is None else check_with_counted(check, few, data)
    corrected = replace(
        widened(fit, check),
        correction=check.mean - fit.theta0,
        check=check,
        stats={**estimate.stats, "uncorrected": fit.mean},
        status=estimate.status,
    )
    return Estimate.of(corrected, data, measure, method=method.name)
