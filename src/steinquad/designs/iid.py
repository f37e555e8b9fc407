"""Independent draws."""

from dataclasses import dataclass

from steinquad._types import Progress
from steinquad.designs.base import Design, Sample
from steinquad.errors import InputError
from steinquad.measures.base import Measure

__all__ = ["IID"]


@dataclass(frozen=True)
class IID(Design):
    """Independent draws by the measure's own sampler: the default of most methods.

    They are cheap, need no tuning and give every method its simplest error bar; `Sobol` fills
    the space more evenly where the measure has quantiles.

    >>> import scipy.stats
    >>> from steinquad.measures import as_measure
    >>> IID().draw(as_measure(scipy.stats.norm()), 5, seed=0).x.shape
    (5, 1)
    """

    def draw(
        self, measure: Measure, n: int, *, seed: int, progress: Progress | None = None
    ) -> Sample:
        """Draw independently; see `Design.draw`. The measure needs a sampler."""
        if "sample" not in measure.provides:
            raise InputError(
                f"measure {type(measure).__name__} has no sampler; "
                "use a Markov chain such as design=NUTS()."
            )
        return Sample(measure.sample(n, seed=seed))
