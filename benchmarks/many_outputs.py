"""What many outputs cost beside one: a field over k places under the default, in one run.

`python benchmarks/many_outputs.py [--seeds 2] [--points 300] [--outputs 1 20 200]`

    f_j(x) = exp(-(t_j - x1)^2) (1 + x2 t_j) + sin(x3 t_j) x4

at k places t_j between 0 and 1 (one of them: 1/2), four standard normals. Seven principal
components carry more than 1e-10 of its variance. Every size is run twice with each seed, and the
second run counts: programs are compiled then. Prints CPU seconds, their geometric mean over that
of one output, the std at t = 1/2, and the largest error of any place and seed over its std. Take a
machine that does nothing else.
"""

import argparse
import time

import numpy as np
import scipy.stats

import steinquad as sq


def field(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Values at points (n, 4) and places (k,), (n, k)."""
    bump = np.exp(-((t - x[:, :1]) ** 2)) * (1 + x[:, 1:2] * t)
    return bump + np.sin(x[:, 2:3] * t) * x[:, 3:4]


def places(k: int) -> np.ndarray:
    """Where the field is asked for."""
    return np.linspace(0, 1, k) if k > 1 else np.array([0.5])


def truth(t: float) -> float:
    """Of `exp(-(t - x1)^2)`, since x2 and x4 have mean zero and are independent of the rest."""
    return float(np.exp(-(t**2) / 3) / np.sqrt(3))


def timed(k: int, n: int, seed: int) -> tuple[float, sq.Estimate]:
    """CPU seconds of the second run, and its answer."""
    t, seconds, estimate = places(k), 0.0, None
    for _ in range(2):
        start = time.process_time()
        estimate = sq.integrate(lambda x: field(x, t), [scipy.stats.norm()] * 4, n=n, seed=seed)
        seconds = time.process_time() - start
    assert estimate is not None
    return seconds, estimate


def main() -> None:
    """Print a row for every size."""
    parser = argparse.ArgumentParser(description="What many outputs cost beside one.")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--points", type=int, default=300)
    parser.add_argument("--outputs", type=int, nargs="+", default=[1, 20, 200])
    options = parser.parse_args()
    print(f"{'k':>4}  {'CPU seconds':30}  {'ratio':>5}  {'std at 1/2':>10}  {'|error|/std':>11}")
    first = None
    for k in options.outputs:
        seconds, stds, ratios = [], [], []
        for seed in range(options.seeds):
            used, estimate = timed(k, options.points, seed)
            seconds.append(used)
            t, mean, std = places(k), np.atleast_1d(estimate.mean), np.atleast_1d(estimate.std)
            stds.append(np.interp(0.5, t, std))
            errors = np.abs(mean - [truth(each) for each in t]) / std
            ratios.append(errors.max())
        typical = float(np.exp(np.mean(np.log(seconds))))
        first = first or typical
        each = " ".join(f"{one:.1f}" for one in seconds)
        print(
            f"{k:4d}  {each:30}  {typical / first:5.2f}  {np.mean(stds):10.1e}  "
            f"{max(ratios):11.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
