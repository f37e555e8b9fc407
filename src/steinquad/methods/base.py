"""The class that every method extends, and the one way from data to an estimate."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from steinquad._types import is_word
from steinquad.checking.counted import fit_of_counted, told_of_values, with_counted
from steinquad.checking.error_bar import check_of, checked, widened
from steinquad.checking.few_events import few_events
from steinquad.checking.folds import folds_of, others
from steinquad.checking.held_out import HeldOut
from steinquad.checking.plausibility import (
    beside_average,
    copies_told,
    in_finite_numbers,
    well_informed,
)
from steinquad.dataset import Dataset
from steinquad.designs import IID, Design, Sobol
from steinquad.designs.quantiles import has_quantiles
from steinquad.errors import InputError, shown
from steinquad.estimate import Estimate
from steinquad.fit import Context, Fit, HeldOutValues
from steinquad.measures.base import Measure

__all__ = ["Method", "check_choices"]

NOTHING_GIVEN = Context()
REFITS = 5  # folds of methods that have to be refitted to hold points out


class Method(ABC):
    """A way to estimate an expectation; a new one is a subclass with a name and `fit`.

    Cross-fitting, intervals, tolerances and a place in `Stack` follow by themselves, because
    `estimate` is the same for all. The other members have defaults that suit most methods. See
    `examples/08_own_method.py`.

    Attributes:
        name: for tables; of two methods in one `Stack` each needs its own.
        expensive: whether `Stack` does without it where cheaper methods leave next to nothing of
            f, or where it is far behind them on some of many points: cubic cost in n, or networks
            to train.
        averages: whether it fits no model; cross-fitting would return the same average, so
            `estimate` makes no check of it.
        holds_out: whether its fits hold points out by themselves and carry their own check, so
            that `estimate` leaves `folds` alone.
        warm_folds: whether fits of a cross-fit may start from that of all data. The start must
            then remember of the points but a few numbers, such as hyperparameters: one that has
            learned the held-out values would make the check too optimistic.
        in_units: whether it has an option in the units of f, so that `Stack` gives it many outputs
            as they are and not their components.
    """

    name: str
    expensive: bool = False
    averages: bool = False
    holds_out: bool = False
    warm_folds: bool = False
    in_units: bool = False

    def design(self, measure: Measure) -> Design:
        """Where it would have f evaluated; `integrate` asks where no design is given.

        By default scrambled Sobol points where the measure has inverse distribution functions,
        which fill the space more evenly than independent draws, and those where it has not. A
        method that needs particular points, such as `QuasiMonteCarlo`, overrides it.

        Args:
            measure: that f is integrated against.
        """
        return Sobol() if has_quantiles(measure) else IID()

    @property
    def light(self) -> "Method":
        """A cheaper version of itself, for ranking and for the fits of a cross-fit.

        Its model must be like that of the full method, because its held-out residuals stand for
        those of the full one. By default the method itself.
        """
        return self

    def with_folds(self, folds: int) -> Self:
        """The same method, holding out so many folds where it holds out by itself.

        Args:
            folds: number of parts, at least 2; ignored by methods that `estimate` cross-fits.

        Returns:
            A copy with that setting, or the method itself where it has none.
        """
        del folds
        return self

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why it cannot be used on such data, in a sentence, or None.

        Asked before every fit: `Stack` passes over a method with an obstacle and reports the
        sentence, `checked_fit` raises it as an `InputError`.

        Args:
            data: with scores and support filled in from the measure where it has them.
            measure: what the points were drawn from, when known.
        """
        del data, measure
        return None

    @abstractmethod
    def fit(self, data: Dataset, measure: Measure | None, context: Context) -> Fit:
        """A model of every output of `data` with its integral.

        Args:
            data: checked, with scores and support filled in from the measure where it has them;
                at least one output varies, and there is no obstacle.
            measure: what the points were drawn from, when known.
            context: seed, progress and a start.

        Returns:
            The integral of the model, its covariance as the method itself knows it, and the
            model. The std, the check and the plausibility tests that users see are added by
            `estimate`.
        """

    def checked_fit(self, data: Dataset, measure: Measure | None, context: Context) -> Fit:
        """`fit`, or the exact answer for an f that does not vary, or the obstacle as an error.

        Callers other than `estimate` use it too, such as cross-fits of a part of the data, in
        which f may be constant although it varies elsewhere.

        Args:
            data: as for `fit`, but any.
            measure: what the points were drawn from, when known.
            context: seed, progress and a start.
        """
        # First, because an f that does not vary needs neither scores nor a measure.
        if data.constant.all():
            return Fit.of_constant(data)
        reason = self.obstacle(data, measure)
        if reason:
            raise InputError(reason)
        return self.fit(data, measure, context)

    def estimate(
        self,
        data: Dataset,
        measure: Measure | None = None,
        context: Context = NOTHING_GIVEN,
        *,
        folds: int = 0,
        widen: bool = False,
    ) -> Estimate:
        """The answer: fit, hold out, set the error bar, ask whether it is plausible.

        Args:
            data: as for `fit`, but any; points of weight zero are left out.
            measure: what the points were drawn from, when known.
            context: seed, progress and a start.
            folds: of a cross-fitted check, where the fit does not hold out by itself; 0 for none.
            widen: let that check widen the std.

        Returns:
            Mean, std and status in the units of f, with the fit behind them and the check if one
            was made.
        """
        given = data.with_weight()
        data = given.counted_once(continuous=measure is not None)
        few = few_events(data)
        counted = few is not None and bool((few.applies | data.constant).all())
        part = data  # of the outputs that a model is fitted to
        if few is not None and counted:
            fit = fit_of_counted(few, data)
        else:
            part = data if few is None else data.of_outputs(~few.applies)
            fit = self.checked_fit(part, measure, context)

        def of_all(fit: Fit) -> Fit:
            return fit if few is None or counted else with_counted(fit, few, data)

        fit = replace(fit, status=beside_average(fit.status, fit.mean, part))
        fit = replace(fit, status=well_informed(of_all(fit), data))
        fit = replace(fit, status=copies_told(fit.status, data.n, given.n))
        own = counted or self.averages or self.holds_out or fit.check is not None
        if folds and not (own or fit.status.final):
            split = folds_of(part, folds, context.seed)
            check = check_of(self.hold_out(split, part, measure, fit, context), fit.mean)
            fit = checked(widened(fit, check) if widen else fit, check)
        fit = of_all(fit)
        fit = replace(fit, status=in_finite_numbers(fit))
        if not counted:
            fit = replace(fit, status=told_of_values(fit.status, few, data))
        return Estimate.of(fit, data, measure, method=self.name)

    def winner(self, fit: Fit) -> "Method":
        """The method that made a fit: itself, or the one that it chose.

        Whoever refits to other parts of the data, as `summaries.distribution` does, takes the
        winner and so does not choose again every time.
        """
        del fit
        return self

    def refit_without(
        self,
        rows: np.ndarray,
        data: Dataset,
        measure: Measure | None,
        full: Fit,
        context: Context,
    ) -> Fit:
        """A fit to all but some rows by the method that made the full fit.

        Of several methods none is chosen again: the check is of the one that made the answer.

        Args:
            rows: to be held out.
            data: all of the data.
            measure: what they were drawn from, when known.
            full: the fit to all of the data.
            context: seed and progress; its own start is replaced.

        Returns:
            A fit by its `light`, which starts from the full one where it may. It has a model, so
            that the held-out rows can be predicted; an `InputError` is raised where it has none.
        """
        method, start = self.winner(full), None
        if method.warm_folds and full.warm_start is not None:
            start = full.warm_start.of(method.name)
        rest = data.take(others(data.n, rows))
        fit = method.light.checked_fit(rest, measure, context.of_part().starting(start))
        if fit.model is None:
            raise InputError(f"{method.name} has no model to check ({fit.status.message}).")
        return fit

    def hold_out(
        self,
        split: Sequence[np.ndarray],
        data: Dataset,
        measure: Measure | None,
        full: Fit,
        context: Context,
    ) -> HeldOut:
        """Residuals of every fold under a fit to all other rows.

        Args:
            split: rows of each fold; rows that are in none are in every fit.
            data: all of the data.
            measure: what they were drawn from, when known.
            full: the fit to all of the data, from which the others start if they may.
            context: seed and progress of the fits.

        Returns:
            Values `theta0 + f - g` at the held-out rows, whose average is unbiased for
            independent draws, and their standard error.
        """
        if not data.sampled:
            raise InputError(
                "data has points that are not a sample of the measure; cross-fitting averages "
                "over the points, so leave folds out."
            )
        fits = [self.refit_without(rows, data, measure, full, context) for rows in split]
        return HeldOut.of(fits, split, data, measure)

    def held_out_values(
        self, fit: Fit, data: Dataset, measure: Measure | None, context: Context
    ) -> HeldOutValues:
        """The data under fits that have not seen them: the fit's own, else by few refits.

        Args:
            fit: to all of the data; those that hold points out in closed form were asked to by
                `Context.split`.
            data: all of the data.
            measure: what they were drawn from, when known.
            context: seed and progress of the refits.
        """
        if self.averages or data.constant.all():
            return HeldOutValues(data.fx, fit.theta0[None])
        if fit.held_out is not None:
            return fit.held_out
        split = folds_of(data, min(REFITS, data.n // 2), context.seed)
        fits = [self.refit_without(rows, data, measure, fit, context) for rows in split]
        values = HeldOut.of(fits, split, data, measure).values
        return HeldOutValues(values, np.stack([each.theta0 for each in fits]))


def check_choices(method: Method, **allowed: Sequence[str]) -> None:
    """Refuse options of a method that are none of the words allowed for them.

    Called from `__post_init__`, so that a misspelt option fails when the method is made and not
    after an expensive evaluation of f.

    Args:
        method: whose attributes are checked.
        **allowed: the words allowed for each attribute, by its name.
    """
    for option, words in allowed.items():
        value = vars(method)[option]
        if not is_word(value, *words):
            raise InputError(f"{option} is {shown(value)}; choose one of {', '.join(words)}.")
