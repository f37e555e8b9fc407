"""CPU seconds of `sq.posterior_expectation`, and how much better it is than plain means.

`taskset -c 0 python benchmarks/posterior.py [--seeds 3]`

Chains of four with autocorrelation 0.5 from two laws: logarithms of gamma variables of shape 2 (or
20, nearly normal), mixed by a rotation with scales from 0.3 to 3. All of mean, variance and three
quantiles are asked of every parameter. The first row includes what is compiled or imported once.
"""

import argparse
import time

import numpy as np
from scipy.special import digamma
from scipy.stats import loggamma, norm

import steinquad as sq

CASES = ((5, 2000), (10, 4000), (40, 10_000), (100, 10_000))
SHAPES = (2.0, 20.0)
CHAINS, AUTOCORRELATION = 4, 0.5


def chains(d: int, n: int, shape: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws and scores, (chain, draw, d), and the true means."""
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0] * np.linspace(0.3, 3, d)
    u = rng.normal(size=(CHAINS, n // CHAINS, d))
    for t in range(1, u.shape[1]):
        u[:, t] = AUTOCORRELATION * u[:, t - 1] + np.sqrt(1 - AUTOCORRELATION**2) * u[:, t]
    x = loggamma.ppf(norm.cdf(u), shape)
    score = (shape - np.exp(x)) @ np.linalg.inv(rotation)
    return x @ rotation.T, score, rotation @ np.full(d, digamma(shape))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="repetitions of every case")
    options = parser.parse_args()
    print("   d      n  shape  CPU s  error plain   better  |error|/std  method of most means")
    for d, n in CASES:
        for shape in SHAPES:
            for seed in range(options.seeds):
                draws, score, truth = chains(d, n, shape, seed)
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
                    f"{d:4d} {n:6d} {shape:6.0f} {seconds:6.1f} {before:12.1e} {after:8.1e} "
                    f"{ratio:12.2f}  {max(set(methods), key=methods.count)}"
                )


if __name__ == "__main__":
    main()
