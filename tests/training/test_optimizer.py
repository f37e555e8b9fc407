"""What all optimizers share: the driver, the track and the stopping rule."""

from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import normal_data, random_network

import steinquad as sq
from steinquad.training.adam import Adam
from steinquad.training.gauss_newton import GaussNewton
from steinquad.training.hessian_free import HessianFree
from steinquad.training.lbfgs import LBFGS
from steinquad.training.objective import flatten
from steinquad.training.optimizer import Optimizer, Stepwise
from steinquad.training.track import Step

ALL = [LBFGS, HessianFree, Adam, GaussNewton]


def problem():
    return random_network(1, dim=2, outputs=2, width=4), normal_data(1, n=30, dim=2, outputs=2)


@pytest.mark.parametrize("kind", ALL)
def test_every_step_is_reported_and_recorded(kind):
    network, data = problem()
    validation = normal_data(2, n=30, dim=2, outputs=2)
    calls, seen = [], []
    result = kind(max_steps=4).fit(
        network,
        data,
        flat=True,
        progress=lambda *call: calls.append(call),
        validation=validation,
        watch=lambda step, weights: seen.append((step, weights.copy())),
    )
    assert calls == [(i + 1, 4, loss) for i, loss in enumerate(result.losses)]
    assert [step for step, _ in seen] == [1, 2, 3, 4]
    assert (result.stop, result.reason) == ("max_steps", "reached 4 steps")
    assert result.theta0.shape == result.corrected.shape == (4, 2)
    best = int(np.argmin(result.validation_errors))
    assert np.array_equal(result.theta0[best], result.network.theta0)
    assert (result.state is not None) == kind.resumable


@pytest.mark.parametrize("kind", ALL)
def test_a_loss_that_is_not_finite_is_reported(kind):
    network, data = problem()
    blocks = replace(data.blocks, y=data.blocks.y.at[0, 0, 0].set(jnp.inf))
    with np.errstate(invalid="ignore"):
        result = kind(max_steps=20).fit(network, replace(data, blocks=blocks), flat=True)
    assert result.stop == "not_finite" and len(result.losses) == (kind is Adam)
    assert result.reason.endswith("after 1 steps" if kind is Adam else "at the start")


@pytest.mark.parametrize("kind", ALL)
def test_it_is_an_optimizer_whose_options_are_checked(kind):
    assert isinstance(kind(), Optimizer)
    for option in ("max_steps", "patience", "window"):
        for given in (0, 2.5, True, "many"):
            with pytest.raises(sq.InputError, match=f"{option} is {given!r}; give an integer"):
                kind(**{option: given})
    with pytest.raises(sq.InputError, match="rtol is 1.0; give a fraction"):
        kind(rtol=1.0)


@dataclass(frozen=True, kw_only=True)
class Scripted(Optimizer):
    """Goes through given steps of (loss, noise), all at the first weights."""

    script: tuple[tuple[float, float | None], ...]

    def start(self, network, data, flat):
        return ScriptedRun(flatten(network), self.script)


class ScriptedRun(Stepwise):
    def __init__(self, vector, script):
        self.loss, self.steps = 1.0, iter([Step(vector, *each) for each in script])

    def step(self):
        step = next(self.steps, None)
        self.loss = self.loss if step is None else step.loss
        return step


def ending(losses, noises=None, **options):
    """Steps taken, and why it ended."""
    script = tuple(zip(losses, noises or [None] * len(losses), strict=True))
    result = Scripted(script=script, **options).fit(*problem(), flat=True)
    return len(result.losses), result.stop, result.reason


FALLING = [0.5**i for i in range(40)]


def test_the_stopping_rule():
    """Not finite, then held-out points or noise, then slow progress, then the number of steps."""
    assert ending(FALLING) == (40, "converged", "no step lowers the loss in float64")
    assert ending(FALLING, max_steps=7) == (7, "max_steps", "reached 7 steps")
    broken = [1.0, 0.5, np.nan, 0.2]
    assert ending(broken, max_steps=3) == (3, "not_finite", "the loss is nan after 3 steps")
    slow = FALLING[:10] + [FALLING[10]] * 30
    reason = "the loss fell by 0 of itself in 5 steps, less than rtol = 0.1"
    assert ending(slow, rtol=0.1, window=5) == (16, "converged", reason)
    assert ending(slow, window=5)[0] == 40
    reason = "the noise was not a tenth lower after 6 more steps"
    assert ending(FALLING, slow, patience=6) == (17, "converged", reason)
    # half the steps up to the last fall where those are more
    assert ending(FALLING, slow, patience=2)[0] == 11 + 5
    assert ending([*FALLING[:16], np.inf], slow[:17], patience=6)[1] == "not_finite"
