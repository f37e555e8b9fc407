"""The true values of thirdparty.py: formulas and quadrature, each compared with Sobol points.

Where a function has neither a closed form nor one in thirdparty_references.py, products of Gauss
rules integrate it (`RULES`: nodes for each input). Two functions solve equations at every point,
with an error of their own: their mean is that of the exact solution, plus the mean difference at
Sobol points. Every value has to be within six standard errors of the mean of scrambled Sobol
points, from which the standard deviation of f is, too.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.stats as st
from thirdparty_problems import COFFEE_TIME, PROBABILITY, Problem
from thirdparty_quadrature import gauss, product
from thirdparty_references import REFERENCES

from steinquad.designs.quantiles import from_uniform

# Gauss nodes for every input; one node where f is linear in it, or does not depend on it.
RULES: dict[str, tuple[int, ...]] = {
    "Alemazkoor2D": (11, 11),
    "Alemazkoor20D": (2, *[1] * 19),  # linear in every input
    "Borehole": (12, 14, 4, 1, 10, 1, 8, 6),
    "Cheng2D": (20, 20),
    "ConvexFailDomain": (3, 3),
    "CurrinSine": (40,),
    "DampedCosine": (40,),
    "Forrester1D": (40,),
    "Franke1": (60, 60),
    "Franke2": (160, 160),
    "Franke3": (60, 40),
    "Franke4": (40, 40),
    "Franke5": (50, 50),
    "Franke6": (60, 60),
    "Friedman10D": (20, 20, 3, *[1] * 7),
    "Friedman6D": (20, 20, 3, 1, 1, 1),
    "GaytonHat": (3, 4),
    "HigdonSine": (60,),
    "HolsclawSine": (40,),
    "HyperSphere": (4, 4),
    "LimNonPoly": (30, 30),
    "LimPoly": (5, 5),
    "LinkletterDecCoeffs": (2, *[1] * 9),
    "LinkletterLinear": (2, *[1] * 9),
    "LinkletterSine": (20, 30, *[1] * 8),
    "McLainS1": (60, 60),
    "McLainS2": (60, 60),
    "McLainS3": (40, 40),
    "McLainS4": (90, 90),
    "McLainS5": (200, 200),
    "Moon3D": (2, 2, 2),
    "MorrisM10": (2, *[1] * 9),
    "OTLCircuit": (10, 10, 9, 8, 10, 12),
    "OTLCircuit20D": (10, 10, 9, 8, 10, 12, *[1] * 14),
    "Piston": (9, 16, 16, 14, 5, 4, 4),
    "Piston20D": (9, 16, 16, 14, 5, 4, 4, *[1] * 13),
    "Portfolio3D": (2, 1, 1),
    "RSCircularBar": (2, 1),
    "RSCircularPipeCrack": (2, 20),
    "RSQuadratic": (2, 3),
    "Rosenbrock4": (5, 5, 5, 5),
    "SaltelliLinear5": (2, 1, 1, 1, 1),
    "Webster2D": (3, 4),
    "narrow Borehole": (14, 4, 4, 4, 3, 3, 5, 5),
}
# Scrambled Sobol points of the comparison: logarithm of their number, repetitions.
POINTS, REPEATS = 18, 8
FEWER = {"CoffeeCup": 13, "SolarCell": 10}  # that take milliseconds an evaluation
MOST_STEPS = 6.0  # standard errors
NOTHING = 1e-13  # error of what is in closed form, over max(|truth|, sd)
CHUNK = 400_000  # points at once


def truth(problem: Problem) -> dict[str, Any]:
    """Mean, its error, the standard deviation of f, where they are from, and the comparison."""
    sampled, step, sd = sobol_mean(problem)
    mean, error, source = reference(problem)
    if problem.kind == PROBABILITY:
        sd = math.sqrt(mean * (1 - mean))
        # Few or no events: the spread of the repetitions says too little.
        step = max(step, sd / math.sqrt(REPEATS << POINTS))
    scale = max(abs(mean), sd if problem.finite else 0.0)
    error = max(error, NOTHING * scale)
    away = abs(sampled - mean) / math.hypot(step, error)
    if problem.finite and away > MOST_STEPS:
        raise ValueError(f"{problem.name}: {mean} by {source}, {sampled} +- {step} by sampling")
    row = {"mean": mean, "error": error, "sd": sd if problem.finite else None, "source": source}
    return row | {"sampled": sampled, "sampled_error": step}


def reference(problem: Problem) -> tuple[float, float, str]:
    """Mean, its error beyond rounding, and where it is from."""
    if problem.truth is not None:
        return problem.truth, 0.0, "closed form"
    if problem.name in RULES:
        return *gauss_mean(problem, RULES[problem.name]), "Gauss rules"
    if problem.name in SOLVERS:
        return *solved_mean(problem, *SOLVERS[problem.name]), "exact solution and sampling"
    return float(REFERENCES[problem.name](problem.laws)), 0.0, "formula"


def sobol_mean(problem: Problem) -> tuple[float, float, float]:
    """Mean over repetitions of scrambled Sobol points, its standard error, and the sd of f."""
    means, squares = [], []
    for seed in range(REPEATS):
        engine = st.qmc.Sobol(
            problem.dim, scramble=True, bits=50, rng=np.random.default_rng(10_000 + seed)
        )
        u = engine.random(1 << FEWER.get(problem.name, POINTS)) + 2.0**-51
        y = problem.f(from_uniform(problem.measure, u))
        means.append(y.mean())
        squares.append(y.var())
    step = float(np.std(means, ddof=1) / math.sqrt(REPEATS))
    return float(np.mean(means)), step, float(np.sqrt(np.mean(squares)))


def gauss_mean(problem: Problem, sizes: Sequence[int]) -> tuple[float, float]:
    """Mean by the product rule, and its change when every input loses a node."""

    def total(counts: Sequence[int]) -> float:
        rules = [gauss(law, k) for law, k in zip(problem.laws, counts, strict=True)]
        shift = float(problem.f(np.array([[x.mean() for x, _ in rules]]))[0])
        # In slices of the leading inputs: the whole product does not fit into memory.
        split = len(rules)
        while math.prod(counts[:split]) > CHUNK:
            split -= 1
        head, head_weights = product(rules[:split])
        if split == len(rules):
            return shift + float(head_weights @ (problem.f(head) - shift))
        tail, tail_weights = product(rules[split:])
        many = max(1, CHUNK // len(tail))
        value = 0.0
        for start in range(0, len(head), many):
            part = head[start : start + many]
            x = np.hstack([np.repeat(part, len(tail), axis=0), np.tile(tail, (len(part), 1))])
            inner = (problem.f(x) - shift).reshape(len(part), len(tail)) @ tail_weights
            value += float(head_weights[start : start + many] @ inner)
        return shift + value

    best = total(sizes)
    if all(size <= 5 for size in sizes) and problem.name != "narrow Borehole":
        return best, 0.0  # exact for the polynomials that have so few nodes
    return best, abs(best - total([max(1, size - 1) for size in sizes]))


# --- functions with solvers inside ---------------------------------------------------------------


def coffee(x: np.ndarray) -> np.ndarray:
    """Newton's cooling from 95 degrees, (kappa, ambient)."""
    t = 200 * COFFEE_TIME / 149
    return x[:, 1] + (95 - x[:, 1]) * np.exp(-x[:, 0] * t)


def solar(x: np.ndarray) -> np.ndarray:
    """Largest power of a single-diode cell, by Newton's method for the voltage of its junction."""
    short, log_saturation, ideality, series, parallel = x.T
    saturation, thermal = np.exp(log_saturation), ideality * 0.02585
    light = short + saturation * np.expm1(short * series / thermal) + short * series / parallel
    u = thermal * np.log(light / saturation)  # about the open circuit, the power has one maximum
    for _ in range(200):
        current = light - saturation * np.expm1(u / thermal) - u / parallel
        first = -saturation / thermal * np.exp(u / thermal) - 1 / parallel
        second = -saturation / thermal**2 * np.exp(u / thermal)
        voltage = u - series * current
        slope = (1 - series * first) * current + voltage * first
        bend = 2 * first * (1 - series * first) + second * (voltage - series * current)
        u = u - np.clip(slope / bend, -thermal / 2, thermal / 2)
    return (u - series * (light - saturation * np.expm1(u / thermal) - u / parallel)) * (
        light - saturation * np.expm1(u / thermal) - u / parallel
    )


# The exact solution, and nodes of Gauss rules for its mean.
SOLVERS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], tuple[int, ...]]] = {
    "CoffeeCup": (coffee, (30, 2)),
    "SolarCell": (solar, (10, 14, 12, 8, 8)),
}


def solved_mean(
    problem: Problem, exact: Callable[[np.ndarray], np.ndarray], sizes: Sequence[int]
) -> tuple[float, float]:
    """Mean of the exact solution and of what the solver adds to it."""
    mean, error = gauss_mean(replace(problem, f=exact), sizes)
    added, step, _ = sobol_mean(replace(problem, f=lambda x: problem.f(x) - exact(x)))
    return mean + added, math.hypot(error, step)
