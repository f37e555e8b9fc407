"""Arguments that every measure checks alike, with the sentences of the errors."""

import numpy as np
import numpyro.distributions as dist
import pytest

import steinquad as sq
from steinquad.errors import InputError
from steinquad.measures import as_measure
from steinquad.measures.checks import as_draw_request, as_names, as_probabilities, as_samples


@pytest.mark.parametrize("d", [1, 2, 5])
def test_names(d):
    given = tuple("abcde"[:d])
    assert as_names(given, d) == given and as_names(None, d) == tuple(f"x{i}" for i in range(d))
    for wrong in ((*given, "z"), ("a",) * (d + 1), (1,) * d):
        with pytest.raises(InputError, match=f"give {d} different strings"):
            as_names(wrong, d)


@pytest.mark.parametrize("dim", [10**7, 10**400])
def test_more_coordinates_than_memory_holds(dim):
    with pytest.raises(InputError, match=r"take at most 1000000 coordinates\.$"):
        as_names(None, dim)
    with pytest.raises(InputError, match="take at most"):
        sq.LogDensity(lambda x: -x @ x, dim)
    with pytest.raises(InputError, match="take at most"):
        as_measure(dist.Normal(0, 1).expand([10**9]).to_event(1))


@pytest.mark.parametrize("wrong", [1, np.ma.masked, [None], [["a"], ["b"]], b"a"])
def test_names_that_are_none(wrong):
    with pytest.raises(InputError, match="give 2 different strings"):
        as_names(wrong, 2)


def test_one_string_names_one_coordinate():
    assert as_names("speed", 1) == ("speed",)


def test_probabilities_keep_both_ends_and_name_the_first_wrong_row():
    np.testing.assert_array_equal(as_probabilities([0.0, 1.0], 1), [[0.0], [1.0]])
    with pytest.raises(InputError, match=r"outside \[0, 1\] \(first in row 2\)"):
        as_probabilities([0.5, 1.0, 1.0 + 1e-12, -1.0], 1)


@pytest.mark.parametrize(
    ("n", "seed", "words"),
    [(0, 0, "n is 0"), (2.0, 0, "n is 2.0"), (True, 0, "n is True"), (1, -1, "seed is -1")],
)
def test_draw_requests(n, seed, words):
    assert as_draw_request(np.int64(3), np.uint8(0)) == (3, 0)
    with pytest.raises(InputError, match=words):
        as_draw_request(n, seed)


def test_a_sampler_of_another_shape_is_refused():
    with pytest.raises(InputError, match="sample gave 2 rows for n = 3"):
        as_samples(np.zeros((2, 3)), 3, 3)
    with pytest.raises(InputError, match="but the measure has dim 2"):
        as_samples(np.zeros((3, 3)), 3, 2)
