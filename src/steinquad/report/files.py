"""A report as files."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from steinquad._files import check_output, replaced
from steinquad._types import ProgressOption, as_path
from steinquad.errors import InputError, shown
from steinquad.estimate import Estimate
from steinquad.report.content import Distribution, collect
from steinquad.report.html import to_html
from steinquad.report.markdown import to_markdown
from steinquad.report.outline import outline
from steinquad.studies.needed_files import needed_files
from steinquad.studies.study import Study

__all__ = ["FORMATS", "check_targets", "write"]

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
    progress: ProgressOption = None,
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
    if not isinstance(study, Study):
        raise InputError(f"study is {shown(study)}; pass a Study.")
    targets = [as_path("target", path) for path in paths]
    check_targets(study, targets)
    content = collect(study, estimate, distribution, progress)
    for target in targets:
        text = FORMATS[target.suffix.lower()](content)
        with replaced(target, needed=needed_files(study)) as partial:
            partial.write_text(text, encoding="utf-8")
    return content


def check_targets(study: Study, paths: Sequence[Path]) -> None:
    """Complain of files that cannot be written, before the work of an estimate.

    Args:
        study: whose files no report may replace: its store, its own file, its integrand.
        paths: to be written; each needs a known ending and a directory that is there.
    """
    needed = needed_files(study)
    for path in paths:
        check_output(path, endings=tuple(FORMATS), needed=needed)
