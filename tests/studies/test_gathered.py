"""What is gathered: a beginning without gaps, of the points of this study."""

import pytest
import scipy.stats as st
from small_study import study

import steinquad as sq
from steinquad.measures.mixture import Mixture


def test_only_a_beginning_without_gaps_is_a_sample(tmp_path):
    first = study(tmp_path)
    first.run()
    with first.evaluations.writing():
        first.evaluations._require_writer().execute("DELETE FROM evaluation WHERE number = 17")
    assert first.estimate().n == 17
    assert first.estimate(n=10).n == 10


@pytest.mark.parametrize("seed", range(4))
def test_another_distribution_with_the_same_first_point(tmp_path, seed):
    def of(scale):
        mixture = Mixture([st.norm(0, 1), st.gamma(3, scale=scale)], [1, 1])
        return {"inputs": sq.Product({"x": mixture}), "points": "iid", "seed": seed}

    def f(x):
        return x

    settings = {"method": sq.MonteCarlo(), "where": "here"}
    store = tmp_path / "s.sqlite"
    sq.Study(f, store=store, runs=30, **settings, **of(1)).run()
    other = sq.Study(f, store=store, runs=60, **settings, **of(9))
    for act in (other.run, other.estimate):
        with pytest.raises(sq.InputError, match="belongs to another study"):
            act()
    assert sq.Study(f, store=store, runs=60, **settings, **of(1)).run().n == 60
