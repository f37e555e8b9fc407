"""What features have unless they say otherwise: orders worth trying, degrees, no obstacle."""

import numpy as np
import pytest

from steinquad.dataset import Dataset
from steinquad.stein.features import Features, PolynomialFeatures


class Sized(Features):
    """With so many features up to each order."""

    highest = 20

    def __init__(self, sizes):
        self.sizes = sizes

    def size(self, order):
        return self.sizes(order)

    def __call__(self, x, score, order):
        return np.zeros((len(x), self.size(order)))


@pytest.mark.parametrize(
    ("sizes", "most", "orders"),
    [
        (lambda order: order, 12, [1, 2, 3, 4, 6, 9]),  # beyond the fourth each adds half
        (lambda order: order, 3, [1, 2, 3]),
        (lambda order: 2**order, 100, [1, 2, 3, 4, 5, 6]),
        (lambda order: min(order, 2), 100, [1, 2]),  # the third adds none
        (lambda order: 10 * order, 9, []),
        (lambda order: 4**order, 10**18, list(range(1, 21))),
    ],
)
def test_orders_worth_trying(sizes, most, orders):
    assert Sized(sizes).orders(most) == orders


def test_by_default_they_suit_all_data_and_are_alike():
    data = Dataset(np.zeros((3, 2)), np.arange(3.0))
    features = Sized(lambda order: 3 * order)
    assert features.fit(data, None) is features
    assert features.obstacle(data, None) is None and features.trouble(data, 2) is None
    np.testing.assert_array_equal(features.degrees(2), np.ones(6))


class Powers(PolynomialFeatures):
    """Sizes and degrees only."""

    def __call__(self, x, score, order):
        raise NotImplementedError


@pytest.mark.parametrize(("dim", "sizes"), [(1, [1, 2, 3]), (2, [2, 5, 9]), (5, [5, 20, 55])])
def test_degrees_of_polynomials_are_nested(dim, sizes):
    features = Powers(dim=dim)
    assert [features.size(order) for order in (1, 2, 3)] == sizes
    degrees = features.degrees(3)
    assert degrees.dtype == np.float64 and np.all(np.diff(degrees) >= 0)
    np.testing.assert_array_equal(degrees[: sizes[1]], features.degrees(2))
