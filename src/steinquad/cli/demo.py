"""The bundled example: Monte Carlo and a Stein network on the same evaluations."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import steinquad as sq
from steinquad._files import check_output, replaced
from steinquad.plotting.figures import figure_endings
from steinquad.terminal.progress import progress_bar

__all__ = ["demo"]


def demo(
    figure: Annotated[Path, typer.Option(help="Where to save the figure.")] = Path("demo.png"),
    n: Annotated[int, typer.Option(help="Number of evaluations.")] = 5120,
    seed: Annotated[int, typer.Option(help="Seed of draws and training.")] = 0,
) -> None:
    """Integrate the Continuous Genz function (d = 2) by Monte Carlo and by a Stein network."""
    check_output(figure, "--figure", endings=figure_endings())
    problem = sq.problems.genz("continuous", 2)
    console = Console(highlight=False, markup=False)
    console.print(
        f"Continuous Genz integrand, d = 2, n = {n} evaluations, truth {problem.truth:.12g}"
    )
    table = Table("method", box=None, pad_edge=False)
    for heading in ("estimate", "std", "95 % interval", "error", "time"):
        table.add_column(heading, justify="right")
    answers = []
    quick = sq.GaussNewton(max_steps=50)  # the default goes on for a few more digits
    for method in (sq.MonteCarlo(), sq.BSN(optimizer=quick)):
        start = time.perf_counter()
        with progress_bar(label=method.name) as progress:
            answer = sq.integrate(
                problem.integrand,
                problem.measure,
                n=n,
                method=method,
                seed=seed,
                progress=progress,
            )
        low, high = answer.interval(0.95)
        table.add_row(
            method.name,
            f"{answer.mean:.8f}",
            f"{answer.std:.1e}",
            f"{low:.6f} to {high:.6f}",
            f"{abs(answer.mean - problem.truth):.1e}",
            f"{time.perf_counter() - start:.1f} s",
        )
        answers.append(answer)
    console.print(table)
    plain, network = (abs(answer.mean - problem.truth) for answer in answers)
    console.print(f"The same {n} evaluations, {plain / network:,.0f} times closer.")
    with replaced(figure, "--figure") as partial:
        answers[-1].plot(truth=problem.truth, path=partial)
    console.print(f"Figure saved to {figure}.")
