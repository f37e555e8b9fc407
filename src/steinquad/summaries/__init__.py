"""More than the mean: standard deviation, quantiles and chances of f, each with an interval."""

from steinquad.summaries.cross_fitted import distribution
from steinquad.summaries.statistic import Statistic

__all__ = ["Statistic", "distribution"]
