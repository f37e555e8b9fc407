"""The drawings of a report, each from the plain data of one output."""

from typing import Any

from steinquad.report.axes import Axes
from steinquad.report.sensitivity import INNER

__all__ = ["convergence", "main_effect", "predictions", "shrinking"]

TWO_SIDED = 1.96


def convergence(output: dict[str, Any]) -> str:
    """The estimate less its last value against runs, with 95 % intervals.

    Differences, because later estimates are too close together to tell apart on the scale of the
    answer. With one estimate only, the average of the first runs is drawn too.

    Args:
        output: one of `outputs` in what `collect` gave, all of whose estimates are finite.

    Returns:
        An `<svg>` element.
    """
    looks, averages, last = output["convergence"], output["average"], output["mean"]
    n = [look["n"] for look in looks]
    low, high = ([look["interval95"][side] - last for look in looks] for side in (0, 1))
    averages = averages if len(looks) == 1 else []
    average, counts = [each["mean"] - last for each in averages], [each["n"] for each in averages]
    known = [each for each in averages if each["half95"] is not None]
    below, above = (
        [each["mean"] - last + sign * each["half95"] for each in known] for sign in (-1, 1)
    )
    axes = Axes(
        (min(n[0], *counts, n[-1]), n[-1]),
        (min(*low, *below, *average, 0.0), max(*high, *above, *average, 0.0)),
        ("runs", ""),
        ("estimate less the answer", output["unit"]),
    )
    if known:
        axes.band([each["n"] for each in known], below, above, "band-b")
    if average:
        axes.line(counts, average, "line-b")
    for count, a, b in zip(n, low, high, strict=True):
        axes.line([count, count], [a, b], "line-a")
    axes.dots(n, [look["mean"] - last for look in looks], "dot-a")
    return axes.svg(f"Estimate of {output['name']} against the number of runs")


def shrinking(output: dict[str, Any]) -> str | None:
    """Std of the estimate, and of the average, against runs; both axes logarithmic.

    A rate of convergence is a slope here: that of independent draws averaged is -1/2.

    Args:
        output: one of `outputs` in what `collect` gave.

    Returns:
        An `<svg>` element; None where no std of an estimate is positive.
    """
    looks = [(look["n"], look["std"]) for look in output["convergence"] if look["std"]]
    averages = [(each["n"], each["std"]) for each in output["average"] if each["std"]]
    if not looks:
        return None
    runs, stds = zip(*looks, *averages, strict=True)
    axes = Axes(
        (min(runs), max(runs)),
        (min(stds), max(stds)),
        ("runs", ""),
        ("std", output["unit"]),
        log=True,
    )
    if averages:
        counts, errors = zip(*averages, strict=True)
        axes.line(counts, errors, "line-b")
    runs, stds = zip(*looks, strict=True)
    axes.line(runs, stds, "line-a")
    axes.dots(runs, stds, "dot-a")
    return axes.svg(f"Standard deviation of the estimate of {output['name']} against runs")


def predictions(output: dict[str, Any]) -> str:
    """Simulated against predicted values, with the line on which both agree.

    Both axes have one range, so that the line is the diagonal and a model that misses shows at
    once.

    Args:
        output: one of `outputs` in what `collect` gave, with at least one pair in `predicted`.

    Returns:
        An `<svg>` element.
    """
    predicted, simulated = zip(*output["predicted"]["points"], strict=True)
    wide = (min(*simulated, *predicted), max(*simulated, *predicted))
    axes = Axes(wide, wide, ("predicted", output["unit"]), ("simulated", output["unit"]))
    axes.line(wide, wide, "line-b")
    # Faint and small: up to a thousand of them, which would hide the line.
    axes.dots(predicted, simulated, "dot-a faint", radius=2.0)
    return axes.svg(f"Simulated against predicted values of {output['name']}")


def main_effect(
    output: dict[str, Any], effect: dict[str, Any], unit: str, reach: tuple[float, float]
) -> str:
    """The mean of an output given one input, with a 95 % band for the error of its draws.

    Args:
        output: one of `outputs` in what `collect` gave.
        effect: one of its `effects`, of a single input and with a curve.
        unit: of the input, or empty.
        reach: lowest and highest mean, the same for all inputs so that their effects compare.

    Returns:
        An `<svg>` element.
    """
    curve, (name,) = effect["curve"], effect["inputs"]
    x = curve["x"]
    axes = Axes((x[0], x[-1]), reach, (name, unit), ("mean", output["unit"]))
    pairs = list(zip(curve["mean"], curve["std"], strict=True))
    low = [mean - TWO_SIDED * std for mean, std in pairs]
    high = [mean + TWO_SIDED * std for mean, std in pairs]
    axes.band(x, low, high, "band-a")
    axes.line(x, curve["mean"], "line-a")
    share = 100 * (INNER[1] - INNER[0])
    return axes.svg(
        f"Mean of {output['name']} given {name}, over the middle {share:.0f} % of its values"
    )
