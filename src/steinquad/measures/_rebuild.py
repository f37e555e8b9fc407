"""A numpyro distribution with every parameter and everything derived from them in float64."""

import inspect
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from numpyro.distributions import Distribution

__all__ = ["in_float64", "is_stock"]

# Constructor arguments that numpyro keeps under another name.
ALIASES = {"base_distribution": "base_dist"}

# The largest relative difference that float32 rounding of a derived quantity explains.
ROUNDING = 1e-3


def is_stock(dist: Distribution) -> bool:
    """Whether `dist` and all inside it are numpyro's own classes, whose pytrees are complete.

    Only such an object can be passed through `jax.jit` as an argument, or rebuilt from its
    constructor's arguments, without losing state that a user's class may keep elsewhere.
    """
    own = type(dist).__module__.split(".")[0] == "numpyro"
    return own and all(is_stock(inner) for inner in _inner(dist))


def in_float64(dist: Distribution) -> Distribution:
    """`dist` rebuilt in float64; call it with 64-bit JAX types switched on.

    A distribution made with 32-bit types keeps derived quantities (logarithms, Cholesky factors,
    stacked copies of its parameters) that were rounded then, so that its density and its cdf
    disagree by 1e-8. Calling its constructor again mends that; where it cannot be called with
    what the object remembers, the arrays are cast. Classes that are not numpyro's stay as
    they are.
    """
    if not is_stock(dist):
        return dist
    cast = _cast(dist)
    try:
        again = type(dist)(**_arguments(dist))
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError):
        return cast
    return again if _same(again, cast) else cast


def _arguments(dist: Distribution) -> dict[str, Any]:
    """The constructor arguments that `dist` remembers, in float64."""
    held = vars(dist)
    known: dict[str, Any] = {}
    for name in inspect.signature(type(dist).__init__).parameters:
        for key in (name, f"_{name}", ALIASES.get(name, name)):
            if key in held:
                known[name] = _convert(held[key])
                break
    if "covariance_matrix" in known or "precision_matrix" in known:
        known.pop("scale_tril", None)  # derived from the other, and possibly in 32 bits
    return {**known, "validate_args": False}


def _convert(value: Any) -> Any:
    if isinstance(value, Distribution):
        return in_float64(value)
    if isinstance(value, list | tuple) and any(isinstance(v, Distribution) for v in value):
        return type(value)(_convert(v) for v in value)
    return _cast(value)


def _cast(tree: Any) -> Any:
    """`tree` with its 16- and 32-bit float arrays as float64; Python numbers stay."""

    def leaf(value: Any) -> Any:
        kind = getattr(value, "dtype", None)
        if kind is None or not jax.numpy.issubdtype(kind, np.floating):
            return value
        return np.asarray(value, dtype=np.float64)

    return jax.tree.map(leaf, tree)


def _same(a: Distribution, b: Distribution) -> bool:
    """Whether two distributions agree in shape and, up to 32-bit rounding, in every number."""
    if a.batch_shape != b.batch_shape or a.event_shape != b.event_shape:
        return False
    ours, theirs = jax.tree.leaves(a), jax.tree.leaves(b)
    return len(ours) == len(theirs) and all(
        np.shape(x) == np.shape(y) and np.allclose(x, y, rtol=ROUNDING, atol=ROUNDING)
        for x, y in zip(ours, theirs, strict=True)
    )


def _inner(dist: Distribution) -> Iterator[Distribution]:
    for value in vars(dist).values():
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, Distribution):
                yield item
