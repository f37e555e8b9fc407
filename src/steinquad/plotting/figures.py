"""Figures: an empty one, and one estimate at a glance: fit, integral, training."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.stats

from steinquad.candidates import Candidate, read_candidates
from steinquad.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from steinquad.estimate import Estimate

__all__ = ["diagnose", "figure_endings", "new_figure"]

INK, ACCENT, FAINT = "#1f2933", "#c2410c", "#9aa5b1"
TWO_SIDED = 1.96  # standard deviations of a 95 % interval
MOST_POINTS = 5000  # drawn; more would only make the file large


def diagnose(
    estimate: "Estimate", *, output: int = 0, truth: float | None = None, path: Any = None
) -> "Figure":
    """One estimate in panels: fit, posterior of the integral, its members, loss curve.

    Bars are 95 % intervals. Members are the candidates that have an integral of their own, with
    their weights, the answer below them and as a band behind; without any that panel is missing,
    as is the loss curve without training.

    Args:
        estimate: what to show; methods without a model show a histogram of the values instead.
        output: which integrand, for vector-valued ones.
        truth: drawn as a line where given.
        path: where to save the figure, if anywhere.
    """
    if not 0 <= output < len(np.atleast_1d(estimate.mean)):
        raise InputError(f"output is {output}; the estimate has {np.size(estimate.mean)} outputs.")
    rows = read_candidates(estimate.candidates, np.size(estimate.mean))
    members = [row for row in rows if row.integrated]
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
    if estimate.fit.fitted is None:
        axis.hist(values, bins=40, color=FAINT)
        axis.set(title="values of f", xlabel="f(x)", ylabel="points")
        return
    step = max(1, len(values) // MOST_POINTS)
    fitted = estimate.fit.fitted[::step, output]
    axis.plot([values.min(), values.max()], [values.min(), values.max()], color=FAINT, lw=1)
    axis.plot(fitted, values[::step], ".", ms=2, color=INK, alpha=0.5, rasterized=True)
    axis.set(title="fit", xlabel="fitted g(x)", ylabel="f(x)")


def _integral(axis: Any, estimate: "Estimate", output: int, truth: float | None) -> None:
    numbers = (estimate.mean, estimate.std, *estimate.interval(0.95))
    mean, std, low, high = (float(np.atleast_1d(each)[output]) for each in numbers)
    unit = std if std > 0 else max(abs(mean), 1.0) * 1e-3
    reach = 4.0 if truth is None else max(4.0, 1.15 * abs(truth - mean) / unit)
    grid = np.linspace(-reach, reach, 401)
    density = scipy.stats.t.pdf(grid, estimate.dof)
    # Offsets from the mean: the interesting digits of the integral are its last ones.
    axis.fill_between(grid * unit, density, color=FAINT, alpha=0.4, lw=0)
    axis.plot([low - mean, high - mean], [0, 0], color=INK, lw=4, solid_capstyle="butt")
    if truth is not None:
        axis.axvline(truth - mean, color=ACCENT, lw=1.5)
        axis.text(truth - mean, density.max(), " truth", color=ACCENT, va="top")
    axis.ticklabel_format(axis="x", style="sci", scilimits=(-2, 2))
    axis.set(title=f"E[f] = {mean:.6g}", xlabel="E[f] less its estimate", yticks=[])
    axis.locator_params(axis="x", nbins=5)


def _members(
    axis: Any, estimate: "Estimate", members: list[Candidate], output: int, truth: float | None
) -> None:
    """Intervals below each other, the answer's at the bottom and as a band behind all."""
    mean = float(np.atleast_1d(estimate.mean)[output])
    low, high = (float(np.atleast_1d(side)[output]) - mean for side in estimate.interval(0.95))
    axis.axvspan(low, high, color=FAINT, alpha=0.3, lw=0)
    labels, halves = [], []
    for i, member in enumerate(members):
        assert member.mean is not None and member.std is not None
        middle, half = member.mean[output] - mean, TWO_SIDED * member.std[output]
        halves.append(half)
        color = INK if member.chosen else FAINT
        axis.plot([middle - half, middle + half], [i, i], color=color, lw=2)
        axis.plot(middle, i, "o", ms=4, color=color)
        weight = "" if member.weight is None else f"  {member.weight:.2f}"
        labels.append(f"{member.method}{weight}")
    axis.plot([low, high], [len(members)] * 2, color=INK, lw=4, solid_capstyle="butt")
    if truth is not None:
        axis.axvline(truth - mean, color=ACCENT, lw=1.5)
    # The answer and the members beside it: one that is far off would hide them all.
    reach = max(3.0 * (high - low), 2.0 * min(halves))
    if reach > 0:
        left, right = axis.get_xlim()
        axis.set_xlim(max(left, -reach), min(right, reach))
    axis.set_yticks(range(len(members) + 1), [*labels, "answer"])
    axis.invert_yaxis()
    axis.ticklabel_format(axis="x", style="sci", scilimits=(-2, 2))
    axis.set(title="members", xlabel="E[f] less its estimate")
    axis.locator_params(axis="x", nbins=5)


def _training(axis: Any, estimate: "Estimate") -> None:
    loss = estimate.fit.history["loss"]
    axis.semilogy(np.arange(1, len(loss) + 1), loss, color=INK, lw=1.2)
    axis.set(title="training", xlabel="step", ylabel="loss")
