"""Entry point: subcommands, and wrong input turned into one line and exit code 2."""

import sys
from typing import Annotated

import typer

import steinquad
from steinquad.cli import study
from steinquad.cli.demo import demo
from steinquad.cli.integrate import integrate
from steinquad.cli.posterior import posterior
from steinquad.errors import InputError
from steinquad.paper.commands import draw, truth
from steinquad.paper.commands.reproduce import reproduce
from steinquad.terminal.commands import new_app

__all__ = ["app", "main"]

app = new_app("Expectations with honest error bars from few evaluations.")
STUDIES = (study.init, study.run, study.status, study.estimate, study.report, study.export)
OTHERS = "Examples, and the paper"
# What most people need comes first.
COMMANDS = {
    "From points or draws in a file": (integrate, posterior),
    "A study: a simulator run for you, and what came of it": STUDIES,
    OTHERS: (demo, reproduce),
}
for heading, commands in COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=heading)(command)
app.add_typer(draw.app, name="draw", rich_help_panel=OTHERS)
app.add_typer(truth.app, name="truth", rich_help_panel=OTHERS)


def main() -> None:
    """Run the command `steinquad` with the arguments of this process.

    Wrong input, an `InputError`, becomes one line on standard error and exit code 2; there is no
    traceback for what the user can mend.
    """
    try:
        app()
    except InputError as error:
        sys.stderr.write(f"steinquad: {error}\n")
        raise SystemExit(2) from None


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"steinquad {steinquad.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Expectations with honest error bars from few evaluations."""
