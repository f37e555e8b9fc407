"""`steinquad truth PROBLEM`: compute a stored truth anew and compare. A command each problem."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from steinquad.cli.progress import progress_bar
from steinquad.reproduce.reference import Reference, contradictions

__all__ = ["app"]

DISAGREEMENT = 1  # exit code

app = typer.Typer(
    help="Compute the truth of a problem anew and check what is stored.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _root() -> None:
    """Compute the truth of a problem anew and check what is stored."""


@app.command()
def goodwin(
    seed: Annotated[int, typer.Option(help="Seed of the data.")] = 0,
    draws: Annotated[int, typer.Option(help="NUTS draws, a multiple of 4.")] = 8000,
    order: Annotated[int, typer.Option(help="Order of the Stein polynomials.")] = 4,
    points: Annotated[int, typer.Option(help="Sobol points, 8 times a power of 2.")] = 16384,
    rtol: Annotated[float, typer.Option(help="Tolerance of the ODE solver.")] = 1e-9,
    draw_seed: Annotated[int, typer.Option(help="Seed of draws and scrambles.")] = 0,
    path: Annotated[
        Path | None, typer.Option(help="Directory to keep the chains in, to go on after a stop.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Posterior means of the Goodwin oscillator, by NUTS with Stein polynomials and by Sobol."""
    import steinquad as sq
    from steinquad.problems.goodwin import PARAMETERS
    from steinquad.reproduce.goodwin import by_importance, by_nuts, check_sizes

    check_sizes(draws, points)
    sq.Polynomial(order=order)  # refuses a bad one now, not after the chains
    problem = sq.problems.goodwin(seed, rtol=rtol)
    with progress_bar(label="Sobol", enabled=not as_json) as progress:
        found = [by_importance(problem, points, seed=draw_seed, progress=progress)]
    with progress_bar(label="NUTS", enabled=not as_json) as progress:
        found.append(
            by_nuts(problem, draws, order=order, seed=draw_seed, path=path, progress=progress)
        )
    report(PARAMETERS, problem.truth, found, rtol=2e-8 + rtol, as_json=as_json)


def report(
    names: Sequence[str],
    stored: float | np.ndarray,
    found: Sequence[Reference],
    *,
    rtol: float,
    as_json: bool,
) -> None:
    """Print what is stored beside what was found; exit code 1 if any two contradict each other.

    Args:
        names: of the outputs.
        stored: the truth (k,) that the library holds, NaN for none.
        found: computed just now.
        rtol: up to which values agree in any case.
        as_json: for machines.
    """
    truth = np.atleast_1d(np.asarray(stored, dtype=np.float64))
    known = [] if np.isnan(truth).all() else [Reference("stored", truth, np.zeros_like(truth))]
    trouble = list(contradictions([*known, *found], names, rtol=rtol))
    if as_json:
        rows = [
            {"by": r.name, "mean": r.mean.tolist(), "std": r.std.tolist()}
            for r in (*known, *found)
        ]
        typer.echo(json.dumps({"names": list(names), "rows": rows, "contradictions": trouble}))
    else:
        _print(names, [*known, *found], trouble)
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
