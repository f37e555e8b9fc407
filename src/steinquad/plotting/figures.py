"""Figures: an empty one, and one estimate at a glance: fit, integral, training."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.stats

from steinquad.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from steinquad.estimate import Estimate

__all__ = ["diagnose", "figure_endings", "new_figure"]

INK, ACCENT, FAINT = "#1f2933", "#c2410c", "#9aa5b1"
MOST_POINTS = 5000  # drawn; more would only make the file large


def diagnose(
    estimate: "Estimate", *, output: int = 0, truth: float | None = None, path: Any = None
) -> "Figure":
    """One estimate in two or three panels: fit, posterior of the integral, loss curve.

    Args:
        estimate: what to show; methods without a model show a histogram of the values instead.
        output: which integrand, for vector-valued ones.
        truth: drawn as a line where given.
        path: where to save the figure, if anywhere.
    """
    if not 0 <= output < len(np.atleast_1d(estimate.mean)):
        raise InputError(f"output is {output}; the estimate has {np.size(estimate.mean)} outputs.")
    panels = 3 if len(estimate.fit.history.get("loss", ())) else 2
    figure = new_figure(4.0 * panels, 3.6, layout="constrained")
    axes = figure.subplots(1, panels)
    _fit(axes[0], estimate, output)
    _integral(axes[1], estimate, output, truth)
    if panels == 3:
        _training(axes[2], estimate)
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
    axis.set(title=f"E[f] = {mean:.6g}", xlabel="E[f] less its estimate (bar: 95 %)", yticks=[])
    axis.locator_params(axis="x", nbins=5)


def _training(axis: Any, estimate: "Estimate") -> None:
    loss = estimate.fit.history["loss"]
    axis.semilogy(np.arange(1, len(loss) + 1), loss, color=INK, lw=1.2)
    axis.set(title="training", xlabel="step", ylabel="loss")
