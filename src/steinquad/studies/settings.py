"""The settings of a study: what is evaluated, where, how often; all of them checked at once."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Literal

from steinquad._types import SEEDS, is_count, is_positive, is_word
from steinquad.errors import InputError, shown
from steinquad.measures import Measure, as_measure
from steinquad.methods.base import Method
from steinquad.methods.quasi_monte_carlo import QuasiMonteCarlo
from steinquad.studies.budget import Budget
from steinquad.studies.calls.call import Call
from steinquad.studies.integrand import bytes_of, complete
from steinquad.studies.points import KINDS, NumberedPoints, default_kind
from steinquad.summaries.requested import Requested

__all__ = ["PLACES", "Settings"]

PLACES = ("pool", "here", "dask")


@dataclass(frozen=True, eq=False)
class Settings:
    """What a `Study` is made of: its fields, checked, and the objects that they describe.

    Attributes:
        measure: the joint distribution of the inputs.
        requested: what is asked of the distribution of each output.
        budget: how far the study goes, and where it looks at its answer.
        numbered: its points by number.
        call: how the integrand is called.
        function: the integrand itself where it was given as an object.
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
    sources: Sequence[str | Path] = ()
    measure: Measure = field(init=False, repr=False)
    requested: tuple[Requested, ...] = field(init=False, repr=False)
    budget: Budget = field(init=False, repr=False)
    numbered: NumberedPoints = field(init=False, repr=False)
    call: Call = field(init=False, repr=False)
    function: Callable[..., Any] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        requested = _requested(self.outputs)
        self._check_plain_values()
        measure = as_measure(self.inputs)
        points = default_kind(measure) if self.points == "auto" else self.points
        _check_method(self.method, points)
        budget = Budget(self.runs, self.until, self.every)
        numbered = NumberedPoints(measure, points, seed=int(self.seed))
        call, function = complete(
            Call(
                measure.names,
                tuple(self.outputs),
                style=self.style,
                time_limit=self.time_limit,
                memory=None if self.memory is None else bytes_of(self.memory),
                directory=str(Path(self.directory).resolve()),
            ),
            self.integrand,
        )
        made = {"measure": measure, "points": points, "requested": requested, "budget": budget}
        made |= {"numbered": numbered, "call": call, "function": function}
        for key, value in made.items():
            object.__setattr__(self, key, value)
        if self.where != "pool":
            self.refuse_limits(f"where is {self.where!r}", "use where='pool'")

    @property
    def about(self) -> dict[str, str]:
        """What a store has to agree with, or it belongs to another study: names to texts.

        Whatever decides where points lie, and what columns mean. The budget, the method and the
        way of running are not among it, so that a study can go on with others.
        """
        return {
            "inputs": json.dumps(self.measure.names),
            "outputs": json.dumps(list(self.outputs)),
            "points": self.points,
            "seed": str(int(self.seed)),
            "first point": json.dumps(self.numbered[0]),  # other distributions, other points
        }

    @property
    def method_text(self) -> str:
        """The method as it is kept with an estimate, so that those by another are not mixed up.

        Its `repr` with all options, or `default` where none was given: not the same as the repr of
        `Stack()`, though that is what is used.
        """
        return "default" if self.method is None else repr(self.method)

    def refuse_limits(self, place: str, instead: str) -> None:
        """Complain of limits of a function, which only a worker of the pool can be ended with.

        Args:
            place: the reason why this is not the pool, for the complaint.
            instead: what to do about it.
        """
        for name, value in (("time_limit", self.time_limit), ("memory", self.memory)):
            if value is not None and not self.call.command:
                raise InputError.about(
                    name,
                    f"is {value!r} but {place}, where a function cannot be limited; leave it "
                    f"out, or {instead}",
                )

    def _check_plain_values(self) -> None:
        _check_choice("on_failure", self.on_failure, ("refuse", "ignore"))
        _check_choice("where", self.where, PLACES)
        if not is_count(self.seed, 0) or self.seed >= SEEDS:
            problem = f"is {shown(self.seed)}; give an integer >= 0 and below 2^63"
            raise InputError.about("seed", problem)
        _check_count("batch", self.batch, 1)
        _check_count("retries", self.retries, 0)
        _check_count("workers", 1 if self.workers is None else self.workers, 1)
        limit = self.time_limit
        if limit is not None and not is_positive(limit):
            raise InputError.about(
                "time_limit", f"is {shown(limit)}; give seconds above 0, or None"
            )
        for key, value in (("store", self.store), ("directory", self.directory)):
            if not isinstance(value, str | Path) or "\x00" in str(value):
                raise InputError.about(key, f"is {shown(value)}; give a path")
        _check_choice("points", self.points, ("auto", *KINDS))


def _requested(outputs: Any) -> tuple[Requested, ...]:
    """What is asked of each output, after a look at their names."""
    listed = isinstance(outputs, list | tuple | Mapping) and len(outputs) > 0
    if not listed or not all(isinstance(name, str) and name for name in outputs):
        raise InputError.about("outputs", f"is {shown(outputs)}; give a list of at least one name")
    if len(set(outputs)) < len(outputs):
        raise InputError.about("outputs", f"is {shown(outputs)}; give different names")
    if not isinstance(outputs, Mapping):
        return (Requested(),) * len(outputs)
    return tuple(Requested.parse(name, given) for name, given in outputs.items())


def _check_method(method: Any, points: str) -> None:
    """Before anything is evaluated that it could not use."""
    if method is not None and not isinstance(method, Method):
        raise InputError.about(
            "method", f"is {shown(method)}; pass one such as sq.BSN(), or None for the default"
        )
    if isinstance(method, QuasiMonteCarlo) and points != "sobol":
        raise InputError.about(
            "method", f"is QuasiMonteCarlo but points is {points!r}; use points='sobol'"
        )


def _check_choice(name: str, value: Any, known: Sequence[str]) -> None:
    if not is_word(value, *known):
        raise InputError.about(name, f"is {shown(value)}; choose one of {', '.join(known)}")


def _check_count(name: str, value: Any, least: int) -> None:
    if not is_count(value, least):
        raise InputError.about(name, f"is {shown(value)}; give an integer of at least {least}")
