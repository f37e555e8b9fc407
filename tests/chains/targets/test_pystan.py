"""Stan programs through PyStan's compiled model."""

import four_supports as four
import numpy as np
import pytest

import steinquad as sq
from steinquad import InputError
from steinquad.chains.targets import as_target

ORDER = ["mu", "sigma", "r", "theta", "B"]


def test_what_is_no_model_of_pystan_is_refused():
    with pytest.raises(InputError, match="model is a int; pass what stan.build returned"):
        sq.targets.PyStan(3)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_pystan_agrees_with_the_density_written_by_hand():
    stan = pytest.importorskip("stan")
    target = as_target(stan.build(four.STAN, data=four.STAN_DATA))
    assert isinstance(target, sq.targets.PyStan)
    draws = four.draws(20)
    points = target.unconstrain({**draws, "total": np.zeros(20)})
    by_hand = four.scores_by_hand(points, ORDER, four.stick_breaking, column_major=True)
    np.testing.assert_allclose(target.score(points), by_hand, rtol=1e-8, atol=1e-8)
    with pytest.raises(InputError, match="no variable 'theta', which the model samples"):
        target.unconstrain({name: draws[name] for name in ORDER if name != "theta"})
    with pytest.raises(InputError, match="refused by Stan.*Lower bounded variable"):
        target.unconstrain({**draws, "sigma": -draws["sigma"]})
    with pytest.raises(InputError, match=r"draws of 'B' have shape \(20, 3\)"):
        target.unconstrain({**draws, "B": draws["B"][:, 0]})
