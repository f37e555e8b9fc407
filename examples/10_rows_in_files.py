"""Rows in files, as many as there are: 2,000 of them are fitted, and all of them correct the fit.

Five Parquet files stand for a directory that memory does not hold. Only a batch of rows is in
memory at a time; with `client=` the workers of a Dask cluster go over the files.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import steinquad as sq

ROWS, FILES = 20_000, 5


def write(folder: Path) -> None:
    """Draws of independent exponentials, whose scores are -1, with the values of f."""
    for i in range(FILES):
        x = np.random.default_rng(i).exponential(size=(ROWS, 2))
        columns = {
            "a": x[:, 0],
            "b": x[:, 1],
            "score_a": -np.ones(ROWS),
            "score_b": -np.ones(ROWS),
        }
        columns["f"] = np.log1p(x[:, 0] + x[:, 1])
        pyarrow.parquet.write_table(pa.table(columns), folder / f"{i}.parquet")


def main() -> None:
    truth = 1.0  # of log(1 + a + b)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        print(f"{FILES} files of {ROWS} rows; the truth is {truth}")
        for method in (sq.MonteCarlo(), sq.Polynomial(order=4)):
            answer = sq.estimate(
                f"{folder}/*.parquet",
                x=["a", "b"],
                score=["score_a", "score_b"],
                value="f",
                support={"a": (0, None), "b": (0, None)},
                method=method,
            )
            print(f"{method.name:10} {answer.mean:.6f} +- {answer.std:.1e}")
        print(answer.status)


if __name__ == "__main__":
    main()
