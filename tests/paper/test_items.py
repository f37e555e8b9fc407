"""Every table and figure of the paper: reproduced by one command, and on the page."""

import re
from pathlib import Path

from steinquad.paper.items import ITEMS, SKETCHES
from steinquad.paper.spec import load, names


def test_no_item_of_the_paper_has_two_specs():
    items = [item for name in names() for item in load(name).items]
    assert len(set(items)) == len(items)


def test_the_page_has_every_item_with_its_command():
    page = Path(__file__).parents[2] / "docs" / "reproduction.md"
    commands = {
        item: f"`steinquad reproduce {name}`" for name in names() for item in load(name).items
    }
    commands |= dict.fromkeys(SKETCHES, "`steinquad reproduce sketches`")
    listed = {}
    for line in page.read_text().splitlines():
        cells = line.split(" | ")
        if line.startswith("| ") and cells[1].startswith("`steinquad reproduce "):
            listed |= dict.fromkeys(_items(cells[0]), cells[1])
    assert listed == commands and listed.keys() == ITEMS.keys()


def _items(cell):
    """Of a row: `| [Figures 15-17, 21](file)` are four."""
    head = re.sub(r"\(.*", "", cell).strip("| []")
    kind, _, numbers = head.partition(" ")
    for part in numbers.split(", ") if kind in ("Table", "Figure", "Figures") else ():
        first, _, last = part.partition("-")
        for number in range(int(first), int(last or first) + 1):
            yield f"{kind.removesuffix('s')} {number}"
