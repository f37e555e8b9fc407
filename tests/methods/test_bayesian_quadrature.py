"""Bayesian quadrature: against emukit and dense algebra, exactness, honesty, refusals."""

import warnings

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.integrate
import scipy.stats

import steinquad as sq
from steinquad.kernels import RBF, Matern
from steinquad.measures.convert import as_measure
from steinquad.methods.bayesian_quadrature import BayesianQuadrature, _moments

FIXED = {"lengthscales": 0.9, "noise": 1e-2, "amplitude": 1.7}


def normal(d):
    return dist.Normal(0, 1).expand([d]).to_event(1)


def smooth(x):
    return np.cos(x).sum(axis=1)


def evaluations(n=60, d=2, seed=0, f=smooth, **options):
    x = np.random.default_rng(seed).standard_normal((n, d))
    return sq.Dataset(x, f(x), **options)


def emukit_answer(x, y, scales, lengthscale, amplitude, noise):
    """GaussianProcess mean and variance under N(0, diag(scales^2)), zero prior mean."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import GPy
        from emukit.model_wrappers.gpy_quadrature_wrappers import (
            BaseGaussianProcessGPy,
            RBFGPy,
        )
        from emukit.quadrature.kernels import QuadratureRBFGaussianMeasure
        from emukit.quadrature.measures import GaussianMeasure
        from emukit.quadrature.methods import VanillaBayesianQuadrature

        kernel = GPy.kern.RBF(x.shape[1], variance=amplitude**2, lengthscale=lengthscale)
        model = GPy.models.GPRegression(x, y[:, None], kernel, noise_var=noise**2)
        measure = GaussianMeasure(np.zeros(x.shape[1]), scales**2)
        embedding = QuadratureRBFGaussianMeasure(RBFGPy(model.kern), measure)
        base = BaseGaussianProcessGPy(kern=embedding, gpy_model=model, noise_free=False)
        mean, variance = VanillaBayesianQuadrature(base_gp=base, X=x, Y=y[:, None]).integrate()
    return float(np.squeeze(mean)), float(np.squeeze(variance))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_mean_and_variance_are_those_of_emukit(d):
    scales = np.linspace(0.8, 1.4, d)
    x = scales * np.random.default_rng(d).standard_normal((60, d))
    measure = dist.Normal(np.zeros(d), scales).to_event(1)
    # GPy adds 1e-8 to the diagonal by itself
    options = FIXED | {"noise": np.sqrt(1e-4 + 1e-8)}
    method = BayesianQuadrature(kernel=RBF(), mean="zero", **options)
    est = sq.estimate(sq.Dataset(x, smooth(x)), measure=measure, method=method)
    mean, variance = emukit_answer(x, smooth(x), scales, 0.9, 1.7, 1e-2)
    assert est.mean == pytest.approx(mean, rel=1e-6)
    assert est.std**2 == pytest.approx(variance, rel=1e-6)
    assert est.stats["amplitude"] == pytest.approx(1.7) and est.stats["evaluations"] == 0


@pytest.mark.parametrize("mean", ["zero", "constant", 2])
def test_fixed_hyperparameters_against_dense_algebra(mean):
    data = evaluations(50)
    method = BayesianQuadrature(kernel=RBF(), mean=mean, **FIXED)
    est = sq.estimate(data, measure=normal(2), method=method)
    x, y = data.x, data.fx[:, 0]
    squares = np.sum((x[:, None] - x[None]) ** 2, axis=-1)
    matrix = 1.7**2 * np.exp(-squares / 2 / 0.9**2) + 1e-4 * np.eye(50)
    width = 0.9**2 + 1
    z = 1.7**2 * 0.9**2 / width * np.exp(-np.sum(x**2, axis=1) / 2 / width)
    v0 = 1.7**2 * 0.9**2 / (0.9**2 + 2)
    columns = [np.ones(50), x[:, 0], x[:, 1], x[:, 0] ** 2, x[:, 0] * x[:, 1], x[:, 1] ** 2]
    count = {"zero": 0, "constant": 1, 2: 6}[mean]
    basis = np.stack(columns, axis=1)[:, :count]
    h = np.array([1.0, 0, 0, 1, 0, 1])[:count]
    inverse = np.linalg.inv(matrix)
    normal_matrix = basis.T @ inverse @ basis
    b = np.linalg.solve(normal_matrix, basis.T @ inverse @ y)
    missed = h - basis.T @ inverse @ z
    wanted = h @ b + z @ inverse @ (y - basis @ b)
    variance = v0 - z @ inverse @ z + missed @ np.linalg.solve(normal_matrix, missed)
    assert est.mean == pytest.approx(wanted, rel=1e-8)
    assert est.std**2 == pytest.approx(variance, rel=1e-6)


@pytest.mark.parametrize(
    "measure",
    [
        dist.MultivariateNormal(np.array([1.0, -2.0]), np.array([[2.0, 0.9], [0.9, 1.0]])),
        sq.Product({"a": dist.TruncatedNormal(0, 1, low=-0.5, high=1.5), "b": dist.Uniform(1, 4)}),
        sq.Product({"a": scipy.stats.gamma(3.0), "b": scipy.stats.norm(2, 0.1)}),
        dist.MixtureSameFamily(
            dist.Categorical(np.array([0.3, 0.7])),
            dist.Normal(np.array([[-1.0, 0.0], [2.0, 1.0]]), 0.5).to_event(1),
        ),
    ],
    ids=["correlated", "truncated", "gamma", "mixture"],
)
def test_a_quadratic_mean_integrates_quadratics_exactly(measure):
    def quadratic(x):
        return 3 + x[:, 0] - 2 * x[:, 1] + x[:, 0] * x[:, 1] + 0.5 * x[:, 1] ** 2

    known = as_measure(measure)
    x = known.sample(40, seed=0)
    method = BayesianQuadrature(mean=2, lengthscales=(0.7, 1.1), noise=0.0, amplitude=1.0)
    est = sq.estimate(sq.Dataset(x, quadratic(x)), measure=known, method=method)
    # the law's own moments, by its 1-d coordinates
    law = known.factors()
    total = 0.0
    for weight, laws in zip(law.weights, law.components, strict=True):
        nodes = [
            scipy.integrate.quad_vec(
                lambda t, c=c: np.array([t, t * t]) * c.pdf(np.array([t]))[0],
                max(c.low, -40.0),
                min(c.high, 60.0),
                epsabs=1e-12,
                points=[c.loc],
            )[0]
            for c in laws
        ]
        mean = law.affine.shift + law.affine.matrix @ [nodes[0][0], nodes[1][0]]
        spread = np.diag([second - first**2 for first, second in nodes])
        covariance = law.affine.matrix @ spread @ law.affine.matrix.T
        total += weight * (
            3
            + mean[0]
            - 2 * mean[1]
            + mean[0] * mean[1]
            + covariance[0, 1]
            + 0.5 * (mean[1] ** 2 + covariance[1, 1])
        )
    assert est.mean == pytest.approx(total, rel=1e-8)


def test_moments_that_do_not_exist_are_refused():
    law = as_measure(scipy.stats.t(1.5)).factors().components[0][0]
    with pytest.raises(sq.InputError, match="moment 2"):
        _moments(law, 0.0, 1.0, 2)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_finds_its_hyperparameters_and_is_close(d):
    est = sq.integrate(smooth, normal(d), n=120, method=BayesianQuadrature(), seed=3)
    assert abs(est.mean - d * np.exp(-0.5)) < min(5 * est.std, 0.02)
    assert est.stats["left_out_mean_square"] < 0.05
    assert est.stats["lengthscales"].shape == (d,) and not jax.config.jax_enable_x64


@pytest.mark.parametrize("criterion", ["leave_one_out", "likelihood"])
@pytest.mark.parametrize("case", ["mixture", "truncated"])
def test_truth_within_the_stated_std(case, criterion):
    if case == "mixture":
        measure = dist.MixtureSameFamily(
            dist.Categorical(np.array([0.4, 0.6])),
            dist.Normal(np.array([[-1.0, 0.0], [1.0, 0.5]]), 0.6).to_event(1),
        )
        truth = sum(
            w * np.exp(-0.18) * (np.cos(a) + np.cos(b))
            for w, a, b in ((0.4, -1.0, 0.0), (0.6, 1.0, 0.5))
        )
    else:
        measure = dist.TruncatedNormal(0.0, 1.0, low=-0.5, high=1.5).expand([2]).to_event(1)
        cut = scipy.stats.truncnorm(-0.5, 1.5)
        truth = 2 * scipy.integrate.quad(lambda t: np.cos(t) * cut.pdf(t), -0.5, 1.5)[0]
    method = BayesianQuadrature(criterion=criterion)
    for seed in (0, 1):
        est = sq.integrate(smooth, measure, n=100, method=method, seed=seed)
        assert abs(est.mean - truth) < 5e-3
        # the likelihood alone is over-confident of what lies beyond the outermost points
        assert abs(est.mean - truth) < (5 if criterion == "leave_one_out" else 8) * est.std


def test_points_outside_the_support_are_not_predicted():
    fixed = BayesianQuadrature(kernel=RBF(), **FIXED)
    est = sq.integrate(smooth, dist.Uniform(0, 1), n=20, method=fixed)
    assert est.predict([[0.5]])[0] == pytest.approx(np.cos(0.5), abs=0.01)
    with pytest.raises(sq.InputError, match="outside the support"):
        est.predict([[1.5]])


def test_a_start_skips_the_small_subset_and_agrees():
    data = evaluations(150)
    first = sq.estimate(data, measure=normal(2), method=BayesianQuadrature())
    method = BayesianQuadrature()
    again = method.estimate(
        data.completed(-data.x, sq.Support.real(2), ("a", "b")),
        as_measure(normal(2)),
        sq.Context(start=first.fit.warm_start),
    )
    assert again.stats["evaluations"] < first.stats["evaluations"] / 2
    assert again.mean == pytest.approx(first.mean, abs=first.std + 1e-6)


def test_shifting_scaling_and_several_outputs():
    def three(x):
        return np.stack([smooth(x), 10 + 4 * smooth(x), np.full(len(x), 7.0)], axis=1)

    est = sq.estimate(evaluations(f=three), measure=normal(2), method=BayesianQuadrature())
    assert est.mean[1] == pytest.approx(10 + 4 * est.mean[0], rel=1e-6)
    assert est.std[1] == pytest.approx(4 * est.std[0], rel=1e-3)
    assert est.mean[2] == 7.0 and est.std[2] == 0.0
    assert np.linalg.eigvalsh(est.covariance).min() > -1e-12 * est.covariance.max()
    assert est.covariance[0, 1] == pytest.approx(est.std[0] * est.std[1], rel=1e-3)
    mean, std = est.predict(np.zeros((4, 2)), return_std=True)
    assert mean.shape == std.shape == (4, 3) and (std[:, :2] > 0).all() and (std[:, 2] == 0).all()


def test_known_noise_widens_the_answer_and_the_noise_is_found():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((120, 2))
    sd = np.where(x[:, 0] > 0, 0.5, 0.02)
    noisy = smooth(x) + sd * rng.standard_normal(120)
    truth = 2 * np.exp(-0.5)
    exact = sq.estimate(sq.Dataset(x, smooth(x)), measure=normal(2), method=BayesianQuadrature())
    known = sq.estimate(
        sq.Dataset(x, noisy, noise=sd), measure=normal(2), method=BayesianQuadrature()
    )
    fitted = sq.estimate(sq.Dataset(x, noisy), measure=normal(2), method=BayesianQuadrature())
    assert exact.std < known.std < fitted.std
    for est in (known, fitted):
        assert abs(est.mean - truth) < 5 * est.std
    assert 0.2 < fitted.stats["nugget"][0] < 0.6  # root mean square 0.35
    two = sq.Dataset(x, np.stack([noisy, noisy], axis=1), noise=np.stack([sd, 2 * sd], axis=1))
    est = sq.estimate(two, measure=normal(2), method=BayesianQuadrature())
    assert est.std[0] == pytest.approx(known.std, rel=1e-6) and est.std[1] > est.std[0]
    assert est.stats["lengthscales"].shape == (2, 2)


def test_points_of_weight_zero_are_left_out_and_others_count_alike():
    data = evaluations(80)
    weights = np.random.default_rng(0).random(80) + 0.1
    weights[:5] = 0
    spoilt = data.fx[:, 0].copy()
    spoilt[:5] = 1e3
    method = BayesianQuadrature()
    est = sq.estimate(
        sq.Dataset(data.x, spoilt, weights=weights), measure=normal(2), method=method
    )
    rest = sq.Dataset(data.x[5:], spoilt[5:], weights=weights[5:])
    same = sq.estimate(rest, measure=normal(2), method=method)
    assert est.mean == same.mean and est.std == same.std
    assert est.fit.fitted.shape == (75, 1)


def test_duplicates_work_and_jitter_is_reported():
    data = evaluations(40)
    x = np.concatenate([data.x, data.x, data.x + 1e-13])
    twice = sq.Dataset(x, smooth(x))
    fixed = BayesianQuadrature(kernel=RBF(), noise=0.0, lengthscales=2.0)
    est = sq.estimate(twice, measure=normal(2), method=fixed)
    assert est.stats["jitter"] > 0 and abs(est.mean - 2 * np.exp(-0.5)) < 1e-3
    # Where the search for lengthscales ends in a singular matrix is a matter of rounding.
    free = BayesianQuadrature(kernel=RBF(), noise=0.0)
    est = sq.estimate(twice, measure=normal(2), method=free)
    assert est.stats["jitter"] > 0 and abs(est.mean - 2 * np.exp(-0.5)) < 5 * est.std


def test_memory_is_refused_before_it_is_allocated():
    x = np.random.default_rng(0).standard_normal((200_000, 1))
    with pytest.raises(sq.InputError, match=r"200000 points.*6 GiB.*sq.Polynomial\(\)"):
        sq.estimate(
            sq.Dataset(x, x[:, 0] ** 2), measure=dist.Normal(0, 1), method=BayesianQuadrature()
        )


@pytest.mark.parametrize("kind", ["none", "density", "draws", "correlated-mixture"])
def test_a_measure_without_kernel_integrals_is_refused(kind):
    data = evaluations(20)
    covariances = np.array([[[1.0, 0.5], [0.5, 1.0]], [[1.0, -0.5], [-0.5, 1.0]]])
    measure = {
        "none": None,
        "density": sq.LogDensity(lambda x: -0.5 * (x @ x), dim=2),
        "draws": sq.Draws(data.x, -data.x),
        "correlated-mixture": as_measure(
            dist.MixtureSameFamily(
                dist.Categorical(np.array([0.5, 0.5])),
                dist.MultivariateNormal(np.zeros((2, 2)), covariances),
            )
        ),
    }[kind]
    reason = BayesianQuadrature().obstacle(data, measure)
    assert reason is not None and "sq.ControlFunctional()" in reason and reason.endswith(".")
    with pytest.raises(sq.InputError) as caught:
        sq.estimate(data, measure=measure, method=BayesianQuadrature())
    assert str(caught.value) == reason
    assert BayesianQuadrature().obstacle(data, as_measure(normal(2))) is None


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "rbf"},
        {"lengthscales": "many"},
        {"lengthscales": -1.0},
        {"mean": "linear"},
        {"mean": True},
        {"noise": -1.0},
        {"amplitude": 0.0},
        {"memory_limit": 0},
        {"criterion": "guess"},
    ],
    ids=str,
)
def test_bad_options_are_refused_with_their_name(options):
    with pytest.raises(sq.InputError, match=next(iter(options))):
        BayesianQuadrature(**options)


def test_too_few_points_and_wrong_lengthscales_are_obstacles():
    data = evaluations(6)
    measure = as_measure(normal(2))
    assert "needs 8" in (BayesianQuadrature(mean=2).obstacle(data, measure) or "")
    method = BayesianQuadrature(lengthscales=(1.0, 1.0, 1.0), kernel=Matern(1.5))
    assert "3 entries" in (method.obstacle(data, measure) or "")


@pytest.mark.slow
def test_ten_thousand_points_fit_in_six_gib():
    """In a process of its own, with everything it imports."""
    import subprocess
    import sys

    code = (
        "import numpy as np, resource, numpyro.distributions as dist, steinquad as sq;"
        "m = dist.Normal(0, 1).expand([3]).to_event(1);"
        "e = sq.integrate(lambda x: np.cos(x).sum(1), m, n=10_000,"
        " method=sq.BayesianQuadrature());"
        "assert abs(e.mean - 3 * np.exp(-0.5)) < 1e-3, e;"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 6
