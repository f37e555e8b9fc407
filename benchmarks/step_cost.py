"""What a training step costs beside its bare matrix products, in CPU time of the same run.

`taskset -c 1 python benchmarks/step_cost.py [--repeats 15]`

**L-BFGS step**: one loss with its gradient in float64 (`value_and_gradient`), two CELU layers of
h = 32, n = 10^5 points, d = 20. Its matrix products, for a batch of points in rows:

    forward   z W1^T       (n, d) (d, h)    reverse   dW1 = g1^T z       (h, n) (n, d)
              a1 W2^T      (n, h) (h, h)              dW2 = g2^T a1      (h, n) (n, h)
              a2 W3^T      (n, h) (h, d)              da1 = g2 W2        (n, h) (h, h)
              s1 K^T       (n, h) (h, h)              dW3 = g3^T a2      (d, n) (n, h)
                                                      da2 = g3 W3        (n, d) (d, h)
                                                      dK  = t^T s1       (h, n) (n, h)
                                                      ds1 = t K          (n, h) (h, h)

where s = a' and K = W2 * (W1 W3)^T belongs to the trace term: 11 products, 2 n (5 d h + 6 h^2)
operations. The bare products run over blocks of as many points as the step's own, each fed with
results of others so that none can be left out, with NumPy's BLAS and with XLA; the faster counts.

**Gauss-Newton step**: J^T J of an n x p float64 matrix by BLAS and one Cholesky factor of p x p
against the step that needs them, the same network, n = 10^4 points, d = 20. One training goes on
from turn to turn, two steps in each, for only every second one finds the precisions again. A step
may try several dampings, with a factor and two solutions for each, and may form J^T J in single
precision where the damping hides it; both are counted.

Step and products take turns; the ratio is that of the median CPU times. Results:
results/step_cost.json.
"""

import argparse
import json
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from records import RESULTS

import steinquad as sq
from steinquad.measures.affine import Affine
from steinquad.networks.mlp import MLP, Layers
from steinquad.networks.stein_network import SteinNetwork
from steinquad.points import Points
from steinquad.stein.inputs import stein_inputs
from steinquad.stein.multipliers import Constant
from steinquad.training.curvature import Dense
from steinquad.training.gauss_newton import GaussNewton
from steinquad.training.model import LARGE, SINGLE
from steinquad.training.objective import Penalty, TrainingSet, flatten, value_and_gradient

PATH = RESULTS / "step_cost.json"
WIDTH = 32
LIMIT = 3.0

Work = Callable[[], Any]


@dataclass(frozen=True)
class Contest:
    """A step and the ways to do only its matrix products."""

    name: str
    step: Work
    bare: dict[str, Work]
    operations: float  # of the products, floating point
    steps: int = 1  # in one turn
    notes: dict[str, list[int]] = field(default_factory=dict)  # one entry a step, filled by it


def training_set(n: int, d: int) -> tuple[SteinNetwork, TrainingSet]:
    """The Continuous Genz function and a network for it."""
    x = np.random.default_rng(0).standard_normal((n, d))
    y = sq.problems.genz("continuous", d).integrand(x)
    y = ((y - y.mean()) / y.std())[:, None]
    affine = Affine.fit(x, "diagonal", np.ones(n))
    inputs, frame = stein_inputs(Points(x, -x), Constant(), affine)
    field = MLP.initialize(0, Layers(dim=d, width=WIDTH, activation="celu"))
    network = SteinNetwork(jnp.zeros(1), field)
    return network, TrainingSet.build(inputs, frame, y, np.ones(n))


def lbfgs(n: int = 100_000, d: int = 20) -> Contest:
    """One loss with its gradient."""
    network, data = training_set(n, d)
    vector, penalty = flatten(network), Penalty(1e-6, theta0=False)
    z = data.blocks.inputs.z  # (blocks, points, d)
    h = WIDTH
    rng = np.random.default_rng(1)
    w1, w2, w3, k = (rng.standard_normal(shape) / 6 for shape in ((h, d), (h, h), (d, h), (h, h)))
    return Contest(
        f"L-BFGS step, n = {n}, d = {d}",
        lambda: value_and_gradient(vector, network, data, penalty),
        {
            "NumPy": products_by_numpy(np.array(z), w1, w2, w3, k),
            "XLA": products_by_xla(z, *map(jnp.asarray, (w1, w2, w3, k))),
        },
        2 * n * (5 * d * h + 6 * h * h),
    )


def products_by_numpy(
    z: np.ndarray, w1: np.ndarray, w2: np.ndarray, w3: np.ndarray, k: np.ndarray
) -> Work:
    """The eleven products block by block; results go where the last ones were."""
    points, (h, d) = z.shape[1], w1.shape
    a1, a2, t, da2, ds1, da1 = (np.empty((points, h)) for _ in range(6))
    g3 = np.empty((points, d))
    dw1, dw2, dw3, dk = np.empty((h, d)), np.empty((h, h)), np.empty((d, h)), np.empty((h, h))

    def work() -> np.ndarray:
        for block in z:
            np.matmul(block, w1.T, out=a1)
            np.matmul(a1, w2.T, out=a2)
            np.matmul(a2, w3.T, out=g3)
            np.matmul(a1, k.T, out=t)
            np.matmul(g3.T, a2, out=dw3)
            np.matmul(g3, w3, out=da2)
            np.matmul(t.T, a1, out=dk)
            np.matmul(t, k, out=ds1)
            np.matmul(da2.T, ds1, out=dw2)
            np.matmul(da2, w2, out=da1)
            np.matmul(da1.T, block, out=dw1)
        return dw1

    return work


def products_by_xla(
    z: jax.Array, w1: jax.Array, w2: jax.Array, w3: jax.Array, k: jax.Array
) -> Work:
    """The same, compiled, with the sums over blocks that a gradient needs."""

    @jax.jit
    def products(z: jax.Array, weights: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        w1, w2, w3, k = weights

        def add(sums: tuple[jax.Array, ...], block: jax.Array):
            a1 = block @ w1.T
            a2, t = a1 @ w2.T, a1 @ k.T
            g3 = a2 @ w3.T
            da2, ds1 = g3 @ w3, t @ k
            da1 = da2 @ w2
            gradients = (da1.T @ block, da2.T @ ds1, g3.T @ a2, t.T @ a1)
            return jax.tree.map(jnp.add, sums, gradients), None

        return jax.lax.scan(add, jax.tree.map(jnp.zeros_like, weights), z)[0]

    return lambda: products(z, (w1, w2, w3, k))


def bare_gauss_newton(n: int, p: int) -> tuple[dict[str, Work], float]:
    """J^T J and a Cholesky factor, and the floating-point operations of both."""
    jacobian = np.random.default_rng(0).standard_normal((n, p))
    ridge = np.eye(p)

    def work() -> np.ndarray:
        gram = jacobian.T @ jacobian + ridge
        return scipy.linalg.cholesky(gram, lower=True, overwrite_a=True, check_finite=False)

    return {"BLAS": work}, n * p * p + p**3 / 3  # a symmetric product is half of one


def gauss_newton(n: int = 10_000, d: int = 20) -> Contest:
    """Two steps of one training, which goes on."""
    network, data = training_set(n, d)
    run = GaussNewton().start(network, data, flat=True)
    p = len(run.vector)
    notes: dict[str, list[int]] = {"attempts": [], "single": []}

    def two_steps() -> None:
        for _ in range(2):
            assert isinstance(run.at, Dense)
            tried, trace = run.evaluations, float(np.trace(run.at.matrix))
            if not run.step():
                raise RuntimeError("training is over; repeat less often")
            notes["attempts"].append(run.evaluations - tried)
            # as `NumpyModel.gram` decides
            due = run.steps % run.at.every == 0  # precisions, for which G is exact
            notes["single"].append(int(not due and p > LARGE and run.damping > SINGLE * trace))

    bare, operations = bare_gauss_newton(n, p)
    name = f"Gauss-Newton step, n = {n}, d = {d}, {p} weights"
    return Contest(name, two_steps, bare, operations, steps=2, notes=notes)


CONTESTS: list[Callable[[], Contest]] = [lbfgs, gauss_newton]


def cpu_seconds(work: Work) -> float:
    start = time.process_time()
    jax.block_until_ready(work())
    return time.process_time() - start


def measure(contest: Contest, repeats: int) -> dict[str, Any]:
    """Median CPU seconds of the step and of its products, taking turns."""
    works = {"step": contest.step} | contest.bare
    for work in works.values():
        cpu_seconds(work)  # compiles
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            seconds[name].append(cpu_seconds(work))
    medians = {name: float(np.median(times)) for name, times in seconds.items()}
    step = medians.pop("step") / contest.steps
    fastest = min(medians, key=lambda name: medians[name])
    return {
        "name": contest.name,
        "step": step,
        "products": medians,
        "gigaflops": contest.operations / medians[fastest] / 1e9,
        "ratio": step / medians[fastest],
        "limit": LIMIT,
        "notes": {name: counts[contest.steps :] for name, counts in contest.notes.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    rows = []
    for build in CONTESTS:
        row = measure(build(), options.repeats)
        rows.append(row)
        products = ", ".join(f"{k} {1e3 * v:.1f} ms" for k, v in row["products"].items())
        print(
            f"{row['name']}: {1e3 * row['step']:.1f} CPU ms; products alone {products} "
            f"({row['gigaflops']:.1f} Gflop/s); ratio {row['ratio']:.2f}, limit {LIMIT:g}",
            flush=True,
        )
        if row["notes"]:
            attempts, single = row["notes"]["attempts"], row["notes"]["single"]
            print(
                f"    {np.mean(attempts):.1f} attempts a step, {max(attempts)} at most; J^T J in "
                f"single precision in {sum(single)} of {len(single)} steps",
                flush=True,
            )
    record = {"steps": rows, "python": platform.python_version(), "machine": platform.machine()}
    RESULTS.mkdir(exist_ok=True)
    PATH.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
