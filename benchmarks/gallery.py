"""How much better are posterior means, and do their error bars hold? On the models of the gallery.

`python benchmarks/gallery.py [--seeds 20] [--models pumps,influenza] [--report]`; resumable, rows
in results/gallery.jsonl.

Every repetition is 2,000 draws of NUTS (4 chains) and the default of `sq.posterior_expectation`.
For each parameter: root mean square error of the plain and of the better mean over the
repetitions, against quadrature. A row whose reference is not known to a fifth of the better std
is not resolved, and only says so. Wanted: errors ten times lower on the smooth models; on none
worse, the lower 95 % bound of the ratio of root mean square errors (better to plain) at most 1.1;
|error| / std between 0.3 and 3 in the median and below 6 at worst.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from records import Records

import steinquad as sq

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "gallery"))

import eight_schools
import gaussian_process
import influenza
import logistic_regression
import pumps

POSTERIORS = {
    each.name: each
    for each in (
        eight_schools.CENTRED,
        eight_schools.NON_CENTRED,
        logistic_regression.POSTERIOR,
        pumps.CENTRED,
        pumps.NON_CENTRED,
        influenza.POSTERIOR,
        gaussian_process.POSTERIOR,
    )
}


def run(records: Records, name: str, seeds: int) -> None:
    posterior = POSTERIORS[name]
    todo = [seed for seed in range(seeds) if not records.has(model=name, seed=seed)]
    if not todo:
        return
    truth = posterior.means()
    target = sq.targets.NumPyro(posterior.model, *posterior.args)
    draw = posterior.sampler()
    for seed in todo:
        draws = draw(seed)
        start = time.process_time()
        found = sq.posterior_expectation(draws, score=target)
        cpu = time.process_time() - start
        rows = [row for row in found if row.statistic == "mean" and row.name in truth.value]
        records.add(
            model=name,
            seed=seed,
            cpu=cpu,
            status=found.status.code,
            rhat=max(found.rhat.values()),
            parameters={
                row.name: {
                    "plain": row.plain - truth.value[row.name],
                    "mcse": row.mcse,
                    "error": row.mean - truth.value[row.name],
                    "std": row.std,
                    "reference": truth.error[row.name],
                    "method": row.method,
                }
                for row in rows
            },
        )
        print(f"{name} seed {seed}: {cpu:.1f} CPU s, {found.status.code}", flush=True)


def columns(rows: list[dict[str, Any]], key: str) -> np.ndarray:
    """(repetitions, parameters)."""
    return np.array([[each[key] for each in row["parameters"].values()] for row in rows])


def ratio_bound(error: np.ndarray, plain: np.ndarray) -> float:
    """Lower 95 % bound of the ratio of root mean squares over parameters, by resampling rows."""
    rng = np.random.default_rng(0)
    picks = rng.integers(len(error), size=(2000, len(error)))
    scale = np.sqrt(np.mean(plain**2, axis=0))
    better, worse = (np.mean((x / scale) ** 2, axis=1)[picks].mean(axis=1) for x in (error, plain))
    return float(np.quantile(np.sqrt(better / worse), 0.05))


def report(records: Records) -> None:
    head = "model | n | plain / better RMSE: median, least | bound of better / plain"
    print(f"| {head} | median z | worst z | unresolved | suspect | CPU s |")
    print("|" + "---|" * 9)
    for name, posterior in POSTERIORS.items():
        rows = [row for row in records.rows if row["model"] == name]
        if not rows:
            continue
        plain, error, std, reference = (
            columns(rows, key) for key in ("plain", "error", "std", "reference")
        )
        resolved = reference <= std / 5
        known = np.asarray(resolved.all(axis=0))  # parameters whose errors mean something
        plain, error, std = plain[:, known], error[:, known], std[:, known]
        if not known.any():
            print(f"| {name} | {len(rows)} | not resolved |" + " |" * 6)
            continue
        gain = np.sqrt(np.mean(plain**2, axis=0) / np.mean(error**2, axis=0))
        z = np.abs(error / std)
        suspect = sum(row["status"] == "suspect" for row in rows)
        print(
            f"| {name}{'' if posterior.smooth else ' (not smooth)'} | {len(rows)}"
            f" | {np.median(gain):.1f}, {gain.min():.1f} | {ratio_bound(error, plain):.3f}"
            f" | {np.median(z):.2f} | {z.max():.1f} | {(~known).sum()} of {len(known)}"
            f" | {suspect} | {np.median([row['cpu'] for row in rows]):.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--models", default=",".join(POSTERIORS))
    parser.add_argument("--report", action="store_true", help="run nothing")
    options = parser.parse_args()
    records = Records("gallery", ("model", "seed"))
    if not options.report:
        for name in options.models.split(","):
            run(records, name, options.seeds)
    report(records)


if __name__ == "__main__":
    main()
