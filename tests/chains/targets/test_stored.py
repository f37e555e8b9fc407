"""Scores from files; test_agreement.py has what they are compared with."""

from pathlib import Path

import numpy as np
import pytest

import steinquad as sq
from steinquad import InputError

# Stan's own sampler on the program of four_supports.py, 20 draws.
FILE = Path(__file__).parents[2] / "data" / "stan_diagnostic.csv"


def test_scores_are_found_by_point_and_chains_follow_each_other():
    target = sq.targets.Stored.cmdstan([FILE, str(FILE)])
    points = target.unconstrain({"mu": np.zeros(40)})
    np.testing.assert_array_equal(points[:20], points[20:])
    some = points[[7, 3]]
    np.testing.assert_array_equal(target.score(some), target.score(points)[[7, 3]])
    with pytest.raises(InputError, match="not among those whose scores were stored"):
        target.score(some + 1.0)


def test_wrong_files_and_numbers_of_draws_are_refused(tmp_path):
    with pytest.raises(InputError, match="files is .*; pass a list"):
        sq.targets.Stored.cmdstan(FILE)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="cannot be read"):
        sq.targets.Stored.cmdstan([tmp_path / "none.csv"])
    plain = tmp_path / "draws.csv"
    plain.write_text("# model\nlp__,mu\n-1.0,0.5\n")
    with pytest.raises(InputError, match="holds no gradients"):
        sq.targets.Stored.cmdstan([plain])
    with pytest.raises(InputError, match=r"scores has shape \(1, 1\) but points has \(2, 1\)"):
        sq.targets.Stored([0.0, 1.0], [1.0])
    target = sq.targets.Stored.cmdstan([FILE])
    with pytest.raises(InputError, match="draws of 'mu' are 3 but 20 scores"):
        target.unconstrain({"mu": np.zeros(3)})
