"""Independent measures side by side, each with a name."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.linalg

from steinquad._types import Array, as_points
from steinquad.errors import InputError
from steinquad.measures.affine import Affine
from steinquad.measures.base import Measure
from steinquad.measures.checks import as_draw_request, as_names, as_probabilities
from steinquad.measures.factors import Factors, combined
from steinquad.support import Support

__all__ = ["Independent"]


class Independent(Measure):
    """The product of independent named measures, in the order of the mapping.

    All that `Product` does but for the conversion of its blocks, which is a matter of
    `measures.convert`. It provides what every block provides.

    Args:
        blocks: at least one. A block of one coordinate gives it its name; a block `w` of several
            gives `w[0]`, `w[1]`, ...
    """

    def __init__(self, blocks: Mapping[str, Measure]) -> None:
        self.blocks = dict(blocks)
        parts = list(self.blocks.values())
        names = [
            name if part.dim == 1 else f"{name}[{i}]"
            for name, part in self.blocks.items()
            for i in range(part.dim)
        ]
        self.support = Support.join([part.support for part in parts])
        self.names = as_names(names, self.dim)
        self.provides = frozenset.intersection(*(part.provides for part in parts))
        self._cuts = np.cumsum([part.dim for part in parts])[:-1]

    def score(self, x: Array) -> Array:
        """The blocks' scores side by side, (n, d) -> (n, d).

        The log density of independent blocks is a sum, so each block's gradient concerns its own
        columns only.
        """
        return np.hstack(self._each(lambda part: part.score, as_points("x", x, self.dim)))

    def log_density(self, x: Array) -> Array:
        """The sum of the blocks' log densities at each point, (n, d) -> (n,).

        Normalized if every block's is; minus infinity as soon as one block is outside its support.
        An error names the block that has no log density.
        """
        self._require("log_density")
        x = as_points("x", x, self.dim)
        return np.sum(self._each(lambda part: part.log_density, x), axis=0)

    def sample(self, n: int, *, seed: int) -> Array:
        """Independent draws; every block has a seed of its own, derived from `seed`.

        Seeds are spawned, so blocks of the same distribution do not repeat each other's draws. The
        result is (n, d), with columns in the order of `names`.
        """
        self._require("sample")
        n, seed = as_draw_request(n, seed)
        children = np.random.SeedSequence(seed).spawn(len(self.blocks))
        seeds = [int(child.generate_state(1)[0]) for child in children]
        parts = zip(self.blocks.values(), seeds, strict=True)
        return np.hstack([part.sample(n, seed=own) for part, own in parts])

    def cdf(self, x: Array) -> Array:
        """The blocks' distribution functions side by side.

        (n, d) -> (n, d); every block must provide one, which means that its own coordinates are
        independent, and the error names one that does not.
        """
        self._require("cdf")
        return np.hstack(self._each(lambda part: part.cdf, as_points("x", x, self.dim)))

    def icdf(self, p: Array) -> Array:
        """The blocks' inverses side by side.

        (n, d) -> (n, d), from probabilities in [0, 1]: each block gets the columns that belong to
        it and answers with points of its own support.
        """
        self._require("icdf")
        return np.hstack(self._each(lambda part: part.icdf, as_probabilities(p, self.dim)))

    def factors(self) -> Factors | None:
        """All choices of a component from each block, in the blocks' coordinates side by side.

        None where a block has no factors or the choices are too many. Blocks of correlated normals
        keep their whitening, as one block of the matrix L.
        """
        parts = [part for block in self.blocks.values() if (part := block.factors()) is not None]
        terms = combined([part.terms for part in parts])
        if terms is None or len(parts) < len(self.blocks):
            return None
        affine = Affine(
            np.concatenate([part.affine.shift for part in parts]),
            np.asarray(scipy.linalg.block_diag(*(part.affine.matrix for part in parts))),
            np.asarray(scipy.linalg.block_diag(*(part.affine.inverse for part in parts))),
        )
        weights, components = zip(*terms, strict=True)
        return Factors(affine, np.array(weights), components)

    def _each(self, method: Callable[[Measure], Any], values: Array) -> list[Array]:
        """Of every block at its own columns of the values."""
        columns = np.split(values, self._cuts, axis=1)
        parts = zip(self.blocks.values(), columns, strict=True)
        return [method(part)(own) for part, own in parts]

    def _require(self, what: str) -> None:
        lacking = [name for name, part in self.blocks.items() if what not in part.provides]
        if lacking:
            raise InputError(
                f"measure Product has no {what}, because block {lacking[0]!r} has none."
            )
