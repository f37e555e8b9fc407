"""`steinquad draw PROBLEM FILE`: draws, values and scores in a file for `steinquad integrate`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import typer
from rich.console import Console

import steinquad as sq
from steinquad._files import check_output, replaced
from steinquad._types import Array
from steinquad.errors import InputError
from steinquad.paper.commands.values import BATCH, ChainsPath, Values, ValuesPath, evaluate
from steinquad.problems.goodwin import PARAMETERS
from steinquad.terminal.commands import new_app
from steinquad.terminal.progress import progress_bar

__all__ = ["app"]

ENDINGS = (".csv", ".parquet", ".pq")
app = new_app("Write draws, values and scores of a problem to a file.")


@app.command()
def goodwin(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file to write.")],
    n: Annotated[int, typer.Option(help="Number of draws kept.")] = 1000,
    sampler: Annotated[str, typer.Option(help="mala, as in the paper, or nuts.")] = "mala",
    warmup: Annotated[
        int | None, typer.Option(help="Steps dropped of each chain; the paper has 0.")
    ] = None,
    candidates: Annotated[
        int, typer.Option(help="Draws of the prior, of which a MALA chain takes the likeliest.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the chains.")] = 0,
    data_seed: Annotated[int, typer.Option(help="Seed of the data.")] = 0,
    rtol: Annotated[float, typer.Option(help="Tolerance of the ODE solver.")] = 1e-8,
    observations: Annotated[int, typer.Option(help="Number of observation times.")] = 2400,
    path: ChainsPath = None,
) -> None:
    """Chains of the Goodwin posterior: w_* are the points, a1, a2, k, alpha the values."""
    if sampler not in ("mala", "nuts"):
        raise InputError(f"--sampler is {sampler!r}; choose mala or nuts.")
    if sampler == "nuts" and candidates != 1:
        raise InputError(f"--candidates is {candidates}, but only mala has them; leave it out.")
    check_output(file, "file", endings=ENDINGS)
    problem = sq.problems.goodwin(data_seed, rtol=rtol, observations=observations)
    chosen = {} if warmup is None else {"warmup": warmup}
    if sampler == "mala":
        design = sq.problems.goodwin_mala(path=path, candidates=candidates, **chosen)
    else:
        design = sq.problems.goodwin_nuts(problem, path=path, **chosen)
    with progress_bar(label=design.name) as progress:
        sample = design.draw(problem.measure, n, seed=seed, progress=progress)
    assert sample.score is not None and sample.groups is not None
    columns = {f"w_{name}": sample.x[:, i] for i, name in enumerate(PARAMETERS)}
    columns |= {f"score_{name}": sample.score[:, i] for i, name in enumerate(PARAMETERS)}
    columns |= dict(zip(PARAMETERS, problem.integrand(sample.x).T, strict=True))
    _write({**columns, "chain": sample.groups}, file)
    console = Console(highlight=False, markup=False)
    for note in sample.notes:
        console.print(f"Note: {note}.")
    failed = sample.stats.get("failed_proposals", sample.stats.get("divergences", 0))
    console.print(
        f"{n} draws of {len(np.unique(sample.groups))} chains in {file}, acceptance "
        f"{np.mean(sample.stats['acceptance']):.2f}, {failed} proposals failed."
    )


@app.command("wind-farm")
def wind_farm(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file to write.")],
    n: Annotated[int, typer.Option(help="Number of simulator runs.")] = 320,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    physics: Annotated[str, typer.Option(help="p22 or p26.")] = "p22",
    simulator: Annotated[str, typer.Option(help="jax, or pywake (extra wind).")] = "jax",
    path: ValuesPath = None,
) -> None:
    """Independent draws of the seven inputs, their scores score_*, and the thrust coefficient."""
    needed = {} if path is None else {path: "the file of kept values"}
    check_output(file, "file", endings=ENDINGS, needed=needed)
    problem = sq.problems.wind_farm(physics=physics, simulator=simulator)
    x = problem.measure.sample(n, seed=seed)
    settings: dict[str, str | int] = {"problem": problem.name, "n": n, "seed": seed}
    done = Values(path, settings | {"simulator": simulator})
    with progress_bar(label="simulator runs", reading="spread") as progress:
        batch = 1 if simulator == "pywake" else BATCH  # of 14 s each, none should be lost
        thrust = evaluate(problem, x, done, progress, batch=batch)
    names = problem.measure.names
    columns = {name: x[:, i] for i, name in enumerate(names)}
    score = problem.measure.score(x)
    columns |= {f"score_{name}": score[:, i] for i, name in enumerate(names)}
    _write({**columns, "thrust": thrust}, file, needed)
    typer.echo(f"{n} simulator runs in {file}, mean thrust coefficient {thrust.mean():.4f}.")


def _write(
    columns: dict[str, Array], file: Path, needed: Mapping[Path, str] | None = None
) -> None:
    table = pa.table(columns)
    write = pyarrow.csv.write_csv if file.suffix.lower() == ".csv" else pyarrow.parquet.write_table
    with replaced(file, "file", needed=needed) as partial:
        write(table, partial)
