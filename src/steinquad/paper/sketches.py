"""The paper's two sketches, redrawn: what the methods cost and know, and how a BSN works."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steinquad._files import replaced
from steinquad.errors import InputError
from steinquad.plotting.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["sketch_cost", "sketch_method", "sketches"]

INK, FAINT = "#1f2933", "#9aa5b1"
GRAY, BLUE, ORANGE = "#7f7f7f", "#0072B2", "#D55E00"  # MC, BQ and BSN, as in every figure
PLACES = {"MC": (0.18, 0.18, GRAY), "BSN": (0.5, 0.5, ORANGE), "BQ": (0.82, 0.82, BLUE)}


def sketches(directory: Path) -> list[Path]:
    """Draw both sketches into a directory, made if it is not there, and return their paths.

    Args:
        directory: where the two PNG files go; those of the same names are overwritten.

    Returns:
        The paths of `sketch-cost.png` and `sketch-method.png`.
    """
    figures = {"sketch-cost.png": sketch_cost(), "sketch-method.png": sketch_method()}
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"path {directory} cannot be made ({error.strerror}); give another directory."
        ) from None
    for name, figure in figures.items():
        with replaced(directory / name, "path") as partial:
            figure.savefig(partial, dpi=120)
    return [directory / name for name in figures]


def sketch_cost() -> "Figure":
    """Cost against prior knowledge: a BSN is between Monte Carlo and Bayesian quadrature.

    Figure 1 of the paper. Places are by eye, without a scale, and colors those that the methods
    have in all other figures.
    """
    figure = new_figure(3.4, 2.8, what="a figure")
    axis = figure.add_axes((0.12, 0.14, 0.84, 0.82))
    for name, (x, y, color) in PLACES.items():
        axis.plot(x, y, "o", ms=44, color=color, alpha=0.9, mec="none")
        axis.text(x, y, name, color="white", ha="center", va="center", weight="bold")
    axis.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
    axis.set_xlabel("computational cost", color=INK)
    axis.set_ylabel("prior knowledge that it can use", color=INK)
    axis.spines[["top", "right"]].set_visible(False)
    for end, place in ((">", (1, 0)), ("^", (0, 1))):
        axis.plot(*place, end, color=INK, transform=axis.transAxes, clip_on=False, ms=6)
    return figure


def sketch_method() -> "Figure":
    """From data through a network and the Stein operator to the posterior of the integral.

    Figure 2 of the paper: the integral is the parameter theta0, and a Laplace approximation around
    the fitted weights gives its distribution.
    """
    figure = new_figure(9.0, 3.4, what="a figure")
    whole = figure.add_axes((0, 0, 1, 1))
    whole.set(xlim=(0, 9), ylim=(0, 3.4))
    whole.axis("off")
    _box(whole, 3.35, 2.75, "network\n$u_\\theta$")
    _box(whole, 5.0, 2.75, "Stein operator\n$\\mathcal{S}[u_\\theta]$")
    model = "$g_\\theta = \\theta_0 + \\mathcal{S}[u_\\theta]$\nmean of $g_\\theta$: $\\theta_0$"
    _box(whole, 7.35, 2.75, model)
    _box(whole, 7.35, 0.75, "Laplace approximation\naround $\\theta_{\\mathrm{MAP}}$")
    arrow = {"arrowstyle": "-|>", "color": INK, "lw": 1.4, "shrinkA": 0, "shrinkB": 0}
    for start, end in (
        ((2.45, 2.75), (2.97, 2.75)),
        ((3.73, 2.75), (4.4, 2.75)),
        ((5.6, 2.75), (6.74, 2.75)),
        ((7.35, 2.49), (7.35, 1.01)),
        ((6.46, 0.75), (5.75, 0.75)),
    ):
        whole.annotate("", end, start, arrowprops=arrow)
    whole.text(7.45, 1.75, "fit to data", fontsize=9, color=INK, va="center")
    _data(figure.add_axes((0.035, 0.57, 0.225, 0.36)))
    _posterior(figure.add_axes((0.39, 0.1, 0.235, 0.33)))
    return figure


def _box(axis: Any, x: float, y: float, text: str) -> None:
    frame = {"boxstyle": "round,pad=0.45", "fc": "white", "ec": INK, "lw": 1.3}
    axis.text(x, y, text, ha="center", va="center", fontsize=10, color=INK, bbox=frame)


def _data(axis: Any) -> None:
    """Points, values, scores."""
    grid = np.linspace(-3, 3, 200)
    points = np.array([-2.0, -1.1, -0.5, 0.1, 0.7, 1.3, 2.2])
    axis.fill_between(grid, 0.8 * np.exp(-(grid**2) / 2) - 1.5, -1.5, color=FAINT, alpha=0.5, lw=0)
    axis.plot(grid, _shape(grid), color=ORANGE, lw=1.5)
    axis.plot(points, _shape(points), "o", color=INK, ms=4)
    axis.text(2.4, 0.7, "$f$", color=ORANGE, ha="center")
    axis.text(1.6, -1.2, "$\\pi$", color=GRAY, ha="center")
    axis.set(ylim=(-1.55, 1.4), xticks=[], yticks=[])
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.set_xlabel("$x_i,\\; f(x_i),\\; \\nabla\\log\\pi(x_i)$", fontsize=10, color=INK)


def _shape(x: np.ndarray) -> np.ndarray:
    return np.sin(1.5 * x) + 0.15 * x


def _posterior(axis: Any) -> None:
    """A normal density of theta0."""
    grid = np.linspace(-3.2, 3.2, 200)
    density = np.exp(-(grid**2) / 2)
    axis.fill_between(grid, density, color=BLUE, alpha=0.25, lw=0)
    axis.plot(grid, density, color=BLUE, lw=1.5)
    axis.plot([0, 0], [0, 1], color=INK, lw=1.2)
    axis.set(ylim=(0, 1.15), yticks=[], xlim=(-3.2, 3.2))
    axis.set_xticks([0], ["$\\theta_{0,\\mathrm{MAP}}$"])
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.set_title("posterior of the integral $\\Pi[f]$", fontsize=9, color=INK, pad=3)
