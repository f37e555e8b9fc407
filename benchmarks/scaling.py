"""How the cost of training grows with the dimension d and with the number of points n.

`taskset -c 0 python benchmarks/scaling.py [--fit] [--figure]`

One training step is one loss with its gradient in float64. Every measurement is a process of its
own that reports CPU time (never wall time; best of several steps) and peak memory; this parent
imports no JAX, for a child's peak starts at that of its parent. `--fit` measures one whole fit of
a million points instead, `--figure` only draws again. Results: results/scaling.json
and docs/figures/scaling.png.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from records import FIGURES, RESULTS

PATH = RESULTS / "scaling.json"
N, D, WIDTH = 5120, 10, 32
DIMS = {2: (1, 2, 5, 10, 20, 50, 100), 3: (1, 2, 5, 10, 20)}  # by activation layers
POINTS = (10**3, 10**4, 10**5, 10**6)
FIT_POINTS, FIT_STEPS = 10**6, 30
LEAST_REPEATS, MOST_REPEATS, CPU_BUDGET = 5, 200, 4.0  # CPU seconds spent on the repeats
GIB = 2**30


def peak_memory() -> int:
    """Largest resident size of this process so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measure_step(n: int, d: int, depth: int) -> dict[str, Any]:
    """CPU seconds of one training step on the Continuous Genz function; runs in a child."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    import steinquad as sq
    from steinquad.measures.affine import Affine
    from steinquad.networks.mlp import MLP, Layers
    from steinquad.networks.stein_network import SteinNetwork
    from steinquad.points import Points
    from steinquad.stein.inputs import stein_inputs
    from steinquad.stein.multipliers import Constant
    from steinquad.training.objective import Penalty, TrainingSet, flatten, value_and_gradient

    jax.config.update("jax_enable_x64", True)
    x = np.random.default_rng(0).standard_normal((n, d))
    y = sq.problems.genz("continuous", d).integrand(x)
    y = ((y - y.mean()) / y.std())[:, None]
    affine = Affine.fit(x, "diagonal", np.ones(n))
    inputs, frame = stein_inputs(Points(x, -x), Constant(), affine)
    data = TrainingSet.build(inputs, frame, y, np.ones(n))
    field = MLP.initialize(0, Layers(dim=d, width=WIDTH, depth=depth, activation="celu"))
    network = SteinNetwork(jnp.zeros(1), field)
    vector, penalty = flatten(network), Penalty(1e-6, theta0=False)

    def step() -> float:
        start = time.process_time()
        jax.block_until_ready(value_and_gradient(vector, network, data, penalty))
        return time.process_time() - start

    step()  # compiles
    seconds = [step()]
    while len(seconds) < LEAST_REPEATS or (
        len(seconds) < MOST_REPEATS and sum(seconds) < CPU_BUDGET
    ):
        seconds.append(step())
    return {"cpu": min(seconds), "peak": peak_memory()}


def measure_fit(n: int, d: int, max_steps: int) -> dict[str, Any]:
    """CPU seconds and peak memory of one whole fit; runs in a child."""
    import numpy as np

    import steinquad as sq

    problem = sq.problems.genz("continuous", d)
    ends: list[float] = []
    method = sq.BSN(optimizer=sq.LBFGS(max_steps=max_steps))
    start = time.process_time()
    answer = sq.integrate(
        problem.integrand,
        problem.measure,
        n=n,
        method=method,
        progress=lambda *_: ends.append(time.process_time()),
    )
    cpu = time.process_time() - start
    assert problem.truth is not None
    training = float(np.median(np.diff(ends))) * len(ends)
    return {
        "cpu": cpu,
        "cpu_training": training,
        "cpu_other": cpu - training,
        "peak": peak_memory(),
        "weights": answer.stats["weights"],
        "steps": answer.stats["steps"],
        "evaluations": answer.stats["evaluations"],
        "error": abs(answer.mean - problem.truth) / problem.truth,
        "ratio": (answer.mean - problem.truth) / answer.std,
        "monte_carlo_error": float(answer.values.std() / np.sqrt(n) / problem.truth)
        if answer.values is not None
        else None,
        "status": str(answer.status),
    }


MEASUREMENTS = {"step": measure_step, "fit": measure_fit}


def in_child(kind: str, **arguments: int) -> dict[str, Any]:
    """One measurement in a fresh process with one thread for its linear algebra."""
    command = [sys.executable, str(Path(__file__)), "--child", json.dumps([kind, arguments])]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    child = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return arguments | json.loads(child.stdout)


def measure_dimensions() -> list[dict[str, Any]]:
    rows = []
    print(f"one step, n = {N}: CPU time by dimension")
    print(f"{'layers':>6}{'d':>6}{'ms':>9}{'of d = 2':>10}")
    for depth, dims in DIMS.items():
        measured = {d: in_child("step", n=N, d=d, depth=depth) for d in dims}
        for d, row in measured.items():
            row["ratio"] = row["cpu"] / measured[2]["cpu"]
            print(f"{depth:6}{d:6}{1e3 * row['cpu']:9.2f}{row['ratio']:10.2f}", flush=True)
            rows.append(row)
    return rows


def measure_points() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    print(f"\none step, d = {D}, two layers: CPU time and peak memory by number of points")
    print(
        f"{'n':>9}{'s':>10}{'us a point':>12}{'of n = ' + str(POINTS[0]):>12}"
        f"{'peak GiB':>10}{'more bytes a point':>20}"
    )
    for n in POINTS:
        row = in_child("step", n=n, d=D, depth=2)
        rows.append(row)
        row["ratio"] = row["cpu"] / n / (rows[0]["cpu"] / rows[0]["n"])
        row["bytes"] = (row["peak"] - rows[0]["peak"]) / max(n - rows[0]["n"], 1)
        print(
            f"{n:9}{row['cpu']:10.4f}{1e6 * row['cpu'] / n:12.3f}{row['ratio']:12.2f}"
            f"{row['peak'] / GIB:10.2f}{row['bytes']:20.0f}",
            flush=True,
        )
    return rows


def measure_whole_fit() -> list[dict[str, Any]]:
    print(f"one fit, n = {FIT_POINTS}, d = {D}, {FIT_STEPS} steps")
    row = in_child("fit", n=FIT_POINTS, d=D, max_steps=FIT_STEPS)
    print(
        f"CPU {row['cpu']:.0f} s (training {row['cpu_training']:.0f} s, posterior and the rest "
        f"{row['cpu_other']:.0f} s), peak {row['peak'] / GIB:.2f} GiB, {row['weights']} weights\n"
        f"relative error {row['error']:.1e}, {row['ratio']:+.1f} of the std reported "
        f"(Monte Carlo's std: {row['monte_carlo_error']:.1e}); {row['status']}"
    )
    return [row]


def draw(record: dict[str, Any]) -> None:
    """Step cost by dimension; step cost and memory by number of points."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    ink, accent, faint = "#1f2933", "#c2410c", "#9aa5b1"
    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for depth, color, word in ((2, accent, "two"), (3, ink, "three")):
        rows = [row for row in record["dimensions"] if row["depth"] == depth]
        dims, cost = [row["d"] for row in rows], [1e3 * row["cpu"] for row in rows]
        left.loglog(dims, cost, "o-", color=color, label=f"{word} activation layers")
    left.set_title(f"One training step, n = {N}", loc="left", fontsize=11)
    left.set_xlabel("dimension d")
    left.set_ylabel("CPU ms")
    ticks = DIMS[2]
    left.set_xticks(ticks, [str(d) for d in ticks])
    left.set_xticks([], minor=True)
    left.set_yticks([5, 10, 20, 50, 100], ["5", "10", "20", "50", "100"])
    left.set_yticks([], minor=True)
    left.legend(frameon=False)

    rows = record["points"]
    n = [row["n"] for row in rows]
    seconds = [row["cpu"] for row in rows]
    linear = [seconds[-1] * k / n[-1] for k in n]
    memory = right.twinx()
    (grey,) = right.loglog(n, linear, "--", color=faint, label="proportional to n")
    (cost,) = right.loglog(n, seconds, "o-", color=accent, label="CPU s a step (left)")
    peaks = [row["peak"] / GIB for row in rows]
    (peak,) = memory.loglog(n, peaks, "s-", color=ink, label="peak memory, GiB (right)")
    memory.set_ylim(0.1, 10)
    memory.set_yticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
    memory.set_yticks([], minor=True)
    handles = [cost, grey, peak]
    for fit in record.get("fit", ()):
        (star,) = memory.plot(fit["n"], fit["peak"] / GIB, "*", color=ink, markersize=13)
        star.set_label(f"peak of a whole fit (right; CPU {fit['cpu'] / 60:.0f} min)")
        handles.append(star)
    right.set_title(f"One training step, d = {D}, two layers", loc="left", fontsize=11)
    right.set_xlabel("points n")
    right.set_ylabel("CPU s")
    memory.set_ylabel("GiB")
    right.legend(handles=handles, frameon=False, loc="upper left", fontsize=9)
    right.set_ylim(seconds[0] / 2, seconds[-1] * 60)  # room for the legend
    for axes in (left, right, memory):
        axes.spines["top"].set_visible(False)
    left.spines["right"].set_visible(False)
    figure.savefig(FIGURES / "scaling.png", dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", action="store_true", help="measure one whole fit, minutes")
    parser.add_argument("--figure", action="store_true", help="only draw the figure again")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        kind, arguments = json.loads(options.child)
        print(json.dumps(MEASUREMENTS[kind](**arguments)))
        return
    record: dict[str, Any] = json.loads(PATH.read_text()) if PATH.exists() else {}
    if options.fit:
        record["fit"] = measure_whole_fit()
    elif not options.figure:
        record["dimensions"], record["points"] = measure_dimensions(), measure_points()
    record["python"], record["machine"] = platform.python_version(), platform.machine()
    RESULTS.mkdir(exist_ok=True)
    PATH.write_text(json.dumps(record, indent=1) + "\n")
    if "dimensions" in record:
        draw(record)


if __name__ == "__main__":
    main()
