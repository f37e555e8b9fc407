"""Which method suits my integrand? Put them side by side on the same evaluations.

A pressure that saturates: smooth in two inputs, with a kink in the third.
"""

import numpy as np
import numpyro.distributions as dist

import steinquad as sq

inputs = sq.Product(
    {
        "load": dist.Normal(1.0, 0.3),
        "gap": dist.Gamma(9.0, 3.0),
        "speed": dist.Uniform(2.0, 8.0),
    }
)


def pressure(x):
    load, gap, speed = x.T
    return np.exp(-0.5 * load) * np.log1p(gap) + 0.1 * np.maximum(speed - 5.0, 0.0)


def main() -> None:
    x = inputs.sample(400, seed=0)
    data = sq.Dataset(x, pressure(x))

    # Any two methods in three lines: they share the protocol, the data and the result.
    for method in (sq.MonteCarlo(), sq.Polynomial(), sq.BayesianQuadrature()):
        print(sq.estimate(data, measure=inputs, method=method))

    # Or let held-out errors weigh them, and read the table of the members.
    members = [sq.MonteCarlo(), sq.Polynomial(), sq.BayesianQuadrature()]
    est = sq.estimate(data, measure=inputs, method=sq.Stack(members))
    print(est)
    for row in est.candidates:
        rms = "-" if row["held_out_rms"] is None else f"{row['held_out_rms']:.1e}"
        print(f"  {row['method']:20}{rms:>10}{row['weight']:6.2f}  {row['note']}")


if __name__ == "__main__":
    main()
