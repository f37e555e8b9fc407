"""The Matern kernels have three orders."""

import pytest

from steinquad.errors import InputError
from steinquad.kernels import Matern


@pytest.mark.parametrize("nu", [1.0, 3.5, -0.5, "2.5", None])
def test_other_orders_are_refused(nu):
    with pytest.raises(InputError, match=r"have nu 0\.5, 1\.5 or 2\.5\.$"):
        Matern(nu)
