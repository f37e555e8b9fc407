"""A study: an expensive simulator whose results are kept, so that it can be stopped and go on.

The second budget costs only what the first one did not pay. The report is a page to look at in a
browser. `steinquad init` writes the same as a file for the command line, where worker processes
are the default.
"""

import tempfile
from pathlib import Path

import numpyro.distributions as dist

import steinquad as sq

INPUTS = sq.Product(
    {
        "load": dist.LogNormal(6.9, 0.2),  # N
        "length": dist.Uniform(1.9, 2.1),  # m
    }
)


def bend(load: float, length: float) -> dict[str, float]:
    """Deflection in m and stress in Pa of a cantilever beam; imagine that it takes an hour."""
    inertia = 0.05 * 0.1**3 / 12
    return {
        "deflection": load * length**3 / (3 * 70e9 * inertia),
        "stress": load * length * 0.05 / inertia,
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        for runs in (50, 100):
            study = sq.Study(
                bend,
                INPUTS,
                Path(directory) / "beam.sqlite",
                runs,
                outputs=["deflection", "stress"],
                method=sq.Polynomial(),
                where="here",
                units={"load": "N", "length": "m", "deflection": "m", "stress": "Pa"},
            )
            before = study.status().done
            answer = study.run()
            print(f"{before} evaluations were there, {study.status().done - before} are new")
            print(answer.describe(tuple(study.outputs)))
        found = sq.report.write(study, Path(directory) / "beam.html", Path(directory) / "beam.md")
        for effect in found["outputs"][0]["effects"]:
            (name,) = effect["inputs"]
            print(f"{name} explains {100 * effect['first']:.0f} % of the variance of deflection")


if __name__ == "__main__":
    main()
