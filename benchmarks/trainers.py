"""Three ways to train one and the same network, on the same points and from the same weights.

`taskset -c 1 python benchmarks/trainers.py [--seeds 2] [--report]`; resumable, rows in
results/trainers.jsonl.

    gauss_newton   `sq.GaussNewton()`: three quarters of the points train, one quarter says when
                   to stop, as in a fold of `sq.BSN()`
    lbfgs          `sq.LBFGS()`: penalized squares of the paper, stopped in the same way
    evidence       variable projection on all points: g is linear in the last layer and theta0, so
                   these are integrated out, and 400 steps of L-BFGS on the log marginal
                   likelihood find the hidden weights, the noise and the precision of the prior

Two activation layers, at d = 10 and 20 along the coordinates to begin with; coordinates and values
standardized, a flat prior on theta0. Mean squares are in standard units: on the points that
trained, and on 20,000 others. CPU time counts compiling, for every training again. Means over the
seeds are geometric. Seeds from 100 up: used for tuning.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
import scipy.optimize
from jax.flatten_util import ravel_pytree
from records import Records

import steinquad as sq
from steinquad._types import Array
from steinquad.checking.folds import folds_of
from steinquad.dataset import Dataset
from steinquad.fitting.ensemble import Split, splits
from steinquad.fitting.standard_frame import StandardFrame
from steinquad.networks.mlp import MLP, Layers
from steinquad.networks.stein_network import SteinNetwork
from steinquad.stein.inputs import NetworkFrame
from steinquad.stein.multipliers import Boundary, Constant
from steinquad.training.evidence import LOG_ALPHA, LOG_BETA
from steinquad.training.objective import Block, TrainingSet, predict


class Case(NamedTuple):
    """A problem and a network for it."""

    family: str
    d: int
    n: int
    activation: str
    width: int

    def __str__(self) -> str:
        return f"{self.family}, d = {self.d}, n = {self.n}, {self.activation} {self.width}"


CASES = (  # from cheap to expensive
    Case("gaussian", 2, 200, "tanh", 16),
    Case("discontinuous", 2, 5120, "celu", 16),
    Case("continuous", 2, 5120, "celu", 16),
    Case("continuous", 2, 5120, "tanh", 16),
    Case("gaussian", 2, 5120, "tanh", 16),
    Case("corner", 2, 5120, "tanh", 16),
    Case("oscillatory", 2, 5120, "tanh", 16),
    Case("continuous", 10, 10240, "celu", 32),
    Case("continuous", 20, 10240, "celu", 32),
)
FIRST_SEED = 100
FOLDS = 4  # one of which is held out where a trainer is validated
FRESH = 20_000
FRESH_SEED = 1_000_000  # away from the seeds of the points to train on
EVIDENCE_STEPS = 400
HIDDEN = 1e-3  # precision of the hidden weights, far less than the data say; keeps them finite
WALL = 1e10  # in place of an evidence that is not finite
COMPILED = "/jax/core/compile/backend_compile_duration"


@dataclass(frozen=True)
class Prepared:
    """The data of a case in the network's coordinates, and where it starts."""

    frame: StandardFrame
    split: Split
    network: SteinNetwork

    @classmethod
    def draw(cls, case: Case, seed: int) -> "Prepared":
        """Draw them."""
        problem = sq.problems.genz(case.family, case.d)
        x = problem.measure.sample(case.n, seed=seed)
        data = Dataset(x, problem.integrand(x), score=problem.measure.score(x))
        frame = StandardFrame.fit(
            data,
            problem.measure,
            multiplier=Constant(),
            boundary=Boundary(),
            standardize="diagonal",
        )
        layers = Layers(dim=case.d, width=case.width, activation=case.activation)
        field = MLP.initialize(seed, layers, aligned=case.d > 7)
        split = splits(folds_of(data, FOLDS, seed), case.n, seed)[0]
        return cls(frame, split, SteinNetwork(jnp.zeros(1), field))

    @property
    def everything(self) -> np.ndarray:
        """All rows."""
        return np.arange(len(self.frame.weights))

    def mean_square(self, network: SteinNetwork, rows: np.ndarray) -> float:
        """What the network misses there, in standard units."""
        missed = predict(network, self.frame.rows(rows)) - self.frame.outputs.values[rows]
        return float(np.mean(missed**2))


@dataclass(frozen=True)
class Trained:
    """A network, the rows that it was fitted to, and what that took."""

    network: SteinNetwork
    rows: np.ndarray
    steps: int
    evaluations: int


def by_folds(optimizer: sq.GaussNewton | sq.LBFGS) -> Callable[[Prepared], Trained]:
    def train(points: Prepared) -> Trained:
        rows = points.split.train
        result = optimizer.fit(
            points.network,
            points.frame.rows(rows),
            flat=True,
            progress=lambda *_: None,
            validation=points.frame.rows(points.split.held),
        )
        return Trained(result.network, rows, len(result.losses), result.evaluations)

    return train


def by_evidence(points: Prepared) -> Trained:
    """L-BFGS on the evidence, started afresh where a line search gives up, as `sq.LBFGS` is."""
    rows = points.everything
    evidence = Evidence(points.network, points.frame.rows(rows))
    at, steps = evidence.start(), 0

    def after_step(intermediate_result: Any) -> None:
        nonlocal steps
        del intermediate_result
        steps += 1

    while True:
        before = steps
        found = scipy.optimize.minimize(
            evidence,
            at,
            jac=True,
            method="L-BFGS-B",
            bounds=[(None, None)] * (len(at) - 2) + [LOG_ALPHA, LOG_BETA],
            callback=after_step,
            options={
                "maxiter": EVIDENCE_STEPS - steps,
                "maxfun": 20 * EVIDENCE_STEPS,
                "maxcor": 100,
                "maxls": 50,
                "ftol": 0.0,
                "gtol": 0.0,
            },
        )
        at = found.x
        if steps >= EVIDENCE_STEPS or steps <= before + 1:
            break
    return Trained(evidence.network(at), rows, steps, evidence.evaluations)


TRAINERS: dict[str, Callable[[Prepared], Trained]] = {
    "gauss_newton": by_folds(sq.GaussNewton()),
    "lbfgs": by_folds(sq.LBFGS()),
    "evidence": by_evidence,
}


class Evidence:
    """Minus the log marginal likelihood of the hidden weights, a point, and its gradient.

    With the features Phi of the last layer (first column: theta0), its posterior mean m and
    precision A = beta Phi^T Phi + alpha I_w, I_w = 0 for theta0 and else the identity,

        2 E = beta |Phi m - y|^2 + alpha |m_w|^2 + log det A - q log alpha - n log beta,

    q penalized weights. The first two terms and the determinant are read off the triangle of a QR
    factorization of (sqrt(beta) (Phi, y); sqrt(alpha) (I_w, 0)), which bears a noise as small as
    the smooth families have; A itself would not. As m minimizes E, dE/dPhi is
    beta ((Phi m - y) m^T + Phi A^-1), which one reverse pass takes back to the hidden weights.
    """

    def __init__(self, like: SteinNetwork, data: TrainingSet) -> None:
        self.like, self.data = like, data
        merged = data.merged()
        self.y = np.sqrt(merged.weights) * merged.y[:, 0]
        self.total = float(merged.weights.sum())
        self.evaluations = 0

    def start(self) -> Array:
        """Hidden weights of the network, log alpha and log beta, which start as Gauss-Newton's."""
        hidden = np.asarray(ravel_pytree(split(self.like)[1])[0])
        return np.concatenate([hidden, np.log([1e-2, 1.0])])

    def __call__(self, at: Array) -> tuple[float, Array]:
        """The evidence and its gradient."""
        self.evaluations += 1
        hidden, log_alpha, log_beta = at[:-2], at[-2], at[-1]
        alpha, beta = np.exp(log_alpha), np.exp(log_beta)
        phi = np.asarray(features(hidden, self.like, self.data))
        count = phi.shape[1]
        factor, projected, misfit = self._factor(phi, alpha, beta)
        halves = np.log(np.abs(np.diag(factor))).sum()
        value = 0.5 * (misfit - (count - 1) * log_alpha - self.total * log_beta) + halves
        value += 0.5 * HIDDEN * float(hidden @ hidden)
        if not np.isfinite(value):
            return WALL, np.zeros_like(at)
        mean = scipy.linalg.solve_triangular(factor, projected, check_finite=False)
        half = scipy.linalg.solve_triangular(factor, np.eye(count), check_finite=False)
        r = phi @ mean - self.y
        slope = beta * (np.outer(r, mean) + (phi @ half) @ half.T)
        spread = alpha * float(np.sum(half[1:] ** 2))  # alpha tr(A^-1) without theta0
        gradient = np.empty_like(at)
        gradient[:-2] = pulled_back(hidden, self.like, self.data, slope) + HIDDEN * hidden
        gradient[-2] = 0.5 * (alpha * float(mean[1:] @ mean[1:]) + spread - (count - 1))
        gradient[-1] = 0.5 * (beta * float(r @ r) + count - spread - self.total)
        return value / self.total, gradient / self.total

    def network(self, at: Array) -> SteinNetwork:
        """With these hidden weights and the mean of the last layer."""
        alpha, beta = np.exp(at[-2:])
        phi = np.asarray(features(at[:-2], self.like, self.data))
        factor, projected, _ = self._factor(phi, alpha, beta)
        linear, hidden = split(self.like)
        mean = scipy.linalg.solve_triangular(factor, projected)
        return eqx.combine(
            ravel_pytree(linear)[1](jnp.asarray(mean)),
            ravel_pytree(hidden)[1](jnp.asarray(at[:-2])),
        )

    def _factor(self, phi: Array, alpha: float, beta: float) -> tuple[Array, Array, float]:
        """Upper factor of A, what solves for the mean, and beta |r|^2 + alpha |m_w|^2."""
        n, count = phi.shape
        rows = np.zeros((n + count - 1, count + 1))
        rows[:n, :count], rows[:n, count] = phi, self.y
        rows[:n] *= np.sqrt(beta)
        rows[n:, 1:count].flat[::count] = np.sqrt(alpha)
        triangle = np.asarray(np.linalg.qr(rows, mode="r"))
        return (
            triangle[:count, :count],
            triangle[:count, count],
            float(triangle[count, count] ** 2),
        )


def split(network: SteinNetwork) -> tuple[SteinNetwork, SteinNetwork]:
    """What g is linear in, theta0 first, and the hidden layers; None stands for the others."""
    marked = eqx.tree_at(
        lambda net: (net.theta0, net.field.weights[-1], net.field.biases[-1]),
        jax.tree.map(lambda _: False, network),
        (True, True, True),
    )
    return eqx.partition(network, marked)


def block_features(hidden: Any, linear: Any, block: Block, frame: NetworkFrame) -> jax.Array:
    """sqrt(w_i) dg(x_i) / d(theta0, W3, b3), (points, count)."""
    vector, unravel = ravel_pytree(linear)

    def g(v: jax.Array, inputs: Any) -> jax.Array:
        return eqx.combine(unravel(v), hidden)(inputs, frame)[0]

    rows = jax.vmap(jax.grad(g), in_axes=(None, 0))(jnp.zeros_like(vector), block.inputs)
    return jnp.sqrt(block.weights)[:, None] * rows


@jax.jit
def features(vector: jax.Array, like: SteinNetwork, data: TrainingSet) -> jax.Array:
    """Of all points, block by block."""
    linear, hidden = split(like)
    layers = ravel_pytree(hidden)[1](vector)
    rows = jax.lax.map(lambda b: block_features(layers, linear, b, data.frame), data.blocks)
    return rows.reshape(-1, rows.shape[-1])


@jax.jit
def pulled_back(
    vector: jax.Array, like: SteinNetwork, data: TrainingSet, slope: jax.Array
) -> jax.Array:
    """Derivative by the hidden weights of what has this derivative by the features."""
    linear, hidden = split(like)
    unravel = ravel_pytree(hidden)[1]

    def add(total: jax.Array, at: tuple[Block, jax.Array]) -> tuple[jax.Array, None]:
        block, part = at
        pull = jax.vjp(lambda v: block_features(unravel(v), linear, block, data.frame), vector)[1]
        return total + pull(part)[0], None

    parts = slope.reshape(*data.blocks.weights.shape, -1)
    return jax.lax.scan(add, jnp.zeros_like(vector), (data.blocks, parts))[0]


def run_one(case: Case, seed: int, trainer: str) -> dict[str, Any]:
    problem = sq.problems.genz(case.family, case.d)
    points = Prepared.draw(case, seed)
    x = problem.measure.sample(FRESH, seed=FRESH_SEED + seed)
    compiled: list[float] = []

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        if event == COMPILED:
            compiled.append(duration_secs)

    jax.clear_caches()
    jax.monitoring.register_event_duration_secs_listener(listen)
    start = time.process_time()
    trained = TRAINERS[trainer](points)
    cpu = time.process_time() - start
    jax.monitoring.unregister_event_duration_listener(listen)
    outputs = points.frame.outputs
    fresh = predict(trained.network, points.frame.at(sq.Points(x, measure=problem.measure)))
    held_out = (problem.integrand(x) - outputs.shift[0]) / outputs.scale[0] - fresh[:, 0]
    integral = outputs.in_units(np.asarray(trained.network.theta0)[None])[0, 0]
    return {
        "train": points.mean_square(trained.network, trained.rows),
        "held_out": float(np.mean(held_out**2)),
        "error": abs(float(integral) - problem.truth) / abs(problem.truth),
        "cpu": cpu,
        "compiled": len(compiled),
        "steps": trained.steps,
        "evaluations": trained.evaluations,
    }


def run(records: Records, seeds: range) -> None:
    for case in CASES:
        for seed in seeds:
            for trainer in TRAINERS:
                key = {**case._asdict(), "seed": seed, "trainer": trainer}
                if records.has(**key):
                    continue
                row = run_one(case, seed, trainer)
                records.add(**key, **row)
                print(
                    f"{case}, seed {seed}, {trainer}: mean square {row['train']:.1e} trained, "
                    f"{row['held_out']:.1e} held out, error {row['error']:.1e}, "
                    f"{row['cpu']:.0f} CPU s",
                    flush=True,
                )


def report(records: Records) -> None:
    columns = ("train", "held_out", "error", "cpu", "compiled", "steps")
    heads = ("training", "held out", "error", "CPU s", "compiled", "steps")
    print(f"\n{'mean squares, error of theta0':44}" + "".join(f"{head:>10}" for head in heads))
    verdicts = []
    for case in CASES:
        rows = records.select(**case._asdict())
        seeds = [{r["seed"] for r in rows if r["trainer"] == trainer} for trainer in TRAINERS]
        shared = set.intersection(*seeds)  # seeds that all trainers have
        if not shared:
            continue
        print(f"{case} ({len(shared)} seeds)")
        means: dict[str, dict[str, float]] = {}
        for trainer in TRAINERS:
            mine = [r for r in rows if r["trainer"] == trainer and r["seed"] in shared]
            means[trainer] = {name: geometric([r[name] for r in mine]) for name in columns}
            train, held_out, error, cpu, compiled, steps = means[trainer].values()
            print(f"    {trainer:40}{train:10.1e}{held_out:10.1e}{error:10.1e}", end="")
            print(f"{cpu:10.1f}{compiled:10.0f}{steps:10.0f}")
        verdicts.append(f"{case}: {verdict(means)}")
    print("\n" + "\n".join(verdicts))


def geometric(values: list[float]) -> float:
    """Mean; counts of zero stay zero."""
    return float(np.exp(np.mean(np.log(values)))) if min(values) > 0 else 0.0


def verdict(means: dict[str, dict[str, float]]) -> str:
    """Who has the least held-out mean square, and the CPU time against Gauss-Newton's."""
    best = min(means, key=lambda trainer: means[trainer]["held_out"])
    ours = means["gauss_newton"]
    ratio = ours["held_out"] / means[best]["held_out"]
    behind = f", {ratio:.1f} times below gauss_newton" if best != "gauss_newton" else ""
    cost = ", ".join(
        f"{trainer} {mean['cpu'] / ours['cpu']:.2f}"
        for trainer, mean in means.items()
        if trainer != "gauss_newton"
    )
    return f"least held out by {best}{behind}; CPU time over that of gauss_newton: {cost}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--report", action="store_true", help="only print the table again")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    records = Records("trainers", (*Case._fields, "seed", "trainer"))
    if not options.report:
        run(records, range(FIRST_SEED, FIRST_SEED + options.seeds))
    report(records)


if __name__ == "__main__":
    main()
