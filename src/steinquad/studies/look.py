"""A look at a study: its store read once, and the answers from what was there."""

import json
from dataclasses import dataclass, replace

import numpy as np

from steinquad._types import Progress, ProgressOption, as_flag
from steinquad.api import estimate
from steinquad.errors import InputError, shown_point
from steinquad.estimate import Estimate
from steinquad.fit import Status
from steinquad.methods.stack import Stack
from steinquad.studies.adaptive import SCOUTS, folds_of
from steinquad.studies.corrected import corrected
from steinquad.studies.gathered import Gathered, gather
from steinquad.studies.settings import Settings
from steinquad.studies.store import Store
from steinquad.summaries.cross_fitted import distributions
from steinquad.summaries.statistic import Statistic
from steinquad.terminal.watched import watched

__all__ = ["Look", "look"]

MOST_FAILED = 0.01  # share of the probability that may fail without a word from the user


@dataclass(frozen=True, eq=False)
class Look:
    """What a study has stored at one moment, and the answers from it; reads nothing any more.

    Attributes:
        settings: of the study.
        data: the longest beginning of its points in which nothing is missing.
        versions: of the integrand, among all evaluations that are done.
    """

    settings: Settings
    data: Gathered
    versions: tuple[str, ...]

    @property
    def key(self) -> str:
        """What an answer depends on besides the points: it is kept under this text.

        Method, seed, failures, and what is done about them. Failed points that were repaired later
        thus have another key, and the answer without them is not taken for the present one.
        """
        own = self.settings
        return json.dumps([own.method_text, int(own.seed), self.data.failed, own.on_failure])

    def estimate(self, progress: ProgressOption = None) -> Estimate:
        """The mean of every output, with a status that tells of failures and versions.

        Args:
            progress: True for a bar, or a function that is called with (step, total, loss) while a
                method is trained.

        Raises:
            InputError: more than 1 % failed and that is not to be ignored, or fewer than two
                points are done.
        """
        data, share, first = self.data, self.data.share_failed, self._first_failed()
        if share > MOST_FAILED and self.settings.on_failure != "ignore":
            raise InputError(
                f"{data.failed} of {data.n} evaluations failed ({100 * share:.3g} %, more than "
                f"{100 * MOST_FAILED:g} %{first}); repair the integrand and run with "
                '--retry-failed, or set on_failure = "ignore".'
            )
        if len(data.numbers) < 2:
            raise InputError(
                f"store has {len(data.numbers)} usable evaluations at the beginning; run the "
                "study until there are at least 2."
            )
        with watched(progress) as report:
            est = self._estimate(report)
        est = replace(est, stats={**est.stats, "evaluations": data.n, "failed": data.failed})
        trouble, notes = [], []
        if data.failed:
            (trouble if share > MOST_FAILED else notes).append(
                f"{data.failed} of {data.n} evaluations failed and are left out, "
                f"{100 * share:.3g} % of the probability{first}"
            )
        if len(self.versions) > 1:
            count = len(self.versions)
            trouble.append(f"the evaluations are by {count} versions of the integrand")
        code = "suspect" if trouble and est.status.code != "not_finite" else est.status.code
        return est.with_status(Status(code, "; ".join([*trouble, est.status.message, *notes])))

    def _first_failed(self) -> str:
        """An example of the points that failed, to be appended to a message; empty for none."""
        row = self.data.first_failed
        if row is None:
            return ""
        at = shown_point(row.input, self.settings.measure.names)
        return f", the first by {row.failure} at {at}"

    def distribution(
        self, estimate: Estimate, *, model: bool = True, progress: ProgressOption = None
    ) -> dict[str, tuple[Statistic, ...]]:
        """Std, quantiles and chances of every output by name, with 95 % intervals.

        Args:
            estimate: the answer for the mean, which tells the method that was chosen.
            model: whether a fitted model may help; without, the simulated values speak alone.
            progress: True for a bar, or a function that is called with (step, total, loss) while a
                method is trained.
        """
        own, model = self.settings, as_flag("model", model)
        with watched(progress) as report:
            rows = distributions(
                self.data.independent().dataset(own.measure.names),
                own.requested,
                measure=own.measure if model else None,
                method=Stack() if own.method is None else own.method,
                seed=int(own.seed),
                estimate=estimate,
                progress=report,
            )
        return dict(zip(own.outputs, rows, strict=True))

    def _estimate(self, progress: Progress) -> Estimate:
        own, data = self.settings, self.data
        method, seed = own.method or Stack(), int(own.seed)
        correct = data.kind == "adaptive" and np.sum(data.numbers >= SCOUTS) >= SCOUTS
        data = data if correct else data.independent()  # where too few could correct
        sample = data.dataset(own.measure.names)
        est = estimate(sample, measure=own.measure, method=method, seed=seed, progress=progress)
        if not correct:
            return est
        split = folds_of(data.numbers, seed)
        return corrected(est, sample, split, own, progress)


def look(store: Store, settings: Settings, n: int | None = None) -> Look:
    """Read a store once, so that all answers are about one state of it while others write.

    Args:
        store: of the study; it has to exist.
        settings: of the study, which the store must agree with.
        n: use the first so many points only; by default all up to the first gap.
    """
    return Look(settings, gather(store, settings, n), tuple(store.versions()))
