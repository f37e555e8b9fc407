"""The command `steinquad`."""

from steinquad.cli.main import main

__all__ = ["main"]
