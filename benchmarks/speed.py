"""CPU seconds to reach a given relative error: `sq.BSN()` against the algorithm in PyTorch.

`taskset -c 1 python benchmarks/speed.py [--seeds 5] [--only torch|steinquad] [--report]`

The opponent, torch_baseline.py, runs to its end; the limit of a case is the mean error over seeds
that it ends with. *Reached* is the first time after which the mean error over seeds of ours stays
below it; the error of a seed is that of its last step until then, infinite before the first, and
that of the answer after the end of the fit.

Every fit of ours is a process of its own, so that all of them compile, and counts from just before
the call of `sq.integrate`: drawing the data, compiling, training, posterior. Importing is listed
beside it, and so is what of the time went into compiling: JAX reports that as wall time, which is
scaled by the CPU time a wall second of this fit. Rows: results/speed_torch.jsonl and
results/speed_steinquad.jsonl, never run twice for one version; summary: results/speed.json, .png.
"""

import argparse
import importlib.metadata
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from records import RESULTS, Records

FAMILIES = ("continuous", "discontinuous", "gaussian", "corner", "oscillatory", "product")
# family, d, n
CASES = [(family, 2, 5120) for family in FAMILIES] + [
    ("continuous", 10, 10240),
    ("continuous", 20, 10240),
]
TYPICAL, WORST = 1 / 5, 1.0  # limits of the ratio: geometric mean over the cases, each case
POINTS_KEPT = 300

Point = tuple[float, float]  # CPU seconds, signed relative error
Row = dict[str, Any]


def significant(value: float) -> float:
    """Four digits, for storage."""
    return float(f"{value:.4g}")


def thinned(points: Sequence[Point]) -> list[list[float]]:
    """At most POINTS_KEPT of the points, about evenly spaced in log time, always with the last."""
    seconds = np.array([point[0] for point in points])
    cells = np.geomspace(seconds[0], seconds[-1] * (1 + 1e-9), POINTS_KEPT)
    cell = np.searchsorted(cells, seconds, side="right")
    last = np.flatnonzero(np.diff(cell, append=-1))  # of every cell
    return [[significant(value) for value in points[int(i)]] for i in last]


def step_times(calls: Sequence[Point], losses: Sequence[float]) -> list[float]:
    """When the steps of a history were made, given the time and loss of each call of progress.

    Progress may also report pilot fits or further networks: the calls that belong to the history
    are those with its losses; failing that, the last ones.
    """
    count = len(losses)
    for first in range(len(calls) - count + 1):
        if all(call[1] == loss for call, loss in zip(calls[first:], losses, strict=False)):
            return [call[0] for call in calls[first : first + count]]
    return [call[0] for call in calls[-count:]]


def covered(spans: Sequence[Point]) -> float:
    """Length of a union of intervals: what JAX reports as compiling may be nested."""
    total, end = 0.0, -math.inf
    for start, stop in sorted(spans):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total


def measure(family: str, d: int, n: int, seed: int) -> Row:
    """One fit of ours; runs in a child."""
    import jax

    import steinquad as sq

    problem = sq.problems.genz(family, d)
    assert problem.truth is not None
    imported = time.process_time()
    calls: list[Point] = []
    spans: list[Point] = []

    def compiled(event: str, duration_secs: float, **kwargs: Any) -> None:
        del kwargs
        if "compile" in event or "trace" in event:
            end = time.perf_counter()
            spans.append((end - duration_secs, end))

    jax.monitoring.register_event_duration_secs_listener(compiled)
    wall, start = time.perf_counter(), time.process_time()
    answer = sq.integrate(
        problem.integrand,
        problem.measure,
        n=n,
        method=sq.BSN(),
        seed=seed,
        progress=lambda step, total, loss: calls.append((time.process_time() - start, loss)),
    )
    cpu, wall = time.process_time() - start, time.perf_counter() - wall

    def relative(value: float) -> float:
        return (value - problem.truth) / abs(problem.truth)

    theta0 = np.asarray(answer.fit.history["theta0"]).reshape(-1)
    times = step_times(calls, [float(loss) for loss in answer.fit.history["loss"]])
    errors = [relative(float(value)) for value in theta0[-len(times) :]]
    final = relative(float(answer.mean))
    return {
        "error": abs(final),
        "ratio": (float(answer.mean) - problem.truth) / float(answer.std),
        "cpu": cpu,
        "import": imported,
        "compile": covered(spans) * cpu / wall,
        "steps": answer.stats.get("steps"),
        "evaluations": answer.stats.get("evaluations"),
        "status": answer.status.code,
        "trajectory": thinned([*zip(times, errors, strict=True), (cpu, final)]),
    }


def in_child(**arguments: Any) -> Row:
    """One fit in a fresh process: one thread for its linear algebra, nothing compiled before."""
    command = [sys.executable, str(Path(__file__)), "--child", json.dumps(arguments)]
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "JAX_ENABLE_COMPILATION_CACHE": "false",
    }
    child = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(child.stdout.splitlines()[-1])


def run_ours(records: Records, seeds: range, version: str) -> None:
    for seed in seeds:
        for family, d, n in CASES:
            key = {"family": family, "d": d, "n": n, "seed": seed}
            if records.has(**key, version=version):
                continue
            row = in_child(**key)
            records.add(**key, version=version, **row)
            print(
                f"{family:14} d = {d:2} seed {seed}: error {row['error']:.2e}, "
                f"{row['cpu']:.1f} CPU s, of which compiling {row['compile']:.1f}; "
                f"{row['steps']} steps, {row['status']}",
                flush=True,
            )


def run_torch(seeds: range) -> None:
    script = Path(__file__).with_name("torch_baseline.py")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    command = [sys.executable, str(script), "--seeds", str(len(seeds))]
    subprocess.run(command, env=environment, check=True)


def mean_error(rows: list[Row]) -> tuple[np.ndarray, np.ndarray]:
    """Times at which any seed makes a step, and the mean error over seeds from each on."""
    paths = [np.array(row["trajectory"]) for row in rows]
    grid = np.unique(np.concatenate([path[:, 0] for path in paths]))
    errors = []
    for path in paths:
        latest = np.searchsorted(path[:, 0], grid, side="right") - 1
        errors.append(np.where(latest < 0, np.inf, np.abs(path[latest, 1])))
    return grid, np.mean(errors, axis=0)


def time_to_reach(rows: list[Row], limit: float) -> float:
    """When the mean error goes below the limit for good; infinite if never."""
    grid, error = mean_error(rows)
    above = np.flatnonzero(~(error < limit))
    first = above[-1] + 1 if len(above) else 0
    return float(grid[first]) if first < len(grid) else math.inf


def mean(rows: list[Row], field: str) -> float:
    return float(np.mean([row[field] for row in rows]))


def pairs(seeds: range, version: str) -> list[tuple[str, int, list[Row], list[Row]]]:
    """Rows of both by case, for the seeds that both have."""
    key = ("family", "d", "n", "seed")
    torch, ours = Records("speed_torch", key), Records("speed_steinquad", (*key, "version"))
    found = []
    for family, d, n in CASES:
        case = {"family": family, "d": d, "n": n}
        theirs = {row["seed"]: row for row in torch.select(**case)}
        mine = {row["seed"]: row for row in ours.select(**case, version=version)}
        both = [seed for seed in seeds if seed in theirs and seed in mine]
        if both:
            found.append((family, d, [theirs[s] for s in both], [mine[s] for s in both]))
    return found


def summarize(seeds: range, version: str) -> Row:
    cases = []
    for family, d, theirs, mine in pairs(seeds, version):
        limit, cpu = mean(theirs, "error"), mean(theirs, "cpu")
        reached = time_to_reach(mine, limit)
        cases.append(
            {
                "family": family,
                "d": d,
                "seeds": len(mine),
                "torch_error": limit,
                "torch_cpu": cpu,
                "torch_iterations": mean(theirs, "iterations"),
                "error": mean(mine, "error"),
                "cpu": mean(mine, "cpu"),
                "import": mean(mine, "import"),
                "compile": mean(mine, "compile"),
                "reached": reached if math.isfinite(reached) else None,
                "ratio": reached / cpu if math.isfinite(reached) else None,
            }
        )
    ratios = [math.inf if case["ratio"] is None else case["ratio"] for case in cases]
    finite = bool(ratios) and math.isfinite(max(ratios))
    return {
        "version": version,
        "cases": cases,
        "geometric_mean": float(np.exp(np.mean(np.log(ratios)))) if finite else None,
        "worst": max(ratios) if finite else None,
        "limits": {"geometric_mean": TYPICAL, "worst": WORST},
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def report(summary: Row) -> None:
    print(
        f"{'case':20}{'seeds':>6} | PyTorch {'error':>8}{'cpu s':>7} | steinquad {'error':>8}"
        f"{'cpu s':>7}{'reached':>9}{'compile':>9}{'ratio':>8}"
    )
    for case in summary["cases"]:
        name = f"{case['family']}, d = {case['d']}"
        never = case["reached"] is None
        reached = f"{'never':>9}" if never else f"{case['reached']:9.1f}"
        ratio = f"{'-':>8}" if never else f"{case['ratio']:8.3f}"
        print(
            f"{name:20}{case['seeds']:6} | {case['torch_error']:16.2e}{case['torch_cpu']:7.1f} | "
            f"{case['error']:18.2e}{case['cpu']:7.1f}{reached}{case['compile']:9.1f}{ratio}"
        )
    if summary["geometric_mean"] is None:
        print("not every case is reached: no mean of the ratios")
        return
    print(
        f"ratios: geometric mean {summary['geometric_mean']:.3f} (limit {TYPICAL:g}), "
        f"worst {summary['worst']:.3f} (limit {WORST:g}); "
        f"importing takes {np.mean([case['import'] for case in summary['cases']]):.1f} s more"
    )


def draw(seeds: range, version: str, path: Path) -> None:
    """Mean error against CPU seconds, a panel for every case."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    ink, accent, faint = "#1f2933", "#c2410c", "#9aa5b1"
    figure = Figure(figsize=(12.0, 6.0), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 4, sharex=True).ravel()
    found = pairs(seeds, version)
    for axes, (family, d, theirs, mine) in zip(panels, found, strict=False):
        limit = mean(theirs, "error")
        axes.axhline(limit, color=faint, linewidth=1, linestyle=":")
        for rows, color, dash, label in (
            (theirs, ink, "--", "PyTorch"),
            (mine, accent, "-", "steinquad"),
        ):
            grid, error = mean_error(rows)
            seen = np.isfinite(error)
            axes.step(grid[seen], error[seen], dash, where="post", color=color, label=label)
            axes.plot(grid[-1], error[-1], "s" if rows is theirs else "o", color=color)
        reached = time_to_reach(mine, limit)
        if math.isfinite(reached):
            axes.axvline(reached, color=accent, linewidth=1, linestyle=":")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(f"{family}, d = {d}", loc="left", fontsize=11)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[len(found) :]:
        axes.set_visible(False)
    for axes in panels[4:]:
        axes.set_xlabel("CPU s")
    for axes in panels[::4]:
        axes.set_ylabel("mean relative error")
    panels[0].legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", choices=("torch", "steinquad"), help="run one of the two")
    parser.add_argument("--report", action="store_true", help="run nothing")
    parser.add_argument("--version", default=importlib.metadata.version("steinquad"))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(**json.loads(options.child))))
        return
    seeds = range(options.seeds)
    if not options.report and options.only != "steinquad":
        run_torch(seeds)
    if not options.report and options.only != "torch":
        records = Records("speed_steinquad", ("family", "d", "n", "seed", "version"))
        run_ours(records, seeds, options.version)
    summary = summarize(seeds, options.version)
    if not summary["cases"]:
        return
    report(summary)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "speed.json").write_text(json.dumps(summary, indent=1) + "\n")
    draw(seeds, options.version, RESULTS / "speed.png")


if __name__ == "__main__":
    main()
