"""Figures: an empty one, and one estimate at a glance: fit, integral, training."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.stats
from scipy.special import stdtrit

from steinquad.candidates import Candidate, read_candidates
from steinquad.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from steinquad.estimate import Estimate

__all__ = ["diagnose", "figure_endings", "new_figure"]

INK, ACCENT, FAINT = "#1f2933", "#c2410c", "#9aa5b1"
SIDE = 0.975  # probability below the upper end of a 95 % interval
NESTED = ((0.95, 4), (0.8, 8), (0.5, 13))  # levels of limits that have no density, line widths
MOST_POINTS = 5000  # drawn; more would only make the file large


def diagnose(
    estimate: "Estimate", *, output: int = 0, truth: float | None = None, path: Any = None
) -> "Figure":
    """One estimate in panels: fit, posterior of the integral, its members, loss curve.

    The bar of the answer is its 95 % interval; under it is the density of Student's t, or, where
    few events are counted, the 80 and 50 % limits within, which are no quantiles of any density.
    An output that is constant and no indicator has no interval, and the panel says so. Members are
    the candidates that have an integral of that output, if it varies, with their weights in it,
    the answer below them and as a band behind; their bars have as many standard deviations as that
    of the answer, and one that is out of view is an arrow. Without any that panel is missing, as
    is the loss curve without training.

    Args:
        estimate: what to show; outputs without a model show a histogram of the values instead.
        output: which integrand, for vector-valued ones.
        truth: drawn as a line where given.
        path: where to save the figure, if anywhere.
    """
    if not 0 <= output < len(np.atleast_1d(estimate.mean)):
        raise InputError(f"output is {output}; the estimate has {np.size(estimate.mean)} outputs.")
    rows = read_candidates(estimate.candidates, np.size(estimate.mean))
    varies = bool(np.ptp(estimate.values[:, output]) > 0)  # or there is nothing to choose
    members = [row for row in rows if varies and row.integrated(output)]
    trained = len(estimate.fit.history.get("loss", ())) > 0
    panels = 2 + bool(members) + trained
    figure = new_figure(4.0 * panels, 3.6, layout="constrained")
    axes = figure.subplots(1, panels)
    _fit(axes[0], estimate, output)
    _integral(axes[1], estimate, output, truth)
    if members:
        _members(axes[2], estimate, members, output, truth)
    if trained:
        _training(axes[-1], estimate)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"{estimate.method}, n = {estimate.n}, {estimate.status.code}", color=INK)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def new_figure(
    width: float,
    height: float,
    *,
    layout: Literal["constrained"] | None = None,
    what: str = "plot",
) -> "Figure":
    """A figure that can be saved and opens no window, whatever backend the user has chosen.

    Args:
        width: in inches.
        height: in inches.
        layout: of its panels; None to place them by hand.
        what: needs matplotlib, as the `InputError` says where it is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(f"{what} needs matplotlib; install steinquad[plot].") from None
    # Not by pyplot, which would hand it to the backend; saving picks the canvas of the format.
    return Figure(figsize=(width, height), layout=layout)


def figure_endings() -> tuple[str, ...]:
    """Endings of the files that a figure can be saved to, such as `.png`, the usual ones first.

    To refuse another one before the work that the figure is to show; an `InputError` says that
    matplotlib is not installed.
    """
    known = new_figure(1.0, 1.0).canvas.get_supported_filetypes()
    usual = [ending for ending in ("png", "svg", "pdf") if ending in known]
    return tuple(f".{ending}" for ending in dict.fromkeys([*usual, *sorted(known)]))


def _fit(axis: Any, estimate: "Estimate", output: int) -> None:
    values = estimate.values[:, output]
    fitted = estimate.fit.fitted
    if fitted is None or np.ptp(fitted[:, output]) == 0:  # an average, or what was counted
        axis.hist(values, bins=40, color=FAINT)
        axis.set(title="values of f", xlabel="f(x)", ylabel="points")
        return
    step = max(1, len(values) // MOST_POINTS)
    axis.plot([values.min(), values.max()], [values.min(), values.max()], color=FAINT, lw=1)
    axis.plot(
        fitted[::step, output], values[::step], ".", ms=2, color=INK, alpha=0.5, rasterized=True
    )
    axis.set(title="fit", xlabel="fitted g(x)", ylabel="f(x)")


def _integral(axis: Any, estimate: "Estimate", output: int, truth: float | None) -> None:
    mean, std = (float(np.atleast_1d(each)[output]) for each in (estimate.mean, estimate.std))
    counted = estimate.binomial is not None and bool(estimate.binomial.applies[output])
    unit = std if std > 0 else max(abs(mean), 1.0) * 1e-3
    height = 1.0
    # Offsets from the mean: the interesting digits of the integral are its last ones.
    if counted:
        for level, width in NESTED:
            low, high = _ends(estimate, output, level)
            axis.plot([low, high], [0, 0], color=INK, lw=width, solid_capstyle="butt", alpha=0.6)
        axis.plot(0, 0, "o", ms=4, color="white")
        axis.set_ylim(-height, height)
        low, high = _ends(estimate, output, 0.99)
        margin = 0.1 * (high - low)
        axis.set_xlim(*_seen(low - margin, high + margin, None if truth is None else truth - mean))
    elif std > 0:
        reach = 4.0 if truth is None else max(4.0, 1.15 * abs(truth - mean) / unit)
        grid = np.linspace(-reach, reach, 401)
        density = scipy.stats.t.pdf(grid, estimate.dof)
        height = float(density.max())
        axis.fill_between(grid * unit, density, color=FAINT, alpha=0.4, lw=0)
        ends = _ends(estimate, output)
        axis.plot(ends, [0, 0], color=INK, lw=4, solid_capstyle="butt")
    else:
        axis.plot(0, 0, "o", ms=6, color=INK)
        axis.text(0, 0.3, "equal values: no interval", color=INK, ha="center")
        axis.set_ylim(-height, height)
        axis.set_xlim(*_seen(-unit, unit, None if truth is None else truth - mean))
        axis.set_xticks([0.0])
    if truth is not None:
        axis.axvline(truth - mean, color=ACCENT, lw=1.5)
        axis.text(truth - mean, height, " truth", color=ACCENT, va="top")
    axis.ticklabel_format(axis="x", style="sci", scilimits=(-2, 2))
    axis.set(title=f"E[f] = {mean:.6g}", xlabel="E[f] less its estimate", yticks=[])
    if std > 0:
        axis.locator_params(axis="x", nbins=5)


def _ends(estimate: "Estimate", output: int, level: float = 0.95) -> tuple[float, float]:
    """The interval of one output less its mean."""
    mean = float(np.atleast_1d(estimate.mean)[output])
    low, high = (float(np.atleast_1d(side)[output]) for side in estimate.interval(level))
    return low - mean, high - mean


def _seen(low: float, high: float, truth: float | None) -> tuple[float, float]:
    """A range that a truth is inside of."""
    return (low, high) if truth is None else (min(low, 1.15 * truth), max(high, 1.15 * truth))


def _members(
    axis: Any, estimate: "Estimate", members: list[Candidate], output: int, truth: float | None
) -> None:
    """Intervals below each other, the answer's at the bottom and as a band behind all."""
    mean = float(np.atleast_1d(estimate.mean)[output])
    low, high = _ends(estimate, output)
    axis.axvspan(low, high, color=FAINT, alpha=0.3, lw=0)
    quantile = float(stdtrit(estimate.dof, SIDE))
    bars = []
    for member in members:
        assert member.mean is not None and member.std is not None
        bars.append((member.mean[output] - mean, quantile * member.std[output]))
    # The answer and the members beside it: one that is far off would hide them all.
    ends = [low, high, *(end for middle, half in bars for end in (middle - half, middle + half))]
    ends += [] if truth is None else [truth - mean]
    left, right = min(ends), max(ends)
    reach = max(3.0 * (high - low), 2.0 * min(half for _, half in bars))
    if reach > 0:
        left, right = max(left, -reach), min(right, reach)
    margin = 0.05 * (right - left) or 1.0
    labels = []
    for i, (member, (middle, half)) in enumerate(zip(members, bars, strict=True)):
        share = member.share(output)
        color = INK if share is not None and share > 0 else FAINT
        if left <= middle <= right:
            axis.plot([middle - half, middle + half], [i, i], color=color, lw=2)
            axis.plot(middle, i, "o", ms=4, color=color)
        else:
            axis.plot(
                left if middle < left else right, i, "<" if middle < left else ">", color=color
            )
        labels.append(member.method if share is None else f"{member.method}  {share:.2f}")
    axis.plot([low, high], [len(members)] * 2, color=INK, lw=4, solid_capstyle="butt")
    if truth is not None:
        axis.axvline(truth - mean, color=ACCENT, lw=1.5)
    axis.set_xlim(left - margin, right + margin)
    axis.set_yticks(range(len(members) + 1), [*labels, "answer"])
    axis.invert_yaxis()
    axis.ticklabel_format(axis="x", style="sci", scilimits=(-2, 2))
    axis.set(title="members", xlabel="E[f] less its estimate")
    axis.locator_params(axis="x", nbins=5)


def _training(axis: Any, estimate: "Estimate") -> None:
    loss = estimate.fit.history["loss"]
    axis.semilogy(np.arange(1, len(loss) + 1), loss, color=INK, lw=1.2)
    axis.set(title="training", xlabel="step", ylabel="loss")
