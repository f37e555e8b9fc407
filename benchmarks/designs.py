"""Where should a study put its points? True error and cover of the kinds of points of `sq.Study`.

`python benchmarks/designs.py [--seeds 40] [--designs iid,sobol,...] [--report]`

The wind farm (seven inputs, in JAX) and two Genz problems in two dimensions, n = 100, 300 and
1000, by the default method; Sobol points also by their plain average over replicates. Each run is
a study in a store of its own that is extended from n to n, so that f is evaluated once. All
designs and problems of a seed come before the next seed: a part of the runs is a fair part.

Resumable: rows are appended to results/designs.jsonl and never run twice.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from records import Records

import steinquad as sq

POINTS = (100, 300, 1000)
PROBLEMS = {
    "wind farm": sq.problems.wind_farm(),
    "continuous": sq.problems.genz("continuous", 2),
    "gaussian": sq.problems.genz("gaussian", 2),
}
DESIGNS: dict[str, dict[str, Any]] = {
    "iid": {"points": "iid"},
    "sobol": {"points": "sobol"},
    "sobol+qmc": {"points": "sobol", "method": sq.QuasiMonteCarlo()},
    "adaptive": {"points": "adaptive"},
}


def solve(problem: str, design: str, n: int, seed: int, store: Path) -> dict[str, Any]:
    case = PROBLEMS[problem]
    start = time.process_time()
    answer = sq.Study(
        case.integrand,
        case.measure,
        store,
        n,
        style="batch",
        where="here",
        version="1",
        seed=seed,
        **DESIGNS[design],
    ).run()
    low, high = answer.interval(0.95)
    fitted = answer.stats.get("uncorrected")
    return {
        "error": float(answer.mean - case.truth) / case.truth,
        "std": float(answer.std) / case.truth,
        "inside": bool(low < case.truth < high),
        "uncorrected": None if fitted is None else float(fitted[0] - case.truth) / case.truth,
        "chosen": answer.method,
        "status": str(answer.status),
        "cpu": time.process_time() - start,
    }


def report(records: Records, seeds: range) -> None:
    """A row a design: root mean square of the relative error, cover, median of the std."""
    head = f"{'n':>6}  {'design':12}{'seeds':>6}{'rms error':>11}{'median':>9}{'cover':>8}"
    for problem in PROBLEMS:
        print(f"\n{problem}, relative to the truth\n{head}{'std':>10}{'CPU s':>8}")
        for n in POINTS:
            for design in DESIGNS:
                rows = records.select(problem=problem, design=design, n=n)
                rows = [row for row in rows if row["seed"] in seeds]
                if not rows:
                    continue
                errors = np.array([row["error"] for row in rows])
                print(
                    f"{n:6}  {design:12}{len(rows):6}{np.sqrt(np.mean(errors**2)):11.1e}"
                    f"{np.median(np.abs(errors)):9.1e}"
                    f"{sum(row['inside'] for row in rows) / len(rows):8.2f}"
                    f"{np.median([row['std'] for row in rows]):10.1e}"
                    f"{np.mean([row['cpu'] for row in rows]):8.1f}"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--designs", default=",".join(DESIGNS))
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--report", action="store_true", help="only print what is there")
    options = parser.parse_args()
    records = Records("designs", ("problem", "design", "n", "seed"))
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    for seed in () if options.report else seeds:
        for problem in options.problems.split(","):
            for design in options.designs.split(","):
                with tempfile.TemporaryDirectory() as place:
                    for n in POINTS:
                        key = {"problem": problem, "design": design, "n": n, "seed": seed}
                        if not records.has(**key):
                            path = Path(place) / "study.sqlite"
                            records.add(**key, **solve(problem, design, n, seed, path))
    report(records, seeds)


if __name__ == "__main__":
    main()
