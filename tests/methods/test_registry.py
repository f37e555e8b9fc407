"""One registry of names: Python, study files and commands know the same methods."""

import pytest

import steinquad as sq
from steinquad.methods.base import Method
from steinquad.methods.registry import method_named, names


def test_every_name_is_a_method_of_its_own():
    assert {"auto", "bsn", "bq", "cf", "mc", "qmc", "polynomial"} <= set(names())
    made = [method_named(name) for name in names()]
    assert all(isinstance(method, Method) for method in made)
    assert len(set(map(repr, made))) == len(made) and isinstance(made[0], sq.Stack)


def test_other_names_are_refused():
    with pytest.raises(sq.InputError, match="method is 'magic'; choose one of auto, bsn"):
        method_named("magic")
