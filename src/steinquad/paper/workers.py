"""Runs in worker processes, where CPU seconds and peak memory can be measured.

A worker is used again for the next run, which saves the import. To keep its figures honest it
drops all compiled programs after each run, sets the peak back before the next, and is replaced
as soon as it holds more memory at rest than when it was new. Where the system cannot set the peak
back, every run has a worker of its own.
"""

import gc
import multiprocessing
import os
import platform
import resource
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import jax

import steinquad as sq
from steinquad.paper.evaluations import Evaluations, cpu_seconds, evaluations
from steinquad.paper.methods import COSTLY, DESIGNS, build_method, build_problem, takes_steps
from steinquad.paper.record import REFUSED, Record, Run, finite
from steinquad.paper.training import Training
from steinquad.problems import Problem

__all__ = ["Death", "execute", "records_of"]

LEFT_OVER = 48.0  # MiB that a worker may hold at rest beyond what it held when it was new
WARM_UP = Run("genz-continuous", "MC", 8, 1, 0)  # what is loaded late is loaded by this
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Death:
    """A worker that ended without an answer: killed for its memory, most likely.

    Attributes:
        run: what it was doing, which is not recorded and so is tried again the next time.
        exit_code: of the process; minus the signal that killed it.
    """

    run: Run
    exit_code: int | None


def records_of(
    runs: Sequence[Run], jobs: int, directory: Path | None = None
) -> Iterator[Record | Death]:
    """The outcomes of runs as they come, from so many workers at a time.

    Args:
        runs: what is to be done.
        jobs: how many workers.
        directory: where expensive evaluations are kept for other runs.
    """
    waiting = iter(runs)
    busy: dict[Connection, _Worker] = {}
    try:
        while True:
            for run in islice(waiting, jobs - len(busy)):
                worker = _Worker(directory)
                busy[worker.connection] = worker
                worker.begin(run)
            if not busy:
                return
            for ready in wait(list(busy)):
                worker = busy.pop(ready)  # pyright: ignore[reportArgumentType]
                answer, again = worker.answer()
                following = next(waiting, None) if again else None
                if following is None:
                    worker.end()
                else:
                    worker.begin(following)
                    busy[worker.connection] = worker
                yield answer  # last: the worker need not wait for the caller
    finally:
        for worker in busy.values():
            worker.end()


def execute(run: Run, directory: Path | None = None) -> Record:
    """Do one run, here and now, and measure what it took.

    Args:
        run: what to compute.
        directory: where expensive evaluations are kept for other runs; None keeps none.
    """
    problem = build_problem(run.problem, run.d)
    method = build_method(run.method, run.settings.get("max_steps"))
    kept = evaluations(run, problem, directory) if run.problem in COSTLY else None
    _forget_peak()
    rest, start = _memory("VmRSS"), cpu_seconds()
    if isinstance(method, Training):
        outcome = method.follow(problem, run.n, run.seed, cpu_seconds)
    else:
        outcome = _integrate(run, problem, method, kept)
    seconds, peak = cpu_seconds() - start, _memory("VmHWM")
    return Record(
        run=run,
        truth=float(problem.truth),
        cpu_seconds=round(seconds, 4),
        peak_mib=round(peak, 1),
        rest_mib=round(rest, 1),
        versions={
            "python": platform.python_version(),
            **{name: version(name) for name in ("steinquad", "jax", "numpy", "scipy")},
        },
        evaluation_seconds=None if kept is None else round(kept.cpu_seconds, 4),
        **outcome,
    )


def _integrate(
    run: Run, problem: Problem[float], method: sq.Method, kept: Evaluations | None
) -> Mapping[str, Any]:
    """What a record says of an estimate or of its refusal."""
    try:
        if kept is not None:
            answer = kept.estimate(method, run.seed)
        else:
            answer = sq.integrate(
                problem.integrand,
                problem.measure,
                n=run.n,
                method=method,
                design=DESIGNS[run.settings.get("design", "iid")],
                seed=run.seed,
            )
    except sq.InputError as error:  # too many points for its memory, points that it cannot use
        nothing = dict.fromkeys(("estimate", "std", "error", "loss"))
        return {**nothing, "status": REFUSED, "message": str(error)}
    return {
        "estimate": finite(answer.mean),
        "std": finite(answer.std),
        "error": finite(abs(answer.mean - problem.truth)),
        "status": answer.status.code,
        "message": answer.status.message,
        "loss": finite(answer.stats["loss"]) if takes_steps(run.method) else None,
    }


class _Worker:
    """A new interpreter that does runs until it is ended."""

    def __init__(self, directory: Path | None) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, directory), daemon=True)
        self.process.start()
        theirs.close()  # so that its death is the end of the pipe

    def begin(self, run: Run) -> None:
        self.run = run
        with suppress(ConnectionError):  # of a death, which `answer` tells
            self.connection.send(run)

    def answer(self) -> tuple[Record | Death, bool]:
        """What came of it, and whether the worker can be used again."""
        try:
            return self.connection.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            return Death(self.run, self.process.exitcode), False

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _serve(connection: Connection, directory: Path | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops, and stops its workers
    threading.Thread(target=_end_with_parent, daemon=True).start()
    execute(WARM_UP)
    new = _rest()
    while True:
        try:
            run = connection.recv()
        except EOFError:
            return
        record = execute(run, directory)
        connection.send((record, _forget_peak() and _rest() <= new + LEFT_OVER))


def _end_with_parent() -> None:
    """A parent that was killed cannot stop its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _rest() -> float:
    """Memory once nothing is kept that could be dropped, in MiB."""
    jax.clear_caches()
    gc.collect()
    return _memory("VmRSS")


def _forget_peak() -> bool:
    """Set the peak back to the memory of now; False where that is not possible."""
    with suppress(OSError):
        CLEAR.write_text("5")
        return True
    return False


def _memory(which: str) -> float:
    """VmRSS, now, or VmHWM, the peak, in MiB; the latter for both where there is no /proc."""
    # ru_maxrss starts at the memory of whoever started the process: the second choice.
    if STATUS.exists():
        fields = dict(line.split(":", 1) for line in STATUS.read_text().splitlines() if line)
        return float(fields[which].split()[0]) / 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
