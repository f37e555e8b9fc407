"""What the documentation shows works: every Python block runs, every public name is explained."""

import re
from pathlib import Path

import four_supports
import pytest

import steinquad as sq

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = {
    str(page.relative_to(ROOT)): blocks
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if (blocks := BLOCK.findall(page.read_text()))
}
SLOW = {"README.md", "docs/goodwin.md", "docs/studies.md", "docs/wind-farm.md"}  # up to a minute


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.slow] * (page in SLOW)) for page in PAGES]
)
def test_the_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    if any("import pymc" in block for block in PAGES[page]):
        four_supports.import_pymc()  # once without its warning
    monkeypatch.chdir(tmp_path)
    known = {"__name__": "page"}
    for number, block in enumerate(PAGES[page]):
        exec(compile(block, f"{page}, block {number}", "exec"), known)


def test_no_page_is_without_a_test():
    assert {"docs/index.md", *SLOW} <= PAGES.keys()


def test_the_reference_has_every_public_name():
    reference = (ROOT / "docs" / "reference.md").read_text()
    entries = re.findall(r"^::: steinquad\.(?:api\.)?(\w+)$", reference, re.MULTILINE)
    assert set(entries) == set(sq.__all__)
