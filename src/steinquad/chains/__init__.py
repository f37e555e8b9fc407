"""From the draws of a posterior to better expectations."""

from steinquad.chains.expectation import posterior_expectation
from steinquad.chains.result import PosteriorSummary

__all__ = ["PosteriorSummary", "posterior_expectation"]
