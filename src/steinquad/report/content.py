"""What a report says, as plain data: read from a study once, written in three ways."""

import math
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, TypeAlias

import numpy as np
from scipy.special import stdtrit

from steinquad._types import Array, ProgressOption
from steinquad.checking.standard_error import standard_error
from steinquad.errors import InputError
from steinquad.estimate import Estimate
from steinquad.report.sensitivity import (
    CURVE_DRAWS,
    DRAWS,
    Sensitivity,
    no_sensitivity,
    sensitivity,
)
from steinquad.studies.gathered import Gathered
from steinquad.studies.points import REPLICATES
from steinquad.studies.store import Counts
from steinquad.studies.study import Study
from steinquad.summaries.statistic import Statistic

__all__ = ["CITE", "Distribution", "collect"]

Distribution: TypeAlias = Mapping[str, Sequence[Statistic]]  # of each output

PACKAGES = ("steinquad", "numpy", "scipy", "jax", "numpyro")
MOST_SHOWN = 1000  # predicted and simulated values that are listed; the store has all
LOOKS, FIRST_LOOK = 24, 0.1  # at the plain average on the way, from this share on
FEWEST_LOOKED_AT = 8  # runs
LONGEST_ERROR = 500  # characters of an example
INDICES = ("first", "first_std", "total", "total_std")
CITE = {
    "software": "The steinquad developers. steinquad: Bayesian numerical integration, version {}.",
    "paper": "Katharina Ott, Michael Tiemann, Philipp Hennig and François-Xavier Briol. Bayesian "
    "Numerical Integration with Neural Networks. Uncertainty in Artificial Intelligence, 2023.",
}


def collect(
    study: Study,
    estimate: Estimate | None,
    distribution: Distribution | None,
    progress: ProgressOption,
) -> dict[str, Any]:
    """Everything that a report tells of a study, ready for JSON; numbers have all their digits.

    Args:
        study: its store is read once.
        estimate: the answer to all that is stored, if there is one already.
        distribution: the statistics that go with it, likewise.
        progress: called with (step, total, loss) while a method is trained.
    """
    store = study.evaluations
    counts = store.counts()  # first: complains of a store that is not there
    look = study.look()
    data = look.data
    refused = None
    # Another process may have stored more since the estimate was made: it is made again.
    if estimate is None or estimate.stats.get("evaluations") != data.n:
        estimate, distribution = None, None
        try:
            estimate = look.estimate(progress)
        except InputError as error:
            refused = str(error)
    if estimate is not None and distribution is None:
        asked = isinstance(study.outputs, Mapping)  # a model is worth its time only then
        distribution = look.distribution(estimate, model=asked, progress=progress)
    drawn = data.independent()
    inputs = [
        {"name": name, "unit": study.units.get(name, ""), "middle90": _middle(drawn.x[:, i])}
        for i, name in enumerate(study.measure.names)
    ]
    content = {
        "format": "steinquad report 1",
        "study": {
            "name": study.name,
            "store": str(study.store),
            "points": study.points,
            "seed": int(study.seed),
            "runs": None if study.runs is None else int(study.runs),
            "until": study.until and {key: float(value) for key, value in study.until.items()},
        },
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "inputs": inputs,
        "refused": refused,
        "answer": None,
        "outputs": [],
        "sensitivity": None,
        "evaluations": _evaluations(study, counts, data),
        "timing": _timing(study, counts.seconds),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
        "integrand_versions": list(look.versions),
        "cite": {key: text.format(version("steinquad")) for key, text in CITE.items()},
    }
    if estimate is not None and distribution is not None:
        content |= _answer(study, estimate, data, distribution)
    return _without_nan(content)


def _answer(
    study: Study, estimate: Estimate, data: Gathered, distribution: Distribution
) -> dict[str, Any]:
    reason = no_sensitivity(estimate, study.measure)
    indices = None if reason else sensitivity(estimate, study.measure, seed=int(study.seed))
    record = estimate.to_dict()
    before = [(n, each) for n, each in study.kept_estimates() if n < data.n]
    drawn = data.independent().fx
    outputs = []
    for j, name in enumerate(study.outputs):
        looks = [_look(n, each, j) for n, each in (*before, (data.n, record))]
        outputs.append(
            {
                "name": name,
                "unit": study.units.get(name, ""),
                **{key: looks[-1][key] for key in ("mean", "std", "interval95")},
                "constant": bool(np.ptp(estimate.values[:, j]) == 0),
                "spread": float(drawn[:, j].std(ddof=1)),
                "distribution": [each.to_dict() for each in distribution[name]],
                "convergence": looks,
                "average": _averages(data, j),
                "weighted": bool(np.any(data.weights != 1.0)),
                "check": _check(estimate, j, drawn[:, j]),
                "predicted": _predicted(estimate, j),
                "effects": [] if indices is None else _effects(indices, study.measure.names, j),
            }
        )
    return {
        "answer": {
            "method": estimate.method,
            "n": estimate.n,
            "status": estimate.status.code,
            "message": estimate.status.message,
            "target_reached": None if study.until is None else study.budget.reached(record),
            "folds": None if estimate.check is None else estimate.check.folds,
            "candidates": record.get("candidates", []),
        },
        "outputs": outputs,
        "sensitivity": {"reason": reason, "draws": DRAWS, "curve_draws": CURVE_DRAWS},
    }


def _look(n: int, record: Mapping[str, Any], j: int) -> dict[str, Any]:
    return {
        "n": n,
        "mean": _at(record["mean"], j),
        "std": _at(record["std"], j),
        "interval95": [_at(side, j) for side in record["interval95"]],
        "status": record["status"],
    }


def _averages(data: Gathered, j: int) -> list[dict[str, Any]]:
    """The average of the first values, with its standard error: of Sobol points by replicates."""
    values, n = data.fx[:, j], len(data.fx)
    first = max(FIRST_LOOK * n, min(FEWEST_LOOKED_AT, n))
    averages = []
    for m in np.unique(np.geomspace(first, n, LOOKS).round().astype(int)).tolist():
        weights, groups = data.weights[:m], data.replicates
        groups = None if groups is None else groups[:m]
        error = half = None
        # The spread of replicates is known once each of them has a point.
        if groups is None or len(np.unique(groups)) == REPLICATES:
            (error,), dof = standard_error(values[:m, None], weights, groups)
            error, half = float(error), float(stdtrit(dof, 0.975) * error)
        mean = float(np.average(values[:m], weights=weights))
        averages.append({"n": m, "mean": mean, "std": error, "half95": half})
    return averages


def _check(estimate: Estimate, j: int, values: Array) -> dict[str, Any] | None:
    check = estimate.check
    if check is None:
        return None
    mean, std = _at(check.mean, j), _at(check.std, j)
    # Adaptive points: the check is the answer, and the fit by itself is what it is compared with.
    gap = abs(mean - _at(estimate.stats.get("uncorrected", estimate.mean), j))
    residual = float(check.residual[j])
    return {
        "mean": mean,
        "std": std,
        "distance": gap / std if std > 0 else 0.0,
        "residual": residual,
        "explained": 1.0 - (residual / s) ** 2 if (s := float(values.std())) > 0 else None,
    }


def _predicted(estimate: Estimate, j: int) -> dict[str, Any] | None:
    """Pairs of predicted and simulated values, of points that the fit has not seen if it can."""
    if estimate.fit.fitted is None:
        return None
    unseen = None if estimate.check is None else estimate.check.predicted
    shown = estimate.fit.fitted if unseen is None else unseen
    rows = np.flatnonzero(np.isfinite(shown[:, j]))
    if len(rows):
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, MOST_SHOWN).astype(int))]
    return {
        "kind": "fitted" if unseen is None else "cross-fitted",
        "points": [[float(shown[i, j]), float(estimate.values[i, j])] for i in rows],
    }


def _effects(indices: Sensitivity, names: tuple[str, ...], j: int) -> list[dict[str, Any]]:
    """Of every input, or group of inputs that depend on each other, the most important first."""
    effects = []
    for i, (columns, curve) in enumerate(zip(indices.columns, indices.curves, strict=True)):
        effect: dict[str, Any] = {"inputs": [names[column] for column in columns], "curve": None}
        effect |= {name: float(getattr(indices, name)[i, j]) for name in INDICES}
        if curve is not None:
            mean, std = curve.mean[:, j].tolist(), curve.std[:, j].tolist()
            effect["curve"] = {"x": curve.x.tolist(), "mean": mean, "std": std}
        effects.append(effect)
    # NaN, of an output that does not vary, would leave the order to chance.
    return sorted(effects, key=lambda each: -np.nan_to_num(each["total"]))


def _evaluations(study: Study, counts: Counts, data: Gathered) -> dict[str, Any]:
    every = max(counts.done + counts.failed, 1)
    kinds = [
        {
            "kind": row.failure,
            "count": count,
            "share": count / every,
            "number": row.number,
            "input": dict(zip(study.measure.names, row.input, strict=True)),
            "example": (row.error or "")[:LONGEST_ERROR],
        }
        for count, row in study.evaluations.first_failures()
    ]
    return {
        "done": counts.done,
        "failed": counts.failed,
        "share_failed": counts.failed / every,
        "used": data.n - data.failed,
        "on_failure": study.on_failure,
        "kinds": kinds,
    }


def _timing(study: Study, seconds: float) -> dict[str, Any]:
    median, longest = study.evaluations.median_and_longest() or (None, None)
    sessions = study.evaluations.sessions()
    return {
        "seconds": seconds,
        "median": median,
        "longest": longest,
        "elapsed": sessions.seconds,
        "sessions": sessions.count,
        "began": sessions.began,
    }


def _at(values: Any, j: int) -> float:
    """Of an output; a scalar where there is only one."""
    return float(np.atleast_1d(values)[j])


def _middle(column: Array) -> list[float] | None:
    return np.quantile(column, [0.05, 0.95]).tolist() if len(column) > 1 else None


def _without_nan(value: Any) -> Any:
    """JSON has no NaN and no infinity: None for both."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
