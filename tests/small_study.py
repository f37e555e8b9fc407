"""What the tests of studies share."""

from pathlib import Path

import scipy.stats as st

import steinquad as sq

HERE = Path(__file__).parent / "studies"  # of the integrands


def law():
    return sq.Product({"a": st.norm(), "b": st.uniform(0.0, 1.0)})


def study(tmp_path, name="smooth", runs=40, **settings):
    """A small study of one of the integrands, by plain average unless it says otherwise."""
    fixed = {"method": sq.MonteCarlo(), "directory": HERE, "workers": 2, "where": "here"}
    named = f"integrands.py:{name}" if isinstance(name, str) else name
    integrand = settings.pop("integrand", named)
    return sq.Study(integrand, law(), tmp_path / "s.sqlite", runs, **(fixed | settings))
