"""CPU seconds of `sq.posterior_expectation`, and how much better it is than plain means.

`taskset -c 0 python benchmarks/posterior.py [--seeds 3]`

Four chains with autocorrelation 0.5 from three distributions: logarithms of gamma variables of
shape 2 (skewed) or 20 (nearly normal), mixed by a rotation with scales from 0.3 to 3; and the
logarithm of a scale, N(0, 0.3^2), with d - 1 normal effects of that scale (hierarchical). All of
mean, variance and three quantiles are asked of every parameter. The first row includes what is
compiled or imported once.
"""

import argparse
import time
from functools import partial

import numpy as np
from scipy.special import digamma
from scipy.stats import loggamma, norm

import steinquad as sq

CASES = ((5, 2000), (10, 4000), (40, 10_000), (100, 10_000))
CHAINS, AUTOCORRELATION = 4, 0.5

Known = tuple[np.ndarray, np.ndarray, np.ndarray]  # draws, scores, (chain, draw, d); true means


def normal_chains(d: int, n: int, rng: np.random.Generator) -> np.ndarray:
    u = rng.normal(size=(CHAINS, n // CHAINS, d))
    for t in range(1, u.shape[1]):
        u[:, t] = AUTOCORRELATION * u[:, t - 1] + np.sqrt(1 - AUTOCORRELATION**2) * u[:, t]
    return u


def rotated(d: int, n: int, seed: int, shape: float) -> Known:
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0] * np.linspace(0.3, 3, d)
    x = loggamma.ppf(norm.cdf(normal_chains(d, n, rng)), shape)
    score = (shape - np.exp(x)) @ np.linalg.inv(rotation)
    return x @ rotation.T, score, rotation @ np.full(d, digamma(shape))


def hierarchical(d: int, n: int, seed: int, spread: float = 0.3) -> Known:
    u = normal_chains(d, n, np.random.default_rng(seed))
    t, effects = spread * u[..., :1], u[..., 1:]
    slope = -t / spread**2 + np.sum(effects**2 - 1, axis=-1, keepdims=True)
    draws = np.concatenate([t, np.exp(t) * effects], axis=-1)
    return draws, np.concatenate([slope, -effects / np.exp(t)], axis=-1), np.zeros(d)


DISTRIBUTIONS = {
    "skewed": partial(rotated, shape=2.0),
    "nearly normal": partial(rotated, shape=20.0),
    "hierarchical": hierarchical,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="repetitions of every case")
    options = parser.parse_args()
    head = "error plain   better  |error|/std  method of most means"
    print(f"   d      n  distribution   CPU s  {head}")
    for d, n in CASES:
        for distribution, chains in DISTRIBUTIONS.items():
            for seed in range(options.seeds):
                draws, score, truth = chains(d, n, seed)
                start = time.process_time()
                found = sq.posterior_expectation(draws, score=score)
                seconds = time.process_time() - start
                rows = [row for row in found if row.statistic == "mean"]
                plain = np.array([row.plain for row in rows]) - truth
                error = np.array([row.mean for row in rows]) - truth
                ratio = np.median(np.abs(error) / [row.std for row in rows])
                before, after = (np.sqrt(np.mean(each**2)) for each in (plain, error))
                methods = [row.method for row in rows]
                print(
                    f"{d:4d} {n:6d} {distribution:13} {seconds:6.1f} {before:12.1e} {after:8.1e} "
                    f"{ratio:12.2f}  {max(set(methods), key=methods.count)}"
                )


if __name__ == "__main__":
    main()
