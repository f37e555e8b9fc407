"""Distributions of a study file as measures: a table of the file in, a measure out."""

import csv
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy  # its `stats` are slow to import, and only when they are first used

from steinquad.errors import InputError
from steinquad.measures.base import Measure
from steinquad.measures.convert import Product, as_measure
from steinquad.measures.empirical import Empirical
from steinquad.measures.mixture import Mixture
from steinquad.measures.truncated import Truncated
from steinquad.studies._toml import REQUIRED, PlacedError, TomlTable
from steinquad.studies.calls.answers import number_in

__all__ = ["DISTRIBUTIONS", "is_plain_normal", "joint_measure", "measure_of"]

POSITIVE = "a number above 0"
MOST_LOG = 700.0  # e to the power of more is no number
CUTS = ("low", "high")
BOUNDED = ("uniform", "loguniform", "beta")  # whose low and high are parameters, no cuts

# Names that others have for these, and families of minima, which are none of these.
MEANT = {
    "gaussian": "normal",
    "norm": "normal",
    "reciprocal": "loguniform",
    "t": "student t",
    "gumbel_l": "",
    "weibull_max": "",
}


def measure_of(table: TomlTable, also: str = "unit") -> Measure:
    """The measure that a table with a key `distribution` describes; takes all its keys.

    Args:
        table: with what is left of an input or of a component of a mixture; files are looked for
            beside the file that it is of.
        also: a key that was taken before, to be listed among those that are known.
    """
    default = "normal" if also == "weight" else REQUIRED
    kind = table.choice("distribution", DISTRIBUTIONS, default, meant=MEANT)
    build, keys = DISTRIBUTIONS[kind]
    known = ("distribution", also, *keys)
    try:
        made = build(table)
        if keys[-2:] == CUTS and kind not in BOUNDED:
            made = _cut(made, table, required=kind == "truncated normal")
        table.finish(known)
        return as_measure(made)
    except PlacedError:
        raise
    except InputError as error:
        problem = f"{error.argument} {error.problem}".strip()
        raise table.error(None, f"is no distribution: {problem}") from None


def is_plain_normal(table: TomlTable) -> bool:
    """Whether an input, or a component of a mixture, is a normal that is not cut.

    Only such inputs can be correlated, and only mixtures of them have closed forms. Asked before
    `measure_of`, which takes the keys out of the table.

    Args:
        table: with a key `distribution`, `normal` where it is left out, and its parameters.
    """
    kind = table.values.get("distribution", "normal")
    return kind == "normal" and not set(CUTS) & set(table.values)


def joint_measure(
    marginals: dict[str, Measure],
    normals: dict[str, tuple[float, float]],
    correlated: list[TomlTable],
) -> Product:
    """The product of all inputs, with the correlated ones joined at the place of their first.

    Args:
        marginals: of the inputs by name.
        normals: mean and std of those that are plain normals.
        correlated: tables with `inputs` and `correlation`.
    """
    blocks: dict[str, Any] = dict(marginals)
    members: dict[str, tuple[str, ...]] = {name: (name,) for name in marginals}
    for table in correlated:
        names, covariance = _correlation(table, normals)
        for name in names:
            if members.get(name) != (name,):
                raise table.error("inputs", f"has {name!r}, which is in another group too")
        means = [normals[name][0] for name in names]
        first = min(names, key=list(marginals).index)
        for name in names:
            if name != first:
                del blocks[name], members[name]
        normal: Any = scipy.stats.multivariate_normal
        blocks[first] = normal(means, covariance)
        members[first] = names
    product = Product(blocks)
    product.names = tuple(name for block in blocks for name in members[block])
    return product


def _correlation(
    table: TomlTable, normals: dict[str, tuple[float, float]]
) -> tuple[tuple[str, ...], np.ndarray]:
    names = tuple(table.texts("inputs", "a list of names of normal inputs"))
    for name in names:
        if name not in normals:
            raise table.error("inputs", f"has {name!r}; name inputs that are normal and not cut")
    if len(names) < 2 or len(set(names)) < len(names):
        raise table.error("inputs", f"is {list(names)}; give at least two different names")
    what = f"a number between -1 and 1, or {len(names)} rows of {len(names)} numbers"
    given = table.take("correlation", (int, float, list), what)
    table.finish(("inputs", "correlation"))
    size = len(names)
    rows = given if isinstance(given, list) else [given]
    flat = [each for row in rows for each in (row if isinstance(row, list) else [row])]
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in flat)
    try:
        matrix = np.asarray(given if numbers else (), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        matrix = np.empty(0)
    if matrix.ndim == 0:
        matrix = np.where(np.eye(size) > 0, 1.0, matrix)
    if matrix.shape != (size, size):
        raise table.error("correlation", f"is {given!r}; give {what}")
    whole = np.isfinite(matrix).all() and np.allclose(matrix, matrix.T, rtol=0, atol=1e-12)
    if not whole or not np.allclose(np.diag(matrix), 1.0, rtol=0, atol=1e-12):
        raise table.error("correlation", "is not symmetric with ones on its diagonal; correct it")
    if np.linalg.eigvalsh(matrix)[0] < 1e-10:
        raise table.error("correlation", "is not positive definite; weaken the correlations")
    stds = np.array([normals[name][1] for name in names])
    return names, matrix * np.outer(stds, stds)


def _cut(whole: Any, table: TomlTable, *, required: bool) -> Any:
    low, high = table.number("low", default=None), table.number("high", default=None)
    if low is None and high is None:
        if required:
            raise table.error(None, "has neither 'low' nor 'high'; give one, or say normal")
        return whole
    return Truncated(whole, low, high)


def _sides(table: TomlTable, low: Any = REQUIRED, high: Any = REQUIRED) -> tuple[float, float]:
    low, high = table.number("low", default=low), table.number("high", default=high)
    if not low < high:
        raise table.error("high", f"is {high:g} but low is {low:g}; give low < high")
    return low, high


def _positive(table: TomlTable, key: str) -> float:
    return table.number(key, POSITIVE, where=lambda value: value > 0)


def _normal(table: TomlTable) -> Any:
    return scipy.stats.norm(table.number("mean"), _positive(table, "std"))


def _lognormal(table: TomlTable) -> Any:
    """By mean and std of the logarithm, or of the quantity itself."""
    table_log = table.has("log_mean") or table.has("log_std")
    if table_log:
        center, spread = table.number("log_mean"), _positive(table, "log_std")
    else:
        mean, std = _positive(table, "mean"), _positive(table, "std")
        ratio = std / mean
        spread = math.sqrt(math.log1p(ratio * ratio))
        center = math.log(mean) - spread**2 / 2
    if not -MOST_LOG < center < MOST_LOG:
        raise table.error(
            "log_mean" if table_log else "mean",
            f"puts the median at e^{center:.4g}; log_mean is the mean of the logarithm",
        )
    return scipy.stats.lognorm(spread, scale=math.exp(center))


def _uniform(table: TomlTable) -> Any:
    low, high = _sides(table)
    return scipy.stats.uniform(low, high - low)


def _beta(table: TomlTable) -> Any:
    a, b = _positive(table, "a"), _positive(table, "b")
    low, high = _sides(table, low=0.0, high=1.0)
    return scipy.stats.beta(a, b, low, high - low)


def _gamma(table: TomlTable) -> Any:
    return scipy.stats.gamma(_positive(table, "shape"), scale=_positive(table, "scale"))


def _triangular(table: TomlTable) -> Any:
    low, high = _sides(table)
    mode = table.number("mode", "a number from low to high", where=lambda v: low <= v <= high)
    return scipy.stats.triang((mode - low) / (high - low), low, high - low)


def _exponential(table: TomlTable) -> Any:
    return scipy.stats.expon(scale=_positive(table, "mean"))


def _gumbel(table: TomlTable) -> Any:
    """Of maxima, with the long tail to the right; by mean and std, or by mode and scale."""
    if table.has("mode") or table.has("scale"):
        return scipy.stats.gumbel_r(table.number("mode"), _positive(table, "scale"))
    mean, std = table.number("mean"), _positive(table, "std")
    scale = std * math.sqrt(6) / math.pi
    return scipy.stats.gumbel_r(mean - np.euler_gamma * scale, scale)


def _weibull(table: TomlTable) -> Any:
    start = table.number("start", default=0.0)
    shape, scale = _positive(table, "shape"), _positive(table, "scale")
    return scipy.stats.weibull_min(shape, start, scale)


def _loguniform(table: TomlTable) -> Any:
    """The logarithm is uniform."""
    low, high = _positive(table, "low"), _positive(table, "high")
    if not low < high:
        raise table.error("high", f"is {high:g} but low is {low:g}; give low < high")
    return scipy.stats.loguniform(low, high)


def _located(family: str) -> Callable[[TomlTable], Any]:
    """A family of SciPy around its center, with a scale that is no standard deviation."""

    def build(table: TomlTable) -> Any:
        center, scale = table.number("center"), _positive(table, "scale")
        return getattr(scipy.stats, family)(center, scale)

    return build


def _student(table: TomlTable) -> Any:
    degrees, center = _positive(table, "degrees_of_freedom"), table.number("center")
    return scipy.stats.t(degrees, center, _positive(table, "scale"))


def _rayleigh(table: TomlTable) -> Any:
    return scipy.stats.rayleigh(scale=_positive(table, "mode"))


def _pareto(table: TomlTable) -> Any:
    """From its least value on."""
    return scipy.stats.pareto(_positive(table, "shape"), scale=_positive(table, "least"))


def _mixture(table: TomlTable) -> Any:
    """Of anything; normals are left to numpyro, which has closed forms for them together."""
    import numpyro.distributions as nd  # slow to import

    what = "a list of tables with a weight and a distribution each"
    parts = table.tables("components", what)
    if len(parts) < 2:
        raise table.error("components", f"has fewer than two tables; give {what}")
    normals = [is_plain_normal(part) for part in parts]
    weights = np.array([_positive(part, "weight") for part in parts])
    weights /= weights.max()  # so that their sum is a number
    measures: list[Any] = [measure_of(part, "weight") for part in parts]
    if not all(normals):
        return Mixture(measures, weights.tolist())
    means, stds = np.array([(each.dist.mean(), each.dist.std()) for each in measures]).T
    chances = nd.Categorical(probs=weights / weights.sum())
    return nd.MixtureSameFamily(chances, nd.Normal(means, stds))


def _empirical(table: TomlTable) -> Any:
    """From a column of a CSV file."""
    file = table.also_read(table.text("file", "the path of a CSV file"))
    column = table.text("column", "the name of a column")
    return Empirical(_column(file, column, table))


def _column(file: Path, column: str, table: TomlTable) -> Sequence[float]:
    try:
        if file.exists() and not file.is_file():  # a pipe would be waited for
            raise table.error("file", f"is {str(file)!r}, which is not a file")
        with file.open(newline="", encoding="utf-8-sig") as lines:
            rows = csv.DictReader(lines)
            if column not in (rows.fieldnames or ()):
                known = ", ".join(rows.fieldnames or ()) or "nothing"
                raise table.error("column", f"is {column!r}; {file} has {known}")
            values = []
            for row in rows:
                try:
                    values.append(number_in(row[column]))
                except (TypeError, ValueError):
                    raise table.error(
                        "column",
                        f"is {column!r}, which has {row[column]!r} in line {rows.line_num} of "
                        f"{file}; give numbers only",
                    ) from None
            return values
    except OSError:
        raise table.error("file", f"is {str(file)!r}, which cannot be read") from None
    except (UnicodeDecodeError, csv.Error):
        raise table.error("file", f"is {str(file)!r}, which is not CSV text") from None


# What builds each, and its keys; those that end in low and high may be cut there.
DISTRIBUTIONS: dict[str, tuple[Callable[[TomlTable], Any], tuple[str, ...]]] = {
    "normal": (_normal, ("mean", "std", *CUTS)),
    "truncated normal": (_normal, ("mean", "std", *CUTS)),
    "lognormal": (_lognormal, ("log_mean", "log_std", "mean", "std", *CUTS)),
    "uniform": (_uniform, CUTS),
    "beta": (_beta, ("a", "b", *CUTS)),
    "gamma": (_gamma, ("shape", "scale", *CUTS)),
    "triangular": (_triangular, ("low", "mode", "high")),
    "loguniform": (_loguniform, CUTS),
    "exponential": (_exponential, ("mean", *CUTS)),
    "gumbel": (_gumbel, ("mean", "std", "mode", "scale", *CUTS)),
    "weibull": (_weibull, ("shape", "scale", "start", *CUTS)),
    "rayleigh": (_rayleigh, ("mode", *CUTS)),
    "pareto": (_pareto, ("shape", "least", *CUTS)),
    "logistic": (_located("logistic"), ("center", "scale", *CUTS)),
    "laplace": (_located("laplace"), ("center", "scale", *CUTS)),
    "student t": (_student, ("degrees_of_freedom", "center", "scale", *CUTS)),
    "mixture": (_mixture, ("components", *CUTS)),
    "empirical": (_empirical, ("file", "column", *CUTS)),
}
