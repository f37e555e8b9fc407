"""The no-U-turn sampler: tuning, progress and draws as data."""

import numpy as np
import pytest
from sound_chains import NORMALS

import steinquad as sq
from steinquad.designs import NUTS
from steinquad.errors import InputError


def test_more_acceptance_by_smaller_steps():
    measure = NORMALS[5][0]
    options = {"chains": 2, "warmup": 100}
    low, high = (
        NUTS(target_acceptance=target, **options).draw(measure, 100, seed=0).stats
        for target in (0.6, 0.95)
    )
    assert np.all(high["step_size"] < 0.7 * low["step_size"])
    assert np.all(high["acceptance"] > low["acceptance"])


def test_the_warm_up_is_counted_in_draws():
    """30 transitions of warm-up are 10 draws of three transitions each, half for each chain."""
    seen = []
    design = NUTS(chains=2, warmup=30, thin=3)
    design.draw(NORMALS[5][0], 40, seed=0, progress=lambda *report: seen.append(report[:2]))
    assert seen[:3] == [(5, 30), (10, 30), (11, 30)] and seen[-1] == (30, 30)


@pytest.mark.slow
def test_default_on_nuts_draws_beats_their_average():
    """A correlated, skewed posterior, d = 2: mean of x1 known from the conditional."""

    def log_density(x):  # x1 ~ N(0, 1), x2 | x1 ~ N(0.5 x1^2, 0.5^2)
        return -0.5 * x[0] ** 2 - 2.0 * (x[1] - 0.5 * x[0] ** 2) ** 2

    measure = sq.LogDensity(log_density, dim=2)
    sample = sq.designs.NUTS(chains=2, warmup=300).draw(
        measure, 600, seed=1, progress=lambda *_: None
    )
    data = sq.Dataset(sample.x, sample.x[:, 1], sample.score, groups=sample.groups)
    plain = sq.estimate(data, method=sq.MonteCarlo())
    better = sq.estimate(data, method=sq.Stack([sq.MonteCarlo(), sq.ControlFunctional()]))
    assert better.method == "Stack: CF"
    low, high = better.interval(0.999)
    assert low < 0.5 < high and better.std < 0.2 * plain.std
    assert abs(better.mean - 0.5) < 0.2 * abs(plain.mean - 0.5)
    assert better.check is not None and better.check.folds == 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: NUTS(warmup=5), "warmup is 5"),
        (lambda: NUTS(target_acceptance=2), "target_acceptance is 2"),
    ],
)
def test_bad_input_is_one_sentence(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
