"""Chains and simulator runs, made once for all methods and kept beside the records.

One file for each set of points, whole or not there at all. Chains are kept block by block until
it is, so that a kill costs one block. While one process makes a file, others wait for it.
"""

import resource
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from filelock import FileLock

import steinquad as sq
from steinquad.designs import IID
from steinquad.errors import InputError
from steinquad.measures.base import Measure
from steinquad.paper.methods import CHAINS
from steinquad.paper.record import Run
from steinquad.paper.store import replacing
from steinquad.problems import Problem, goodwin_mala

__all__ = ["Evaluations", "cpu_seconds", "evaluations"]


@dataclass(frozen=True, eq=False)
class Evaluations:
    """The data of a run.

    Attributes:
        data: points and values, for chains with scores.
        measure: what the points were drawn from; None where the scores say all that is known.
        notes: trouble with the points, each a sentence without its period.
        cpu_seconds: of drawing and evaluating, since that was last begun.
    """

    data: sq.Dataset
    measure: Measure | None
    notes: tuple[str, ...]
    cpu_seconds: float

    def estimate(self, method: sq.Method, seed: int) -> sq.Estimate:
        """The answer of a method to these data, suspect where the points are.

        What is wrong with the points comes before what the method says of itself.

        Args:
            method: which answers.
            seed: of the method, not of the points.
        """
        answer = sq.estimate(self.data, measure=self.measure, method=method, seed=seed)
        if not self.notes:
            return answer
        sentences = "; ".join((*self.notes, answer.status.message))
        return answer.with_status(sq.Status("suspect", sentences))


def cpu_seconds() -> float:
    """User and system time of this process so far, of all its threads.

    The difference of two calls is what a computation cost; unlike wall time it does not fall when
    more threads share the work.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def evaluations(run: Run, problem: Problem[float], directory: Path | None) -> Evaluations:
    """The points of a run, and f there, made unless another run has made them.

    Args:
        run: whose problem, design, n and seed say which points.
        problem: what `build_problem` gave for it.
        directory: where points and values are kept for the runs of other methods; None keeps
            nothing.
    """
    design = run.settings["design"]
    if directory is None:
        kept = _make(run, problem, None)
    else:
        # Chains are those of the measure, which several problems share.
        family = "goodwin" if design in CHAINS else run.problem
        file = directory / f"{family}-{design}-{run.n}-{run.seed}.npz"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            lock = FileLock(file.with_suffix(".lock")).acquire()  # ends with its process at last
        except OSError as error:
            raise InputError(f"path {directory} cannot be written ({error.strerror}).") from None
        with lock:
            if not file.exists():
                chains = file.with_suffix(".chains")
                arrays = _make(run, problem, chains)
                with replacing(file) as stream:
                    np.savez(stream, **arrays)
                shutil.rmtree(chains, ignore_errors=True)
            kept = _read(file)
    x, score = kept["x"], kept.get("score")
    values = kept["values"] if "values" in kept else problem.integrand(x)
    return Evaluations(
        data=sq.Dataset(x, values, score, groups=kept.get("groups")),
        measure=problem.measure if score is None else None,
        notes=tuple(str(note) for note in kept["notes"]),
        cpu_seconds=float(kept["cpu_seconds"]),
    )


def _make(run: Run, problem: Problem[float], chains: Path | None) -> dict[str, Any]:
    start, options = cpu_seconds(), CHAINS.get(run.settings["design"])
    design = IID() if options is None else goodwin_mala(**options, path=chains)
    sample = design.draw(problem.measure, run.n, seed=run.seed)
    if options is None:
        known = {"values": problem.integrand(sample.x)}
    else:  # f is a coordinate, and another one for the problems that share the chains
        known = {"score": sample.score, "groups": sample.groups}
    notes = np.array(sample.notes, dtype=str)
    return {"x": sample.x, "notes": notes, "cpu_seconds": cpu_seconds() - start, **known}


def _read(file: Path) -> dict[str, Any]:
    try:
        with np.load(file) as arrays:
            return dict(arrays)
    except (OSError, ValueError, EOFError, BadZipFile):
        raise InputError(f"file {file} cannot be read; delete it.") from None
