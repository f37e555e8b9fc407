"""What a study costs besides its evaluations: time for each, and a store of a million rows.

The integrand takes no time, so wall seconds divided by evaluations are the overhead. Workers are
started before the clock is. Rows are kept in results/study_overhead.jsonl.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import scipy.stats
from records import Records

import steinquad as sq
from steinquad.studies.driver import Rules, evaluate_all
from steinquad.studies.pool import Pool
from steinquad.studies.store import Evaluation

MEGA = 1_000_000


def ignore(done: int, failed: int) -> None:
    del done, failed


def make(directory: str, runs: int, **settings: object) -> sq.Study:
    (Path(directory) / "trivial.py").write_text("def trivial(a, b):\n    return a + b\n")
    inputs = sq.Product({"a": scipy.stats.norm(), "b": scipy.stats.uniform()})
    fixed = {"method": sq.MonteCarlo(), "directory": directory}
    given: Any = fixed | settings
    return sq.Study("trivial.py:trivial", inputs, Path(directory) / "s.sqlite", runs, **given)


def overhead(records: Records, where: str, n: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        begun: list[float] = []

        def watch(now: object) -> None:
            if getattr(now, "done", 0) >= 100 and not begun:  # workers are there
                begun.append(time.perf_counter())
                begun.append(time.process_time())

        study = make(directory, n + 100, where=where)
        study.run(watch=watch)
        wall, cpu = time.perf_counter() - begun[0], time.process_time() - begun[1]
        row = {"wall_ms": round(1e3 * wall / n, 3), "driver_cpu_ms": round(1e3 * cpu / n, 3)}
        records.add(what=where, n=n, **row)


def peak_mib() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def million(records: Records) -> None:
    with tempfile.TemporaryDirectory() as directory:
        study = make(directory, MEGA + 100)
        store = study.evaluations
        point = study.numbered[0]
        with store.writing():
            for start in range(0, MEGA, 10_000):
                store.record(
                    Evaluation(i, "done", point, (1.5,), 1e-3, 1, None, None, "v")
                    for i in range(start, start + 10_000)
                )
        begin = time.perf_counter()
        counts = study.status()
        status = time.perf_counter() - begin
        assert counts.done == MEGA
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak of filling it
        before = peak_mib()
        begin = time.perf_counter()
        with store.writing():
            opened = time.perf_counter() - begin
            pool = Pool(study.call, 2)
            try:
                evaluate_all(store, study.numbered, MEGA + 100, pool, Rules(1, 1, "v"), ignore)
            finally:
                pool.close()
        resumed = time.perf_counter() - begin
        grown = peak_mib() - before
        assert study.status().done == MEGA + 100
        records.add(
            what="million rows",
            n=MEGA,
            status_s=round(status, 3),
            open_to_write_s=round(opened, 2),
            resume_and_100_more_s=round(resumed, 2),
            driver_memory_grown_mib=round(grown, 1),
            file_mib=round(store.path.stat().st_size / 2**20),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000, help="evaluations")
    options = parser.parse_args()
    records = Records("study_overhead", key=("what", "n"))
    for where in ("here", "pool", "dask"):
        if not records.has(what=where, n=options.n):
            overhead(records, where, options.n)
    if not records.has(what="million rows", n=MEGA):
        million(records)
    for row in records.rows:
        print(", ".join(f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
