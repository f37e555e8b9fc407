"""Figures; matplotlib is an extra (`pip install steinquad[plot]`)."""

from steinquad.plotting.diagnose import diagnose

__all__ = ["diagnose"]
