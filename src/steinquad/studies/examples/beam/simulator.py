"""A stand-in for an expensive simulator: a cantilever beam with a load at its end."""

__all__ = ["bend"]

WIDTH = 0.05  # m


def bend(load: float, length: float, modulus: float, height: float) -> dict[str, float]:
    """Deflection of the free end in m, and the largest bending stress in Pa."""
    inertia = WIDTH * height**3 / 12
    return {
        "deflection": load * length**3 / (3 * modulus * inertia),
        "stress": load * length * height / (2 * inertia),
    }
