"""Records that nobody computed."""

from steinquad.paper.record import Record


def made_up(run, **changes):
    row = {
        "run": run,
        "estimate": 1.001,
        "std": 1e-3,
        "truth": 1.0,
        "error": 1e-3,
        "cpu_seconds": 2.0,
        "peak_mib": 300.0,
        "rest_mib": 250.0,
        "status": "converged",
        "message": "made up",
        "loss": None,
        "versions": {"python": "3"},
        "trajectory": (),
    }
    return Record(**(row | changes))
