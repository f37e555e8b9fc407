"""Do f and what is left of it have a variance? The Pareto shape of their largest values.

A standard error presumes a finite variance, which a tail of f has where the shape of the
generalized Pareto distribution of its largest values is below one half. Shapes of residuals alone
say little: those of a good fit are large at a few points, though f is bounded. So both have to be
heavy: f, because otherwise nothing can be, and the residuals, because otherwise the model has
taken the tail. Then the std is multiplied by n^(shape - 1/2), because the average of n values of
shape k between 1/2 and 1 errs by the order of n^(k - 1); by n^.2 at most, as a shape of residuals
above .7 is a guess. Where that of f is above .7 the answer is suspect too, unless next to nothing
of f is left: then points that were held out, the outermost among them, have found its tail
predicted.

Where it is, and the answer is further than three standard errors from the average of what points
say that its model has not seen, the shape of f counts by itself: then the model has taken what the
points show of the tail, and not the tail.

Shapes are estimated from some 20 values at n = 100 and 67 at n = 500 (Vehtari, Simpson, Gelman,
Yao and Gabry 2024), each tail by itself, so they are uncertain by some 0.3 and 0.15, and that of f
has to be the larger the fewer there are; docs/how-it-works.md has false alarms and power.
"""

from dataclasses import dataclass

import numpy as np

from steinquad._types import Array
from steinquad.checking.error_bar import TOO_FAR
from steinquad.checking.standard_error import standard_error, weighted_mean
from steinquad.dataset import Dataset

__all__ = ["Tails", "pareto_shape"]

HEAVY = 0.5  # shape of the residuals, from which on a variance is infinite
TOO_HEAVY = 0.7  # that of f, from which on no std holds; of residuals, the most that is counted
# That of f, lower because fewer of its values are in the tail that counts, for many values; and
# how much more it has to be over their number: 0.5 at n = 100, 0.36 at n = 500.
HEAVY_F, UNCERTAIN = 0.3, 4.0
FEWEST = 100  # points, below which the shapes of normal values are often called heavy
# Share of the spread of f that is left, below which its tail has been predicted; and below which
# what is left of it is rounding.
PREDICTED, NEGLIGIBLE = 3e-4, 1e-12


@dataclass(frozen=True, eq=False)
class Tails:
    """Those of every output.

    Attributes:
        shapes: of what is left of outputs whose f has a heavy tail too, or of f itself, (k,); -inf
            for outputs with a variance.
        of_f: of f, for those outputs; -inf for others.
        predicted: whether held-out points, with whom the answer agrees, leave next to nothing of
            f, (k,).
        size: effective number of points.
    """

    shapes: Array
    of_f: Array
    predicted: np.ndarray
    size: float

    @classmethod
    def of(cls, mean: Array, values: Array, data: Dataset) -> "Tails":
        """Look at what is left and at f.

        Args:
            mean: the answer, (k,).
            values: of the answer at points that its model has not seen, (n, k).
            data: whose values of f these are; points that are no sample have no tails.
        """
        shapes, of_f = np.full((2, data.outputs), -np.inf)
        predicted = np.zeros(data.outputs, bool)
        size = float(data.effective_weights.sum())
        if not data.sampled or size < FEWEST:
            return cls(shapes, of_f, predicted, size)
        error, _ = standard_error(values, data.effective_weights, data.groups)
        gap = np.abs(mean - weighted_mean(values, data.effective_weights))
        # What a point adds to the average: its weight may tame a tail, or make one.
        w = data.effective_weights[:, None]
        left, whole = (w * (each - weighted_mean(each, w[:, 0])) for each in (values, data.fx))
        limit = HEAVY_F + UNCERTAIN / _tail_length(size)
        notable = np.ptp(left, axis=0) > NEGLIGIBLE * np.ptp(whole, axis=0)
        counted = np.isin(data.fx, (0.0, 1.0)).all(axis=0)  # which are bounded
        for j in np.flatnonzero(notable & ~data.constant & ~counted):
            shape, own = pareto_shape(left[:, j]), pareto_shape(whole[:, j])
            far = own > TOO_HEAVY and gap[j] > TOO_FAR * error[j]
            if far or (shape > HEAVY and own > limit):
                shapes[j], of_f[j] = max(shape, own) if far else shape, own
            predicted[j] = not far and left[:, j].std() <= PREDICTED * whole[:, j].std()
        return cls(shapes, of_f, predicted, size)

    @property
    def widening(self) -> Array:
        """Factors of the standard errors, (k,); 1 where there is a variance."""
        return self.size ** (np.clip(self.shapes, HEAVY, TOO_HEAVY) - HEAVY)

    @property
    def suspect(self) -> bool:
        """Whether no std holds."""
        return bool(np.any((self.of_f > TOO_HEAVY) & ~self.predicted))

    @property
    def sentence(self) -> str | None:
        """What is wrong with heavy tails; None where all outputs have a variance."""
        heavy = np.flatnonzero(self.shapes > HEAVY)
        if not len(heavy):
            return None
        where = "" if len(self.shapes) == 1 else f" of output{'s' * (len(heavy) > 1)} "
        where += ", ".join(map(str, heavy)) if where else ""
        seen = (
            f"the largest values of f{where} and what the models leave of them fall off so slowly "
            f"(Pareto shapes {self.of_f.max():.2f} and {self.shapes.max():.2f}) that their "
            "variance may be infinite"
        )
        if not self.suspect:
            return f"{seen}: the std is {self.widening.max():.2g} times as large for it"
        return (
            f"{seen}, so that no std holds: integrate a bounded or transformed f, draw more "
            "points where f is large (weights=), or add many points"
        )


def _tail_length(n: float) -> float:
    """How many of n values the shape of a tail is estimated from."""
    return min(0.2 * n, 3.0 * np.sqrt(n))


def pareto_shape(values: Array) -> float:
    """Shape of the heavier tail of values (n,); negative for bounded ones, 0 for exponential ones.

    Args:
        values: at least 25; -inf where too few of them differ to tell.
    """
    from arviz_stats.base.array import array_stats  # imports scipy.stats, which is slow

    shapes = []
    for tail in ("left", "right"):
        try:
            with np.errstate(all="ignore"):
                shape = float(np.asarray(array_stats.pareto_khat(values[None], tail=tail)))
        except ValueError:  # fewer than five different values in the tail
            continue
        shapes.append(shape if np.isfinite(shape) else -np.inf)
    return max(shapes, default=-np.inf)
