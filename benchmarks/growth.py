"""How error, cost and memory of `sq.BSN()` grow with the points n and with the dimension d.

`taskset -c 1 python benchmarks/growth.py [--n 100,1000] [--d 1,2] [--report]`; resumable, rows in
results/growth.jsonl, figure in docs/figures/growth.png.

Continuous Genz, seed 0: n from 10^2 to 10^6 at d = 10, d from 1 to 50 at n = 2000. Every fit is a
process of its own that reports CPU time, compiling included, and peak memory; this parent imports
no JAX, for a child's peak starts at that of its parent. `--n` runs only these n, `--d` only these
d, both together some of either; `--report` prints and draws what is there.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from records import FIGURES, Records
from scaling import GIB, peak_memory

D, POINTS = 10, (10**2, 10**3, 10**4, 10**5, 10**6)
N, DIMS = 2000, (1, 2, 5, 10, 20, 50)
SEED = 0

Row = dict[str, Any]


def measure(n: int, d: int, seed: int) -> Row:
    """One whole fit; runs in a child."""
    import numpy as np

    import steinquad as sq

    problem = sq.problems.genz("continuous", d)
    start = time.process_time()
    answer = sq.integrate(problem.integrand, problem.measure, n=n, seed=seed, method=sq.BSN())
    cpu = time.process_time() - start
    assert answer.values is not None
    return {
        "error": abs(answer.mean - problem.truth) / problem.truth,
        "std": answer.std / problem.truth,
        "monte_carlo": abs(float(np.mean(answer.values)) - problem.truth) / problem.truth,
        "monte_carlo_std": float(np.std(answer.values)) / np.sqrt(n) / problem.truth,
        "cpu": cpu,
        "peak": peak_memory(),
        "activation": answer.stats["activation"],
        "width": answer.stats["width"],
        "networks": answer.stats["networks"],
        "steps": answer.stats["steps"],
        "status": answer.status.code,
    }


def in_child(n: int, d: int, seed: int) -> Row:
    """The measurement in a fresh process with one thread for its linear algebra."""
    command = [sys.executable, str(Path(__file__)), "--child", json.dumps([n, d, seed])]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    child = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(child.stdout)


def run(records: Records, cells: list[tuple[int, int]]) -> None:
    for n, d in cells:
        if records.has(n=n, d=d, seed=SEED):
            continue
        row = in_child(n, d, SEED)
        records.add(n=n, d=d, seed=SEED, **row)
        print(f"n = {n}, d = {d}: error {row['error']:.1e}, {row['cpu']:.0f} CPU s", flush=True)


def series(records: Records) -> dict[str, list[Row]]:
    """Rows against n and rows against d, as far as they are there."""
    against_n = [row for n in POINTS for row in records.select(n=n, d=D, seed=SEED)]
    against_d = [row for d in DIMS for row in records.select(n=N, d=d, seed=SEED)]
    return {"n": against_n, "d": against_d}


def report(records: Records) -> None:
    for name, rows in series(records).items():
        print(f"\n{f'against n, d = {D}' if name == 'n' else f'against d, n = {N}'}")
        print(f"{name:>8}{'error':>9}{'std':>9}{'MC error':>9}{'MC std':>9}{'CPU s':>8}", end="")
        print(f"{'peak GiB':>9}  network")
        for row in rows:
            print(
                f"{row[name]:8}{row['error']:9.1e}{row['std']:9.1e}{row['monte_carlo']:9.1e}"
                f"{row['monte_carlo_std']:9.1e}{row['cpu']:8.1f}{row['peak'] / GIB:9.2f}  "
                f"{row['activation']} {row['width']}, {row['networks']} networks, "
                f"{row['steps']} steps, {row['status']}"
            )


def draw(records: Records) -> None:
    """Error of the network and of Monte Carlo, and CPU seconds, against n and against d."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    ink, accent, faint = "#1f2933", "#c2410c", "#9aa5b1"
    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 2)
    titles = {"n": f"Continuous Genz, d = {D}", "d": f"Continuous Genz, n = {N}"}
    labels = {"n": "points n", "d": "dimension d"}
    ticks = {"n": POINTS, "d": DIMS}
    handles = []
    for left, (name, rows) in zip(panels, series(records).items(), strict=True):
        if not rows:
            continue
        x = [row[name] for row in rows]
        error, std = [row["error"] for row in rows], [row["std"] for row in rows]
        plain, cpu = [row["monte_carlo_std"] for row in rows], [row["cpu"] for row in rows]
        right = left.twinx()
        (grey,) = left.loglog(x, plain, "--", color=faint, label="Monte Carlo's standard error")
        (dots,) = left.loglog(x, error, "o-", color=accent, label="relative error")
        (line,) = left.loglog(x, std, ":", color=accent, label="std reported")
        (cost,) = right.loglog(x, cpu, "s-", color=ink, markersize=4, label="CPU s (right)")
        right.set_ylim(min(cpu) / 3, max(cpu) * 3)
        handles = [dots, line, grey, cost]
        left.set_title(titles[name], loc="left", fontsize=11)
        left.set_xlabel(labels[name])
        left.set_ylabel("relative error")
        right.set_ylabel("CPU s")
        if name == "d":
            left.set_xticks(ticks[name], [str(value) for value in ticks[name]])
            left.set_xticks([], minor=True)
        for axes in (left, right):
            axes.spines["top"].set_visible(False)
    figure.legend(handles=handles, loc="outside lower center", frameon=False, fontsize=9, ncols=4)
    figure.savefig(FIGURES / "growth.png", dpi=150)


def numbers(text: str | None) -> tuple[int, ...] | None:
    return None if text is None else tuple(int(float(word)) for word in text.split(","))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", help="only these numbers of points, and no d unless --d is given")
    parser.add_argument("--d", help="only these dimensions, and no n unless --n is given")
    parser.add_argument("--report", action="store_true", help="only print and draw again")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(*json.loads(options.child))))
        return
    points, dims = numbers(options.n), numbers(options.d)
    if points is None and dims is None:
        points, dims = POINTS, DIMS
    records = Records("growth", ("n", "d", "seed"))
    if not options.report:
        cells = [(n, D) for n in points or ()] + [(N, d) for d in dims or ()]
        run(records, sorted(cells, key=lambda cell: cell[0] * cell[1]))
    report(records)
    draw(records)


if __name__ == "__main__":
    main()
