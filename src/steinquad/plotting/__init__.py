"""Figures; matplotlib is an extra (`pip install steinquad[plot]`)."""

from steinquad.plotting.figures import diagnose

__all__ = ["diagnose"]
