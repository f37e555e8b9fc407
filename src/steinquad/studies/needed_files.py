"""The files that a study lives by, which nothing that is written about it may overwrite."""

import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from steinquad.studies.settings import Settings

__all__ = ["files_of", "needed_files"]

# Beside the store: SQLite's log, index of the log and journal, and the lock of the writer.
BESIDE = ("-wal", "-shm", "-journal", ".lock")


def needed_files(settings: Settings) -> dict[Path, str]:
    """Every file that a study is made of, with what it is in words for a complaint.

    The store and what SQLite keeps beside it, the study file with the files that it names, and
    those of the integrand; of what the integrand imports nothing is known.

    Args:
        settings: of the study, or the study itself.
    """
    store = Path(settings.store)
    files = {store: "the store of the study"}
    for place in {store, store.resolve()}:  # links are followed before the log is named
        for ending in BESIDE:
            files[place.with_name(place.name + ending)] = "part of the store of the study"
    files |= dict.fromkeys(map(Path, settings.sources), "a file that the study is read from")
    return files | dict.fromkeys(_of_integrand(settings), "a file of the integrand")


def _of_integrand(settings: Settings) -> Iterator[Path]:
    call = settings.call
    directory = Path(call.directory)
    yield from (directory / argument for argument in call.command if "\x00" not in argument)
    code = getattr(settings.function, "__code__", None)
    if code is not None:
        yield Path(code.co_filename)
    yield from files_of(call.function, directory)


def files_of(reference: str, directory: Path) -> Iterator[Path]:
    """The file that `file.py:name` names, or that of a module and of the packages that it is in.

    Args:
        reference: as `find` takes it; one that names nothing has no files.
        directory: where the file or module is looked for.
    """
    where = reference.rpartition(":")[0]
    if where.endswith(".py"):
        yield directory / where
        return
    parts, places = where.split("."), [str(directory), *sys.path]
    for count in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:count]), places)
        if spec is None:
            return
        # Found without an import, which would run code for the sake of a check.
        if spec.has_location and spec.origin is not None:
            yield Path(spec.origin)
        places = list(spec.submodule_search_locations or ())
