"""The default on integrands of our own making: what its rules are tuned on.

`python benchmarks/tuning.py [--n 100,500] [--seeds 100-101] [--points iid,sobol] [--problems ...]`
prints, for each n and kind of points, the geometric mean of errors over max(|mean|, sd f), cover,
answers beyond 4 std that are not suspect, and suspect answers among those that are covered.
Nothing is stored: run it before and after a change of a rule, on seeds from 100 up.
"""

import argparse
import time
from typing import Any

import numpy as np
from thirdparty import numbers
from thirdparty_report import LIMIT, judged, middle, suspect, table
from tuning_problems import Tuned, problems

import steinquad as sq

DESIGNS = {"iid": sq.designs.IID(), "sobol": sq.designs.Sobol()}


def row(problem: Tuned, n: int, design: sq.designs.Design, seed: int) -> dict[str, Any]:
    """What the default says, beside the truth."""
    start = time.process_time()
    found = sq.integrate(problem.f, list(problem.laws), n=n, design=design, seed=seed)
    cpu = time.process_time() - start
    low, high = found.interval(0.95)
    answer: dict[str, Any] = {"mean": found.mean, "std": found.std, "low": low, "high": high}
    rng = np.random.default_rng(0)
    x = np.stack([law.rvs(20_000, random_state=rng) for law in problem.laws], axis=1)
    truth = {"mean": problem.mean, "sd": float(problem.f(x).std()), "error": 1e-13}
    answer |= judged(answer, truth)
    return answer | {"status": found.status.code, "cpu": cpu, "kind": problem.kind}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=numbers, default=(100, 500))
    parser.add_argument("--seeds", type=numbers, default=(100, 101))
    parser.add_argument("--points", default="iid,sobol")
    parser.add_argument("--problems", help="names or kinds")
    options = parser.parse_args()
    if min(options.seeds) < 100:
        parser.error("seeds below 100 are for reporting")
    chosen = set(options.problems.split(",")) if options.problems else None
    every = [p for p in problems().values() if chosen is None or {p.name, p.kind} & chosen]
    head = (
        "n",
        "points",
        "kind",
        "error",
        "covered",
        f"beyond {LIMIT:g} std",
        "suspect of right",
        "CPU s",
    )
    body = []
    for n in options.n:
        for points in options.points.split(","):
            rows = [row(p, n, DESIGNS[points], seed) for p in every for seed in options.seeds]
            for kind in ("all", *dict.fromkeys(p.kind for p in every)):
                some = [r for r in rows if kind in ("all", r["kind"])]
                right = [r for r in some if r["covered"]]
                wild = sum(r["ratio"] > LIMIT and not suspect(r) for r in some)
                body.append(
                    (
                        str(n),
                        points,
                        kind,
                        f"{middle(r['relative'] for r in some):.1e}",
                        f"{len(right)} of {len(some)}",
                        str(wild),
                        f"{sum(map(suspect, right))} of {len(right)}",
                        f"{np.mean([r['cpu'] for r in some]):.1f}",
                    )
                )
    print("\n".join(table(head, body)))


if __name__ == "__main__":
    main()
