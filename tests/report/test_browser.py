"""The HTML report in a browser: no complaint, the numbers to be seen, no sideways scrolling."""

import html
import os
import re
import shutil
import subprocess

import pytest

from steinquad.report.numbers import with_std

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((path for path in map(shutil.which, NAMES) if path), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason=f"none of {', '.join(NAMES)} on PATH")

MEASURE = """<body>{frames}<script>
onload = () => {{ document.body.dataset.widths = [...document.querySelectorAll("iframe")].map(
    (f) => f.contentDocument.documentElement).map(
    (page) => page.scrollWidth - page.clientWidth).join(" ") }}
</script></body>"""


def opened(path, folder):
    """The document as the browser has it, and what it wrote to its console."""
    command = [BROWSER, "--headless", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]
    command += ["--virtual-time-budget=2000", f"--user-data-dir={folder / 'profile'}"]
    if os.geteuid() == 0:  # as in a container: its sandbox refuses root
        command.append("--no-sandbox")
    done = subprocess.run(
        [*command, path.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout, [line for line in done.stderr.split("\n") if "CONSOLE" in line]


def test_numbers_without_complaints(good, tmp_path):
    document, complaints = opened(good.paths["html"], tmp_path)
    assert complaints == []
    for output in good.content["outputs"]:
        assert with_std(output["mean"], output["std"], output["unit"]) in document


def test_hostile_text_stays_text_and_nothing_scrolls_sideways(good, bad, tmp_path):
    """Both reports at the widths of a phone and of a desk, in frames of one page."""
    frames = "".join(
        f'<iframe width="{width}" height="800" srcdoc="{html.escape(report.html)}"></iframe>'
        for report in (good, bad)
        for width in (340, 1200)
    )
    frames += '<iframe width="340" srcdoc="<p style=width:900px>too wide"></iframe>'
    page = tmp_path / "frames.html"
    page.write_text(MEASURE.format(frames=frames), encoding="utf-8")
    document, complaints = opened(page, tmp_path)
    assert complaints == []  # of alerts and of scripts that the page refuses, too
    widths = re.search(r'data-widths="([^"]*)"', document)
    assert widths is not None
    *beyond, wide = map(int, widths[1].split())
    assert beyond == [0, 0, 0, 0] and wide > 0


def test_a_complaint_would_be_seen(good, tmp_path):
    page = tmp_path / "wrong.html"
    text = good.html.replace("</body>", "<script>alert(1)</script></body>")
    page.write_text(text, encoding="utf-8")
    _, complaints = opened(page, tmp_path)
    assert complaints and "Content Security Policy" in complaints[0]
