"""Expected thrust of a wind farm from 200 simulator runs.

How hard the wind pushes a turbine depends on its neighbors, the wind direction, the turbulence
and on constants of the wake model, none of which is known exactly. The simulator takes seconds to
minutes a run, so 200 runs have to do. Usage: `python wind_farm.py [figure.png]`.

The runs here are by the fast version of the simulator; `simulator="pywake"` calls PyWake itself
(`pip install 'steinquad[wind]'`, 14 s a run).
"""

import sys
from pathlib import Path

import numpy as np

import steinquad as sq

N = 200


def main(figure: Path | None = None) -> None:
    farm = sq.problems.wind_farm(simulator="jax")
    points = farm.measure.sample(N, seed=0)
    thrust = farm.integrand(points)  # the costly part: keep it

    runs = sq.Dataset(points, thrust)
    plain = sq.estimate(runs, measure=farm.measure, method=sq.MonteCarlo())
    fitted = sq.estimate(runs, measure=farm.measure, seed=0)

    print(f"expected thrust coefficient from {N} simulator runs")
    for name, answer in (("plain average", plain), ("steinquad", fitted)):
        low, high = answer.interval(0.95)
        print(f"{name:14} {answer.mean:.4f}   95 %: [{low:.4f}, {high:.4f}]")
    print(f"{'truth':14} {farm.truth:.4f}   {farm.source}")
    if figure is not None:
        draw(farm, points, thrust, (plain, fitted), figure)
        print(f"figure saved to {figure}")


def draw(farm, points, thrust, answers, path: Path) -> None:
    """The runs against the two inputs that matter most, and both intervals."""
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(10, 3.2), layout="constrained")
    left, middle, right = canvas.subplots(1, 3, width_ratios=(1, 1, 1.1))
    for axes, name, label in (
        (left, "ct_prime", "resistance coefficient C_T'"),
        (middle, "direction", "wind direction, degrees"),
    ):
        axes.plot(points[:, farm.measure.names.index(name)], thrust, ".", alpha=0.6)
        axes.set(xlabel=label)
    left.set_ylabel("thrust coefficient C_T*")
    for row, answer in enumerate(answers):
        low, high = answer.interval(0.95)
        reach = np.array([[answer.mean - low], [high - answer.mean]])
        right.errorbar(answer.mean, row, xerr=reach, fmt="o", capsize=4)
    right.axvline(farm.truth, color="gray", linestyle="--", linewidth=1)
    right.set(yticks=(0, 1), yticklabels=("plain average", "steinquad"), ylim=(1.6, -0.6))
    right.set(xlabel="expected C_T*, 95 % intervals")
    canvas.savefig(path, dpi=130)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) == 2 else None)
