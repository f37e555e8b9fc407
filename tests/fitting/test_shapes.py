"""Numbers of weights and of folds."""

import numpy as np
import pytest

import steinquad as sq
from steinquad.fitting.shapes import Limits, Shape
from steinquad.networks.mlp import MLP, Layers
from steinquad.networks.separate_mlp import SeparateMLP
from steinquad.networks.stein_network import SteinNetwork
from steinquad.training.objective import flatten


@pytest.mark.parametrize(("depth", "outputs"), [(1, 1), (2, 1), (3, 2)])
def test_the_number_of_weights_of_a_shape(depth, outputs):
    shape = Shape("tanh", 5, depth, sq.LBFGS())
    layers = Layers(dim=3, outputs=outputs, width=5, depth=depth, activation="tanh")
    field = MLP.initialize(0, layers, aligned=True)
    assert shape.weights(3, outputs) == flatten(SteinNetwork(np.zeros(outputs), field)).size
    field = SeparateMLP.initialize(0, layers)
    separate = Shape("tanh", 5, 2, sq.LBFGS(), separate=True)
    assert separate.weights(3, outputs) == flatten(SteinNetwork(np.zeros(outputs), field)).size


def test_the_number_of_folds():
    assert Limits().folds(200, 2) == Limits().folds(10_240, 7) == Limits().folds(10_240, 10) == 4
    assert Limits().folds(10_240, 20) == 8 and Limits().folds(1000, 20) == 4
    assert Limits().folds(50_000, 20) == Limits().folds(100_000, 2) == 2
