"""Where the points come from: independent draws, scrambled Sobol points, grids, Markov chains."""

from steinquad.designs.base import Design, Sample
from steinquad.designs.grid import Grid
from steinquad.designs.iid import IID
from steinquad.designs.mala import MALA, TruncatedMALA
from steinquad.designs.mcmc import MarkovChains
from steinquad.designs.nuts import NUTS
from steinquad.designs.resumable import Resumable
from steinquad.designs.sobol import Sobol
from steinquad.designs.whitened import Whitened, laplace

__all__ = [
    "IID",
    "MALA",
    "NUTS",
    "Design",
    "Grid",
    "MarkovChains",
    "Resumable",
    "Sample",
    "Sobol",
    "TruncatedMALA",
    "Whitened",
    "laplace",
]
