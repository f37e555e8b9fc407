"""`steinquad truth PROBLEM`: compute a stored truth anew and compare. A command each problem."""

import typer

from steinquad.cli.goodwin_truth import goodwin
from steinquad.cli.wind_farm_truth import wind_farm

__all__ = ["app"]

app = typer.Typer(
    help="Compute the truth of a problem anew and check what is stored.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _root() -> None:
    """Compute the truth of a problem anew and check what is stored."""


app.command("goodwin")(goodwin)
app.command("wind-farm")(wind_farm)
