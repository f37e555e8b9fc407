"""The posterior of the Goodwin oscillator (Ott et al., section 5.2 and appendix 1.3).

    du1/dt = a1 / (1 + a2 u2^10) - alpha u1,    du2/dt = k u1 - alpha u2,    u(0) = 0

observed with noise at 2400 times. We work in w = log x on all of R^4, where the prior is N(0, I),
and integrate x = exp(w): in x itself the posterior would end at a boundary.
"""

from collections.abc import Callable
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from steinquad._types import Array, as_count, as_points
from steinquad.errors import InputError
from steinquad.measures.checks import as_draw_request
from steinquad.measures.density import LogDensity
from steinquad.problems.problem import Problem

__all__ = ["GENERATING", "PARAMETERS", "TRUTHS", "goodwin", "observed", "rates", "simulator"]

PARAMETERS = ("a1", "a2", "k", "alpha")
GENERATING = (1.0, 3.0, 1.0, 0.5)  # parameters that the data are generated with
NOISE = np.array([0.1, 0.05])
OBSERVATIONS = 2400
SPAN = (1.0, 25.0)  # of the times of observation
FIRST_STEP = 0.01
# Posterior means of x by the data's seed; `steinquad truth goodwin` computes them again.
TRUTHS = {
    0: (0.99984841, 2.99968403, 1.00590157, 0.50141550),
    1: (0.99815970, 3.00092184, 1.00256136, 0.50083129),
}
COMPUTED = (
    "the truth is the posterior mean, by Stein control variates of order 4 on whitened NUTS draws "
    "at rtol 1e-9, in agreement with Sobol importance sampling (`steinquad truth goodwin`)"
)

Sensitivity = Literal["forward", "reverse"]


def goodwin(
    seed: int = 0,
    *,
    rtol: float = 1e-8,
    sensitivity: Sensitivity = "forward",
    observations: int = OBSERVATIONS,
    max_steps: int = 2000,
) -> Problem[Array]:
    """Posterior means of the four parameters x = (a1, a2, k, alpha) of the Goodwin oscillator.

    The truth is the posterior mean, not what the data were generated with: those differ by 1e-4
    to 6e-3. It is NaN for data whose posterior mean nobody has computed.

    Args:
        seed: of the noise in the data.
        rtol: relative and absolute tolerance of the ODE solver, which bounds the accuracy of every
            estimate that uses the score: about 1e-8 here, 1e-6 for 1e-6.
        sensitivity: how the score is found: "forward" along with the solution, or "reverse" by
            the checkpointed adjoint, which takes twice the time and is there to be compared with.
        observations: number of times in [1, 25]; the paper's by default.
        max_steps: of the solver. Where they do not suffice, the log density is minus infinity and
            the score NaN: a Markov chain rejects such a proposal and counts it.

    >>> problem = goodwin(observations=10)
    >>> problem.integrand([[0.0, 0.0, 0.0, np.log(0.5)]])
    array([[1. , 1. , 1. , 0.5]])
    >>> problem.measure.score([[0.0, 1.0, 0.0, -0.7]]).shape
    (1, 4)
    """
    _, seed = as_draw_request(1, seed)
    if sensitivity not in ("forward", "reverse"):
        raise InputError(f"sensitivity is {sensitivity!r}; choose 'forward' or 'reverse'.")
    times, data = observed(seed, observations)
    solve = simulator(times, rtol=rtol, max_steps=max_steps, sensitivity=sensitivity)

    def log_posterior(w: Any) -> Any:
        u, solved = solve(jnp.exp(w))
        value = -(jnp.sum(((u - data) / NOISE) ** 2) + w @ w) / 2
        return jnp.where(solved & jnp.isfinite(value), value, -jnp.inf)

    known = observations == OBSERVATIONS and seed in TRUTHS
    return Problem(
        name=f"goodwin-{seed}",
        integrand=lambda w: np.exp(as_points("w", w, len(PARAMETERS))),
        measure=LogDensity(
            log_posterior,
            len(PARAMETERS),
            names=[f"log {name}" for name in PARAMETERS],
            sequential=True,
            derivative=sensitivity,
        ),
        truth=np.array(TRUTHS[seed]) if known else np.full(len(PARAMETERS), np.nan),
        source="Goodwin oscillator of Ott, Tiemann, Hennig and Briol (UAI 2023), data of seed "
        f"{seed}; {COMPUTED if known else 'nobody has computed the truth'}.",
    )


def rates(u: Any, x: Any) -> tuple[Any, Any]:
    """The right-hand side of the ODE, (du1/dt, du2/dt).

    Args:
        u: concentrations of mRNA and protein.
        x: parameters a1, a2, k, alpha.
    """
    a1, a2, k, alpha = x
    return a1 / (1 + a2 * u[1] ** 10) - alpha * u[0], k * u[0] - alpha * u[1]


def observed(seed: int, observations: int = OBSERVATIONS) -> tuple[Array, Array]:
    """Times (t,) and data (t, 2): the trajectory of `GENERATING` by SciPy's DOP853, and noise.

    Args:
        seed: of the normal noise.
        observations: how many times, evenly spaced in [1, 25].
    """
    times = np.linspace(*SPAN, as_count("observations", observations, 2))
    u = solve_ivp(
        lambda t, u: rates(u, GENERATING),
        (0.0, SPAN[1]),
        np.zeros(2),
        method="DOP853",
        t_eval=times,
        rtol=1e-11,
        atol=1e-13,
    ).y.T
    return times, u + NOISE * np.random.default_rng(seed).standard_normal(u.shape)


def simulator(
    times: Array,
    *,
    rtol: float = 1e-8,
    max_steps: int = 2000,
    sensitivity: Sensitivity = "forward",
) -> Callable[[Any], tuple[Any, Any]]:
    """A JAX function of parameters x (4,): the trajectory (t, 2), and whether it was found.

    Args:
        times: when, ascending (t,).
        rtol: relative and absolute tolerance of the solver, Dormand and Prince's 5(4).
        max_steps: of the solver; more of them cost nothing where they are not needed.
        sensitivity: how derivatives pass through it; see `goodwin`.
    """
    if not (isinstance(rtol, float) and 1e-13 <= rtol <= 1e-2):
        raise InputError(f"rtol is {rtol!r}; give a number between 1e-13 and 1e-2.")
    as_count("max_steps", max_steps, 1)
    try:
        import diffrax
    except ImportError:
        raise InputError(
            "goodwin needs diffrax, which is not installed; pip install 'steinquad[ode]'."
        ) from None
    modes = {"forward": diffrax.ForwardMode, "reverse": diffrax.RecursiveCheckpointAdjoint}
    term: Any = diffrax.ODETerm(lambda t, u, x: jnp.stack(rates(u, x)))

    def solve(x: Any) -> tuple[Any, Any]:
        solution = diffrax.diffeqsolve(
            term,
            diffrax.Dopri5(),
            t0=0.0,
            t1=float(times[-1]),
            dt0=FIRST_STEP,
            y0=jnp.zeros(2),
            args=x,
            saveat=diffrax.SaveAt(ts=jnp.asarray(times)),
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=rtol),
            adjoint=modes[sensitivity](),
            max_steps=max_steps,
            throw=False,
        )
        return solution.ys, solution.result == diffrax.RESULTS.successful

    return solve
