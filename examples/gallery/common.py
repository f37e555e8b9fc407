"""What the posteriors of the gallery share: sampling, exact posterior means, and the figure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jax.flatten_util import ravel_pytree
from numpyro.infer import MCMC, NUTS, init_to_median
from numpyro.infer.util import initialize_model

import steinquad as sq

CHAINS, WARMUP, DRAWS = 4, 500, 500


@dataclass(frozen=True)
class Means:
    """Posterior means by label, with a bound of their own error."""

    value: Mapping[str, float]
    error: Mapping[str, float]

    @classmethod
    def compared(cls, fine: Mapping[str, float], coarse: Mapping[str, float]) -> "Means":
        """The finer of two quadratures; how far the other is off bounds its error."""
        return cls(fine, {k: abs(fine[k] - coarse[k]) + 1e-13 * abs(fine[k]) for k in fine})


@dataclass(frozen=True)
class Posterior:
    """A posterior whose means are known.

    Attributes:
        name: for tables.
        model: of NumPyro.
        args: its data.
        means: the truth, by quadrature.
        smooth: near enough to a normal distribution for polynomials to do well.
    """

    name: str
    model: Callable[..., Any]
    args: tuple[Any, ...]
    means: Callable[[], Means]
    smooth: bool = True

    def sampler(self) -> Callable[[int], dict[str, np.ndarray]]:
        """Draws by seed, (chain, draw, *shape); compiled once."""
        # Without arguments to `run`: NumPyro compiles again for arrays that it is given.
        kernel = NUTS(partial(self.model, *self.args), target_accept_prob=0.9)
        mcmc = MCMC(
            kernel,
            num_warmup=WARMUP,
            num_samples=DRAWS,
            num_chains=CHAINS,
            chain_method="vectorized",
            progress_bar=False,
        )

        def draw(seed: int) -> dict[str, np.ndarray]:
            mcmc.run(jax.random.key(seed))
            found = mcmc.get_samples(group_by_chain=True)
            return {name: np.asarray(x, dtype=np.float64) for name, x in found.items()}

        return draw


def grid_means(
    model: Callable[..., Any], args: tuple[Any, ...], *, nodes: int, width: float
) -> Means:
    """Posterior means of up to four parameters by the trapezoidal rule, in unconstrained space.

    The grid is that of the Laplace approximation, `width` of its standard deviations to each side.
    For an integrand that is smooth and gone at the ends the rule converges exponentially. It is
    compared with one that is coarser and narrower.
    """
    coarse = _grid_means(model, args, nodes * 3 // 4, 0.85 * width)
    return Means.compared(_grid_means(model, args, nodes, width), coarse)


def _grid_means(
    model: Callable[..., Any], args: tuple[Any, ...], nodes: int, width: float
) -> dict[str, float]:
    with jax.enable_x64(True):
        args = jax.tree.map(jnp.asarray, args)
        start = initialize_model(
            jax.random.key(0), model, model_args=args, init_strategy=init_to_median()
        )
        center, unravel = ravel_pytree(start.param_info.z)
        potential = jax.jit(lambda z: start.potential_fn(unravel(z)))
        slope = jax.jit(jax.grad(potential))
        best = scipy.optimize.minimize(potential, center, jac=slope, method="BFGS")
        cholesky = np.linalg.cholesky(np.linalg.inv(jax.hessian(potential)(best.x)))
        ticks = np.linspace(-width, width, nodes)
        dim = len(center)
        t = np.stack(np.meshgrid(*[ticks] * dim, indexing="ij"), axis=-1).reshape(-1, dim)
        z = best.x + t @ cholesky.T

        @jax.jit
        def evaluate(z: Any) -> tuple[Any, Any]:
            values = jax.vmap(lambda x: start.postprocess_fn(unravel(x)))(z)
            return -jax.vmap(potential)(z), values

        pieces = [evaluate(jnp.asarray(piece)) for piece in np.array_split(z, len(z) // 4096 + 1)]
    log_density = np.concatenate([np.asarray(log) for log, _ in pieces])
    log_density[~np.isfinite(log_density)] = -np.inf  # far out, where a model breaks down
    weight = np.exp(log_density - log_density.max())
    values = {name: np.concatenate([p[1][name] for p in pieces]) for name in pieces[0][1]}
    return labelled({name: np.average(x, axis=0, weights=weight) for name, x in values.items()})


def labelled(values: Mapping[str, Any]) -> dict[str, float]:
    """`{"theta": [1, 2]}` as `{"theta[0]": 1.0, "theta[1]": 2.0}`."""
    found = {}
    for name, value in values.items():
        array = np.asarray(value)
        for index in np.ndindex(array.shape):
            label = f"{name}[{', '.join(map(str, index))}]" if index else name
            found[label] = float(array[index])
    return found


def show(posterior: Posterior, *, seed: int = 0, path: str | None = None) -> None:
    """Draw, improve, print the table with the truth, and save the figure."""
    draws = posterior.sampler()(seed)
    target = sq.targets.NumPyro(posterior.model, *posterior.args)
    found = sq.posterior_expectation(draws, score=target)
    truth = posterior.means()
    rows = [row for row in found if row.statistic == "mean" and row.name in truth.value]
    print(f"{posterior.name}: {found.n} draws, {found.status}")
    print(f"{'':12} {'truth':>10} {'plain':>18} {'better':>20} {'error: plain':>13} {'better':>8}")
    for row in rows:
        value = truth.value[row.name]
        print(
            f"{row.name:12} {value:10.5f} {row.plain:10.4f} +- {row.mcse:.0e}"
            f" {row.mean:11.5f} +- {row.std:.0e} {abs(row.plain - value):13.1e}"
            f" {abs(row.mean - value):8.1e}  {row.method}"
        )
    plot(posterior.name, rows, truth, path or f"{posterior.name.replace(' ', '-')}.png")


def plot(name: str, rows: list[Any], truth: Means, path: str) -> None:
    """Errors of the plain and the better means, with two standard errors."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.2, 1.4 + 0.28 * len(rows)), layout="constrained")
    for i, row in enumerate(rows):
        value = truth.value[row.name]
        kinds = ((row.plain, row.mcse, "#999999", "o"), (row.mean, row.std, "#0072b2", "s"))
        for (mean, std, color, marker), shift in zip(kinds, (-0.14, 0.14), strict=True):
            x = (mean - value) / row.mcse
            label = ("plain mean", "better mean")[color != "#999999"] if i == 0 else None
            axes.errorbar(
                x,
                i + shift,
                xerr=2 * std / row.mcse,
                color=color,
                marker=marker,
                ms=4,
                capsize=2,
                label=label,
            )
    axes.axvline(0.0, color="black", lw=0.8)
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("error, in standard errors of the plain mean; bars: two standard errors")
    axes.set_title(name, loc="left", fontsize=10)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    print(f"Figure saved to {Path(path)}.")
