"""The default method on an MCMC posterior and on a box, where it has to earn its error bar.

`python benchmarks/default_method.py [--problems logistic,truncated] [--seeds 20]`

logistic   posterior means of a logistic regression, d = 5, from 2000 NUTS draws (4 chains), beside
           the plain mean of the same draws. The reference is a run of 200,000 draws corrected by
           Stein polynomials of order 7; its own error is the standard error of what they leave.
truncated  f = prod_i exp(.4 x_i)(1 + .3 sin 3 x_i), five normals cut to [-.5, 1.5], n = 2000.

Resumable: rows are appended to results/default_method.jsonl and never run twice.
"""

import argparse
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import scipy.integrate
import scipy.stats
from records import Records

import steinquad as sq

OBSERVED, D = 100, 5
REFERENCE_DRAWS, REFERENCE_SEED, REFERENCE_ORDER = 200_000, 12345, 7


@cache
def logistic_posterior() -> sq.LogDensity:
    """Coefficients with standard normal priors, 100 labels, correlated covariates."""
    rng = np.random.default_rng(0)
    mix = np.eye(D) + 0.4 * rng.standard_normal((D, D))
    covariates = rng.standard_normal((OBSERVED, D)) @ mix
    truth = rng.standard_normal(D)
    labels = rng.random(OBSERVED) < 1 / (1 + np.exp(-covariates @ truth))
    sign = np.where(labels, 1.0, -1.0)

    def log_density(beta: Any) -> Any:
        margin = jnp.asarray(sign) * (jnp.asarray(covariates) @ beta)
        return -jnp.sum(jax.nn.softplus(-margin)) - 0.5 * jnp.sum(beta**2)

    return sq.LogDensity(log_density, dim=D)


def draws(n: int, seed: int) -> sq.Dataset:
    sample = sq.designs.NUTS(chains=4, warmup=500).draw(
        logistic_posterior(), n, seed=seed, progress=lambda *_: None
    )
    return sq.Dataset(sample.x, sample.x, sample.score, groups=sample.groups)


def logistic_reference(records: Records) -> tuple[np.ndarray, np.ndarray]:
    """Posterior means and their standard errors."""
    key = {"problem": "reference", "seed": REFERENCE_SEED}
    if not records.has(**key):
        data = draws(REFERENCE_DRAWS, REFERENCE_SEED)
        answer = sq.estimate(data, method=sq.Polynomial(order=REFERENCE_ORDER), folds=5)
        assert answer.check is not None
        records.add(
            **key,
            mean=np.asarray(answer.check.mean).tolist(),
            std=np.asarray(answer.check.std).tolist(),
            plain=data.fx.mean(axis=0).tolist(),
        )
    (row,) = records.select(**key)
    return np.array(row["mean"]), np.array(row["std"])


def logistic(seed: int) -> dict[str, Any]:
    data = draws(2000, seed)
    start = time.process_time()
    answer = sq.estimate(data, seed=seed)
    cpu = time.process_time() - start
    plain = sq.estimate(data, method=sq.MonteCarlo())
    assert answer.check is not None
    return {
        "mean": np.asarray(answer.mean).tolist(),
        "std": np.asarray(answer.std).tolist(),
        "check": np.asarray(answer.check.mean).tolist(),
        "check_std": np.asarray(answer.check.std).tolist(),
        "plain": np.asarray(plain.mean).tolist(),
        "plain_std": np.asarray(plain.std).tolist(),
        "chosen": answer.method,
        "status": str(answer.status),
        "cpu": cpu,
    }


def factor(t: Any) -> Any:
    return np.exp(0.4 * t) * (1 + 0.3 * np.sin(3 * t))


def truncated_truth() -> float:
    law: Any = scipy.stats.truncnorm(-0.5, 1.5).pdf  # pyright: ignore[reportAttributeAccessIssue]
    one, _ = scipy.integrate.quad(lambda t: factor(t) * law(t), -0.5, 1.5, epsabs=1e-14)
    return one**D


def truncated(seed: int) -> dict[str, Any]:
    one = dist.TruncatedNormal(0.0, 1.0, low=-0.5, high=1.5)
    measure = sq.Product({f"x{i}": one for i in range(D)})
    start = time.process_time()
    answer = sq.integrate(lambda x: np.prod(factor(x), axis=1), measure, n=2000, seed=seed)
    low, high = answer.interval(0.95)
    truth = truncated_truth()
    return {
        "error": abs(answer.mean - truth) / truth,
        "ratio": abs(answer.mean - truth) / answer.std,
        "inside": bool(low < truth < high),
        "chosen": answer.method,
        "status": str(answer.status),
        "cpu": time.process_time() - start,
    }


def report(records: Records, problem: str, seeds: range) -> None:
    rows = [row for row in records.select(problem=problem) if row["seed"] in seeds]
    if not rows:
        return
    chosen = {
        name: sum(row["chosen"] == name for row in rows) for name in {r["chosen"] for r in rows}
    }
    print(
        f"\n{problem}: {len(rows)} seeds, {np.mean([r['cpu'] for r in rows]):.0f} CPU s, {chosen}"
    )
    if problem == "truncated":
        print(f"mean relative error {np.mean([row['error'] for row in rows]):.2e}")
        print(f"inside the 95 % interval: {sum(row['inside'] for row in rows)} of {len(rows)}")
        return
    truth, own = logistic_reference(records)

    def rms(field: str) -> np.ndarray:
        return np.sqrt(np.mean([(np.array(row[field]) - truth) ** 2 for row in rows], axis=0))

    def typical(field: str) -> np.ndarray:
        return np.sqrt(np.mean([np.array(row[field]) ** 2 for row in rows], axis=0))

    print(f"rms error of the plain mean    {np.array2string(rms('plain'), precision=2)}")
    print(f"rms error of the default       {np.array2string(rms('mean'), precision=2)}")
    gain = rms("plain") / rms("mean")
    print(f"ratio                          {np.array2string(gain, precision=1)}")
    print(f"error of the reference         {np.array2string(own, precision=2)}")
    print(f"default's error over that      {np.array2string(rms('mean') / own, precision=1)}")
    print(f"cross-fitted std / its error   {typical('check_std') / rms('check')}")
    print(f"reported std / error           {typical('std') / rms('mean')}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", default="logistic,truncated")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args()
    records = Records("default_method", ("problem", "seed"))
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    solvers: dict[str, Callable[[int], dict[str, Any]]] = {
        "logistic": logistic,
        "truncated": truncated,
    }
    for problem in options.problems.split(","):
        if problem == "logistic":
            logistic_reference(records)
        for seed in seeds:
            if not records.has(problem=problem, seed=seed):
                records.add(problem=problem, seed=seed, **solvers[problem](seed))
        report(records, problem, seeds)


if __name__ == "__main__":
    main()
