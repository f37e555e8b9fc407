"""What every network sees, and what validates it."""

import numpy as np
import pytest

import steinquad as sq
from steinquad.checking.folds import folds_of
from steinquad.fitting.ensemble import splits


def dataset(n, groups):
    x = np.random.default_rng(0).standard_normal((n, 2))
    return sq.Dataset(x, np.cos(x[:, 0]), -x, groups=groups)


@pytest.mark.parametrize("groups", [None, np.repeat([0, 1], 10), np.repeat(np.arange(10), 2)])
def test_every_point_is_held_out_once_by_a_network_that_has_not_seen_it(groups):
    data = dataset(20, groups)
    made = splits(folds_of(data, 4, seed=3), data.n, seed=3)
    assert len(made) == 4
    assert sorted(np.concatenate([split.held for split in made])) == list(range(20))
    for split in made:
        assert not np.intersect1d(split.train, split.held).size
        assert sorted(np.concatenate([split.train, split.held])) == list(range(20))
        if groups is not None:
            assert np.all(np.diff(split.held) == 1)  # blocks of a chain, not single draws
    assert any(np.any(np.diff(split.train) < 0) for split in made)  # may be cut short anywhere
