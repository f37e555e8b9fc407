"""Where the points come from: independent draws, scrambled Sobol points, grids, Markov chains."""

from steinquad.designs.base import Design, Sample
from steinquad.designs.grid import Grid
from steinquad.designs.iid import IID
from steinquad.designs.mcmc import MALA, NUTS, TruncatedMALA
from steinquad.designs.sobol import Sobol

__all__ = ["IID", "MALA", "NUTS", "Design", "Grid", "Sample", "Sobol", "TruncatedMALA"]
