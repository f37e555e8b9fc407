"""`steinquad posterior FILE`: better posterior expectations from stored draws."""

import json
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from pyarrow.csv import write_csv

import steinquad as sq
from steinquad._files import check_output, replaced
from steinquad.chains.targets import as_target
from steinquad.cli.suspect import exit_if_suspect
from steinquad.cli.tables import column_names, safe_for_spreadsheets
from steinquad.errors import InputError
from steinquad.studies.calls.loading import find
from steinquad.studies.needed_files import files_of
from steinquad.terminal.commands import AsJson

__all__ = ["posterior"]


def posterior(
    file: Annotated[Path, typer.Argument(help="NetCDF file of ArviZ, with a group posterior.")],
    model: Annotated[
        str | None,
        typer.Option(help="module:name or file.py:name of the model, a Target or a log density."),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(help="NetCDF file with gradients by variable, if not in FILE."),
    ] = None,
    var_names: Annotated[
        str | None, typer.Option(help="Variables of the table, e.g. mu,tau.")
    ] = None,
    path: Annotated[
        Path | None, typer.Option(help="Write the table (.csv) or the draws with it (.nc) here.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Mean, sd and quantiles of every parameter, better than the averages of the draws."""
    if model is not None and scores is not None:
        raise InputError("--model and --scores are both given; give one of them.")
    needed = {file: "the file of the draws"}
    if scores is not None:
        needed[scores] = "the file of the scores"
    if model is not None:
        needed |= dict.fromkeys(files_of(model, Path()), "a file of the model")
    if path is not None:  # before the fits, so that they are not lost to a wrong name
        check_output(path, "--path", endings=(".csv", ".nc"), needed=needed)
    tree = _read(file)
    score: Any = None
    if scores is not None:
        gradients = _read(scores)
        score = gradients if "score" in gradients.children else gradients.to_dataset()
    if model is not None:
        score = as_target(_load(model))
    requested = None if var_names is None else column_names(var_names)
    answer = sq.posterior_expectation(tree, score=score, var_names=requested)
    typer.echo(json.dumps(answer.to_dict()) if as_json else str(answer))
    if path is not None:
        with replaced(path, "--path", needed=needed) as partial:
            _write(answer, partial)
    exit_if_suspect(answer.status)


def _write(answer: sq.PosteriorSummary, file: Path) -> None:
    if file.suffix.lower() == ".nc":
        answer.to_datatree().to_netcdf(file)
        return
    rows = [
        {column: safe_for_spreadsheets(cell) for column, cell in row.to_dict().items()}
        for row in answer
    ]
    write_csv(pa.Table.from_pylist(rows), file)


def _read(file: Path) -> Any:
    try:
        import xarray
    except ImportError:
        raise InputError(
            "NetCDF files need xarray and h5netcdf; install steinquad[arviz]."
        ) from None
    try:
        if not file.is_file():
            raise InputError(f"file {file} does not exist or is not a file.")
        with xarray.open_datatree(file) as tree:
            return tree.load()
    except InputError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"file {file} cannot be read as NetCDF ({reason}).") from None


def _load(reference: str) -> Any:
    """What `--model` names."""
    where, colon, name = reference.rpartition(":")
    if not (where and colon and all(part.isidentifier() for part in name.split("."))):
        raise InputError(f"--model is {reference!r}; give module:name or file.py:name.")
    try:
        return find(reference).value
    except (Exception, SystemExit) as error:  # whatever the user's file raises
        raise InputError(
            f"--model {reference} cannot be loaded ({type(error).__name__}: {error})."
        ) from None
