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
    """Tables from the seeds of which every run is there."""
    cases = [(problem, n) for problem in PROBLEMS for n in POINTS]
    found: dict[tuple[str, int, str], dict[int, dict[str, Any]]] = {}
    for row in records.rows:
        if row["seed"] in seeds:
            found.setdefault((row["problem"], row["n"], row["design"]), {})[row["seed"]] = row
    whole = [
        seed
        for seed in seeds
        if all(seed in found.get((*case, design), {}) for case in cases for design in DESIGNS)
    ]
    print(f"{len(whole)} seeds; rms of the relative error, in brackets the cover at 95 %\n")
    if not whole:
        return

    def field(case: tuple[str, int], design: str, name: str) -> np.ndarray:
        return np.array([found[*case, design][seed][name] for seed in whole], dtype=float)

    def rms(case: tuple[str, int], design: str) -> float:
        return float(np.sqrt(np.mean(field(case, design, "error") ** 2)))

    def line(*cells: str) -> None:
        print(f"| {' | '.join(cells)} |")

    def cover(design: str) -> str:
        return f"{np.mean([field(case, design, 'inside').mean() for case in cases]):.3f}"

    def middle(design: str) -> str:
        return f"{np.exp(np.mean([np.log(rms(case, design)) for case in cases])):.1e}"

    line("problem", "n", *DESIGNS)
    line(*["---"] * (2 + len(DESIGNS)))
    for case in cases:
        inside = {design: field(case, design, "inside").mean() for design in DESIGNS}
        line(case[0], str(case[1]), *(f"{rms(case, d):.1e} ({inside[d]:.2f})" for d in DESIGNS))
    line("all, geometric mean", "", *map(middle, DESIGNS))
    line("cover of all", "", *map(cover, DESIGNS))
    seconds = {d: np.mean([field(case, d, "cpu").mean() for case in cases]) for d in DESIGNS}
    line("CPU s a study", "", *(f"{seconds[d]:.0f}" for d in DESIGNS))
    plain = [found[*case, "adaptive"][seed] for case in cases for seed in whole]
    pairs = [(row["error"], row["uncorrected"]) for row in plain if row["uncorrected"] is not None]
    if pairs:
        better = np.mean([abs(error) < abs(without) for error, without in pairs])
        print(f"\nadaptive: nearer the truth than without its correction in {better:.0%} of runs")


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
