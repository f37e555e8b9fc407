"""A target of one's own, beside those of the library."""

import numpy as np
import pytest
from made_up_chains import independent

import steinquad as sq


class Lognormal(sq.targets.Target):
    """Independent lognormals, by logarithms."""

    def unconstrain(self, draws):
        return np.log(draws["rate"])

    def score(self, points):
        return -points


@pytest.mark.parametrize("d", (1, 2, 5))
def test_a_target_of_ones_own_answers_as_stored_scores_do(d):
    z = independent(4, 100, d)
    flat = z.reshape(-1, d)
    stored = sq.targets.Stored(flat, -flat)
    draws = {"rate": np.exp(z)}
    own, other = (sq.posterior_expectation(draws, score=t) for t in (Lognormal(), stored))
    for row, same in zip(own, other, strict=True):
        assert row.mean == pytest.approx(same.mean, rel=1e-8) and row.method == same.method
    assert abs(own["rate[0]"].mean - np.exp(0.5)) < 5 * own["rate[0]"].std


def test_half_a_target_is_none():
    class Half(sq.targets.Target):
        def score(self, points):
            return -points

    with pytest.raises(TypeError, match="unconstrain"):
        Half()  # pyright: ignore[reportAbstractUsage]
