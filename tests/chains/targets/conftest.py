"""The posterior of four_supports.py by two libraries, compiled once for all tests."""

import four_supports as four
import pytest

import steinquad as sq


@pytest.fixture(scope="session")
def numpyro_target():
    return sq.targets.NumPyro(four.numpyro_model, four.Y, four.COUNTS, centres=four.CENTRES)


@pytest.fixture(scope="session")
def pymc_target():
    four.import_pymc()  # once without its warning
    return sq.targets.as_target(four.pymc_model())
