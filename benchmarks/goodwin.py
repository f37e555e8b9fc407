"""Posterior means of the Goodwin oscillator from 1,000 thinned draws of the paper's chains.

    python benchmarks/goodwin.py [--candidates 20]

All methods get the same draws, values and scores: five MALA chains from the prior, 2,000 steps
dropped, every 20th kept. Relative error against the posterior mean, one number for each of the
four parameters. Data seed 1 is there to show that nothing was tuned on the truth of seed 0.
Chains are kept in results/.draws, so that a stopped run goes on. With candidates, chains start at
the likeliest of so many draws of the prior, and none is caught on its way; those rows are kept
apart.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from records import RESULTS, Records

import steinquad as sq
from steinquad.methods.base import Method

N = 1000


def paper(c: object, steps: int) -> Callable[[], Method]:
    """The published network in w as it is, with m(x) = I/C."""
    return lambda: sq.BSN.paper(
        standardize="none",
        multiplier=sq.multipliers.Constant(c),  # pyright: ignore[reportArgumentType]
        optimizer=sq.LBFGS(max_steps=steps, rtol=0.0),
    )


METHODS: dict[str, Callable[[], Method]] = {
    "MonteCarlo": sq.MonteCarlo,
    "Stack": sq.Stack,
    "Polynomial": sq.Polynomial,
    "ControlFunctional": sq.ControlFunctional,
    "BSN whitened": lambda: sq.BSN(standardize="whiten"),
    "BSN": sq.BSN,
    "BSN.paper C=1": paper(1.0, 2000),
    "BSN.paper C=std": paper("std", 2000),
    "BSN.paper C=max": paper("max", 2000),
}


def draws(data: int, seed: int, candidates: int) -> tuple[sq.Dataset, np.ndarray]:
    """The draws as a dataset, and the truth."""
    problem = sq.problems.goodwin(data)
    path = RESULTS / ".draws" / f"mala{candidates if candidates > 1 else ''}-{data}-{seed}"
    design = sq.problems.goodwin_mala(path=path, candidates=candidates)
    sample = design.draw(problem.measure, N, seed=seed)
    for note in sample.notes:
        print(f"data seed {data}, chain seed {seed}: {note}")
    fx = problem.integrand(sample.x)
    return sq.Dataset(sample.x, fx, sample.score, groups=sample.groups), problem.truth


def run(
    records: Records, names: list[str], data_seeds: list[int], seeds: range, candidates: int
) -> None:
    for seed in seeds:
        for data_seed in data_seeds:
            key = {"data": data_seed, "seed": seed}
            missing = [name for name in names if not records.has(method=name, **key)]
            if not missing:
                continue
            data, truth = draws(data_seed, seed, candidates)
            for name in missing:
                start = time.process_time()
                answer = sq.estimate(data, method=METHODS[name]())
                error = np.abs(answer.mean - truth) / truth
                std = np.asarray(answer.std) / truth
                records.add(
                    **key,
                    method=name,
                    error=error.tolist(),
                    std=std.tolist(),
                    ratio=float(np.max(error / std)),
                    cpu=time.process_time() - start,
                    status=answer.status.code,
                    message=answer.status.message,
                    chosen=answer.method,
                )


def report(records: Records, names: list[str], data_seeds: list[int]) -> None:
    for data_seed in data_seeds:
        print(f"\ndata seed {data_seed}, n = {N}: worst relative error over the chains' seeds")
        print(
            f"{'':18}{'runs':>5}{'a1':>9}{'a2':>9}{'k':>9}{'alpha':>9}{'|e|/std':>9}{'CPU s':>7}"
        )
        for name in names:
            rows = records.select(data=data_seed, method=name)
            if rows:
                worst = np.max([row["error"] for row in rows], axis=0)
                print(
                    f"{name:18}{len(rows):5}"
                    + "".join(f"{error:9.1e}" for error in worst)
                    + f"{max(row['ratio'] for row in rows):9.1f}"
                    f"{np.mean([row['cpu'] for row in rows]):7.0f}"
                    f"  {', '.join(sorted({row['status'] for row in rows}))}"
                    f"  {rows[0]['chosen'] if name == 'Stack' else ''}"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="of the chains")
    parser.add_argument("--data-seeds", default="0,1")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--candidates", type=int, default=1, help="starts for each chain")
    options = parser.parse_args()
    names = options.methods.split(",")
    data_seeds = [int(seed) for seed in options.data_seeds.split(",")]
    name = "goodwin" if options.candidates == 1 else f"goodwin_{options.candidates}_candidates"
    records = Records(name, ("data", "method", "seed"))
    run(records, names, data_seeds, range(options.seeds), options.candidates)
    report(records, names, data_seeds)


if __name__ == "__main__":
    main()
