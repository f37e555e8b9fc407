"""A fit: what it answers, and its model at any number of points."""

import numpy as np
import pytest

import steinquad as sq
from steinquad.fit import CHUNK, ConstantModel, HeldOutValues
from steinquad.points import Points


class Recorded:
    """A model of two outputs that remembers how many points it was asked for at once."""

    def __init__(self):
        self.sizes = []

    def __call__(self, points, return_std):
        self.sizes.append(len(points.x))
        mean = np.stack([points.x[:, 0], points.score[:, 0]], axis=1)
        return mean, mean**2 if return_std else None


def fit(**options):
    return sq.Fit(theta0=np.array([1.0, 2.0]), covariance=np.diag([4.0, 9.0]), **options)


def test_many_points_are_predicted_in_chunks_with_their_scores():
    x = np.arange(2 * CHUNK + 5.0)[:, None]
    want = np.concatenate([x, -3 * x], axis=1)
    for return_std in (False, True):
        model = Recorded()
        mean, std = fit(model=model).predict(Points(x, -3 * x), return_std=return_std)
        assert model.sizes == [CHUNK, CHUNK, 5]
        np.testing.assert_array_equal(mean, want)
        assert std is None if not return_std else np.array_equal(std, want**2)
    model = Recorded()
    fit(model=model).predict(Points(x[:CHUNK], x[:CHUNK]))
    assert model.sizes == [CHUNK]


def test_the_answer_is_theta0_with_what_held_out_points_add():
    plain, held = fit(model=None), fit(model=None, correction=np.array([0.5, 0.0]))
    np.testing.assert_array_equal(plain.mean, [1.0, 2.0])
    np.testing.assert_array_equal(held.mean, [1.5, 2.0])
    np.testing.assert_array_equal(held.theta0, plain.theta0)
    np.testing.assert_array_equal(plain.std, [2.0, 3.0])
    assert plain.status.code == "converged" and plain.dof == np.inf


def test_a_constant_f_has_an_exact_fit():
    values = np.tile([0.1, 1e8], (7, 1))
    exact = sq.Fit.of_constant(sq.Dataset(np.arange(7.0), values))
    np.testing.assert_array_equal(exact.mean, [0.1, 1e8])
    assert not exact.covariance.any() and exact.status.code == "constant" and exact.status.final
    mean, std = exact.predict(Points(np.zeros((3, 1))), return_std=True)
    np.testing.assert_array_equal(mean, values[:3])
    np.testing.assert_array_equal(std, np.zeros((3, 2)))


def test_broken_numbers_leave_no_model():
    data = sq.Dataset(np.arange(4.0), np.arange(4.0))
    failed = sq.Fit.failed(data, "the matrix is singular")
    assert np.isnan(failed.mean).all() and np.isnan(failed.covariance).all()
    assert failed.status.code == "not_finite" and failed.status.final and failed.status.doubtful
    with pytest.raises(sq.InputError, match="no model of f .*the matrix is singular"):
        failed.predict(Points(data.x))
    est = sq.Estimate.of(failed, data, None, method="Broken")
    with pytest.raises(sq.InputError, match="by Broken carries no model"):
        est.predict(data.x)


def test_an_average_predicts_itself_with_its_own_std():
    mean, std = ConstantModel(np.array([1.0, 2.0]), np.array([0.1, 0.0]))(
        Points(np.ones((2, 3))), True
    )
    np.testing.assert_array_equal(mean, [[1.0, 2.0]] * 2)
    np.testing.assert_array_equal(std, [[0.1, 0.0]] * 2)


@pytest.mark.parametrize(
    ("code", "doubtful", "final"),
    [
        ("converged", False, False),
        ("constant", False, True),
        ("max_steps", False, False),
        ("max_n", False, False),
        ("suspect", True, False),
        ("not_finite", True, True),
    ],
)
def test_a_status_is_a_word_and_a_sentence(code, doubtful, final):
    status = sq.Status(code, "so it went")
    assert str(status) == f"{code}: so it went"
    assert (status.doubtful, status.final) == (doubtful, final)


def test_a_model_without_a_std_has_none_at_many_points_either():
    x = np.zeros((CHUNK + 1, 1))
    bare = fit(model=lambda points, return_std: (np.zeros((len(points.x), 2)), None))
    mean, std = bare.predict(Points(x), return_std=True)
    assert mean.shape == (CHUNK + 1, 2) and std is None


def test_the_jackknife_of_averages_is_their_standard_error():
    """Of as many folds as points it is the textbook's; of ten folds it is so on average."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((60, 1))
    alone = np.stack([np.delete(values, i, axis=0).mean(axis=0) for i in range(60)])
    expected = values.std(ddof=1) / np.sqrt(60)
    assert HeldOutValues(values, alone).jackknife[0] == pytest.approx(expected)
    ratios = []
    for _ in range(200):
        values = rng.standard_normal((60, 1))
        folds = [np.delete(values, np.s_[i::10], axis=0).mean(axis=0) for i in range(10)]
        ratios.append(HeldOutValues(values, np.stack(folds)).jackknife[0] ** 2 * 60)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.15)  # four standard errors
