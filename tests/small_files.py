"""Small files of draws, scores and values, cut in many odd ways."""

from itertools import pairwise

import numpy as np
import pandas as pd

import steinquad as sq


def values(x):
    """Two smooth integrands of normal draws and one with a kink."""
    kink = np.maximum(x[:, 0] - 0.3, 0.0)
    return np.column_stack([np.exp(0.3 * x[:, 0]), np.cos(x).sum(axis=1), kink])


def frame_of(x, fx=None):
    """Draws of independent standard normals with score and values."""
    fx = values(x) if fx is None else fx
    columns = {f"x{i}": x[:, i] for i in range(x.shape[1])}
    columns |= {f"s{i}": -x[:, i] for i in range(x.shape[1])}
    columns |= {f"f{j}": fx[:, j] for j in range(fx.shape[1])}
    return pd.DataFrame(columns | {"word": "a"})


def named(d, outputs=3):
    """Keywords of `sq.estimate` for such files."""
    return {
        "x": [f"x{i}" for i in range(d)],
        "score": [f"s{i}" for i in range(d)],
        "value": [f"f{j}" for j in range(outputs)],
    }


def written(folder, frame, cuts=(), kinds=("parquet",), group=None):
    """The rows in one file more than there are cuts, of these kinds in turn."""
    folder.mkdir(exist_ok=True)
    edges = [0, *cuts, len(frame)]
    for i, (begin, end) in enumerate(pairwise(edges)):
        part, kind = frame.iloc[begin:end], kinds[i % len(kinds)]
        path = folder / f"{i:03d}.{kind}"
        if kind == "csv":
            part.to_csv(path, index=False)
        else:
            part.to_parquet(path, index=False, row_group_size=group or max(len(part), 1))
    return folder


def normal_rows(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


QUICK = sq.Polynomial(order=2)
