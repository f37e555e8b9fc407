"""Langevin chains: seeds, step sizes and steep tails."""

import numpy as np
import pytest
from sound_chains import NORMAL, QUARTIC, N

from steinquad.designs import MALA, TruncatedMALA, mala
from steinquad.designs._target import PROGRAMS
from steinquad.errors import InputError


def test_same_seed_same_draws_bit_for_bit(monkeypatch):
    first = MALA().draw(NORMAL, N, seed=1)
    PROGRAMS.pop(NORMAL)  # compiled once more, and once only for all blocks
    make, traces, seen = mala._langevin_step, [], []

    def counted(*args):
        step = make(*args)
        return lambda *carry: traces.append(1) or step(*carry)

    monkeypatch.setattr(mala, "_langevin_step", counted)
    again = MALA().draw(NORMAL, N, seed=1, progress=lambda *_: seen.append(len(traces)))
    other = MALA().draw(NORMAL, N, seed=2, progress=lambda *_: seen.append(len(traces)))
    assert len(seen) > 20 and seen[0] == seen[-1] > 0
    np.testing.assert_array_equal(first.x, again.x)
    np.testing.assert_array_equal(first.score, again.score)
    assert not np.any(first.x == other.x)
    assert len(np.unique(first.x[:: N // 4, 0])) == 4  # chains differ


def test_truncated_drift_comes_back_from_a_tail_where_plain_mala_freezes():
    options = {"chains": 2, "warmup": 0, "step_size": 0.05, "start": [[20.0], [-20.0]]}
    plain = MALA(**options).draw(QUARTIC, 400, seed=0)
    assert np.all(np.abs(plain.x) == 20)
    assert "chains 0, 1 did not move (200 identical draws)" in plain.notes[0]
    cut = TruncatedMALA(**options).draw(QUARTIC, 400, seed=0)
    assert np.all(np.abs(cut.x.reshape(2, 200)[:, 100:]) < 4)
    assert not any("did not move" in note for note in cut.notes)


def test_a_step_size_that_is_given_is_kept():
    sample = MALA(chains=2, warmup=10, step_size=0.25).draw(NORMAL, 20, seed=0)
    assert sample.stats["step_size"].tolist() == [0.25, 0.25]
    adapted = MALA(chains=2, warmup=10).draw(NORMAL, 20, seed=0).stats["step_size"]
    assert len(np.unique(adapted)) == 2 and np.all(adapted > 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MALA(warmup=0), "step_size is missing"),
        (lambda: MALA(step_size=-1), "step_size is -1"),
        (lambda: MALA(step_size=True), "step_size is True"),
        (lambda: TruncatedMALA(truncation=0), "truncation is 0"),
    ],
)
def test_bad_input_is_one_sentence(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
