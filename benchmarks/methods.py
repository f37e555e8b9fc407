"""All methods, given the same samples: six Genz families and three that do not use the normal CDF.

`python benchmarks/methods.py [--seeds 5] [--tables genz,hidden,others] [--methods ...]`

genz    d = 2, n = 5120, everything known of the measure
hidden  the same with the CDF hidden: draws and scores only
others  f that are not built on the CDF, d = 2 and 5, n = 2000, scores only and with the CDF

Resumable: rows are appended to results/methods.jsonl and never run twice. Prints mean relative
error, median std over |truth|, worst |error|/std and CPU seconds, and beside them what other
packages reach on the Genz families (five seeds, the same n; measured apart, see docs/methods.md).
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpyro.distributions as dist
from records import Records

import steinquad as sq
from steinquad.measures import as_measure

FAMILIES = ("continuous", "corner", "discontinuous", "gaussian", "product", "oscillatory")
ELSEWHERE = {  # mean relative error on FAMILIES, given Monte Carlo samples
    "polynomial Stein CV": (3.4e-3, 5.8e-3, 2.2e-2, 1.1e-2, 5.5e-3, 4.4e-1),
    "Stein CF, RBF": (3.5e-4, 3.6e-4, 1.3e-2, 9.3e-4, 8.1e-4, 1.3e-3),
    "emukit BQ": (6.8e-4, 3.2e-4, 9.9e-3, 2.8e-6, 3.3e-4, 5.6e-4),
    "ProbNum BQ": (9.0e-3, 5.8e-4, 1.1e-1, 1.2e-5, 3.0e-4, 3.8e-4),
    "chaospy": (9.5e-5, 2.0e-5, 1.3e-2, 1.7e-5, 5.2e-5, 7.5e-11),
    "OpenTURNS": (3.1e-4, 4.0e-4, 1.9e-2, 3.7e-4, 1.2e-4, 1.7e-5),
}
METHODS: dict[str, Callable[[], Any]] = {
    "MonteCarlo": sq.MonteCarlo,
    "QuasiMonteCarlo": sq.QuasiMonteCarlo,  # with points of its own
    "Polynomial": sq.Polynomial,
    "BQ": sq.BayesianQuadrature,
    "CF": sq.ControlFunctional,
    "BSN": sq.BSN,
    "BSN.paper": lambda: sq.BSN.paper(optimizer=sq.LBFGS(max_steps=2000, rtol=0.0)),
    "Stack": sq.Stack,
}
OWN_POINTS = {"QuasiMonteCarlo"}


@dataclass(frozen=True)
class Case:
    """An integrand, what its samples are drawn from and what of that is known to the method."""

    name: str
    integrand: Callable[[Any], Any]
    measure: Any
    truth: float
    n: int
    hidden: bool

    def estimate(self, method: Any, seed: int, own: bool) -> sq.Estimate:
        """By a method, from samples of the seed or from points of its own."""
        if own:
            return sq.integrate(self.integrand, self.measure, n=self.n, seed=seed, method=method)
        known = as_measure(self.measure)
        x = known.sample(self.n, seed=seed)
        fx = self.integrand(x)
        if self.hidden:
            data = sq.Dataset(x, fx, known.score(x), support=known.support)
            return sq.estimate(data, method=method, seed=seed)
        return sq.estimate(sq.Dataset(x, fx), measure=known, method=method, seed=seed)


def normal(d: int) -> Any:
    return dist.Normal(0, 1).expand([d]).to_event(1)


def others() -> Iterator[tuple[str, int, Callable[[Any], Any], float]]:
    """Name, d, f and truth of integrands in which the normal CDF does not appear.

    The first is a Gaussian integral in closed form; the others depend on one direction, whose
    integral is one-dimensional.
    """
    nodes, weights = np.polynomial.legendre.leggauss(4000)
    t, w = 12 * nodes, 12 * weights * np.exp(-0.5 * (12 * nodes) ** 2) / np.sqrt(2 * np.pi)
    for d in (2, 5):
        a = np.linspace(1.0, 0.4, d)
        # E exp(-|x|^2/4) exp(i b.x) = (2/3)^(d/2) exp(-|b|^2/3), b = (1, 2, 0, ...)
        yield (
            "exp-cos",
            d,
            lambda x: np.exp(-np.sum(x**2, axis=1) / 4) * np.cos(x[:, 0] + 2 * x[:, 1]),
            float((2 / 3) ** (d / 2) * np.exp(-5 / 3)),
        )
        size = float(np.linalg.norm(a))
        yield (
            "softplus",
            d,
            lambda x, a=a: np.logaddexp(0.0, x @ a),
            float(w @ np.logaddexp(0.0, size * t)),
        )
        nodes0 = 1 + 6 * (nodes + 1)  # the kink at x1 + x2 = 1 as an end of the interval
        density = np.exp(-(nodes0**2) / 4) / np.sqrt(4 * np.pi)
        yield (
            "hinge",
            d,
            lambda x: np.maximum(0.0, x[:, 0] + x[:, 1] - 1) ** 2,
            float(6 * weights @ (density * (nodes0 - 1) ** 2)),
        )


def cases(table: str) -> Iterator[Case]:
    if table in ("genz", "hidden"):
        for family in FAMILIES:
            p = sq.problems.genz(family, 2)
            yield Case(family, p.integrand, p.measure, p.truth, 5120, table == "hidden")
        return
    for name, d, f, truth in others():
        for hidden in (False, True):
            label = f"{name} d={d} {'scores' if hidden else 'cdf'}"
            yield Case(label, f, normal(d), truth, 2000, hidden)


def run(records: Records, tables: list[str], names: list[str], seeds: range) -> None:
    for seed in seeds:
        for table in tables:
            for case in cases(table):
                for name in names:
                    key = {"table": table, "case": case.name, "method": name, "seed": seed}
                    if records.has(**key) or (case.hidden and name in OWN_POINTS):
                        continue
                    start = time.process_time()
                    try:
                        answer = case.estimate(METHODS[name](), seed, name in OWN_POINTS)
                    except sq.InputError:  # needs what is hidden
                        continue
                    error = answer.mean - case.truth
                    records.add(
                        **key,
                        error=abs(error) / abs(case.truth),
                        std=answer.std / abs(case.truth),
                        ratio=abs(error) / answer.std,
                        cpu=time.process_time() - start,
                        status=answer.status.code,
                        chosen=answer.method,
                    )


def report(records: Records, tables: list[str], names: list[str], seeds: range) -> None:
    for table in tables:
        print(f"\n{table}: mean relative error, worst |error|/std, CPU s; seeds {seeds}")
        found = list(cases(table))
        for name in names:
            for case in found:
                rows = [
                    row
                    for row in records.select(table=table, case=case.name, method=name)
                    if row["seed"] in seeds
                ]
                if not rows:
                    continue
                chosen = sorted({row["chosen"].removeprefix("Stack: ") for row in rows})
                print(
                    f"{name:16}{case.name:22}{len(rows):3}"
                    f"{np.mean([row['error'] for row in rows]):10.1e}"
                    f"{np.median([row['std'] for row in rows]):10.1e}"
                    f"{max(row['ratio'] for row in rows):8.1f}"
                    f"{np.mean([row['cpu'] for row in rows]):8.1f}"
                    f"  {', '.join(chosen) if name == 'Stack' else ''}"
                )
        if table == "genz":
            print("elsewhere:" + "".join(f"{family:>15}" for family in FAMILIES))
            for name, errors in ELSEWHERE.items():
                print(f"{name:20}" + "".join(f"{error:15.1e}" for error in errors))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--tables", default="genz,hidden,others")
    parser.add_argument("--methods", default=",".join(METHODS))
    options = parser.parse_args()
    names, tables = options.methods.split(","), options.tables.split(",")
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    records = Records("methods", ("table", "case", "method", "seed"))
    run(records, tables, names, seeds)
    report(records, tables, names, seeds)


if __name__ == "__main__":
    main()
