"""What the documentation shows works: blocks run, names and files exist, lines are short."""

import re
from pathlib import Path

import four_supports
import pytest

import steinquad as sq

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = {
    str(page.relative_to(ROOT)): blocks
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if (blocks := BLOCK.findall(page.read_text()))
}
SHOWING = ("README.md", "docs/index.md")  # pages that show what their blocks print
SLOW = {"docs/goodwin.md", "docs/studies.md", "docs/wind-farm.md"}  # up to a minute
# A Python block, and what it prints where that is shown.
SHOWN = re.compile(r"^```python\n(.*?)^```\n(?:\n```\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"-?\d[\d.]*(?:e[+-]\d+)?")
MARKDOWN = sorted(
    page
    for folder in (".", "docs", "docs/decisions", "benchmarks", "examples", "examples/gallery")
    for page in (ROOT / folder).glob("*.md")  # docs/reproduction has tables made by the command
)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] * (page in SLOW))
        for page in PAGES
        if page not in SHOWING
    ],
)
def test_the_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    if any("import pymc" in block for block in PAGES[page]):
        four_supports.import_pymc()  # once without its warning
    monkeypatch.chdir(tmp_path)
    known = {"__name__": "page"}
    for number, block in enumerate(PAGES[page]):
        exec(compile(block, f"{page}, block {number}", "exec"), known)


@pytest.mark.parametrize("page", SHOWING)
def test_a_page_shows_what_its_blocks_print(page, capsys):
    """`python benchmarks/shown.py` writes it again."""
    known = {}
    text = (ROOT / page).read_text()
    pairs = SHOWN.findall(text)
    assert len(pairs) == len(BLOCK.findall(text)) >= 2
    for block, shown in pairs:
        exec(compile(block, page, "exec"), known)
        printed = capsys.readouterr().out
        assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown).split()
        for ours, theirs in zip(NUMBER.findall(printed), NUMBER.findall(shown), strict=True):
            if len(theirs) > 5 and "e" not in theirs:  # stds and ratios depend on the processor
                assert float(ours) == pytest.approx(float(theirs), rel=1e-3)


def test_no_page_is_without_a_test():
    assert {"docs/index.md", *SLOW} <= PAGES.keys()


def test_lines_are_short():
    long = [
        f"{page.relative_to(ROOT)}:{number}"
        for page in MARKDOWN
        for number, line in enumerate(page.read_text().splitlines(), start=1)
        if len(line) > 120
    ]
    assert ROOT / "README.md" in MARKDOWN and not long


def test_files_that_a_page_names_exist():
    named = {
        (page.name, file)
        for page in MARKDOWN
        if page.name != "CHANGELOG.md"  # which may name what is gone
        for file in re.findall(r"`(?:python )?([\w-]+(?:/[\w-]+)+\.py)`", page.read_text())
    }
    places = (ROOT, ROOT / "src" / "steinquad")
    missing = {(page, f) for page, f in named if not any((p / f).exists() for p in places)}
    assert named and not missing


def test_names_of_the_notation_are_in_the_code():
    page = (ROOT / "docs" / "notation.md").read_text()
    cells = re.findall(r"^\| [^|]+ \| ([^|]+) \|", page, re.MULTILINE)
    names = {name for code in re.findall(r"`(.+?)`", " ".join(cells)) for name in code.split(".")}
    source = "\n".join(file.read_text() for file in (ROOT / "src").rglob("*.py"))
    assert len(names) > 30 and names <= set(re.findall(r"\w+", source))


def test_the_reference_has_every_public_name():
    reference = (ROOT / "docs" / "reference.md").read_text()
    entries = re.findall(r"^::: steinquad\.(?:api\.)?(\w+)$", reference, re.MULTILINE)
    assert set(entries) == set(sq.__all__)


def test_the_search_finds_words_within_names():
    (separator,) = re.findall(r"separator: '(.*)'", (ROOT / "mkdocs.yml").read_text())
    words = re.split(separator, "`sq.integrate(f, rtol=0.5)`, PolynomialChaos, scipy.stats.norm")
    assert {"integrate", "rtol", "0.5", "Polynomial", "Chaos", "stats"} <= set(words)


def test_every_promise_of_the_page_on_reliability_has_its_tests():
    page = (ROOT / "docs" / "reliability.md").read_text()
    promised = page[page.index("## What is promised") : page.index("## What is not promised")]
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", promised)
    missing = [
        f"{file}::{test}"
        for file, test in named
        if f"def {test}(" not in (ROOT / file).read_text()
    ]
    assert len(named) > 20 and not missing
