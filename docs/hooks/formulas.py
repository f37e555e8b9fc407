"""Formulas between dollar signs become MathML, which browsers show without a script."""

import re
from typing import Any

from latex2mathml.converter import convert

CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
DISPLAY = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
INLINE = re.compile(r"(?<![\\$])\$([^\s$][^$\n]*?)\$(?!\d)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """What stands in code is left as it is."""
    parts = CODE.split(markdown)
    parts[::2] = [_formulas(part) for part in parts[::2]]
    return "".join(parts)


def _formulas(text: str) -> str:
    text = DISPLAY.sub(lambda found: convert(found[1].strip(), display="block"), text)
    # A span, for at the beginning of a line the element alone would be taken for a paragraph.
    return INLINE.sub(lambda found: f"<span>{convert(found[1])}</span>", text)
