"""Entry point: subcommands, and wrong input turned into one line and exit code 2."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from steinquad.cli import draw, study, truth
from steinquad.cli.candidates import candidate_table
from steinquad.cli.posterior import posterior
from steinquad.cli.progress import progress_bar
from steinquad.cli.reproduce import reproduce
from steinquad.cli.tables import parse_support, read_table, select
from steinquad.errors import InputError
from steinquad.methods import registry

__all__ = ["app", "main"]

app = typer.Typer(
    help="Expectations with honest error bars from few evaluations.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # markup would swallow the [f] of E[f]
    pretty_exceptions_enable=False,
)
app.add_typer(truth.app, name="truth")
app.add_typer(draw.app, name="draw")
app.command("reproduce")(reproduce)
app.command()(posterior)
STUDIES = (study.init, study.run, study.status, study.estimate, study.report, study.export)
for command in STUDIES:
    app.command()(command)


def main() -> None:
    """Run the command."""
    try:
        app()
    except InputError as error:
        sys.stderr.write(f"steinquad: {error}\n")
        raise SystemExit(2) from None


@app.callback()
def _root() -> None:
    """Expectations with honest error bars from few evaluations."""


@app.command()
def integrate(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file, a row a point.")],
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
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    figure: Annotated[Path | None, typer.Option(help="Save a figure of the fit here.")] = None,
) -> None:
    """Estimate E[f] from points, values and scores in a file."""
    import steinquad as sq  # heavy: only once the arguments have been read

    if method not in registry.names():
        raise InputError(f"--method is {method!r}; choose one of {', '.join(registry.names())}.")
    table = read_table(file)
    points = select(table, "--x", x)
    values = select(table, "--value", value)
    names = [name.strip() for name in x.split(",")]
    data = sq.Dataset(
        points,
        values[:, 0] if values.shape[1] == 1 else values,
        score=None if score is None else select(table, "--score", score),
        support=None if support is None else parse_support(support),
        weights=None if weights is None else select(table, "--weights", weights)[:, 0],
        names=names,
        noise=None if noise is None else select(table, "--noise", noise),
        groups=None if groups is None else select(table, "--groups", groups)[:, 0],
    )
    with progress_bar(enabled=not as_json) as progress:
        answer = sq.estimate(
            data, method=registry.method_named(method), seed=seed, progress=progress
        )
    if figure is not None:
        answer.plot(path=figure)
    if as_json:
        typer.echo(json.dumps(answer.to_dict()))
    else:
        console = Console()
        console.print(str(answer), highlight=False, markup=False)
        if answer.candidates:
            console.print(candidate_table(answer.candidates))


@app.command()
def demo(
    figure: Annotated[Path, typer.Option(help="Where to save the figure.")] = Path("demo.png"),
    n: Annotated[int, typer.Option(help="Number of evaluations.")] = 5120,
    seed: Annotated[int, typer.Option(help="Seed of draws and training.")] = 0,
) -> None:
    """Integrate the Continuous Genz function (d = 2) by Monte Carlo and by a Stein network."""
    from steinquad.cli.demo import run_demo

    run_demo(figure, n=n, seed=seed)
