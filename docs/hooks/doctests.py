"""Examples in docstrings become blocks of code in the reference."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*?(?=\n\n(?!>>> )|\Z)", re.MULTILINE | re.DOTALL)


class Doctests(griffe.Extension):
    """From a prompt to the next empty line that no prompt follows."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Fence what stands in the docstring of an object."""
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(
                lambda found: f"```pycon\n{found[0]}\n```", obj.docstring.value
            )
