"""Chains that are stopped and go on give the very draws of chains that are not."""

import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest

from steinquad.designs import MALA, NUTS, Resumable, Sobol, TruncatedMALA
from steinquad.errors import InputError
from steinquad.measures import LogDensity

SCRIPT = """
import os, signal, sys
import numpy as np
from steinquad.designs import TruncatedMALA, Resumable
from steinquad.measures import LogDensity

measure = LogDensity(lambda x: -x @ x / 2 - (x[0] - x[1]) ** 4, 2)
design = Resumable(TruncatedMALA(chains=2, warmup=30, thin=2), sys.argv[1])

def progress(step, total, loss):
    if step > total // 2:
        os.kill(os.getpid(), signal.SIGKILL)

design.draw(measure, 200, seed=3, progress=progress)
"""


# One measure for all tests: samplers compile once for each.
BENT = LogDensity(lambda x: -x @ x / 2 - (x[0] - x[1]) ** 4, 2)
# So narrow at one end that NUTS diverges there.
FUNNEL = LogDensity(lambda x: -(x[0] ** 2) / 18 - x[1] ** 2 * jnp.exp(-x[0]) / 2 - x[0] / 2, 2)


def same(one, other):
    np.testing.assert_array_equal(one.x, other.x)
    np.testing.assert_array_equal(one.score, other.score)
    assert set(one.stats) == set(other.stats) and one.notes == other.notes
    for name in one.stats:
        np.testing.assert_array_equal(one.stats[name], other.stats[name])


def test_a_killed_process_is_resumed_bit_for_bit(tmp_path):
    run = subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True)
    assert run.returncode == -9, run.stderr
    done = len(list(tmp_path.glob("draws-*.npz")))
    assert 5 < done < 20
    design = TruncatedMALA(chains=2, warmup=30, thin=2)
    resumed = Resumable(design, tmp_path).draw(BENT, 200, seed=3)
    same(resumed, design.draw(BENT, 200, seed=3))


class StopError(Exception):
    """The end of a process, for a test."""


@pytest.mark.parametrize("when", [1, 2, 9], ids=["in warm-up", "after it", "in a block"])
def test_nuts_is_resumed_from_any_moment_and_counts_divergences(tmp_path, when):
    design = NUTS(chains=2, warmup=100, target_acceptance=0.6)
    kept = Resumable(design, tmp_path)
    calls = []

    def progress(*report):
        calls.append(report)
        if len(calls) == when:
            raise StopError

    with pytest.raises(StopError):
        kept.draw(FUNNEL, 200, seed=0, progress=progress)
    resumed = kept.draw(FUNNEL, 200, seed=0)
    same(resumed, design.draw(FUNNEL, 200, seed=0))
    count = resumed.stats["divergences"]
    assert count > 0 and any(n.startswith(f"{count} of 200 transitions") for n in resumed.notes)


def test_what_is_done_is_not_computed_again(tmp_path, monkeypatch):
    design = Resumable(MALA(chains=1, warmup=20), tmp_path)
    first = design.draw(BENT, 40, seed=0)
    written = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    (tmp_path / "draws-57.npz").unlink()  # the last block
    same(design.draw(BENT, 40, seed=0), first)
    again = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert [f.name for f in written if written[f] != again[f]] == ["draws-57.npz"]
    assert not list(tmp_path.glob("*.part*"))


def test_another_run_is_refused(tmp_path):
    design = MALA(chains=1, warmup=20)
    Resumable(design, tmp_path / "a").draw(BENT, 40, seed=0)
    shifted = LogDensity(lambda x: -x @ x / 2, 2)
    (tmp_path / "file").write_text("")
    calls = {
        "seed=0, not .*seed=1": lambda: Resumable(design, tmp_path / "a").draw(BENT, 40, seed=1),
        "n=40": lambda: Resumable(design, tmp_path / "a").draw(BENT, 60, seed=0),
        "thin=1": lambda: Resumable(MALA(1, 20, 2), tmp_path / "a").draw(BENT, 40, seed=0),
        "another log_density": lambda: Resumable(design, tmp_path / "a").draw(shifted, 40, seed=0),
        "is a file": lambda: Resumable(design, tmp_path / "file"),
        "design is Sobol": lambda: Resumable(Sobol(), tmp_path / "b"),  # pyright: ignore
    }
    for message, call in calls.items():
        with pytest.raises(InputError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
    (tmp_path / "a" / "draws-0.npz").write_bytes(b"half a block")
    with pytest.raises(InputError, match="cannot be read"):
        Resumable(design, tmp_path / "a").draw(BENT, 40, seed=0)
