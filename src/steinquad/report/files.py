"""A report as files."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steinquad._types import Progress
from steinquad.errors import InputError
from steinquad.estimate import Estimate
from steinquad.report.content import Distribution, collect
from steinquad.report.html import to_html
from steinquad.report.markdown import to_markdown
from steinquad.report.outline import outline
from steinquad.studies.study import Study

__all__ = ["FORMATS", "check_targets", "replaced", "write"]

FORMATS: dict[str, Callable[[dict[str, Any]], str]] = {
    ".html": lambda content: to_html(content["study"]["name"], outline(content)),
    ".md": lambda content: to_markdown(outline(content)),
    ".json": lambda content: json.dumps(content, indent=1, allow_nan=False) + "\n",
}


def write(
    study: Study,
    *paths: str | Path,
    estimate: Estimate | None = None,
    distribution: Distribution | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Estimate from what a study has stored, and write what was found.

    Args:
        study: with at least one evaluation; where there is no answer, because too much failed,
            the report says so.
        paths: files to write, by their ending: .html, .md or .json; none to have the content only.
        estimate: the answer from `run` or `estimate` to everything that is stored, so that it
            need not be computed again.
        distribution: what `study.distribution(estimate)` gave, likewise.
        progress: called with (step, total, loss) while a method is trained.

    Returns:
        What a JSON report holds.
    """
    targets = [Path(path) for path in paths]
    check_targets(targets, Path(study.store))
    content = collect(study, estimate, distribution, progress)
    for target in targets:
        text = FORMATS[target.suffix.lower()](content)
        with replaced(target) as partial:
            partial.write_text(text, encoding="utf-8")
    return content


def check_targets(paths: Sequence[Path], store: Path) -> None:
    """Complain of files that cannot be written, before the work of an estimate.

    Args:
        paths: to be written; each needs a known ending and a directory that is there.
        store: of the study, which no report may replace.
    """
    for path in paths:
        if path.resolve() == store.resolve():
            raise InputError(f"target {path} is the store of the study; give another file.")
        if path.suffix.lower() not in FORMATS or not path.parent.is_dir():
            raise InputError(
                f"target {path} cannot be written; give a file ending in {', '.join(FORMATS)} in "
                "a directory."
            )


@contextmanager
def replaced(target: Path) -> Iterator[Path]:
    """A file to write to, which takes the place of the target once it is whole.

    Whatever goes wrong leaves what was there, and an `OSError` is an `InputError` with its reason.
    """
    # Beside the target, so that the replacement is one step within a file system.
    partial = target.with_name(target.name + ".part")
    try:
        yield partial
        os.replace(partial, target)
    except OSError as error:
        raise InputError(f"target {target} cannot be written ({error.strerror}).") from None
    finally:
        partial.unlink(missing_ok=True)
