"""Markov chains that go on where they were stopped."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import jax
import numpy as np

from steinquad._files import replaced
from steinquad._types import Array, Progress
from steinquad.designs.base import Design, Sample
from steinquad.designs.chains import Memory
from steinquad.designs.mcmc import MarkovChains
from steinquad.errors import InputError
from steinquad.measures.base import Measure

__all__ = ["Resumable"]

SAME = 1e-10  # relative distance up to which two computations of one log density agree


@dataclass(frozen=True)
class Resumable(Design):
    """A chain design that keeps every finished block of a run in a directory.

    A run that was stopped at any moment gives, when it is started again with the same arguments,
    the very draws that it would have given without the stop; one that has ended gives its draws
    without computing anything but the starts.

    Args:
        design: `MALA`, `TruncatedMALA` or `NUTS`.
        path: directory of the run, made if it is not there. One run each: another measure, seed,
            n or option is refused.

    >>> import tempfile
    >>> from steinquad.designs import MALA
    >>> from steinquad.measures import LogDensity
    >>> normal = LogDensity(lambda x: -x @ x / 2, 1)
    >>> with tempfile.TemporaryDirectory() as path:
    ...     design = Resumable(MALA(chains=1, warmup=20), path)
    ...     first = design.draw(normal, 40, seed=0)
    ...     bool(np.all(first.x == design.draw(normal, 40, seed=0).x))
    True
    """

    design: MarkovChains
    path: str | Path

    def __post_init__(self) -> None:
        if not isinstance(self.design, MarkovChains):
            raise InputError(
                f"design is {type(self.design).__name__}; pass MALA, TruncatedMALA or NUTS."
            )
        if Path(self.path).exists() and not Path(self.path).is_dir():
            raise InputError(f"path {self.path} is a file; give a directory for the run.")

    @property
    def name(self) -> str:
        """That of the design, whose draws these are."""
        return self.design.name

    @property
    def block(self) -> int:
        """As of the design: one point for each chain."""
        return self.design.block

    def draw(
        self, measure: Measure, n: int, *, seed: int, progress: Progress | None = None
    ) -> Sample:
        """Run, or go on with, the chains; see `Design.draw`."""
        options = {f.name: getattr(self.design, f.name) for f in fields(self.design)}
        del options["start"]  # the points that come of it are compared, with the density there
        about = {"design": self.name, **options, "n": n, "seed": seed}
        store = _Directory(Path(self.path), ", ".join(f"{k}={v}" for k, v in about.items()))
        return self.design.draw(measure, n, seed=seed, progress=progress, memory=store)


@dataclass(frozen=True)
class _Directory(Memory):
    """A file for each stage of a run, whole or not there at all."""

    path: Path
    about: str  # the run

    def same(self, **arrays: Array) -> None:
        kept = self._read("run")
        if kept is None:
            self._write("run", {"about": np.array(self.about), **arrays})
            return
        about = str(kept["about"])
        if about != self.about:
            raise InputError(
                f"path {self.path} holds the run {about}, not {self.about}; "
                "choose another directory or delete it."
            )
        for name, array in arrays.items():
            if not np.allclose(kept[name], array, rtol=SAME, atol=0.0):
                raise InputError(
                    f"path {self.path} holds a run with another {name} at the start, of another "
                    "measure or from other points; choose another directory or delete it."
                )

    def recall(self, stage: str, compute: Callable[[], Any]) -> Any:
        kept = self._read(stage)
        if kept is None:
            answer = jax.device_get(compute())
            leaves = jax.tree.leaves(answer)
            self._write(stage, {f"leaf{i}": leaf for i, leaf in enumerate(leaves)})
            return answer
        # The shape of the answer without its computation.
        structure = jax.tree.structure(jax.eval_shape(compute))
        return jax.tree.unflatten(structure, [kept[f"leaf{i}"] for i in range(len(kept))])

    def _read(self, stage: str) -> dict[str, Any] | None:
        file = self.path / f"{stage}.npz"
        if not file.exists():
            return None
        try:
            with np.load(file) as arrays:
                return dict(arrays)
        except (OSError, ValueError, EOFError, BadZipFile):
            raise InputError(f"file {file} cannot be read; delete the directory.") from None

    def _write(self, stage: str, arrays: dict[str, Any]) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            # In one step: a process killed while it writes leaves no half a file of that name.
            with replaced(self.path / f"{stage}.npz") as unfinished:
                np.savez(unfinished, **arrays)
        except OSError as error:
            raise InputError(
                f"path {self.path} cannot be written ({error.strerror}); give another directory."
            ) from None
