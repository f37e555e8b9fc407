"""`steinquad truth PROBLEM`: compute a stored truth again and compare. A command each problem."""

import json
import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Column, Table

import steinquad as sq
from steinquad.errors import InputError
from steinquad.paper import goodwin_truth
from steinquad.paper.commands.values import ChainsPath, Values, ValuesPath, evaluate
from steinquad.paper.goodwin_truth import Reference, contradictions
from steinquad.problems.goodwin import PARAMETERS
from steinquad.problems.wind_farm import truth_of
from steinquad.terminal.commands import AsJson, new_app
from steinquad.terminal.progress import progress_bar

__all__ = ["app"]

DISAGREEMENT = 1  # exit code
AGREEMENT = 2e-8  # relative: eight digits are stored for Goodwin
STANDARD_ERRORS = 3.0  # apart, for a contradiction of the wind farm's one computation

app = new_app("Compute the truth of a problem again and check what is stored.")


@app.command()
def goodwin(
    seed: Annotated[int, typer.Option(help="Seed of the data.")] = 0,
    draws: Annotated[int, typer.Option(help="NUTS draws, a multiple of 4.")] = 8000,
    order: Annotated[int, typer.Option(help="Order of the Stein polynomials.")] = 4,
    points: Annotated[int, typer.Option(help="Sobol points, 16 times a power of 2.")] = 16384,
    rtol: Annotated[float, typer.Option(help="Tolerance of the ODE solver.")] = 1e-9,
    draw_seed: Annotated[int, typer.Option(help="Seed of draws and scrambles.")] = 0,
    path: ChainsPath = None,
    as_json: AsJson = False,
) -> None:
    """Posterior means of the Goodwin oscillator, by NUTS with Stein polynomials and by Sobol."""
    goodwin_truth.check_sizes(draws, points)
    sq.Polynomial(order=order)  # refuses a bad one now, not after the chains
    problem = sq.problems.goodwin(seed, rtol=rtol)
    with progress_bar(label="Sobol", enabled=not as_json) as progress:
        sobol = goodwin_truth.by_importance(problem, points, seed=draw_seed, progress=progress)
    with progress_bar(label="NUTS", enabled=not as_json) as progress:
        nuts = goodwin_truth.by_nuts(
            problem, draws, order=order, seed=draw_seed, path=path, progress=progress
        )
    rows = [sobol, nuts]
    if not np.isnan(problem.truth).any():
        rows.insert(0, Reference("stored", problem.truth, np.zeros_like(problem.truth)))
    trouble = list(contradictions(rows, PARAMETERS, rtol=AGREEMENT + rtol))
    if as_json:
        plain = [{"by": r.name, "mean": r.mean.tolist(), "std": r.std.tolist()} for r in rows]
        typer.echo(json.dumps({"names": PARAMETERS, "rows": plain, "contradictions": trouble}))
    else:
        _print(PARAMETERS, rows, trouble)
    if trouble:
        raise typer.Exit(DISAGREEMENT)


@app.command("wind-farm")
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
    path: ValuesPath = None,
    as_json: AsJson = False,
) -> None:
    """Expected thrust of the wind farm by scrambled Sobol points: 12 CPU ms an evaluation."""
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
    settings = {"problem": problem.name, "points": points, "seed": seed, "replicates": replicates}
    done = Values(path, settings)
    with progress_bar(label="evaluations", reading="spread", enabled=not as_json) as progress:
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


def _print(names: Sequence[str], rows: Sequence[Reference], trouble: Sequence[str]) -> None:
    console = Console(highlight=False, markup=False)  # markup would swallow the [f] of E[f]
    columns = (Column(f"E[{name}]", justify="right", no_wrap=True) for name in names)
    table = Table(Column("by", no_wrap=True), *columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(row.name, *(f"{value:.10f}" for value in row.mean))
        if row.std.any():
            table.add_row("  +-", *(f"{value:.1e}" for value in row.std))
    console.print(table)
    if not any(row.name == "stored" for row in rows):
        console.print("No truth is stored for these data.")
    for sentence in trouble:
        console.print(f"Contradiction: {sentence}.")
    if not trouble:
        console.print("All agree.")
