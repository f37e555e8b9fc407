"""Do the intervals hold? The default, `sq.Stack()`, and `sq.BSN()` on the Genz families.

`python benchmarks/calibration.py [--seeds 5] [--methods stack,bsn] [--report]`; resumable, rows
in results/calibration.jsonl, figure in results/calibration.png. Independent draws.

n = 200, 1000 and 5000; d = 1, 2 and 5 for all six families, d = 10 for continuous and oscillatory.
A cell is scored where sd(f) / (|truth| sqrt(n)) < 0.1. Elsewhere few points see the mass of f, or
f cancels out, and the status must say so. Wanted: the 95 % interval covers in 90 to 99 % of all
scored runs and in at least 80 % of those of each family, no |error| / std above 8, and a warning
in every run that is not scored.
"""

import argparse
import time
from typing import Any

import numpy as np
from records import RESULTS, Records

import steinquad as sq

POINTS = (200, 1000, 5000)
FAMILIES = ("continuous", "discontinuous", "gaussian", "corner", "oscillatory", "product")
DIMS = {**dict.fromkeys(FAMILIES, (1, 2, 5)), "continuous": (1, 2, 5, 10)} | {
    "oscillatory": (1, 2, 5, 10)
}
METHODS = {"stack": sq.Stack, "bsn": sq.BSN}
LIMIT = 0.1  # of sd(f) / (|truth| sqrt(n))
WARNINGS = ("few informative points", "nearly cancels out")

Row = dict[str, Any]


def difficulty(family: str, d: int, n: int) -> float:
    """sd(f) / (|truth| sqrt(n)), by a million points."""
    problem = sq.problems.genz(family, d)
    assert problem.truth is not None
    values = problem.integrand(np.random.default_rng(0).standard_normal((1_000_000, d)))
    return float(values.std() / (abs(problem.truth) * np.sqrt(n)))


def run_cell(family: str, d: int, n: int, seed: int, method: str) -> Row:
    problem = sq.problems.genz(family, d)
    assert problem.truth is not None
    start = time.process_time()
    answer = sq.integrate(
        problem.integrand,
        problem.measure,
        n=n,
        design=sq.designs.IID(),
        seed=seed,
        method=METHODS[method](),
    )
    low, high = answer.interval(0.95)
    return {
        "error": (answer.mean - problem.truth) / abs(problem.truth),
        "z": (answer.mean - problem.truth) / answer.std if answer.std > 0 else 0.0,
        "covered": bool(low <= problem.truth <= high),
        "chosen": answer.method,
        "status": answer.status.code,
        "warned": any(words in answer.status.message for words in WARNINGS)
        or answer.status.code == "suspect",
        "cpu": time.process_time() - start,
    }


def run(records: Records, seeds: range, methods: list[str], points: tuple[int, ...]) -> None:
    for seed in seeds:
        for n in points:
            for family, dims in DIMS.items():
                for d in dims:
                    for method in methods:
                        key = {"family": family, "d": d, "n": n, "seed": seed, "method": method}
                        if records.has(**key):
                            continue
                        row = run_cell(family, d, n, seed, method)
                        records.add(**key, **row)
                        print(
                            f"{method:8}{family:14} d = {d:2} n = {n:4} seed {seed}: error "
                            f"{row['error']:+.1e}, {row['z']:+.1f} std, {row['cpu']:.0f} CPU s",
                            flush=True,
                        )


def report(records: Records, methods: list[str]) -> None:
    cells = {(row["family"], row["d"], row["n"]) for row in records.rows}
    hard = {cell: difficulty(*cell) for cell in cells}

    def scored(row: Row) -> bool:
        return hard[row["family"], row["d"], row["n"]] < LIMIT

    for method in methods:
        rows = [row for row in records.rows if row["method"] == method]
        counted = [row for row in rows if scored(row)]
        if not counted:
            continue
        print(f"\n{method}: {len(counted)} runs scored, {len(rows) - len(counted)} must warn")
        print(f"{'family':15}{'runs':>5}{'covered':>9}{'median |z|':>11}{'worst |z|':>10}")
        for family in (*FAMILIES, "all"):
            part = [row for row in counted if family in (row["family"], "all")]
            if not part:
                continue
            z = np.abs([row["z"] for row in part])
            share = np.mean([row["covered"] for row in part])
            print(f"{family:15}{len(part):5}{share:9.1%}{np.median(z):11.2f}{z.max():10.1f}")
        worst = max(counted, key=lambda row: abs(row["z"]))
        print(
            f"worst cell: {worst['family']}, d = {worst['d']}, n = {worst['n']}, seed "
            f"{worst['seed']}, {worst['z']:+.1f} std ({worst['chosen']}, {worst['status']})"
        )
        silent = [row for row in rows if not scored(row) and not row["warned"]]
        print(f"not scored and not warned: {len(silent)}", end="")
        print("".join(f"; {r['family']} d = {r['d']} n = {r['n']}" for r in silent[:5]))
        print(f"CPU minutes: {sum(row['cpu'] for row in rows) / 60:.0f}")


def draw(records: Records, methods: list[str]) -> None:
    """|error| / std of every scored run against n, by method."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    cells = {(row["family"], row["d"], row["n"]) for row in records.rows}
    hard = {cell: difficulty(*cell) for cell in cells}
    colors = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(methods), sharey=True, squeeze=False)[0]
    rng = np.random.default_rng(0)
    for ax, method in zip(axes, methods, strict=True):
        for family, color in zip(FAMILIES, colors, strict=True):
            rows = [
                row
                for row in records.select(method=method, family=family)
                if hard[family, row["d"], row["n"]] < LIMIT
            ]
            x = np.array([row["n"] for row in rows]) * np.exp(rng.normal(0, 0.08, len(rows)))
            z = np.maximum(np.abs([row["z"] for row in rows]), 1e-3)
            ax.loglog(x, z, "o", markersize=3.5, alpha=0.8, color=color, label=family)
        ax.axhline(1.96, color="#9aa5b1", linewidth=1)
        ax.axhline(8.0, color="#9aa5b1", linewidth=1, linestyle="--")
        ax.set_title(method, loc="left", fontsize=11)
        ax.set_xlabel("points n")
        ax.set_xticks(POINTS, [str(n) for n in POINTS])
        ax.set_xticks([], minor=True)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    axes[0].set_ylabel("|error| / std")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, frameon=False, fontsize=8, ncols=6, loc="outside lower center")
    figure.savefig(RESULTS / "calibration.png", dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--methods", default="stack,bsn")
    parser.add_argument("--points", default=",".join(map(str, POINTS)))
    parser.add_argument("--report", action="store_true", help="only print the table again")
    options = parser.parse_args()
    methods = options.methods.split(",")
    records = Records("calibration", ("family", "d", "n", "seed", "method"))
    if not options.report:
        points = tuple(int(n) for n in options.points.split(","))
        run(records, range(options.seeds), methods, points)
    report(records, methods)
    draw(records, methods)


if __name__ == "__main__":
    main()
