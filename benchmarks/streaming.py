"""Rows of files that memory does not hold: CPU seconds and peak memory from 10^6 to 3 10^7 rows.

Files of a million rows (four coordinates, four scores, one value, 72 MB each) are made in a
directory, from seeds; those that are there are not made again. Every run is a process of its own,
by itself or with a local Dask cluster of two workers, one of which is killed on the way. Rows are
kept in results/streaming.jsonl.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from records import Records

import steinquad as sq

EACH = 1_000_000  # rows of a file
SIZES = (1_000_000, 3_000_000, 10_000_000, 30_000_000)
DIM = 4
NAMES: dict[str, Any] = {
    "x": [f"x{i}" for i in range(DIM)],
    "score": [f"s{i}" for i in range(DIM)],
    "value": "f",
}
TRUTH = np.exp(0.065) + np.exp(-1.0) + 0.5 * np.sqrt(2 / np.pi)
FITTED = 2000


def integrand(x: np.ndarray) -> np.ndarray:
    smooth = np.exp(0.3 * x[:, 0] - 0.2 * x[:, 1]) + np.cos(x[:, 2] + x[:, 3])
    return smooth + 0.5 * np.abs(x[:, 0])


def make(folder: Path, rows: int) -> list[str]:
    """The first files, so many that they have these rows."""
    files = [folder / f"{i:03d}.parquet" for i in range(rows // EACH)]
    for i, file in enumerate(files):
        if not file.exists():
            x = np.random.default_rng([0, i]).standard_normal((EACH, DIM))
            columns = {f"x{j}": x[:, j] for j in range(DIM)}
            columns |= {f"s{j}": -x[:, j] for j in range(DIM)} | {"f": integrand(x)}
            partial = file.with_suffix(".partial")
            options: Any = {"compression": "none", "use_dictionary": False}
            pyarrow.parquet.write_table(pa.table(columns), partial, **options)
            partial.rename(file)
    return [str(file) for file in files]


def peak_mib() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return round(float(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024)


def measured(files: list[str], how: str) -> dict[str, Any]:
    """One answer, in this process, with what it took."""
    ends = {"fit": 0.0}

    def watch(step: int, total: int, left: float) -> None:
        if total == len(files) * EACH and not ends["fit"]:
            ends["fit"] = time.process_time()

    begun = time.process_time()
    if how == "memory":
        table = pyarrow.parquet.read_table(files)
        x, score = (
            np.stack([table[name].to_numpy() for name in NAMES[key]], axis=1)
            for key in ("x", "score")
        )
        data = sq.Dataset(x, table["f"].to_numpy(), score)
        est = sq.estimate(data, method=sq.Subset(sq.Stack(), FITTED))
        took = {}
    elif how == "dask":
        est, took = on_dask(files)
    else:
        est, took = sq.estimate(files, fit_rows=FITTED, progress=watch, **NAMES), {}
    cpu = time.process_time()
    if ends["fit"]:
        took = {"pass_cpu_s": round(cpu - ends["fit"], 1)}
    return {
        "mean": est.mean,
        "std": est.std,
        "z": round((est.mean - TRUTH) / est.std, 2),
        "status": est.status.code,
        "cpu_s": round(cpu - begun, 1),
        "peak_mib": peak_mib(),
        **took,
    }


def on_dask(files: list[str]) -> tuple[sq.Estimate, dict[str, Any]]:
    """With two workers, the first of which is killed after a third of the rows."""
    import distributed

    home = "127.0.0.1"
    killed: list[int] = []
    local: Any = distributed.LocalCluster(  # synchronous, which its type does not know
        n_workers=2,
        threads_per_worker=1,
        host=home,
        dashboard_address=f"{home}:0",
        worker_dashboard_address=f"{home}:0",
    )
    with local as cluster:

        def kill(step: int, total: int, left: float) -> None:
            if total == len(files) * EACH and 3 * step >= total and not killed:
                nanny: Any = next(iter(cluster.workers.values()))
                killed.append(nanny.process.pid)
                os.kill(killed[0], signal.SIGKILL)

        est = sq.estimate(
            files, fit_rows=FITTED, client=cluster.scheduler_address, progress=kill, **NAMES
        )
        connected: Any = distributed.Client(cluster)
        with connected as client:
            client.wait_for_workers(2)
            peaks, seconds = client.run(peak_mib).values(), client.run(time.process_time).values()
    return est, {
        "workers_killed": len(killed),
        "worker_peak_mib": max(peaks),
        "workers_cpu_s": round(sum(seconds), 1),  # of those that live
    }


def in_a_fresh_process(folder: Path, rows: int, how: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--folder", str(folder), "--run", how, str(rows)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=SIZES[-1], help="rows of the largest run")
    parser.add_argument("--folder", type=Path, help="where the files are, and stay")
    parser.add_argument("--run", nargs=2, metavar=("HOW", "ROWS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        how, rows = options.run[0], int(options.run[1])
        print(json.dumps(measured(make(options.folder, rows), how)))
        return
    records = Records("streaming", key=("how", "rows"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for rows in [size for size in SIZES if size <= options.most]:
            for how in ("memory", "here", "dask"):
                first, last = rows == SIZES[0], rows == options.most
                wanted = how == "here" or first or (how == "dask" and last)
                if wanted and not records.has(how=how, rows=rows):
                    make(folder, rows)
                    records.add(how=how, rows=rows, **in_a_fresh_process(folder, rows, how))
                    print(records.rows[-1], flush=True)
    for row in records.rows:
        print(", ".join(f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
