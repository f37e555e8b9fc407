"""`steinquad truth wind-farm`: the expected thrust by randomized quasi-Monte Carlo."""

import json
import math
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from steinquad._types import Array, Progress
from steinquad.cli.progress import progress_bar
from steinquad.errors import InputError
from steinquad.problems import Problem

__all__ = ["wind_farm"]

DISAGREEMENT = 1  # exit code
STANDARD_ERRORS = 3.0  # apart, for a contradiction
BATCH = 32  # evaluations between two writes


def wind_farm(
    physics: Annotated[str, typer.Option(help="p22 or p26.")] = "p22",
    direction_truncation: Annotated[str, typer.Option(help="whole or components.")] = "whole",
    turbulence: Annotated[str, typer.Option(help="paper or code.")] = "paper",
    inputs: Annotated[str, typer.Option(help="all or direction.")] = "all",
    points: Annotated[
        int, typer.Option(help="Evaluations in all, replicates times a power of 2.")
    ] = 32768,
    replicates: Annotated[int, typer.Option(help="Independent scrambles.")] = 16,
    seed: Annotated[int, typer.Option(help="Seed of the scrambles.")] = 0,
    path: Annotated[
        Path | None, typer.Option(help="File to keep values in, to go on after a stop.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Expected thrust of the wind farm by scrambled Sobol points: 12 CPU ms an evaluation."""
    import steinquad as sq
    from steinquad.problems.wind_farm import truth_of

    problem = sq.problems.wind_farm(
        physics=physics,
        direction_truncation=direction_truncation,
        turbulence=turbulence,
        inputs=inputs,
    )
    each = points // max(replicates, 1)
    if replicates < 2 or each < 1 or each * replicates != points or each & (each - 1):
        raise InputError(
            f"--points is {points} with --replicates {replicates}; give at least 2 replicates, "
            "and a power of two of points for each."
        )
    if seed < 0:
        raise InputError(f"--seed is {seed}; give an integer >= 0.")
    sample = sq.designs.Sobol(replicates=replicates).draw(problem.measure, points, seed=seed)
    done = Values(
        path,
        {"problem": problem.name, "points": points, "seed": seed} | {"replicates": replicates},
    )
    with progress_bar(label="evaluations", enabled=not as_json) as progress:
        values = evaluate(problem, sample.x, done, progress)
    means = values.reshape(replicates, each).mean(axis=1)
    mean, std = float(means.mean()), float(means.std(ddof=1) / math.sqrt(replicates))
    stored, stored_std = truth_of(problem)
    agrees = None
    if not math.isnan(stored):
        agrees = abs(mean - stored) <= STANDARD_ERRORS * math.hypot(std, stored_std)
    if as_json:
        record = {"problem": problem.name, "mean": mean, "std": std, "points": points}
        known = {"stored": stored, "stored_std": stored_std} if agrees is not None else {}
        typer.echo(json.dumps(record | known | {"agrees": agrees}))
    else:
        typer.echo(f"{problem.name}: {mean:.7f} +- {std:.1e} from {points} evaluations")
        verdict = {None: "nothing is stored for it", True: "they agree", False: "CONTRADICTION"}
        known = "" if agrees is None else f"stored: {stored:.7f} +- {stored_std:.1e}; "
        typer.echo(known + verdict[agrees] + ".")
    if agrees is False:
        raise typer.Exit(DISAGREEMENT)


class Values:
    """Values of f in a JSON-lines file, whose first line says what they are; None keeps none."""

    def __init__(self, path: Path | None, settings: dict[str, str | int]) -> None:
        self.path, self.rows = path, list[float]()
        if path is None:
            return
        try:
            lines = path.read_text().splitlines() if path.exists() else []
            if not lines:
                path.write_text(json.dumps(settings) + "\n")
                return
            found = json.loads(lines[0])
            for line in lines[1:]:
                self.rows += json.loads(line)
        except json.JSONDecodeError:
            raise InputError(
                f"--path {path} is not a file of this command; name another."
            ) from None
        except OSError as error:
            raise InputError(
                f"--path {path} cannot be used ({error.strerror}); name a file that can."
            ) from None
        if found != settings:
            raise InputError(
                f"--path {path} holds values of {found}, not of {settings}; name another file."
            )

    def add(self, values: Array) -> None:
        """Keep some more."""
        self.rows += values.tolist()
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(values.tolist()) + "\n")


def evaluate(problem: Problem, x: Array, done: Values, progress: Progress) -> Array:
    """f at every point, from the first that is not done."""
    while len(done.rows) < len(x):
        start = len(done.rows)
        done.add(problem.integrand(x[start : start + BATCH]))
        progress(len(done.rows), len(x), float(np.std(done.rows)))
    return np.array(done.rows)
