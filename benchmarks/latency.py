"""How long an answer takes: the import, the first call of a process, later ones, 200 different n.

`python benchmarks/latency.py [--rows 1,2] [--note before]`; resumable, rows in
results/latency.jsonl. Every row is a fresh process with one thread that reports CPU seconds, never
wall time: of importing the library, of a first call, and of the second and third with the same n
(the smaller one). This parent imports neither NumPy nor JAX. Each process also factors a matrix of
2,000 x 2,000 by NumPy's Cholesky, best of three, so that machines can be compared; the limits are
those that the library means to keep, in CPU seconds of a machine where that takes 0.1.

The integrand is ours: a ramp, a ridge and a bump of the cube, which no polynomial fits, so that
processes and networks are fitted too ("trained" says whether networks were). Genz families are
those of `sq.problems.genz` in two dimensions.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from records import Records

FAMILIES = ("continuous", "discontinuous", "gaussian", "corner", "oscillatory", "product")
MIB = 2**20
FEWEST, DIFFERENT, GROWTH = 60, 200, 100  # first n, how many of them, and the MiB they may take


@dataclass(frozen=True)
class Row:
    """A fit and how long it may take.

    Attributes:
        name: of the row.
        integrand: ridge, or a Genz family.
        n: points.
        d: coordinates.
        bsn: `sq.BSN()`, not the default.
        first: CPU seconds that a first call may take; None where nothing is promised.
        later: likewise of later calls.
    """

    name: str
    integrand: str
    n: int
    d: int
    bsn: bool = False
    first: float | None = None
    later: float | None = None


ROWS = (
    Row("n = 100, d = 7", "ridge", 100, 7, first=2.5, later=0.5),
    Row("n = 500, d = 7", "ridge", 500, 7, later=1.5),
    Row("n = 1000, d = 5", "ridge", 1000, 5, later=3.0),
    Row("n = 500, d = 20", "ridge", 500, 20, later=4.0),
    *(Row(f"Genz {name}", name, 5120, 2, later=8.0) for name in FAMILIES),
    *(Row(f"Genz {name}, BSN", name, 5120, 2, bsn=True, later=12.0) for name in FAMILIES),
)


def ridge(x: Any) -> Any:
    """Of points in the cube: what no polynomial fits to four digits with a few hundred of them."""
    import numpy as np

    w = np.linspace(1.0, 2.0, x.shape[1])
    w /= np.linalg.norm(w)
    t = (x - 0.5) @ w
    return np.logaddexp(0.0, 12.0 * t) + np.cos(9.0 * t + x[:, 0]) * np.exp(-4.0 * x[:, -1] ** 2)


def cholesky() -> float:
    """CPU seconds of the factorization that machines are compared by."""
    import numpy as np

    a = np.random.default_rng(0).standard_normal((2000, 2000))
    a = a @ a.T + 2000.0 * np.eye(2000)
    return min(cpu_of(lambda: np.linalg.cholesky(a))[0] for _ in range(3))


def cpu_of(call: Any) -> tuple[float, Any]:
    start = time.process_time()
    value = call()
    return time.process_time() - start, value


def imported() -> tuple[float, Any]:
    """CPU seconds that the library adds to those of NumPy, and the library."""

    def load() -> Any:
        import steinquad

        return steinquad

    return cpu_of(load)


def measure(row: Row) -> dict[str, Any]:
    """Runs in a child."""
    importing, sq = imported()
    import scipy.stats

    if row.integrand == "ridge":
        f, measure = ridge, sq.Product([scipy.stats.uniform()] * row.d)
    else:
        problem = sq.problems.genz(row.integrand, row.d)
        f, measure = problem.integrand, problem.measure
    method = sq.BSN() if row.bsn else sq.Stack()

    def call() -> Any:
        return sq.integrate(f, measure, n=row.n, seed=0, method=method)

    first, answer = cpu_of(call)
    later = min(cpu_of(call)[0] for _ in range(2))
    trained = [
        one.get("weight") is not None
        for one in answer.candidates
        if one["method"] == "BSN" and "mean" in one
    ]
    return {
        "import": importing,
        "first": first,
        "later": later,
        "cholesky": cholesky(),
        "trained": row.bsn or any(trained),
        "mean": answer.mean,
        "std": answer.std,
    }


def different() -> dict[str, Any]:
    """Fits at 200 different n, of a cheap f in three dimensions; runs in a child."""
    _, sq = imported()
    import scipy.stats

    measure = sq.Product([scipy.stats.uniform()] * 3)
    times, sizes = [], []
    for n in range(FEWEST, FEWEST + DIFFERENT):
        times.append(cpu_of(lambda n=n: sq.integrate(ridge, measure, n=n, seed=0))[0])
        sizes.append(resident())
    first, last = times[1:21], times[-20:]
    # From the second fit on: the first loads what the library needs.
    return {
        "grown_mib": (sizes[-1] - sizes[1]) / MIB,
        "early": sum(first) / len(first),
        "late": sum(last) / len(last),
        "cholesky": cholesky(),
    }


def resident() -> int:
    """Bytes of this process in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def in_child(what: str) -> dict[str, Any]:
    command = [sys.executable, str(Path(__file__)), "--child", what]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    child = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(child.stdout)


def beside(seconds: float, limit: float | None, cholesky: float) -> str:
    """Seconds, how many Choleskys that is, and the limit; a ! where it is exceeded."""
    text = f"{seconds:7.2f} {seconds / cholesky:6.0f}x"
    if limit is None:
        return text + " " * 8
    return text + f" <={limit:4.1f}{'!' if seconds > limit else ' '}"


def report(records: Records, note: str) -> None:
    print(f"{'CPU s, ratio to a Cholesky, limit':<34}{'import':>7}   {'first':<20}   later")
    for row in ROWS:
        for got in records.select(name=row.name, note=note):
            first = beside(got["first"], row.first, got["cholesky"])
            later = beside(got["later"], row.later, got["cholesky"])
            trained = "networks" if got["trained"] else ""
            print(f"{row.name:<34}{got['import']:7.2f}{first}{later}  {trained}")
    for got in records.select(name="different n", note=note):
        print(
            f"{DIFFERENT} different n: memory grew by {got['grown_mib']:.0f} MiB (<= {GROWTH}), "
            f"{got['early']:.2f} CPU s for each of the first 20, {got['late']:.2f} of the last"
        )
    if any(records.rows):
        print(f"a Cholesky of 2,000 x 2,000: {records.rows[-1]['cholesky']:.3f} CPU s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", help="numbers of rows, 0 the first, -1 for 200 different n")
    parser.add_argument("--note", default="", help="kept with the rows: of which code they are")
    parser.add_argument("--report", action="store_true", help="only print again")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        given = json.loads(options.child)
        print(json.dumps(measure(Row(**given)) if given else different()))
        return
    records = Records("latency", key=("name", "note"))
    chosen = range(-1, len(ROWS)) if options.rows is None else map(int, options.rows.split(","))
    for index in () if options.report else chosen:
        row = ROWS[index] if index >= 0 else None
        name = "different n" if row is None else row.name
        if not records.has(name=name, note=options.note):
            got = in_child(json.dumps(None if row is None else asdict(row)))
            records.add(name=name, note=options.note, **got)
    report(records, options.note)


if __name__ == "__main__":
    main()
