"""Integrands that others made: uqtestfuns, a narrow Borehole, and twelve nasty ones.

`python benchmarks/thirdparty.py [--methods default,...] [--problems ...] [--n ...] [--seeds 0-4]
[--hours 2] [--truths] [--report] [--docs]`, or `make bench-thirdparty`, which installs the extra
`thirdparty` (uqtestfuns, openturns).

mean         the mean of every function of uqtestfuns with at most 20 inputs, n = 100 and 500,
             seeds 0-4. Functions of any number of inputs have that of thirdparty_problems.py.
probability  its failure probabilities: the mean of the indicator of failure
borehole     narrow normal inputs, n = 50, 150 and 400, seeds 0-19
nasty        rare events, jumps, spikes, aliases and heavy tails, n = 500, seeds 0-9

Every method is given the same independent points and values, but `sobol`, the plain average over
scrambled Sobol points, and `own`, the default on such points. `default` is `sq.integrate` without
a method, whatever that is. Single methods run on the means only, `bsn` only if it is named. The
true values are committed; `--truths` computes those that are missing from their file
(thirdparty_truths.py has how).

Resumable: rows are appended to results/thirdparty.jsonl and never run twice. All problems of a
seed come before the next seed, so that a run that `--hours` of CPU time has cut off is a fair
part; the next run goes on there. `--docs` writes figure and tables of docs/benchmarks.md.
"""

import argparse
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import thirdparty_report
from records import RESULTS, Records
from thirdparty_opponents import monte_carlo, openturns_chaos, sobol_average
from thirdparty_problems import BOREHOLE, MEAN, NASTY, PROBABILITY, Problem, problems

import steinquad as sq

TRUTHS = RESULTS / "thirdparty_truth.json"
# Points and seeds by the kind of problem.
PLAN = {
    MEAN: ((100, 500), range(5)),
    PROBABILITY: ((100, 500), range(5)),
    BOREHOLE: ((50, 150, 400), range(20)),
    NASTY: ((500,), range(10)),
}
OURS: dict[str, Callable[[], sq.Method]] = {
    "polynomial-cdf": lambda: sq.Polynomial(features="cdf"),
    "polynomial-score": lambda: sq.Polynomial(features="score"),
    "chaos": sq.PolynomialChaos,
    "bq": sq.BayesianQuadrature,
    "cf": sq.ControlFunctional,
    "bsn": sq.BSN,
}
WHOLE = ("mc", "sobol", "openturns", "default", "own")  # run on problems of every kind
METHODS = (*WHOLE, *OURS)
ON_REQUEST = {"bsn"}
PROGRESS = 60.0  # CPU seconds between two lines


@dataclass(frozen=True)
class Cell:
    """A problem, its points, and the methods that are to run on them."""

    problem: str
    n: int
    seed: int
    methods: tuple[str, ...]


class Sampled:
    """The independent points of a problem with their values, evaluated once for all methods."""

    def __init__(self, problem: Problem, n: int, seed: int) -> None:
        self.problem, self.n, self.seed = problem, n, seed
        self.x = sq.designs.IID().draw(problem.measure, n, seed=seed).x
        self.y = problem.f(self.x)

    def f(self, x: np.ndarray) -> np.ndarray:
        """The integrand, which at these points need not be evaluated."""
        return self.y if np.array_equal(x, self.x) else self.problem.f(x)

    def answer(self, method: str) -> dict[str, Any]:
        """What a method says: mean, std, interval and status, as far as it has them."""
        if method == "mc":
            return monte_carlo(self.y)
        if method == "sobol":
            return sobol_average(self.problem, self.n, self.seed)
        if method == "openturns":
            return openturns_chaos(self.problem, self.x, self.y)
        options: dict[str, Any] = {} if method not in OURS else {"method": OURS[method]()}
        options["design"] = sq.designs.Sobol() if method == "own" else sq.designs.IID()
        try:
            answer = sq.integrate(
                self.f, self.problem.measure, n=self.n, seed=self.seed, **options
            )
        except sq.InputError as error:  # a method that does not apply
            return {"failed": str(error)}
        low, high = answer.interval(0.95)
        row = {"mean": answer.mean, "std": answer.std, "low": low, "high": high}
        row = {name: float(value) for name, value in row.items()}
        return row | {"status": answer.status.code, "by": answer.method}


def cells(
    every: Iterable[Problem],
    methods: tuple[str, ...] | None,
    sizes: tuple[int, ...] | None,
    seeds: tuple[int, ...] | None,
) -> Iterator[Cell]:
    """All that is to run; a seed of everything before the next, so that any part is a fair one."""
    every = list(every)
    planned = seeds or range(max(len(seeds) for _, seeds in PLAN.values()))
    for seed in planned:
        for problem in every:
            points, usual = PLAN[problem.kind]
            if seeds is None and seed not in usual:
                continue
            single = tuple(m for m in METHODS if m not in ON_REQUEST)
            default = single if problem.kind == MEAN else WHOLE
            for n in points:
                if sizes is None or n in sizes:
                    yield Cell(problem.name, n, seed, methods or default)


def run(
    records: Records,
    known: dict[str, Problem],
    truths: dict[str, Any],
    todo: list[Cell],
    hours: float,
) -> None:
    """Run what is not there yet, until the CPU time is used up."""
    missing = [
        (cell, m)
        for cell in todo
        for m in cell.methods
        if not records.has(problem=cell.problem, n=cell.n, seed=cell.seed, method=m)
    ]
    sampled: Sampled | None = None
    begun = said = time.process_time()
    for done, (cell, method) in enumerate(missing):
        now = time.process_time()
        if now - begun > 3600 * hours:
            print(f"{hours:g} CPU hours are used up; {len(missing) - done} rows are left")
            return
        if now - said > PROGRESS:
            said = now
            print(
                f"{done} of {len(missing)} rows, {(now - begun) / 60:.0f} CPU minutes", flush=True
            )
        problem = known[cell.problem]
        if sampled is None or (sampled.problem, sampled.n, sampled.seed) != (
            problem,
            cell.n,
            cell.seed,
        ):
            sampled = Sampled(problem, cell.n, cell.seed)
        start = time.process_time()
        answer = sampled.answer(method)
        cpu = time.process_time() - start
        key = {"problem": cell.problem, "n": cell.n, "seed": cell.seed, "method": method}
        judged = thirdparty_report.judged(answer, truths[cell.problem])
        records.add(**key, kind=problem.kind, **answer, **judged, cpu=round(cpu, 4))


def make_truths(known: dict[str, Problem]) -> None:
    """Compute the true values that are missing, after checking the inputs."""
    import thirdparty_truths

    truths = load_truths()
    for name, problem in known.items():
        problem.check_laws()
        if name not in truths:
            truths[name] = thirdparty_truths.truth(problem)
            TRUTHS.write_text(json.dumps(truths, indent=1) + "\n")
            print(
                f"{name}: {truths[name]['mean']:.10g} +- {truths[name]['error']:.1e}", flush=True
            )


def load_truths() -> dict[str, Any]:
    """What `make_truths` has stored."""
    return json.loads(TRUTHS.read_text()) if TRUTHS.exists() else {}


def numbers(text: str) -> tuple[int, ...]:
    """Integers and ranges.

    >>> numbers("0-2,100")
    (0, 1, 2, 100)
    """
    parts = [part.split("-") for part in text.split(",")]
    return tuple(i for part in parts for i in range(int(part[0]), int(part[-1]) + 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", help=f"of {', '.join(METHODS)}")
    parser.add_argument("--problems", help="names or kinds")
    parser.add_argument("--n", type=numbers)
    parser.add_argument("--seeds", type=numbers, help="such as 0-4 or 100,101")
    parser.add_argument("--hours", type=float, default=2.0, help="of CPU time of this run")
    parser.add_argument("--truths", action="store_true", help="only compute missing true values")
    parser.add_argument("--report", action="store_true", help="only print what is there")
    parser.add_argument("--docs", action="store_true", help="and write it into docs/benchmarks.md")
    options = parser.parse_args()
    records = Records("thirdparty", ("problem", "n", "seed", "method"))
    truths = load_truths()
    if not options.report:
        known = problems()
        chosen = set(options.problems.split(",")) if options.problems else set(PLAN)
        unknown = chosen - set(known) - set(PLAN)
        methods = tuple(options.methods.split(",")) if options.methods else None
        unknown |= set(methods or ()) - set(METHODS)
        if unknown:
            parser.error(f"unknown: {', '.join(sorted(unknown))}")
        known = {k: v for k, v in known.items() if k in chosen or v.kind in chosen}
        if options.truths:
            make_truths(known)
            return
        todo = list(cells(known.values(), methods, options.n, options.seeds))
        run(records, known, truths, todo, options.hours or math.inf)
    seeds = options.seeds or range(max(len(seeds) for _, seeds in PLAN.values()))
    rows = [row for row in records.rows if row["seed"] in seeds]
    thirdparty_report.report(rows, truths, docs=options.docs)


if __name__ == "__main__":
    main()
