"""False alarms and power of the test of tails, on independent values with nothing fitted.

`python benchmarks/tails.py [--seeds 1000]` prints, for each law of f and n: the share of samples
that is *suspect*, the share with a wider std, and how often the interval of two standard errors
covers the mean. The table of docs/how-it-works.md.
"""

import argparse
import math
from collections.abc import Callable

import numpy as np
from thirdparty_report import table

import steinquad as sq
from steinquad.checking.tails import Tails

Draw = Callable[[np.random.Generator, int], np.ndarray]
LAWS: dict[str, tuple[str, float, Draw]] = {
    "normal": ("finite", 0.0, lambda rng, n: rng.standard_normal(n)),
    "Laplace": ("finite", 0.0, lambda rng, n: rng.laplace(size=n)),
    "squared normal": ("finite", 1.0, lambda rng, n: rng.standard_normal(n) ** 2),
    "Student t, 5 degrees of freedom": ("finite", 0.0, lambda rng, n: rng.standard_t(5, n)),
    "lognormal, sigma = 1": ("finite", math.exp(0.5), lambda rng, n: rng.lognormal(size=n)),
    "x^-0.4 under a uniform": (
        "finite, no fourth moment",
        1 / 0.6,
        lambda rng, n: rng.uniform(size=n) ** -0.4,
    ),
    "cubed normal": ("finite, kurtosis 46", 0.0, lambda rng, n: rng.standard_normal(n) ** 3),
    "lognormal, sigma = 2": (
        "finite, kurtosis 9e6",
        math.exp(2.0),
        lambda rng, n: rng.lognormal(sigma=2.0, size=n),
    ),
    "exp(0.3 x^2) under a normal": (
        "infinite",
        0.4**-0.5,
        lambda rng, n: np.exp(0.3 * rng.standard_normal(n) ** 2),
    ),
    "x^-0.6 under a uniform": ("infinite", 2.5, lambda rng, n: rng.uniform(size=n) ** -0.6),
    "Student t, 1.5 degrees of freedom": ("infinite", 0.0, lambda rng, n: rng.standard_t(1.5, n)),
    "x^-0.9 under a uniform": ("infinite", 10.0, lambda rng, n: rng.uniform(size=n) ** -0.9),
}
SIZES = (100, 500, 5000)


def shares(mean: float, draw: Draw, n: int, seeds: int) -> tuple[float, float, float]:
    """Of samples that are suspect, that have a wider std, and whose interval covers the mean."""
    suspect = wider = covered = 0
    for seed in range(100, 100 + seeds):
        fx = draw(np.random.default_rng(seed), n)
        data = sq.Dataset(np.arange(float(n)), fx)
        tails = Tails.of(data.fx.mean(axis=0), data.fx, data)
        suspect += tails.suspect
        wider += not tails.suspect and tails.sentence is not None
        std = fx.std(ddof=1) / math.sqrt(n) * tails.widening[0]
        covered += abs(fx.mean() - mean) < 2 * std
    return suspect / seeds, wider / seeds, covered / seeds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    seeds = parser.parse_args().seeds
    body = []
    for name, (variance, mean, draw) in LAWS.items():
        cells = []
        for n in SIZES:
            found = shares(mean, draw, n, seeds)
            cells.append(" / ".join(f"{share:.0%}" for share in found).replace("%", " %"))
        body.append((name, variance, *cells))
    head = ("f", "variance", *(f"n = {n}" if n == SIZES[0] else str(n) for n in SIZES))
    print("\n".join(table(head, body)))


if __name__ == "__main__":
    main()
