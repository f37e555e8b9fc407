"""A figure of the paper from stored records alone."""

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from steinquad.paper.methods import METHODS
from steinquad.paper.spec import ALONG_TRAINING, QUANTITIES, Spec
from steinquad.paper.summary import Cell
from steinquad.plotting.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_figure"]

# Okabe and Ito's colors, which color-blind readers can tell apart; markers say the same again.
COLORS = ("#CC79A7", "#56B4E9", "#E69F00", "#0072B2", "#009E73")
MARKERS = "sDvPXo<>hp"
KEPT = {  # by the methods that most figures have
    "MC": ("#7f7f7f", "o"),
    "BQ": ("#0072B2", "s"),
    "BQ Matern 1/2": ("#56B4E9", "D"),
    "Stein-CF": ("#009E73", "v"),
    "BSN.paper": ("#D55E00", "^"),
    "BSN.paper width 64": ("#E69F00", "P"),
    "BSN.paper C=1": ("#D55E00", "^"),
    "BSN.paper C=std": ("#E69F00", "D"),
    "BSN.paper C=max": ("#CC79A7", "P"),
    "Default": ("#000000", "*"),
}
# Trainings: the color says which network, marker and line which optimizer.
NETWORKS = {"BSN": "#0072B2", "plain": "#D55E00"}
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "Adam": {"marker": "o", "ls": "-", "lw": 0.8},
    "Adam 32": {"marker": "D", "ls": ":", "lw": 1.4},
    "L-BFGS": {"marker": "s", "ls": "--", "lw": 1.4},
    "Hessian-free": {"marker": "^", "ls": "-", "lw": 1.8},
}
POINTS = {  # name, line and marker by the design
    "iid": ("MC points", "-", "full"),
    "sobol": ("Sobol points", "--", "none"),
    "grid": ("grid", ":", "left"),
    "mala": ("MALA", "-", "full"),
    "mala-warm": ("MALA after warm-up", "--", "none"),
}
MOST_TICKS = 6


def draw_figure(spec: Spec, cells: Sequence[Cell], *, path: Any = None) -> "Figure":
    """Means over the seeds, with bars from the least to the largest.

    Args:
        spec: which panels.
        cells: the records.
        path: where to save the figure, if anywhere.
    """
    parts = _parts(spec, cells)
    # Each part is a row, but where that has one panel, and where there is one part, rows are full.
    rows = len(parts) > 1 and len(spec.panels) > 1
    across = len(spec.panels) if rows else min(3, len(parts) * len(spec.panels))
    down = -(-len(parts) * len(spec.panels) // across)
    wide = 6.0 if across == 1 else 3.0
    figure = new_figure(wide * across, 2.6 * down + 0.6, layout="constrained", what="a figure")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    drawn = [(part, panel) for part in parts for panel in spec.panels]
    for axis, ((label, part), (along, up)) in zip(axes, drawn, strict=False):
        _panel(axis, spec, part, along, up)
        if label and (along, up) == tuple(spec.panels[0]):
            axis.set_title(label, fontsize=9, loc="left")
    for axis in axes[len(drawn) :]:
        axis.set_visible(False)
    handles = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.suptitle(spec.title, fontsize=10)
    room = 12 * wide * across  # letters, so that the legend is no wider than the panels
    columns = int(room / (8 + max(map(len, handles), default=1)))
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=max(1, min(columns, len(handles))),
        fontsize=8,
        frameon=False,
    )
    if path is not None:
        figure.savefig(path, dpi=120)
    return figure


def _parts(spec: Spec, cells: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    """What shares panels, with its label."""
    if not spec.split:
        return [("", list(cells))]
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        value = getattr(cell.run, spec.split)
        label = value if spec.split == "problem" else f"{spec.split} = {value}"
        groups.setdefault(label, []).append(cell)
    return list(groups.items())


def _panel(axis: Any, spec: Spec, cells: Sequence[Cell], along: str, up: str) -> None:
    if along in ALONG_TRAINING:
        _trajectories(axis, cells, along, up)
        return
    lines: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        if cell.values(up) and (along not in QUANTITIES or cell.values(along)):
            lines.setdefault((cell.run.method, cell.design), []).append(cell)
    named = along == "problem"
    for number, ((method, design), line) in enumerate(lines.items()):
        color, marker = _style(method)
        points, style, fill = POINTS[design]
        shift = 0.12 * (number - (len(lines) - 1) / 2) if named else 0.0
        x = [_place(cell, along, spec) + shift for cell in line]
        values = [cell.values(up) for cell in line]
        y = np.array([statistics.fmean(each) for each in values])
        bars = np.array([y - list(map(min, values)), list(map(max, values)) - y])
        axis.errorbar(
            x,
            y,
            yerr=np.maximum(bars, 0.0),  # rounding may put the mean of equal values beside them
            label=f"{method}, {points}" if len(spec.designs) > 1 else method,
            color=color,
            marker=marker,
            fillstyle=fill,
            ls="none" if named else style,
            ms=7 if marker == "*" else 4.5,
            lw=1.2,
            elinewidth=0.8,
            capsize=2,
        )
    if up == "calibration":
        axis.axhline(1.0, color="#9aa5b1", lw=0.8, zorder=0)
    if named:
        short = [name.removeprefix("genz-") for name in spec.problems]
        axis.set_xticks(range(len(short)), short, rotation=20, fontsize=8)
    else:
        axis.set_xscale("log")
        axis.set_xlabel(QUANTITIES.get(along, along), fontsize=8)
    if along in QUANTITIES:
        _thin_out(axis)
    values = sorted({getattr(cell.run, along) for cell in cells}) if along in ("n", "d") else []
    if 0 < len(values) <= MOST_TICKS:  # a few numbers are best seen as they are
        axis.set_xticks(values, [str(value) for value in values])
        axis.set_xticks([], minor=True)
    _finish(axis, up)


def _trajectories(axis: Any, cells: Sequence[Cell], along: str, up: str) -> None:
    """A line for every training."""
    for cell in cells:
        for number, trajectory in enumerate(cell.trajectories):
            marks = [mark for mark in trajectory if getattr(mark, up) is not None]
            axis.plot(
                [getattr(mark, along) for mark in marks],
                [getattr(mark, up) for mark in marks],
                label=cell.run.method if number == 0 else None,
                ms=4,
                **_training_style(cell.run.method),
            )
    axis.set_xscale("log")
    axis.set_xlabel(ALONG_TRAINING[along], fontsize=8)
    _finish(axis, up)


def _finish(axis: Any, up: str) -> None:
    axis.set_yscale("log")
    axis.set_ylabel(QUANTITIES[up], fontsize=8)
    axis.tick_params(which="both", labelsize=7)
    axis.grid(alpha=0.25, lw=0.5)
    axis.spines[["top", "right"]].set_visible(False)


def _thin_out(axis: Any) -> None:
    """Two labels a decade, where a short logarithmic axis would have them side by side."""
    low, high = axis.get_xlim()
    if high > 100 * low:
        return
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    shown: list[float] = []
    for digits in ((1, 3), (1, 2, 3, 5), (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)):
        ticks = [digit * 10.0**decade for decade in decades for digit in digits]
        shown = [tick for tick in ticks if low <= tick <= high]
        if len(shown) > 1:
            break
    axis.set_xticks(shown, [f"{tick:.2g}" for tick in shown])
    axis.set_xticks([], minor=True)


def _place(cell: Cell, along: str, spec: Spec) -> float:
    if along in QUANTITIES:
        return statistics.fmean(cell.values(along))
    return (
        spec.problems.index(cell.run.problem) if along == "problem" else getattr(cell.run, along)
    )


def _style(method: str) -> tuple[str, str]:
    """The same for a method in every figure."""
    if method in KEPT:
        return KEPT[method]
    number = [name for name in METHODS if name not in KEPT].index(method)
    return COLORS[number % len(COLORS)], MARKERS[number % len(MARKERS)]


def _training_style(method: str) -> dict[str, Any]:
    network, _, optimizer = method.removesuffix(" ReLU").partition(" ")
    if optimizer in OPTIMIZERS:
        return {"color": NETWORKS[network], **OPTIMIZERS[optimizer]}
    return {"color": KEPT["Default"][0], "marker": KEPT["Default"][1], "ls": "-", "lw": 1.2}
