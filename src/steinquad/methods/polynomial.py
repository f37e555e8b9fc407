"""Polynomials that integrate to zero: of the distribution functions, or by the Stein operator."""

from dataclasses import dataclass
from typing import Literal

from steinquad.dataset import Dataset
from steinquad.fit import Context, Fit
from steinquad.measures.base import Measure
from steinquad.methods.base import Method, check_choices
from steinquad.methods.regression import Regression
from steinquad.stein.cdf_legendre import CdfLegendre
from steinquad.stein.features import Features
from steinquad.stein.score_polynomials import ScorePolynomials

__all__ = ["Polynomial"]


@dataclass(frozen=True, kw_only=True)
class Polynomial(Method):
    """Bayesian linear regression on mean-zero polynomials, of total degree up to `order`.

    Exact and fast; the best choice for smooth f in few dimensions and for posteriors that are
    nearly normal. In more than five dimensions the index set is hyperbolic.

    Attributes:
        order: highest degree, or "auto" for the one whose integral is known best.
        features: "cdf" for Legendre polynomials of the exact distribution functions (independent
            coordinates; correlated normals are whitened), "score" for Stein images of gradients
            of polynomials, "auto" for the first of these that the measure allows.
        name: for tables.

    >>> import numpyro.distributions as dist, steinquad as sq
    >>> est = sq.integrate(lambda x: x[:, 0] ** 4, dist.Normal(0, 1), n=100,
    ...                    method=sq.Polynomial(features="score"))
    >>> abs(est.mean - 3) < 1e-9
    True
    """

    order: int | Literal["auto"] = "auto"
    features: Literal["auto", "cdf", "score"] = "auto"
    name: str = "Polynomial"

    def __post_init__(self) -> None:
        check_choices(self, features=("auto", "cdf", "score"))
        Regression(features=CdfLegendre(), order=self.order)  # checks the order

    def obstacle(self, data: Dataset, measure: Measure | None) -> str | None:
        """Why it cannot be used on such data, or None.

        With `features="auto"` this is the obstacle of the score features where those of the
        distribution functions are not available, which need independent coordinates.
        """
        return self._regression(data, measure).obstacle(data, measure)

    def fit(self, data: Dataset, measure: Measure | None, context: Context) -> Fit:
        """Fit the regression on the features that the options and the measure select.

        See `Method.fit` for arguments, and `Regression` for how the order and the decay of the
        prior are chosen and what the `stats` hold.
        """
        return self._regression(data, measure).fit(data, measure, context)

    def _regression(self, data: Dataset, measure: Measure | None) -> Regression:
        features: Features = ScorePolynomials() if self.features == "score" else CdfLegendre()
        if self.features == "auto" and features.obstacle(data, measure):
            features = ScorePolynomials()
        return Regression(features=features, order=self.order, name=self.name)
