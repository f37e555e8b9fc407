"""Stein control functional: dense algebra, supports, honesty, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.integrate
import scipy.stats

import steinquad as sq
from steinquad.kernels.stein_kernel import RadialMatern52, RadialRBF, stein_gram
from steinquad.methods.control_functional import ControlFunctional


def normal(d):
    return dist.Normal(0, 1).expand([d]).to_event(1)


def smooth(x):
    return np.cos(x).sum(axis=1)


def evaluations(n=80, d=2, seed=0, f=smooth, **options):
    x = np.random.default_rng(seed).standard_normal((n, d))
    return sq.Dataset(x, f(x), -x, **options)


def test_theta0_and_its_variance_are_those_of_dense_algebra():
    data = evaluations(50)
    est = sq.estimate(data, method=ControlFunctional(standardize="diagonal"))
    lengthscale = est.stats["lengthscales"][0]
    unit = data.x.std(axis=0)
    z = (data.x - data.x.mean(axis=0)) / unit
    with jax.enable_x64(True):
        points = (z, np.ones_like(z), data.score * unit)
        k0 = np.asarray(stein_gram(RadialMatern52(), jnp.full(1, lengthscale), points, points))
    size = 2 * (lengthscale**2 + 1)
    amplitude, noise = est.stats["amplitude"][0], est.stats["nugget"][0]
    matrix = amplitude**2 * k0 / size + noise**2 * np.eye(50)
    ones = np.linalg.solve(matrix, np.ones(50))
    assert est.mean == pytest.approx(ones @ data.fx[:, 0] / ones.sum(), rel=1e-8)
    assert est.std**2 == pytest.approx(1 / ones.sum(), rel=1e-6)
    # what it predicts integrates to theta0: the kernel part has mean zero
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    mesh = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    predicted = est.predict(mesh, -mesh).reshape(40, 40)
    integral = weights @ predicted @ weights / weights.sum() ** 2
    assert integral == pytest.approx(est.mean, abs=1e-3 * smooth(data.x).std())


@pytest.mark.parametrize("kernel", [RadialRBF(), RadialMatern52()], ids=["rbf", "matern"])
@pytest.mark.parametrize("lengthscales", ["isotropic", "separate"])
def test_is_close_within_the_stated_std(kernel, lengthscales):
    method = ControlFunctional(kernel=kernel, lengthscales=lengthscales)
    est = sq.integrate(smooth, normal(2), n=120, method=method, seed=1)
    assert abs(est.mean - 2 * np.exp(-0.5)) < min(5 * est.std, 0.01)
    assert est.status.code in ("converged", "max_steps")


@pytest.mark.parametrize(("d", "n"), [(1, 150), (5, 250)])
def test_one_and_five_dimensions(d, n):
    est = sq.integrate(smooth, normal(d), n=n, method=ControlFunctional(), seed=1)
    assert abs(est.mean - d * np.exp(-0.5)) < min(5 * est.std, 0.05)


def test_whitening_makes_correlated_draws_easy():
    rng = np.random.default_rng(0)
    covariance = np.array([[1.0, 0.99], [0.99, 1.0]])
    x = rng.multivariate_normal([0, 0], covariance, 150)
    data = sq.Dataset(x, x[:, 0] * x[:, 1], -np.linalg.solve(covariance, x.T).T)
    est = sq.estimate(data, method=ControlFunctional())
    assert abs(est.mean - 0.99) < min(5 * est.std, 0.01)


def test_a_bounded_support_needs_its_boundary_factor():
    measure = dist.TruncatedNormal(0.0, 1.0, low=-0.5, high=1.5).expand([2]).to_event(1)
    cut = scipy.stats.truncnorm(-0.5, 1.5)
    truth = 2 * scipy.integrate.quad(lambda t: np.exp(t) * cut.pdf(t), -0.5, 1.5)[0]

    def f(x):
        return np.exp(x).sum(axis=1)

    est = sq.integrate(f, measure, n=200, method=ControlFunctional(), seed=0)
    assert abs(est.mean - truth) < min(5 * est.std, 5e-3)
    x = np.asarray(measure.sample(jax.random.key(0), (200,)), dtype=float)
    forgotten = sq.estimate(sq.Dataset(x, f(x), -x), method=ControlFunctional())
    assert forgotten.status.code == "suspect" and "bounded support" in forgotten.status.message
    unsampled = sq.Dataset(x, f(x), -x, sampled=False)
    assert sq.estimate(unsampled, method=ControlFunctional()).status.code != "suspect"


def test_shifting_scaling_outputs_and_predictions():
    def three(x):
        return np.stack([smooth(x), 10 + 4 * smooth(x), np.full(len(x), 7.0)], axis=1)

    data = evaluations(f=three)
    est = sq.estimate(data, method=ControlFunctional())
    assert est.mean[1] == pytest.approx(10 + 4 * est.mean[0], rel=1e-6)
    assert est.std[1] == pytest.approx(4 * est.std[0], rel=1e-3)
    assert est.mean[2] == 7.0 and est.std[2] == 0.0
    assert np.linalg.eigvalsh(est.covariance).min() > -1e-12 * est.covariance.max()
    mean, std = est.predict(data.x[:4], data.score[:4], return_std=True)
    np.testing.assert_allclose(mean, est.fit.fitted[:4], atol=1e-6)
    assert (std[:, :2] >= 0).all() and (std[:, 2] == 0).all()
    with pytest.raises(sq.InputError, match="score is missing"):
        est.predict(data.x[:4])


def test_repeated_draws_of_a_chain_work():
    data = evaluations(60)
    rows = np.sort(np.random.default_rng(0).integers(0, 60, 150))
    est = sq.estimate(data.take(rows), method=ControlFunctional())
    assert np.isfinite(est.mean) and abs(est.mean - 2 * np.exp(-0.5)) < 0.2


def test_noise_and_weights_of_zero():
    rng = np.random.default_rng(2)
    data = evaluations(150)
    noisy = data.fx[:, 0] + 0.3 * rng.standard_normal(150)
    exact = sq.estimate(data, method=ControlFunctional())
    known = sq.estimate(
        sq.Dataset(data.x, noisy, data.score, noise=0.3), method=ControlFunctional()
    )
    assert known.std > exact.std and abs(known.mean - 2 * np.exp(-0.5)) < 5 * known.std
    weights = np.ones(150)
    weights[:50] = 0
    some = sq.Dataset(data.x, noisy, data.score, weights=weights)
    est = sq.estimate(some, method=ControlFunctional())
    rest = sq.estimate(
        sq.Dataset(data.x[50:], noisy[50:], data.score[50:]), method=ControlFunctional()
    )
    assert est.mean == rest.mean and est.fit.fitted.shape == (100, 1)


def test_obstacles_are_what_estimate_raises():
    method = ControlFunctional(memory_limit=1.0)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20_000, 1))
    cases = {
        "score is missing": sq.Dataset(x[:50], x[:50, 0] ** 2),
        "20000 points": sq.Dataset(x, x[:, 0] ** 2, -x),
        "does not vary": sq.Dataset(np.ones((5, 1)), np.arange(5.0), np.ones((5, 1))),
        "at least 3": sq.Dataset(x[:2], x[:2, 0], -x[:2]),
    }
    for words, data in cases.items():
        reason = method.obstacle(data, None)
        assert reason is not None and words in reason and reason.endswith(".")
        with pytest.raises(sq.InputError) as caught:
            sq.estimate(data, method=method)
        assert str(caught.value) == reason
    assert method.obstacle(evaluations(), None) is None


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "rbf"},
        {"lengthscales": "many"},
        {"standardize": "none"},
        {"memory_limit": 0},
        {"criterion": "guess"},
    ],
    ids=str,
)
def test_bad_options_are_refused_with_their_name(options):
    with pytest.raises(sq.InputError, match=next(iter(options))):
        ControlFunctional(**options)
