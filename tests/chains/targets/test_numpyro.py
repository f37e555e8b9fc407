"""NumPyro models: transforms there and back, scores against densities written by hand."""

import four_supports as four
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as nd
import pytest
from made_up_chains import independent
from numpyro import handlers
from numpyro.infer.reparam import LocScaleReparam, TransformReparam

import steinquad as sq
from steinquad import InputError

ORDER = sorted(["mu", "sigma", "r", "theta", "B"])


@pytest.fixture
def target(numpyro_target):
    return numpyro_target


def differences(target, points, log_density, step=1e-5):
    """The score against central differences of a log density in JAX."""
    d = points.shape[1]
    moves = np.concatenate([step * np.eye(d), -step * np.eye(d)])
    with jax.enable_x64(True):
        moved = (points[:, None] + moves).reshape(-1, d)
        up, down = np.split(
            np.asarray(jax.jit(jax.vmap(log_density))(moved)).reshape(-1, 2, d), 2, axis=1
        )
    slopes = (up - down)[:, 0] / (2 * step)
    np.testing.assert_allclose(target.score(points), slopes, rtol=1e-6, atol=1e-6)


def test_scores_are_those_of_the_density_written_by_hand(target):
    points = target.unconstrain(four.draws(5))
    by_hand = four.scores_by_hand(points, ORDER, four.stick_breaking)
    np.testing.assert_allclose(target.score(points), by_hand, rtol=1e-10, atol=1e-10)


def test_scores_are_float64_whatever_the_flags_and_the_data(target):
    assert not jax.config.jax_enable_x64
    single = [jnp.asarray(a, dtype=jnp.float32) for a in (four.Y, four.CENTRES)]
    other = sq.targets.NumPyro(four.numpyro_model, single[0], four.COUNTS, single[1])
    points = target.unconstrain(four.draws(5))
    scores = other.score(points)
    assert points.dtype == np.float64 and scores.dtype == np.float64
    np.testing.assert_allclose(scores, target.score(points), rtol=1e-5)


SITES = {
    "real": nd.Normal(1.0, 2.0),
    "positive": nd.HalfCauchy(1.0),
    "beyond": nd.Pareto(2.0, 3.0),
    "unit": nd.Beta(2.0, 3.0),
    "interval": nd.Uniform(-2.0, 5.0),
    "simplex": nd.Dirichlet(jnp.array([1.0, 2.0, 3.0, 4.0])),
    "correlation": nd.LKJCholesky(4, 2.0),
    "matrix": nd.LKJ(3, 1.5),
    "covariance": nd.Wishart(5.0, jnp.eye(3)),
    "ordered": nd.TransformedDistribution(
        nd.Normal(0.0, 1.0).expand([3]).to_event(1), nd.transforms.OrderedTransform()
    ),
    "zero_sum": nd.ZeroSumNormal(1.0, (4,)),
}


USUAL = ["positive", "unit", "interval", "simplex", "correlation", "ordered"]


@pytest.mark.parametrize("names", [USUAL, pytest.param(sorted(SITES), marks=pytest.mark.slow)])
def test_every_support_has_a_way_there_and_back(names):
    def model():
        for name in names:
            numpyro.sample(name, SITES[name])

    target = sq.targets.NumPyro(model)
    transforms = {name: nd.biject_to(SITES[name].support) for name in sorted(names)}
    shapes = {name: t.inverse_shape(SITES[name].event_shape) for name, t in transforms.items()}
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])

    def split(point):
        parts = zip(shapes.items(), jnp.split(point, ends[:-1]), strict=True)
        return {name: part.reshape(shape) for (name, shape), part in parts}

    def log_density(point):
        total = 0.0
        for name, z in split(point).items():
            value = transforms[name](z)
            total += transforms[name].log_abs_det_jacobian(z, value).sum()
            total += SITES[name].log_prob(value)
        return total

    points = np.random.default_rng(0).normal(size=(3, ends[-1]))
    with jax.enable_x64(True):
        constrain = jax.vmap(lambda p: {k: transforms[k](z) for k, z in split(p).items()})
        draws = jax.jit(constrain)(points)
    draws = {name: np.asarray(values) for name, values in draws.items()}
    np.testing.assert_allclose(target.unconstrain(draws), points, rtol=1e-7, atol=1e-9)
    # In float32, as NumPyro's chains are stored by default.
    stored = {name: values.astype(np.float32) for name, values in draws.items()}
    np.testing.assert_allclose(target.unconstrain(stored), points, rtol=1e-3, atol=1e-4)
    differences(target, points, log_density)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_normal_posterior_has_the_linear_score(d):
    def model(y):
        x = numpyro.sample("x", nd.Normal(0.0, 1.0).expand([d]).to_event(1))
        with numpyro.plate("rows", len(y)):
            numpyro.sample("y", nd.Normal(x, 0.5).to_event(1), obs=y)

    rng = np.random.default_rng(d)
    y, x = rng.normal(size=(7, d)), rng.normal(size=(4, d))
    target = sq.targets.NumPyro(model, y)
    points = target.unconstrain({"x": x})
    np.testing.assert_allclose(points, x)
    expected = -x + (y.sum(0) - 7 * x) / 0.25
    np.testing.assert_allclose(target.score(points), expected, rtol=1e-12)


def schools(y, errors):
    mu = numpyro.sample("mu", nd.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", nd.HalfCauchy(5.0))
    with numpyro.plate("schools", len(y)):
        theta = numpyro.sample("theta", nd.Normal(mu, tau))
        numpyro.sample("y", nd.Normal(theta, errors), obs=y)


Y = np.array([28.0, 8.0, -3.0])
ERRORS = np.array([15.0, 10.0, 16.0])


def test_reparametrized_models_are_scored_in_their_auxiliary_sites():
    model = handlers.reparam(schools, config={"theta": LocScaleReparam(0.0)})
    rng = np.random.default_rng(0)
    mu, log_tau, auxiliary = rng.normal(size=4), rng.normal(size=4), rng.normal(size=(4, 3))
    theta = mu[:, None] + np.exp(log_tau)[:, None] * auxiliary
    draws = {"mu": mu, "tau": np.exp(log_tau), "theta_decentered": auxiliary, "theta": theta}
    target = sq.targets.NumPyro(model, Y, ERRORS)
    points = target.unconstrain(draws)
    np.testing.assert_allclose(points, np.column_stack([mu, log_tau, auxiliary]), atol=1e-12)

    def log_density(z):
        tau = jnp.exp(z[1])
        prior = -(z[0] ** 2) / 50 - jnp.log1p(tau**2 / 25) + z[1] - z[2:] @ z[2:] / 2
        return prior - jnp.sum((Y - z[0] - tau * z[2:]) ** 2 / ERRORS**2) / 2

    differences(target, points, log_density)
    with pytest.raises(InputError, match="no variable 'theta_decentered', which the model"):
        target.unconstrain({"mu": mu, "tau": np.exp(log_tau), "theta": theta})


def test_a_transformed_distribution_can_be_sampled_by_its_base():
    def model():
        numpyro.sample("v", nd.LogNormal(1.0, 2.0))

    target = sq.targets.NumPyro(handlers.reparam(model, config={"v": TransformReparam()}))
    points = target.unconstrain({"v_base": np.array([0.5, -1.0])})
    np.testing.assert_allclose(target.score(points), -(points - 1.0) / 4.0)


def test_bounds_may_depend_on_other_variables():
    def model():
        a = numpyro.sample("a", nd.Exponential(1.0))
        numpyro.sample("b", nd.Uniform(0.0, a))

    target = sq.targets.NumPyro(model)
    points = target.unconstrain({"a": np.array([2.0, 4.0]), "b": np.array([0.5, 3.0])})
    np.testing.assert_allclose(points, [[np.log(2), -np.log(3)], [np.log(4), np.log(3)]])

    def log_density(z):  # the width a of the uniform cancels against its Jacobian
        return -jnp.exp(z[0]) + z[0] - z[1] - 2 * jnp.log1p(jnp.exp(-z[1]))

    differences(target, points, log_density)


def test_wrong_models_and_draws_are_refused(target):
    def mixture(y):
        k = numpyro.sample("k", nd.Bernoulli(0.5))
        numpyro.sample("y", nd.Normal(1.0 * k, 1.0), obs=y)

    with pytest.raises(InputError, match="discrete site 'k', so its posterior has no score"):
        sq.targets.NumPyro(mixture, 1.0)
    with pytest.raises(InputError, match="no sampled site"):
        sq.targets.NumPyro(lambda: numpyro.sample("y", nd.Normal(0.0, 1.0), obs=1.0))
    with pytest.raises(InputError, match="model is a int"):
        sq.targets.NumPyro(3)  # pyright: ignore[reportArgumentType]
    draws = four.draws(5)
    with pytest.raises(InputError, match=r"draws of 'theta' have shape \(5, 2\).*\(n, 3\)"):
        target.unconstrain({**draws, "theta": draws["theta"][:, :2]})
    with pytest.raises(InputError, match=r"points has shape \(4, 3\).*11 unconstrained"):
        target.score(np.zeros((4, 3)))
    outside = {
        "sigma": np.array([1.0, 1.0, -1.0, 1.0, 1.0]),
        "r": np.array([0.0, 0.0, 3.5, 0.0, 0.0]),
        "theta": draws["theta"] * np.array([1.0, 1.0, 2.0, 1.0, 1.0])[:, None],
    }
    for name, values in outside.items():
        with pytest.raises(InputError, match=f"draws of '{name}' leave the support.*draw 2"):
            target.unconstrain({**draws, name: values})
    with pytest.raises(InputError, match="on the edge of the support.*first draw 0"):
        target.unconstrain({**draws, "r": np.full(5, 3.0)})


def test_a_function_without_arguments_is_a_numpyro_model():
    def model():
        numpyro.sample("a", nd.Normal(1.0, 2.0))

    assert isinstance(sq.targets.as_target(model), sq.targets.NumPyro)
    x = 1.0 + 2.0 * independent(4, 100, 1)[..., 0]
    result = sq.posterior_expectation({"a": x}, score=sq.targets.as_target(model))
    assert result["a"].mean == pytest.approx(1.0, abs=1e-6)


def test_flat_priors_need_no_sampler():
    def model(y):
        mu = numpyro.sample("mu", nd.ImproperUniform(nd.constraints.real, (), (2,)))
        sigma = numpyro.sample("sigma", nd.ImproperUniform(nd.constraints.positive, (), ()))
        numpyro.sample("y", nd.Normal(mu.sum(), sigma), obs=y)

    y = np.array([1.0, 2.0, 4.0])
    target = sq.targets.NumPyro(model, y)
    points = target.unconstrain({"mu": np.array([[0.5, 0.25]]), "sigma": np.array([2.0])})
    np.testing.assert_allclose(points, [[0.5, 0.25, np.log(2.0)]])
    residual = y - 0.75
    slope = residual.sum() / 4
    by_hand = [[slope, slope, 1 - 3 + np.sum(residual**2) / 4]]
    np.testing.assert_allclose(target.score(points), by_hand, rtol=1e-12)


def test_a_truncated_student_t_needs_no_sampler():
    def model():
        half = nd.LeftTruncatedDistribution(nd.StudentT(3.0, 0.0, 1.0), low=0.0)
        numpyro.sample("x", half)

    target = sq.targets.NumPyro(model)
    x = np.array([0.5, 1.0, 2.0])
    points = target.unconstrain({"x": x})
    np.testing.assert_allclose(target.score(points)[:, 0], 1 - 4 * x**2 / (3 + x**2), rtol=1e-12)
