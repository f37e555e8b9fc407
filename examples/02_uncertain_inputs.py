"""Uncertain inputs of a simulator: the mean power and thrust of a wind turbine.

Each input has a name and a distribution of its own; the simulator takes one point at a time and
returns two numbers. The answer is a mean with an interval for each, and their joint covariance.
"""

import numpy as np
import numpyro.distributions as dist

import steinquad as sq

INPUTS = sq.Product(
    {
        # Direction in degrees off the rotor's axis: two regimes, cut to what the sensor sees.
        "direction": sq.Truncated(
            dist.MixtureSameFamily(
                dist.Categorical(probs=np.array([0.7, 0.3])),
                dist.Normal(np.array([-4.0, 9.0]), np.array([4.0, 5.0])),
            ),
            low=-20.0,
            high=25.0,
        ),
        "speed": dist.TruncatedNormal(9.0, 1.5, low=4.0, high=14.0),  # m/s
        "density": dist.Normal(1.22, 0.03),  # kg/m^3
    }
)


def turbine(point: np.ndarray) -> tuple[float, float]:
    """Power in MW and thrust in kN of a rotor of radius 60 m at one operating point."""
    direction, speed, density = point
    along = speed * np.cos(np.radians(direction))
    force = 0.5 * density * np.pi * 60.0**2 * along**2
    rated = 1.0 / (1.0 + np.exp(along - 12.0))  # the controller takes over near 12 m/s
    return 0.44 * force * along * rated / 1e6, 0.8 * force * rated / 1e3


def main() -> None:
    method = sq.BSN(width=8, activation="tanh", folds=2)
    answer = sq.integrate(turbine, INPUTS, n=500, method=method, vectorized=False)
    plain = sq.integrate(turbine, INPUTS, n=500, method=sq.MonteCarlo(), vectorized=False)
    low, high = answer.interval(0.95)
    for j, name in enumerate(("mean power, MW", "mean thrust, kN")):
        print(f"{name:16}{answer.mean[j]:8.3f}   95 %: [{low[j]:.3f}, {high[j]:.3f}]", end="")
        print(f"   std {answer.std[j]:.1e} (Monte Carlo: {plain.std[j]:.1e})")
    print(f"covariance of the two:\n{answer.covariance}")


if __name__ == "__main__":
    main()
