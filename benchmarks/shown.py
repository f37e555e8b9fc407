"""What the README and the quickstart show: the output of their blocks, and the figure.

    python benchmarks/shown.py

Runs every Python block of README.md and docs/index.md, writes what it prints into the block below
it, and draws docs/figures/quickstart.png. A test compares both pages with what is printed today.
"""

import io
import os
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
# A Python block, and what is shown of its output, if anything.
BLOCK = re.compile(r"^```python\n(.*?)^```\n(\n```\n.*?^```\n)?", re.DOTALL | re.MULTILINE)


def main() -> None:
    for page in ("README.md", "docs/index.md"):
        (ROOT / page).write_text(renewed((ROOT / page).read_text()))
    draw()


def renewed(text: str) -> str:
    """A page with what its blocks print today."""
    known: dict[str, Any] = {}

    def block_and_output(found: re.Match[str]) -> str:
        printed = output(found[1], known)
        shown = f"\n```\n{printed}```\n" if printed else ""
        return f"```python\n{found[1]}```\n{shown}"

    return BLOCK.sub(block_and_output, text)


def output(block: str, known: dict[str, Any]) -> str:
    """What a block prints; it knows what those before it have defined."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(block, known)
    return re.sub(r"[ ]+$", "", printed.getvalue(), flags=re.MULTILINE)


def draw() -> None:
    """The first answer of the quickstart, smaller than it is drawn by itself."""
    known: dict[str, Any] = {}
    output(BLOCK.findall((ROOT / "docs" / "index.md").read_text())[0][0], known)
    figure = known["est"].plot(truth=float(np.exp(0.05)))
    figure.savefig(ROOT / "docs" / "figures" / "quickstart.png", dpi=110)


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
