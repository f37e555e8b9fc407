"""The README's figure: the error of every run of Table 1 beside the std that it claimed.

`python benchmarks/calibration_figure.py`; reads docs/reproduction/table1.jsonl.gz, the records of
`steinquad reproduce table1 --preset paper` (six Genz families, d = 2, n = 5120, ten seeds, all
methods given the same points), and writes docs/figures/calibration.png. Runs nothing.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

DOCS = Path(__file__).parents[1] / "docs"
N = 5120
LIMIT = 1.96  # standard deviations
FLOOR = 1e-13  # lower errors are those of rounding, and are drawn here
SPAN = np.array([2e-13, 2.0])
# Label, color and marker by the record's name: markers and rows, so that color is never needed.
METHODS = {
    "MC": ("Monte Carlo", "#6b6b6b", "s"),
    "BQ": ("Bayesian quadrature,\nas published", "#E69F00", "D"),
    "BSN.paper": ("Stein network,\nas published", "#D55E00", "^"),
    "Default": ("steinquad,\ndefault", "#0072B2", "o"),
}
SOURCE = (
    "Six Genz integrands, d = 2, n = 5120, ten seeds, the same points for all methods "
    "(steinquad reproduce table1 --preset paper)"
)
DOTS: dict[str, Any] = {
    "linestyle": "none",
    "markersize": 5,
    "markeredgecolor": "white",
    "markeredgewidth": 0.4,
}


def load() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Claimed std and actual error, relative to the truth, of every run of each method."""
    with gzip.open(DOCS / "reproduction" / "table1.jsonl.gz", "rt") as lines:
        rows = [row for row in map(json.loads, lines) if row["n"] == N]
    runs = {}
    for name in METHODS:
        mine = [row for row in rows if row["method"] == name]
        scale = np.array([abs(row["truth"]) for row in mine])
        std, error = (np.array([row[key] for row in mine]) / scale for key in ("std", "error"))
        runs[name] = std, error
    return runs


def draw_errors(ax: Axes, runs: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Actual error against claimed std, with lines at 1 and 1.96 std."""
    ax.fill_between(SPAN, LIMIT * SPAN, SPAN[1], color="#D55E00", alpha=0.07, linewidth=0)
    ax.plot(SPAN, LIMIT * SPAN, color="#444444", linewidth=1.2)
    ax.plot(SPAN, SPAN, color="#444444", linewidth=0.8, linestyle=":")
    for name, (std, error) in runs.items():
        _, color, marker = METHODS[name]
        ax.plot(std, np.maximum(error, FLOOR), marker=marker, color=color, **DOTS)
    ax.set(xscale="log", yscale="log", xlim=SPAN, ylim=(FLOOR / 3, SPAN[1]))
    ax.set(xlabel="claimed std / |truth|", ylabel="actual |error| / |truth|")
    ax.text(1e-11, 3e-3, "error bar too small", color="#A03E00", fontsize=10)


def draw_ratios(ax: Axes, runs: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """|error| / std, one row a method, with how many are beyond 1.96."""
    jitter = np.random.default_rng(0)
    ax.axvspan(LIMIT, 60.0, color="#D55E00", alpha=0.07, linewidth=0)
    ax.axvline(LIMIT, color="#444444", linewidth=1.2)
    ax.axvline(1.0, color="#444444", linewidth=0.8, linestyle=":")
    for height, (name, (std, error)) in enumerate(runs.items()):
        _, color, marker = METHODS[name]
        ratio = error / std
        rows = -height + jitter.uniform(-0.22, 0.22, len(ratio))
        ax.plot(np.maximum(ratio, 0.01), rows, marker=marker, color=color, **DOTS)
        beyond = int(np.sum(ratio > LIMIT))
        ax.text(52.0, -height + 0.3, f"{beyond} of {len(ratio)}", ha="right", fontsize=9)
        print(f"{name}: {beyond} of {len(ratio)} beyond {LIMIT} std, worst {max(ratio):.1f}")
    ax.set(xscale="log", xlim=(0.008, 60.0), ylim=(-len(runs) + 0.5, 0.6))
    ax.set_xticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
    ax.set_yticks(-np.arange(len(runs)), [METHODS[name][0] for name in runs])
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("|error| / claimed std; counted: beyond 1.96")


def main() -> None:
    runs = load()
    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    draw_errors(left, runs)
    draw_ratios(right, runs)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    figure.supxlabel(SOURCE, fontsize=8.5, color="#555555")
    figure.savefig(DOCS / "figures" / "calibration.png", dpi=120)


if __name__ == "__main__":
    main()
