"""Means and failure probabilities of uqtestfuns' functions by formulas: see thirdparty_truths.py.

Sums and products of one-dimensional integrals where the function allows it, else conditioning on
all inputs but one or two that are then integrated in closed form.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy.special
import scipy.stats as st
from thirdparty_problems import Law
from thirdparty_quadrature import fine, gauss, integral, moment, panels, product

Phi, phi = scipy.special.ndtr, st.norm.pdf
BRANCH = 6 / math.sqrt(2)  # where the straight branches of FourBranch lie


def ackley(laws: Sequence[Law]) -> float:
    """The square in eight triangles, for the cone at its middle; cosines one by one."""
    side = laws[0].parameters[1]
    angle, turn = panels([0, math.pi / 4], 60)
    radius, along = panels([0, 1], 80)
    edge = side / np.cos(angle)[:, None]
    r = radius * edge
    cone = turn @ ((np.exp(-0.2 * r / math.sqrt(2)) * r * edge) @ along)
    cone *= 8 / (2 * side) ** 2
    x, w = panels(np.linspace(-side, side, 133).tolist(), 16)
    wave = w @ np.exp(np.cos(2 * math.pi * x) / 2) / (2 * side)
    return float(-20 * cone - wave**2) + 20 + math.e


def dette_curved(laws: Sequence[Law]) -> float:
    x, w = gauss(laws[0], 60)
    first = 4 * (0.5 - 2 + 8 * 0.5 - 8 / 3) + w @ (3 - 4 * x) ** 2
    return float(first + 16 * w @ (np.sqrt(x + 1) * (2 * x - 1) ** 2))


def dette8d(laws: Sequence[Law]) -> float:
    """The curved part, and E log(1 + s) of sums of uniforms by its integral representation."""

    def log_mean(terms: int) -> float:
        # log(1 + s) = int_0^inf (1 - e^(-t s)) e^(-t) / t dt
        def inner(t: float) -> float:
            return -math.expm1(terms * math.log(-math.expm1(-t) / t)) * math.exp(-t) / t

        return integral(inner, 1e-14, 1, 5, 20, 80)

    return dette_curved(laws) + sum((j + 1) * log_mean(j - 2) for j in range(3, len(laws)))


def dette_exp(laws: Sequence[Law]) -> float:
    del laws
    return 100 * sum(
        integral(lambda x, p=p: math.exp(-2 / x**p), 1e-8, 0.2, 0.6, 1.0)
        for p in (1.75, 1.5, 1.25)
    )


def flood(laws: Sequence[Law]) -> float:
    """A product of powers of independent factors, apart from the slope."""
    q, ks, bed, upstream, dike, bank, length, width = laws
    (v, wv), (m, wm) = gauss(bed, 30), gauss(upstream, 30)
    slope = wv @ (m[None, :] - v[:, None]) ** -0.3 @ wm
    factors = [(q, 0.6), (ks, -0.6), (width, -0.6), (length, 0.3)]
    height = slope * math.prod(moment(law, lambda x, p=p: x**p) for law, p in factors)
    mean = [moment(law, lambda x: x) for law in (bank, dike, bed)]
    return float(mean[0] + mean[1] - mean[2] - height)


def four_branch(laws: Sequence[Law]) -> float:
    """In rotated inputs (u, v): given v, the least of a - |u| and b, in closed form."""
    del laws
    bend = (math.sqrt(2 + 0.8 * (BRANCH - 3)) - math.sqrt(2)) / 0.4  # where a = b

    def given(v: float) -> float:
        b = BRANCH - math.sqrt(2) * v
        c = 3 + 0.2 * v**2 - b  # the least is b - max(|u| - c, 0)
        over = 2 * (phi(c) - c * Phi(-c)) if c > 0 else math.sqrt(2 / math.pi) - c
        return float(phi(v) * (b - over))

    return 2 * integral(given, 0, bend, 3, 6, 12)


def genz_discontinuous(laws: Sequence[Law]) -> float:
    return ((math.exp(2.5) - 1) / 5) ** len(laws)


def genz_corner_peak(laws: Sequence[Law]) -> float:
    """Inclusion and exclusion over the corners, all coefficients 5."""
    d, a = len(laws), 5.0
    total = sum((-1) ** k * math.comb(d, k) / (1 + a * k) for k in range(d + 1))
    return total / (a**d * math.factorial(d))


def genz_oscillatory(laws: Sequence[Law]) -> float:
    factor = (np.exp(5j) - 1) / 5j
    return float(np.real(np.exp(2j * math.pi * 0.5) * factor ** len(laws)))


def gramacy(laws: Sequence[Law]) -> float:
    del laws  # uniform on [0, 20]
    a, b = 0.2 * math.pi, 0.8 * math.pi
    wave = (1 - math.cos(9.6 * a)) / a + 0.2 * math.sin(9.6 * b) / b
    line = -(20 - 9.6) + 0.05 * (20**2 - 9.6**2)
    return (wave + line) / 20


def robot_arm(laws: Sequence[Law]) -> float:
    """A walk of four steps in uniform directions: E r = int_0^inf (1 - E J0(t r)) / t^2 dt."""
    count, j0, j1, struve = (
        len(laws) // 2,
        scipy.special.j0,
        scipy.special.j1,
        scipy.special.struve,
    )

    def walk(t: float) -> float:  # a step of uniform length l has the mean of J0(l t)
        bent = j1(t) * struve(0, t) - j0(t) * struve(1, t)
        return float(j0(t) + math.pi / 2 * bent) ** count

    near = 1e-3  # where 1 - walk(t) is count t^2 / 12
    head = count * near / 12 + integral(lambda t: (1 - walk(t)) / t**2, near, 1, 4, 10, 30)
    return head + 1 / 30 - integral(lambda t: walk(t) / t**2, *range(30, 331, 10))


def sulfur(laws: Sequence[Law]) -> float:
    means = math.prod(math.exp(law.parameters[0] + law.parameters[1] ** 2 / 2) for law in laws)
    return -0.5 * 1361 * means * 3.0 * 1e12 / 5.1e14 / 365


def undamped(laws: Sequence[Law]) -> tuple[np.ndarray, np.ndarray]:
    """Weights over (m, k1 + k2, t) and the displacement there for a unit force.

    The sum of two normals is one, and the time is cut at 0, where the displacement has a kink.
    """
    (k1, s1), (k2, s2) = laws[1].parameters, laws[2].parameters
    stiffness = Law("normal", (k1 + k2, math.hypot(s1, s2)))
    time, spread = laws[5].parameters
    t, wt = panels([time + spread * z for z in (-9, -time / spread, -3, 0, 3, 9)], 40)
    wt = wt * phi((t - time) / spread) / spread
    x, w = product([gauss(laws[0], 14), gauss(stiffness, 14), (t, wt)])
    return w, np.abs(2 / x[:, 1] * np.sin(np.sqrt(x[:, 1] / x[:, 0]) * x[:, 2] / 2))


def undamped_mean(laws: Sequence[Law]) -> float:
    w, displacement = undamped(laws)
    f, s = laws[4].parameters
    folded = s * math.sqrt(2 / math.pi) * math.exp(-((f / s) ** 2) / 2) + f * (1 - 2 * Phi(-f / s))
    return 3 * laws[3].parameters[0] - folded * float(w @ displacement)


def undamped_failure(laws: Sequence[Law]) -> float:
    """3 r < a |F| for normal r and F; both signs at once need r < 0, which does not happen."""
    w, a = undamped(laws)
    (r, sr), (f, sf) = laws[3].parameters, laws[4].parameters
    spread = np.hypot(3 * sr, a * sf)
    return float(w @ (Phi((a * f - 3 * r) / spread) + Phi((-a * f - 3 * r) / spread)))


def damped(laws: Sequence[Law], power: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Two coupled oscillators: weights, the mean and the variance of a normal exponent given them.

    With omega_p and omega_s the frequencies, the rms displacement is
    sqrt(S0) omega_s^(-3/2) G(omega_p / omega_s, m_s / m_p, zeta_p, zeta_s). All logarithms are
    normal, so that given the four arguments of G the logarithm of the displacement is normal too.

    Args:
        laws: lognormal m_p, m_s, k_p, k_s, zeta_p, zeta_s, S0, ...
        power: what else to multiply by, as powers of m_p, m_s, k_p, k_s.

    Returns:
        Weights, mean of the logarithm given the four, its variance.
    """
    middle = np.array([law.parameters[0] for law in laws[:4]])
    variance = np.array([law.parameters[1] ** 2 for law in laws[:4]])
    ratios = np.array([[-0.5, 0.5, 0.5, -0.5], [-1, 1, 0, 0]])  # log omega_p/omega_s, log m_s/m_p
    lower = np.linalg.cholesky(ratios @ np.diag(variance) @ ratios.T)
    exponent = power - 1.5 * np.array([0, -0.5, 0, 0.5])
    slope = np.linalg.solve(lower, ratios @ (variance * exponent))
    left = exponent @ (variance * exponent) - slope @ slope
    # The resonance is narrow in the first direction: even steps, which converge geometrically.
    z = np.linspace(-9, 9, 481)
    steps = phi(z) / phi(z).sum()
    hermite, weight = np.polynomial.hermite_e.hermegauss(28)
    weight = weight / weight.sum()
    few, light = np.polynomial.hermite_e.hermegauss(12)
    light = light / light.sum()
    x, w = product([(z, steps), (few, light), (hermite, weight), (hermite, weight)])
    r, gamma = np.exp(ratios @ middle + x[:, :2] @ lower.T).T
    zp, zs = (np.exp(laws[i].parameters[0] + laws[i].parameters[1] * x[:, i - 2]) for i in (4, 5))
    za, theta, beside = (zp + zs) / 2, 2 * (r - 1) / (r + 1), (r + 1) / 2
    square = math.pi / 4 / zs * za * zs / (zp * zs * (4 * za**2 + theta**2) + gamma * za**2)
    square *= (zp * r**3 + zs) * r / 4 / za / beside**4
    noise = laws[6].parameters
    mean = exponent @ middle + x[:, :2] @ slope + 0.5 * np.log(square) + noise[0] / 2
    return w, mean, float(left + noise[1] ** 2 / 4)


def damped_mean(laws: Sequence[Law]) -> float:
    w, mean, variance = damped(laws, np.zeros(4))
    return float(w @ np.exp(mean + variance / 2))


FORCE = np.array([0, 0, 0, 1.0])  # the force is three times k_s times the displacement


def damped_margin(laws: Sequence[Law]) -> float:
    w, mean, variance = damped(laws, FORCE)
    strength, spread = laws[7].parameters
    return math.exp(strength + spread**2 / 2) - 3 * float(w @ np.exp(mean + variance / 2))


def damped_failure(laws: Sequence[Law]) -> float:
    w, mean, variance = damped(laws, FORCE)
    strength, spread = laws[7].parameters
    return float(
        w @ Phi((math.log(3) + mean - strength) / math.hypot(math.sqrt(variance), spread))
    )


def wing_weight(laws: Sequence[Law]) -> float:
    """A product of functions of one input each, and a product of two."""
    powers = {1: 0.0035, 2: 0.6, 4: 0.006, 5: 0.04, 6: -0.3, 7: 0.49, 8: 0.49}
    value = 0.036 * 100**-0.3 * moment(laws[0], lambda x: x**0.758)
    for i, p in powers.items():
        value *= moment(laws[i], lambda x, p=p: x**p)
    value *= moment(laws[3], lambda x: np.cos(np.pi / 180 * x) ** (-1.2 + 0.3))
    return value + moment(laws[0], lambda x: x) * moment(laws[9], lambda x: x)


def cantilever_failure(laws: Sequence[Law]) -> float:
    """The load that the beam just bears is a multiple of the cube of its height."""
    load, spread = laws[0].parameters
    x, w = fine(laws[1])
    limit = 6000 / 325 / (1.5 * 6000**4 / 26e9) * x**3
    return float(w @ Phi((load - limit) / spread))


def convex_failure(laws: Sequence[Law]) -> float:
    x, w = fine(laws[0])
    return float(w @ Phi(-(2.5 + 0.2 * x**2)))


def four_branch_failure(laws: Sequence[Law]) -> float:
    del laws
    side = BRANCH / math.sqrt(2)
    inside = integral(lambda v: float(phi(v) * 2 * Phi(-(3 + 0.2 * v**2))), 0, 1, side)
    return 2 * (inside + float(Phi(-side)))


def gayton_failure(laws: Sequence[Law]) -> float:
    del laws
    bends = 2 - math.sqrt(6), 2 + math.sqrt(6)  # of a cubic root

    def given(x: float) -> float:
        return float(phi(x) * Phi(-5 - np.cbrt((0.5 * (x - 2) ** 2 - 3) / 1.5)))

    return integral(given, -12, -4, bends[0], 1, 2, 3, bends[1], 12)


def sphere_failure(laws: Sequence[Law]) -> float:
    m, s = laws[0].parameters

    def given(x: float) -> float:
        return float(phi((x - m) / s) / s * Phi((m - np.cbrt(1 - x**3)) / s))

    return integral(given, m - 9 * s, m - 3 * s, m, m + s, 1.0, m + 4 * s, m + 9 * s)


def bar_failure(laws: Sequence[Law]) -> float:
    (strength, s1), (force, s2) = laws[0].parameters, laws[1].parameters
    per = 1e3 / (math.pi * 0.025**2 / 4) / 1e6
    return float(Phi((per * force - strength) / math.hypot(s1, per * s2)))


def pipe_failure(laws: Sequence[Law]) -> float:
    strength, spread = laws[0].parameters
    x, w = fine(laws[1])
    arm = 4 * 0.03377 * 0.3377**2 * (np.cos(x / 2) - 0.5 * np.sin(x))
    return float(w @ Phi((3 / arm - strength) / spread))


def quadratic_failure(laws: Sequence[Law]) -> float:
    strength, spread = laws[0].parameters
    x, w = fine(laws[1])
    return float(w @ Phi((x**2 - strength) / spread))


def gumbel_rule(law: Law) -> tuple[np.ndarray, np.ndarray]:
    """Panels over a Gumbel variable: few nodes of its own rule would lie beyond all its mass."""
    mode, scale = law.parameters
    x, w = panels([mode + scale * z for z in (-3.6, -2, 0, 2, 5, 8, 10, 12, 16, 36)], 40)
    z = (x - mode) / scale
    return x, w * np.exp(-z - np.exp(-z)) / scale


def shaft_margin(laws: Sequence[Law]) -> float:
    diameter, length, force, torque, strength = laws
    x, w = product([gauss(length, 3), gumbel_rule(force), gauss(torque, 40)])
    load = float(w @ np.hypot(x[:, 1] * x[:, 0] / 4e3, x[:, 2]))
    wire = moment(diameter, lambda d: 32 / math.pi / (d / 1e3) ** 3)
    return moment(strength, lambda s: s) * 1e6 - wire * load


def shaft_failure(laws: Sequence[Law]) -> float:
    """Given all but the torque, which fails beyond a value of either sign."""
    diameter, length, force, torque, strength = laws
    x, w = product([gauss(diameter, 7), gauss(length, 3), gumbel_rule(force), gauss(strength, 14)])
    resist = x[:, 3] * 1e6 * math.pi / 32 * (x[:, 0] / 1e3) ** 3
    rest = np.sqrt(np.maximum(resist**2 - (x[:, 2] * x[:, 1] / 4e3) ** 2, 0))
    m, s = torque.parameters
    return float(w @ (Phi((m - rest) / s) + Phi((-rest - m) / s)))


REFERENCES: dict[str, Callable[[Sequence[Law]], float]] = {
    "Ackley2": ackley,
    "BratleyA5": lambda laws: 1.0,
    "BratleyB5": lambda laws: math.prod(math.sin(i) for i in range(1, len(laws) + 1)),
    "BratleyC5": lambda laws: 0.0,  # odd Chebyshev polynomials are among the factors
    "BratleyD5": lambda laws: sum((-0.5) ** j for j in range(1, len(laws) + 1)),
    "Dette8D": dette8d,
    "DetteCurved": dette_curved,
    "DetteExp": dette_exp,
    "Flood": flood,
    "FourBranch": four_branch,
    "GenzContinuous5": lambda laws: (2 * (1 - math.exp(-2.5)) / 5) ** len(laws),
    "GenzCornerPeak5": genz_corner_peak,
    "GenzDiscontinuous5": genz_discontinuous,
    "GenzGaussian5": lambda laws: (math.sqrt(math.pi) / 5 * math.erf(2.5)) ** len(laws),
    "GenzOscillatory5": genz_oscillatory,
    "GenzProductPeak5": lambda laws: (10 * math.atan(2.5)) ** len(laws),
    "GramacySine": gramacy,
    "Ishigami": lambda laws: 3.5,
    "Oakley1D": lambda laws: 5 + math.exp(-(laws[0].parameters[1] ** 2) / 2),
    "RobotArm": robot_arm,
    "SobolG8": lambda laws: 1.0,
    "SobolGStar8": lambda laws: 1.0,
    "SobolLevitan20": lambda laws: 0.0,
    "Sulfur": sulfur,
    "UndampedOscillator": undamped_mean,
    "Welch20D": lambda laws: 5 / 6 + 0.25 / 12,
    "WingWeight": wing_weight,
    "DampedOscillator": damped_mean,
    "RSDampedOscillator": damped_margin,
    "RSSpeedReducerShaft": shaft_margin,
    "P(CantileverBeam2D)": cantilever_failure,
    "P(ConvexFailDomain)": convex_failure,
    "P(FourBranch)": four_branch_failure,
    "P(GaytonHat)": gayton_failure,
    "P(HyperSphere)": sphere_failure,
    "P(RSCircularBar)": bar_failure,
    "P(RSCircularPipeCrack)": pipe_failure,
    "P(RSDampedOscillator)": damped_failure,
    "P(RSQuadratic)": quadratic_failure,
    "P(RSSpeedReducerShaft)": shaft_failure,
    "P(UndampedOscillator)": undamped_failure,
}
