"""The default BSN where the paper has its hardest figures: Continuous Genz, d = 2 and d = 20.

`python benchmarks/default_bsn.py [--seeds 10]`; resumable, rows in results/default_bsn.jsonl.
"""

import argparse
import time

import numpy as np
from records import Records

import steinquad as sq

# (d, n): the relative error and the CPU seconds a fit that the default is meant to stay under
CASES = {(2, 5120): (1.5e-5, 30.0), (20, 10240): (2e-3, 120.0)}


def run(records: Records, seeds: range) -> None:
    for d, n in CASES:
        problem = sq.problems.genz("continuous", d)
        for seed in seeds:
            if records.has(d=d, n=n, seed=seed):
                continue
            start = time.process_time()
            answer = sq.integrate(problem.integrand, problem.measure, n=n, seed=seed)
            cpu = time.process_time() - start
            plain = sq.integrate(
                problem.integrand, problem.measure, n=n, seed=seed, method=sq.MonteCarlo()
            )
            records.add(
                d=d,
                n=n,
                seed=seed,
                error=abs(answer.mean - problem.truth) / problem.truth,
                ratio=(answer.mean - problem.truth) / answer.std,
                monte_carlo=abs(plain.mean - problem.truth) / problem.truth,
                cpu=cpu,
                members=answer.stats["members"],
                steps=answer.stats["steps"],
                status=answer.status.code,
            )


def report(records: Records) -> None:
    print(f"{'d':>3}{'n':>7}{'seeds':>6}{'rel. error':>12}{'wanted':>9}{'MC':>10}", end="")
    print(f"{'worst |z|':>10}{'cpu s':>7}{'at most':>8}")
    for (d, n), (wanted, most) in CASES.items():
        rows = records.select(d=d, n=n)
        if not rows:
            continue
        mean = {name: np.mean([row[name] for row in rows]) for name in ("error", "monte_carlo")}
        worst = max(abs(row["ratio"]) for row in rows)
        cpu = np.mean([row["cpu"] for row in rows])
        print(f"{d:3}{n:7}{len(rows):6}{mean['error']:12.2e}{wanted:9.1e}", end="")
        print(f"{mean['monte_carlo']:10.2e}{worst:10.1f}{cpu:7.0f}{most:8.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    records = Records("default_bsn", ("d", "n", "seed"))
    run(records, range(parser.parse_args().seeds))
    report(records)


if __name__ == "__main__":
    main()
