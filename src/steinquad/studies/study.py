"""A study: an expensive integrand under uncertain inputs, over days and losing nothing."""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from steinquad._types import Progress, no_progress
from steinquad.errors import InputError
from steinquad.estimate import Estimate
from steinquad.fit import Status
from steinquad.measures import Measure, as_measure
from steinquad.methods.base import Method
from steinquad.methods.choose import Choose
from steinquad.methods.quasi_monte_carlo import QuasiMonteCarlo
from steinquad.studies.adaptive import SCOUTS, Chosen, is_choice
from steinquad.studies.answer import Gathered, answer, gather, independent, sample_of
from steinquad.studies.budget import Budget
from steinquad.studies.driver import Rules, evaluate_all
from steinquad.studies.evaluation import Call
from steinquad.studies.executors import Executor, Futures, Here
from steinquad.studies.integrand import build_call, version_of
from steinquad.studies.points import BLOCK, KINDS, NumberedPoints, default_kind
from steinquad.studies.pool import Pool
from steinquad.studies.store import Counts, Store
from steinquad.summaries.cross_fitted import distributions
from steinquad.summaries.requested import Requested
from steinquad.summaries.statistic import Statistic

__all__ = ["PLACES", "Snapshot", "Study"]

PLACES = ("pool", "here", "dask")
SAME = 1e-8  # of the largest coordinate: a difference that a library of another version may make
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


@dataclass(frozen=True, eq=False)
class Study:
    """Evaluate an integrand at numbered points, store every result, and estimate its mean.

    Args:
        integrand: a function, `"module:function"`, `"file.py:function"`, or a `Command`. A
            function takes the inputs by name and answers with a number, a sequence or a mapping.
        inputs: their joint law, e.g. `sq.Product({"load": dist.Normal(1, 0.1), ...})`.
        store: path of the SQLite file that holds the evaluations; run again to go on with it.
        runs: most evaluations; None for as many as `until` takes.
        outputs: their names, or a mapping from them to what is asked of their distributions, e.g.
            `{"power": {"quantiles": [0.05, 0.95], "above": [1.2], "below": []}}`.
        until: stop earlier, at `{"std": ...}` or `{"relative_std": ...}` of every output.
        every: evaluations between two looks at the estimate; see `Budget`.
        points: `sobol` for randomized quasi-Monte Carlo points, `iid` for independent draws, or
            `adaptive` for more of those where f is hard to predict; `auto` takes `sobol` where the
            inputs have inverse distribution functions, else `iid`.
        seed: of points and method; point i depends on it and on i only, adaptive ones also on
            the outputs of the first 100.
        method: how to estimate, by default `Choose()`.
        style: how a function is called: `keywords`, `dict` or `batch`, an array (n, d); of a
            command `batch` too.
        batch: points in a call of the style `batch`.
        time_limit: seconds for a call; for functions only in the pool.
        memory: most that a process of the integrand may have, e.g. `"2 GiB"`; for functions only
            in the pool.
        retries: how often a point that failed is tried again.
        on_failure: `refuse` an estimate if more than 1 % failed, or `ignore` those points.
        where: `pool` of worker processes, `here` in this process, or `dask` (extra `dask`).
        workers: how many processes; by default one a core.
        address: of a Dask scheduler; by default a cluster on this machine.
        version: of the integrand, stored with every evaluation; by default a hash of its file.
        directory: where modules, files and commands are looked for; by default the current one.
        name: of the study, for people.
        units: of inputs and outputs by name, for people.
    """

    integrand: Any
    inputs: Any
    store: str | Path
    runs: int | None = None
    _: KW_ONLY
    outputs: Sequence[str] | Mapping[str, Mapping[str, Sequence[float]]] = ("f",)
    until: Mapping[str, float] | None = None
    every: int | None = None
    points: Literal["auto", "sobol", "iid", "adaptive"] | str = "auto"
    seed: int = 0
    method: Method | None = None
    style: Literal["keywords", "dict", "batch"] | str = "keywords"
    batch: int = 64
    time_limit: float | None = None
    memory: str | None = None
    retries: int = 1
    on_failure: Literal["refuse", "ignore"] | str = "refuse"
    where: Literal["pool", "here", "dask"] | str = "pool"
    workers: int | None = None
    address: str | None = None
    version: str | None = None
    directory: str | Path = "."
    name: str = "study"
    units: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_outputs(self.outputs)
        assert self.wanted
        _check_choice("on_failure", self.on_failure, ("refuse", "ignore"))
        _check_choice("where", self.where, PLACES)
        _check_count("seed", self.seed, 0)
        _check_count("batch", self.batch, 1)
        _check_count("retries", self.retries, 0)
        _check_count("workers", 1 if self.workers is None else self.workers, 1)
        limit = self.time_limit
        number = isinstance(limit, int | float | np.number) and not isinstance(limit, bool)
        if limit is not None and not (number and 0 < limit < np.inf):
            raise InputError(f"time_limit is {limit!r}; give seconds above 0, or None.")
        for key, value in (("store", self.store), ("directory", self.directory)):
            if not isinstance(value, str | Path):
                raise InputError(f"{key} is {value!r}; give a path.")
        _check_choice("points", self.points, ("auto", *KINDS))
        if self.points == "auto":
            object.__setattr__(self, "points", default_kind(self.measure))
        self._check_method()
        assert self.budget and self.numbered and self.call  # all are checked as they are made
        if self.where != "pool":
            self._refuse_limits(f"where is {self.where!r}", "use where='pool'")

    @classmethod
    def load(cls, path: str | Path) -> "Study":
        """The study of a TOML file; see docs/studies.md for its keys."""
        from steinquad.studies.file import load  # which makes studies of this class

        return load(Path(path))

    @cached_property
    def budget(self) -> Budget:
        """How far it goes."""
        return Budget(self.runs, self.until, self.every)

    @cached_property
    def measure(self) -> Measure:
        """The law of the inputs."""
        return as_measure(self.inputs)

    @cached_property
    def wanted(self) -> tuple[Requested, ...]:
        """What is asked of the distribution of each output."""
        if not isinstance(self.outputs, Mapping):
            return (Requested(),) * len(self.outputs)
        return tuple(Requested.parse(name, given) for name, given in self.outputs.items())

    @cached_property
    def numbered(self) -> NumberedPoints:
        """Its points by number."""
        return NumberedPoints(self.measure, self.points, seed=int(self.seed))

    @property
    def call(self) -> Call:
        """How the integrand is called."""
        return self._integrand[0]

    @cached_property
    def evaluations(self) -> Store:
        """What has been stored so far."""
        about = {
            "inputs": json.dumps(self.measure.names),
            "outputs": json.dumps(list(self.outputs)),
            "points": self.points,
            "seed": str(int(self.seed)),
            "first point": json.dumps(self.numbered[0]),  # other laws have other points
        }
        return Store(Path(self.store), about)

    def run(
        self,
        *,
        executor: AnyExecutor | None = None,
        retry_failed: bool = False,
        watch: Callable[[Snapshot], None] | None = None,
        progress: Progress | None = None,
    ) -> Estimate:
        """Evaluate what is missing, and estimate; what is stored is never done again.

        Args:
            executor: any `concurrent.futures.Executor` in place of `where`, or a function that
                makes one, which is called again if the executor breaks.
            retry_failed: give points that failed for good all their attempts again.
            watch: called with a `Snapshot` whenever something has finished.
            progress: called with (step, total, loss) while a method is trained.
        """
        store = self.evaluations
        rules = Rules(
            self.batch if self.call.style == "batch" else 1, self.retries + 1, self._version
        )
        with store.writing(), _closing(self._executor(executor)) as place:
            self._check_points()
            if retry_failed:
                store.forget_attempts()
            record: Mapping[str, Any] | None = None
            estimate: Estimate | None = None
            n: int | None = None
            for n in self.budget.looks(self.points):
                self._evaluate(n, place, rules, watch, record)
                record, estimate = self._look(n, progress)
                if watch is not None:
                    counts = store.counts()
                    watch(Snapshot(counts.done, counts.failed, n, record))
                if record is not None and self.budget.ends(n, record):
                    break
            assert record is not None  # or the last look would have been refused
            answer = self.estimate(progress=progress, n=n) if estimate is None else estimate
            if self.until is None or self.budget.reached(record):
                return answer
            return _short_of_target(answer)

    def estimate(self, *, n: int | None = None, progress: Progress | None = None) -> Estimate:
        """The answer from what is stored: the longest beginning in which nothing is missing.

        Args:
            n: use the first so many points only.
            progress: called with (step, total, loss) while a method is trained.
        """
        store = self.evaluations
        self._check_points()
        return answer(
            self._gather(n),
            self.measure,
            kind=self.points,
            method=self.method,
            seed=int(self.seed),
            ignore_failures=self.on_failure == "ignore",
            versions=store.versions(),
            progress=progress,
        )

    def distribution(
        self,
        estimate: Estimate | None = None,
        *,
        model: bool = True,
        progress: Progress | None = None,
    ) -> dict[str, tuple[Statistic, ...]]:
        """Std, quantiles and chances of every output with 95 % intervals; see `sq.distribution`.

        Args:
            estimate: the answer for the mean from `run` or `estimate`, so that it need not be
                computed again.
            model: whether a fitted model may help; without, the simulated values speak alone.
            progress: called with (step, total, loss) while a method is trained.
        """
        estimate = self.estimate(progress=progress) if estimate is None else estimate
        data = independent(self._gather(estimate.stats["evaluations"]), self.points)
        found = distributions(
            sample_of(data, self.measure, self.points),
            self.wanted,
            measure=self.measure if model else None,
            method=Choose() if self.method is None else self.method,
            seed=int(self.seed),
            estimate=estimate,
            progress=progress or no_progress,
        )
        return dict(zip(self.outputs, found, strict=True))

    def kept_estimates(self) -> list[tuple[int, Mapping[str, Any]]]:
        """Answers on the way by this method: points and `Estimate.to_dict`, by number of points.

        Of those from the same points the one with the fewest failures: it came last.
        """
        found: dict[int, tuple[int, Mapping[str, Any]]] = {}
        for n, settings, record in self.evaluations.estimates() if self.evaluations.exists else ():
            method, seed, failed, _ = json.loads(settings)
            known = (method, seed) == (self._method, int(self.seed))
            if known and (n not in found or failed <= found[n][0]):
                found[n] = (failed, record)
        return [(n, record) for n, (_, record) in sorted(found.items())]

    def status(self) -> Counts:
        """How many evaluations are done and failed, and how long they took."""
        return self.evaluations.counts() if self.evaluations.exists else Counts(0, 0, 0.0)

    def report(
        self,
        *paths: str | Path,
        estimate: Estimate | None = None,
        distribution: Mapping[str, Sequence[Statistic]] | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Estimate, and write what was found; returns what a JSON report holds.

        Args:
            paths: files to write, by their ending: .html, .md or .json.
            estimate: the answer from `run` or `estimate` to everything that is stored, so that it
                need not be computed again.
            distribution: what `distribution(estimate)` gave, likewise.
            progress: called with (step, total, loss) while a method is trained.
        """
        from steinquad.report import write_report  # which reads studies

        known = (estimate, distribution)
        return write_report(self, [Path(path) for path in paths], *known, progress=progress)

    def to_dataframe(self) -> Any:
        """A pandas data frame, a row an evaluation."""
        try:
            import pandas as pd
        except ImportError:
            raise InputError(
                "to_dataframe needs pandas, which is not installed; pip install pandas, or write "
                "a file with steinquad export."
            ) from None
        return pd.DataFrame(list(self.records()), columns=pd.Index(self.columns))

    @property
    def columns(self) -> list[str]:
        """Names of what `records` gives; a name that comes twice has a suffix."""
        fixed = ["number", "status", "seconds", "attempt", "failure", "error", "version"]
        columns: list[str] = []
        if self.points == "adaptive":
            fixed.append("weight")
        for name in (*fixed[:2], *self.measure.names, *self.outputs, *fixed[2:]):
            new, k = name, len(columns)
            while new in columns:
                new, k = f"{name}_{k}", k + 1
            columns.append(new)
        return columns

    def records(self) -> Any:
        """Every stored evaluation as a list in the order of `columns`, one at a time."""
        blank = [None] * len(self.outputs)
        points = Chosen(self.numbered, self.evaluations)
        for row in self.evaluations.rows():
            outputs = blank if row.outputs is None else row.outputs
            head = (row.number, row.status, *row.input, *outputs)
            tail = (row.seconds, row.attempt, row.failure, row.error, row.version)
            weight = [points.weight(row.number)] if self.points == "adaptive" else []
            yield [*head, *tail, *weight]

    @cached_property
    def _integrand(self) -> tuple[Call, Callable[..., Any] | None]:
        return build_call(
            self.integrand,
            self.measure.names,
            tuple(self.outputs),
            style=self.style,
            time_limit=self.time_limit,
            memory=self.memory,
            directory=Path(self.directory),
        )

    @property
    def _method(self) -> str:
        """The method, as it is kept with an estimate."""
        return "default" if self.method is None else repr(self.method)

    @property
    def _version(self) -> str:
        return version_of(self.call) if self.version is None else self.version

    def _check_method(self) -> None:
        """Before anything is evaluated that it could not use."""
        if self.method is not None and not isinstance(self.method, Method):
            raise InputError(
                f"method is {self.method!r}; pass one such as sq.BSN(), or None for the default."
            )
        if isinstance(self.method, QuasiMonteCarlo) and self.points != "sobol":
            raise InputError(
                f"method is QuasiMonteCarlo but points is {self.points!r}; use points='sobol'."
            )

    def _check_points(self) -> None:
        """Refuse a store whose points were drawn from other laws."""
        rows = list(self.evaluations.rows(BLOCK)) if self.evaluations.exists else []
        if self.points == "adaptive":
            rows = [row for row in rows if not is_choice(np.array(row.number))]
        here = np.array([self.numbered[row.number] for row in rows])
        for row, point in zip(rows, here, strict=True):
            stored = np.array(row.input)
            same = stored.shape == point.shape and np.all(
                np.abs(stored - point) <= SAME * np.abs(here).max(axis=0)
            )
            if not same:
                raise InputError(
                    f"store {self.store} belongs to another study: its point {row.number} is "
                    f"{list(row.input)}, here it is {point.tolist()}; restore the inputs, or "
                    "give another store."
                )

    def _refuse_limits(self, place: str, instead: str) -> None:
        """Of a function, which only a worker of the pool can be ended with."""
        for name, value in (("time_limit", self.time_limit), ("memory", self.memory)):
            if value is not None and not self.call.command:
                raise InputError(
                    f"{name} is {value!r} but {place}, where a function cannot be limited; leave "
                    f"it out, or {instead}."
                )

    def _executor(self, given: AnyExecutor | None) -> Executor:
        call, function = self._integrand
        workers = self.workers or _cores()
        if given is not None:
            self._refuse_limits("an executor is given", "leave that out and use where='pool'")
            if not isinstance(given, futures.Executor) and not callable(given):
                raise InputError(
                    f"executor is a {type(given).__name__}; pass a concurrent.futures.Executor, "
                    "or a function that makes one."
                )
            return Futures(call, given, 2 * workers, function)
        if self.where == "here":
            return Here(call, function)
        if self.where == "dask":
            from steinquad.studies.dask import dask_executor

            return dask_executor(call, function, workers=self.workers, address=self.address)
        if not (call.function or call.command):
            raise InputError(
                f"integrand {function!r} has no name that a worker process could import it by; "
                "define it with def in a file, or use where='here'."
            )
        return Pool(call, workers)

    def _evaluate(
        self,
        n: int,
        place: Executor,
        rules: Rules,
        watch: Callable[[Snapshot], None] | None,
        record: Mapping[str, Any] | None,
    ) -> None:
        before = self.evaluations.counts()

        def report(done: int, failed: int) -> None:
            if watch is not None:
                watch(Snapshot(before.done + done, before.failed + failed, n, record))

        report(0, 0)
        points = self.numbered
        if self.points == "adaptive" and n > SCOUTS:
            evaluate_all(self.evaluations, points, SCOUTS, place, rules, report)
            before, scouts = self.evaluations.counts(), self._gather(SCOUTS)
            points = Chosen(points, self.evaluations)
            points.choose_until(n, (scouts.x, scouts.fx))
        evaluate_all(self.evaluations, points, n, place, rules, report)

    def _gather(self, n: int | None) -> Gathered:
        """What is stored of the first n points, as far as nothing is missing."""
        return gather(self.evaluations, n, self.measure.dim, len(self.outputs), self.points)

    def _look(
        self, n: int, progress: Progress | None
    ) -> tuple[Mapping[str, Any] | None, Estimate | None]:
        """The answer from the first n points, computed once and kept.

        None where it is refused and more points are to come: too few are done, or too many failed
        so far.
        """
        data = self._gather(n)
        settings = json.dumps([self._method, int(self.seed), data.failed, self.on_failure])
        for kept_n, kept_settings, record in self.evaluations.estimates():
            if (kept_n, kept_settings) == (n, settings):
                return record, None
        try:
            estimate = self.estimate(n=n, progress=progress)
        except InputError:
            if self.budget.goes_on(n):
                return None, None
            raise
        record = estimate.to_dict()
        self.evaluations.keep_estimate(n, settings, record)
        return record, estimate


def _short_of_target(estimate: Estimate) -> Estimate:
    if estimate.status.code in ("suspect", "not_finite"):
        return estimate
    message = f"the std is above the target after {estimate.n} points; allow more runs"
    return estimate.with_status(Status("max_n", message))


@contextmanager
def _closing(executor: Executor) -> Any:
    try:
        yield executor
    finally:
        executor.close()


def _cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check_outputs(outputs: Any) -> None:
    listed = isinstance(outputs, list | tuple | Mapping) and len(outputs) > 0
    if not listed or not all(isinstance(name, str) and name for name in outputs):
        raise InputError(f"outputs is {outputs!r}; give a list of at least one name.")
    if len(set(outputs)) < len(outputs):
        raise InputError(f"outputs is {outputs!r}; give different names.")


def _check_choice(name: str, value: Any, known: Sequence[str]) -> None:
    if value not in known:
        raise InputError(f"{name} is {value!r}; choose one of {', '.join(known)}.")


def _check_count(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} is {value!r}; give an integer of at least {least}.")
