"""The wind farm, seven inputs: every method on the same independent draws.

`python benchmarks/wind_farm.py [--methods default,mc,polynomial,bq,bsn] [--n 320,1280]`

Resumable: rows are appended to results/wind_farm.jsonl and never run twice. The first n of 1,280
draws of a seed are used, so that f is evaluated once for all methods and n. Errors are relative to
the stored truth, whose own standard error is about 1e-5.
"""

import argparse
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from records import Records

import steinquad as sq

METHODS: dict[str, Callable[[], Any]] = {
    "stack": sq.Stack,
    "mc": sq.MonteCarlo,
    "polynomial": sq.Polynomial,
    "bq": sq.BayesianQuadrature,
    "bsn": sq.BSN,
}
MOST = 1280
PROBLEM = sq.problems.wind_farm()


@cache
def values(seed: int, n: int) -> sq.Dataset:
    x = PROBLEM.measure.sample(MOST, seed=seed)[:n]
    return sq.Dataset(x, PROBLEM.integrand(x))


def solve(method: str, n: int, seed: int) -> dict[str, Any]:
    data = values(seed, n)
    start = time.process_time()
    answer = sq.estimate(data, measure=PROBLEM.measure, method=METHODS[method](), seed=seed)
    low, high = answer.interval(0.95)
    return {
        "mean": answer.mean,
        "std": answer.std,
        "error": abs(answer.mean - PROBLEM.truth) / PROBLEM.truth,
        "inside": bool(low < PROBLEM.truth < high),
        "chosen": answer.method,
        "status": str(answer.status),
        "cpu": time.process_time() - start,
    }


def report(records: Records, methods: list[str], n: int, seeds: range) -> None:
    print(f"\nn = {n}, relative error of the mean, seeds {seeds.start} to {seeds.stop - 1}")
    print(f"{'method':12}{'seeds':>6}{'first ten':>11}{'all':>10}{'inside':>8}{'CPU s':>8}")
    for method in methods:
        rows = [row for row in records.select(method=method, n=n) if row["seed"] in seeds]
        if not rows:
            continue
        first = [row["error"] for row in rows if row["seed"] < seeds.start + 10]
        inside = f"{sum(row['inside'] for row in rows)}/{len(rows)}"
        print(
            f"{method:12}{len(rows):6}{np.mean(first):11.2e}"
            f"{np.mean([row['error'] for row in rows]):10.2e}{inside:>8}"
            f"{np.mean([row['cpu'] for row in rows]):8.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--n", default="320,1280")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args()
    records = Records("wind_farm", ("method", "n", "seed"))
    methods = options.methods.split(",")
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    for n in map(int, options.n.split(",")):
        for seed in seeds:
            for method in methods:
                if not records.has(method=method, n=n, seed=seed):
                    records.add(method=method, n=n, seed=seed, **solve(method, n, seed))
        report(records, methods, n, seeds)


if __name__ == "__main__":
    main()
