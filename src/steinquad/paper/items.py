"""Every table and figure of Ott, Tiemann, Hennig and Briol (UAI 2023)."""

from collections.abc import Mapping

__all__ = ["ITEMS", "SKETCHES"]

# Numbered in the order in which they appear.
ITEMS: Mapping[str, str] = {
    "Figure 1": "sketch: cost, prior knowledge",
    "Figure 2": "sketch: the method",
    "Table 1": "six Genz families, d = 2, n = 5120",
    "Figure 3": "Continuous, error against dimension",
    "Figure 4": "Continuous, d = 1, activations",
    "Figure 5": "Continuous, d = 20, error, run time",
    "Figure 6": "Continuous, d = 20, memory, calibration",
    "Figure 7": "Goodwin oscillator, two parameters",
    "Figure 8": "wind farm",
    "Figure 9": "optimizers, condition numbers, CELU",
    "Figure 10": "optimizers, ReLU",
    "Figure 11": "Continuous, d = 1, sampling strategies",
    "Figure 12": "Continuous, d = 1, architectures",
    "Figure 13": "Continuous, d = 1, choices of m(x)",
    "Figure 14": "BQ with Matern 1/2, d = 1",
    "Figure 15": "Continuous, d = 2",
    "Figure 16": "Corner peak, d = 2",
    "Figure 17": "Discontinuous, d = 2",
    "Figure 18": "Gaussian peak, d = 2",
    "Figure 19": "Product peak, d = 2",
    "Figure 20": "Oscillatory, d = 2",
    "Figure 21": "Goodwin, the other two parameters",
}

SKETCHES = ("Figure 1", "Figure 2")  # drawn, with nothing to run
