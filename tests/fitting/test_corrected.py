"""A fit with the answer of points that it has not seen; what `Subset` does is tested with it."""

import numpy as np
import pytest

import steinquad as sq
from steinquad.fit import ConstantModel, HeldOutValues, Status
from steinquad.fitting.corrected import corrected


@pytest.mark.parametrize("code", ["converged", "constant", "suspect"])
def test_mean_std_and_correlation_are_of_the_others(code):
    rng = np.random.default_rng(0)
    fit = sq.Fit(
        theta0=np.array([1.0, 2.0]),
        covariance=np.eye(2),
        model=ConstantModel(np.ones(2), np.ones(2)),
        status=Status(code, "so it went"),
        held_out=HeldOutValues(np.ones((3, 2)), np.ones((1, 2))),
    )
    left = rng.standard_normal((50, 2)) @ [[1.0, 0.7], [0.0, 1.0]]
    mean, std = np.array([1.5, 1.0]), np.array([0.1, 0.3])
    new = corrected(fit, mean, std, 7.0, left)
    np.testing.assert_allclose(new.mean, mean, rtol=1e-15)
    np.testing.assert_allclose(new.std, std, rtol=1e-14)
    cosine = left[:, 0] @ left[:, 1] / np.sqrt(np.prod(np.sum(left**2, axis=0)))
    np.testing.assert_allclose(new.covariance[0, 1], cosine * 0.03, rtol=1e-13)
    assert new.dof == 7.0 and new.held_out is None and new.check is None
    assert new.status.code == ("suspect" if code == "suspect" else "converged")
    assert new.predict is not None and new.model is fit.model
