"""Stan programs through an object like BridgeStan's, and through PyStan's compiled model."""

import four_supports as four
import numpy as np
import pytest

import steinquad as sq
from steinquad import InputError
from steinquad.chains.targets import as_target

ORDER = ["mu", "sigma", "r", "theta", "B"]


class Bridge:
    """What BridgeStan's class offers, for a positive number and a matrix, lognormal and normal."""

    def param_names(self):
        return ["s", "m.1.1", "m.2.1", "m.1.2", "m.2.2", "m.1.3", "m.2.3"]

    def param_unc_num(self):
        return 7

    def param_unconstrain(self, theta):
        if theta[0] < 0:
            raise RuntimeError("Exception in param_unconstrain():\nlb_free: s is negative")
        with np.errstate(divide="ignore"):
            return np.append(np.log(theta[0]), theta[1:])

    def param_constrain(self, point):
        return np.append(np.exp(point[0]), point[1:])

    def log_density_gradient(self, point):
        return -point @ (point * np.arange(7)) / 2, -point * np.arange(7)


def test_bridgestan_gets_the_entries_in_its_order():
    target = sq.targets.BridgeStan(Bridge())
    rng = np.random.default_rng(0)
    s, m = rng.gamma(2.0, size=4), rng.normal(size=(4, 2, 3))
    points = target.unconstrain({"s": s, "m": m, "generated": np.zeros(4)})
    by_column = m.swapaxes(1, 2).reshape(4, 6)
    np.testing.assert_array_equal(points, np.column_stack([np.log(s), by_column]))
    np.testing.assert_array_equal(target.score(points), -points * np.arange(7))


def test_bridgestan_models_and_draws_that_do_not_fit_are_refused():
    target, draws = sq.targets.BridgeStan(Bridge()), {"s": np.ones(2), "m": np.zeros((2, 2, 3))}
    with pytest.raises(InputError, match="no variable 'm', which the model samples"):
        target.unconstrain({"s": np.ones(2)})
    with pytest.raises(InputError, match=r"draws of 'm' have shape \(2, 3, 2\)"):
        target.unconstrain({**draws, "m": np.zeros((2, 3, 2))})
    with pytest.raises(
        InputError, match="draws are refused by Stan .*lb_free: s is negative.*all digits"
    ):
        target.unconstrain({**draws, "s": -np.ones(2)})
    with pytest.raises(InputError, match="on the edge of the support.*first draw 0"):
        target.unconstrain({**draws, "s": np.zeros(2)})
    with pytest.raises(InputError, match=r"points has shape \(1, 2\)"):
        target.score(np.zeros((1, 2)))
    with pytest.raises(InputError, match="model is a int; pass a bridgestan.StanModel"):
        sq.targets.BridgeStan(3)

    class Tuples(Bridge):
        def param_names(self):
            return ["pair:1", "pair:2"]

    class Nothing(Bridge):
        def param_names(self):
            return []

    with pytest.raises(InputError, match="'pair:1', of a tuple or complex type"):
        sq.targets.BridgeStan(Tuples())
    with pytest.raises(InputError, match="no parameters"):
        sq.targets.BridgeStan(Nothing())


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
