"""`steinquad reproduce NAME`: run a table or figure of the paper, go on after a stop, draw it."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from steinquad._files import replaced
from steinquad.errors import InputError
from steinquad.paper import spec as specs
from steinquad.paper import workers
from steinquad.paper.figures import draw_figure
from steinquad.paper.items import ITEMS
from steinquad.paper.methods import build_problem
from steinquad.paper.record import Run
from steinquad.paper.sketches import sketches
from steinquad.paper.spec import PresetName, Spec
from steinquad.paper.store import RecordStore
from steinquad.paper.summary import known_cpu_seconds, markdown, summarize
from steinquad.terminal.progress import progress_bar

__all__ = ["reproduce"]

DIED = 1  # exit code
SKETCHES = "sketches"  # the name of what is drawn without records


def reproduce(
    name: Annotated[
        str | None, typer.Argument(help="A figure of --list, all, or a .toml file.")
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="Show what there is.")] = False,
    preset: Annotated[str, typer.Option(help="quick, or paper: the paper's own sizes.")] = "quick",
    path: Annotated[Path, typer.Option(help="Directory of records, tables and figures.")] = Path(
        "reproduction"
    ),
    seeds: Annotated[
        str | None, typer.Option(help="Other seeds than the preset's, such as 0-4 or 3,7.")
    ] = None,
    methods: Annotated[
        list[str] | None, typer.Option("--method", help="Only this one; can be repeated.")
    ] = None,
    sizes: Annotated[
        list[int] | None, typer.Option("--n", help="Only this n; can be repeated.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Runs at a time, a core each.")] = 1,
    draw: Annotated[bool, typer.Option("--draw", help="Run nothing, draw the records.")] = False,
    pack: Annotated[
        bool, typer.Option("--pack", help="Run nothing, compress the records.")
    ] = False,
) -> None:
    """Run a table or figure of the paper; what is recorded is not run again."""
    if list_all:
        _list()
        return
    if name is None:
        raise InputError("name is missing; give a figure of --list, all, or a .toml file.")
    if preset not in specs.PRESETS:
        raise InputError(f"--preset is {preset!r}; choose quick or paper.")
    if jobs < 1:
        raise InputError(f"--jobs is {jobs}; give an integer >= 1.")
    chosen = _parse_seeds(seeds)
    if name == SKETCHES or (name == "all" and not pack):
        typer.echo(f"Sketches in {' and '.join(map(str, sketches(path)))}.")
    if name == SKETCHES:
        return
    figures = [specs.load(each) for each in (specs.names() if name == "all" else [name])]
    if pack:
        _pack(name, figures, path)
        return
    requested = _part(name, figures, preset, chosen, methods, sizes)
    # One thread a run: waiting threads would count as work, and jobs would share their cores.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    deaths, drawn = list[workers.Death](), 0
    for figure in figures:
        if not draw:
            deaths += _run(figure, preset, path, requested[figure.name], jobs)
        drawn += _draw(figure, preset, path)
    for death in deaths:
        run = death.run
        typer.echo(
            f"{run.method} on {run.problem}, d = {run.d}, n = {run.n}, seed {run.seed} died with "
            f"exit code {death.exit_code} and is tried again next time; has it enough memory?",
            err=True,
        )
    if deaths:
        raise typer.Exit(DIED)
    if not drawn:
        raise InputError(f"path {path} has no records of {name}, preset {preset}; run it first.")


def _store(path: Path, name: str) -> RecordStore:
    return RecordStore(path / f"{name}.jsonl")


def _pack(name: str, figures: Sequence[Spec], path: Path) -> None:
    stores = [_store(path, figure.name) for figure in figures]
    filled = [store for store in stores if store.records]
    if not filled:
        raise InputError(f"path {path} has no records of {name}; run it first.")
    for store in filled:
        store.pack()
        typer.echo(f"{len(store.records)} records in {store.packed}.")


def _part(
    name: str,
    figures: Sequence[Spec],
    preset: PresetName,
    seeds: Sequence[int] | None,
    methods: Sequence[str] | None,
    sizes: Sequence[int] | None,
) -> dict[str, list[Run]]:
    """The runs that are asked for, by figure."""
    runs = {figure.name: figure.runs(preset, seeds) for figure in figures}
    every = [run for each in runs.values() for run in each]
    for field, given in (("method", methods), ("n", sizes)):
        known = {getattr(run, field): None for run in every}
        for value in given or ():
            if value not in known:
                raise InputError(
                    f"--{field} is {value!r}, which {name} does not have with preset {preset}; "
                    f"choose of {', '.join(map(str, known))}."
                )
        if given:
            runs = {
                figure: [run for run in each if getattr(run, field) in given]
                for figure, each in runs.items()
            }
    return runs


def _run(
    figure: Spec, preset: PresetName, path: Path, requested: Sequence[Run], jobs: int
) -> list[workers.Death]:
    """Run and record what is missing; the runs that died are handed back."""
    store = _store(path, figure.name)
    deaths, seconds = list[workers.Death](), 0.0
    with store.writing():
        runs = [run for run in requested if run.key not in store.records]
        _announce(figure, preset, path, len(requested), runs)
        for problem, d in {(run.problem, run.d) for run in runs}:
            build_problem(problem, d)  # which says what is not installed
        with progress_bar(label=figure.name, reading="CPU s") as progress:
            outcomes = workers.records_of(runs, jobs, path / "evaluations")
            for done, outcome in enumerate(outcomes, 1):
                if isinstance(outcome, workers.Death):
                    deaths.append(outcome)
                    continue
                store.add(outcome)
                seconds += outcome.cpu_seconds
                progress(done, len(runs), seconds)
    return deaths


def _draw(figure: Spec, preset: PresetName, path: Path) -> bool:
    """Table and figure of what is recorded; False if that is nothing."""
    store = _store(path, figure.name)
    cells = summarize(figure, preset, store.records.values())
    if not cells:
        return False
    table = markdown(figure, cells)
    stem = path / f"{figure.name}-{preset}"
    with replaced(stem.with_suffix(".md"), "path") as partial:
        partial.write_text(table)
    with replaced(stem.with_suffix(".png"), "path") as partial:
        draw_figure(figure, cells, path=partial)
    typer.echo(f"{table}Records in {store.path}, table in {stem}.md, figure in {stem}.png.")
    return True


def _announce(figure: Spec, preset: str, path: Path, requested: int, runs: Sequence[Run]) -> None:
    """Say what it will cost before it starts."""
    stores = [_store(path, name) for name in {figure.name, *specs.names()}]
    records = [record for store in stores for record in store.records.values()]
    costs = known_cpu_seconds(runs, records)
    known = [cost for cost in costs if cost is not None]
    line = f"{figure.name}, {preset}: {requested} runs, {requested - len(runs)} of them recorded"
    if runs:
        line += f"; {len(runs)} to do"
        if known:
            line += f", {len(known)} like recorded ones: about {sum(known):.0f} CPU s"
        if len(known) < len(runs):
            line += f"; nothing is known of the cost of {len(runs) - len(known)}"
    typer.echo(line + ".")


def _list() -> None:
    figures = [specs.load(name) for name in specs.names()]
    of = {item: figure for figure in figures for item in figure.items}
    table = Table(box=None, pad_edge=False)
    for heading in ("item", "name", *specs.PRESETS, "shows"):
        number = heading in specs.PRESETS
        table.add_column(heading, justify="right" if number else "left", no_wrap=True)
    rows = [(item, title, of.get(item)) for item, title in ITEMS.items()]
    rows += [("ours", figure.title, figure) for figure in figures if not figure.items]
    for item, title, figure in rows:
        counts = [str(len(figure.runs(preset)) if figure else 0) for preset in specs.PRESETS]
        table.add_row(item, figure.name if figure else SKETCHES, *counts, title)
    console = Console(highlight=False, markup=False)
    console.print(table)
    console.print("quick, paper: how many runs the preset has.")


def _parse_seeds(text: str | None) -> list[int] | None:
    """`0-4` or `3,7` as numbers."""
    if text is None:
        return None
    numbers = list[int]()
    try:
        for part in text.split(","):
            low, dash, high = part.partition("-")
            numbers += range(int(low), int(high) + 1) if dash else [int(low)]
    except ValueError:
        numbers = []
    if not numbers:
        raise InputError(f"--seeds is {text!r}; write seeds such as 0-4 or 3,7.")
    return list(dict.fromkeys(numbers))
