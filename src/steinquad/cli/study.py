"""`steinquad init`, `run`, `status`, `estimate`, `report`, `export`: a study from its file."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.progress import MofNCompleteColumn, TimeRemainingColumn

from steinquad import report as reports
from steinquad._files import check_output, create, replaced
from steinquad.cli.suspect import SUSPECT, exit_if_suspect
from steinquad.cli.tables import safe_for_spreadsheets
from steinquad.errors import InputError, shown_point
from steinquad.estimate import Estimate
from steinquad.fit import Status
from steinquad.report.numbers import duration
from steinquad.studies import Snapshot, Study
from steinquad.studies.needed_files import needed_files
from steinquad.studies.store import Evaluation
from steinquad.summaries import Statistic
from steinquad.terminal.commands import AsJson
from steinquad.terminal.plain import one_line, printable
from steinquad.terminal.progress import drawn_bar, progress_bar

__all__ = ["estimate", "export", "init", "report", "run", "status"]

EXAMPLES = {"beam": "simulator.py", "wind-farm": "farm.py"}  # with their simulators
STOPPED = 130  # exit code after Ctrl-C

File = Annotated[Path, typer.Argument(help="The study, a TOML file.")]


def init(
    place: Annotated[
        Path, typer.Argument(help="A directory, or the study file if it ends in .toml.")
    ] = Path(),
    example: Annotated[str, typer.Option(help="beam or wind-farm.")] = "beam",
) -> None:
    """Write an example: study.toml, or a file of that name, and a simulator to try it with."""
    if example not in EXAMPLES:
        raise InputError(f"--example is {example!r}; choose one of {', '.join(EXAMPLES)}.")
    source = files("steinquad.studies") / "examples" / example
    study = place if place.name.lower().endswith(".toml") else place / "study.toml"
    simulator = study.with_name(EXAMPLES[example])
    try:
        for file in (study, simulator):
            if file.exists() or file.is_symlink():
                raise InputError(f"place has {file} already; give another one.")
        study.parent.mkdir(parents=True, exist_ok=True)
        create(study, (source / "study.toml").read_text(encoding="utf-8"))
        create(simulator, (source / simulator.name).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"place {place} cannot be written ({error.strerror}); give another one."
        ) from None
    typer.echo(f"Wrote {study} and {simulator}; now run")
    typer.echo(f"  steinquad run {study}")


def run(
    file: File,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try points that failed for good again.")
    ] = False,
    as_json: AsJson = False,
    report: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Write a report too: .html, .md or .json."),
    ] = None,
) -> None:
    """Evaluate what is missing and estimate; stop it as you like and run it again."""
    study = Study.load(file)
    if report:  # before the runs: a wrong name should not cost them
        reports.check_targets(study, report)
    try:
        with _run_bar(study, enabled=not as_json) as watch:
            answer = study.run(retry_failed=retry_failed, watch=watch)
    except KeyboardInterrupt:
        counts = study.status()
        typer.echo(f"Stopped with {counts.done} evaluations stored; run again to go on.", err=True)
        raise typer.Exit(STOPPED) from None
    statistics = _show(study, answer, as_json) or None
    if report:
        known = {"estimate": answer, "distribution": statistics}
        with progress_bar(enabled=not as_json) as progress:
            reports.write(study, *report, **known, progress=progress)
        typer.echo(_wrote(report), err=as_json)
    exit_if_suspect(answer.status)


def status(file: File, as_json: AsJson = False) -> None:
    """How far a study is, also while it runs."""
    study = Study.load(file)
    counts = study.status()
    # Only if anything is stored: a store that is not there yet refuses to be read.
    failures = study.evaluations.first_failures() if counts.failed else []
    kept = study.kept_estimates()
    elapsed = study.evaluations.sessions().seconds if counts.done else 0.0
    if as_json:
        record = {
            "name": study.name,
            "store": str(study.store),
            "inputs": {name: study.units.get(name, "") for name in study.measure.names},
            "outputs": list(study.outputs),
            "runs": study.runs,
            "done": counts.done,
            "failed": counts.failed,
            "failures": {row.failure: count for count, row in failures},
            "first_failures": {
                row.failure: {
                    "number": row.number,
                    "input": dict(zip(study.measure.names, row.input, strict=True)),
                    "error": row.error,
                }
                for _, row in failures
            },
            "seconds": counts.seconds,
            "elapsed": elapsed,
            "estimate": {"points": kept[-1][0], **kept[-1][1]} if kept else None,
        }
        typer.echo(json.dumps(record))
        return
    goal = "" if study.runs is None else f" of {study.runs}"
    lines = [
        f"{printable(study.name)}: {counts.done}{goal} evaluations done, {counts.failed} failed"
        + "".join(f", {count} by {row.failure}" for count, row in failures),
        *(_example(study, row) for _, row in failures),
        f"  stored in {study.store}",
    ]
    if counts.done:
        each = duration(counts.seconds / counts.done)
        lines.append(f"  evaluations took {duration(counts.seconds)}, {each} each")
        lines.append(f"  by the clock {duration(elapsed)}")
    if kept:
        n, record = kept[-1]
        lines.append(f"  last estimate, from {n} points:")
        names = map(printable, study.outputs)
        lines += [f"    {a} = {b}" for a, b in zip(names, _answers(record), strict=True)]
    typer.echo("\n".join(lines))


def _example(study: Study, row: Evaluation) -> str:
    """Where an evaluation failed, and the last line of what is known of it."""
    at = shown_point(row.input, [printable(name) for name in study.measure.names])
    last = (row.error or "no text").rstrip().split("\n")[-1]
    return f"  the first by {row.failure}, point {row.number}, at {at}: {one_line(last)}"


def estimate(file: File, as_json: AsJson = False) -> None:
    """The answer from what is stored, also while the study runs."""
    study = Study.load(file)
    with progress_bar(enabled=not as_json) as progress:
        answer = study.estimate(progress=progress)
    _show(study, answer, as_json)
    exit_if_suspect(answer.status)


def report(
    file: File,
    targets: Annotated[
        list[Path] | None,
        typer.Argument(help="Files ending in .html, .md or .json; default STUDY-report.html."),
    ] = None,
) -> None:
    """Write what was found to a page for people, or as data."""
    study = Study.load(file)
    paths = targets or [file.with_name(f"{file.stem}-report.html")]
    with progress_bar(enabled=True) as progress:
        content = reports.write(study, *paths, progress=progress)
    if content["refused"]:
        typer.echo(f"steinquad: the report has no answer: {content['refused']}", err=True)
    typer.echo(_wrote(paths))
    if content["refused"] or Status(content["answer"]["status"], "").doubtful:
        raise typer.Exit(SUSPECT)


def export(
    file: File,
    target: Annotated[Path, typer.Argument(help="A .csv or .json file to write.")],
    failed: Annotated[bool, typer.Option("--failed", help="Only those that failed.")] = False,
) -> None:
    """Write every stored evaluation to a file, a row each."""
    study = Study.load(file)
    writers = {".csv": _write_csv, ".json": _write_json}
    needed = needed_files(study)
    check_output(target, endings=tuple(writers), needed=needed)
    rows = (row for row in study.records() if not failed or row[1] == "failed")
    with (
        replaced(target, needed=needed) as partial,
        partial.open("w", newline="", encoding="utf-8") as out,
    ):
        count = writers[target.suffix.lower()](out, study.columns, rows)
    typer.echo(f"{count} evaluations in {target}.")


def _wrote(paths: Iterable[Path]) -> str:
    return f"Wrote {' and '.join(map(str, paths))}."


def _show(study: Study, answer: Estimate, as_json: bool) -> dict[str, tuple[Statistic, ...]]:
    """The answer, and the distributions where the file asks for them, which it returns."""
    statistics: dict[str, tuple[Statistic, ...]] = {}
    if isinstance(study.outputs, Mapping):  # a list of names asks for no distributions
        with progress_bar(enabled=not as_json) as progress:
            statistics = study.distribution(answer, progress=progress)
    if as_json:
        record = {"outputs": list(study.outputs), **answer.to_dict()}
        if statistics:
            rows = {name: [row.to_dict() for row in rows] for name, rows in statistics.items()}
            record["distribution"] = rows
        typer.echo(json.dumps(record))
    else:
        typer.echo(answer.describe(map(printable, study.outputs)))
        for name, rows in statistics.items():
            for row in rows:
                typer.echo(f"  {row.describe(printable(name))}")
    return statistics


@contextmanager
def _run_bar(study: Study, *, enabled: bool) -> Iterator[Callable[[Snapshot], None]]:
    """What to call whenever an evaluation has finished."""
    columns = MofNCompleteColumn(), TimeRemainingColumn()
    with drawn_bar(printable(study.name), *columns, enabled=enabled) as move:
        move(total=study.runs)

        def watch(now: Snapshot) -> None:
            note = f"{now.failed} failed" if now.failed else ""
            if now.estimate is not None:
                note = f"{note} {', '.join(_answers(now.estimate))}".strip()
            move(completed=now.done + now.failed, total=now.goal, note=note)

        yield watch


def _write_csv(out: TextIO, columns: list[str], rows: Iterator[list[Any]]) -> int:
    count, writer = 0, csv.writer(out)
    writer.writerow(map(safe_for_spreadsheets, columns))
    for row in rows:
        writer.writerow(map(safe_for_spreadsheets, row))
        count += 1
    return count


def _write_json(out: TextIO, columns: list[str], rows: Iterator[list[Any]]) -> int:
    # Row by row: a store may hold more than fits into memory as one list.
    count = 0
    for count, row in enumerate(rows, 1):
        out.write("[\n" if count == 1 else ",\n")
        out.write(json.dumps(dict(zip(columns, row, strict=True))))
    out.write("\n]\n" if count else "[]\n")
    return count


def _answers(record: Mapping[str, Any]) -> list[str]:
    """Mean and std of each output of an estimate, as `Estimate.to_dict` gives it."""
    means, stds = (v if isinstance(v, list) else [v] for v in (record["mean"], record["std"]))
    return [f"{mean:.4g} +- {std:.2g}" for mean, std in zip(means, stds, strict=True)]
