"""A study: an expensive integrand under uncertain inputs, over days and losing nothing."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from steinquad._types import ProgressOption, as_flag, as_path
from steinquad.errors import InputError, shown
from steinquad.estimate import Estimate
from steinquad.studies.adaptive import Chosen
from steinquad.studies.database import plainly
from steinquad.studies.file import load
from steinquad.studies.gathered import check_points
from steinquad.studies.look import Look, look
from steinquad.studies.points import BLOCK
from steinquad.studies.run import AnyExecutor, Snapshot, StudyRun, place_for
from steinquad.studies.settings import Settings
from steinquad.studies.store import Counts, Store
from steinquad.summaries.statistic import Statistic

__all__ = ["Study"]


@dataclass(frozen=True, eq=False)
class Study(Settings):
    """Evaluate an integrand at numbered points, store every result, and estimate its mean.

    For a simulator that takes seconds to hours a run: what is stored is never computed again, so
    that a study can be stopped, killed, resumed and given a larger budget. `steinquad.report`
    writes a page of what it found.

    Args:
        integrand: a function, `"module:function"`, `"file.py:function"`, or a `Command`. A
            function takes the inputs by name and answers with a number, a sequence or a mapping.
        inputs: their joint distribution, e.g. `sq.Product({"load": dist.Normal(1, 0.1), ...})`.
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
        method: how to estimate, by default `Stack()`.
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
        sources: files that the study was made from, which no report may overwrite.

    >>> import tempfile, scipy.stats as st, steinquad as sq
    >>> with tempfile.TemporaryDirectory() as place:
    ...     inputs = sq.Product({"load": st.norm(1.0, 0.1)})
    ...     study = sq.Study(lambda load: load**2, inputs, f"{place}/s.sqlite", 32, where="here")
    ...     est = study.run()
    >>> abs(est.mean - 1.01) < 1e-6
    True
    """

    @classmethod
    def load(cls, path: str | Path) -> "Study":
        """The study of a TOML file, whose paths are relative to it.

        Args:
            path: of the file; docs/studies.md has its keys. A mistake in it is an `InputError`
                with file, line and key.
        """
        return load(as_path("path", path), cls)

    @cached_property
    def evaluations(self) -> Store:
        """The store with every evaluation so far, and the answers that were kept on the way.

        For questions that the study itself does not answer, such as how calls failed. No file is
        made or opened before something is read or run.
        """
        return Store(Path(self.store), self.about)

    def run(
        self,
        *,
        executor: AnyExecutor | None = None,
        retry_failed: bool = False,
        watch: Callable[[Snapshot], None] | None = None,
        progress: ProgressOption = None,
    ) -> Estimate:
        """Evaluate what is missing, and estimate; what is stored is never done again.

        Args:
            executor: any `concurrent.futures.Executor` in place of `where`, or a function that
                makes one, which is called again if the executor breaks.
            retry_failed: give points that failed for good all their attempts again.
            watch: called with a `Snapshot` whenever something has finished.
            progress: True for a bar, or a function that is called with (step, total, loss) while a
                method is trained.
        """
        store, retry_failed = self.evaluations, as_flag("retry_failed", retry_failed)
        with store.writing(), place_for(self, executor) as place:
            check_points(list(store.rows(BLOCK)), self)
            if retry_failed:
                store.forget_attempts()
            return StudyRun(self, store, place, watch, progress).finish()

    def look(self, n: int | None = None) -> Look:
        """What is stored now, read once, for several questions to one state of the store.

        While another process runs the study, two calls of `estimate` may see different points; a
        `Look` gives mean and distribution from the same ones.

        Args:
            n: use the first so many points only; by default all up to the first that is missing.
        """
        return look(self.evaluations, self, n)

    def estimate(self, *, n: int | None = None, progress: ProgressOption = None) -> Estimate:
        """The answer from what is stored: the longest beginning in which nothing is missing.

        Nothing is evaluated or written, so this also works while another process runs the study.

        Args:
            n: use the first so many points only.
            progress: True for a bar, or a function that is called with (step, total, loss) while a
                method is trained.

        Raises:
            InputError: more than 1 % failed and that is not to be ignored, or fewer than two
                points are done.
        """
        return self.look(n).estimate(progress)

    def distribution(
        self,
        estimate: Estimate | None = None,
        *,
        model: bool = True,
        progress: ProgressOption = None,
    ) -> dict[str, tuple[Statistic, ...]]:
        """Std, quantiles and chances of every output with 95 % intervals; see `sq.distribution`.

        Args:
            estimate: the answer for the mean from `run` or `estimate`, so that it need not be
                computed again.
            model: whether a fitted model may help; without, the simulated values speak alone.
            progress: True for a bar, or a function that is called with (step, total, loss) while a
                method is trained.
        """
        if estimate is not None and not isinstance(estimate, Estimate):
            raise InputError(f"estimate is {shown(estimate)}; pass what run or estimate gave.")
        seen = self.look(None if estimate is None else estimate.stats["evaluations"])
        estimate = seen.estimate(progress) if estimate is None else estimate
        return seen.distribution(estimate, model=model, progress=progress)

    def kept_estimates(self) -> list[tuple[int, Mapping[str, Any]]]:
        """Answers on the way by this method: points and `Estimate.to_dict`, by number of points.

        For a plot of convergence without fitting again. Of those from the same points it is the
        one with the fewest failures: it came last.
        """
        latest: dict[int, tuple[int, Mapping[str, Any]]] = {}
        for n, key, record in self.evaluations.estimates() if self.evaluations.exists else ():
            with plainly(self.evaluations.path):  # the key of `Look`, if it was not altered
                method, seed, failed, _ = json.loads(key)
            own = (method, seed) == (self.method_text, int(self.seed))
            if own and (n not in latest or failed <= latest[n][0]):
                latest[n] = (failed, record)
        return [(n, record) for n, (_, record) in sorted(latest.items())]

    def status(self) -> Counts:
        """How many evaluations are done and failed, and how long they took; also while it runs.

        Quick, since no evaluation is read one by one; all zeros for a study that was never run.
        """
        return self.evaluations.counts() if self.evaluations.exists else Counts(0, 0, 0.0)

    def to_dataframe(self) -> Any:
        """A pandas data frame of all evaluations, those that failed too, a row each.

        Its columns are those of `columns`; outputs of failed points are missing values. All rows
        are in memory at once: for a very large store, iterate over `records`.

        Raises:
            InputError: pandas is not installed, or nothing is stored yet.
        """
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
        """Names of what `records` gives, in order: number, status, inputs, outputs, and the rest.

        A name that comes twice, say of an input and an output, has a suffix from the second time
        on. Adaptive studies have a last column `weight`, which any average has to use.
        """
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

    def records(self) -> Iterator[list[Any]]:
        """Every stored evaluation as a list in the order of `columns`, one at a time.

        Done and failed ones by number, gaps left out; outputs of those that failed are None. Read
        as they are asked for, so that an export of any size needs little memory.
        """
        blank = [None] * len(self.outputs)
        points = Chosen(self.numbered, self.evaluations)
        for row in self.evaluations.rows():
            outputs = blank if row.outputs is None else row.outputs
            head = (row.number, row.status, *row.input, *outputs)
            tail = (row.seconds, row.attempt, row.failure, row.error, row.version)
            weight = [points.weight(row.number)] if self.points == "adaptive" else []
            yield [*head, *tail, *weight]
