"""`steinquad truth goodwin`: the posterior means of the Goodwin oscillator, computed anew."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from steinquad.cli.progress import progress_bar
from steinquad.paper.reference import Reference, contradictions

__all__ = ["goodwin"]

DISAGREEMENT = 1  # exit code
AGREEMENT = 2e-8  # relative: eight digits are stored


def goodwin(
    seed: Annotated[int, typer.Option(help="Seed of the data.")] = 0,
    draws: Annotated[int, typer.Option(help="NUTS draws, a multiple of 4.")] = 8000,
    order: Annotated[int, typer.Option(help="Order of the Stein polynomials.")] = 4,
    points: Annotated[int, typer.Option(help="Sobol points, 16 times a power of 2.")] = 16384,
    rtol: Annotated[float, typer.Option(help="Tolerance of the ODE solver.")] = 1e-9,
    draw_seed: Annotated[int, typer.Option(help="Seed of draws and scrambles.")] = 0,
    path: Annotated[
        Path | None, typer.Option(help="Directory to keep the chains in, to go on after a stop.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Posterior means of the Goodwin oscillator, by NUTS with Stein polynomials and by Sobol."""
    import steinquad as sq
    from steinquad.paper.goodwin import by_importance, by_nuts, check_sizes
    from steinquad.problems.goodwin import PARAMETERS

    check_sizes(draws, points)
    sq.Polynomial(order=order)  # refuses a bad one now, not after the chains
    problem = sq.problems.goodwin(seed, rtol=rtol)
    with progress_bar(label="Sobol", enabled=not as_json) as progress:
        found = [by_importance(problem, points, seed=draw_seed, progress=progress)]
    with progress_bar(label="NUTS", enabled=not as_json) as progress:
        found.append(
            by_nuts(problem, draws, order=order, seed=draw_seed, path=path, progress=progress)
        )
    if not np.isnan(problem.truth).any():
        found.insert(0, Reference("stored", problem.truth, np.zeros_like(problem.truth)))
    trouble = list(contradictions(found, PARAMETERS, rtol=AGREEMENT + rtol))
    if as_json:
        rows = [{"by": r.name, "mean": r.mean.tolist(), "std": r.std.tolist()} for r in found]
        typer.echo(json.dumps({"names": PARAMETERS, "rows": rows, "contradictions": trouble}))
    else:
        _print(PARAMETERS, found, trouble)
    if trouble:
        raise typer.Exit(DISAGREEMENT)


def _print(names: Sequence[str], rows: Sequence[Reference], trouble: Sequence[str]) -> None:
    console = Console()
    table = Table(box=None, pad_edge=False)
    table.add_column("by", no_wrap=True)
    for name in names:
        table.add_column(f"E[{name}]".replace("[", r"\["), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row.name, *(f"{value:.10f}" for value in row.mean))
        if row.std.any():
            table.add_row("  +-", *(f"{value:.1e}" for value in row.std))
    console.print(table)
    if not any(row.name == "stored" for row in rows):
        console.print("No truth is stored for these data.", highlight=False)
    for sentence in trouble:
        console.print(f"Contradiction: {sentence}.", highlight=False, markup=False)
    if not trouble:
        console.print("All agree.", highlight=False)
