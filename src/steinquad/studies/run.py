"""Running a study: evaluate what is missing, look at the answer, go on until the budget ends."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from steinquad._types import ProgressOption
from steinquad.errors import InputError
from steinquad.estimate import Estimate
from steinquad.fit import Status
from steinquad.studies.adaptive import SCOUTS, Chosen
from steinquad.studies.dask import dask_executor
from steinquad.studies.driver import Rules, evaluate_all
from steinquad.studies.executors import Executor, Futures, Here
from steinquad.studies.gathered import gather
from steinquad.studies.look import Look, look
from steinquad.studies.pool import Pool
from steinquad.studies.settings import Settings
from steinquad.studies.store import Store

__all__ = ["AnyExecutor", "Snapshot", "StudyRun", "place_for"]

AnyExecutor = futures.Executor | Callable[[], futures.Executor]


@dataclass(frozen=True)
class Snapshot:
    """How far a run is, for those who watch.

    Attributes:
        done: evaluations that are done, of earlier runs too.
        failed: those that failed for good.
        goal: evaluations before the next look at the estimate.
        estimate: the last answer, as `Estimate.to_dict` gives it, or None before the first.
    """

    done: int
    failed: int
    goal: int
    estimate: Mapping[str, Any] | None


@dataclass
class StudyRun:
    """One run of a study, for as long as its store can be written.

    Attributes:
        settings: of the study.
        store: of the study, being written.
        place: where evaluations happen.
        watch: called with a `Snapshot` whenever something has finished.
        progress: True for a bar, or a function that is called with (step, total, loss) while a
            method is trained.
    """

    settings: Settings
    store: Store
    place: Executor
    watch: Callable[[Snapshot], None] | None = None
    progress: ProgressOption = None

    def finish(self) -> Estimate:
        """Evaluate and look at the estimate, by turns, until the budget ends.

        A look that an earlier run has kept is not computed again, except the last, of which the
        whole estimate is needed.

        Returns:
            The last answer; its status is `max_n` where a target was set and not reached.

        Raises:
            InputError: no estimate is possible at the end, e.g. because too many points failed.
        """
        budget = self.settings.budget
        record: Mapping[str, Any] | None = None
        estimate: Estimate | None = None
        seen: Look | None = None
        for n in budget.looks(self.settings.points):
            self._evaluate(n, record)
            seen = look(self.store, self.settings, n)
            record, estimate = self._answer(seen)
            if self.watch is not None:
                counts = self.store.counts()
                self.watch(Snapshot(counts.done, counts.failed, n, record))
            if record is not None and budget.ends(n, record):
                break
        if record is None or seen is None:
            raise RuntimeError("a study ended without an answer, which its last look refuses")
        answer = seen.estimate(self.progress) if estimate is None else estimate
        if budget.until is None or budget.reached(record):
            return answer
        return _short_of_target(answer)

    def _evaluate(self, n: int, record: Mapping[str, Any] | None) -> None:
        """See that the first n points are done or have failed for good."""
        own, store = self.settings, self.store
        batch = own.batch if own.call.style == "batch" else 1
        rules = Rules(batch, own.retries + 1, own.version)
        before = store.counts()

        def report(done: int, failed: int) -> None:
            if self.watch is not None:
                self.watch(Snapshot(before.done + done, before.failed + failed, n, record))

        report(0, 0)
        points = own.numbered
        if own.points == "adaptive" and n > SCOUTS:
            # All scouts first: where the others lie depends on their outputs, and must not
            # depend on which of them happened to be finished.
            evaluate_all(store, points, SCOUTS, self.place, rules, report)
            before, scouts = store.counts(), gather(store, own, SCOUTS)
            points = Chosen(points, store)
            points.choose_until(n, (scouts.x, scouts.fx))
        evaluate_all(store, points, n, self.place, rules, report)

    def _answer(self, seen: Look) -> tuple[Mapping[str, Any] | None, Estimate | None]:
        """The answer of a look: computed once and kept, so that a second run has its record.

        None where it is refused and more points are to come: too few are done, or too many failed
        so far.
        """
        n = seen.data.n
        for kept_n, key, record in self.store.estimates():
            if (kept_n, key) == (n, seen.key):
                return record, None
        try:
            estimate = seen.estimate(self.progress)
        except InputError:
            if self.settings.budget.goes_on(n):
                return None, None
            raise
        record = estimate.to_dict()
        self.store.keep_estimate(n, seen.key, record)
        return record, estimate


@contextmanager
def place_for(settings: Settings, given: AnyExecutor | None = None) -> Iterator[Executor]:
    """Where the evaluations of a study happen, closed at the end.

    Args:
        settings: of the study.
        given: an executor of the user, or a function that makes one, in place of
            `settings.where`.
    """
    place = _open(settings, given)
    try:
        yield place
    finally:
        place.close()


def _open(settings: Settings, given: AnyExecutor | None) -> Executor:
    call, function = settings.call, settings.function
    workers = settings.workers or _cores()
    if given is not None:
        settings.refuse_limits("an executor is given", "leave that out and use where='pool'")
        if not isinstance(given, futures.Executor) and not callable(given):
            raise InputError(
                f"executor is a {type(given).__name__}; pass a concurrent.futures.Executor, "
                "or a function that makes one."
            )
        return Futures(call, given, 2 * workers, function)
    if settings.where == "here":
        return Here(call, function)
    if settings.where == "dask":
        return dask_executor(call, function, workers=settings.workers, address=settings.address)
    if not (call.function or call.command):
        raise InputError(
            f"integrand {function!r} has no name that a worker process could import it by; "
            "define it with def in a file, or use where='here'."
        )
    return Pool(call, workers)


def _short_of_target(estimate: Estimate) -> Estimate:
    if estimate.status.code in ("suspect", "not_finite"):
        return estimate
    message = f"the std is above the target after {estimate.n} points; allow more runs"
    # What equal values leave open, for one, is not to be lost.
    return estimate.with_status(Status("max_n", f"{message}; {estimate.status.message}"))


def _cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
