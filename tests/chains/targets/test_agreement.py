"""The same draws and the same posterior: NumPyro, PyMC and Stan give the same scores."""

from pathlib import Path

import four_supports as four
import jax
import jax.numpy as jnp
import numpy as np

import steinquad as sq

FILE = Path(__file__).parents[2] / "data" / "stan_diagnostic.csv"
ROWS = 5  # as in the tests of each target, for which they were compiled already
# Where mu, sigma, r, theta and the matrix by rows are: NumPyro sorts by name and Stan goes by
# columns.
IN_NUMPYRO = [6, 8, 7, 9, 10, 0, 1, 2, 3, 4, 5]
IN_STAN = [0, 1, 2, 3, 4, 5, 7, 9, 6, 8, 10]


def assert_same(target, draws, points, scores):
    """NumPyro's points and scores, in the order of `target`, against those given."""
    own = target.unconstrain(draws)
    np.testing.assert_allclose(own[:, IN_NUMPYRO], points, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(target.score(own)[:, IN_NUMPYRO], scores, rtol=1e-8, atol=1e-8)


def from_stan(points):
    """Draws from unconstrained points in the order of IN_STAN, by hand."""
    mu, sigma, r = points[:, :3].T
    with jax.enable_x64(True):
        theta = np.asarray(jax.vmap(four.stick_breaking)(jnp.asarray(points[:, 3:5])))
    r = four.LOW + (four.HIGH - four.LOW) / (1 + np.exp(-r))
    b = points[:, 5:].reshape(-1, 2, 3)
    return {"mu": mu, "sigma": np.exp(sigma), "r": r, "theta": theta, "B": b}


def test_numpyro_agrees_with_what_stan_has_written(numpyro_target):
    stored = sq.targets.Stored.cmdstan([FILE])
    points = stored.unconstrain({})[:ROWS]
    scores = stored.score(points)[:, IN_STAN]
    points = points[:, IN_STAN]
    assert np.abs(scores).max() > 1.0  # the wrong sign would show
    assert_same(numpyro_target, from_stan(points), points, scores)


def test_numpyro_agrees_with_pymc(numpyro_target, pymc_target):
    draws = four.draws(ROWS)
    points = pymc_target.unconstrain(draws)
    scores = pymc_target.score(points)

    def sticks(ratios):
        """PyMC's two coordinates of a simplex to NumPyro's."""
        first, second, third = four.log_ratios(ratios)
        return jnp.array([jnp.log(2 * first / (second + third)), jnp.log(second / third)])

    def log_jacobian(ratios):
        (a, b), (c, d) = jax.jacfwd(sticks)(ratios)
        return jnp.log(jnp.abs(a * d - b * c))

    def move(ratios, score):
        """Coordinates and score of the simplex from PyMC's coordinates to NumPyro's."""
        slope = jax.jacfwd(sticks)(ratios)
        return sticks(ratios), jnp.linalg.solve(slope.T, score - jax.grad(log_jacobian)(ratios))

    with jax.enable_x64(True):
        theta = jax.jit(jax.vmap(move))(points[:, 3:5], scores[:, 3:5])
    points[:, 3:5], scores[:, 3:5] = (np.asarray(part) for part in theta)
    assert_same(numpyro_target, draws, points, scores)
