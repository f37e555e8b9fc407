"""`steinquad posterior FILE`: better posterior expectations from stored draws."""

import json
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from pyarrow.csv import write_csv

import steinquad as sq
from steinquad.chains.targets import as_target
from steinquad.cli.tables import column_names
from steinquad.errors import InputError
from steinquad.studies.calls.loading import find
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
    # Before the fits, so that they are not lost to a wrong name.
    if path is not None and (path.suffix not in (".csv", ".nc") or not path.parent.is_dir()):
        raise InputError(f"--path {path} cannot be written; give a .csv or .nc in a directory.")
    tree = _read(file)
    score: Any = None
    if scores is not None:
        gradients = _read(scores)
        score = gradients if "score" in gradients.children else gradients.to_dataset()
    if model is not None:
        score = as_target(_load(model))
    requested = None if var_names is None else column_names(var_names)
    answer = sq.posterior_expectation(tree, score=score, var_names=requested)
    try:
        if path is not None and path.suffix == ".csv":
            write_csv(pa.Table.from_pylist([row.to_dict() for row in answer]), path)
        elif path is not None:
            answer.to_datatree().to_netcdf(path)
    except OSError as error:
        raise InputError(f"--path {path} cannot be written ({error}).") from None
    typer.echo(json.dumps(answer.to_dict()) if as_json else str(answer))


def _read(file: Path) -> Any:
    if not file.is_file():
        raise InputError(f"file {file} does not exist or is not a file.")
    try:
        import xarray
    except ImportError:
        raise InputError(
            "NetCDF files need xarray and h5netcdf; install steinquad[arviz]."
        ) from None
    try:
        with xarray.open_datatree(file) as tree:
            return tree.load()
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
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
