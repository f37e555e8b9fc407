"""Does another version of the library give the same answers? For before and after a refactoring.

`python benchmarks/same_answers.py record FILE [--only SUBSTRING]`
`python benchmarks/same_answers.py compare BEFORE AFTER`

Recorded are the answers of every method on small datasets, of two studies, of posterior draws, of
a distribution and of two figures of the paper, all through the public interface. A row is one
method on one dataset; rows that are in FILE are not run again. The same version on the same
machine repeats every row bit for bit; what a row may differ by depends on its kind:

closed   linear algebra only: 1e-12
fitted   hyperparameters are found by descent: 1e-6
network  trainings multiply last digits: means differ by .05 std at most, stds by 5 %

For the first two kinds means, ends of intervals and predictions are relative to the largest |f| of
the data (or to themselves if larger), stds to themselves or to 1e-14 / tolerance of the largest
|f|; degrees of freedom, distances of checks and held-out errors get scale / std times as much as
means, because they are made of what is left of f. Of networks, ends of intervals may differ by a
tenth of the interval's length, predictions by .05 std sqrt(n), which is about what the model
misses at a point, and the last three by a fifth. Statuses, chosen candidates and kinds of networks
must be the same.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpyro.distributions as dist
import scipy.stats

import steinquad as sq

TOLERANCES = {"closed": 1e-12, "fitted": 1e-6, "network": 0.05}
ROUNDING = 1e-14  # of a std, relative to the largest |f|
# Of what a method reports, that which says which way it went.
WAYS = ("activation", "width", "depth", "optimizer", "separate", "networks", "boxes", "order")


# Constructors: what a change of the interface concerns -------------------------------------------


@dataclass(frozen=True)
class Way:
    """A method and how it is called; on all datasets, or on those that are named."""

    method: Any
    cases: str = ""
    options: dict[str, Any] = field(default_factory=dict)


class Images(sq.Features):
    """Stein images of constants and coordinates: the scores, and 1 + x times the score."""

    name = "images"
    highest = 2

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def size(self, order: int) -> int:
        """Both, or the scores alone."""
        return order * self.dim

    def __call__(self, x: Any, score: Any, order: int) -> Any:
        """Values of the features, (n, d) -> (n, order d)."""
        assert score is not None
        return np.concatenate([score, 1 + x * score], axis=1)[:, : order * self.dim]


CDF = sq.Polynomial(features="cdf", name="Polynomial(cdf)")
SCORE = sq.Polynomial(features="score", name="Polynomial(score)")
OLD: Any = {"lengthscales": "isotropic", "mean": "zero", "criterion": "likelihood"}
GIVEN: Any = {"lengthscales": 1.5, "noise": 0.01, "amplitude": 1.0}
SEPARATE: Any = {"lengthscales": "separate", "standardize": "diagonal"}
CHEAP = sq.Stack([sq.MonteCarlo(), CDF, SCORE, sq.BayesianQuadrature(), sq.ControlFunctional()])
SMALL: Any = {"width": 8, "folds": 2}
GROWING: Any = {"n": 40, "max_n": 120}

CLOSED = {
    "MC": Way(sq.MonteCarlo()),
    "QMC": Way(sq.QuasiMonteCarlo()),
    "Polynomial": Way(sq.Polynomial()),
    "Polynomial(cdf)": Way(CDF),
    "Polynomial(score)": Way(SCORE),
    "Polynomial, order 3": Way(sq.Polynomial(order=3)),
    "Polynomial, checked": Way(SCORE, options={"folds": 4}),
    "Polynomial, rtol": Way(sq.Polynomial(), "smooth gamma", {"rtol": 1e-4, **GROWING}),
    "Regression": Way(sq.Regression(features=Images(2)), "smooth banana correlated"),
    "Stack, closed": Way(sq.Stack([sq.MonteCarlo(), CDF, SCORE])),
}
FITTED = {
    "BQ": Way(sq.BayesianQuadrature()),
    "BQ, RBF": Way(sq.BayesianQuadrature(kernel=sq.kernels.RBF(), **OLD), "smooth five box grid"),
    "BQ, Bayes-Sard": Way(sq.BayesianQuadrature(mean=2), "smooth correlated outputs"),
    "BQ, fixed": Way(sq.BayesianQuadrature(**GIVEN), "smooth line noise"),
    "BQ, checked": Way(sq.BayesianQuadrature(), "smooth", {"folds": 3}),
    "CF": Way(sq.ControlFunctional()),
    "CF, separate": Way(sq.ControlFunctional(**SEPARATE), "smooth box chains banana"),
    "CF, likelihood": Way(sq.ControlFunctional(criterion="likelihood"), "smooth"),
    "CF, checked": Way(sq.ControlFunctional(), "smooth chains", {"folds": 3}),
    "Subset": Way(sq.Subset(sq.ControlFunctional(), size=60), "smooth chains weights"),
    "Stack, cheap": Way(CHEAP, "smooth jump banana chains"),
    "Stack, rtol": Way(CHEAP, "kink", {"rtol": 1e-2, **GROWING}),
}
NETWORK = {
    "BSN": Way(sq.BSN(), "smooth outputs noise chains weights jump oblique kink nine grid"),
    "BSN, members=1": Way(sq.BSN(members=1), "smooth"),
    "BSN, folds=1": Way(sq.BSN(folds=1), "smooth"),
    "BSN, checked": Way(sq.BSN(width=8), "smooth", {"folds": 3}),
    "BSN, rtol": Way(sq.BSN(), "kink", {"rtol": 1e-3, **GROWING}),
    "BSN, width 8": Way(sq.BSN(width=8), "nine"),  # first layer free or separate
    "BSN, separate": Way(sq.BSN(directions="separate", **SMALL), "smooth"),
    "BSN, whitened": Way(sq.BSN(standardize="whiten", **SMALL), "correlated"),
    "BSN, multiplier": Way(sq.BSN(multiplier=sq.multipliers.InverseRoot(), **SMALL), "smooth"),
    "BSN, depth 3": Way(sq.BSN(depth=3, optimizer=sq.LBFGS(max_steps=100), **SMALL), "smooth"),
    "BSN, Gauss-Newton": Way(
        sq.BSN(optimizer=sq.GaussNewton(max_steps=20), **SMALL), "box gamma MALA"
    ),
    "BSN, Hessian-free": Way(sq.BSN(optimizer=sq.HessianFree(max_steps=10), **SMALL), "smooth"),
    "BSN, Adam": Way(sq.BSN(optimizer=sq.Adam(max_steps=100, batch=32), **SMALL), "smooth"),
    "BSN.paper": Way(sq.BSN.paper(width=8, optimizer=sq.LBFGS(max_steps=60, rtol=0.0)), "box"),
    "Stack": Way(sq.Stack(), "kink jump"),
}
METHODS: dict[str, dict[str, Way]] = {"closed": CLOSED, "fitted": FITTED, "network": NETWORK}


# Datasets ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """An integrand with a distribution and a number of points, or data that are there already."""

    f: Callable[[Any], Any]
    measure: Any = None
    n: int = 160
    dim: int = 2
    design: Any = None
    data: sq.Dataset | None = None
    score: Callable[[Any], Any] | None = None  # where no measure says what it is

    def answer(self, method: Any, **options: Any) -> sq.Estimate:
        """The estimate by a method."""
        if self.data is not None:
            return sq.estimate(self.data, measure=self.measure, method=method, **options)
        options = {"n": self.n, "design": self.design} | options
        return sq.integrate(self.f, self.measure, method=method, **options)


def normal(d: int) -> Any:
    return dist.Normal(0, 1).expand([d]).to_event(1)


def smooth(x: Any) -> Any:
    return np.cos(x).sum(axis=1) + np.exp(0.3 * x[:, 0]) * x[:, -1] + 2


def three(x: Any) -> Any:
    return np.stack([smooth(x), np.full(len(x), 3.0), 1 / (1 + x[:, 0] ** 2)], axis=1)


def jump(x: Any) -> Any:
    return np.where(x[:, 0] > 0.3, 2.0, 0.0) + np.cos(x[:, 0] + 0.5 * x[:, 1])


def kink(x: Any) -> Any:
    return np.abs(x[:, 0] - 0.3) + 0.5 * np.sin(3 * x[:, 1])


def oblique(x: Any) -> Any:
    side = np.where(x.sum(axis=1) > 0.3, 2.0, 0.0)
    return np.stack([side + np.cos(x[:, 0]), side * x[:, 1], side + x[:, 0] * x[:, 1]], axis=1)


def weighted() -> Case:
    x = 1.3 * np.random.default_rng(1).standard_normal((160, 2))
    log_weights = -0.5 * np.sum(x**2, axis=1) * (1 - 1 / 1.3**2)
    data = sq.Dataset(x, smooth(x), weights=np.exp(log_weights))
    return Case(smooth, normal(2), data=data)


def noisy() -> Case:
    rng = np.random.default_rng(2)
    x, noise = rng.standard_normal((160, 2)), 0.05 + 0.2 * rng.random(160)
    data = sq.Dataset(x, smooth(x) + noise * rng.standard_normal(160), noise=noise)
    return Case(smooth, normal(2), data=data)


def walk(chains: int = 4, length: int = 40, d: int = 2) -> np.ndarray:
    """Autoregressive chains with standard normal law, (chains, length, d)."""
    steps = np.random.default_rng(3).standard_normal((chains, length, d))
    for t in range(1, length):
        steps[:, t] = 0.6 * steps[:, t - 1] + 0.8 * steps[:, t]
    return steps


def markov() -> Case:
    x = walk().reshape(160, 2)
    groups = np.repeat(np.arange(4), 40)
    return Case(smooth, data=sq.Dataset(x, smooth(x), -x, groups=groups), score=np.negative)


def banana() -> Case:
    def score(x: Any) -> Any:
        bent = x[:, 1] - 0.5 * x[:, 0] ** 2
        return np.stack([bent * x[:, 0] - x[:, 0], -bent], axis=1)

    x = np.random.default_rng(4).standard_normal((160, 2))
    x[:, 1] += 0.5 * x[:, 0] ** 2
    return Case(smooth, data=sq.Dataset(x, smooth(x), score(x)), score=score)


def cases() -> dict[str, Case]:
    uniform, cut = dist.Uniform(0.0, 1.0), sq.Truncated(scipy.stats.norm(), low=-0.5, high=1.5)
    covariance: Any = np.array([[1.0, 0.7], [0.7, 2.0]])
    density = sq.LogDensity(lambda x: -0.5 * x @ x - 0.1 * x[0] ** 4, dim=2)
    x = np.random.default_rng(6).standard_normal((160, 2))
    mixed = dist.MixtureSameFamily(
        dist.Categorical(probs=np.array([0.3, 0.7])),
        dist.Normal(np.array([-1.5, 1.0]), np.array([0.5, 1.0])),
    )
    return {
        "smooth": Case(smooth, normal(2)),
        "five": Case(smooth, normal(5), dim=5),
        "line": Case(smooth, normal(1), n=60, dim=1),
        "box": Case(smooth, sq.Product({"a": uniform, "b": cut})),
        "gamma": Case(smooth, scipy.stats.gamma(3.0), n=100, dim=1),
        "outputs": Case(three, normal(2)),
        "weights": weighted(),
        "noise": noisy(),
        "chains": markov(),
        "jump": Case(jump, normal(2), n=400),
        "oblique": Case(oblique, normal(2), n=400),
        "kink": Case(kink, normal(2), n=400),
        "nine": Case(smooth, normal(9), n=400, dim=9),
        "banana": banana(),
        "draws": Case(smooth, sq.Draws(x, -x), score=np.negative),
        "MALA": Case(smooth, density, n=400, design=sq.designs.MALA(warmup=500, thin=10)),
        "constant": Case(lambda x: np.full(len(x), 2.5), normal(2)),
        "correlated": Case(smooth, scipy.stats.multivariate_normal([0.0, 1.0], covariance)),
        "mixture": Case(smooth, mixed, n=100, dim=1),
        "Sobol": Case(smooth, normal(2), design=sq.designs.Sobol()),
        "replicates": Case(smooth, normal(2), design=sq.designs.Sobol(replicates=16)),
        "grid": Case(smooth, normal(2), n=144, design=sq.designs.Grid(width=3.0)),
    }


# Rows --------------------------------------------------------------------------------------------


def row_of(est: sq.Estimate, case: Case | None = None) -> dict[str, Any]:
    """What is recorded of an estimate; of outputs always a list."""
    values = np.atleast_1d(est.mean)[None] if est.values is None else est.values
    row: dict[str, Any] = {
        "mean": np.atleast_1d(est.mean).tolist(),
        "std": np.atleast_1d(est.std).tolist(),
        "dof": float(est.dof),
        "status": est.status.code,
        "interval": [np.atleast_1d(side).tolist() for side in est.interval(0.95)],
        "n": est.n,
        "scale": np.abs(values).max(axis=0).tolist(),
        "by": est.method,
        "way": {name: est.stats[name] for name in WAYS if name in est.stats},
    }
    if est.check is not None:
        row["check"] = {
            "mean": np.atleast_1d(est.check.mean).tolist(),
            "std": np.atleast_1d(est.check.std).tolist(),
            "dof": float(est.check.dof),
            "distance": est.check.distance,
        }
    if est.candidates:
        keys = ("method", "held_out_rms", "weight")
        row["candidates"] = [
            {key: each[key] for key in keys} for each in est.to_dict()["candidates"]
        ]
    if case is not None and est.status.code != "not_finite":
        x = np.array([[0.2], [0.5], [0.8]]) + 0.05 * np.arange(case.dim)
        score = None if case.score is None else case.score(x)
        row["prediction"] = est.predict(x, score).reshape(3, -1).tolist()
    return row


def statistics(found: Any, scale: float, n: int) -> dict[str, Any]:
    """The same of properties of a distribution; half an interval for a std."""
    ends = [[each.low for each in found], [each.high for each in found]]
    return {
        "mean": [each.value for each in found],
        "std": [each.width / 2 for each in found],
        "status": "converged",
        "interval": ends,
        "n": n,
        "scale": [scale] * len(found),
        "way": {"uses_model": [each.uses_model for each in found]},
    }


def of_distribution() -> Iterator[dict[str, Any]]:
    x = np.random.default_rng(5).standard_normal((200, 2))
    data = sq.Dataset(x, smooth(x))
    asked: dict[str, Any] = {"quantiles": [0.05, 0.5], "above": [5.0]}
    (found,) = sq.distribution(data, measure=normal(2), method=CHEAP, **asked)
    yield statistics(found, float(np.abs(data.fx).max()), data.n)


def of_posterior(method: Any) -> Iterator[dict[str, Any]]:
    x = walk(length=250)
    found = sq.posterior_expectation(x[:, ::2], score=-x[:, ::2], method=method)
    yield {
        "mean": [row.mean for row in found],
        "std": [row.std for row in found],
        "status": found.status.code,
        "interval": [[row.low for row in found], [row.high for row in found]],
        "n": found.n,
        "scale": [max(abs(row.plain), row.mcse * found.n**0.5) for row in found],
        "way": {"methods": [row.method for row in found]},
    }


def of_studies() -> Iterator[dict[str, Any]]:
    def simulator(a: float, b: float) -> tuple[float, float]:
        return float(np.cos(a) * np.exp(0.3 * b)), a + b**2

    inputs = sq.Product({"a": dist.Normal(1.0, 0.5), "b": scipy.stats.gamma(3.0)})
    outputs = {"y": {"quantiles": [0.1, 0.9], "above": [1.0]}, "z": {}}
    for points in ("sobol", "adaptive"):
        with tempfile.TemporaryDirectory() as folder:
            study = sq.Study(
                simulator,
                inputs,
                Path(folder) / "study.sqlite",
                runs=160,
                outputs=outputs,
                points=points,
                method=CHEAP,
                where="here",
                version="1",
            )
            est = study.run()
            yield row_of(est)
            found = [each for of in study.distribution(est).values() for each in of]
            yield statistics(found, max(row_of(est)["scale"]), est.n)


def of_paper(figure: str, method: str) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        part = ["--method", method, "--n", "32", "--seeds", "0", "--path", folder]
        command = [sys.executable, "-m", "steinquad", "reproduce", figure, *part]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        lines = (Path(folder) / f"{figure}.jsonl").read_text().splitlines()
    records = sorted(map(json.loads, lines), key=lambda record: record["problem"])
    yield {
        "mean": [record["estimate"] for record in records],
        "std": [record["std"] for record in records],
        "status": [record["status"] for record in records],
        "n": 32,
        "scale": [abs(record["truth"]) for record in records],
        "way": {"problems": [record["problem"] for record in records]},
    }


# More than one answer: kind, the rows in the order in which they come, and what makes them.
MORE: dict[str, tuple[str, list[str], Callable[[], Iterator[dict[str, Any]]]]] = {
    "distribution": ("fitted", ["Stack, cheap"], of_distribution),
    "posterior": ("closed", ["default"], lambda: of_posterior(None)),
    "posterior, CF": ("fitted", ["CF"], lambda: of_posterior(sq.ControlFunctional())),
    "study": (
        "fitted",
        ["Sobol", "Sobol, distribution", "adaptive", "adaptive, distribution"],
        of_studies,
    ),
    "paper, matern": ("fitted", ["BQ"], lambda: of_paper("matern", "BQ")),
    "paper, activations": (
        "network",
        ["BSN.paper"],
        lambda: of_paper("activations", "BSN.paper"),
    ),
}


def load(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    rows = map(json.loads, path.read_text().splitlines() if path.exists() else ())
    return {(row["case"], row["method"]): row for row in rows}


def record(path: Path, only: str) -> None:
    known, seconds = load(path), dict.fromkeys(TOLERANCES, 0.0)

    def requested(case: str, method: str) -> bool:
        return only in f"{case} {method}" and (case, method) not in known

    def add(case: str, method: str, kind: str, make: Callable[[], dict[str, Any]]) -> None:
        start = sum(os.times()[:4])
        row = {"case": case, "method": method, "kind": kind, **make()}
        cpu = sum(os.times()[:4]) - start
        seconds[kind] += cpu
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{cpu:6.1f} CPU s  {case:18} {method:24} {row['status']}", flush=True)

    def answer(case: Case, way: Way) -> dict[str, Any]:
        try:
            return row_of(case.answer(way.method, **way.options), case)
        except sq.InputError:
            return {"status": "InputError"}

    every = [(kind, *pair) for kind, found in METHODS.items() for pair in found.items()]
    for name, case in cases().items():
        for kind, label, way in every:
            applies = not way.cases or name in way.cases.split()
            if applies and requested(name, label):
                add(name, label, kind, partial(answer, case, way))
    for name, (kind, labels, make) in MORE.items():
        if not any(requested(name, label) for label in labels):
            continue
        found = make()
        for label in labels:
            if requested(name, label):
                add(name, label, kind, partial(next, found))
            else:
                next(found)
    print(", ".join(f"{kind} {cpu:.0f} CPU s" for kind, cpu in seconds.items()))


# Comparison --------------------------------------------------------------------------------------


def numbers(row: dict[str, Any]) -> dict[str, np.ndarray]:
    """All numbers of a row by name; the last axis of means and stds is that of the outputs."""
    fields = ("mean", "std", "interval", "prediction", "dof")
    found = {key: row[key] for key in fields if key in row}
    found |= {f"check.{key}": value for key, value in row.get("check", {}).items()}
    if "candidates" in row:
        found["held_out_rms"] = [each["held_out_rms"] for each in row["candidates"]]
    return {key: np.asarray(value, dtype=np.float64) for key, value in found.items()}


def words(row: dict[str, Any]) -> dict[str, Any]:
    """All of it that must be the same to the letter."""
    found = {key: row.get(key) for key in ("kind", "status", "n", "by", "way")}
    rows = row.get("candidates", ())
    chosen = [(each["method"], bool(np.any(np.asarray(each["weight"]) > 0))) for each in rows]
    shapes = {key: value.shape for key, value in numbers(row).items()}
    return found | {"candidates": chosen, "shapes": shapes}


def differences(a: dict[str, Any], b: dict[str, Any]) -> Iterator[tuple[str, float, float]]:
    """Of two rows with the same shapes: name, largest difference, and how large it may be."""
    old, new, kind = numbers(a), numbers(b), a["kind"]
    if "std" not in old:
        return
    tolerance, network = TOLERANCES[kind], kind == "network"
    std, scale = np.maximum(old["std"], new["std"]), np.maximum(a["scale"], b["scale"])
    floor = np.maximum(ROUNDING * scale, 1e-300)
    left = float(np.nan_to_num(scale / np.maximum(std, floor), nan=1.0).max())  # of f, inverted
    for name, p in old.items():
        q, allowed = new[name], tolerance
        size = np.maximum(np.abs(p), np.abs(q))
        if name.endswith("std"):
            unit = np.maximum(size, floor / tolerance)
        elif name in ("dof", "check.dof", "check.distance", "held_out_rms"):
            unit = np.maximum(size, 1.0) * (1.0 if network else max(left, 1.0))
            allowed = 0.2 if network else tolerance
        elif not network:
            unit = np.maximum(np.where(np.isfinite(size), size, 0.0), scale)
        elif name == "interval":
            unit, allowed = np.maximum(p[1] - p[0], floor), 0.1
        else:  # what a model misses at a point is sqrt(n) times as much as in the mean
            unit = np.maximum(std * (a["n"] ** 0.5 if name == "prediction" else 1.0), floor)
        same = (p == q) | (np.isnan(p) & np.isnan(q))
        gap = np.abs(np.where(same, 0.0, p) - np.where(same, 0.0, q))
        share = np.where(same, 0.0, gap / np.where(same, 1.0, unit))
        yield name, float(np.nan_to_num(share, nan=np.inf).max(initial=0.0)), allowed


def compare(before: Path, after: Path) -> bool:
    """Print what differs; whether nothing does by more than it may."""
    old, new = load(before), load(after)
    trouble = [f"{path} has no rows" for path, rows in ((before, old), (after, new)) if not rows]
    trouble += [f"{' / '.join(key)}: missing in {after}" for key in old if key not in new]
    trouble += [f"{' / '.join(key)}: missing in {before}" for key in new if key not in old]
    for kind in TOLERANCES:
        keys = [key for key in old if key in new and old[key]["kind"] == kind]
        largest = dict[str, tuple[float, float, str]]()
        for key in keys:
            at, said, then = " / ".join(key), words(old[key]), words(new[key])
            if said != then:
                changed = [name for name in said if said[name] != then[name]]
                trouble += [f"{at}: {x} was {said[x]!r}, is {then[x]!r}" for x in changed]
            if said["kind"] != then["kind"] or said["shapes"] != then["shapes"]:
                continue
            for name, gap, allowed in differences(old[key], new[key]):
                largest[name] = max(largest.get(name, (0.0, allowed, at)), (gap, allowed, at))
                if not gap <= allowed:
                    trouble.append(f"{at}: {name} differs by {gap:.2g}, allowed is {allowed:.2g}")
        exact = sum(old[key] == new[key] for key in keys)
        print(f"{kind}: {len(keys)} rows, {exact} of them the same bit for bit")
        for name, (gap, allowed, at) in largest.items():
            print(f"  {name:15} {gap:8.2g} at most (allowed {allowed:.2g}){f', {at}' * (gap > 0)}")
    print("\n".join(trouble) or "No row differs by more than it may.")
    return not trouble


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recorder = commands.add_parser("record")
    recorder.add_argument("file", type=Path)
    recorder.add_argument("--only", default="", help="part of 'case method', as printed")
    comparison = commands.add_parser("compare")
    comparison.add_argument("before", type=Path)
    comparison.add_argument("after", type=Path)
    options = parser.parse_args()
    if options.command == "record":
        record(options.file, options.only)
    elif not compare(options.before, options.after):
        sys.exit(1)


if __name__ == "__main__":
    main()
