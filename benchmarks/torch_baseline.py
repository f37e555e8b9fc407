"""The opponent of speed.py: the paper's algorithm in plain PyTorch, made as fast as it goes.

`taskset -c 1 python benchmarks/torch_baseline.py [--seeds 5] [--steps]`

Three CELU layers of 32 with PyTorch's own initialization, float32, one thread, loss
`MSE + 1e-8 |theta|^2`, theta0 starts at 0, one full-batch call of `torch.optim.LBFGS` with strong
Wolfe searches, history 100 and tolerances 1e-15; x standardized, y scaled to [0, 1]. The points
are those that `sq.integrate` draws for the same seed. Needs `pip install torch==2.13.0`.

`--steps` only times one loss with its gradient for every way to the divergence. The one used
pushes all d tangents through the layers as one tensor and lets autograd differentiate that: at
d = 20 it is twice as fast as d reverse passes and as anything in `torch.func`. Also worth their
line: one flat parameter vector, and a heap that keeps its pages. Smaller batches with accumulated
gradients and flushed denormals gain nothing. Faster still, but no longer the paper's algorithm, is
the trace of the layers' Jacobians in closed form (`trace`, our own identity for three layers: 8.8,
46 and 75 CPU ms a step at d = 2, 10 and 20, where the tangents take 11, 64 and 113 and d reverse
passes 14, 120 and 224). `torch.compile` takes a quarter off a step but, unless an earlier process
left its cache, costs over 20 CPU seconds, most of them in a C++ compiler.
"""

import argparse
import ctypes
import math
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from records import Records
from speed import CASES, Point, thinned
from torch.nn import functional  # pyright: ignore[reportMissingImports]

import steinquad as sq
from steinquad.measures import as_measure

MOST_ITERATIONS = {2: 10_000, 10: 1000, 20: 600}  # by d
WIDTH, PENALTY = 32, 1e-8

Tensor = Any
Layers = list[tuple[Tensor, Tensor]]  # weight and bias


def keep_heap() -> None:
    """Let freed memory stay with the process.

    By default glibc maps large arrays again each time; clearing their pages is a tenth of a step.
    """
    if sys.platform == "linux":
        trim_threshold, top_pad, mmap_max = -1, -2, -4  # names in malloc.h
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(mmap_max, 0)
        mallopt(trim_threshold, 2**31 - 1)
        mallopt(top_pad, 2**28)


class Parameters:
    """theta0 and all weights as views of one flat vector."""

    def __init__(self, d: int, seed: int) -> None:
        torch.manual_seed(seed)
        sizes = [d, WIDTH, WIDTH, WIDTH, d]
        linear = [torch.nn.Linear(a, b) for a, b in pairwise(sizes)]
        parts = [torch.zeros(1)] + [p for layer in linear for p in (layer.weight, layer.bias)]
        self.shapes = [part.shape for part in parts]
        self.lengths = [part.numel() for part in parts]
        self.vector = torch.cat([part.detach().ravel() for part in parts]).requires_grad_()

    def split(self) -> tuple[Tensor, Layers]:
        """theta0 and the layers, differentiable in the vector."""
        parts = self.vector.split(self.lengths)
        theta0, *weights = [p.view(shape) for p, shape in zip(parts, self.shapes, strict=True)]
        return theta0, list(zip(weights[::2], weights[1::2], strict=True))


def forward(layers: Layers, x: Tensor) -> Tensor:
    """u, with whatever autograd wants to know."""
    for weight, bias in layers[:-1]:
        x = functional.celu(functional.linear(x, weight, bias))
    return functional.linear(x, *layers[-1])


def activations(layers: Layers, x: Tensor) -> tuple[Tensor, list[Tensor]]:
    """u and the derivatives of CELU in every layer, read off its values: e^z = celu(z) + 1."""
    slopes = []
    for weight, bias in layers[:-1]:
        x = functional.celu(functional.linear(x, weight, bias))
        slopes.append(x.clamp(max=0) + 1)
    return functional.linear(x, *layers[-1]), slopes


def reverse(layers: Layers, x: Tensor) -> tuple[Tensor, Tensor]:
    """One reverse pass for every coordinate: what most people write."""
    x = x.detach().requires_grad_()
    u = forward(layers, x)
    divergence = torch.zeros(len(x))
    for i in range(x.shape[1]):
        (gradient,) = torch.autograd.grad(u[:, i].sum(), x, create_graph=True)
        divergence = divergence + gradient[:, i]
    return u, divergence


def vmap_jvp(layers: Layers, x: Tensor) -> tuple[Tensor, Tensor]:
    """Forward mode of torch.func over a batch of directions."""

    def entry(direction: Tensor) -> Tensor:
        tangent = direction.expand_as(x)
        return (torch.func.jvp(lambda z: forward(layers, z), (x,), (tangent,))[1] * tangent).sum(1)

    return forward(layers, x), torch.func.vmap(entry)(torch.eye(x.shape[1])).sum(0)


def vmap_jacobian(layers: Layers, x: Tensor) -> tuple[Tensor, Tensor]:
    """Reverse mode of torch.func point by point."""
    jacobian = torch.func.vmap(torch.func.jacrev(lambda z: forward(layers, z)))(x)
    return forward(layers, x), torch.einsum("nii->n", jacobian)


def tangents(layers: Layers, x: Tensor) -> tuple[Tensor, Tensor]:
    """All d tangents pushed through the layers as one tensor (n, d, width)."""
    u, (slope1, slope2, slope3) = activations(layers, x)
    w1, w2, w3, w4 = [weight for weight, _ in layers]
    pushed = ((slope1[:, None] * w1.T) @ w2.T * slope2[:, None]) @ w3.T
    return u, ((pushed * w4).sum(1) * slope3).sum(1)


def trace(layers: Layers, x: Tensor) -> tuple[Tensor, Tensor]:
    """tr(W4 S3 W3 S2 W2 S1 W1) with the outer halves, linear in S1 and S3, as two products."""
    u, (slope1, slope2, slope3) = activations(layers, x)
    w1, w2, w3, w4 = [weight for weight, _ in layers]
    d = x.shape[1]
    right = slope1 @ (w1[:, :, None] * w2.T[:, None, :]).reshape(WIDTH, d * WIDTH)
    left = slope3 @ (w4.T[:, :, None] * w3[:, None, :]).reshape(WIDTH, d * WIDTH)
    return u, ((right * left).view(-1, d, WIDTH).sum(1) * slope2).sum(1)


ROADS: dict[str, Callable[[Layers, Tensor], tuple[Tensor, Tensor]]] = {
    "reverse": reverse,
    "vmap_jvp": vmap_jvp,
    "vmap_jacobian": vmap_jacobian,
    "tangents": tangents,
    "trace": trace,
}


class Data:
    """Points, scores and values as the network sees them, and the way back."""

    def __init__(self, family: str, d: int, n: int, seed: int) -> None:
        problem = sq.problems.genz(family, d)
        assert problem.truth is not None
        measure = as_measure(problem.measure)
        x = sq.designs.IID().draw(measure, n, seed=seed).x
        self.values, self.truth = problem.integrand(x), float(problem.truth)
        center, scale = x.mean(axis=0), x.std(axis=0)
        self.low, self.span = float(self.values.min()), float(np.ptp(self.values))
        self.x = torch.tensor((x - center) / scale, dtype=torch.float32)
        self.score = torch.tensor(measure.score(x) * scale, dtype=torch.float32)
        self.y = torch.tensor((self.values - self.low) / self.span, dtype=torch.float32)

    def relative_error(self, theta0: float) -> float:
        """Signed, of theta0 in the network's units."""
        return (self.low + self.span * theta0 - self.truth) / abs(self.truth)


def loss_and_gradient(parameters: Parameters, data: Data, road: str = "tangents") -> Tensor:
    """The loss; its gradient goes where L-BFGS looks for it."""
    parameters.vector.grad = None
    theta0, layers = parameters.split()
    u, divergence = ROADS[road](layers, data.x)
    fitted = theta0 + (data.score * u).sum(1) + divergence
    penalty = parameters.vector @ parameters.vector
    loss = functional.mse_loss(fitted, data.y) + PENALTY * penalty
    loss.backward()
    return loss.detach()


def fit(data: Data, seed: int, max_iter: int) -> dict[str, Any]:
    """Train once; the row to keep."""
    start = time.process_time()
    parameters = Parameters(data.x.shape[1], seed)
    optimizer = torch.optim.LBFGS(
        [parameters.vector],
        lr=1,
        max_iter=max_iter,
        max_eval=10**9,
        tolerance_grad=1e-15,
        tolerance_change=1e-15,
        history_size=100,
        line_search_fn="strong_wolfe",
    )
    log: list[tuple[float, float, float]] = []

    def closure() -> Tensor:
        theta0 = float(parameters.vector.detach()[0])
        loss = loss_and_gradient(parameters, data)
        log.append((time.process_time() - start, float(loss), theta0))
        return loss

    optimizer.step(closure)
    cpu = time.process_time() - start
    state = optimizer.state[parameters.vector]
    answer = data.relative_error(float(parameters.vector.detach()[0]))
    return {
        "error": abs(answer),
        "cpu": cpu,
        "iterations": state["n_iter"],
        "evaluations": len(log),
        "loss": min(loss for _, loss, _ in log),
        "trajectory": thinned([*descent(log, data), (cpu, answer)]),
    }


def descent(log: list[tuple[float, float, float]], data: Data) -> list[Point]:
    """CPU time and relative error where the loss was the lowest so far."""
    best, kept = math.inf, []
    for seconds, loss, theta0 in log:
        if loss < best:
            best = loss
            kept.append((seconds, data.relative_error(theta0)))
    return kept


def time_steps(repeats: int = 15) -> None:
    """CPU milliseconds of one loss with its gradient by every road, interleaved."""
    for family, d, n in CASES[-3:]:
        data, parameters = Data(family, d, n, 0), Parameters(d, 0)
        seconds: dict[str, list[float]] = {road: [] for road in ROADS}
        for _ in range(repeats):
            for road, times in seconds.items():
                start = time.process_time()
                loss_and_gradient(parameters, data, road)
                times.append(time.process_time() - start)
        medians = [f"{road} {1e3 * np.median(times):.1f}" for road, times in seconds.items()]
        print(f"d = {d}, n = {n}, ms: " + ", ".join(medians), flush=True)


def run(seeds: range) -> None:
    records = Records("speed_torch", ("family", "d", "n", "seed"))
    fit(Data("continuous", 2, 64, 0), 0, 5)  # torch imports a second's worth at its first step
    for seed in seeds:
        for family, d, n in CASES:
            key = {"family": family, "d": d, "n": n, "seed": seed}
            if records.has(**key):
                continue
            row = fit(Data(family, d, n, seed), seed, MOST_ITERATIONS[d])
            records.add(**key, **row)
            print(
                f"{family:14} d = {d:2} seed {seed}: error {row['error']:.2e}, "
                f"{row['cpu']:.1f} CPU s, {row['iterations']} iterations, "
                f"{row['evaluations']} evaluations, loss {row['loss']:.2e}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", action="store_true", help="only time the roads")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    keep_heap()
    if options.steps:
        time_steps()
    else:
        run(range(options.seeds))


if __name__ == "__main__":
    main()
