"""`steinquad integrate FILES`: an expectation from points, values and scores in tables."""

import json
from glob import has_magic
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Column, Table

import steinquad as sq
from steinquad._files import check_output, replaced
from steinquad.candidates import read_candidates
from steinquad.cli.suspect import exit_if_suspect
from steinquad.cli.tables import column_names, parse_support, read_table, select
from steinquad.errors import InputError
from steinquad.methods import registry
from steinquad.plotting.figures import figure_endings
from steinquad.terminal.commands import AsJson
from steinquad.terminal.progress import progress_bar

__all__ = ["integrate"]

IN_MEMORY = 2**28  # bytes of a single file, up to which it is read whole


def integrate(
    files: Annotated[
        Path,
        typer.Argument(
            help="CSV or Parquet file, a row a point; a directory of such files, or a pattern."
        ),
    ],
    x: Annotated[str, typer.Option(help="Columns of the points, e.g. x0,x1.")],
    value: Annotated[str, typer.Option(help="Column(s) of f at the points, e.g. f0.")],
    score: Annotated[str | None, typer.Option(help="Columns of the score, like --x.")] = None,
    support: Annotated[
        str | None, typer.Option(help="Bounds of coordinates, e.g. 0=0:45,3=0: (open side empty).")
    ] = None,
    weights: Annotated[str | None, typer.Option(help="Column of importance weights.")] = None,
    noise: Annotated[str | None, typer.Option(help="Column of the std of errors in f.")] = None,
    groups: Annotated[
        str | None, typer.Option(help="Column of the Markov chain, or replicate, of each row.")
    ] = None,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(registry.names())}.")] = "auto",
    seed: Annotated[int, typer.Option(help="Seed of the method.")] = 0,
    as_json: AsJson = False,
    figure: Annotated[Path | None, typer.Option(help="Save a figure of the fit here.")] = None,
    fit_rows: Annotated[
        int | None, typer.Option(help="Fit so many rows, go over all others in batches.")
    ] = None,
    client: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, to go over the rows.")
    ] = None,
) -> None:
    """Estimate E[f] from points, values and scores in files.

    A file of up to 256 MiB is read whole. Of a larger one, of several files, and with --fit-rows
    or --client, 2,000 rows are fitted and all of them correct the fit, a batch at a time.
    """
    # Here rather than in the registry, whose message does not name the option.
    if method not in registry.names():
        raise InputError(f"--method is {method!r}; choose one of {', '.join(registry.names())}.")
    needed = {files: "the file of the points"}
    if figure is not None:  # before the fit, so that it is not lost to a wrong name
        check_output(figure, "--figure", endings=figure_endings(), needed=needed)
    chosen = registry.method_named(method)
    bounds = None if support is None else parse_support(support)
    per_row = {"--weights": weights, "--noise": noise, "--groups": groups}
    asked = fit_rows is not None or client is not None
    if asked or _large(files, of_one=not any(per_row.values())):
        for option, column in per_row.items():
            if column is not None:
                raise InputError(
                    f"{option} is for one file that is read whole; leave it out, or give one file "
                    "without --fit-rows and --client."
                )
        columns = column_names(value)
        answer = sq.estimate(
            files,
            x=column_names(x),
            value=columns[0] if len(columns) == 1 else columns,
            score=None if score is None else column_names(score),
            support=bounds,
            method=chosen,
            seed=seed,
            progress=not as_json,
            fit_rows=fit_rows,
            client=client,
        )
    else:
        table = read_table(files)
        points = select(table, "--x", x)
        values = select(table, "--value", value)
        data = sq.Dataset(
            points,
            # One column is one integrand, whose answer is a number and not an array.
            values[:, 0] if values.shape[1] == 1 else values,
            score=None if score is None else select(table, "--score", score),
            support=bounds,
            weights=None if weights is None else select(table, "--weights", weights)[:, 0],
            names=column_names(x),
            noise=None if noise is None else select(table, "--noise", noise),
            groups=None if groups is None else select(table, "--groups", groups)[:, 0],
        )
        with progress_bar(enabled=not as_json) as progress:
            answer = sq.estimate(data, method=chosen, seed=seed, progress=progress)
    if as_json:
        typer.echo(json.dumps(answer.to_dict()))
    else:
        console = Console(highlight=False, markup=False)
        console.print(str(answer))
        if answer.candidates:
            console.print(_candidates(answer))
    if figure is not None:
        with replaced(figure, "--figure", needed=needed) as partial:
            answer.plot(path=partial)
    exit_if_suspect(answer.status)


def _large(files: Path, *, of_one: bool) -> bool:
    """Whether there are several files or, where one may be, it is larger than `IN_MEMORY`."""
    if files.is_file():
        return of_one and files.stat().st_size > IN_MEMORY
    return files.is_dir() or has_magic(str(files))


def _candidates(answer: sq.Estimate) -> Table:
    """A row for each: its held-out error relative to the spread of f, its weight, and why none."""
    held_out = Column("held-out", justify="right", no_wrap=True)
    outputs = np.size(answer.mean)
    head = "weight" if outputs == 1 else "mean weight"  # over the outputs
    weight = Column(head, justify="right", no_wrap=True)
    table = Table(Column("method", no_wrap=True), held_out, weight, "", box=None, pad_edge=False)
    for row in read_candidates(answer.candidates, outputs):
        error = "-" if row.rms is None else f"{row.rms:.1e}"
        share = "-" if row.weight is None else f"{row.weight:.2f}"
        table.add_row(row.method, error, share, row.note)
    return table
